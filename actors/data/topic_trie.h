/* actors/data/topic_trie.h -- finds the subscribers of a topic. Patterns are as in weft/topic.h: words joined by
 * dots, '*' for one word, '>' at the end for one or more. One thread at a time; a callback of a match must not change
 * the trie it is called from. */
#ifndef WF_TOPIC_TRIE_H
#define WF_TOPIC_TRIE_H

#include "base.h"
#include "hash_table.h"
#include "list.h"

#include <weft/pack.h>

enum {
    WF_TOPIC_MAX = 255, /* bytes of a topic or a pattern */
    WF_TOPIC_WORDS = 16,
};

/* 0, or WEFT_EINVAL. */
int wf_topic_check(weft_text topic);
int wf_pattern_check(weft_text pattern);
/* Whether a pattern matches a topic; both must have been checked. */
bool wf_pattern_matches(weft_text pattern, weft_text topic);

/* ---- Trie of subscribers --------------------------------------------------------------------------------------- */

struct wf_trie_node;

/* Embedded in the subscriber's struct; zero it first. */
struct wf_subscriber {
    struct wf_list_node on_node; /* wf_trie_node.subscribers, in the order they were added */
    struct wf_trie_node *node;   /* NULL: in no trie */
};

struct wf_trie {
    struct wf_trie_node *root;  /* NULL: empty */
    struct wf_hash_table nodes; /* all nodes except the root, by parent and word */
    uint64_t secret;            /* key of its hashes */
    uint32_t serial;            /* the serial number of the next node */
    size_t subscribers;
    uint64_t changes; /* the number of times that a subscriber was added or removed */
    bool matching;    /* a match is under way: no changes */
};

void wf_trie_init(struct wf_trie *t, uint64_t secret);
/* Removes all subscribers that are still in it. */
void wf_trie_finish(struct wf_trie *t);
/* WEFT_EINVAL (malformed pattern), WEFT_ENOMEM. `s` must be in no trie. Returns 1 if it is the pattern's first
 * subscriber, 0 if not. */
int wf_trie_add(struct wf_trie *t, weft_text pattern, struct wf_subscriber *s);
/* Returns true if it was the pattern's last subscriber. If `s` is in no trie, it does nothing and returns false. */
bool wf_trie_remove(struct wf_trie *t, struct wf_subscriber *s);
/* Calls `hit` once for each subscriber to a pattern that matches the topic (which must have been checked); returns
 * their number. Allocates nothing. */
size_t wf_trie_match(struct wf_trie *t, weft_text topic, void (*hit)(struct wf_subscriber *s, void *arg), void *arg);
/* Returns the pattern of a subscriber, NUL-terminated; the subscriber must be in a trie. */
weft_text wf_trie_pattern(const struct wf_subscriber *s, char out[WF_TOPIC_MAX + 1]);
/* Whether any pattern matches the topic. */
bool wf_trie_matches(const struct wf_trie *t, weft_text topic);
/* The first subscriber to exactly this pattern; NULL if none. */
struct wf_subscriber *wf_trie_find(const struct wf_trie *t, weft_text pattern);
/* The next one to the same pattern; NULL: it was the last. */
struct wf_subscriber *wf_trie_next(const struct wf_subscriber *s);

/* ---- Interest: a set of patterns, each with a count of how often it was added ---------------------------------- */

enum { WF_INTEREST_ANSWERS = 64 };
struct wf_interest {
    struct wf_trie trie;     /* its subscribers are wf_interest_entry.subscriber */
    struct wf_list patterns; /* wf_interest_entry.on_list, in the order they came */
    struct wf_list lost;     /* wf_interest_entry.on_lost: patterns with missed messages, the longest waiting first */
    size_t count;            /* the number of different patterns */
    uint64_t answered_for;   /* wf_trie.changes for which `answers` are right */
    /* Of wf_interest_matches_topic: WF_INTEREST_ANSWERS places, by topic number: number * 2 + answer. NULL: nothing was
     * asked yet, so that a link of a worker that does not publish needs no memory for it. */
    uint64_t *answers;
};

void wf_interest_init(struct wf_interest *i, uint64_t secret);
void wf_interest_finish(struct wf_interest *i);
/* Removes at most `most` patterns. Returns whether the set is empty then. */
bool wf_interest_clear(struct wf_interest *i, uint32_t most);
/* 1: the pattern is new; 0: it was in the set, which counts one more use; WEFT_EINVAL, WEFT_ENOMEM. */
int wf_interest_add(struct wf_interest *i, weft_text pattern);
/* True: that was its last use, and it is removed. False also if it is not in the set. */
bool wf_interest_remove(struct wf_interest *i, weft_text pattern);
/* Whether any pattern matches the topic, which must have been checked. */
bool wf_interest_matches(const struct wf_interest *i, weft_text topic);
/* Finds an answer that wf_interest_matches_topic does not remember, and remembers it if there is memory. */
bool wf_interest_find_answer(struct wf_interest *i, weft_text topic, uint64_t number);
/* The same, but remembers the answers for the last topics until the set changes. Equal topics have equal numbers and
 * different topics different ones; 0: the topic has no number, and nothing is remembered. */
static inline bool wf_interest_matches_topic(struct wf_interest *i, weft_text topic, uint64_t number)
{
    if (WF_LIKELY(i->answers != NULL && i->answered_for == i->trie.changes && number != 0)) {
        uint64_t answer = i->answers[number % WF_INTEREST_ANSWERS];
        if (WF_LIKELY(answer >> 1 == number)) return (answer & 1) != 0;
    }
    return wf_interest_find_answer(i, topic, number);
}
/* A message under that topic (which must have been checked) was not sent: each pattern that matches the topic counts
 * it as lost. */
void wf_interest_lose(struct wf_interest *i, weft_text topic);
/* Whether any pattern has missed messages that wf_interest_take_lost has not reported. */
static inline bool wf_interest_has_lost(const struct wf_interest *i)
{
    return !wf_list_empty(&i->lost);
}
/* Calls `see` for each pattern that has missed messages since it was last reported, in the order in which they missed
 * the first one, until `see` returns false: this pattern and those after it stay unreported. True: all were reported.
 * The work depends only on the number of these patterns. `see` must not change the set. */
bool wf_interest_take_lost(struct wf_interest *i, bool (*see)(weft_text pattern, uint64_t lost, void *arg),
                           void *arg);

#endif

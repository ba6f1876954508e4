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
/* Whether a topic (checked) is meant by a pattern (checked). */
bool wf_pattern_matches(weft_text pattern, weft_text topic);

/* ---- Trie of subscribers --------------------------------------------------------------------------------------- */

struct wf_trie_node;

/* Embedded in what subscribes; zero it first. */
struct wf_subscriber {
    struct wf_list_node on_node; /* wf_trie_node.subscribers, in the order they were added */
    struct wf_trie_node *node;   /* NULL: in no trie */
};

struct wf_trie {
    struct wf_trie_node *root;  /* NULL: empty */
    struct wf_hash_table nodes; /* every node but the root, by parent and word */
    uint64_t secret;            /* of its hashes */
    uint32_t serial;            /* of the next node */
    size_t subscribers;
    uint64_t changes; /* how often a subscriber came or went */
    bool matching;    /* a match is under way: no changes */
};

void wf_trie_init(struct wf_trie *t, uint64_t secret);
/* Subscribers still in it are taken out. */
void wf_trie_finish(struct wf_trie *t);
/* WEFT_EINVAL (malformed pattern), WEFT_ENOMEM. `s` must be in no trie. 1 if it is the pattern's first subscriber, 0
 * if not. */
int wf_trie_add(struct wf_trie *t, weft_text pattern, struct wf_subscriber *s);
/* True if it was the pattern's last subscriber. Fine when `s` is in no trie: false. */
bool wf_trie_remove(struct wf_trie *t, struct wf_subscriber *s);
/* Calls `hit` once for each subscriber to a pattern that means the topic (checked); returns how many. Allocates
 * nothing. */
size_t wf_trie_match(struct wf_trie *t, weft_text topic, void (*hit)(struct wf_subscriber *s, void *arg), void *arg);
/* The pattern it subscribed to, NUL-terminated; it must be in the trie. */
weft_text wf_trie_pattern(const struct wf_subscriber *s, char out[WF_TOPIC_MAX + 1]);
/* Whether there is any. */
bool wf_trie_matches(const struct wf_trie *t, weft_text topic);
/* The first subscriber to exactly this pattern; NULL if none. */
struct wf_subscriber *wf_trie_find(const struct wf_trie *t, weft_text pattern);
/* The next one to the same pattern; NULL: it was the last. */
struct wf_subscriber *wf_trie_next(const struct wf_subscriber *s);

/* ---- Interest: a set of patterns, each with a count of how often it was added ---------------------------------- */

struct wf_interest {
    struct wf_trie trie;     /* of wf_interest_entry.subscriber */
    struct wf_list patterns; /* wf_interest_entry.on_list, in the order they came */
    struct wf_list lost;     /* wf_interest_entry.on_lost: those that have missed messages, the first one first */
    size_t count;            /* of different patterns */
};

void wf_interest_init(struct wf_interest *i, uint64_t secret);
void wf_interest_finish(struct wf_interest *i);
/* Forgets at most so many patterns. Whether none is left. */
bool wf_interest_clear(struct wf_interest *i, uint32_t most);
/* 1: it is new; 0: one more; WEFT_EINVAL, WEFT_ENOMEM. */
int wf_interest_add(struct wf_interest *i, weft_text pattern);
/* True: that was the last. False also when it is not in the set. */
bool wf_interest_remove(struct wf_interest *i, weft_text pattern);
/* Whether any pattern means the topic (checked). */
bool wf_interest_matches(const struct wf_interest *i, weft_text topic);
/* A message under that topic (checked) was not sent: each pattern that means the topic counts it as lost. */
void wf_interest_lose(struct wf_interest *i, weft_text topic);
/* Whether any pattern has missed messages that wf_interest_take_lost has not told of. */
static inline bool wf_interest_has_lost(const struct wf_interest *i)
{
    return !wf_list_empty(&i->lost);
}
/* Calls `see` for each pattern that has missed messages since it was seen last, in the order in which they began to,
 * until it returns false: of that one and those behind it they stay. True: all were seen. The work is that for these
 * patterns, however many others there are. `see` must not change the set. */
bool wf_interest_take_lost(struct wf_interest *i, bool (*see)(weft_text pattern, uint64_t lost, void *arg),
                           void *arg);

#endif

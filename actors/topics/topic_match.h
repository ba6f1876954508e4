/* actors/topics/topic_match.h -- who gets what is published under a topic, as a list, for topics published again and
 * again.
 *
 * Design notes.
 * (1) Each worker has one for its own trie of subscriptions: a table of some topics, one to a place. Any change of
 *     the trie makes all lists stale (wf_trie.changes). A list is made when a topic is published for the second time
 *     since the last change: once costs a walk of the trie, as before.
 * (2) The lists of a worker hold four times as many subscriptions as there are, at most; then all are given up.
 * (3) A list is in the order of the actors in memory, and an actor's subscriptions of a kind in the order they
 *     came. */
#ifndef WF_TOPIC_MATCH_H
#define WF_TOPIC_MATCH_H

#include "subscription.h"

struct wf_match_place {
    uintptr_t to; /* struct wf_actor *, and below it what wf_match_kind says */
    struct wf_subscription *subscription;
};
enum wf_match_kind {
    WF_MATCH_PLAIN = 0,
    WF_MATCH_AWAITED = 1, /* its publishers wait for room */
    WF_MATCH_CARE = 2,    /* has options */
    WF_MATCH_KIND = 3,
};
static inline struct wf_actor *wf_match_actor(const struct wf_match_place *p)
{
    return (struct wf_actor *)(p->to & ~(uintptr_t)WF_MATCH_KIND);
}

struct wf_match {
    struct wf_match_place *places; /* NULL: no list */
    uint32_t count, capacity;
    uint64_t changes;   /* wf_trie.changes when it was last published */
    uint32_t no_groups; /* wf_queue_groups_any when it was found to have no queue groups; 0: not looked */
    uint32_t hash;
    uint32_t size;
    char topic[WF_TOPIC_MAX + 1];
};

enum { WF_MATCH_PLACES = 64 };

/* The place of a topic, which is published now: its list, if `places` is not NULL, holds until the trie changes.
 * NULL: the topic is malformed, unless `*why` is WEFT_OK: no memory for a table. */
struct wf_match *wf_match_find(struct wf_actors *wa, weft_text topic, int *why);
void wf_match_finish(struct wf_actors *wa);

#endif

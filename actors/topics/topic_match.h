/* actors/topics/topic_match.h -- lists of the subscribers of a topic, for topics to which actors publish again and
 * again.
 *
 * Design notes.
 * (1) Each worker has a small table of topics, one for each place, for its own trie of subscriptions. Any change of
 *     the trie makes all lists stale (wf_trie.changes). A list is made at the second publication to a topic since the
 *     last change: the first one costs a walk of the trie.
 * (2) The lists of a worker hold at most four times as many entries as there are subscriptions; beyond that, all
 *     lists are freed.
 * (3) A list is sorted by the address of the actor, and for an actor's subscriptions of one kind by age.
 * (4) Most deliveries go the quick way, wf_published_block_add. A subscription with options of its own may not: its
 *     place names an actor that does not exist, whose mailbox is empty, so the quick way fails without a test for it. */
#ifndef WF_TOPIC_MATCH_H
#define WF_TOPIC_MATCH_H

#include "subscription.h"

struct wf_match_place {
    struct wf_actor *quick; /* the subscriber, or an actor that does not exist: note (4) */
    struct wf_subscription *subscription;
};

struct wf_match {
    struct wf_match_place *places; /* NULL: no list */
    uint32_t count, capacity;
    uint64_t changes;   /* wf_trie.changes when it was last published */
    uint64_t number;    /* of the topic, for wf_route.publish; no other topic of this worker ever has it */
    uint32_t no_groups; /* the wf_queue_groups_any for which the topic has no queue groups; 0: not known */
    uint32_t hash;
    uint32_t size;
    char topic[WF_TOPIC_MAX + 1];
};

enum { WF_MATCH_PLACES = 64 };

/* The place of a topic that is published now. Its list, if `places` is not NULL, is valid until the trie changes.
 * NULL: the topic is malformed, or, if `*why` is WEFT_OK, there is no memory for a table. */
struct wf_match *wf_match_find(struct wf_actors *wa, weft_text topic, int *why);
void wf_match_finish(struct wf_actors *wa);

#endif

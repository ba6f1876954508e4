/* actors/topic_wide.h -- subscriptions that the publisher decides on, for all workers of the node: queue groups, of
 * which one member gets a message, and subscribers whose publishers wait for room. */
#ifndef WF_TOPIC_WIDE_H
#define WF_TOPIC_WIDE_H

#include "msg.h"
#include "topic_trie.h"

struct wf_topics; /* of a node */
struct wf_wide;   /* a queue group, or one such subscriber */

enum { WF_QUEUE_MAX = 64 }; /* bytes of a queue's name */

/* Embedded in a subscription; zero it first. Under the table's lock, but `wide`, which only its owner changes. */
struct wf_wide_member {
    struct wf_link on_wide;
    struct wf_wide *wide; /* NULL: in none */
    uint64_t actor;
};

int wf_topics_create(struct wf_topics **out); /* WEFT_ENOMEM */
void wf_topics_destroy(struct wf_topics *t);  /* NULL is fine */
/* Whether there is anything in it: any thread, one load. */
bool wf_wide_any(const struct wf_topics *t);
/* Joins the queue group of that pattern and name. NULL: a subscriber on its own, whose publishers wait for at most
 * `wait`. WEFT_ENOMEM. */
int wf_wide_add(struct wf_topics *t, weft_text pattern, const char *queue, int64_t wait, uint64_t actor,
                struct wf_wide_member *m);
void wf_wide_remove(struct wf_topics *t, struct wf_wide_member *m);

/* Decides on what is published under a topic, under the lock. `room` says whether that actor of this node seems to
 * have room; `take` is called with each choice. A group without a member that has room: `take` with actor 0. One that
 * is waited for is taken whether it has room or not, with `wait` >= 0; else it is -1. */
struct wf_wide_ask {
    bool (*room)(uint64_t actor, void *arg);
    void (*take)(uint64_t actor, int64_t wait, void *arg);
    void *arg;
};
void wf_wide_choose(struct wf_topics *t, weft_text topic, const struct wf_wide_ask *ask);

#endif

/* actors/topics/lost_topics.h -- publications that were lost on their way to a worker, because the queue between two
 * workers was full or there was no memory: their subscribers on that worker are notified of them.
 *
 * Design notes.
 * (1) The worker that loses a publication does not know the patterns of the other worker. So it notes the topic, and
 *     the other worker finds the subscriptions when it has taken what is in its inbox.
 * (2) The notes are bounded. The publications that cannot be noted by their topic are counted together, and every
 *     subscription of the worker counts all of them, as each may have been for it. So a subscription may learn a number
 *     that is too high, but never one that is too low.
 * (3) Losses are rare, so the notes of a worker are under one lock. */
#ifndef WF_LOST_TOPICS_H
#define WF_LOST_TOPICS_H

#include "actor.h"

/* The notes of a worker, in its slot of the topics feature. */
struct wf_lost_topics {
    struct wf_call call; /* to the worker of the notes: it has to read them */
    pf_mutex *lock;
    struct wf_hash_table table; /* lost_topic.in_table */
    struct wf_list list;        /* lost_topic.on_list, the oldest first */
    uint64_t others;            /* publications of which the topic was not noted */
    bool called;                /* `call` is under way */
    /* Its worker only: `others` that the subscriptions from slot `at` on do not count yet. */
    uint64_t pending;
    uint32_t at;
};

int wf_lost_topics_init(struct wf_actors *wa);
void wf_lost_topics_finish(struct wf_actors *wa);
/* Any thread: a publication under that topic was lost on its way to worker `to`. */
void wf_lost_topics_note(struct wf_worker *to, weft_text topic);

#endif

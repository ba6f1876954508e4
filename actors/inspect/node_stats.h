/* actors/inspect/node_stats.h -- statistics of the workers of a node. They cost nothing until they are asked for:
 * then each worker counts its own actors, on its own thread, a few at a time. */
#ifndef WF_NODE_STATS_H
#define WF_NODE_STATS_H

#include "actor_list.h"
#include "histogram.h"
#include "top_actors.h"

enum { WF_NODE_STATS_KINDS = 64 }; /* the kinds of a node's actors; actors of further kinds count as kind "other" */

/* Statistics of living actors, except `mail`, which a kind keeps when its last actor has ended. */
struct wf_node_stats_kind {
    char kind[32];
    uint32_t actors;
    uint32_t deepest; /* mailbox of them, in messages */
    uint64_t waiting; /* messages in all of them */
    uint64_t held;    /* messages that they hold */
    /* Of all of them. Of more than 256 on a worker the stacks are estimated from those, unless wf_top_want.exact. */
    struct wf_actor_memory memory;
    struct wf_histogram mail; /* how long messages lay in them before they were received: mail_time.h */
};

struct wf_node_stats_worker {
    bool counted;        /* it has answered before the deadline */
    int64_t answered_in; /* nanoseconds until it came to it: how long a message may wait for this worker's turn */
    uint64_t turns, sleeps, posts, timers_fired, parked;
    uint64_t runnable;    /* actors that wait for their turn */
    uint64_t received;    /* messages, by actors that are alive or have ended */
    size_t mailbox_bytes; /* in mailboxes */
};

/* For the heap: a stack of an actor is smaller. */
struct wf_node_stats {
    uint32_t workers, kinds;
    struct wf_node_stats_worker worker[WF_WORKERS_MAX];
    struct wf_node_stats_kind kind[WF_NODE_STATS_KINDS];
};
/* [A, W] Asks all workers of this node but those that are known to be held up (stuck.h), which are not `counted`;
 * `kinds`: also for their actors. WEFT_OK; WEFT_ETIMEDOUT, then those with
 * `counted` have answered, and there are no kinds; WEFT_ENOMEM and others of weft_event_await. */
int wf_node_stats_take(weft_node *node, bool kinds, struct wf_node_stats *out, int64_t deadline);
/* The same with kinds, and some of the actors: `picked` was initialised with which ones. After WEFT_ETIMEDOUT they
 * are those of the workers that have answered. */
int wf_node_stats_top(weft_node *node, struct wf_node_stats *out, struct wf_top_actors *top, int64_t deadline);

#endif

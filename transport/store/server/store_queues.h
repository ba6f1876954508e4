/* transport/store/server/store_queues.h -- the part of the store's actor for queues: it gathers their changes into
 * batches, keeps requests to take that wait for a job, and gives a job back if its worker has ended. */
#ifndef WF_STORE_QUEUES_H
#define WF_STORE_QUEUES_H

#include <weft/message.h>
#include <weft/monitor.h>
#include <weft/offload.h>

#include "node_counts.h"
#include "effort.h"
#include "queue_table.h"
#include "pending_requests.h"
#include "store_shares.h"

enum {
    WF_HOLDS_MAX = 100 * 1000,    /* waiting takers and leases of one store */
    WF_HOLDS_OF_NODE = 20 * 1000, /* of these, holds of actors of one node, so that one node cannot take all places */
    WF_TAKERS_MAX = 10 * 1000,    /* of these, takers that wait at one queue */
    WF_TAKE_BYTES_MAX = 1024,     /* bytes of a request to take, which is kept */
    WF_MEMBER_BOUND_MAX = 1000,   /* records that a member of a shared cursor has at a time */
    WF_MEMBER_WAITS_MAX = 16,     /* requests of a member that wait; members of weft have one */
    WF_HOLD_BUCKETS = 16 * 1024,
    WF_AWAY_BUCKETS = 1024,
};

struct wf_hold;

/* A job that a worker had when the store was opened. */
struct wf_queue_lease {
    char queue[WF_STORE_TOPIC_MAX + 1];
    uint64_t id, lease;
    int64_t due;
    uint32_t tag;
    weft_pid worker;
};

struct wf_store_queues {
    struct wf_store_file *file;
    struct wf_queue_table table;
    struct wf_pending_requests requests; /* changes */
    bool has_scanned;                    /* the last job was a scan */
    bool relies;                         /* there may be changes with `relies` */
    struct wf_effort *effort;
    struct wf_list taking;
    struct wf_chained *by_monitor[WF_HOLD_BUCKETS], *by_job[WF_HOLD_BUCKETS], *by_ticket[WF_HOLD_BUCKETS];
    struct wf_chained *by_member[WF_HOLD_BUCKETS]; /* those of shared cursors */
    struct wf_store_shares shares;
    uint64_t given; /* jobs */
    size_t holds;
    struct wf_node_counts of_node;
    struct wf_list away;                         /* workers from before the opening whose node is not linked */
    struct wf_chained *away_of[WF_AWAY_BUCKETS]; /* the same, by their nodes */
    uint64_t damaged;                            /* damaged jobs that the last taking skipped */
};

/* The time of the store's clock: ns since 1970, UTC. */
static inline int64_t wf_queues_clock(const struct wf_store_queues *q)
{
    return q->file->store->engine->clock(q->file->store);
}

/* `q` is all zero. `rule` is taken over, for free(). */
void wf_queues_init(struct wf_store_queues *q, struct wf_store_file *file, struct wf_effort *effort,
                    struct wf_queue_rule *rule, size_t rules);
void wf_queues_free(struct wf_store_queues *q); /* [A, W] */
/* Takes a WF_STORE_CHANGE request, or a WF_STORE_UNTAKE message. Consumes it. [A, W] */
void wf_queues_change(struct wf_store_queues *q, weft_msg *ask);
/* Takes a WF_STORE_SHARE request. Consumes it. */
void wf_queues_share(struct wf_store_queues *q, weft_msg *ask);
/* A record was stored under the topic. */
void wf_queues_appended(struct wf_store_queues *q, const char *topic);
void wf_queues_untake(struct wf_store_queues *q, weft_msg *m);
/* Monitors the workers that had jobs when the store was opened. */
void wf_queues_restore(struct wf_store_queues *q, const struct wf_queue_lease *lease, size_t count);
/* The node is linked now: monitors its workers. [A, W] */
void wf_queues_node_up(struct wf_store_queues *q, uint64_t node);
/* A monitor has fired. False: it is not a monitor of a taker or worker. */
bool wf_queues_down(struct wf_store_queues *q, const struct weft_down *down);
/* Starts a job that stores the waiting changes. False: no change waits, or the job was refused. */
bool wf_queues_start(struct wf_store_queues *q, weft_job *job);
void wf_queues_finish(struct wf_store_queues *q, weft_job job);
/* The deadline after which a job may be due for a taker. */
int64_t wf_queues_deadline(const struct wf_store_queues *q);

#endif

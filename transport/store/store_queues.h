/* transport/store/store_queues.h -- what the store's actor does for queues: it gathers their changes into batches,
 * keeps requests to take that wait for a job, and gives jobs back whose worker has ended. */
#ifndef WF_STORE_QUEUES_H
#define WF_STORE_QUEUES_H

#include <weft/message.h>
#include <weft/monitor.h>
#include <weft/offload.h>

#include "store_file.h"

enum {
    WF_HOLDS_MAX = 100 * 1000, /* waiting takers and leases of one store */
    WF_TAKERS_MAX = 10 * 1000, /* of them, takers that wait at one queue */
    WF_HOLD_BUCKETS = 4096,
    WF_QUEUE_BUCKETS = 1024,
};

/* Queues that the store takes. */
struct wf_queue_rule {
    char pattern[WF_STORE_TOPIC_MAX + 1];
    int64_t lease;
    uint32_t attempts;
    uint64_t jobs;
};

struct wf_hold;
struct wf_work_queue;
struct wf_change_wait;

struct wf_store_queues {
    struct wf_store_file *file;
    struct wf_queue_rule *rule;
    size_t rules;
    struct wf_change_wait *first, **end; /* changes that have not been stored yet */
    size_t waiting, waiting_bytes;
    struct wf_change_wait *running; /* those of the running batch, in its order, then its takers */
    struct wf_hold *taking, **taking_end;
    struct wf_work_queue *queue[WF_QUEUE_BUCKETS];
    struct wf_work_queue *to_look; /* those that have takers, and perhaps a job for them */
    size_t queues;
    struct wf_hold *by_monitor[WF_HOLD_BUCKETS], *by_job[WF_HOLD_BUCKETS], *by_ticket[WF_HOLD_BUCKETS];
    size_t holds;
    int64_t next_look; /* when a job that takers wait for is due, by the store's clock; INT64_MAX: never */
    uint64_t damaged;  /* jobs that were passed over at the last taking */
};

/* `rule` is taken over, for free(). */
void wf_queues_init(struct wf_store_queues *q, struct wf_store_file *file, struct wf_queue_rule *rule, size_t rules);
void wf_queues_free(struct wf_store_queues *q);
/* Takes a WF_STORE_CHANGE request, or a WF_STORE_UNTAKE message. Consumes it. */
void wf_queues_change(struct wf_store_queues *q, weft_msg *ask);
void wf_queues_untake(struct wf_store_queues *q, weft_msg *m);
/* A monitor has fired. False: it is not a monitor of a taker or worker. */
bool wf_queues_down(struct wf_store_queues *q, const struct weft_down *down);
/* Starts to store what there is to store. False: there is nothing, or it was refused. */
bool wf_queues_start(struct wf_store_queues *q, weft_job *job);
void wf_queues_finish(struct wf_store_queues *q, weft_job job);
bool wf_queues_is_idle(const struct wf_store_queues *q); /* nothing waits to be stored */
bool wf_queues_has_room(const struct wf_store_queues *q);
/* The deadline after which a job may be due for a taker. */
int64_t wf_queues_deadline(const struct wf_store_queues *q);

#endif

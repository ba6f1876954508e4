/* runtime/wait/offload.h -- a node's threads for blocking functions, as its start and its end see them.
 *
 * Design notes.
 * (1) A job is a block of its own. Its task holds it (as a wf_owned) from its start to take or drop; while it is not
 *     done, the queue or a thread uses it, too. `lock` guards its state, and the last user frees it: the task if it
 *     is not running, the thread if the task has abandoned it meanwhile.
 * (2) A task waits for an event that the thread sets under `lock`; closing the node takes the same lock, so no thread
 *     touches the node's slabs once it is closed.
 * (3) The queue has a bound. A job beyond it is in `overflow` and its task waits; the job that has waited longest
 *     gets the next place.
 * (4) Threads are started when a job finds none idle, up to a bound, and then stay. An idle one sleeps on a condition
 *     of its own, so that a job wakes one thread, the last to fall asleep.
 * (5) A function that does not return cannot be ended. The node then leaves its thread behind: the thread frees its
 *     job when it comes back, and the last one frees the set. */
#ifndef WF_OFFLOAD_H
#define WF_OFFLOAD_H

#include "task.h"

#include <weft/offload.h>

enum { WF_OFFLOAD_THREADS = 4, WF_OFFLOAD_THREADS_MAX = 256, WF_OFFLOAD_QUEUE = 1024 };

struct wf_offload;

/* 0: the default of either. No thread is started yet. */
int wf_offload_create(struct wf_offload **out, uint32_t threads_max, uint32_t queue_max);
/* Any thread but a worker's: waits until no function runs. WEFT_ETIMEDOUT: some do; the log says whose. */
int wf_offload_drain(struct wf_offload *o, int64_t deadline);
/* All tasks have ended. Ends the threads, but for those whose function still runs: they end with it. */
void wf_offload_destroy(struct wf_offload *o); /* NULL is fine */
/* Whether some job will end by itself and wake its task. */
bool wf_offload_is_awaited(struct wf_offload *o);
/* For tests and inspection: functions running, jobs in the queue, tasks waiting for a place, threads started. */
struct wf_offload_counts {
    uint32_t running, queued, waiting, threads;
};
struct wf_offload_counts wf_offload_count(struct wf_offload *o);

/* As weft_offload_start, but the job owns the block from the call on: `drop` is called on it if it is not taken, even
 * if this call fails or the task is killed in it. */
int wf_offload_start(weft_job *out, weft_blocking *run, weft_blocking *drop, const void *block, size_t size,
                     int64_t deadline);

/* A blocking call of the runtime's own: embed, fill in, run. */
struct wf_work {
    void (*run)(struct wf_work *work);  /* on a thread that may block */
    void (*free)(struct wf_work *work); /* the result is not wanted; on any thread, perhaps after the node's end */
};
/* The running task waits until `work` has run: WEFT_OK, and it is the caller's again. Any error: it is, or will be,
 * freed; WEFT_ETIMEDOUT and WEFT_ECANCELED, WEFT_EFULL, WEFT_ENOMEM. */
int wf_work_run(struct wf_work *work, int64_t deadline);
/* The same in two steps; weft_on_offload(job) in between. Taking fails with WEFT_ETIMEDOUT or WEFT_ECANCELED and may
 * be tried again; weft_offload_drop gives up. */
int wf_work_start(weft_job *out, struct wf_work *work, int64_t deadline);
/* Starts it without waiting for a place in the queue: taking waits for that, too, and says WEFT_EFULL if there was
 * none until its deadline. WEFT_ENOMEM: `work` is still the caller's. */
int wf_work_submit(weft_job *out, struct wf_work *work);
int wf_work_take(weft_job job, struct wf_work **out, int64_t deadline);

extern const struct wf_part wf_offload_part;

#endif

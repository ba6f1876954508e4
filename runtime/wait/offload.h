/* runtime/wait/offload.h -- a node's threads for blocking functions: their begin and end, and functions for the
 * runtime's own jobs.
 *
 * Design notes.
 * (1) A job is a block of its own. Its task holds it (as a wf_owned) from its start to take or drop; while it is not
 *     done, the queue or a thread uses it, too. `lock` guards its state, and the last user frees it: the task if it
 *     is not running, the thread if the task has abandoned it meanwhile.
 * (2) A task waits for an event that the thread sets under `lock`; closing the node takes the same lock, so no thread
 *     touches the node's slabs once it is closed.
 * (3) The queue has a bound. A job beyond it is in `overflow` and its task waits; the job that has waited longest
 *     gets the next place.
 *     Look-ups of names have a line of their own, with the same bounds, and leave one thread to the other jobs (if
 *     there are several threads). A free thread takes the job that has been in a queue for longest, of both lines.
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

/* Waits until no function runs; a worker's thread must not call it. WEFT_ETIMEDOUT: some still run, and the log names
 * their actors. */
int wf_offload_drain(struct wf_offload *o, int64_t deadline);
/* Whether a job runs or is queued, so that a task will be woken when it ends. */
bool wf_offload_is_awaited(struct wf_offload *o);
/* For tests and inspection: functions running, jobs in the queue, tasks waiting for a place, threads started. */
struct wf_offload_counts {
    uint32_t running, queued, waiting, threads;
};
struct wf_offload_counts wf_offload_count(struct wf_offload *o);

/* As weft_offload, for a look-up of a name: see note (3). */
int wf_offload_look_up(weft_blocking *run, void *block, size_t size, int64_t deadline);

/* A blocking call of the runtime itself: embed this, fill it in, and run it. */
struct wf_work {
    void (*run)(struct wf_work *work); /* on a thread that may block */
    /* frees the work, when its result is not needed; may run on any thread, and after the node's end */
    void (*free)(struct wf_work *work);
};
/* The running task waits until `work` has run. WEFT_OK: the caller owns it again. On any error it is freed, now or
 * later: WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_EFULL, WEFT_ENOMEM. */
int wf_work_run(struct wf_work *work, int64_t deadline);
/* The same in two steps, between which weft_on_offload(job) may wait. Taking fails with WEFT_ETIMEDOUT or
 * WEFT_ECANCELED and may be tried again; weft_offload_drop gives up. */
int wf_work_start(weft_job *out, struct wf_work *work, int64_t deadline);
/* Starts it without waiting for a place in the queue: wf_work_take waits for that, too, and returns WEFT_EFULL if its
 * deadline passes before there is a place. WEFT_ENOMEM: the caller still owns `work`. */
int wf_work_submit(weft_job *out, struct wf_work *work);
int wf_work_take(weft_job job, struct wf_work **out, int64_t deadline);

extern const struct wf_part wf_offload_part;

#endif

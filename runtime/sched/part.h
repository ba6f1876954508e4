/* runtime/sched/part.h -- the part that a room above this one adds to each worker. The scheduler calls the parts in
 * wf_workers.parts and knows none of them: from the first to the last when something begins, from the last to the
 * first when it ends. Any function may be NULL. */
#ifndef WF_PART_H
#define WF_PART_H

#include "platform.h"

struct wf_wait_kind;
struct wf_worker;
struct wf_workers;

struct wf_part {
    /* Called before the first worker is made. Returns 0, WEFT_ENOMEM or another error. A part is also ended if its
     * begin has failed or never ran. */
    int (*set_begin)(struct wf_workers *set);
    /* Called when all threads have ended, before undelivered posts are dropped. */
    void (*set_end)(struct wf_workers *set);
    int (*worker_begin)(struct wf_worker *w);
    /* Called on the worker's thread, after its last turn; returns when the system has completed all operations of
     * this part. */
    void (*worker_drain)(struct wf_worker *w);
    /* Called when all threads have ended, while the worker's poller still exists; also for a worker whose begin has
     * failed or never ran. */
    void (*worker_end)(struct wf_worker *w);
    /* Each is set by one part only: on_ready takes the poller's entries, on_done a finished overlapped operation
     * (pf_ready.done). */
    void (*on_ready)(struct wf_worker *w, const struct pf_ready *entries, int count);
    void (*on_done)(struct wf_worker *w, uint64_t tag);
    /* Sources of waits that this part adds, see wait.h; the last is NULL. */
    const struct wf_wait_kind *const *wait_kinds;
};

#endif

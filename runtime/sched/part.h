/* runtime/sched/part.h -- what a folder above this one adds to every worker. The scheduler calls the parts in
 * wf_workers.parts and knows none of them: from the first to the last when something begins, from the last to the
 * first when it ends. Any function may be NULL. */
#ifndef WF_PART_H
#define WF_PART_H

#include "platform.h"

struct wf_wait_kind;
struct wf_worker;
struct wf_workers;

struct wf_part {
    /* Before the first worker is made. WEFT_ENOMEM, ...; a part whose begin failed or never ran is ended as well. */
    int (*set_begin)(struct wf_workers *set);
    /* All threads have ended and nothing that was posted has been dropped yet. */
    void (*set_end)(struct wf_workers *set);
    int (*worker_begin)(struct wf_worker *w);
    /* On its thread, after its last turn: returns when nothing of this part is under way in the system. */
    void (*worker_drain)(struct wf_worker *w);
    /* All threads have ended, its poller is still there. Also of a worker whose begin failed or never ran. */
    void (*worker_end)(struct wf_worker *w);
    /* Each is set by one part only: on_ready takes the poller's entries, on_done a finished overlapped operation
     * (pf_ready.done). */
    void (*on_ready)(struct wf_worker *w, const struct pf_ready *entries, int count);
    void (*on_done)(struct wf_worker *w, uint64_t tag);
    /* The sources that it adds to waits, see wait.h; the last is NULL. */
    const struct wf_wait_kind *const *wait_kinds;
};

#endif

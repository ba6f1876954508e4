/* actors/trace/worker_query.h -- queries to workers: each worker answers on its own thread between two tasks, while
 * the asking actor waits. So no data of an actor needs a lock, and workers that are not asked pay nothing.
 *
 * A round is the first member of a struct from calloc, which has a struct wf_call for each worker that is asked. It
 * is shared by the caller and the workers and freed by the last of them, since the caller may give up at its deadline
 * or be killed. */
#ifndef WF_WORKER_QUERY_H
#define WF_WORKER_QUERY_H

#include <weft/event.h>

#include "task.h"

struct wf_worker_query {
    _Atomic uint32_t refs; /* decremented acq_rel: writes of a worker come before the last holder's free */
    _Atomic uint32_t left; /* workers that have not answered; the same */
    weft_event ready;
    struct wf_owned caller;                  /* its reference, if it is killed while it waits */
    void (*free)(struct wf_worker_query *r); /* NULL: free() is enough */
};

/* [A] `workers` will be asked. WEFT_ENOMEM: the caller frees it. */
int wf_worker_query_begin(struct wf_worker_query *r, uint32_t workers, void (*free)(struct wf_worker_query *r));
/* Has `answer` called on that worker, which ends with wf_worker_query_answered or posts `c` to itself again. */
void wf_worker_query_ask(weft_node *node, uint32_t worker, struct wf_call *c,
                         void (*answer)(struct wf_worker *w, struct wf_call *c));
/* [W] The worker no longer touches it. */
void wf_worker_query_answered(struct wf_worker_query *r);
/* [A] As weft_event_await: WEFT_OK when all have answered. Then the caller reads what there is, and drops it. */
int wf_worker_query_await(struct wf_worker_query *r, int64_t deadline);
void wf_worker_query_drop(struct wf_worker_query *r);

/* [A, W] Runs `look` on that worker with a copy of `data`, again in a later turn as long as it returns true, and copies
 * the result back. WEFT_ETIMEDOUT, WEFT_ENOMEM, WEFT_ECANCELED: then `data` is as it was. */
int wf_worker_inspect(weft_node *node, uint32_t worker, bool (*look)(struct wf_worker *w, void *data), void *data,
                      size_t size, int64_t deadline);

#endif

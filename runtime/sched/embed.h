/* runtime/sched/embed.h -- a set with one worker and no thread: it runs a turn when a foreign event loop calls it.
 *
 * Design notes.
 * (1) Between two calls the worker counts as asleep, though no thread waits in its poller: a post wakes it, which
 *     makes the poller's handle readable, so the foreign loop calls. The handle's alarm (platform.h) is set to the
 *     worker's first deadline. So the foreign loop only needs to watch the handle; it needs no timer for the worker.
 * (2) A turn first polls and then runs tasks, so all work that it finds is done when it returns. If work is left, the
 *     handle stays readable.
 * (3) A pf_env.cond_wait for the worker, at the node's end for example, happens in the only thread that the worker
 *     has: so there the wait runs a turn. This is the only difference from the native environment. */
#ifndef WF_EMBED_H
#define WF_EMBED_H

#include "workers.h"

struct wf_embed {
    struct pf_env env; /* first */
    struct wf_workers *set;
    _Atomic bool turning; /* acquire and release hand the worker to the next thread that runs a turn */
    _Atomic bool said;    /* relaxed: the log has the line about two threads */
};

/* Gives the set an environment in `e`, which must live as long as the set. */
void wf_embed_init(struct wf_embed *e, struct wf_workers *set);
/* Call it instead of wf_workers_start. WEFT_ENOTSUP: no other loop can wait for this poller on this system;
 * WEFT_EFULL. */
int wf_embed_start(struct wf_workers *set);
/* Runs a turn; waits for work until `deadline`. Returns when the next turn is due: WEFT_NOW, a time, or
 * WEFT_FOREVER. WEFT_EINVAL: another thread is running one. The log names this mistake once. */
int64_t wf_embed_turn(struct wf_workers *set, int64_t deadline);

#endif

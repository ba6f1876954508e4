/* runtime/sched/embed.h -- a set with one worker and no thread: it turns when a loop that is not ours calls.
 *
 * Design notes.
 * (1) Between two calls the worker counts as asleep, though nobody waits in its poller: who posts wakes it, which
 *     makes the poller's handle readable, and the foreign loop calls. The handle's alarm (platform.h) is set to the
 *     worker's first deadline. So the foreign loop needs to watch nothing but the handle, and an idle worker makes it
 *     neither readable nor anybody's timer.
 * (2) A turn looks first and runs then, so what it finds is done when it returns. If something is left to run, the
 *     handle stays readable.
 * (3) Whoever waits for the worker by pf_env.cond_wait, at the node's end for example, does so in the only thread the
 *     worker has: there the wait is a turn. That is this environment's difference from the native one. */
#ifndef WF_EMBED_H
#define WF_EMBED_H

#include "workers.h"

struct wf_embed {
    struct pf_env env; /* first */
    struct wf_workers *set;
};

/* Instead of an environment of its own: fills in and uses `e`, which must live as long as the set. */
void wf_embed_init(struct wf_embed *e, struct wf_workers *set);
/* Instead of wf_workers_start. WEFT_ENOTSUP: no loop could wait for it here; WEFT_EFULL. */
int wf_embed_start(struct wf_workers *set);
/* A turn; waits for something to do until `deadline`. When the next one is due: WEFT_NOW, a time, or WEFT_FOREVER. */
int64_t wf_embed_turn(struct wf_workers *set, int64_t deadline);

#endif

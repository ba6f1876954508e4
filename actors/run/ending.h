/* actors/run/ending.h -- an actor that ends takes little time at once, and not very long altogether. */
#ifndef WF_ENDING_H
#define WF_ENDING_H

#include "actor.h"

/* While clean-ups run: in the frame of end_in_steps, wf_actor_more.ending. */
struct wf_ending {
    int64_t latest; /* the end of the grace period */
    bool late;      /* it was noticed that the grace period was over, at `latest` */
    bool refuses;   /* weft_defer runs a clean-up that came too late */
    pf_place steps; /* where the end goes on when a clean-up is abandoned */
};

/* wf_hooks.task_latest: for the waits of clean-ups. */
int64_t wf_actor_latest(struct wf_task *t);
/* Whether its clean-ups have run for two grace periods: it gets no new ones. */
bool wf_actor_is_overdue(struct wf_actor *a);
/* An ending actor has given back, or notified, so many of what may be very many: after WF_TASK_BUDGET of them other
 * actors run, after about 1,024 of them the worker's turn ends. Call it where nothing of `a` is half done, and without
 * a lock: messages come meanwhile. Returns at once if `a` ends on another stack than its own, as a kept actor may. */
void wf_actor_end_part(struct wf_actor *a, uint32_t entries);

#endif

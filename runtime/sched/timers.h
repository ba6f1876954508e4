/* runtime/sched/timers.h -- the timers of a worker, for whatever embeds a wf_timer (heap.h). On its thread. */
#ifndef WF_TIMERS_H
#define WF_TIMERS_H

#include "heap.h"

struct wf_worker;

/* WEFT_ENOMEM. */
int wf_timer_arm(struct wf_worker *w, struct wf_timer *t, int64_t deadline);
/* The same of a timer for which a place was kept: wf_heap_set_aside. */
void wf_timer_arm_reserved(struct wf_worker *w, struct wf_timer *t, int64_t deadline);
void wf_timer_disarm(struct wf_worker *w, struct wf_timer *t);

#endif

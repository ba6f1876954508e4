/* runtime/sched/timers.h -- the timers of a worker: structs embed a wf_timer (heap.h). Only the worker's thread may
 * call this. */
#ifndef WF_TIMERS_H
#define WF_TIMERS_H

#include "heap.h"

struct wf_worker;

/* Returns 0 or WEFT_ENOMEM. */
int wf_timer_arm(struct wf_worker *w, struct wf_timer *t, int64_t deadline);
/* The same for a timer that may be armed already, or rest (wf_timer_rest). If its entry does not stand for a later time,
 * as is usual for a timer that is armed again and again, this costs little. */
int wf_timer_set(struct wf_worker *w, struct wf_timer *t, int64_t deadline);
/* As wf_timer_arm, for a timer for which wf_heap_set_aside has kept a place, so it cannot fail. */
void wf_timer_arm_reserved(struct wf_worker *w, struct wf_timer *t, int64_t deadline);
void wf_timer_disarm(struct wf_worker *w, struct wf_timer *t);

#endif

/* runtime/sched/timers.c -- see timers.h. */
#include "timers.h"

#include "worker.h"

/* The time is at least the beginning of this turn: a timer that is armed for the past is sorted behind all that are
 * due, and not before them. */
int wf_timer_arm(struct wf_worker *w, struct wf_timer *t, int64_t deadline)
{
    WF_ASSERT(t->fire != NULL);
    t->deadline = WF_MAX(deadline, w->now);
    return wf_heap_add(&w->timers, t);
}

void wf_timer_arm_reserved(struct wf_worker *w, struct wf_timer *t, int64_t deadline)
{
    WF_ASSERT(t->fire != NULL);
    t->deadline = WF_MAX(deadline, w->now);
    wf_heap_add_reserved(&w->timers, t);
}

void wf_timer_disarm(struct wf_worker *w, struct wf_timer *t)
{
    wf_heap_remove(&w->timers, t);
}

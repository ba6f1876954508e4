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

static __attribute__((noinline)) int arm_again(struct wf_worker *w, struct wf_timer *t, int64_t deadline)
{
    wf_heap_remove(&w->timers, t);
    return wf_timer_arm(w, t, deadline);
}

/* The common case needs no stack frame. */
int wf_timer_set(struct wf_worker *w, struct wf_timer *t, int64_t deadline)
{
    if (WF_LIKELY(wf_heap_postpone(&w->timers, t, WF_MAX(deadline, w->now)))) return WEFT_OK;
    return arm_again(w, t, deadline);
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

/* runtime/wait/timer.h -- the timers for which an actor can wait (weft/timer.h). Each belongs to one task, and only
 * the thread of its worker uses it. */
#ifndef WF_TIMER_H
#define WF_TIMER_H

#include "task.h"

struct wf_user_timer {
    struct wf_slot slot; /* wf_worker.user_timers */
    struct wf_task *task;
    struct wf_owned owned;
    struct wf_timer timer;
    /* `due`: the time for which the timer is armed, even if it has passed; period 0: it fires once */
    int64_t due, period;
    int64_t fired;          /* how often it has fired since the last take */
    struct wf_list waiters; /* wf_waiter.on_source */
};

/* The timer with that id; NULL: task `t` has no such timer. */
struct wf_user_timer *wf_user_timer_find(struct wf_task *t, uint64_t id);

extern const struct wf_part wf_timer_part;

#endif

/* runtime/wait/timer.h -- the timers an actor can wait for (weft/timer.h). Each belongs to one task; all on
 * its worker's thread. */
#ifndef WF_TIMER_H
#define WF_TIMER_H

#include "task.h"

struct wf_user_timer {
    struct wf_slot slot; /* wf_worker.user_timers */
    struct wf_task *task;
    struct wf_owned owned;
    struct wf_timer timer;
    int64_t due, period;    /* `due`: what the timer is armed for, even if that was past; period 0: once */
    int64_t fired;          /* since the last take */
    struct wf_list waiters; /* wf_waiter.on_source */
};

/* The timer of that id if it is one of task `t`, else NULL. */
struct wf_user_timer *wf_user_timer_find(struct wf_task *t, uint64_t id);

extern const struct wf_part wf_timer_part;

#endif

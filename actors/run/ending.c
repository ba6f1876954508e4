/* actors/run/ending.c -- see ending.h. */
#include "ending.h"

/* The grace period makes the waits of clean-ups fail. A clean-up that tries again whenever its wait has failed, or
 * defers itself again, would never end, so there is one grace period more: then it is abandoned, or nothing is
 * deferred. */
bool wf_actor_is_overdue(struct wf_actor *a)
{
    struct wf_ending *e = a->more == NULL ? NULL : a->more->ending;
    if (WF_LIKELY(e == NULL)) return false;
    const int64_t now = weft_now();
    if (now < e->latest) return false;
    if (e->late) return now - e->latest >= wf_node_of(a->task.worker)->options.grace;
    e->late = true;
    e->latest = now;
    return false;
}

int64_t wf_actor_latest(struct wf_task *t)
{
    struct wf_actor *a = wf_actor_of(t);
    if (wf_actor_is_overdue(a)) t->killed = true;
    return a->more->ending->latest;
}

void wf_actor_end_part(struct wf_actor *a, uint32_t entries)
{
    struct wf_task *t = &a->task;
    struct wf_worker *w = t->worker;
    if (wf_task_self() != t) return;
    WF_ASSERT(a->cleaning);
    entries = WF_MIN(entries, (uint32_t)(WF_TURN_WORK / WF_ENTRY_WORK));
    wf_worker_charge(w, entries * WF_ENTRY_WORK);
    if (wf_worker_is_spent(w)) w->budget = 0;
    if (entries < t->ops) t->ops -= entries;
    else wf_task_yield();
}

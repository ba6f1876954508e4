/* runtime/sched/park.h -- gives back the stack memory of tasks that wait for long.
 *
 * Design notes.
 * (1) To park a waiting task, the contents of its stack, from its stack pointer up, are copied into a block, and the
 *     stack's pages are given back. The address range stays reserved; the contents are copied back before the task
 *     next runs. Of 4 KiB or more about 300 bytes remain, as most words of a stack are zero and are not stored.
 * (2) So no other code may use the stack of a parked task. The runtime does not use it if a task waits only for its
 *     mailbox or for the time (wf_waits_for_mail, wf_waits_for_time); other waits have data in a stack frame that
 *     other code uses: wf_waiter, wf_asking. Users must not use it either, or they set wf_task.shares_stack.
 * (3) The sweep for idle tasks turns WAITING into IDLE, and parks a task that is still IDLE in the next round. A task
 *     that has run in between is WAITING, so running a task sets and clears no mark. Waking already tests for WAITING
 *     first, so IDLE and PARKED cost it nothing.
 * (4) Tasks are parked in batches: giving memory of a running process back is expensive
 *     (runtime/platform/linux/pages.c).
 * (5) ASan and TSan keep data of their own about each stack, so no task is parked under them. */
#ifndef WF_PARK_H
#define WF_PARK_H

#include "sanitizer.h"
#include "task.h"

/* Values for `what` of wf_task_wait; compared by address. */
extern const char wf_waits_for_time[];

/* Whether tasks of this process are parked at all. */
static inline bool wf_parks(void)
{
    return !wf_is_sanitized();
}

/* Whether it is IDLE, and no other code uses its stack. */
static inline bool wf_task_may_park(const struct wf_task *t)
{
    return t->state == WF_TASK_IDLE && wf_parks() && !t->shares_stack &&
           (t->waits_for == wf_waits_for_mail || t->waits_for == wf_waits_for_time);
}

/* Parks these tasks, at most PF_RANGES_MAX, for which wf_task_may_park holds. A task stays as it is if there is no
 * memory for it. Returns how many were parked. It is cheapest if their addresses are in order. */
int wf_tasks_park(struct wf_worker *w, struct wf_task *const *tasks, int count);

/* Restores the stack of an UNPARKED task. */
void wf_task_unpark(struct wf_worker *w, struct wf_task *t);

/* The return addresses of a task that does not run, the innermost first, at most `max`. Returns how many. 0: it has
 * no stack, or this system cannot tell (pf_context_callers). */
size_t wf_task_callers(const struct wf_task *t, uintptr_t *out, size_t max);

/* How many bytes a parked task's block holds. */
size_t wf_task_parked_bytes(const struct wf_task *t);

#endif

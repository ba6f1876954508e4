/* runtime/sched/park.h -- the stacks of tasks that wait for long give their memory back.
 *
 * Design notes.
 * (1) A waiting task is parked: what its stack holds, from its stack pointer up, is copied into a block, and the
 *     stack's pages are given back. The addresses stay its own; it is copied back before it next runs. Of 4 KiB and
 *     more some 300 bytes are left, as most words of a stack are zero and are not kept.
 * (2) So nobody may use the stack of a parked task. Within the runtime that is true of a task that waits for its
 *     mailbox or for the time alone (wf_waits_for_mail, wf_waits_for_time); other waits have something in a frame
 *     that others use: wf_waiter, wf_asking. Users promise it, or say wf_task.shares_stack.
 * (3) Who looks for idle tasks turns WAITING into IDLE, and parks what is still IDLE when he comes by again. A task
 *     that runs in between is WAITING, without a mark to set or to clear on its way. Waking one that is not WAITING
 *     was a rare case before.
 * (4) Batches: taking memory away from a running process is dear (runtime/platform/linux/pages.c).
 * (5) ASan and TSan keep books of their own about each stack: nothing is parked under them. */
#ifndef WF_PARK_H
#define WF_PARK_H

#include "sanitizer.h"
#include "task.h"

/* As `what` of wf_task_wait. Known by their addresses. */
extern const char wf_waits_for_mail[], wf_waits_for_time[];

/* Whether tasks of this process are parked at all. */
static inline bool wf_parks(void)
{
    return !wf_is_sanitized();
}

/* Whether it is IDLE, and its stack nobody's but its own. */
static inline bool wf_task_may_park(const struct wf_task *t)
{
    return t->state == WF_TASK_IDLE && wf_parks() && !t->shares_stack &&
           (t->waits_for == wf_waits_for_mail || t->waits_for == wf_waits_for_time);
}

/* Parks these tasks, at most PF_RANGES_MAX, which may be. One for which there is no memory stays as it is. How many
 * were parked. Addresses in order cost least. */
int wf_tasks_park(struct wf_worker *w, struct wf_task *const *tasks, int count);

/* UNPARKED: as it was. */
void wf_task_unpark(struct wf_worker *w, struct wf_task *t);

/* Where the code of a task that does not run goes on, and where its callers do, the innermost first: at most `max`
 * addresses; how many. 0: it has no stack, or they are not known on this system (pf_context_callers). */
size_t wf_task_callers(const struct wf_task *t, uintptr_t *out, size_t max);

/* How many bytes a parked task's block holds. */
size_t wf_task_parked_bytes(const struct wf_task *t);

#endif

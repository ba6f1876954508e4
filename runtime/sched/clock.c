/* runtime/sched/clock.c -- the public clock: that of the calling worker's node; elsewhere, that of the simulation
 * that the calling thread drives, or else the machine's. */
#include <weft/time.h>

#include "here.h"
#include "task.h"

int64_t weft_now(void)
{
    struct pf_env *env = wf_here != NULL ? wf_here->set->env : wf_env_here != NULL ? wf_env_here : pf_env_native();
    return env->now(env);
}

int64_t weft_after(int64_t span)
{
    if (span <= 0) return WEFT_NOW;
    int64_t now = weft_now();
    if (WF_LIKELY(span <= WEFT_FOREVER - now)) return now + span;
    struct wf_task *t = wf_task_self();
    if (t != NULL && span != WEFT_FOREVER) wf_task_wrong_time(t, "weft_after", span);
    return WEFT_FOREVER;
}

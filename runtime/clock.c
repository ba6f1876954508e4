/* runtime/clock.c -- the public clock: that of the calling worker's node, else of the simulation that the calling
 * thread drives, else the machine's. */
#include <weft/time.h>

#include "worker.h"

_Thread_local struct pf_env *wf_env_here;

int64_t weft_now(void)
{
    struct pf_env *env = wf_here != NULL ? wf_here->set->env : wf_env_here != NULL ? wf_env_here : pf_env_native();
    return env->now(env);
}

int64_t weft_after(int64_t span)
{
    if (span <= 0) return WEFT_NOW;
    int64_t now = weft_now();
    return span > WEFT_FOREVER - now ? WEFT_FOREVER : now + span;
}

/* runtime/platform/sim/sim.h -- an environment whose clock and randomness come from a seed instead of the machine.
 *
 * Design notes.
 * (1) Time stands still until it is moved: by pf_sim_advance, or by a poller that has nothing else to do and jumps to
 *     its deadline. One clock, moved by one thread: a simulated node has one worker.
 * (2) Descriptors are real. A poller asks the kernel before it lets time pass, so two ends within the simulation talk
 *     at one point in time. What comes from outside of it has `patience` to come, in real time, and costs
 *     repeatability.
 * (3) With no deadline there is nothing to jump to: the wait is then a real one, for a descriptor or a wake. */
#ifndef PF_SIM_H
#define PF_SIM_H

#include "platform.h"

struct pf_sim {
    struct pf_env env;   /* first: a struct pf_env * of it is a struct pf_sim * */
    _Atomic int64_t now; /* relaxed: written by its thread, read by any */
    int64_t wall_ahead;  /* of `now`; its thread only */
    uint64_t random;     /* state of the generator */
    _Atomic int handles; /* registered in its pollers; relaxed: a poller's own thread sees what it did itself */
    int64_t patience;    /* real nanoseconds that the next wait of a poller may take; then 0 again */
    /* For a thread that waits, see pf_env.cond_wait: something happens next, or (false) nothing will before
     * `deadline`, and the clock shows that. NULL: nobody waits here. */
    bool (*go_on)(struct pf_sim *s, int64_t deadline);
};

#define PF_SIM_START (WF_CLOCK_BEGIN + 1000000000) /* what the clock shows at first */

void pf_sim_init(struct pf_sim *s, uint64_t seed);
static inline struct pf_env *pf_sim_env(struct pf_sim *s)
{
    return &s->env;
}
/* Its thread only. Moves the clock to `to`; never back. */
void pf_sim_advance(struct pf_sim *s, int64_t to);
/* Its thread only. The next number of the seed's sequence. */
uint64_t pf_sim_random(struct pf_sim *s);
/* Whether anything of the world outside is registered. */
static inline bool pf_sim_has_handles(struct pf_sim *s)
{
    return atomic_load_explicit(&s->handles, memory_order_relaxed) > 0;
}

#endif

/* runtime/platform/sim/sim.h -- an environment whose clock and randomness come from a seed instead of the machine.
 *
 * Design notes.
 * (1) Time stands still until pf_sim_advance moves it, or until a poller that has nothing else to do jumps to its
 *     deadline. One thread moves the only clock, so a simulated node has one worker.
 * (2) Descriptors are real. A poller asks the kernel before it lets time pass, so two ends within the simulation
 *     exchange data at one point in time. For data from outside of the simulation a poller waits up to `patience` in
 *     real time; such runs are not repeatable.
 * (3) Without a deadline a poller cannot jump: then it really waits for a descriptor or a wake. */
#ifndef PF_SIM_H
#define PF_SIM_H

#include "platform.h"

struct pf_sim {
    struct pf_env env;   /* first: a struct pf_env * of it is a struct pf_sim * */
    _Atomic int64_t now; /* relaxed: written by its thread, read by any */
    int64_t wall_ahead;  /* the wall clock minus `now`; its thread only */
    uint64_t random;     /* state of the generator */
    _Atomic int handles; /* handles registered in its pollers; relaxed: a poller's thread sees its own changes */
    int64_t patience;    /* real nanoseconds that the next wait of a poller may take; then 0 again */
    /* A waiting thread calls this (see pf_env.cond_wait). It runs the next event of the simulation; or it returns
     * false, because no event comes before `deadline`, to which it moves the clock. NULL: no thread waits in this
     * environment. */
    bool (*go_on)(struct pf_sim *s, int64_t deadline);
};

#define PF_SIM_START (WF_CLOCK_BEGIN + 1000000000) /* the first value of the clock */

void pf_sim_init(struct pf_sim *s, uint64_t seed);
static inline struct pf_env *pf_sim_env(struct pf_sim *s)
{
    return &s->env;
}
/* Moves the clock to `to`, never back. Its thread only. */
void pf_sim_advance(struct pf_sim *s, int64_t to);
/* Returns the next number of the seed's sequence. Its thread only. */
uint64_t pf_sim_random(struct pf_sim *s);
/* Whether a handle, which is outside of the simulation, is registered. */
static inline bool pf_sim_has_handles(struct pf_sim *s)
{
    return atomic_load_explicit(&s->handles, memory_order_relaxed) > 0;
}

#endif

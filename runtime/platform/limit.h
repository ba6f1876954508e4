/* runtime/platform/limit.h -- limits that are drawn from a seed, in the build of ./dev states: see WF_LIMIT in base.h.
 *
 * Design notes.
 * (1) A limit that is seldom reached hides the code behind it. With a small one that code runs in every simulation.
 *     FoundationDB does the same: BUGGIFY.
 * (2) What is drawn depends on the seed and the name of the limit, and on nothing else. So the seed repeats the run,
 *     all uses of a limit have one value, and so have all nodes of a simulation: what both sides of a link know of
 *     each other stays true.
 * (3) One process has one seed at a time, and no node runs while it is set. Reading needs no lock: a simulation has
 *     one thread, and elsewhere nothing is drawn. */
#ifndef WF_LIMIT_H
#define WF_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* One use of a limit, which remembers what was drawn for the seed. */
struct wf_limit {
    const char *name; /* NULL: nothing was drawn yet */
    uint64_t seed;
    int64_t value;
    const struct wf_limit *next; /* use that has drawn before */
};

extern uint64_t wf_limits_seed; /* 0: nothing is drawn */

/* From now on limits are drawn from `seed`; 0: they have their values. `shown`: each that differs is written to standard
 * error when it is first used. WEFT_LIMITS in the environment, a list such as "send queue,batch", draws only the limits
 * whose names contain one of these texts: to find the one that matters. */
void wf_limits_draw(uint64_t seed, bool shown);
int64_t wf_limit_value(struct wf_limit *l, const char *name, int64_t value, int64_t least);

#define WF_LIMIT(name, value, least)                                                                      \
    __extension__({                                                                                       \
        static struct wf_limit wf_limit;                                                                  \
        wf_limits_seed == 0 ? (value) : (__typeof__(value))wf_limit_value(&wf_limit, name, value, least); \
    })

#endif

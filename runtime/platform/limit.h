/* runtime/platform/limit.h -- limits that are drawn from a seed, in the build of ./dev states: see WF_LIMIT in
 * base.h.
 *
 * Design notes.
 * (1) Code that handles a limit is seldom tested if the limit is seldom reached. With a small limit it runs in every
 *     simulation. FoundationDB does the same: BUGGIFY.
 * (2) The value drawn depends only on the seed and the name of the limit. So the seed repeats the run, and all uses
 *     of a limit on all nodes of a simulation have the same value: what both sides of a link know of each other stays
 *     true.
 * (3) One process has one seed at a time, and no node runs while it is set. Reading needs no lock: a simulation has
 *     one thread, and outside of simulations no limit is drawn. */
#ifndef WF_LIMIT_H
#define WF_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* One use of a limit, which remembers the value drawn for the seed. */
struct wf_limit {
    const char *name; /* NULL: nothing was drawn yet */
    uint64_t seed;
    int64_t value;
    const struct wf_limit *next; /* use that has drawn before */
};

extern uint64_t wf_limits_seed; /* 0: nothing is drawn */

/* From now on limits are drawn from `seed`; 0: limits have their normal values. `shown`: each limit that differs is
 * written to standard error when it is first used. If WEFT_LIMITS in the environment is a list such as "send
 * queue,batch", only limits whose names contain one of these texts are drawn. This helps to find the limit that makes
 * a run fail. */
void wf_limits_draw(uint64_t seed, bool shown);
int64_t wf_limit_value(struct wf_limit *l, const char *name, int64_t value, int64_t least);

#define WF_LIMIT(name, value, least)                                                                      \
    __extension__({                                                                                       \
        static struct wf_limit wf_limit;                                                                  \
        wf_limits_seed == 0 ? (value) : (__typeof__(value))wf_limit_value(&wf_limit, name, value, least); \
    })

#endif

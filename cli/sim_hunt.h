/* cli/sim_hunt.h -- which combinations of states simulated runs have reached, and which plan the hunt tries next.
 *
 * Design notes.
 * (1) A run's combinations are each state that it has reached with the power of two below its count, and each pair of
 *     states that it has reached. States are those of the module (weft_sim_sometimes), and in the build of ./dev states
 *     those of weft itself. Combinations are counted by a hash, so two may count as one; with a table this large few do.
 * (2) A run with a new combination is kept. The hunt changes what it was drawn from (transport/sim/sim_plan.h): of a few
 *     kept runs that it draws, the one with the rarest combination. One run in FRESH_ONE_IN is a seed of its own, so
 *     that a hunt does not stay where it began. */
#ifndef CLI_SIM_HUNT_H
#define CLI_SIM_HUNT_H

#include "sim_run.h"

enum { SIM_COMBINATIONS = 1 << 18 /* places of the table */, SIM_KEPT = 4096 };

/* A run that was kept. */
struct sim_kept {
    struct wf_sim_origin origin;
    uint32_t rarest; /* the place of its rarest combination, when it was kept */
    uint32_t tried;  /* changes of it */
};

struct sim_hunt {
    uint64_t random;                 /* state of the generator */
    uint64_t runs, last_new;         /* the number of runs, and that of the last one with a new combination */
    uint32_t combinations;           /* reached by any run */
    uint32_t seen[SIM_COMBINATIONS]; /* how many runs have reached each */
    uint32_t kept_count;
    struct sim_kept kept[SIM_KEPT];
};

/* A run is over: counts what it has reached, and keeps it if that was new. */
void sim_hunt_note(struct sim_hunt *h, const struct wf_sim_origin *from, const struct wf_sim_result *r);
/* Chooses the plan of the next run. `*fresh` is the next unused seed, and is incremented if it is used. */
void sim_hunt_next(struct sim_hunt *h, uint64_t *fresh, struct wf_sim_origin *out);

#endif

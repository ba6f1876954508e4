/* transport/sim/sim_plan.h -- the plan of a simulated run: its faults, and the seeds of its schedule and its limits.
 *
 * Design notes.
 * (1) A plan is drawn from a seed alone, and changed by numbers, each of which stands for one to three small changes: a
 *     fault more or less, earlier or later, another schedule. So a few numbers, such as 9+3+17, are a whole plan, and
 *     the hunt (cli/sim_hunt.c) can vary plans that have reached something new.
 * (2) A change leaves the rest as it is, the schedule, too: until the first fault that differs the run is the same. */
#ifndef WF_SIM_PLAN_H
#define WF_SIM_PLAN_H

#include <weft/api.h>

#include <stdbool.h>
#include <stdint.h>

enum wf_sim_fault_kind {
    WF_SIM_RESET,  /* all connections between a and b are reset */
    WF_SIM_CUT,    /* nothing goes between a and b */
    WF_SIM_ONEWAY, /* nothing goes from a to b */
    WF_SIM_SPLIT,  /* nothing goes between the first nodes and the others: wf_sim_split_last */
    WF_SIM_FREEZE, /* a does not run */
    WF_SIM_CRASH,  /* a is killed, its connections are reset; later it comes back */
    WF_SIM_POWER,  /* the same, and other nodes are not notified */
    WF_SIM_LATE,   /* a tenth of all messages takes 200 ms longer */
    WF_SIM_CLOCK,  /* the wall clock of a steps: wf_sim_clock_step */
    WF_SIM_SLOW,   /* each step of a takes up to 10 ms */
    WF_SIM_MEMORY, /* allocations of a fail; not part of WF_SIM_ALL */
    WF_SIM_KINDS,
    WF_SIM_ALL = (1 << WF_SIM_MEMORY) - 1
};
/* By kind. */
WEFT_API extern const char *const wf_sim_fault_names[WF_SIM_KINDS];

enum { WF_SIM_FAULTS = 16, WF_SIM_CHANGES = 16 };

struct wf_sim_fault {
    int64_t at, span; /* ns after the start */
    uint8_t kind, a, b;
    bool lasts; /* LATE or SLOW: until the end of the run; `span` is 0 */
};

/* A plan is drawn from this. */
struct wf_sim_origin {
    uint64_t seed;
    uint32_t change_count;           /* at most WF_SIM_CHANGES */
    uint32_t change[WF_SIM_CHANGES]; /* of the plan of the seed, one after the other */
    uint32_t nodes;                  /* 1 to WF_SIM_NODES */
    uint32_t kinds;                  /* a bit for each kind of fault there may be */
    int64_t time;                    /* ns: faults begin before it */
};

struct wf_sim_plan {
    uint64_t schedule; /* the seed of the world */
    uint64_t limits;   /* the seed of limits that are drawn */
    uint32_t fault_count;
    struct wf_sim_fault fault[WF_SIM_FAULTS]; /* by time */
};

WEFT_API void wf_sim_draw_plan(const struct wf_sim_origin *from, struct wf_sim_plan *out);
/* The last node, from 0, of the first part of a split: both parts have one at least. */
WEFT_API uint32_t wf_sim_split_last(const struct wf_sim_fault *f, uint32_t nodes);
/* By how much a clock steps: ns, forward or back. */
WEFT_API int64_t wf_sim_clock_step(const struct wf_sim_fault *f);

#endif

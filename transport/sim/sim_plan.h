/* transport/sim/sim_plan.h -- the plan of a simulated run: its faults, and the seeds of its schedule and its limits.
 *
 * Design notes.
 * (1) A plan is drawn from a seed only, and changed by numbers. Each number stands for one to three small changes:
 *     one fault more or less, a fault earlier or later, another schedule. So a few numbers, such as 9+3+17, describe
 *     a whole plan, and the hunt (cli/sim_hunt.c) can vary plans that have reached a new state.
 * (2) A change keeps the rest of the plan, also the schedule: so the run is the same until the first fault that
 *     differs. */
#ifndef WF_SIM_PLAN_H
#define WF_SIM_PLAN_H

#include <weft/api.h>

#include <stdbool.h>
#include <stdint.h>

enum wf_sim_fault_kind {
    WF_SIM_RESET,  /* all connections between a and b are reset */
    WF_SIM_CUT,    /* no message passes between a and b */
    WF_SIM_ONEWAY, /* no message passes from a to b */
    WF_SIM_SPLIT,  /* no message passes between the first nodes and the others: wf_sim_split_last */
    WF_SIM_FREEZE, /* a does not run */
    WF_SIM_CRASH,  /* a is killed, its connections are reset; later it comes back */
    WF_SIM_POWER,  /* as CRASH, but the other nodes are not notified */
    WF_SIM_LATE,   /* a tenth of all messages takes 200 ms longer */
    WF_SIM_CLOCK,  /* the wall clock of a steps: wf_sim_clock_step */
    WF_SIM_SLOW,   /* each step of a takes up to 10 ms */
    WF_SIM_MEMORY, /* allocations of a fail; not part of WF_SIM_ALL */
    WF_SIM_KINDS,
    WF_SIM_ALL = (1 << WF_SIM_MEMORY) - 1
};
/* The names of the kinds, indexed by kind. */
WEFT_API extern const char *const wf_sim_fault_names[WF_SIM_KINDS];

enum { WF_SIM_FAULTS = 16, WF_SIM_CHANGES = 16 };

struct wf_sim_fault {
    int64_t at, span; /* ns after the start */
    uint8_t kind, a, b;
    bool lasts; /* LATE or SLOW: until the end of the run; `span` is 0 */
};

/* The input from which a plan is drawn. */
struct wf_sim_origin {
    uint64_t seed;
    uint32_t change_count;           /* at most WF_SIM_CHANGES */
    uint32_t change[WF_SIM_CHANGES]; /* applied to the plan of the seed, one after the other */
    uint32_t nodes;                  /* 1 to WF_SIM_NODES */
    uint32_t kinds;                  /* one bit for each kind of fault that may be drawn */
    int64_t time;                    /* ns: faults begin before it */
};

struct wf_sim_plan {
    uint64_t schedule; /* the seed of the world */
    uint64_t limits;   /* the seed of the limits */
    uint32_t fault_count;
    struct wf_sim_fault fault[WF_SIM_FAULTS]; /* ordered by time */
};

WEFT_API void wf_sim_draw_plan(const struct wf_sim_origin *from, struct wf_sim_plan *out);
/* The number, from 0, of the last node in the first part of a split: both parts have at least one node. */
WEFT_API uint32_t wf_sim_split_last(const struct wf_sim_fault *f, uint32_t nodes);
/* The step of a clock in ns; negative: backwards. */
WEFT_API int64_t wf_sim_clock_step(const struct wf_sim_fault *f);

#endif

/* transport/sim/sim_run.h -- one run of a user's actors in a simulated world: a plan of faults drawn from a seed, and
 * checks. For `weft sim` (cli/sim.c), which gives each run a process of its own.
 *
 * Design notes.
 * (1) The plan is drawn before the run, from a seed and the changes to its plan alone (sim_plan.h). Which of its faults
 *     happen is asked for separately (`keep`), so a plan with fewer of them is the same plan: that is how a failing run
 *     is made shorter.
 * (2) The result lies where the asking process sees it, and is filled in as the run goes on: if the run's process
 *     dies it says how far it came. */
#ifndef WF_SIM_RUN_H
#define WF_SIM_RUN_H

#include "sim_plan.h"

#include <weft/node.h>
#include <weft/sim.h>

#include <stdbool.h>
#include <stdint.h>

enum { WF_SIM_REPORT = 32 * 1024, WF_SIM_NODES = 16, WF_SIM_STATE = 96, WF_SIM_MARKS = 512 };

struct wf_sim_job {
    struct wf_sim_origin origin; /* of the plan */
    bool limits;                 /* limits are drawn, too: sim_limits.h */
    uint32_t keep;               /* a bit for each fault of the plan that happens */
    int64_t settle;              /* ns that there are for what is to be true in the end */
    weft_actor *body;            /* the first actor of each node, */
    const void *arg;             /* and what it is given */
    size_t size;
    void (*checks)(void); /* NULL: none */
    /* NULL: memory is not looked at, and nodes are not ended after the run. Else says what is wrong, or NULL: asked
     * after each turn of a node and, with `over`, when all have been ended, and nothing is to be left. */
    const char *(*memory)(bool over);
};

struct wf_sim_result {
    bool done;             /* the run came to its end, well or not */
    bool failed;           /* `what` says why */
    int64_t at;            /* ns since the start: how far it came, */
    uint64_t trace, turns; /* and what it was until then */
    /* A bit for each fault that changed anything: not one after the end, or of a node that is down. */
    uint32_t happened;
    struct wf_sim_plan plan;
    uint32_t state_count;                      /* declared by weft_sim_expect */
    uint32_t reached[WEFT_SIM_STATES];         /* how often this run has reached it */
    char state[WEFT_SIM_STATES][WF_SIM_STATE]; /* the names */
    uint32_t mark_count;                       /* WF_SOMETIMES of weft itself: only in the build of ./dev states */
    struct wf_sim_mark {
        uint64_t name; /* a hash of it */
        uint32_t count;
    } mark[WF_SIM_MARKS];
    char what[256];
    char report[WF_SIM_REPORT]; /* of one that failed: the last events of each actor */
};

/* Draws the plan, and runs it. The process is to end afterwards. */
WEFT_API void wf_sim_run_job(const struct wf_sim_job *job, struct wf_sim_result *out);

/* sim_world.c. For the code between nodes and their allocator: whether this allocation has to fail. */
WEFT_API bool wf_sim_is_scarce(void);

#endif

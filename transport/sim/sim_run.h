/* transport/sim/sim_run.h -- one run of a user's actors in a simulated world: a plan of faults drawn from a seed, and
 * checks. `weft sim` (cli/sim.c) uses it and gives each run a process of its own.
 *
 * Design notes.
 * (1) The plan is drawn before the run, only from a seed and the changes to its plan (sim_plan.h). `keep` selects the
 *     faults that happen, so a run with fewer faults still has the same plan: this is how a failing run is made
 *     shorter.
 * (2) The result is in memory that the asking process shares, and is filled in during the run: if the process of the
 *     run dies, the result tells how far it came. */
#ifndef WF_SIM_RUN_H
#define WF_SIM_RUN_H

#include "sim_plan.h"

#include <weft/node.h>
#include <weft/sim.h>

#include <stdbool.h>
#include <stdint.h>

enum { WF_SIM_REPORT = 32 * 1024, WF_SIM_NODES = 16, WF_SIM_STATE = 96, WF_SIM_MARKS = 512 };

struct wf_sim_world;

struct wf_sim_job {
    struct wf_sim_origin origin; /* the origin of the plan */
    bool limits;                 /* limits are drawn as well: sim_limits.h */
    uint32_t keep;               /* one bit for each fault of the plan that happens */
    int64_t settle;              /* ns within which checks with `eventually` must become true after the last fault */
    weft_actor *body;            /* the first actor of each node, */
    const void *arg;             /* and its argument */
    size_t size;
    void (*checks)(void); /* NULL: none */
    /* Returns what is wrong with the memory, or NULL. It is called after each turn of a node and, with `over`, after
     * all nodes have been ended, when no memory may be left. If `memory` is NULL, memory is not checked, and nodes
     * are not ended after the run. */
    const char *(*memory)(bool over);
    /* NULL: nodes are of this libweft, and run `body`. Else it starts the node of a host, and returns what
     * wf_sim_start does; */
    int (*start)(struct wf_sim_world *w, unsigned host, const weft_node_options *options);
    /* NULL: wf_sim_crash. Else it ends the node of f->a, which comes back after the fault's span. */
    void (*end)(struct wf_sim_world *w, const struct wf_sim_fault *f);
};

struct wf_sim_result {
    bool done;             /* the run has ended, with or without a failure */
    bool failed;           /* `what` says why */
    int64_t at;            /* ns since the start, at the end of the run, */
    uint64_t trace, turns; /* and the hash and the number of turns of the run until then */
    /* One bit for each fault that changed anything: a fault after the end, or of a node that is down, does not. */
    uint32_t happened;
    struct wf_sim_plan plan;
    uint32_t state_count;                      /* declared by weft_sim_expect */
    uint32_t reached[WEFT_SIM_STATES];         /* how often this run has reached each state */
    char state[WEFT_SIM_STATES][WF_SIM_STATE]; /* the names */
    uint32_t mark_count;                       /* WF_SOMETIMES of weft itself: only in the build of ./dev states */
    struct wf_sim_mark {
        uint64_t name; /* a hash of it */
        uint32_t count;
    } mark[WF_SIM_MARKS];
    char what[256];
    char report[WF_SIM_REPORT]; /* of a run that failed: the last events of each actor */
};

/* Draws the plan, and runs it. The process must end afterwards. */
WEFT_API void wf_sim_run_job(const struct wf_sim_job *job, struct wf_sim_result *out);

/* The code between nodes and their allocator asks this: whether this allocation has to fail. It is in sim_world.c. */
WEFT_API bool wf_sim_is_scarce(void);

#endif

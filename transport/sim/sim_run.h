/* transport/sim/sim_run.h -- one run of a user's actors in a simulated world: a plan of faults drawn from a seed, and
 * checks. For `weft sim` (cli/sim.c), which gives each run a process of its own.
 *
 * Design notes.
 * (1) The plan is drawn from the seed alone, before the run. Which of its faults happen is asked for separately
 *     (`keep`), so a plan with fewer of them is the same plan: that is how a failing run is made shorter.
 * (2) The result lies where the asking process sees it, and is filled in as the run goes on: if the run's process
 *     dies it says how far it came. */
#ifndef WF_SIM_RUN_H
#define WF_SIM_RUN_H

#include <weft/node.h>
#include <weft/sim.h>

#include <stdbool.h>
#include <stdint.h>

enum wf_sim_fault_kind {
    WF_SIM_RESET,  /* all connections between a and b are reset */
    WF_SIM_CUT,    /* nothing goes between a and b */
    WF_SIM_ONEWAY, /* nothing goes from a to b */
    WF_SIM_SPLIT,  /* nothing goes between the first nodes and the others: wf_sim_split_last */
    WF_SIM_FREEZE, /* a does not run */
    WF_SIM_CRASH,  /* a is killed, its connections are reset; later it comes back */
    WF_SIM_POWER,  /* the same, and nobody hears of it */
    WF_SIM_LATE,   /* a tenth of all messages takes 200 ms longer */
    WF_SIM_CLOCK,  /* the wall clock of a steps: wf_sim_clock_step */
    WF_SIM_SLOW,   /* each step of a takes up to 10 ms */
    WF_SIM_MEMORY, /* allocations of a fail; not part of WF_SIM_ALL */
    WF_SIM_KINDS,
    WF_SIM_ALL = (1 << WF_SIM_MEMORY) - 1
};
/* By kind. */
WEFT_API extern const char *const wf_sim_fault_names[WF_SIM_KINDS];

enum { WF_SIM_FAULTS = 16, WF_SIM_REPORT = 32 * 1024, WF_SIM_NODES = 16, WF_SIM_STATE = 96 };

struct wf_sim_fault {
    int64_t at, span; /* ns after the start */
    uint8_t kind, a, b;
    bool lasts; /* LATE or SLOW: until the end of the run; `span` is 0 */
};

struct wf_sim_job {
    uint64_t seed;
    uint32_t nodes;       /* 1 to WF_SIM_NODES */
    uint32_t kinds;       /* a bit for each kind there may be */
    uint32_t keep;        /* a bit for each fault of the plan that happens */
    int64_t time, settle; /* ns: faults begin within the first; then so long for what is to be true in the end */
    weft_actor *body;     /* the first actor of each node, */
    const void *arg;      /* and what it is given */
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
    uint32_t fault_count;
    uint32_t
        happened; /* a bit for each fault that changed anything: not one after the end, or of a node that is down */
    struct wf_sim_fault fault[WF_SIM_FAULTS];
    uint32_t state_count;                      /* declared by weft_sim_expect */
    bool reached[WEFT_SIM_STATES];             /* by this run */
    char state[WEFT_SIM_STATES][WF_SIM_STATE]; /* the names */
    char what[256];
    char report[WF_SIM_REPORT]; /* of one that failed: the last events of each actor */
};

/* Draws the plan into `out`, which is zero. */
WEFT_API void wf_sim_draw_plan(const struct wf_sim_job *job, struct wf_sim_result *out);
/* The last node, from 0, of the first part of a split: both parts have one at least. */
WEFT_API uint32_t wf_sim_split_last(const struct wf_sim_fault *f, uint32_t nodes);
/* By how much a clock steps: ns, forward or back. */
WEFT_API int64_t wf_sim_clock_step(const struct wf_sim_fault *f);
/* Draws the plan, and runs it. The process is to end afterwards. */
WEFT_API void wf_sim_run_job(const struct wf_sim_job *job, struct wf_sim_result *out);

/* sim_world.c. For who stands between nodes and their allocator: whether this allocation is to fail. */
WEFT_API bool wf_sim_is_scarce(void);

#endif

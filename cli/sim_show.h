/* cli/sim_show.h -- what weft sim says of one run. */
#ifndef CLI_SIM_SHOW_H
#define CLI_SIM_SHOW_H

#include "options.h"
#include "sim_hunt.h"
#include "sim_run.h"

struct sim_shown {
    const struct cli *c;
    const struct wf_sim_job *job; /* but for its seed */
    const struct wf_sim_result *result;
    const struct wf_sim_origin *origin;
    uint32_t keep; /* the faults of its plan that there were */
    bool replayed; /* one given seed is run again, so turns and trace are shown */
};

/* The states that the module wants to be reached: in how many seeds each was. */
struct sim_states {
    uint32_t count;
    struct {
        uint64_t seeds;
        char name[WF_SIM_STATE];
    } state[WEFT_SIM_STATES];
};

struct sim_passed {
    const struct cli *c;
    const struct wf_sim_job *job;
    const struct sim_hunt *hunt;
    uint64_t first, seeds, runs; /* more runs than seeds: of plans that the hunt has changed */
    double rate;                 /* runs a second */
};

/* On standard output, for people or as JSON: one that failed, with the command that runs it again. */
void sim_show_failure(const struct sim_shown *s);
/* Reports a run that passed. */
void sim_show_passed(const struct sim_shown *s);
/* Reports many seeds that all passed. False: a state was never reached, which is a failure if there were two seeds or
 * more. */
bool sim_show_campaign(const struct sim_passed *s, const struct sim_states *states);

#endif

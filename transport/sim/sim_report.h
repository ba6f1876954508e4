/* transport/sim/sim_report.h -- what `weft sim` says of a run that failed: the last events of each actor, with names.
 *
 * Design note. A pid means one actor of one node of the whole simulated world (wf_sim_life_of), so events of all
 * nodes name each other's actors. What an actor is called is noted while it lives: after each turn, for the actors
 * that the new events are about. Notes are few and overwrite each other; an actor without one has its number. */
#ifndef WF_SIM_REPORT_H
#define WF_SIM_REPORT_H

#include "sim_world.h"

enum { WF_SIM_NAMES = 4096, WF_SIM_NAME = 40 };

struct wf_sim_names {
    struct {
        uint64_t actor;
        char text[WF_SIM_NAME];
    } known[WF_SIM_NAMES]; /* by a hash of the actor */
    struct {
        const weft_node *node;
        uint64_t events; /* of its recorder, which have been looked at */
    } seen[WF_SIM_HOSTS];
};

/* After a turn: notes the names of the actors that its events are about. */
void wf_sim_names_note(struct wf_sim_names *n, const struct wf_sim_world *w);
/* Of all nodes that run: into `out`, as much as `size` bytes hold. */
void wf_sim_report(const struct wf_sim_names *n, const struct wf_sim_world *w, char *out, size_t size);

#endif

/* transport/sim/sim_report.h -- the report of `weft sim` on a run that failed: the last events of each actor, with
 * names.
 *
 * Design note. A pid stands for one actor of one node of the whole simulation (wf_sim_life_of), so events of a node
 * can name actors of other nodes. The name of an actor is noted while it lives: after each turn, for the actors in
 * the new events. There are few notes, and they overwrite each other; an actor without a note is shown by its
 * number. */
#ifndef WF_SIM_REPORT_H
#define WF_SIM_REPORT_H

#include "sim_world.h"

enum { WF_SIM_NAMES = 4096, WF_SIM_NAME = 40 };

struct wf_sim_names {
    struct {
        uint64_t actor;
        char text[WF_SIM_NAME];
    } known[WF_SIM_NAMES]; /* indexed by a hash of the actor */
    struct {
        const weft_node *node;
        uint64_t events; /* events of its recorder that have been read */
    } seen[WF_SIM_HOSTS];
};

/* Called after each turn: notes the names of the actors in its events. */
void wf_sim_names_note(struct wf_sim_names *n, const struct wf_sim_world *w);
/* Writes the last events of all running nodes to `out`, in at most `size` bytes. */
void wf_sim_report(const struct wf_sim_names *n, const struct wf_sim_world *w, char *out, size_t size);

#endif

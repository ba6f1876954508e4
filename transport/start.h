/* transport/start.h -- a node starts, on this machine or in a simulated world (sim_world.h). */
#ifndef WF_START_H
#define WF_START_H

#include "carrier.h"

#include <weft/node.h>

struct wf_world {
    struct pf_env *env;
    struct wf_carrier *(*carrier)(struct wf_world *in,
                                  const struct wf_carrier_options *options); /* NULL: no memory */
    int (*run)(struct wf_world *in, weft_node *node);                        /* its workers begin to turn */
};

/* weft_node_start in a world; NULL: on this machine. */
int wf_node_start(weft_node **out, const weft_node_options *options, struct wf_world *in);

#endif

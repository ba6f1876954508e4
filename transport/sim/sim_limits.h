/* transport/sim/sim_limits.h -- limits of simulated nodes that are drawn from a seed: options of nodes, and in the build
 * of ./dev states also the constants that are marked with WF_LIMIT (runtime/platform/base.h). */
#ifndef WF_SIM_LIMITS_H
#define WF_SIM_LIMITS_H

#include <weft/node.h>

#include <stdbool.h>
#include <stdint.h>

/* Call it before the first node starts. If `on` is false, no limit is drawn from now on. */
void wf_sim_limits_draw(bool on, uint64_t seed);
/* Draws the options of the node of `host` that are 0, which stands for the default. */
void wf_sim_limits_options(weft_node_options *o, unsigned host);

#endif

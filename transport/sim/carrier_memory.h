/* transport/sim/carrier_memory.h -- the carrier of a simulated world. */
#ifndef WF_CARRIER_MEMORY_H
#define WF_CARRIER_MEMORY_H

#include "carrier.h"

struct wf_memory_carrier;
struct wf_sim_world;

struct wf_carrier *wf_carrier_memory(struct wf_sim_world *w, unsigned host, const struct wf_carrier_options *options);
void wf_carrier_memory_reset(struct wf_memory_carrier *k, unsigned peer); /* WF_SIM_HOSTS: of all */

#endif

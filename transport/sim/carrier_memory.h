/* transport/sim/carrier_memory.h -- the carrier of a simulated world.
 *
 * Design notes.
 * (1) A connection has two ends, each a wf_conn of its carrier. Packets that one end sends wait at the other, in
 *     order, each with the time of its arrival; `arrive` is the timer of the first packet.
 * (2) Every callback runs as an event of the world, with the worker of its host as the current one. So no callback is
 *     called while code of the owner runs, and close, send, resume and dial only arm timers.
 * (3) References: one from the creation to on_down or on_dial_failed, one for the owner from on_up on, one while a
 *     send is under way. */
#ifndef WF_CARRIER_MEMORY_H
#define WF_CARRIER_MEMORY_H

#include "carrier.h"

struct wf_memory_carrier;
struct wf_sim_world;

struct wf_carrier *wf_carrier_memory(struct wf_sim_world *w, unsigned host, const struct wf_carrier_options *options);
void wf_carrier_memory_reset(struct wf_memory_carrier *k, unsigned peer); /* WF_SIM_HOSTS: of all peers */

#endif

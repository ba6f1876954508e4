/* tests/sim/guests.h -- the host's side of guest.h: nodes of another libweft in the simulated world of this one. */
#ifndef SIM_GUESTS_H
#define SIM_GUESTS_H

#include "guest.h"
#include "sim_world.h"

#include <weft/log.h>

/* A copy of a libweft. */
struct guests;

/* What a guest is given when it begins. */
struct guests_options {
    uint64_t seed;
    struct scene *scene;
    weft_log_level log;
};

/* Loads the guest of that path, once for each path and process. NULL: it cannot, `why` (GUEST_TEXT bytes) says why. */
struct guests *guests_load(const char *path, char *why);
/* An address in its code. */
const void *guests_code(const struct guests *g);
/* As wf_sim_start, with the first actor of the scene. A process has one world. */
int guests_start(struct guests *g, struct wf_sim_world *w, unsigned host, const weft_node_options *o,
                 const struct guests_options *first);

#endif

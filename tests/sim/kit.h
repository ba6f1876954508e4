/* tests/sim/kit.h -- shared by the modules for `weft sim`: the number of this node, and random numbers. */
#ifndef SIM_KIT_H
#define SIM_KIT_H

#include "../unit/actors/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>
#include <weft/sim.h>

enum { NODES = 5 };

/* The number of this node: 0 for n1. */
static unsigned sim_self(void)
{
    unsigned number = 0;
    (void)sscanf(weft_node_name(weft_here()), "n%u", &number);
    if (number == 0 || number > NODES) weft_sim_fail("no node %s is expected", weft_node_name(weft_here()));
    return number == 0 ? 0 : (number - 1) % NODES;
}

/* A random number that differs in each run of a node, and with each seed. */
static uint64_t sim_random(void)
{
    return weft_self().node ^ weft_self().actor;
}

/* Waits until the actor is asked to stop. */
static void sim_wait(void)
{
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}

/* ns since the start of the run. Nodes start then, so the first call comes soon enough. */
__attribute__((unused)) static int64_t sim_time(void)
{
    static int64_t began;
    if (began == 0) began = weft_now();
    return weft_now() - began;
}

/* Waits before an operation that has failed for lack of memory is tried again. False: the actor was asked to stop. */
static bool sim_again(void)
{
    return weft_sleep(weft_after(WEFT_MS(50))) != WEFT_ECANCELED;
}

/* Sets `lost` when a link of this node is lost. Returns when the actor is asked to stop. */
__attribute__((unused)) static void sim_watch_links(bool *lost)
{
    weft_msg *m;
    while (weft_watch_nodes() < 0)
        if (!sim_again()) return;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        *lost |= weft_tag(m) == WEFT_TAG_NODE_DOWN;
        weft_msg_free(m);
    }
}

static void sim_spawn(weft_actor *body, const void *arg, size_t size, const weft_spawn_options *options)
{
    while (weft_spawn(NULL, body, arg, size, options) < 0 && sim_again()) {}
}

#endif

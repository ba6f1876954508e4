/* actors/lifecycle/connecting.h -- connections that are being made while their actor waits for other things, too. */
#ifndef WF_CONNECTING_H
#define WF_CONNECTING_H

#include "actor.h"

/* Those of a worker: struct connecting. */
enum { WF_CONNECTING_SLOT = 8 };
static inline struct wf_slab *wf_connecting_of(const struct wf_actors *wa)
{
    return wa->slots[WF_CONNECTING_SLOT];
}

#endif

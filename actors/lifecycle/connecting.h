/* actors/lifecycle/connecting.h -- connections that are made while their actor can wait for other things, too. */
#ifndef WF_CONNECTING_H
#define WF_CONNECTING_H

#include "actor.h"

/* A worker's slab of struct connecting. */
enum { WF_CONNECTING_SLOT = 8 };
static inline struct wf_slab *wf_connecting_of(const struct wf_actors *wa)
{
    return wa->slots[WF_CONNECTING_SLOT];
}

#endif

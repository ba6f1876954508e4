/* actors/call/send_after.h -- messages that are sent later. */
#ifndef WF_SEND_AFTER_H
#define WF_SEND_AFTER_H

#include "actor.h"

/* A worker's slab of struct wf_later. */
enum { WF_SEND_AFTER_SLOT = 6 };
static inline struct wf_slab *wf_laters_of(const struct wf_actors *wa)
{
    return wa->slots[WF_SEND_AFTER_SLOT];
}

#endif

/* actors/run/stopping.h -- one actor asks another to stop, or kills it. */
#ifndef WF_STOPPING_H
#define WF_STOPPING_H

#include "msg.h"

struct wf_actor;

/* Asks `a` to stop, on the owner's thread. If its body then returns, `reason` is why it ends, and `end` (may be NULL)
 * has the text. */
void wf_actor_cancel(struct wf_actor *a, int reason, struct wf_body *end);
void wf_actor_kill(struct wf_actor *a);

#endif

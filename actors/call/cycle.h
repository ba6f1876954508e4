/* actors/call/cycle.h -- calls that wait for each other in a ring. The rules are in cycle.c. */
#ifndef WF_CYCLE_H
#define WF_CYCLE_H

#include "actor.h"

void wf_patrol_init(struct wf_actors *wa);
/* The running actor begins to wait in a->asking. */
void wf_patrol_add(struct wf_actor *a);
/* Whether a call of the running actor to `to`, on the same worker, closes a cycle; if so it is reported. */
bool wf_call_closes_cycle(struct wf_actor *self, struct wf_actor *to);
/* One answer less is open in its long call: that may close a cycle with those that are left. */
void wf_probe_rest(struct wf_actor *a);
void wf_on_probe(struct wf_actor *a, weft_msg *m);

#endif

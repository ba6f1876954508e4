/* actors/call/cycle.h -- cycles of calls that wait for each other. The rules are in cycle.c. */
#ifndef WF_CYCLE_H
#define WF_CYCLE_H

#include "asking.h"

#define WF_CYCLE_PATIENCE WEFT_MS(100) /* how long a call waits before it is looked at */

void wf_patrol_init(struct wf_actors *wa);
/* The running actor begins to wait in a->asking. */
static inline void wf_patrol_add(struct wf_worker *w, struct wf_asking *s)
{
    struct wf_actors *wa = wf_actors_of(w);
    s->since = w->now;
    s->look_at = w->now + WF_CYCLE_PATIENCE;
    wf_list_push(&wa->calls, &s->on_calls);
    if (WF_UNLIKELY(!wf_timer_armed(&wa->patrol))) wf_timer_arm_reserved(w, &wa->patrol, w->now + WF_CYCLE_PATIENCE);
}
/* Whether a call of the running actor to `to`, on the same worker, closes a cycle; if so it is reported. */
bool wf_call_closes_cycle(struct wf_actor *self, struct wf_actor *to);
/* One answer of its long call is no longer open: it may now depend on all others, which can close a cycle. */
void wf_probe_rest(struct wf_actor *a);
void wf_on_probe(struct wf_actor *a, weft_msg *m);

#endif

/* actors/core/sweep.h -- the hand that goes round over a worker's actors and parks those that wait for long. */
#ifndef WF_SWEEP_H
#define WF_SWEEP_H

#include "task.h"

struct wf_actors;

/* The hand over a worker's actors. */
struct wf_sweep {
    struct wf_timer timer; /* armed while an actor may become idle */
    int64_t park_after;
    int64_t since;     /* when its round began */
    uint32_t hand;     /* the slot it looks at next; 0 between rounds */
    uint32_t words;    /* of `settled` */
    uint64_t *settled; /* a bit for each slot: nothing to look at before its actor has stirred */
    bool restless;     /* there will be another round: nobody has to ask for one */
};

void wf_sweep_init(struct wf_actors *wa, int64_t park_after);
void wf_sweep_finish(struct wf_actors *wa);
/* There is an actor that may become idle; if `restless` that is known. */
void wf_sweep_wanted(struct wf_actors *wa);
/* It was IDLE or PARKED, and has been woken. */
void wf_actor_woken(struct wf_task *t);
bool wf_actor_describe_parked(const struct wf_worker *w, const char *base, char *out, size_t size);

#endif

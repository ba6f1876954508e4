/* actors/core/sweep.h -- the sweep: it goes over a worker's actors, in rounds, and parks those that wait for long. */
#ifndef WF_SWEEP_H
#define WF_SWEEP_H

#include "task.h"

struct wf_actors;

/* The sweep of one worker. */
struct wf_sweep {
    struct wf_timer timer; /* armed while an actor may become idle */
    int64_t park_after;
    int64_t since;     /* when its present round began */
    uint32_t hand;     /* the slot it looks at next; 0 between rounds */
    uint32_t words;    /* the length of `settled` */
    uint64_t *settled; /* a bit for each slot: skip it until its actor has run */
    bool restless;     /* there will be another round, so nothing has to ask for one */
};

void wf_sweep_init(struct wf_actors *wa, int64_t park_after);
void wf_sweep_finish(struct wf_actors *wa);
/* Asks for a round, as an actor may become idle. Does nothing if `restless`. */
void wf_sweep_wanted(struct wf_actors *wa);
/* The task was IDLE or PARKED and has been woken. */
void wf_actor_woken(struct wf_task *t);
bool wf_actor_describe_parked(const struct wf_worker *w, const char *base, char *out, size_t size);

#endif

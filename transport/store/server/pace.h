/* transport/store/server/pace.h -- the store's actor ends its turn when it has worked for a few milliseconds, so that a
 * batch of thousands of records holds up no other actor of its worker.
 *
 * Work is counted and not measured, so that a history in the simulated world is the same each time. A unit is about what
 * it takes to compare a topic with a pattern, 50 ns. */
#ifndef WF_STORE_PACE_H
#define WF_STORE_PACE_H

#include <stddef.h>

#include <weft/actor.h>
#include <weft/time.h>

enum {
    WF_PACE_TURN = 60 * 1000, /* units in one turn: about 3 ms */
    WF_PACE_ANSWER = 20,      /* units of an answer, a message passed on, or a change that ends */
};

/* All zero at first. */
struct wf_pace {
    size_t done;
};

/* [A, W] So much was done. The turn may end here, and the actor may be killed here: what it owns has to be reachable for
 * its clean-ups. A weft_yield would go on in the same turn if no other actor is ready. */
static inline void wf_pace_count(struct wf_pace *p, size_t work)
{
    p->done += work;
    if (p->done < WF_PACE_TURN) return;
    p->done = 0;
    weft_ignore(weft_sleep(weft_after(1)));
}

#endif

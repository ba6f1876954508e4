/* transport/store/common/effort.h -- the store's actor, and each of its readers, ends its turn when it has worked for a
 * millisecond, so that a batch of thousands of records, or page after page, holds up no other actor of its worker.
 *
 * Work is counted and not measured, so that a history in the simulated world is the same each time. A unit is about
 * 50 ns. */
#ifndef WF_STORE_EFFORT_H
#define WF_STORE_EFFORT_H

#include <stddef.h>

#include <weft/actor.h>
#include <weft/time.h>

enum {
    WF_EFFORT_TURN = 20 * 1000, /* units in one turn: about a millisecond */
    WF_EFFORT_ANSWER = 20,      /* units of an answer, a message passed on, or a change that ends */
    WF_EFFORT_FREE = 3,         /* units of an element that is freed when its table ends */
    WF_EFFORT_COMPARE = 4,      /* units of a comparison of a topic with a pattern */
    WF_EFFORT_NOTE = 12,        /* units of what comes behind one that matches */
};

/* Units of a page of so many bytes, which is copied twice into new memory. All readers of a store may work in one turn of their
 * worker, so they count twice as much. */
static inline size_t wf_effort_bytes(size_t bytes)
{
    return bytes / 32;
}

/* All zero at first. */
struct wf_effort {
    size_t done;  /* in this turn */
    size_t turns; /* that have ended because of it */
};

/* [A, W] So much was done. The turn may end here, and the actor may be killed here: what it owns has to be reachable for
 * its clean-ups. A weft_yield would go on in the same turn if no other actor is ready. */
static inline void wf_effort_count(struct wf_effort *p, size_t work)
{
    p->done += work;
    if (p->done < WF_EFFORT_TURN) return;
    p->done = 0;
    p->turns++;
    weft_ignore(weft_sleep(weft_after(1)));
}

#endif

/* transport/link/held_batches.h -- batches that wait behind a large message to stay in order with it. */
#ifndef WF_HELD_BATCHES_H
#define WF_HELD_BATCHES_H

#include "peer_link.h"

struct wf_batch;

uint16_t wf_order_slot(uint64_t actor);  /* the slot of messages from this actor */
uint16_t wf_order_slot_to(uint64_t key); /* the slot of messages to an actor, or a name: see wf_credit.key */
/* With the link's lock held. True: the batch has to wait, and wf_held_next will return it. False: it can be sent. */
bool wf_held_put(struct wf_link *l, struct wf_batch *b);
/* With the link's lock held: the next batch that can be sent; NULL: there is none now. */
struct wf_batch *wf_held_next(struct wf_link *l);
/* Whether a held batch has this slot. Then a frame with the slot must stay behind it, in a batch of its own. */
bool wf_link_holds_slot(struct wf_link *l, uint16_t slot);
static inline bool wf_link_holds(struct wf_link *l, uint16_t slot)
{
    return WF_UNLIKELY(atomic_load_explicit(&l->held_count, memory_order_relaxed) > 0) && wf_link_holds_slot(l, slot);
}

#endif

/* transport/link/held_batches.c -- batches that wait in a send queue behind a large message: large_message.h (1), (2).
 * Functions are called with the send queue's lock held, except those that name a slot, and wf_link_holds_slot. */
#include "held_batches.h"
#include "hash.h"
#include "send_queue.h"
#include "peer_link.h"
#include "transport.h"

/* With few slots, actors that have nothing to do with each other share one. */
#define HELD_SLOTS_USED WF_LIMIT("link: slots of actors", WF_HELD_SLOTS, 1)

uint16_t wf_order_slot(uint64_t actor)
{
    return (uint16_t)(wf_mix(actor) % HELD_SLOTS_USED);
}

/* Another hash than wf_order_slot, as actors of two nodes often have the same numbers. */
uint16_t wf_order_slot_to(uint64_t key)
{
    return (uint16_t)(wf_mix(~key) % HELD_SLOTS_USED);
}

static void count_held(struct wf_link *l, const struct wf_batch *b, uint32_t one)
{
    uint32_t count = atomic_load_explicit(&l->held_count, memory_order_relaxed);
    WF_ASSERT(one == 1 || count > 0);
    atomic_store_explicit(&l->held_count, count + one, memory_order_relaxed);
    if (b->order != WF_ORDER_ACTOR) {
        l->held_all += one;
    } else {
        l->held_by[b->slot] += one;
        l->held_by[b->other_slot] += one;
    }
}

static bool must_wait(const struct wf_link *l, const struct wf_batch *b)
{
    if (l->held == NULL) return b->chunk;
    return b->chunk || l->held_all > 0 || b->order == WF_ORDER_ALL ||
           (b->order == WF_ORDER_ACTOR && l->held_by[b->slot] > 0);
}

bool wf_held_put(struct wf_link *l, struct wf_batch *b)
{
    if (!must_wait(l, b)) return false;
    WF_ASSERT(b->next == NULL && b->slot < WF_HELD_SLOTS && b->other_slot < WF_HELD_SLOTS);
    WF_SOMETIMES("link: a message waits behind a large one of the same actor", !b->chunk);
    WF_SOMETIMES("link: two large messages wait for a third", b->chunk && l->chunk != NULL && l->held != NULL);
    count_held(l, b, 1);
    if (l->held == NULL) l->held = b;
    else l->held_last->next = b;
    l->held_last = b;
    return true;
}

struct wf_batch *wf_held_next(struct wf_link *l)
{
    struct wf_batch *b = l->chunk == NULL ? l->held : NULL;
    if (b == NULL) return NULL;
    l->held = b->next;
    WF_ASSERT(l->held != NULL || l->held_last == b);
    count_held(l, b, UINT32_MAX);
    if (b->chunk) l->chunk = b;
    return b;
}

/* Called without the lock. */
bool wf_link_holds_slot(struct wf_link *l, uint16_t slot)
{
    WF_ASSERT(slot < WF_HELD_SLOTS);
    pf_mutex_lock(l->lock);
    bool holds = l->held_by[slot] > 0;
    pf_mutex_unlock(l->lock);
    return holds;
}

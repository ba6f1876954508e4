/* transport/link/held.c -- what waits in an outbox behind a large message: bulk.c (1) and (2). All but the slots are
 * called with the outbox's lock held. */
#include "held.h"
#include "hash.h"
#include "outbox.h"
#include "session.h"
#include "transport.h"

uint16_t wf_order_slot(uint64_t actor)
{
    return wf_mix(actor) % WF_HELD_SLOTS;
}

/* Actors of two nodes often have the same numbers. */
uint16_t wf_order_slot_to(uint64_t key)
{
    return wf_mix(~key) % WF_HELD_SLOTS;
}

static void count_held(struct wf_session *s, const struct wf_batch *b, uint32_t one)
{
    uint32_t count = atomic_load_explicit(&s->held_count, memory_order_relaxed);
    atomic_store_explicit(&s->held_count, count + one, memory_order_relaxed);
    if (b->order != WF_ORDER_ACTOR) {
        s->held_all += one;
    } else {
        s->held_by[b->slot] += one;
        s->held_by[b->other_slot] += one;
    }
}

static bool must_wait(const struct wf_session *s, const struct wf_batch *b)
{
    if (s->held == NULL) return b->chunk;
    return b->chunk || s->held_all > 0 || b->order == WF_ORDER_ALL ||
           (b->order == WF_ORDER_ACTOR && s->held_by[b->slot] > 0);
}

bool wf_bulk_hold(struct wf_session *s, struct wf_batch *b)
{
    if (!must_wait(s, b)) return false;
    count_held(s, b, 1);
    if (s->held == NULL) s->held = b;
    else s->held_last->next = b;
    s->held_last = b;
    return true;
}

struct wf_batch *wf_bulk_next(struct wf_session *s)
{
    struct wf_batch *b = s->chunk == NULL ? s->held : NULL;
    if (b == NULL) return NULL;
    s->held = b->next;
    count_held(s, b, UINT32_MAX);
    if (b->chunk) s->chunk = b;
    return b;
}

/* Without the lock. */
bool wf_session_holds_slot(struct wf_session *s, uint16_t slot)
{
    pf_mutex_lock(s->lock);
    bool holds = s->held_by[slot] > 0;
    pf_mutex_unlock(s->lock);
    return holds;
}

/* The sending half of a session: batches queue up, one carrier message is in flight, its completion takes the next.
 */
#include "transport.h"

#include <stdlib.h>
#include <string.h>

struct wf_batch *wf_batch_new(struct wf_session *s, size_t at_least)
{
    size_t capacity = at_least;
    if (at_least <= WF_BATCH_BYTES) {
        capacity = WF_BATCH_BYTES;
        pf_mutex_lock(s->lock);
        struct wf_batch *b = s->spare;
        if (b != NULL) {
            s->spare = b->next;
            s->spares--;
        }
        pf_mutex_unlock(s->lock);
        if (b != NULL) return b;
    }
    struct wf_batch *b = malloc(sizeof *b + capacity);
    if (b == NULL) return NULL;
    *b = (struct wf_batch){.capacity = capacity};
    return b;
}

/* With the lock held. */
static void recycle(struct wf_session *s, struct wf_batch *b)
{
    if (b->capacity != WF_BATCH_BYTES || s->spares == WF_SPARE_BATCHES || s->closed) {
        free(b);
        return;
    }
    b->size = b->frames = 0;
    b->next = s->spare;
    s->spare = b;
    s->spares++;
}

static void count_lost(struct wf_session *s, uint32_t frames)
{
    atomic_fetch_add_explicit(&s->frames_lost, frames, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->t->dropped_lost, frames, memory_order_relaxed);
}

/* Takes what goes into the next carrier message; 0: nothing is left. Lock held. */
static unsigned take_flight(struct wf_session *s, struct pf_slice *slices)
{
    unsigned n = 0;
    size_t total = 0;
    struct wf_batch **end = &s->flight;
    WF_ASSERT(s->flight == NULL);
    while (s->first != NULL && n < WF_CARRIER_SLICES && (n == 0 || total + s->first->size <= WF_SEND_BYTES)) {
        struct wf_batch *b = s->first;
        s->first = b->next;
        b->next = NULL;
        slices[n++] = (struct pf_slice){b->data, b->size};
        total += b->size;
        *end = b;
        end = &b->next;
    }
    if (s->first == NULL) s->last = NULL;
    s->sending = n > 0;
    return n;
}

/* Lock held. A small batch joins the last one, so that memory stays near what is queued however short the turns are.
 */
static void append(struct wf_session *s, struct wf_batch *b)
{
    atomic_store_explicit(&s->bytes, atomic_load_explicit(&s->bytes, memory_order_relaxed) + b->size,
                          memory_order_relaxed);
    if (s->last != NULL && s->last->size + b->size <= s->last->capacity) {
        memcpy(s->last->data + s->last->size, b->data, b->size);
        s->last->size += b->size;
        s->last->frames += b->frames;
        recycle(s, b);
        return;
    }
    b->next = NULL;
    if (s->last == NULL) s->first = b;
    else s->last->next = b;
    s->last = b;
}

/* Lock held. */
static void discard(struct wf_session *s)
{
    s->closed = true;
    size_t gone = 0;
    while (s->first != NULL) {
        struct wf_batch *b = s->first;
        s->first = b->next;
        gone += b->size;
        count_lost(s, b->frames);
        free(b);
    }
    s->last = NULL;
    while (s->spare != NULL) {
        struct wf_batch *b = s->spare;
        s->spare = b->next;
        free(b);
    }
    s->spares = 0;
    atomic_store_explicit(&s->bytes, atomic_load_explicit(&s->bytes, memory_order_relaxed) - gone,
                          memory_order_relaxed);
}

void wf_session_discard(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    discard(s);
    pf_mutex_unlock(s->lock);
}

/* Lock held: returns the bytes of what was in flight. */
static size_t land(struct wf_session *s, bool ok)
{
    size_t landed = 0;
    while (s->flight != NULL) {
        struct wf_batch *b = s->flight;
        s->flight = b->next;
        landed += b->size;
        if (ok) atomic_fetch_add_explicit(&s->frames_out, b->frames, memory_order_relaxed);
        else count_lost(s, b->frames);
        recycle(s, b);
    }
    if (ok) atomic_fetch_add_explicit(&s->bytes_out, landed, memory_order_relaxed);
    atomic_store_explicit(&s->bytes, atomic_load_explicit(&s->bytes, memory_order_relaxed) - landed,
                          memory_order_relaxed);
    return landed;
}

/* Lock held: marks those who wait for room; they are posted without it. */
static uint64_t take_rooms(struct wf_session *s)
{
    uint64_t mask = 0;
    if (!s->closed && atomic_load_explicit(&s->bytes, memory_order_relaxed) > WF_OUTBOX_LOW) return 0;
    for (uint32_t i = 0; i < s->t->node->workers.count; i++) {
        if (s->rooms[i].state != WF_ROOM_WANTED) continue;
        s->rooms[i].state = WF_ROOM_POSTED;
        mask |= UINT64_C(1) << i;
    }
    return mask;
}

static void post_rooms(struct wf_session *s, uint64_t mask)
{
    for (uint32_t i = 0; mask != 0; i++, mask >>= 1) {
        if ((mask & 1) == 0) continue;
        wf_session_keep(s);
        wf_worker_post(s->t->node->workers.at[i], &s->rooms[i].call.post);
    }
}

/* What was in flight is gone; how many slices go next. */
static unsigned next_flight(struct wf_session *s, bool ok, struct pf_slice *slices)
{
    pf_mutex_lock(s->lock);
    land(s, ok);
    s->sending = false;
    if (!ok) discard(s);
    unsigned n = take_flight(s, slices);
    uint64_t rooms = take_rooms(s);
    pf_mutex_unlock(s->lock);
    post_rooms(s, rooms);
    return n;
}

/* Sends until nothing is left or something is under way. Consumes the reference of what is in flight. */
static void send_on(struct wf_session *s, struct pf_slice *slices, unsigned n)
{
    while (n > 0) {
        atomic_store_explicit(&s->last_sent, wf_transport_now(s->t), memory_order_relaxed);
        enum wf_send r = wf_conn_send(s->conn, slices, n);
        if (r == WF_SEND_LATER) return;
        n = next_flight(s, r == WF_SEND_DONE, slices);
    }
    wf_news_wake_if_stopping(s->t);
    wf_session_release(s);
}

void wf_session_push(struct wf_session *s, struct wf_batch *b)
{
    struct pf_slice slices[WF_CARRIER_SLICES];
    unsigned n = 0;
    pf_mutex_lock(s->lock);
    bool overflow = atomic_load_explicit(&s->bytes, memory_order_relaxed) > WF_OUTBOX_HARD;
    if (s->closed || overflow) {
        count_lost(s, b->frames);
        free(b);
    } else {
        append(s, b);
        if (!s->sending && (n = take_flight(s, slices)) > 0) wf_session_keep(s);
    }
    pf_mutex_unlock(s->lock);
    if (overflow) wf_conn_close(s->conn, "the other side does not read: outbox over its hard bound");
    if (n > 0) send_on(s, slices, n);
}

void wf_session_say(struct wf_session *s, struct wf_batch *b, const weft_writer *w)
{
    WF_ASSERT(w->error == 0);
    b->size += w->size;
    b->frames++;
    wf_session_push(s, b);
}

void wf_session_sent(struct wf_session *s, bool ok)
{
    struct pf_slice slices[WF_CARRIER_SLICES];
    send_on(s, slices, next_flight(s, ok, slices));
}

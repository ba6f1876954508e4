/* transport/link/outbox.c -- the sending half of a link: batches queue up, one carrier message is in flight, its
 * completion takes the next.
 *
 * Design notes.
 * (1) One list in the order of the wire, cut by two pointers: what has been sent and not been acknowledged (first to
 *     `landed`), what is being sent, what waits (`unsent` to last). Sending moves the pointers, an acknowledgement
 *     frees from the front. Nothing is copied, but batches of a few messages, which would else hold much more memory
 *     than bytes, are put together once they have been sent.
 * (2) Frames are counted, not numbered: both sides count alike, so no byte is spent on it. An acknowledgement frees a
 *     batch when it covers all of it. After a loss all that is left is sent again, with START before it that says
 *     where it begins; the receiver skips what it had.
 * (3) A link that cannot be resumed (`number` 0) frees a batch when it has been sent.
 * (4) What is being sent belongs to the carrier until wf_session_sent, also when the channel is lost meanwhile: then
 *     the list is rewound afterwards, and only then the next channel begins.
 * (5) Before anything is taken, what goes in chunks adds its next one to the end of the list: bulk.c. */
#include "outbox.h"
#include "channel.h"
#include "held.h"
#include "session.h"
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
            b->next = NULL;
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

static void free_one(struct wf_batch *b)
{
    if (b->body != NULL) wf_body_drop(NULL, b->body);
    free(b);
}

void wf_batch_free(struct wf_batch *b)
{
    for (struct wf_batch *next; b != NULL; b = next) {
        next = b->next;
        free_one(b);
    }
}

/* ---- The list: all with the lock held -------------------------------------------------------------------------- */

static bool can_resume(const struct wf_session *s)
{
    return s->number != 0;
}

static void recycle(struct wf_session *s, struct wf_batch *b)
{
    if (b->capacity != WF_BATCH_BYTES || s->spares >= WF_SPARE_BATCHES_BUSY || s->closed) {
        free_one(b);
        return;
    }
    b->size = b->frames = 0;
    b->order = WF_ORDER_ANY;
    b->next = s->spare;
    s->spare = b;
    s->spares++;
}

static void drop_spares(struct wf_session *s, uint32_t most)
{
    while (s->spares > most) {
        struct wf_batch *b = s->spare;
        s->spare = b->next;
        s->spares--;
        free(b);
    }
}

static size_t size_of(const struct wf_batch *b)
{
    return b->size + b->piece.size;
}

static void add_bytes(struct wf_session *s, const struct wf_batch *b, bool more)
{
    _Atomic size_t *sum = b->chunk ? &s->bulk : &s->bytes;
    size_t size = more ? size_of(b) : 0 - size_of(b);
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + size, memory_order_relaxed);
}

static void count_lost(struct wf_session *s, uint64_t frames)
{
    atomic_fetch_add_explicit(&s->frames_lost, frames, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->t->dropped_lost, frames, memory_order_relaxed);
}

/* Takes the first batch out of the list. */
static struct wf_batch *pop(struct wf_session *s)
{
    struct wf_batch *b = s->first;
    s->first = b->next;
    if (s->first == NULL) s->last = NULL;
    if (s->landed == b) s->landed = NULL;
    if (s->chunk == b) s->chunk = NULL;
    if (s->unsent == b) {
        s->unsent = b->next;
        s->taken += b->frames;
    }
    s->base += b->frames;
    add_bytes(s, b, false);
    return b;
}

/* Frees what has been acknowledged. What is being sent stays, and so does what START has said is to come again: the
 * receiver counts it. */
static void trim(struct wf_session *s)
{
    while (s->first != NULL && (s->landed != NULL || (s->say_start && !s->sending && s->first == s->unsent)) &&
           s->base + s->first->frames <= s->acked)
        recycle(s, pop(s));
}

/* A small batch joins the last one, so that memory stays near what is queued however short the turns are. */
static void append(struct wf_session *s, struct wf_batch *b)
{
    if (s->unsent != NULL && b->body == NULL && s->last->size + b->size <= s->last->capacity) {
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
    if (s->unsent == NULL) s->unsent = b;
}

/* Into the list, or among what is held. */
static void put_in(struct wf_session *s, struct wf_batch *b)
{
    add_bytes(s, b, true);
    b->next = NULL;
    if (!wf_bulk_hold(s, b)) append(s, b);
}

static void let_go(struct wf_session *s)
{
    for (struct wf_batch *b; (b = wf_bulk_next(s)) != NULL;) append(s, b);
}

/* What overtakes goes before what is still to be sent; not before what is to be sent again, whose numbers are
 * fixed. */
static void insert_urgent(struct wf_session *s)
{
    struct wf_batch *last = s->urgent, *before = NULL;
    if (last == NULL) return;
    while (last->next != NULL) last = last->next;
    for (struct wf_batch *b = s->landed != NULL ? s->landed : s->first; b != s->unsent; b = b->next) before = b;
    last->next = s->unsent;
    if (before == NULL) s->first = s->urgent;
    else before->next = s->urgent;
    if (s->unsent == NULL) s->last = last;
    s->unsent = s->urgent;
    s->urgent = NULL;
}

static void rewind_all(struct wf_session *s)
{
    s->unsent = s->first;
    s->landed = NULL;
    s->chunk = NULL;
    for (struct wf_batch *b = s->first; b != NULL; b = b->next)
        if (b->chunk) s->chunk = b;
    s->taken = s->base;
    s->rewind = false;
    s->say_start = true;
    trim(s);
}

/* What has been sent; small batches join the one before. */
static void land(struct wf_session *s)
{
    size_t bytes = 0;
    uint64_t frames = 0;
    struct wf_batch *before = s->landed, *b = before == NULL ? s->first : before->next;
    while (b != s->unsent) {
        struct wf_batch *next = b->next;
        bytes += size_of(b);
        frames += b->frames;
        if (before != NULL && can_resume(s) && before->body == NULL && b->body == NULL &&
            b->size <= WF_BATCH_BYTES / 2 && before->size + b->size <= before->capacity) {
            memcpy(before->data + before->size, b->data, b->size);
            before->size += b->size;
            before->frames += b->frames;
            before->next = next;
            if (s->last == b) s->last = before;
            recycle(s, b);
        } else {
            before = b;
        }
        b = next;
    }
    s->landed = before;
    atomic_fetch_add_explicit(&s->frames_out, frames, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->bytes_out, bytes, memory_order_relaxed);
    if (!can_resume(s)) s->acked = s->taken;
    trim(s);
}

static void discard(struct wf_session *s)
{
    s->closed = true;
    insert_urgent(s);
    while (s->held != NULL) {
        s->chunk = NULL;
        let_go(s);
    }
    s->chunk = NULL;
    struct wf_batch *end = s->sending ? s->unsent : NULL, *kept = NULL;
    struct wf_batch *flight = !s->sending ? NULL : s->landed != NULL ? s->landed->next : s->first;
    uint64_t frames = 0;
    for (struct wf_batch *b = s->first, *next; b != NULL; b = next) {
        next = b->next;
        if (b == flight && flight != end) {
            while (b->next != end) b = b->next; /* the carrier has these; wf_session_sent frees them */
            next = b->next;
            kept = b;
            continue;
        }
        frames += b->frames;
        add_bytes(s, b, false);
        free_one(b);
    }
    s->first = kept == NULL ? NULL : flight;
    s->last = kept;
    if (kept != NULL) kept->next = NULL;
    s->landed = s->unsent = NULL;
    if (s->acked > s->base) frames -= WF_MIN(s->acked - s->base, frames);
    s->base = s->acked;
    count_lost(s, frames);
    drop_spares(s, 0);
}

void wf_session_discard(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    if (!s->closed || !s->sending) discard(s);
    pf_mutex_unlock(s->lock);
}

/* ---- What goes next: with the lock held ------------------------------------------------------------------------ */

/* START, ACK, PONG and PING overtake everything. Returns their bytes. */
static size_t put_head(struct wf_session *s)
{
    weft_writer w = weft_writer_on(s->head, sizeof s->head);
    if (can_resume(s)) {
        if (s->say_start) wf_put_number(&w, WF_FRAME_START, s->base);
        uint64_t received = atomic_load_explicit(&s->received, memory_order_relaxed);
        uint64_t bytes = atomic_load_explicit(&s->bytes_in, memory_order_relaxed);
        uint64_t told = atomic_load_explicit(&s->acked_bytes, memory_order_relaxed);
        if (received != s->acked_frames &&
            (s->say_ack || s->say_ping != 0 || s->say_pong != 0 || bytes - told >= WF_ACK_ALONG)) {
            wf_put_number(&w, WF_FRAME_ACK, received);
            s->acked_frames = received;
            atomic_store_explicit(&s->acked_bytes, bytes, memory_order_relaxed);
        }
    }
    if (s->say_pong != 0) wf_put_number(&w, WF_FRAME_PONG, s->say_pong);
    if (s->say_ping != 0) {
        wf_put_number(&w, WF_FRAME_PING, s->say_ping);
        s->ping = s->say_ping;
        s->ping_mark = s->taken;
    }
    s->say_start = s->say_ack = false;
    s->say_ping = s->say_pong = 0;
    WF_ASSERT(w.error == 0);
    return w.size;
}

static unsigned slices_of(const struct wf_batch *b)
{
    return b->body == NULL ? 1 : b->cut < b->size ? 3 : 2;
}

static void put_slices(const struct wf_batch *b, struct pf_slice *out)
{
    size_t before = b->body == NULL ? b->size : b->cut;
    *out++ = (struct pf_slice){b->data, before};
    if (b->body != NULL) *out++ = b->piece;
    if (before < b->size) *out = (struct pf_slice){b->data + before, b->size - before};
}

struct flight {
    struct pf_slice slices[WF_CARRIER_SLICES];
    unsigned count;
    struct wf_channel *channel; /* a reference */
};

/* Takes what goes into the next carrier message. False: nothing, or not now. */
static bool take(struct wf_session *s, struct flight *f)
{
    struct wf_channel *ch = s->channel;
    f->count = 0;
    /* Acquire: pairs with the end of the handshake's sending. */
    if (s->sending || s->stuck || s->closed || ch == NULL || atomic_load_explicit(&ch->saying, memory_order_acquire))
        return false;
    if (s->taken >= s->most_taken) insert_urgent(s);
    let_go(s);
    size_t total = put_head(s);
    if (total > 0) f->slices[f->count++] = (struct pf_slice){s->head, total};
    for (total = 0; s->unsent != NULL; s->unsent = s->unsent->next) {
        const struct wf_batch *b = s->unsent;
        if (total > 0 && total + size_of(b) > WF_SEND_BYTES) break;
        if (f->count + slices_of(b) > WF_CARRIER_SLICES) break;
        put_slices(b, f->slices + f->count);
        f->count += slices_of(b);
        total += size_of(b);
        s->taken += b->frames;
        if (s->chunk == b) s->chunk = NULL;
    }
    s->most_taken = WF_MAX(s->most_taken, s->taken);
    s->sending = f->count > 0;
    if (!s->sending) return false;
    f->channel = ch;
    wf_channel_keep(ch);
    return true;
}

static bool has_room(const struct wf_session *s)
{
    size_t bytes = atomic_load_explicit(&s->bytes, memory_order_relaxed);
    size_t bulk = atomic_load_explicit(&s->bulk, memory_order_relaxed);
    return s->closed || (bytes <= WF_OUTBOX_LOW && bulk < WF_OUTBOX_MAX);
}

/* Those who wait for room, and have not been told; they are posted without the lock. */
static uint64_t take_rooms(struct wf_session *s)
{
    uint64_t mask = s->rooms_wanted & ~s->rooms_posted;
    if (WF_LIKELY(mask == 0) || !has_room(s)) return 0;
    s->rooms_wanted &= ~mask;
    s->rooms_posted |= mask;
    return mask;
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

static void post_rooms(struct wf_session *s, uint64_t mask)
{
    for (; mask != 0; mask &= mask - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(mask);
        wf_session_keep(s);
        wf_worker_post(s->t->node->workers.at[i], &s->rooms[i].call.post);
    }
}

/* What was in flight on `ch` is gone, or back. Whether something goes next. */
static bool next_flight(struct wf_session *s, const struct wf_channel *ch, bool ok, struct flight *f)
{
    pf_mutex_lock(s->lock);
    s->sending = false;
    if (s->closed || (!ok && !can_resume(s))) {
        discard(s);
    } else if (s->rewind || (!ok && s->channel != ch)) {
        rewind_all(s);
    } else if (ok) {
        land(s);
    } else {
        s->stuck = true; /* until $cluster has seen its end */
    }
    bool more = take(s, f);
    uint64_t rooms = take_rooms(s);
    pf_mutex_unlock(s->lock);
    post_rooms(s, rooms);
    return more;
}

/* Sends until nothing is left or something is under way. Consumes the reference of what is in flight. */
static void send_on(struct wf_session *s, struct flight *f)
{
    bool more = true;
    while (more) {
        struct wf_channel *ch = f->channel;
        atomic_store_explicit(&s->last_sent, wf_transport_now(s->t), memory_order_relaxed);
        enum wf_send r = wf_conn_send(ch->conn, f->slices, f->count);
        if (r == WF_SEND_LATER) return;
        more = next_flight(s, ch, r == WF_SEND_DONE, f);
        wf_channel_release(ch);
    }
    wf_session_release(s);
}

void wf_session_rest(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    if (atomic_load_explicit(&s->bytes, memory_order_relaxed) < WF_SEND_BYTES) drop_spares(s, WF_SPARE_BATCHES);
    pf_mutex_unlock(s->lock);
}

/* With the lock, which it gives back. */
static void unlock_and_send(struct wf_session *s)
{
    struct flight f;
    bool more = take(s, &f);
    if (more) wf_session_keep(s);
    pf_mutex_unlock(s->lock);
    if (more) send_on(s, &f);
}

void wf_session_kick(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    unlock_and_send(s);
}

void wf_session_sent(struct wf_session *s, struct wf_channel *ch, bool ok)
{
    struct flight f;
    bool more = next_flight(s, ch, ok, &f);
    if (more) send_on(s, &f);
    else wf_session_release(s);
    wf_channel_release(ch);
}

static void put_urgent(struct wf_session *s, struct wf_batch *b)
{
    struct wf_batch **end = &s->urgent;
    while (*end != NULL) end = &(*end)->next;
    b->next = NULL;
    *end = b;
    add_bytes(s, b, true);
}

/* Takes a chain over. */
static void push(struct wf_session *s, struct wf_batch *b, void (*put)(struct wf_session *, struct wf_batch *))
{
    pf_mutex_lock(s->lock);
    bool overflow = atomic_load_explicit(&s->bytes, memory_order_relaxed) > WF_OUTBOX_HARD ||
                    atomic_load_explicit(&s->bulk, memory_order_relaxed) > WF_OUTBOX_HARD;
    for (struct wf_batch *next; b != NULL; b = next) {
        next = b->next;
        if (!s->closed && !overflow) {
            put(s, b);
            continue;
        }
        count_lost(s, b->frames);
        free_one(b);
    }
    unlock_and_send(s);
    if (overflow) wf_session_fail(s, "the other side does not read: outbox over its hard bound");
}

void wf_session_push(struct wf_session *s, struct wf_batch *b)
{
    push(s, b, put_in);
}

/* `b` with the frame that has been written into it. */
static struct wf_batch *with_frame(struct wf_batch *b, const weft_writer *w, enum wf_order order)
{
    WF_ASSERT(w->error == 0);
    b->size += w->size;
    b->frames++;
    b->order = order;
    return b;
}

void wf_session_say(struct wf_session *s, struct wf_batch *b, const weft_writer *w)
{
    push(s, with_frame(b, w, WF_ORDER_ANY), put_in);
}

void wf_session_say_of(struct wf_session *s, struct wf_batch *b, const weft_writer *w, uint64_t actor)
{
    b->slot = b->other_slot = wf_order_slot(actor);
    push(s, with_frame(b, w, WF_ORDER_ACTOR), put_in);
}

void wf_session_say_in_order(struct wf_session *s, struct wf_batch *b, const weft_writer *w)
{
    push(s, with_frame(b, w, WF_ORDER_ALL), put_in);
}

void wf_session_say_first(struct wf_session *s, struct wf_batch *b, const weft_writer *w)
{
    push(s, with_frame(b, w, WF_ORDER_ANY), put_urgent);
}

void wf_session_ping(struct wf_session *s, uint64_t number)
{
    pf_mutex_lock(s->lock);
    s->say_ping = number;
    unlock_and_send(s);
}

void wf_session_pong(struct wf_session *s, uint64_t number)
{
    pf_mutex_lock(s->lock);
    s->say_pong = number;
    unlock_and_send(s);
}

void wf_session_acknowledge(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    s->say_ack = can_resume(s);
    unlock_and_send(s);
}

/* ---- What the other side has ----------------------------------------------------------------------------------- */

bool wf_session_acked(struct wf_session *s, uint64_t count)
{
    pf_mutex_lock(s->lock);
    bool ok = count <= s->most_taken;
    if (ok && count > s->acked) {
        s->acked = count;
        trim(s);
    }
    uint64_t rooms = take_rooms(s);
    pf_mutex_unlock(s->lock);
    post_rooms(s, rooms);
    return ok;
}

bool wf_session_ponged(struct wf_session *s, uint64_t number)
{
    pf_mutex_lock(s->lock);
    bool answers = number != 0 && number == s->ping;
    bool ok = !answers || !can_resume(s) || s->acked >= s->ping_mark;
    if (answers) {
        s->ping = 0;                                             /* it is answered once */
        int64_t took = wf_transport_now(s->t) - (int64_t)number; /* it is a time of this node's */
        atomic_store_explicit(&s->rtt, WF_MAX(took, 0), memory_order_relaxed);
    }
    pf_mutex_unlock(s->lock);
    return ok;
}

void wf_session_attach(struct wf_session *s, struct wf_channel *ch, uint64_t count)
{
    wf_channel_keep(ch);
    pf_mutex_lock(s->lock);
    WF_ASSERT(s->channel == NULL);
    s->channel = ch;
    bool lies = count > s->most_taken;
    s->stuck = false;
    s->acked = WF_MAX(s->acked, WF_MIN(count, s->most_taken));
    s->say_ping = s->say_pong = s->ping = 0;
    /* What we have acknowledged on the connection before may be lost, and is more than what the handshake said. */
    s->acked_frames = 0;
    s->say_ack = can_resume(s);
    if (s->sending) s->rewind = true;
    else rewind_all(s);
    uint64_t rooms = take_rooms(s);
    unlock_and_send(s);
    post_rooms(s, rooms);
    if (lies) wf_session_fail(s, "acknowledges what was never sent");
}

void wf_session_detach(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    struct wf_channel *ch = s->channel;
    WF_ASSERT(ch != NULL);
    s->channel = NULL;
    pf_mutex_unlock(s->lock);
    wf_channel_release(ch);
}

bool wf_session_has_room(struct wf_session *s, uint32_t worker)
{
    pf_mutex_lock(s->lock);
    bool room = has_room(s);
    if (!room) s->rooms_wanted |= UINT64_C(1) << worker;
    pf_mutex_unlock(s->lock);
    return room;
}

void wf_session_room_came(struct wf_session *s, uint32_t worker)
{
    pf_mutex_lock(s->lock);
    s->rooms_posted &= ~(UINT64_C(1) << worker);
    pf_mutex_unlock(s->lock);
}

void wf_session_make_turn(struct wf_session *s, uint32_t worker)
{
    uint64_t mask = UINT64_C(1) << worker;
    pf_mutex_lock(s->lock);
    bool posted = (s->rooms_posted & mask) != 0;
    s->rooms_posted |= mask;
    pf_mutex_unlock(s->lock);
    if (!posted) post_rooms(s, mask);
}

/* transport/link/send_queue.c -- the sending half of a link: batches queue up, one carrier message is in flight, and
 * its completion starts the next. */
#include "send_queue.h"
#include "channel.h"
#include "cluster_event.h"
#include "held_batches.h"
#include "peer_link.h"
#include "transport.h"

#include <stdlib.h>
#include <string.h>

struct wf_batch *wf_batch_new(struct wf_link *l, size_t at_least)
{
    size_t capacity = at_least;
    if (at_least <= WF_BATCH_BYTES) {
        capacity = WF_BATCH_BYTES;
        pf_mutex_lock(l->lock);
        struct wf_batch *b = l->spare;
        if (b != NULL) {
            l->spare = b->next;
            b->next = NULL;
            l->spares--;
        }
        pf_mutex_unlock(l->lock);
        WF_ASSERT(b == NULL || (b->size == 0 && b->frames == 0 && b->body == NULL));
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

/* ---- The list: all functions are called with the lock held ----------------------------------------------------- */

static bool can_resume(const struct wf_link *l)
{
    return l->number != 0;
}

static void recycle(struct wf_link *l, struct wf_batch *b)
{
    if (b->capacity != WF_BATCH_BYTES || l->spares >= WF_SPARE_BATCHES_BUSY || l->closed) {
        free_one(b);
        return;
    }
    WF_ASSERT(b->body == NULL); /* a batch with a body has a smaller capacity */
    b->size = b->frames = 0;
    b->mark = 0;
    b->order = WF_ORDER_ANY;
    b->next = l->spare;
    l->spare = b;
    l->spares++;
}

static void drop_spares(struct wf_link *l, uint32_t most)
{
    while (l->spares > most) {
        struct wf_batch *b = l->spare;
        l->spare = b->next;
        l->spares--;
        free(b);
    }
}

static size_t size_of(const struct wf_batch *b)
{
    return b->size + b->piece.size;
}

static void add_bytes(struct wf_link *l, const struct wf_batch *b, bool more)
{
    _Atomic size_t *sum = b->chunk ? &l->chunk_bytes : &l->bytes;
    size_t size = more ? size_of(b) : 0 - size_of(b);
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + size, memory_order_relaxed);
}

static void count_lost(struct wf_link *l, uint64_t frames)
{
    atomic_fetch_add_explicit(&l->frames_lost, frames, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->t->dropped_lost, frames, memory_order_relaxed);
}

/* Takes the first batch out of the list. */
static struct wf_batch *pop(struct wf_link *l)
{
    struct wf_batch *b = l->first;
    WF_ASSERT(b != NULL);
    l->first = b->next;
    if (l->first == NULL) l->last = NULL;
    if (l->landed == b) l->landed = NULL;
    if (l->chunk == b) l->chunk = NULL;
    if (l->unsent == b) {
        l->unsent = b->next;
        l->taken += b->frames;
    }
    l->base += b->frames;
    add_bytes(l, b, false);
    return b;
}

/* Frees acknowledged batches. Batches that are being sent stay; so do those that START has announced again, because
 * the receiver counts their frames. */
static void trim(struct wf_link *l)
{
    while (l->first != NULL && (l->landed != NULL || (l->send_start && !l->sending && l->first == l->unsent)) &&
           l->base + l->first->frames <= l->acked) {
        struct wf_batch *b = pop(l);
        l->marked = WF_MAX(l->marked, b->mark);
        recycle(l, b);
    }
}

/* A small batch is merged into the last one, so that memory use stays near the queued bytes even if turns are short. */
static void append(struct wf_link *l, struct wf_batch *b)
{
    WF_ASSERT(b->size > 0 && (l->unsent == NULL || l->last != NULL));
    if (l->unsent != NULL && b->body == NULL && l->last->size + b->size <= l->last->capacity) {
        memcpy(l->last->data + l->last->size, b->data, b->size);
        l->last->size += b->size;
        l->last->frames += b->frames;
        l->last->mark = WF_MAX(l->last->mark, b->mark);
        recycle(l, b);
        return;
    }
    b->next = NULL;
    if (l->last == NULL) l->first = b;
    else l->last->next = b;
    l->last = b;
    if (l->unsent == NULL) l->unsent = b;
}

/* Adds the batch to the list, or to the held batches. */
static void put_in(struct wf_link *l, struct wf_batch *b)
{
    add_bytes(l, b, true);
    b->next = NULL;
    if (wf_held_put(l, b)) return;
    WF_SOMETIMES("link: a message overtakes a large one", l->held != NULL);
    append(l, b);
}

static void let_go(struct wf_link *l)
{
    for (struct wf_batch *b; (b = wf_held_next(l)) != NULL;) append(l, b);
}

/* Urgent batches go before the batches that were never sent, but behind those that are sent again, because their
 * numbers are fixed: `take` calls this only when no batch is left to be sent again. */
static void insert_urgent(struct wf_link *l)
{
    struct wf_batch *last = l->urgent, *before = NULL;
    if (last == NULL) return;
    while (last->next != NULL) last = last->next;
    for (struct wf_batch *b = l->landed != NULL ? l->landed : l->first; b != l->unsent; b = b->next) before = b;
    last->next = l->unsent;
    if (before == NULL) l->first = l->urgent;
    else before->next = l->urgent;
    if (l->unsent == NULL) l->last = last;
    l->unsent = l->urgent;
    l->urgent = NULL;
}

static void rewind_all(struct wf_link *l)
{
    WF_ASSERT(!l->sending); /* the carrier must not have batches that will be sent again */
    l->unsent = l->first;
    l->landed = NULL;
    l->chunk = NULL;
    for (struct wf_batch *b = l->first; b != NULL; b = b->next)
        if (b->chunk) l->chunk = b;
    l->taken = l->base;
    l->rewind = false;
    l->send_start = true;
    trim(l);
}

/* The batches in flight have been sent: moves `landed` behind them. Small ones are merged into the one before. */
static void land(struct wf_link *l)
{
    size_t bytes = 0;
    uint64_t frames = 0;
    struct wf_batch *before = l->landed, *b = before == NULL ? l->first : before->next;
    WF_ASSERT(!l->sending);
    while (b != l->unsent) {
        struct wf_batch *next = b->next;
        bytes += size_of(b);
        frames += b->frames;
        if (before != NULL && can_resume(l) && before->body == NULL && b->body == NULL &&
            b->size <= WF_BATCH_BYTES / 2 && before->size + b->size <= before->capacity) {
            memcpy(before->data + before->size, b->data, b->size);
            before->size += b->size;
            before->frames += b->frames;
            before->mark = WF_MAX(before->mark, b->mark);
            before->next = next;
            if (l->last == b) l->last = before;
            recycle(l, b);
        } else {
            before = b;
        }
        b = next;
    }
    l->landed = before;
    atomic_fetch_add_explicit(&l->frames_out, frames, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->bytes_out, bytes, memory_order_relaxed);
    if (!can_resume(l)) l->acked = l->taken;
    trim(l);
}

/* How many frames of a batch the other side has not acknowledged; its first frame has the number `first` + 1. */
static uint64_t unacknowledged(const struct wf_link *l, const struct wf_batch *b, uint64_t first)
{
    if (l->acked <= first) return b->frames;
    return l->acked - first < b->frames ? first + b->frames - l->acked : 0;
}

/* Frees all batches but those that the carrier has. It is called again when the carrier has given those back; `base`
 * is set for them. */
static void discard(struct wf_link *l)
{
    WF_SOMETIMES("link: it ends while the carrier still has a message of it", l->sending);
    l->closed = true;
    insert_urgent(l);
    while (l->held != NULL) {
        l->chunk = NULL;
        let_go(l);
    }
    l->chunk = NULL;
    struct wf_batch *end = l->sending ? l->unsent : NULL, *kept = NULL;
    struct wf_batch *flight = !l->sending ? NULL : l->landed != NULL ? l->landed->next : l->first;
    uint64_t lost = 0, number = l->base;
    for (struct wf_batch *b = l->first, *next; b != NULL; b = next) {
        next = b->next;
        if (b == flight && flight != end) {
            l->base = number;
            for (number += b->frames; b->next != end; number += b->frames) b = b->next;
            next = b->next;
            kept = b;
            continue;
        }
        lost += unacknowledged(l, b, number);
        number += b->frames;
        add_bytes(l, b, false);
        free_one(b);
    }
    l->first = kept == NULL ? NULL : flight;
    l->last = kept;
    if (kept != NULL) kept->next = NULL;
    l->landed = l->unsent = NULL;
    if (!l->client) count_lost(l, lost); /* a tool that leaves never acknowledges its last reply: that is no loss */
    drop_spares(l, 0);
    WF_ASSERT(l->held == NULL && l->urgent == NULL && l->spare == NULL);
}

void wf_link_discard(struct wf_link *l)
{
    pf_mutex_lock(l->lock);
    if (!l->closed || !l->sending) discard(l);
    pf_mutex_unlock(l->lock);
}

/* ---- The next carrier message: with the lock held -------------------------------------------------------------- */

/* Writes START, ACK, PONG and PING, which overtake everything. Returns their bytes. */
static size_t put_head(struct wf_link *l)
{
    weft_writer w = weft_writer_on(l->head, sizeof l->head);
    if (can_resume(l)) {
        if (l->send_start) wf_put_number(&w, WF_FRAME_START, l->base);
        uint64_t received = atomic_load_explicit(&l->received, memory_order_relaxed);
        uint64_t bytes = atomic_load_explicit(&l->bytes_in, memory_order_relaxed);
        uint64_t told = atomic_load_explicit(&l->acked_bytes, memory_order_relaxed);
        if (received != l->acked_frames &&
            (l->send_ack || l->send_ping != 0 || l->send_pong != 0 || bytes - told >= WF_ACK_ALONG)) {
            wf_put_number(&w, WF_FRAME_ACK, received);
            l->acked_frames = received;
            atomic_store_explicit(&l->acked_bytes, bytes, memory_order_relaxed);
        }
    }
    if (l->send_pong != 0) wf_put_number(&w, WF_FRAME_PONG, l->send_pong);
    if (l->send_ping != 0) {
        wf_put_number(&w, WF_FRAME_PING, l->send_ping);
        l->ping = l->send_ping;
        l->ping_mark = l->taken;
    }
    l->send_start = l->send_ack = false;
    l->send_ping = l->send_pong = 0;
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

/* Takes the batches for the next carrier message. False: there are none, or nothing can be sent now. */
static bool take(struct wf_link *l, struct flight *f)
{
    struct wf_channel *ch = l->channel;
    f->count = 0;
    /* Acquire: pairs with the end of the handshake's sending. */
    if (l->sending || l->stuck || l->closed || ch == NULL || atomic_load_explicit(&ch->sending, memory_order_acquire))
        return false;
    WF_ASSERT(l->base <= l->taken && l->taken <= l->most_taken);
    WF_SOMETIMES("link: urgent frames wait for batches that are sent again",
                 l->urgent != NULL && l->taken < l->most_taken);
    if (l->taken >= l->most_taken) insert_urgent(l);
    let_go(l);
    size_t total = put_head(l);
    if (total > 0) f->slices[f->count++] = (struct pf_slice){l->head, total};
    for (total = 0; l->unsent != NULL; l->unsent = l->unsent->next) {
        const struct wf_batch *b = l->unsent;
        if (total > 0 && total + size_of(b) > WF_SEND_BYTES) break;
        if (f->count + slices_of(b) > WF_CARRIER_SLICES) break;
        put_slices(b, f->slices + f->count);
        f->count += slices_of(b);
        total += size_of(b);
        l->taken += b->frames;
        if (l->chunk == b) l->chunk = NULL;
    }
    l->most_taken = WF_MAX(l->most_taken, l->taken);
    l->sending = f->count > 0;
    if (!l->sending) return false;
    f->channel = ch;
    wf_channel_keep(ch);
    return true;
}

static bool has_space(const struct wf_link *l)
{
    size_t bytes = atomic_load_explicit(&l->bytes, memory_order_relaxed);
    size_t chunk_bytes = atomic_load_explicit(&l->chunk_bytes, memory_order_relaxed);
    return l->closed || (bytes <= WF_SEND_QUEUE_LOW && chunk_bytes < WF_SEND_QUEUE_MAX);
}

/* The workers that wait for space and have no call posted yet. The caller posts the calls without the lock. */
static uint64_t take_space_waiters(struct wf_link *l)
{
    uint64_t mask = l->space_wanted & ~l->space_posted;
    if (WF_LIKELY(mask == 0) || !has_space(l)) return 0;
    l->space_wanted &= ~mask;
    l->space_posted |= mask;
    return mask;
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

static void post_space(struct wf_link *l, uint64_t mask)
{
    for (; mask != 0; mask &= mask - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(mask);
        WF_ASSERT(i < l->t->node->workers.count);
        wf_link_keep(l);
        wf_worker_post(l->t->node->workers.at[i], &l->calls[i].space.post);
    }
}

/* The batches in flight on `ch` have been sent, or (not `ok`) have not. Returns whether `f` has the next ones. */
static bool next_flight(struct wf_link *l, const struct wf_channel *ch, bool ok, struct flight *f)
{
    pf_mutex_lock(l->lock);
    WF_ASSERT(l->sending); /* one carrier message at a time, and its end is reported once */
    l->sending = false;
    WF_SOMETIMES("link: a send fails when the link has another connection already",
                 !ok && !l->closed && l->channel != ch);
    WF_SOMETIMES("link: a send fails before its connection has ended", !ok && !l->closed && l->channel == ch);
    if (l->closed || (!ok && !can_resume(l))) {
        discard(l);
    } else if (l->rewind || (!ok && l->channel != ch)) {
        rewind_all(l);
    } else if (ok) {
        land(l);
    } else {
        l->stuck = true; /* until the next channel is attached */
    }
    bool more = take(l, f);
    uint64_t calls = take_space_waiters(l);
    pf_mutex_unlock(l->lock);
    post_space(l, calls);
    return more;
}

/* Sends until nothing is left or a carrier message is in flight. Consumes the references of `f` and of the link. */
static void send_on(struct wf_link *l, struct flight *f)
{
    bool more = true;
    while (more) {
        struct wf_channel *ch = f->channel;
        WF_ASSERT(f->count > 0 && f->count <= WF_CARRIER_SLICES);
        atomic_store_explicit(&l->last_sent, wf_transport_now(l->t), memory_order_relaxed);
        enum wf_send r = wf_conn_send(ch->conn, f->slices, f->count);
        if (r == WF_SEND_LATER) return;
        more = next_flight(l, ch, r == WF_SEND_DONE, f);
        wf_channel_release(ch);
    }
    wf_link_release(l);
}

void wf_link_rest(struct wf_link *l)
{
    pf_mutex_lock(l->lock);
    if (atomic_load_explicit(&l->bytes, memory_order_relaxed) < WF_SEND_BYTES) drop_spares(l, WF_SPARE_BATCHES);
    pf_mutex_unlock(l->lock);
}

/* Is called with the lock held and releases it. */
static void unlock_and_send(struct wf_link *l)
{
    struct flight f;
    bool more = take(l, &f);
    if (more) wf_link_keep(l);
    pf_mutex_unlock(l->lock);
    if (more) send_on(l, &f);
}

void wf_link_kick(struct wf_link *l)
{
    pf_mutex_lock(l->lock);
    unlock_and_send(l);
}

void wf_link_on_sent(struct wf_link *l, struct wf_channel *ch, bool ok)
{
    struct flight f;
    bool more = next_flight(l, ch, ok, &f);
    if (more) send_on(l, &f);
    else wf_link_release(l);
    wf_channel_release(ch);
}

/* A small batch is merged into the last one, as in `append`: a peer that does not read may cause many answers. */
static void put_urgent(struct wf_link *l, struct wf_batch *b)
{
    WF_ASSERT(b->body == NULL && !b->chunk);
    struct wf_batch *last = l->urgent;
    while (last != NULL && last->next != NULL) last = last->next;
    add_bytes(l, b, true);
    b->next = NULL;
    if (last == NULL) {
        l->urgent = b;
    } else if (last->size + b->size <= last->capacity) {
        memcpy(last->data + last->size, b->data, b->size);
        last->size += b->size;
        last->frames += b->frames;
        recycle(l, b);
    } else {
        last->next = b;
    }
}

/* Takes a chain over. */
static void push(struct wf_link *l, struct wf_batch *b, void (*put)(struct wf_link *, struct wf_batch *))
{
    pf_mutex_lock(l->lock);
    bool overflow = atomic_load_explicit(&l->bytes, memory_order_relaxed) > WF_SEND_QUEUE_HARD ||
                    atomic_load_explicit(&l->chunk_bytes, memory_order_relaxed) > WF_SEND_QUEUE_HARD;
    for (struct wf_batch *next; b != NULL; b = next) {
        next = b->next;
        if (!l->closed && !overflow) {
            put(l, b);
            continue;
        }
        count_lost(l, b->frames);
        free_one(b);
    }
    unlock_and_send(l);
    if (overflow) wf_link_fail(l, "the other side does not read: its send queue is over the hard limit");
}

void wf_link_push(struct wf_link *l, struct wf_batch *b)
{
    WF_ASSERT(b != NULL);
    push(l, b, put_in);
}

/* Adds the frame that has been written into `b` to its counts. */
static struct wf_batch *with_frame(struct wf_batch *b, const weft_writer *w, enum wf_order order)
{
    WF_ASSERT(w->error == 0 && w->size > 0 && b->size + w->size <= b->capacity);
    b->size += w->size;
    b->frames++;
    b->order = order;
    return b;
}

void wf_link_send(struct wf_link *l, struct wf_batch *b, const weft_writer *w)
{
    push(l, with_frame(b, w, WF_ORDER_ANY), put_in);
}

void wf_link_send_of(struct wf_link *l, struct wf_batch *b, const weft_writer *w, uint64_t actor)
{
    b->slot = b->other_slot = wf_order_slot(actor);
    push(l, with_frame(b, w, WF_ORDER_ACTOR), put_in);
}

void wf_link_send_in_order(struct wf_link *l, struct wf_batch *b, const weft_writer *w)
{
    push(l, with_frame(b, w, WF_ORDER_ALL), put_in);
}

void wf_link_send_first(struct wf_link *l, struct wf_batch *b, const weft_writer *w)
{
    push(l, with_frame(b, w, WF_ORDER_ANY), put_urgent);
}

void wf_link_ping(struct wf_link *l, uint64_t number)
{
    WF_ASSERT(number != 0);
    pf_mutex_lock(l->lock);
    l->send_ping = number;
    unlock_and_send(l);
}

void wf_link_pong(struct wf_link *l, uint64_t number)
{
    pf_mutex_lock(l->lock);
    l->send_pong = number;
    unlock_and_send(l);
}

void wf_link_acknowledge(struct wf_link *l)
{
    pf_mutex_lock(l->lock);
    l->send_ack = can_resume(l);
    unlock_and_send(l);
}

/* ---- What the other side has received -------------------------------------------------------------------------- */

void wf_link_mark(struct wf_link *l, int64_t mark)
{
    pf_mutex_lock(l->lock);
    WF_ASSERT(mark != 0 && mark >= l->marked);
    struct wf_batch *last = l->held != NULL ? l->held_last : l->last;
    if (last != NULL) last->mark = mark;
    else l->marked = mark;
    pf_mutex_unlock(l->lock);
}

int64_t wf_link_marked(struct wf_link *l)
{
    pf_mutex_lock(l->lock);
    int64_t marked = l->marked;
    pf_mutex_unlock(l->lock);
    return marked;
}

bool wf_link_on_ack(struct wf_link *l, uint64_t count)
{
    pf_mutex_lock(l->lock);
    bool ok = count <= l->most_taken;
    if (ok && count > l->acked) {
        l->acked = count;
        trim(l);
    }
    WF_ASSERT(l->acked <= l->most_taken);
    uint64_t calls = take_space_waiters(l);
    pf_mutex_unlock(l->lock);
    post_space(l, calls);
    return ok;
}

bool wf_link_on_pong(struct wf_link *l, uint64_t number)
{
    pf_mutex_lock(l->lock);
    bool answers = number != 0 && number == l->ping;
    bool ok = !answers || !can_resume(l) || l->acked >= l->ping_mark;
    if (answers) {
        l->ping = 0;                                             /* a PING is answered once */
        int64_t took = wf_transport_now(l->t) - (int64_t)number; /* the number is this node's time of sending */
        atomic_store_explicit(&l->rtt, WF_MAX(took, 0), memory_order_relaxed);
    }
    pf_mutex_unlock(l->lock);
    return ok;
}

void wf_link_attach(struct wf_link *l, struct wf_channel *ch, uint64_t count)
{
    WF_ASSERT(wf_is_cluster(l->t) && ch->link == l);
    wf_channel_keep(ch);
    pf_mutex_lock(l->lock);
    WF_ASSERT(l->channel == NULL);
    l->channel = ch;
    bool lies = count > l->most_taken;
    WF_SOMETIMES("link: it is resumed with a full queue", l->bytes >= WF_SEND_QUEUE_MAX);
    WF_SOMETIMES("link: it is resumed, and batches in flight must be sent again",
                 l->most_taken > WF_MAX(l->acked, count));
    WF_SOMETIMES("link: the peer had received more than it had acknowledged", count > l->acked && !lies);
    WF_SOMETIMES("link: it is resumed while the carrier still has a message of it", l->sending);
    l->stuck = false;
    l->acked = WF_MAX(l->acked, WF_MIN(count, l->most_taken));
    l->send_ping = l->send_pong = l->ping = 0;
    /* Acknowledgements on the previous connection may be lost, and the handshake may have said a smaller number. */
    l->acked_frames = 0;
    l->send_ack = can_resume(l);
    if (l->sending) l->rewind = true;
    else rewind_all(l);
    uint64_t calls = take_space_waiters(l);
    unlock_and_send(l);
    post_space(l, calls);
    if (lies) wf_link_fail(l, "acknowledges frames that were never sent");
}

void wf_link_detach(struct wf_link *l)
{
    WF_ASSERT(wf_is_cluster(l->t));
    pf_mutex_lock(l->lock);
    struct wf_channel *ch = l->channel;
    WF_ASSERT(ch != NULL);
    l->channel = NULL;
    pf_mutex_unlock(l->lock);
    wf_channel_release(ch);
}

bool wf_link_has_space(struct wf_link *l, uint32_t worker)
{
    WF_ASSERT(worker < l->t->node->workers.count);
    pf_mutex_lock(l->lock);
    bool space = has_space(l);
    if (!space) l->space_wanted |= UINT64_C(1) << worker;
    pf_mutex_unlock(l->lock);
    return space;
}

void wf_link_space_taken(struct wf_link *l, uint32_t worker)
{
    pf_mutex_lock(l->lock);
    WF_ASSERT((l->space_posted >> worker & 1) != 0); /* each post is handled once */
    l->space_posted &= ~(UINT64_C(1) << worker);
    pf_mutex_unlock(l->lock);
}

void wf_link_make_turn(struct wf_link *l, uint32_t worker)
{
    uint64_t mask = UINT64_C(1) << worker;
    WF_ASSERT(worker < l->t->node->workers.count);
    pf_mutex_lock(l->lock);
    bool posted = (l->space_posted & mask) != 0;
    l->space_posted |= mask;
    pf_mutex_unlock(l->lock);
    if (!posted) post_space(l, mask);
}

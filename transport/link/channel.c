/* transport/link/channel.c -- one connection to another node, from its first byte to its last: the callbacks of the
 * carrier. */
#include "channel.h"
#include "inbound.h"
#include "transport.h"
#include "sanitizer.h"
#include "names.h"
#include "cluster_event.h"
#include "send_queue.h"
#include "receive.h"
#include "peer_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit of entries of tables in one turn: wf_channel.work. */
#define WORK_AT_ONCE WF_LIMIT("link: table entries in a turn", 512, 1)

/* ---- Lifetime -------------------------------------------------------------------------------------------------- */

static void read_on(struct wf_worker *w, struct wf_call *c)
{
    (void)w;
    struct wf_channel *ch = WF_CONTAINER(c, struct wf_channel, read_on);
    atomic_store_explicit(&ch->held_at, 0, memory_order_relaxed);
    wf_conn_resume(ch->conn);
    wf_channel_release(ch);
}

static struct wf_channel *channel_new(struct wf_transport *t, struct wf_conn *conn)
{
    WF_ASSERT(conn->user == NULL);
    struct wf_channel *ch = calloc(1, sizeof *ch);
    if (ch == NULL) return NULL;
    ch->over = wf_cluster_event_new(WF_CLUSTER_EVENT_DOWN, NULL, NULL, WF_REASON_TEXT);
    if (ch->over == NULL) {
        free(ch);
        return NULL;
    }
    ch->t = t;
    ch->conn = conn;
    ch->dialer = conn->dial_tag;
    ch->read_on = (struct wf_call){.post.kind = WF_POST_CALL, .call = read_on};
    atomic_store_explicit(&ch->refs, 1, memory_order_relaxed);
    return ch;
}

int wf_channel_phase(const struct wf_channel *ch)
{
    return atomic_load_explicit(&ch->phase, memory_order_relaxed);
}

/* Release: the receiving side, which acquires, sees everything that was written to the channel before. */
void wf_channel_enter(struct wf_channel *ch, enum wf_phase phase)
{
    WF_ASSERT(phase != WF_PHASE_NEW);
    atomic_store_explicit(&ch->phase, phase, memory_order_release);
}

void wf_channel_end(struct wf_channel *ch, const char *reason)
{
    if (wf_channel_phase(ch) != WF_PHASE_REFUSED) wf_channel_enter(ch, WF_PHASE_OVER);
    wf_conn_close(ch->conn, reason);
}

/* ---- Sending frames of the handshake --------------------------------------------------------------------------- */

/* Takes the next frame; NULL: there is none. With t->lock held. */
static struct wf_batch *take(struct wf_channel *ch)
{
    struct wf_batch *b = ch->flight = ch->next;
    ch->next = NULL;
    atomic_store_explicit(&ch->sending, b != NULL, memory_order_release);
    return b;
}

/* The frame in flight has been sent. Sends until no frame is left or one is in flight. Consumes the reference of the
 * frame in flight. */
static void send_on(struct wf_channel *ch)
{
    struct wf_transport *t = ch->t;
    enum wf_send r = WF_SEND_DONE;
    while (r != WF_SEND_LATER) {
        pf_mutex_lock(t->lock);
        struct wf_batch *done = ch->flight, *b = take(ch);
        WF_ASSERT(done != NULL); /* each frame is reported as sent once */
        struct wf_link *l = ch->link;
        pf_mutex_unlock(t->lock);
        free(done);
        if (b != NULL) {
            r = wf_conn_send(ch->conn, &(struct pf_slice){b->data, b->size}, 1);
            continue;
        }
        if (l != NULL) wf_link_kick(l); /* the link may wait until the handshake's frames are sent */
        wf_channel_release(ch);
        return;
    }
}

bool wf_channel_send(struct wf_channel *ch, const uint8_t *frame, size_t size)
{
    WF_ASSERT(size > 0 && size <= WF_STRANGER_MESSAGE_MAX); /* the other side does not yet accept a longer message */
    struct wf_batch *b = malloc(sizeof *b + size);
    if (b == NULL) {
        wf_conn_close(ch->conn, "out of memory");
        return false;
    }
    *b = (struct wf_batch){.size = size, .capacity = size};
    memcpy(b->data, frame, size);
    pf_mutex_lock(ch->t->lock);
    WF_ASSERT(ch->next == NULL);
    ch->next = b;
    b = NULL;
    if (ch->flight == NULL) {
        b = take(ch);
        wf_channel_keep(ch);
    }
    pf_mutex_unlock(ch->t->lock);
    if (b != NULL && wf_conn_send(ch->conn, &(struct pf_slice){b->data, b->size}, 1) != WF_SEND_LATER) send_on(ch);
    return true;
}

void wf_channel_send_hello(struct wf_channel *ch)
{
    const struct wf_transport *t = ch->t;
    struct pf_env *env = t->node->workers.env;
    uint8_t frame[WF_STRANGER_MESSAGE_MAX];
    weft_writer w = weft_writer_on(frame, sizeof frame);
    struct wf_hello h = {.version = WF_WIRE_OLDEST,
                         .newest = t->wire_version,
                         .capabilities = t->capabilities,
                         .cluster = weft_cstr(t->node->cluster),
                         .name = weft_cstr(t->node->name),
                         .incarnation = t->node->incarnation,
                         .flags = t->client ? WF_HELLO_CLIENT : 0,
                         .heartbeat_ms = (uint64_t)(t->heartbeat / WEFT_MS(1)),
                         .clock = wf_stamp_of(env->wall(env)),
                         .url_count = wf_transport_urls(t)};
    for (uint32_t i = 0; i < h.url_count; i++) h.url[i] = weft_cstr(t->url[i]);
    wf_put_hello(&w, &h);
    WF_ASSERT(w.error == 0);
    (void)wf_channel_send(ch, frame, w.size);
}

/* ---- The carrier's callbacks ----------------------------------------------------------------------------------- */

static void on_up(void *owner, struct wf_conn *conn)
{
    struct wf_channel *ch = channel_new(owner, conn);
    if (ch == NULL) {
        wf_conn_close(conn, "out of memory");
        wf_conn_release(conn);
        return;
    }
    conn->user = ch;
    bool first = ch->dialer != NULL && atomic_load_explicit(&ch->t->listens_by_seed, memory_order_relaxed);
    struct wf_cluster_event *e = first ? wf_cluster_event_new(WF_CLUSTER_EVENT_DIALLED, ch, NULL, 0) : NULL;
    /* the event's handler sends HELLO, as the node must listen before HELLO says where */
    if (e != NULL) wf_cluster_event_post(ch->t, e);
    else wf_channel_send_hello(ch);
}

/* Acknowledges what this read has brought, if that is much. */
static void acknowledge(struct wf_link *l)
{
    uint64_t in = atomic_load_explicit(&l->bytes_in, memory_order_relaxed);
    if (in - atomic_load_explicit(&l->acked_bytes, memory_order_relaxed) >= WF_ACK_BYTES) wf_link_acknowledge(l);
}

/* Pauses reading until that worker has space (NULL: until the next turn). */
static void read_on_later(struct wf_channel *ch, struct wf_worker *congested)
{
    struct wf_worker *w = ch->conn->worker;
    WF_ASSERT(atomic_load_explicit(&ch->held_at, memory_order_relaxed) == 0); /* one pause at a time */
    wf_channel_keep(ch);
    atomic_store_explicit(&ch->held_at, wf_transport_now(ch->t), memory_order_relaxed);
    if (congested != NULL) wf_worker_when_space(congested, &ch->read_on);
    else wf_worker_post(w != NULL ? w : ch->t->node->workers.at[0], &ch->read_on.post);
}

/* A carrier message may hold 250 KiB of small entries for the tables, or of publications to very many subscribers. It
 * is received in parts, and other tasks of the worker run in between. A thread of NNG runs no tasks, so entries of
 * tables are not counted there. */
static enum wf_receive receive(struct wf_channel *ch, const uint8_t *data, size_t size, size_t *left)
{
    WF_ASSERT(ch->link != NULL);
    ch->in.here = ch->conn->worker;
    ch->in.copies = 0;
    ch->work = ch->in.here == NULL ? UINT32_MAX : WORK_AT_ONCE;
    if (!wf_link_receive(ch, data, size, left)) return WF_RECEIVE_END;
    if (*left == 0) return WF_RECEIVE_ON;
    atomic_store_explicit(&ch->link->last_heard, wf_transport_now(ch->t), memory_order_relaxed);
    acknowledge(ch->link);
    wf_channel_post(ch);
    read_on_later(ch, wf_inbound_congested(ch->t->node, &ch->in));
    return WF_RECEIVE_PAUSE;
}

static enum wf_receive on_message(void *owner, struct wf_conn *conn, const uint8_t *data, size_t size, size_t *left)
{
    struct wf_channel *ch = conn->user;
    if (ch == NULL) return WF_RECEIVE_END;
    if (ch->skip > 0) {
        WF_ASSERT(ch->skip <= size);
        data += ch->skip;
        size -= ch->skip;
        ch->skip = 0;
        if (size == 0) return WF_RECEIVE_ON;
    }
    switch (atomic_load_explicit(&ch->phase, memory_order_acquire)) {
    case WF_PHASE_UP: return receive(ch, data, size, left);
    case WF_PHASE_NEW:
    case WF_PHASE_HEARD: {
        struct wf_cluster_event *e = wf_cluster_event_new(WF_CLUSTER_EVENT_MESSAGE, ch, data, size);
        if (e == NULL) {
            wf_conn_close(conn, "out of memory");
            return WF_RECEIVE_END;
        }
        *left = size; /* $cluster sets `skip` to the bytes that belong to the handshake */
        wf_cluster_event_post(owner, e);
        return WF_RECEIVE_PAUSE;
    }
    default: return WF_RECEIVE_ON;
    }
}

/* Whether $cluster must first handle earlier events of this channel; it resumes the channel then. */
static bool wait_for_cluster(struct wf_channel *ch)
{
    struct wf_transport *t = ch->t;
    if (WF_LIKELY(atomic_load_explicit(&ch->events, memory_order_relaxed) <= WF_EVENTS_PER_CHANNEL)) return false;
    pf_mutex_lock(t->lock);
    bool wait = atomic_load_explicit(&ch->events, memory_order_relaxed) > WF_EVENTS_PER_CHANNEL;
    if (wait) ch->events_pause = true;
    pf_mutex_unlock(t->lock);
    return wait;
}

static enum wf_receive on_chunk(void *owner, struct wf_conn *conn)
{
    struct wf_transport *t = owner;
    struct wf_channel *ch = conn->user;
    if (ch == NULL) return WF_RECEIVE_END;
    bool up = atomic_load_explicit(&ch->phase, memory_order_acquire) == WF_PHASE_UP;
    if (up) {
        atomic_store_explicit(&ch->link->last_heard, wf_transport_now(t), memory_order_relaxed);
        acknowledge(ch->link);
    }
    wf_channel_post(ch);
    if (wait_for_cluster(ch) || (up && wf_limits_pause(ch))) return WF_RECEIVE_PAUSE;
    struct wf_worker *congested = wf_inbound_congested(t->node, &ch->in);
    if (congested == NULL) return WF_RECEIVE_ON;
    read_on_later(ch, congested);
    return WF_RECEIVE_PAUSE;
}

static void on_sent(void *owner, struct wf_conn *conn, bool ok)
{
    (void)owner;
    struct wf_channel *ch = conn->user;
    /* Acquire: pairs with the end of the handshake's sending; a link sends only after it. */
    if (atomic_load_explicit(&ch->sending, memory_order_acquire)) {
        send_on(ch);
    } else {
        WF_ASSERT(ch->link != NULL);
        wf_link_on_sent(ch->link, ch, ok);
    }
}

static void notify_down(struct wf_transport *t, struct wf_cluster_event *e, struct wf_channel *ch, void *dialer,
                        const char *remote, const char *reason)
{
    if (e == NULL) return; /* no memory; an accepted connection that never became a channel, so $cluster has none */
    e->channel = ch;
    if (ch != NULL) wf_channel_keep(ch);
    e->dialer = dialer;
    snprintf((char *)e->data, WF_REASON_TEXT, "%s", reason);
    snprintf(e->remote, sizeof e->remote, "%.63s", remote); /* the path of a Unix socket may be longer */
    wf_cluster_event_post(t, e);
}

/* Takes the event that was allocated for the end of this dial. */
static struct wf_cluster_event *over_of(struct wf_dial *d, enum wf_cluster_event_kind kind)
{
    struct wf_cluster_event *e = d->over;
    WF_ASSERT(e != NULL); /* a dial ends once */
    d->over = NULL;
    e->kind = kind;
    return e;
}

static void on_down(void *owner, struct wf_conn *conn, const char *reason)
{
    struct wf_transport *t = owner;
    struct wf_channel *ch = conn->user;
    struct wf_dial *d = conn->dial_tag;
    struct wf_cluster_event *e;
    if (ch == NULL) {
        e = d != NULL ? over_of(d, WF_CLUSTER_EVENT_DOWN)
                      : wf_cluster_event_new(WF_CLUSTER_EVENT_DOWN, NULL, NULL, WF_REASON_TEXT);
    } else {
        e = ch->over;
        WF_ASSERT(e != NULL); /* a channel ends once */
        ch->over = NULL;
        wf_channel_post(ch);
        pf_mutex_lock(t->lock);
        struct wf_link *l = ch->link;
        pf_mutex_unlock(t->lock);
        if (l != NULL && l->number == 0) wf_link_discard(l);
        if (l != NULL) wf_link_end_receiving(l);
    }
    notify_down(t, e, ch, d, conn->remote, reason);
    if (ch != NULL) wf_channel_release(ch);
}

static void on_dial_failed(void *owner, void *dial_tag, const char *reason)
{
    notify_down(owner, over_of(dial_tag, WF_CLUSTER_EVENT_DIAL_FAILED), NULL, dial_tag, "", reason);
}

const struct wf_carrier_user wf_channel_carrier_user = {.on_up = on_up,
                                                        .on_message = on_message,
                                                        .on_chunk = on_chunk,
                                                        .on_sent = on_sent,
                                                        .on_down = on_down,
                                                        .on_dial_failed = on_dial_failed};

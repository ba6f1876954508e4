/* One connection to another node, from its first byte to its last: what the carrier's callbacks do. */
#include "rights.h"

#include <stdlib.h>
#include <string.h>

/* ---- Lifetime -------------------------------------------------------------------------------------------------- */

void wf_session_keep(struct wf_session *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}

/* Releases what this holder did; the last one acquires all of it. One operation: a fence is unknown to TSan. */
void wf_session_release(struct wf_session *s)
{
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
    wf_session_discard(s);
    WF_ASSERT(s->flight == NULL);
    wf_conn_release(s->conn);
    pf_mutex_destroy(s->lock);
    free(s->rooms);
    free(s);
}

static void unchoked(struct wf_worker *w, struct wf_call *c)
{
    (void)w;
    struct wf_session *s = WF_CONTAINER(c, struct wf_session, unchoked);
    wf_conn_resume(s->conn);
    wf_session_release(s);
}

static struct wf_session *session_new(struct wf_transport *t, struct wf_conn *conn)
{
    uint32_t workers = t->node->workers.count;
    struct wf_session *s = calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    s->rooms = calloc(workers, sizeof *s->rooms);
    if (s->rooms == NULL || pf_mutex_create(&s->lock) < 0) {
        free(s->rooms);
        free(s);
        return NULL;
    }
    s->t = t;
    s->conn = conn;
    s->dialer = conn->dial_tag;
    s->unchoked = (struct wf_call){.post.kind = WF_POST_CALL, .call = unchoked};
    for (uint32_t i = 0; i < workers; i++) s->rooms[i].session = s;
    atomic_store_explicit(&s->refs, 1, memory_order_relaxed);
    int64_t now = wf_transport_now(t);
    atomic_store_explicit(&s->last_heard, now, memory_order_relaxed);
    atomic_store_explicit(&s->last_sent, now, memory_order_relaxed);
    return s;
}

static bool say_hello(struct wf_session *s)
{
    const struct wf_transport *t = s->t;
    struct wf_batch *b = wf_batch_new(s, WF_STRANGER_MESSAGE_MAX);
    if (b == NULL) return false;
    struct wf_hello h = {.version = WF_WIRE_VERSION,
                         .capabilities = WF_CAPABILITIES,
                         .cluster = weft_cstr(t->node->cluster),
                         .name = weft_cstr(t->node->name),
                         .incarnation = t->node->incarnation,
                         .flags = t->client ? WF_HELLO_CLIENT : 0,
                         .heartbeat_ms = (uint64_t)(t->heartbeat / WEFT_MS(1)),
                         .url_count = t->url_count};
    for (uint32_t i = 0; i < t->url_count; i++) h.url[i] = weft_cstr(t->url[i]);
    weft_writer w = wf_batch_writer(b);
    wf_put_hello(&w, &h);
    wf_session_say(s, b, &w);
    return true;
}

static void on_up(void *owner, struct wf_conn *conn)
{
    struct wf_session *s = session_new(owner, conn);
    if (s == NULL) {
        wf_conn_close(conn, "out of memory");
        wf_conn_release(conn);
        return;
    }
    conn->user = s;
    if (!say_hello(s)) wf_conn_close(conn, "out of memory");
}

/* ---- Messages for actors -----------------------------------------------------------------------------------------
 */

static weft_pid sender(const struct wf_session *s, const struct wf_frame *f)
{
    return f->from == 0 ? weft_nobody() : (weft_pid){s->incarnation, f->from};
}

/* Of a request: on this node's clock, counted from now. */
static int64_t deadline_of(const struct wf_session *s, const struct wf_frame *f)
{
    int64_t now = wf_transport_now(s->t);
    return f->number >= (uint64_t)(WEFT_FOREVER - now) / 1000 ? WEFT_FOREVER : now + (int64_t)f->number * 1000;
}

static weft_msg *envelope(struct wf_session *s, const struct wf_frame *f, unsigned kind)
{
    struct wf_worker *w = s->in.here;
    weft_msg *m = kind == WF_MSG_CALL ? wf_request_new(w, f->tag, f->body.size, NULL, deadline_of(s, f))
                                      : wf_msg_new(w, f->tag, f->body.size);
    if (m == NULL) {
        atomic_fetch_add_explicit(&s->t->dropped_lost, 1, memory_order_relaxed);
        return NULL;
    }
    m->post.flags = (uint8_t)kind;
    m->to_actor = f->to;
    m->from = sender(s, f);
    m->ref = WF_UNLIKELY(f->from == 0 && kind == WF_MSG_SEND) ? s->incarnation : f->ref;
    memcpy(wf_msg_bytes(m), f->body.data, f->body.size);
    return m;
}

static void receive_named(struct wf_session *s, struct wf_frame *f)
{
    bool call = f->kind == WF_FRAME_CALL_NAME;
    f->to = 0;
    weft_msg *m = envelope(s, f, call ? WF_MSG_CALL : f->kind == WF_FRAME_WANT_NAME ? WF_MSG_WANT : WF_MSG_SEND);
    if (m == NULL) return;
    if (call) wf_terms(m)->moved_on = 1;
    /* Without such an actor the worker it goes to counts it, and answers a request. */
    (void)wf_inbound_add_name(s->t->node, &s->in, f->name.data, f->name.size, m);
}

static void receive_publish(struct wf_session *s, const struct wf_frame *f)
{
    struct wf_body *body = wf_body_new(s->in.here, f->name.data, f->name.size, f->body.data, f->body.size);
    if (body == NULL) {
        atomic_fetch_add_explicit(&s->t->dropped_lost, 1, memory_order_relaxed);
        return;
    }
    wf_inbound_publish(s->t->node, &s->in, f->tag, sender(s, f), body);
}

static void receive_group_send(struct wf_session *s, const struct wf_frame *f)
{
    struct wf_body *body = wf_body_new(s->in.here, NULL, 0, f->body.data, f->body.size);
    if (body != NULL) wf_groups_arrived(s->t->node, &s->in, f->name, f->tag, sender(s, f), body);
    else atomic_fetch_add_explicit(&s->t->dropped_lost, 1, memory_order_relaxed);
}

/* ---- Frames of the link itself ------------------------------------------------------------------------------------
 */

static void receive_ping(struct wf_session *s, const struct wf_frame *f)
{
    if (f->kind == WF_FRAME_PONG) {
        int64_t took = wf_transport_now(s->t) - (int64_t)f->number;
        if (took >= 0) atomic_store_explicit(&s->rtt, took, memory_order_relaxed);
        return;
    }
    struct wf_batch *b = wf_batch_new(s, WF_FRAME_SPARE);
    if (b == NULL) return;
    weft_writer w = wf_batch_writer(b);
    wf_put_ping(&w, WF_FRAME_PONG, f->number);
    wf_session_say(s, b, &w);
}

static bool receive_interest(struct wf_session *s, struct wf_frame *f)
{
    if (f->number == WF_INTEREST_ADD) s->patterns += f->count;
    else s->patterns -= WF_MIN(f->count, s->patterns);
    if (s->patterns > WF_PATTERNS_MAX) {
        wf_conn_close(s->conn, "too many topic patterns");
        return false;
    }
    if (wf_ports_interest(s, f) == 0) return true;
    wf_conn_close(s->conn, "out of memory");
    return false;
}

void wf_session_post(struct wf_session *s)
{
    wf_inbound_post(s->t->node, &s->in);
}

/* False: the session was closed. */
static bool receive_frame(struct wf_session *s, struct wf_frame *f, const uint8_t *start, const uint8_t *end)
{
    if (WF_UNLIKELY(s->guarded) && !wf_rights_allow(s, f)) return true;
    int kind = wf_frame_message(f->kind);
    if (WF_LIKELY(kind >= 0)) {
        weft_msg *m = envelope(s, f, (unsigned)kind);
        if (m != NULL) wf_inbound_add(s->t->node, &s->in, m);
        return true;
    }
    switch (f->kind) {
    case WF_FRAME_PUBLISH: receive_publish(s, f); return true;
    case WF_FRAME_SEND_NAME:
    case WF_FRAME_WANT_NAME:
    case WF_FRAME_CALL_NAME: receive_named(s, f); return true;
    case WF_FRAME_PING:
    case WF_FRAME_PONG: receive_ping(s, f); return true;
    case WF_FRAME_INTEREST: return receive_interest(s, f);
    case WF_FRAME_BYE:
        wf_session_post(s); /* else the end of the node could overtake what its actors sent before */
        wf_news_post(s->t, wf_news_new(WF_NEWS_FRAME, s, start, (size_t)(end - start)));
        return true;
    case WF_FRAME_PEERS: wf_news_post(s->t, wf_news_new(WF_NEWS_FRAME, s, start, (size_t)(end - start))); return true;
    case WF_FRAME_TABLE: return wf_tables_receive(s, f);
    case WF_FRAME_GROUP_SEND: receive_group_send(s, f); return true;
    case WF_FRAME_UNKNOWN: return true;
    default: wf_conn_close(s->conn, "a handshake frame on an established link"); return false;
    }
}

bool wf_session_receive(struct wf_session *s, const uint8_t *data, size_t size)
{
    weft_reader r = weft_reader_on(data, size);
    struct wf_frame f;
    uint64_t count = 0;
    bool ok = true;
    while (ok) {
        const uint8_t *start = r.at;
        int got = wf_frame_next(&r, &f);
        if (got == 0) break;
        if (got < 0) {
            char why[WF_REASON_TEXT];
            wf_frame_fault(&r, &f, why, sizeof why);
            wf_conn_close(s->conn, why);
            ok = false;
        } else {
            ok = receive_frame(s, &f, start, r.at);
            count++;
        }
    }
    atomic_fetch_add_explicit(&s->frames_in, count, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->bytes_in, size, memory_order_relaxed);
    return ok;
}

/* ---- The carrier's callbacks ----------------------------------------------------------------------------------- */

static enum wf_receive on_message(void *owner, struct wf_conn *conn, const uint8_t *data, size_t size)
{
    struct wf_session *s = conn->user;
    if (s == NULL) return WF_RECEIVE_END;
    switch (atomic_load_explicit(&s->phase, memory_order_acquire)) {
    case WF_PHASE_UP:
        s->in.here = conn->worker;
        return wf_session_receive(s, data, size) ? WF_RECEIVE_ON : WF_RECEIVE_END;
    case WF_PHASE_NEW:
    case WF_PHASE_HEARD: {
        struct wf_news *n = wf_news_new(WF_NEWS_MESSAGE, s, data, size);
        if (n == NULL) {
            wf_conn_close(conn, "out of memory");
            return WF_RECEIVE_END;
        }
        wf_news_post(owner, n);
        return WF_RECEIVE_PAUSE;
    }
    default: return WF_RECEIVE_ON;
    }
}

static enum wf_receive on_chunk(void *owner, struct wf_conn *conn)
{
    struct wf_transport *t = owner;
    struct wf_session *s = conn->user;
    if (s == NULL) return WF_RECEIVE_END;
    atomic_store_explicit(&s->last_heard, wf_transport_now(t), memory_order_relaxed);
    wf_session_post(s);
    pf_mutex_lock(t->lock);
    bool wait = s->events > WF_EVENTS_PER_SESSION;
    if (wait) s->events_pause = true;
    pf_mutex_unlock(t->lock);
    if (wait || wf_limits_pause(s)) return WF_RECEIVE_PAUSE;
    struct wf_worker *choked = wf_inbound_choked(t->node);
    if (choked == NULL) return WF_RECEIVE_ON;
    wf_session_keep(s);
    wf_worker_when_room(choked, &s->unchoked);
    return WF_RECEIVE_PAUSE;
}

static void on_sent(void *owner, struct wf_conn *conn, bool ok)
{
    (void)owner;
    wf_session_sent(conn->user, ok);
}

static void tell_down(struct wf_transport *t, enum wf_news_kind kind, struct wf_session *s, void *dialer,
                      const char *remote, const char *reason)
{
    struct wf_news *n = wf_news_new(kind, s, reason, strlen(reason));
    if (n == NULL) return;
    n->dialer = dialer;
    memcpy(n->remote, remote, WF_MIN(strlen(remote), sizeof n->remote - 1));
    wf_news_post(t, n);
}

static void on_down(void *owner, struct wf_conn *conn, const char *reason)
{
    struct wf_session *s = conn->user;
    if (s != NULL) {
        wf_session_post(s);
        wf_session_discard(s);
    }
    tell_down(owner, WF_NEWS_DOWN, s, conn->dial_tag, conn->remote, reason);
    if (s != NULL) wf_session_release(s);
}

static void on_dial_failed(void *owner, void *dial_tag, const char *reason)
{
    tell_down(owner, WF_NEWS_DIAL_FAILED, NULL, dial_tag, "", reason);
}

const struct wf_carrier_user wf_session_carrier_user = {.on_up = on_up,
                                                        .on_message = on_message,
                                                        .on_chunk = on_chunk,
                                                        .on_sent = on_sent,
                                                        .on_down = on_down,
                                                        .on_dial_failed = on_dial_failed};

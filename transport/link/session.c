/* The link with another node: its life, and what is received for it. */
#include "mutant.h"
#include "rights.h"
#include "sanitizer.h"
#include "trace.h"
#include "transport.h"
#include "group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lifetime -------------------------------------------------------------------------------------------------- */

void wf_session_keep(struct wf_session *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}

static void drop_arrival(struct wf_session *s)
{
    if (s->arrival.m != NULL) wf_msg_free(NULL, s->arrival.m);
    if (s->arrival.body != NULL) wf_body_drop(NULL, s->arrival.body);
    s->arrival.m = NULL;
    s->arrival.body = NULL;
}

void wf_session_receives_no_more(struct wf_session *s)
{
    if (WF_LAST_HOLDER(&s->receivers, 1)) drop_arrival(s);
}

/* Releases what this holder did; the last one acquires all of it. One operation: a fence is unknown to TSan. */
void wf_session_release(struct wf_session *s)
{
    if (!WF_LAST_HOLDER(&s->refs, 1)) return;
    wf_session_discard(s);
    WF_ASSERT(s->first == NULL && s->channel == NULL && s->pending == NULL);
    drop_arrival(s);
    pf_mutex_destroy(s->lock);
    free(s->rooms);
    free(s);
}

static void copy_identity(struct wf_session *s, const struct wf_channel *ch)
{
    s->incarnation = ch->incarnation;
    memcpy(s->name, ch->name, sizeof s->name);
    memcpy(s->url, ch->url, sizeof s->url);
    s->url_count = ch->url_count;
    s->client = ch->client;
    s->guest = (ch->denied & WF_RIGHT_STOP) != 0;
    s->capabilities = ch->capabilities;
    s->heartbeat = ch->heartbeat;
    s->clock_ahead = ch->clock_ahead;
}

void wf_transport_seal(struct wf_transport *t, struct wf_seal *s)
{
    uint32_t key[WF_SEAL_KEY];
    struct pf_env *env = t->node->workers.env;
    env->random(env, key, sizeof key);
    wf_seal_init(s, key);
}

struct wf_session *wf_session_new(struct wf_channel *ch, uint64_t number)
{
    struct wf_transport *t = ch->t;
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
    s->number = number;
    copy_identity(s, ch);
    wf_transport_seal(t, &s->seal);
    for (uint32_t i = 0; i < workers; i++) {
        s->rooms[i].session = s;
        s->rooms[i].call = (struct wf_call){.post.kind = WF_POST_CALL, .call = wf_ports_room_made};
    }
    atomic_store_explicit(&s->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&s->receivers, 1, memory_order_relaxed);
    int64_t now = wf_transport_now(t);
    atomic_store_explicit(&s->last_heard, now, memory_order_relaxed);
    atomic_store_explicit(&s->last_sent, now, memory_order_relaxed);
    s->pinged_at = now - (WF_PING_BEATS - 1) * t->heartbeat; /* a first round trip comes soon */
    return s;
}

void wf_session_fail(struct wf_session *s, const char *reason)
{
    pf_mutex_lock(s->lock);
    if (!atomic_load_explicit(&s->failed, memory_order_relaxed)) {
        snprintf(s->why_failed, sizeof s->why_failed, "%s", reason);
        atomic_store_explicit(&s->failed, true, memory_order_release);
    }
    struct wf_channel *ch = s->channel;
    if (ch != NULL) wf_channel_keep(ch);
    pf_mutex_unlock(s->lock);
    if (ch == NULL) {
        wf_news_wake(s->t); /* $cluster sees it in its round */
        return;
    }
    wf_conn_close(ch->conn, reason);
    wf_channel_release(ch);
}

bool wf_session_at_fault(struct wf_session *s)
{
    static const char own[] = "out of memory";
    return atomic_load_explicit(&s->failed, memory_order_acquire) && strncmp(s->why_failed, own, sizeof own - 1) != 0;
}

bool wf_session_drained(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    bool drained = s->first == NULL && s->urgent == NULL && s->held == NULL;
    pf_mutex_unlock(s->lock);
    return drained;
}

const char *wf_session_carrier(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    const char *form = s->channel != NULL ? s->channel->conn->form : "";
    pf_mutex_unlock(s->lock);
    return form;
}

size_t wf_session_unacked(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    size_t n = (size_t)(s->taken - WF_MIN(s->taken, WF_MAX(s->base, s->acked)));
    pf_mutex_unlock(s->lock);
    return n;
}

bool wf_session_confirmed(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    bool confirmed = s->acked > 0;
    pf_mutex_unlock(s->lock);
    return confirmed || atomic_load_explicit(&s->received, memory_order_relaxed) > 0;
}

/* ---- Messages for actors --------------------------------------------------------------------------------------- */

static weft_pid sender(const struct wf_channel *ch, const struct wf_frame *f)
{
    return f->from == 0 ? weft_nobody() : (weft_pid){ch->incarnation, f->from};
}

/* Of a request: on this node's clock, counted from now. */
static int64_t deadline_of(const struct wf_channel *ch, const struct wf_frame *f)
{
    int64_t now = wf_transport_now(ch->t);
    return f->number >= (uint64_t)(WEFT_FOREVER - now) / 1000 ? WEFT_FOREVER : now + (int64_t)f->number * 1000;
}

/* Of a message that carries a trace id. */
static __attribute__((noinline)) weft_msg *traced_envelope(struct wf_channel *ch, const struct wf_frame *f,
                                                           unsigned kind, size_t size)
{
    struct wf_worker *w = ch->in.here;
    struct wf_trace t;
    bool has = wf_frame_trace(f, &t);
    struct wf_body *b = wf_trace_body_new(w, NULL, 0, NULL, size, has ? &t : NULL);
    if (b == NULL) return NULL;
    weft_msg *m = kind == WF_MSG_CALL ? wf_request_new(w, f->tag, 0, b, deadline_of(ch, f))
                                      : wf_msg_share(w, f->tag, b);
    wf_body_drop(w, b);
    return m;
}

struct wf_body *wf_session_body(struct wf_channel *ch, const struct wf_frame *f, weft_text topic, size_t size)
{
    struct wf_trace t;
    bool has = wf_frame_trace(f, &t);
    if (!has && f->kind != WF_FRAME_RETAINED && wf_is_tapped(ch->t->node)) {
        uint64_t node = f->kind == WF_FRAME_PUBLISH_TO && f->to != 0 ? f->to : ch->incarnation;
        has = wf_trace_in_for_all(ch->t->node, (weft_pid){node, f->from}, f->tag, topic, &t);
    }
    return wf_trace_body_new(ch->in.here, topic.data, topic.size, NULL, size, has ? &t : NULL);
}

/* Of an answer, or of who says that it has a request: which of this node's requests is meant. */
static inline uint64_t ref_of(const struct wf_channel *ch, const struct wf_frame *f, unsigned kind)
{
    bool answers = kind == WF_MSG_REPLY || kind == WF_MSG_FAILED || kind == WF_MSG_SPAWNED || kind == WF_MSG_PROBE;
    return answers ? wf_unseal(&ch->session->seal, f->ref) : f->ref;
}

static inline weft_msg *envelope(struct wf_channel *ch, const struct wf_frame *f, unsigned kind, size_t size)
{
    struct wf_worker *w = ch->in.here;
    weft_msg *m = WF_UNLIKELY(f->trace.size > 0) ? traced_envelope(ch, f, kind, size)
                  : kind == WF_MSG_CALL          ? wf_request_new(w, f->tag, size, NULL, deadline_of(ch, f))
                                                 : wf_msg_new(w, f->tag, size);
    if (WF_UNLIKELY(m == NULL)) return NULL;
    m->post.flags = (uint8_t)kind;
    m->to_actor = f->to;
    m->from = sender(ch, f);
    m->ref = WF_UNLIKELY(f->from == 0 && kind == WF_MSG_SEND) ? ch->incarnation : ref_of(ch, f, kind);
    return m;
}

static weft_msg *named_envelope(struct wf_channel *ch, const struct wf_frame *f, size_t size)
{
    bool call = f->kind == WF_FRAME_CALL_NAME;
    unsigned kind = call ? WF_MSG_CALL : f->kind == WF_FRAME_WANT_NAME ? WF_MSG_WANT : WF_MSG_SEND;
    weft_msg *m = envelope(ch, f, kind, size); /* its receiver is looked up when it goes there */
    if (m != NULL && call) wf_terms(m)->moved_on = 1;
    return m;
}

void wf_session_lost(struct wf_channel *ch)
{
    atomic_fetch_add_explicit(&ch->t->dropped_lost, 1, memory_order_relaxed);
}

uint8_t *wf_session_arrival(struct wf_channel *ch, const struct wf_frame *f, size_t size, struct wf_arrival *a)
{
    int kind = wf_frame_message(f->kind);
    bool topic = f->kind == WF_FRAME_PUBLISH;
    a->kind = f->kind;
    a->tag = f->tag;
    a->from = sender(ch, f);
    a->m = NULL;
    a->body = NULL;
    a->name[0] = '\0';
    if (topic || f->kind == WF_FRAME_GROUP_SEND)
        a->body = wf_session_body(ch, f, weft_str(f->name.data, topic ? f->name.size : 0), size);
    else a->m = kind >= 0 ? envelope(ch, f, (unsigned)kind, size) : named_envelope(ch, f, size);
    if (kind < 0 && !topic) snprintf(a->name, sizeof a->name, "%.*s", WEFT_STR(f->name));
    if (a->m != NULL) return wf_msg_bytes(a->m);
    if (a->body != NULL) return wf_body_bytes(a->body);
    wf_session_lost(ch);
    return NULL;
}

void wf_session_arrived(struct wf_channel *ch, struct wf_arrival *a)
{
    weft_node *node = ch->t->node;
    struct wf_inbound *in = &ch->in;
    if (a->kind == WF_FRAME_PUBLISH) wf_topics_published(ch, a->tag, a->from, a->body);
    else if (a->body != NULL) wf_groups_arrived(node, in, weft_cstr(a->name), a->tag, a->from, a->body);
    else if (a->name[0] == '\0') wf_inbound_add(node, in, a->m);
    /* Without such an actor the worker it goes to counts it, and answers a request. */
    else (void)wf_inbound_add_name(node, in, a->name, strlen(a->name), a->m);
    a->m = NULL;
    a->body = NULL;
}

/* Any but the most frequent, those to an actor. False: there was no memory for it. */
static bool receive_message(struct wf_channel *ch, const struct wf_frame *f)
{
    struct wf_arrival a;
    uint8_t *at = wf_session_arrival(ch, f, f->body.size, &a);
    if (at == NULL) return false;
    memcpy(at, f->body.data, f->body.size);
    wf_session_arrived(ch, &a);
    return true;
}

/* ---- Frames of the link itself --------------------------------------------------------------------------------- */

static bool receive_pong(struct wf_session *s, const struct wf_frame *f)
{
    if (wf_session_ponged(s, f->number)) return true;
    wf_session_fail(s, "does not acknowledge what it gets");
    return false;
}

static bool receive_ack(struct wf_session *s, const struct wf_frame *f)
{
    if (wf_session_acked(s, f->number)) return true;
    wf_session_fail(s, "acknowledges what was never sent");
    return false;
}

/* Where what comes on this channel goes on: perhaps with frames that came on the one before, too. */
static bool receive_start(struct wf_channel *ch, const struct wf_frame *f)
{
    struct wf_session *s = ch->session;
    if (WF_MUTANT(link_believes_start)) atomic_store_explicit(&s->received, f->number, memory_order_relaxed);
    if (f->number <= atomic_load_explicit(&s->received, memory_order_relaxed) && !ch->placed) {
        ch->at = f->number;
        ch->placed = true;
        return true;
    }
    wf_session_fail(s, ch->placed ? "START in the midst of a connection" : "frames are missing");
    return false;
}

static bool receive_interest(struct wf_channel *ch, struct wf_frame *f)
{
    if (wf_ports_interest(ch->session, f) == 0) return true;
    wf_session_fail(ch->session, "out of memory");
    return false;
}

static bool is_gossip(uint32_t kind)
{
    return kind >= WF_SWIM_PING && kind <= WF_SWIM_SYNC;
}

static bool hand_to_cluster(struct wf_channel *ch, uint32_t kind, const uint8_t *start, const uint8_t *end)
{
    struct wf_news *n = wf_news_new(WF_NEWS_FRAME, ch, start, (size_t)(end - start));
    if (n != NULL) n->number = kind;
    wf_news_post(ch->t, n);
    if (n != NULL || is_gossip(kind)) return true; /* gossip may be lost */
    wf_session_fail(ch->session, "out of memory");
    return false;
}

/* There was no memory for a message. What the other side sends again, or waits for until a deadline, is counted as
 * lost. For the others it would wait for ever: the link begins anew, which tells it. */
static bool lose(struct wf_channel *ch, int kind)
{
    switch (kind) {
    case WF_MSG_WATCH:
    case WF_MSG_UNWATCH:
    case WF_MSG_DOWN:
    case WF_MSG_LINK:
    case WF_MSG_UNLINK:
    case WF_MSG_EXIT:
    case WF_MSG_WANT:
    case WF_MSG_GRANT: wf_session_fail(ch->session, "out of memory"); return false;
    default: wf_session_lost(ch); return true;
    }
}

/* Entries of tables cost more than what is passed on to an actor. */
static void takes_work(struct wf_channel *ch)
{
    if (ch->work > 0) ch->work--;
}

/* False: the session was ended. */
static bool receive_frame(struct wf_channel *ch, struct wf_frame *f, const uint8_t *start, const uint8_t *end)
{
    if (WF_UNLIKELY(ch->guarded) && !wf_rights_allow(ch, f)) return true;
    struct wf_session *s = ch->session;
    int kind = wf_frame_message(f->kind);
    if (WF_LIKELY(kind >= 0)) {
        weft_msg *m = envelope(ch, f, (unsigned)kind, f->body.size);
        if (WF_UNLIKELY(m == NULL)) return lose(ch, kind);
        memcpy(wf_msg_bytes(m), f->body.data, f->body.size);
        wf_inbound_add(ch->t->node, &ch->in, m);
        return true;
    }
    switch (f->kind) {
    case WF_FRAME_PUBLISH_TO:
    case WF_FRAME_RETAINED:
        takes_work(ch);
        wf_topics_receive(ch, f);
        return true;
    case WF_FRAME_MISSED:
        takes_work(ch);
        if (wf_session_shares_topics(s)) wf_inbound_missed(ch->t->node, &ch->in, f->name, f->number);
        return true;
    case WF_FRAME_PUBLISH:
    case WF_FRAME_SEND_NAME:
    case WF_FRAME_GROUP_SEND:
    case WF_FRAME_CALL_NAME: (void)receive_message(ch, f); return true;
    case WF_FRAME_WANT_NAME: return receive_message(ch, f) || lose(ch, WF_MSG_WANT);
    case WF_FRAME_CHUNK: return wf_bulk_receive(ch, f);
    case WF_FRAME_PING: wf_session_pong(s, f->number); return true;
    case WF_FRAME_PONG: return receive_pong(s, f);
    case WF_FRAME_ACK: return receive_ack(s, f);
    case WF_FRAME_START: return receive_start(ch, f);
    case WF_FRAME_INTEREST: takes_work(ch); return receive_interest(ch, f);
    case WF_FRAME_BYE:
        wf_channel_post(ch); /* else the end of the node could overtake what its actors sent before */
        return hand_to_cluster(ch, f->kind, start, end);
    case WF_SWIM_PING:
    case WF_SWIM_ACK:
    case WF_SWIM_ASK:
    case WF_SWIM_SYNC:
    case WF_FRAME_PEERS: return hand_to_cluster(ch, f->kind, start, end);
    case WF_FRAME_TABLE: takes_work(ch); return wf_tables_receive(ch, f);
    case WF_FRAME_UNKNOWN: return true;
    default: wf_session_fail(s, "a handshake frame on an established link"); return false;
    }
}

/* Counts a frame. False: it has come already, on a channel before this one. */
static bool is_new(struct wf_channel *ch, struct wf_session *s)
{
    uint64_t received = atomic_load_explicit(&s->received, memory_order_relaxed);
    if (++ch->at <= received) return WF_MUTANT(link_takes_twice);
    atomic_store_explicit(&s->received, ch->at, memory_order_relaxed);
    return true;
}

bool wf_session_receive(struct wf_channel *ch, const uint8_t *data, size_t size, size_t *left)
{
    struct wf_session *s = ch->session;
    weft_reader r = weft_reader_on(data, size);
    struct wf_frame f;
    uint64_t count = 0;
    bool ok = true;
    while (ok && (left == NULL || ch->work > 0)) {
        const uint8_t *start = r.at;
        int got = wf_frame_next(&r, &f);
        if (got == 0) break;
        if (got < 0) {
            char why[WF_REASON_TEXT];
            wf_frame_fault(&r, &f, why, sizeof why);
            wf_session_fail(s, why);
            ok = false;
        } else if (WF_UNLIKELY(f.counted && !ch->placed)) {
            wf_session_fail(s, "no START on a connection that goes on with a link");
            ok = false;
        } else if (!f.counted || is_new(ch, s)) {
            ok = receive_frame(ch, &f, start, r.at);
            count++;
        }
    }
    atomic_fetch_add_explicit(&s->frames_in, count, memory_order_relaxed);
    if (left != NULL) *left = (size_t)(r.end - r.at);
    atomic_fetch_add_explicit(&s->bytes_in, (uint64_t)(r.at - data), memory_order_relaxed);
    return ok;
}

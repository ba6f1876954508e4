/* transport/link/receive.c -- receiving on a link: reads frames, and assembles messages for actors. */
#include "receive.h"
#include "channel.h"
#include "frame_chunks.h"
#include "cluster_event.h"
#include "send_queue.h"
#include "peer_interest.h"
#include "group_send.h"
#include "inbound_topics.h"
#include "rights.h"
#include "peer_link.h"
#include "table_sync.h"
#include "topics.h"
#include "trace.h"
#include "transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Messages for actors --------------------------------------------------------------------------------------- */

static weft_pid sender(const struct wf_channel *ch, const struct wf_frame *f)
{
    return f->from == 0 ? weft_nobody() : (weft_pid){ch->incarnation, f->from};
}

/* The deadline of a request, on this node's clock: the frame has the time that is left. */
static int64_t deadline_of(const struct wf_channel *ch, const struct wf_frame *f)
{
    int64_t now = wf_transport_now(ch->t);
    return f->number >= (uint64_t)(WEFT_FOREVER - now) / 1000 ? WEFT_FOREVER : now + (int64_t)f->number * 1000;
}

/* The envelope of a message that carries a trace id. */
static __attribute__((noinline)) weft_msg *traced_envelope(struct wf_channel *ch, const struct wf_frame *f,
                                                           unsigned kind, size_t size)
{
    struct wf_worker *w = ch->in.here;
    struct wf_trace t;
    bool has = wf_frame_trace(f, &t);
    struct wf_body *b = wf_trace_body_new(w, NULL, 0, NULL, size, has ? &t : NULL);
    if (b == NULL) return NULL;
    weft_msg *m = kind == WF_MSG_CALL ? wf_request_share(w, f->tag, b, deadline_of(ch, f))
                                      : wf_msg_share(w, f->tag, b);
    wf_body_drop(w, b);
    return m;
}

/* The number of a message. Of an answer and of a probe it is the sealed number of one of this node's requests. */
static inline uint64_t ref_of(const struct wf_channel *ch, const struct wf_frame *f, unsigned kind)
{
    bool answers = kind == WF_MSG_REPLY || kind == WF_MSG_FAILED || kind == WF_MSG_SPAWNED || kind == WF_MSG_PROBE;
    return answers ? wf_unseal(&ch->link->seal, f->ref) : f->ref;
}

static inline weft_msg *envelope(struct wf_channel *ch, const struct wf_frame *f, unsigned kind, size_t size)
{
    struct wf_worker *w = ch->in.here;
    weft_msg *m = WF_UNLIKELY(f->trace.size > 0) ? traced_envelope(ch, f, kind, size)
                  : kind == WF_MSG_CALL          ? wf_request_new(w, f->tag, size, deadline_of(ch, f))
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
    unsigned kind = call                                      ? WF_MSG_CALL
                    : f->kind == WF_FRAME_CREDIT_REQUEST_NAME ? WF_MSG_CREDIT_REQUEST
                                                              : WF_MSG_SEND;
    weft_msg *m = envelope(ch, f, kind, size); /* wf_inbound_add_name looks up the receiver */
    if (m != NULL && call) wf_terms(m)->moved_on = 1;
    return m;
}

/* Makes `a` for message `f` and returns where its `size` bytes go. NULL: out of memory; the message is counted as
 * lost. */
static uint8_t *arrival(struct wf_channel *ch, const struct wf_frame *f, size_t size, struct wf_arrival *a)
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
        a->body = wf_link_body(ch, f, weft_str(f->name.data, topic ? f->name.size : 0), size);
    else a->m = kind >= 0 ? envelope(ch, f, (unsigned)kind, size) : named_envelope(ch, f, size);
    if (kind < 0 && !topic) snprintf(a->name, sizeof a->name, "%.*s", WEFT_STR(f->name));
    if (a->m != NULL) return wf_msg_bytes(a->m);
    if (a->body != NULL) return wf_body_bytes(a->body);
    wf_link_lost(ch);
    return NULL;
}

/* All bytes have arrived: delivers the message. */
static void arrived(struct wf_channel *ch, struct wf_arrival *a)
{
    weft_node *node = ch->t->node;
    struct wf_inbound *in = &ch->in;
    WF_ASSERT((a->m == NULL) != (a->body == NULL));
    if (a->kind == WF_FRAME_PUBLISH) wf_topics_published(ch, a->tag, a->from, a->body);
    else if (a->body != NULL) wf_groups_arrived(node, in, weft_cstr(a->name), a->tag, a->from, a->body);
    else if (a->name[0] == '\0') wf_inbound_add(node, in, a->m);
    /* If there is no such actor, the worker that gets the message counts it, and answers a request. */
    else (void)wf_inbound_add_name(node, in, a->name, strlen(a->name), a->m);
    a->m = NULL;
    a->body = NULL;
}

/* Receives a message to a name or a group. False: no memory. */
static bool receive_message(struct wf_channel *ch, const struct wf_frame *f)
{
    struct wf_arrival a;
    uint8_t *at = arrival(ch, f, f->body.size, &a);
    if (at == NULL) return false;
    memcpy(at, f->body.data, f->body.size);
    arrived(ch, &a);
    return true;
}

/* ---- Large messages: large_message.h (4) ----------------------------------------------------------------------- */

static void take_part(struct wf_channel *ch, weft_text part)
{
    struct wf_link *l = ch->link;
    WF_ASSERT(part.size <= l->arrival_left); /* begin and receive_chunk have refused longer parts */
    bool kept = l->arrival.m != NULL || l->arrival.body != NULL;
    if (kept && part.size > 0) {
        memcpy(l->arrival_at, part.data, part.size);
        l->arrival_at += part.size;
    }
    l->arrival_left -= part.size;
    if (l->arrival_left == 0 && kept) arrived(ch, &l->arrival);
}

static bool begin(struct wf_channel *ch, struct wf_frame *chunk)
{
    struct wf_link *l = ch->link;
    struct wf_frame f;
    size_t whole = (size_t)chunk->number;
    if (l->arrival_left > 0) {
        wf_link_fail(l, "a message in chunks begins before the end of the one before");
        return false;
    }
    if (wf_frame_next(&chunk->items, &f) != 1 || !wf_frame_has_body(f.kind) || f.body.size > whole ||
        whole > wf_frame_body_max(f.kind)) {
        wf_link_fail(l, "malformed message in the first of its chunks");
        return false;
    }
    l->arrival_left = whole;
    if (WF_LIKELY(!ch->guarded) || wf_rights_allow(ch, &f)) l->arrival_at = arrival(ch, &f, whole, &l->arrival);
    else l->arrival.m = NULL, l->arrival.body = NULL;
    WF_SOMETIMES("link: there is no memory for a message in chunks", l->arrival.m == NULL && l->arrival.body == NULL);
    take_part(ch, f.body);
    return true;
}

static bool receive_chunk(struct wf_channel *ch, struct wf_frame *f)
{
    struct wf_link *l = ch->link;
    if (f->number > 0) return begin(ch, f);
    if (f->body.size == 0 || f->body.size > l->arrival_left) {
        wf_link_fail(l, l->arrival_left == 0 ? "a chunk without a message" : "a chunk that does not fit its message");
        return false;
    }
    take_part(ch, f->body);
    return true;
}

/* ---- Frames of the link itself --------------------------------------------------------------------------------- */

static bool receive_pong(struct wf_link *l, const struct wf_frame *f)
{
    if (wf_link_on_pong(l, f->number)) return true;
    wf_link_fail(l, "does not acknowledge received frames");
    return false;
}

static bool receive_ack(struct wf_link *l, const struct wf_frame *f)
{
    if (wf_link_on_ack(l, f->number)) return true;
    wf_link_fail(l, "acknowledges frames that were never sent");
    return false;
}

/* START says with which frame this channel begins. The first ones may have come on the previous channel already. */
static bool receive_start(struct wf_channel *ch, const struct wf_frame *f)
{
    struct wf_link *l = ch->link;
    if (f->number <= atomic_load_explicit(&l->received, memory_order_relaxed) && !ch->placed) {
        ch->at = f->number;
        ch->placed = true;
        return true;
    }
    wf_link_fail(l, ch->placed ? "START in the middle of a connection" : "frames are missing");
    return false;
}

static bool receive_interest(struct wf_channel *ch, struct wf_frame *f)
{
    ch->in.reached = UINT64_MAX >> (64 - ch->t->node->workers.count);
    if (wf_peer_interest_receive(ch->link, f, ch->in.here) == 0) return true;
    wf_link_fail(ch->link, "out of memory");
    return false;
}

static bool is_gossip(uint32_t kind)
{
    return kind >= WF_SWIM_PING && kind <= WF_SWIM_SYNC;
}

static bool hand_to_cluster(struct wf_channel *ch, uint32_t kind, const uint8_t *start, const uint8_t *end)
{
    WF_ASSERT(start < end);
    struct wf_cluster_event *e = wf_cluster_event_new(WF_CLUSTER_EVENT_FRAME, ch, start, (size_t)(end - start));
    if (e != NULL) e->number = kind;
    wf_cluster_event_post(ch->t, e);
    if (e != NULL || is_gossip(kind)) return true; /* gossip may be lost */
    wf_link_fail(ch->link, "out of memory");
    return false;
}

/* There was no memory for a message. It is counted as lost if no side waits for it without a deadline. The loss of one
 * of the kinds below could make an actor wait forever, so the link fails, which both sides notice. */
static bool lose(struct wf_channel *ch, int kind)
{
    switch (kind) {
    case WF_MSG_WATCH:
    case WF_MSG_UNWATCH:
    case WF_MSG_DOWN:
    case WF_MSG_LINK:
    case WF_MSG_UNLINK:
    case WF_MSG_EXIT:
    case WF_MSG_CREDIT_REQUEST:
    case WF_MSG_CREDIT: wf_link_fail(ch->link, "out of memory"); return false;
    default: wf_link_lost(ch); return true;
    }
}

/* An entry of a table costs more than a message to an actor. */
static void takes_work(struct wf_channel *ch, uint32_t entries)
{
    ch->work -= WF_MIN(entries, ch->work);
}

/* False: the link was ended. */
static bool receive_frame(struct wf_channel *ch, struct wf_frame *f, const uint8_t *start, const uint8_t *end)
{
    if (WF_UNLIKELY(ch->guarded) && !wf_rights_allow(ch, f)) return true;
    struct wf_link *l = ch->link;
    int kind = wf_frame_message(f->kind);
    if (WF_LIKELY(kind >= 0)) {
        weft_msg *m = envelope(ch, f, (unsigned)kind, f->body.size);
        if (WF_UNLIKELY(m == NULL)) return lose(ch, kind);
        memcpy(wf_msg_bytes(m), f->body.data, f->body.size);
        wf_inbound_add(ch->t->node, &ch->in, m);
        return true;
    }
    switch (f->kind) {
    case WF_FRAME_PUBLISH: wf_topics_receive(ch, f); return true;
    case WF_FRAME_PUBLISH_TO:
    case WF_FRAME_RETAINED:
        takes_work(ch, 1);
        wf_topics_receive(ch, f);
        return true;
    case WF_FRAME_MISSED:
        takes_work(ch, 1);
        if (wf_link_shares_topics(l)) wf_inbound_missed(ch->t->node, &ch->in, f->name, f->number);
        return true;
    case WF_FRAME_SEND_NAME:
    case WF_FRAME_GROUP_SEND:
    case WF_FRAME_CALL_NAME: (void)receive_message(ch, f); return true;
    case WF_FRAME_CREDIT_REQUEST_NAME: return receive_message(ch, f) || lose(ch, WF_MSG_CREDIT_REQUEST);
    case WF_FRAME_CHUNK: return receive_chunk(ch, f);
    case WF_FRAME_PING: wf_link_pong(l, f->number); return true;
    case WF_FRAME_PONG: return receive_pong(l, f);
    case WF_FRAME_ACK: return receive_ack(l, f);
    case WF_FRAME_START: return receive_start(ch, f);
    case WF_FRAME_INTEREST: takes_work(ch, f->count); return receive_interest(ch, f);
    case WF_FRAME_BYE:
        wf_channel_post(ch); /* otherwise the node's end could overtake the earlier messages of its actors */
        return hand_to_cluster(ch, f->kind, start, end);
    case WF_SWIM_PING:
    case WF_SWIM_ACK:
    case WF_SWIM_ASK:
    case WF_SWIM_SYNC:
    case WF_FRAME_PEERS: return hand_to_cluster(ch, f->kind, start, end);
    case WF_FRAME_TABLE: takes_work(ch, 1); return wf_tables_receive(ch, f);
    case WF_FRAME_UNKNOWN: return true;
    default: wf_link_fail(l, "a handshake frame on an established link"); return false;
    }
}

/* Counts a frame. False: it has been received already, on an earlier channel. */
static bool is_new(struct wf_channel *ch, struct wf_link *l)
{
    uint64_t received = atomic_load_explicit(&l->received, memory_order_relaxed);
    WF_SOMETIMES("link: a frame comes a second time, on the next connection", ch->at < received);
    if (++ch->at <= received) return false;
    atomic_store_explicit(&l->received, ch->at, memory_order_relaxed);
    return true;
}

bool wf_link_receive(struct wf_channel *ch, const uint8_t *data, size_t size, size_t *left)
{
    struct wf_link *l = ch->link;
    weft_reader r = weft_reader_on(data, size);
    struct wf_frame f;
    uint64_t count = 0;
    bool ok = true;
    f.checked = weft_str("", 0);
    while (ok && wf_channel_may_go_on(ch)) {
        const uint8_t *start = r.at;
        int got = wf_frame_next_of_batch(&r, &f);
        if (got == 0) break;
        if (got < 0) {
            char why[WF_REASON_TEXT];
            wf_frame_fault(&r, &f, why, sizeof why);
            wf_link_fail(l, why);
            ok = false;
        } else if (WF_UNLIKELY(f.counted && !ch->placed)) {
            wf_link_fail(l, "no START on a connection that resumes a link");
            ok = false;
        } else if (!f.counted || is_new(ch, l)) {
            ok = receive_frame(ch, &f, start, r.at);
            count++;
        }
    }
    atomic_fetch_add_explicit(&l->frames_in, count, memory_order_relaxed);
    WF_ASSERT(r.at >= data && r.at <= r.end);
    *left = (size_t)(r.end - r.at);
    atomic_fetch_add_explicit(&l->bytes_in, (uint64_t)(r.at - data), memory_order_relaxed);
    return ok;
}

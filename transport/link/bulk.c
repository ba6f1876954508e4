/* transport/link/bulk.c -- large messages, and those that are traced: they are sent from where they are, in chunks
 * that other messages may go between (held.c), and are put together in their final place (receive.c).
 *
 * Design notes.
 * (1) A message that goes in chunks is a chain of batches, and waits in `held`. One chunk at a time goes from there
 *     to the end of what is to be sent, so what others send meanwhile goes between two. All batches are made before
 *     the first one is sent, so that want of memory is the sender's error and nobody else's.
 * (2) What has to stay behind it waits in `held`, too: all that its sender says (a slot is a hash of the sender), the
 *     requests for credit of whom it is for (the other slot), and what keeps its place among all (ALL: tables, BYE).
 *     While one of those is there, or a batch of a worker that had to go behind one, everything goes behind it. A
 *     collision of slots costs a wait, nothing else.
 * (3) Bodies are not copied: batches have references to them, until they are acknowledged.
 * (4) Receiving: one message at a time comes in chunks on a link. Its envelope is made when the first one comes, and
 *     belongs to the session: the next chunk may come on another channel. Chunks are counted frames, so each comes
 *     once, in order. */
#include "bulk.h"
#include "frame_parts.h"
#include "frame_tables.h"
#include "held.h"
#include "outbox.h"
#include "port.h"
#include "session.h"
#include "transport.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_HEAD = 16 };

static struct wf_batch *batch(size_t room)
{
    struct wf_batch *b = malloc(sizeof *b + room);
    if (b != NULL) *b = (struct wf_batch){.frames = 1, .capacity = room, .order = WF_ORDER_ACTOR};
    return b;
}

static struct wf_batch *first_batch(const struct wf_frame *f, const void *body, size_t size, bool stays, bool chunk)
{
    size_t part = chunk ? WF_CHUNK_BYTES : size;
    struct wf_batch *b = batch(CHUNK_HEAD + WF_FRAME_SPARE + f->name.size + (stays ? 0 : size));
    if (b == NULL) return NULL;
    weft_writer w = wf_batch_writer(b);
    if (chunk) wf_put_first_chunk(&w, size);
    wf_put_before_body(&w, f, part);
    b->cut = (uint32_t)w.size;
    if (stays) {
        b->piece = (struct pf_slice){body, part};
    } else if (size > 0) {
        memcpy(w.at, body, size);
        w.at += size;
        w.size += size;
    }
    wf_put_behind_body(&w, f);
    WF_ASSERT(w.error == 0);
    b->size = w.size;
    return b;
}

static struct wf_batch *next_batch(const uint8_t *part, size_t size)
{
    struct wf_batch *b = batch(CHUNK_HEAD);
    if (b == NULL) return NULL;
    weft_writer w = wf_batch_writer(b);
    wf_put_next_chunk(&w, size);
    b->size = w.size;
    b->cut = (uint32_t)w.size;
    b->piece = (struct pf_slice){part, size};
    return b;
}

/* A chain of batches with the message `f` (all but its body), to whom `key` stands for: a copy, or if it `stays`
 * where it is, batches of which each needs a reference to the body; in chunks if it is long. NULL: out of memory. */
static struct wf_batch *chain_of(struct wf_session *s, const struct wf_frame *f, uint64_t key, const void *body,
                                 size_t size, bool stays)
{
    bool chunk = stays && size > WF_CHUNK_BYTES && wf_session_can(s, WF_CAN_CHUNKS);
    struct wf_batch *first = first_batch(f, body, size, stays, chunk), *last = first;
    for (size_t at = WF_CHUNK_BYTES; chunk && last != NULL && at < size; at += WF_CHUNK_BYTES) {
        last->next = next_batch((const uint8_t *)body + at, WF_MIN(size - at, (size_t)WF_CHUNK_BYTES));
        last = last->next;
    }
    if (last == NULL) {
        wf_batch_free(first);
        return NULL;
    }
    for (struct wf_batch *b = first; b != NULL; b = b->next) {
        b->capacity = b->size; /* nothing joins it */
        b->chunk = chunk;
        b->slot = wf_order_slot(f->from);
        b->other_slot = wf_order_slot_to(key);
    }
    return first;
}

static bool is_bulk_full(const struct wf_port *port)
{
    return atomic_load_explicit(&port->session->bulk, memory_order_relaxed) >= WF_OUTBOX_MAX;
}

/* `body`: a reference for the first of them; NULL: it is in there. */
static void push_pieces(struct wf_port *port, struct wf_batch *b, struct wf_body *body)
{
    for (struct wf_batch *k = b; k != NULL && body != NULL; k = k->next) {
        k->body = body;
        if (k != b) wf_body_keep(body);
    }
    wf_session_push(port->session, b);
}

int wf_bulk_send(struct wf_port *port, uint32_t kind, weft_text name, uint64_t key, uint64_t from, weft_msg *m)
{
    struct wf_frame f;
    uint8_t trace[WF_FRAME_TRACE];
    uint32_t size = m->size;
    bool stays = size >= WF_APART_BYTES && m->post.flags != WF_MSG_PROBE;
    if (stays && size > WF_CHUNK_BYTES && m->post.flags <= WF_MSG_CALL && is_bulk_full(port)) return WEFT_EFULL;
    wf_frame_describe(&f, kind, name, m->post.word, from);
    f.to = key;
    f.ref = wf_session_ref(port->session, m);
    f.number = wf_time_left(m);
    f.trace = wf_frame_trace_of(wf_frame_may_trace(kind) ? m->shared : NULL, trace);
    wf_port_push(port);
    struct wf_batch *b = chain_of(port->session, &f, key, wf_msg_bytes(m), size, stays);
    if (b == NULL) return WEFT_ENOMEM;
    struct wf_body *body = stays ? m->shared : NULL;
    bool kept = stays && body == NULL;
    if (kept) body = wf_body_of(m);
    else if (body != NULL) wf_body_keep(body);
    push_pieces(port, b, body);
    return kept ? WF_ROUTE_KEPT : WEFT_OK;
}

int wf_bulk_send_body(struct wf_port *port, struct wf_frame *f, struct wf_body *body)
{
    uint8_t trace[WF_FRAME_TRACE];
    bool stays = body->size >= WF_APART_BYTES;
    if (body->size > WF_CHUNK_BYTES && is_bulk_full(port)) return WEFT_EFULL;
    f->trace = wf_frame_trace_of(body, trace);
    wf_port_push(port);
    struct wf_batch *b = chain_of(port->session, f, 0, wf_body_bytes(body), body->size, stays);
    if (b == NULL) return WEFT_ENOMEM;
    if (stays) wf_body_keep(body);
    push_pieces(port, b, stays ? body : NULL);
    return WEFT_OK;
}

bool wf_bulk_publish_to(struct wf_port *port, const struct wf_publish_to *to, size_t size)
{
    struct wf_batch *b = batch(size);
    if (b == NULL) return false;
    weft_writer w = wf_batch_writer(b);
    wf_put_publish_to(&w, to);
    WF_ASSERT(w.error == 0);
    b->size = b->capacity = w.size;
    b->slot = b->other_slot = wf_order_slot(to->from.actor);
    wf_port_push(port);
    wf_session_push(port->session, b);
    return true;
}

bool wf_bulk_want(struct wf_port *port, const struct wf_frame *f)
{
    static const uint8_t none[4];
    wf_port_push(port);
    struct wf_batch *b = chain_of(port->session, f, f->ref, none, sizeof none, false);
    if (b == NULL) return false;
    b->slot = b->other_slot;
    wf_session_push(port->session, b);
    return true;
}

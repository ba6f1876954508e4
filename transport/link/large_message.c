/* transport/link/large_message.c -- sends large and traced messages in batches of their own. Large bodies are sent from
 * where they are, long ones in chunks, between which other messages may go (held_batches.c). The receiver puts them
 * together in their final place (receive.c). */
#include "large_message.h"
#include "frame_chunks.h"
#include "frame_tables.h"
#include "held_batches.h"
#include "send_queue.h"
#include "link_writer.h"
#include "peer_link.h"
#include "transport.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_HEAD = 16 };

static struct wf_batch *batch(size_t capacity)
{
    struct wf_batch *b = malloc(sizeof *b + capacity);
    if (b != NULL) *b = (struct wf_batch){.frames = 1, .capacity = capacity, .order = WF_ORDER_ACTOR};
    return b;
}

static struct wf_batch *first_batch(const struct wf_frame *f, const void *body, size_t size, bool stays, bool chunk)
{
    size_t part = chunk ? WF_CHUNK_BYTES : size;
    WF_ASSERT(!chunk || (stays && size > WF_CHUNK_BYTES));
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
    WF_ASSERT(size > 0 && size <= WF_CHUNK_BYTES);
    struct wf_batch *b = batch(CHUNK_HEAD);
    if (b == NULL) return NULL;
    weft_writer w = wf_batch_writer(b);
    wf_put_next_chunk(&w, size);
    b->size = w.size;
    b->cut = (uint32_t)w.size;
    b->piece = (struct pf_slice){part, size};
    return b;
}

/* Makes a chain of batches for the message `f` with this body to the receiver `key`: with a copy of the body, or if it
 * `stays` where it is, without; then the caller gives each batch a reference. A long body that stays goes in chunks.
 * NULL: out of memory. */
static struct wf_batch *chain_of(struct wf_link *l, const struct wf_frame *f, uint64_t key, const void *body,
                                 size_t size, bool stays)
{
    bool chunk = stays && size > WF_CHUNK_BYTES && wf_link_can(l, WF_CAN_CHUNKS);
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
        b->capacity = b->size; /* so no other batch is merged into it */
        b->chunk = chunk;
        b->slot = wf_order_slot(f->from);
        b->other_slot = wf_order_slot_to(key);
    }
    return first;
}

static bool is_full_of_chunks(const struct wf_link_writer *writer)
{
    return atomic_load_explicit(&writer->link->chunk_bytes, memory_order_relaxed) >= WF_SEND_QUEUE_MAX;
}

/* `body`: a reference for the first batch; NULL: `b` has a copy. */
static void push_pieces(struct wf_link_writer *writer, struct wf_batch *b, struct wf_body *body)
{
    WF_ASSERT(body != NULL || (b->next == NULL && b->piece.size == 0));
    for (struct wf_batch *k = b; k != NULL && body != NULL; k = k->next) {
        k->body = body;
        if (k != b) wf_body_keep(body);
    }
    wf_link_push(writer->link, b);
}

int wf_large_message_send(struct wf_link_writer *writer, uint32_t kind, weft_text name, uint64_t key, uint64_t from,
                          weft_msg *m)
{
    struct wf_frame f;
    uint8_t trace[WF_FRAME_TRACE];
    uint32_t size = m->size;
    bool stays = size >= WF_APART_BYTES && m->post.flags != WF_MSG_PROBE;
    if (stays && size > WF_CHUNK_BYTES && m->post.flags <= WF_MSG_CALL && is_full_of_chunks(writer)) {
        WF_SOMETIMES("link: large messages have filled the queue", true);
        return WEFT_EFULL;
    }
    wf_frame_describe(&f, kind, name, m->post.word, from);
    f.to = key;
    f.ref = wf_link_ref(writer->link, m);
    f.number = wf_time_left(m);
    f.trace = wf_frame_trace_of(wf_frame_may_trace(kind) ? m->shared : NULL, trace);
    wf_link_writer_push(writer);
    struct wf_batch *b = chain_of(writer->link, &f, key, wf_msg_bytes(m), size, stays);
    if (b == NULL) return WEFT_ENOMEM;
    struct wf_body *body = stays ? m->shared : NULL;
    bool kept = stays && body == NULL;
    if (kept) body = wf_body_of(m);
    else if (body != NULL) wf_body_keep(body);
    push_pieces(writer, b, body);
    return kept ? WF_ROUTE_KEPT : WEFT_OK;
}

int wf_large_message_send_body(struct wf_link_writer *writer, struct wf_frame *f, struct wf_body *body)
{
    uint8_t trace[WF_FRAME_TRACE];
    bool stays = body->size >= WF_APART_BYTES;
    if (body->size > WF_CHUNK_BYTES && is_full_of_chunks(writer)) return WEFT_EFULL;
    f->trace = wf_frame_trace_of(body, trace);
    wf_link_writer_push(writer);
    struct wf_batch *b = chain_of(writer->link, f, 0, wf_body_bytes(body), body->size, stays);
    if (b == NULL) return WEFT_ENOMEM;
    if (stays) wf_body_keep(body);
    push_pieces(writer, b, stays ? body : NULL);
    return WEFT_OK;
}

bool wf_large_message_publish_to(struct wf_link_writer *writer, const struct wf_publish_to *to, size_t size)
{
    struct wf_batch *b = batch(size);
    if (b == NULL) return false;
    weft_writer w = wf_batch_writer(b);
    wf_put_publish_to(&w, to);
    WF_ASSERT(w.error == 0);
    b->size = b->capacity = w.size;
    b->slot = b->other_slot = wf_order_slot(to->from.actor);
    wf_link_writer_push(writer);
    wf_link_push(writer->link, b);
    return true;
}

bool wf_large_message_request_credit(struct wf_link_writer *writer, const struct wf_frame *f)
{
    static const uint8_t none[4];
    WF_ASSERT(f->from != 0); /* it stands for a worker: link_writer.c */
    wf_link_writer_push(writer);
    WF_SOMETIMES("credit: a request goes behind a large message", true);
    struct wf_batch *b = chain_of(writer->link, f, f->ref, none, sizeof none, false);
    if (b == NULL) return false;
    b->slot = b->other_slot;
    wf_link_push(writer->link, b);
    return true;
}

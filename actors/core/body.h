/* actors/core/body.h -- a message body that many envelopes may point to. msg.h has the rules. */
#ifndef WF_BODY_H
#define WF_BODY_H

#include "base.h"
#include "pool.h"
#include "task.h"

#include <weft/message.h>
#include <weft/pack.h>
#include <weft/trace.h>

#include <string.h>

/* A reference-counted body; its bytes follow this header. */
struct wf_body {
    _Atomic uint32_t refs; /* a decrement is a release, freeing is an acquire */
    uint16_t block_class;
    uint8_t owed;        /* the index in wf_owing.of where workers gather references to drop; 0: they do not */
    bool traced;         /* a trace id stands before `data`: trace.h */
    const uint8_t *data; /* aligned to 8 */
    uint32_t size;       /* after the topic; this and the next one as in weft_msg, which gets both in one copy */
    uint32_t topic_size; /* bytes of the topic and its NUL at the beginning of data, padded to 8; 0: none */
    uint64_t retained;   /* its number among the retained publications of this node; 0: it is not retained */
    weft_pid from;       /* the publisher, in the body of a publication */
    uint64_t head;       /* of a publication: wf_post from `kind` on, for its envelopes; one store, read by parts */
    uint32_t tag;
    uint8_t topic_length; /* bytes of the topic without its NUL */
};

/* Stands before the topic and the bytes of a traced body. */
struct wf_trace {
    weft_trace id;
    uint64_t flags;
};

static inline const struct wf_trace *wf_trace_of(const struct wf_body *b)
{
    return (const struct wf_trace *)(const void *)(b + 1);
}
/* As wf_body_new, with that trace id. */
struct wf_body *wf_trace_body_new(struct wf_worker *w, const char *topic, size_t topic_length, const void *data,
                                  size_t size, const struct wf_trace *trace);

/* Bytes of all bodies of the process that are larger than a block of the pool. Any thread. */
size_t wf_large_bodies(void);

void wf_body_keep(struct wf_body *b);
void wf_body_drop(struct wf_worker *w, struct wf_body *b);
/* As wf_body_keep, `count` times. If the caller's reference is the only one, nobody else can change their number, and
 * this needs no locked instruction. */
static inline void wf_body_keep_many(struct wf_body *b, uint32_t count)
{
    if (atomic_load_explicit(&b->refs, memory_order_relaxed) == 1)
        atomic_store_explicit(&b->refs, 1 + count, memory_order_relaxed);
    else atomic_fetch_add_explicit(&b->refs, count, memory_order_relaxed);
}
/* As wf_body_drop, if no other thread has a reference: without a locked instruction. */
static inline void wf_body_drop_unshared(struct wf_worker *w, struct wf_body *b)
{
    uint32_t refs = atomic_load_explicit(&b->refs, memory_order_relaxed);
    WF_ASSERT(refs > 0);
    if (refs == 1) wf_body_drop(w, b);
    else atomic_store_explicit(&b->refs, refs - 1, memory_order_relaxed);
}

/* A body with one reference, holding topic and NUL (if topic_length > 0) and a copy of `size` bytes (data may be
 * NULL: uninitialised). */
struct wf_body *wf_body_new(struct wf_worker *w, const char *topic, size_t topic_length, const void *data,
                            size_t size);
/* Turns a large message with an inline body into a body with one reference. The envelope is gone then. */
struct wf_body *wf_body_of(weft_msg *m);
static inline uint8_t *wf_body_bytes(struct wf_body *b)
{
    return (uint8_t *)(uintptr_t)b->data + b->topic_size;
}
static inline const char *wf_body_topic(const struct wf_body *b)
{
    return b->topic_size == 0 ? "" : (const char *)b->data;
}
static inline weft_text wf_body_topic_text(const struct wf_body *b)
{
    return (weft_text){(const char *)b->data, b->topic_length};
}

/* References of one body that a worker is to drop. */
struct wf_owed {
    struct wf_body *body; /* NULL: none */
    uint32_t count;
};

/* All references that a worker has gathered. */
struct wf_owing {
    uint64_t used[4];       /* one bit for each entry of `of`: it is in use */
    struct wf_owed of[256]; /* index: wf_body.owed; emptied at the end of the turn */
};
/* Gathers one more reference of `b`, to be dropped at the end of the turn. False if `b` has no entry: then another
 * body, or none, is in its place. */
static inline bool wf_owe(struct wf_owing *owing, const struct wf_body *b)
{
    struct wf_owed *o = &owing->of[b->owed];
    if (WF_UNLIKELY(o->body != b)) return false;
    o->count++;
    return true;
}
/* Called at the end of a turn: drops the references that the worker has gathered. */
void wf_owed_settle(struct wf_worker *w);

#endif

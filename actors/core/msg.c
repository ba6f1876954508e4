/* actors/core/msg.c -- envelopes and bodies: allocation, counting, and the views of weft/message.h. */
#include "mailbox.h"
#include "sanitizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct wf_pool *pool_of(struct wf_worker *w)
{
    return w == NULL ? NULL : &w->pool;
}

weft_msg *wf_request_new(struct wf_worker *w, uint32_t tag, size_t size, struct wf_body *shared, int64_t deadline)
{
    size_t inside = shared != NULL ? 0 : (size + 7) & ~(size_t)7;
    weft_msg *m = wf_msg_new(w, tag, inside + sizeof(struct wf_terms));
    if (WF_UNLIKELY(m == NULL)) return NULL;
    m->post.flags = WF_MSG_CALL;
    m->size = (uint32_t)size;
    if (shared != NULL) {
        wf_body_keep(shared);
        m->shared = shared;
        m->size = (uint32_t)shared->size;
    }
    *wf_terms(m) = (struct wf_terms){.deadline = deadline};
    return m;
}

weft_msg *wf_msg_share(struct wf_worker *w, uint32_t tag, struct wf_body *body)
{
    weft_msg *m = wf_msg_new(w, tag, 0);
    if (m == NULL) return NULL;
    wf_body_keep(body);
    m->shared = body;
    m->size = (uint32_t)body->size;
    m->topic_size = body->topic_size;
    return m;
}

struct wf_body *wf_trace_body_new(struct wf_worker *w, const char *topic, size_t topic_length, const void *data,
                                  size_t size, const struct wf_trace *trace)
{
    size_t before = trace == NULL ? 0 : sizeof *trace;
    size_t topic_size = topic_length == 0 ? 0 : (topic_length + 1 + 7) & ~(size_t)7;
    size_t whole = sizeof(struct wf_body) + before + topic_size + size;
    uint16_t class_ = wf_pool_class(whole);
    struct wf_body *b = wf_pool_take(pool_of(w), class_, whole);
    if (b == NULL) return NULL;
    uint8_t *bytes = (uint8_t *)(b + 1) + before;
    if (trace != NULL) memcpy(b + 1, trace, sizeof *trace);
    atomic_init(&b->refs, 1);
    b->block_class = class_;
    b->topic_size = (uint16_t)topic_size;
    b->data = bytes;
    b->size = size;
    b->retained = 0;
    b->owed = 0;
    b->traced = trace != NULL;
    if (topic_size > 0) {
        memset(bytes + topic_length, 0, topic_size - topic_length);
        memcpy(bytes, topic, topic_length);
    }
    if (data != NULL && size > 0) memcpy(bytes + topic_size, data, size);
    return b;
}

struct wf_body *wf_body_new(struct wf_worker *w, const char *topic, size_t topic_length, const void *data,
                            size_t size)
{
    return wf_trace_body_new(w, topic, topic_length, data, size, NULL);
}

/* In the block of the envelope, which is as large as what it becomes. */
struct wf_body *wf_body_of(weft_msg *m)
{
    _Static_assert(sizeof(struct wf_body) == sizeof(weft_msg), "the bytes stay where they are");
    WF_ASSERT(m->shared == NULL && m->post.block_class == WF_POOL_LARGE);
    size_t size = m->size;
    struct wf_body *b = (struct wf_body *)(void *)m;
    memset(b, 0, sizeof *b);
    atomic_init(&b->refs, 1);
    b->block_class = WF_POOL_LARGE;
    b->data = (const uint8_t *)(b + 1);
    b->size = size;
    return b;
}

void wf_body_keep(struct wf_body *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed); /* the caller holds one already */
}

static void drop_many(struct wf_worker *w, struct wf_body *b, uint32_t count)
{
    /* Release: our reads come before the free of whoever is last; acquire: the others' reads come before ours. */
    if (!WF_LAST_HOLDER(&b->refs, count)) return;
    if (WF_UNLIKELY(w != NULL && w->pool.bypass)) memset(wf_body_bytes(b), WF_FREED, b->size);
    wf_pool_give(pool_of(w), b->block_class, b);
}

void wf_body_drop(struct wf_worker *w, struct wf_body *b)
{
    if (b->owed == 0 || w == NULL || WF_UNLIKELY(w->pool.bypass)) {
        drop_many(w, b, 1);
        return;
    }
    if (wf_owe(w, b)) return;
    struct wf_actors *wa = wf_actors_of(w);
    struct wf_owed *o = &wa->owed[b->owed];
    if (o->body != NULL) drop_many(w, o->body, o->count);
    *o = (struct wf_owed){b, 1};
    wa->owes[b->owed / 64] |= UINT64_C(1) << b->owed % 64;
}

void wf_owed_settle(struct wf_actors *wa)
{
    for (uint32_t i = 0; i < WF_COUNT(wa->owes); i++) {
        for (; wa->owes[i] != 0; wa->owes[i] &= wa->owes[i] - 1) {
            struct wf_owed *o = &wa->owed[i * 64 + (uint32_t)__builtin_ctzll(wa->owes[i])];
            drop_many(wa->worker, o->body, o->count);
            o->body = NULL;
        }
    }
}

/* Another message may use the block of a freed one by now: its tag is told only if the rest of it fits. */
void wf_not_held(const struct wf_actor *a, const weft_msg *m)
{
    char who[160], from[WEFT_PID_TEXT], text[640], tag[32] = "its tag is gone";
    wf_actor_describe(&a->task, who, sizeof who);
    bool pooled = m->post.block_class < WF_POOL_CLASSES || m->post.block_class == WF_POOL_LARGE;
    bool whole = pooled && m->post.kind < WF_POST_KINDS && m->post.flags <= WF_MSG_TIMED;
    if (whole) snprintf(tag, sizeof tag, "tag %u", (unsigned)m->post.word);
    int n = snprintf(
        text, sizeof text,
        "weft: %s frees or sends a message that it does not hold (%s, from %s): it has freed or sent this "
        "message before, or another actor holds it\n",
        who, tag, weft_pid_format(m->from, from));
    if (n > 0) pf_stderr(text, WF_MIN((size_t)n, sizeof text - 1));
    abort();
}

/* ---- weft/message.h -------------------------------------------------------------------------------------------- */

weft_msg *weft_msg_new(uint32_t tag, size_t size)
{
    if (WF_UNLIKELY(wf_is_wrong_message(tag, "", size))) {
        (void)wf_wrong_message("weft_msg_new", tag, "", size);
        return NULL;
    }
    weft_msg *m = wf_msg_new(wf_here, tag, size);
    struct wf_actor *self = wf_actor_self();
    if (m != NULL && self != NULL) wf_hold(self, m);
    return m;
}

void *weft_msg_body(weft_msg *m)
{
    return wf_msg_bytes(m);
}

static __attribute__((noinline)) void free_slowly(struct wf_worker *w, struct wf_actor *self, weft_msg *m)
{
    if (self != NULL) {
        wf_release(self, m);
        if (WF_UNLIKELY(m->post.flags == WF_MSG_CALL)) {
            wf_refuse(w, m, WEFT_ENOREPLY);
            return;
        }
    }
    if (w != NULL && w->pool.bypass && m->shared == NULL) memset(wf_msg_bytes(m), WF_FREED, m->size);
    wf_msg_free(w, m);
}

/* What is done most of the time, without a call but in the end, and so without a frame. */
void weft_msg_free(weft_msg *m)
{
    if (WF_UNLIKELY(m == NULL)) return;
    struct wf_worker *w = wf_here;
    struct wf_actor *self = wf_actor_self();
    if (WF_LIKELY(self != NULL && self->held == m && m->post.next == NULL && m->post.kind == WF_POST_MESSAGE &&
                  m->post.flags == WF_MSG_SEND && wf_pool_has_room(&w->pool, m->post.block_class)) &&
        (m->shared == NULL || wf_owe(w, m->shared))) {
        self->held = NULL;
        wf_pool_give(&w->pool, m->post.block_class, m);
        return;
    }
    free_slowly(w, self, m);
}

uint32_t weft_tag(const weft_msg *m)
{
    return m->post.word;
}

weft_pid weft_from(const weft_msg *m)
{
    return m->from;
}

const void *weft_data(const weft_msg *m)
{
    return m->shared != NULL ? m->shared->data + m->topic_size : (const uint8_t *)(m + 1);
}

size_t weft_size(const weft_msg *m)
{
    return m->size;
}

const char *weft_topic(const weft_msg *m)
{
    return m->shared == NULL ? "" : wf_body_topic(m->shared);
}

bool weft_wants_reply(const weft_msg *m)
{
    return m->post.flags == WF_MSG_CALL;
}

/* actors/core/body.c -- see body.h. */
#include "body.h"

#include "actor.h"
#include "sanitizer.h"

static _Atomic size_t large_bytes; /* relaxed: it orders nothing */

static void count_large(const struct wf_body *b)
{
    if (b->block_class == WF_POOL_LARGE) atomic_fetch_add_explicit(&large_bytes, b->size, memory_order_relaxed);
}

static void uncount_large(const struct wf_body *b)
{
    if (b->block_class == WF_POOL_LARGE) atomic_fetch_sub_explicit(&large_bytes, b->size, memory_order_relaxed);
}

size_t wf_large_bodies(void)
{
    return atomic_load_explicit(&large_bytes, memory_order_relaxed);
}

static struct wf_pool *pool_of(struct wf_worker *w)
{
    return w == NULL ? NULL : &w->pool;
}

struct wf_body *wf_trace_body_new(struct wf_worker *w, const char *topic, size_t topic_length, const void *data,
                                  size_t size, const struct wf_trace *trace)
{
    size_t before = trace == NULL ? 0 : sizeof *trace;
    size_t topic_size = topic_length == 0 ? 0 : (topic_length + 1 + 7) & ~(size_t)7;
    WF_ASSERT(size <= UINT32_MAX && topic_length <= UINT8_MAX && (topic_length == 0 || topic != NULL));
    size_t whole = sizeof(struct wf_body) + before + topic_size + size;
    uint16_t class_ = wf_pool_class(whole);
    struct wf_body *b = wf_pool_take(pool_of(w), class_, whole);
    if (b == NULL) return NULL;
    uint8_t *bytes = (uint8_t *)(b + 1) + before;
    if (trace != NULL) memcpy(b + 1, trace, sizeof *trace);
    atomic_init(&b->refs, 1);
    b->block_class = class_;
    b->topic_size = (uint32_t)topic_size;
    b->topic_length = (uint8_t)topic_length;
    b->data = bytes;
    b->size = (uint32_t)size;
    b->retained = 0;
    b->owed = 0;
    b->traced = trace != NULL;
    count_large(b);
    if (topic_size > 0) {
        memset(bytes + topic_size - 8, 0, 8); /* the NUL and the padding: 1 to 8 bytes */
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

/* The body header replaces the envelope, which has the same size. */
struct wf_body *wf_body_of(weft_msg *m)
{
    _Static_assert(sizeof(struct wf_body) == sizeof(weft_msg), "the bytes stay where they are");
    WF_ASSERT(m->shared == NULL && m->post.block_class == WF_POOL_LARGE);
    uint32_t size = m->size;
    struct wf_body *b = (struct wf_body *)(void *)m;
    memset(b, 0, sizeof *b);
    atomic_init(&b->refs, 1);
    b->block_class = WF_POOL_LARGE;
    b->data = (const uint8_t *)(b + 1);
    b->size = size;
    count_large(b);
    return b;
}

void wf_body_keep(struct wf_body *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed); /* the caller holds one already */
}

static inline void free_body(struct wf_worker *w, struct wf_body *b)
{
    uncount_large(b);
    if (WF_UNLIKELY(w != NULL && w->pool.bypass)) memset(wf_body_bytes(b), WF_FREED, b->size);
    wf_pool_give(pool_of(w), b->block_class, b);
}

static void drop_many(struct wf_worker *w, struct wf_body *b, uint32_t count)
{
    /* Release: our reads come before the free by the last holder; acquire: the others' reads come before our free. */
    if (WF_LAST_HOLDER(&b->refs, count)) free_body(w, b);
}

static __attribute__((noinline)) void drop_shared(struct wf_worker *w, struct wf_body *b)
{
    if (b->owed == 0 || w == NULL || WF_UNLIKELY(w->pool.bypass)) {
        drop_many(w, b, 1);
        return;
    }
    struct wf_owing *owing = &wf_actors_of(w)->owing;
    if (wf_owe(owing, b)) return;
    struct wf_owed *o = &owing->of[b->owed];
    if (o->body != NULL) drop_many(w, o->body, o->count);
    *o = (struct wf_owed){b, 1};
    owing->used[b->owed / 64] |= UINT64_C(1) << b->owed % 64;
}

/* The only holder needs no locked instruction, as nobody else can change the count. Acquire: as in drop_many. */
void wf_body_drop(struct wf_worker *w, struct wf_body *b)
{
    if (atomic_load_explicit(&b->refs, memory_order_acquire) > 1) {
        drop_shared(w, b);
        return;
    }
    wf_tsan_acquire(&b->refs);
    free_body(w, b);
}

void wf_owed_settle(struct wf_worker *w)
{
    struct wf_owing *owing = &wf_actors_of(w)->owing;
    _Static_assert(WF_COUNT(owing->used) == 4, "all of them are looked at");
    if (WF_LIKELY((owing->used[0] | owing->used[1] | owing->used[2] | owing->used[3]) == 0)) return;
    for (uint32_t i = 0; i < WF_COUNT(owing->used); i++) {
        for (; owing->used[i] != 0; owing->used[i] &= owing->used[i] - 1) {
            struct wf_owed *o = &owing->of[i * 64 + (uint32_t)__builtin_ctzll(owing->used[i])];
            WF_ASSERT(o->body != NULL && o->count > 0);
            drop_many(w, o->body, o->count);
            o->body = NULL;
        }
    }
}

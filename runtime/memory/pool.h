/* runtime/memory/pool.h -- blocks for messages and other short-lived things, per worker, without locks.
 *
 * Design notes.
 * (1) Magazines after Bonwick and Adams, "Magazines and Vmem" (USENIX 2001): each worker keeps up to two magazines
 *     per size class, the one in use and one that is full or empty; when both are full (or empty) it trades one with
 *     the node's depot under a mutex, so a block that is made on one worker and freed on another finds its way back
 *     at one lock per WF_MAGAZINE blocks.
 * (2) A magazine is an array, not a list through the blocks: a block that comes back from another core is not touched
 *     before it is used, so its cache line can be prefetched. A list would cost one miss after the other.
 * (3) Every block comes from malloc on its own, so a thread without a pool may make and free blocks of
 *     the same classes with plain malloc and free.
 * (4) Under ASan, TSan and Valgrind, in the test kit, and with WEFT_POISON=1 in the environment nothing is pooled:
 *     there is never a magazine, so that each block that is given comes to wf_pool_spill, which overwrites it. Blocks
 *     of magazines need no test for that.
 * (5) With WEFT_POISON a pool keeps the last WF_LATE blocks that were given, so that a text in one of them reads as
 *     WF_FREED for a while and not as the text of the next message. The tools must see each free at once. */
#ifndef WF_POOL_H
#define WF_POOL_H

#include "base.h"

enum {
    WF_POOL_CLASSES = 5,             /* 64, 128, 256, 512, 1024 bytes */
    WF_POOL_LARGE = WF_POOL_CLASSES, /* class of a block that is not pooled */
    WF_MAGAZINE = 128,               /* blocks: two hold as many as a task sends in a turn, WF_TASK_BUDGET */
    WF_POOL_AHEAD = 4,               /* the block that many takes ahead is fetched into the cache */
    WF_DEPOT_BYTES = 4 << 20,        /* per class; more is freed */
    WF_LATE = 1024,                  /* blocks that are freed late, see (5) */
    WF_FREED = 0xDD, /* the byte that fills a freed block after its first 64 bytes, if blocks are not pooled */
};

struct wf_magazine {
    struct wf_magazine *next;   /* in the depot */
    void *ahead[WF_POOL_AHEAD]; /* stand before the first blocks, so that fetching ahead needs no test: NULL */
    void *round[WF_MAGAZINE];
};

/* How many the depot keeps of a class. */
static inline uint32_t wf_depot_magazines(uint16_t class_)
{
    return (uint32_t)WF_DEPOT_BYTES / (WF_MAGAZINE * (UINT32_C(64) << class_));
}

struct wf_depot; /* shared by a node's workers */
int wf_depot_create(struct wf_depot **out);
void wf_depot_destroy(struct wf_depot *d); /* NULL is fine */

struct wf_pool {
    struct wf_depot *depot;
    /* Of each class, the magazine in use: its blocks are those from `bottom` up to `top`, which has space up to `end`.
     * All are NULL before the first give, and always for WF_POOL_LARGE: then both taking and giving are slow. They are
     * arrays, and not one of a struct, as their elements can be addressed with one instruction. */
    void **top[WF_POOL_CLASSES + 1], **bottom[WF_POOL_CLASSES + 1], **end[WF_POOL_CLASSES + 1];
    struct {
        struct wf_magazine *magazine; /* full or empty; may be NULL */
        bool is_full;
    } spare[WF_POOL_CLASSES];
    /* A block of class 0 that was given back just now, or NULL: code that takes one and gives it back, again and again,
     * does so with few instructions, wf_pool_take_kept. Without magazines it is always NULL. */
    void *kept;
    bool bypass;      /* a tool watches memory, or a test its messages: do not reuse */
    void **late;      /* a ring of WF_LATE blocks or NULLs; may be NULL */
    uint32_t late_at; /* the oldest one */
};

void wf_pool_init(struct wf_pool *p, struct wf_depot *depot);
void wf_pool_finish(struct wf_pool *p);

/* The class for `size` bytes, WF_POOL_LARGE if no class is large enough. */
static inline uint16_t wf_pool_class(size_t size)
{
    if (size <= 64) return 0;
    if (size > 1024) return WF_POOL_LARGE;
    return (uint16_t)(64 - 6 - __builtin_clzll((unsigned long long)(size - 1)));
}

/* Slow path of take: where the magazine in use has no block. */
void *wf_pool_refill(struct wf_pool *p, uint16_t class_, size_t size);
/* Slow path of give: where there is no space in it. */
void wf_pool_spill(struct wf_pool *p, uint16_t class_, void *block);
void *wf_block_new(uint16_t class_, size_t size); /* any thread: malloc of the class's size */
void wf_block_free(void *block);                  /* any thread */

/* Whether wf_pool_take need not refill. */
static inline bool wf_pool_has_block(const struct wf_pool *p, uint32_t class_)
{
    return p->top[class_] != p->bottom[class_];
}

/* Where wf_pool_has_block. */
static inline void *wf_pool_take_ready(struct wf_pool *p, uint32_t class_)
{
    void **top = p->top[class_];
    __builtin_prefetch(top[-1 - WF_POOL_AHEAD], 1);
    p->top[class_] = top - 1;
    return top[-1];
}

/* Aligned to 16; NULL when out of memory. `p` may be NULL (a thread without a pool). */
static inline void *wf_pool_take(struct wf_pool *p, uint16_t class_, size_t size)
{
    if (WF_UNLIKELY(p == NULL)) return wf_block_new(class_, size);
    if (WF_UNLIKELY(!wf_pool_has_block(p, class_))) return wf_pool_refill(p, class_, size);
    return wf_pool_take_ready(p, class_);
}

/* Whether wf_pool_take_kept has a block. */
static inline bool wf_pool_has_kept(const struct wf_pool *p)
{
    return p->kept != NULL || wf_pool_has_block(p, 0);
}

/* Where wf_pool_has_kept: a block of class 0 that was probably given just now, so that it is in the cache. */
static inline void *wf_pool_take_kept(struct wf_pool *p)
{
    void *block = p->kept;
    if (WF_UNLIKELY(block == NULL)) return *--p->top[0];
    p->kept = NULL;
    return block;
}

/* Whether wf_pool_give need not spill. */
static inline bool wf_pool_has_space(const struct wf_pool *p, uint16_t class_)
{
    return p->top[class_] != p->end[class_];
}

/* Whether wf_pool_keep may be called. */
static inline bool wf_pool_may_keep(const struct wf_pool *p)
{
    return WF_LIKELY(p->kept == NULL) || wf_pool_has_space(p, 0);
}

/* Gives a block of class 0 to a pool that is not bypassed. */
static inline void wf_pool_keep(struct wf_pool *p, void *block)
{
    if (WF_LIKELY(p->kept == NULL)) p->kept = block;
    else *p->top[0]++ = block;
}

static inline void wf_pool_give(struct wf_pool *p, uint16_t class_, void *block)
{
    if (WF_UNLIKELY(p == NULL)) wf_block_free(block);
    else if (WF_UNLIKELY(!wf_pool_has_space(p, class_))) wf_pool_spill(p, class_, block);
    else *p->top[class_]++ = block;
}

/* Makes glibc merge the small blocks that this thread has freed one by one, such as entries of tables. Otherwise they pile
 * up, and the next malloc of a large block merges all of them: 50 ms after 300,000 entries. */
void wf_merge_freed(void);

#endif

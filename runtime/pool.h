/* runtime/pool.h -- blocks for messages and other short-lived things, per worker, without locks.
 *
 * Design notes. Magazines after Bonwick and Adams, "Magazines and Vmem" (USENIX 2001): each worker keeps up to two
 * magazines of free blocks per size class; when both are full (or empty) it trades a whole magazine with the node's
 * depot under a mutex, so a block that is made on one worker and freed on another finds its way back at one lock per
 * WF_MAGAZINE blocks. Every block comes from malloc on its own, so a thread without a pool may make and free blocks
 * of the same classes with plain malloc and free. Under ASan, TSan and Valgrind nothing is pooled. */
#ifndef WF_POOL_H
#define WF_POOL_H

#include "base.h"

enum {
    WF_POOL_CLASSES = 5,      /* 64, 128, 256, 512, 1024 bytes */
    WF_POOL_LARGE = 0xFFFF,   /* class of a block that is not pooled */
    WF_MAGAZINE = 64,         /* blocks */
    WF_DEPOT_MAGAZINES = 256, /* per class; more are freed */
};

struct wf_block {
    struct wf_block *next;     /* within a magazine */
    struct wf_block *magazine; /* depot: the next magazine; only in a magazine's first block */
};

struct wf_depot; /* shared by a node's workers */
int wf_depot_create(struct wf_depot **out);
void wf_depot_destroy(struct wf_depot *d); /* NULL is fine */

struct wf_pool {
    struct wf_depot *depot;
    struct {
        struct wf_block *first; /* the magazine in use */
        struct wf_block *spare; /* a full one, or NULL */
        uint32_t count;         /* in `first` */
    } at[WF_POOL_CLASSES];
    bool bypass; /* a tool watches memory: do not reuse */
};

void wf_pool_init(struct wf_pool *p, struct wf_depot *depot);
void wf_pool_finish(struct wf_pool *p);

/* The class for `size` bytes, WF_POOL_LARGE if none holds it. */
static inline uint16_t wf_pool_class(size_t size)
{
    if (size <= 64) return 0;
    if (size > 1024) return WF_POOL_LARGE;
    return (uint16_t)(64 - 6 - __builtin_clzll((unsigned long long)(size - 1)));
}

void *wf_pool_refill(struct wf_pool *p, uint16_t class_); /* slow path of take */
void wf_pool_spill(struct wf_pool *p, uint16_t class_);   /* slow path of give: makes room in `first` */
void *wf_block_new(uint16_t class_, size_t size);         /* any thread: malloc of the class's size */
void wf_block_free(void *block);                          /* any thread */

/* Aligned to 16; NULL when out of memory. `p` may be NULL (a thread without a pool). */
static inline void *wf_pool_take(struct wf_pool *p, uint16_t class_, size_t size)
{
    if (WF_UNLIKELY(class_ == WF_POOL_LARGE || p == NULL)) return wf_block_new(class_, size);
    struct wf_block *b = p->at[class_].first;
    if (WF_UNLIKELY(b == NULL)) return wf_pool_refill(p, class_);
    p->at[class_].first = b->next;
    p->at[class_].count--;
    return b;
}

static inline void wf_pool_give(struct wf_pool *p, uint16_t class_, void *block)
{
    if (WF_UNLIKELY(class_ == WF_POOL_LARGE || p == NULL || p->bypass)) {
        wf_block_free(block);
        return;
    }
    struct wf_block *b = block;
    if (WF_UNLIKELY(p->at[class_].count == WF_MAGAZINE)) wf_pool_spill(p, class_);
    b->next = p->at[class_].first;
    p->at[class_].first = b;
    p->at[class_].count++;
}

#endif

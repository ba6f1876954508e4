/* runtime/memory/slab.h -- type-stable slots with a number and a generation, behind every public handle and pid.
 *
 * Design notes. (1) One worker owns a slab: only it takes and gives. (2) Any thread may look a slot up by number:
 * chunks are published with release and never move or go away before the slab, so a stale handle leads to a slot of
 * the same type, never to a crash. (3) The first 8 bytes of each item are a struct wf_slot. While the slot is taken,
 * they are its id, so one comparison finds out whether a handle means this life of the slot. */
#ifndef WF_SLAB_H
#define WF_SLAB_H

#include "base.h"

/* Ids: generation << 32 | worker << 24 | slot. The generation is odd while the slot is taken, so an id is never 0. */
struct wf_slot {
    /* The id; written by the owner (release), read by any thread (acquire). While the slot is not taken, the generation
     * is even and the lowest bit is inverted: so not even a forged id of this slot equals it. */
    _Atomic uint64_t word;
};

struct wf_slab {
    char **chunks;                /* NULL before the first slot is taken; not changed below `chunk_count` */
    _Atomic uint32_t chunk_count; /* release by the owner, acquire by readers */
    size_t item_bytes;
    uint32_t *free; /* stack of free indices */
    uint32_t free_count, free_capacity;
    uint32_t used, used_max;
    uint32_t worker; /* in its ids */
    uint32_t begin;  /* generation of a slot before its first life: even; set before the first is taken */
};

enum {
    WF_SLAB_MAX = (1 << 24) - 1,
    WF_SLAB_CHUNK = 64, /* slots: a constant power of two, so that looking up takes a shift and a mask */
};

/* `item_bytes` is rounded up to 16; `max` slots, at most WF_SLAB_MAX, of that worker. Allocates nothing. */
void wf_slab_init(struct wf_slab *s, size_t item_bytes, uint32_t max, uint32_t worker);
void wf_slab_finish(struct wf_slab *s);
/* Takes a slot, with a new odd generation. The bytes after its wf_slot are zero in its first life, and unchanged
 * later. NULL: the limit is reached, or no memory. */
void *wf_slab_take(struct wf_slab *s);
/* The same in two steps, as other threads might guess the handle: a reserved slot is not found; all that is written
 * before the publish is seen by threads that find it. */
void *wf_slab_reserve(struct wf_slab *s);
/* The word of a slot that is taken next, or given back next. */
static inline uint64_t wf_slot_next(uint64_t word)
{
    return (word + (UINT64_C(1) << 32)) ^ 1;
}
static inline void wf_slab_publish(void *item)
{
    struct wf_slot *slot = item;
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
    WF_ASSERT((word >> 32) % 2 == 0);
    /* Pairs with the acquire in wf_slab_find: a thread that finds it sees what was written before. */
    atomic_store_explicit(&slot->word, wf_slot_next(word), memory_order_release);
}
/* Makes a taken slot a reserved one again: no id leads to it. False: that was its last life, and it has to be given
 * back. */
static inline bool wf_slab_withdraw(void *item)
{
    struct wf_slot *slot = item;
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
    if (WF_UNLIKELY(word >> 32 == UINT32_MAX)) return false;
    /* Pairs with the acquire in wf_slab_find. */
    if ((word >> 32) % 2 == 1) atomic_store_explicit(&slot->word, wf_slot_next(word), memory_order_release);
    return true;
}
/* Gives back a slot that was taken, or reserved and never published. */
void wf_slab_give(struct wf_slab *s, void *item);

/* How many chunks there are. A thread that sees a number of chunks sees their addresses. */
static inline uint32_t wf_slab_chunks(const struct wf_slab *s)
{
    return atomic_load_explicit(&s->chunk_count, memory_order_acquire); /* pairs with the release in add_chunk */
}

/* Whether there was ever a slot of that number. Any thread. */
static inline bool wf_slab_has(const struct wf_slab *s, uint32_t index)
{
    return index / WF_SLAB_CHUNK < wf_slab_chunks(s);
}

/* The slot of a number for which wf_slab_has holds. A constant `item_bytes` saves a register. */
static inline void *wf_slab_slot(const struct wf_slab *s, uint32_t index, size_t item_bytes)
{
    char *slot = s->chunks[index / WF_SLAB_CHUNK] + (size_t)(index % WF_SLAB_CHUNK) * item_bytes;
    if (slot == NULL) __builtin_unreachable(); /* saves the callers' test whether they have found an item */
    return slot;
}

/* The slot of that number, taken or not; NULL if there was never one. Any thread. */
static inline void *wf_slab_at(const struct wf_slab *s, uint32_t index)
{
    return WF_LIKELY(wf_slab_has(s, index)) ? wf_slab_slot(s, index, s->item_bytes) : NULL;
}

/* On the owner's thread. True: all that was written into the slot before it was taken is seen. */
static inline bool wf_slot_is_taken(const struct wf_slot *slot)
{
    /* Pairs with the release in wf_slab_publish. */
    return (atomic_load_explicit(&slot->word, memory_order_acquire) >> 32) % 2 != 0;
}

/* The number of the slot, taken or not. */
static inline uint32_t wf_slot_number(const struct wf_slot *slot)
{
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
    return (uint32_t)(word ^ (~(word >> 32) & 1)) & WF_SLAB_MAX;
}

/* Calls the body for each slot that is taken, on the owner's thread, which may take and give meanwhile. */
#define WF_SLAB_EACH(type, item, s)                                             \
    for (uint32_t item##_at = 0; wf_slab_at(s, item##_at) != NULL; item##_at++) \
        for (type *item = wf_slab_taken_at(s, item##_at); item != NULL; item = NULL)
static inline void *wf_slab_taken_at(const struct wf_slab *s, uint32_t index)
{
    struct wf_slot *slot = wf_slab_at(s, index);
    return wf_slot_is_taken(slot) ? slot : NULL;
}

/* The id of a slot that is taken. */
static inline uint64_t wf_slot_id(const struct wf_slot *slot)
{
    return atomic_load_explicit(&slot->word, memory_order_relaxed);
}
/* The id that a reserved slot will have. */
static inline uint64_t wf_slot_id_reserved(const struct wf_slot *slot)
{
    return wf_slot_next(wf_slot_id(slot));
}
/* Whether `id`, which leads to this slot, is its present life. True: all that was written into the slot before it was
 * taken is seen. */
static inline bool wf_slot_is(const struct wf_slot *slot, uint64_t id)
{
    return atomic_load_explicit(&slot->word, memory_order_acquire) ==
           id; /* pairs with the release in wf_slab_publish */
}
static inline uint32_t wf_id_worker(uint64_t id)
{
    return (uint32_t)(id >> 24) & 0xFF;
}
static inline uint32_t wf_id_slot(uint64_t id)
{
    return (uint32_t)id & 0xFFFFFF;
}
static inline uint32_t wf_id_generation(uint64_t id)
{
    return (uint32_t)(id >> 32);
}

/* The item an id means, or NULL if that life is over. Any thread; only on the owner's thread it stays true. A constant
 * `item_bytes` saves a register. */
static inline void *wf_slab_find_sized(const struct wf_slab *s, uint64_t id, size_t item_bytes)
{
    if (WF_UNLIKELY(!wf_slab_has(s, wf_id_slot(id)))) return NULL;
    struct wf_slot *slot = wf_slab_slot(s, wf_id_slot(id), item_bytes);
    return WF_LIKELY(wf_slot_is(slot, id)) ? slot : NULL;
}
static inline void *wf_slab_find(const struct wf_slab *s, uint64_t id)
{
    return wf_slab_find_sized(s, id, s->item_bytes);
}

#endif

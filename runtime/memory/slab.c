/* runtime/memory/slab.c -- see slab.h. A slot whose generations are used up (2^31 lives) is retired instead of
 * starting again, so that no id ever means two objects. */
#include "slab.h"

#include "platform.h"

#include <stdlib.h>
#include <string.h>

/* ASan writes to an eighth of a table's bytes when it is allocated, though most of them are never used: with tables for
 * all slots it took 5 ms to start a node, most of the time of a fuzzed input or a simulated cluster. */
#ifdef WF_ASAN
enum { SLOTS_MOST = 1 << 20 };
#else
enum { SLOTS_MOST = WF_SLAB_MAX };
#endif

void wf_slab_init(struct wf_slab *s, size_t item_bytes, uint32_t max, uint32_t worker)
{
    WF_ASSERT(max > 0 && max <= WF_SLAB_MAX && item_bytes >= sizeof(struct wf_slot));
    max = WF_MIN(max, (uint32_t)SLOTS_MOST);
    memset(s, 0, sizeof *s);
    s->item_bytes = (item_bytes + 15) / 16 * 16;
    s->used_max = max;
    s->worker = worker;
}

void wf_slab_finish(struct wf_slab *s)
{
    for (uint32_t i = 0; i < wf_slab_chunks(s); i++) pf_aligned_free(s->chunks[i]);
    free(s->chunks);
    free(s->free);
    memset(s, 0, sizeof *s);
}

/* Space for all slots there are, so that giving back cannot fail. */
static bool reserve_free(struct wf_slab *s, uint32_t count)
{
    if (count <= s->free_capacity) return true;
    uint32_t capacity = WF_MAX(count, s->free_capacity * 2);
    uint32_t *bigger = realloc(s->free, capacity * sizeof *bigger);
    if (bigger == NULL) return false;
    s->free = bigger;
    s->free_capacity = capacity;
    return true;
}

/* Most slabs of a worker are never used, and even an untouched table takes a page, for the allocator's header. */
static bool make_table(struct wf_slab *s)
{
    uint32_t chunks = (s->used_max - 1) / WF_SLAB_CHUNK + 1;
    s->chunks = calloc(chunks, sizeof *s->chunks);
    return s->chunks != NULL;
}

static bool add_chunk(struct wf_slab *s)
{
    const uint32_t chunks = wf_slab_chunks(s), first = chunks * WF_SLAB_CHUNK;
    if (first >= s->used_max || (s->chunks == NULL && !make_table(s))) return false;
    uint32_t count = WF_MIN(WF_SLAB_CHUNK, s->used_max - first);
    if (!reserve_free(s, first + count)) return false;
    size_t bytes = (WF_SLAB_CHUNK * s->item_bytes + WF_CACHE_LINE - 1) / WF_CACHE_LINE * WF_CACHE_LINE;
    char *chunk = pf_aligned_alloc(WF_CACHE_LINE, bytes);
    if (chunk == NULL) return false;
    memset(chunk, 0, bytes);
    for (uint32_t i = 0; i < WF_SLAB_CHUNK; i++) {
        struct wf_slot *slot = (struct wf_slot *)(void *)(chunk + i * s->item_bytes);
        atomic_init(&slot->word, (uint64_t)s->begin << 32 | (uint64_t)s->worker << 24 | ((first + i) ^ 1));
    }
    for (uint32_t i = count; i-- > 0;) s->free[s->free_count++] = first + i; /* the lowest is taken first */
    s->chunks[chunks] = chunk;
    /* Pairs with the acquire in wf_slab_chunks: a thread that sees the chunk sees its even generations. */
    atomic_store_explicit(&s->chunk_count, chunks + 1, memory_order_release);
    return true;
}

void *wf_slab_reserve(struct wf_slab *s)
{
    if (s->free_count == 0 && !add_chunk(s)) return NULL;
    WF_ASSERT(s->used < s->used_max);
    s->used++;
    return wf_slab_at(s, s->free[--s->free_count]);
}

void *wf_slab_take(struct wf_slab *s)
{
    struct wf_slot *slot = wf_slab_reserve(s);
    if (slot != NULL) wf_slab_publish(slot);
    return slot;
}

void wf_slab_give(struct wf_slab *s, void *item)
{
    struct wf_slot *slot = item;
    const uint32_t number = wf_slot_number(slot);
    WF_ASSERT(s->used > 0 && wf_slab_at(s, number) == item);
    const bool usable = wf_slab_withdraw(item);
    if (!usable) atomic_store_explicit(&slot->word, wf_slot_next(wf_slot_id(slot)), memory_order_release);
    WF_ASSERT(s->free_count < s->free_capacity);
    s->used--;
    if (usable) s->free[s->free_count++] = number;
}

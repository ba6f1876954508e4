/* runtime/memory/pool.c -- see pool.h. */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "platform.h"
#include "sanitizer.h"

#ifdef WF_VALGRIND
#include <valgrind/memcheck.h>
#endif

struct wf_depot {
    pf_mutex *lock; /* of all below */
    struct {
        struct wf_magazine *full;
        uint32_t count;
    } at[WF_POOL_CLASSES];
    struct wf_magazine *empty; /* of any class */
};

static bool watched(void)
{
    if (wf_is_sanitized()) return true;
#ifdef WF_VALGRIND
    /* Only Memcheck answers this request: under callgrind the pools are what is to be counted. */
    static char byte;
    return VALGRIND_MAKE_MEM_DEFINED(&byte, sizeof byte) != 0;
#else
    return false;
#endif
}

static bool is_poison_wanted(void)
{
    const char *value = getenv("WEFT_POISON"); /* NOLINT(concurrency-mt-unsafe): the program does not set it */
    return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

int wf_depot_create(struct wf_depot **out)
{
    struct wf_depot *d = calloc(1, sizeof *d);
    if (d == NULL) return WEFT_ENOMEM;
    int rc = pf_mutex_create(&d->lock);
    if (rc < 0) {
        free(d);
        return rc;
    }
    *out = d;
    return WEFT_OK;
}

static void free_magazine(struct wf_magazine *m, uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++) free(m->round[i]);
    free(m);
}

static void free_magazines(struct wf_magazine *m, uint32_t rounds)
{
    while (m != NULL) {
        struct wf_magazine *next = m->next;
        free_magazine(m, rounds);
        m = next;
    }
}

void wf_depot_destroy(struct wf_depot *d)
{
    if (d == NULL) return;
    for (int i = 0; i < WF_POOL_CLASSES; i++) free_magazines(d->at[i].full, WF_MAGAZINE);
    free_magazines(d->empty, 0);
    pf_mutex_destroy(d->lock);
    free(d);
}

/* Takes over a full one and gives an empty one; NULL: no memory for one. */
static struct wf_magazine *store(struct wf_depot *d, uint16_t class_, struct wf_magazine *full)
{
    pf_mutex_lock(d->lock);
    struct wf_magazine *empty = d->empty;
    if (empty != NULL) d->empty = empty->next;
    bool has_space = d->at[class_].count < wf_depot_magazines(class_);
    if (has_space) {
        full->next = d->at[class_].full;
        d->at[class_].full = full;
        d->at[class_].count++;
    }
    pf_mutex_unlock(d->lock);
    if (has_space) return empty == NULL ? malloc(sizeof *empty) : empty;
    for (uint32_t i = 0; i < WF_MAGAZINE; i++) free(full->round[i]);
    if (empty != NULL) free(empty);
    return full;
}

/* Exchanges an empty magazine (or NULL) for a full one; NULL: there is none, and the caller keeps its own. */
static struct wf_magazine *fetch(struct wf_depot *d, uint16_t class_, struct wf_magazine *empty)
{
    pf_mutex_lock(d->lock);
    struct wf_magazine *full = d->at[class_].full;
    if (full != NULL) {
        WF_ASSERT(d->at[class_].count > 0);
        d->at[class_].full = full->next;
        d->at[class_].count--;
        if (empty != NULL) {
            empty->next = d->empty;
            d->empty = empty;
        }
    }
    pf_mutex_unlock(d->lock);
    return full;
}

void wf_pool_init(struct wf_pool *p, struct wf_depot *depot)
{
    WF_ASSERT(depot != NULL);
    memset(p, 0, sizeof *p);
    p->depot = depot;
    p->bypass = watched();
    if (p->bypass || !is_poison_wanted()) return;
    p->bypass = true;
    p->late = calloc(WF_LATE, sizeof *p->late); /* without it blocks are only used again sooner */
}

void wf_pool_finish(struct wf_pool *p)
{
    for (int i = 0; i < WF_POOL_CLASSES; i++) {
        if (p->at[i].used != NULL) free_magazine(p->at[i].used, p->at[i].count);
        if (p->at[i].spare != NULL) free_magazine(p->at[i].spare, p->at[i].spare_is_full ? WF_MAGAZINE : 0);
    }
    for (int i = 0; p->late != NULL && i < WF_LATE; i++) free(p->late[i]);
    free(p->late);
    memset(p, 0, sizeof *p);
}

static void change_magazines(struct wf_pool *p, uint16_t class_)
{
    struct wf_magazine *m = p->at[class_].used;
    p->at[class_].used = p->at[class_].spare;
    p->at[class_].spare = m;
    p->at[class_].count = p->at[class_].spare_is_full ? WF_MAGAZINE : 0;
    p->at[class_].spare_is_full = !p->at[class_].spare_is_full;
}

enum { MADE = 16 }; /* small blocks at once: one look at the depot for as many, where messages pile up */

/* Into the empty magazine in use. NULL: no memory. */
static void *make_blocks(struct wf_pool *p, uint16_t class_)
{
    struct wf_magazine *used = p->at[class_].used;
    void *block = wf_block_new(class_, 0), *more;
    for (int i = 1; block != NULL && used != NULL && i < MADE >> class_ && (more = wf_block_new(class_, 0)) != NULL;
         i++)
        used->round[p->at[class_].count++] = more;
    return block;
}

void *wf_pool_refill(struct wf_pool *p, uint16_t class_)
{
    WF_ASSERT(class_ < WF_POOL_CLASSES && p->at[class_].count == 0);
    if (p->at[class_].spare != NULL && p->at[class_].spare_is_full) {
        change_magazines(p, class_);
    } else {
        struct wf_magazine *full = p->bypass ? NULL : fetch(p->depot, class_, p->at[class_].used);
        if (full == NULL) return p->bypass ? wf_block_new(class_, 0) : make_blocks(p, class_);
        p->at[class_].used = full;
        p->at[class_].count = WF_MAGAZINE;
    }
    return p->at[class_].used->round[--p->at[class_].count];
}

static void free_late(struct wf_pool *p, void *block)
{
    if (p->late != NULL) {
        void *oldest = p->late[p->late_at];
        p->late[p->late_at] = block;
        p->late_at = (p->late_at + 1) % WF_LATE;
        block = oldest;
    }
    free(block);
}

void wf_pool_spill(struct wf_pool *p, uint16_t class_, void *block)
{
    WF_ASSERT(class_ < WF_POOL_CLASSES && block != NULL);
    if (p->bypass) {
        /* Code that still reads a text finds that it is not a text any more; in a core file the header tells what the
         * block was. */
        memset((char *)block + WF_CACHE_LINE, WF_FREED, ((size_t)64 << class_) - WF_CACHE_LINE);
        free_late(p, block);
        return;
    }
    struct wf_magazine *used = p->at[class_].used;
    if (used == NULL) {
        p->at[class_].used = malloc(sizeof *used);
    } else if (p->at[class_].spare == NULL) {
        p->at[class_].spare = used;
        p->at[class_].spare_is_full = true;
        p->at[class_].used = malloc(sizeof *used);
        p->at[class_].count = 0;
    } else if (!p->at[class_].spare_is_full) {
        change_magazines(p, class_);
    } else {
        p->at[class_].used = store(p->depot, class_, used);
        p->at[class_].count = 0;
    }
    if (p->at[class_].used == NULL) free(block);
    else p->at[class_].used->round[p->at[class_].count++] = block;
}

void *wf_block_new(uint16_t class_, size_t size)
{
    return class_ == WF_POOL_LARGE ? malloc(size) : malloc((size_t)64 << class_);
}

void wf_block_free(void *block)
{
    free(block);
}

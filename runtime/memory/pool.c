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

static struct wf_magazine *new_magazine(void)
{
    struct wf_magazine *m = malloc(sizeof *m);
    if (m != NULL) memset(m->ahead, 0, sizeof m->ahead);
    return m;
}

/* Takes over a full one, frees it if the depot has enough, and gives an empty one; NULL: no memory for one. */
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
    /* The magazine is freed, too, and a new one is allocated: glibc merges small free blocks when a large block is
     * allocated. Otherwise one later malloc merges all blocks of a peak, and a worker stands still for 0.1 s after half a
     * million messages (docs/performance.md, "A million sleepers"). */
    if (!has_space) free_magazine(full, WF_MAGAZINE);
    return empty == NULL ? new_magazine() : empty;
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

static struct wf_magazine *magazine_in_use(const struct wf_pool *p, uint16_t class_)
{
    return p->bottom[class_] == NULL ? NULL : WF_CONTAINER(p->bottom[class_], struct wf_magazine, round[0]);
}

/* `m`: with so many blocks; NULL: none. */
static void use(struct wf_pool *p, uint16_t class_, struct wf_magazine *m, uint32_t rounds)
{
    p->top[class_] = m == NULL ? NULL : m->round + rounds;
    p->bottom[class_] = m == NULL ? NULL : m->round;
    p->end[class_] = m == NULL ? NULL : m->round + WF_MAGAZINE;
}

void wf_pool_finish(struct wf_pool *p)
{
    for (int i = 0; i < WF_POOL_CLASSES; i++) {
        struct wf_magazine *used = magazine_in_use(p, (uint16_t)i), *spare = p->spare[i].magazine;
        if (used != NULL) free_magazine(used, (uint32_t)(p->top[i] - p->bottom[i]));
        if (spare != NULL) free_magazine(spare, p->spare[i].is_full ? WF_MAGAZINE : 0);
    }
    for (int i = 0; p->late != NULL && i < WF_LATE; i++) free(p->late[i]);
    free(p->late);
    free(p->kept);
    memset(p, 0, sizeof *p);
}

static void change_magazines(struct wf_pool *p, uint16_t class_)
{
    struct wf_magazine *m = magazine_in_use(p, class_);
    use(p, class_, p->spare[class_].magazine, p->spare[class_].is_full ? WF_MAGAZINE : 0);
    p->spare[class_].magazine = m;
    p->spare[class_].is_full = !p->spare[class_].is_full;
}

enum { MADE = 16 }; /* small blocks at once: one look at the depot for as many, where messages pile up */

/* Into the empty magazine in use. NULL: no memory. */
static void *make_blocks(struct wf_pool *p, uint16_t class_)
{
    void *block = wf_block_new(class_, 0), *more;
    bool has_magazine = p->bottom[class_] != NULL;
    for (int i = 1; block != NULL && has_magazine && i < MADE >> class_ && (more = wf_block_new(class_, 0)) != NULL;
         i++)
        *p->top[class_]++ = more;
    return block;
}

void *wf_pool_refill(struct wf_pool *p, uint16_t class_, size_t size)
{
    if (class_ == WF_POOL_LARGE) return wf_block_new(class_, size);
    WF_ASSERT(class_ < WF_POOL_CLASSES && !wf_pool_has_block(p, class_));
    if (p->spare[class_].magazine != NULL && p->spare[class_].is_full) {
        change_magazines(p, class_);
    } else {
        struct wf_magazine *full = p->bypass ? NULL : fetch(p->depot, class_, magazine_in_use(p, class_));
        if (full == NULL) return p->bypass ? wf_block_new(class_, 0) : make_blocks(p, class_);
        use(p, class_, full, WF_MAGAZINE);
    }
    return *--p->top[class_];
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
    WF_ASSERT(class_ <= WF_POOL_LARGE && block != NULL);
    if (class_ == WF_POOL_LARGE) {
        free(block);
        return;
    }
    if (p->bypass) {
        /* Code that still reads a text finds that it is not a text any more; in a core file the header tells what the
         * block was. */
        memset((char *)block + WF_CACHE_LINE, WF_FREED, ((size_t)64 << class_) - WF_CACHE_LINE);
        free_late(p, block);
        return;
    }
    struct wf_magazine *used = magazine_in_use(p, class_);
    if (used == NULL) {
        use(p, class_, new_magazine(), 0);
    } else if (p->spare[class_].magazine == NULL) {
        p->spare[class_].magazine = used;
        p->spare[class_].is_full = true;
        use(p, class_, new_magazine(), 0);
    } else if (!p->spare[class_].is_full) {
        change_magazines(p, class_);
    } else {
        use(p, class_, store(p->depot, class_, used), 0);
    }
    if (p->bottom[class_] == NULL) free(block);
    else *p->top[class_]++ = block;
}

void wf_merge_freed(void)
{
    void *volatile block = malloc(sizeof(struct wf_magazine)); /* volatile: or the compiler leaves both calls out */
    free(block);
}

void *wf_block_new(uint16_t class_, size_t size)
{
    return class_ == WF_POOL_LARGE ? malloc(size) : malloc((size_t)64 << class_);
}

void wf_block_free(void *block)
{
    free(block);
}

/* runtime/pool.c -- see pool.h. */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "platform.h"

#ifdef WF_VALGRIND
#include <valgrind/memcheck.h>
#endif

struct wf_depot {
    pf_mutex *lock; /* of all below */
    struct {
        struct wf_block *magazines; /* full ones, by wf_block.magazine */
        uint32_t count;
    } at[WF_POOL_CLASSES];
};

static bool watched(void)
{
#if defined(WF_ASAN) || defined(WF_TSAN)
    return true;
#elif defined(WF_VALGRIND)
    /* Only Memcheck answers this request: under callgrind the pools are what is to be counted. */
    static char byte;
    return VALGRIND_MAKE_MEM_DEFINED(&byte, sizeof byte) != 0;
#else
    return false;
#endif
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

static void free_blocks(struct wf_block *b)
{
    while (b != NULL) {
        struct wf_block *next = b->next;
        free(b);
        b = next;
    }
}

void wf_depot_destroy(struct wf_depot *d)
{
    if (d == NULL) return;
    for (int i = 0; i < WF_POOL_CLASSES; i++) {
        struct wf_block *m = d->at[i].magazines;
        while (m != NULL) {
            struct wf_block *next = m->magazine;
            free_blocks(m);
            m = next;
        }
    }
    pf_mutex_destroy(d->lock);
    free(d);
}

/* Takes a full magazine over. */
static void store(struct wf_depot *d, uint16_t class_, struct wf_block *magazine)
{
    pf_mutex_lock(d->lock);
    bool room = d->at[class_].count < WF_DEPOT_MAGAZINES;
    if (room) {
        magazine->magazine = d->at[class_].magazines;
        d->at[class_].magazines = magazine;
        d->at[class_].count++;
    }
    pf_mutex_unlock(d->lock);
    if (!room) free_blocks(magazine);
}

/* A full magazine, or NULL. */
static struct wf_block *fetch(struct wf_depot *d, uint16_t class_)
{
    pf_mutex_lock(d->lock);
    struct wf_block *magazine = d->at[class_].magazines;
    if (magazine != NULL) {
        d->at[class_].magazines = magazine->magazine;
        d->at[class_].count--;
    }
    pf_mutex_unlock(d->lock);
    return magazine;
}

void wf_pool_init(struct wf_pool *p, struct wf_depot *depot)
{
    WF_ASSERT(depot != NULL);
    memset(p, 0, sizeof *p);
    p->depot = depot;
    p->bypass = watched();
}

void wf_pool_finish(struct wf_pool *p)
{
    for (int i = 0; i < WF_POOL_CLASSES; i++) {
        free_blocks(p->at[i].first);
        free_blocks(p->at[i].spare);
    }
    memset(p, 0, sizeof *p);
}

void *wf_pool_refill(struct wf_pool *p, uint16_t class_)
{
    WF_ASSERT(p->at[class_].first == NULL && p->at[class_].count == 0);
    struct wf_block *magazine = p->at[class_].spare;
    p->at[class_].spare = NULL;
    if (magazine == NULL && !p->bypass) magazine = fetch(p->depot, class_);
    if (magazine == NULL) return wf_block_new(class_, 0);
    p->at[class_].first = magazine->next;
    p->at[class_].count = WF_MAGAZINE - 1;
    return magazine;
}

void wf_pool_spill(struct wf_pool *p, uint16_t class_)
{
    WF_ASSERT(p->at[class_].count == WF_MAGAZINE);
    if (p->at[class_].spare != NULL) store(p->depot, class_, p->at[class_].spare);
    p->at[class_].spare = p->at[class_].first;
    p->at[class_].first = NULL;
    p->at[class_].count = 0;
}

void *wf_block_new(uint16_t class_, size_t size)
{
    return malloc(class_ == WF_POOL_LARGE ? size : (size_t)64 << class_);
}

void wf_block_free(void *block)
{
    free(block);
}

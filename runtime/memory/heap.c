/* runtime/memory/heap.c -- see heap.h. */
#include "heap.h"

#include <stdlib.h>

enum { CHILDREN = 4, CAPACITY_MIN = 16 };

static bool sooner(const struct wf_heap_entry *a, const struct wf_heap_entry *b)
{
    return a->deadline != b->deadline ? a->deadline < b->deadline : a->serial < b->serial;
}

static void put(struct wf_heap *h, uint32_t at, struct wf_heap_entry e)
{
    h->entries[at] = e;
    h->where[e.ticket] = at;
}

static void sift_up(struct wf_heap *h, uint32_t at, struct wf_heap_entry e)
{
    while (at > 0) {
        uint32_t parent = (at - 1) / CHILDREN;
        if (!sooner(&e, &h->entries[parent])) break;
        put(h, at, h->entries[parent]);
        at = parent;
    }
    put(h, at, e);
}

static void sift_down(struct wf_heap *h, uint32_t at, struct wf_heap_entry e)
{
    for (;;) {
        uint64_t first = (uint64_t)at * CHILDREN + 1;
        if (first >= h->count) break;
        uint32_t least = (uint32_t)first, end = (uint32_t)WF_MIN(first + CHILDREN, (uint64_t)h->count);
        for (uint32_t i = least + 1; i < end; i++)
            if (sooner(&h->entries[i], &h->entries[least])) least = i;
        if (!sooner(&h->entries[least], &e)) break;
        put(h, at, h->entries[least]);
        at = least;
    }
    put(h, at, e);
}

static int resize(struct wf_heap *h, uint32_t capacity)
{
    struct wf_heap_entry *entries = realloc(h->entries, capacity * sizeof *entries);
    if (entries == NULL) return WEFT_ENOMEM;
    h->entries = entries;
    uint32_t *where = realloc(h->where, capacity * sizeof *where);
    if (where == NULL) {
        h->capacity = WF_MIN(h->capacity, capacity);
        return WEFT_ENOMEM;
    }
    h->where = where;
    struct wf_timer **timer = realloc(h->timer, capacity * sizeof *timer);
    if (timer == NULL) {
        h->capacity = WF_MIN(h->capacity, capacity);
        return WEFT_ENOMEM;
    }
    h->timer = timer;
    h->capacity = capacity;
    return WEFT_OK;
}

void wf_heap_init(struct wf_heap *h)
{
    *h = (struct wf_heap){.entries = NULL};
}

void wf_heap_finish(struct wf_heap *h)
{
    free(h->entries);
    free(h->where);
    free(h->timer);
    wf_heap_init(h);
}

int wf_heap_reserve(struct wf_heap *h)
{
    if (h->count + h->aside < h->capacity) return WEFT_OK;
    if (h->capacity > UINT32_MAX / 2 / sizeof *h->entries) return WEFT_ENOMEM;
    return resize(h, h->capacity == 0 ? CAPACITY_MIN : h->capacity * 2);
}

/* Serials have been used up: the order of the recent half is kept. */
static void lower_serials(struct wf_heap *h)
{
    const uint32_t half = UINT32_C(1) << 31;
    for (uint32_t i = 0; i < h->count; i++) {
        struct wf_heap_entry *e = &h->entries[i];
        uint32_t *serial = &h->timer[e->ticket]->serial;
        e->serial -= WF_MIN(e->serial, half);
        *serial -= WF_MIN(*serial, half);
    }
    h->serial -= half;
}

static void add(struct wf_heap *h, struct wf_timer *t)
{
    WF_ASSERT(t->place == 0 && h->count < h->capacity);
    if (WF_UNLIKELY(h->serial == UINT32_MAX)) lower_serials(h);
    struct wf_heap_entry e = {.deadline = t->deadline, .serial = h->serial++, .ticket = h->count};
    h->timer[e.ticket] = t;
    t->place = e.ticket + 1;
    t->serial = e.serial;
    sift_up(h, h->count++, e);
}

int wf_heap_add(struct wf_heap *h, struct wf_timer *t)
{
    int rc = wf_heap_reserve(h);
    if (rc == WEFT_OK) add(h, t);
    return rc;
}

int wf_heap_set_aside(struct wf_heap *h, uint32_t more)
{
    WF_ASSERT(h->aside + more < CAPACITY_MIN / 2); /* so that there is space for others whenever it shrinks */
    h->aside += more;
    return wf_heap_reserve(h);
}

void wf_heap_add_reserved(struct wf_heap *h, struct wf_timer *t)
{
    WF_ASSERT(h->aside > 0);
    add(h, t);
}

/* The timer with the last ticket gets `ticket`, which is free, so that tickets have no gaps. */
static void give_last_ticket(struct wf_heap *h, uint32_t last, uint32_t ticket)
{
    struct wf_timer *t = h->timer[last];
    uint32_t at = h->where[last];
    WF_ASSERT(h->entries[at].ticket == last);
    h->entries[at].ticket = ticket;
    h->where[ticket] = at;
    h->timer[ticket] = t;
    t->place = ticket + 1;
}

void wf_heap_remove(struct wf_heap *h, struct wf_timer *t)
{
    if (t->place == 0) return;
    uint32_t ticket = t->place - 1;
    WF_ASSERT(ticket < h->count);
    uint32_t at = h->where[ticket];
    WF_ASSERT(at < h->count && h->entries[at].ticket == ticket && h->timer[ticket] == t);
    t->place = 0;
    h->count--;
    if (ticket != h->count) give_last_ticket(h, h->count, ticket);
    struct wf_heap_entry last = h->entries[h->count];
    if (at < h->count) { /* the last one fills the hole */
        if (at > 0 && sooner(&last, &h->entries[(at - 1) / CHILDREN])) sift_up(h, at, last);
        else sift_down(h, at, last);
    }
    /* Gives the memory of a peak back; a failure to shrink does no harm. */
    if (h->capacity > CAPACITY_MIN && h->count < h->capacity / 8) (void)resize(h, h->capacity / 2);
}

bool wf_heap_move_first(struct wf_heap *h)
{
    if (h->count == 0) return false;
    struct wf_heap_entry e = h->entries[0];
    struct wf_timer *t = h->timer[e.ticket];
    if (WF_LIKELY(t->deadline == e.deadline && t->serial == e.serial)) return false;
    WF_ASSERT(t->deadline >= e.deadline);
    if (t->deadline == WEFT_FOREVER) {
        wf_heap_remove(h, t);
    } else {
        e.deadline = t->deadline;
        e.serial = t->serial;
        sift_down(h, 0, e);
    }
    return true;
}

struct wf_timer *wf_heap_first(struct wf_heap *h)
{
    while (wf_heap_move_first(h)) {}
    return h->count == 0 ? NULL : h->timer[h->entries[0].ticket];
}

int64_t wf_heap_earliest(const struct wf_heap *h)
{
    return h->count == 0 ? WEFT_FOREVER : h->entries[0].deadline;
}

void wf_heap_fetch_first(const struct wf_heap *h)
{
    if (h->count > 0) __builtin_prefetch(h->timer[h->entries[0].ticket], 1);
}

uint32_t wf_heap_first_serial(const struct wf_heap *h)
{
    return h->count == 0 ? 0 : h->entries[0].serial;
}

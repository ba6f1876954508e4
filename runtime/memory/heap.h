/* runtime/memory/heap.h -- the timers of one worker: a 4-ary heap ordered by deadline, then by age.
 *
 * The keys are in the heap's own array, and so are the positions of the timers (`where`), so that sifting touches no
 * timer: with a million timers each access would miss all caches, and moving one up or down takes ten. For the same
 * reason an entry has 16 bytes: four children are as large as a cache line. Timers with equal deadlines fire in the
 * order they were armed, which makes a run repeatable. Owner's thread only. */
#ifndef WF_HEAP_H
#define WF_HEAP_H

#include "base.h"

struct wf_worker;

struct wf_timer {
    int64_t deadline;
    uint32_t place; /* its ticket + 1: index in wf_heap.where; 0: not armed */
    /* already off the heap: it may arm itself again or be freed */
    void (*fire)(struct wf_worker *w, struct wf_timer *t);
};

struct wf_heap {
    struct wf_heap_entry *entries;
    uint32_t *where;         /* by ticket: index in entries; of free tickets: the next free one + 1 */
    struct wf_timer **timer; /* by ticket */
    uint32_t count, capacity;
    uint32_t tickets, free; /* given out so far; the first free one + 1 */
    uint32_t aside;         /* places reserved for timers that wf_heap_add_reserved arms */
    uint32_t serial;        /* of the next timer armed */
};

void wf_heap_init(struct wf_heap *h);
void wf_heap_finish(struct wf_heap *h);
/* Makes space for one more: 0 or WEFT_ENOMEM. After it the next wf_heap_add cannot fail. */
int wf_heap_reserve(struct wf_heap *h);
/* Arms `t` (which must not be armed) for t->deadline. WEFT_ENOMEM. */
int wf_heap_add(struct wf_heap *h, struct wf_timer *t);
/* Reserves places for `more` timers, which only wf_heap_add_reserved may arm: that cannot fail. WEFT_ENOMEM. */
int wf_heap_set_aside(struct wf_heap *h, uint32_t more);
void wf_heap_add_reserved(struct wf_heap *h, struct wf_timer *t);
/* Disarms a timer; does nothing if it is not armed. */
void wf_heap_remove(struct wf_heap *h, struct wf_timer *t);
/* The next to fire; NULL if none. */
struct wf_timer *wf_heap_first(const struct wf_heap *h);
/* The serial number it was armed with; 0 if none. Serials grow by one with each wf_heap_add, until they are used up: then
 * all become smaller by 2^31, or 0. Timers that have got 0, older than 2^31 others, keep no order among themselves. */
uint32_t wf_heap_first_serial(const struct wf_heap *h);
static inline bool wf_timer_armed(const struct wf_timer *t)
{
    return t->place != 0;
}

#endif

/* runtime/memory/heap.h -- the timers of one worker: a 4-ary heap ordered by deadline, then by age.
 *
 * The keys are in the heap's own array, and so are the positions of the timers (`where`), so that sifting touches no
 * timer: with a million timers each access would miss all caches, and moving one up or down takes ten. For the same
 * reason an entry has 16 bytes: four children are as large as a cache line. Tickets, the indices of `where`, have no
 * gaps: when a timer is removed, one other timer gets its ticket. So memory can be given back without a walk through
 * all timers, which took 4 to 20 ms for 65,000. Timers with equal deadlines fire in the order they were armed, which
 * makes a run repeatable. Owner's thread only.
 *
 * Most timers of calls and waits never fire: they are armed again and again, each time for later. So an armed timer can
 * be postponed, or put to rest, which only writes into the timer: its entry stands where it stood, for a time that is
 * too early, until it is the first one. Then it is moved to its place, or removed. Timers fire in the same order as if
 * they had been moved at once. */
#ifndef WF_HEAP_H
#define WF_HEAP_H

#include "base.h"

struct wf_worker;

struct wf_timer {
    int64_t deadline; /* WEFT_FOREVER: if it is armed, it rests, and does not fire */
    uint32_t place;   /* its ticket + 1: index in wf_heap.where; 0: not armed */
    uint32_t serial;  /* the number with which it was armed or postponed: wf_heap.serial */
    /* already off the heap: it may arm itself again or be freed */
    void (*fire)(struct wf_worker *w, struct wf_timer *t);
};

struct wf_heap_entry {
    int64_t deadline; /* that of its timer, or an earlier one: see above */
    uint32_t serial;
    uint32_t ticket; /* index in wf_heap.where and wf_heap.timer */
};
_Static_assert(sizeof(struct wf_heap_entry) == 16, "four of them are a cache line");

struct wf_heap {
    struct wf_heap_entry *entries;
    uint32_t *where;          /* by ticket: index in entries */
    struct wf_timer **timer;  /* by ticket */
    uint32_t count, capacity; /* tickets are below `count` */
    uint32_t aside;           /* places reserved for timers that wf_heap_add_reserved arms */
    uint32_t serial;          /* of the next timer armed */
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
/* Arms `t` for that time if it is armed already, perhaps at rest, and its entry does not stand for a later time. False:
 * it is not, and nothing was changed. */
static inline bool wf_heap_postpone(struct wf_heap *h, struct wf_timer *t, int64_t deadline)
{
    if (t->place == 0 || deadline < h->entries[h->where[t->place - 1]].deadline ||
        WF_UNLIKELY(h->serial == UINT32_MAX))
        return false;
    t->deadline = deadline;
    t->serial = h->serial++;
    return true;
}
/* Puts a timer that may be armed to rest. */
static inline void wf_timer_rest(struct wf_timer *t)
{
    t->deadline = WEFT_FOREVER;
}
/* Disarms a timer; does nothing if it is not armed. */
void wf_heap_remove(struct wf_heap *h, struct wf_timer *t);
/* The next to fire; NULL if none. Moves or removes those before it that were postponed or rest. */
struct wf_timer *wf_heap_first(struct wf_heap *h);
/* A part of that: if the first entry is that of a timer that was postponed or rests, moves or removes it and returns
 * true. */
bool wf_heap_move_first(struct wf_heap *h);
/* No timer fires before this time. WEFT_FOREVER: none is armed. */
int64_t wf_heap_earliest(const struct wf_heap *h);
/* Fetches the timer of the first entry into the cache. */
void wf_heap_fetch_first(const struct wf_heap *h);
/* The serial number of the first entry; 0 if none. Serials grow by one each time that a timer is armed or postponed, until they are used up: then
 * all become smaller by 2^31, or 0. Timers that have got 0, older than 2^31 others, keep no order among themselves. */
uint32_t wf_heap_first_serial(const struct wf_heap *h);
static inline bool wf_timer_armed(const struct wf_timer *t)
{
    return t->place != 0;
}

#endif

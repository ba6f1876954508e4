/* runtime/coro/stack.c -- see stack.h.
 *
 * Design notes.
 * (1) Per class: segments (in blocks that never move, so that the fault handler may read them, and that are made when
 *     they are needed, as most arenas have one segment), and one array of free slots, as large as all segments have
 *     slots, so that giving back cannot fail. Slots of the newest segment that were never used stand at its end,
 *     behind `used`.
 * (2) Growth below the top page cannot be asked of the kernel for less than trimming costs, so it is guessed: marker
 *     words at the top page's lower end, which calls that reach further down overwrite, and the lowest stack pointer
 *     seen at a suspension (wf_stack_seen), as an unwritten buffer may lie over the markers. A wrong guess costs one
 *     call, or a few pages until the slot is used again or cold.
 *     Slots under FREE_KEPT others that were free for a whole WF_STACK_KEPT become cold and give all their memory back,
 *     so that a node is small again after a peak. As the last slot given is the first one taken, those are the slots
 *     at the beginning of the array, as many as were free at the least in that time. The worker sees to that in
 *     batches, when it has nothing to run and now and then else, as each call stops all cores. Without the delay each
 *     actor of a peak would pay for it while the others end, and for new pages at the next peak.
 * (3) wf_stack_give may run on the stack it gives back. All it writes there are the markers, and those only if they
 *     lie well below its own frame; the same holds for what it trims. The next taker is therefore safe only after
 *     the giver has left.
 * (4) Where the kernel has no guard left, CANARY words stand where the guard would end, and are looked at when the
 *     slot comes back: late, and only said by ending the process, but never silently. */
#include "stack.h"

#include <stdlib.h>
#include <string.h>

#include <weft/log.h>

#include "sanitizer.h"

#ifdef WF_VALGRIND
#include <valgrind/memcheck.h>
#endif

enum {
    CLASSES = 5,
    SEGMENTS = 2048, /* per class: 1 TiB of slots of 132 KiB */
    BLOCK = 32,      /* segments */
    COLOURS = 48,
    COLOUR_MASK = (1 << 6) - 1, /* of wf_stack.colour */
    LINES_MASK = (1 << 23) - 1, /* of wf_stack.lines */
    CANARIES = 8,
    UNTRIMMED = 1,    /* in a free slot's address */
    FREE_KEPT = 1024, /* free slots of a class that keep their memory */
    MARGIN = 1024,    /* below a running frame, for the calls it makes itself */
};
static const uint64_t CANARY = 0x7972616e61632066;

/* Sanitizers keep shadow memory for what is reserved, too. */
static const struct {
    uint32_t bytes, slots, slots_sanitized;
} CLASS[CLASSES] = {
    {16 << 10, 4096, 256}, {64 << 10, 4096, 256}, {256 << 10, 512, 16}, {1 << 20, 64, 4}, {8 << 20, 8, 1}};
_Static_assert(COLOURS <= COLOUR_MASK + 1, "wf_stack.colour");
_Static_assert(2 * (WF_STACK_BYTES_MAX / WF_CACHE_LINE) <= LINES_MASK,
               "wf_stack.lines: a stack, its guard and a page");
_Static_assert(WF_STACK_BYTES == 64 << 10 && WF_STACK_BYTES_MAX == 8 << 20, "the default and the largest class");

struct segment {
    char *base;
    uint32_t used;    /* slots that were ever taken; they lie first */
    uint32_t guarded; /* slots with a guard; they lie first, as guards once exhausted do not come back */
};

struct slot_class {
    struct segment *blocks[SEGMENTS / BLOCK]; /* NULL: not needed yet */
    char *first;                              /* base of the first segment */
    uint32_t segment_count;
    uint32_t free_count;
    uint32_t cold;  /* free slots whose memory went back to the system; they lie first */
    uint32_t least; /* the fewest free slots with memory since the present period began */
    uint32_t stale; /* slots that were free for the whole period before, and have not given their memory back yet */
    char **free;    /* bases, with UNTRIMMED for those that could not be trimmed; the last is taken first */
};

struct wf_stack_arena {
    struct slot_class classes[CLASSES];
    enum pf_guard_kind guard;
    int smallest;        /* of the classes that are used here */
    bool closed;         /* some were closed with a guard */
    int64_t period_ends; /* WEFT_FOREVER: no class has more than FREE_KEPT free slots with memory */
    size_t in_use, ever;
    struct pf_range
        ranges[PF_RANGES_MAX]; /* for a call: those who make it may be on a stack of which a page is used */
};

/* Of a slot: its guard, and the stack. The third part is the page that spreads the tops: see stack.h, note (4). */
static size_t guard_bytes(size_t slot_bytes)
{
    return WF_MIN((slot_bytes - pf_page_size()) / 2, (size_t)WF_STACK_GUARD_MAX);
}

size_t wf_stack_bytes(const struct wf_stack *s)
{
    size_t slot_bytes = wf_stack_slot_bytes(s);
    return slot_bytes - guard_bytes(slot_bytes) - pf_page_size();
}

char *wf_stack_low(const struct wf_stack *s)
{
    return s->base + guard_bytes(wf_stack_slot_bytes(s));
}

_Atomic uintptr_t wf_stack_page_mask;

int wf_stack_arena_create(struct wf_stack_arena **out)
{
    struct wf_stack_arena *a = calloc(1, sizeof *a);
    if (a == NULL) return WEFT_ENOMEM;
    atomic_store_explicit(&wf_stack_page_mask, ~((uintptr_t)pf_page_size() - 1), memory_order_relaxed);
    WF_ASSERT(WF_STACK_GUARD_MAX % pf_page_size() == 0); /* the largest pages have 64 KiB */
    a->guard = PF_GUARD_BEST;
    a->smallest = wf_is_sanitized() || CLASS[0].bytes % pf_page_size() != 0 ? 1 : 0;
    a->period_ends = WEFT_FOREVER;
    *out = a;
    return WEFT_OK;
}

/* The slot without its guard. */
static size_t memory_bytes(const struct wf_stack *s)
{
    size_t slot_bytes = wf_stack_slot_bytes(s);
    return slot_bytes - guard_bytes(slot_bytes);
}

static struct segment *segment_at(const struct slot_class *c, uint32_t i)
{
    return &c->blocks[i / BLOCK][i % BLOCK];
}

static uint32_t slot_size(int index)
{
    return WF_MIN(CLASS[index].bytes, (uint32_t)WF_STACK_GUARD_MAX) + CLASS[index].bytes + (uint32_t)pf_page_size();
}

/* A slot of a class, without a colour. */
static struct wf_stack slot_of(char *base, int index)
{
    return (struct wf_stack){.base = base, .lines = (slot_size(index) / WF_CACHE_LINE) & LINES_MASK};
}

static uint32_t slots_of_segment(int index)
{
    return WF_UNLIKELY(wf_is_sanitized()) ? CLASS[index].slots_sanitized : CLASS[index].slots;
}

static size_t segment_bytes(int index)
{
    return (size_t)slot_size(index) * slots_of_segment(index);
}

void wf_stack_arena_destroy(struct wf_stack_arena *a)
{
    if (a == NULL) return;
    WF_ASSERT(a->in_use == 0);
    for (int i = 0; i < CLASSES; i++) {
        struct slot_class *c = &a->classes[i];
        for (uint32_t s = 0; s < c->segment_count; s++) {
            const struct segment *g = segment_at(c, s);
            /* Something else may be mapped there next, such as the stack of a thread. */
            WF_IF_ASAN(__asan_unpoison_memory_region(g->base, (size_t)g->used * slot_size(i)));
            pf_pages_release(g->base, segment_bytes(i));
        }
        for (int b = 0; b < SEGMENTS / BLOCK; b++) free(c->blocks[b]);
        free(c->free);
    }
    free(a);
}

static int class_for(const struct wf_stack_arena *a, size_t bytes)
{
    int i = a->smallest;
    while (i < CLASSES && bytes > CLASS[i].bytes) i++;
    return i;
}

static struct segment *add_segment(struct slot_class *c, int index)
{
    if (c->segment_count == SEGMENTS) return NULL;
    struct segment **block = &c->blocks[c->segment_count / BLOCK];
    if (*block == NULL && (*block = calloc(BLOCK, sizeof **block)) == NULL) return NULL;
    size_t slots = (size_t)(c->segment_count + 1) * slots_of_segment(index);
    char **bigger = realloc(c->free, slots * sizeof *bigger);
    if (bigger == NULL) return NULL;
    c->free = bigger;
    char *base = pf_pages_reserve(segment_bytes(index), pf_page_size());
    if (base == NULL) return NULL;
    struct segment *s = segment_at(c, c->segment_count);
    s->base = base;
    if (c->segment_count++ == 0) c->first = base;
    return s;
}

/* Memcheck has to be told that markers below the stack pointer are defined. Known before main. */
static bool on_memcheck;

#ifdef WF_VALGRIND
__attribute__((constructor)) static void look_for_memcheck(void)
{
    on_memcheck = VALGRIND_MAKE_MEM_DEFINED(&on_memcheck, sizeof on_memcheck) != 0; /* other tools answer 0 */
}
#endif

static char *page_floor(const void *at)
{
    return (char *)((uintptr_t)at & ~((uintptr_t)pf_page_size() - 1));
}

__attribute__((no_sanitize("address", "thread"))) static void mark(const struct wf_stack *s)
{
#ifdef WF_VALGRIND
    /* They are perhaps below the stack pointer. */
    (void)VALGRIND_MAKE_MEM_UNDEFINED(wf_stack_markers(s), WF_STACK_MARKERS * sizeof WF_STACK_MARKER);
#endif
    for (int i = 0; i < WF_STACK_MARKERS; i++) wf_stack_markers(s)[i] = WF_STACK_MARKER;
}

static uint64_t *canaries(const struct wf_stack *s)
{
    return (uint64_t *)(void *)wf_stack_low(s) - CANARIES;
}

/* Brings the top pages of slots that were never used, the first at `base`, into memory together. They are taken next, as so
 * many have been taken already. */
static void populate_tops(struct wf_stack_arena *a, char *base, uint32_t slot_bytes)
{
    const size_t page = pf_page_size();
    for (uint32_t i = 0; i < PF_RANGES_MAX; i++)
        a->ranges[i] = (struct pf_range){base + (size_t)(i + 1) * slot_bytes - page, page};
    (void)pf_pages_populate(a->ranges, PF_RANGES_MAX);
}

/* Whether the next slot of the segment that was never used has a guard. Guards are made for as many slots as are in use
 * already, at most PF_RANGES_MAX, in one call: with one for each slot a new stack takes a sixth more time. If they are
 * so many, their top pages come in one call, too, which saves a fault for each. */
static bool next_has_guard(struct wf_stack_arena *a, int index, struct segment *s)
{
    struct pf_range *ranges = a->ranges;
    uint32_t count = WF_MIN(WF_MAX(s->used, 1), PF_RANGES_MAX), slot_bytes = slot_size(index);
    char *base = s->base + (size_t)s->used * slot_bytes;
    if (s->used < s->guarded) return true;
    count = WF_MIN(count, slots_of_segment(index) - s->used);
    for (uint32_t i = 0; i < count; i++)
        ranges[i] = (struct pf_range){base + (size_t)i * slot_bytes, guard_bytes(slot_bytes)};
    uint32_t made = (uint32_t)pf_pages_guard(ranges, (int)count, &a->guard);
    s->guarded += made;
    if (made == PF_RANGES_MAX) populate_tops(a, base, slot_bytes);
    return made > 0;
}

/* One more slot that was never used. */
static char *fresh_slot(struct wf_stack_arena *a, int index)
{
    struct slot_class *c = &a->classes[index];
    struct segment *s = c->segment_count == 0 ? NULL : segment_at(c, c->segment_count - 1);
    if (s == NULL || s->used == slots_of_segment(index)) s = add_segment(c, index);
    if (s == NULL) return NULL;
    char *base = s->base + (size_t)s->used * slot_size(index);
    const uint32_t slot_bytes = slot_size(index);
    const struct wf_stack slot = slot_of(base, index);
    if (!pf_pages_stack(base, slot_bytes, base + slot_bytes - pf_page_size())) return NULL;
    if (!next_has_guard(a, index, s)) {
        static _Atomic bool said; /* relaxed: once for the process is enough */
        if (!atomic_exchange_explicit(&said, true, memory_order_relaxed))
            weft_log(WEFT_WARN, "the kernel has no guard pages left: stack overflows are noticed late, by a canary");
        for (int i = 0; i < CANARIES; i++) canaries(&slot)[i] = CANARY;
    }
    s->used++;
    mark(&slot);
    a->ever++;
    return slot.base;
}

static uint32_t warm(const struct slot_class *c)
{
    return c->free_count - c->cold;
}

int wf_stack_take(struct wf_stack_arena *a, size_t bytes, struct wf_stack *out)
{
    int index = class_for(a, bytes);
    if (index == CLASSES) return WEFT_EINVAL;
    struct slot_class *c = &a->classes[index];
    uint32_t slot_bytes = slot_size(index);
    char *base = c->free_count > 0 ? c->free[--c->free_count] : fresh_slot(a, index);
    if (base == NULL) return WEFT_ENOMEM;
    bool used_before = ((uintptr_t)base & UNTRIMMED) != 0;
    base -= used_before ? UNTRIMMED : 0;
    bool cold = c->cold > c->free_count;
    if (cold) {
        c->cold = c->free_count;
        if (!pf_pages_stack(base, slot_bytes, base + slot_bytes - pf_page_size())) {
            c->free[c->free_count++] = base;
            c->cold++;
            return WEFT_ENOMEM;
        }
    }
    c->least = WF_MIN(c->least, warm(c));
    c->stale = WF_MIN(c->stale, warm(c));
    const uint32_t colour = (uint32_t)((size_t)(base - c->first) / slot_bytes * 7 % COLOURS);
    *out = slot_of(base, index);
    out->colour = colour & COLOUR_MASK;
    out->watched = on_memcheck;
    out->used_before = used_before;
    if (cold) mark(out);
    a->in_use++;
    WF_IF_ASAN(__asan_unpoison_memory_region(wf_stack_low(out), memory_bytes(out)));
#ifdef WF_VALGRIND
    out->valgrind_id = VALGRIND_STACK_REGISTER(wf_stack_low(out), base + slot_bytes - 1);
    (void)VALGRIND_MAKE_MEM_DEFINED(wf_stack_markers(out), WF_STACK_MARKERS * sizeof WF_STACK_MARKER);
#endif
    return WEFT_OK;
}

/* The segment a slot lies in; NULL if `address` is in none of this class. */
static const struct segment *segment_of(const struct wf_stack_arena *a, int index, const void *address)
{
    const struct slot_class *c = &a->classes[index];
    for (uint32_t i = 0; i < c->segment_count; i++)
        if ((uintptr_t)address - (uintptr_t)segment_at(c, i)->base < segment_bytes(index)) return segment_at(c, i);
    return NULL;
}

static void check_canaries(const struct wf_stack_arena *a, int index, const struct wf_stack *s)
{
    const struct segment *in = segment_of(a, index, s->base);
    WF_ASSERT(in != NULL);
    if ((size_t)(s->base - in->base) / wf_stack_slot_bytes(s) < in->guarded) return;
    for (int i = 0; i < CANARIES; i++) {
        bool stack_did_not_overflow = canaries(s)[i] == CANARY;
        WF_ASSERT(stack_did_not_overflow);
    }
}

void wf_stack_seen(struct wf_stack *s, const void *sp)
{
    if (sp != NULL && sp < (const void *)wf_stack_markers(s)) s->grown = s->watched = true;
}

__attribute__((no_sanitize("address", "thread"))) static bool grown(const struct wf_stack *s)
{
    const uint64_t *m = wf_stack_markers(s);
#ifdef WF_VALGRIND
    (void)VALGRIND_MAKE_MEM_DEFINED(m, WF_STACK_MARKERS * sizeof WF_STACK_MARKER);
#endif
    uint64_t difference = 0;
    for (int i = 0; i < WF_STACK_MARKERS; i++) difference |= m[i] ^ WF_STACK_MARKER;
    return s->grown || difference != 0;
}

size_t wf_stack_used(const struct wf_stack *s)
{
    if (s->used_before) return 0;
    char *page = (char *)wf_stack_markers(s), *low = wf_stack_low(s);
    if (!grown(s)) return (size_t)(wf_stack_top(s) - page);
    return (size_t)(wf_stack_top(s) - pf_pages_first(low, (size_t)(page - low)));
}

size_t wf_stack_held(const struct wf_stack *s)
{
    char *page = (char *)wf_stack_markers(s), *low = wf_stack_low(s), *end = s->base + wf_stack_slot_bytes(s);
    if (!grown(s) && !s->used_before) return (size_t)(end - page);
    return (size_t)(end - pf_pages_first(low, (size_t)(page - low)));
}

/* Everything below the top page, or below `frame` if that lies on this stack. */
__attribute__((no_sanitize("address", "thread"))) static bool trim(struct wf_stack *s, char *frame)
{
    char *low = wf_stack_low(s), *high = (char *)wf_stack_markers(s);
    bool inside = frame >= s->base && frame < s->base + wf_stack_slot_bytes(s);
    bool may_mark = !inside || frame - MARGIN > high + WF_STACK_MARKERS * sizeof WF_STACK_MARKER;
    if (inside && page_floor(frame - MARGIN) < high) high = page_floor(frame - MARGIN);
    if (high > low) pf_pages_trim(low, (size_t)(high - low));
    /* If not, they stay broken, and the slot is trimmed when it comes back the next time. */
    if (may_mark) mark(s);
    return may_mark;
}

__attribute__((no_sanitize("address", "thread"))) size_t wf_stack_pass_on_slowly(struct wf_stack *s, const void *sp)
{
    wf_stack_seen(s, sp);
#ifdef WF_VALGRIND
    /* It is perhaps below the stack pointer. */
    (void)VALGRIND_MAKE_MEM_DEFINED(wf_stack_markers(s) + WF_STACK_MARKERS - 1, sizeof WF_STACK_MARKER);
#endif
    if (WF_LIKELY(!s->grown && wf_stack_markers(s)[WF_STACK_MARKERS - 1] == WF_STACK_MARKER)) return 0;
    size_t used = wf_stack_used(s);
    s->grown = s->used_before = !trim(s, __builtin_frame_address(0));
    s->watched = s->grown || on_memcheck;
    return used;
}

size_t wf_stack_give(struct wf_stack_arena *a, struct wf_stack *s)
{
    int index = class_for(a, wf_stack_bytes(s));
    WF_ASSERT(s->base != NULL && index < CLASSES && a->in_use > 0);
    struct slot_class *c = &a->classes[index];
    if (WF_UNLIKELY(a->guard == PF_GUARD_NONE)) check_canaries(a, index, s);
    size_t used = 0;
    uintptr_t untrimmed = 0;
    if (WF_UNLIKELY(grown(s))) {
        used = wf_stack_used(s);
        untrimmed = trim(s, __builtin_frame_address(0)) ? 0 : UNTRIMMED;
    }
#ifdef WF_VALGRIND
    VALGRIND_STACK_DEREGISTER(s->valgrind_id);
#endif
    c->free[c->free_count++] = s->base + untrimmed;
    a->in_use--;
    *s = (struct wf_stack){.base = NULL};
    return used;
}

/* Slots that were free for a part of the period that ends now keep their memory. */
static void begin_period(struct wf_stack_arena *a, int64_t now)
{
    bool counted = a->period_ends != WEFT_FOREVER, any = false;
    for (int i = 0; i < CLASSES; i++) {
        struct slot_class *c = &a->classes[i];
        if (counted) c->stale = c->least > FREE_KEPT ? c->least - FREE_KEPT : 0;
        c->least = warm(c);
        any |= warm(c) - c->stale > FREE_KEPT;
    }
    a->period_ends = any ? now + WF_STACK_KEPT : WEFT_FOREVER;
}

/* Whether there are more. */
static bool trim_stale(struct slot_class *c, uint32_t slot_bytes)
{
    struct pf_range ranges[PF_RANGES_MAX];
    int n = 0;
    for (; c->stale > 0 && warm(c) > FREE_KEPT && n < PF_RANGES_MAX; n++, c->stale--) {
        char **cold = &c->free[c->cold++];
        *cold -= (uintptr_t)*cold & UNTRIMMED;
        ranges[n] = (struct pf_range){*cold + guard_bytes(slot_bytes), slot_bytes - guard_bytes(slot_bytes)};
    }
    if (n > 0) pf_pages_close(ranges, n, PF_GUARD_NONE);
    c->least = WF_MIN(c->least, warm(c));
    return n == PF_RANGES_MAX;
}

static bool has_many_free(const struct wf_stack_arena *a)
{
    bool many = false;
    for (int i = 0; i < CLASSES; i++) many |= warm(&a->classes[i]) > FREE_KEPT;
    return many;
}

int64_t wf_stack_trim_free(struct wf_stack_arena *a, int64_t now)
{
    if (WF_LIKELY(a->period_ends == WEFT_FOREVER && !has_many_free(a))) return WEFT_FOREVER;
    if (a->period_ends == WEFT_FOREVER || now >= a->period_ends) begin_period(a, now);
    bool more = false;
    for (int i = 0; i < CLASSES; i++)
        if (a->classes[i].stale > 0) more |= trim_stale(&a->classes[i], slot_size(i));
    return more ? WEFT_NOW : a->period_ends;
}

/* ---- Parking --------------------------------------------------------------------------------------------------- */

void wf_stacks_close(struct wf_stack_arena *a, const struct wf_stack *const *stacks, int count)
{
    struct pf_range ranges[PF_RANGES_MAX];
    struct pf_range *last = NULL;
    int n = 0;
    WF_ASSERT(count <= PF_RANGES_MAX);
    for (int i = 0; i < count; i++) {
        const struct wf_stack *s = stacks[i];
        char *low = wf_stack_low(s), *end = s->base + wf_stack_slot_bytes(s);
        /* Neighbours become one range. Guards between them may be part of it, canaries must not. */
        if (last != NULL && s->base == (char *)last->at + last->size) {
            last->size += wf_stack_slot_bytes(s);
        } else if (last != NULL && end + (low - s->base) == (char *)last->at) {
            *last = (struct pf_range){low, last->size + wf_stack_slot_bytes(s)};
        } else {
            ranges[n++] = (struct pf_range){low, (size_t)(end - low)};
            if (a->guard == PF_GUARD_BEST) last = &ranges[n - 1];
        }
    }
    a->closed |= a->guard == PF_GUARD_BEST;
    if (n > 0) pf_pages_close(ranges, n, a->guard);
}

void wf_stack_open(struct wf_stack_arena *a, struct wf_stack *s, const char *low)
{
    if (a->closed) pf_pages_open(wf_stack_low(s), memory_bytes(s));
    bool has_memory = pf_pages_stack(s->base, wf_stack_slot_bytes(s), low);
    WF_ASSERT(has_memory);             /* as when a page cannot be given that was promised */
    s->grown = s->used_before = false; /* the whole slot is clean */
    if (low >= (char *)(wf_stack_markers(s) + WF_STACK_MARKERS)) mark(s);
}

bool wf_stack_slot(const struct wf_stack_arena *a, const void *address, struct wf_stack *out)
{
    for (int i = 0; i < CLASSES; i++) {
        const struct segment *s = segment_of(a, i, address);
        if (s == NULL) continue;
        size_t offset = (size_t)((const char *)address - s->base), slot = offset / slot_size(i);
        if (slot >= s->used) return false;
        *out = slot_of(s->base + slot * slot_size(i), i);
        return true;
    }
    return false;
}

size_t wf_stack_resident(const struct wf_stack *s)
{
    return pf_pages_resident(wf_stack_low(s), memory_bytes(s));
}

void wf_stacks_do_without_guards(struct wf_stack_arena *a)
{
    a->guard = PF_GUARD_NONE;
}

void wf_stack_counts(const struct wf_stack_arena *a, size_t *in_use, size_t *ever)
{
    *in_use = a->in_use;
    *ever = a->ever;
}

/* runtime/io/places.c -- see places.h. */
#include "places.h"

#include "hash.h"
#include "sanitizer.h"

#include <stdlib.h>
#include <string.h>

#include <weft/error.h>

struct wf_places {
    _Atomic uint32_t refs; /* acq_rel on decrement: the holder that frees it sees the writes of all others */
    _Atomic uint32_t used; /* relaxed, like the counters below: they only count, and order no other access */
    uint32_t most, each, mask;
    uint64_t seed;
    _Atomic uint32_t of_source[]; /* two rows of mask + 1 */
};

#define NO_SOURCE 0

int wf_places_new(struct wf_places **out, struct pf_env *env, uint32_t most, uint32_t each)
{
    uint32_t counters = 64;
    WF_ASSERT(most >= 1 && most <= WF_PLACES_MAX && each >= 1);
    while (counters < 4 * most) counters *= 2;
    struct wf_places *p = calloc(1, sizeof *p + 2 * counters * sizeof p->of_source[0]);
    if (p == NULL) return WEFT_ENOMEM;
    atomic_store_explicit(&p->refs, 1, memory_order_relaxed);
    p->most = most;
    p->each = each;
    p->mask = counters - 1;
    env->random(env, &p->seed, sizeof p->seed);
    *out = p;
    return WEFT_OK;
}

/* The source of an IPv4 address is the whole address, also in its IPv6 form; that of an IPv6 address is its first 64
 * bits. */
static bool source_of(const struct pf_address *from, uint8_t out[8])
{
    static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    uint8_t bytes[16];
    size_t size = from == NULL ? 0 : pf_address_bytes(from, bytes);
    bool v4_in_v6 = size == 16 && memcmp(bytes, mapped, sizeof mapped) == 0;
    memset(out, 0, 8);
    memcpy(out, v4_in_v6 ? bytes + sizeof mapped : bytes, v4_in_v6 ? 4 : WF_MIN(size, (size_t)8));
    return size > 0;
}

static uint32_t place_of(const struct wf_places *p, const uint8_t source[8])
{
    uint64_t x;
    memcpy(&x, source, sizeof x);
    uint32_t place = (uint32_t)wf_mix(x ^ p->seed);
    return place == NO_SOURCE ? 1 : place;
}

/* Each place has two counters, one in each row. */
static void counters_of(struct wf_places *p, uint32_t place, _Atomic uint32_t *out[2])
{
    out[0] = &p->of_source[place & p->mask];
    out[1] = &p->of_source[(p->mask + 1) + ((uint32_t)wf_mix(place) & p->mask)];
}

static void count_down(_Atomic uint32_t *counter)
{
    atomic_fetch_sub_explicit(counter, 1, memory_order_relaxed);
}

/* The source has at most as many connections as the smaller counter says: other sources may use the same counters. */
static bool count_source(struct wf_places *p, uint32_t place)
{
    _Atomic uint32_t *counter[2];
    counters_of(p, place, counter);
    uint32_t a = atomic_fetch_add_explicit(counter[0], 1, memory_order_relaxed);
    uint32_t b = atomic_fetch_add_explicit(counter[1], 1, memory_order_relaxed);
    if (WF_MIN(a, b) < p->each) return true;
    count_down(counter[0]);
    count_down(counter[1]);
    return false;
}

bool wf_places_take(struct wf_places *p, const struct pf_address *from, uint32_t *place)
{
    uint8_t source[8];
    *place = source_of(from, source) ? place_of(p, source) : NO_SOURCE;
    if (atomic_fetch_add_explicit(&p->used, 1, memory_order_relaxed) >= p->most ||
        (*place != NO_SOURCE && !count_source(p, *place))) {
        count_down(&p->used);
        return false;
    }
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return true;
}

void wf_places_give(struct wf_places *p, uint32_t place)
{
    _Atomic uint32_t *counter[2];
    counters_of(p, place, counter);
    for (int i = 0; i < 2 && place != NO_SOURCE; i++) count_down(counter[i]);
    count_down(&p->used);
    wf_places_release(p);
}

void wf_places_release(struct wf_places *p)
{
    if (p != NULL && WF_LAST_HOLDER(&p->refs, 1)) free(p);
}

/* runtime/sched/pace.c -- see pace.h. */
#include "pace.h"

#include "workers.h"

static __attribute__((noinline)) void next_window(struct wf_pace *p, int64_t now)
{
    bool beside = now - atomic_load_explicit(&p->window, memory_order_relaxed) < 2 * WF_PACE_WINDOW;
    int64_t before = beside ? atomic_load_explicit(&p->longest[0], memory_order_relaxed) : 0;
    atomic_store_explicit(&p->longest[1], before, memory_order_relaxed);
    atomic_store_explicit(&p->longest[0], 0, memory_order_relaxed);
    atomic_store_explicit(&p->window, now, memory_order_relaxed);
}

void wf_pace_turn_over(struct wf_pace *p, int64_t began, int64_t now)
{
    const int64_t ns = now - began;
    WF_ASSERT(began != 0 && ns >= 0);
    int bits = 64 - __builtin_clzll((unsigned long long)ns | 1);
    _Atomic uint64_t *turns =
        &p->turns[WF_MIN(WF_MAX(bits, WF_TURN_BITS_MIN), WF_TURN_BITS_MAX + 1) - WF_TURN_BITS_MIN];
    atomic_store_explicit(turns, atomic_load_explicit(turns, memory_order_relaxed) + 1, memory_order_relaxed);
    atomic_store_explicit(&p->busy, atomic_load_explicit(&p->busy, memory_order_relaxed) + ns, memory_order_release);
    if (WF_UNLIKELY(now - atomic_load_explicit(&p->window, memory_order_relaxed) >= WF_PACE_WINDOW))
        next_window(p, now);
    if (ns > atomic_load_explicit(&p->longest[0], memory_order_relaxed))
        atomic_store_explicit(&p->longest[0], ns, memory_order_relaxed);
}

void wf_pace_see(const struct wf_worker *w, int64_t now, struct wf_pace_seen *out)
{
    const struct wf_pace *p = &w->pace;
    int64_t began, again = atomic_load_explicit(&p->began, memory_order_acquire);
    int tries = 3; /* the turn may end while this reads; after three tries it may be counted twice */
    do {
        began = again;
        out->busy = atomic_load_explicit(&p->busy, memory_order_acquire);
        again = atomic_load_explicit(&p->began, memory_order_acquire);
    } while (again != began && --tries > 0);
    out->turn = began == 0 ? 0 : WF_MAX(now - began, 0);
    out->busy += out->turn;
    out->longest = out->turn;
    int64_t window = atomic_load_explicit(&p->window, memory_order_relaxed);
    for (int i = 0; i < 2; i++) {
        if (now - window > (i + 1) * WF_PACE_WINDOW) continue;
        out->longest = WF_MAX(out->longest, atomic_load_explicit(&p->longest[i], memory_order_relaxed));
    }
}

int64_t wf_pace_read_until(const struct wf_worker *w, int64_t now)
{
    if (w->set->users == w->set->count) return now;
    if (atomic_load_explicit(&w->pace.began, memory_order_acquire) == 0) return now;
    return WF_MIN(now, atomic_load_explicit(&w->pace.polled, memory_order_relaxed));
}

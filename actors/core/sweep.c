/* actors/core/sweep.c -- which actors are parked: the sweep over a worker's actors. How an actor is parked is in
 * runtime/sched/park.h.
 *
 * Design notes.
 * (1) A round looks at every actor once. One that waits becomes IDLE; one that is still IDLE in the next round has
 *     not run in between, and is parked if its wait allows it. Rounds begin at least park_after apart, so an actor is
 *     parked between one and two park_after after it last ran.
 * (2) A round runs in slices, one for each turn of the worker: it looks at LOOKS actors, or parks a batch of them.
 * (3) There is a next round only if there is a reason for it: an actor that was not IDLE in this round, or, since its
 *     start, a spawn, an actor that was woken from IDLE or PARKED, or a handler whose function waits
 *     (wf_actor_woken). An IDLE actor does nothing before it is woken. So an idle node has no rounds.
 * (4) `settled` has a bit for each slot whose actor need not be looked at before it has run. To skip a million parked
 *     actors costs a read of 16,000 words, not of a million cache lines.
 * (5) Actors of weft's own (wf_actor.service) are few and are left alone: the heartbeat of a link starts no
 *     rounds. */
#include "sweep.h"

#include "actor.h"
#include "describe.h"
#include "park.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOKS = 512,
    PER_WORD = 64,
    NEAR = 10, /* times park_after: parking is not worth it with a deadline this near; see docs/memory.md */
};

static bool settled(const struct wf_sweep *s, uint32_t index)
{
    uint32_t word = index / PER_WORD;
    return word < s->words && (s->settled[word] >> index % PER_WORD & 1) != 0;
}

/* Without memory for the bit, each round looks at the slot. */
static void settle(struct wf_sweep *s, uint32_t index)
{
    uint32_t word = index / PER_WORD;
    if (word >= s->words) {
        uint32_t words = WF_MAX(word + 1, 2 * s->words);
        WF_ASSERT(words > word); /* slots have 24 bits */
        uint64_t *grown = realloc(s->settled, words * sizeof *grown);
        if (grown == NULL) return;
        memset(grown + s->words, 0, (words - s->words) * sizeof *grown);
        s->settled = grown;
        s->words = words;
    }
    s->settled[word] |= UINT64_C(1) << index % PER_WORD;
}

void wf_sweep_wanted(struct wf_actors *wa)
{
    struct wf_sweep *s = &wa->sweep;
    if (s->restless) return;
    s->restless = wf_timer_armed(&s->timer) || /* without memory the next actor that runs tries again */
                  wf_timer_arm(wa->worker, &s->timer, weft_after(s->park_after)) == WEFT_OK;
}

void wf_actor_woken(struct wf_task *t)
{
    struct wf_actor *a = wf_actor_of(t);
    WF_ASSERT(a->listed && t->worker == wf_here);
    struct wf_actors *wa = wf_actors_of(t->worker);
    const uint32_t number = wf_slot_number(&a->slot);
    if (settled(&wa->sweep, number)) wa->sweep.settled[number / PER_WORD] &= ~(UINT64_C(1) << number % PER_WORD);
    wf_sweep_wanted(wa);
}

static bool wakes_soon(const struct wf_sweep *s, const struct wf_task *t)
{
    return wf_timer_armed(&t->deadline) && (t->deadline.deadline - t->worker->now) / NEAR < s->park_after;
}

/* True: park it. */
static bool look(struct wf_sweep *s, struct wf_actor *a)
{
    struct wf_task *t = &a->task;
    /* Acquire: another thread may have spawned it; see wf_slab_publish. */
    if (!wf_slot_is_taken(&a->slot) || a->service || t->shares_stack) return false;
    switch ((enum wf_task_state)t->state) {
    case WF_TASK_WAITING:
        t->state = WF_TASK_IDLE;
        s->restless = true;
        return false;
    case WF_TASK_IDLE:
        if (wf_task_may_park(t) && !wakes_soon(s, t)) return true;
        settle(s, wf_slot_number(&a->slot));
        return false;
    case WF_TASK_STACKLESS: settle(s, wf_slot_number(&a->slot)); return false;
    case WF_TASK_DONE:
    case WF_TASK_PARKED: return false;
    default: s->restless = true; return false;
    }
}

static void park(struct wf_actors *wa, struct wf_task *const *tasks, int count)
{
    WF_ASSERT(count > 0 && count <= PF_RANGES_MAX);
    wf_tasks_park(wa->worker, tasks, count);
    /* Also the actors that could not be parked for lack of memory: they are skipped until they have run again. */
    for (int i = 0; i < count; i++) settle(&wa->sweep, wf_slot_number(&wf_actor_of(tasks[i])->slot));
}

/* False: the round is over. */
static bool slice(struct wf_actors *wa)
{
    struct wf_sweep *s = &wa->sweep;
    struct wf_task *tasks[PF_RANGES_MAX];
    int count = 0, looks = 0;
    struct wf_actor *a = NULL;
    while (looks < LOOKS && count < PF_RANGES_MAX) {
        if (s->hand % PER_WORD == 0 && s->hand / PER_WORD < s->words &&
            s->settled[s->hand / PER_WORD] == UINT64_MAX) {
            s->hand += PER_WORD;
            looks++;
            continue;
        }
        if ((a = wf_slab_at(&wa->slab, s->hand)) == NULL) break;
        looks++;
        if (!settled(s, s->hand++) && look(s, a)) tasks[count++] = &a->task;
    }
    if (count > 0) park(wa, tasks, count);
    return looks == LOOKS || count == PF_RANGES_MAX;
}

static void sweep(struct wf_worker *w, struct wf_timer *t)
{
    struct wf_actors *wa = wf_actors_of(w);
    struct wf_sweep *s = &wa->sweep;
    if (s->hand == 0) {
        s->since = w->now;
        s->restless = false;
    }
    int64_t next = w->now;
    if (!slice(wa)) {
        s->hand = 0;
        if (!s->restless) return;
        next = s->since + s->park_after;
    }
    int rc = wf_timer_arm(w, t, next);
    WF_ASSERT(rc == WEFT_OK); /* it has just left the heap, so there is space */
}

void wf_sweep_init(struct wf_actors *wa, int64_t park_after)
{
    WF_ASSERT(park_after > 0);
    wa->sweep.timer.fire = sweep;
    wa->sweep.park_after = park_after;
    /* If nothing is ever parked, no round is needed. */
    wa->sweep.restless = !wf_parks() || park_after == WEFT_FOREVER;
}

void wf_sweep_finish(struct wf_actors *wa)
{
    free(wa->sweep.settled);
}

/* Runs in a signal handler, perhaps on another worker's thread: the data may change meanwhile, so the result is a
 * guess. */
bool wf_actor_describe_parked(const struct wf_worker *w, const char *base, char *out, size_t size)
{
    const struct wf_actor *a;
    const struct wf_actors *wa = wf_actors_of(w);
    for (uint32_t i = 0; (a = wf_slab_at(&wa->slab, i)) != NULL; i++) {
        const struct wf_task *t = &a->task;
        if (t->coro.stack.base != base || (t->state != WF_TASK_PARKED && t->state != WF_TASK_UNPARKED)) continue;
        wf_actor_describe(t, out, size);
        return true;
    }
    return false;
}

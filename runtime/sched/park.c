/* runtime/sched/park.c -- parking: the rules are in park.h. */
#include "park.h"

#include "context.h"
#include "sanitizer.h"

#include <stdlib.h>

const char wf_waits_for_time[] = "sleep";

/* Stands in for the stack pointer of a parked task: wf_coro.sp. Half the words of a stack are zero, as are the pages
 * it gets back: of each 64 words from pf_context_low(sp) up there is a mask, and then those that are not zero. */
struct parked {
    void *sp;
    uint64_t packed[];
};
enum { GROUP = 64 };

static uint64_t mask_of(const uint64_t *words, size_t count)
{
    uint64_t mask = 0;
    bool all = wf_is_on_valgrind(); /* Valgrind would report tests of words that were never written */
    for (size_t i = 0; i < count; i++) mask |= (uint64_t)(all || words[i] != 0) << i;
    return mask;
}

static size_t words_of(const struct wf_task *t, void *sp)
{
    return (size_t)(wf_stack_top(&t->coro.stack) - pf_context_low(sp)) / sizeof(uint64_t);
}

static size_t packed_words(const uint64_t *words, size_t count)
{
    size_t sum = 0;
    for (size_t done = 0; done < count; done += GROUP)
        sum += 1 + (size_t)__builtin_popcountll(mask_of(words + done, WF_MIN(count - done, GROUP)));
    return sum;
}

static bool copy_out(struct wf_task *t)
{
    const uint64_t *words = (const uint64_t *)(const void *)pf_context_low(t->coro.sp);
    size_t count = words_of(t, t->coro.sp);
    WF_ASSERT((const char *)t->coro.sp >= wf_stack_low(&t->coro.stack) &&
              (char *)t->coro.sp < wf_stack_top(&t->coro.stack));
    struct parked *p = malloc(sizeof *p + packed_words(words, count) * sizeof *p->packed);
    if (p == NULL) return false;
    p->sp = t->coro.sp;
    uint64_t *to = p->packed;
    for (; count > 0; words += GROUP, count -= WF_MIN(count, GROUP)) {
        uint64_t mask = *to++ = mask_of(words, WF_MIN(count, GROUP));
        for (; mask != 0; mask &= mask - 1) *to++ = words[__builtin_ctzll(mask)];
    }
    t->coro.sp = p;
    t->state = WF_TASK_PARKED;
    return true;
}

int wf_tasks_park(struct wf_worker *w, struct wf_task *const *tasks, int count)
{
    void (*tell_used)(struct wf_task *, size_t) = w->set->hooks->task_stack_used;
    const struct wf_stack *stacks[PF_RANGES_MAX] = {NULL};
    int parked = 0;
    WF_ASSERT(count <= PF_RANGES_MAX);
    for (int i = 0; i < count; i++) {
        struct wf_task *t = tasks[i];
        WF_ASSERT(wf_task_may_park(t));
        wf_stack_seen(&t->coro.stack, t->coro.sp);
        size_t used = tell_used == NULL ? 0 : wf_stack_used(&t->coro.stack);
        if (!copy_out(t)) continue;
        if (used > 0) tell_used(t, used);
        stacks[parked++] = &t->coro.stack;
    }
    wf_stacks_close(w->stacks, stacks, parked);
    w->count.parked += (uint64_t)parked;
    return parked;
}

void wf_task_unpark(struct wf_worker *w, struct wf_task *t)
{
    WF_ASSERT(t->state == WF_TASK_UNPARKED && t->worker == w);
    struct parked *p = t->coro.sp;
    size_t count = words_of(t, p->sp);
    uint64_t *words = (uint64_t *)(void *)pf_context_low(p->sp);
    const uint64_t *from = p->packed;
    wf_stack_open(w->stacks, &t->coro.stack, (const char *)words);
    for (; count > 0; words += GROUP, count -= WF_MIN(count, GROUP)) {
        for (uint64_t mask = *from++; mask != 0; mask &= mask - 1) words[__builtin_ctzll(mask)] = *from++;
    }
    t->coro.sp = p->sp;
    pf_context_bounds(p->sp, t->coro.stack.base, wf_stack_top(&t->coro.stack));
    w->count.unparked++;
    free(p);
}

size_t wf_task_parked_bytes(const struct wf_task *t)
{
    WF_ASSERT(t->state == WF_TASK_PARKED || t->state == WF_TASK_UNPARKED);
    const struct parked *p = t->coro.sp;
    size_t at = 0;
    for (size_t left = words_of(t, p->sp); left > 0; left -= WF_MIN(left, GROUP))
        at += 1 + (size_t)__builtin_popcountll(p->packed[at]);
    return sizeof *p + at * sizeof *p->packed;
}

/* ---- Callers --------------------------------------------------------------------------------------------------- */

static bool word_of_parked(const void *task, uintptr_t address, uintptr_t *word)
{
    const struct wf_task *t = task;
    const struct parked *p = t->coro.sp;
    size_t at = 0, i = (address - (uintptr_t)pf_context_low(p->sp)) / sizeof(uint64_t);
    if (address < (uintptr_t)p->sp || i >= words_of(t, p->sp) || address % sizeof(uint64_t) != 0) return false;
    for (; i >= GROUP; i -= GROUP) at += 1 + (size_t)__builtin_popcountll(p->packed[at]);
    uint64_t mask = p->packed[at], bit = (uint64_t)1 << i;
    *word = (mask & bit) == 0 ? 0 : p->packed[at + 1 + (size_t)__builtin_popcountll(mask & (bit - 1))];
    return true;
}

/* This also reads variables whose scope has ended. That is intended, but ASan would report it. */
__attribute__((no_sanitize("address"))) static bool word_on_stack(const void *task, uintptr_t address,
                                                                  uintptr_t *word)
{
    const struct wf_task *t = task;
    if (address < (uintptr_t)t->coro.sp || address >= (uintptr_t)wf_stack_top(&t->coro.stack) ||
        address % sizeof *word != 0)
        return false;
    *word = *(const uintptr_t *)address;
    return true;
}

size_t wf_task_callers(const struct wf_task *t, uintptr_t *out, size_t max)
{
    if (t->state == WF_TASK_PARKED || t->state == WF_TASK_UNPARKED)
        return pf_context_callers(((const struct parked *)t->coro.sp)->sp, word_of_parked, t, out, max);
    bool has = t->state == WF_TASK_READY || t->state == WF_TASK_WAITING || t->state == WF_TASK_IDLE;
    if (!has || t->coro.stack.base == NULL || t->coro.sp == NULL) return 0;
    return pf_context_callers(t->coro.sp, word_on_stack, t, out, max);
}

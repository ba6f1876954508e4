/* tests/unit/runtime/coro/coro_cases.h -- properties that the switch must have on every processor. A file that
 * includes it defines EXPECT(condition). */
#ifndef CORO_CASES_H
#define CORO_CASES_H

#include <stdlib.h>

#include "coro.h"

static struct wf_stack_arena *new_arena(void)
{
    struct wf_stack_arena *arena;
    EXPECT(wf_stack_arena_create(&arena) == WEFT_OK);
    return arena;
}

static struct wf_stack take_stack(struct wf_stack_arena *arena, size_t bytes)
{
    struct wf_stack s;
    EXPECT(wf_stack_take(arena, bytes, &s) == WEFT_OK);
    return s;
}

/* ---- A ring: each coroutine runs the next, the last one runs the thread ---------------------------------------- */

struct member {
    struct wf_coro coro;
    struct wf_coro *next;
    int number, rounds, done;
};
static int turn;

/* Ends by leaving, its stack already given back. */
static struct wf_stack_arena *ring_arena;

static void ring_main(void *arg)
{
    struct member *m = arg;
    for (; m->done < m->rounds; m->done++) {
        EXPECT(turn == m->number);
        turn++;
        if (m->done + 1 < m->rounds) wf_coro_switch(&m->coro, m->next);
    }
    wf_stack_give(ring_arena, &m->coro.stack);
    wf_coro_leave(&m->coro, m->next);
}

static void case_ring(int count, int rounds)
{
    struct wf_coro thread;
    struct member *all = calloc((size_t)count, sizeof *all);
    ring_arena = new_arena();
    wf_coro_adopt_thread(&thread);
    for (int i = 0; i < count; i++) {
        all[i].number = i;
        all[i].rounds = rounds;
        all[i].next = i + 1 < count ? &all[i + 1].coro : &thread;
        wf_coro_prepare(&all[i].coro, take_stack(ring_arena, 1), ring_main, &all[i]);
    }
    for (int r = 0; r < rounds; r++) {
        turn = 0;
        wf_coro_switch(&thread, &all[0].coro);
        EXPECT(turn == count);
    }
    for (int i = 0; i < count; i++) EXPECT(all[i].done == rounds && all[i].coro.stack.base == NULL);
    wf_coro_release_thread(&thread);
    wf_stack_arena_destroy(ring_arena);
    free(all);
}

/* ---- Registers: more live values than registers, in both coroutines, across each switch ------------------------ */

struct pair {
    struct wf_stack_arena *arena;
    struct wf_coro thread, other;
    long long seed;
};

static __attribute__((noreturn)) void end_pair(struct pair *p)
{
    wf_stack_give(p->arena, &p->other.stack);
    wf_coro_leave(&p->other, &p->thread);
}

static void start_pair(struct pair *p, size_t stack_bytes, void (*entry)(void *arg))
{
    p->arena = new_arena();
    wf_coro_adopt_thread(&p->thread);
    wf_coro_prepare(&p->other, take_stack(p->arena, stack_bytes), entry, p);
}

static void finish_pair(struct pair *p)
{
    wf_coro_release_thread(&p->thread);
    wf_stack_arena_destroy(p->arena);
}

static __attribute__((noinline)) double churn(struct wf_coro *self, struct wf_coro *to, long long seed)
{
    unsigned long long a = (unsigned long long)seed, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6,
                       h = a + 7;
    double p = 0.5 + (double)seed, q = p * 3, r = p * 5, s = p * 7, t = p * 11, u = p * 13, v = p * 17, w = p * 19;
    for (int i = 0; i < 2000; i++) {
        a += b, b ^= c, c += d, d ^= e, e += f, f ^= g, g += h, h ^= a;
        p += q / 3, q -= r / 7, r += s / 5, s -= t / 9, t += u / 3, u -= v / 9, v += w / 5, w -= p / 31;
        if (to != NULL) wf_coro_switch(self, to);
    }
    return (double)((a ^ b ^ c ^ d ^ e ^ f ^ g ^ h) & 0xFFFFFFFF) + p + q + r + s + t + u + v + w;
}

static void registers_main(void *arg)
{
    struct pair *p = arg;
    double together = churn(&p->other, &p->thread, p->seed + 1000), alone = churn(NULL, NULL, p->seed + 1000);
    EXPECT(together == alone || (together != together && alone != alone));
    p->seed = -1;
    end_pair(p);
}

static void case_registers(void)
{
    struct pair p = {.seed = 42};
    start_pair(&p, 1, registers_main);
    double together = churn(&p.thread, &p.other, 42), alone = churn(NULL, NULL, 42);
    EXPECT(together == alone || (together != together && alone != alone));
    wf_coro_switch(&p.thread, &p.other);
    EXPECT(p.seed == -1);
    finish_pair(&p);
}

/* ---- Recursion: suspends in each of many frames, on the way down and on the way up ----------------------------- */

enum { DEPTH = 2000 };
static struct pair deep;

static __attribute__((noinline)) int descend(int level)
{
    volatile int here = level;
    wf_coro_switch(&deep.other, &deep.thread);
    int below = level == 0 ? 0 : descend(level - 1);
    wf_coro_switch(&deep.other, &deep.thread);
    EXPECT(here == level);
    return below + 1;
}

static void recursion_main(void *arg)
{
    (void)arg;
    EXPECT(((uintptr_t)__builtin_frame_address(0) & 15) == 0); /* the ABI's alignment at entry */
    int frames = descend(DEPTH);
    deep.seed = frames;
    end_pair(&deep);
}

static void case_recursion(void)
{
    int switches = 0;
    start_pair(&deep, 1 << 20, recursion_main);
    for (deep.seed = 0; deep.seed == 0; switches++) wf_coro_switch(&deep.thread, &deep.other);
    EXPECT(deep.seed == DEPTH + 1);
    EXPECT(switches == 2 * (DEPTH + 1) + 1);
    finish_pair(&deep);
}

/* ---- Leaving: short-lived coroutines, one after the other, on whatever stack is free --------------------------- */

static struct {
    struct wf_stack_arena *arena;
    struct wf_coro thread, coro;
    int ended;
} brief;

static void brief_main(void *arg)
{
    EXPECT(arg == &brief.ended);
    brief.ended++;
    struct wf_coro last = brief.coro; /* the owner's memory may be gone before the stack is left */
    wf_stack_give(brief.arena, &last.stack);
    wf_coro_leave(&last, &brief.thread);
}

static void case_leave(int count)
{
    size_t in_use, ever;
    brief.arena = new_arena();
    brief.ended = 0;
    wf_coro_adopt_thread(&brief.thread);
    for (int i = 0; i < count; i++) {
        brief.coro = (struct wf_coro){.sp = NULL};
        wf_coro_prepare(&brief.coro, take_stack(brief.arena, 1), brief_main, &brief.ended);
        wf_coro_switch(&brief.thread, &brief.coro);
        EXPECT(brief.ended == i + 1);
    }
    wf_stack_counts(brief.arena, &in_use, &ever);
    EXPECT(in_use == 0 && ever == 1);
    wf_coro_release_thread(&brief.thread);
    wf_stack_arena_destroy(brief.arena);
}

/* ---- Succession: a coroutine ends, and the next begins on its stack without a switch --------------------------- */

static struct {
    struct wf_stack_arena *arena;
    struct wf_coro thread;
    struct wf_coro *all;
    int count, suspended, ended;
} line;

static void succession_main(void *arg)
{
    char *base = ((struct wf_coro *)arg)->stack.base;
    for (int i = 0;; i++) {
        struct wf_coro *self = &line.all[i];
        EXPECT(self->stack.base == base);
        wf_coro_switch(self, &line.thread);
        line.ended++;
        if (i + 1 == line.count) {
            wf_stack_give(line.arena, &self->stack);
            wf_coro_leave(self, &line.thread);
        }
        wf_coro_succeed(self, self); /* it starts again */
        EXPECT(self->stack.base == base && self->sp == NULL);
        wf_coro_succeed(self, self + 1);
        EXPECT(self->stack.base == NULL && self->sp == NULL);
    }
}

static void case_succession(int count)
{
    line.arena = new_arena();
    line.all = calloc((size_t)count, sizeof *line.all);
    line.count = count;
    line.ended = 0;
    wf_coro_adopt_thread(&line.thread);
    wf_coro_prepare(&line.all[0], take_stack(line.arena, 1), succession_main, &line.all[0]);
    wf_coro_switch(&line.thread, &line.all[0]);
    for (int i = 0; i < count; i++) {
        EXPECT(line.ended == i);
        wf_coro_switch(&line.thread, &line.all[i]);
    }
    EXPECT(line.ended == count);
    wf_coro_release_thread(&line.thread);
    wf_stack_arena_destroy(line.arena);
    free(line.all);
}

#endif

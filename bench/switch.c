/* bench/switch.c -- the bare switch between coroutines, without a scheduler: two that alternate, and a ring of a
 * thousand. One line a result: "ctxswitch weft PARAMETERS METRIC VALUE". Argument: how many switches. */
#include <stdio.h>
#include <stdlib.h>

#include "coro.h"

enum { RING = 1000, REPEATS = 5 };

static struct wf_coro home, members[RING];

static void pass_on(void *arg)
{
    struct wf_coro *self = arg, *next = self == &members[RING - 1] ? &home : self + 1;
    for (;;) wf_coro_switch(self, next);
}

static void answer(void *arg)
{
    struct wf_coro *self = arg;
    for (;;) wf_coro_switch(self, &home);
}

/* The best of several runs: what disturbs a run only makes it longer. */
static double best_of(struct wf_coro *first, long rounds, long switches_per_round)
{
    double best = 1e18;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        int64_t begin = weft_now();
        for (long i = 0; i < rounds; i++) wf_coro_switch(&home, first);
        double each = (double)(weft_now() - begin) / ((double)rounds * (double)switches_per_round);
        if (each < best) best = each;
    }
    return best;
}

static void prepare(struct wf_stack_arena *arena, struct wf_coro *c, void (*entry)(void *arg))
{
    struct wf_stack stack;
    if (wf_stack_take(arena, WF_STACK_BYTES, &stack) < 0) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    wf_coro_prepare(c, stack, entry, c);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 50000000;
    struct wf_stack_arena *arena;
    static struct wf_coro other;
    if (n < RING + 1) {
        fprintf(stderr, "usage: %s [SWITCHES], at least %d\n", argv[0], RING + 1);
        return 2;
    }
    if (wf_stack_arena_create(&arena) < 0) return 1;
    wf_coro_adopt_thread(&home);
    prepare(arena, &other, answer);
    printf("ctxswitch weft switch,coroutines=2,threads=1,n=%ld ns_per_switch %.2f\n", n, best_of(&other, n / 2, 2));
    for (int i = 0; i < RING; i++) prepare(arena, &members[i], pass_on);
    printf("ctxswitch weft switch,coroutines=%d,threads=1,n=%ld ns_per_switch %.2f\n", RING, n,
           best_of(&members[0], n / (RING + 1), RING + 1));
    /* None of them runs again. */
    wf_stack_give(arena, &other.stack);
    for (int i = 0; i < RING; i++) wf_stack_give(arena, &members[i].stack);
    wf_stack_arena_destroy(arena);
    return 0;
}

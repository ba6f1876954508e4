/* tests/platform/wake_test.c -- wakes and deadlines of the poller. */
#include "conformance.h"

#include <stdatomic.h>

/* What was written arrives when the network's own way has been gone. */
static void await_bytes(pf_handle h)
{
    struct pf_env *clock = pf_env_native();
    int64_t until = clock->now(clock) + PATIENCE;
    while (pf_is_ready(h, false) == 0 && clock->now(clock) < until) {}
    ck_assert_int_eq(pf_is_ready(h, false), 1);
}

/* A wait that only a wake, or what is ready, ends. */
static int wait_for_ever(void)
{
    struct pf_ready r[4];
    return env->poller_wait(poller, r, 4, WEFT_FOREVER);
}

START_TEST(a_wake_before_the_wait_ends_it)
{
    env->poller_wake(poller);
    ck_assert_int_eq(wait_for_ever(), 0);
}
END_TEST

START_TEST(many_wakes_end_few_waits)
{
    struct pf_ready r[4];
    int early = 0;
    for (int i = 0; i < 100000; i++) env->poller_wake(poller); /* more than any pipe holds */
    ck_assert_int_eq(wait_for_ever(), 0);
    /* A few more returns are allowed, a hundred thousand are not. */
    for (;; early++) {
        int64_t deadline = env->now(env) + WEFT_MS(2);
        ck_assert_int_eq(env->poller_wait(poller, r, 4, deadline), 0);
        if (env->now(env) >= deadline) break;
    }
    ck_assert_int_le(early, 4);
    env->poller_wake(poller);
    ck_assert_int_eq(wait_for_ever(), 0);
}
END_TEST

START_TEST(a_wake_does_not_hide_what_is_ready)
{
    struct end pair[2];
    make_pair(0, pair);
    while (look() > 0) {}
    for (int i = 0; i < 100; i++) {
        char byte;
        ck_assert_int_eq(pf_read(pair[0].handle, &byte, 1), PF_AGAIN);
        forget(0);
        ck_assert_int_eq(env->poller_arm(poller, pair[0].handle, 0, false), WEFT_OK);
        env->poller_wake(poller);
        write_text(&pair[1], "x");
        env->poller_wake(poller);
        await_hint(&seen[0].readable);
        read_exactly(&pair[0], &byte, 1);
    }
    close_pair(pair);
}
END_TEST

static _Atomic int turns;

static void wake_often(void *arg)
{
    int wakes = *(int *)arg;
    for (int i = 1; i <= wakes; i++) {
        env->poller_wake(poller);
        while (atomic_load(&turns) < i) pf_cpu_relax(); /* each wake must be felt before the next one */
    }
}

START_TEST(a_wake_of_another_thread_is_never_lost)
{
    pf_thread *other;
    int wakes = 2000;
    atomic_store(&turns, 0);
    ck_assert_int_eq(pf_thread_start(&other, "waker", wake_often, &wakes), WEFT_OK);
    for (int felt = 0; felt < wakes;) {
        struct pf_ready r[4];
        int64_t deadline = env->now(env) + PATIENCE;
        simulation.patience = PATIENCE;
        ck_assert_int_eq(env->poller_wait(poller, r, 4, deadline), 0);
        ck_assert_int_lt(env->now(env), deadline);
        atomic_store(&turns, ++felt);
    }
    pf_thread_join(other);
}
END_TEST

enum { STORMERS = 4, STORM = 5000 };
static _Atomic int posted, storms_over;

static void storm(void *arg)
{
    (void)arg;
    for (int i = 0; i < STORM; i++) {
        atomic_fetch_add(&posted, 1);
        env->poller_wake(poller);
    }
    atomic_fetch_add(&storms_over, 1);
    env->poller_wake(poller);
}

/* As an inbox: each post is followed by a wake, and the reader looks after each wait. */
START_TEST(no_worker_sleeps_through_a_post_in_a_storm_of_wakes)
{
    pf_thread *all[STORMERS];
    atomic_store(&posted, 0);
    atomic_store(&storms_over, 0);
    for (int i = 0; i < STORMERS; i++) ck_assert_int_eq(pf_thread_start(&all[i], "storm", storm, NULL), WEFT_OK);
    int taken = 0;
    while (taken < STORMERS * STORM || atomic_load(&storms_over) < STORMERS) {
        ck_assert_int_eq(wait_for_ever(), 0);
        taken += atomic_exchange(&posted, 0);
    }
    ck_assert_int_eq(taken, STORMERS * STORM);
    for (int i = 0; i < STORMERS; i++) pf_thread_join(all[i]);
}
END_TEST

START_TEST(a_wake_is_for_one_poller)
{
    struct pf_poller *second;
    struct pf_ready r[4];
    ck_assert_int_eq(env->poller_create(env, &second), WEFT_OK);
    env->poller_wake(second);
    int64_t deadline = env->now(env) + WEFT_MS(2);
    ck_assert_int_eq(env->poller_wait(poller, r, 4, deadline), 0);
    ck_assert_int_ge(env->now(env), deadline);
    ck_assert_int_eq(env->poller_wait(second, r, 4, WEFT_FOREVER), 0);
    env->poller_wake(second); /* a poller goes with its wakes */
    env->poller_destroy(second);
}
END_TEST

START_TEST(deadlines_are_never_early)
{
    struct pf_ready r[4];
    static const int64_t SPANS[] = {1, 999, WEFT_US(100), WEFT_MS(1), WEFT_US(1500), WEFT_MS(3)};
    for (size_t i = 0; i < WF_COUNT(SPANS) * 3; i++) {
        int64_t deadline = env->now(env) + SPANS[i % WF_COUNT(SPANS)];
        ck_assert_int_eq(env->poller_wait(poller, r, 4, deadline), 0);
        ck_assert_int_ge(env->now(env), deadline);
    }
}
END_TEST

START_TEST(a_deadline_that_is_past_does_not_block)
{
    struct pf_ready r[4];
    ck_assert_int_eq(env->poller_wait(poller, r, 4, WEFT_NOW), 0);
    ck_assert_int_eq(env->poller_wait(poller, r, 4, 1), 0);
    ck_assert_int_eq(env->poller_wait(poller, r, 4, env->now(env)), 0);
}
END_TEST

START_TEST(a_ready_source_comes_before_a_past_deadline)
{
    struct end pair[2];
    char byte;
    make_pair(0, pair);
    while (look() > 0) {}
    ck_assert_int_eq(pf_read(pair[0].handle, &byte, 1), PF_AGAIN);
    forget(0);
    ck_assert_int_eq(env->poller_arm(poller, pair[0].handle, 0, false), WEFT_OK);
    write_text(&pair[1], "x");
    await_bytes(pair[0].handle);
    await_hint(&seen[0].readable);
    close_pair(pair);
}
END_TEST

static void wake_once(void *arg)
{
    (void)arg;
    env->poller_wake(poller);
}

/* A century does not overflow on its way to the kernel: only the wake ends this wait. */
START_TEST(a_deadline_of_a_century_does_not_overflow)
{
    static const int64_t SPANS[] = {WEFT_SEC(3600) * 24 * 365 * 100, WEFT_SEC(3600) * 24 * 25, INT64_MAX / 3};
    for (size_t i = 0; i < WF_COUNT(SPANS); i++) {
        struct pf_ready r[4];
        pf_thread *other;
        int64_t deadline = env->now(env) + SPANS[i];
        simulation.patience = PATIENCE;
        ck_assert_int_eq(pf_thread_start(&other, "waker", wake_once, NULL), WEFT_OK);
        ck_assert_int_eq(env->poller_wait(poller, r, 4, deadline), 0);
        ck_assert_int_lt(env->now(env), deadline);
        pf_thread_join(other);
        while (env->poller_wait(poller, r, 4, WEFT_NOW) > 0) {}
    }
}
END_TEST

START_TEST(the_handle_is_readable_while_wait_would_not_block)
{
    pf_handle h = env->poller_handle(poller);
    if (h == PF_NO_HANDLE) return;
    struct end pair[2];
    while (look() > 0) {}
    ck_assert_int_eq(pf_is_ready(h, false), 0);
    env->poller_wake(poller);
    ck_assert_int_eq(pf_is_ready(h, false), 1);
    while (pf_is_ready(h, false) == 1) (void)look();
    make_pair(0, pair);
    while (look() > 0) {}
    ck_assert_int_eq(pf_is_ready(h, false), 0);
    write_text(&pair[1], "x");
    await_bytes(pair[0].handle);
    ck_assert_int_eq(pf_is_ready(h, false), 1);
    close_pair(pair);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_wake_before_the_wait_ends_it,
        many_wakes_end_few_waits,
        a_wake_does_not_hide_what_is_ready,
        a_wake_of_another_thread_is_never_lost,
        no_worker_sleeps_through_a_post_in_a_storm_of_wakes,
        a_wake_is_for_one_poller,
        deadlines_are_never_early,
        a_deadline_that_is_past_does_not_block,
        a_ready_source_comes_before_a_past_deadline,
        a_deadline_of_a_century_does_not_overflow,
        the_handle_is_readable_while_wait_would_not_block,
    };
    Suite *suite = suite_create("conformance: wakes and deadlines");
    add_cases(suite, tests, WF_COUNT(tests));
    return run_suite(suite);
}

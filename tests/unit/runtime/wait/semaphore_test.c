/* tests/unit/runtime/wait/semaphore_test.c -- counting semaphores and latches. */
#include "../harness.h"

#include <signal.h>

#include "event.h"

#include <weft/latch.h>
#include <weft/semaphore.h>

#ifndef _WIN32
#include <poll.h>
#endif

static weft_semaphore semaphore;
static weft_latch latch;
static weft_semaphore finished; /* what tests count the end of others with */

/* ---- Semaphores ------------------------------------------------------------------------------------------------ */
static void counts(void *arg)
{
    (void)arg;
    want_int(weft_semaphore_open(&semaphore, 2), 0);
    want_int(weft_semaphore_count(semaphore), 2);
    want_int(weft_semaphore_take(semaphore), 1);
    want_int(weft_semaphore_await(semaphore, WEFT_NOW), 0); /* does not wait while there is one */
    want_int(weft_semaphore_take(semaphore), 0);
    want_int(weft_semaphore_await(semaphore, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_semaphore_post(semaphore, 0), 0);
    want_int(weft_semaphore_take(semaphore), 0);
    want_int(weft_semaphore_post(semaphore, WEFT_SEMAPHORE_MAX), 0);
    want_int(weft_semaphore_post(semaphore, 1), WEFT_EFULL);
    want_int(weft_semaphore_post(semaphore, UINT32_MAX), WEFT_EFULL);
    want_int(weft_semaphore_count(semaphore), WEFT_SEMAPHORE_MAX);
    want_int(weft_semaphore_take(semaphore), 1);
    want_int(weft_semaphore_post(semaphore, 1), 0);
    want_int(weft_semaphore_close(semaphore), 0);
    want_int(weft_semaphore_post(semaphore, 1), WEFT_ECLOSED);
    want_int(weft_semaphore_take(semaphore), WEFT_ECLOSED);
    want_int(weft_semaphore_count(semaphore), WEFT_ECLOSED);
    want_int(weft_semaphore_await(semaphore, WEFT_FOREVER), WEFT_ECLOSED);
    want_int(weft_semaphore_open(NULL, 0), WEFT_EINVAL);
    want_int(weft_semaphore_open(&semaphore, WEFT_SEMAPHORE_MAX + 1), WEFT_EINVAL);
}

START_TEST(a_semaphore_counts)
{
    run_alone(counts, NULL);
    want_int(weft_semaphore_open(&semaphore, 0), WEFT_ENOTACTOR);
    want_int(weft_semaphore_await(semaphore, WEFT_NOW), WEFT_ENOTACTOR);
}
END_TEST

enum { WAITERS = 6 };
static int passed;

static void pass_one(void *arg)
{
    *(int *)arg = weft_semaphore_await(semaphore, WEFT_FOREVER);
    passed++;
}

static void lets_go_as_many_as_posted(void *arg)
{
    (void)arg;
    int results[WAITERS];
    struct test_task *t[WAITERS];
    passed = 0;
    want_int(weft_semaphore_open(&semaphore, 0), 0);
    for (int i = 0; i < WAITERS; i++) {
        results[i] = 1;
        t[i] = spawn_here(pass_one, &results[i]);
    }
    for (int i = 0; i < WAITERS; i++) until(is_waiting(t[i]));
    want_int(weft_semaphore_post(semaphore, 1), 0);
    want_int(weft_semaphore_post(semaphore, 2), 0); /* before anybody has run */
    until(passed == 3);
    pass_turns(3);
    want_int(passed, 3);
    for (int i = 0; i < WAITERS; i++) want_int(results[i], i < 3 ? 0 : 1); /* who waits longest */
    want_int(weft_semaphore_post(semaphore, 1), 0);
    until(passed == 4);
    want_int(weft_semaphore_close(semaphore), 0);
    until(passed == WAITERS);
    for (int i = 0; i < WAITERS; i++) want_int(results[i], i < 4 ? 0 : WEFT_ECLOSED);
}

START_TEST(a_semaphore_wakes_as_many_waiters_as_were_posted)
{
    run_alone(lets_go_as_many_as_posted, NULL);
}
END_TEST

static struct {
    pf_mutex *lock;
    pf_cond *changed;
    int open, taken;
} shared;

static void note(int open, int taken)
{
    pf_mutex_lock(shared.lock);
    shared.open += open;
    shared.taken += taken;
    pf_cond_broadcast(shared.changed);
    pf_mutex_unlock(shared.lock);
}

static void wait_until_noted(int open, int taken)
{
    pf_mutex_lock(shared.lock);
    while (shared.open < open || shared.taken < taken) (void)pf_cond_wait(shared.changed, shared.lock, WEFT_FOREVER);
    want_int(shared.taken, taken);
    pf_mutex_unlock(shared.lock);
}

static void keep_open(void *arg)
{
    (void)arg;
    want_int(weft_semaphore_open(&semaphore, 0), 0);
    want_int(weft_semaphore_open(&finished, 0), 0);
    want_int(weft_latch_open(&latch, 4), 0);
    note(1, 0);
    want_int(weft_semaphore_await(finished, WEFT_FOREVER), 0);
}

static void take_until_closed(void *arg)
{
    (void)arg;
    int rc;
    while ((rc = weft_semaphore_await(semaphore, WEFT_FOREVER)) == 0) note(0, 1);
    want_int(rc, WEFT_ECLOSED);
}

enum { POSTS = 4000 };

static void post_many(void *arg)
{
    for (int i = 0; i < POSTS; i++) want_int(weft_semaphore_post(semaphore, *(uint32_t *)arg), 0);
}

#ifdef _WIN32
enum { SIGNALS = 0 };

static void post_from_a_handler(void)
{
    want_int(weft_latch_count_down(latch, 4), 0);
}
#else
enum { SIGNALS = 4 };

static void on_signal(int number)
{
    (void)number;
    want_int(weft_semaphore_post(semaphore, 1), 0);
    want_int(weft_latch_count_down(latch, 1), 0);
}

static void post_from_a_handler(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < SIGNALS; i++) want_int(raise(SIGUSR1), 0);
}
#endif

static void await_latch(void *arg)
{
    (void)arg;
    want_int(weft_latch_await(latch, WEFT_FOREVER), 0);
    note(1, 0);
}

START_TEST(posts_of_threads_and_signal_handlers_are_all_taken)
{
    struct harness h;
    pf_thread *threads[2];
    uint32_t n[2] = {1, 3};
    want_int(pf_mutex_create(&shared.lock), 0);
    want_int(pf_cond_create(&shared.changed), 0);
    harness_start(&h, 3);
    harness_spawn(&h, 0, keep_open, NULL);
    wait_until_noted(1, 0);
    for (uint32_t i = 0; i < WAITERS; i++) harness_spawn(&h, i % 3, take_until_closed, NULL);
    for (uint32_t i = 0; i < 3; i++) harness_spawn(&h, i, await_latch, NULL);
    for (int i = 0; i < 2; i++) want_int(pf_thread_start(&threads[i], "poster", post_many, &n[i]), 0);
    post_from_a_handler();
    wait_until_noted(4, 4 * POSTS + SIGNALS); /* all three are through the latch */
    want_int(weft_semaphore_count(semaphore), 0);
    want_int(weft_semaphore_post(finished, 1), 0); /* its opener ends, and closes them */
    for (int i = 0; i < 2; i++) pf_thread_join(threads[i]);
    harness_stop(&h);
    pf_mutex_destroy(shared.lock);
    pf_cond_destroy(shared.changed);
}
END_TEST

static void beside_others(void *arg)
{
    (void)arg;
    want_int(weft_semaphore_open(&semaphore, 0), 0);
    want_int(weft_latch_open(&latch, 2), 0);
    const weft_wait both[] = {weft_on_semaphore(semaphore), weft_on_latch(latch)};
    want_int(weft_wait_any(both, 2, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_latch_count_down(latch, 2), 0);
    want_int(weft_wait_any(both, 2, WEFT_FOREVER), 1);
    want_int(weft_semaphore_post(semaphore, 1), 0);
    want_int(weft_wait_any(both, 2, WEFT_FOREVER), 0);
    want_int(weft_wait_all(both, 2, WEFT_FOREVER), 0);
    want_int(weft_semaphore_take(semaphore), 1); /* waiting has consumed nothing */
    want_int(weft_wait_any(both, 1, WEFT_NOW), WEFT_ETIMEDOUT);
}

START_TEST(semaphores_and_latches_can_be_waited_for_beside_other_sources)
{
    run_alone(beside_others, NULL);
}
END_TEST

#ifndef _WIN32
static bool readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void show_state(void *arg)
{
    (void)arg;
    int fd, other;
    want_int(weft_semaphore_open(&semaphore, 2), 0);
    want_int(weft_semaphore_fd(semaphore, &fd), 0);
    want(readable(fd));
    want_int(weft_semaphore_take(semaphore), 1);
    want(readable(fd)); /* there is one more */
    want_int(weft_semaphore_take(semaphore), 1);
    want(!readable(fd));
    want_int(weft_semaphore_post(semaphore, 1), 0);
    want(readable(fd));
    want_int(weft_latch_open(&latch, 2), 0);
    want_int(weft_latch_fd(latch, &other), 0);
    want_int(weft_latch_count_down(latch, 1), 0);
    want(!readable(other));
    want_int(weft_latch_count_down(latch, 1), 0);
    want(readable(other));
}

START_TEST(semaphores_and_latches_can_be_shown_to_another_loop)
{
    run_alone(show_state, NULL);
}
END_TEST
#endif

/* ---- Latches --------------------------------------------------------------------------------------------------- */
static void pass_latch(void *arg)
{
    *(int *)arg = weft_latch_await(latch, WEFT_FOREVER);
    passed++;
}

static void opens_for_all(void *arg)
{
    (void)arg;
    int results[WAITERS];
    struct test_task *t[WAITERS];
    passed = 0;
    want_int(weft_latch_open(&latch, 3), 0);
    for (int i = 0; i < WAITERS; i++) {
        results[i] = 1;
        t[i] = spawn_here(pass_latch, &results[i]);
    }
    for (int i = 0; i < WAITERS; i++) until(is_waiting(t[i]));
    want_int(weft_latch_count_down(latch, 0), 0);
    want_int(weft_latch_count_down(latch, 2), 0);
    want_int(weft_latch_count(latch), 1);
    pass_turns(3);
    want_int(passed, 0);
    want_int(weft_latch_count_down(latch, 5), 0); /* more than is left */
    until(passed == WAITERS);
    for (int i = 0; i < WAITERS; i++) want_int(results[i], 0);
    want_int(weft_latch_count(latch), 0);
    want_int(weft_latch_count_down(latch, 1), 0);
    want_int(weft_latch_await(latch, WEFT_NOW), 0); /* it stays open */
    want_int(weft_latch_close(latch), 0);
    want_int(weft_latch_await(latch, WEFT_FOREVER), WEFT_ECLOSED);
    want_int(weft_latch_count_down(latch, 1), WEFT_ECLOSED);
    want_int(weft_latch_open(&latch, 0), 0);
    want_int(weft_latch_await(latch, WEFT_NOW), 0);
    want_int(weft_latch_open(NULL, 1), WEFT_EINVAL);
    want_int(weft_latch_open(&latch, WEFT_LATCH_MAX + 1), WEFT_EINVAL);
}

START_TEST(a_latch_opens_for_all_and_stays_open)
{
    run_alone(opens_for_all, NULL);
}
END_TEST

static void closed_while_armed(void *arg)
{
    (void)arg;
    int result = 1;
    passed = 0;
    want_int(weft_latch_open(&latch, 3), 0);
    struct test_task *t = spawn_here(pass_latch, &result);
    until(is_waiting(t));
    want_int(weft_latch_close(latch), 0);
    until(t->done);
    want_int(result, WEFT_ECLOSED);
}

START_TEST(a_latch_may_be_closed_while_others_wait)
{
    run_alone(closed_while_armed, NULL);
}
END_TEST

/* A handle of one kind whose bytes are taken for another kind's. */
static void mixed_up(void *arg)
{
    (void)arg;
    weft_event e;
    want_int(weft_semaphore_open(&semaphore, 1), 0);
    want_int(weft_latch_open(&latch, 1), 0);
    want_int(weft_event_open(&e), 0);
    const weft_event s = {semaphore.node, semaphore.id}, l = {latch.node, latch.id};
    want_int(weft_event_set(s), WEFT_EINVAL);
    want_int(weft_event_take(l), WEFT_EINVAL);
    want_int(weft_event_reset(l), WEFT_EINVAL);
    want_int(weft_event_await(s, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_semaphore_post((weft_semaphore){e.node, e.id}, 1), WEFT_EINVAL);
    want_int(weft_semaphore_count((weft_semaphore){e.node, e.id}), WEFT_EINVAL);
    want_int(weft_latch_count_down((weft_latch){e.node, e.id}, 1), WEFT_EINVAL);
    want_int(weft_latch_await((weft_latch){e.node, e.id}, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_event_take(e), 0);
}

START_TEST(a_handle_of_another_kind_is_refused)
{
    run_alone(mixed_up, NULL);
}
END_TEST

TEST_MAIN("semaphore", a_semaphore_counts, a_semaphore_wakes_as_many_waiters_as_were_posted,
          posts_of_threads_and_signal_handlers_are_all_taken,
          semaphores_and_latches_can_be_waited_for_beside_other_sources,
          ON_UNIX(semaphores_and_latches_can_be_shown_to_another_loop, ) a_latch_opens_for_all_and_stays_open,
          a_latch_may_be_closed_while_others_wait, a_handle_of_another_kind_is_refused)

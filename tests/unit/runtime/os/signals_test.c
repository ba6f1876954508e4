/* tests/unit/runtime/os/signals_test.c -- signals as sources. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "../harness.h"
#include "signals.h"

#include <weft/signal.h>
#include <weft/wait.h>

static weft_signal open_signal(int number)
{
    weft_signal s;
    want_int(weft_signal_open(&s, number), 0);
    return s;
}

static void await_signal(weft_signal s)
{
    weft_wait w = weft_on_signal(s);
    want_int(weft_wait_any(&w, 1, WEFT_FOREVER), 0);
}

static void hear(void *arg)
{
    (void)arg;
    weft_signal s = open_signal(SIGUSR1), other = open_signal(SIGUSR2);
    weft_wait w[] = {weft_on_signal(s), weft_on_signal(other)};
    want_int(weft_signal_take(s), 0);
    want_int(weft_wait_any(w, 2, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(kill(getpid(), SIGUSR2), 0);
    want_int(weft_wait_any(w, 2, WEFT_FOREVER), 1);
    want_int(weft_wait_any(w, 2, WEFT_NOW), 1); /* until it is taken */
    want_int(weft_signal_take(other), 1);
    want_int(weft_wait_any(w, 2, WEFT_NOW), WEFT_ETIMEDOUT);
    for (int i = 0; i < 3; i++) {
        want_int(kill(getpid(), SIGUSR1), 0);
        await_signal(s);
        want_int(weft_signal_take(s), 1);
    }
    want_int(weft_signal_close(s), 0);
    want_int(weft_signal_close(s), WEFT_ECLOSED);
    want_int(weft_signal_take(s), WEFT_ECLOSED);
}

START_TEST(a_signal_is_something_to_wait_for)
{
    run_alone(hear, NULL);
}
END_TEST

static void (*handler_of(int number))(int)
{
    struct sigaction now;
    want_int(sigaction(number, NULL, &now), 0);
    return now.sa_handler;
}

static bool is_default(int number)
{
    return handler_of(number) == SIG_DFL;
}

static void open_two(void *arg)
{
    (void)arg;
    weft_signal one = open_signal(SIGUSR1), two = open_signal(SIGUSR1);
    want(!is_default(SIGUSR1));
    want_int(kill(getpid(), SIGUSR1), 0);
    await_signal(one);
    await_signal(two);
    want_int(weft_signal_take(one), 1);
    want_int(weft_signal_take(two), 1);
    want_int(weft_signal_close(one), 0);
    want(!is_default(SIGUSR1));
    want_int(kill(getpid(), SIGUSR1), 0);
    await_signal(two);
    /* `two` ends with its actor */
}

START_TEST(all_sources_get_a_signal_and_the_last_one_restores_the_default)
{
    run_alone(open_two, NULL);
    ck_assert(is_default(SIGUSR1));
    run_alone(open_two, NULL); /* and once more */
    ck_assert(is_default(SIGUSR1));
}
END_TEST

static int heard;

static void count_signal(int number)
{
    (void)number;
    heard++;
}

START_TEST(a_handler_that_was_there_is_back_afterwards)
{
    struct sigaction mine = {.sa_handler = count_signal};
    ck_assert_int_eq(sigaction(SIGUSR1, &mine, NULL), 0);
    run_alone(open_two, NULL);
    ck_assert_int_eq(heard, 0);
    ck_assert_int_eq(raise(SIGUSR1), 0);
    ck_assert_int_eq(heard, 1);
    signal(SIGUSR1, SIG_DFL);
}
END_TEST

START_TEST(a_signal_comes_even_if_every_thread_blocks_it)
{
    sigset_t all, before;
    sigfillset(&all);
    ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
    run_alone(hear, NULL);
    ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}
END_TEST

static void hear_once(void *arg)
{
    weft_signal s = open_signal(SIGUSR1);
    pf_mutex_lock(arg);
    heard++;
    pf_mutex_unlock(arg);
    await_signal(s);
    want_int(weft_signal_take(s), 1);
}

static int now_heard(pf_mutex *lock)
{
    pf_mutex_lock(lock);
    int n = heard;
    pf_mutex_unlock(lock);
    return n;
}

static void send_when_all_listen(void *arg)
{
    until(now_heard(arg) == 4);
    want_int(kill(getpid(), SIGUSR1), 0);
}

START_TEST(actors_of_several_nodes_hear_it)
{
    struct harness a, b;
    pf_mutex *lock;
    heard = 0;
    want_int(pf_mutex_create(&lock), 0);
    harness_start(&a, 2);
    harness_start(&b, 2);
    for (uint32_t i = 0; i < 2; i++) {
        harness_spawn(&a, i, hear_once, lock);
        harness_spawn(&b, i, hear_once, lock);
    }
    harness_spawn(&a, 0, send_when_all_listen, lock);
    harness_stop(&a);
    harness_stop(&b);
    pf_mutex_destroy(lock);
}
END_TEST

static void open_badly(void *arg)
{
    (void)arg;
    weft_signal s;
    static const int bad[] = {0, -1, 65, 1000, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < WF_COUNT(bad); i++) want_int(weft_signal_open(&s, bad[i]), WEFT_EINVAL);
    want_int(weft_signal_open(NULL, SIGUSR1), WEFT_EINVAL);
    want_int(weft_signal_take((weft_signal){{0}}), WEFT_ECLOSED);
}

START_TEST(signals_that_cannot_be_caught_are_refused)
{
    run_alone(open_badly, NULL);
    weft_signal s;
    ck_assert_int_eq(weft_signal_open(&s, SIGUSR1), WEFT_ENOTACTOR);
}
END_TEST

/* ---- Beside the watcher of weft_main --------------------------------------------------------------------------- */

static _Atomic int watched;

static void watch(void *arg, int number)
{
    ck_assert_ptr_eq(arg, &watched);
    atomic_store(&watched, number);
}

static void take_sigint(void *arg)
{
    (void)arg;
    weft_signal s = open_signal(SIGINT);
    want_int(kill(getpid(), SIGINT), 0);
    await_signal(s);
    want_int(weft_signal_take(s), 1);
    want_int(atomic_load(&watched), 0);
    want_int(weft_signal_close(s), 0);
    want_int(kill(getpid(), SIGINT), 0);
    until(atomic_load(&watched) == SIGINT);
    want_int(kill(getpid(), SIGTERM), 0);
    until(atomic_load(&watched) == SIGTERM);
}

START_TEST(an_actor_that_asks_for_ctrl_c_has_it_to_itself)
{
    void (*before)(int) = handler_of(SIGINT); /* a shell may have it ignored */
    ck_assert_int_eq(wf_signals_watch(watch, &watched), 0);
    ck_assert_int_eq(wf_signals_watch(watch, &watched), WEFT_EBUSY);
    run_alone(take_sigint, NULL);
    wf_signals_unwatch();
    ck_assert(handler_of(SIGINT) == before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("signals");
    TCase *t = tcase_create("signals");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_signal_is_something_to_wait_for);
    tcase_add_test(t, all_sources_get_a_signal_and_the_last_one_restores_the_default);
    tcase_add_test(t, a_handler_that_was_there_is_back_afterwards);
    tcase_add_test(t, a_signal_comes_even_if_every_thread_blocks_it);
    tcase_add_test(t, actors_of_several_nodes_hear_it);
    tcase_add_test(t, signals_that_cannot_be_caught_are_refused);
    tcase_add_test(t, an_actor_that_asks_for_ctrl_c_has_it_to_itself);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

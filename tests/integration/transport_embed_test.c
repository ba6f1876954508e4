/* tests/integration/transport_embed_test.c -- nodes without a thread, which a poll() loop of this file runs. */
#include <pthread.h>
#include <signal.h>

#include "transport_harness.h"

#include <poll.h>

#include <weft/pipe.h>
#include <weft/stream.h>

static pthread_t loop_thread;
static _Atomic int stage; /* actors on other threads: release; the loop: acquire */

static bool readable(weft_node *n)
{
    struct pollfd p = {.fd = weft_node_fd(n), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

/* The whole loop: watches the descriptors, calls those that are readable. */
#define LOOP_UNTIL(condition, ...)                                                                              \
    do {                                                                                                        \
        weft_node *const nodes_[] = {__VA_ARGS__};                                                              \
        enum { COUNT_ = sizeof nodes_ / sizeof nodes_[0] };                                                     \
        while (!(condition)) {                                                                                  \
            struct pollfd p_[COUNT_];                                                                           \
            for (int i_ = 0; i_ < COUNT_; i_++)                                                                 \
                p_[i_] = (struct pollfd){.fd = weft_node_fd(nodes_[i_]), .events = POLLIN};                     \
            if (poll(p_, COUNT_, 20000) == 0) ck_abort_msg("no descriptor became readable before " #condition); \
            for (int i_ = 0; i_ < COUNT_; i_++)                                                                 \
                if (p_[i_].revents != 0) ck_assert_int_ge(weft_node_turn(nodes_[i_], WEFT_NOW), 0);             \
        }                                                                                                       \
    } while (0)

static weft_node *embedded(const char *name, const char *listen, const char *join)
{
    return node_with((weft_node_options){.name = name,
                                         .heartbeat = WEFT_MS(100),
                                         .resume_window = WEFT_SEC(60),
                                         .heartbeats_lost = 60,
                                         .park_after = WEFT_FOREVER,
                                         .embedded = true,
                                         .workers = 1},
                     listen, join);
}

static void sleep_and_tell(const void *arg, size_t size)
{
    (void)arg, (void)size;
    ck_assert(pthread_equal(pthread_self(), loop_thread));
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(weft_sleep(weft_after(WEFT_MS(1))), WEFT_OK);
        stage++;
    }
}

START_TEST(timers_make_the_descriptor_readable)
{
    weft_node *n = embedded("alone", NULL, NULL);
    loop_thread = pthread_self();
    stage = 0;
    run_actor(n, sleep_and_tell, NULL, 0);
    ck_assert_int_eq(stage, 0); /* nothing runs but in a turn */
    ck_assert(readable(n));
    LOOP_UNTIL(stage == 3, n);
    ck_assert_int_eq(weft_node_wait(n, WEFT_FOREVER), WEFT_OK);
    ck_assert_int_eq(weft_node_stop(n, patience()), WEFT_OK);
}
END_TEST

static void write_to_nobody(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_stream reading, writing;
    ck_assert_int_eq(weft_pipe(&reading, &writing), WEFT_OK);
    ck_assert_int_eq(weft_close(reading), WEFT_OK);
    ck_assert_int_eq(weft_write(writing, "x", 1, WEFT_FOREVER), WEFT_ERESET);
    ck_assert_int_eq(weft_close(writing), WEFT_OK);
    stage++;
}

static bool is_blocked(int number)
{
    sigset_t mask;
    ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    return sigismember(&mask, number) == 1;
}

static bool is_pending(int number)
{
    sigset_t pending;
    ck_assert_int_eq(sigpending(&pending), 0);
    return sigismember(&pending, number) == 1;
}

/* By default the signal would end the process. The signals that the thread had blocked, or pending, do not change. */
START_TEST(a_broken_pipe_is_no_signal_to_the_loop)
{
    weft_node *n = embedded("alone", NULL, NULL);
    sigset_t pipe_only;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    signal(SIGPIPE, SIG_DFL);
    stage = 0;
    run_actor(n, write_to_nobody, NULL, 0);
    LOOP_UNTIL(stage == 1, n);
    ck_assert(!is_blocked(SIGPIPE));
    ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, &pipe_only, NULL), 0);
    run_actor(n, write_to_nobody, NULL, 0);
    LOOP_UNTIL(stage == 2, n);
    ck_assert(is_blocked(SIGPIPE) && !is_pending(SIGPIPE));
    ck_assert_int_eq(pthread_kill(pthread_self(), SIGPIPE), 0);
    run_actor(n, write_to_nobody, NULL, 0);
    LOOP_UNTIL(stage == 3, n);
    ck_assert(is_pending(SIGPIPE));
    ck_assert_int_eq(weft_node_wait(n, WEFT_FOREVER), WEFT_OK);
    ck_assert_int_eq(weft_node_stop(n, patience()), WEFT_OK);
}
END_TEST

static weft_event tick;

static void await_ticks(const void *arg, size_t size)
{
    (void)arg, (void)size;
    ck_assert_int_eq(weft_event_open(&tick), WEFT_OK);
    stage = 1;
    while (weft_event_await(tick, WEFT_FOREVER) == WEFT_OK) stage++;
    say("asked to stop");
}

/* No timer is set, and nothing can be read: a thread that watches the descriptor sleeps for ever. */
static void let_rest(weft_node *n)
{
    while (weft_node_turn(n, WEFT_NOW) != WEFT_FOREVER) {}
    ck_assert(!readable(n));
}

static void *set_tick(void *arg)
{
    (void)arg;
    ck_assert_int_eq(weft_event_set(tick), WEFT_OK);
    return NULL;
}

START_TEST(an_idle_node_rests_until_somebody_posts)
{
    weft_node *n = embedded("alone", NULL, NULL);
    forget_all();
    stage = 0;
    run_actor(n, await_ticks, NULL, 0);
    LOOP_UNTIL(stage == 1, n);
    for (int i = 2; i < 50; i++) {
        pthread_t other;
        let_rest(n);
        ck_assert_int_eq(pthread_create(&other, NULL, set_tick, NULL), 0);
        if (i % 2 == 0) LOOP_UNTIL(stage == i, n);
        else
            while (stage < i) ck_assert_int_ge(weft_node_turn(n, WEFT_FOREVER), 0); /* without a loop */
        pthread_join(other, NULL);
    }
    ck_assert_int_eq(weft_node_stop(n, patience()), WEFT_OK);
    HEAR("asked to stop");
}
END_TEST

static void call_and_tell(const void *arg, size_t size)
{
    weft_msg *m = NULL;
    (void)size;
    await_link();
    ck_assert_int_eq(weft_call_name(arg, 1, NULL, 0, &m, patience()), WEFT_OK);
    weft_msg_free(m);
    stage++;
}

START_TEST(an_embedded_node_is_linked_with_a_real_one)
{
    weft_node_options patient = {
        .name = "real", .heartbeat = WEFT_MS(100), .resume_window = WEFT_SEC(60), .heartbeats_lost = 60};
    weft_node *real = node_with(patient, "tcp://127.0.0.1:0", NULL);
    forget_all();
    run_actor(real, echo, NULL, 0);
    HEAR("echo ready");
    weft_node *n = embedded("inside", "tcp://127.0.0.1:0", weft_node_url(real, 0));
    stage = 0;
    for (int i = 0; i < 10; i++) run_actor(n, call_and_tell, "echo@real", sizeof "echo@real");
    LOOP_UNTIL(stage == 10, n);
    /* And the other way. */
    forget_all();
    stage = 0;
    run_actor(n, echo, NULL, 0);
    LOOP_UNTIL(heard("echo ready", 0) == 1, n);
    for (int i = 0; i < 10; i++) run_actor(real, call_and_tell, "echo@inside", sizeof "echo@inside");
    LOOP_UNTIL(stage == 10, n);
    ck_assert_int_eq(weft_node_stop(n, patience()), WEFT_OK);
    ck_assert_int_eq(weft_node_stop(real, patience()), WEFT_OK);
}
END_TEST

START_TEST(two_in_one_thread_are_linked)
{
    weft_node *a = embedded("a", "tcp://127.0.0.1:0", NULL), *b = embedded("b", NULL, weft_node_url(a, 0));
    forget_all();
    stage = 0;
    run_actor(a, echo, NULL, 0);
    LOOP_UNTIL(heard("echo ready", 0) == 1, a);
    run_actor(b, call_and_tell, "echo@a", sizeof "echo@a");
    LOOP_UNTIL(stage == 1, a, b);
    ck_assert_int_eq(weft_node_stop(b, patience()), WEFT_OK);
    ck_assert_int_eq(weft_node_stop(a, patience()), WEFT_OK);
}
END_TEST

static void stay(const void *arg, size_t size)
{
    (void)arg, (void)size;
    while (weft_sleep(WEFT_FOREVER) != WEFT_ECANCELED) {}
    stage++;
}

static void never_ends(const void *arg, size_t size)
{
    (void)arg, (void)size;
    stage++;
    for (;;) (void)weft_sleep(weft_after(WEFT_MS(1)));
}

START_TEST(an_embedded_node_stops_in_the_thread_of_its_caller)
{
    weft_node *n = embedded("alone", NULL, NULL);
    stage = 0;
    for (int i = 0; i < 5; i++) run_actor(n, stay, NULL, 0);
    ck_assert_int_eq(weft_node_wait(n, weft_after(WEFT_MS(2))), WEFT_ETIMEDOUT); /* turns the node meanwhile */
    ck_assert_int_eq(weft_node_stop(n, patience()), WEFT_OK);
    ck_assert_int_eq(stage, 5);
    n = embedded("alone", NULL, NULL);
    run_actor(n, never_ends, NULL, 0);
    LOOP_UNTIL(stage == 6, n);
    ck_assert_int_eq(weft_node_stop(n, WEFT_NOW), WEFT_ETIMEDOUT); /* it had to be killed */
    n = embedded("alone", NULL, NULL);
    ck_assert_int_eq(weft_node_stop(n, patience()), WEFT_OK); /* one that has never turned */
}
END_TEST

static weft_node *mine;

static void turn_within(const void *arg, size_t size)
{
    (void)arg, (void)size;
    ck_assert_int_eq(weft_node_turn(mine, WEFT_NOW), WEFT_EINVAL);
    ck_assert_int_eq(weft_node_wait(mine, WEFT_NOW), WEFT_EINVAL);
    ck_assert_int_eq(weft_node_stop(mine, WEFT_NOW), WEFT_EINVAL);
    stage++;
}

START_TEST(wrong_uses_of_embedding_are_refused)
{
    weft_node *n = NULL;
    ck_assert_int_eq(weft_node_start(&n, &(weft_node_options){.embedded = true, .workers = 2}), WEFT_EINVAL);
    ck_assert_int_eq(weft_main(&(weft_node_options){.embedded = true}, stay, NULL, 0), 1);
    ck_assert_int_eq(weft_node_fd(NULL), WEFT_EINVAL);
    ck_assert_int_eq(weft_node_turn(NULL, WEFT_NOW), WEFT_EINVAL);
    n = node_up("threads", NULL, NULL, WEFT_SEC(1));
    ck_assert_int_eq(weft_node_fd(n), WEFT_EINVAL);
    ck_assert_int_eq(weft_node_turn(n, WEFT_NOW), WEFT_EINVAL);
    ck_assert_int_eq(weft_node_stop(n, patience()), WEFT_OK);
    mine = embedded("alone", NULL, NULL);
    stage = 0;
    run_actor(mine, turn_within, NULL, 0);
    LOOP_UNTIL(stage == 1, mine);
    ck_assert_int_eq(weft_node_stop(mine, patience()), WEFT_OK);
}
END_TEST

/* More than fits into one turn: the descriptor stays readable until all of it has run. */
static void yield_often(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 100; i++) weft_yield();
    stage++;
}

START_TEST(work_that_is_left_keeps_it_readable)
{
    enum { MANY = 2000 };
    weft_node *n = embedded("alone", NULL, NULL);
    stage = 0;
    for (int i = 0; i < MANY; i++) run_actor(n, yield_often, NULL, 0);
    LOOP_UNTIL(stage == MANY, n);
    let_rest(n);
    ck_assert_int_eq(weft_node_stop(n, patience()), WEFT_OK);
}
END_TEST

int main(void)
{
    if (THROUGH_LIBKQUEUE) return 77; /* it has no descriptor for other loops */
    Suite *suite = suite_create("transport_embed");
    TCase *c = tcase_create("transport_embed");
    tcase_set_timeout(c, 100);
    tcase_add_test(c, timers_make_the_descriptor_readable);
    tcase_add_test(c, a_broken_pipe_is_no_signal_to_the_loop);
    tcase_add_test(c, an_idle_node_rests_until_somebody_posts);
    tcase_add_test(c, an_embedded_node_is_linked_with_a_real_one);
    tcase_add_test(c, two_in_one_thread_are_linked);
    tcase_add_test(c, an_embedded_node_stops_in_the_thread_of_its_caller);
    tcase_add_test(c, wrong_uses_of_embedding_are_refused);
    tcase_add_test(c, work_that_is_left_keeps_it_readable);
    suite_add_tcase(suite, c);
    return run_suite_unforked(suite);
}

/* tests/unit/runtime/wait/event_kinds_test.c -- manual events, events of another node, and events as descriptors. */
#include "../harness.h"

#include "event.h"

#include <weft/wait.h>

#ifndef _WIN32
#include <fcntl.h>
#include <poll.h>
#endif

enum { MANY = 5 };
static weft_event event;

struct outcome {
    int result;
    bool over;
};

static void await_once(void *arg)
{
    struct outcome *o = arg;
    o->result = weft_event_await(event, WEFT_FOREVER);
    o->over = true;
}

static void wait_any_once(void *arg)
{
    struct outcome *o = arg;
    weft_wait w = weft_on_event(event);
    o->result = weft_wait_any(&w, 1, WEFT_FOREVER);
    o->over = true;
}

/* Every second one by weft_wait_any. */
static void spawn_waiters(struct test_task *t[MANY], struct outcome o[MANY], void (*first)(void *),
                          void (*second)(void *))
{
    for (int i = 0; i < MANY; i++) {
        o[i] = (struct outcome){.result = 1};
        t[i] = spawn_here(i % 2 == 0 ? first : second, &o[i]);
    }
    for (int i = 0; i < MANY; i++) until(is_waiting(t[i]));
}

static int over(const struct outcome o[MANY])
{
    int n = 0;
    for (int i = 0; i < MANY; i++) n += o[i].over;
    return n;
}

/* ---- What a set lets go ---------------------------------------------------------------------------------------- */
static void mark(void *arg)
{
    *(bool *)arg = true;
}

static void set_already(void *arg)
{
    bool ran = false;
    want_int(arg == NULL ? weft_event_open(&event) : weft_event_open_manual(&event), 0);
    want_int(weft_event_set(event), 0);
    (void)spawn_here(mark, &ran);
    pass_turns(0);
    ran = false;
    struct test_task *other = spawn_here(mark, &ran);
    want_int(weft_event_await(event, WEFT_FOREVER), 0);
    want(!ran); /* another task would have run if this one had been suspended */
    until(other->done);
}

START_TEST(an_event_that_is_set_already_does_not_suspend)
{
    run_alone(set_already, NULL);
    run_alone(set_already, &event);
}
END_TEST

static void one_by_one(void *arg)
{
    (void)arg;
    struct test_task *t[MANY];
    struct outcome o[MANY];
    want_int(weft_event_open(&event), 0);
    spawn_waiters(t, o, await_once, await_once);
    for (int i = 0; i < MANY; i++) {
        want_int(weft_event_set(event), 0);
        until(over(o) == i + 1);
        pass_turns(3);
        want_int(over(o), i + 1);
        want(o[i].over && o[i].result == 0); /* who waits longest comes first */
    }
    want_int(weft_event_take(event), 0);
}

START_TEST(a_set_of_an_automatic_event_wakes_one_of_many)
{
    run_alone(one_by_one, NULL);
}
END_TEST

static void all_at_once(void *arg)
{
    (void)arg;
    struct test_task *t[MANY];
    struct outcome o[MANY];
    want_int(weft_event_open_manual(&event), 0);
    spawn_waiters(t, o, await_once, wait_any_once);
    want_int(weft_event_set(event), 0);
    until(over(o) == MANY);
    for (int i = 0; i < MANY; i++) want_int(o[i].result, 0);
    want_int(weft_event_take(event), 1); /* it stays set */
    want_int(weft_event_await(event, WEFT_NOW), 0);
    want_int(weft_event_reset(event), 0);
    want_int(weft_event_reset(event), 0);
    want_int(weft_event_take(event), 0);
    want_int(weft_event_await(event, WEFT_NOW), WEFT_ETIMEDOUT);
    struct outcome last = {.result = 1};
    struct test_task *again = spawn_here(await_once, &last);
    until(is_waiting(again));
    pass_turns(3);
    want(is_waiting(again)); /* a reset event blocks again */
    want_int(weft_event_set(event), 0);
    until(last.over);
}

START_TEST(a_manual_event_wakes_all_waiters_until_it_is_reset)
{
    run_alone(all_at_once, NULL);
}
END_TEST

static void set_and_reset_at_once(void *arg)
{
    (void)arg;
    struct test_task *t[MANY];
    struct outcome o[MANY];
    want_int(weft_event_open_manual(&event), 0);
    for (int round = 0; round < 3; round++) {
        spawn_waiters(t, o, await_once, wait_any_once);
        want_int(weft_event_set(event), 0);
        want_int(weft_event_reset(event), 0);
        until(over(o) == MANY);
        for (int i = 0; i < MANY; i++) want_int(o[i].result, 0);
    }
    /* A task that comes afterwards waits. */
    struct outcome late = {.result = 1};
    struct test_task *last = spawn_here(await_once, &late);
    until(is_waiting(last));
    pass_turns(3);
    want(is_waiting(last));
    want_int(weft_event_close(event), 0);
    until(late.over);
    want_int(late.result, WEFT_ECLOSED);
}

START_TEST(a_manual_event_that_is_reset_at_once_wakes_all_its_waiters)
{
    run_alone(set_and_reset_at_once, NULL);
}
END_TEST

static void automatic_reset(void *arg)
{
    (void)arg;
    want_int(weft_event_open(&event), 0);
    want_int(weft_event_set(event), 0);
    want_int(weft_event_reset(event), 0);
    want_int(weft_event_take(event), 0);
    want_int(weft_event_close(event), 0);
    want_int(weft_event_reset(event), WEFT_ECLOSED);
    want_int(weft_event_open_manual(NULL), WEFT_EINVAL);
}

START_TEST(an_automatic_event_can_be_reset_too)
{
    run_alone(automatic_reset, NULL);
}
END_TEST

/* ---- Several workers and several nodes ------------------------------------------------------------------------- */
static struct {
    pf_mutex *lock;
    pf_cond *changed;
    int stage;
} shared;

static void share(void)
{
    want_int(pf_mutex_create(&shared.lock), 0);
    want_int(pf_cond_create(&shared.changed), 0);
    shared.stage = 0;
}

static void share_end(void)
{
    pf_mutex_destroy(shared.lock);
    pf_cond_destroy(shared.changed);
}

static void advance(void)
{
    pf_mutex_lock(shared.lock);
    shared.stage++;
    pf_cond_broadcast(shared.changed);
    pf_mutex_unlock(shared.lock);
}

static void wait_for_stage(int stage)
{
    pf_mutex_lock(shared.lock);
    while (shared.stage < stage) (void)pf_cond_wait(shared.changed, shared.lock, WEFT_FOREVER);
    pf_mutex_unlock(shared.lock);
}

static weft_event over_event;

/* Opens what is to be shared and stays until it is told to end. */
static void keep_manual(void *arg)
{
    (void)arg;
    want_int(weft_event_open_manual(&event), 0);
    want_int(weft_event_open(&over_event), 0);
    advance();
    want_int(weft_event_await(over_event, WEFT_FOREVER), 0);
}

static void await_and_advance(void *arg)
{
    int rounds = *(int *)arg;
    for (int i = 0; i < rounds; i++) {
        want_int(weft_event_await(event, WEFT_FOREVER), 0);
        want_int(weft_event_reset(event), 0);
        advance();
    }
}

static void set_once(void *arg)
{
    (void)arg;
    want_int(weft_event_set(event), 0);
}

START_TEST(another_nodes_worker_may_set)
{
    struct harness here, there;
    int rounds = 200;
    share();
    harness_start(&here, 1);
    harness_start(&there, 1);
    harness_spawn(&here, 0, keep_manual, NULL);
    wait_for_stage(1);
    harness_spawn(&here, 0, await_and_advance, &rounds);
    for (int i = 0; i < rounds; i++) {
        harness_spawn(&there, 0, set_once, NULL);
        wait_for_stage(i + 2);
    }
    want_int(weft_event_set(over_event), 0);
    harness_stop(&there);
    harness_stop(&here);
    share_end();
}
END_TEST

static void await_of_another_node(void *arg)
{
    (void)arg;
    weft_wait w = weft_on_event(event);
    want_int(weft_event_await(event, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_wait_any(&w, 1, WEFT_FOREVER), WEFT_EINVAL);
}

START_TEST(only_actors_of_its_node_may_wait)
{
    struct harness here, there;
    share();
    harness_start(&here, 1);
    harness_start(&there, 1);
    harness_spawn(&here, 0, keep_manual, NULL);
    wait_for_stage(1);
    harness_spawn(&there, 0, await_of_another_node, NULL);
    harness_stop(&there);
    want_int(weft_event_set(over_event), 0);
    harness_stop(&here);
    share_end();
}
END_TEST

static void await_pulses(void *arg)
{
    int rounds = *(int *)arg;
    advance();
    for (int i = 0; i < rounds; i++) {
        int rc = weft_event_await(event, WEFT_FOREVER);
        if (rc != 0) {
            want_int(rc, WEFT_ECLOSED);
            break;
        }
        advance();
    }
}

/* A set that is reset before the waiter's request has come to the event's home. */
static void pulse_until_stage(int stage)
{
    for (;;) {
        want_int(weft_event_set(event), 0);
        want_int(weft_event_reset(event), 0);
        pf_mutex_lock(shared.lock);
        bool done = shared.stage >= stage;
        pf_mutex_unlock(shared.lock);
        if (done) return;
    }
}

START_TEST(waiters_on_another_worker_do_not_miss_a_set)
{
    struct harness h;
    int rounds = 300;
    share();
    harness_start(&h, 2);
    harness_spawn(&h, 0, keep_manual, NULL);
    wait_for_stage(1);
    harness_spawn(&h, 1, await_pulses, &rounds);
    pulse_until_stage(2 + rounds);
    want_int(weft_event_set(over_event), 0);
    harness_stop(&h);
    share_end();
}
END_TEST

#ifndef _WIN32
/* ---- As a descriptor ------------------------------------------------------------------------------------------- */
static bool readable(int fd, int timeout)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, timeout) == 1;
}

static void shows_its_state(void *arg)
{
    (void)arg;
    int fd, same;
    want_int(weft_event_open(&event), 0);
    want_int(weft_event_fd(event, &fd), 0);
    want_int(weft_event_fd(event, &same), 0);
    want_int(fd, same);
    want(!readable(fd, 0));
    for (int i = 0; i < 3; i++) {
        want_int(weft_event_set(event), 0);
        want_int(weft_event_set(event), 0);
        want(readable(fd, 0));
        want_int(weft_event_take(event), 1);
        want(!readable(fd, 0));
        want_int(weft_event_take(event), 0);
        want(!readable(fd, 0));
    }
    want_int(weft_event_set(event), 0);
    want_int(weft_event_await(event, WEFT_FOREVER), 0); /* an actor was faster than the loop */
    want(!readable(fd, 0));
    want_int(weft_event_set(event), 0);
    want_int(weft_event_reset(event), 0);
    want(!readable(fd, 0));
    want_int(weft_event_fd(event, NULL), WEFT_EINVAL);
    want_int(weft_event_close(event), 0);
    want(readable(fd, 0));
    want_int(weft_event_take(event), WEFT_ECLOSED);
    want_int(weft_event_fd(event, &fd), WEFT_ECLOSED);
    want(readable(fd, 0));
    /* The next one in the slot is not set. */
    want_int(weft_event_open_manual(&event), 0);
    want_int(weft_event_fd(event, &same), 0);
    want_int(fd, same);
    want(!readable(fd, 0));
    want_int(weft_event_set(event), 0);
    want_int(weft_event_take(event), 1);
    want(readable(fd, 0)); /* it is a manual one */
    want_int(weft_event_reset(event), 0);
    want(!readable(fd, 0));
}

START_TEST(the_descriptor_of_an_event_is_readable_while_it_is_set)
{
    run_alone(shows_its_state, NULL);
}
END_TEST

static void set_before_and_show(void *arg)
{
    (void)arg;
    int fd;
    want_int(weft_event_open(&event), 0);
    want_int(weft_event_set(event), 0);
    want_int(weft_event_fd(event, &fd), 0);
    want(readable(fd, 0));
}

START_TEST(a_descriptor_asked_for_later_shows_what_is_so)
{
    run_alone(set_before_and_show, NULL);
}
END_TEST

static void keep_automatic(void *arg)
{
    (void)arg;
    want_int(weft_event_open(&event), 0);
    want_int(weft_event_open(&over_event), 0);
    advance();
    want_int(weft_event_await(over_event, WEFT_FOREVER), 0);
}

static void set_often(void *arg)
{
    int rounds = *(int *)arg;
    for (int i = 1; i < rounds; i++) want_int(weft_event_set(event), 0);
    advance(); /* before the last one: who takes that and waits for more would wait for ever */
    want_int(weft_event_set(event), 0);
}

/* Two threads set, this one is the foreign loop: after the last set it finds the event readable once more. */
START_TEST(a_foreign_loop_misses_no_set)
{
    struct harness h;
    pf_thread *threads[2];
    int rounds = 20000, fd, taken = 0;
    share();
    harness_start(&h, 1);
    harness_spawn(&h, 0, keep_automatic, NULL);
    wait_for_stage(1);
    want_int(weft_event_fd(event, &fd), 0);
    for (int i = 0; i < 2; i++) want_int(pf_thread_start(&threads[i], "setter", set_often, &rounds), 0);
    for (bool last = false;;) {
        want(readable(fd, -1));
        taken += weft_event_take(event);
        if (last) break;
        pf_mutex_lock(shared.lock);
        bool done = shared.stage == 3;
        pf_mutex_unlock(shared.lock);
        if (!done) continue;
        for (int i = 0; i < 2; i++) pf_thread_join(threads[i]);
        want_int(weft_event_set(event), 0); /* the others have ended: this one must show */
        last = true;
    }
    want(taken > 0);
    want_int(weft_event_take(event), 0);
    want(!readable(fd, 0));
    want_int(weft_event_set(over_event), 0);
    harness_stop(&h);
    want_int(fcntl(fd, F_GETFD), -1); /* it went with the node */
    share_end();
}
END_TEST
#endif

TEST_MAIN("event_kinds", an_event_that_is_set_already_does_not_suspend, a_set_of_an_automatic_event_wakes_one_of_many,
          a_manual_event_wakes_all_waiters_until_it_is_reset,
          a_manual_event_that_is_reset_at_once_wakes_all_its_waiters, an_automatic_event_can_be_reset_too,
          ON_UNIX(the_descriptor_of_an_event_is_readable_while_it_is_set,
                  a_descriptor_asked_for_later_shows_what_is_so, a_foreign_loop_misses_no_set, )
              another_nodes_worker_may_set,
          only_actors_of_its_node_may_wait, waiters_on_another_worker_do_not_miss_a_set)

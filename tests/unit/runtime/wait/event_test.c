#include "../harness.h"

#include <pthread.h>
#include <signal.h>

#include "event.h"

#include <weft/wait.h>

static weft_event event;

static void await_once(void *arg)
{
    *(int *)arg = weft_event_await(event, WEFT_FOREVER);
}

static void again_blocks(void *arg)
{
    (void)arg;
    want_int(weft_event_open(&event), 0);
    want_int(weft_event_set(event), 0);
    want_int(weft_event_set(event), 0); /* two sets before a take are one */
    want_int(weft_event_await(event, WEFT_FOREVER), 0);
    want_int(weft_event_await(event, WEFT_NOW), WEFT_ETIMEDOUT);
    int result = 1;
    struct test_task *waiter = spawn_here(await_once, &result);
    until(is_waiting(waiter));
    pass_turns(3);
    want(is_waiting(waiter));
    want_int(weft_event_set(event), 0);
    until(waiter->done);
    want_int(result, 0);
    want_int(weft_event_take(event), 0); /* the waiter took it */
}

START_TEST(await_set_await_blocks_until_the_next_set)
{
    run_alone(again_blocks, NULL);
}
END_TEST

static void take_clears(void *arg)
{
    (void)arg;
    want_int(weft_event_open(&event), 0);
    want_int(weft_event_take(event), 0);
    want_int(weft_event_set(event), 0);
    want_int(weft_event_take(event), 1);
    want_int(weft_event_take(event), 0);
}

START_TEST(take_says_whether_it_was_set_and_clears)
{
    run_alone(take_clears, NULL);
}
END_TEST

/* ---- Other threads, signals ---- */
enum { ROUNDS = 2000 };

static struct {
    pf_mutex *lock;
    pf_cond *changed;
    bool open;
    int taken;
} shared;

static void tell(bool open, int taken)
{
    pf_mutex_lock(shared.lock);
    shared.open |= open;
    shared.taken += taken;
    pf_cond_broadcast(shared.changed);
    pf_mutex_unlock(shared.lock);
}

static void wait_for_taken(int count)
{
    pf_mutex_lock(shared.lock);
    while (!shared.open || shared.taken < count) (void)pf_cond_wait(shared.changed, shared.lock, WEFT_FOREVER);
    want_int(shared.taken, count);
    pf_mutex_unlock(shared.lock);
}

static void share(void)
{
    want_int(pf_mutex_create(&shared.lock), 0);
    want_int(pf_cond_create(&shared.changed), 0);
    shared.open = false;
    shared.taken = 0;
}

static void share_end(void)
{
    pf_mutex_destroy(shared.lock);
    pf_cond_destroy(shared.changed);
}

static void take_rounds(void *arg)
{
    (void)arg;
    want_int(weft_event_open(&event), 0);
    tell(true, 0);
    for (int i = 0; i < ROUNDS; i++) {
        want_int(weft_event_await(event, WEFT_FOREVER), 0);
        tell(false, 1);
    }
}

static void set_rounds(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        wait_for_taken(i);
        want_int(weft_event_set(event), 0);
    }
}

START_TEST(a_set_by_a_foreign_thread_wakes_the_waiter)
{
    struct harness h;
    pf_thread *thread;
    share();
    harness_start(&h, 1);
    harness_spawn(&h, 0, take_rounds, NULL);
    want_int(pf_thread_start(&thread, "setter", set_rounds, NULL), 0);
    pf_thread_join(thread);
    harness_stop(&h);
    share_end();
}
END_TEST

#ifndef _WIN32
static void on_signal(int number)
{
    (void)number;
    (void)weft_event_set(event);
}

static void await_signals(void *arg)
{
    (void)arg;
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGUSR1);
    want_int(weft_event_open(&event), 0);
    want_int(raise(SIGUSR1), 0); /* blocked in this thread: comes with the next line, on this very thread */
    want_int(pthread_sigmask(SIG_UNBLOCK, &ours, NULL), 0);
    want_int(weft_event_await(event, WEFT_FOREVER), 0);
    int result = 1;
    struct test_task *waiter = spawn_here(await_once, &result);
    until(is_waiting(waiter));
    want_int(raise(SIGUSR1), 0);
    until(waiter->done);
    want_int(result, 0);
    /* And while the worker sleeps, from outside. */
    want_int(pthread_sigmask(SIG_BLOCK, &ours, NULL), 0);
    tell(true, 0);
    want_int(weft_event_await(event, WEFT_FOREVER), 0);
}

START_TEST(signal_handlers_may_set)
{
    struct harness h;
    struct sigaction action = {.sa_handler = on_signal};
    share();
    harness_start(&h, 1);
    sigaction(SIGUSR1, &action, NULL);
    harness_spawn(&h, 0, await_signals, NULL);
    wait_for_taken(0);
    want_int(raise(SIGUSR1), 0);
    harness_stop(&h);
    share_end();
}
END_TEST
#endif

/* ---- Several workers ---- */
static void open_and_keep(void *arg)
{
    (void)arg;
    want_int(weft_event_open(&event), 0);
    tell(true, 0);
    while (weft_event_await(event, WEFT_FOREVER) == 0) tell(false, 1);
}

static void take_until_closed(void *arg)
{
    (void)arg;
    int rc;
    while ((rc = weft_event_await(event, WEFT_FOREVER)) == 0) tell(false, 1);
    want_int(rc, WEFT_ECLOSED);
}

static void close_event_there(void *arg)
{
    (void)arg;
    want_int(weft_event_close(event), 0);
    want_int(weft_event_close(event), WEFT_ECLOSED);
}

START_TEST(waiters_on_several_workers_share_the_sets)
{
    struct harness h;
    share();
    harness_start(&h, 3);
    harness_spawn(&h, 0, open_and_keep, NULL);
    wait_for_taken(0);
    for (uint32_t i = 0; i < 6; i++) harness_spawn(&h, i % 3, take_until_closed, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        wait_for_taken(i);
        want_int(weft_event_set(event), 0);
    }
    wait_for_taken(ROUNDS);
    harness_spawn(&h, 2, close_event_there, NULL); /* not its home */
    harness_stop(&h);
    share_end();
}
END_TEST

static void open_then_wait(void *arg)
{
    want_int(weft_event_open(&event), 0);
    tell(true, 0);
    weft_event go = *(weft_event *)arg;
    want_int(weft_event_await(go, WEFT_FOREVER), 0); /* then end, and the event with it */
}

static weft_event go_event;

static void open_go(void *arg)
{
    (void)arg;
    want_int(weft_event_open(&go_event), 0);
    tell(true, 0);
    want_int(weft_wait_any(NULL, 0, WEFT_FOREVER), WEFT_ECANCELED); /* keeps it open */
}

static void cancel_there(struct wf_worker *w, struct wf_call *c);
struct order {
    struct wf_call call;
    struct test_task *task;
};

static void cancel_there(struct wf_worker *w, struct wf_call *c)
{
    (void)w;
    wf_task_cancel(&WF_CONTAINER(c, struct order, call)->task->task);
}

START_TEST(an_event_closes_with_the_actor_that_opened_it)
{
    struct harness h;
    share();
    harness_start(&h, 2);
    struct test_task *keeper = harness_spawn(&h, 1, open_go, NULL);
    wait_for_taken(0);
    shared.open = false;
    harness_spawn(&h, 0, open_then_wait, &go_event);
    wait_for_taken(0);
    for (uint32_t i = 0; i < 4; i++) harness_spawn(&h, i % 2, take_until_closed, NULL);
    want_int(weft_event_set(go_event), 0);
    pf_mutex_lock(h.lock);
    while (h.alive > 1) (void)pf_cond_wait(h.ended, h.lock, WEFT_FOREVER);
    pf_mutex_unlock(h.lock);
    want_int(weft_event_set(event), WEFT_ECLOSED);
    struct order order = {.call = {.post = {.kind = WF_POST_CALL}, .call = cancel_there}, .task = keeper};
    wf_worker_post(h.set.at[1], &order.call.post);
    harness_stop(&h);
    share_end();
}
END_TEST

/* ---- Deadlines, cancelling, stale handles ---- */
static void await_briefly(void *arg)
{
    *(int *)arg = weft_event_await(event, weft_after(WEFT_MS(2)));
}

static void await_for_ever(void *arg)
{
    *(int *)arg = 1;
    *(int *)arg = weft_event_await(event, WEFT_FOREVER);
}

static void ends_of_waits(void *arg)
{
    bool opens = arg != NULL;
    if (opens) want_int(weft_event_open(&event), 0);
    int result = 1;
    struct test_task *t = spawn_here(await_briefly, &result);
    until(t->done);
    want_int(result, WEFT_ETIMEDOUT);
    t = spawn_here(await_for_ever, &result);
    until(is_waiting(t));
    wf_task_cancel(&t->task);
    until(t->done);
    want_int(result, WEFT_ECANCELED);
    t = spawn_here(await_for_ever, &result);
    until(is_waiting(t));
    wf_task_kill(&t->task);
    until(t->done);
    want(t->was_killed);
    want_int(result, 1);
    want_int(weft_event_take(event), 0);
    if (!opens) tell(false, 1);
}

START_TEST(waits_end_at_deadline_cancel_and_kill)
{
    run_alone(ends_of_waits, &event);
}
END_TEST

START_TEST(waits_on_another_worker_end_likewise)
{
    struct harness h;
    share();
    harness_start(&h, 2);
    struct test_task *keeper = harness_spawn(&h, 1, open_and_keep, NULL);
    wait_for_taken(0);
    harness_spawn(&h, 0, ends_of_waits, NULL);
    wait_for_taken(1);
    struct order order = {.call = {.post = {.kind = WF_POST_CALL}, .call = cancel_there}, .task = keeper};
    wf_worker_post(h.set.at[1], &order.call.post);
    harness_stop(&h);
    share_end();
}
END_TEST

static void use_stale(void *arg)
{
    (void)arg;
    weft_event first, second;
    want_int(weft_event_open(&first), 0);
    want_int(weft_event_close(first), 0);
    want_int(weft_event_open(&second), 0); /* in the same slot */
    want_int(weft_event_set(first), WEFT_ECLOSED);
    want_int(weft_event_take(first), WEFT_ECLOSED);
    want_int(weft_event_await(first, WEFT_FOREVER), WEFT_ECLOSED);
    want_int(weft_event_close(first), WEFT_ECLOSED);
    want_int(weft_event_take(second), 0);
    want_int(weft_event_close(second), 0);
    weft_event none = {NULL, 0};
    want_int(weft_event_set(none), WEFT_ECLOSED);
    want_int(weft_event_await(none, WEFT_FOREVER), WEFT_ECLOSED);
    want_int(weft_event_open(NULL), WEFT_EINVAL);
}

START_TEST(stale_handles_say_closed)
{
    run_alone(use_stale, NULL);
    want_int(weft_event_open(&event), WEFT_ENOTACTOR);
    want_int(weft_event_await(event, WEFT_NOW), WEFT_ENOTACTOR);
    want_int(weft_event_close(event), WEFT_ENOTACTOR);
}
END_TEST

static void closed_while_waited_for(void *arg)
{
    (void)arg;
    want_int(weft_event_open(&event), 0);
    int results[3] = {1, 1, 1};
    struct test_task *t[3];
    for (int i = 0; i < 3; i++) t[i] = spawn_here(await_once, &results[i]);
    for (int i = 0; i < 3; i++) until(is_waiting(t[i]));
    want_int(weft_event_close(event), 0);
    for (int i = 0; i < 3; i++) {
        until(t[i]->done);
        want_int(results[i], WEFT_ECLOSED);
    }
}

START_TEST(closing_wakes_every_waiter)
{
    run_alone(closed_while_waited_for, NULL);
}
END_TEST

/* ---- Everything at once ---- */
static _Atomic uint64_t newest; /* id of the event in use; release by its opener, acquire by setters */
static _Atomic(weft_node *) newest_node;
static _Atomic bool over;

static void hammer(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        weft_event e = {.node = atomic_load(&newest_node), .id = atomic_load(&newest)};
        if (e.node == NULL) continue;
        int rc = weft_event_set(e);
        want(rc == 0 || rc == WEFT_ECLOSED);
    }
}

static void wait_for_newest(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        weft_event e = {.node = atomic_load(&newest_node), .id = atomic_load(&newest)};
        if (e.node == NULL) {
            wf_task_yield();
            continue;
        }
        int rc = weft_event_await(e, WEFT_FOREVER);
        want(rc == 0 || rc == WEFT_ECLOSED);
        wf_task_yield();
    }
}

static void open_and_close(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        weft_event e;
        want_int(weft_event_open(&e), 0);
        atomic_store(&newest, e.id);
        atomic_store(&newest_node, e.node);
        for (int k = 0; k < i % 5; k++) wf_task_yield();
        want_int(weft_event_close(e), 0);
    }
    atomic_store(&over, true);
}

START_TEST(setting_waiting_and_closing_race_safely)
{
    struct harness h;
    pf_thread *thread;
    atomic_store(&over, false);
    atomic_store(&newest_node, NULL);
    harness_start(&h, 2);
    want_int(pf_thread_start(&thread, "setter", hammer, NULL), 0);
    for (uint32_t i = 0; i < 4; i++) harness_spawn(&h, i % 2, wait_for_newest, NULL);
    harness_spawn(&h, 0, open_and_close, NULL);
    harness_join(&h);
    pf_thread_join(thread);
    harness_stop(&h);
}
END_TEST

TEST_MAIN("event", await_set_await_blocks_until_the_next_set, take_says_whether_it_was_set_and_clears,
          a_set_by_a_foreign_thread_wakes_the_waiter,
          ON_UNIX(signal_handlers_may_set, ) waiters_on_several_workers_share_the_sets,
          an_event_closes_with_the_actor_that_opened_it, waits_end_at_deadline_cancel_and_kill,
          waits_on_another_worker_end_likewise, stale_handles_say_closed, closing_wakes_every_waiter,
          setting_waiting_and_closing_race_safely)

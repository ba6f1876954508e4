/* tests/unit/runtime/wait/event_turns_test.c -- many tasks wait for one semaphore or event, on several workers: the
 * one that has waited longest is served first, a post wakes one task for each unit, a turn that is not used goes to
 * the next task, and many tasks are woken in parts. */
#include "../harness.h"

#include "event.h"

#include <weft/semaphore.h>
#include <weft/wait.h>

enum { MANY = 12, WORKERS = 4 };

static weft_event event; /* what is waited for: an automatic event, or a semaphore's id */
static bool counted;     /* it is a semaphore */
static _Atomic int served;
static int order[MANY];

static void open_one(bool semaphore)
{
    weft_semaphore s;
    counted = semaphore;
    served = 0;
    if (!semaphore) {
        want_int(weft_event_open(&event), 0);
        return;
    }
    want_int(weft_semaphore_open(&s, 0), 0);
    event = (weft_event){s.node, s.id};
}

static void post(uint32_t n)
{
    if (counted) want_int(weft_semaphore_post((weft_semaphore){event.node, event.id}, n), 0);
    else want_int(weft_event_set(event), 0);
}

static int await(int64_t deadline)
{
    if (counted) return weft_semaphore_await((weft_semaphore){event.node, event.id}, deadline);
    return weft_event_await(event, deadline);
}

static int take(void)
{
    return counted ? weft_semaphore_take((weft_semaphore){event.node, event.id}) : weft_event_take(event);
}

/* The event's slot. Only a task on the event's home may use it. */
static struct wf_event *slot(void)
{
    return wf_slab_at(&wf_here->events, wf_id_slot(event.id));
}

static bool nobody_queues(void)
{
    return wf_list_empty(&slot()->queue) && wf_list_empty(&slot()->called);
}

/* ---- The order ------------------------------------------------------------------------------------------------- */
static void be_served(void *arg)
{
    want_int(await(WEFT_FOREVER), 0);
    order[served] = *(int *)arg; /* one at a time is served in the tests that look at it */
    served++;
}

static void one_after_the_other(void *arg)
{
    int number[MANY];
    open_one(*(bool *)arg);
    for (int i = 0; i < MANY; i++) {
        number[i] = i;
        harness_spawn(harness_here(), (uint32_t)(i * 7 + 3) % WORKERS, be_served, &number[i]);
        until(slot()->arrivals == (uint64_t)i + 1);
    }
    for (int i = 0; i < MANY; i++) {
        post(1);
        until(served == i + 1);
        want_int(order[i], i);
    }
    until(nobody_queues());
    want_int(take(), 0);
}

static void run_on_workers(void (*run)(void *), bool semaphore)
{
    struct harness h;
    harness_start(&h, WORKERS);
    harness_spawn(&h, 0, run, &semaphore);
    harness_stop(&h);
}

START_TEST(the_longest_waiting_task_is_served_first_on_every_worker)
{
    run_on_workers(one_after_the_other, true);
    run_on_workers(one_after_the_other, false);
}
END_TEST

enum { THREE = 3, ROUNDS = 333 };

static void come_back(void *arg)
{
    while (await(WEFT_FOREVER) == 0) {
        ++*(int *)arg;
        served++;
    }
}

static void three_come_back(void *arg)
{
    int each[THREE] = {0};
    open_one(*(bool *)arg);
    for (int i = 0; i < THREE; i++) harness_spawn(harness_here(), i < 2 ? 0 : 1, come_back, &each[i]);
    for (int i = 0; i < THREE * ROUNDS; i++) {
        until(slot()->arrivals == (uint64_t)(i + THREE)); /* all three wait */
        post(1);
        until(served == i + 1);
    }
    for (int i = 0; i < THREE; i++) want_int(each[i], ROUNDS);
    want_int(weft_event_close(event), 0);
}

START_TEST(waiters_that_come_back_get_an_equal_share)
{
    run_on_workers(three_come_back, true);
    run_on_workers(three_come_back, false);
}
END_TEST

/* A task that begins to wait while another one was called, but has not run yet, is behind it. */
static void newcomer(void *arg)
{
    int first = 0, second = 1;
    open_one(*(bool *)arg);
    harness_spawn(harness_here(), 1, be_served, &first);
    until(slot()->arrivals == 1);
    post(1);
    want_int(await(WEFT_NOW), WEFT_ETIMEDOUT);
    const weft_wait source = weft_on_event(event);
    want_int(weft_wait_any(&source, 1, WEFT_NOW), WEFT_ETIMEDOUT);
    struct test_task *t = spawn_here(be_served, &second);
    until(served == 1);
    want_int(order[0], first);
    until(is_waiting(t));
    post(1);
    until(served == 2);
}

START_TEST(a_newcomer_stands_behind_those_who_wait)
{
    run_on_workers(newcomer, true);
    run_on_workers(newcomer, false);
}
END_TEST

/* ---- The cost -------------------------------------------------------------------------------------------------- */
enum { JOBS = 6000, PERMITS = 10 };

static void job(void *arg)
{
    (void)arg;
    want_int(await(WEFT_FOREVER), 0);
    wf_task_yield();
    post(1);
    served++;
}

static void limit(void *arg)
{
    (void)arg;
    open_one(true);
    for (uint32_t i = 0; i < JOBS; i++) harness_spawn(harness_here(), i % 2, job, NULL);
    until(slot()->arrivals == JOBS);
    post(PERMITS);
    until(served == JOBS && nobody_queues());
    want_int(weft_semaphore_count((weft_semaphore){event.node, event.id}), PERMITS);
}

/* A wait leaves two records: that it begins, and that it was woken. */
START_TEST(the_cost_of_waits_is_proportional_to_the_jobs)
{
    struct harness h;
    uint64_t records = 0;
    harness_start(&h, 2);
    harness_spawn(&h, 0, limit, NULL);
    harness_join(&h);
    for (uint32_t i = 0; i < 2; i++) records += atomic_load(&h.set.at[i]->recorder.next) / sizeof(struct wf_record);
    harness_stop(&h);
    want(records >= 2 * (uint64_t)JOBS);
    want(records <= 3 * (uint64_t)JOBS); /* each waits once; a few are called in vain */
}
END_TEST

/* ---- Turns that are not used ----------------------------------------------------------------------------------- */
static weft_event other;
static _Atomic int passed_by;

static void take_the_other(void *arg)
{
    const weft_wait sources[] = {weft_on_event(other), weft_on_event(event)};
    want_int(weft_wait_any(sources, 2, WEFT_FOREVER), *(int *)arg);
    passed_by++;
    want_int(weft_event_await(other, WEFT_FOREVER), 0); /* and does not take what it was told of */
    passed_by++;
}

static void gives_way(void *arg)
{
    for (uint32_t worker = 0; worker < 2; worker++) {
        for (int index = 0; index < 2; index++) {
            int number = 0;
            passed_by = 0;
            want_int(weft_event_open(&other), 0);
            open_one(*(bool *)arg);
            harness_spawn(harness_here(), worker, take_the_other, &index);
            until(slot()->arrivals == 1);
            harness_spawn(harness_here(), 1 - worker, be_served, &number);
            until(slot()->arrivals == 2);
            if (index == 0) want_int(weft_event_set(other), 0); /* before it has looked */
            post(1);
            until(served == 1 && passed_by >= 1);
            want_int(weft_event_set(other), 0);
            until(passed_by == 2 && nobody_queues());
        }
    }
}

START_TEST(a_wait_that_takes_another_source_or_nothing_passes_its_turn_on)
{
    run_on_workers(gives_way, true);
    run_on_workers(gives_way, false);
}
END_TEST

static void wait_for_both(void *arg)
{
    (void)arg;
    const weft_wait sources[] = {weft_on_event(event), weft_on_event(other)};
    want_int(weft_wait_all(sources, 2, WEFT_FOREVER), 0);
    passed_by++;
}

static void waits_for_all(void *arg)
{
    for (uint32_t worker = 0; worker < 2; worker++) {
        int number = 0;
        passed_by = 0;
        want_int(weft_event_open(&other), 0);
        open_one(*(bool *)arg);
        harness_spawn(harness_here(), worker, wait_for_both, NULL);
        until(slot()->arrivals == 1);
        harness_spawn(harness_here(), 1 - worker, be_served, &number);
        until(slot()->arrivals == 2);
        post(1);
        until(served == 1); /* the first still waits for the other source */
        want_int(passed_by, 0);
        want_int(weft_event_set(other), 0);
        until(passed_by == 1 && nobody_queues());
    }
}

START_TEST(a_wait_for_all_passes_its_turn_on)
{
    run_on_workers(waits_for_all, true);
    run_on_workers(waits_for_all, false);
}
END_TEST

static void await_cancelled(void *arg)
{
    *(int *)arg = await(WEFT_FOREVER);
    passed_by++;
}

static void is_cancelled(void *arg)
{
    int rc = 1, number = 0;
    passed_by = 0;
    open_one(*(bool *)arg);
    struct test_task *t = spawn_here(await_cancelled, &rc);
    until(slot()->arrivals == 1);
    harness_spawn(harness_here(), 1, be_served, &number);
    until(slot()->arrivals == 2);
    /* Both are in its queue when it runs: it was called, and is to end. */
    post(1);
    wf_task_cancel(&t->task);
    until(passed_by == 1);
    want(rc == WEFT_ECANCELED);
    until(served == 1);
    until(nobody_queues());
}

START_TEST(a_cancelled_wait_passes_its_turn_on)
{
    run_on_workers(is_cancelled, true);
    run_on_workers(is_cancelled, false);
}
END_TEST

/* Deadlines, takes without waiting, waits for any: whatever happens, each post is served to somebody. */
enum { POSTS = 20000, CROWD = 24 };
static _Atomic int taken, gone;

static void impatient(void *arg)
{
    uint32_t seed = *(uint32_t *)arg * 2654435761U + 1;
    const weft_wait source = weft_on_event(event);
    for (int rc = 0; rc != WEFT_ECLOSED;) {
        seed = seed * 1664525U + 1013904223U;
        int64_t deadline = seed >> 30 == 0 ? WEFT_FOREVER : weft_after(WEFT_US(seed >> 27));
        if ((seed >> 20 & 3) != 0) {
            rc = await(deadline);
            if (rc == 0) taken++;
        } else {
            rc = weft_wait_any(&source, 1, deadline);
            if (rc == 0 && (seed >> 22 & 1) != 0 && take() == 1) taken++;
            wf_task_yield();
        }
    }
    gone++;
}

static void post_all(void *arg)
{
    (void)arg;
    for (int i = 0; i < POSTS; i++) post(1);
}

static void crowd(void *arg)
{
    uint32_t seed[CROWD];
    pf_thread *thread;
    taken = gone = 0;
    open_one(*(bool *)arg);
    for (uint32_t i = 0; i < CROWD; i++) {
        seed[i] = i;
        harness_spawn(harness_here(), i % WORKERS, impatient, &seed[i]);
    }
    want_int(pf_thread_start(&thread, "poster", post_all, NULL), 0);
    for (int i = 0; i < POSTS; i++) {
        post(1);
        wf_task_yield();
    }
    pf_thread_join(thread);
    until(counted ? taken == 2 * POSTS : (atomic_load(&slot()->word) & 1) == 0); /* WF_EVENT: SET */
    want_int(weft_event_close(event), 0);
    until(gone == CROWD);
}

START_TEST(no_post_is_lost_on_those_that_give_up)
{
    run_on_workers(crowd, true);
    run_on_workers(crowd, false);
}
END_TEST

/* ---- Many waits: they are woken in parts ----------------------------------------------------------------- */
enum { MANY_WAITS = 16 * WF_EVENT_PART };

enum { LATCH, UNITS, KEEP_SET, SET_AND_RESET, CLOSE, WAYS };
static int way;
static weft_event bell;   /* what many tasks wait for */
static weft_event second; /* what they wait for afterwards */
static _Atomic int woken, gave_up, returned;

static struct wf_event *bell_slot(void)
{
    return wf_slab_at(&wf_here->events, wf_id_slot(bell.id));
}

static void open_bell(void)
{
    static const enum wf_event_kind kind[WAYS] = {[LATCH] = WF_LATCH,
                                                  [UNITS] = WF_SEMAPHORE,
                                                  [KEEP_SET] = WF_EVENT_MANUAL,
                                                  [SET_AND_RESET] = WF_EVENT_MANUAL,
                                                  [CLOSE] = WF_EVENT_AUTO};
    want_int(wf_event_open(&bell, kind[way], way == LATCH), 0);
    want_int(weft_event_open_manual(&second), 0);
    woken = gave_up = returned = 0;
}

static void ring(void)
{
    switch (way) {
    case LATCH: want_int(wf_event_count_down(bell, 1), 0); return;
    case UNITS: want_int(wf_event_count_up(bell, MANY_WAITS), 0); return;
    case CLOSE: want_int(weft_event_close(bell), 0); return;
    default: want_int(weft_event_set(bell), 0);
    }
    if (way == SET_AND_RESET) want_int(weft_event_reset(bell), 0);
}

static int await_bell(void)
{
    return wf_event_await(bell, UINT32_MAX, WEFT_FOREVER, "the bell");
}

static void one_of_many(void *arg)
{
    (void)arg;
    int rc = await_bell();
    if (rc == WEFT_ECANCELED) {
        gave_up++;
        return;
    }
    want_int(rc, way == CLOSE ? WEFT_ECLOSED : 0);
    woken++;
    /* Those that come back to an event that was set and reset wait until it is closed. */
    if (way == SET_AND_RESET) want_int(await_bell(), WEFT_ECLOSED);
    else want_int(weft_event_await(second, WEFT_FOREVER), 0);
    returned++;
}

static void let_them_return(void)
{
    if (way == SET_AND_RESET) want_int(weft_event_close(bell), 0);
    else want_int(weft_event_set(second), 0);
    until(returned + gave_up == MANY_WAITS);
}

/* How many tasks were ready at once, at most, until all were woken. */
static uint32_t most_ready(int all)
{
    uint32_t most = 0;
    while (woken + gave_up < all) {
        most = WF_MAX(most, wf_here->ready_count);
        wf_task_yield();
    }
    return most;
}

static void ring_for_many(void *arg)
{
    const uint32_t worker = *(uint32_t *)arg;
    open_bell();
    for (int i = 0; i < MANY_WAITS; i++) harness_spawn(harness_here(), worker, one_of_many, NULL);
    until(bell_slot()->arrivals == MANY_WAITS);
    const uint64_t records = wf_here->recorder.next;
    ring();
    /* A turn wakes a part, and runs more tasks than that. Tickets of other workers may come in one turn. */
    const uint32_t most = most_ready(MANY_WAITS);
    if (worker == 0) want(most <= 2 * WF_EVENT_PART);
    if (way == SET_AND_RESET) { /* those that have come back are not called again and again */
        until(bell_slot()->arrivals == 2 * MANY_WAITS && bell_slot()->called_count == 0);
        want_int(atomic_load(&bell_slot()->word) & 4, 0); /* WF_EVENT: POSTED */
        if (worker == 0) want((wf_here->recorder.next - records) / sizeof(struct wf_record) <= 3 * MANY_WAITS);
    }
    let_them_return();
}

static void for_each_way(void (*run)(void *), uint32_t worker)
{
    for (int i = 0; i < WAYS; i++) {
        struct harness h;
        way = i;
        harness_start(&h, 2);
        harness_spawn(&h, 0, run, &worker);
        harness_stop(&h);
    }
}

START_TEST(many_waits_are_woken_in_parts)
{
    for_each_way(ring_for_many, 0);
}
END_TEST

START_TEST(many_waits_of_another_worker_are_all_woken)
{
    for_each_way(ring_for_many, 1);
}
END_TEST

/* Between two parts every second one of those that were not woken yet is cancelled, and leaves the queue. */
static void cancel_between_parts(void *arg)
{
    static struct test_task *task[MANY_WAITS];
    (void)arg;
    open_bell();
    for (int i = 0; i < MANY_WAITS; i++) task[i] = spawn_here(one_of_many, NULL);
    until(bell_slot()->arrivals == MANY_WAITS);
    ring();
    until(woken > 0);
    want(woken < MANY_WAITS / 2);
    for (int i = MANY_WAITS / 2; i < MANY_WAITS; i += 2) wf_task_cancel(&task[i]->task);
    (void)most_ready(MANY_WAITS);
    want_int(gave_up, MANY_WAITS / 4);
    let_them_return();
}

START_TEST(waits_that_are_cancelled_between_two_parts_are_not_missed)
{
    for_each_way(cancel_between_parts, 0);
}
END_TEST

TEST_MAIN("event_turns", the_longest_waiting_task_is_served_first_on_every_worker,
          waiters_that_come_back_get_an_equal_share, a_newcomer_stands_behind_those_who_wait,
          the_cost_of_waits_is_proportional_to_the_jobs,
          a_wait_that_takes_another_source_or_nothing_passes_its_turn_on, a_wait_for_all_passes_its_turn_on,
          a_cancelled_wait_passes_its_turn_on, no_post_is_lost_on_those_that_give_up, many_waits_are_woken_in_parts,
          many_waits_of_another_worker_are_all_woken, waits_that_are_cancelled_between_two_parts_are_not_missed)

#include "../harness.h"

#include "../../../sockets.h"

#include "event.h"
#include "fd.h"

#include <weft/wait.h>

/* ---- Which one ---- */
static void lowest_first(void *arg)
{
    (void)arg;
    weft_event a, b;
    weft_timer t;
    want_int(weft_event_open(&a), 0);
    want_int(weft_event_open(&b), 0);
    want_int(weft_timer_open(&t, WEFT_FOREVER, 0), 0);
    weft_wait w[] = {weft_on_timer(t), weft_on_event(a), weft_on_mailbox(), weft_on_event(b)};
    want_int(weft_wait_any(w, 4, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_event_set(b), 0);
    want_int(weft_wait_any(w, 4, WEFT_FOREVER), 3);
    test_of(wf_task_self())->mail = true;
    want_int(weft_wait_any(w, 4, WEFT_FOREVER), 2);
    want_int(weft_event_set(a), 0);
    want_int(weft_wait_any(w, 4, WEFT_FOREVER), 1);
    want_int(weft_wait_any(w, 4, WEFT_FOREVER), 1); /* nothing was consumed */
    want_int(weft_timer_set(t, WEFT_NOW, 0), 0);
    wf_task_yield();
    want_int(weft_wait_any(w + 1, 3, weft_after(WEFT_MS(1))), 0);
    want_int(weft_timer_set(t, WEFT_NOW, 0), 0);
    want_int(weft_wait_any(w, 1, WEFT_FOREVER), 0);
    want_int(weft_wait_any(w, 4, WEFT_FOREVER), 0);
    want_int(weft_event_take(a), 1);
    want_int(weft_event_take(b), 1);
    want_int(weft_timer_take(t), 1);
    test_of(wf_task_self())->mail = false;
    want_int(weft_wait_any(w, 4, weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
}

START_TEST(the_lowest_ready_index_is_returned_and_nothing_is_consumed)
{
    run_alone(lowest_first, NULL);
}
END_TEST

struct waiting {
    weft_wait *sources;
    size_t count;
    bool all;
    int64_t deadline;
    int result;
};

static void do_wait(void *arg)
{
    struct waiting *w = arg;
    w->result = 1000;
    w->result = (w->all ? weft_wait_all : weft_wait_any)(w->sources, w->count, w->deadline);
}

static bool untouched(weft_event e)
{
    struct wf_event *ev = wf_slab_find(&wf_here->events, e.id);
    return ev != NULL && wf_list_empty(&ev->queue) && wf_list_empty(&ev->called) &&
           (uint32_t)atomic_load(&ev->word) == 0;
}

static void losers(void *arg)
{
    (void)arg;
    weft_event a, b;
    int pipes[2];
    want_int(pipe(pipes), 0);
    want_int(weft_event_open(&a), 0);
    want_int(weft_event_open(&b), 0);
    weft_wait sources[] = {weft_on_event(a), weft_on_fd(pipes[0], false), weft_on_mailbox(), weft_on_event(b)};
    struct waiting wait = {.sources = sources, .count = 4, .deadline = WEFT_FOREVER};
    for (int round = 0; round < 4; round++) {
        struct test_task *t = spawn_here(do_wait, &wait);
        until(is_waiting(t));
        want_int(wf_here->fds.used, 1);
        want(t->task.wants_mail);
        if (round == 0) want_int(weft_event_set(a), 0);
        if (round == 1) want_int(write(pipes[1], "x", 1), 1);
        if (round == 2) {
            t->mail = true;
            wf_task_wake(&t->task);
        }
        if (round == 3) want_int(weft_event_set(b), 0);
        until(t->done);
        want_int(wait.result, round);
        want_int(wf_here->fds.used, 0);
        want(!t->task.wants_mail);
        char byte;
        if (round == 0) want_int(weft_event_take(a), 1);
        if (round == 1) want_int(read(pipes[0], &byte, 1), 1);
        if (round == 3) want_int(weft_event_take(b), 1);
        want(untouched(a) && untouched(b));
    }
    close(pipes[0]);
    close(pipes[1]);
}

START_TEST(sources_that_lose_are_as_they_were)
{
    run_alone(losers, NULL);
}
END_TEST

static void all_of_them(void *arg)
{
    (void)arg;
    weft_event a, b, c;
    want_int(weft_event_open(&a), 0);
    want_int(weft_event_open(&b), 0);
    want_int(weft_event_open(&c), 0);
    weft_wait sources[] = {weft_on_event(a), weft_on_event(b), weft_on_event(c)};
    struct waiting wait = {.sources = sources, .count = 3, .all = true, .deadline = WEFT_FOREVER};
    struct test_task *t = spawn_here(do_wait, &wait);
    until(is_waiting(t));
    weft_event order[] = {c, a, b};
    for (int i = 0; i < 3; i++) {
        want_int(wait.result, 1000);
        want_int(weft_event_set(order[i]), 0);
        pass_turns(3);
        want_int(weft_event_take(order[i]), 1); /* ready once is enough */
    }
    until(t->done);
    want_int(wait.result, 0);
    want_int(weft_wait_all(NULL, 0, WEFT_NOW), 0);
    want_int(weft_event_set(a), 0);
    want_int(weft_wait_all(sources, 3, weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
    want_int(weft_wait_all(sources, 1, WEFT_NOW), 0);
    want_int(weft_event_take(a), 1);
}

START_TEST(wait_all_returns_when_each_has_been_ready)
{
    run_alone(all_of_them, NULL);
}
END_TEST

/* ---- How it ends ---- */
static void endings(void *arg)
{
    (void)arg;
    weft_event e;
    want_int(weft_event_open(&e), 0);
    weft_wait sources[] = {weft_on_event(e), weft_on_mailbox()};
    for (int all = 0; all < 2; all++) {
        struct waiting wait = {.sources = sources, .count = 2, .all = all, .deadline = weft_after(WEFT_MS(2))};
        struct test_task *t = spawn_here(do_wait, &wait);
        until(t->done);
        want_int(wait.result, WEFT_ETIMEDOUT);
        want(weft_now() >= wait.deadline);
        wait.deadline = WEFT_FOREVER;
        t = spawn_here(do_wait, &wait);
        until(is_waiting(t));
        wf_task_cancel(&t->task);
        until(t->done);
        want_int(wait.result, WEFT_ECANCELED);
        t = spawn_here(do_wait, &wait);
        until(is_waiting(t));
        wf_task_kill(&t->task);
        until(t->done);
        want(t->was_killed);
        want_int(wait.result, 1000);
        want(untouched(e));
    }
    struct waiting wait = {.sources = sources, .count = 2, .deadline = WEFT_FOREVER};
    struct test_task *t = spawn_here(do_wait, &wait);
    until(is_waiting(t));
    want_int(weft_event_close(e), 0);
    until(t->done);
    want_int(wait.result, WEFT_ECLOSED);
    want_int(weft_wait_any(sources, 2, WEFT_FOREVER), WEFT_ECLOSED);
}

START_TEST(a_wait_ends_at_deadline_cancel_kill_and_close)
{
    run_alone(endings, NULL);
}
END_TEST

static void misuse(void *arg)
{
    (void)arg;
    weft_wait many[WEFT_WAIT_MAX + 1];
    for (size_t i = 0; i <= WEFT_WAIT_MAX; i++) many[i] = weft_on_mailbox();
    want_int(weft_wait_any(many, WEFT_WAIT_MAX + 1, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_wait_any(many, WEFT_WAIT_MAX, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_wait_any(many, WEFT_WAIT_MAX, weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
    want_int(weft_wait_any(NULL, 1, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_wait_any(NULL, 0, weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
    weft_wait nothing = {0}, unknown = {.kind = 99}, no_fd = weft_on_fd(-1, false);
    want_int(weft_wait_any(&nothing, 1, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_wait_any(&unknown, 1, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_wait_any(&no_fd, 1, WEFT_NOW), WEFT_EINVAL);
    weft_wait stale = weft_on_readable((weft_stream){12345});
    want_int(weft_wait_any(&stale, 1, WEFT_FOREVER), WEFT_ECLOSED);
    int pipes[2];
    want_int(pipe(pipes), 0);
    close(pipes[1]);
    close(pipes[0]);
    weft_wait gone = weft_on_fd(pipes[0], false);
    want_int(weft_wait_any(&gone, 1, WEFT_FOREVER), WEFT_ECLOSED);
}

START_TEST(misuse_is_an_error)
{
    run_alone(misuse, NULL);
    weft_wait w = weft_on_mailbox();
    want_int(weft_wait_any(&w, 1, WEFT_NOW), WEFT_ENOTACTOR);
    want_int(weft_wait_all(&w, 1, WEFT_NOW), WEFT_ENOTACTOR);
}
END_TEST

/* ---- Descriptors ---- */
static void descriptors(void *arg)
{
    (void)arg;
    int pipes[2];
    want_int(pipe(pipes), 0);
    weft_wait both[] = {weft_on_fd(pipes[0], false), weft_on_fd(pipes[1], true), weft_on_fd(pipes[0], false)};
    want_int(weft_wait_any(both, 2, WEFT_FOREVER), 1); /* space to write */
    want_int(weft_wait_any(both, 1, weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
    weft_wait twice[] = {both[0], both[2]}; /* the same descriptor twice in one wait */
    struct waiting wait = {.sources = twice, .count = 2, .deadline = WEFT_FOREVER};
    struct test_task *t = spawn_here(do_wait, &wait);
    until(is_waiting(t));
    want_int(weft_wait_any(both, 1, WEFT_FOREVER), WEFT_EBUSY); /* another actor of this worker waits on it */
    want_int(write(pipes[1], "x", 1), 1);
    until(t->done);
    want_int(wait.result, 0);
    want_int(weft_wait_any(both, 1, WEFT_NOW), 0);
    close(pipes[0]);
    close(pipes[1]);
#ifndef _WIN32              /* whose files are no descriptors */
    FILE *file = tmpfile(); /* a regular file cannot be polled: always ready */
    want(file != NULL);
    weft_wait on_file[] = {weft_on_fd(fileno(file), false), weft_on_fd(fileno(file), true)};
    want_int(weft_wait_any(on_file, 1, WEFT_FOREVER), 0);
    want_int(weft_wait_all(on_file, 2, WEFT_FOREVER), 0);
    fclose(file);
#endif
    want_int(wf_here->fds.used, 0);
}

START_TEST(descriptors_of_ones_own_can_be_waited_for)
{
    run_alone(descriptors, NULL);
}
END_TEST

/* ---- Many sources, other workers ---- */
enum { MANY = WEFT_WAIT_MAX };
static weft_event events[MANY];
static _Atomic int opened, taken; /* sequentially consistent: they hand `events` over */

static void open_many(void *arg)
{
    for (size_t i = *(size_t *)arg; i < MANY; i += 2) want_int(weft_event_open(&events[i]), 0);
    atomic_fetch_add(&opened, 1);
    while (atomic_load(&taken) < MANY) wf_task_yield();
}

static void take_many(void *arg)
{
    (void)arg;
    while (atomic_load(&opened) < 2) wf_task_yield();
    weft_wait w[MANY];
    for (size_t i = 0; i < MANY; i++) w[i] = weft_on_event(events[i]);
    for (int i = 0; i < MANY; i++) {
        int which = weft_wait_any(w, MANY, WEFT_FOREVER);
        want(which >= 0);
        want_int(weft_event_take(events[which]), 1);
        atomic_fetch_add(&taken, 1);
    }
}

START_TEST(a_wait_covers_events_of_two_workers)
{
    struct harness h;
    size_t even = 0, odd = 1;
    atomic_store(&opened, 0);
    atomic_store(&taken, 0);
    harness_start(&h, 2);
    harness_spawn(&h, 0, open_many, &even);
    harness_spawn(&h, 1, open_many, &odd);
    harness_spawn(&h, 0, take_many, NULL);
    while (atomic_load(&opened) < 2) {}
    for (int i = 0; i < MANY; i++) {
        while (atomic_load(&taken) < i) {}
        want_int(weft_event_set(events[(i * 37) % MANY]), 0);
    }
    harness_stop(&h);
}
END_TEST

TEST_MAIN("wait", the_lowest_ready_index_is_returned_and_nothing_is_consumed, sources_that_lose_are_as_they_were,
          wait_all_returns_when_each_has_been_ready, a_wait_ends_at_deadline_cancel_kill_and_close,
          misuse_is_an_error, descriptors_of_ones_own_can_be_waited_for, a_wait_covers_events_of_two_workers)

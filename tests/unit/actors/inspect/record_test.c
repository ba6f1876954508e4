/* The flight recorder: the events that it keeps and overwrites, and reading it while it is written. */
#include "../node_harness.h"

#include <pthread.h>
#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

enum { PING = 7, PONG = 8, BOOM = 3 };

/* ---- The ring -------------------------------------------------------------------------------------------------- */

START_TEST(the_last_events_are_kept)
{
    struct wf_recorder r;
    struct weft_record e;
    uint64_t oldest, next;
    ck_assert_int_eq(wf_recorder_init(&r, 100), WEFT_OK);
    ck_assert_uint_eq(wf_recorder_capacity(&r), 128);
    for (uint32_t i = 0; i < 1000; i++) wf_record_put(&r, i, WEFT_RECORD_SEND, i + 1, i + 2, i + 3);
    wf_recorder_span(&r, &oldest, &next);
    ck_assert_uint_eq(next, 1000);
    ck_assert_uint_eq(oldest, 1000 - 128);
    for (uint64_t n = oldest; n < next; n++) {
        ck_assert(wf_recorder_get(&r, n, &e));
        ck_assert_int_eq(e.at, (int64_t)n);
        ck_assert_uint_eq(e.actor.actor, n + 1);
        ck_assert_uint_eq(e.other.actor, n + 2);
        ck_assert_int_eq(e.value, (int64_t)n + 3);
        ck_assert_uint_eq(e.number, n);
    }
    ck_assert(!wf_recorder_get(&r, oldest - 1, &e)); /* overwritten */
    ck_assert(!wf_recorder_get(&r, next, &e));       /* still to come */
    wf_recorder_finish(&r);
}
END_TEST

START_TEST(a_recorder_without_space_takes_everything_and_has_nothing)
{
    struct wf_recorder r;
    uint64_t oldest, next;
    ck_assert_int_eq(wf_recorder_init(&r, 0), WEFT_OK);
    for (int i = 0; i < 10; i++) wf_record_put(&r, i, WEFT_RECORD_EXIT, 1, 0, 0);
    wf_recorder_span(&r, &oldest, &next);
    ck_assert_uint_eq(oldest, next);
    wf_recorder_finish(&r);
}
END_TEST

static struct wf_recorder shared;
static _Atomic bool over;

/* Each field of an entry is computed from its number. */
static void *reads(void *arg)
{
    uint64_t *whole = arg, oldest, next;
    struct weft_record e;
    while (!atomic_load(&over) || *whole == 0) {
        wf_recorder_span(&shared, &oldest, &next);
        for (uint64_t n = oldest; n < next; n++) {
            if (!wf_recorder_get(&shared, n, &e)) continue;
            want(e.at == (int64_t)n && e.actor.actor == 2 * n && e.other.actor == 3 * n &&
                 e.value == (int64_t)(uint32_t)(5 * n));
            ++*whole;
        }
    }
    return NULL;
}

START_TEST(an_event_that_is_read_while_others_are_written_is_whole)
{
    pthread_t reader;
    uint64_t whole = 0, number = 0;
    ck_assert_int_eq(wf_recorder_init(&shared, 64), WEFT_OK);
    ck_assert_int_eq(pthread_create(&reader, NULL, reads, &whole), 0);
    for (; number < (under_tools() ? 100000 : 5000000); number++)
        wf_record_put(&shared, (int64_t)number, WEFT_RECORD_SEND, 2 * number, 3 * number, (uint32_t)(5 * number));
    atomic_store(&over, true);
    ck_assert_int_eq(pthread_join(reader, NULL), 0);
    ck_assert_uint_gt(whole, 0);
    wf_recorder_finish(&shared);
}
END_TEST

/* ---- A node ---------------------------------------------------------------------------------------------------- */

static void answers(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), WEFT_OK);
    want_int(weft_send(weft_from(m), PONG, NULL, 0), WEFT_OK);
    weft_msg_free(m);
    weft_exit(BOOM);
}

static weft_pid asker, answerer;

static void asks(const void *arg, size_t size)
{
    weft_msg *m;
    (void)size;
    asker = weft_self();
    want_int(weft_spawn(&answerer, answers, NULL, 0, &(weft_spawn_options){.worker = *(const int *)arg}), WEFT_OK);
    want_int(weft_send(answerer, PING, NULL, 0), WEFT_OK);
    want_int(weft_recv(&m, WEFT_FOREVER), WEFT_OK);
    weft_msg_free(m);
    want_int(weft_sleep(weft_after(WEFT_MS(1))), WEFT_OK);
}

/* How many events there are of this kind, between these two; in order. */
static int count_of(const struct weft_record *all, int64_t count, weft_record_kind kind, weft_pid who, weft_pid whom,
                    int64_t value)
{
    int found = 0;
    for (int64_t i = 0; i < count; i++) {
        ck_assert(i == 0 || all[i - 1].at <= all[i].at);
        found += all[i].kind == kind && weft_pid_equal(all[i].actor, who) && weft_pid_equal(all[i].other, whom) &&
                 all[i].value == value;
    }
    return found;
}

static void record_of(weft_node_options o, int other_worker, struct weft_record **all, int64_t *count)
{
    weft_node *n = node_start(&o);
    want_int(weft_node_spawn(n, NULL, asks, &other_worker, sizeof other_worker, &(weft_spawn_options){.worker = 1}),
             WEFT_OK);
    want_int(weft_node_wait(n, weft_after(WEFT_SEC(20))), WEFT_OK);
    *count = weft_record_read(n, all);
    node_end(n);
}

START_TEST(a_node_records_who_starts_sends_receives_waits_and_ends)
{
    struct weft_record *all;
    int64_t count;
    record_of((weft_node_options){.workers = 2}, 2, &all, &count);
    ck_assert_int_eq(count_of(all, count, WEFT_RECORD_SPAWN, asker, answerer, 0), 1);
    ck_assert_int_eq(count_of(all, count, WEFT_RECORD_SEND, asker, answerer, PING), 1);
    ck_assert_int_eq(count_of(all, count, WEFT_RECORD_RECEIVE, answerer, asker, PING), 1);
    ck_assert_int_eq(count_of(all, count, WEFT_RECORD_SEND, answerer, asker, PONG), 1);
    ck_assert_int_eq(count_of(all, count, WEFT_RECORD_RECEIVE, asker, answerer, PONG), 1);
    ck_assert_int_eq(count_of(all, count, WEFT_RECORD_EXIT, answerer, weft_nobody(), BOOM), 1);
    ck_assert_int_eq(count_of(all, count, WEFT_RECORD_WAIT, asker, weft_nobody(), 0), 1);
    ck_assert_int_eq(count_of(all, count, WEFT_RECORD_WAKE, asker, weft_nobody(), WEFT_ETIMEDOUT), 1);
    for (int64_t i = 0; i < count; i++) {
        char text[WEFT_RECORD_TEXT];
        if (all[i].kind == WEFT_RECORD_WAIT && weft_pid_equal(all[i].actor, asker))
            ck_assert_ptr_nonnull(strstr(weft_record_format(&all[i], text), "waits for sleep"));
    }
    free(all);
}
END_TEST

START_TEST(sends_within_a_worker_are_recorded_if_that_is_asked_for)
{
    struct weft_record *all;
    int64_t count;
    for (int asked = 0; asked < 2; asked++) {
        record_of((weft_node_options){.workers = 1, .record_sends = asked == 1}, 1, &all, &count);
        ck_assert_int_eq(count_of(all, count, WEFT_RECORD_SEND, asker, answerer, PING), asked);
        ck_assert_int_eq(count_of(all, count, WEFT_RECORD_RECEIVE, answerer, asker, PING), 1);
        free(all);
    }
}
END_TEST

/* A hostile peer chooses its number. None of them means this node, whether sends are recorded or not. */
static void sends_to_others(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const uint64_t numbers[] = {UINT64_MAX, 1, ~weft_self().node};
    const uint64_t actors[] = {weft_self().actor, weft_self().actor ^ UINT64_C(1) << 24};
    for (size_t i = 0; i < WF_COUNT(numbers) * WF_COUNT(actors); i++) {
        weft_pid other = {numbers[i / WF_COUNT(actors)], actors[i % WF_COUNT(actors)]};
        want_int(weft_send(other, PING, NULL, 0), WEFT_ENONODE);
        want_int(weft_send(other, PING, "text", 4), WEFT_ENONODE);
    }
    want_int(weft_send(weft_nobody(), PING, NULL, 0), WEFT_ENOBODY);
}

START_TEST(no_number_of_another_node_is_taken_for_this_one)
{
    for (int asked = 0; asked < 2; asked++) {
        weft_node *n = node_start(&(weft_node_options){.workers = 2, .record_sends = asked == 1});
        want_int(weft_node_spawn(n, NULL, sends_to_others, NULL, 0, NULL), WEFT_OK);
        want_int(weft_node_wait(n, weft_after(WEFT_SEC(20))), WEFT_OK);
        node_end(n);
    }
}
END_TEST

START_TEST(a_node_may_be_without_recorders)
{
    struct weft_record *all;
    int64_t count;
    record_of((weft_node_options){.workers = 1, .record_events = -1}, 1, &all, &count);
    ck_assert_int_eq(count, 0);
    free(all);
}
END_TEST

/* ---- A crash --------------------------------------------------------------------------------------------------- */

#ifndef _WIN32
static volatile char *volatile nowhere;

static void dies(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_sleep(weft_after(WEFT_MS(1)));
    *nowhere = 1;
}

START_TEST(a_fault_in_an_actor_prints_the_last_events)
{
#if defined(WF_ASAN) || defined(WF_TSAN) /* they take the signal */
    return;
#endif
    int ends[2], status;
    char said[4096];
    size_t size = 0;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGSEGV, SIG_DFL);
        weft_node *n = node_of(1);
        node_spawn(n, 1, dies);
        (void)weft_node_wait(n, WEFT_FOREVER);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t n; size < sizeof said - 1 && (n = read(ends[0], said + size, sizeof said - 1 - size)) > 0;)
        size += (size_t)n;
    said[size] = '\0';
    close(ends[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    ck_assert_ptr_nonnull(strstr(said, "events on worker 0"));
    ck_assert_ptr_nonnull(strstr(said, "waits for sleep"));
}
END_TEST
#endif

TEST_MAIN("record", the_last_events_are_kept, a_recorder_without_space_takes_everything_and_has_nothing,
          an_event_that_is_read_while_others_are_written_is_whole,
          a_node_records_who_starts_sends_receives_waits_and_ends,
          sends_within_a_worker_are_recorded_if_that_is_asked_for, no_number_of_another_node_is_taken_for_this_one,
          ON_UNIX(a_fault_in_an_actor_prints_the_last_events, ) a_node_may_be_without_recorders)

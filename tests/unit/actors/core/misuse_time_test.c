/* Every function that takes a deadline or a span logs a span that is given as a deadline, and a point in time that is
 * given as a span. */
#include "all_features.h"
#include "misuse_kit.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PING = 1 };
static const int64_t SPAN = WEFT_SEC(1);
static char big[1 << 20];

/* ---- What has to wait ------------------------------------------------------------------------------------------ */

static bool refuses(const weft_msg *m, void *arg)
{
    (void)m, (void)arg;
    return false;
}

static void sleeper(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_register("sleeper");
    (void)weft_sleep(WEFT_FOREVER);
}

static weft_pid silent_one(void)
{
    weft_pid pid;
    want_int(weft_spawn(&pid, sleeper, NULL, 0, NULL), 0);
    return pid;
}

static void pair(weft_stream *a, weft_stream *b)
{
    int fds[2];
    want_int(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    want_int(weft_stream_from_fd(a, fds[0]), 0);
    want_int(weft_stream_from_fd(b, fds[1]), 0);
    want_int(weft_defer_close(*a), 0);
    want_int(weft_defer_close(*b), 0);
}

/* A pipe from which nothing can be read, or, if it is full, to which nothing can be written. */
static weft_stream stuck(bool full)
{
    weft_stream a, b;
    pair(&a, &b);
    while (full && weft_write(a, big, sizeof big, WEFT_NOW) > 0) {}
    return a;
}

static weft_file some_file(void)
{
    weft_file f;
    want_int(weft_file_open(&f, "/proc/self/status", WEFT_FILE_READ, 0, WEFT_FOREVER), 0);
    want_int(weft_file_defer_close(f), 0);
    return f;
}

static weft_file scratch_file(void)
{
    char path[] = "/tmp/weft-misuse-XXXXXX";
    int fd = mkstemp(path);
    want(fd >= 0);
    close(fd);
    weft_file f;
    want_int(weft_file_open(&f, path, WEFT_FILE_READ | WEFT_FILE_WRITE, 0, WEFT_FOREVER), 0);
    unlink(path);
    want_int(weft_file_defer_close(f), 0);
    return f;
}

/* The thread for blocking functions is busy until the actor that gave it the job ends. */
static pf_mutex *jobs_lock;
static pf_cond *jobs_changed;
static int jobs_over;

static void wait_for_end(void *number)
{
    pf_mutex_lock(jobs_lock);
    while (jobs_over < *(const int *)number) (void)pf_cond_wait(jobs_changed, jobs_lock, WEFT_FOREVER);
    pf_mutex_unlock(jobs_lock);
}

static void let_job_end(void *unused)
{
    (void)unused;
    pf_mutex_lock(jobs_lock);
    jobs_over++;
    pf_cond_broadcast(jobs_changed);
    pf_mutex_unlock(jobs_lock);
}

static weft_job long_job(void)
{
    weft_job job;
    int number = jobs_over + 1; /* only this thread changes it */
    want_int(weft_defer(let_job_end, NULL), 0);
    want_int(weft_offload_start(&job, wait_for_end, NULL, &number, sizeof number, WEFT_FOREVER), 0);
    return job;
}

/* Uses all threads and the whole queue, so that another job has to wait for a place. */
static void fill_offload(void)
{
    for (int i = 0; i < 2; i++) (void)long_job();
}

static void supervisor_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_supervise(&(weft_supervisor_spec){0});
}

/* Before it has begun to answer. */
static weft_pid supervisor(void)
{
    weft_pid pid;
    want_int(weft_spawn(&pid, supervisor_body, NULL, 0, NULL), 0);
    return pid;
}

static weft_pid pool_of_sleepers(void)
{
    weft_pid pid;
    want_int(weft_spawn_pool(&pid, sleeper, NULL, 0, &(weft_pool_options){.count = 1}), 0);
    return pid;
}

/* ---- One for each function ------------------------------------------------------------------------------------- */

#define ROW(function, ...)                                  \
    static void do_##function(const void *arg, size_t size) \
    {                                                       \
        (void)arg, (void)size;                              \
        weft_msg *m = NULL;                                 \
        (void)m;                                            \
        __VA_ARGS__;                                        \
    }
ROW(weft_sleep, weft_sleep(SPAN))
ROW(weft_recv, weft_recv(&m, SPAN))
ROW(weft_recv_tag, weft_recv_tag(&m, PING, SPAN))
ROW(weft_recv_match, weft_recv_match(&m, refuses, NULL, SPAN))
ROW(weft_call, weft_call(silent_one(), PING, NULL, 0, &m, SPAN))
ROW(weft_call_name, weft_pid to = silent_one(); weft_await_name("sleeper", &to, WEFT_FOREVER);
    weft_call_name("sleeper", PING, NULL, 0, &m, SPAN))
ROW(weft_gather, struct weft_answer a = {.from = silent_one()}; weft_gather(&a, 1, 1, PING, NULL, 0, SPAN))
ROW(weft_wait_any, weft_wait w = weft_on_mailbox(); weft_wait_any(&w, 1, SPAN))
ROW(weft_wait_all, weft_wait w = weft_on_mailbox(); weft_wait_all(&w, 1, SPAN))
ROW(weft_timer_open, weft_timer t; weft_timer_open(&t, SPAN, 0))
ROW(weft_timer_set, weft_timer t; weft_timer_open(&t, WEFT_FOREVER, 0); weft_timer_set(t, SPAN, 0))
ROW(weft_timer_await, weft_timer t; weft_timer_open(&t, WEFT_FOREVER, 0); weft_timer_await(t, SPAN))
ROW(weft_send_after, weft_send_after(SPAN, weft_self(), PING, NULL, 0, NULL))
ROW(weft_send_every, weft_send_every(SPAN, SPAN, weft_self(), PING, NULL, 0, NULL))
ROW(weft_event_await, weft_event e; weft_event_open(&e); weft_event_await(e, SPAN))
ROW(weft_semaphore_await, weft_semaphore s; weft_semaphore_open(&s, 0); weft_semaphore_await(s, SPAN))
ROW(weft_latch_await, weft_latch l; weft_latch_open(&l, 1); weft_latch_await(l, SPAN))
ROW(weft_await_name, weft_pid p; weft_await_name("nobody.has.it", &p, SPAN))
ROW(weft_accept, weft_listener l; weft_stream s; weft_listen(&l, "127.0.0.1:0", NULL); weft_accept(l, &s, SPAN);
    weft_listener_close(l))
ROW(weft_connect, (void)long_job(); weft_stream s; weft_connect(&s, "localhost:9", SPAN))
ROW(weft_read, char c; weft_read(stuck(false), &c, 1, SPAN))
ROW(weft_read_exact, char c; weft_read_exact(stuck(false), &c, 1, SPAN))
ROW(weft_read_until, char c[9]; weft_read_until(stuck(false), c, sizeof c, '\n', SPAN))
ROW(weft_write, weft_write(stuck(true), "x", 1, SPAN))
ROW(weft_writev, weft_slice v = {"x", 1}; weft_writev(stuck(true), &v, 1, SPAN))
ROW(weft_printf, weft_printf(stuck(true), SPAN, "x"))
ROW(weft_send_fd, weft_send_fd(stuck(true), 0, SPAN))
ROW(weft_receive_fd, int fd; weft_receive_fd(stuck(false), &fd, SPAN))
ROW(weft_udp_receive, weft_udp u; char c; weft_udp_open(&u, "127.0.0.1:0", NULL); weft_udp_defer_close(u);
    weft_udp_receive(u, &c, 1, NULL, SPAN))
ROW(weft_file_open, (void)long_job(); weft_file f; weft_file_open(&f, "/", WEFT_FILE_READ, 0, SPAN))
ROW(weft_file_size, weft_file f = some_file(); (void)long_job(); weft_file_size(f, SPAN))
ROW(weft_file_sync, weft_file f = scratch_file(); (void)long_job(); weft_file_sync(f, SPAN))
ROW(weft_file_truncate, weft_file f = scratch_file(); (void)long_job(); weft_file_truncate(f, 9, SPAN))
ROW(weft_file_read, weft_file f = some_file(); fill_offload(); char c; weft_file_read(f, &c, 1, 0, SPAN))
ROW(weft_file_write, weft_file f = scratch_file(); fill_offload(); weft_file_write(f, "x", 1, 0, SPAN))
ROW(weft_file_read_start, weft_file f = some_file(); weft_file_op op; fill_offload();
    weft_file_read_start(&op, f, 1, 0, SPAN))
ROW(weft_file_write_start, weft_file f = scratch_file(); weft_file_op op; fill_offload();
    weft_file_write_start(&op, f, "x", 1, 0, SPAN))
ROW(weft_file_take, weft_file f = some_file(); weft_file_op op; char c; (void)long_job();
    want_int(weft_file_read_start(&op, f, 1, 0, WEFT_FOREVER), 0); weft_file_take(op, &c, 1, SPAN))
ROW(weft_dir_open, (void)long_job(); weft_dir d; weft_dir_open(&d, "/", SPAN))
ROW(weft_dir_next, weft_dir d; weft_dir_entry e; want_int(weft_dir_open(&d, "/dev", WEFT_FOREVER), 0);
    (void)long_job(); while (weft_dir_next(d, &e, SPAN) > 0){}) /* more of them than are read at once */
ROW(weft_changes_next, weft_changes c; weft_change n; want_int(weft_changes_open(&c, "/proc/self"), 0);
    weft_changes_defer_close(c); weft_changes_next(c, &n, SPAN))
ROW(weft_offload, (void)long_job(); int none = 0; weft_offload(wait_for_end, &none, sizeof none, SPAN))
ROW(weft_offload_start, fill_offload(); weft_job j; int none = 0;
    weft_offload_start(&j, wait_for_end, NULL, &none, sizeof none, SPAN))
ROW(weft_offload_take, int n; weft_offload_take(long_job(), &n, sizeof n, SPAN))
static const char *const cat[] = {"cat", NULL};
ROW(weft_process_start, (void)long_job(); weft_process p;
    weft_process_start(&p, &(weft_process_options){.argv = cat}, SPAN))
ROW(weft_process_wait, weft_process p;
    want_int(weft_process_start(&p, &(weft_process_options){.argv = cat, .in = {.kind = WEFT_STDIO_PIPE}},
                                WEFT_FOREVER),
             0);
    weft_process_wait(p, NULL, SPAN))
ROW(weft_resolve, (void)long_job(); weft_address a[4]; weft_resolve("localhost", "80", a, 4, SPAN))
ROW(weft_start_child, weft_child_spec c = {.name = "c", .body = sleeper};
    weft_start_child(supervisor(), &c, NULL, SPAN))
ROW(weft_stop_child, weft_stop_child(supervisor(), "c", SPAN))
ROW(weft_children, weft_children(supervisor(), NULL, 0, SPAN))
ROW(weft_pool_resize, weft_pool_resize(pool_of_sleepers(), 2, SPAN))
ROW(weft_pool_stop, weft_pool_stop(pool_of_sleepers(), SPAN))
ROW(weft_pool_inspect, weft_pool_inspect(pool_of_sleepers(), NULL, NULL, 0, SPAN))

static const struct {
    const char *name;
    weft_actor *body;
} rows[] = {
#define IN_TABLE(function)       \
    {                            \
#function, do_##function \
    }
    IN_TABLE(weft_sleep),
    IN_TABLE(weft_recv),
    IN_TABLE(weft_recv_tag),
    IN_TABLE(weft_recv_match),
    IN_TABLE(weft_call),
    IN_TABLE(weft_call_name),
    IN_TABLE(weft_gather),
    IN_TABLE(weft_wait_any),
    IN_TABLE(weft_wait_all),
    IN_TABLE(weft_timer_open),
    IN_TABLE(weft_timer_set),
    IN_TABLE(weft_timer_await),
    IN_TABLE(weft_send_after),
    IN_TABLE(weft_send_every),
    IN_TABLE(weft_event_await),
    IN_TABLE(weft_semaphore_await),
    IN_TABLE(weft_latch_await),
    IN_TABLE(weft_await_name),
    IN_TABLE(weft_accept),
    IN_TABLE(weft_connect),
    IN_TABLE(weft_read),
    IN_TABLE(weft_read_exact),
    IN_TABLE(weft_read_until),
    IN_TABLE(weft_write),
    IN_TABLE(weft_writev),
    IN_TABLE(weft_printf),
    IN_TABLE(weft_send_fd),
    IN_TABLE(weft_receive_fd),
    IN_TABLE(weft_udp_receive),
    IN_TABLE(weft_file_open),
    IN_TABLE(weft_file_size),
    IN_TABLE(weft_file_sync),
    IN_TABLE(weft_file_truncate),
    IN_TABLE(weft_file_read),
    IN_TABLE(weft_file_write),
    IN_TABLE(weft_file_read_start),
    IN_TABLE(weft_file_write_start),
    IN_TABLE(weft_file_take),
    IN_TABLE(weft_dir_open),
    IN_TABLE(weft_dir_next),
    IN_TABLE(weft_changes_next),
    IN_TABLE(weft_offload),
    IN_TABLE(weft_offload_start),
    IN_TABLE(weft_offload_take),
    IN_TABLE(weft_process_start),
    IN_TABLE(weft_process_wait),
    IN_TABLE(weft_resolve),
    IN_TABLE(weft_start_child),
    IN_TABLE(weft_stop_child),
    IN_TABLE(weft_children),
    IN_TABLE(weft_pool_resize),
    IN_TABLE(weft_pool_stop),
    IN_TABLE(weft_pool_inspect),
};

static struct test_word done; /* the body has seen to what there was to do */

static void run_one(const char *kind, weft_actor *body, const void *arg, size_t size)
{
    weft_pid pid;
    want_int(weft_spawn(&pid, body, arg, size, &(weft_spawn_options){.kind = kind}), 0);
    weft_wait end = weft_on_end(pid);
    want_int(weft_wait_any(&end, 1, WEFT_FOREVER), 0);
}

static void all_rows(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (size_t i = 0; i < WF_COUNT(rows); i++) run_one(rows[i].name, rows[i].body, NULL, 0);
    word_say(&done);
}

static void run_logged(weft_actor *body)
{
    log_begin();
    want_int(pf_mutex_create(&jobs_lock), 0);
    want_int(pf_cond_create(&jobs_changed), 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .offload_threads = 1, .offload_queue = 1));
    word_begin(&done);
    (void)node_spawn(n, 1, body);
    word_await(&done);
    want_int(wf_node_drain(n, WEFT_FOREVER), 0);
    node_finish(n);
    wf_node_destroy(n);
    word_end(&done);
    pf_cond_destroy(jobs_changed);
    pf_mutex_destroy(jobs_lock);
    log_end();
}

START_TEST(a_span_for_a_deadline_is_said_by_every_function)
{
    if (RUNNING_ON_VALGRIND) return; /* it knows no pidfd, so there are no child processes */
    run_logged(all_rows);
    for (size_t i = 0; i < WF_COUNT(rows); i++) {
        char line[128];
        snprintf(line, sizeof line, "actor %s: ", rows[i].name);
        ck_assert_msg(log_lines(line) == 1, "%s: %d lines in\n%s", line, log_lines(line), logged);
    }
    EXPECT_LINES("was given the deadline WEFT_SEC(1), which is a span and not a point in time, so it is ",
                 (int)WF_COUNT(rows));
    EXPECT_LINES(" over at once: write weft_after(WEFT_SEC(1))", (int)WF_COUNT(rows) - 4);
    EXPECT_LINES(" due at once: write weft_after(WEFT_SEC(1))", 4); /* timers */
}
END_TEST

static void good_times(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    weft_timer t;
    const int64_t times[] = {WEFT_NOW,      weft_now(),    weft_now() - WEFT_MS(1),
                             weft_after(1), weft_after(0), weft_after(-5)};
    for (size_t i = 0; i < WF_COUNT(times); i++) {
        want_int(weft_sleep(times[i]), 0);
        want_int(weft_recv(&m, times[i]), WEFT_ETIMEDOUT);
        want_int(weft_timer_open(&t, times[i], WEFT_SEC(1)), 0);
        want_int(weft_send_after(times[i], weft_self(), PING, NULL, 0, NULL), 0);
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        weft_msg_free(m);
    }
    want_int(weft_timer_open(&t, WEFT_FOREVER, 0), 0);
    want(weft_after(WEFT_FOREVER) == WEFT_FOREVER);
    want(weft_after(WEFT_SEC(86400) * 365 * 100) < WEFT_FOREVER);
    word_say(&done);
}

START_TEST(points_in_time_are_silent_also_when_they_have_passed)
{
    run_logged(good_times);
    ck_assert_msg(logged_size == 0, "%s", logged);
}
END_TEST

static void sleeps_a_little(const void *arg, size_t size)
{
    for (int i = 0; i < 1000; i++) want_int(weft_sleep(*(const int64_t *)arg), 0);
    (void)size;
}

/* Deadlines as newcomers write them, by the kind of an actor, with the expected log line. */
static const struct {
    const char *kind, *said;
    int64_t deadline;
} spans[] = {
    {"two",
     "actor two: its wait (sleep) was given the deadline WEFT_SEC(2), which is a span and not a point in time, "
     "so it is over at once: write weft_after(WEFT_SEC(2))",
     WEFT_SEC(2)},
    {"fine",
     "the deadline WEFT_MS(250), which is a span and not a point in time, so it is over at once: write "
     "weft_after(WEFT_MS(250))",
     WEFT_MS(250)},
    {"odd",
     "the deadline 1000000001, which is a span and not a point in time, so it is over at once: write "
     "weft_after(1000000001)",
     1000000001},
    {"like_usleep",
     "the deadline 100, which is a span and not a point in time, so it is over at once: write "
     "weft_after(WEFT_MS(100)) if that is milliseconds",
     100},
    {"like_poll",
     "the deadline -1, which is a span and not a point in time, so it is over at once: write "
     "WEFT_FOREVER to wait without end, WEFT_NOW not to wait",
     -1},
    {"century", "the deadline WEFT_SEC(3153600000), ", WEFT_SEC(86400) * 365 * 100},
};

static void all_spans(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (size_t i = 0; i < 2 * WF_COUNT(spans); i++) /* two of each kind */
        run_one(spans[i / 2].kind, sleeps_a_little, &spans[i / 2].deadline, sizeof(int64_t));
    word_say(&done);
}

START_TEST(a_span_is_said_once_for_each_kind_with_what_to_write)
{
    run_logged(all_spans);
    for (size_t i = 0; i < WF_COUNT(spans); i++) EXPECT_LINES(spans[i].said, 1);
    EXPECT_LINES("level=warn", (int)WF_COUNT(spans));
}
END_TEST

static char kinds[2 * WF_MISUSES_MAX][8];

static void many_kinds(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (size_t i = 0; i < WF_COUNT(kinds); i++) {
        snprintf(kinds[i], sizeof kinds[i], "k%zu", i);
        run_one(kinds[i], sleeps_a_little, &spans[0].deadline, sizeof(int64_t));
    }
    word_say(&done);
}

START_TEST(no_more_is_said_than_one_node_may_say)
{
    run_logged(many_kinds);
    EXPECT_LINES("is a span", WF_MISUSES_MAX);
}
END_TEST

/* ---- The other way round --------------------------------------------------------------------------------------- */

static void after_after(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want(weft_after(weft_after(WEFT_SEC(1))) == WEFT_FOREVER);
    want(weft_after(weft_now()) == WEFT_FOREVER);
}

static void timer_period(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_timer t;
    want_int(weft_timer_open(&t, WEFT_FOREVER, weft_after(WEFT_SEC(1))), 0);
    want_int(weft_timer_set(t, WEFT_FOREVER, weft_after(WEFT_SEC(1))), 0);
}

static void send_period(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_send_every(WEFT_FOREVER, weft_after(WEFT_SEC(1)), weft_self(), PING, NULL, 0, NULL), 0);
}

static void specs(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int64_t point = weft_after(WEFT_SEC(1));
    weft_child_spec slow = {.name = "slow", .body = sleeper, .start_timeout = point};
    weft_child_spec late = {.name = "late", .body = sleeper, .stop_timeout = point};
    const weft_supervisor_spec bad[] = {{.period = point},
                                        {.backoff_min = point},
                                        {.backoff_max = point},
                                        {.children = &slow, .child_count = 1},
                                        {.children = &late, .child_count = 1}};
    for (size_t i = 0; i < WF_COUNT(bad); i++) want_int(weft_supervise(&bad[i]), WEFT_EINVAL);
    weft_pid pool;
    want_int(weft_spawn_pool(&pool, sleeper, NULL, 0, &(weft_pool_options){.period = point}), WEFT_EINVAL);
    const weft_subscribe_options wait = {.slow = WEFT_SLOW_SUSPEND, .wait = point};
    want_int(weft_subscribe_with("a", &wait, NULL), WEFT_EINVAL);
    weft_node *n = NULL;
    want_int(wf_node_create(&n, RUN_OPTIONS(.send_timeout = point), NULL), WEFT_EINVAL);
}

static void points_for_spans(const void *arg, size_t size)
{
    (void)arg, (void)size;
    run_one("twice", after_after, NULL, 0);
    run_one("timer", timer_period, NULL, 0);
    run_one("every", send_period, NULL, 0);
    run_one("specs", specs, NULL, 0);
    word_say(&done);
}

START_TEST(a_point_in_time_for_a_span_is_said)
{
    run_logged(points_for_spans);
    EXPECT_LINES("actor twice: weft_after was given a point in time (weft_now() +", 1);
    EXPECT_LINES("actor timer: weft_timer_open was given a point in time (weft_now() +", 1);
    EXPECT_LINES("actor timer: weft_timer_set was given a point in time (weft_now() +", 1);
    EXPECT_LINES("actor every: weft_send_every was given a point in time (weft_now() +", 1);
    EXPECT_LINES(" is a point in time, not a span", 5);
    EXPECT_LINES("a span such as WEFT_SEC(5), not a point in time", 1);
    EXPECT_LINES("where a span belongs, and treats it as WEFT_FOREVER: write the span alone, such as WEFT_SEC(1)", 4);
}
END_TEST

/* ---- Outside of actors ----------------------------------------------------------------------------------------- */

static void until_stopped(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

START_TEST(stopping_or_waiting_for_a_node_reports_misuse_as_well)
{
    log_begin();
    weft_node *n = node_of(1);
    node_spawn(n, 1, until_stopped);
    want_int(weft_node_wait(n, WEFT_SEC(5)), WEFT_ETIMEDOUT);
    want_int(weft_node_wait(n, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(wf_node_drain(n, WEFT_FOREVER), 0);
    node_finish(n);
    wf_node_destroy(n);
    const int embedded = THROUGH_LIBKQUEUE ? 0 : 1; /* it has no descriptor for other loops */
    if (embedded == 1) {
        weft_node *e = node_start(RUN_OPTIONS(.embedded = true));
        (void)weft_node_turn(e, WEFT_SEC(1));
        (void)weft_node_turn(e, WEFT_NOW);
        node_finish(e);
        wf_node_destroy(e);
    }
    log_end();
    EXPECT_LINES("msg=\"weft_node_wait was given the deadline WEFT_SEC(5), which is a span", 1);
    EXPECT_LINES("msg=\"weft_node_turn was given the deadline WEFT_SEC(1), which is a span", embedded);
    EXPECT_LINES("level=warn", 1 + embedded);
}
END_TEST

TEST_MAIN("misuse_time", a_span_for_a_deadline_is_said_by_every_function,
          points_in_time_are_silent_also_when_they_have_passed, a_span_is_said_once_for_each_kind_with_what_to_write,
          no_more_is_said_than_one_node_may_say, a_point_in_time_for_a_span_is_said,
          stopping_or_waiting_for_a_node_reports_misuse_as_well)

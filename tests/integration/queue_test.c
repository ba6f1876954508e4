/* Work queues on one node and on two: each job is given, with a lease that ends with its worker. */
#include <weft/queue.h>
#include <weft/store.h>

#include "engine.h"
#include "store_client.h"
#include "store_messages.h"
#include "store_queues.h"

#include "queue_kit.h"

/* ---- One node -------------------------------------------------------------------------------------------------- */

static void whole_life(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid store = open_store();
    uint64_t one = put("jobs.x", "one"), two = put("jobs.x", "two");
    ck_assert_uint_eq(two, one + 1);
    expect_counts("jobs.x", 2, 0, 0, 0);
    struct weft_queue_job first = take("jobs.x", "one", 1), second = take("jobs.x", "two", 1);
    ck_assert_uint_eq(first.id, one);
    take_none("jobs.x");
    expect_counts("jobs.x", 0, 0, 2, 0);
    done(first);
    ck_assert_int_eq(weft_queue_done(&first, patience()), WEFT_ECLOSED);
    ck_assert_int_eq(weft_queue_extend(&second, WEFT_SEC(5), patience()), WEFT_OK);
    ck_assert_int_eq(weft_queue_return(&second, 0, patience()), WEFT_OK);
    ck_assert_int_eq(weft_queue_extend(&second, 0, patience()), WEFT_ECLOSED);
    end_store(store);
    open_store();
    second = take("jobs.x", "two", 2);
    ck_assert_int_eq(weft_queue_return(&second, WEFT_SEC(600), patience()), WEFT_OK);
    expect_counts("jobs.x", 0, 1, 0, 0);
    say("done");
}

START_TEST(a_job_is_taken_and_done)
{
    RUN(a, whole_life);
}
END_TEST

static void lease_over_restart(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid store = open_store();
    put("jobs.x", "one");
    struct weft_queue_job job = take("jobs.x", "one", 1);
    end_store(store);
    open_store();
    take_none("jobs.x");
    done(job);
    say("done");
}

START_TEST(a_lease_outlives_its_store)
{
    RUN(a, lease_over_restart);
}
END_TEST

static void errors(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    struct weft_queue_job job = {.queue = "jobs.x", .id = 1, .lease = 1};
    struct weft_queue_count count;
    static char large[WEFT_QUEUE_JOB_MAX + 1], key[WEFT_QUEUE_KEY_MAX + 2];
    const struct weft_stored_queues bad = {.pattern = "a", .lease = -1};
    ck_assert_int_eq(weft_queue_put("jobs.x", DO, "x", 1, NULL, NULL, patience()), WEFT_ENOACTOR);
    ck_assert_int_eq(weft_queue_take("jobs.x", &m, &job, patience()), WEFT_ENOACTOR);
    ck_assert_int_eq(
        weft_store_open(&(weft_store_options){.url = url[0], .queues = &bad, .queue_count = 1}, NULL, patience()),
        WEFT_EINVAL);
    open_store();
    ck_assert_int_eq(weft_queue_put("other", DO, "x", 1, NULL, NULL, patience()), WEFT_EACCESS);
    ck_assert_int_eq(weft_queue_take("other", &m, &job, patience()), WEFT_EACCESS);
    ck_assert_int_eq(weft_publish_stored("jobs.x", DO, "x", 1, NULL, patience()), WEFT_EACCESS);
    ck_assert_int_eq(weft_queue_put("jobs.*", DO, "x", 1, NULL, NULL, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_queue_take("jobs.>", &m, &job, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_queue_put("jobs.x", WEFT_TAG_SYSTEM, "x", 1, NULL, NULL, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_queue_put("jobs.x", DO, large, sizeof large, NULL, NULL, patience()), WEFT_ETOOBIG);
    ck_assert_int_eq(weft_queue_put("jobs.x", DO, large, sizeof large - 1, NULL, NULL, patience()), WEFT_OK);
    memset(key, 'k', WEFT_QUEUE_KEY_MAX + 1);
    weft_queue_put_options options = {.key = key};
    ck_assert_int_eq(weft_queue_put("jobs.x", DO, "x", 1, &options, NULL, patience()), WEFT_EINVAL);
    options = (weft_queue_put_options){.delay = -1};
    ck_assert_int_eq(weft_queue_put("jobs.x", DO, "x", 1, &options, NULL, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_queue_done(&job, patience()), WEFT_ECLOSED);
    ck_assert_int_eq(weft_queue_return(&job, -2, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_queue_extend(&job, -1, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_queue_retry("jobs.x", 0, patience()), WEFT_ENOTFOUND);
    put("few.x", "1");
    put("few.x", "2");
    ck_assert_int_eq(weft_queue_put("few.x", DO, "x", 1, NULL, NULL, patience()), WEFT_EFULL);
    ck_assert_int_eq(weft_queue_counts("few.x", &count, 1, patience()), 1);
    ck_assert_str_eq(count.queue, "jobs.x");
    ck_assert_int_eq(weft_queue_counts("jobs.x", &count, 1, patience()), 0);
    for (uint32_t request = 8; request <= 10; request++) {
        if (request == 9) continue;
        ck_assert_int_eq(weft_call_name(WEFT_STORE_NAME, request, "\xC1", 1, &m, patience()), WEFT_OK);
        weft_msg_free(m);
    }
    ck_assert_int_eq(weft_send_name(WEFT_STORE_NAME, 9, "\xC1", 1), WEFT_OK);
    put("jobs.y", "it lives on");
    say("done");
}

START_TEST(errors_are_those_of_the_header)
{
    RUN(a, errors);
}
END_TEST

static void keys_and_delays(const void *arg, size_t size)
{
    (void)arg, (void)size;
    uint64_t id[3];
    weft_queue_put_options options = {.key = "order 17"};
    open_store();
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(weft_queue_put("jobs.x", DO, "one", 3, &options, &id[i], patience()), WEFT_OK);
    ck_assert_uint_eq(id[0], id[1]);
    done(take("jobs.x", "one", 1));
    ck_assert_int_eq(weft_queue_put("jobs.x", DO, "one", 3, &options, &id[2], patience()), WEFT_OK);
    ck_assert_uint_eq(id[0], id[2]);
    take_none("jobs.x");
    options = (weft_queue_put_options){.delay = WEFT_MS(100)};
    int64_t begin = weft_now();
    ck_assert_int_eq(weft_queue_put("jobs.x", DO, "later", 5, &options, NULL, patience()), WEFT_OK);
    put("jobs.x", "now");
    done(take("jobs.x", "now", 1));
    done(take("jobs.x", "later", 1));
    ck_assert_int_ge(weft_now() - begin, WEFT_MS(99)); /* the clock of the store has milliseconds */
    say("done");
}

START_TEST(a_key_is_put_once_and_a_delay_passes)
{
    RUN(a, keys_and_delays);
}
END_TEST

static void deaths(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store();
    uint64_t id = put("few.x", "bad");
    for (uint32_t i = 1; i <= 2; i++) {
        struct weft_queue_job job = take("few.x", "bad", i);
        ck_assert_int_eq(weft_queue_return(&job, 0, patience()), WEFT_OK);
    }
    take_none("few.x");
    expect_counts("few.x", 0, 0, 0, 1);
    ck_assert_int_eq(weft_queue_retry("few.x", id + 1, patience()), WEFT_ENOTFOUND);
    ck_assert_int_eq(weft_queue_retry("few.x", id, patience()), 1);
    struct weft_queue_job job = take("few.x", "bad", 1);
    ck_assert_int_eq(weft_queue_return(&job, WEFT_QUEUE_BACKOFF, patience()), WEFT_OK);
    expect_counts("few.x", 0, 1, 0, 0); /* it waits for a second */
    done(take("few.x", "bad", 2));
    say("done");
}

START_TEST(a_job_dies_and_is_revived)
{
    RUN(a, deaths);
}
END_TEST

static void slow_worker(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store();
    put("short.x", "one");
    struct weft_queue_job late = take("short.x", "one", 1), now = take("short.x", "one", 2);
    ck_assert_int_eq(weft_queue_extend(&now, WEFT_SEC(600), patience()), WEFT_OK);
    ck_assert_int_eq(weft_queue_done(&late, patience()), WEFT_ECLOSED);
    take_none("short.x");
    done(now);
    say("done");
}

START_TEST(a_lease_ends_by_time)
{
    RUN(a, slow_worker);
}
END_TEST

static void take_again(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    say("waits");
    done(take("jobs.x", "one", 2));
    say("done");
}

/* The lease would last for ten minutes. When the second job is put, the store has looked for a job for the taker that
 * waits. */
static void extends_for_less(const void *arg, size_t size)
{
    weft_pid pid;
    (void)arg, (void)size;
    open_store();
    put("jobs.x", "one");
    struct weft_queue_job job = take("jobs.x", "one", 1);
    ck_assert_int_eq(weft_spawn(&pid, take_again, NULL, 0, NULL), WEFT_OK);
    weft_monitor_ref end;
    ck_assert_int_eq(weft_monitor(pid, &end), WEFT_OK);
    ck_assert_int_eq(weft_yield(), WEFT_OK);
    put("jobs.y", "two");
    ck_assert_int_eq(weft_queue_extend(&job, WEFT_MS(1), patience()), WEFT_OK);
    weft_msg *m;
    ck_assert_int_eq(weft_recv_tag(&m, WEFT_TAG_DOWN, patience()), WEFT_OK);
    weft_msg_free(m);
}

START_TEST(a_lease_that_is_made_shorter_ends_by_its_new_time)
{
    run_actor(a, extends_for_less, NULL, 0);
    HEAR("waits");
    HEAR("done");
}
END_TEST

/* ---- Workers that end ------------------------------------------------------------------------------------------ */

static void take_and_end(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    take("jobs.x", "one", 1);
    say("took");
    (void)weft_sleep(WEFT_FOREVER);
}

static weft_pid spawn_on(weft_node *n, weft_actor *body)
{
    weft_pid pid;
    ck_assert_int_eq(weft_node_spawn(n, &pid, body, NULL, 0, NULL), WEFT_OK);
    return pid;
}

static void keep_store(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store();
    put("jobs.x", "one");
    say("open");
    (void)weft_sleep(WEFT_FOREVER);
}

static void keep_empty_store(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store();
    say("open");
    (void)weft_sleep(WEFT_FOREVER);
}

static void stop_it(const void *arg, size_t size)
{
    (void)size;
    weft_pid pid;
    memcpy(&pid, arg, sizeof pid);
    ck_assert_int_eq(weft_stop(pid), WEFT_OK);
}

/* The lease would last for ten minutes. */
static void worker_ends(weft_node *its_node)
{
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    weft_pid pid = spawn_on(its_node, take_and_end);
    HEAR("took");
    run_actor(a, take_again, NULL, 0);
    HEAR("waits");
    run_actor(its_node, stop_it, &pid, sizeof pid);
    HEAR("done");
}

START_TEST(a_worker_that_ends_gives_its_job_back)
{
    worker_ends(a);
}
END_TEST

START_TEST(a_worker_of_another_node_that_ends_gives_its_job_back)
{
    second_node();
    worker_ends(b);
}
END_TEST

/* ---- Workers of before ----------------------------------------------------------------------------------------- */

static void close_store(const void *arg, size_t size)
{
    weft_pid store;
    (void)arg, (void)size;
    ck_assert_int_eq(weft_whereis(WEFT_STORE_NAME, &store), WEFT_OK);
    end_store(store);
    say("closed");
}

static void end_it(const void *arg, size_t size)
{
    (void)size;
    weft_pid pid;
    memcpy(&pid, arg, sizeof pid);
    end_store(pid);
    say("ended");
}

/* It takes a job, and ends while the store is closed, or after it was opened again. The lease would last for ten
 * minutes. */
static void worker_of_before_ends(weft_node *its_node, bool while_closed)
{
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    weft_pid pid = spawn_on(its_node, take_and_end);
    HEAR("took");
    run_actor(a, close_store, NULL, 0);
    HEAR("closed");
    if (while_closed) run_actor(its_node, end_it, &pid, sizeof pid);
    if (while_closed) HEAR("ended");
    run_actor(a, keep_empty_store, NULL, 0);
    HEAR("open");
    if (!while_closed) run_actor(its_node, end_it, &pid, sizeof pid);
    if (!while_closed) HEAR("ended");
    run_actor(a, take_again, NULL, 0);
    HEAR("done");
}

START_TEST(a_store_that_is_opened_again_monitors_its_workers)
{
    if (_i >= 2) second_node();
    worker_of_before_ends(_i >= 2 ? b : a, _i % 2 == 0);
}
END_TEST

static void impatient(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    struct weft_queue_job job;
    open_store();
    for (int i = 0; i < 20; i++) {
        take_none("jobs.x");
        ck_assert_int_eq(weft_queue_take("jobs.x", &m, &job, WEFT_NOW), WEFT_ETIMEDOUT);
    }
    put("jobs.x", "one");
    take("jobs.x", "one", 1);
    say("done");
}

START_TEST(takers_that_give_up_get_nothing)
{
    RUN(a, impatient);
}
END_TEST

static void take_until_it_ends(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    struct weft_queue_job job;
    await_store();
    say("waits");
    int rc = weft_queue_take("jobs.x", &m, &job, WEFT_FOREVER);
    say("error %d", rc == WEFT_ENOREPLY || rc == WEFT_ENOACTOR); /* the second: it had ended before */
}

static void open_and_end(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid store = open_store();
    ck_assert_int_eq(weft_spawn(NULL, take_until_it_ends, NULL, 0, NULL), WEFT_OK);
    put("jobs.y", "one");
    take("jobs.y", "one", 1);
    HEAR("waits");
    take_none("jobs.x");
    end_store(store);
    say("done");
}

START_TEST(a_taker_is_told_that_the_store_ends)
{
    RUN(a, open_and_end);
    HEAR("error 1");
}
END_TEST

/* ---- Names that have no jobs ------------------------------------------------------------------------------------ */

enum { ASKERS = 50, NAMES = 10 * WEFT_QUEUE_QUEUES_MAX };

static void ask_about_names(const void *arg, size_t size)
{
    int which, failed = 0;
    (void)size;
    memcpy(&which, arg, sizeof which);
    for (int i = which; i < NAMES; i += ASKERS) {
        struct weft_queue_job job = {.id = 1, .lease = 1};
        snprintf(job.queue, sizeof job.queue, "jobs.never-used-%d", i);
        failed += weft_queue_done(&job, patience()) != WEFT_ECLOSED;
    }
    say("asked, %d failed", failed);
}

static void use_one(const void *arg, size_t size)
{
    (void)arg, (void)size;
    put("jobs.used", "one");
    done(take("jobs.used", "one", 1));
    say("done");
}

START_TEST(names_without_jobs_take_no_place)
{
    run_actor(a, keep_empty_store, NULL, 0);
    HEAR("open");
    for (int i = 0; i < ASKERS; i++) run_actor(a, ask_about_names, &i, sizeof i);
    for (int i = 0; i < ASKERS; i++) HEAR("asked, 0 failed");
    RUN(a, use_one);
}
END_TEST

static int ask_to_take(const char *queue, size_t body)
{
    static const char large[2048];
    struct store_change ask = {
        .kind = WF_JOB_TAKE, .queue = weft_cstr(queue), .ticket = 1, .body = weft_str(large, body)};
    struct store_changed got = {.error = 0};
    weft_msg *answer;
    int rc = wf_store_ask(WEFT_STORE_NAME, WF_STORE_CHANGE, store_change_type(), &ask, store_changed_type(), &got,
                          &answer, weft_after(WEFT_MS(20)));
    if (rc == WEFT_OK) weft_msg_free(answer);
    return rc < 0 ? rc : (int)got.error;
}

static void large_requests(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store();
    ck_assert_int_eq(ask_to_take("jobs.x", 2048), WEFT_ETOOBIG);
    ck_assert_int_eq(ask_to_take("jobs.x", 0), WEFT_ETIMEDOUT);
    say("done");
}

START_TEST(a_request_that_waits_is_small)
{
    RUN(a, large_requests);
}
END_TEST

/* ---- Takers of one node ---------------------------------------------------------------------------------------- */

struct taker {
    weft_pid parent;
    int which;
};

static void take_something(const void *arg, size_t size)
{
    weft_msg *m;
    struct weft_queue_job job;
    struct taker t;
    char queue[32];
    (void)size;
    memcpy(&t, arg, sizeof t);
    snprintf(queue, sizeof queue, "jobs.%d", t.which % 4);
    ck_assert_int_eq(weft_send(t.parent, DO, NULL, 0), WEFT_OK);
    weft_ignore(weft_queue_take(queue, &m, &job, WEFT_FOREVER));
}

/* The takers are on the worker of this actor. So what they ask of the store is there before what it asks then. */
static void crowd(const void *arg, size_t size)
{
    weft_msg *m;
    struct weft_queue_job job;
    (void)arg, (void)size;
    await_store();
    for (int i = 0; i < WF_HOLDS_OF_NODE; i++) {
        struct taker t = {weft_self(), i};
        ck_assert_int_eq(weft_spawn(NULL, take_something, &t, sizeof t, &(weft_spawn_options){.worker = WEFT_BESIDE}),
                         WEFT_OK);
    }
    for (int i = 0; i < WF_HOLDS_OF_NODE; i++) {
        ck_assert_int_eq(weft_recv_tag(&m, DO, patience()), WEFT_OK);
        weft_msg_free(m);
    }
    ck_assert_int_eq(weft_queue_take("jobs.x", &m, &job, patience()), WEFT_EFULL);
    say("full");
    (void)weft_sleep(WEFT_FOREVER);
}

START_TEST(a_node_does_not_keep_the_takers_of_others_out)
{
#ifdef WF_TSAN
    return; /* it has an end at 8,128 stacks */
#endif
    second_node();
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    run_actor(b, crowd, NULL, 0);
    HEAR("full");
    spawn_on(a, take_and_end);
    HEAR("took");
}
END_TEST

/* ---- Many ------------------------------------------------------------------------------------------------------ */

enum { WORKERS = 6, JOBS = 300 };

static void work(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    struct weft_queue_job job;
    await_store();
    while (weft_queue_take("jobs.x", &m, &job, WEFT_FOREVER) == WEFT_OK) {
        char text[32];
        snprintf(text, sizeof text, "did %.*s.", (int)job.size, (const char *)job.data);
        if (job.id % 3 == 0 && job.attempts == 1) {
            ck_assert_int_eq(weft_queue_return(&job, 0, patience()), WEFT_OK);
        } else {
            ck_assert_int_eq(weft_queue_done(&job, patience()), WEFT_OK);
            say("%s", text);
        }
        weft_msg_free(m);
    }
}

static void put_many(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    for (int i = 0; i < JOBS; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        put("jobs.x", text);
    }
}

START_TEST(each_job_is_done_by_workers_on_two_nodes)
{
    second_node();
    run_actor(a, keep_empty_store, NULL, 0);
    HEAR("open");
    for (int i = 0; i < WORKERS; i++) run_actor(i % 2 == 0 ? a : b, work, NULL, 0);
    run_actor(b, put_many, NULL, 0);
    for (int i = 0; i < JOBS; i++) {
        char text[32];
        snprintf(text, sizeof text, "did %d.", i);
        ck_assert_int_ge(heard(text, 1), 1);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queues");
    TCase *c = tcase_create("queues");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 280);
    tcase_add_test(c, a_job_is_taken_and_done);
    tcase_add_test(c, a_lease_outlives_its_store);
    tcase_add_test(c, errors_are_those_of_the_header);
    tcase_add_test(c, a_key_is_put_once_and_a_delay_passes);
    tcase_add_test(c, a_job_dies_and_is_revived);
    tcase_add_test(c, a_lease_ends_by_time);
    tcase_add_test(c, a_lease_that_is_made_shorter_ends_by_its_new_time);
    tcase_add_test(c, a_worker_that_ends_gives_its_job_back);
    tcase_add_test(c, a_worker_of_another_node_that_ends_gives_its_job_back);
    tcase_add_loop_test(c, a_store_that_is_opened_again_monitors_its_workers, 0, 4);
    tcase_add_test(c, takers_that_give_up_get_nothing);
    tcase_add_test(c, a_taker_is_told_that_the_store_ends);
    tcase_add_test(c, names_without_jobs_take_no_place);
    tcase_add_test(c, a_request_that_waits_is_small);
    tcase_add_test(c, a_node_does_not_keep_the_takers_of_others_out);
    tcase_add_test(c, each_job_is_done_by_workers_on_two_nodes);
    return run_suite_unforked(suite);
}

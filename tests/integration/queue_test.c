/* Work queues on one node and on two: each job is given, with a lease that ends with its worker. */
#include <time.h>

#include <weft/queue.h>
#include <weft/store.h>

#include "engine.h"
#include "store_client.h"
#include "store_messages.h"
#include "store_queues.h"

#include "store_kit.h"

enum { DO = 5 };

/* ---- What actors do -------------------------------------------------------------------------------------------- */

static weft_pid open_store(void)
{
    weft_pid pid;
    const struct weft_stored_queues queues[] = {{.pattern = "few.>", .jobs = 2, .attempts = 2},
                                                {.pattern = "short.>", .lease = WEFT_MS(50)},
                                                {.pattern = "jobs.>", .lease = WEFT_SEC(600), .attempts = 3}};
    int rc = weft_store_open(&(weft_store_options){.url = url[0], .queues = queues, .queue_count = 3}, &pid,
                             patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
    return pid;
}

static uint64_t put(const char *queue, const char *text)
{
    uint64_t id = 0;
    int rc = weft_queue_put(queue, DO, text, strlen(text), NULL, &id, patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
    ck_assert_uint_ne(id, 0);
    return id;
}

static struct weft_queue_job take(const char *queue, const char *text, uint32_t attempts)
{
    weft_msg *m;
    struct weft_queue_job job;
    int rc = weft_queue_take(queue, &m, &job, patience());
    ck_assert_msg(rc == WEFT_OK, "%s: %s", text, weft_strerror(rc));
    ck_assert_msg(job.size == strlen(text) && memcmp(job.data, text, job.size) == 0, "%.*s, not %s", (int)job.size,
                  (const char *)job.data, text);
    ck_assert_uint_eq(job.tag, DO);
    ck_assert_uint_eq(job.attempts, attempts);
    ck_assert_str_eq(job.queue, queue);
    ck_assert_int_gt(job.time, INT64_C(1000000000) * 1000000000);
    weft_msg_free(m);
    job.data = NULL;
    return job;
}

static void take_none(const char *queue)
{
    weft_msg *m;
    struct weft_queue_job job;
    ck_assert_int_eq(weft_queue_take(queue, &m, &job, weft_after(WEFT_MS(20))), WEFT_ETIMEDOUT);
}

static void done(struct weft_queue_job job)
{
    ck_assert_int_eq(weft_queue_done(&job, patience()), WEFT_OK);
}

static void expect_counts(const char *queue, int ready, int delayed, int leased, int dead)
{
    struct weft_queue_count c;
    ck_assert_int_eq(weft_queue_counts(NULL, &c, 1, patience()), 1);
    ck_assert_str_eq(c.queue, queue);
    ck_assert_msg(c.ready == (uint64_t)ready && c.delayed == (uint64_t)delayed && c.leased == (uint64_t)leased &&
                      c.dead == (uint64_t)dead,
                  "%d ready, %d delayed, %d leased, %d dead", (int)c.ready, (int)c.delayed, (int)c.leased,
                  (int)c.dead);
}

#define RUN(node, body)                 \
    do {                                \
        run_actor(node, body, NULL, 0); \
        HEAR("done");                   \
    } while (0)

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

static void take_again(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    say("waits");
    done(take("jobs.x", "one", 2));
    say("done");
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

/* ---- Reminders ------------------------------------------------------------------------------------------------- */

static int64_t wall_clock(void)
{
    struct timespec t;
    ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &t), 0);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void remind(const char *queue, const char *key, int64_t at, int64_t period)
{
    const struct weft_reminder_when when = {.at = at, .period = period};
    int rc = weft_reminder_set(queue, key, &when, DO, "tea", 3, patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
}

/* Receives the job of a reminder. */
static struct weft_queue_job receive(const char *key, uint32_t attempts)
{
    weft_msg *m;
    struct weft_queue_job job;
    ck_assert_int_eq(weft_recv_tag(&m, WEFT_JOB, patience()), WEFT_OK);
    ck_assert_int_eq(weft_queue_read(m, &job), WEFT_OK);
    ck_assert_msg(strcmp(job.reminder, key) == 0, "%s, not %s", job.reminder, key);
    ck_assert(job.size == 3 && memcmp(job.data, "tea", 3) == 0 && job.tag == DO);
    ck_assert_uint_eq(job.attempts, attempts);
    weft_msg_free(m);
    job.data = NULL;
    return job;
}

static void expect_reminder_list(const char *expected)
{
    struct weft_reminder r[4] = {{.at = 0}};
    char text[4000] = "";
    int count = weft_reminders(NULL, r, 4, patience());
    ck_assert_msg(count >= 0, "%s", weft_strerror(count));
    for (int i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s/%s ", r[i].queue, r[i].key);
    ck_assert_str_eq(text, expected);
    if (count > 0) ck_assert_int_eq(weft_reminders(&r[count - 1], r, 4, patience()), 0);
}

static void remind_and_receive(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_queue_subscription s;
    weft_pid store = open_store();
    const int64_t now = wall_clock();
    remind("jobs.x", "past", now - WEFT_SEC(50), 0);
    remind("jobs.x", "soon", now + WEFT_MS(150), 0);
    remind("jobs.y", "far", now + WEFT_SEC(1000), 0);
    expect_reminder_list("jobs.x/past jobs.x/soon jobs.y/far ");
    ck_assert_int_eq(weft_queue_subscribe("jobs.x", &s, patience()), WEFT_OK);
    struct weft_queue_job job = receive("past", 1);
    ck_assert_int_eq(job.at, now - WEFT_SEC(50));
    done(job);
    end_store(store); /* the subscription goes on with the next store */
    open_store();
    job = receive("soon", 1);
    ck_assert_int_ge(wall_clock(), job.at - WEFT_MS(1)); /* the clock of the store has milliseconds */
    done(job);
    ck_assert_int_eq(weft_queue_done(&job, patience()), WEFT_ECLOSED);
    expect_reminder_list("jobs.y/far ");
    ck_assert_int_eq(weft_reminder_cancel("jobs.y", "far", patience()), WEFT_OK);
    ck_assert_int_eq(weft_reminder_cancel("jobs.y", "far", patience()), WEFT_ENOTFOUND);
    expect_reminder_list("");
    ck_assert_int_eq(weft_queue_unsubscribe(s), WEFT_OK);
    say("done");
}

START_TEST(a_reminder_comes_when_it_is_due)
{
    RUN(a, remind_and_receive);
}
END_TEST

/* The first actor ends while it has the reminder. */
static void be_reminded(const void *arg, size_t size)
{
    uint32_t attempts;
    (void)size;
    memcpy(&attempts, arg, sizeof attempts);
    ck_assert_int_eq(weft_queue_subscribe("jobs.x", NULL, patience()), WEFT_OK);
    struct weft_queue_job job = receive("k", attempts);
    if (attempts > 1) done(job);
    say("reminded %d", (int)attempts);
}

static void outlive(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store();
    remind("jobs.x", "k", 0, 0);
    for (uint32_t attempts = 1; attempts <= 2; attempts++) {
        weft_pid pid;
        ck_assert_int_eq(weft_spawn(&pid, be_reminded, &attempts, sizeof attempts, NULL), WEFT_OK);
        weft_wait on = weft_on_end(pid);
        ck_assert_int_eq(weft_wait_any(&on, 1, patience()), 0);
    }
    expect_reminder_list("");
    say("done");
}

START_TEST(a_reminder_outlives_its_actor)
{
    RUN(a, outlive);
    ck_assert(heard("reminded 1", 1) >= 0 && heard("reminded 2", 1) >= 0);
}
END_TEST

static void repeat(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct weft_reminder r;
    open_store();
    const int64_t begin = wall_clock();
    remind("jobs.x", "k", begin - WEFT_SEC(50), WEFT_MS(40)); /* the times that have passed come once */
    ck_assert_int_eq(weft_queue_subscribe("jobs.x", NULL, patience()), WEFT_OK);
    for (int64_t last = 0, i = 0; i < 5; i++) {
        struct weft_queue_job job = receive("k", 1);
        ck_assert(job.period == WEFT_MS(40) && (job.at - begin + WEFT_SEC(50)) % WEFT_MS(40) == 0);
        ck_assert_int_gt(job.at, last);
        if (i > 0) ck_assert_int_gt(job.at, begin - WEFT_MS(40));
        last = job.at;
        done(job);
    }
    remind("jobs.x", "k", begin + WEFT_SEC(500), 0); /* replaces it, also if it is just being given */
    ck_assert_int_eq(weft_reminders(NULL, &r, 1, patience()), 1);
    ck_assert(r.at == begin + WEFT_SEC(500) && r.period == 0 && r.attempts == 0 && !r.is_dead);
    say("done");
}

START_TEST(a_reminder_with_a_period_repeats)
{
    RUN(a, repeat);
}
END_TEST

static void replace(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store();
    remind("jobs.x", "k", 0, 0);
    ck_assert_int_eq(weft_queue_subscribe("jobs.x", NULL, patience()), WEFT_OK);
    struct weft_queue_job job = receive("k", 1);
    remind("jobs.x", "k", 0, 0);
    ck_assert_int_eq(weft_queue_done(&job, patience()), WEFT_ECLOSED);
    job = receive("k", 1);
    ck_assert_int_eq(weft_reminder_cancel("jobs.x", "k", patience()), WEFT_OK);
    ck_assert_int_eq(weft_queue_return(&job, 0, patience()), WEFT_ECLOSED);
    expect_reminder_list("");
    say("done");
}

START_TEST(a_reminder_that_was_set_again_is_not_done)
{
    RUN(a, replace);
}
END_TEST

static void misuse_reminders(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    struct weft_queue_job job;
    char key[300] = "";
    struct weft_reminder_when when = {.at = 1};
    ck_assert_int_eq(weft_reminder_set("jobs.x", "k", &when, DO, "x", 1, patience()), WEFT_ENOACTOR);
    ck_assert_int_eq(weft_queue_subscribe("jobs.x", NULL, patience()), WEFT_ENOACTOR);
    open_store();
    ck_assert_int_eq(weft_queue_subscribe("other", NULL, patience()), WEFT_EACCESS);
    ck_assert_int_eq(weft_queue_subscribe("jobs.>", NULL, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_reminder_set("other", "k", &when, DO, "x", 1, patience()), WEFT_EACCESS);
    ck_assert_int_eq(weft_reminder_set("jobs.x", "", &when, DO, "x", 1, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_reminder_set("jobs.x", NULL, &when, DO, "x", 1, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_reminder_set("jobs.x", "k", NULL, DO, "x", 1, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_reminder_set("jobs.x", "k", &when, DO, NULL, 1, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_reminder_set("jobs.x", "k", &when, WEFT_TAG_SYSTEM, "x", 1, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_reminder_set("jobs.x", "k", &when, DO, "x", WEFT_QUEUE_JOB_MAX + 1, patience()),
                     WEFT_ETOOBIG);
    memset(key, 'k', 256);
    ck_assert_int_eq(weft_reminder_set("jobs.x", key, &when, DO, "x", 1, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_reminder_cancel("jobs.x", key, patience()), WEFT_EINVAL);
    when.at = -1;
    ck_assert_int_eq(weft_reminder_set("jobs.x", "k", &when, DO, "x", 1, patience()), WEFT_EINVAL);
    when = (struct weft_reminder_when){.at = 1, .period = -1};
    ck_assert_int_eq(weft_reminder_set("jobs.x", "k", &when, DO, "x", 1, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_reminders(NULL, NULL, 1, patience()), WEFT_EINVAL);
    for (uint32_t request = WF_STORE_REMIND; request <= WF_STORE_REMINDERS; request++) {
        ck_assert_int_eq(weft_call_name(WEFT_STORE_NAME, request, "\xC1", 1, &m, patience()), WEFT_OK);
        ck_assert_int_eq(weft_queue_read(m, &job), WEFT_EFORMAT);
        weft_msg_free(m);
    }
    expect_reminder_list("");
    say("done");
}

START_TEST(errors_of_reminders_are_those_of_the_header)
{
    RUN(a, misuse_reminders);
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

START_TEST(each_job_is_done_once)
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
    tcase_add_test(c, a_worker_that_ends_gives_its_job_back);
    tcase_add_test(c, a_worker_of_another_node_that_ends_gives_its_job_back);
    tcase_add_loop_test(c, a_store_that_is_opened_again_monitors_its_workers, 0, 4);
    tcase_add_test(c, takers_that_give_up_get_nothing);
    tcase_add_test(c, a_taker_is_told_that_the_store_ends);
    tcase_add_test(c, names_without_jobs_take_no_place);
    tcase_add_test(c, a_request_that_waits_is_small);
    tcase_add_test(c, a_node_does_not_keep_the_takers_of_others_out);
    tcase_add_test(c, a_reminder_comes_when_it_is_due);
    tcase_add_test(c, a_reminder_outlives_its_actor);
    tcase_add_test(c, a_reminder_with_a_period_repeats);
    tcase_add_test(c, a_reminder_that_was_set_again_is_not_done);
    tcase_add_test(c, errors_of_reminders_are_those_of_the_header);
    tcase_add_test(c, each_job_is_done_once);
    return run_suite_unforked(suite);
}

/* tests/unit/transport/store/queue_conformance.h -- tests of the promises of every engine about queues of jobs: a
 * part of conformance.h, which has `fixture` and `store`. */
#ifndef WF_STORE_QUEUE_CONFORMANCE_H
#define WF_STORE_QUEUE_CONFORMANCE_H

enum { LEASE = 100 };

static struct wf_store_change change_one(struct wf_store_change x)
{
    x.jobs_max = x.jobs_max == 0 ? 1000 : x.jobs_max;
    x.attempts = x.attempts == 0 ? 3 : x.attempts;
    int rc = fixture.engine->change(store, &x, 1);
    if (rc < 0) ck_assert_int_eq(x.error, rc);
    return x;
}

static uint64_t put_job(const char *queue, const char *text, int64_t now, int64_t delay)
{
    struct wf_store_change x = change_one((struct wf_store_change){.kind = WF_JOB_PUT,
                                                                   .queue = queue,
                                                                   .now = now,
                                                                   .delay = delay,
                                                                   .tag = 7,
                                                                   .data = text,
                                                                   .size = strlen(text)});
    ck_assert_msg(x.error == WEFT_OK, "%s", weft_strerror(x.error));
    ck_assert_uint_ne(x.job.id, 0);
    return x.job.id;
}

/* Takes a job, which has to be of that text; NULL: there has to be none. */
static struct wf_store_job take_job(const char *queue, const char *text, int64_t now)
{
    struct wf_store_change x = change_one(
        (struct wf_store_change){.kind = WF_JOB_TAKE, .queue = queue, .now = now, .delay = LEASE});
    ck_assert_msg(x.error == (text == NULL ? WEFT_ENOTFOUND : WEFT_OK), "%s", weft_strerror(x.error));
    if (text != NULL) {
        ck_assert_msg(x.job.size == strlen(text) && memcmp(x.body, text, x.job.size) == 0, "%.*s, not %s",
                      (int)x.job.size, (const char *)x.body, text);
        ck_assert(x.job.lease != 0 && !x.job.dead && x.job.attempts > 0 && x.job.due == now + LEASE);
        ck_assert_uint_eq(x.job.tag, 7);
    }
    free(x.body);
    return x.job;
}

static int change_taken(enum wf_store_change_kind kind, const char *queue, struct wf_store_job j, int64_t now,
                        int64_t delay)
{
    return change_one((struct wf_store_change){
                          .kind = kind, .queue = queue, .now = now, .delay = delay, .id = j.id, .lease = j.lease})
        .error;
}

static int done_job(const char *queue, struct wf_store_job j)
{
    return change_taken(WF_JOB_DONE, queue, j, 0, 0);
}

static bool add_queue(void *arg, const struct wf_store_queue *q)
{
    char text[300];
    snprintf(text, sizeof text, "%s=%d,%d,%d,%d ", q->name, (int)q->ready, (int)q->delayed, (int)q->leased,
             (int)q->dead);
    strcat(arg, text);
    return true;
}

/* "name=ready,delayed,leased,dead " */
static void expect_queues(int64_t now, const char *expected)
{
    char text[2000] = "";
    ck_assert_int_eq(fixture.engine->queues(store, "", now, add_queue, text), WEFT_OK);
    ck_assert_str_eq(text, expected);
}

static bool add_two_queues(void *arg, const struct wf_store_queue *q)
{
    add_queue(arg, q);
    return strchr(arg, ' ') == strrchr(arg, ' ');
}

/* "name=ready,delayed,leased,dead ", of the two queues behind `after` */
static void expect_two(const char *after, const char *expected)
{
    char text[2000] = "";
    ck_assert_int_eq(fixture.engine->queues(store, after, 10, add_two_queues, text), WEFT_OK);
    ck_assert_str_eq(text, expected);
}

START_TEST(queues_are_listed_in_pages)
{
    static const char *const names[] = {"b.q", "d.q", "a.q", "e.q", "c.q"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) put_job(names[i], "a job", 5, i == 1 ? 20 : 0);
    for (int again = 0; again < 2; again++, reopen()) {
        expect_two("", "a.q=1,0,0,0 b.q=1,0,0,0 ");
        expect_two("b.q", "c.q=1,0,0,0 d.q=0,1,0,0 ");
        expect_two("b.qq", "c.q=1,0,0,0 d.q=0,1,0,0 ");
        expect_two("d.q", "e.q=1,0,0,0 ");
        expect_two("e.q", "");
    }
    struct wf_store_job j = take_job("c.q", "a job", 10);
    ck_assert_int_eq(done_job("c.q", j), WEFT_OK);
    expect_two("b.q", "d.q=0,1,0,0 e.q=1,0,0,0 ");
    put_job("a", "a job", 5, 0);
    expect_two("", "a=1,0,0,0 a.q=1,0,0,0 ");
}
END_TEST

START_TEST(jobs_are_given_in_the_order_of_their_times)
{
    put_job("q", "second", 10, 0);
    put_job("q", "third", 10, 0);
    put_job("q", "last", 0, 50);
    put_job("q", "first", 5, 2);
    put_job("other.q", "other", 5, 0);
    take_job("q", NULL, 6);
    expect_queues(10, "other.q=1,0,0,0 q=3,1,0,0 ");
    struct wf_store_job j = take_job("q", "first", 10);
    ck_assert_int_eq(j.time, 5);
    ck_assert_uint_eq(j.attempts, 1);
    reopen();
    take_job("q", "second", 10);
    take_job("q", "third", 10);
    struct wf_store_change x = change_one((struct wf_store_change){.kind = WF_JOB_TAKE, .queue = "q", .now = 10});
    ck_assert(x.error == WEFT_ENOTFOUND && x.next_due == 50);
    expect_queues(10, "other.q=1,0,0,0 q=0,1,3,0 ");
    take_job("q", "last", 50);
    take_job("no.q", NULL, 50);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(a_job_that_is_done_is_gone)
{
    put_job("q", "one", 0, 0);
    struct wf_store_job j = take_job("q", "one", 0);
    ck_assert_int_eq(done_job("other", j), WEFT_ECLOSED);
    ck_assert_int_eq(done_job("q", j), WEFT_OK);
    ck_assert_int_eq(done_job("q", j), WEFT_ECLOSED);
    reopen();
    take_job("q", NULL, 1000);
    expect_queues(0, "");
    ck_assert_uint_gt(put_job("q", "two", 0, 0), j.id);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(a_lease_ends)
{
    put_job("q", "one", 0, 0);
    struct wf_store_job first = take_job("q", "one", 0);
    take_job("q", NULL, LEASE - 1);
    reopen();
    struct wf_store_job second = take_job("q", "one", LEASE);
    ck_assert_uint_eq(second.attempts, 2);
    ck_assert_int_eq(done_job("q", first), WEFT_ECLOSED);
    ck_assert_int_eq(change_taken(WF_JOB_RETURN, "q", first, 0, 0), WEFT_ECLOSED);
    ck_assert_int_eq(change_taken(WF_JOB_EXTEND, "q", first, 0, 0), WEFT_ECLOSED);
    ck_assert_int_eq(change_taken(WF_JOB_EXTEND, "q", second, 150, 500), WEFT_OK);
    take_job("q", NULL, 649);
    expect_queues(649, "q=0,0,1,0 ");
    expect_queues(650, "q=1,0,0,0 ");
    ck_assert_int_eq(done_job("q", second), WEFT_OK); /* late, but nobody else has it */
    take_job("q", NULL, 700);
}
END_TEST

START_TEST(a_job_that_is_given_back_comes_again)
{
    put_job("q", "one", 0, 0);
    struct wf_store_job j = take_job("q", "one", 0);
    ck_assert_int_eq(change_taken(WF_JOB_RETURN, "q", j, 10, 20), WEFT_OK);
    ck_assert_int_eq(done_job("q", j), WEFT_ECLOSED);
    take_job("q", NULL, 29);
    expect_queues(29, "q=0,1,0,0 ");
    j = take_job("q", "one", 30);
    ck_assert_uint_eq(j.attempts, 2);
    ck_assert_int_eq(change_taken(WF_JOB_UNTAKE, "q", j, 40, 0), WEFT_OK);
    j = take_job("q", "one", 40);
    ck_assert_uint_eq(j.attempts, 2);
}
END_TEST

static bool add_lease(void *arg, const struct wf_store_lease *l)
{
    char text[300];
    snprintf(text, sizeof text, "%s/%d until %d by %d.%d ", l->queue, (int)l->id, (int)l->due, (int)l->node,
             (int)l->actor);
    strcat(arg, text);
    return l->lease != 0;
}

/* "queue/id until due by node.actor " */
static void expect_leases(int64_t now, const char *expected)
{
    char text[2000] = "";
    ck_assert_int_eq(fixture.engine->leases(store, now, add_lease, text), WEFT_OK);
    ck_assert_str_eq(text, expected);
}

static struct wf_store_job take_as(const char *queue, uint64_t node, uint64_t actor, int64_t now)
{
    struct wf_store_change x = change_one((struct wf_store_change){
        .kind = WF_JOB_TAKE, .queue = queue, .now = now, .delay = LEASE, .node = node, .actor = actor});
    ck_assert_int_eq(x.error, WEFT_OK);
    free(x.body);
    return x.job;
}

START_TEST(a_lease_has_its_worker)
{
    for (int i = 0; i < 4; i++) put_job("q", "job", 0, 0);
    struct wf_store_job one = take_as("q", 7, 1, 0), two = take_as("q", 7, 2, 0), three = take_as("q", 8, 3, 0);
    take_job("q", "job", 0); /* by a worker that is not known */
    expect_leases(0, "q/1 until 100 by 7.1 q/2 until 100 by 7.2 q/3 until 100 by 8.3 ");
    reopen();
    expect_leases(99, "q/1 until 100 by 7.1 q/2 until 100 by 7.2 q/3 until 100 by 8.3 ");
    ck_assert_int_eq(done_job("q", one), WEFT_OK);
    ck_assert_int_eq(change_taken(WF_JOB_RETURN, "q", two, 10, 0), WEFT_OK);
    ck_assert_int_eq(change_taken(WF_JOB_EXTEND, "q", three, 10, 500), WEFT_OK);
    expect_leases(100, "q/3 until 510 by 8.3 ");
    two = take_as("q", 9, 4, 20);
    expect_leases(20, "q/2 until 120 by 9.4 q/3 until 510 by 8.3 ");
    take_job("q", "job", 120);
    take_job("q", "job", 120);
    expect_leases(120, "q/3 until 510 by 8.3 ");
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

static bool add_job(void *arg, const struct wf_store_job *j, const void *body)
{
    char text[100];
    snprintf(text, sizeof text, "%.*s/%u%s ", (int)j->size, (const char *)body, j->attempts, j->dead ? "+" : "");
    strcat(arg, text);
    return true;
}

static void expect_jobs(const char *queue, bool dead, const char *expected)
{
    char text[2000] = "";
    ck_assert_int_eq(fixture.engine->jobs(store, queue, dead, add_job, text), WEFT_OK);
    ck_assert_str_eq(text, expected);
}

START_TEST(a_job_dies_after_its_last_attempt)
{
    put_job("q", "by return", 0, 0);
    put_job("q", "by time", 1, 0);
    put_job("q", "lives", 1, 8000);
    for (int i = 0; i < 3; i++) { /* each round is later than the leases of the one before */
        struct wf_store_job j = take_job("q", i < 1 ? "by return" : "by time", 1000 * i + 1);
        if (i > 0) j = take_job("q", "by return", 1000 * i + 1);
        else take_job("q", "by time", 1000 * i + 1);
        ck_assert_int_eq(change_taken(WF_JOB_RETURN, "q", j, 1000 * i + 2, 500), WEFT_OK);
    }
    expect_jobs("q", true, "by return/3+ ");
    expect_jobs("q", false, "by time/3 lives/0 ");
    take_job("q", "lives", 9000);
    take_job("q", NULL, 9000);
    expect_jobs("q", true, "by return/3+ by time/3+ ");
    expect_jobs("other", true, "");
    expect_queues(9000, "q=0,0,1,2 ");
    reopen();
    expect_queues(9000, "q=0,0,1,2 ");
    struct wf_store_change x = {.kind = WF_JOB_REVIVE, .queue = "q", .now = 9000, .id = 2};
    ck_assert_uint_eq(change_one(x).count, 1);
    ck_assert_int_eq(change_one(x).error, WEFT_ENOTFOUND);
    x.id = 0;
    ck_assert_uint_eq(change_one(x).count, 1);
    ck_assert_int_eq(change_one(x).error, WEFT_ENOTFOUND);
    ck_assert_uint_eq(take_job("q", "by return", 9000).attempts, 1);
    ck_assert_uint_eq(take_job("q", "by time", 9000).attempts, 1);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(all_dead_jobs_of_a_queue_are_revived_at_once)
{
    struct wf_store_change x = {.kind = WF_JOB_RETURN, .queue = "q", .attempts = 1};
    for (int i = 0; i < 80; i++) put_job("q", "job", i, 0);
    for (int i = 0; i < 80; i++) {
        struct wf_store_job j = take_job("q", "job", i);
        x.id = j.id, x.lease = j.lease, x.now = i;
        ck_assert_int_eq(change_one(x).error, WEFT_OK);
    }
    expect_queues(100, "q=0,0,0,80 ");
    ck_assert_uint_eq(change_one((struct wf_store_change){.kind = WF_JOB_REVIVE, .queue = "q", .now = 100}).count,
                      80);
    expect_queues(100, "q=80,0,0,0 ");
}
END_TEST

START_TEST(a_key_is_put_once)
{
    struct wf_store_change x = {.kind = WF_JOB_PUT, .queue = "q", .data = "one", .size = 3, .tag = 7, .key = "k"};
    x.key_age = 1000;
    uint64_t id = change_one(x).job.id;
    ck_assert_uint_eq(change_one(x).job.id, id);
    reopen();
    ck_assert_uint_eq(change_one(x).job.id, id);
    ck_assert_int_eq(done_job("q", take_job("q", "one", 0)), WEFT_OK);
    x.now = 999;
    ck_assert_uint_eq(change_one(x).job.id, id); /* it is done, and is remembered */
    expect_queues(0, "");
    x.queue = "other";
    ck_assert_uint_eq(change_one(x).job.id, id + 1);
    x.key = "\xC3\xA9 \n'";
    ck_assert_uint_eq(change_one(x).job.id, id + 2);
    x.queue = "q", x.key = "k", x.now = 1000;
    ck_assert_uint_eq(change_one(x).job.id, id + 3);
    char key[300] = "";
    x.key = key;
    ck_assert_int_eq(change_one(x).error, WEFT_EINVAL);
    memset(key, 'k', 256);
    ck_assert_int_eq(change_one(x).error, WEFT_EINVAL);
    key[255] = '\0';
    ck_assert_int_eq(change_one(x).error, WEFT_OK);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(a_batch_is_many_changes)
{
    char *large = calloc(1, WF_STORE_RECORD_MAX + 1);
    struct wf_store_change batch[] = {
        {.kind = WF_JOB_PUT, .queue = "q", .data = "1", .size = 1, .jobs_max = 3},
        {.kind = WF_JOB_PUT, .queue = "q.>", .data = "2", .size = 1, .jobs_max = 3},
        {.kind = WF_JOB_PUT, .queue = "q", .data = large, .size = WF_STORE_RECORD_MAX + 1, .jobs_max = 3},
        {.kind = WF_JOB_PUT, .queue = "q", .data = large, .size = WF_STORE_RECORD_MAX, .jobs_max = 3},
        {.kind = WF_JOB_PUT, .queue = "q", .data = NULL, .size = 0, .jobs_max = 3},
        {.kind = WF_JOB_PUT, .queue = "q", .data = "5", .size = 1, .jobs_max = 3},
        {.kind = WF_JOB_TAKE, .queue = "q"},
        {.kind = WF_JOB_PUT, .queue = "q", .data = "6", .size = 1, .delay = -1, .jobs_max = 3},
        {.kind = WF_JOB_DONE, .queue = "q", .id = 1, .lease = 1}};
    const int expected[] = {WEFT_OK,    WEFT_EINVAL, WEFT_ETOOBIG, WEFT_OK,     WEFT_OK,
                            WEFT_EFULL, WEFT_OK,     WEFT_EINVAL,  WEFT_ECLOSED};
    enum { COUNT = sizeof batch / sizeof *batch };
    ck_assert_int_eq(fixture.engine->change(store, batch, COUNT), WEFT_OK);
    for (int i = 0; i < COUNT; i++) ck_assert_int_eq(batch[i].error, expected[i]);
    ck_assert(batch[6].job.id == batch[0].job.id && memcmp(batch[6].body, "1", 1) == 0);
    free(batch[6].body);
    ck_assert_int_eq(fixture.engine->change(store, batch, 0), WEFT_EINVAL);
    static struct wf_store_change many[WF_STORE_BATCH_MAX + 1];
    for (int i = 0; i <= WF_STORE_BATCH_MAX; i++) many[i] = batch[6];
    ck_assert_int_eq(fixture.engine->change(store, many, WF_STORE_TAKES_MAX + 1), WEFT_EINVAL);
    ck_assert_int_eq(fixture.engine->change(store, many, WF_STORE_BATCH_MAX + 1), WEFT_EINVAL);
    for (int i = 0; i < 17; i++) many[i] = batch[3];
    ck_assert_int_eq(fixture.engine->change(store, many, 17), WEFT_ETOOBIG);
    expect_queues(0, "q=3,0,0,0 "); /* its lease lasted for no time */
    free(large);
}
END_TEST

enum { NAMES_AT_ONCE = WF_STORE_TAKES_MAX, MANY_NAMES = WF_STORE_QUEUES_MAX + NAMES_AT_ONCE };

/* One change of each of so many queues, whose names begin at `first`; the results are in `x`. */
static void change_names(enum wf_store_change_kind kind, int first, uint64_t jobs_max, struct wf_store_change *x)
{
    static char name[NAMES_AT_ONCE][16];
    for (int i = 0; i < NAMES_AT_ONCE; i++) {
        snprintf(name[i], sizeof name[i], "q.%d", first + i);
        x[i].kind = kind;
        x[i].queue = name[i];
        x[i].jobs_max = jobs_max;
        x[i].id = x[i].job.id;
        x[i].lease = x[i].job.lease;
        x[i].delay = kind == WF_JOB_TAKE ? LEASE : 0;
    }
    ck_assert_int_eq(fixture.engine->change(store, x, NAMES_AT_ONCE), WEFT_OK);
    for (int i = 0; i < NAMES_AT_ONCE; i++) {
        free(x[i].body);
        ck_assert_msg(x[i].error == (jobs_max == 0 ? WEFT_EFULL : WEFT_OK), "name %d: %s", first + i,
                      weft_strerror(x[i].error));
    }
}

START_TEST(queues_without_jobs_take_no_place)
{
    for (int first = 0; first < MANY_NAMES; first += NAMES_AT_ONCE) {
        struct wf_store_change x[NAMES_AT_ONCE] = {{.error = 0}};
        change_names(WF_JOB_PUT, first, 0, x);
    }
    put_job("after.refused", "one", 0, 0);
    for (int first = 0; first < MANY_NAMES; first += NAMES_AT_ONCE) {
        struct wf_store_change x[NAMES_AT_ONCE] = {{.error = 0}};
        change_names(WF_JOB_PUT, first, 9, x);
        change_names(WF_JOB_TAKE, first, 9, x);
        change_names(WF_JOB_DONE, first, 9, x);
    }
    put_job("after.done", "one", 0, 0);
    expect_queues(0, "after.done=1,0,0,0 after.refused=1,0,0,0 ");
}
END_TEST

START_TEST(queues_with_jobs_are_bounded)
{
    struct wf_store_change batch[100] = {{.error = 0}};
    char name[100][16];
    for (int first = 0; first < WF_STORE_QUEUES_MAX; first += 100) {
        for (int i = 0; i < 100; i++) {
            snprintf(name[i], sizeof name[i], "q.%d", first + i);
            batch[i] = (struct wf_store_change){
                .kind = WF_JOB_PUT, .queue = name[i], .data = "x", .size = 1, .jobs_max = 9};
        }
        ck_assert_int_eq(fixture.engine->change(store, batch, 100), WEFT_OK);
        for (int i = 0; i < 100; i++) ck_assert_int_eq(batch[i].error, WEFT_OK);
    }
    struct wf_store_change x = {.kind = WF_JOB_PUT, .queue = "more", .data = "x", .size = 1};
    ck_assert_int_eq(change_one(x).error, WEFT_EFULL);
    struct wf_store_change taken = change_one(
        (struct wf_store_change){.kind = WF_JOB_TAKE, .queue = "q.7", .now = 1});
    free(taken.body);
    ck_assert_int_eq(done_job("q.7", taken.job), WEFT_OK);
    ck_assert_int_eq(change_one(x).error, WEFT_OK);
    x.queue = "q.7";
    ck_assert_int_eq(change_one(x).error, WEFT_EFULL);
}
END_TEST

/* ---- Reminders ------------------------------------------------------------------------------------------------- */

static struct wf_store_change set_reminder(const char *queue, const char *key, const char *text, int64_t at,
                                           int64_t period, int64_t now)
{
    return change_one((struct wf_store_change){.kind = WF_JOB_SET,
                                               .queue = queue,
                                               .now = now,
                                               .at = at,
                                               .period = period,
                                               .tag = 7,
                                               .data = text,
                                               .size = strlen(text),
                                               .key = key});
}

static struct wf_store_change cancel_reminder(const char *queue, const char *key)
{
    return change_one((struct wf_store_change){.kind = WF_JOB_CANCEL, .queue = queue, .key = key});
}

/* Takes the job of a reminder, which has to be of that key, text and time. */
static struct wf_store_job take_reminder(const char *queue, const char *key, const char *text, int64_t at,
                                         int64_t now)
{
    struct wf_store_change x = change_one(
        (struct wf_store_change){.kind = WF_JOB_TAKE, .queue = queue, .now = now, .delay = LEASE});
    ck_assert_msg(x.error == WEFT_OK, "%s", weft_strerror(x.error));
    ck_assert(x.reminder != NULL && x.job.size == strlen(text) && memcmp(x.body, text, x.job.size) == 0);
    ck_assert_str_eq(x.reminder, key);
    ck_assert_int_eq(x.at, at);
    free(x.body);
    return x.job;
}

struct reminder_list {
    char text[2000];
    int left;
};

static bool add_reminder(void *arg, const struct wf_store_reminder *r)
{
    struct reminder_list *l = arg;
    char text[600];
    snprintf(text, sizeof text, "%s/%s %d+%d%s ", r->queue, r->key, (int)r->at, (int)r->period,
             r->job.dead ? "!" : "");
    strcat(l->text, text);
    return --l->left > 0;
}

/* "queue/key at+period " */
static void expect_reminders(const char *queue, const char *key, int max, const char *expected)
{
    struct reminder_list l = {.left = max};
    ck_assert_int_eq(fixture.engine->reminders(store, queue, key, add_reminder, &l), WEFT_OK);
    ck_assert_str_eq(l.text, expected);
}

START_TEST(a_reminder_comes_once_at_its_time)
{
    ck_assert_int_eq(set_reminder("q", "k", "tea", 50, 0, 0).error, WEFT_OK);
    put_job("q", "job", 0, 60);
    struct wf_store_change x = change_one((struct wf_store_change){.kind = WF_JOB_TAKE, .queue = "q", .now = 49});
    ck_assert(x.error == WEFT_ENOTFOUND && x.next_due == 50);
    reopen();
    expect_reminders("", "", 9, "q/k 50+0 ");
    struct wf_store_job j = take_reminder("q", "k", "tea", 50, 55);
    ck_assert_int_eq(done_job("q", take_job("q", "job", 60)), WEFT_OK);
    take_job("q", NULL, 60);
    ck_assert_int_eq(change_taken(WF_JOB_RETURN, "q", j, 60, 0), WEFT_OK);
    j = take_reminder("q", "k", "tea", 50, 60);
    ck_assert_uint_eq(j.attempts, 2);
    j = take_reminder("q", "k", "tea", 50, 60 + LEASE); /* nobody has said that it is done */
    ck_assert_int_eq(done_job("q", j), WEFT_OK);
    ck_assert_int_eq(done_job("q", j), WEFT_ECLOSED);
    expect_reminders("", "", 9, "");
    ck_assert_int_eq(cancel_reminder("q", "k").error, WEFT_ENOTFOUND);
    reopen();
    take_job("q", NULL, 1000);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(a_reminder_repeats)
{
    ck_assert_int_eq(set_reminder("q", "k", "tea", 50, 20, 0).error, WEFT_OK);
    struct wf_store_job j = take_reminder("q", "k", "tea", 50, 50);
    struct wf_store_change x = change_one(
        (struct wf_store_change){.kind = WF_JOB_DONE, .queue = "q", .id = j.id, .lease = j.lease, .now = 55});
    ck_assert(x.error == WEFT_OK && x.next_due == 70);
    reopen();
    expect_reminders("", "", 9, "q/k 70+20 ");
    take_job("q", NULL, 69);
    j = take_reminder("q", "k", "tea", 70, 70);
    ck_assert_uint_eq(j.attempts, 1);
    x = change_one((struct wf_store_change){
        .kind = WF_JOB_DONE, .queue = "q", .id = j.id, .lease = j.lease, .now = 130}); /* 90, 110, 130 have passed */
    ck_assert(x.error == WEFT_OK && x.next_due == 150);
    ck_assert_int_eq(done_job("q", j), WEFT_ECLOSED);
    ck_assert_int_eq(cancel_reminder("q", "k").error, WEFT_OK);
    take_job("q", NULL, 10000);
    expect_queues(0, "");
    expect_reminders("", "", 9, "");
    x = set_reminder("q", "k", "tea", INT64_MAX - 5, 10, INT64_MAX - 3);
    ck_assert_int_eq(x.error, WEFT_OK);
    j = take_reminder("q", "k", "tea", INT64_MAX - 5, INT64_MAX - 3);
    x = change_one((struct wf_store_change){
        .kind = WF_JOB_DONE, .queue = "q", .id = j.id, .lease = j.lease, .now = INT64_MAX - 3});
    ck_assert(x.error == WEFT_OK && x.next_due == INT64_MAX);
}
END_TEST

START_TEST(a_reminder_of_the_same_key_is_replaced)
{
    uint64_t first = set_reminder("q", "k", "tea", 50, 0, 0).job.id;
    struct wf_store_job j = take_reminder("q", "k", "tea", 50, 50);
    struct wf_store_change x = set_reminder("q", "k", "coffee", 60, 5, 51);
    ck_assert(x.error == WEFT_OK && x.removed == first && x.job.id != first);
    ck_assert_int_eq(done_job("q", j), WEFT_ECLOSED);
    ck_assert_uint_eq(set_reminder("q", "other", "milk", 55, 0, 51).removed, 0);
    ck_assert_uint_eq(set_reminder("q.x", "k", "water", 1, 0, 51).removed, 0);
    reopen();
    expect_reminders("", "", 9, "q/k 60+5 q/other 55+0 q.x/k 1+0 ");
    expect_reminders("q", "k", 1, "q/other 55+0 ");
    expect_reminders("q", "other", 9, "q.x/k 1+0 ");
    take_reminder("q", "other", "milk", 55, 60);
    j = take_reminder("q", "k", "coffee", 60, 60);
    x = cancel_reminder("q", "k");
    ck_assert(x.error == WEFT_OK && x.removed == j.id);
    ck_assert_int_eq(done_job("q", j), WEFT_ECLOSED);
    take_reminder("q.x", "k", "water", 1, 60);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(reminders_have_limits)
{
    char key[300] = "";
    memset(key, 'k', 256);
    ck_assert_int_eq(set_reminder("q", key, "x", 0, 0, 0).error, WEFT_EINVAL);
    ck_assert_int_eq(set_reminder("q", "", "x", 0, 0, 0).error, WEFT_EINVAL);
    ck_assert_int_eq(set_reminder("q", NULL, "x", 0, 0, 0).error, WEFT_EINVAL);
    ck_assert_int_eq(set_reminder("q", "k", "x", -1, 0, 0).error, WEFT_EINVAL);
    ck_assert_int_eq(set_reminder("q", "k", "x", 0, -1, 0).error, WEFT_EINVAL);
    ck_assert_int_eq(set_reminder("q.>", "k", "x", 0, 0, 0).error, WEFT_EINVAL);
    ck_assert_int_eq(cancel_reminder("q", NULL).error, WEFT_EINVAL);
    ck_assert_int_eq(cancel_reminder("q", key).error, WEFT_EINVAL);
    key[255] = '\0';
    struct wf_store_change x = {.kind = WF_JOB_SET, .queue = "q", .key = key, .jobs_max = 2, .data = "x", .size = 1};
    ck_assert_int_eq(change_one(x).error, WEFT_OK);
    x.key = "second";
    ck_assert_int_eq(change_one(x).error, WEFT_OK);
    x.key = "third";
    ck_assert_int_eq(change_one(x).error, WEFT_EFULL);
    x.key = "second";
    ck_assert_int_eq(change_one(x).error, WEFT_OK); /* it replaces one */
    x.kind = WF_JOB_PUT, x.key = NULL;
    ck_assert_int_eq(change_one(x).error, WEFT_EFULL);
    reopen();
    ck_assert_int_eq(cancel_reminder("q", key).error, WEFT_OK);
    ck_assert_int_eq(change_one(x).error, WEFT_OK);
}
END_TEST

START_TEST(a_dead_reminder_is_revived)
{
    ck_assert_int_eq(set_reminder("q", "k", "tea", 0, 10, 0).error, WEFT_OK);
    for (int i = 0; i < 3; i++) {
        struct wf_store_job j = take_reminder("q", "k", "tea", 0, 0);
        ck_assert_int_eq(change_taken(WF_JOB_RETURN, "q", j, 0, 0), WEFT_OK);
    }
    expect_reminders("", "", 9, "q/k 0+10! ");
    take_job("q", NULL, 1000);
    ck_assert_uint_eq(change_one((struct wf_store_change){.kind = WF_JOB_REVIVE, .queue = "q", .now = 5}).count, 1);
    struct wf_store_job j = take_reminder("q", "k", "tea", 0, 5);
    ck_assert_int_eq(done_job("q", j), WEFT_OK);
    expect_reminders("", "", 9, "q/k 10+10 ");
}
END_TEST

static void add_queue_tests(TCase *c)
{
    tcase_add_test(c, a_reminder_comes_once_at_its_time);
    tcase_add_test(c, a_reminder_repeats);
    tcase_add_test(c, a_reminder_of_the_same_key_is_replaced);
    tcase_add_test(c, reminders_have_limits);
    tcase_add_test(c, a_dead_reminder_is_revived);
    tcase_add_test(c, jobs_are_given_in_the_order_of_their_times);
    tcase_add_test(c, queues_are_listed_in_pages);
    tcase_add_test(c, a_job_that_is_done_is_gone);
    tcase_add_test(c, a_lease_ends);
    tcase_add_test(c, a_job_that_is_given_back_comes_again);
    tcase_add_test(c, a_lease_has_its_worker);
    tcase_add_test(c, a_job_dies_after_its_last_attempt);
    tcase_add_test(c, all_dead_jobs_of_a_queue_are_revived_at_once);
    tcase_add_test(c, a_key_is_put_once);
    tcase_add_test(c, a_batch_is_many_changes);
    add_bound_test(c, queues_without_jobs_take_no_place);
    add_bound_test(c, queues_with_jobs_are_bounded);
}

#endif

/* Reminders: timers on disk, which outlive the actor that has set them. */
#include "store_client.h"
#include "store_messages.h"

#include "queue_kit.h"

static int64_t wall_clock(void)
{
    struct pf_env *env = pf_env_native();
    return env->wall(env);
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

int main(void)
{
    Suite *suite = suite_create("reminders");
    TCase *c = tcase_create("reminders");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 280);
    tcase_add_test(c, a_reminder_comes_when_it_is_due);
    tcase_add_test(c, a_reminder_outlives_its_actor);
    tcase_add_test(c, a_reminder_with_a_period_repeats);
    tcase_add_test(c, a_reminder_that_was_set_again_is_not_done);
    tcase_add_test(c, errors_of_reminders_are_those_of_the_header);
    return run_suite_unforked(suite);
}

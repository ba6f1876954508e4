/* tests/unit/transport/store/sqlite_oom_test.c -- each allocation of the engine fails once. */
#include <unistd.h>

#include "../../alloc_faults.h"
#include "conformance.h"
#include "sqlite_folder.h"

/* Check's own assertions allocate, too. */
static bool is_fine(int rc)
{
    if (rc < 0 && rc != WEFT_ENOMEM) {
        (void)faults_disarm();
        ck_abort_msg("%s: %s", weft_error_name(rc), why.text);
    }
    return rc >= 0;
}

static bool look_at(void *arg, const struct wf_store_log *log)
{
    (void)arg, (void)log;
    return true;
}

static bool look_at_cursor(void *arg, const char *name, const char *topic, struct wf_store_cursor at)
{
    (void)arg, (void)name, (void)topic, (void)at;
    return true;
}

static bool look_at_queue(void *arg, const struct wf_store_queue *q)
{
    (void)arg, (void)q;
    return true;
}

static bool look_at_job(void *arg, const struct wf_store_job *job, const void *body)
{
    (void)arg, (void)job, (void)body;
    return true;
}

static bool look_at_reminder(void *arg, const struct wf_store_reminder *r)
{
    (void)arg, (void)r;
    return true;
}

static void use_reminders(void)
{
    const struct wf_store_engine *e = fixture.engine;
    struct wf_store_change x = {
        .kind = WF_JOB_SET, .queue = "r", .data = "job", .size = 3, .key = "k", .at = 5, .period = 3, .jobs_max = 9};
    for (int i = 0; i < 2; i++) (void)is_fine(e->change(store, &x, 1));
    x.kind = WF_JOB_TAKE, x.now = 7, x.delay = 9;
    bool took = is_fine(e->change(store, &x, 1)) && x.error == WEFT_OK;
    bool is_it = took && x.reminder != NULL && strcmp(x.reminder, "k") == 0 && x.at == 5 && x.period == 3;
    if (took && !is_it) {
        (void)faults_disarm();
        ck_abort_msg("another reminder");
    }
    free(x.body);
    x.id = x.job.id, x.lease = x.job.lease, x.kind = WF_JOB_DONE;
    if (took) (void)is_fine(e->change(store, &x, 1));
    (void)is_fine(e->reminders(store, "", "", look_at_reminder, NULL));
    (void)is_fine(e->queues(store, "", 8, look_at_queue, NULL));
    x.kind = WF_JOB_CANCEL;
    (void)is_fine(e->change(store, &x, 1));
}

static void use_queues(void)
{
    const struct wf_store_engine *e = fixture.engine;
    struct wf_store_change x = {
        .kind = WF_JOB_PUT, .queue = "q", .data = "job", .size = 3, .key = "k", .key_age = 9, .jobs_max = 9};
    (void)is_fine(e->change(store, &x, 1));
    x.kind = WF_JOB_TAKE;
    bool took = is_fine(e->change(store, &x, 1)) && x.error == WEFT_OK;
    free(x.body);
    x.id = x.job.id, x.lease = x.job.lease, x.kind = WF_JOB_RETURN, x.attempts = 1;
    if (took) (void)is_fine(e->change(store, &x, 1));
    x.kind = WF_JOB_REVIVE, x.id = 0;
    (void)is_fine(e->change(store, &x, 1));
    use_reminders();
    (void)is_fine(e->queues(store, "", 0, look_at_queue, NULL));
    (void)is_fine(e->jobs(store, "q", false, look_at_job, NULL));
}

static bool count_job(void *arg, const struct wf_store_job *job, const void *body)
{
    (void)job, (void)body;
    ++*(uint64_t *)arg;
    return true;
}

/* Each record that the cursor has passed is a job, or was ended. */
static uint64_t use_shared(void)
{
    const struct wf_store_engine *e = fixture.engine;
    uint64_t ended = 0;
    struct wf_store_change x = {
        .kind = WF_JOB_SHARE, .queue = bill, .topic = "a", .ahead = 9, .most = 2, .jobs_max = 9};
    for (int i = 0; i < 2; i++) (void)is_fine(e->change(store, &x, 1));
    for (int i = 0; i < 2; i++) {
        struct wf_store_change y = {.kind = WF_JOB_TAKE, .queue = bill, .attempts = 1};
        bool took = is_fine(e->change(store, &y, 1)) && y.error == WEFT_OK;
        free(y.body);
        y.id = y.job.id, y.lease = y.job.lease, y.kind = i == 0 ? WF_JOB_DONE : WF_JOB_RETURN;
        ended += took && is_fine(e->change(store, &y, 1)) && i == 0;
    }
    struct wf_store_change z = {.kind = WF_JOB_DROP, .queue = bill};
    ended += is_fine(e->change(store, &z, 1)) && z.error == WEFT_OK;
    return ended;
}

static void expect_shared(uint64_t ended)
{
    struct wf_store_cursor at;
    uint64_t jobs = 0;
    ck_assert_int_eq(fixture.engine->cursor(store, bill, "a", &at), WEFT_OK);
    for (int dead = 0; dead < 2; dead++)
        ck_assert_int_eq(fixture.engine->jobs(store, bill, dead != 0, count_job, &jobs), WEFT_OK);
    ck_assert_uint_eq(jobs + ended, at.offset);
}

static bool look_at_state(void *arg, const struct wf_store_state *s)
{
    (void)arg, (void)s;
    return true;
}

static bool look_at_item(void *arg, const struct wf_store_item *item)
{
    (void)arg, (void)item;
    return true;
}

/* Returns how many events have been acknowledged. */
static uint64_t use_states(void)
{
    const struct wf_store_engine *e = fixture.engine;
    struct wf_store_state_change x = {.kind = WF_STATE_OPEN, .key = "s", .data = "event", .size = 5};
    if (!is_fine(e->change_states(store, &x, 1))) return 0;
    x.owner = x.state.owner;
    x.kind = WF_STATE_APPEND;
    for (int i = 0; i < 2; i++) {
        x.number = x.state.last + 1;
        uint64_t last = x.state.last;
        if (!is_fine(e->change_states(store, &x, 1))) x.state.last = last;
    }
    uint64_t last = x.state.last;
    x.kind = WF_STATE_SAVE;
    x.number = last;
    (void)is_fine(e->change_states(store, &x, 1));
    (void)is_fine(e->states(store, NULL, look_at_state, NULL));
    (void)is_fine(e->read_state(store, "s", x.owner, 0, 9, 99, look_at_item, NULL));
    return last;
}

static bool note_last(void *arg, const struct wf_store_state *s)
{
    *(uint64_t *)arg = s->last;
    return true;
}

static void expect_events(uint64_t last)
{
    uint64_t found = 0;
    ck_assert_int_eq(fixture.engine->states(store, NULL, note_last, &found), WEFT_OK);
    ck_assert_uint_eq(found, last);
}

/* Returns how many records have been acknowledged. */
static uint64_t use_it(uint64_t *events, uint64_t *ended)
{
    const struct wf_store_engine *e = fixture.engine;
    struct text_of t = {0};
    struct wf_store_log log;
    uint64_t stored = 0;
    for (int i = 0; i < 3; i++) stored += is_fine(append_one("a", "one", NULL, NULL));
    for (int i = 0; i < 70; i++) { /* more than the first table of logs holds */
        char topic[16];
        snprintf(topic, sizeof topic, "t.%d", i);
        (void)is_fine(append_one(topic, "x", NULL, NULL));
    }
    if (stored > 0) (void)is_fine(e->read(store, "a", 1, 9, 99, add_text, &t, &log));
    (void)is_fine(e->list(store, NULL, look_at, NULL));
    struct wf_store_advance a = {.name = "c", .topic = "a", .to = {1, 1}};
    struct wf_store_cursor at;
    (void)is_fine(e->advance(store, &a, 1));
    (void)is_fine(e->cursor(store, "c", "a", &at));
    (void)is_fine(e->cursors(store, "", "", look_at_cursor, NULL));
    use_queues();
    *ended = use_shared();
    *events = use_states();
    return stored;
}

START_TEST(the_engine_survives_the_failure_of_each_allocation)
{
    bool more = true;
    for (long n = 0; more; n++) {
        int rc;
        uint64_t stored = 0, events = 0, ended = 0;
        begin();
        faults_arm(n, false);
        store = open_as(false, &rc);
        if (is_fine(rc)) stored = use_it(&events, &ended);
        more = faults_disarm() > 0;
        if (store == NULL) open_it();
        if (stored > 0) ck_assert_uint_eq(find_log("a").last, stored);
        ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
        reopen();
        expect_events(events);
        expect_shared(ended);
        if (stored > 0) ck_assert_uint_eq(find_log("a").last, stored);
        close_it();
        end();
    }
}
END_TEST

int main(void)
{
    use_a_folder();
    Suite *suite = suite_create("the store without memory");
    TCase *c = tcase_create("memory");
    suite_add_tcase(suite, c);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, the_engine_survives_the_failure_of_each_allocation);
    return run_suite(suite);
}

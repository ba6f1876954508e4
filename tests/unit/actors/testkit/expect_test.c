/* actors/testkit/expect.c: expectations, and the texts of failures; probes. */
#include "sim/sim.h"
#include "../testkit.h"

/* ---- Expectations ---------------------------------------------------------------------------------------------- */

static void expect_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    (void)kid_on(0, sleeper, WEFT_SEC(1));
    (void)kid_on(0, sleeper, WEFT_SEC(2));
    weft_expect(DATA, WEFT_SEC(1), &m); /* at the last moment */
    want_int(value_of(m), WEFT_SEC(1));
    weft_msg_free(m);
    weft_expect_nothing(WEFT_MS(999));
    weft_expect(DATA, WEFT_SEC(3600), &m);
    want_int(weft_now() - PF_SIM_START, WEFT_SEC(2)); /* no longer than it takes */
    weft_msg_free(m);
    want_int(say(weft_self(), OTHER, 1), 0);
    want_int(say(weft_self(), DATA, 2), 0);
    weft_expect(DATA, 0, NULL);
    weft_expect(OTHER, 0, NULL);
}

static void missing_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)kid_on(0, sleeper, WEFT_MS(1500) + 1);
    want_int(say(weft_self(), OTHER, 1), 0);
    weft_expect(DATA, WEFT_MS(1500), NULL);
    note(1);
}

static void not_here_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_expect(DATA, 0, NULL);
}

static void unexpected_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)kid_on(0, sleeper, WEFT_MS(20));
    weft_expect_nothing(WEFT_MS(20));
}

static void kid_that_fails(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_expect(DATA, WEFT_SEC(1), NULL);
}

static void failing_kid_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)kid_on(0, kid_that_fails, 0);
    want_int(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
    note(1);
}

static void exiter(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_sleep(weft_after(WEFT_MS(5))), 0);
    weft_exit((int)k.n);
}

static weft_pid exit_later(int reason, bool watch)
{
    weft_monitor_ref ref;
    return kid_with(exiter, (struct kid){.n = reason}, &(weft_spawn_options){.monitor = watch ? &ref : NULL});
}

static void down_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid one = exit_later(17, true), two = exit_later(0, true);
    weft_expect_down(two, WEFT_EXIT_NORMAL, WEFT_MS(5));
    weft_expect_down(one, 17, 0);
    weft_expect_nothing(WEFT_SEC(1));
}

static void other_down_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_expect_down(exit_later(17, true), WEFT_EXIT_NORMAL, WEFT_SEC(1));
}

static void no_down_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_expect_down(exit_later(0, false), WEFT_EXIT_NORMAL, WEFT_SEC(1));
}

static void require_body(const void *arg, size_t size)
{
    (void)arg;
    weft_require(size == 1);
}

START_TEST(expectations_hold_or_fail_the_test)
{
    EXPECT_PASS(expect_body);
    EXPECT_FAIL(missing_body,
                "no message with tag 1 came within 1.5 s; the mailbox: it holds\n  tag 4, 8 bytes, from");
    ck_assert_ptr_nonnull(strstr(weft_test_report(), "expect_test.c:"));
    ck_assert_uint_eq(traced, 0); /* the actor ended there */
    EXPECT_FAIL(not_here_body, "no message with tag 1 is here; the mailbox: it is empty");
    EXPECT_FAIL(unexpected_body,
                "the mailbox is not empty: it holds\n  tag 1, 8 bytes, from an actor that has ended, 0.");
    EXPECT_PASS(down_body);
    EXPECT_FAIL(other_down_body, "to end with reason 0 (normal), and did with 17 (reason 17)");
    EXPECT_FAIL(no_down_body, "(is it monitored?); the mailbox: it is empty");
    EXPECT_FAIL(require_body, "the test's first actor ended: failed: expect_test.c:");
    EXPECT_FAIL(failing_kid_body, "no message with tag 1 came within 1 s");
    ck_assert_uint_eq(traced, 1);
    EXPECT_PASS(expect_body);
}
END_TEST

/* ---- Probes ---------------------------------------------------------------------------------------------------- */

/* Asks who is known as "db" and tells its parent the answer. */
static void client(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *answer;
    int rc = weft_call_name("db", ASK, &k.n, sizeof k.n, &answer, weft_after(WEFT_SEC(5)));
    (void)say(k.parent, DATA, rc == 0 ? value_of(answer) : rc);
}

static void probe_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_probe db, other;
    weft_msg *ask;
    want_int(weft_probe_open(&db, "db"), 0);
    want_int(weft_probe_open(&other, "db"), WEFT_EEXIST);
    want_int(weft_probe_open(&other, "no name"), WEFT_EINVAL);
    want_int(weft_probe_open(&other, NULL), 0);
    (void)kid_on(0, client, 7);
    weft_probe_expect(db, ASK, WEFT_MS(1), &ask);
    want(weft_wants_reply(ask));
    int64_t value = value_of(ask) * 6;
    want_int(weft_reply(ask, DATA, &value, sizeof value), 0);
    weft_msg_free(ask);
    want_int(hear(DATA), 42);
    (void)kid_on(0, client, 8); /* nobody answers */
    weft_probe_expect(db, ASK, 0, &ask);
    weft_expect_nothing(WEFT_SEC(5) - 1);
    weft_expect(DATA, 1, NULL);
    weft_msg_free(ask);
    (void)kid_on(0, client, 9); /* the other side ends */
    want_int(weft_settle(), 0);
    want_int(weft_probe_exit(db, 99), 0);
    want_int(weft_probe_exit(db, 99), WEFT_ECLOSED);
    want_int(hear(DATA), WEFT_ENOREPLY);
    want_int(weft_send(db.pid, DATA, NULL, 0), WEFT_ENOACTOR);
    weft_probe_expect_nothing(other, WEFT_SEC(1));
    for (int64_t i = 0; i < 5; i++) want_int(say(other.pid, i % 2 == 0 ? DATA : OTHER, i), 0);
    for (int64_t i = 1; i < 5; i += 2) {
        weft_probe_expect(other, OTHER, 0, &ask);
        want_int(value_of(ask), i);
        want_int(weft_send_msg(other.pid, ask), 0); /* it is ours now: send it on */
    }
    want_int(weft_probe_send(other, weft_self(), OTHER, NULL, 0), 0);
    weft_expect(OTHER, 0, &ask);
    want(weft_pid_equal(weft_from(ask), other.pid));
    want_int(weft_probe_send(other, weft_self(), WEFT_TAG_SYSTEM, NULL, 0), WEFT_EINVAL);
    want_int(weft_probe_send(other, db.pid, DATA, NULL, 0), WEFT_ENOACTOR);
    (void)kid_with(client, (struct kid){0}, NULL);
}

static void probe_missing_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_probe p;
    want_int(weft_probe_open(&p, NULL), 0);
    want_int(say(p.pid, DATA, 1), 0);
    weft_probe_expect(p, OTHER, WEFT_MS(5), NULL);
}

static void probe_surprise_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_probe p;
    want_int(weft_probe_open(&p, NULL), 0);
    want_int(say(p.pid, DATA, 1), 0);
    weft_probe_expect_nothing(p, 0);
}

static void probe_gone_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_probe p;
    want_int(weft_probe_open(&p, NULL), 0);
    want_int(weft_stop(p.pid), 0);
    weft_probe_expect(p, DATA, WEFT_FOREVER, NULL);
}

START_TEST(probes_collect_answer_and_end)
{
    EXPECT_PASS(probe_body);
    EXPECT_FAIL(probe_missing_body, "no message with tag 4 came within 5 ms; the probe: it holds\n  tag 1, 8 bytes");
    EXPECT_FAIL(probe_surprise_body, "the probe was sent something: it holds\n  tag 1");
    EXPECT_FAIL(probe_gone_body, "the probe has ended");
}
END_TEST

TEST_MAIN("expect", expectations_hold_or_fail_the_test, probes_collect_answer_and_end)

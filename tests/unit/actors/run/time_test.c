/* The times of the actor layer, to the nanosecond: grace periods, timeouts, deadlines, timers. The tests use virtual
 * time (actors/testkit/test.c), so they never wait. */
#include "../node_harness.h"

#include <weft/test.h>

enum { DATA = 1, GO = 2 };

static int64_t start; /* of the step that is being timed */

static void begin(void)
{
    start = weft_now();
}

static int64_t passed(void)
{
    return weft_now() - start;
}

#define EXPECT_PASS(body) ck_assert_msg(weft_test_run(body, NULL, 0, NULL) == 0, "%s", weft_test_report())

/* ---- Sleeps and timers ----------------------------------------------------------------------------------------- */

static void sleeps_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const int64_t spans[] = {1, 999, WEFT_US(1), WEFT_MS(1), WEFT_SEC(1), WEFT_SEC(86400) * 365 * 100};
    for (size_t i = 0; i < WF_COUNT(spans); i++) {
        begin();
        want_int(weft_sleep(weft_after(spans[i])), 0);
        want_int(passed(), spans[i]);
    }
    begin();
    want_int(weft_sleep(weft_now()), 0);
    want_int(weft_sleep(weft_now() - 5), 0);
    want_int(weft_sleep(WEFT_NOW), 0);
    want_int(passed(), 0);
}

START_TEST(a_sleep_ends_at_its_deadline)
{
    EXPECT_PASS(sleeps_body);
}
END_TEST

static void timers_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_timer t, u;
    begin();
    want_int(weft_timer_open(&t, start + 100, 30), 0);
    want_int(weft_timer_open(&u, start + 250, 0), 0);
    const weft_wait on[] = {weft_on_timer(t), weft_on_timer(u)};
    for (int64_t i = 0; i < 3; i++) {
        want_int(weft_wait_any(on, 2, WEFT_FOREVER), 0);
        want_int(passed(), 100 + 30 * i);
        want_int(weft_timer_take(t), 1);
    }
    want_int(weft_sleep(start + 245), 0); /* 190 and 220 go by */
    want_int(weft_timer_take(t), 2);
    want_int(weft_wait_any(on, 2, weft_after(4)), WEFT_ETIMEDOUT);
    want_int(weft_wait_any(on, 2, WEFT_FOREVER), 0); /* both are due at 250: the lower index */
    want_int(passed(), 250);
    want_int(weft_wait_all(on, 2, WEFT_NOW), 0);
    want_int(weft_timer_take(u), 1);
    want_int(weft_timer_set(t, start + 1000, 0), 0);
    want_int(weft_timer_take(t), 0); /* forgotten */
    want_int(weft_wait_any(on, 2, WEFT_FOREVER), 0);
    want_int(passed(), 1000);
}

START_TEST(timers_do_not_drift_and_lose_nothing)
{
    EXPECT_PASS(timers_body);
}
END_TEST

static void says_later(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_sleep(start + WEFT_SEC(1)), 0);
    want_int(say(k.parent, DATA, k.n), 0);
}

static void ties_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    begin();
    for (int i = 0; i < 100; i++) (void)kid_on(0, says_later, i);
    for (int i = 0; i < 100; i++) want_int(hear(DATA), i);
    want_int(passed(), WEFT_SEC(1));
}

START_TEST(equal_deadlines_pass_in_the_order_they_were_set)
{
    EXPECT_PASS(ties_body);
}
END_TEST

/* ---- Deadlines of receiving, sending, calling ------------------------------------------------------------------ */

static bool is_go(const weft_msg *m, void *arg)
{
    (void)arg;
    return weft_tag(m) == GO;
}

static void sit(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static void receives_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    begin();
    want_int(weft_recv(&m, start + 10), WEFT_ETIMEDOUT);
    want_int(passed(), 10);
    (void)kid_on(0, says_later, 1); /* its message wakes the next two, in vain */
    want_int(weft_recv_tag(&m, GO, start + WEFT_SEC(2)), WEFT_ETIMEDOUT);
    want_int(passed(), WEFT_SEC(2));
    want_int(weft_recv_match(&m, is_go, NULL, start + WEFT_SEC(3)), WEFT_ETIMEDOUT);
    want_int(passed(), WEFT_SEC(3));
    want_int(hear(DATA), 1);
}

START_TEST(receiving_ends_at_its_deadline)
{
    EXPECT_PASS(receives_body);
}
END_TEST

static void sends_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_with(sit, (struct kid){.n = 0}, &(weft_spawn_options){.mailbox_max = 2});
    weft_msg *answer;
    want_int(say(to, DATA, 0), 0);
    want_int(say(to, DATA, 1), 0);
    begin();
    want_int(try_say(to, DATA, 2), WEFT_EFULL);
    want_int(passed(), 0);
    want_int(say(to, DATA, 2), WEFT_EFULL);
    want_int(passed(), WEFT_SEC(5)); /* the node's send timeout */
    begin();
    want_int(weft_call(to, GO, NULL, 0, &answer, weft_after(WEFT_SEC(60))), WEFT_EFULL);
    want_int(passed(), WEFT_SEC(60)); /* its own deadline */
    to = kid_on(0, sit, 0);
    begin();
    want_int(weft_call(to, GO, NULL, 0, &answer, weft_after(WEFT_SEC(7))), WEFT_ETIMEDOUT);
    want_int(passed(), WEFT_SEC(7));
}

START_TEST(sends_and_calls_end_at_their_deadlines)
{
    EXPECT_PASS(sends_body);
}
END_TEST

static void late_answerer(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        int64_t late = value_of(m);
        if (weft_sleep(weft_after(late)) < 0) return;
        want_int(weft_reply(m, DATA, &late, sizeof late), 0);
        weft_msg_free(m);
    }
}

static void late_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_on(0, late_answerer, 0);
    for (int64_t late = 8; late <= 12; late++) {
        weft_msg *answer;
        uint64_t before = drops(weft_here(), WF_DROP_LATE_REPLY);
        begin();
        int rc = weft_call(to, GO, &late, sizeof late, &answer, weft_after(10));
        want_int(passed(), WF_MIN(late, 10));
        if (late != 10) want_int(rc, late < 10 ? 0 : WEFT_ETIMEDOUT);
        if (rc == 0) weft_msg_free(answer);
        want_int(weft_advance(10), 0);
        want_int(drops(weft_here(), WF_DROP_LATE_REPLY) - before, rc != 0);
        weft_expect_nothing(0); /* it came past the mailbox or not at all */
    }
}

START_TEST(a_late_answer_is_dropped)
{
    EXPECT_PASS(late_body);
}
END_TEST

/* ---- Grace periods --------------------------------------------------------------------------------------------- */

static int64_t cleaned_at;

static void clean_up(void *arg)
{
    (void)arg;
    weft_msg *m;
    (void)weft_recv(&m, WEFT_FOREVER);
    cleaned_at = passed();
}

/* Its clean-up would wait for ever. */
static void slow_to_end(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_defer(clean_up, NULL), 0);
    (void)weft_sleep(WEFT_FOREVER);
}

static void grace_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid kid = kid_on(0, slow_to_end, 0);
    want_int(weft_settle(), 0);
    begin();
    want_int(weft_stop(kid), 0);
    want_int(weft_advance(WEFT_SEC(2)), 0);
    (void)weft_stop(kid); /* a second one does not prolong it */
    want_int(weft_advance(WEFT_SEC(3) - 1), 0);
    want(is_alive(kid));
    want_int(weft_advance(1), 0);
    want(!is_alive(kid));
    want_int(cleaned_at, WEFT_SEC(5));
}

START_TEST(clean_ups_have_what_is_left_of_the_grace_period)
{
    EXPECT_PASS(grace_body);
}
END_TEST

TEST_MAIN("time", a_sleep_ends_at_its_deadline, timers_do_not_drift_and_lose_nothing,
          equal_deadlines_pass_in_the_order_they_were_set, receiving_ends_at_its_deadline,
          sends_and_calls_end_at_their_deadlines, a_late_answer_is_dropped,
          clean_ups_have_what_is_left_of_the_grace_period)

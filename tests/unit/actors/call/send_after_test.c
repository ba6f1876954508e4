/* actors/call/send_after.c: messages sent at a point in time, once or repeatedly; cancelling, ends, limits, no
 * backlog. Tests that depend on time use virtual time. */
#include "../node_harness.h"

#include <weft/test.h>

enum { DATA = 1, GO = 2 };

static void in_virtual_time(weft_actor *body)
{
    ck_assert_msg(weft_test_run(body, NULL, 0, NULL) == 0, "%s", weft_test_report());
}

static int64_t expect(uint32_t tag, int64_t within)
{
    weft_msg *m;
    weft_expect(tag, within, &m);
    int64_t value = weft_size(m) == sizeof value ? value_of(m) : -1;
    want(weft_pid_equal(weft_from(m), weft_self()));
    weft_msg_free(m);
    return value;
}

/* ---- Once ------------------------------------------------------------------------------------------------------ */

static void once_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int64_t now = weft_now(), value = 7;
    weft_later l, never;
    want_int(weft_send_after(now + WEFT_SEC(2), weft_self(), DATA, &value, sizeof value, &l), 0);
    value = 8; /* it was copied */
    want_int(weft_send_after(now + WEFT_SEC(1), weft_self(), GO, NULL, 0, NULL), 0);
    want_int(weft_send_after(WEFT_FOREVER, weft_self(), DATA, NULL, 0, &never), 0);
    weft_expect_nothing(WEFT_SEC(1) - 1);
    want_int(expect(GO, 1), -1);
    weft_expect_nothing(WEFT_SEC(1) - 1);
    want_int(expect(DATA, 1), 7);
    want_int(weft_now(), now + WEFT_SEC(2));
    want_int(weft_later_cancel(l), WEFT_ECLOSED);
    want_int(weft_later_cancel(never), 0);
    want_int(weft_later_cancel(never), WEFT_ECLOSED);
    want_int(weft_send_after(now, weft_self(), DATA, &value, sizeof value, NULL), 0); /* past: in the next turn */
    want_int(expect(DATA, 0), 8);
    weft_expect_nothing(WEFT_SEC(100));
}

START_TEST(a_message_comes_when_its_time_has_come)
{
    in_virtual_time(once_body);
}
END_TEST

static void cancel_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_later l[100];
    int64_t now = weft_now();
    for (int64_t i = 0; i < 100; i++)
        want_int(weft_send_after(now + WEFT_MS(i + 1), weft_self(), DATA, &i, sizeof i, &l[i]), 0);
    for (int i = 1; i < 100; i += 2) want_int(weft_later_cancel(l[i]), 0);
    for (int64_t i = 0; i < 100; i += 2) want_int(expect(DATA, WEFT_SEC(1)), i);
    weft_expect_nothing(WEFT_SEC(1));
    for (int i = 0; i < 100; i++) want_int(weft_later_cancel(l[i]), WEFT_ECLOSED);
}

START_TEST(a_cancelled_message_does_not_come)
{
    in_virtual_time(cancel_body);
}
END_TEST

/* ---- Intervals ------------------------------------------------------------------------------------------------- */

static void every_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int64_t first = weft_now() + WEFT_MS(5), value = 3;
    weft_later l;
    want_int(weft_send_every(first, WEFT_MS(10), weft_self(), DATA, &value, sizeof value, &l), 0);
    for (int64_t i = 0; i < 100; i++) {
        want_int(expect(DATA, WEFT_SEC(1)), 3);
        want_int(weft_now(), first + i * WEFT_MS(10)); /* no drift */
        want_int(weft_sleep(weft_after(WEFT_MS(3))), 0);
    }
    want_int(weft_sleep(first + WEFT_MS(100 * 10 + 35)), 0); /* 100 comes; 101, 102, 103 are left out */
    want_int(expect(DATA, 0), 3);
    weft_expect_nothing(0);
    weft_msg *m;
    weft_expect(DATA, WEFT_MS(5), &m); /* 104, to the moment */
    want_int(weft_now(), first + WEFT_MS(1040));
    weft_expect_nothing(WEFT_MS(25)); /* held, it counts as pending */
    weft_msg_free(m);
    want_int(expect(DATA, WEFT_MS(5)), 3);
    want_int(weft_now(), first + WEFT_MS(1070));
    want_int(weft_later_cancel(l), 0);
    want_int(weft_later_cancel(l), WEFT_ECLOSED);
    weft_expect_nothing(WEFT_SEC(1));

    want_int(weft_send_every(WEFT_NOW, WEFT_MS(10), weft_self(), DATA, NULL, 0, &l), 0); /* a past first one */
    want_int(expect(DATA, 0), -1);
    want_int(expect(DATA, WEFT_MS(10)), -1);
    want_int(weft_sleep(weft_after(WEFT_MS(15))), 0);
    want_int(weft_later_cancel(l), 0);
    want_int(expect(DATA, 0), -1); /* sent before it was cancelled */
    weft_expect_nothing(WEFT_SEC(1));
}

START_TEST(an_interval_does_not_drift_and_has_no_backlog)
{
    in_virtual_time(every_body);
}
END_TEST

static void far_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_later l;
    want_int(weft_send_every(WEFT_NOW, INT64_MAX, weft_self(), DATA, NULL, 0, &l), 0);
    want_int(expect(DATA, 0), -1);
    want_int(weft_later_cancel(l), WEFT_ECLOSED); /* its next time would be past the end of time */
    want_int(weft_send_every(WEFT_FOREVER, 1, weft_self(), DATA, NULL, 0, &l), 0);
    want_int(weft_later_cancel(l), 0);
}

START_TEST(an_interval_ends_at_the_end_of_time)
{
    in_virtual_time(far_body);
}
END_TEST

/* ---- Ends ------------------------------------------------------------------------------------------------------ */

static void arm_and_end(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_send_after(weft_after(WEFT_SEC(1)), k.parent, DATA, NULL, 0, NULL), 0);
    want_int(weft_send_every(weft_after(WEFT_SEC(1)), WEFT_SEC(1), k.parent, DATA, "x", 1, NULL), 0);
    if (k.n == 0) return;
    if (k.n == 1) weft_exit(WEFT_EXIT_STOPPED);
    want_int(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
    want_int(weft_send_after(weft_after(WEFT_SEC(1)), k.parent, DATA, NULL, 0, NULL), 0); /* while it is stopping */
    while (k.n == 3) want_int(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);                  /* until it is killed */
}

static void ends_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int64_t how = 0; how < 3; how++) {
        weft_pid kid = kid_on(1, arm_and_end, how);
        want_int(weft_settle(), 0);
        if (how == 2) want_int(weft_stop(kid), 0);
        want_int(weft_settle(), 0);
        want(!is_alive(kid));
        weft_expect_nothing(WEFT_SEC(10));
    }
}

static void closes(const void *arg, size_t size)
{
    (void)size;
    const struct kid *k = arg;
    weft_later l = {(uint64_t)k->n};
    want_int(weft_later_cancel(l), WEFT_ECLOSED); /* another's */
}

static void foreign_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_later l;
    want_int(weft_send_after(weft_after(WEFT_SEC(1)), weft_self(), DATA, NULL, 0, &l), 0);
    for (int worker = 1; worker <= 2; worker++) await_end(kid_on(worker, closes, (int64_t)l.id));
    want_int(weft_later_cancel(l), 0);
    want_int(weft_later_cancel((weft_later){0}), WEFT_ECLOSED);
    want_int(weft_later_cancel((weft_later){UINT64_MAX}), WEFT_ECLOSED);
}

START_TEST(a_delayed_message_ends_with_the_actor_that_armed_it)
{
    in_virtual_time(ends_body);
    run_on(2, foreign_body); /* the harness looks for what is left, as below */
}
END_TEST

static void leave_many(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int64_t how = 0; how < 3; how++) {
        for (int worker = 1; worker <= 2; worker++) {
            weft_pid kid = kid_on(worker, arm_and_end, how);
            if (how == 2) want_int(weft_stop(kid), 0);
            await_end(kid);
        }
    }
    weft_pid stubborn = kid_on(1, arm_and_end, 3);
    await_wait(stubborn, "sleep");
    want_int(weft_stop(stubborn), 0);
    await_end(stubborn);
}

START_TEST(delayed_messages_of_ended_actors_leave_nothing_behind)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = WEFT_MS(1)));
    node_spawn(n, 1, leave_many);
    node_end(n);
}
END_TEST

static void quits(const void *arg, size_t size)
{
    (void)arg, (void)size;
}

static void gone_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_later once, every;
    for (int worker = 1; worker <= 2; worker++) {
        uint64_t before = drops(weft_here(), WF_DROP_NO_ACTOR);
        weft_pid kid = kid_on(worker, quits, 0);
        await_end(kid);
        want_int(weft_send_after(weft_now(), kid, DATA, NULL, 0, &once), 0);
        want_int(weft_send_every(weft_now(), WEFT_US(100), kid, DATA, "abc", 3, &every), 0);
        until(drops(weft_here(), WF_DROP_NO_ACTOR) == before + 2);
        want_int(weft_later_cancel(once), WEFT_ECLOSED);
        want_int(weft_later_cancel(every), WEFT_ECLOSED); /* it ended: that pid will never be anybody again */
        weft_pid nowhere = {weft_self().node + 1, 1};
        want_int(weft_send_after(weft_now(), nowhere, DATA, NULL, 0, NULL), 0);
        until(drops(weft_here(), WF_DROP_NO_ACTOR) == before + 3);
    }
}

START_TEST(a_receiver_that_is_gone_is_counted_once)
{
    run_on(2, gone_body);
}
END_TEST

/* ---- Bounds ---------------------------------------------------------------------------------------------------- */

static void sit(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static bool is_full(weft_pid p)
{
    struct wf_worker *w = weft_here()->workers.at[wf_id_worker(p.actor)];
    return atomic_load(&((struct wf_actor *)wf_slab_find(&wf_actors_of(w)->slab, p.actor))->full);
}

static void bounds_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        for (weft_full_policy p = WEFT_FULL_SUSPEND; p <= WEFT_FULL_FAIL; p++) {
            weft_spawn_options o = {.mailbox_max = 2, .worker = worker, .policy = p};
            weft_pid to = kid_with(sit, (struct kid){.n = 0}, &o);
            want_int(say(to, DATA, 0), 0);
            want_int(say(to, DATA, 1), 0);
            until(is_full(to));
            uint64_t before = drops(weft_here(), WF_DROP_FULL);
            for (int64_t i = 2; i < 5; i++) want_int(weft_send_after(weft_now(), to, DATA, &i, sizeof i, NULL), 0);
            until(drops(weft_here(), WF_DROP_FULL) == before + 3);
            if (worker == 1) {
                want_int(peek(to)->dropped, 3);
                want_int(wf_mail_count(peek(to)), 2);
                want_int(value_of(peek(to)->mail.first), p == WEFT_FULL_DROP_OLDEST ? 3 : 0);
            }
            want_int(weft_stop(to), 0);
            await_end(to);
        }
    }
}

START_TEST(a_delayed_message_to_a_full_mailbox_is_dropped_and_counted)
{
    run_on(2, bounds_body);
}
END_TEST

static void tick(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_send_every(weft_now(), WEFT_US(50), k.parent, DATA, &k.n, sizeof k.n, NULL), 0);
    (void)weft_sleep(WEFT_FOREVER);
}

/* The receiver is on another worker, which frees the body at any time. */
static void across_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid clocks[3];
    int64_t sum = 0;
    for (int i = 0; i < 3; i++) clocks[i] = kid_on(1 + i % 2, tick, i);
    for (int i = 0; i < 300; i++) {
        sum += hear(DATA);
        want(wf_mail_count(peek(weft_self())) <= 3);
    }
    want(sum > 0);
    for (int i = 0; i < 3; i++) want_int(weft_stop(clocks[i]), 0);
    for (int i = 0; i < 3; i++) await_end(clocks[i]);
}

START_TEST(intervals_of_other_workers_are_one_message_each)
{
    run_on(2, across_body);
}
END_TEST

static void bad_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid me = weft_self();
    int64_t now = weft_now();
    want_int(weft_send_after(now, me, WEFT_TAG_SYSTEM, NULL, 0, NULL), WEFT_EINVAL);
    want_int(weft_send_after(now, me, DATA, NULL, 1, NULL), WEFT_EINVAL);
    want_int(weft_send_after(now, me, DATA, "", WEFT_MESSAGE_MAX + 1, NULL), WEFT_ETOOBIG);
    want_int(weft_send_every(now, 0, me, DATA, NULL, 0, NULL), WEFT_EINVAL);
    want_int(weft_send_every(now, -1, me, DATA, NULL, 0, NULL), WEFT_EINVAL);
    want_int(weft_send_every(now, 1, me, DATA, NULL, 1, NULL), WEFT_EINVAL);
}

START_TEST(bad_arguments_of_send_after_are_refused)
{
    run_on(1, bad_body);
    weft_pid nobody = weft_nobody();
    ck_assert_int_eq(weft_send_after(1, nobody, DATA, NULL, 0, NULL), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_send_every(1, 1, nobody, DATA, NULL, 0, NULL), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_later_cancel((weft_later){1}), WEFT_ENOTACTOR);
}
END_TEST

TEST_MAIN("later", a_message_comes_when_its_time_has_come, a_cancelled_message_does_not_come,
          an_interval_does_not_drift_and_has_no_backlog, an_interval_ends_at_the_end_of_time,
          a_delayed_message_ends_with_the_actor_that_armed_it, delayed_messages_of_ended_actors_leave_nothing_behind,
          a_receiver_that_is_gone_is_counted_once, a_delayed_message_to_a_full_mailbox_is_dropped_and_counted,
          intervals_of_other_workers_are_one_message_each, bad_arguments_of_send_after_are_refused)

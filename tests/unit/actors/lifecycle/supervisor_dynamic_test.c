/* actors/lifecycle/supervisor.c, kept_actor.c: kept mailboxes, and children that come and go. */
#include "supervisor_kit.h"

/* ---- What stays ------------------------------------------------------------------------------------------------ */

static int64_t sum, got;

/* Takes numbers; fails at each one divisible by seven, which is lost with it, as it has been received. */
static void adder(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_register("another"), 0); /* of this life */
    if (got == 50) want_int(weft_unregister("adder"), 0);
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        int64_t value = value_of(m);
        got++;
        if (value % 7 == 0) weft_exit(17);
        sum += value;
        if (weft_wants_reply(m)) want_int(weft_reply(m, ASK, &value, sizeof value), 0);
        weft_msg_free(m);
    }
}

BODY(mail_is_kept_from_life_to_life)
{
    NO_ARGS;
    static const weft_child_spec kids[] = {{.name = "adder", .body = adder, .keep_mailbox = true}};
    static const weft_supervisor_spec spec = SPEC_WITH(kids, .max_restarts = 1000, .backoff_min = WEFT_MS(1),
                                                       .backoff_max = WEFT_MS(50));
    weft_pid s = top(&spec), adder_pid = named("adder");
    weft_monitor_ref ref;
    want_int(weft_monitor(adder_pid, &ref), 0);
    sum = got = 0;
    int64_t wanted = 0;
    for (int64_t i = 1; i <= 100; i++) {
        want_int(say(adder_pid, 1, i), 0);
        if (i % 7 != 0) wanted += i;
        if (i % 3 == 0) want_int(weft_advance(WEFT_MS(2)), 0); /* some arrive between two lives */
    }
    want_int(weft_advance(WEFT_SEC(10)), 0);
    want_int(got, 100);
    want_int(sum, wanted);
    want(weft_pid_equal(named("adder"), adder_pid));
    want(weft_pid_equal(named("another"), adder_pid));
    weft_expect_nothing(0); /* no DOWN */
    struct weft_child_info info;
    want_int(weft_children(s, &info, 1, WEFT_FOREVER), 1);
    want_int(info.restarts, 14);

    weft_msg *answer;
    int64_t seven = 7, eight = 8;
    /* it was received */
    want_int(weft_call(adder_pid, 1, &seven, sizeof seven, &answer, WEFT_FOREVER), WEFT_ENOREPLY);
    want(!exists("another") && exists("adder"));                                       /* between two lives */
    want_int(weft_call(adder_pid, 1, &eight, sizeof eight, &answer, WEFT_FOREVER), 0); /* waits for the next life */
    want_int(value_of(answer), 8);
    weft_msg_free(answer);

    stop_top(s, "");
    want(!exists("adder"));
    want_int(weft_send(adder_pid, 1, NULL, 0), WEFT_ENOACTOR);
}

START_TEST(mail_is_kept_from_life_to_life)
{
    play(mail_is_kept_from_life_to_life_body);
}
END_TEST

BODY(monitors_of_a_kept_actor_are_told_of_its_last_end)
{
    NO_ARGS;
    static const weft_child_spec kids[] = {CHILD_WITH("k", .keep_mailbox = true)};
    static const weft_supervisor_spec spec = SPEC_WITH(kids, .max_restarts = 1, .backoff_min = WEFT_SEC(1));
    weft_pid s = top(&spec), k = named("k");
    want_int(weft_monitor(k, NULL), 0);
    tell("k", FAIL, 17);
    want_now("+k-k");
    want_int(weft_monitor(k, NULL), 0); /* between two lives */
    want_int(weft_stop(k), 0);          /* there is nothing to stop */
    want_int(weft_kill(k), 0);
    want_int(weft_advance(WEFT_SEC(1)), 0);
    want_now("+k");
    weft_expect_nothing(0);
    tell("k", FAIL, 18); /* one too many */
    want_now("-k");
    for (int i = 0; i < 3; i++) {
        struct weft_down down = down_now();
        if (weft_pid_equal(down.who, s)) continue;
        want(weft_pid_equal(down.who, k));
        want_int(down.reason, 18);
        want_text(&down, "k has failed");
    }
    weft_expect_nothing(0);
}
PLAY(monitors_of_a_kept_actor_are_told_of_its_last_end)

BODY(a_full_kept_mailbox_refuses_as_ever)
{
    NO_ARGS;
    static const weft_child_spec kids[] = {
        {.name = "adder", .body = adder, .keep_mailbox = true, .options = {.mailbox_max = 4}}};
    static const weft_supervisor_spec spec = SPEC_WITH(kids, .backoff_min = WEFT_SEC(60));
    weft_pid s = top(&spec);
    sum = got = 0;
    tell("adder", 1, 7);
    want_int(weft_settle(), 0);
    for (int64_t i = 1; i <= 4; i++) want_int(try_say(named("adder"), 1, i), 0);
    want_int(try_say(named("adder"), 1, 5), WEFT_EFULL);
    want_int(say(named("adder"), 1, 5), WEFT_EFULL); /* after the send timeout */
    want_int(weft_advance(WEFT_SEC(60)), 0);
    want_int(sum, 10);
    stop_top(s, "");
}
PLAY(a_full_kept_mailbox_refuses_as_ever)

/* ---- Across workers, in real time ------------------------------------------------------------------------------ */

enum { KEPT = 3, NUMBERS = 3000, KILLS = 100 };
static _Atomic int64_t counted[KEPT], summed[KEPT];

/* Nothing suspends between receiving and counting, so that a kill loses nothing either. */
static void counter(const void *arg, size_t size)
{
    const int64_t i = *(const int64_t *)arg;
    weft_msg *m;
    want_int(size, sizeof i);
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        int64_t value = value_of(m);
        atomic_fetch_add(&counted[i], 1);
        atomic_fetch_add(&summed[i], value);
        if (weft_wants_reply(m)) want_int(weft_reply(m, ASK, &value, sizeof value), 0);
        if (value % 7 == 0) weft_exit(17);
        weft_msg_free(m);
    }
}

static void teller(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *answer;
    int64_t last = 1;
    for (int64_t i = 1; i <= NUMBERS; i++) want_int(say(k.other, 1, i), 0);
    want_int(weft_call(k.other, 1, &last, sizeof last, &answer, WEFT_FOREVER), 0);
    weft_msg_free(answer);
    want_int(say(k.parent, STOP_COUNT, k.n), 0);
}

static void across_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static const weft_supervisor_spec spec = {.max_restarts = WEFT_RESTARTS_MAX, .period = 1};
    const weft_supervisor_spec *to_spec = &spec;
    weft_pid s, kept[KEPT];
    weft_msg *m;
    want_int(weft_spawn(&s, subtree, &to_spec, sizeof to_spec, &(weft_spawn_options){.worker = 1}), 0);
    for (int64_t i = 0; i < KEPT; i++) {
        char name[16];
        snprintf(name, sizeof name, "kept%d", (int)i);
        weft_child_spec kid = {.name = name,
                               .body = counter,
                               .arg = &i,
                               .arg_size = sizeof i,
                               .keep_mailbox = true,
                               .options = {.worker = (int)i + 1, .mailbox_max = 64}};
        want_int(weft_start_child(s, &kid, &kept[i], WEFT_FOREVER), 0);
        for (int w = 1; w <= 2; w++)
            kid_with(teller, (struct kid){.other = kept[i], .n = i}, &(weft_spawn_options){.worker = w});
    }
    for (int i = 0; i < KILLS; i++) {
        want_int(weft_kill(kept[i % KEPT]), 0);
        want_int(weft_yield(), 0);
    }
    for (int i = 0; i < 2 * KEPT; i++) (void)hear(STOP_COUNT);
    for (int i = 0; i < KEPT; i++) want_int(weft_monitor(kept[i], NULL), 0);
    want_int(weft_stop(s), 0);
    for (int i = 0; i < KEPT; i++) {
        struct weft_down down;
        want_int(weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER), 0);
        want_int(weft_down_read(m, &down), 0);
        want_int(down.reason, WEFT_EXIT_STOPPED);
        weft_msg_free(m);
    }
}

START_TEST(kept_mail_survives_failures_and_kills_on_other_workers)
{
    weft_log_set(WEFT_SILENT, false);
    for (int i = 0; i < KEPT; i++) counted[i] = summed[i] = 0;
    run_on(KEPT, across_body);
    for (int i = 0; i < KEPT; i++) {
        ck_assert_int_eq(counted[i], 2 * NUMBERS + 2);
        ck_assert_int_eq(summed[i], (int64_t)NUMBERS * (NUMBERS + 1) + 2);
    }
    weft_log_set(WEFT_INFO, false);
}
END_TEST

/* ---- Dynamic children ------------------------------------------------------------------------------------------ */

BODY(children_come_and_go_at_run_time)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = {.max_restarts = 1000};
    weft_pid s = top(&spec), x, y;
    want_int(weft_children(s, NULL, 0, WEFT_FOREVER), 0);
    want_int(weft_start_child(s, &(weft_child_spec)CHILD("x"), &x, WEFT_FOREVER), 0);
    want_int(weft_start_child(s, &(weft_child_spec)CHILD_WITH("y", .keep_mailbox = true), &y, WEFT_FOREVER), 0);
    want_trace("+x+y");
    want(weft_pid_equal(x, named("x")) && weft_pid_equal(y, named("y")));
    want_int(weft_start_child(s, &(weft_child_spec)CHILD("x"), NULL, WEFT_FOREVER), WEFT_EEXIST);
    tell("x", EXIT, 17);
    tell("y", EXIT, 17);
    want_int(weft_settle(), 0);
    want_int(traced, 8); /* both are restarted */
    clear();
    want(weft_pid_equal(y, named("y")));
    struct weft_child_info infos[2];
    want_int(weft_children(s, infos, 2, WEFT_FOREVER), 2);
    want(strcmp(infos[0].name, "x") == 0 && weft_pid_equal(infos[0].pid, named("x")));
    want(strcmp(infos[1].name, "y") == 0 && infos[1].restarts == 1 && infos[1].reason == 17);
    want_int(weft_stop_child(s, "x", WEFT_FOREVER), 0);
    want_trace("-x"); /* before the answer */
    want_int(weft_stop_child(s, "x", WEFT_FOREVER), WEFT_ENOTFOUND);
    want_int(weft_start_child(s, &(weft_child_spec)CHILD("x"), NULL, WEFT_FOREVER), 0);
    want_trace("+x");
    stop_top(s, "-x-y");
    want_int(weft_children(s, NULL, 0, WEFT_FOREVER), WEFT_ENOACTOR);
}
PLAY(children_come_and_go_at_run_time)

BODY(a_dynamic_child_that_does_not_start)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = {.max_restarts = WEFT_NO_RESTARTS};
    static const weft_child_spec kid = {.name = "f", .body = fails, .arg = "f", .arg_size = 1, .await_ready = true};
    weft_pid s = top(&spec);
    fail_starts = 3;
    fail_reason = WEFT_EREFUSED;
    want_int(weft_start_child(s, &kid, NULL, WEFT_FOREVER), WEFT_EREFUSED);
    fail_reason = 17;
    want_int(weft_start_child(s, &kid, NULL, WEFT_FOREVER), WEFT_ECHILD);
    fail_reason = 0;
    want_int(weft_start_child(s, &kid, NULL, WEFT_FOREVER), WEFT_ECHILD);
    want_trace("+f-f+f-f+f-f");
    want_int(weft_children(s, NULL, 0, WEFT_FOREVER), 0);
    want_int(weft_start_child(s, &(weft_child_spec)CHILD_WITH("l", .await_ready = true), NULL, WEFT_FOREVER),
             WEFT_ETIMEDOUT);
    want_trace("+l-l");
    want_int(
        weft_start_child(s, &(weft_child_spec)CHILD_WITH("l", .await_ready = true), NULL, weft_after(WEFT_SEC(1))),
        WEFT_ETIMEDOUT);
    tell("l", READY, 0); /* nobody waits for it any more, but it starts */
    want_now("+l");
    want_int(weft_children(s, NULL, 0, WEFT_FOREVER), 1);
    stop_top(s, "-l");
}
PLAY(a_dynamic_child_that_does_not_start)

static void stopper(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    int rc = weft_stop_child(k.other, "a", WEFT_FOREVER);
    want_int(say(k.parent, STOP_COUNT, rc), 0);
}

BODY(a_stopping_child_holds_up_nobody_else)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC(abc);
    weft_pid s = top(&spec);
    clear();
    tell("a", HANG, 0);
    (void)kid_with(stopper, (struct kid){.other = s}, NULL);
    want_int(weft_settle(), 0);
    want_int(weft_stop_child(s, "a", WEFT_FOREVER), WEFT_EBUSY);
    tell("b", EXIT, 17);
    want_now("-b+b");
    want_int(weft_start_child(s, &(weft_child_spec)CHILD("d"), NULL, WEFT_FOREVER), 0);
    want_trace("+d");
    want_int(weft_advance(WEFT_SEC(5)), 0);
    want_now("-a");
    want_int(hear(STOP_COUNT), 0);
    (void)kid_with(stopper, (struct kid){.other = s}, NULL);
    want_int(hear(STOP_COUNT), WEFT_ENOTFOUND);
    stop_top(s, "-d-c-b");
}
PLAY(a_stopping_child_holds_up_nobody_else)

BODY(a_stopping_supervisor_refuses_requests)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC(abc);
    weft_pid s = top(&spec);
    clear();
    tell("a", HANG, 0);
    (void)kid_with(stopper, (struct kid){.other = s}, NULL);
    want_int(weft_settle(), 0);
    want_int(weft_stop(s), 0);
    want_now("-c-b");
    want_int(hear(STOP_COUNT), WEFT_ECANCELED);
    want_int(weft_children(s, NULL, 0, WEFT_FOREVER), WEFT_ECANCELED);
    want_int(weft_start_child(s, &(weft_child_spec)CHILD("d"), NULL, WEFT_FOREVER), WEFT_ECANCELED);
    want_int(weft_advance(WEFT_SEC(5)), 0);
    want_now("-a");
    want_int(down_now().reason, WEFT_EXIT_STOPPED);
}
PLAY(a_stopping_supervisor_refuses_requests)

TEST_MAIN("supervisor_dynamic", mail_is_kept_from_life_to_life,
          kept_mail_survives_failures_and_kills_on_other_workers, monitors_of_a_kept_actor_are_told_of_its_last_end,
          a_full_kept_mailbox_refuses_as_ever, children_come_and_go_at_run_time, a_dynamic_child_that_does_not_start,
          a_stopping_child_holds_up_nobody_else, a_stopping_supervisor_refuses_requests)

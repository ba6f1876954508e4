/* actors/call/call.c: deadlines that travel, requests without a waiting caller, calls to many actors. */
#include "asking.h"
#include "calls.h"

enum { MANY = 40 };

/* ---- Deadlines ------------------------------------------------------------------------------------------------- */

static void read_deadlines(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    for (int i = 0; i < 2; i++) {
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        int64_t asked = value_of(m);
        want_int(weft_deadline(m), asked);
        want(!weft_expired(m));
        reply_and_free(m);
    }
    want_int(weft_recv(&m, WEFT_FOREVER), 0); /* no request */
    want_int(weft_deadline(m), WEFT_FOREVER);
    want(!weft_expired(m));
    weft_msg_free(m);
    want_int(weft_recv(&m, WEFT_FOREVER), 0); /* in its hands while its deadline passes */
    while (weft_now() < weft_deadline(m)) {}
    want(weft_expired(m));
    weft_msg_free(m);
    want_int(say(k.parent, DONE, 0), 0);
}

static void deadlines_on(int worker)
{
    weft_pid to = kid_on(worker, read_deadlines, 0);
    int64_t by = weft_after(WEFT_SEC(1000));
    want_int(ask(to, by, by), 0);
    want_int(ask(to, WEFT_FOREVER, WEFT_FOREVER), 0);
    want_int(say(to, DATA, 0), 0);
    int rc = ask(to, 0, soon());
    want(rc == WEFT_ETIMEDOUT || rc == WEFT_ENOREPLY);
    hear(DONE);
    await_end(to);
}

static void deadlines_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    deadlines_on(1);
    deadlines_on(2);
}

START_TEST(a_request_says_until_when_its_caller_waits)
{
    run_on(2, deadlines_body);
}
END_TEST

static void expired_on(int worker)
{
    weft_pid to = kid_on(worker, server, 0);
    uint64_t late = drops(weft_here(), WF_DROP_LATE_REPLY), expired = drops(weft_here(), WF_DROP_EXPIRED);
    hold_up(to);
    for (int i = 0; i < 10; i++) want_int(ask(to, i, weft_after(WEFT_US(50))), WEFT_ETIMEDOUT);
    want_int(ask(to, 1, WEFT_NOW), WEFT_ETIMEDOUT);
    let_go(to);
    want_int(ask(to, 7, weft_after(WEFT_SEC(1000))), 0); /* and so those before it were dropped */
    want_int(drops(weft_here(), WF_DROP_EXPIRED), (int64_t)expired + 11);
    want_int(drops(weft_here(), WF_DROP_LATE_REPLY), (int64_t)late);
    end_kid(to);
}

static void expired_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    expired_on(1);
    expired_on(2);
}

START_TEST(requests_past_their_deadline_are_dropped_unread)
{
    run_on(2, expired_body);
}
END_TEST

/* A selective receive passes over nothing that is dead, and finds what is behind it. */
static void match_kid(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    hear_only(GO);
    want_int(weft_recv_tag(&m, ASK, weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
    want_int(hear_only(DATA), 1);
    want_int(hear(DATA), 2);
    want_int(say(k.parent, DONE, 0), 0);
}

static void match_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_on(2, match_kid, 0);
    want_int(ask(to, 1, weft_after(WEFT_US(50))), WEFT_ETIMEDOUT);
    want_int(say(to, DATA, 1), 0);
    want_int(ask(to, 1, weft_after(WEFT_US(50))), WEFT_ETIMEDOUT);
    want_int(say(to, DATA, 2), 0);
    want_int(say(to, GO, 0), 0);
    hear(DONE);
    await_end(to);
    want_int(drops(weft_here(), WF_DROP_EXPIRED), 2);
}

START_TEST(selective_receives_drop_them_too)
{
    run_on(2, match_body);
}
END_TEST

/* ---- The caller ends ------------------------------------------------------------------------------------------- */

static void ask_for_ever(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    (void)ask(k.other, 1, WEFT_FOREVER);
}

/* Stopped: it gives up. Killed: it is gone. A request in the mailbox is dropped unless its caller lives on
 * elsewhere. */
static void caller_ends_on(int worker, bool kill)
{
    weft_pid to = kid_on(worker, server, 0);
    uint64_t late = drops(weft_here(), WF_DROP_LATE_REPLY), expired = drops(weft_here(), WF_DROP_EXPIRED);
    hold_up(to);
    weft_pid caller = kid_with(ask_for_ever, (struct kid){.other = to}, &(weft_spawn_options){.worker = 1});
    await_wait(caller, "an answer");
    want_int(kill ? weft_kill(caller) : weft_stop(caller), 0);
    await_end(caller);
    let_go(to);
    want_int(ask(to, 2, WEFT_FOREVER), 0);
    want_int(drops(weft_here(), WF_DROP_EXPIRED), (int64_t)expired + 1);
    want_int(drops(weft_here(), WF_DROP_LATE_REPLY), (int64_t)late);
    end_kid(to);
}

/* It is in the server's hands already: answered in vain, and counted. */
static void keeper(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    want_int(say(k.parent, GO, 0), 0);
    hear_only(DONE);
    reply_and_free(m);
    want_int(say(k.parent, DONE, 0), 0);
}

static void caller_ends_late(int worker)
{
    weft_pid to = kid_on(worker, keeper, 0);
    weft_pid caller = kid_with(ask_for_ever, (struct kid){.other = to}, &(weft_spawn_options){.worker = 1});
    hear(GO);
    uint64_t gone = drops(weft_here(), WF_DROP_LATE_REPLY);
    end_kid(caller);
    let_go(to);
    await_end(to);
    want_int(drops(weft_here(), WF_DROP_LATE_REPLY), (int64_t)gone + 1);
}

static void caller_ends(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        caller_ends_on(worker, false);
        caller_ends_on(worker, true);
        caller_ends_late(worker);
    }
}

START_TEST(requests_of_a_caller_that_has_ended_are_dropped_or_answered_in_vain)
{
    run_on(2, caller_ends);
}
END_TEST

/* ---- To many --------------------------------------------------------------------------------------------------- */

static void ask_many(int worker, size_t need)
{
    struct weft_answer a[MANY];
    for (int i = 0; i < MANY; i++) a[i].from = kid_on(worker == 0 ? i % 2 + 1 : worker, server, 0);
    int64_t value = 11;
    int got = weft_gather(a, MANY, need, ASK, &value, sizeof value, WEFT_FOREVER);
    want(got >= (int)need && got <= MANY);
    int answers = 0;
    for (int i = 0; i < MANY; i++) {
        if (a[i].error == 0) {
            want(weft_pid_equal(weft_from(a[i].answer), a[i].from));
            want_int(weft_tag(a[i].answer), ANSWER);
            want_int(value_of(a[i].answer), 11);
            answers++;
        } else {
            want_int(a[i].error, WEFT_ETIMEDOUT);
            want(a[i].answer == NULL);
        }
    }
    want_int(answers, got);
    weft_answers_free(a, MANY);
    for (int i = 0; i < MANY; i++) want_int(ask(a[i].from, i, WEFT_FOREVER), 0); /* no late answer is taken for it */
    for (int i = 0; i < MANY; i++) end_kid(a[i].from);
}

static void gather_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 0; worker <= 2; worker++) {
        ask_many(worker, 1);
        ask_many(worker, MANY / 2 + 1);
        ask_many(worker, MANY);
    }
}

START_TEST(gather_returns_at_the_first_answer_a_majority_or_all)
{
    run_on(2, gather_body);
}
END_TEST

static void free_requests(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) weft_msg_free(m);
}

static void sleeper(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static void gather_errors_on(int worker)
{
    weft_pid gone = kid_on(worker, keeper, 0), busy = kid_on(worker, server, 0);
    weft_pid full = kid_with(sleeper, (struct kid){.n = 0},
                             &(weft_spawn_options){.worker = worker, .mailbox_max = 1});
    end_kid(gone);
    hold_up(busy);
    until(try_say(full, DATA, 0) == WEFT_EFULL);
    struct weft_answer a[7] = {{.from = gone},
                               {.from = kid_on(worker, free_requests, 0)},
                               {.from = {77, 1}},
                               {.from = weft_self()},
                               {.from = busy},
                               {.from = full},
                               {.from = kid_on(worker, server, 0)}};
    int64_t value = 3;
    want_int(weft_gather(a, 7, 2, ASK, &value, sizeof value, soon()), 1);
    static const int errors[] = {WEFT_ENOACTOR,  WEFT_ENOREPLY, WEFT_ENONODE, WEFT_EDEADLOCK,
                                 WEFT_ETIMEDOUT, WEFT_EFULL,    WEFT_OK};
    for (int i = 0; i < 7; i++) {
        want_int(a[i].error, errors[i]);
        want((a[i].answer != NULL) == (errors[i] == 0));
    }
    weft_answers_free(a, 7);
    weft_answers_free(a, 7); /* nothing left */
    /* Out of reach: it returns, though `busy` never answers. */
    struct weft_answer few[2] = {{.from = busy}, {.from = gone}};
    want_int(weft_gather(few, 2, 2, ASK, &value, sizeof value, WEFT_FOREVER), 0);
    want_int(few[0].error, WEFT_ETIMEDOUT);
    want_int(few[1].error, WEFT_ENOACTOR);
    let_go(busy);
    end_kid(busy);
    end_kid(full);
    end_kid(a[1].from);
    end_kid(a[6].from);
}

static void gather_errors(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct weft_answer a[1] = {{.from = weft_self()}};
    want_int(weft_gather(a, 1, 0, ASK, NULL, 0, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_gather(a, 1, 2, ASK, NULL, 0, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_gather(NULL, 1, 1, ASK, NULL, 0, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_gather(a, WEFT_GATHER_MAX + 1, 1, ASK, NULL, 0, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_gather(a, 1, 1, WEFT_TAG_SYSTEM, NULL, 0, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_gather(a, 1, 1, ASK, NULL, 1, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_gather(a, 1, 1, ASK, "", WEFT_MESSAGE_MAX + 1, WEFT_NOW), WEFT_ETOOBIG);
    gather_errors_on(1);
    gather_errors_on(2);
}

START_TEST(weft_gather_reports_an_error_for_each_actor)
{
    run_on(2, gather_errors);
    struct weft_answer a[1];
    ck_assert_int_eq(weft_gather(a, 1, 1, ASK, NULL, 0, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_uint_eq(weft_call_cycle(NULL, 0), 0);
}
END_TEST

/* The answers of slow ones come when nobody waits any more: dropped and counted, and taken for nothing else. */
static void late_many_on(int worker)
{
    struct weft_answer a[10];
    for (int i = 0; i < 10; i++) a[i].from = kid_on(worker, keeper, 0);
    int64_t value = 1;
    uint64_t late = drops(weft_here(), WF_DROP_LATE_REPLY);
    int got = weft_gather(a, 10, 1, ASK, &value, sizeof value, soon());
    want_int(got, 0); /* each has it in its hands */
    weft_pid quick = kid_on(worker, server, 0);
    for (int i = 0; i < 10; i++) hear(GO);
    for (int i = 0; i < 10; i++) {
        want_int(say(a[i].from, DONE, 0), 0);
        want_int(ask(quick, 100 + i, WEFT_FOREVER), 0);
    }
    for (int i = 0; i < 10; i++) hear(DONE);
    for (int i = 0; i < 10; i++) await_end(a[i].from);
    want_int(drops(weft_here(), WF_DROP_LATE_REPLY), (int64_t)late + 10);
    end_kid(quick);
}

static void late_many(const void *arg, size_t size)
{
    (void)arg, (void)size;
    late_many_on(1);
    late_many_on(2);
}

START_TEST(late_answers_of_many_never_surface)
{
    run_on(2, late_many);
}
END_TEST

static void gather_for_ever(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    struct weft_answer a[3] = {{.from = k.other}, {.from = {k.other.node, (uint64_t)k.n}}, {.from = k.other}};
    int64_t value = 5;
    int rc = weft_gather(a, 3, 3, ASK, &value, sizeof value, WEFT_FOREVER);
    want_int(rc, WEFT_ECANCELED);
    for (int i = 0; i < 3; i++) want(a[i].answer == NULL);
}

/* Stopped or killed with one answer of three: node_end finds what is left. */
static void gather_ends_on(int worker, bool kill)
{
    weft_pid quick = kid_on(worker, server, 0), slow = kid_on(worker, server, 0);
    hold_up(slow);
    struct kid k = {.other = slow, .n = (int64_t)quick.actor};
    weft_pid asker = kid_with(gather_for_ever, k, &(weft_spawn_options){.worker = 1});
    await_wait(asker, "an answer");
    until(peek(asker)->asking->got == 1);
    want_int(kill ? weft_kill(asker) : weft_stop(asker), 0);
    await_end(asker);
    let_go(slow);
    end_kid(slow);
    end_kid(quick);
}

static void gather_ends(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        gather_ends_on(worker, false);
        gather_ends_on(worker, true);
    }
}

START_TEST(a_stopped_or_killed_gather_leaves_nothing)
{
    run_on(2, gather_ends);
}
END_TEST

TEST_MAIN("call", a_request_says_until_when_its_caller_waits, requests_past_their_deadline_are_dropped_unread,
          selective_receives_drop_them_too, requests_of_a_caller_that_has_ended_are_dropped_or_answered_in_vain,
          gather_returns_at_the_first_answer_a_majority_or_all, weft_gather_reports_an_error_for_each_actor,
          late_answers_of_many_never_surface, a_stopped_or_killed_gather_leaves_nothing)

/* weft_reply_msg: the answer is a message that was made or received. Who owns it afterwards, and that it is not
 * copied. */
#include "calls.h"

enum { OTHER = 6, LARGE = 100000 };

/* The body that the server answered with, for the asker to compare: both are in one process. */
static _Atomic(const void *) answered_with;

static void answer_with(const weft_msg *ask, weft_msg *m)
{
    atomic_store(&answered_with, weft_data(m));
    want_int(weft_reply_msg(ask, m), 0);
}

static void expect_answer(weft_pid from, int64_t value)
{
    weft_msg *answer = NULL;
    want_int(weft_call(from, ASK, &value, sizeof value, &answer, WEFT_FOREVER), 0);
    want(weft_data(answer) == atomic_load(&answered_with));
    want(weft_pid_equal(weft_from(answer), from));
    want_int(value_of(answer), value);
    want(!weft_wants_reply(answer));
    weft_msg_free(answer);
}

static void on_both_workers(weft_actor *body)
{
    for (int worker = 1; worker <= 2; worker++) {
        weft_pid to = kid_on(worker, body, 0);
        for (int i = 0; i < 3; i++) expect_answer(to, i);
        end_kid(to);
    }
}

/* ---- What it can be -------------------------------------------------------------------------------------------- */

static void answers_with_made(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (weft_msg *ask; weft_recv(&ask, WEFT_FOREVER) == 0; weft_msg_free(ask)) {
        weft_msg *m = weft_msg_new(ANSWER, sizeof(int64_t));
        memcpy(weft_msg_body(m), weft_data(ask), sizeof(int64_t));
        answer_with(ask, m);
        want(!weft_wants_reply(ask)); /* and it is still there */
        want_int(weft_size(ask), sizeof(int64_t));
    }
}

static void made(const void *arg, size_t size)
{
    (void)arg, (void)size;
    on_both_workers(answers_with_made);
}

START_TEST(a_reply_may_be_a_message_that_was_made)
{
    run_on(2, made);
}
END_TEST

/* Hands the answer of another server on. */
static void forwards(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid behind = kid_on(1, server, 0);
    for (weft_msg *ask; weft_recv(&ask, WEFT_FOREVER) == 0; weft_msg_free(ask)) {
        weft_msg *answer;
        want_int(weft_call(behind, ASK, weft_data(ask), weft_size(ask), &answer, weft_deadline(ask)), 0);
        answer_with(ask, answer);
    }
    want_int(weft_kill(behind), 0);
}

static void forwarded(const void *arg, size_t size)
{
    (void)arg, (void)size;
    on_both_workers(forwards);
}

START_TEST(a_reply_may_be_the_answer_of_another_actor)
{
    run_on(2, forwarded);
}
END_TEST

static void echoes(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (weft_msg *ask; weft_recv(&ask, WEFT_FOREVER) == 0;) answer_with(ask, ask);
}

static void echo(void *state, weft_msg *ask)
{
    (void)state;
    answer_with(ask, ask);
}

static void echoed(const void *arg, size_t size)
{
    (void)arg, (void)size;
    on_both_workers(echoes);
    weft_pid handler;
    want_int(weft_spawn_handler(&handler, echo, NULL, 0, NULL), 0);
    for (int i = 0; i < 3; i++) expect_answer(handler, i);
    end_kid(handler);
}

START_TEST(a_reply_may_be_the_request_itself)
{
    run_on(2, echoed);
}
END_TEST

/* A body is published to two actors. Each passes its copy on, and the copy of the other does not change. */
static void answers_with_published(const void *arg, size_t size)
{
    const struct kid k = *(const struct kid *)arg;
    weft_msg *ask, *m;
    (void)size;
    want_int(weft_subscribe("large", NULL), 0);
    want_int(say(k.parent, GO, 0), 0);
    want_int(weft_recv_tag(&m, DATA, WEFT_FOREVER), 0);
    want_int(weft_recv_tag(&ask, ASK, WEFT_FOREVER), 0);
    answer_with(ask, m);
    weft_msg_free(ask);
}

static void published(const void *arg, size_t size)
{
    static char bytes[LARGE];
    weft_pid to[2];
    (void)arg, (void)size;
    memset(bytes, 'w', sizeof bytes);
    for (int i = 0; i < 2; i++) {
        to[i] = kid_on(i + 1, answers_with_published, 0);
        hear(GO);
    }
    want_int(weft_publish("large", DATA, bytes, sizeof bytes), 2);
    for (int i = 0; i < 2; i++) {
        weft_msg *answer;
        want_int(weft_call(to[i], ASK, NULL, 0, &answer, WEFT_FOREVER), 0);
        want_int(weft_tag(answer), DATA);
        want(weft_data(answer) == atomic_load(&answered_with));
        want(weft_size(answer) == sizeof bytes && memcmp(weft_data(answer), bytes, sizeof bytes) == 0);
        weft_msg_free(answer);
        await_end(to[i]);
    }
}

START_TEST(a_reply_may_be_a_message_that_was_published)
{
    run_on(2, published);
}
END_TEST

/* ---- What it cannot be ----------------------------------------------------------------------------------------- */

static void sleeps(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static uint32_t held(void)
{
    uint32_t count = 0;
    for (const weft_msg *m = wf_actor_self()->held; m != NULL; m = (const weft_msg *)m->post.next) count++;
    return count;
}

static void refuse(const weft_msg *ask, weft_msg *m)
{
    uint32_t before = held();
    want_int(weft_reply_msg(ask, m), WEFT_EINVAL);
    want_int(held(), before - (m == NULL ? 0 : 1)); /* consumed */
}

static void refuses(const void *arg, size_t size)
{
    weft_msg *ask, *other, *down;
    weft_pid gone = kid_on(1, sleeps, 0);
    (void)arg, (void)size;
    want_int(weft_monitor(gone, NULL), 0);
    want_int(weft_kill(gone), 0);
    want_int(weft_recv_tag(&down, WEFT_TAG_DOWN, WEFT_FOREVER), 0);
    want_int(weft_recv_tag(&ask, ASK, WEFT_FOREVER), 0);
    want_int(weft_recv_tag(&other, OTHER, WEFT_FOREVER), 0);
    refuse(ask, NULL);
    refuse(ask, down);
    refuse(ask, other); /* its caller is told */
    want(weft_wants_reply(ask));
    refuse(NULL, weft_msg_new(ANSWER, 8));
    weft_msg *plain = weft_msg_new(ANSWER, 8);
    refuse(plain, weft_msg_new(ANSWER, 8));
    refuse(plain, plain);
    weft_msg *m = weft_msg_new(ANSWER, 8);
    memset(weft_msg_body(m), 0, 8);
    answer_with(ask, m);
    refuse(ask, weft_msg_new(ANSWER, 8));
    refuse(ask, ask);
    want_int(held(), 0);
}

static void asks_other(const void *arg, size_t size)
{
    const struct kid k = *(const struct kid *)arg;
    weft_msg *answer = NULL;
    (void)size;
    want_int(weft_call(k.other, OTHER, NULL, 0, &answer, WEFT_FOREVER), WEFT_ENOREPLY);
    want_int(say(k.parent, DONE, 0), 0);
}

static void refused(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_on(2, refuses, 0);
    (void)kid_with(asks_other, (struct kid){.other = to}, NULL);
    expect_answer(to, 0);
    hear(DONE);
    await_end(to);
}

START_TEST(a_refused_reply_is_freed_and_leaves_the_request_open)
{
    run_on(2, refused);
    ck_assert_int_eq(weft_reply_msg(NULL, NULL), WEFT_EINVAL);
    weft_msg *m = weft_msg_new(ANSWER, LARGE); /* by no actor: freed, as the leak checker sees */
    ck_assert_int_eq(weft_reply_msg(m, m), WEFT_ENOTACTOR);
}
END_TEST

/* ---- Nobody waits any more ------------------------------------------------------------------------------------- */

static void answers_late(const void *arg, size_t size)
{
    const struct kid k = *(const struct kid *)arg;
    weft_msg *ask;
    (void)size;
    want_int(weft_recv(&ask, WEFT_FOREVER), 0);
    want_int(say(k.parent, GO, 0), 0);
    hear_only(DONE);
    want_int(weft_reply_msg(ask, ask), 0);
    want_int(say(k.parent, DONE, 0), 0);
}

static void late(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        uint64_t before = drops(weft_here(), WF_DROP_LATE_REPLY);
        weft_pid to = kid_on(worker, answers_late, 0);
        want_int(ask(to, 1, soon()), WEFT_ETIMEDOUT);
        hear(GO);
        let_go(to);
        await_end(to);
        want_int(drops(weft_here(), WF_DROP_LATE_REPLY), (int64_t)before + 1);
    }
}

START_TEST(a_late_reply_is_dropped_and_counted)
{
    run_on(2, late);
}
END_TEST

TEST_MAIN("reply_msg", a_reply_may_be_a_message_that_was_made, a_reply_may_be_the_answer_of_another_actor,
          a_reply_may_be_the_request_itself, a_reply_may_be_a_message_that_was_published,
          a_refused_reply_is_freed_and_leaves_the_request_open, a_late_reply_is_dropped_and_counted)

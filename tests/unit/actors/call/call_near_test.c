/* actors/call/call.c, call_near and put_reply: a small request to an actor of the same worker that waits, and a small
 * answer to it, go from hand to hand. Both sides observe the same as in any other call. */
#include "held.h"
#include "calls.h"
#include "mailbox.h"

enum { ECHO = 300, LONGEST = 200, TURNS = 3000 };

static unsigned char byte_at(size_t size, size_t i)
{
    return (unsigned char)(size * 7 + i);
}

static void fill(unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) bytes[i] = byte_at(size, i);
}

static bool is_filled(const weft_msg *m)
{
    const unsigned char *bytes = weft_data(m);
    bool same = true;
    for (size_t i = 0; i < weft_size(m); i++) same &= bytes[i] == byte_at(weft_size(m), i);
    return same;
}

/* Answers with as many bytes as the tag says above ECHO. */
static void echo(const void *arg, size_t size)
{
    (void)size;
    weft_msg *m;
    unsigned char bytes[LONGEST];
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        want(weft_wants_reply(m) && is_filled(m));
        want(weft_deadline(m) == WEFT_FOREVER || weft_deadline(m) > weft_now());
        size_t answer = weft_tag(m) - ECHO;
        fill(bytes, answer);
        want_int(weft_reply(m, weft_tag(m), bytes, answer), 0);
        want(!weft_wants_reply(m));
        want_int(weft_reply(m, weft_tag(m), bytes, answer), WEFT_EINVAL);
        weft_msg_free(m);
    }
    (void)arg;
}

static void echo_handler(void *state, weft_msg *m)
{
    (void)state;
    unsigned char bytes[LONGEST];
    size_t answer = weft_tag(m) - ECHO;
    want(weft_wants_reply(m) && is_filled(m));
    fill(bytes, answer);
    want_int(weft_reply(m, weft_tag(m), bytes, answer), 0);
}

static void call_until(weft_pid to, size_t request, size_t reply, int64_t deadline)
{
    unsigned char bytes[LONGEST];
    weft_msg *answer;
    fill(bytes, request);
    want_int(weft_call(to, (uint32_t)(ECHO + reply), bytes, request, &answer, deadline), 0);
    want_int(weft_tag(answer), ECHO + reply);
    want_int(weft_size(answer), reply);
    want(weft_pid_equal(weft_from(answer), to));
    want(is_filled(answer) && !weft_wants_reply(answer));
    weft_msg_free(answer);
}

static void call_with(weft_pid to, size_t request, size_t reply)
{
    call_until(to, request, reply, WEFT_FOREVER);
    call_until(to, request, reply, weft_after(WEFT_SEC(1000)));
}

static void sizes_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_on(1, echo, 0), handler;
    want_int(weft_spawn_handler(&handler, echo_handler, NULL, 0, &(weft_spawn_options){.worker = 1}), 0);
    for (size_t i = 0; i < LONGEST; i++) {
        call_with(to, i, (i * 37) % LONGEST);
        call_with(handler, i, (i * 37) % LONGEST);
    }
    want_int(wf_held_count(wf_actor_self()), 0);
    want_int(weft_stop(handler), 0);
    end_kid(to);
}

START_TEST(requests_and_answers_of_all_sizes_arrive_whole)
{
    run_on(1, sizes_body);
}
END_TEST

/* A caller that holds messages keeps them, and gets its answers nevertheless. */
static void holding_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { HELD = WF_HELD_MANY + 3 };
    static weft_msg *held[HELD];
    weft_pid to = kid_on(1, echo, 0);
    for (size_t i = 0; i < HELD; i++) {
        held[i] = weft_msg_new(1, 0);
        if (i < 3 || i > WF_HELD_MANY - 5) call_with(to, 8, 8);
        want_int(wf_held_count(wf_actor_self()), i + 1);
    }
    for (size_t i = 0; i < HELD; i++) weft_msg_free(held[i]);
    want_int(wf_held_count(wf_actor_self()), 0);
    end_kid(to);
}

START_TEST(a_caller_may_hold_other_messages)
{
    run_on(1, holding_body);
}
END_TEST

static bool ran;

static void runs(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_yield();
    ran = true;
}

/* An actor that only calls lets others run, and the messages that are timed go another way. */
static void turns_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    ran = false;
    weft_pid to = kid_on(1, echo, 0), other = kid_on(1, runs, 0);
    for (int i = 0; i < TURNS; i++) {
        if (i % 100 == 0) wf_actors_of(wf_here)->timer.left = 1 + (uint32_t)(i % 3);
        call_with(to, 8, 8);
    }
    want(ran);
    want_int(wf_actor_received(peek(to)), 2 * (int64_t)TURNS);
    await_end(other);
    end_kid(to);
}

START_TEST(calls_leave_time_for_others)
{
    run_on(1, turns_body);
}
END_TEST

/* The actor that is called has been asked to end, and does not know it yet. */
static void ending_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *answer;
    weft_pid to = kid_on(1, echo, 0);
    await_wait(to, "mailbox");
    want_int(weft_stop(to), 0);
    want_int(weft_call(to, ECHO, NULL, 0, &answer, WEFT_FOREVER), WEFT_ENOACTOR);
    want_int(weft_call(to, ECHO, NULL, 0, &answer, WEFT_FOREVER), WEFT_ENOACTOR);
    want_int(weft_call(weft_self(), ECHO, NULL, 0, &answer, WEFT_FOREVER), WEFT_EDEADLOCK);
    want_int(wf_held_count(wf_actor_self()), 0);
}

START_TEST(a_call_to_an_actor_that_ends_fails)
{
    run_on(1, ending_body);
}
END_TEST

static void waits_for_answer(const void *arg, size_t size)
{
    (void)size;
    const struct kid *k = arg;
    weft_msg *answer;
    int rc = weft_call(k->other, DATA, NULL, 0, &answer, k->n == 0 ? WEFT_FOREVER : weft_after(k->n));
    if (rc == 0) weft_msg_free(answer);
    want_int(say(k->parent, DONE, rc), 0);
}

/* The callee has the request, and has not answered it, when its caller is asked to stop, or killed; or the answer came
 * before that. */
static void stopped_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { STOP, KILL, ANSWER_STOP, ANSWER_KILL, CASES };
    for (int i = 0; i < CASES; i++) {
        uint64_t late = drops(weft_here(), WF_DROP_LATE_REPLY);
        struct kid k = {.other = weft_self()};
        weft_pid caller = kid_with(waits_for_answer, k, &(weft_spawn_options){.worker = 1});
        weft_msg *m;
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        const bool first = i >= ANSWER_STOP, killed = i == KILL || i == ANSWER_KILL;
        if (first) want_int(weft_reply(m, 1, NULL, 0), 0);
        want_int(killed ? weft_kill(caller) : weft_stop(caller), 0);
        if (!killed) want_int(hear(DONE), first ? 0 : WEFT_ECANCELED);
        await_end(caller);
        if (!first) want_int(weft_reply(m, 1, NULL, 0), 0);
        want_int(drops(weft_here(), WF_DROP_LATE_REPLY), late + (first ? 0 : 1));
        weft_msg_free(m);
    }
}

START_TEST(a_caller_may_be_asked_to_stop_or_killed_before_and_after_the_answer)
{
    run_on(1, stopped_body);
}
END_TEST

/* Answers when the caller has ended. */
static void answers_too_late(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        until(!is_alive(weft_from(m)));
        want_int(weft_reply(m, 1, NULL, 0), 0);
        weft_msg_free(m);
    }
}

static void deadline_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { ROUNDS = 5 };
    weft_pid to = kid_on(1, answers_too_late, 0);
    struct kid k = {.other = to, .n = WEFT_US(50)};
    for (int i = 0; i < ROUNDS; i++) {
        await_wait(to, "mailbox");
        weft_pid caller = kid_with(waits_for_answer, k, &(weft_spawn_options){.worker = 1});
        want_int(hear(DONE), WEFT_ETIMEDOUT);
        await_end(caller);
    }
    await_wait(to, "mailbox");
    want_int(drops(weft_here(), WF_DROP_LATE_REPLY) + drops(weft_here(), WF_DROP_EXPIRED), ROUNDS);
    end_kid(to);
}

START_TEST(a_caller_waits_until_its_deadline)
{
    run_on(1, deadline_body);
}
END_TEST

TEST_MAIN("call_near", requests_and_answers_of_all_sizes_arrive_whole, a_caller_may_hold_other_messages,
          calls_leave_time_for_others, a_call_to_an_actor_that_ends_fails,
          a_caller_may_be_asked_to_stop_or_killed_before_and_after_the_answer, a_caller_waits_until_its_deadline)

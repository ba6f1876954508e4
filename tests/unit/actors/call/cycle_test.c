/* actors/call/cycle.c: cycles of calls are found, and only cycles. */
#include "asking.h"
#include "calls.h"

/* ---- Cycles ---------------------------------------------------------------------------------------------------- */

static _Atomic int deadlocked, cycle_size, answered, unanswered;
static _Atomic uint64_t cycle_of[8];

static void note(int rc)
{
    if (rc == 0) atomic_fetch_add(&answered, 1);
    else if (rc == WEFT_ENOREPLY) atomic_fetch_add(&unanswered, 1);
    else {
        weft_pid members[8];
        want_int(rc, WEFT_EDEADLOCK);
        size_t count = weft_call_cycle(members, 8);
        want(count <= 8);
        for (size_t i = 0; i < count; i++) atomic_store(&cycle_of[i], members[i].actor);
        want(weft_pid_equal(members[0], weft_self()));
        atomic_store(&cycle_size, (int)count);
        atomic_fetch_add(&deadlocked, 1);
    }
}

/* Waits to be told what to do, with all requests in its mailbox; then does it, and answers. */
enum { CALL_IT = 10, GATHER_IT = 11, PASS_ON = 12 };

static void member_call(weft_pid next)
{
    int64_t value = 9;
    weft_msg *answer = NULL;
    int rc = weft_call(next, ASK, &value, sizeof value, &answer, WEFT_FOREVER);
    weft_msg_free(answer);
    note(rc);
}

static bool is_order(const weft_msg *m, void *arg)
{
    (void)arg;
    return weft_tag(m) != ASK;
}

static void member(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    weft_pid pass_on_to = weft_nobody();
    int rc = weft_recv_match(&m, is_order, NULL, WEFT_FOREVER);
    for (; rc == 0; rc = weft_recv(&m, WEFT_FOREVER)) {
        weft_pid next;
        switch (weft_tag(m)) {
        case CALL_IT:
            memcpy(&next, weft_data(m), sizeof next);
            member_call(next);
            want_int(say(k.parent, DONE, 0), 0);
            break;
        case GATHER_IT: {
            struct weft_answer a[2];
            memcpy(&a[0].from, weft_data(m), sizeof a[0].from);
            a[1].from = k.other;
            int64_t value = 9;
            int got = weft_gather(a, 2, (size_t)k.n, ASK, &value, sizeof value, WEFT_FOREVER);
            weft_answers_free(a, 2);
            note(got >= (int)k.n ? 0 : a[0].error);
            want_int(say(k.parent, DONE, 0), 0);
            break;
        }
        case PASS_ON: memcpy(&pass_on_to, weft_data(m), sizeof pass_on_to); break;
        case ASK:
            if (!weft_pid_is_nobody(pass_on_to)) {
                want_int(weft_send_msg(pass_on_to, m), 0);
                continue;
            }
            want_int(weft_reply(m, ANSWER, NULL, 0), 0);
            break;
        default: want(false);
        }
        weft_msg_free(m);
    }
}

static void tell(weft_pid to, uint32_t tag, weft_pid next)
{
    want_int(weft_send(to, tag, &next, sizeof next), 0);
}

static void forget(void)
{
    atomic_store(&deadlocked, 0);
    atomic_store(&answered, 0);
    atomic_store(&unanswered, 0);
    atomic_store(&cycle_size, 0);
}

/* `count` actors on these workers in a ring, all calling at once. */
static void ring(int count, int first_worker, int second_worker)
{
    weft_pid at[8];
    forget();
    for (int i = 0; i < count; i++) at[i] = kid_on(i % 2 == 0 ? first_worker : second_worker, member, 0);
    for (int i = 0; i < count; i++) tell(at[i], CALL_IT, at[(i + 1) % count]);
    for (int i = 0; i < count; i++) hear(DONE);
    want_int(atomic_load(&deadlocked), 1);
    want_int(atomic_load(&answered), count - 1);
    want_int(atomic_load(&cycle_size), count);
    int first = 0;
    while (first < count && at[first].actor != atomic_load(&cycle_of[0])) first++;
    for (int i = 0; i < count; i++) want(atomic_load(&cycle_of[i]) == at[(first + i) % count].actor);
    for (int i = 0; i < count; i++) end_kid(at[i]);
}

static void cycles_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(ask(weft_self(), 1, WEFT_FOREVER), WEFT_EDEADLOCK);
    weft_pid me;
    want_int(weft_call_cycle(&me, 1), 1);
    want(weft_pid_equal(me, weft_self()));
    want_int(weft_register("self"), 0);
    weft_msg *answer;
    want_int(weft_call_name("self", ASK, NULL, 0, &answer, WEFT_FOREVER), WEFT_EDEADLOCK);
    for (int count = 2; count <= 5; count++) ring(count, 1, 1);
}

START_TEST(a_call_that_closes_a_cycle_on_its_worker_fails_at_once)
{
    run_on(1, cycles_body);
}
END_TEST

static void across_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int count = 2; count <= 5; count++) ring(count, 1, 2);
    ring(3, 2, 3);
}

START_TEST(exactly_one_call_of_a_cycle_across_workers_fails)
{
    run_on(3, across_body);
}
END_TEST

/* A calls B, which passes the request on to C, which calls A. A's waiting is found out from C. */
static void passed_on_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        weft_pid a = kid_on(1, member, 0), b = kid_on(2, member, 0), c = kid_on(worker, member, 0);
        forget();
        tell(b, PASS_ON, c);
        tell(c, CALL_IT, a);
        tell(a, CALL_IT, b);
        hear(DONE);
        hear(DONE);
        want_int(atomic_load(&deadlocked), 1);
        want_int(atomic_load(&answered), 1);
        want_int(atomic_load(&cycle_size), 2);
        end_kid(a);
        end_kid(b);
        end_kid(c);
    }
}

START_TEST(requests_that_were_passed_on_are_followed)
{
    run_on(2, passed_on_body);
}
END_TEST

/* The gather waits for a busy one and for one that calls back: with need 2 that is a cycle, with need 1 it is none,
 * and ends when the busy one answers. */
static void gather_cycle(int worker, int64_t need)
{
    weft_pid busy = kid_on(worker, server, 0);
    hold_up(busy);
    weft_pid a = kid_with(member, (struct kid){.other = busy, .n = need}, &(weft_spawn_options){.worker = 1});
    weft_pid b = kid_on(worker, member, 0);
    forget();
    tell(b, CALL_IT, a);
    tell(a, GATHER_IT, b);
    if (need == 1) {
        until(peek(a)->asking != NULL && peek(a)->asking->probed);
        want_int(atomic_load(&deadlocked), 0);
    }
    let_go(busy);
    hear(DONE);
    hear(DONE);
    want_int(atomic_load(&deadlocked), need == 1 ? 0 : 1);
    want_int(atomic_load(&answered), need == 1 ? 2 : 1);
    end_kid(a);
    end_kid(b);
    end_kid(busy);
}

static void gather_cycles(const void *arg, size_t size)
{
    (void)arg, (void)size;
    gather_cycle(2, 1);
    gather_cycle(2, 2);
}

START_TEST(a_gather_is_part_of_a_cycle_only_while_it_needs_every_answer)
{
    run_on(2, gather_cycles);
}
END_TEST

/* Long calls that are no cycle: a chain to one that answers late. Nothing fails. */
static void chain_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid last = kid_on(2, server, 0);
    hold_up(last);
    forget();
    weft_pid at[4];
    for (int i = 0; i < 4; i++) at[i] = kid_on(i % 2 + 1, member, 0);
    for (int i = 0; i < 4; i++) tell(at[i], CALL_IT, i == 3 ? last : at[i + 1]);
    until(peek(at[0])->asking != NULL && peek(at[0])->asking->probed);
    until(peek(at[2])->asking != NULL && peek(at[2])->asking->probed);
    let_go(last);
    for (int i = 0; i < 4; i++) hear(DONE);
    want_int(atomic_load(&answered), 4);
    for (int i = 0; i < 4; i++) end_kid(at[i]);
    end_kid(last);
}

START_TEST(long_calls_that_are_no_cycle_are_left_alone)
{
    run_on(2, chain_body);
}
END_TEST

TEST_MAIN("cycle", a_call_that_closes_a_cycle_on_its_worker_fails_at_once,
          exactly_one_call_of_a_cycle_across_workers_fails, requests_that_were_passed_on_are_followed,
          a_gather_is_part_of_a_cycle_only_while_it_needs_every_answer, long_calls_that_are_no_cycle_are_left_alone)

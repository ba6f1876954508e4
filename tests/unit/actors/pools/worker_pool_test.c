/* Pools: which member gets a message, outstanding messages, and members that end. */
#include "asking.h"
#include "pool_members.h"

/* ---- Who gets it ----------------------------------------------------------------------------------------------- */

static void takes_turns(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pool = POOL(.count = 3);
    for (int i = 0; i < 9; i++) want_int(index_of(pool, who(pool, i)), i % 3);
    for (int i = 0; i < 3; i++) {
        want_int(member_of(pool, i).done, 3);
        want_int(wf_id_worker(member_of(pool, i).pid.actor), i % 2); /* spread over the workers */
    }
    want_int(say(pool, GO, 5), 0);
    want_int(hear(DONE), 5); /* the member knew who had sent it */
    struct weft_pool_info info = info_of(pool);
    want_int(info.count, 3);
    want_int(info.alive, 3);
    want_int(info.passed_on, 10);
    want_int(info.retiring + info.refused + info.replaced + info.waiting, 0);
    stop_in_order(pool);
}

/* A large message is counted on its way to another worker; it is work of its member all the same. */
static void passes_on_large_ones(const void *arg, size_t size)
{
    enum { LARGE = 100000, ROUNDS = 3 };
    static const char body[LARGE];
    weft_msg *m;
    (void)arg, (void)size;
    weft_pid pool = POOL(.count = 2);
    for (int i = 0; i < 2 * ROUNDS; i++) {
        want_int(weft_call(pool, WHO, body, sizeof body, &m, WEFT_FOREVER), 0);
        weft_msg_free(m);
    }
    for (int i = 0; i < 2; i++) {
        want_int(wf_id_worker(member_of(pool, i).pid.actor), i);
        until(member_of(pool, i).outstanding == 0);
        want_int(member_of(pool, i).done, ROUNDS);
    }
    stop_in_order(pool);
}

START_TEST(large_messages_are_work_on_each_worker)
{
    run_on(2, passes_on_large_ones);
}
END_TEST

START_TEST(round_robin_takes_turns)
{
    run_on(2, takes_turns);
}
END_TEST

static void prefers_the_idle(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pool = POOL(.count = 3, .policy = WEFT_POOL_LEAST_LOADED);
    for (int i = 0; i < 6; i++) want_int(say(pool, HOLD, i), 0);
    for (int i = 0; i < 3; i++) want_int(member_of(pool, i).outstanding, 2);
    want_int(say(member_of(pool, 1).pid, LET_GO, 0), 0);
    until(member_of(pool, 1).outstanding == 0);
    want_int(member_of(pool, 1).done, 2);
    for (int i = 0; i < 5; i++) want_int(index_of(pool, who(pool, i)), 1);
    stop_in_order(POOL(.count = 1));
    want_int(weft_kill(pool), 0);
    await_end(pool);
}

START_TEST(least_loaded_prefers_the_idle)
{
    run_on(2, prefers_the_idle);
}
END_TEST

/* A request that expires before its member takes it is outstanding no more. */
static _Atomic bool may_serve;

static void serves_later(const void *arg, size_t size)
{
    until(atomic_load(&may_serve));
    member(arg, size);
}

static void forgets_the_expired(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pool_options o = {.count = 1, .outstanding_max = 1};
    weft_pid pool;
    weft_msg *m;
    atomic_store(&may_serve, false);
    want_int(weft_spawn_pool(&pool, serves_later, NULL, 0, &o), 0);
    do want_int(weft_call(pool, WHO, NULL, 0, &m, soon()), WEFT_ETIMEDOUT);
    while (member_of(pool, 0).outstanding == 0); /* it may have expired at the pool */
    uint64_t before = drops(weft_here(), WF_DROP_EXPIRED);
    atomic_store(&may_serve, true);
    want_int(index_of(pool, who(pool, 0)), 0); /* it waited for that place */
    want_int(member_of(pool, 0).outstanding, 0);
    want_int(member_of(pool, 0).done, 2);
    want_int(drops(weft_here(), WF_DROP_EXPIRED) - before, 1);
    stop_in_order(pool);
}

START_TEST(a_request_that_expires_at_a_member_is_no_longer_outstanding)
{
    run_on(2, forgets_the_expired);
}
END_TEST

static uint64_t by_value(const weft_msg *m)
{
    return weft_hash(weft_data(m), weft_size(m));
}

static void keeps_keys(const void *arg, size_t size)
{
    enum { KEYS = 300 };
    weft_pid before[KEYS];
    int moved = 0;
    (void)arg, (void)size;
    weft_pid pool = POOL(.count = 4, .policy = WEFT_POOL_BY_KEY, .key = by_value);
    for (int i = 0; i < KEYS; i++) before[i] = who(pool, i);
    for (int i = 0; i < KEYS; i++) want(weft_pid_equal(who(pool, i), before[i]));
    for (int i = 0; i < 4; i++) want(member_of(pool, i).done > 2 * KEYS / 8); /* about a quarter each */
    want_int(weft_pool_resize(pool, 5, WEFT_FOREVER), 0);
    for (int i = 0; i < KEYS; i++) {
        weft_pid now = who(pool, i);
        if (weft_pid_equal(now, before[i])) continue;
        moved++;
        want_int(index_of(pool, now), 4); /* only to the new one */
    }
    want(moved > KEYS / 10 && moved < 3 * KEYS / 10);
    want_int(weft_pool_resize(pool, 4, WEFT_FOREVER), 0);
    for (int i = 0; i < KEYS; i++) want(weft_pid_equal(who(pool, i), before[i]));
    stop_in_order(pool);
}

START_TEST(keys_stay_where_they_are)
{
    run_on(1, keeps_keys);
}
END_TEST

/* ---- Bounds ---------------------------------------------------------------------------------------------------- */

static void holds_back(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pool = POOL(.count = 2, .outstanding_max = 1);
    for (int i = 0; i < 5; i++) want_int(say(pool, HOLD, i), 0);
    want_int(say(pool, GO, 5), 0);
    until(info_of(pool).waiting == 3); /* and one in the pool's hand */
    want_int(info_of(pool).outstanding, 2);
    want_int(say(member_of(pool, 1).pid, LET_GO, 0), 0);
    until(info_of(pool).waiting == 2);
    want_int(info_of(pool).outstanding, 2);
    want_int(weft_pool_resize(pool, 5, WEFT_FOREVER), 0); /* heard although no member has space */
    want_int(hear(DONE), 5);
    want_int(info_of(pool).passed_on, 6);
    for (int i = 0; i < 5; i++) want_int(say(member_of(pool, i).pid, LET_GO, 0), 0);
    until(info_of(pool).outstanding == 0);
    stop_in_order(pool);
}

START_TEST(no_more_is_outstanding_than_the_option_says)
{
    run_on(2, holds_back);
}
END_TEST

static void answers_twice_over(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (weft_tag(m) == WHO) {
            want_int(weft_reply(m, WHO, NULL, 0), 0);
            weft_msg_free(m); /* counts once */
        } else if (weft_wants_reply(m)) {
            want_int(weft_reply_msg(m, m), 0); /* counts once, too */
        } else {
            want_int(weft_send_msg(weft_from(m), m), 0); /* sent on: not outstanding any more */
        }
    }
}

static void counts_once(const void *arg, size_t size)
{
    weft_pid pool;
    weft_msg *m;
    (void)arg, (void)size;
    weft_pool_options o = {.count = 1};
    want_int(weft_spawn_pool(&pool, answers_twice_over, NULL, 0, &o), 0);
    want_int(weft_call(pool, WHO, NULL, 0, &m, WEFT_FOREVER), 0);
    weft_msg_free(m);
    want_int(weft_call(pool, LET_GO, NULL, 0, &m, WEFT_FOREVER), 0);
    weft_msg_free(m);
    want_int(say(pool, GO, 7), 0);
    want_int(hear(GO), 7);
    until(member_of(pool, 0).done == 3);
    want_int(member_of(pool, 0).outstanding, 0);
    stop_in_order(pool);
}

START_TEST(a_message_is_let_go_once)
{
    run_on(1, counts_once);
}
END_TEST

/* ---- Members by key that are full -------------------------------------------------------------------------------- */

enum { PER_KEY = 10000 };

static uint64_t by_ten_thousands(const weft_msg *m)
{
    return (uint64_t)(value_of(m) / PER_KEY);
}

/* Two members, each with one message at most. The first values of two keys: of member 0, and of member 1. */
static weft_pid two_by_key(int64_t *of_first, int64_t *of_second)
{
    weft_pid pool = POOL(.count = 2, .policy = WEFT_POOL_BY_KEY, .key = by_ten_thousands, .outstanding_max = 1);
    weft_pid first = member_of(pool, 0).pid;
    *of_first = *of_second = -1;
    for (int64_t at = 0; *of_first < 0 || *of_second < 0; at += PER_KEY)
        *(weft_pid_equal(who(pool, at), first) ? of_first : of_second) = at;
    return pool;
}

static void passes_full_members(const void *arg, size_t size)
{
    int64_t mine, other;
    (void)arg, (void)size;
    weft_pid pool = two_by_key(&mine, &other), second = member_of(pool, 1).pid;
    want_int(say(pool, HOLD, mine), 0);
    for (int i = 1; i <= 3; i++) want_int(say(pool, GO, mine + i), 0);
    for (int i = 0; i < 100; i++) want(weft_pid_equal(who(pool, other), second));
    want_int(info_of(pool).waiting, 2); /* and one in the pool's hand */
    want_int(say(member_of(pool, 0).pid, LET_GO, 0), 0);
    for (int i = 1; i <= 3; i++) want_int(hear(DONE), mine + i); /* those of one key in order */
    stop_in_order(pool);
}

START_TEST(a_full_member_holds_up_no_other_keys)
{
    run_on(1, passes_full_members);
    run_on(2, passes_full_members);
}
END_TEST

/* More messages than the pool looks at for one that can go on. */
static void waits_behind_many(const void *arg, size_t size)
{
    enum { MANY = 1500 };
    int64_t mine, other;
    (void)arg, (void)size;
    weft_pid pool = two_by_key(&mine, &other);
    want_int(say(pool, HOLD, mine), 0);
    for (int i = 1; i <= MANY; i++) want_int(say(pool, GO, mine + i), 0);
    want_int(say(pool, GO, other), 0);
    want_int(say(member_of(pool, 0).pid, LET_GO, 0), 0);
    for (int next = 1, others = 0; next + others <= MANY + 1;) {
        int64_t value = hear(DONE);
        if (value == other) others++;
        else want_int(value, mine + next++);
    }
    want_int(info_of(pool).refused, 0);
    stop_in_order(pool);
}

START_TEST(many_messages_that_wait_for_a_member_stay_in_order)
{
    run_on(2, waits_behind_many);
}
END_TEST

static void stops_it(const void *arg, size_t size)
{
    (void)size;
    want_int(weft_pool_stop(((const struct kid *)arg)->other, WEFT_FOREVER), 0);
}

/* Newer messages have passed older ones, which are processed all the same. */
static void drains_what_waits(const void *arg, size_t size)
{
    int64_t mine, other;
    (void)arg, (void)size;
    weft_pid pool = two_by_key(&mine, &other), first = member_of(pool, 0).pid;
    want_int(say(pool, HOLD, mine), 0);
    for (int i = 1; i <= 3; i++) want_int(say(pool, GO, mine + i), 0);
    (void)who(pool, other);
    await_wait(kid_with(stops_it, (struct kid){.other = pool}, NULL), "an answer");
    (void)info_of(pool); /* it has read the request to stop, which came before this one */
    want_int(say(first, LET_GO, 0), 0);
    for (int i = 1; i <= 3; i++) want_int(hear(DONE), mine + i);
    await_end(pool);
}

START_TEST(a_pool_that_stops_processes_messages_that_were_passed)
{
    run_on(1, drains_what_waits);
}
END_TEST

/* ---- Members that end ------------------------------------------------------------------------------------------ */

static void loses_a_member(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pool = POOL(.count = 1);
    weft_pid first = member_of(pool, 0).pid;
    kid_with(asks, (struct kid){.other = pool, .n = HOLD}, NULL);
    until(member_of(pool, 0).outstanding == 1);
    want_int(say(pool, FAIL, 0), 0);
    want_int(hear(DONE), WEFT_ENOREPLY);
    weft_pid second = who(pool, 0);
    want(!weft_pid_equal(first, second));
    want_int(say(pool, LEAVE, 0), 0);
    until(info_of(pool).replaced == 2);
    want(!weft_pid_equal(who(pool, 0), second));
    want_int(info_of(pool).alive, 1);
    want_int(member_of(pool, 0).outstanding, 0); /* nothing of its predecessors' */
    stop_in_order(pool);
}

START_TEST(a_member_that_ends_is_replaced)
{
    run_on(1, loses_a_member);
}
END_TEST

static void runs_dry(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    weft_pid pool = POOL(.count = 2, .replace = WEFT_POOL_REPLACE_FAILED, .policy = WEFT_POOL_BY_KEY,
                         .key = by_value);
    weft_pid kept = who(pool, 1);
    want_int(say(pool, FAIL, 1), 0);
    until(info_of(pool).replaced == 1);
    want(!weft_pid_equal(who(pool, 1), kept));
    for (int i = 0; i < 2; i++) {
        want_int(say(member_of(pool, 0).pid, LEAVE, 0), 0);
        until(info_of(pool).alive == 1U - (unsigned)i);
        if (i == 0) want(!weft_pid_is_nobody(who(pool, 1)) && weft_pid_equal(who(pool, 1), who(pool, 2)));
    }
    want_int(weft_call(pool, WHO, NULL, 0, &m, WEFT_FOREVER), WEFT_ENOACTOR);
    want_int(info_of(pool).refused, 1);
    want_int(weft_pool_resize(pool, 3, WEFT_FOREVER), 0);
    want_int(info_of(pool).alive, 1);
    (void)who(pool, 3);
    stop_in_order(pool);
}

START_TEST(a_pool_without_members_refuses)
{
    run_on(1, runs_dry);
}
END_TEST

static void storms(const void *arg, size_t size)
{
    weft_monitor_ref ref;
    weft_msg *m;
    (void)arg, (void)size;
    weft_pid pool = POOL(.count = 2, .replacements_max = 3, .period = WEFT_SEC(100), .monitor = &ref, .name = "p");
    weft_pid other = member_of(pool, 1).pid;
    for (int i = 0; i < 4; i++) {
        want_int(say(member_of(pool, 0).pid, FAIL, 0), 0);
        if (i < 3) until(info_of(pool).replaced == (unsigned)i + 1);
    }
    hear_down(WEFT_EXIT_FAILED, "members of the pool end too often, the last with reason 77");
    await_end(other);
    want_int(weft_call(pool, WHO, NULL, 0, &m, WEFT_FOREVER), WEFT_ENOACTOR);
    stop_in_order(POOL(.count = 1, .name = "p"));
}

START_TEST(a_storm_of_ends_ends_the_pool)
{
    run_on(1, storms);
}
END_TEST

static void fails_at_once(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_exit(WEFT_EFORMAT);
}

static void never_up(const void *arg, size_t size)
{
    weft_pid pool;
    weft_monitor_ref ref;
    (void)arg, (void)size;
    weft_pool_options o = {.count = 3, .monitor = &ref};
    want_int(weft_spawn_pool(&pool, fails_at_once, NULL, 0, &o), 0);
    hear_down(WEFT_EXIT_FAILED, "malformed data");
}

START_TEST(members_that_cannot_start_end_the_pool)
{
    run_on(2, never_up);
}
END_TEST

/* ---- Who has the request --------------------------------------------------------------------------------------- */

static void calls_back(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m, *answer;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        int64_t rc = weft_call(weft_from(m), WHO, NULL, 0, &answer, WEFT_FOREVER);
        want(peek(weft_from(m))->asking->probed == NULL); /* it has not waited for long */
        want_int(weft_reply(m, WHO, &rc, sizeof rc), 0);
        weft_msg_free(m);
    }
}

static void cycle_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pool;
    weft_msg *m;
    weft_pool_options o = {.count = 2, .member.worker = 1};
    want_int(weft_spawn_pool(&pool, calls_back, NULL, 0, &o), 0);
    for (int i = 0; i < 3; i++) {
        want_int(weft_call(pool, WHO, NULL, 0, &m, WEFT_FOREVER), 0);
        want_int(value_of(m), WEFT_EDEADLOCK);
        weft_msg_free(m);
    }
    stop_in_order(pool);
}

START_TEST(a_member_that_calls_the_actor_that_waits_for_it_fails_at_once)
{
    run_on(1, cycle_body);
}
END_TEST

/* The pool has handed the request to its member, which has not run when the caller ends. */
static void caller_ends_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pool = POOL(.count = 1, .member.worker = 1), to = member_of(pool, 0).pid;
    for (int kill = 0; kill < 2; kill++) {
        weft_pid caller;
        struct kid k = {.other = pool, .n = WHO, .parent = weft_self()};
        await_wait(to, "mailbox");
        await_wait(pool, "mailbox");
        wf_actors_of(wf_here)->timer.left = 100;
        want_int(weft_spawn(&caller, asks, &k, sizeof k, &(weft_spawn_options){.worker = 1}), 0);
        until(peek(to)->held != NULL);
        want_int(kill ? weft_kill(caller) : weft_stop(caller), 0);
        uint32_t place = 0;
        for (const struct wf_task *t = wf_here->ready_first; t != &peek(caller)->task; t = t->next_ready) place++;
        wf_task_prefer(wf_here, place);
        if (!kill) want_int(hear(DONE), WEFT_ECANCELED);
        await_end(caller);
        until(member_of(pool, 0).outstanding == 0);
        want_int(drops(weft_here(), WF_DROP_EXPIRED), kill + 1);
        want_int(wf_actor_received(peek(to)), kill);
        want(weft_pid_equal(who(pool, 1), to));
    }
    stop_in_order(pool);
}

START_TEST(a_member_does_not_get_a_request_whose_caller_has_ended)
{
    run_on(1, caller_ends_body);
}
END_TEST

TEST_MAIN("worker_pool", large_messages_are_work_on_each_worker, round_robin_takes_turns,
          least_loaded_prefers_the_idle, keys_stay_where_they_are,
          a_request_that_expires_at_a_member_is_no_longer_outstanding, no_more_is_outstanding_than_the_option_says,
          a_message_is_let_go_once, a_full_member_holds_up_no_other_keys,
          many_messages_that_wait_for_a_member_stay_in_order, a_pool_that_stops_processes_messages_that_were_passed,
          a_member_that_ends_is_replaced, a_pool_without_members_refuses, a_storm_of_ends_ends_the_pool,
          members_that_cannot_start_end_the_pool, a_member_that_calls_the_actor_that_waits_for_it_fails_at_once,
          a_member_does_not_get_a_request_whose_caller_has_ended)

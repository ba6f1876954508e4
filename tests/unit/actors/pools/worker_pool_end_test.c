/* Pools: the number of their members, their end, bad input, and random sequences of these. */
#include "pool_members.h"

/* ---- The number of members ------------------------------------------------------------------------------------- */

static void grows_and_shrinks(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pool = POOL(.count = 2);
    want_int(weft_pool_resize(pool, 6, WEFT_FOREVER), 0);
    want_int(info_of(pool).alive, 6);
    for (int i = 0; i < 6; i++) want_int(say(pool, HOLD, i), 0);
    until(info_of(pool).outstanding == 6);
    weft_pid last = member_of(pool, 5).pid, kept = member_of(pool, 2).pid;
    want_int(weft_pool_resize(pool, 2, WEFT_FOREVER), 0);
    want_int(info_of(pool).alive, 2);
    want_int(info_of(pool).retiring, 4);
    want(is_alive(last)); /* it has something to finish */
    for (int i = 0; i < 4; i++) want(index_of(pool, who(pool, i)) < 2);
    want_int(say(last, LET_GO, 0), 0);
    await_end(last);
    until(info_of(pool).retiring == 3);
    want_int(weft_pool_resize(pool, 4, WEFT_FOREVER), 0); /* those that have not ended yet are taken back */
    want(weft_pid_equal(member_of(pool, 2).pid, kept));
    want_int(info_of(pool).alive, 4);
    want_int(info_of(pool).replaced, 0);
    for (int i = 0; i < 5; i++) want_int(say(member_of(pool, i).pid, LET_GO, 0), 0);
    stop_in_order(pool);
}

START_TEST(a_pool_is_resized)
{
    run_on(2, grows_and_shrinks);
}
END_TEST

/* ---- The end --------------------------------------------------------------------------------------------------- */

static int ended[8], ended_count, numbers;

static void note_end(void *arg)
{
    ended[ended_count++] = (int)(intptr_t)arg;
}

static void numbered(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    want_int(weft_defer(note_end, (void *)(intptr_t)numbers++), 0);
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        want_int(weft_yield(), 0);
        if (weft_wants_reply(m)) want_int(weft_reply(m, DONE, NULL, 0), 0);
        weft_msg_free(m);
    }
}

static void ends_in_order(const void *arg, size_t size)
{
    weft_pid pool;
    (void)arg, (void)size;
    for (int how = 0; how < 2; how++) {
        weft_monitor_ref ref;
        weft_pool_options o = {.count = 4, .outstanding_max = 2, .monitor = &ref};
        memset(ended, 0, sizeof ended);
        ended_count = numbers = 0;
        want_int(weft_spawn_pool(&pool, numbered, NULL, 0, &o), 0);
        for (int i = 0; i < 20; i++) kid_with(asks, (struct kid){.other = pool, .n = GO}, NULL);
        until(info_of(pool).passed_on > 0); /* all kids ran before us */
        if (how == 0) {
            want_int(weft_pool_stop(pool, WEFT_FOREVER), 0);
            for (int i = 0; i < 20; i++) want_int(hear_only(DONE), 0);
        } else {
            want_int(weft_stop(pool), 0);
            for (int i = 0; i < 20; i++) {
                int64_t rc = hear_only(DONE);
                want(rc == 0 || rc == WEFT_ENOACTOR);
            }
        }
        hear_down(how == 0 ? WEFT_EXIT_NORMAL : WEFT_EXIT_STOPPED, "");
        want_int(ended_count, 4);
        for (int i = 1; i < 4; i++) want(ended[i] > ended[i - 1]);
    }
}

START_TEST(members_end_one_after_the_other)
{
    run_on(1, ends_in_order);
}
END_TEST

static void ends_by_force(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pool = POOL(.count = 2);
    weft_pid second = member_of(pool, 1).pid;
    kid_with(asks, (struct kid){.other = pool, .n = HOLD}, NULL);
    until(info_of(pool).outstanding == 1);
    want_int(weft_pool_stop(pool, weft_after(WEFT_MS(5))), WEFT_ETIMEDOUT);
    want_int(hear_only(DONE), WEFT_ENOREPLY);
    await_end(pool);
    await_end(second);
    pool = POOL(.count = 2);
    second = member_of(pool, 1).pid;
    want_int(weft_kill(pool), 0); /* its links end the members */
    await_end(pool);
    await_end(second);
}

START_TEST(a_pool_is_ended_by_force)
{
    run_on(2, ends_by_force);
}
END_TEST

static void owner(const void *arg, size_t size)
{
    struct kid k;
    (void)size;
    memcpy(&k, arg, sizeof k);
    weft_pid pool = POOL(.count = 2, .link = true);
    want_int(weft_send(k.parent, GO, &pool, sizeof pool), 0);
    weft_exit(99);
}

static void loses_its_owner(const void *arg, size_t size)
{
    weft_msg *m;
    weft_pid pool;
    (void)arg, (void)size;
    kid_on(1, owner, 0);
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    memcpy(&pool, weft_data(m), sizeof pool);
    weft_msg_free(m);
    await_end(pool);
}

START_TEST(a_linked_pool_ends_with_its_owner)
{
    run_on(1, loses_its_owner);
}
END_TEST

/* If the pool is on another worker, each of these calls waits. */
static void asks_for_ever(const void *arg, size_t size)
{
    struct kid k;
    (void)size;
    memcpy(&k, arg, sizeof k);
    weft_pid mine;
    weft_pool_options linked = {.count = 3, .link = true};
    for (bool told = false;; told = true) {
        struct weft_pool_member all[4];
        (void)weft_pool_inspect(k.other, NULL, all, 4, WEFT_FOREVER);
        if (k.n % 2 == 0 && weft_spawn_pool(&mine, member, NULL, 0, &linked) == 0)
            (void)weft_pool_stop(mine, WEFT_FOREVER);
        if (!told) want_int(say(k.parent, GO, 0), 0);
    }
}

static void kills_askers(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pool = POOL(.count = 2);
    for (int i = 0; i < 20; i++) {
        weft_spawn_options there = {.worker = 1 + i % 3};
        weft_pid asker = kid_with(asks_for_ever, (struct kid){.other = pool, .n = i}, &there);
        want_int(hear(GO), 0);
        want_int(weft_kill(asker), 0);
        await_end(asker);
    }
    stop_in_order(pool);
}

START_TEST(an_actor_killed_in_a_request_leaves_nothing)
{
    run_on(3, kills_askers);
}
END_TEST

static _Atomic int busy_pools;

static void keeps_a_pool_busy(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pool = POOL(.count = 3, .outstanding_max = 2);
    for (int i = 0; i < 20; i++) want_int(say(pool, HOLD, i), 0);
    until(info_of(pool).outstanding == 6);
    atomic_fetch_add(&busy_pools, 1);
}

/* A node that stops takes pools with it whose members still have something to do. */
START_TEST(a_node_stops_with_its_pools)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = WEFT_MS(20)));
    for (int i = 0; i < 3; i++) node_spawn(n, 1 + i % 2, keeps_a_pool_busy);
    while (atomic_load(&busy_pools) < 3) pf_cpu_relax();
    want_int(wf_node_drain(n, weft_after(WEFT_SEC(20))), 0);
    node_finish(n);
    wf_node_destroy(n);
}
END_TEST

/* ---- Bad input ------------------------------------------------------------------------------------------------- */

static int refused(weft_pool_options o)
{
    weft_pid pool;
    return weft_spawn_pool(&pool, member, NULL, 0, &o);
}

static void is_refused(const void *arg, size_t size)
{
    static const char large[60 * 1024 + 1];
    weft_monitor_ref ref;
    weft_pid pool, actor = kid_on(1, member, 0);
    (void)arg, (void)size;
    want_int(weft_spawn_pool(&pool, NULL, NULL, 0, NULL), WEFT_EINVAL);
    want_int(weft_spawn_pool(&pool, member, NULL, 1, NULL), WEFT_EINVAL);
    want_int(weft_spawn_pool(&pool, member, large, sizeof large, NULL), WEFT_EINVAL);
    want_int(refused((weft_pool_options){.count = WEFT_POOL_MAX + 1}), WEFT_EINVAL);
    want_int(refused((weft_pool_options){.policy = WEFT_POOL_BY_KEY}), WEFT_EINVAL);
    want_int(refused((weft_pool_options){.policy = (weft_pool_policy)9}), WEFT_EINVAL);
    want_int(refused((weft_pool_options){.replace = (weft_pool_replace)9}), WEFT_EINVAL);
    want_int(refused((weft_pool_options){.period = -1}), WEFT_EINVAL);
    want_int(refused((weft_pool_options){.member.link = true}), WEFT_EINVAL);
    want_int(refused((weft_pool_options){.member.monitor = &ref}), WEFT_EINVAL);
    want_int(refused((weft_pool_options){.member.policy = WEFT_FULL_DROP_OLDEST}), WEFT_EINVAL);
    want_int(refused((weft_pool_options){.member.worker = 99}), WEFT_EINVAL);
    want_int(refused((weft_pool_options){.name = "no good"}), WEFT_EINVAL);
    want_int(refused((weft_pool_options){.count = 4, .member.stack_bytes = SIZE_MAX}), WEFT_EINVAL);
    pool = POOL(.name = "taken", .count = 1);
    want_int(refused((weft_pool_options){.name = "taken"}), WEFT_EEXIST);
    want_int(weft_spawn_pool(NULL, member, large, sizeof large - 1, &(weft_pool_options){.name = "p"}), 0);
    want_int(weft_whereis("p", &pool), 0);
    want_int(weft_pool_resize(pool, 0, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_pool_resize(pool, WEFT_POOL_MAX + 1, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_pool_inspect(pool, NULL, NULL, 1, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_pool_resize(actor, 2, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_pool_stop((weft_pid){actor.node + 1, actor.actor}, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_pool_stop((weft_pid){actor.node, 12345}, WEFT_FOREVER), WEFT_ENOACTOR);
    stop_in_order(pool);
    want_int(weft_whereis("taken", &pool), 0);
    stop_in_order(pool);
    want_int(weft_kill(actor), 0);
    want_int(weft_stop(weft_self()), 0);
    want_int(weft_spawn_pool(&pool, member, NULL, 0, NULL), WEFT_ECANCELED);
}

START_TEST(bad_arguments_have_their_errors)
{
    weft_pid pool = weft_nobody();
    ck_assert_int_eq(weft_spawn_pool(&pool, member, NULL, 0, NULL), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_pool_resize(pool, 1, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_pool_stop(pool, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_pool_inspect(pool, NULL, NULL, 0, WEFT_NOW), WEFT_ENOTACTOR);
    run_on(1, is_refused);
}
END_TEST

static void has_no_places(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(refused((weft_pool_options){.count = 20}), WEFT_EFULL);
    until(wf_actors_of(wf_here)->alive[0] == 1); /* those that were started have ended */
    weft_pid pool = POOL(.count = 2);
    want_int(weft_pool_resize(pool, 20, WEFT_FOREVER), WEFT_EFULL);
    uint32_t alive = info_of(pool).alive;
    want(alive > 2 && alive < 20);
    want_int(info_of(pool).count, alive);
    for (int i = 0; i < 20; i++) (void)who(pool, i);
    stop_in_order(pool);
}

START_TEST(a_node_without_space_for_members_stays_healthy)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .actors_max = 10));
    node_spawn(n, 1, has_no_places);
    node_end(n);
}
END_TEST

/* ---- All of it at random --------------------------------------------------------------------------------------- */

enum { ASKERS = 12, ASKS = 300 };

static void random_member(const void *arg, size_t size)
{
    uint64_t seed = weft_self().actor;
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        uint32_t dice = random_below(&seed, 1000);
        if (dice < 5) weft_exit(50);
        if (dice < 20) continue; /* kept, until it ends */
        if (dice < 100) (void)weft_yield();
        if (dice < 950) want_int(weft_reply(m, DONE, weft_data(m), weft_size(m)), 0);
        weft_msg_free(m);
    }
}

static void random_asker(const void *arg, size_t size)
{
    struct kid k;
    int64_t answered = 0;
    (void)size;
    memcpy(&k, arg, sizeof k);
    for (int64_t i = 0; i < ASKS; i++) {
        weft_msg *m;
        int rc = weft_call(k.other, GO, &i, sizeof i, &m, weft_after(WEFT_MS(20)));
        want(rc == 0 || rc == WEFT_ENOREPLY || rc == WEFT_ENOACTOR || rc == WEFT_ETIMEDOUT);
        if (rc < 0) continue;
        want_int(value_of(m), i);
        answered++;
        weft_msg_free(m);
    }
    want_int(say(k.parent, DONE, answered), 0);
}

static void runs_at_random(const void *arg, size_t size)
{
    weft_pid pool;
    uint64_t seed = 1;
    int64_t answered = 0;
    (void)arg, (void)size;
    weft_pool_options o = {
        .count = 4, .outstanding_max = 8, .replacements_max = 1024, .period = 1, .policy = WEFT_POOL_LEAST_LOADED};
    want_int(weft_spawn_pool(&pool, random_member, NULL, 0, &o), 0);
    for (int i = 0; i < ASKERS; i++)
        kid_with(random_asker, (struct kid){.other = pool}, &(weft_spawn_options){.worker = 1 + i % 3});
    for (int done = 0; done < ASKERS;) {
        weft_msg *m;
        struct weft_pool_member all[16];
        if (weft_recv(&m, weft_after(WEFT_US(300))) == 0) {
            answered += value_of(m);
            done++;
            weft_msg_free(m);
        }
        want_int(weft_pool_resize(pool, 1 + random_below(&seed, 8), WEFT_FOREVER), 0);
        int count = weft_pool_inspect(pool, NULL, all, 16, WEFT_FOREVER);
        want(count > 0);
        (void)weft_kill(all[random_below(&seed, (uint32_t)count)].pid);
    }
    want(answered > ASKERS * ASKS / 4);
    (void)weft_pool_stop(pool, weft_after(WEFT_MS(50)));
    await_end(pool);
}

START_TEST(members_come_and_go_under_load)
{
    run_on(3, runs_at_random);
}
END_TEST

TEST_MAIN("worker_pool_end", a_pool_is_resized, members_end_one_after_the_other, a_pool_is_ended_by_force,
          a_linked_pool_ends_with_its_owner, an_actor_killed_in_a_request_leaves_nothing, a_node_stops_with_its_pools,
          bad_arguments_have_their_errors, a_node_without_space_for_members_stays_healthy,
          members_come_and_go_under_load)

/* actors/run/node_life.c, actors/inspect/actor_list.c, pid.c: options, the end of a node, foreign threads, several
 * nodes, lists of actors. */
#include "../node_harness.h"

enum { DATA = 1, GO = 2 };

static _Atomic int64_t ends, sum;

static void ended(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ends, 1);
}

static void deaf(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_defer(ended, NULL);
    (void)weft_sleep(WEFT_FOREVER);
}

static void stubborn(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_defer(ended, NULL);
    for (;;) (void)weft_sleep(WEFT_FOREVER);
}

static void drained(weft_node *n, int64_t deadline, int expected)
{
    want_int(wf_node_drain(n, deadline), expected);
    want_int(weft_node_spawn(n, NULL, deaf, NULL, 0, NULL), WEFT_ECANCELED);
    node_finish(n);
    wf_node_destroy(n);
}

/* ---- Options --------------------------------------------------------------------------------------------------- */

START_TEST(options_are_checked)
{
    atomic_store(&ends, 0);
    atomic_store(&sum, 0);
    char long_name[66];
    memset(long_name, 'x', 65);
    long_name[65] = 0;
    const weft_node_options bad[] = {
        {.name = ""},
        {.name = "a b"},
        {.name = long_name},
        {.cluster = "a/b"},
        {.workers = -1},
        {.workers = 65},
        {.stack_bytes = 9 << 20},
        {.actors_max = 1 << 24},
        {.send_timeout = -1},
        {.grace = -1},
        {.heartbeat = -1},
        {.park_after = -1},
        {.resume_window = -1},
        {.heartbeats_lost = -1},
        {.heartbeats_lost = 1001},
        {.wire_version = -1},
        {.wire_version = 3},
        {.carrier = "udp"},
        {.carrier = ""},
        {.offload_threads = -1},
        {.offload_threads = 257},
        {.offload_queue = -1},
        {.probe_period = -1},
        {.suspicion = -1},
        {.suspicion = 1001},
        {.partition = (weft_partition)3},
        {.partition = WEFT_PARTITION_QUORUM},
        {.partition = WEFT_PARTITION_MAJORITY, .quorum = 2},
        {.quorum = 2},
    };
    for (size_t i = 0; i < WF_COUNT(bad); i++) {
        weft_node *n = NULL;
        ck_assert_int_eq(wf_node_create(&n, &bad[i], NULL), WEFT_EINVAL);
        ck_assert_ptr_null(n);
    }
    weft_node *n = node_start(NULL); /* all defaults */
    ck_assert_int_eq(strncmp(weft_node_name(n), "weft-", 5), 0);
    ck_assert(weft_node_incarnation(n) != 0);
    ck_assert_int_eq(weft_node_wait(n, WEFT_NOW), 0); /* nobody is there */
    ck_assert_int_eq(weft_node_wait(NULL, WEFT_NOW), WEFT_EINVAL);
    node_end(n);
}
END_TEST

/* ---- The end of a node ----------------------------------------------------------------------------------------- */

START_TEST(a_drain_stops_everybody)
{
    atomic_store(&ends, 0);
    atomic_store(&sum, 0);
    weft_node *n = node_of(2);
    for (int i = 0; i < 100; i++) node_spawn(n, i % 2 + 1, deaf);
    ck_assert_int_eq(weft_node_wait(n, WEFT_NOW), WEFT_ETIMEDOUT);
    drained(n, WEFT_FOREVER, 0);
    ck_assert_int_eq(atomic_load(&ends), 100);
}
END_TEST

START_TEST(a_drain_kills_the_stubborn_at_its_deadline)
{
    atomic_store(&ends, 0);
    atomic_store(&sum, 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = WEFT_SEC(1000)));
    for (int i = 0; i < 20; i++) node_spawn(n, i % 2 + 1, i % 4 < 2 ? stubborn : deaf);
    drained(n, weft_after(short_grace()), WEFT_ETIMEDOUT);
    ck_assert_int_eq(atomic_load(&ends), 20);
}
END_TEST

START_TEST(a_drain_waits_for_the_kill_after_the_grace_period)
{
    atomic_store(&ends, 0);
    atomic_store(&sum, 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = short_grace()));
    for (int i = 0; i < 20; i++) node_spawn(n, i % 2 + 1, stubborn);
    drained(n, WEFT_FOREVER, 0);
    ck_assert_int_eq(atomic_load(&ends), 20);
}
END_TEST

/* Spawns as long as it may, on both workers. */
static void breeder(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int rc;
    for (int i = 0; (rc = weft_spawn(NULL, deaf, NULL, 0, &(weft_spawn_options){.worker = i % 2 + 1})) == 0; i++) {
        atomic_fetch_add(&sum, 1);
        if (weft_yield() == WEFT_ECANCELED) break;
    }
    want_int(weft_spawn(NULL, deaf, NULL, 0, NULL), WEFT_ECANCELED);
}

static void clean_breeder(void *arg)
{
    (void)arg;
    want_int(weft_spawn(NULL, deaf, NULL, 0, NULL), WEFT_ECANCELED);
    ended(NULL);
}

static void late_breeder(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_defer(clean_breeder, NULL);
    (void)weft_sleep(WEFT_FOREVER);
}

START_TEST(no_actor_starts_once_a_node_stops_and_none_is_forgotten)
{
    atomic_store(&ends, 0);
    atomic_store(&sum, 0);
    for (int round = 0; round < 20; round++) {
        atomic_store(&ends, 0);
        atomic_store(&sum, 0);
        weft_node *n = node_of(2);
        node_spawn(n, 1, late_breeder);
        for (int i = 0; i < 4; i++) {
            want_int(weft_node_spawn(n, NULL, breeder, NULL, 0, &(weft_spawn_options){.worker = i % 2 + 1}), 0);
        }
        while (atomic_load(&sum) < 50 * round) pf_cpu_relax();
        drained(n, WEFT_FOREVER, 0);
        ck_assert_int_eq(atomic_load(&ends), atomic_load(&sum) + 1);
    }
}
END_TEST

/* ---- Foreign threads ------------------------------------------------------------------------------------------- */

static struct {
    weft_node *node;
    weft_pid to;
} foreign;

enum { THREADS = 3, EACH = 3000 };

static void counter(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int64_t next[THREADS] = {0};
    for (int64_t left = THREADS * EACH; left > 0; left--) {
        weft_msg *m;
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        want(weft_pid_is_nobody(weft_from(m)));
        int64_t value = value_of(m);
        want_int(value % EACH, next[value / EACH]++);
        weft_msg_free(m);
    }
}

static void send_from_thread(void *arg)
{
    int64_t base = (intptr_t)arg * EACH;
    for (int64_t i = base; i < base + EACH; i++) {
        int rc;
        while ((rc = weft_node_send(foreign.node, foreign.to, DATA, &i, sizeof i)) == WEFT_EFULL) pf_cpu_relax();
        want_int(rc, 0);
    }
}

START_TEST(foreign_threads_send_in_order)
{
    atomic_store(&ends, 0);
    atomic_store(&sum, 0);
    weft_node *n = foreign.node = node_of(2);
    want_int(weft_node_spawn(n, &foreign.to, counter, NULL, 0, &(weft_spawn_options){.mailbox_max = 64}), 0);
    pf_thread *threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        want_int(pf_thread_start(&threads[i], "sender", send_from_thread, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) pf_thread_join(threads[i]);
    ck_assert_int_eq(weft_node_wait(n, WEFT_FOREVER), 0);
    want_int(drops(n, WF_DROP_FULL), 0);
    ck_assert_int_eq(weft_node_send(n, foreign.to, DATA, NULL, 0), WEFT_ENOACTOR);
    weft_pid elsewhere = {foreign.to.node ^ 1, foreign.to.actor};
    ck_assert_int_eq(weft_node_send(n, elsewhere, DATA, NULL, 0), WEFT_ENONODE);
    ck_assert_int_eq(weft_node_send(n, foreign.to, WEFT_TAG_SYSTEM, NULL, 0), WEFT_EINVAL);
    ck_assert_int_eq(weft_node_send(n, foreign.to, DATA, NULL, 1), WEFT_EINVAL);
    ck_assert_int_eq(weft_node_send(NULL, foreign.to, DATA, NULL, 0), WEFT_EINVAL);
    ck_assert_int_eq(weft_node_spawn(NULL, NULL, counter, NULL, 0, NULL), WEFT_EINVAL);
    node_end(n);
}
END_TEST

static void add_one(const void *arg, size_t size)
{
    want_int(size, sizeof(int64_t));
    int64_t value;
    memcpy(&value, arg, sizeof value);
    atomic_fetch_add(&sum, value);
}

static void spawn_from_thread(void *arg)
{
    (void)arg;
    int64_t one = 1;
    for (int i = 0; i < EACH; i++) want_int(weft_node_spawn(foreign.node, NULL, add_one, &one, sizeof one, NULL), 0);
}

START_TEST(foreign_threads_spawn)
{
    atomic_store(&ends, 0);
    atomic_store(&sum, 0);
    weft_node *n = foreign.node = node_of(2);
    pf_thread *threads[THREADS];
    for (int i = 0; i < THREADS; i++) want_int(pf_thread_start(&threads[i], "spawner", spawn_from_thread, NULL), 0);
    for (int i = 0; i < THREADS; i++) pf_thread_join(threads[i]);
    node_end(n);
    ck_assert_int_eq(atomic_load(&sum), THREADS * EACH);
}
END_TEST

static void fill_drop_oldest(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_with(deaf, (struct kid){.n = 0},
                           &(weft_spawn_options){.worker = 2, .mailbox_max = 2, .policy = WEFT_FULL_DROP_OLDEST});
    for (int64_t i = 0; i < 10; i++) want_int(weft_node_send(weft_here(), to, DATA, &i, sizeof i), 0);
    until(drops(weft_here(), WF_DROP_FULL) == 8);
    want_int(weft_node_wait(weft_here(), WEFT_NOW), WEFT_EINVAL); /* never from one of its own actors */
    want_int(weft_stop(to), 0);
}

START_TEST(a_mailbox_that_drops_is_not_full_for_foreign_threads_either)
{
    atomic_store(&ends, 0);
    atomic_store(&sum, 0);
    run_on(2, fill_drop_oldest);
}
END_TEST

/* ---- Several nodes --------------------------------------------------------------------------------------------- */

static void say_who(const void *arg, size_t size)
{
    struct kid k = *(const struct kid *)arg;
    (void)size;
    want(weft_here() != foreign.node && weft_self().node == weft_node_incarnation(weft_here()));
    want_int(weft_send(k.other, DATA, NULL, 0), WEFT_ENONODE);
    want_int(weft_register("shared"), 0);
    (void)weft_node_send(foreign.node, k.other, GO, NULL, 0); /* it is a foreign thread there */
    (void)weft_sleep(WEFT_FOREVER);
}

static void hear_neighbour(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    want_int(weft_register("shared"), 0);
    for (int i = 0; i < 3; i++) {
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        want_int(weft_tag(m), GO);
        weft_msg_free(m);
    }
}

START_TEST(nodes_in_one_process_are_apart)
{
    atomic_store(&ends, 0);
    atomic_store(&sum, 0);
    foreign.node = node_of(1);
    weft_pid to = node_spawn(foreign.node, 1, hear_neighbour);
    weft_node *others[3];
    struct kid k = {.other = to};
    for (int i = 0; i < 3; i++) {
        others[i] = node_of(2);
        want_int(weft_node_spawn(others[i], NULL, say_who, &k, sizeof k, NULL), 0);
    }
    want_int(weft_node_wait(foreign.node, WEFT_FOREVER), 0);
    for (int i = 0; i < 3; i++) {
        want_int(wf_node_drain(others[i], WEFT_FOREVER), 0);
        node_end(others[i]);
    }
    node_end(foreign.node); /* last: threads of the others may still be on their way out of weft_node_send */
}
END_TEST

/* ---- What is listed -------------------------------------------------------------------------------------------- */

static void listed(const void *arg, size_t size)
{
    want_int(weft_register("someone"), 0);
    want_int(say(((const struct kid *)arg)->parent, GO, 0), 0);
    (void)size;
    hear_only(GO);
}

static void list_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_spawn_options o = {.worker = 2, .kind = "lister's", .mailbox_max = 77};
    weft_pid to = kid_with(listed, (struct kid){.n = 0}, &o);
    hear(GO);
    for (int64_t i = 0; i < 5; i++) want_int(say(to, DATA, i), 0);
    struct wf_actor_info *all = NULL, *found = NULL;
    size_t count = 0;
    bool listed_all = false;
    while (!listed_all) { /* until it waits in its mailbox with all five */
        (void)weft_release(all);
        want_int(wf_node_list_actors(weft_here(), NULL, &all, &count, WEFT_FOREVER), 0);
        want_int(count, 2);
        found = weft_pid_equal(all[0].pid, to) ? &all[0] : &all[1];
        listed_all = found->mailbox == 5 && strcmp(found->state, "waiting") == 0;
    }
    want(weft_pid_equal(found->pid, to) && strcmp(found->kind, "lister's") == 0);
    want(strcmp(found->name, "someone") == 0 && strcmp(found->waits_for, "mailbox") == 0);
    want_int(found->mailbox_max, 77);
    want_int(found->received + found->dropped, 0);
    struct wf_actor_info *me = found == &all[0] ? &all[1] : &all[0];
    want(weft_pid_equal(me->pid, weft_self()));
    want_int(me->received, 1);
    (void)weft_release(all);
    want_int(wf_node_list_actors(weft_here(), NULL, &all, &count, WEFT_NOW), WEFT_ETIMEDOUT); /* and nothing leaks */
    want_int(say(to, GO, 0), 0);
}

START_TEST(actors_are_listed)
{
    atomic_store(&ends, 0);
    atomic_store(&sum, 0);
    run_on(2, list_body);
}
END_TEST

START_TEST(pids_are_text_and_back)
{
    atomic_store(&ends, 0);
    atomic_store(&sum, 0);
    char text[WEFT_PID_TEXT];
    const weft_pid pids[] = {{1, 1}, {UINT64_MAX, UINT64_MAX}, {0x0123456789abcdef, (uint64_t)7 << 32 | 3 << 24 | 9}};
    for (size_t i = 0; i < WF_COUNT(pids); i++) {
        weft_pid back = {5, 5};
        ck_assert_int_eq(weft_pid_parse(weft_pid_format(pids[i], text), &back), 0);
        ck_assert(weft_pid_equal(back, pids[i]));
    }
    ck_assert_str_eq(weft_pid_format(pids[2], text), "3.9.7@0123456789abcdef");
    const char *const bad[] = {"",
                               "1",
                               "1.2",
                               "1.2.3",
                               "1.2.3@",
                               "1.2.3@g",
                               "256.1.1@1",
                               "1.16777216.1@1",
                               "1.1.4294967296@1",
                               "-1.2.3@1",
                               " 1.2.3@1",
                               "1.2.3@1 ",
                               "+1.2.3@1",
                               "1.2.3@0x1",
                               "1.2.3@10000000000000000",
                               "1..3@1",
                               "1.2.3@1@1",
                               "1.2.a@1"};
    for (size_t i = 0; i < WF_COUNT(bad); i++) {
        weft_pid untouched = {5, 6};
        ck_assert_msg(weft_pid_parse(bad[i], &untouched) == WEFT_EFORMAT, "%s", bad[i]);
        ck_assert(untouched.node == 5 && untouched.actor == 6);
    }
    weft_pid p;
    ck_assert_int_eq(weft_pid_parse(NULL, &p), WEFT_EINVAL);
}
END_TEST

/* ---- Actors that the node needs -------------------------------------------------------------------------------- */

static void needed(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    want_int(weft_register("needed"), 0);
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        (void)weft_reply(m, GO, NULL, 0);
        weft_msg_free(m);
    }
}

/* As a broken peer may, too. */
static void attacker(const void *arg, size_t size)
{
    weft_msg *m;
    weft_pid victim;
    struct weft_down d;
    (void)arg, (void)size;
    want_int(weft_await_name("needed", &victim, WEFT_FOREVER), 0);
    want_int(weft_trap_exits(true), 0);
    want_int(weft_link(victim), 0);
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want_int(weft_down_read(m, &d), 0);
    want_int(d.reason, WEFT_EXIT_NO_ACTOR);
    weft_msg_free(m);
    want_int(weft_stop(victim), 0);
    want_int(weft_kill(victim), 0);
    want_int(weft_call(victim, DATA, NULL, 0, &m, WEFT_FOREVER), 0);
    weft_msg_free(m);
}

START_TEST(only_the_node_ends_its_own_actors)
{
    weft_node *n = node_of(2);
    want_int(wf_node_spawn_service(n, NULL, needed, NULL, 0, "$needed"), 0);
    node_spawn(n, 1, attacker);
    node_end(n);
}
END_TEST

START_TEST(no_message_is_no_notification)
{
    struct weft_down down;
    struct weft_node_news node;
    struct weft_group_news group;
    struct weft_subscription_news subscription;
    struct weft_name_lost lost;
    ck_assert_int_eq(weft_down_read(NULL, &down), WEFT_EFORMAT);
    ck_assert_int_eq(weft_node_news_read(NULL, &node), WEFT_EFORMAT);
    ck_assert_int_eq(weft_group_news_read(NULL, &group), WEFT_EFORMAT);
    ck_assert_int_eq(weft_subscription_news_read(NULL, &subscription), WEFT_EFORMAT);
    ck_assert_int_eq(weft_name_lost_read(NULL, &lost), WEFT_EFORMAT);
}
END_TEST

TEST_MAIN("node", options_are_checked, a_drain_stops_everybody, a_drain_kills_the_stubborn_at_its_deadline,
          a_drain_waits_for_the_kill_after_the_grace_period, no_actor_starts_once_a_node_stops_and_none_is_forgotten,
          foreign_threads_send_in_order, foreign_threads_spawn,
          a_mailbox_that_drops_is_not_full_for_foreign_threads_either, nodes_in_one_process_are_apart,
          actors_are_listed, pids_are_text_and_back, only_the_node_ends_its_own_actors, no_message_is_no_notification)

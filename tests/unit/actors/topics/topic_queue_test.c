/* actors/topics/queue_groups.c: queue groups, and subscribers whose publishers wait. */
#include "../node_harness.h"
#include "inbound.h"
#include "queue_groups.h"
#include "topic.h"

enum { NEWS = 1, READY = 2, GO = 3, MESSAGES = 100 };

static _Atomic int met[MESSAGES];
static _Atomic int met_by[4];
static _Atomic uintptr_t body_of_first;

static int publish_value(int64_t value)
{
    return weft_publish("job.new", NEWS, &value, sizeof value);
}

/* Notes what it gets until it is told to go. n: which it is; 0 is no member of the group. */
static void member(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscribe_options o = {.queue = k.n == 0 ? NULL : "workers"};
    weft_subscription s;
    want_int(weft_subscribe_with("job.*", &o, &s), 0);
    want_int(say(k.parent, READY, 0), 0);
    for (weft_msg *m;; weft_msg_free(m)) {
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        if (weft_tag(m) == GO) break;
        int64_t value = value_of(m);
        if (k.n > 0) want_int(atomic_fetch_add(&met[value], 1), 0);
        atomic_fetch_add(&met_by[k.n], 1);
        if (value == 0) { /* all members would see the same bytes */
            uintptr_t none = 0, mine = (uintptr_t)weft_data(m);
            if (!atomic_compare_exchange_strong(&body_of_first, &none, mine)) want(none == mine);
        }
    }
    want_int(weft_unsubscribe(s), 0);
    want_int(weft_unsubscribe(s), WEFT_ECLOSED);
}

static void queue_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid kids[] = {kid_on(2, member, 0), kid_on(1, member, 1), kid_on(2, member, 2), kid_on(2, member, 3)};
    for (int i = 0; i < 4; i++) hear(READY);
    for (int64_t i = 0; i < MESSAGES - 1; i++) want_int(publish_value(i), 2); /* the other worker, and the group */
    want_int(weft_publish("other", NEWS, NULL, 0), 1);                        /* the other worker has some */
    for (int i = 0; i < 4; i++) want_int(say(kids[i], GO, 0), 0);
    for (int i = 0; i < 4; i++) await_end(kids[i]);
    for (int i = 0; i < MESSAGES - 1; i++) want_int(atomic_load(&met[i]), 1);
    want_int(atomic_load(&met_by[0]), MESSAGES - 1);
    for (int i = 1; i < 4; i++) want_int(atomic_load(&met_by[i]), (MESSAGES - 1) / 3);
    want_int(publish_value(0), 0);
    want(!wf_queue_groups_any(wf_topics_of(wf_node_of(wf_here))));
}

START_TEST(members_of_a_queue_group_get_messages_in_turn)
{
    run_on(2, queue_body);
}
END_TEST

/* Gets nothing out of its mailbox until it is stopped. n: 0: of the queue; else the wait of its publishers. */
static void sleeper(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscribe_options queue = {.queue = "workers"}, wait = {.slow = WEFT_SLOW_SUSPEND, .wait = k.n};
    want_int(weft_subscribe_with("job.new", k.n == 0 ? &queue : &wait, NULL), 0);
    want_int(say(k.parent, READY, 0), 0);
    (void)weft_sleep(WEFT_FOREVER);
}

static void full_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid small = kid_with(sleeper, (struct kid){0}, &(weft_spawn_options){.worker = 1, .mailbox_max = 2});
    weft_pid large = kid_with(sleeper, (struct kid){0}, &(weft_spawn_options){.worker = 1, .mailbox_max = 6});
    hear(READY), hear(READY);
    for (int64_t i = 0; i < 8; i++) want_int(publish_value(i), 1);
    want_int(wf_mail_count(peek(small)), 2);
    want_int(wf_mail_count(peek(large)), 6);
    want_int(publish_value(8), 0);
    want_int(drops(weft_here(), WF_DROP_SLOW_READER), 1);
    want_int(weft_stop(small), 0);
    await_end(small); /* its messages are gone, and so is its turn */
    want_int(publish_value(9), 0);
    want_int(weft_stop(large), 0);
    await_end(large);
}

START_TEST(a_full_member_is_passed_over)
{
    run_on(1, full_body);
}
END_TEST

static void careful(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_subscribe_with("job.new", &(weft_subscribe_options){.slow = WEFT_SLOW_SUSPEND}, NULL), 0);
    want_int(say(k.parent, READY, 0), 0);
    for (int64_t i = 0; i < MESSAGES; i++) want_int(hear(NEWS), i);
}

static void suspend_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        weft_spawn_options o = {.worker = worker, .mailbox_max = 3};
        weft_pid to = kid_with(careful, (struct kid){0}, &o);
        hear(READY);
        for (int64_t i = 0; i < MESSAGES; i++) want_int(publish_value(i), 1);
        await_end(to);
    }
    want_int(drops(weft_here(), WF_DROP_SLOW_READER), 0);
    weft_spawn_options o = {.worker = 1, .mailbox_max = 3};
    weft_pid to = kid_with(sleeper, (struct kid){.n = WEFT_MS(1)}, &o);
    hear(READY);
    for (int64_t i = 0; i < 5; i++) want_int(publish_value(i), i < 3);
    want_int(drops(weft_here(), WF_DROP_SLOW_READER), 2);
    want_int(weft_stop(to), 0);
    await_end(to);
}

START_TEST(a_publisher_waits_for_a_subscriber_that_wants_it_until_the_deadline)
{
    run_on(2, suspend_body);
}
END_TEST

/* n: 1: wants to know how many it reaches. */
static void publish_on(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    struct weft_reach reach;
    for (int64_t i = 0; i < 4; i++) {
        if (k.n == 0) (void)publish_value(i);
        else (void)weft_publish_reach("job.new", NEWS, &i, sizeof i, &reach, WEFT_FOREVER);
    }
    want(false); /* it was killed */
}

static void kill_a_publisher(int64_t kind)
{
    weft_spawn_options o = {.worker = 1, .mailbox_max = 3};
    weft_pid to = kid_with(sleeper, (struct kid){.n = WEFT_SEC(3600)}, &o);
    weft_pid more = kid_with(sleeper, (struct kid){.n = WEFT_SEC(3600)}, &o);
    hear(READY), hear(READY);
    weft_pid from = kid_on(1, publish_on, kind);
    await_wait(from, "space in a mailbox");
    want_int(weft_kill(from), 0);
    await_end(from);
    want_int(weft_stop(to), 0);
    want_int(weft_stop(more), 0);
    await_end(to), await_end(more);
}

static void killed_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int64_t kind = 0; kind <= 1; kind++) kill_a_publisher(kind);
}

START_TEST(a_publisher_killed_while_it_waits_leaves_nothing)
{
    run_on(1, killed_body);
}
END_TEST

static void bad_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    char name[66];
    memset(name, 'q', 65);
    name[65] = 0;
    const weft_subscribe_options bad[] = {{.queue = ""},
                                          {.queue = "a b"},
                                          {.queue = name},
                                          {.queue = "q", .slow = WEFT_SLOW_SUSPEND},
                                          {.slow = (weft_slow_policy)7},
                                          {.slow = (weft_slow_policy)-1},
                                          {.queue = "q", .max = 1},
                                          {.slow = WEFT_SLOW_SUSPEND, .max = 1},
                                          {.wait = 1},
                                          {.slow = WEFT_SLOW_SUSPEND, .wait = -1}};
    for (size_t i = 0; i < WF_COUNT(bad); i++) want_int(weft_subscribe_with("a", &bad[i], NULL), WEFT_EINVAL);
    want_int(weft_subscribe_with("a.", &(weft_subscribe_options){.queue = "q"}, NULL), WEFT_EINVAL);
    want_int(weft_subscribe_with(NULL, NULL, NULL), WEFT_EINVAL);
    want_int(wf_actors_of(wf_here)->subscription_slab.used, 0);
    want(!wf_queue_groups_any(wf_topics_of(wf_node_of(wf_here))));
    name[64] = 0;
    want_int(weft_subscribe_with("a", &(weft_subscribe_options){.queue = name}, NULL), 0);
    want_int(weft_subscribe_with("a", &(weft_subscribe_options){.queue = "q"}, NULL), 0);
    want_int(weft_subscribe_with("a", NULL, NULL), 0);
    want_int(weft_publish("a", NEWS, NULL, 0), 3); /* two groups and a plain subscription */
}

START_TEST(options_are_checked)
{
    ck_assert_int_eq(weft_subscribe_with("a", NULL, NULL), WEFT_ENOTACTOR);
    run_on(1, bad_body);
}
END_TEST

/* ---- Large publications ---------------------------------------------------------------------------------------- */

enum { GROUPS = 12 };
static char large[16 * 1024 * 1024];
static atomic_bool hold_worker, held_worker;

static void hog(const void *arg, size_t size)
{
    (void)arg, (void)size;
    atomic_store(&held_worker, true);
    while (atomic_load(&hold_worker)) pf_cpu_relax();
}

static void takes_large(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    char queue[16];
    weft_msg *m;
    snprintf(queue, sizeof queue, "q%d", (int)k.n);
    want_int(weft_subscribe_with("job.*", &(weft_subscribe_options){.queue = queue}, NULL), 0);
    want_int(say(k.parent, READY, 0), 0);
    for (int i = 0; i < 2; i++) {
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        want_int((int64_t)weft_size(m), sizeof large);
        weft_msg_free(m);
    }
}

/* Many queue groups have their members on one other worker, and these share one body: it counts once there. */
static void large_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_node *node = weft_here();
    weft_pid kids[GROUPS];
    struct wf_inbound in = {.here = wf_here};
    for (int i = 0; i < GROUPS; i++) {
        weft_spawn_options o = {.worker = 2, .mailbox_bytes = SIZE_MAX};
        kids[i] = kid_with(takes_large, (struct kid){.n = i}, &o);
        hear(READY);
    }
    atomic_store(&hold_worker, true);
    atomic_store(&held_worker, false);
    kid_on(2, hog, 0);
    until(atomic_load(&held_worker));
    want_int(weft_publish("job.large", NEWS, large, sizeof large), GROUPS);
    struct wf_body *body = wf_body_new(wf_here, "job.large", 9, large, sizeof large);
    wf_inbound_sign(&in, NEWS, weft_self(), body);
    wf_topics_choose_inbound(node, &in, body);
    wf_body_drop(wf_here, body);
    wf_inbound_post(node, &in);
    want(wf_inbound_congested(node, &in) == NULL);
    atomic_store(&hold_worker, false);
    for (int i = 0; i < GROUPS; i++) await_end(kids[i]);
    want_int(drops(node, WF_DROP_SLOW_READER) + drops(node, WF_DROP_FULL), 0);
}

START_TEST(one_large_publication_reaches_all_queue_groups_of_another_worker)
{
    run_on(2, large_body);
}
END_TEST

TEST_MAIN("topic_queue", members_of_a_queue_group_get_messages_in_turn, a_full_member_is_passed_over,
          a_publisher_waits_for_a_subscriber_that_wants_it_until_the_deadline,
          a_publisher_killed_while_it_waits_leaves_nothing, options_are_checked,
          one_large_publication_reaches_all_queue_groups_of_another_worker)

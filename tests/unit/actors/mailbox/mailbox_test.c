/* actors/mailbox/mailbox.c: order, selective receive, drops at the limit, the system queue, the byte budget. */
#include "../node_harness.h"

enum { DATA = 1, GO = 2 };

/* ---- Order ----------------------------------------------------------------------------------------------------- */

static void count_up(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    for (int64_t i = 0; i < k.n; i++) want_int(say(k.parent, DATA, i), 0);
}

static void expect_order(int worker)
{
    kid_on(worker, count_up, 5000);
    for (int64_t i = 0; i < 5000; i++) want_int(hear(DATA), i);
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT);
}

static void order_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    expect_order(1);
    expect_order(2);
}

START_TEST(messages_come_in_the_order_they_were_sent)
{
    run_on(2, order_body);
}
END_TEST

/* ---- Selective receive ----------------------------------------------------------------------------------------- */

static void by_tag(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int64_t i = 0; i < 30; i++) want_int(say(weft_self(), (uint32_t)(i % 3) + 1, i), 0);
    for (int64_t i = 1; i < 30; i += 3) want_int(hear_only(2), i);
    weft_msg *m;
    want_int(weft_recv_tag(&m, 2, WEFT_NOW), WEFT_ETIMEDOUT);
    for (int64_t i = 0; i < 30; i++) {
        if (i % 3 != 1) want_int(hear((uint32_t)(i % 3) + 1), i);
    }
}

START_TEST(receive_by_tag_keeps_the_others_in_order)
{
    run_on(1, by_tag);
}
END_TEST

static bool count_looks(const weft_msg *m, void *arg)
{
    int *seen = arg;
    seen[value_of(m)]++;
    return weft_tag(m) == GO;
}

static void seen_once(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int seen[101] = {0};
    for (int64_t i = 0; i < 50; i++) want_int(say(weft_self(), DATA, i), 0);
    weft_pid kid = kid_on(1, count_up, 0); /* something else runs between */
    await_end(kid);
    kid_on(2, count_up, 3); /* wakes us with 0, 1, 2 one batch at a time */
    weft_msg *m;
    until(wf_mail_count(peek(weft_self())) == 53);
    want_int(say(weft_self(), GO, 100), 0);
    want_int(weft_recv_match(&m, count_looks, seen, WEFT_FOREVER), 0);
    weft_msg_free(m);
    for (int i = 0; i < 50; i++) want_int(seen[i], i < 3 ? 2 : 1); /* 0, 1 and 2 are there twice */
    want_int(wf_mail_count(peek(weft_self())), 53);
}

static void trickle(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    for (int64_t i = 0; i < k.n; i++) {
        want_int(say(k.parent, DATA, i), 0);
        want_int(weft_yield(), 0); /* on the parent's worker: it runs and waits again */
    }
    want_int(say(k.parent, GO, k.n), 0);
}

static void seen_once_over_wakes(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int seen[101] = {0};
    weft_msg *m;
    kid_on(1, trickle, 100);
    want_int(weft_recv_match(&m, count_looks, seen, WEFT_FOREVER), 0);
    weft_msg_free(m);
    for (int i = 0; i < 101; i++) want_int(seen[i], 1);
    for (int64_t i = 0; i < 100; i++) want_int(hear(DATA), i);
}

START_TEST(a_match_sees_each_message_once)
{
    run_on(2, seen_once);
    run_on(1, seen_once_over_wakes);
}
END_TEST

static bool match_system(const weft_msg *m, void *arg)
{
    if (weft_tag(m) >= WEFT_TAG_SYSTEM) ++*(int *)arg;
    return weft_tag(m) == GO;
}

static void system_seen_once(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int looks = 0;
    struct weft_node_news news = {.incarnation = 7, .name = "there"};
    wf_node_tell(weft_here(), weft_self(), WEFT_TAG_NODE_UP, &news);
    until(peek(weft_self())->signals.first != NULL);
    kid_on(1, trickle, 5);
    weft_msg *m;
    want_int(weft_recv_match(&m, match_system, &looks, WEFT_FOREVER), 0);
    weft_msg_free(m);
    want_int(looks, 1);
    want_int(weft_recv(&m, WEFT_NOW), 0); /* it stayed, and comes first */
    want_int(weft_tag(m), WEFT_TAG_NODE_UP);
    want_int(weft_node_news_read(m, &news), 0);
    want(strcmp(news.name, "there") == 0);
    weft_msg_free(m);
}

START_TEST(a_match_sees_each_system_message_once)
{
    run_on(1, system_seen_once);
}
END_TEST

/* Waits for GO while DATA pours through a mailbox that drops the oldest. */
static void scan_dropping(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int seen[101] = {0};
    weft_msg *m;
    want_int(weft_recv_match(&m, count_looks, seen, WEFT_FOREVER), 0);
    want_int(value_of(m), 100);
    weft_msg_free(m);
    for (int i = 0; i < 101; i++) want_int(seen[i], 1);
    for (int64_t i = 97; i < 100; i++) want_int(hear(DATA), i);
    want_int(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT);
}

static void feed_dropping(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_with(scan_dropping, (struct kid){.n = 0},
                           &(weft_spawn_options){.mailbox_max = 4, .policy = WEFT_FULL_DROP_OLDEST, .worker = 1});
    for (int64_t i = 0; i < 101; i++) {
        await_wait(to, "mailbox");
        want_int(say(to, i == 100 ? GO : DATA, i), 0);
    }
    await_end(to);
    want_int(drops(weft_here(), WF_DROP_FULL), 97);
}

START_TEST(the_oldest_is_dropped_under_a_scan)
{
    run_on(1, feed_dropping);
}
END_TEST

static void sit(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

/* ---- Policies, budget, lanes ----------------------------------------------------------------------------------- */

static void policy_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const weft_full_policy policies[] = {WEFT_FULL_DROP_NEWEST, WEFT_FULL_DROP_OLDEST};
    for (int worker = 1; worker <= 2; worker++) {
        for (size_t p = 0; p < 2; p++) {
            uint64_t before = drops(weft_here(), WF_DROP_FULL);
            weft_pid to = kid_with(sit, (struct kid){.n = 0},
                                   &(weft_spawn_options){.mailbox_max = 3, .worker = worker, .policy = policies[p]});
            for (int64_t i = 0; i < 10; i++) want_int(i % 2 == 0 ? say(to, DATA, i) : try_say(to, DATA, i), 0);
            until(drops(weft_here(), WF_DROP_FULL) == before + 7);
            if (worker == 1) {
                want_int(wf_mail_count(peek(to)), 3);
                want_int(peek(to)->dropped, 7);
                want_int(value_of(peek(to)->mail.first), p == 0 ? 0 : 7);
                want_int(value_of(peek(to)->mail.last), p == 0 ? 2 : 9);
            }
            want_int(weft_stop(to), 0);
            await_end(to);
        }
    }
    want_int(drops(weft_here(), WF_DROP_UNREAD), 12);
}

START_TEST(the_newest_or_the_oldest_is_dropped_and_counted)
{
    run_on(2, policy_body);
}
END_TEST

static void budget_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static char big[64 * 1024];
    for (int worker = 1; worker <= 2; worker++) {
        weft_pid to = kid_on(worker, sit, 0), other = kid_on(worker, sit, 0);
        int rc, sent = 0;
        while ((rc = weft_send(to, DATA, big, sizeof big)) == 0) sent++;
        want_int(rc, WEFT_EFULL);
        want(sent >= 16 && (worker == 2 || sent == 16)); /* 1 MiB for each worker */
        want_int(say(other, DATA, 1), 0);                /* an empty mailbox takes one message in any case */
        want_int(weft_stop(to), 0);
        want_int(weft_stop(other), 0);
        await_end(to);
        await_end(other);
    }
}

START_TEST(the_byte_budget_is_a_bound_too)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .mailbox_bytes_max = 2 << 20, .send_timeout = WEFT_MS(20)));
    node_spawn(n, 1, budget_body);
    node_end(n);
}
END_TEST

static void system_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    while (try_say(weft_self(), DATA, 0) == 0) {}
    struct weft_node_news news = {.incarnation = 9, .name = "full", .reason = "left"};
    wf_node_tell(weft_here(), weft_self(), WEFT_TAG_NODE_DOWN, &news);
    until(peek(weft_self())->signals.first != NULL);
    weft_msg *m;
    want_int(weft_recv_tag(&m, WEFT_TAG_NODE_DOWN, WEFT_NOW), 0);
    want_int(weft_send_msg(weft_self(), m), WEFT_EINVAL); /* nobody sends weft's own tags, and it is consumed */
    want_int(say(weft_self(), WEFT_TAG_SYSTEM, 0), WEFT_EINVAL);
}

static void lanes_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct weft_node_news news = {.incarnation = 9, .name = "b"};
    want_int(say(weft_self(), DATA, 1), 0);
    want_int(say(weft_self(), GO, 2), 0);
    wf_node_tell(weft_here(), weft_self(), WEFT_TAG_NODE_UP, &news);
    until(peek(weft_self())->signals.first != NULL);
    want_int(say(weft_self(), DATA, 3), 0);
    want_int(hear_only(GO), 2);
    want_int(hear(DATA), 1);
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), 0);
    want_int(weft_tag(m), WEFT_TAG_NODE_UP);
    weft_msg_free(m);
    want_int(hear(DATA), 3);
}

START_TEST(signals_and_mail_are_received_in_the_order_of_their_arrival)
{
    run_on(1, lanes_body);
}
END_TEST

START_TEST(the_system_lane_is_never_full)
{
    weft_node *n = node_of(1);
    want_int(weft_node_spawn(n, NULL, system_body, NULL, 0, &(weft_spawn_options){.mailbox_max = 3}), 0);
    node_end(n);
}
END_TEST

/* Stop and news reach an actor whose mailbox is full and whose senders wait. */
static void hear_news_then_wait(const void *arg, size_t size)
{
    (void)size;
    weft_msg *m;
    want_int(weft_recv_tag(&m, WEFT_TAG_NODE_UP, WEFT_FOREVER), 0);
    weft_msg_free(m);
    want_int(say(((const struct kid *)arg)->parent, GO, 0), 0);
    want_int(weft_recv_tag(&m, WEFT_TAG_NODE_UP, WEFT_FOREVER), WEFT_ECANCELED);
}

static void send_one(const void *arg, size_t size)
{
    (void)size;
    want_int(say(((const struct kid *)arg)->other, DATA, 0), WEFT_ENOACTOR); /* it ends without having taken any */
}

static void signals_at_the_bound(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        weft_spawn_options o = {.mailbox_max = 3, .worker = worker};
        weft_pid to = kid_with(hear_news_then_wait, (struct kid){.n = 0}, &o);
        while (try_say(to, DATA, 0) == 0) (void)weft_yield();
        weft_pid from = kid_with(send_one, (struct kid){.other = to}, &(weft_spawn_options){.worker = 1});
        await_wait(from, "space in a mailbox");
        wf_node_tell(weft_here(), to, WEFT_TAG_NODE_UP, &(struct weft_node_news){.incarnation = 1});
        hear(GO);
        want_int(weft_stop(to), 0);
        await_end(to);
        await_end(from);
    }
}

START_TEST(a_full_mailbox_keeps_no_signal_out)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .send_timeout = WEFT_FOREVER)); /* a hang is the failure */
    node_spawn(n, 1, signals_at_the_bound);
    node_end(n);
}
END_TEST

/* ---- Bounds by bytes ------------------------------------------------------------------------------------------- */

static const char block[5000];

static int send_bytes(weft_pid to, size_t size)
{
    return weft_try_send(to, DATA, block, size);
}

/* 1,000 bytes count for 1,064: the third reaches 3,000. */
static void bytes_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (weft_full_policy p = WEFT_FULL_SUSPEND; p <= WEFT_FULL_FAIL; p++) {
        weft_spawn_options o = {.mailbox_bytes = 3000, .worker = 1, .policy = p};
        weft_pid to = kid_with(sit, (struct kid){.n = 0}, &o);
        bool refuses = p == WEFT_FULL_SUSPEND || p == WEFT_FULL_FAIL;
        for (int i = 0; i < 10; i++) want_int(send_bytes(to, 1000), i >= 3 && refuses ? WEFT_EFULL : 0);
        want_int(wf_mail_count(peek(to)), 3);
        want_int(wf_mail_bytes(peek(to)), 3 * 1064);
        want_int(peek(to)->dropped, refuses ? 0 : 7);
        if (p == WEFT_FULL_DROP_OLDEST) {
            want_int(send_bytes(to, 5000), 0); /* in place of one */
            want_int(wf_mail_count(peek(to)), 3);
            want_int(send_bytes(to, 1), 0); /* all must go for it */
            want_int(wf_mail_count(peek(to)), 1);
            want_int(peek(to)->dropped, 7 + 1 + 3);
        }
        want_int(weft_stop(to), 0);
        await_end(to);
    }
}

START_TEST(a_mailbox_is_bounded_by_bytes)
{
    run_on(1, bytes_body);
}
END_TEST

static void send_blocks(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    for (int64_t i = 0; i < k.n; i++) want_int(weft_send(k.other, DATA, block, 900 + (size_t)i), 0);
}

static void hear_blocks(const void *arg, size_t size)
{
    (void)size;
    const struct kid *k = arg;
    want_int(weft_yield(), 0);
    for (int64_t i = 0; i < k->n; i++) {
        weft_msg *m;
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        want_int(weft_size(m), 900 + i);
        weft_msg_free(m);
    }
}

static void suspend_by_bytes(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int where = 0; where < 4; where++) {
        weft_spawn_options o = {.mailbox_bytes = 3000, .worker = 1 + where % 2};
        weft_pid to = kid_with(hear_blocks, (struct kid){.n = 500}, &o);
        kid_with(send_blocks, (struct kid){.other = to, .n = 500}, &(weft_spawn_options){.worker = 1 + where / 2});
        await_end(to);
    }
    want_int(drops(weft_here(), WF_DROP_FULL), 0);
}

START_TEST(a_sender_waits_for_bytes_and_loses_nothing)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .send_timeout = WEFT_FOREVER));
    node_spawn(n, 1, suspend_by_bytes);
    node_end(n);
}
END_TEST

/* Holds the worker's share of the budget until it is told to let it go. */
static void hog(const void *arg, size_t size)
{
    (void)size;
    const struct kid *k = arg;
    weft_msg *m;
    want_int(weft_recv_tag(&m, WEFT_TAG_NODE_UP, WEFT_FOREVER), 0);
    weft_msg_free(m);
    if (k->n == 0) return; /* its end lets go of all */
    const struct wf_actors *wa = wf_actors_of(wf_here);
    /* Holds on to `m`: what was taken does not count. More than fits was taken of what was under way. It makes space
     * for all that the three send. */
    while (wf_all_mail_bytes(wa) + 1024 > wa->mail_bytes_max) want_int(weft_recv(&m, WEFT_NOW), 0);
    want_int(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
}

static void say_two(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(say(k.other, DATA, 0), 0);
    want_int(say(k.other, DATA, 1), 0);
    want_int(say(k.parent, GO, 0), 0);
}

static void starve_on(int worker, int how)
{
    static char big[64 * 1024];
    weft_pid glutton = kid_on(worker, hog, how), other = kid_on(worker, sit, 0), from[3];
    while (weft_try_send(glutton, DATA, big, sizeof big) == 0) (void)weft_yield();
    want_int(try_say(other, DATA, 0), 0); /* an empty one takes one in any case; more were too much */
    const struct wf_actor *there = wf_slab_find(&wf_actors_of(wf_here->set->at[worker - 1])->slab, other.actor);
    until(wf_actor_is_full(there));
    for (int i = 0; i < 3; i++) {
        from[i] = kid_with(say_two, (struct kid){.other = other}, &(weft_spawn_options){.worker = 1});
        await_wait(from[i], "space in a mailbox"); /* `other` itself never takes anything */
    }
    wf_node_tell(weft_here(), glutton, WEFT_TAG_NODE_UP, &(struct weft_node_news){.incarnation = 1});
    for (int i = 0; i < 3; i++) hear(GO);
    want_int(weft_stop(other), 0);
    if (how != 0) want_int(weft_stop(glutton), 0);
    await_end(other);
    await_end(glutton);
}

static void starve_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 4; i++) starve_on(1 + i % 2, i / 2);
}

START_TEST(bytes_of_another_mailbox_are_space_too)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .mailbox_bytes_max = 2 << 20, .send_timeout = WEFT_FOREVER));
    node_spawn(n, 1, starve_body);
    node_end(n);
}
END_TEST

/* ---- A mailbox that fails its senders -------------------------------------------------------------------------- */

static void fail_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *answer;
    for (int worker = 1; worker <= 2; worker++) {
        weft_spawn_options o = {.mailbox_max = 3, .worker = worker, .policy = WEFT_FULL_FAIL};
        weft_pid to = kid_with(sit, (struct kid){.n = 0}, &o);
        int64_t before = (int64_t)drops(weft_here(), WF_DROP_UNREAD), taken = 0;
        int rc;
        /* those under way to another worker do not fit, but are taken */
        while ((rc = say(to, DATA, 0)) == 0) taken++;
        want_int(rc, WEFT_EFULL);
        want(worker == 2 || taken == 3);
        want_int(weft_call(to, DATA, NULL, 0, &answer, WEFT_FOREVER), WEFT_EFULL);
        want_int(weft_node_send(weft_here(), to, DATA, NULL, 0), WEFT_EFULL);
        want_int(weft_stop(to), 0);
        await_end(to);
        want_int(drops(weft_here(), WF_DROP_UNREAD) - (uint64_t)before, taken);
    }
    want_int(drops(weft_here(), WF_DROP_FULL), 0);
}

START_TEST(a_mailbox_may_fail_its_senders)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .send_timeout = WEFT_FOREVER));
    node_spawn(n, 1, fail_body);
    node_end(n);
}
END_TEST

/* ---- What is set aside ----------------------------------------------------------------------------------------- */

static void aside_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    for (int64_t i = 0; i < 4; i++) want_int(say(weft_self(), DATA, i), 0);
    want_int(say(weft_self(), GO, 4), 0);
    want_int(hear_only(GO), 4); /* past four */
    want(!peek(weft_self())->skip_told);
    want_int(say(weft_self(), DATA, 4), 0);
    want_int(say(weft_self(), GO, 5), 0);
    want_int(weft_recv_tag(&m, GO, WEFT_FOREVER), WEFT_EFULL); /* it would be past five */
    want_int(weft_recv_tag(&m, GO, WEFT_NOW), WEFT_EFULL);
    want(peek(weft_self())->skip_told);
    want_int(hear(DATA), 0);
    want_int(hear_only(GO), 5);
    for (int64_t i = 1; i < 5; i++) want_int(hear(DATA), i);

    kid_on(1, trickle, 20); /* comes to the bound while it waits */
    want_int(weft_recv_tag(&m, GO, WEFT_FOREVER), WEFT_EFULL);
    for (int64_t i = 0; i < 20; i++) want_int(hear(DATA), i);
    want_int(hear_only(GO), 20);
}

START_TEST(a_selective_receive_passes_over_so_many_at_most)
{
    weft_node *n = node_of(1);
    want_int(weft_node_spawn(n, NULL, aside_body, NULL, 0, &(weft_spawn_options){.skipped_max = 5}), 0);
    node_end(n);
}
END_TEST

static void full_of_others(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    want_int(weft_recv_tag(&m, GO, WEFT_FOREVER), WEFT_EFULL); /* GO waits for space */
    int64_t next = 0;
    while ((k.n = weft_recv_tag(&m, GO, WEFT_FOREVER)) == WEFT_EFULL) want_int(hear(DATA), next++);
    want_int(k.n, 0);
    weft_msg_free(m);
    want(next > 0);
    while (next < 30) want_int(hear(DATA), next++);
}

static void full_of_others_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_with(full_of_others, (struct kid){.n = 0},
                           &(weft_spawn_options){.mailbox_max = 4, .worker = 1});
    for (int64_t i = 0; i < 30; i++) want_int(say(to, DATA, i), 0);
    want_int(say(to, GO, 0), 0);
    await_end(to);
}

START_TEST(a_selective_receive_does_not_wait_on_a_mailbox_full_of_others)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .send_timeout = WEFT_FOREVER));
    node_spawn(n, 1, full_of_others_body);
    node_end(n);
}
END_TEST

/* The work that the worker is charged with for a selective receive that finds nothing. */
static uint32_t work_of_looking(uint32_t tag)
{
    weft_msg *m;
    (void)weft_yield(); /* so that the turn does not end within the receive */
    const uint32_t before = wf_here->work;
    want_int(weft_recv_tag(&m, tag, WEFT_NOW), WEFT_ETIMEDOUT);
    return wf_here->work - before;
}

static void look_at_many(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { MANY = 5000 };
    for (int64_t i = 0; i < MANY; i++) want_int(try_say(weft_self(), DATA, i), 0);
    want_int(work_of_looking(GO), MANY);
    for (int64_t i = 0; i < MANY; i++) tell_news(weft_self());
    until(peek(weft_self())->signals.first != NULL); /* they all come in one turn */
    want_int(work_of_looking(GO), MANY);
    want_int(work_of_looking(WEFT_TAG_DOWN), MANY);
    /* A loop of receives that skip many messages does not hold up its worker: other actors run in between. */
    uint64_t turns = wf_here->count.turns;
    enum { LOOKS = 100 };
    for (int i = 0; i < LOOKS; i++) {
        weft_msg *m;
        want_int(weft_recv_tag(&m, GO, WEFT_NOW), WEFT_ETIMEDOUT);
    }
    want(wf_here->count.turns - turns >= LOOKS * MANY / WF_TURN_WORK);
}

START_TEST(a_selective_receive_is_work)
{
    run_on(1, look_at_many);
}
END_TEST

/* ---- Mail at the deadline -------------------------------------------------------------------------------------- */

/* Posts to its own worker: what it sends arrives in the next turn, whose first step fires the deadline. */
static void post_late(const void *arg, size_t size)
{
    (void)size;
    const struct kid *k = arg;
    while (weft_now() <= k->n) {}
    want_int(weft_node_send(weft_here(), k->parent, GO, NULL, 0), 0);
}

static void at_the_deadline(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    for (int i = 0; i < 10; i++) {
        int64_t deadline = weft_after(WEFT_MS(1));
        kid_on(1, post_late, deadline);
        want_int(i % 2 == 0 ? weft_recv(&m, deadline) : weft_recv_tag(&m, GO, deadline), 0);
        want_int(weft_tag(m), GO);
        weft_msg_free(m);
    }
    want_int(weft_recv(&m, weft_now()), WEFT_ETIMEDOUT);
    want_int(weft_recv_tag(&m, GO, weft_now()), WEFT_ETIMEDOUT);
}

START_TEST(mail_wins_over_a_deadline_of_the_same_turn)
{
    run_on(1, at_the_deadline);
}
END_TEST

TEST_MAIN("mailbox", messages_come_in_the_order_they_were_sent, receive_by_tag_keeps_the_others_in_order,
          a_match_sees_each_message_once, a_match_sees_each_system_message_once, the_oldest_is_dropped_under_a_scan,
          the_newest_or_the_oldest_is_dropped_and_counted, the_byte_budget_is_a_bound_too,
          signals_and_mail_are_received_in_the_order_of_their_arrival, the_system_lane_is_never_full,
          a_full_mailbox_keeps_no_signal_out, a_mailbox_is_bounded_by_bytes,
          a_sender_waits_for_bytes_and_loses_nothing, bytes_of_another_mailbox_are_space_too,
          a_mailbox_may_fail_its_senders, a_selective_receive_passes_over_so_many_at_most,
          a_selective_receive_does_not_wait_on_a_mailbox_full_of_others, a_selective_receive_is_work,
          mail_wins_over_a_deadline_of_the_same_turn)

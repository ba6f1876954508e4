/* actors/mailbox.c: order, selective receive, what is dropped at the bound, the system lane, byte budget. */
#include "node_harness.h"

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
    until(peek(weft_self())->mail_count == 53);
    want_int(say(weft_self(), GO, 100), 0);
    want_int(weft_recv_match(&m, count_looks, seen, WEFT_FOREVER), 0);
    weft_msg_free(m);
    for (int i = 0; i < 50; i++) want_int(seen[i], i < 3 ? 2 : 1); /* 0, 1 and 2 are there twice */
    want_int(peek(weft_self())->mail_count, 53);
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
                want_int(peek(to)->mail_count, 3);
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

TEST_MAIN("mailbox", messages_come_in_the_order_they_were_sent, receive_by_tag_keeps_the_others_in_order,
          a_match_sees_each_message_once, a_match_sees_each_system_message_once, the_oldest_is_dropped_under_a_scan,
          the_newest_or_the_oldest_is_dropped_and_counted, the_byte_budget_is_a_bound_too,
          signals_and_mail_are_received_in_the_order_of_their_arrival, the_system_lane_is_never_full)

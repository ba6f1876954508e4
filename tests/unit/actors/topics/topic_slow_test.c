/* actors/topics/subscription.c: slow readers of topics, what happens to their messages, and their notifications. */
#include "../node_harness.h"

enum { NEWS = 1, READY = 2, GO = 3 };

static int publish_value(int64_t value)
{
    return weft_publish("room.a", NEWS, &value, sizeof value);
}

static void expect(uint32_t tag, int64_t value)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), 0);
    want_int(weft_tag(m), tag);
    want_int(value_of(m), value);
    weft_msg_free(m);
}

static void expect_news(weft_subscription s, weft_subscription_kind kind, uint64_t lost)
{
    weft_msg *m;
    struct weft_subscription_news news;
    want_int(weft_recv_tag(&m, WEFT_TAG_SUBSCRIPTION, WEFT_NOW), 0);
    want_int(weft_subscription_news_read(m, &news), 0);
    want_int(news.subscription.id, s.id);
    want_int(news.kind, kind);
    want_int(news.lost, lost);
    want(strcmp(news.pattern, "room.*") == 0);
    weft_msg_free(m);
}

static void expect_nothing(void)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT);
}

static uint64_t slow_drops(void)
{
    return drops(weft_here(), WF_DROP_SLOW_READER);
}

static weft_subscription subscribe(weft_slow_policy slow, uint32_t max)
{
    weft_subscription s;
    want_int(weft_subscribe_with("room.*", &(weft_subscribe_options){.slow = slow, .max = max}, &s), 0);
    return s;
}

static void newest_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const weft_slow_policy ways[] = {WEFT_SLOW_DROP, WEFT_SLOW_DROP_NEWEST};
    for (int i = 0; i < 2; i++) {
        uint64_t before = slow_drops();
        weft_subscription s = subscribe(ways[i], 3);
        for (int64_t n = 0; n < 5; n++) want_int(publish_value(n), n < 3);
        want_int(slow_drops() - before, 2);
        expect(NEWS, 0);
        expect_news(s, WEFT_SUBSCRIPTION_LOST, 2);
        want_int(publish_value(5), 1); /* there is a place again */
        expect(NEWS, 1), expect(NEWS, 2), expect(NEWS, 5);
        expect_nothing();
        for (int64_t n = 0; n < 4; n++) want_int(publish_value(n), n < 3);
        want_int(weft_unsubscribe(s), 0); /* no more news of it */
        for (int64_t n = 0; n < 3; n++) expect(NEWS, n);
        expect_nothing();
    }
}

START_TEST(a_subscription_has_a_bound_of_its_own)
{
    run_on(1, newest_body);
}
END_TEST

/* The mark of a signal stays right whatever goes out of turn before and after it. */
static void oldest_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_subscription s = subscribe(WEFT_SLOW_DROP_OLDEST, 2);
    want_int(try_say(weft_self(), GO, 100), 0);
    for (int64_t n = 0; n < 3; n++) want_int(publish_value(n), 1); /* 0 goes; the news come before 2 */
    want_int(try_say(weft_self(), GO, 101), 0);
    for (int64_t n = 3; n < 6; n++) want_int(publish_value(n), 1); /* 1, 2, 3 go */
    weft_msg *m;
    expect(GO, 100);
    want_int(weft_recv(&m, WEFT_NOW), 0); /* it came after what is gone now */
    want_int(weft_tag(m), WEFT_TAG_SUBSCRIPTION);
    struct weft_subscription_news news;
    want_int(weft_subscription_news_read(m, &news), 0);
    want_int(news.lost, 4);
    weft_msg_free(m);
    expect(GO, 101), expect(NEWS, 4), expect(NEWS, 5);
    expect_nothing();
    want_int(slow_drops(), 4);
    (void)s;
}

START_TEST(the_oldest_makes_space_and_signals_keep_their_place)
{
    run_on(1, oldest_body);
}
END_TEST

static void expect_mail_then_signal(int64_t mail)
{
    expect(GO, mail);
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), 0);
    want_int(weft_tag(m), WEFT_TAG_DOWN);
    weft_msg_free(m);
}

static void nothing(const void *arg, size_t size)
{
    (void)arg, (void)size;
}

static void take_down(void)
{
    weft_pid kid;
    want_int(weft_spawn(&kid, nothing, NULL, 0, &(weft_spawn_options){.worker = 1}), 0);
    await_end(kid);
    want_int(weft_monitor(kid, NULL), 0);
}

/* A signal between mails: one that goes before it, and one that goes behind it. */
static void marks_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_subscription s;
    weft_subscribe_options o = {.slow = WEFT_SLOW_DROP_OLDEST, .max = 1};
    want_int(weft_subscribe_with("room.*", &o, &s), 0);
    want_int(publish_value(0), 1);
    want_int(try_say(weft_self(), GO, 1), 0);
    take_down();
    want_int(publish_value(1), 1); /* 0 goes */
    weft_msg *m;
    expect_mail_then_signal(1);
    want_int(weft_recv(&m, WEFT_NOW), 0); /* DOWN came before this */
    want_int(weft_tag(m), WEFT_TAG_SUBSCRIPTION);
    weft_msg_free(m);
    expect(NEWS, 1);
    want_int(try_say(weft_self(), GO, 2), 0);
    take_down();
    want_int(publish_value(2), 1);
    want_int(publish_value(3), 1); /* 2 goes: it came after DOWN */
    expect_mail_then_signal(2);
    expect_news(s, WEFT_SUBSCRIPTION_LOST, 1);
    expect(NEWS, 3);
    expect_nothing();
}

START_TEST(order_marks_are_moved_only_by_what_came_before)
{
    run_on(1, marks_body);
}
END_TEST

/* The messages before it in the block were published, too, and use places of their own. */
static void behind_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_subscription s;
    weft_msg *m;
    int64_t value;
    want_int(weft_subscribe("plain", NULL), 0);
    want_int(weft_subscribe_with("room.*", &(weft_subscribe_options){.slow = WEFT_SLOW_DROP_OLDEST, .max = 1}, &s),
             0);
    want_int(try_say(weft_self(), GO, 5), 0);
    want_int(hear_only(GO), 5); /* a scan that has passed over nothing */
    m = wf_msg_new(wf_here, GO, sizeof value);
    memcpy(m + 1, &(int64_t){6}, sizeof value);
    m->ref = s.id; /* of another node, whose number happens to be that */
    m->to_actor = weft_self().actor;
    wf_deliver(wf_here, m);
    for (value = 0; value < 3; value++) want_int(weft_publish("plain", NEWS, &value, sizeof value), 1);
    want_int(publish_value(10), 1);
    want_int(try_say(weft_self(), GO, 1), 0);
    take_down();                    /* the seventh */
    want_int(publish_value(11), 1); /* 10 goes, the fifth */
    expect(GO, 6);
    for (value = 0; value < 3; value++) expect(NEWS, value);
    expect_mail_then_signal(1);
    want_int(weft_recv(&m, WEFT_NOW), 0); /* DOWN came before this */
    want_int(weft_tag(m), WEFT_TAG_SUBSCRIPTION);
    weft_msg_free(m);
    expect(NEWS, 11);
    expect_nothing();
}

START_TEST(the_oldest_goes_from_behind_what_others_published)
{
    run_on(1, behind_body);
}
END_TEST

/* The work that the worker is charged with for one publication. */
static uint32_t work_of_publishing(const char *topic, int64_t value)
{
    (void)weft_yield(); /* so that the turn does not end within the publication */
    const uint32_t before = wf_here->work;
    want_int(weft_publish(topic, NEWS, &value, sizeof value), 1);
    want(wf_here->work >= before);
    return wf_here->work - before;
}

/* The mailbox is full of other messages, among which are publications in blocks, and two subscriptions drop their oldest
 * messages in turns, while the subscriber receives some of the mail, in order and out of order. */
static void many_others_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { OTHERS = 3000, EACH = 300 };
    weft_subscription s[2];
    const weft_subscribe_options o = {.slow = WEFT_SLOW_DROP_OLDEST, .max = 2};
    want_int(weft_subscribe("plain", NULL), 0);
    for (int i = 0; i < 2; i++) want_int(weft_subscribe_with(i == 0 ? "room.a" : "room.b", &o, &s[i]), 0);
    for (int64_t n = 0; n < OTHERS; n++) want_int(try_say(weft_self(), n % 2 == 0 ? GO : READY, n), 0);
    for (int64_t n = 0; n < 4; n++) want_int(work_of_publishing(n % 2 == 0 ? "room.a" : "room.b", n) < 10, 1);
    for (int i = 0; i < 2; i++) want(work_of_publishing(i == 0 ? "room.a" : "room.b", 4 + i) >= OTHERS);
    uint32_t work = 0;
    weft_msg *m;
    for (int64_t n = 0; n < EACH; n++) {
        work += work_of_publishing(n % 2 == 0 ? "room.a" : "room.b", 6 + n);
        want_int(weft_publish("plain", NEWS, &n, sizeof n), 1);
        if (n % 10 != 0) continue;
        want_int(hear_only(READY), n / 5 + 1);
        expect(GO, n / 5);
    }
    if (work >= EACH * 20) fprintf(stderr, "%u messages were passed over\n", work);
    want(work < EACH * 20);
    for (int64_t n = EACH / 5; n < OTHERS; n++) expect(n % 2 == 0 ? GO : READY, n);
    for (int i = 0; i < 2; i++) {
        want_int(weft_recv_tag(&m, WEFT_TAG_SUBSCRIPTION, WEFT_NOW), 0);
        weft_msg_free(m);
    }
    int64_t last[4] = {EACH + 2, EACH + 3, EACH + 4, EACH + 5}; /* the counted ones, each before a plain one */
    for (int64_t n = 0, i = 0; n < EACH; n++) {
        if (EACH - n <= 4) expect(NEWS, last[i++]);
        expect(NEWS, n);
    }
    expect_nothing();
}

START_TEST(dropping_the_oldest_does_not_pass_over_all_other_mail_each_time)
{
    run_on(1, many_others_body);
}
END_TEST

static bool is_go(const weft_msg *m, void *arg)
{
    (void)arg;
    return weft_tag(m) == GO;
}

static void scans(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscription s;
    weft_subscribe_options o = {.slow = WEFT_SLOW_DROP_OLDEST, .max = 2};
    weft_msg *m;
    want_int(weft_subscribe_with("room.*", &o, &s), 0);
    want_int(say(k.parent, READY, 0), 0);
    want_int(weft_recv_match(&m, is_go, NULL, WEFT_FOREVER), 0);
    want_int(peek(weft_self())->more->backlog->skipped, 2);
    weft_msg_free(m);
    expect_news(s, WEFT_SUBSCRIPTION_LOST, 3);
    expect(NEWS, 3), expect(NEWS, 4);
    expect_nothing();
}

static void scans_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid kid = kid_on(1, scans, 0);
    hear(READY);
    for (int64_t n = 0; n < 5; n++) {
        want_int(publish_value(n), 1);
        await_wait(kid, "mailbox"); /* each one seen before the next */
    }
    want_int(say(kid, GO, 0), 0);
    await_end(kid);
}

START_TEST(the_oldest_goes_in_the_middle_of_a_selective_receive)
{
    run_on(1, scans_body);
}
END_TEST

static void cut_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_subscription s[2], other;
    for (int i = 0; i < 2; i++) s[i] = subscribe(WEFT_SLOW_DISCONNECT, 2);
    want_int(weft_subscribe("room.*", &other), 0);
    for (int64_t n = 0; n < 5; n++) want_int(publish_value(n), n < 2 ? 3 : 1); /* both end in one match */
    want_int(slow_drops(), 2);
    want_int(weft_unsubscribe(s[0]), WEFT_ECLOSED);
    expect_news(s[0], WEFT_SUBSCRIPTION_ENDED, 1);
    expect_news(s[1], WEFT_SUBSCRIPTION_ENDED, 1);
    for (int64_t n = 0; n < 2; n++) expect(NEWS, n), expect(NEWS, n), expect(NEWS, n);
    for (int64_t n = 2; n < 5; n++) expect(NEWS, n);
    expect_nothing();
    want_int(weft_unsubscribe(other), 0);
    /* There may be too many retained messages at once. */
    int64_t value = 1;
    for (const char *t = "abc"; *t != 0; t++) {
        char topic[] = {'r', 'o', 'o', 'm', '.', *t, 0};
        want_int(weft_publish_retained(topic, NEWS, &value, sizeof value), 0);
    }
    s[0] = subscribe(WEFT_SLOW_DISCONNECT, 2);
    expect_news(s[0], WEFT_SUBSCRIPTION_ENDED, 1);
    expect(NEWS, 1), expect(NEWS, 1);
    expect_nothing();
    s[0] = subscribe(WEFT_SLOW_DROP_OLDEST, 2);
    expect_news(s[0], WEFT_SUBSCRIPTION_LOST, 1);
    expect(NEWS, 1), expect(NEWS, 1);
    want_int(weft_unsubscribe(s[0]), 0);
    want_int(wf_actors_of(wf_here)->subscription_slab.used, 0);
}

START_TEST(a_slow_reader_is_disconnected_and_told)
{
    run_on(1, cut_body);
}
END_TEST

static _Atomic bool all_published;

/* The mailbox itself is full: of other things, and with each policy of its own. */
static void full_kid(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscription s = subscribe((weft_slow_policy)k.n, 0);
    want_int(try_say(weft_self(), GO, 7), 0);
    want_int(try_say(weft_self(), GO, 8), 0);
    want_int(say(k.parent, READY, 0), 0);
    weft_msg *m;
    want_int(weft_recv_tag(&m, WEFT_TAG_SUBSCRIPTION, WEFT_FOREVER), 0);
    struct weft_subscription_news news;
    want_int(weft_subscription_news_read(m, &news), 0);
    want_int(news.subscription.id, s.id);
    want_int(news.kind, k.n == WEFT_SLOW_DISCONNECT ? WEFT_SUBSCRIPTION_ENDED : WEFT_SUBSCRIPTION_LOST);
    weft_msg_free(m);
    until(atomic_load(&all_published));
    expect(GO, 7), expect(GO, 8);
    expect(NEWS, k.n == WEFT_SLOW_DROP_OLDEST ? 4 : 0);
    expect_nothing();
}

static void full_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        for (int64_t slow = WEFT_SLOW_DROP_NEWEST; slow <= WEFT_SLOW_DISCONNECT; slow++) {
            uint64_t before = slow_drops();
            weft_spawn_options o = {.worker = worker, .mailbox_max = 3};
            if (slow == WEFT_SLOW_DROP_NEWEST) o.policy = WEFT_FULL_DROP_NEWEST;
            weft_pid kid = kid_with(full_kid, (struct kid){.n = slow}, &o);
            hear(READY);
            for (int64_t n = 0; n < 5; n++) (void)publish_value(n);
            uint64_t lost = slow == WEFT_SLOW_DISCONNECT ? 1 : 4;
            until(slow_drops() - before == lost);
            atomic_store(&all_published, true);
            await_end(kid);
            atomic_store(&all_published, false);
        }
    }
}

START_TEST(a_full_mailbox_is_dealt_with_by_the_subscription)
{
    run_on(2, full_body);
}
END_TEST

/* A publisher that waited in vain tells whom it waited for. */
static void waited_for(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscription s;
    weft_subscribe_options o = {.slow = WEFT_SLOW_SUSPEND, .wait = WEFT_MS(1)};
    want_int(weft_subscribe_with("room.*", &o, &s), 0);
    want_int(say(k.parent, READY, 0), 0);
    weft_msg *m;
    struct weft_subscription_news news;
    for (uint64_t lost = 0; lost < 2; lost += news.lost) {
        want_int(weft_recv_tag(&m, WEFT_TAG_SUBSCRIPTION, WEFT_FOREVER), 0);
        want_int(weft_subscription_news_read(m, &news), 0);
        want(news.kind == WEFT_SUBSCRIPTION_LOST && news.subscription.id == s.id);
        want(strcmp(news.pattern, "room.*") == 0);
        weft_msg_free(m);
    }
    for (int64_t n = 0; n < 3; n++) expect(NEWS, n);
    expect_nothing();
}

static void waits_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m = weft_msg_new(NEWS, 0);
    want_int(weft_subscription_news_read(m, &(struct weft_subscription_news){.lost = 0}), WEFT_EFORMAT);
    weft_msg_free(m);
    for (int worker = 1; worker <= 2; worker++) {
        weft_pid kid = kid_with(waited_for, (struct kid){0},
                                &(weft_spawn_options){.worker = worker, .mailbox_max = 3});
        hear(READY);
        struct wf_actor *a = wf_slab_find(&wf_actors_of(wf_node_of(wf_here)->workers.at[worker - 1])->slab,
                                          kid.actor);
        for (int64_t n = 0; n < 5; n++) {
            if (n == 3) until(wf_actor_is_full(a)); /* another worker learns of it a little later */
            want_int(publish_value(n), n < 3);
        }
        await_end(kid);
    }
    want_int(slow_drops(), 4);
}

START_TEST(a_subscriber_that_its_publisher_waited_for_in_vain_is_told)
{
    run_on(2, waits_body);
}
END_TEST

/* Two subscriptions are waited for: one that ends leaves the other. */
static void waited_for_twice(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscription s[2];
    weft_subscribe_options o = {.slow = WEFT_SLOW_SUSPEND, .wait = WEFT_SEC(1000)};
    for (int i = 0; i < 2; i++) want_int(weft_subscribe_with(i == 0 ? "room.b" : "room.a", &o, &s[i]), 0);
    want_int(weft_unsubscribe(s[0]), 0);
    want_int(say(k.parent, READY, 0), 0);
    await_news();
    for (int64_t n = 0; n < 3; n++) hear(NEWS);
}

static void publishes_three(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int64_t n = 0; n < 3; n++) want_int(publish_value(n), 1);
}

static void twice_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_spawn_options here = {.worker = 1, .mailbox_max = 1};
    weft_pid kid = kid_with(waited_for_twice, (struct kid){0}, &here);
    hear(READY);
    weft_pid from = kid_with(publishes_three, (struct kid){0}, &here);
    await_wait(from, "space in a mailbox");
    want_int(atomic_load(&wf_actors_of(wf_here)->full_awaited), 1);
    tell_news(kid);
    await_end(from);
    await_end(kid);
    want_int(slow_drops(), 0);
}

START_TEST(a_subscriber_that_ends_one_of_two_subscriptions_is_still_waited_for)
{
    run_on(1, twice_body);
}
END_TEST

/* ---- Large publications ---------------------------------------------------------------------------------------- */

enum { LARGE = 1 << 20, SPACE = 8 /* for this many of them */ };

static char large[LARGE];

/* Subscribes, keeps the messages until GO, and says how many it had. */
static void keeps_them(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscribe_options o = {.slow = WEFT_SLOW_DROP, .max = 1000};
    want_int(k.n == 1 ? weft_subscribe_with("room.*", &o, NULL) : weft_subscribe("room.*", NULL), 0);
    want_int(weft_group_join("room"), 0);
    want_int(say(k.parent, READY, 0), 0);
    weft_msg *m;
    want_int(weft_recv_tag(&m, GO, WEFT_FOREVER), 0);
    weft_msg_free(m);
    int64_t had = 0;
    for (; weft_recv(&m, WEFT_NOW) == 0; weft_msg_free(m)) had += weft_tag(m) == NEWS;
    want_int(say(k.parent, GO, had), 0);
}

/* A mailbox does not count the bytes of a body that it shares, so there is a limit for all of these. */
static void large_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int how = 0; how < 3; how++) { /* plain, with a bound of its own, to a group */
        weft_pid kid = kid_with(keeps_them, (struct kid){.n = how}, &(weft_spawn_options){.worker = 1});
        hear(READY);
        for (int i = 0; i < 5 * SPACE; i++) {
            want(how < 2 ? weft_publish("room.a", NEWS, large, LARGE) >= 0
                         : weft_group_send("room", NEWS, large, LARGE) >= 0);
        }
        want_int(say(kid, GO, 0), 0); /* what is small comes through */
        want_int(hear(GO), SPACE);
        await_end(kid);
        kid = kid_with(keeps_them, (struct kid){.n = how}, &(weft_spawn_options){.worker = 1});
        hear(READY);
        want_int(how < 2 ? weft_publish("room.a", NEWS, large, LARGE) : weft_group_send("room", NEWS, large, LARGE),
                 1);
        want_int(say(kid, GO, 0), 0);
        want_int(hear(GO), 1);
        await_end(kid);
    }
    want_int(slow_drops(), 2 * 4 * SPACE);
    want_int(drops(weft_here(), WF_DROP_FULL), 4 * SPACE);
}

START_TEST(large_publications_that_wait_for_slow_readers_are_bounded)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .mailbox_bytes_max = (size_t)SPACE * LARGE));
    node_spawn(n, 1, large_body);
    node_end(n);
}
END_TEST

/* ---- Publications that are lost before they are in the mailbox, or are taken out of it ------------------------- */

enum { TOPICS_KEPT = 1024 }; /* LOST_TOPICS_MAX of lost_topics.c */

static _Atomic bool is_held_up;

/* Waits until the reports of that subscription say together that it lost so many messages; passes over others. */
static void await_lost(weft_subscription s, uint64_t wanted)
{
    weft_msg *m;
    struct weft_subscription_news news;
    for (uint64_t lost = 0; lost < wanted;) {
        want_int(weft_recv_tag(&m, WEFT_TAG_SUBSCRIPTION, WEFT_FOREVER), 0);
        want_int(weft_subscription_news_read(m, &news), 0);
        want_int(news.kind, WEFT_SUBSCRIPTION_LOST);
        if (news.subscription.id == s.id) lost += news.lost;
        want(lost <= wanted);
        weft_msg_free(m);
    }
}

static void misses_some(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscription cut = subscribe(WEFT_SLOW_DISCONNECT, 1), s = subscribe(WEFT_SLOW_DROP, 0);
    want_int(weft_subscribe_with("other.*", &(weft_subscribe_options){0}, NULL), 0);
    want_int(weft_subscribe_with("room.*", &(weft_subscribe_options){.queue = "q"}, NULL), 0);
    want_int(weft_subscribe("room.*", NULL), 0);
    want_int(say(k.parent, READY, 0), 0);
    await_lost(s, 3);
    want_int(say(k.parent, READY, 0), 0);
    for (int i = 0; i < 4; i++) want_int(hear_only(NEWS), 7); /* of each of its subscriptions */
    want_int(weft_unsubscribe(cut), 0);                       /* that loss has not ended it */
}

/* The queue between two workers is full. */
static void congested_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct wf_worker *there = wf_node_of(wf_here)->workers.at[1];
    weft_pid kid = kid_on(2, misses_some, 0);
    hear(READY);
    weft_subscription own = subscribe(WEFT_SLOW_DROP, 0);
    wf_worker_weigh(there, WF_INBOX_MAX);
    for (int64_t n = 0; n < 3; n++) want_int(publish_value(n), 1); /* the subscriber here */
    wf_worker_unweigh(there, WF_INBOX_MAX);
    want_int(hear_only(READY), 0);
    want_int(publish_value(7), 3);
    await_end(kid);
    for (int64_t n = 0; n < 3; n++) expect(NEWS, n);
    expect(NEWS, 7);
    expect_nothing();
    want_int(weft_unsubscribe(own), 0);
}

START_TEST(subscribers_learn_what_a_full_queue_between_workers_lost)
{
    run_on(2, congested_body);
}
END_TEST

static void misses_many(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscription s[2];
    for (int i = 0; i < 2; i++)
        want_int(weft_subscribe_with(i == 0 ? "room.*" : "other.*", &(weft_subscribe_options){0}, &s[i]), 0);
    want_int(say(k.parent, READY, 0), 0);
    await_lost(s[k.n], k.n == 0 ? TOPICS_KEPT - 1 + 10 : 2 + 10);
}

static void holds_up(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_pid parent = k.parent;
    want_int(weft_try_send(parent, READY, &k.n, sizeof k.n), 0);
    wf_post_batch_flush(wf_here, 0);
    while (atomic_load(&is_held_up)) pf_cpu_relax();
}

/* A worker is held up, and publications under more topics than are kept for it get lost: of the last ten it is not
 * known for which subscriptions they were, so each subscription counts them. */
static void many_lost_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct wf_worker *there = wf_node_of(wf_here)->workers.at[1];
    for (int64_t which = 0; which < 2; which++) {
        weft_pid kid = kid_on(2, misses_many, which);
        hear(READY);
        atomic_store(&is_held_up, true);
        weft_pid holder = kid_on(2, holds_up, 0);
        hear(READY);
        wf_worker_weigh(there, WF_INBOX_MAX);
        for (int i = 0; i < 2; i++) want_int(weft_publish("other.a", NEWS, NULL, 0), 0);
        for (int i = 0; i < TOPICS_KEPT + 9; i++) {
            char topic[32];
            snprintf(topic, sizeof topic, "room.%d", i);
            want_int(weft_publish(topic, NEWS, NULL, 0), 0);
        }
        wf_worker_unweigh(there, WF_INBOX_MAX);
        atomic_store(&is_held_up, false);
        await_end(holder);
        await_end(kid);
    }
}

START_TEST(what_a_worker_remembers_of_lost_publications_is_bounded)
{
    run_on(2, many_lost_body);
}
END_TEST

/* Other messages push its publications out of the mailbox. */
static void pushed_out(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscription s = subscribe((weft_slow_policy)k.n, 0);
    for (int64_t n = 0; n < 2; n++) want_int(publish_value(n), 1);
    for (int64_t n = 0; n < 3; n++) want_int(try_say(weft_self(), GO, n), 0);
    if (k.n == WEFT_SLOW_DISCONNECT) {
        expect(GO, 0), expect(GO, 1), expect(GO, 2);
        for (int64_t n = 0; n < 3; n++) want_int(try_say(weft_self(), GO, n), 0);
        want_int(publish_value(2), 0); /* full: now it ends, and learns of the others, too */
        expect_news(s, WEFT_SUBSCRIPTION_ENDED, 3);
    } else {
        expect_news(s, WEFT_SUBSCRIPTION_LOST, 2);
    }
    for (int64_t n = 0; n < 3; n++) expect(GO, n);
    expect_nothing();
}

static void pushed_out_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int64_t slow = WEFT_SLOW_DROP; slow <= WEFT_SLOW_DISCONNECT; slow++) {
        weft_spawn_options o = {.worker = 1, .mailbox_max = 3, .policy = WEFT_FULL_DROP_OLDEST};
        await_end(kid_with(pushed_out, (struct kid){.n = slow}, &o));
    }
}

START_TEST(subscribers_learn_what_the_policy_of_their_mailbox_drops)
{
    run_on(1, pushed_out_body);
}
END_TEST

TEST_MAIN("topic_slow", a_subscription_has_a_bound_of_its_own, the_oldest_makes_space_and_signals_keep_their_place,
          order_marks_are_moved_only_by_what_came_before, the_oldest_goes_from_behind_what_others_published,
          the_oldest_goes_in_the_middle_of_a_selective_receive,
          dropping_the_oldest_does_not_pass_over_all_other_mail_each_time, a_slow_reader_is_disconnected_and_told,
          a_full_mailbox_is_dealt_with_by_the_subscription,
          a_subscriber_that_its_publisher_waited_for_in_vain_is_told,
          a_subscriber_that_ends_one_of_two_subscriptions_is_still_waited_for,
          large_publications_that_wait_for_slow_readers_are_bounded,
          subscribers_learn_what_a_full_queue_between_workers_lost,
          what_a_worker_remembers_of_lost_publications_is_bounded,
          subscribers_learn_what_the_policy_of_their_mailbox_drops)

/* actors/topics/topic_match.c, published_block.c, topic_await.c: fan-out to many subscribers; its optimisations must
 * not be observable. */
#include "../node_harness.h"
#include "hash.h"
#include "topic_match.h"

enum { NEWS = 1, READY = 2, GO = 3, DONE = 4 };

static int publish_value(const char *topic, int64_t value)
{
    return weft_publish(topic, NEWS, &value, sizeof value);
}

static void expect(uint32_t tag, int64_t value)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), 0);
    want_int(weft_tag(m), tag);
    want_int(value_of(m), value);
    weft_msg_free(m);
}

static void expect_nothing(void)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT);
}

/* ---- Lists of who gets it -------------------------------------------------------------------------------------- */

static const struct wf_match *place_of(const char *topic)
{
    const struct wf_actors *wa = wf_actors_of(wf_here);
    for (int i = 0; wa->matches != NULL && i < WF_MATCH_PLACES; i++)
        if (strcmp(wa->matches[i].topic, topic) == 0) return &wa->matches[i];
    return NULL;
}

/* Where the worker keeps the topic's list: two topics may have the same place. */
static uint32_t place_number(const char *topic)
{
    return wf_hash(topic, strlen(topic), wf_actors_of(wf_here)->secret) % WF_MATCH_PLACES;
}

/* Whether the next publication goes by a list. */
static bool is_listed(const char *topic)
{
    const struct wf_match *m = place_of(topic);
    return m != NULL && m->places != NULL && m->changes == wf_actors_of(wf_here)->topics.changes;
}

static void subscribed_kid(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscription s;
    want_int(weft_subscribe(k.n == 0 ? "a.b" : ">", &s), 0);
    want_int(say(k.parent, READY, 0), 0);
    hear_only(GO);
    if (k.n == 0) want_int(weft_unsubscribe(s), 0);
    want_int(say(k.parent, DONE, 0), 0);
    if (k.n == 0) hear_only(GO);
}

/* Twice the same without a change between: the second time there is a list. */
static void publish_twice(int reached)
{
    for (int64_t i = 0; i < 3; i++) {
        want_int(publish_value("a.b", i), reached);
        want_int(is_listed("a.b"), i > 0);
    }
}

static void lists_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_subscription s, other;
    char elsewhere[] = "a.c"; /* another topic has a list of its own */
    while (place_number(elsewhere) == place_number("a.b")) elsewhere[2]++;
    want(!is_listed("a.b"));
    publish_twice(0);
    want_int(weft_subscribe("a.*", &s), 0);
    publish_twice(1);
    want_int(weft_subscribe("a.*", &other), 0); /* the same pattern */
    publish_twice(2);
    weft_pid leaves = kid_on(1, subscribed_kid, 0);
    hear_only(READY);
    publish_twice(3);
    weft_pid ends = kid_on(1, subscribed_kid, 1);
    hear_only(READY);
    publish_twice(4);
    want_int(publish_value(elsewhere, 0), 3);
    want_int(publish_value(elsewhere, 0), 3);
    want(is_listed("a.b") && is_listed(elsewhere));
    want_int(weft_unsubscribe(other), 0);
    want(!is_listed("a.b") && !is_listed(elsewhere));
    publish_twice(3);
    want_int(say(leaves, GO, 0), 0);
    hear_only(DONE);
    publish_twice(2);
    want_int(say(ends, GO, 0), 0);
    hear_only(DONE);
    await_end(ends);
    publish_twice(1);
    want_int(say(leaves, GO, 0), 0);
    await_end(leaves);
    want_int(weft_unsubscribe(s), 0);
    publish_twice(0);
    want_int(weft_publish("", NEWS, NULL, 0), WEFT_EINVAL);
    want_int(weft_publish("a.", NEWS, NULL, 0), WEFT_EINVAL);
    want_int(weft_publish("a.*", NEWS, NULL, 0), WEFT_EINVAL);
}

START_TEST(a_change_of_any_subscription_makes_the_lists_stale)
{
    run_on(1, lists_body);
}
END_TEST

/* More topics than there are places, and more subscriptions than the lists may hold. */
static void many_topics_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    char topic[16];
    weft_msg *m;
    for (int i = 0; i < 20; i++) want_int(weft_subscribe("t.*", NULL), 0);
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 200; i++) {
            snprintf(topic, sizeof topic, "t.%d", round < 3 ? i : i % 7);
            want_int(publish_value(topic, i), 20);
            const struct wf_actors *wa = wf_actors_of(wf_here);
            want(wa->matched <= 4 * wa->topics.subscribers + 64);
            for (int k = 0; k < 20; k++) expect(NEWS, i);
        }
    }
    want_int(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT);
}

START_TEST(the_entries_of_cached_lists_are_bounded)
{
    run_on(1, many_topics_body);
}
END_TEST

/* ---- Several in one block -------------------------------------------------------------------------------------- */

enum { MOST = 150 };

static void order_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    want_int(weft_subscribe("a.b", NULL), 0);
    for (int64_t i = 0; i < MOST; i++) { /* other mail in between, and signals */
        want_int(publish_value("a.b", i), 1);
        if (i % 7 == 0) want_int(try_say(weft_self(), GO, i), 0);
    }
    for (int64_t i = 0; i < MOST; i++) {
        expect(NEWS, i);
        if (i % 7 == 0) expect(GO, i);
    }
    expect_nothing();
    for (int64_t i = 0; i < MOST; i++) want_int(publish_value("a.b", i), 1);
    want_int(try_say(weft_self(), GO, 1), 0);
    for (int64_t i = 0; i < 10; i++) expect(NEWS, i);
    want_int(hear_only(GO), 1); /* passes over all of them */
    want_int(publish_value("a.b", MOST), 1);
    for (int64_t i = 10; i <= MOST; i++) expect(NEWS, i);
    expect_nothing();
    /* The message in the middle of a published block is received by its tag; a second receive with this tag finds
     * none. */
    for (int64_t i = 0; i < 8; i++) want_int(weft_publish("a.b", i == 5 ? READY : NEWS, &i, sizeof i), 1);
    want_int(hear_only(READY), 5);
    want_int(weft_recv_tag(&m, READY, WEFT_NOW), WEFT_ETIMEDOUT);
    for (int64_t i = 0; i < 8; i++)
        if (i != 5) expect(NEWS, i);
    expect_nothing();
}

START_TEST(published_messages_keep_their_place_among_others)
{
    run_on(1, order_body);
}
END_TEST

/* The limit is reached at each place of a block. */
static void bounded_kid(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    bool drops_oldest = k.n < 0;
    int64_t max = drops_oldest ? -k.n : k.n, value = 0;
    want_int(weft_subscribe("a.b", NULL), 0);
    for (; value < max; value++) want_int(publish_value("a.b", value), 1);
    for (int i = 0; i < 3; i++, value++) want_int(publish_value("a.b", value), drops_oldest);
    want_int(wf_mail_count(peek(weft_self())), max);
    want_int(peek(weft_self())->dropped, 3);
    int64_t first = drops_oldest ? 3 : 0;
    expect(NEWS, first);
    want_int(publish_value("a.b", 1000), 1);
    want_int(publish_value("a.b", 1001), drops_oldest);
    if (drops_oldest) first++;
    for (int64_t i = 1; i < max - drops_oldest; i++) expect(NEWS, first + i);
    expect(NEWS, 1000);
    if (drops_oldest) expect(NEWS, 1001);
    expect_nothing();
    want_int(wf_mail_bytes(peek(weft_self())), 0);
    for (int64_t i = 0; i < max; i++) want_int(publish_value("a.b", i), 1); /* and it ends with them */
    want_int(say(k.parent, DONE, 0), 0);
}

static void bounds_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    uint64_t unread = 0;
    for (int64_t max = 2; max <= MOST; max += max < 70 ? 1 : 11) {
        for (int oldest = 0; oldest < 2; oldest++) {
            weft_spawn_options o = {.worker = 1,
                                    .mailbox_max = (uint32_t)max,
                                    .policy = oldest ? WEFT_FULL_DROP_OLDEST : WEFT_FULL_SUSPEND};
            weft_pid kid = kid_with(bounded_kid, (struct kid){.n = oldest ? -max : max}, &o);
            hear(DONE);
            await_end(kid);
            unread += (uint64_t)max;
        }
    }
    want_int(drops(weft_here(), WF_DROP_UNREAD), unread);
}

START_TEST(the_bound_of_a_mailbox_holds_wherever_a_block_ends)
{
    run_on(1, bounds_body);
}
END_TEST

/* Each publication replaces the oldest one. */
static void replacing_kid(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_subscribe("a.b", NULL), 0);
    for (int64_t value = 0; value < 10 * k.n; value++) want_int(publish_value("a.b", value), 1);
    want_int(wf_mail_count(peek(weft_self())), k.n);
    want(wf_mail_bytes(peek(weft_self())) <= (size_t)k.n * 2 * sizeof(void *)); /* not a cache line for each */
    for (int64_t value = 9 * k.n; value < 10 * k.n; value++) expect(NEWS, value);
    expect_nothing();
    want_int(say(k.parent, DONE, 0), 0);
}

static void replacing_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_spawn_options o = {.worker = 1, .mailbox_max = 100, .policy = WEFT_FULL_DROP_OLDEST};
    weft_pid kid = kid_with(replacing_kid, (struct kid){.n = o.mailbox_max}, &o);
    hear(DONE);
    await_end(kid);
}

START_TEST(publications_that_replace_the_oldest_share_blocks)
{
    run_on(1, replacing_body);
}
END_TEST

/* ---- References ------------------------------------------------------------------------------------------------ */

enum { ROUNDS = 400 };

/* Keeps some, and passes the others on, so that they end on another worker. */
static void passes_on(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_subscribe("a.b", NULL), 0);
    want_int(say(k.parent, READY, 0), 0);
    weft_msg *m, *kept[8] = {NULL};
    for (int64_t i = 0; i < ROUNDS; i++) {
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        want_int(value_of(m), i);
        want(strcmp(weft_topic(m), "a.b") == 0);
        if (i % 3 == 0) {
            want_int(weft_send_msg(k.other, m), 0);
            continue;
        }
        weft_msg_free(kept[i % 8]);
        kept[i % 8] = m;
    }
    for (int i = 0; i < 8; i += 2) weft_msg_free(kept[i]); /* the rest goes with it */
    want_int(say(k.parent, DONE, 0), 0);
}

static void hears_passed_on(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    for (int64_t i = 0; i < k.n * ((ROUNDS + 2) / 3); i++) {
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        want_int(value_of(m) % 3, 0);
        weft_msg_free(m);
    }
    want_int(say(k.parent, DONE, 0), 0);
}

static void references_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { KIDS = 20 };
    weft_pid one = kid_on(1, hears_passed_on, KIDS / 2), two = kid_on(2, hears_passed_on, KIDS / 2);
    for (int i = 0; i < KIDS; i++) {
        kid_with(passes_on, (struct kid){.other = i % 2 ? one : two}, &(weft_spawn_options){.worker = i % 2 + 1});
        hear(READY);
    }
    for (int64_t i = 0; i < ROUNDS; i++) {
        want_int(publish_value("a.b", i), KIDS / 2 + 1);
        if (i % 50 == 49) want_int(weft_yield(), 0);
    }
    for (int i = 0; i < KIDS + 2; i++) hear(DONE);
}

START_TEST(a_body_lives_as_long_as_anybody_has_it)
{
    run_on(2, references_body);
}
END_TEST

static void far_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { MANY = 5000 };
    for (int i = 0; i < MANY; i++) want_int(weft_subscribe("a.b", NULL), 0);
    for (int64_t i = 0; i < 4; i++) want_int(publish_value("a.b", i), MANY);
    want(is_listed("a.b"));
    for (int64_t i = 0; i < 4; i++)
        for (int k = 0; k < MANY; k++) expect(NEWS, i);
    expect_nothing();
}

START_TEST(thousands_get_it_each_time)
{
    run_on(1, far_body);
}
END_TEST

/* ---- Publishers that wait -------------------------------------------------------------------------------------- */

enum { WAITING = 12, SENT = 300 };

/* Reads everything in order; one of them in three unsubscribes half way, with messages waiting. */
static void slow_kid(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscription s;
    weft_subscribe_options o = {.slow = WEFT_SLOW_SUSPEND, .wait = WEFT_SEC(1000)};
    want_int(weft_subscribe_with("a.*", &o, &s), 0);
    want_int(say(k.parent, READY, 0), 0);
    int64_t last = k.n % 3 == 0 ? SENT / 2 : SENT;
    for (int64_t i = 0; i < last; i++) want_int(hear(NEWS), i);
    if (last < SENT && k.n % 2 == 0) want_int(weft_unsubscribe(s), 0);
    want_int(say(k.parent, DONE, 0), 0);
}

static void suspend_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const struct wf_workers *set = wf_here->set;
    for (int64_t i = 0; i < WAITING; i++) {
        weft_spawn_options o = {.worker = (int)(i % (int64_t)set->users) + 1, .mailbox_max = (uint32_t)(1 + i)};
        kid_with(slow_kid, (struct kid){.n = i}, &o);
        hear_only(READY);
    }
    for (int64_t i = 0; i < SENT; i++) want(publish_value("a.b", i) > 0);
    for (int i = 0; i < WAITING; i++) hear_only(DONE);
    want_int(drops(weft_here(), WF_DROP_SLOW_READER), 0);
    for (uint32_t i = 0; i < set->count; i++) {
        const struct wf_actors *wa = wf_actors_of(set->at[i]);
        until(atomic_load(&wa->awaited) == 0);
        until(atomic_load(&wa->full_awaited) == 0);
    }
}

START_TEST(a_publisher_waits_for_all_of_its_slow_subscribers)
{
    for (int workers = 1; workers <= 3; workers++) run_on(workers, suspend_body);
}
END_TEST

TEST_MAIN("topic_fan", a_change_of_any_subscription_makes_the_lists_stale, the_entries_of_cached_lists_are_bounded,
          published_messages_keep_their_place_among_others, the_bound_of_a_mailbox_holds_wherever_a_block_ends,
          publications_that_replace_the_oldest_share_blocks, a_body_lives_as_long_as_anybody_has_it,
          thousands_get_it_each_time, a_publisher_waits_for_all_of_its_slow_subscribers)

/* actors/topics/topic_retained.c and the messages that a new subscriber gets: the last one of each topic, once. */
#include "../node_harness.h"
#include "queue_groups.h"

enum { NEWS = 1, READY = 2, GO = 3, TOPICS = 8, ROUNDS = 400, READERS = 6 };

static int retain(const char *topic, int64_t value)
{
    return weft_publish_retained(topic, NEWS, &value, sizeof value);
}

static void expect(const char *topic, int64_t value, bool retained)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), 0);
    want_int(weft_tag(m), NEWS);
    want(strcmp(weft_topic(m), topic) == 0);
    want_int(value_of(m), value);
    want(weft_is_retained(m) == retained);
    want(weft_pid_equal(weft_from(m), weft_self()));
    want(!weft_wants_reply(m));
    weft_msg_free(m);
}

static void expect_nothing(void)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT);
}

static void subscribe_and_read(const char *pattern, const weft_subscribe_options *o, int64_t first, int64_t second)
{
    weft_subscription s;
    want_int(weft_subscribe_with(pattern, o, &s), 0);
    if (first != 0) expect("room.a", first, true);
    if (second != 0) expect("room.b", second, true);
    expect_nothing();
    want_int(weft_unsubscribe(s), 0);
}

static void last_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static const weft_subscribe_options none, suspend = {.slow = WEFT_SLOW_SUSPEND}, oldest = {.max = 5, .slow = 3};
    static const weft_subscribe_options queue = {.queue = "q"};
    want_int(retain("room.b", 1), 0);
    want_int(retain("room.a", 2), 0);
    want_int(retain("hall.a", 3), 0);
    want_int(retain("room.b", 4), 0);
    const weft_subscribe_options *ways[] = {NULL, &none, &suspend, &oldest};
    for (size_t i = 0; i < WF_COUNT(ways); i++) {
        subscribe_and_read("room.a", ways[i], 2, 0);
        subscribe_and_read("room.*", ways[i], 2, 4);
        subscribe_and_read("*.b", ways[i], 0, 4);
        subscribe_and_read("room", ways[i], 0, 0);
        subscribe_and_read("roo.>", ways[i], 0, 0);
        weft_subscription s;
        want_int(weft_subscribe_with("room.>", ways[i], &s), 0);
        expect("room.a", 2, true);
        expect("room.b", 4, true);
        want_int(retain("room.c", 5), 1); /* for those who are there it is as any other */
        expect("room.c", 5, false);
        want_int(weft_publish_retained("room.c", NEWS, NULL, 0), 1); /* an empty one clears */
        weft_msg *m;
        want_int(weft_recv(&m, WEFT_NOW), 0);
        want_int(weft_size(m), 0);
        weft_msg_free(m);
        want_int(weft_unsubscribe(s), 0);
        subscribe_and_read("room.c", ways[i], 0, 0);
    }
    subscribe_and_read("room.*", &queue, 0, 0);
    want_int(weft_retained_clear("room.a"), 1);
    want_int(weft_retained_clear("room.a"), 0);
    want_int(weft_retained_clear("room.*"), WEFT_EINVAL);
    subscribe_and_read("room.>", NULL, 0, 4);
    weft_msg *m;
    want_int(weft_subscribe("room.b", NULL), 0);
    want_int(weft_recv(&m, WEFT_NOW), 0);
    want(weft_is_retained(m));
    want_int(weft_send_msg(weft_self(), m), 0); /* sent on it is a message like others */
    expect("room.b", 4, false);
}

START_TEST(a_new_subscriber_gets_the_last_message_of_each_topic)
{
    ck_assert_int_eq(weft_retained_clear("a"), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_publish_retained("a", 1, NULL, 0), WEFT_ENOTACTOR);
    run_on(1, last_body);
}
END_TEST

static void bounded_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    char topic[16], big[4000] = {0};
    for (int64_t i = 0; i < 40; i++) {
        snprintf(topic, sizeof topic, "t.%d", (int)i);
        want_int(retain(topic, i), i < 32 ? 0 : WEFT_EFULL);
    }
    want_int(retain("t.7", 70), 0); /* another instead of one that is there */
    for (int i = 0; i < 31; i++) {
        snprintf(topic, sizeof topic, "t.%d", i);
        want_int(weft_retained_clear(topic), 1);
    }
    int kept = 1;
    for (; kept < 32; kept++) {
        snprintf(topic, sizeof topic, "b.%d", kept);
        if (weft_publish_retained(topic, NEWS, big, 1000) < 0) break;
    }
    want_int(kept, 9); /* 1,120 bytes each */
    want_int(weft_subscribe("b.1", NULL), 0);
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), 0);
    weft_msg_free(m);
    want_int(weft_publish_retained("b.1", NEWS, big, sizeof big), WEFT_EFULL);
    expect_nothing(); /* nothing was published */
    want_int(weft_publish_retained("b.1", NEWS, big, 10), 1);
}

START_TEST(retained_messages_are_bounded_by_count_and_bytes)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .retained_max = 32, .retained_bytes_max = 10000));
    node_spawn(n, 1, bounded_body);
    node_end(n); /* the rest is freed with the node */
}
END_TEST

/* ---- Copies: which of two messages holds ----------------------------------------------------------------------- */

enum { NODES = 10, DAY = 24 * 3600 };

static struct wf_retained_table table;
static struct wf_retained_source *link_of[NODES][WF_RETAINED_KINDS]; /* of nodes that are linked */
static struct wf_retained_now now;

static void open_table(uint32_t count_max, size_t bytes_max)
{
    memset(link_of, 0, sizeof link_of);
    now = (struct wf_retained_now){.wall = WEFT_SEC(1000), .time = WEFT_SEC(100)};
    wf_retained_init(&table, 7, count_max, bytes_max, WEFT_SEC(DAY));
    for (uint64_t node = 1; node < NODES; node++) ck_assert_int_eq(wf_retained_open(&table, node, link_of[node]), 0);
}

static void lose(uint64_t node)
{
    wf_retained_close(&table, link_of[node], now.time);
    while (wf_retained_trim(&table, 3)) {} /* in parts */
    ck_assert_ptr_null(link_of[node][0]);
}

static void close_table(void)
{
    for (uint64_t node = 1; node < NODES; node++) lose(node);
    wf_retained_finish(&table);
}

static struct wf_body *body_of(const char *topic, const char *value, uint64_t node)
{
    struct wf_body *body = wf_body_new(NULL, topic, strlen(topic), value, strlen(value));
    ck_assert_ptr_nonnull(body);
    wf_body_sign(body, (weft_pid){node, 1}, NEWS, 0);
    return body;
}

static int put_as(const char *topic, const char *value, uint64_t node, struct wf_retained_copy c)
{
    struct wf_body *old, *body = body_of(topic, value, node);
    c.body = body;
    int rc = wf_retained_put_copy(&table, &c, &now, &old);
    if (old != NULL) wf_body_drop(NULL, old);
    wf_body_drop(NULL, body);
    return rc;
}

/* The node itself says it, when it publishes it. */
static int put(const char *topic, const char *value, uint64_t node, uint64_t stamp)
{
    return put_as(topic, value, node, (struct wf_retained_copy){.stamp = stamp, .by = link_of[node], .live = true});
}

/* When the link begins. */
static int put_later(const char *topic, const char *value, uint64_t node, uint64_t stamp)
{
    return put_as(topic, value, node, (struct wf_retained_copy){.stamp = stamp, .by = link_of[node]});
}

/* Another node reports it, for which the publisher has been gone for as long. */
static int tell(const char *topic, const char *value, uint64_t node, uint64_t stamp, int64_t gone)
{
    return put_as(topic, value, node, (struct wf_retained_copy){.stamp = stamp, .gone = gone});
}

/* This node publishes; returns its stamp, or an error. */
static int64_t publish_here(const char *topic, const char *value)
{
    struct wf_body *old, *body = body_of(topic, value, 100);
    int rc = wf_retained_put(&table, body, &now, &old);
    if (old != NULL) wf_body_drop(NULL, old);
    wf_body_drop(NULL, body);
    if (rc < 0) return rc;
    return (int64_t)wf_retained_find(&table, weft_cstr(topic))->stamp;
}

static bool is_kept(const char *topic, const char *value)
{
    const struct wf_retained *r = wf_retained_find(&table, weft_cstr(topic));
    if (r == NULL || value == NULL) return r == NULL && value == NULL;
    return r->body->size == strlen(value) && memcmp(wf_body_bytes(r->body), value, r->body->size) == 0;
}

START_TEST(the_later_stamp_holds_in_any_order)
{
    open_table(10, 10000);
    ck_assert_int_eq(put("t", "five", 1, 5), 1);
    ck_assert_int_eq(put("t", "four", 9, 4), 0);
    ck_assert(is_kept("t", "five"));
    ck_assert_int_eq(put("t", "also five", 2, 5), 1); /* of the higher incarnation */
    ck_assert_int_eq(put("t", "five", 1, 5), 0);
    ck_assert_int_eq(put("t", "also five", 2, 5), WEFT_EEXIST); /* again */
    ck_assert(is_kept("t", "also five"));
    ck_assert_int_eq(put("t", "", 1, 6), 1);
    ck_assert(is_kept("t", NULL));
    ck_assert_int_eq(put("t", "five", 7, 5), 0); /* who has not heard that it was cleared */
    ck_assert(is_kept("t", NULL));
    ck_assert_int_eq(put("t", "seven", 1, 7), 1);
    ck_assert(is_kept("t", "seven"));
    ck_assert_int_eq(put("u", "", 1, 8), 1);
    ck_assert_int_eq(put("u", "old", 1, 7), WEFT_EEXIST);
    ck_assert_uint_eq(table.count, 1);
    ck_assert_uint_eq(table.cleared_count, 1);
    close_table();
}
END_TEST

START_TEST(a_stamp_is_later_than_all_that_was_seen)
{
    open_table(10, 10000);
    now.wall = WEFT_SEC(3);
    ck_assert_int_eq(publish_here("own", "1"), 3000000);
    now.wall = WEFT_SEC(2); /* a clock that was set back */
    ck_assert_int_eq(publish_here("own", "2"), 3000001);
    ck_assert_int_eq(put("t", "of a fast clock", 1, 9000000), 1);
    now.wall = WEFT_SEC(4);
    ck_assert_int_eq(publish_here("own", "3"), 9000001);
    now.wall = WEFT_SEC(10);
    ck_assert_int_eq(publish_here("own", "4"), 10000000);
    close_table();
}
END_TEST

static void disbelieve(uint64_t mad)
{
    open_table(10, 10000);
    uint64_t before = table.last_stamp;
    ck_assert_int_eq(put("t", "right", 1, 999500000), 1);
    ck_assert_int_eq(put_later("t", "mad", 2, mad), 0);
    ck_assert_int_eq(tell("t", "mad", 2, mad, 0), 0);
    ck_assert(is_kept("t", "right"));
    ck_assert_int_eq(put_later("u", "mad", 2, mad), 1); /* there is nothing else */
    ck_assert_int_eq(tell("v", "mad", 2, mad, 0), 1);
    ck_assert_int_eq(put_later("w", "", 2, mad), 1); /* cleared */
    ck_assert_uint_lt(table.last_stamp, before + 1000000000);
    ck_assert_int_eq(put("u", "right", 1, 999000000), 1);
    ck_assert_int_eq(put("v", "right", 1, 1), 1); /* any other is better */
    ck_assert_int_eq(put("w", "right", 1, 1), 1);
    ck_assert(is_kept("u", "right") && is_kept("v", "right") && is_kept("w", "right"));
    /* what has just been published counts as a second old */
    ck_assert_int_eq(put("t", "mad", 2, mad), 0);
    now.wall += WEFT_SEC(1);
    ck_assert_int_eq(put("t", "mad", 2, mad), 1);
    ck_assert_int_eq(put("t", "right again", 1, 1000500000), 1);
    ck_assert(is_kept("t", "right again"));
    ck_assert_int_eq(put("t", "mad", 2, mad), 0);
    ck_assert_int_eq(publish_here("t", "own"), 1001000000);
    ck_assert(is_kept("t", "own"));
    close_table();
}

START_TEST(a_stamp_of_a_time_to_come_is_not_believed)
{
    disbelieve(UINT64_C(1000000000000));
    disbelieve(WF_STAMP_MAX);
}
END_TEST

START_TEST(a_stamp_is_believed_up_to_five_minutes_ahead)
{
    open_table(10, 10000);
    ck_assert_int_eq(put("t", "ahead", 1, 1300000000), 1);
    ck_assert_int_eq(publish_here("own", "1"), 1300000001);
    ck_assert_int_eq(put("u", "too far", 1, 1300000001), 1);
    ck_assert_int_eq(publish_here("own", "2"), 1300000002);
    ck_assert_int_eq(put("u", "right", 2, 1000000000), 1);
    ck_assert_int_eq(put("t", "right", 2, 1000000000), 0);
    now.wall = -WEFT_SEC(5); /* before 1970 */
    ck_assert_int_eq(put("v", "of its time", 1, 300000000), 1);
    ck_assert_int_eq(put("w", "too far", 1, 300000001), 1);
    ck_assert_int_eq(put("w", "right", 2, 1), 1);
    close_table();
}
END_TEST

/* The clock of its node is broken: what it publishes is still in order, also after what others have published. */
START_TEST(a_node_with_a_broken_clock_replaces_its_own)
{
    open_table(10, 10000);
    ck_assert_int_eq(put("t", "good clock", 1, 990000000), 1);
    ck_assert_int_eq(put("t", "an hour ahead", 1, 4600000000), 1);
    ck_assert_int_eq(put_later("t", "and more", 1, 4600000001), 1);
    ck_assert_int_eq(put("t", "and back", 1, 4600000000), WEFT_EEXIST);
    ck_assert_int_eq(put("t", "other", 2, 995000000), 1);
    ck_assert_int_eq(put("t", "an hour ahead", 1, 4600000002), 1);
    ck_assert(is_kept("t", "an hour ahead"));
    /* nobody can say so for it */
    ck_assert_int_eq(tell("t", "forged", 1, 4600000003, 0), WEFT_EEXIST);
    ck_assert_int_eq(tell("u", "forged", 1, WF_STAMP_MAX, 0), 1);
    ck_assert_int_eq(put("u", "true", 1, 4600000004), 1);
    ck_assert(is_kept("u", "true"));
    close_table();
}
END_TEST

/* ---- Copies: whose they are ------------------------------------------------------------------------------------ */

static int put_many(const char *prefix, int count, uint64_t node)
{
    char topic[32];
    int kept = 0;
    for (int i = 0; i < count; i++) {
        snprintf(topic, sizeof topic, "%s.%d", prefix, i);
        kept += (node == 0 ? publish_here(topic, "x") > 0 : put(topic, "x", node, 900000000) == 1);
    }
    return kept;
}

static int count_of(const char *prefix, int count)
{
    char topic[32];
    int kept = 0;
    for (int i = 0; i < count; i++) {
        snprintf(topic, sizeof topic, "%s.%d", prefix, i);
        kept += wf_retained_find(&table, weft_cstr(topic)) != NULL;
    }
    return kept;
}

START_TEST(a_node_has_a_quota_of_retained_messages_of_its_own)
{
    open_table(10, 10000);
    ck_assert_int_eq(put_many("one", 100, 1), 10);
    ck_assert_int_eq(put_many("two", 100, 2), 10);
    ck_assert_int_eq(put_many("own", 100, 0), 10);
    ck_assert_int_eq(put("one.3", "y", 1, 900000001), 1);
    ck_assert_int_eq(put("one.3", "y", 2, 900000002), WEFT_EFULL); /* it is another's place */
    ck_assert(is_kept("one.3", NULL));
    ck_assert_int_eq(put("one.100", "y", 1, 1), 1);
    for (int i = 0; i < 1000; i++) { /* what others say of node 2 takes nobody's place */
        char topic[16];
        snprintf(topic, sizeof topic, "told.%d", i);
        ck_assert_int_eq(tell(topic, "x", 3 + (uint64_t)i, 900000000, 0), 1);
    }
    ck_assert_int_eq(count_of("told", 1000), 10);
    ck_assert_int_eq(count_of("two", 10), 10);
    ck_assert_int_eq(put("one.4", "", 1, 900000001), 1);
    ck_assert_int_eq(put("one.101", "y", 1, 1), 1);
    for (int i = 0; i < 100; i++) { /* nor do clearings */
        char topic[16];
        snprintf(topic, sizeof topic, "clear.%d", i);
        ck_assert_int_eq(put(topic, "", 1, 900000001), 1);
    }
    ck_assert_uint_eq(table.cleared_count, 10);
    ck_assert_int_eq(put("clear.2", "", 2, 900000001), 1);
    ck_assert_int_eq(put("clear.99", "old", 3, 1), 0);
    close_table();
}
END_TEST

START_TEST(messages_of_a_lost_node_make_space_and_end)
{
    open_table(10, 10000);
    ck_assert_int_eq(put_many("one", 8, 1), 8);
    ck_assert_int_eq(put("gone", "", 1, 900000000), 1);
    now.time += WEFT_SEC(10);
    lose(1);
    now.time += WEFT_SEC(10);
    ck_assert_int_eq(put_many("two", 8, 2), 8);
    lose(2);
    ck_assert_int_eq(count_of("one", 8), 2); /* that node has been gone for longest */
    ck_assert_ptr_nonnull(wf_retained_find(&table, weft_cstr("one.7")));
    ck_assert_int_eq(count_of("two", 8), 8);
    int64_t first = WEFT_SEC(110) + WEFT_SEC(DAY), second = first + WEFT_SEC(10);
    ck_assert_int_eq(wf_retained_expire(&table, now.time, 100), first);
    ck_assert_int_eq(wf_retained_expire(&table, first - 1, 100), first);
    ck_assert_int_eq(wf_retained_expire(&table, first, 1), first); /* there is more */
    ck_assert_int_eq(wf_retained_expire(&table, first, 100), second);
    ck_assert_int_eq(count_of("one", 8), 0);
    ck_assert_uint_eq(table.cleared_count, 0);
    ck_assert_int_eq(wf_retained_expire(&table, second, 100), WEFT_FOREVER);
    ck_assert_uint_eq(table.count, 0);
    close_table();
}
END_TEST

/* A node that has just started, and has it from others, removes it when they do. */
START_TEST(a_new_node_counts_the_time_since_the_publisher_was_lost)
{
    open_table(10, 10000);
    int64_t hour = WEFT_SEC(3600), end = now.time + WEFT_SEC(DAY) - hour;
    ck_assert_int_eq(tell("a", "x", 50, 900000000, hour), 1);
    ck_assert_int_eq(tell("b", "x", 51, 900000000, 0), 1);
    ck_assert_int_eq(tell("c", "x", 50, 900000000, WEFT_SEC(DAY)), 0); /* its time is over */
    ck_assert_int_eq(tell("c", "x", 50, 900000000, INT64_MAX), 0);
    ck_assert(is_kept("c", NULL));
    ck_assert_int_eq(wf_retained_expire(&table, end, 100), end + hour);
    ck_assert(is_kept("a", NULL) && is_kept("b", "x"));
    close_table();
}
END_TEST

START_TEST(a_node_that_comes_back_keeps_what_it_says_again)
{
    open_table(10, 10000);
    ck_assert_int_eq(put_many("one", 3, 1), 3);
    lose(1);
    ck_assert_int_eq(wf_retained_open(&table, 1, link_of[1]), 0);
    ck_assert_int_eq(put_later("one.1", "x", 1, 900000000), WEFT_EEXIST);
    ck_assert_int_eq(tell("one.2", "x", 1, 900000000, 0), WEFT_EEXIST); /* others cannot say it for it */
    ck_assert_int_eq(wf_retained_expire(&table, now.time + WEFT_SEC(DAY), 100), WEFT_FOREVER);
    ck_assert_int_eq(count_of("one", 3), 1);
    ck_assert(is_kept("one.1", "x"));
    close_table();
}
END_TEST

START_TEST(without_an_end_the_longest_gone_make_space)
{
    open_table(10, 10000);
    table.keep = WEFT_FOREVER;
    ck_assert_int_eq(put_many("one", 8, 1), 8);
    lose(1);
    ck_assert_int_eq(tell("told", "x", 50, 900000000, INT64_MAX / 2), 1);
    ck_assert_int_eq(wf_retained_expire(&table, INT64_MAX - 10, 100), WEFT_FOREVER);
    ck_assert_int_eq(put_many("two", 3, 2), 3);
    lose(2);
    ck_assert_int_eq(count_of("one", 8), 6);
    ck_assert_int_eq(count_of("two", 3), 3);
    close_table();
}
END_TEST

static bool see_number(const struct wf_retained *r, void *arg)
{
    uint64_t *last = arg;
    ck_assert_uint_gt(r->body->retained, *last);
    *last = r->body->retained;
    return *last < 6;
}

START_TEST(copies_are_bounded_and_an_old_message_does_not_stay)
{
    open_table(2, 1000);
    ck_assert_int_eq(put("a", "1", 1, 1), 1);
    ck_assert_int_eq(put("b", "1", 1, 1), 1);
    ck_assert_int_eq(put("c", "1", 1, 1), WEFT_EFULL);
    ck_assert_int_eq(put("a", "2", 1, 2), 1);
    char big[2000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    ck_assert_int_eq(put("a", big, 1, 3), WEFT_EFULL);
    ck_assert(is_kept("a", NULL));
    ck_assert(is_kept("b", "1"));
    for (int i = 0; i < 4; i++) { /* the last two are remembered */
        char topic[] = {(char)('p' + i), 0};
        ck_assert_int_eq(put(topic, "", 1, 5), 1);
    }
    ck_assert_uint_eq(table.cleared_count, 2);
    ck_assert_int_eq(put("s", "1", 1, 4), WEFT_EEXIST);
    ck_assert_int_eq(put("p", "1", 1, 4), 1);
    struct wf_retained mark = {.body = NULL};
    uint64_t last = 0;
    wf_retained_mark(&table, &mark);
    wf_retained_pass(&table, &mark, 4); /* a, b, a, p, q, r, s, p: 5 is forgotten */
    wf_retained_after(&table, &mark, see_number, &last);
    ck_assert_uint_eq(last, 6);
    wf_unlink(&mark.in_order);
    wf_retained_mark(&table, &mark);
    last = 0;
    wf_retained_after(&table, &mark, see_number, &last);
    ck_assert_uint_eq(last, 6);
    wf_unlink(&mark.in_order);
    close_table();
}
END_TEST

/* However many messages may be kept; those of before may come back. */
START_TEST(the_number_of_remembered_clearings_is_bounded)
{
    enum { REMEMBERED = 16384 };
    char topic[16];
    open_table(2 * REMEMBERED, 10000);
    for (int i = 0; i <= REMEMBERED; i++) {
        snprintf(topic, sizeof topic, "t.%d", i);
        ck_assert_int_eq(put(topic, "", 1, 5), 1);
    }
    ck_assert_uint_eq(table.cleared_count, REMEMBERED);
    ck_assert_int_eq(put("t.1", "old", 1, 4), WEFT_EEXIST);
    ck_assert_int_eq(put("t.0", "old", 1, 4), 1);
    ck_assert(is_kept("t.0", "old"));
    close_table();
}
END_TEST

struct part {
    uint32_t left;
    uint64_t last;
    char topic[16]; /* the last one */
};

static bool see_part(const struct wf_retained *r, void *arg)
{
    struct part *p = arg;
    if (p->left == 0) return false;
    p->left--;
    ck_assert_uint_gt(r->body->retained, p->last);
    p->last = r->body->retained;
    snprintf(p->topic, sizeof p->topic, "%s", wf_body_topic(r->body));
    return true;
}

/* Two readers, one slower than the other; what one has seen last is what is replaced next. */
START_TEST(a_mark_keeps_its_place_while_messages_are_replaced)
{
    enum { KEPT = 1000, REPLACED = 100 };
    struct wf_retained mark[2] = {{.body = NULL}, {.body = NULL}};
    struct part part[2] = {{.left = 0}, {.left = 0}};
    char topic[16];
    int seen[2] = {0, 0}, replaced = 0;
    open_table(KEPT, 1 << 20);
    for (int i = 0; i < 2; i++) wf_retained_mark(&table, &mark[i]);
    for (int i = 0; i < KEPT; i++) {
        snprintf(topic, sizeof topic, "t.%d", i);
        ck_assert_int_eq(put(topic, "1", 1, 1), 1);
    }
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t most = part[i].left = i == 0 ? 7 : 3;
            wf_retained_after(&table, &mark[i], see_part, &part[i]);
            wf_retained_pass(&table, &mark[i], part[i].last);
            seen[i] += (int)(most - part[i].left);
            more |= part[i].left == 0;
        }
        if (replaced < REPLACED) ck_assert_int_eq(put(part[0].topic, "2", 1, (uint64_t)(2 + replaced++)), 1);
    }
    ck_assert_int_eq(seen[0], KEPT + REPLACED); /* each that it had seen, again */
    ck_assert_int_ge(seen[1], KEPT);
    ck_assert_int_lt(seen[1], KEPT + REPLACED); /* some only as they are in the end */
    for (int i = 0; i < 2; i++) wf_unlink(&mark[i].in_order);
    close_table();
}
END_TEST

/* ---- Races: each reader subscribes and unsubscribes while publishers go on ------------------------------------- */

static void racing_publisher(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    char topic[16];
    for (int64_t i = 1; i <= ROUNDS; i++) {
        for (int t = 0; t < TOPICS; t++) {
            snprintf(topic, sizeof topic, "p%d.t%d", (int)k.n, t);
            want(retain(topic, i * TOPICS + t) >= 0);
        }
        (void)weft_yield();
    }
    want_int(say(k.parent, READY, 0), 0);
}

/* Of each topic it gets a retained or a live message first, then each later value in order and once, until it
 * unsubscribes; the last time it waits for the end. */
static void racing_reader(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscribe_options wait = {.slow = WEFT_SLOW_SUSPEND, .wait = WEFT_SEC(60)};
    char pattern[16];
    snprintf(pattern, sizeof pattern, "p%d.*", (int)k.n % 2);
    for (bool over = false; !over;) {
        weft_subscription s;
        int64_t last[TOPICS] = {0};
        weft_msg *m;
        want_int(weft_subscribe_with(pattern, k.n % 3 == 0 ? &wait : NULL, &s), 0);
        for (int left = 100; left > 0 && !over; left--) {
            want_int(weft_recv(&m, WEFT_FOREVER), 0);
            want_int(weft_tag(m), NEWS);
            int64_t value = value_of(m), t = value % TOPICS;
            if (last[t] == 0) want(weft_is_retained(m) || value / TOPICS == 1);
            else want(!weft_is_retained(m) && value == last[t] + TOPICS);
            last[t] = value;
            weft_msg_free(m);
            over = true;
            for (int i = 0; i < TOPICS; i++) over = over && last[i] / TOPICS == ROUNDS;
        }
        want_int(weft_unsubscribe(s), 0);
        /* Messages under way to the mailbox are received; a publisher that waits for space may still send. */
        if (!over) {
            want_int(weft_yield(), 0);
            want_int(try_say(weft_self(), GO, 0), 0);
            while (weft_recv(&m, WEFT_FOREVER) == 0) {
                bool go = weft_tag(m) == GO;
                weft_msg_free(m);
                if (go) break;
            }
        }
        if (k.n % 3 == 0 && !over)
            break; /* messages handed to it before may come yet: one round is all it can judge */
    }
    want_int(say(k.parent, READY, 0), 0);
}

static void race_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < READERS; i++) kid_on(1 + i % 3, racing_reader, i);
    kid_on(1, racing_publisher, 0);
    kid_on(2, racing_publisher, 1);
    for (int i = 0; i < READERS + 2; i++) hear(READY);
    want_int(drops(weft_here(), WF_DROP_SLOW_READER), 0);
}

START_TEST(a_new_subscriber_misses_and_doubles_no_message_in_any_race)
{
    run_on(3, race_body);
}
END_TEST

/* ---- Races: one publishes while another clears ----------------------------------------------------------------- */

enum { BOUTS = 300 };

static void racing_retainer(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    for (int64_t i = 1; i <= BOUTS; i++) {
        want_int(hear(GO), i);
        want_int(retain("race", i), 0); /* nobody has subscribed */
        want_int(say(k.parent, READY, 0), 0);
    }
}

static void racing_clearer(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    for (int64_t i = 1; i <= BOUTS; i++) {
        want_int(hear(GO), i);
        int cleared = weft_retained_clear("race");
        want(cleared == 0 || cleared == 1);
        want_int(say(k.parent, READY, cleared), 0);
    }
}

/* A message that was published once is either removed by the clearing or still there; never both, and never
 * neither. */
static void clearing_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid retainer = kid_on(1, racing_retainer, 0), clearers[2];
    for (int i = 0; i < 2; i++) clearers[i] = kid_on(2, racing_clearer, i);
    for (int64_t i = 1; i <= BOUTS; i++) {
        int64_t cleared = 0;
        for (int k = 0; k < 2; k++) want_int(say(k == i % 2 ? retainer : clearers[0], GO, i), 0);
        want_int(say(clearers[1], GO, i), 0);
        for (int k = 0; k < 3; k++) cleared += hear(READY);
        want(cleared <= 1);
        weft_subscription sub;
        want_int(weft_subscribe("race", &sub), 0);
        weft_msg *m;
        int rc = weft_recv(&m, WEFT_NOW);
        want_int(rc, cleared == 1 ? WEFT_ETIMEDOUT : WEFT_OK);
        if (rc == WEFT_OK) {
            want(weft_is_retained(m) && value_of(m) == i);
            weft_msg_free(m);
        }
        want_int(weft_unsubscribe(sub), 0);
        want_int(weft_retained_clear("race"), 1 - cleared);
    }
}

START_TEST(a_published_message_is_cleared_once_or_kept)
{
    run_on(3, clearing_body);
}
END_TEST

TEST_MAIN("topic_retained", a_new_subscriber_gets_the_last_message_of_each_topic,
          retained_messages_are_bounded_by_count_and_bytes, the_later_stamp_holds_in_any_order,
          a_stamp_is_later_than_all_that_was_seen, a_stamp_of_a_time_to_come_is_not_believed,
          a_stamp_is_believed_up_to_five_minutes_ahead, a_node_with_a_broken_clock_replaces_its_own,
          a_node_has_a_quota_of_retained_messages_of_its_own, messages_of_a_lost_node_make_space_and_end,
          a_new_node_counts_the_time_since_the_publisher_was_lost, a_node_that_comes_back_keeps_what_it_says_again,
          without_an_end_the_longest_gone_make_space, copies_are_bounded_and_an_old_message_does_not_stay,
          the_number_of_remembered_clearings_is_bounded, a_mark_keeps_its_place_while_messages_are_replaced,
          a_published_message_is_cleared_once_or_kept, a_new_subscriber_misses_and_doubles_no_message_in_any_race)

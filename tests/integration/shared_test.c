/* Shared cursors on one node and on two: each record is given to one of the members, and once more if that one does
 * not acknowledge it. */
#include <weft/queue.h>
#include <weft/store.h>

#include "engine.h"
#include "store_client.h"
#include "store_messages.h"
#include "store_queues.h"

#include "queue_kit.h"

static weft_pid open_with(const char *pattern, int64_t lease, uint32_t attempts)
{
    weft_pid pid;
    const struct weft_stored_topics topics[] = {{.pattern = "few.>", .count = 2}, {.pattern = "orders.>"}};
    const struct weft_stored_queues queues[] = {{.pattern = pattern, .lease = lease, .attempts = attempts}};
    const weft_store_options options = {
        .url = url[0], .topics = topics, .topic_count = 2, .queues = queues, .queue_count = pattern == NULL ? 0 : 1};
    int rc = weft_store_open(&options, &pid, patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
    return pid;
}

static void publish(const char *topic, const char *text)
{
    int rc = weft_publish_stored(topic, DO, text, strlen(text), NULL, patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
}

/* "0", "1", ... */
static void publish_many(const char *topic, int count)
{
    for (int i = 0; i < count; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        publish(topic, text);
    }
}

static weft_stored_subscription join(const char *pattern, uint32_t bound)
{
    weft_stored_subscription s;
    int rc = weft_subscribe_shared("bill", pattern, &(weft_shared_options){.bound = bound}, &s, patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
    return s;
}

static struct weft_stored next(void)
{
    weft_msg *m;
    struct weft_stored got;
    ck_assert_int_eq(weft_recv_tag(&m, WEFT_STORED, patience()), WEFT_OK);
    ck_assert_int_eq(weft_stored_read(m, &got), WEFT_OK);
    ck_assert_str_eq(got.shared, "bill");
    weft_msg_free(m);
    return got;
}

static struct weft_stored gets_job(const char *topic, uint64_t offset, uint32_t attempts)
{
    struct weft_stored got = next();
    ck_assert_msg(got.kind == WEFT_STORED_RECORD && strcmp(got.topic, topic) == 0 && got.at.offset == offset &&
                      got.attempts == attempts,
                  "%s %d, kind %d, attempt %d, and not %s %d", got.topic, (int)got.at.offset, (int)got.kind,
                  (int)got.attempts, topic, (int)offset);
    ck_assert_uint_eq(got.tag, DO);
    ck_assert_uint_ne(got.at.epoch, 0);
    ck_assert_int_gt(got.time, INT64_C(1000000000) * 1000000000);
    return got;
}

static void gets_nothing(void)
{
    weft_msg *m;
    ck_assert_int_eq(weft_recv_tag(&m, WEFT_STORED, weft_after(WEFT_MS(30))), WEFT_ETIMEDOUT);
}

static void ack(struct weft_stored got)
{
    int rc = weft_shared_done(&got, patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
}

static void leave(weft_stored_subscription s)
{
    ck_assert_int_eq(weft_unsubscribe_stored(s), WEFT_OK);
}

/* ---- One node -------------------------------------------------------------------------------------------------- */

static void whole_life(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid store = open_with(NULL, 0, 0);
    publish_many("orders.a", 3);
    join("orders.a", 0);
    struct weft_stored first = gets_job("orders.a", 1, 1), second = gets_job("orders.a", 2, 1),
                       third = gets_job("orders.a", 3, 1);
    gets_nothing();
    ack(second);
    ck_assert_int_eq(weft_shared_done(&second, patience()), WEFT_ECLOSED);
    publish("orders.a", "live");
    ack(gets_job("orders.a", 4, 1));
    ck_assert_int_eq(weft_shared_extend(&third, WEFT_SEC(600), patience()), WEFT_OK);
    ck_assert_int_eq(weft_shared_return(&third, 0, patience()), WEFT_OK);
    ck_assert_int_eq(weft_shared_done(&third, patience()), WEFT_ECLOSED);
    third = gets_job("orders.a", 3, 2);
    end_store(store);
    open_with(NULL, 0, 0);
    gets_nothing(); /* its leases go on */
    ack(first);
    ack(third);
    publish("orders.a", "after");
    ack(gets_job("orders.a", 5, 1));
    struct weft_cursor c;
    ck_assert_int_eq(weft_cursors(NULL, &c, 1, patience()), 1);
    ck_assert_str_eq(c.name, "bill");
    ck_assert(c.shared && c.at.offset == 5 && c.behind == 0);
    ck_assert_int_eq(weft_cursors(&c, &c, 1, patience()), 0);
    say("done");
}

START_TEST(a_record_is_given_and_acknowledged)
{
    RUN(a, whole_life);
}
END_TEST

static void bounds(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_with(NULL, 0, 0);
    publish_many("orders.a", 5);
    weft_stored_subscription two = join("orders.>", 2);
    struct weft_stored first = gets_job("orders.a", 1, 1);
    gets_job("orders.a", 2, 1);
    gets_nothing();
    ack(first);
    gets_job("orders.a", 3, 1);
    gets_nothing();
    join("orders.>", 1); /* another member is not held by that */
    struct weft_stored fourth = gets_job("orders.a", 4, 1);
    gets_nothing();
    leave(two);
    gets_nothing();
    ack(fourth);
    ack(gets_job("orders.a", 5, 1));
    ack(gets_job("orders.a", 2, 2));
    ack(gets_job("orders.a", 3, 2));
    gets_nothing();
    say("done");
}

START_TEST(a_member_has_no_more_than_its_bound)
{
    RUN(a, bounds);
}
END_TEST

static void leases_end(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_with("$shared.>", WEFT_MS(40), 3);
    publish_many("orders.a", 2);
    join("orders.a", 1);
    struct weft_stored lost = gets_job("orders.a", 1, 1);
    ack(gets_job("orders.a", 2, 1)); /* the lease of the first one has ended, so there is space */
    struct weft_stored again = gets_job("orders.a", 1, 2);
    ck_assert_int_eq(weft_shared_done(&lost, patience()), WEFT_ECLOSED);
    ck_assert_int_eq(weft_shared_extend(&again, WEFT_SEC(600), patience()), WEFT_OK);
    publish("orders.a", "third");
    gets_nothing();
    ack(again);
    ack(gets_job("orders.a", 3, 1));
    say("done");
}

START_TEST(a_lease_that_ends_by_time_makes_space)
{
    RUN(a, leases_end);
}
END_TEST

/* The lease would last for ten minutes. When the third record is stored, the store has looked for one for this
 * member. */
static void extends_for_less(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_with("$shared.bill", WEFT_SEC(600), 0);
    publish_many("orders.a", 2);
    join("orders.a", 1);
    struct weft_stored first = gets_job("orders.a", 1, 1);
    gets_nothing();
    publish("orders.a", "more");
    ck_assert_int_eq(weft_shared_extend(&first, WEFT_MS(1), patience()), WEFT_OK);
    ack(gets_job("orders.a", 2, 1));
    say("done");
}

START_TEST(a_lease_that_is_made_shorter_makes_space)
{
    RUN(a, extends_for_less);
}
END_TEST

static void dead_ones(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct weft_queue_count c;
    open_with("$shared.bill", 0, 2);
    publish("orders.a", "bad");
    join("orders.a", 1);
    for (uint32_t i = 1; i <= 2; i++) {
        struct weft_stored bad = gets_job("orders.a", 1, i);
        ck_assert_int_eq(weft_shared_return(&bad, 0, patience()), WEFT_OK);
    }
    publish("orders.a", "good");
    ack(gets_job("orders.a", 2, 1));
    gets_nothing();
    ck_assert_int_eq(weft_queue_counts(NULL, &c, 1, patience()), 1);
    ck_assert_str_eq(c.queue, "$shared.bill");
    ck_assert(c.dead == 1 && c.ready == 0 && c.leased == 0);
    ck_assert_int_eq(weft_queue_retry("$shared.bill", 0, patience()), 1);
    for (uint32_t i = 1; i <= 2; i++) {
        struct weft_stored bad = gets_job("orders.a", 1, i);
        ck_assert_int_eq(weft_shared_return(&bad, 0, patience()), WEFT_OK);
    }
    ck_assert_int_eq(weft_queue_drop("$shared.bill", 0, patience()), 1);
    ck_assert_int_eq(weft_queue_drop("$shared.bill", 0, patience()), WEFT_ENOTFOUND);
    gets_nothing();
    ck_assert_int_eq(weft_queue_counts(NULL, &c, 1, patience()), 0);
    say("done");
}

START_TEST(a_record_that_nobody_acknowledges_is_put_aside)
{
    RUN(a, dead_ones);
}
END_TEST

static void up_to(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid store = open_with(NULL, 0, 0);
    struct weft_stored got[6], other;
    weft_stored_subscription s;
    publish_many("orders.a", 6);
    s = join("orders.>", 0);
    for (int i = 0; i < 6; i++) got[i] = gets_job("orders.a", (uint64_t)i + 1, 1);
    publish("orders.b", "other");
    other = gets_job("orders.b", 1, 1);
    ck_assert_int_eq(weft_shared_return(&got[1], WEFT_SEC(600), patience()), WEFT_OK);
    ck_assert_int_eq(weft_shared_done_upto(&got[2], patience()), WEFT_OK);
    ck_assert_int_eq(weft_shared_done_upto(&got[2], patience()), WEFT_ECLOSED);
    ck_assert_int_eq(weft_shared_done(&got[0], patience()), WEFT_ECLOSED);
    /* A store that is opened again does not know in what order it has given them. */
    end_store(store);
    open_with(NULL, 0, 0);
    ck_assert_int_eq(weft_shared_done_upto(&got[4], patience()), WEFT_OK);
    ck_assert_int_eq(weft_shared_done(&got[3], patience()), WEFT_OK);
    leave(s);
    join("orders.>", 0);
    for (int i = 0; i < 2; i++) {
        struct weft_stored again = next();
        ck_assert_str_eq(again.topic, again.at.offset == 6 ? got[5].topic : other.topic);
    }
    gets_nothing();
    say("done");
}

START_TEST(records_are_acknowledged_up_to_one)
{
    RUN(a, up_to);
}
END_TEST

/* How many acknowledgements have succeeded, and how many came after one that has ended their record. Counted on any
 * worker, read after the ends of the actors. */
static _Atomic int acknowledged, late;

static void acknowledges(const void *arg, size_t size)
{
    struct weft_stored got;
    ck_assert_uint_eq(size, sizeof got);
    memcpy(&got, arg, sizeof got);
    int rc = weft_shared_done_upto(&got, patience());
    late += rc == WEFT_ECLOSED;
    acknowledged += rc == WEFT_OK;
}

/* Some of the records are in several acknowledgements, of which none is stored yet when the next one comes. */
static void overlapping(const void *arg, size_t size)
{
    enum { RECORDS = 24, ASKS = RECORDS / 4 };
    (void)arg, (void)size;
    open_with(NULL, 0, 0);
    struct weft_stored got;
    publish_many("orders.a", RECORDS);
    weft_stored_subscription s = join("orders.>", 0);
    weft_monitor_ref end;
    for (int i = 0; i < RECORDS; i++) {
        weft_pid asks;
        got = gets_job("orders.a", (uint64_t)i + 1, 1);
        if (i % 4 != 3) continue;
        ck_assert_int_eq(weft_spawn(&asks, acknowledges, &got, sizeof got, NULL), WEFT_OK);
        ck_assert_int_eq(weft_monitor(asks, &end), WEFT_OK);
    }
    for (int i = 0; i < ASKS; i++) {
        weft_msg *m;
        ck_assert_int_eq(weft_recv_tag(&m, WEFT_TAG_DOWN, patience()), WEFT_OK);
        weft_msg_free(m);
    }
    ck_assert_int_eq(acknowledged + late, ASKS);
    ck_assert_int_ge(acknowledged, 1);
    leave(s);
    join("orders.>", 0);
    gets_nothing();
    say("done");
}

START_TEST(acknowledgements_that_overlap_end_each_record_once)
{
    RUN(a, overlapping);
}
END_TEST

static void later_topics(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_with(NULL, 0, 0);
    publish("few.x", "not mine");
    publish("orders.a", "one");
    publish("orders.b.c", "one");
    join("orders.*", 9);
    ack(gets_job("orders.a", 1, 1));
    gets_nothing();
    publish("orders.z", "one");
    ack(gets_job("orders.z", 1, 1));
    publish("orders.a", "two");
    ack(gets_job("orders.a", 2, 1));
    gets_nothing();
    say("done");
}

START_TEST(topics_of_a_pattern_may_come_later)
{
    RUN(a, later_topics);
}
END_TEST

enum { TOPICS = 1300 }; /* more than a shared cursor remembers, and more than a scan finds */

static void many_topics(const void *arg, size_t size)
{
    static bool seen[TOPICS];
    int count = 0;
    (void)arg, (void)size;
    open_with(NULL, 0, 0);
    for (int i = 0; i < TOPICS; i++) {
        char topic[32];
        snprintf(topic, sizeof topic, "orders.%d", i);
        publish(topic, "x");
    }
    join("orders.>", 200);
    while (count < TOPICS) {
        struct weft_stored got = next();
        int which = atoi(got.topic + strlen("orders."));
        ck_assert(which >= 0 && which < TOPICS && !seen[which]);
        seen[which] = true;
        count++;
        ack(got);
    }
    gets_nothing();
    say("done");
}

START_TEST(a_pattern_may_have_many_topics)
{
    RUN(a, many_topics);
}
END_TEST

static void more_than_ahead(const void *arg, size_t size)
{
    enum { RECORDS = 2500 };
    (void)arg, (void)size;
    open_with(NULL, 0, 0);
    publish_many("orders.a", RECORDS);
    join("orders.a", 1000);
    for (uint64_t i = 1; i <= RECORDS; i++) {
        struct weft_stored got = gets_job("orders.a", i, 1);
        if (i % 500 == 0) ck_assert_int_eq(weft_shared_done_upto(&got, patience()), WEFT_OK);
    }
    gets_nothing();
    say("done");
}

START_TEST(there_may_be_more_records_than_can_be_moved_ahead)
{
    RUN(a, more_than_ahead);
}
END_TEST

static void gap(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_with(NULL, 0, 0);
    publish("few.x", "1");
    weft_stored_subscription s = join("few.x", 1);
    struct weft_stored first = gets_job("few.x", 1, 1);
    leave(s);
    publish_many("few.x", 4);
    join("few.x", 1);
    struct weft_stored got = gets_job("few.x", 1, 2); /* its record is not in the topic any more */
    ck_assert_uint_eq(got.id, first.id);
    ack(got);
    got = next();
    ck_assert(got.kind == WEFT_STORED_GAP && got.missing == 2 && got.at.offset == 4);
    gets_nothing();
    ack(got);
    ack(gets_job("few.x", 4, 1));
    ack(gets_job("few.x", 5, 1));
    say("done");
}

START_TEST(what_the_limits_have_removed_is_told_to_one_member)
{
    RUN(a, gap);
}
END_TEST

static void removed(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_with(NULL, 0, 0);
    publish_many("orders.a", 2);
    publish_many("orders.b", 1);
    join("orders.>", 0);
    struct weft_stored first = gets_job("orders.a", 1, 1);
    ack(gets_job("orders.a", 2, 1));
    ack(gets_job("orders.b", 1, 1));
    ck_assert_int_eq(weft_cursor_remove("bill", "orders.a", patience()), WEFT_OK);
    ack(gets_job("orders.a", 1, 1));
    ack(gets_job("orders.a", 2, 1));
    ack(first);
    ck_assert_int_eq(weft_cursor_remove("other", "orders.a", patience()), WEFT_OK);
    gets_nothing();
    publish("orders.a", "next");
    ack(gets_job("orders.a", 3, 1));
    say("done");
}

START_TEST(a_removed_cursor_begins_anew_for_its_present_members)
{
    RUN(a, removed);
}
END_TEST

static int try_to_join(const char *name, const char *pattern, uint32_t bound)
{
    return weft_subscribe_shared(name, pattern, &(weft_shared_options){.bound = bound}, NULL, patience());
}

static void errors(const void *arg, size_t size)
{
    static const char long_name[] = "a123456789012345678901234567890123456789012345678901234567890123456";
    struct weft_stored got = {.kind = WEFT_STORED_RECORD};
    weft_msg *m;
    (void)arg, (void)size;
    ck_assert_int_eq(try_to_join("bill", "orders.a", 1), WEFT_ENOACTOR);
    open_with(NULL, 0, 0);
    const char *const bad[] = {"", "a b", "$x", "a..b", ".a", "a.", "a/b", "a.>", long_name, NULL};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(try_to_join(bad[i], "orders.a", 1), WEFT_EINVAL);
        snprintf(got.shared, sizeof got.shared, "%s", bad[i] == NULL ? "" : bad[i]);
        got.id = 1;
        if (i != 8) ck_assert_int_eq(weft_shared_done(&got, patience()), WEFT_EINVAL);
    }
    ck_assert_int_eq(try_to_join("bill", "orders..a", 1), WEFT_EINVAL);
    ck_assert_int_eq(try_to_join("bill", NULL, 1), WEFT_EINVAL);
    ck_assert_int_eq(try_to_join("bill", "orders.a", WEFT_SHARED_BOUND_MAX + 1), WEFT_EINVAL);
    ck_assert_int_eq(try_to_join("bill", "unknown.a", 1), WEFT_EACCESS);
    got = (struct weft_stored){.kind = WEFT_STORED_RECORD};
    ck_assert_int_eq(weft_shared_done(&got, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_shared_done_upto(NULL, patience()), WEFT_EINVAL);
    snprintf(got.shared, sizeof got.shared, "bill");
    got.id = 77;
    ck_assert_int_eq(weft_shared_done(&got, patience()), WEFT_ECLOSED);
    ck_assert_int_eq(weft_shared_done_upto(&got, patience()), WEFT_ECLOSED);
    ck_assert_int_eq(weft_shared_return(&got, -2, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_shared_extend(&got, -1, patience()), WEFT_EINVAL);
    /* The queue takes no jobs of others, and gives none. */
    struct weft_queue_job job;
    ck_assert_int_eq(weft_queue_put("$shared.bill", DO, "x", 1, NULL, NULL, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_queue_take("$shared.bill", &m, &job, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_queue_subscribe("$shared.bill", NULL, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_reminder_cancel("$shared.bill", "k", patience()), WEFT_EINVAL);
    for (uint32_t request = WF_STORE_SHARE; request <= WF_STORE_DROP; request++) {
        ck_assert_int_eq(weft_call_name(WEFT_STORE_NAME, request, "\xC1", 1, &m, patience()), WEFT_OK);
        weft_msg_free(m);
    }
    publish("orders.a", "it lives on");
    say("done");
}

START_TEST(errors_are_those_of_the_header)
{
    RUN(a, errors);
}
END_TEST

static void expect_end(const char *name, int error)
{
    weft_msg *m;
    struct weft_stored got;
    ck_assert_int_eq(weft_recv_tag(&m, WEFT_STORED, patience()), WEFT_OK);
    ck_assert_int_eq(weft_stored_read(m, &got), WEFT_OK);
    ck_assert_int_eq(got.kind, WEFT_STORED_ENDED);
    ck_assert_int_eq(got.error, error);
    ck_assert_str_eq(got.shared, name);
    weft_msg_free(m);
}

static void shared_or_plain(const void *arg, size_t size)
{
    struct weft_position at;
    (void)arg, (void)size;
    open_with(NULL, 0, 0);
    ck_assert_int_eq(weft_publish_stored("orders.a", DO, "x", 1, &at, patience()), WEFT_OK);
    ck_assert_int_eq(weft_cursor_advance("plain", "orders.a", at, patience()), WEFT_OK);
    ck_assert_int_eq(try_to_join("plain", "orders.a", 1), WEFT_EEXIST);
    ck_assert_int_eq(try_to_join("plain", "orders.>", 1), WEFT_OK); /* there is a record for it, or not */
    publish("orders.a", "y");
    expect_end("plain", WEFT_EEXIST);
    weft_stored_subscription s = join("orders.*", 1);
    struct weft_stored first = gets_job("orders.a", 1, 1);
    ck_assert_int_eq(try_to_join("bill", "orders.>", 1), WEFT_EEXIST); /* another pattern */
    ack(first);
    ck_assert_int_eq(weft_cursor_advance("bill", "orders.a", at, patience()), WEFT_EEXIST);
    struct weft_stored second = gets_job("orders.a", 2, 1);
    leave(s);
    ck_assert_int_eq(weft_subscribe_cursor("bill", "orders.a", NULL, patience()), WEFT_EEXIST);
    ck_assert_int_eq(weft_subscribe_cursor("bill", "orders.>", NULL, patience()), WEFT_OK);
    expect_end("", WEFT_EEXIST);
    ck_assert_int_eq(weft_cursor_remove("bill", "orders.a", patience()), WEFT_OK);
    s = join("orders.a", 9);
    ck_assert_int_eq(weft_shared_done(&second, patience()), WEFT_ECLOSED);
    ack(gets_job("orders.a", 2, 2)); /* which was given already */
    ack(gets_job("orders.a", 1, 1)); /* and from the start */
    ack(gets_job("orders.a", 2, 1));
    gets_nothing();
    say("done");
}

START_TEST(a_name_is_shared_or_plain)
{
    RUN(a, shared_or_plain);
}
END_TEST

/* Answers as a store does that does not know a request. */
static void old_store(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    ck_assert_int_eq(weft_register_global(WEFT_STORE_NAME), WEFT_OK);
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        const struct store_appended out = {.error = WEFT_ENOTSUP};
        if (weft_wants_reply(m)) wf_store_answer(m, store_appended_type(), &out);
        weft_msg_free(m);
    }
}

static void ask_old_store(const void *arg, size_t size)
{
    (void)arg, (void)size;
    ck_assert_int_eq(weft_spawn(NULL, old_store, NULL, 0, &(weft_spawn_options){.link = true}), WEFT_OK);
    await_store();
    ck_assert_int_eq(try_to_join("bill", "orders.>", 1), WEFT_ENOTSUP);
    ck_assert_int_eq(weft_queue_drop("jobs.x", 0, patience()), WEFT_ENOTSUP);
    say("done");
}

START_TEST(an_older_store_says_that_it_has_none)
{
    RUN(a, ask_old_store);
}
END_TEST

/* ---- Two nodes ------------------------------------------------------------------------------------------------- */

enum { RECORDS = 300 };

static void keep_store(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_with(NULL, 0, 0);
    publish_many("orders.a", RECORDS);
    say("open");
    weft_msg *m;
    ck_assert_int_eq(weft_recv(&m, WEFT_FOREVER), WEFT_ECANCELED);
}

/* Says what it gets; after some records it ends without acknowledging the last one, if `arg` says so. */
static void member(const void *arg, size_t size)
{
    int ends;
    (void)size;
    memcpy(&ends, arg, sizeof ends);
    await_store();
    join("orders.>", 8);
    say("member");
    for (int i = 0;; i++) {
        weft_msg *m;
        struct weft_stored got;
        if (weft_recv_tag(&m, WEFT_STORED, WEFT_FOREVER) < 0) return;
        ck_assert_int_eq(weft_stored_read(m, &got), WEFT_OK);
        weft_msg_free(m);
        if (ends > 0 && i == ends) {
            say("ends");
            return;
        }
        ack(got);
        say("did %d.", (int)got.at.offset);
    }
}

START_TEST(each_record_is_acknowledged_once)
{
    static const int ends[] = {0, 20, 5, 0};
    second_node();
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    for (int i = 0; i < 4; i++) {
        run_actor(i % 2 == 0 ? a : b, member, &ends[i], sizeof ends[i]);
        HEAR("member");
    }
    for (int i = 1; i <= RECORDS; i++) {
        char text[32];
        snprintf(text, sizeof text, "did %d.", i);
        ck_assert_int_eq(heard(text, 1), 1);
    }
}
END_TEST

/* ---- What one node can take ------------------------------------------------------------------------------------ */

/* A member asks for its first record when it has begun, so it may take some more to find that no more can begin. */
static void take_all_cursors(const void *arg, size_t size)
{
    int rc = WEFT_OK, count = 0;
    (void)arg, (void)size;
    await_store();
    for (; rc == WEFT_OK; count++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", count);
        rc = weft_subscribe_shared(name, "orders.>", NULL, NULL, patience());
    }
    ck_assert_msg(rc == WEFT_EFULL, "%d: %s", count, weft_strerror(rc));
    ck_assert_int_gt(count, WF_SHARES_OF_NODE);
    say("took");
    (void)weft_sleep(WEFT_FOREVER);
}

static void join_another(const void *arg, size_t size)
{
    (void)arg, (void)size;
    join("orders.>", 8);
    say("joined");
}

START_TEST(a_node_does_not_keep_others_from_sharing)
{
    second_node();
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    run_actor(b, take_all_cursors, NULL, 0);
    HEAR("took");
    run_actor(a, join_another, NULL, 0);
    HEAR("joined");
}
END_TEST

/* The store looks at all requests of a member when it takes one. */
static void ask_much(const void *arg, size_t size)
{
    enum { ASKS = 100, REFUSED = ASKS - WF_MEMBER_WAITS_MAX };
    static uint8_t body[256];
    struct weft_answer answers[ASKS];
    struct store_shared out;
    const struct store_share in = {weft_cstr("bill"), weft_cstr("orders.>"), 9, 1};
    weft_writer w = weft_writer_on(body, sizeof body);
    weft_pid store;
    int refused = 0;
    (void)arg, (void)size;
    ck_assert_int_eq(weft_whereis(WEFT_STORE_NAME, &store), WEFT_OK);
    store_share_put(&w, &in);
    for (int i = 0; i < ASKS; i++) answers[i] = (struct weft_answer){.from = store};
    ck_assert_int_ge(weft_gather(answers, ASKS, REFUSED, WF_STORE_SHARE, body, w.size, patience()), REFUSED);
    for (int i = 0; i < ASKS; i++) {
        if (answers[i].answer == NULL) continue;
        ck_assert_int_eq(weft_typed_read(store_shared_type(), weft_data(answers[i].answer),
                                         weft_size(answers[i].answer), &out, NULL),
                         0);
        refused += out.error == WEFT_EFULL;
    }
    ck_assert_int_eq(refused, REFUSED);
    weft_answers_free(answers, ASKS);
    say("was refused");
}

START_TEST(a_member_has_few_requests_that_wait)
{
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    run_actor(a, ask_much, NULL, 0);
    HEAR("was refused");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shared cursors");
    TCase *c = tcase_create("shared cursors");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 280);
    tcase_add_test(c, a_record_is_given_and_acknowledged);
    tcase_add_test(c, a_member_has_no_more_than_its_bound);
    tcase_add_test(c, a_lease_that_ends_by_time_makes_space);
    tcase_add_test(c, a_lease_that_is_made_shorter_makes_space);
    tcase_add_test(c, a_record_that_nobody_acknowledges_is_put_aside);
    tcase_add_test(c, records_are_acknowledged_up_to_one);
    tcase_add_test(c, acknowledgements_that_overlap_end_each_record_once);
    tcase_add_test(c, topics_of_a_pattern_may_come_later);
    tcase_add_test(c, a_pattern_may_have_many_topics);
    tcase_add_test(c, there_may_be_more_records_than_can_be_moved_ahead);
    tcase_add_test(c, what_the_limits_have_removed_is_told_to_one_member);
    tcase_add_test(c, a_removed_cursor_begins_anew_for_its_present_members);
    tcase_add_test(c, errors_are_those_of_the_header);
    tcase_add_test(c, a_name_is_shared_or_plain);
    tcase_add_test(c, an_older_store_says_that_it_has_none);
    tcase_add_test(c, each_record_is_acknowledged_once);
    tcase_add_test(c, a_node_does_not_keep_others_from_sharing);
    tcase_add_test(c, a_member_has_few_requests_that_wait);
    return run_suite_unforked(suite);
}

/* tests/unit/transport/store/shared_conformance.h -- tests of the promises of every engine about shared cursors: a
 * part of conformance.h, behind queue_conformance.h. */
#ifndef WF_STORE_SHARED_CONFORMANCE_H
#define WF_STORE_SHARED_CONFORMANCE_H

#include "shared_record.h"

static const char bill[] = "$shared.bill";

static struct wf_store_change share_up_to(const char *topic, uint64_t ahead, uint64_t most)
{
    return change_one((struct wf_store_change){
        .kind = WF_JOB_SHARE, .queue = bill, .topic = topic, .now = 7, .ahead = ahead, .most = most});
}

static uint64_t share_all(const char *topic)
{
    struct wf_store_change x = share_up_to(topic, 100, 100);
    ck_assert_msg(x.error == WEFT_OK, "%s", weft_strerror(x.error));
    ck_assert(!x.more && x.skipped == 0);
    return x.count;
}

/* Takes a job, which has to be "KIND TOPIC:OFFSET DATA"; NULL: there has to be none. */
static struct wf_store_job take_shared(const char *expected, int64_t now)
{
    struct wf_shared_record r;
    char text[300];
    struct wf_store_change x = change_one(
        (struct wf_store_change){.kind = WF_JOB_TAKE, .queue = bill, .now = now, .delay = LEASE});
    ck_assert_msg(x.error == (expected == NULL ? WEFT_ENOTFOUND : WEFT_OK), "%s", weft_strerror(x.error));
    if (expected == NULL) return x.job;
    ck_assert(wf_shared_read(x.body, x.job.size, &r));
    snprintf(text, sizeof text, "%d %.*s:%d %.*s", (int)r.kind, (int)r.topic_size, r.topic, (int)r.offset,
             (int)r.size, (const char *)r.data);
    if (r.kind == WF_SHARED_GAP)
        snprintf(text, sizeof text, "1 %.*s:%d %d", (int)r.topic_size, r.topic, (int)r.offset, (int)r.missing);
    ck_assert_str_eq(text, expected);
    struct wf_store_log log = find_log("orders.a");
    if (r.topic_size == 8 && r.topic[7] == 'a') ck_assert_uint_eq(r.epoch, log.epoch);
    free(x.body);
    return x.job;
}

START_TEST(each_record_behind_a_shared_cursor_becomes_one_job)
{
    append_ok("orders.a", "one");
    append_ok("orders.a", "two");
    append_ok("orders.b", "other");
    ck_assert_uint_eq(share_all("orders.a"), 2);
    ck_assert_uint_eq(share_all("orders.a"), 0);
    reopen();
    ck_assert_uint_eq(share_all("orders.a"), 0);
    ck_assert_uint_eq(share_all("orders.b"), 1);
    struct wf_store_job one = take_shared("0 orders.a:1 one", 10);
    reopen();
    struct wf_store_job two = take_shared("0 orders.a:2 two", 10), other = take_shared("0 orders.b:1 other", 10);
    ck_assert(one.tag == two.tag && one.tag != other.tag); /* the number of the log */
    ck_assert(one.id < two.id);
    append_ok("orders.a", "three");
    ck_assert_uint_eq(share_all("orders.a"), 1);
    ck_assert_int_eq(done_job(bill, two), WEFT_OK);
    ck_assert_int_eq(done_job(bill, other), WEFT_OK);
    reopen();
    take_shared("0 orders.a:3 three", 11);
    take_shared("0 orders.a:1 one", 10 + LEASE); /* which was not acknowledged */
    expect_cursor(bill, "orders.a", find_log("orders.a").epoch, 3);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(the_jobs_of_a_shared_cursor_are_bounded)
{
    for (int i = 0; i < 70; i++) append_ok("orders.a", i % 2 == 0 ? "even" : "odd");
    struct wf_store_change x = share_up_to("orders.a", 5, 3);
    ck_assert(x.error == WEFT_OK && x.count == 3 && x.more);
    x = share_up_to("orders.a", 5, 3);
    ck_assert(x.count == 2 && x.more);
    x = share_up_to("orders.a", 5, 3);
    ck_assert(x.error == WEFT_OK && x.count == 0 && x.more);
    expect_cursor(bill, "orders.a", find_log("orders.a").epoch, 5);
    ck_assert_int_eq(done_job(bill, take_shared("0 orders.a:1 even", 10)), WEFT_OK);
    x = share_up_to("orders.a", 5, 3);
    ck_assert(x.count == 1 && x.more);
    x = share_up_to("orders.a", 1000, 1000);
    ck_assert(x.count == 64 && !x.more);
    x = share_up_to("orders.none", 1000, 1000);
    ck_assert(x.error == WEFT_OK && x.count == 0 && !x.more);
    expect_queues(10, "$shared.bill=69,0,0,0 ");
}
END_TEST

START_TEST(dead_records_leave_space_for_others)
{
    for (int i = 0; i < 4; i++) append_ok("orders.a", "x");
    share_up_to("orders.a", 1, 9);
    for (int i = 0; i < 3; i++) take_shared("0 orders.a:1 x", 10 + i * LEASE);
    take_shared(NULL, 10 + 3 * LEASE);
    expect_queues(1000, "$shared.bill=0,0,0,1 ");
    struct wf_store_change x = share_up_to("orders.a", 1, 9);
    ck_assert(x.count == 1 && x.more);
    /* As many jobs as the queue may have, dead ones too. */
    x = change_one((struct wf_store_change){
        .kind = WF_JOB_SHARE, .queue = bill, .topic = "orders.a", .ahead = 9, .most = 9, .jobs_max = 2});
    ck_assert(x.error == WEFT_OK && x.count == 0 && x.more);
}
END_TEST

START_TEST(records_that_were_stored_together_are_shared_in_parts)
{
    struct wf_store_append batch[5];
    for (int i = 0; i < 5; i++) batch[i] = (struct wf_store_append){.topic = "orders.a", .data = "x", .size = 1};
    ck_assert_int_eq(fixture.engine->append(store, batch, 5), WEFT_OK);
    append_ok("orders.a", "x");
    struct wf_store_change x = share_up_to("orders.a", 9, 2);
    ck_assert(x.error == WEFT_OK && x.count == 2 && x.skipped == 0 && x.more);
    x = share_up_to("orders.a", 9, 2);
    ck_assert(x.error == WEFT_OK && x.count == 2 && x.skipped == 0 && x.more);
    x = share_up_to("orders.a", 9, 9);
    ck_assert(x.error == WEFT_OK && x.count == 2 && x.skipped == 0 && !x.more);
    for (int i = 1; i <= 6; i++) {
        char text[32];
        snprintf(text, sizeof text, "0 orders.a:%d x", i);
        take_shared(text, 10);
    }
}
END_TEST

START_TEST(a_record_of_the_largest_size_is_shared)
{
    struct wf_store_append a = {.topic = "orders.a", .size = WF_STORE_RECORD_MAX};
    void *big = calloc(1, a.size);
    a.data = big;
    ck_assert_int_eq(fixture.engine->append(store, &a, 1), WEFT_OK);
    ck_assert_int_eq(fixture.engine->append(store, &a, 1), WEFT_OK);
    struct wf_store_change x = share_up_to("orders.a", 9, 9);
    ck_assert(x.error == WEFT_OK && x.count == 1 && x.more);
    x = change_one((struct wf_store_change){.kind = WF_JOB_TAKE, .queue = bill, .now = 10, .delay = LEASE});
    struct wf_shared_record r;
    ck_assert(x.error == WEFT_OK && wf_shared_read(x.body, x.job.size, &r) && r.size == a.size);
    free(x.body);
    free(big);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(what_the_limits_have_removed_is_one_job)
{
    const struct wf_store_limits two = {.count = 2};
    for (int i = 0; i < 5; i++) ck_assert_int_eq(append_one("orders.a", "x", &two, NULL), WEFT_OK);
    ck_assert_uint_eq(share_all("orders.a"), 2); /* a new cursor begins with what there is */
    for (int i = 0; i < 5; i++) ck_assert_int_eq(append_one("orders.a", "y", &two, NULL), WEFT_OK);
    ck_assert_uint_eq(share_all("orders.a"), 3);
    take_shared("0 orders.a:4 x", 10);
    take_shared("0 orders.a:5 x", 10);
    take_shared("1 orders.a:9 3", 10);
    take_shared("0 orders.a:9 y", 10);
    take_shared("0 orders.a:10 y", 10);
    take_shared(NULL, 10);
}
END_TEST

START_TEST(another_epoch_is_one_job)
{
    append_ok("orders.a", "one");
    ck_assert_int_eq(advance_to(bill, "orders.a", 12345, 17), WEFT_OK);
    ck_assert_uint_eq(share_all("orders.a"), 2);
    take_shared("2 orders.a:1 ", 10);
    take_shared("0 orders.a:1 one", 10);
    expect_cursor(bill, "orders.a", find_log("orders.a").epoch, 1);
}
END_TEST

START_TEST(a_name_is_shared_or_plain)
{
    append_ok("orders.a", "one");
    append_ok("orders.b", "two");
    const uint64_t epoch = find_log("orders.a").epoch;
    ck_assert_int_eq(advance_to("bill", "orders.a", epoch, 1), WEFT_OK);
    ck_assert_int_eq(share_up_to("orders.a", 9, 9).error, WEFT_EEXIST);
    ck_assert_uint_eq(share_all("orders.b"), 1);
    ck_assert_int_eq(advance_to("bill", "orders.b", find_log("orders.b").epoch, 1), WEFT_EEXIST);
    ck_assert_int_eq(advance_to("bill", "orders.a", 0, 0), WEFT_OK);
    ck_assert_uint_eq(share_all("orders.a"), 1);
    /* Removed, it begins with the first record again. */
    ck_assert_int_eq(advance_to("bill", "orders.a", 0, 0), WEFT_OK);
    expect_cursor(bill, "orders.a", 0, 0);
    ck_assert_uint_eq(share_all("orders.a"), 1);
    ck_assert_int_eq(advance_to("bill", "orders.a", 0, 0), WEFT_OK);
    ck_assert_int_eq(advance_to("bill", "orders.a", epoch, 1), WEFT_OK);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(shares_that_are_wrong_change_nothing)
{
    append_ok("orders.a", "one");
    struct wf_store_change x = {.kind = WF_JOB_SHARE, .queue = "bill", .topic = "orders.a", .ahead = 9, .most = 9};
    ck_assert_int_eq(change_one(x).error, WEFT_EINVAL);
    x.queue = "$shared";
    ck_assert_int_eq(change_one(x).error, WEFT_EINVAL);
    x.queue = bill;
    x.topic = "orders.>";
    ck_assert_int_eq(change_one(x).error, WEFT_EINVAL);
    x.topic = NULL;
    ck_assert_int_eq(change_one(x).error, WEFT_EINVAL);
    expect_queues(10, "");
}
END_TEST

/* Plain cursors whose names have a shared one or none are asked for ahead, many at a time. */
START_TEST(a_batch_of_cursors_beside_shared_ones)
{
    char name[40][8];
    struct wf_store_advance a[40];
    append_ok("orders.a", "one");
    share_all("orders.a");
    for (int i = 0; i < 40; i++) {
        snprintf(name[i], sizeof name[i], "n%d", i);
        a[i] = (struct wf_store_advance){.name = i == 20 ? "bill" : name[i], .topic = "orders.a", .to = {9, 1}};
    }
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < 40; i++) a[i].to.offset = (uint64_t)(round * 10 + i);
        ck_assert_int_eq(fixture.engine->advance(store, a, 40), WEFT_OK);
        for (int i = 0; i < 40; i++) {
            ck_assert_int_eq(a[i].error, i == 20 ? WEFT_EEXIST : WEFT_OK);
            if (i != 20) expect_cursor(name[i], "orders.a", 9, (uint64_t)(round * 10 + i));
        }
    }
}
END_TEST

START_TEST(dead_jobs_are_dropped)
{
    append_ok("orders.a", "one");
    append_ok("orders.a", "two");
    share_all("orders.a");
    struct wf_store_change x = {.kind = WF_JOB_DROP, .queue = bill, .now = 5};
    ck_assert_int_eq(change_one(x).error, WEFT_ENOTFOUND);
    uint64_t id = 0;
    for (int i = 0; i < 3; i++) {
        id = take_shared("0 orders.a:1 one", 10 + 2 * i * LEASE).id;
        take_shared("0 orders.a:2 two", 11 + 2 * i * LEASE);
    }
    x.id = id;
    ck_assert_int_eq(change_one(x).error, WEFT_ENOTFOUND); /* it is not dead yet */
    take_shared(NULL, 1000);
    ck_assert_uint_eq(change_one(x).count, 1);
    ck_assert_int_eq(change_one(x).error, WEFT_ENOTFOUND);
    expect_queues(1000, "$shared.bill=0,0,0,1 ");
    x.id = 0;
    ck_assert_uint_eq(change_one(x).count, 1);
    reopen();
    expect_queues(1000, "");
    ck_assert_uint_eq(share_all("orders.a"), 0);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(a_dead_reminder_is_dropped_with_its_job)
{
    set_reminder("q", "k", "tea", 0, 10, 0);
    for (int i = 0; i < 3; i++) take_reminder("q", "k", "tea", 0, i * LEASE);
    take_job("q", NULL, 1000);
    ck_assert_uint_eq(change_one((struct wf_store_change){.kind = WF_JOB_DROP, .queue = "q", .now = 5}).count, 1);
    expect_reminders("", "", 9, "");
    expect_queues(1000, "");
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

static void add_shared_tests(TCase *c)
{
    tcase_add_test(c, each_record_behind_a_shared_cursor_becomes_one_job);
    add_bound_test(c, the_jobs_of_a_shared_cursor_are_bounded);
    tcase_add_test(c, dead_records_leave_space_for_others);
    tcase_add_test(c, records_that_were_stored_together_are_shared_in_parts);
    tcase_add_test(c, a_record_of_the_largest_size_is_shared);
    tcase_add_test(c, what_the_limits_have_removed_is_one_job);
    tcase_add_test(c, another_epoch_is_one_job);
    tcase_add_test(c, a_name_is_shared_or_plain);
    tcase_add_test(c, shares_that_are_wrong_change_nothing);
    tcase_add_test(c, a_batch_of_cursors_beside_shared_ones);
    tcase_add_test(c, dead_jobs_are_dropped);
    tcase_add_test(c, a_dead_reminder_is_dropped_with_its_job);
}

#endif

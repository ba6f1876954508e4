/* Subscriptions while there is no store, or the store does not answer: they wait for events, and send no useless
 * requests. The tests use virtual time. */
#include "../../../../suite.h"

#include <weft/queue.h>
#include <weft/test.h>

#include "actor.h"
#include "new_topics.h"
#include "puppet_store.h"
#include "topic_set.h"

static int times(uint32_t what)
{
    weft_msg *m;
    int count = 0;
    for (; weft_recv_tag(&m, what, WEFT_NOW) == 0; count++) weft_msg_free(m);
    return count;
}

static int asked(void)
{
    return times(PUPPET_WAS_ASKED);
}

static void subscribe(const char *topic)
{
    weft_require(weft_subscribe_from(topic, WEFT_FROM_START, NULL, weft_after(WEFT_SEC(1))) >= 0);
}

static void end_store(weft_pid pid)
{
    weft_wait on = weft_on_end(pid);
    weft_require(weft_kill(pid) >= 0);
    weft_require(weft_wait_any(&on, 1, weft_after(WEFT_SEC(1))) >= 0);
    weft_require(weft_settle() >= 0);
}

struct how {
    const char *topic;
    enum puppet_way way;
};

static void nothing_wakes_it(const void *arg, size_t size)
{
    const struct how *how = arg;
    (void)size;
    weft_pid store = puppet_up(PUPPET_HOLDS);
    subscribe(how->topic);
    weft_require(weft_settle() >= 0);
    if (asked() != 1) weft_fail(1, "it has not asked");
    for (int i = 0; i < 2; i++) {
        const struct wf_timer *timer = wf_heap_first(&wf_here->timers);
        if (timer != NULL && timer != &wf_actors_of(wf_here)->patrol) weft_fail(2, "round %d: a timer", i);
        if (i == 0) end_store(store);
    }
    weft_require(weft_advance(WEFT_SEC(3600)) >= 0);
    if (asked() != 0) weft_fail(3, "it has asked nobody");
    int64_t before = weft_now();
    puppet_up(PUPPET_HOLDS);
    if (asked() != 1 || weft_now() != before) weft_fail(4, "it did not ask the new store at once");
}

static void a_store_in_need_is_left_alone(const void *arg, size_t size)
{
    const struct how *how = arg;
    (void)size;
    weft_pid store = puppet_up(how->way);
    subscribe(how->topic);
    weft_require(weft_advance(WEFT_SEC(10)) >= 0);
    int count = asked();
    if (count < 5 || count > 12) weft_fail(5, "%d requests in ten seconds", count);
    end_store(store);
    (void)asked();
    weft_require(weft_advance(WEFT_SEC(2)) >= 0);
    if (asked() != 0) weft_fail(6, "it has asked nobody");
    puppet_up(PUPPET_HOLDS);
    if (asked() != 1) weft_fail(7, "it did not ask the new store at once");
}

static void tell(weft_pid store, const char *topic, uint64_t since, uint64_t number)
{
    struct puppet_news news = {.since = since, .number = number};
    snprintf(news.topic, sizeof news.topic, "%s", topic);
    weft_require(weft_send(store, PUPPET_TELLS, &news, sizeof news) >= 0);
    weft_require(weft_settle() >= 0);
}

static void new_topics_are_told(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid store = puppet_up(PUPPET_HOLDS);
    subscribe("room.*");
    weft_require(weft_settle() >= 0);
    if (times(PUPPET_WAS_LISTED) != 1 || asked() != 1) weft_fail(1, "it has not listed the logs once");
    for (uint64_t i = 1; i <= 100; i++) {
        char topic[32];
        snprintf(topic, sizeof topic, "room.%d", (int)i);
        tell(store, topic, i, i + 1);
        if (asked() != 2) weft_fail(2, "it does not read %s", topic); /* and it watches again */
    }
    tell(store, "other.x", 101, 102);
    if (asked() != 1) weft_fail(3, "it reads what does not match");
    tell(store, "room.7", 102, 103);
    if (asked() != 1) weft_fail(4, "it reads a topic twice");
    if (times(PUPPET_WAS_LISTED) != 0) weft_fail(5, "it has listed the logs again");
    tell(store, "room.x", 9, 200); /* of a store that does not know what it has seen */
    if (times(PUPPET_WAS_LISTED) != 1) weft_fail(6, "it has not listed the logs again");
}

START_TEST(a_new_topic_is_told_and_no_log_is_listed)
{
    int rc = weft_test_run(new_topics_are_told, NULL, 0, NULL);
    ck_assert_msg(rc == 0, "%s", weft_test_report());
}
END_TEST

/* ---- Pages ------------------------------------------------------------------------------------------------------ */

/* Writes the fields of a page in front of its rows. */
static void begin_page(weft_writer *w, uint32_t fields, uint64_t first, uint32_t rows)
{
    weft_put_array(w, fields);
    weft_put_int(w, 0);
    weft_put_uint(w, 5);
    weft_put_uint(w, first);
    weft_put_uint(w, 9);
    weft_put_array(w, rows);
}

/* Fields: 4, or of another version: 3, without a body; or 5. */
static void put_row(weft_writer *w, uint32_t fields, uint64_t offset)
{
    weft_put_array(w, fields);
    weft_put_uint(w, offset);
    weft_put_int(w, 1000 + (int64_t)offset);
    if (offset == 9) weft_put_nil(w);
    else weft_put_uint(w, offset + 7);
    if (fields > 3) weft_put_bin(w, "body", 4);
    if (fields > 4) weft_put_str(w, weft_cstr("what this version does not know"));
}

static void give(weft_pid store, const weft_writer *w, const void *bytes)
{
    weft_require(w->error == 0);
    weft_require(weft_send(store, PUPPET_ANSWERS, bytes, w->size) >= 0);
    weft_require(weft_settle() >= 0);
}

static void expect_record(uint64_t offset, const char *body)
{
    weft_msg *m;
    struct weft_stored got;
    weft_require(weft_recv_tag(&m, WEFT_STORED, WEFT_NOW) == 0 && weft_stored_read(m, &got) == 0);
    const uint32_t tag = offset == 9 ? 0 : (uint32_t)offset + 7;
    if (got.kind != WEFT_STORED_RECORD || got.at.epoch != 5 || got.at.offset != offset || got.tag != tag ||
        got.time != 1000 + (int64_t)offset || got.size != strlen(body) || memcmp(got.data, body, got.size) != 0 ||
        strcmp(got.topic, "room.tea") != 0 || got.error != 0 || got.attempts != 0 || got.shared[0] != '\0')
        weft_fail(1, "record %llu is another one", (unsigned long long)offset);
    weft_msg_free(m);
}

static void expect_end(uint64_t offset)
{
    weft_msg *m;
    struct weft_stored got;
    weft_require(weft_recv_tag(&m, WEFT_STORED, WEFT_NOW) == 0 && weft_stored_read(m, &got) == 0);
    if (got.kind != WEFT_STORED_ENDED || got.error != WEFT_EFORMAT || got.at.offset != offset)
        weft_fail(2, "it has not ended at %llu", (unsigned long long)offset);
    weft_msg_free(m);
}

static void pages_of_other_versions(const void *arg, size_t size)
{
    uint8_t bytes[256];
    (void)arg, (void)size;
    weft_pid store = puppet_up(PUPPET_HOLDS);
    subscribe("room.tea");
    weft_require(weft_settle() >= 0);
    weft_writer w = weft_writer_on(bytes, sizeof bytes);
    begin_page(&w, 5, 1, 4);
    put_row(&w, 4, 1);
    put_row(&w, 5, 2);
    put_row(&w, 3, 3);
    put_row(&w, 4, 4);
    give(store, &w, bytes);
    for (uint64_t i = 1; i <= 4; i++) expect_record(i, i == 3 ? "" : "body");
    w = weft_writer_on(bytes, sizeof bytes);
    begin_page(&w, 6, 9, 1); /* the records before were removed */
    put_row(&w, 4, 9);
    weft_put_uint(&w, 5);
    give(store, &w, bytes);
    weft_msg *gap;
    struct weft_stored got;
    weft_require(weft_recv_tag(&gap, WEFT_STORED, WEFT_NOW) == 0 && weft_stored_read(gap, &got) == 0);
    if (got.kind != WEFT_STORED_GAP || got.missing != 4) weft_fail(3, "no gap");
    weft_msg_free(gap);
    expect_record(9, "body");
}

/* It asks for the second page while it hands on the first one. */
static void a_store_that_ends_meanwhile(const void *arg, size_t size)
{
    uint8_t bytes[256];
    (void)arg, (void)size;
    weft_pid store = puppet_up(PUPPET_HOLDS);
    subscribe("room.tea");
    weft_require(weft_settle() >= 0);
    for (uint64_t i = 1; i <= 8; i++) {
        weft_writer w = weft_writer_on(bytes, sizeof bytes);
        begin_page(&w, 5, 1, 1);
        put_row(&w, 4, i);
        (void)asked();
        give(store, &w, bytes);
        expect_record(i, "body");
        if (asked() != 1) weft_fail(1, "it has not asked once");
        if (i % 3 != 0) continue;
        end_store(store);
        weft_require(weft_advance(WEFT_SEC(3)) >= 0);
        if (asked() != 0) weft_fail(2, "it has asked nobody");
        store = puppet_up(PUPPET_HOLDS);
        weft_require(weft_settle() >= 0);
    }
}

static void malformed_pages(const void *arg, size_t size)
{
    uint8_t bytes[256];
    (void)arg, (void)size;
    weft_pid store = puppet_up(PUPPET_HOLDS);
    subscribe("room.tea");
    weft_require(weft_settle() >= 0);
    weft_writer w = weft_writer_on(bytes, sizeof bytes);
    begin_page(&w, 5, 1, 2);
    put_row(&w, 4, 1);
    weft_put_array(&w, 4);
    weft_put_str(&w, weft_cstr("no offset"));
    give(store, &w, bytes);
    expect_record(1, "body");
    expect_end(2);
    subscribe("room.tea");
    weft_require(weft_settle() >= 0);
    w = weft_writer_on(bytes, sizeof bytes);
    begin_page(&w, 5, 1, 2);
    put_row(&w, 4, 1);
    w.size -= 3; /* it is cut off */
    give(store, &w, bytes);
    expect_end(1);
    subscribe("room.tea");
    weft_require(weft_settle() >= 0);
    w = weft_writer_on(bytes, sizeof bytes);
    weft_put_str(&w, weft_cstr("no page"));
    give(store, &w, bytes);
    expect_end(1);
}

START_TEST(pages_of_other_versions_are_read)
{
    int rc = weft_test_run(pages_of_other_versions, NULL, 0, NULL);
    ck_assert_msg(rc == 0, "%s", weft_test_report());
}
END_TEST

START_TEST(a_subscription_goes_on_when_the_store_ends_between_two_pages)
{
    int rc = weft_test_run(a_store_that_ends_meanwhile, NULL, 0, NULL);
    ck_assert_msg(rc == 0, "%s", weft_test_report());
}
END_TEST

START_TEST(a_malformed_page_ends_a_subscription)
{
    int rc = weft_test_run(malformed_pages, NULL, 0, NULL);
    ck_assert_msg(rc == 0, "%s", weft_test_report());
}
END_TEST

/* ---- What they are made of -------------------------------------------------------------------------------------- */

static void expect_after(const struct wf_new_topics *t, uint64_t seen, size_t max, size_t count, uint64_t first)
{
    weft_text found[WF_NEW_TOPICS_MAX + 1];
    char name[32];
    ck_assert(wf_new_topics_knows(t, seen));
    ck_assert_uint_eq(wf_new_topics_after(t, seen, found, max), count);
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "t.%d", (int)(first + i));
        ck_assert(weft_text_equal(found[i], name));
    }
}

START_TEST(the_last_new_topics_are_known)
{
    enum { BEGIN = 5000, COUNT = 3000 };
    struct wf_new_topics *t = calloc(1, sizeof *t);
    wf_new_topics_init(t, BEGIN);
    ck_assert(!wf_new_topics_knows(t, BEGIN - 1) && !wf_new_topics_knows(t, BEGIN + 1) && !wf_new_topics_knows(t, 0));
    expect_after(t, BEGIN, 9, 0, 0);
    for (int i = 1; i <= COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "t.%d", i);
        wf_new_topics_add(t, name);
        ck_assert_uint_eq(t->number, BEGIN + (uint64_t)i);
        expect_after(t, t->number - 1, 9, 1, (uint64_t)i);
        if (i == 10) expect_after(t, BEGIN + 2, 5, 5, 3);
    }
    expect_after(t, t->number - WF_NEW_TOPICS_MAX, WF_NEW_TOPICS_MAX + 1, WF_NEW_TOPICS_MAX,
                 COUNT + 1 - WF_NEW_TOPICS_MAX);
    ck_assert(!wf_new_topics_knows(t, t->number - WF_NEW_TOPICS_MAX - 1) && !wf_new_topics_knows(t, t->number + 1));
    wf_new_topics_free(t);
    free(t);
}
END_TEST

START_TEST(a_set_has_its_topics)
{
    struct wf_topic_set s = {.secret = 7};
    char name[32];
    ck_assert(!wf_topic_set_has(&s, "t.0"));
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "t.%d", i);
        ck_assert(!wf_topic_set_has(&s, name));
        ck_assert_int_eq(wf_topic_set_add(&s, name), WEFT_OK);
    }
    for (int i = 0; i < 2000; i += 2) {
        snprintf(name, sizeof name, "t.%d", i);
        wf_topic_set_remove(&s, name);
    }
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "t.%d", i);
        ck_assert(wf_topic_set_has(&s, name) == (i % 2 == 1));
    }
    ck_assert_uint_eq(s.count, 1000);
    wf_topic_set_free(&s);
}
END_TEST

START_TEST(an_idle_subscription_wakes_for_a_store_only)
{
    const struct how how = {_i == 0 ? "room.tea" : "room.*", PUPPET_HOLDS};
    int rc = weft_test_run(nothing_wakes_it, &how, sizeof how, NULL);
    ck_assert_msg(rc == 0, "%s", weft_test_report());
}
END_TEST

START_TEST(a_store_that_cannot_answer_is_asked_once_in_a_second)
{
    const struct how how = {_i < 2 ? "room.tea" : "room.*", _i % 2 == 0 ? PUPPET_LETS_GO : PUPPET_IS_FULL};
    int rc = weft_test_run(a_store_in_need_is_left_alone, &how, sizeof how, NULL);
    ck_assert_msg(rc == 0, "%s", weft_test_report());
}
END_TEST

START_TEST(no_message_is_no_record_and_no_job)
{
    struct weft_stored record;
    struct weft_queue_job job;
    ck_assert_int_eq(weft_stored_read(NULL, &record), WEFT_EFORMAT);
    ck_assert_int_eq(weft_queue_read(NULL, &job), WEFT_EFORMAT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("subscriptions that wait for a store");
    TCase *c = tcase_create("events");
    suite_add_tcase(suite, c);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, the_last_new_topics_are_known);
    tcase_add_test(c, a_set_has_its_topics);
    tcase_add_test(c, pages_of_other_versions_are_read);
    tcase_add_test(c, a_subscription_goes_on_when_the_store_ends_between_two_pages);
    tcase_add_test(c, a_malformed_page_ends_a_subscription);
    tcase_add_test(c, a_new_topic_is_told_and_no_log_is_listed);
    tcase_add_loop_test(c, an_idle_subscription_wakes_for_a_store_only, 0, 2);
    tcase_add_loop_test(c, a_store_that_cannot_answer_is_asked_once_in_a_second, 0, 4);
    tcase_add_test(c, no_message_is_no_record_and_no_job);
    return run_suite(suite);
}

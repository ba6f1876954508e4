/* tests/unit/transport/store/conformance.h -- what every engine of the store promises (transport/store/engine/engine.h), as
 * tests. A program that includes it defines `fixture` for its engine, and adds conformance_case() to its suite. */
#ifndef WF_STORE_CONFORMANCE_H
#define WF_STORE_CONFORMANCE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "platform.h"
#include "suite.h"

#ifndef _WIN32
#include <sys/wait.h>
#endif

static struct {
    const struct wf_store_engine *engine;
    const char *vfs, *where;
    void (*begin)(void), (*end)(void); /* before the first opening of a test, and after the last close */
    bool threads;                      /* whether several threads and processes may use it at once */
    void (*run_sql)(const char *sql);  /* changes the tables by hand, while the store is closed; NULL: nobody can */
    const char *cursors_by_hand;       /* SQL that makes so many cursors (%d); NULL: the engine makes all */
} fixture;

static struct wf_store *store;
static struct wf_store_why why;

/* For tests that take a table to its bound, of up to a hundred thousand entries: a few entries run the same code, and a tool
 * has seen those. */
static void add_bound_test(TCase *c, const TTest *test)
{
    if (!under_tools()) tcase_add_test(c, test);
}

static struct wf_store *open_as(bool read_only, int *rc)
{
    struct wf_store *s = NULL;
    *rc = fixture.engine->open(&s, fixture.where,
                               &(struct wf_store_opening){.read_only = read_only, .vfs = fixture.vfs}, &why);
    return s;
}

static void open_it(void)
{
    int rc;
    store = open_as(false, &rc);
    ck_assert_msg(rc == WEFT_OK, "%s: %s", weft_strerror(rc), why.text);
}

static void close_it(void)
{
    fixture.engine->close(store);
    store = NULL;
}

static void reopen(void)
{
    close_it();
    open_it();
}

static void setup(void)
{
    fixture.begin();
    open_it();
}

static void teardown(void)
{
    close_it();
    fixture.end();
}

static int append_one(const char *topic, const char *text, const struct wf_store_limits *limits, uint64_t *offset)
{
    struct wf_store_append a = {
        .topic = topic, .time = 1000, .tag = 7, .data = text, .size = strlen(text), .limits = limits};
    int rc = fixture.engine->append(store, &a, 1);
    if (offset != NULL) *offset = a.offset;
    return rc < 0 ? rc : a.error;
}

static void append_ok(const char *topic, const char *text)
{
    int rc = append_one(topic, text, NULL, NULL);
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
}

/* "3=text 4=text ": what was read. */
struct text_of {
    char text[4096];
    size_t size;
    int stop_after;
};

static bool add_text(void *arg, const struct wf_store_record *r)
{
    struct text_of *t = arg;
    t->size += (size_t)snprintf(t->text + t->size, sizeof t->text - t->size, "%llu=%.*s ",
                                (unsigned long long)r->offset, (int)r->size, (const char *)r->data);
    return --t->stop_after != 0;
}

static const char *read_text(const char *topic, uint64_t from, size_t count, size_t bytes)
{
    static struct text_of t;
    t = (struct text_of){0};
    int rc = fixture.engine->read(store, topic, from, count, bytes, add_text, &t, NULL);
    if (rc < 0) return weft_error_name(rc);
    return t.text;
}

static struct wf_store_log find_log(const char *topic)
{
    struct wf_store_log log;
    ck_assert_int_eq(fixture.engine->find(store, topic, &log), WEFT_OK);
    return log;
}

static void no_fault(void *arg, const char *topic, uint64_t offset, const char *text)
{
    (void)arg;
    ck_abort_msg("%s %llu: %s", topic == NULL ? "-" : topic, (unsigned long long)offset, text);
}

/* ---- Logs ------------------------------------------------------------------------------------------------------ */

START_TEST(records_have_offsets_from_one)
{
    uint64_t offset;
    ck_assert_int_eq(append_one("room.tea", "a", NULL, &offset), WEFT_OK);
    ck_assert_uint_eq(offset, 1);
    ck_assert_int_eq(append_one("room.tea", "b", NULL, &offset), WEFT_OK);
    ck_assert_uint_eq(offset, 2);
    ck_assert_int_eq(append_one("room.milk", "c", NULL, &offset), WEFT_OK);
    ck_assert_uint_eq(offset, 1);
    ck_assert_str_eq(read_text("room.tea", 1, 100, 1000), "1=a 2=b ");
    ck_assert_str_eq(read_text("room.milk", 1, 100, 1000), "1=c ");
    struct wf_store_log log = find_log("room.tea");
    ck_assert(log.epoch != 0 && log.first == 1 && log.last == 2 && log.bytes == 2);
    ck_assert(find_log("room.milk").epoch != log.epoch);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(the_clock_of_an_engine_is_of_this_century)
{
    int64_t now = fixture.engine->clock(store), year = INT64_C(365) * 86400 * 1000000000;
    ck_assert_int_gt(now, 52 * year);
    ck_assert_int_lt(now, 130 * year);
    ck_assert_int_ge(fixture.engine->clock(store), now);
}
END_TEST

START_TEST(records_are_there_after_an_opening)
{
    append_ok("a", "one");
    uint64_t epoch = find_log("a").epoch;
    reopen();
    append_ok("a", "two");
    ck_assert_str_eq(read_text("a", 1, 100, 1000), "1=one 2=two ");
    ck_assert_uint_eq(find_log("a").epoch, epoch);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(a_batch_is_many_records)
{
    struct wf_store_append batch[] = {{.topic = "a", .data = "1", .size = 1},
                                      {.topic = "b", .data = "2", .size = 1, .tag = UINT32_MAX, .time = INT64_MAX},
                                      {.topic = "a", .data = NULL, .size = 0}};
    ck_assert_int_eq(fixture.engine->append(store, batch, 3), WEFT_OK);
    for (int i = 0; i < 3; i++) ck_assert_int_eq(batch[i].error, WEFT_OK);
    ck_assert_uint_eq(batch[2].offset, 2);
    ck_assert_uint_eq(batch[2].epoch, batch[0].epoch);
    ck_assert_str_eq(read_text("a", 1, 9, 9), "1=1 2= ");
    ck_assert_str_eq(read_text("b", 1, 9, 9), "1=2 ");
}
END_TEST

START_TEST(a_bad_record_does_not_spoil_its_batch)
{
    char *large = calloc(1, WF_STORE_RECORD_MAX + 1);
    struct wf_store_append batch[] = {{.topic = "a", .data = "1", .size = 1},
                                      {.topic = "a.*", .data = "2", .size = 1},
                                      {.topic = "a", .data = large, .size = WF_STORE_RECORD_MAX + 1},
                                      {.topic = "a", .data = large, .size = WF_STORE_RECORD_MAX},
                                      {.topic = "a", .data = NULL, .size = 1},
                                      {.topic = "", .data = "5", .size = 1}};
    ck_assert_int_eq(fixture.engine->append(store, batch, 6), WEFT_OK);
    const int expected[] = {WEFT_OK, WEFT_EINVAL, WEFT_ETOOBIG, WEFT_OK, WEFT_EINVAL, WEFT_EINVAL};
    for (int i = 0; i < 6; i++) ck_assert_int_eq(batch[i].error, expected[i]);
    ck_assert_uint_eq(batch[1].offset, 0);
    ck_assert_uint_eq(batch[3].offset, 2);
    ck_assert_uint_eq(find_log("a").last, 2);
    free(large);
}
END_TEST

START_TEST(batches_are_bounded)
{
    static struct wf_store_append batch[WF_STORE_BATCH_MAX + 1];
    char *large = calloc(1, WF_STORE_RECORD_MAX);
    for (int i = 0; i <= WF_STORE_BATCH_MAX; i++)
        batch[i] = (struct wf_store_append){.topic = "a", .data = "x", .size = 1};
    ck_assert_int_eq(fixture.engine->append(store, batch, 0), WEFT_EINVAL);
    ck_assert_int_eq(fixture.engine->append(store, batch, WF_STORE_BATCH_MAX + 1), WEFT_EINVAL);
    ck_assert_int_eq(batch[0].error, WEFT_EINVAL);
    ck_assert_int_eq(fixture.engine->append(store, batch, WF_STORE_BATCH_MAX), WEFT_OK);
    for (int i = 0; i < 17; i++)
        batch[i] = (struct wf_store_append){.topic = "a", .data = large, .size = WF_STORE_RECORD_MAX};
    ck_assert_int_eq(fixture.engine->append(store, batch, 17), WEFT_ETOOBIG);
    ck_assert_uint_eq(find_log("a").last, WF_STORE_BATCH_MAX);
    free(large);
}
END_TEST

START_TEST(topics_are_bounded)
{
    char topic[300];
    memset(topic, 'x', sizeof topic);
    topic[256] = '\0';
    ck_assert_int_eq(append_one(topic, "1", NULL, NULL), WEFT_EINVAL);
    topic[255] = '\0';
    ck_assert_int_eq(append_one(topic, "1", NULL, NULL), WEFT_OK);
    ck_assert_str_eq(read_text(topic, 1, 9, 9), "1=1 ");
    ck_assert_int_eq(append_one("1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17", "1", NULL, NULL), WEFT_EINVAL);
    ck_assert_int_eq(append_one("a..b", "1", NULL, NULL), WEFT_EINVAL);
    ck_assert_int_eq(append_one("a.b'); DROP TABLE records; --", "1", NULL, NULL), WEFT_EINVAL);
    ck_assert_int_eq(append_one(NULL, "1", NULL, NULL), WEFT_EINVAL);
}
END_TEST

START_TEST(a_page_has_bounds)
{
    for (int i = 0; i < 9; i++) append_ok("a", "abc");
    ck_assert_str_eq(read_text("a", 3, 2, 1000), "3=abc 4=abc ");
    ck_assert_str_eq(read_text("a", 3, 100, 6), "3=abc 4=abc ");
    ck_assert_str_eq(read_text("a", 3, 100, 1), "3=abc ");
    ck_assert_str_eq(read_text("a", 0, 1, 1000), "1=abc ");
    ck_assert_str_eq(read_text("a", 9, 100, 1000), "9=abc ");
    ck_assert_str_eq(read_text("a", 10, 100, 1000), "");
    ck_assert_str_eq(read_text("a", UINT64_MAX, 100, 1000), "");
    ck_assert_str_eq(read_text("b", 1, 100, 1000), "WEFT_ENOTFOUND");
    ck_assert_str_eq(read_text("a.>", 1, 100, 1000), "WEFT_ENOTFOUND");
    struct text_of t = {.stop_after = 2};
    ck_assert_int_eq(fixture.engine->read(store, "a", 1, 100, 1000, add_text, &t, NULL), 2);
    ck_assert_str_eq(t.text, "1=abc 2=abc ");
}
END_TEST

static bool add_topic(void *arg, const struct wf_store_log *log)
{
    strcat(arg, log->topic);
    strcat(arg, " ");
    return strcmp(log->topic, "d") != 0;
}

START_TEST(logs_are_listed_in_order)
{
    char text[256] = "";
    ck_assert_int_eq(fixture.engine->list(store, NULL, add_topic, text), WEFT_OK);
    ck_assert_str_eq(text, "");
    for (const char *topics = "cbeda"; *topics != '\0'; topics++) append_ok((char[]){*topics, '\0'}, "x");
    ck_assert_int_eq(fixture.engine->list(store, NULL, add_topic, text), WEFT_OK);
    ck_assert_str_eq(text, "a b c d ");
    text[0] = '\0';
    ck_assert_int_eq(fixture.engine->list(store, "b", add_topic, text), WEFT_OK);
    ck_assert_str_eq(text, "c d ");
}
END_TEST

/* Before each topic but the last ones, and behind each, a new one begins while the list is read. */
static bool add_more_topics(void *arg, const struct wf_store_log *log)
{
    (void)add_topic(arg, log);
    const char before[] = {(char)(log->topic[0] - 1), '5', '\0'}, behind[] = {log->topic[0], '5', '\0'};
    if (log->topic[1] != '\0') return true;
    append_ok(before, "x");
    append_ok(behind, "x");
    return true;
}

START_TEST(logs_that_begin_while_they_are_listed)
{
    char text[256] = "";
    for (const char *topics = "fbd"; *topics != '\0'; topics++) append_ok((char[]){*topics, '\0'}, "x");
    ck_assert_int_eq(fixture.engine->list(store, NULL, add_more_topics, text), WEFT_OK);
    ck_assert_str_eq(text, "b b5 d d5 f f5 ");
    text[0] = '\0';
    ck_assert_int_eq(fixture.engine->list(store, "b5", add_topic, text), WEFT_OK);
    ck_assert_str_eq(text, "c5 d ");
    text[0] = '\0';
    ck_assert_int_eq(fixture.engine->list(store, "d", add_topic, text), WEFT_OK);
    ck_assert_str_eq(text, "d5 e5 f f5 ");
    text[0] = '\0';
    ck_assert_int_eq(fixture.engine->list(store, "f5", add_topic, text), WEFT_OK);
    ck_assert_int_eq(fixture.engine->list(store, "zz", add_topic, text), WEFT_OK);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(a_store_has_a_thousand_logs)
{
    char topic[32], text[32];
    static struct wf_store_append batch[1000];
    static char topics[1000][16];
    for (int i = 0; i < 1000; i++) {
        snprintf(topics[i], sizeof topics[i], "t.%d", i);
        batch[i] = (struct wf_store_append){.topic = topics[i], .data = topics[i], .size = strlen(topics[i])};
    }
    ck_assert_int_eq(fixture.engine->append(store, batch, 1000), WEFT_OK);
    reopen();
    for (int i = 0; i < 1000; i++) {
        snprintf(topic, sizeof topic, "t.%d", i);
        snprintf(text, sizeof text, "1=t.%d ", i);
        ck_assert_str_eq(read_text(topic, 1, 9, 99), text);
        ck_assert_uint_eq(find_log(topic).epoch, batch[i].epoch);
    }
}
END_TEST

/* ---- Trimming -------------------------------------------------------------------------------------------------- */

START_TEST(a_trim_removes_old_records)
{
    for (int i = 0; i < 9; i++) append_ok("a", "abc");
    ck_assert_int_eq(fixture.engine->trim(store, "a", &(struct wf_store_limits){.count = 7}, 0), WEFT_OK);
    ck_assert_uint_eq(find_log("a").first, 3);
    ck_assert_uint_eq(find_log("a").bytes, 21);
    ck_assert_int_eq(fixture.engine->trim(store, "a", &(struct wf_store_limits){.bytes = 16}, 0), WEFT_OK);
    ck_assert_str_eq(read_text("a", 1, 1, 9), "5=abc ");
    ck_assert_int_eq(fixture.engine->trim(store, "a", &(struct wf_store_limits){0}, 0), WEFT_OK);
    ck_assert_uint_eq(find_log("a").first, 5);
    ck_assert_int_eq(fixture.engine->trim(store, "a", &(struct wf_store_limits){.age = 10}, 1010), WEFT_OK);
    ck_assert_uint_eq(find_log("a").first, 5);
    ck_assert_int_eq(fixture.engine->trim(store, "a", &(struct wf_store_limits){.age = 10}, 1011), WEFT_OK);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "9=abc ");
    reopen();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "9=abc ");
    append_ok("a", "new");
    ck_assert_str_eq(read_text("a", 1, 9, 99), "9=abc 10=new ");
    ck_assert_int_eq(fixture.engine->trim(store, "b", &(struct wf_store_limits){.count = 7}, 0), WEFT_ENOTFOUND);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(limits_hold_at_each_append)
{
    const struct wf_store_limits few = {.count = 3};
    uint64_t offset;
    for (uint64_t i = 1; i <= 50; i++) {
        ck_assert_int_eq(append_one("a", "abc", &few, &offset), WEFT_OK);
        ck_assert_uint_eq(offset, i);
        ck_assert_uint_eq(find_log("a").first, i < 3 ? 1 : i - 2);
    }
    /* One record that is alone over the limit stays. */
    ck_assert_int_eq(append_one("b", "0123456789", &(struct wf_store_limits){.bytes = 5}, &offset), WEFT_OK);
    ck_assert_int_eq(append_one("b", "0123456789", &(struct wf_store_limits){.bytes = 5}, &offset), WEFT_OK);
    ck_assert_str_eq(read_text("b", 1, 9, 99), "2=0123456789 ");
}
END_TEST

START_TEST(a_trim_removes_many_records_at_once)
{
    static struct wf_store_append batch[150];
    for (int i = 0; i < 150; i++) batch[i] = (struct wf_store_append){.topic = "a", .data = "x", .size = 1};
    ck_assert_int_eq(fixture.engine->append(store, batch, 150), WEFT_OK);
    ck_assert_int_eq(fixture.engine->trim(store, "a", &(struct wf_store_limits){.count = 2}, 0), WEFT_OK);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "149=x 150=x ");
    ck_assert_uint_eq(find_log("a").bytes, 2);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

/* Limits are of a record: one without any does not remove what is before it, and one that has others does not undo that. */
START_TEST(limits_hold_within_a_batch)
{
    const struct wf_store_limits one = {.count = 1}, three = {.count = 3}, young = {.age = 10};
    struct wf_store_append batch[] = {{.topic = "a", .data = "1", .size = 1, .limits = &three},
                                      {.topic = "a", .data = "2", .size = 1, .limits = &one},
                                      {.topic = "a", .data = "3", .size = 1},
                                      {.topic = "b", .data = "1", .size = 1, .limits = &three},
                                      {.topic = "b", .data = "2", .size = 1, .limits = &three},
                                      {.topic = "b", .data = "3", .size = 1, .limits = &three},
                                      {.topic = "b", .data = "4", .size = 1, .limits = &three},
                                      {.topic = "c", .data = "1", .size = 1, .time = 1},
                                      {.topic = "c", .data = "2", .size = 1, .time = 20, .limits = &young},
                                      {.topic = "c", .data = "3", .size = 1, .time = 5, .limits = &young}};
    ck_assert_int_eq(fixture.engine->append(store, batch, sizeof batch / sizeof *batch), WEFT_OK);
    ck_assert_str_eq(read_text("a", 1, 9, 9), "2=2 3=3 ");
    ck_assert_str_eq(read_text("b", 1, 9, 9), "2=2 3=3 4=4 ");
    ck_assert_str_eq(read_text("c", 1, 9, 9), "2=2 3=3 ");
    ck_assert_uint_eq(find_log("b").bytes, 3);
    reopen();
    ck_assert_str_eq(read_text("a", 1, 9, 9), "2=2 3=3 ");
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

/* ---- Records that were stored together --------------------------------------------------------------------------- */

static char together[600][200];

/* Their sizes are from 0 to 199; each has its number in front, if it fits. */
static void append_together(const char *topic, size_t count, uint64_t first)
{
    struct wf_store_append batch[600];
    for (size_t i = 0; i < count; i++) {
        size_t size = (first + i) * 37 % 200;
        memset(together[i], 'x', sizeof together[i]);
        memcpy(together[i], &(uint64_t){first + i}, sizeof(uint64_t));
        batch[i] = (struct wf_store_append){
            .topic = topic, .data = together[i], .size = size, .tag = (uint32_t)(first + i), .time = (int64_t)i};
    }
    ck_assert_int_eq(fixture.engine->append(store, batch, count), WEFT_OK);
    for (size_t i = 0; i < count; i++) ck_assert_uint_eq(batch[i].offset, first + i);
}

static bool expect_next(void *arg, const struct wf_store_record *r)
{
    uint64_t *next = arg, number;
    ck_assert_uint_eq(r->offset, *next);
    ck_assert_uint_eq(r->tag, *next);
    ck_assert_uint_eq(r->size, *next * 37 % 200);
    if (r->size >= sizeof number) {
        memcpy(&number, r->data, sizeof number);
        ck_assert_uint_eq(number, *next);
    }
    ++*next;
    return true;
}

static void expect_together(const char *topic, uint64_t from, uint64_t last)
{
    uint64_t next = from;
    while (next <= last)
        ck_assert_int_gt(fixture.engine->read(store, topic, next, 100, 100000, expect_next, &next, NULL), 0);
    ck_assert_uint_eq(next, last + 1);
}

START_TEST(records_that_were_stored_together_are_read_from_each_of_them)
{
    append_together("a", 600, 1);
    append_together("b", 2, 1);
    append_together("a", 10, 601);
    reopen();
    for (uint64_t from = 1; from <= 610; from += from > 240 && from < 260 ? 1 : 7) expect_together("a", from, 610);
    expect_together("a", 601, 610);
    expect_together("a", 610, 610);
    expect_together("b", 1, 2);
    expect_together("b", 2, 2);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(limits_hold_among_records_that_were_stored_together)
{
    const struct wf_store_limits nine = {.count = 9}, two = {.count = 2}, young = {.age = 100};
    append_together("a", 12, 1);
    ck_assert_int_eq(fixture.engine->trim(store, "a", &nine, 0), WEFT_OK);
    expect_together("a", find_log("a").first, 12);
    ck_assert_uint_eq(find_log("a").first, 4);
    uint64_t bytes = 0;
    for (uint64_t i = 4; i <= 12; i++) bytes += i * 37 % 200;
    ck_assert_uint_eq(find_log("a").bytes, bytes);
    append_together("a", 3, 13);
    reopen();
    ck_assert_int_eq(fixture.engine->trim(store, "a", &young, 107), WEFT_OK); /* times are 0 ... 11, and 0 ... 2 */
    ck_assert_uint_eq(find_log("a").first, 8);
    expect_together("a", 8, 15);
    ck_assert_int_eq(fixture.engine->trim(store, "a", &two, 0), WEFT_OK);
    expect_together("a", 14, 15);
    ck_assert_int_eq(append_one("a", "one", &two, NULL), WEFT_OK);
    ck_assert_int_eq(append_one("a", "two", &two, NULL), WEFT_OK);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "16=one 17=two ");
    ck_assert_uint_eq(find_log("a").bytes, 6);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

/* ---- Cursors, queues, and states of actors ---------------------------------------------------------------------- */

#include "cursor_conformance.h"
#include "queue_conformance.h"
#include "shared_conformance.h"
#include "state_conformance.h"

/* ---- Owners and readers ---------------------------------------------------------------------------------------- */

START_TEST(a_store_has_one_owner)
{
    int rc;
    append_ok("a", "one");
    ck_assert_ptr_null(open_as(false, &rc));
    ck_assert_int_eq(rc, WEFT_EINUSE);
    ck_assert_ptr_nonnull(strstr(why.text, "open"));
    append_ok("a", "two");
    reopen();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two ");
}
END_TEST

START_TEST(tools_read_beside_the_owner)
{
    int rc;
    append_ok("a", "one");
    struct wf_store *owned = store;
    struct wf_store *tool = open_as(true, &rc);
    ck_assert_msg(tool != NULL, "%s", why.text);
    append_ok("a", "two");
    append_ok("b", "three");
    store = tool;
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two ");
    ck_assert_str_eq(read_text("b", 1, 9, 99), "1=three ");
    ck_assert_int_eq(append_one("a", "four", NULL, NULL), WEFT_EACCESS);
    ck_assert_int_eq(advance_to("c", "a", 1, 1), WEFT_EACCESS);
    ck_assert_int_eq(change_one((struct wf_store_change){.kind = WF_JOB_TAKE, .queue = "q"}).error, WEFT_EACCESS);
    ck_assert_int_eq(change_state((struct wf_store_state_change){.kind = WF_STATE_OPEN, .key = "s"}).error,
                     WEFT_EACCESS);
    store = owned;
    append_event(open_state("s", 1, 1, 0), 1, "event");
    ck_assert_int_eq(advance_to("c", "a", 1, 1), WEFT_OK);
    put_job("q", "job", 0, 0);
    store = tool;
    expect_queues(0, "q=1,0,0,0 ");
    expect_jobs("q", false, "job/0 ");
    expect_states(NULL, "s=1/1-1/5/-1 ");
    expect_cursors("", "", 9, "c/a=1:1 ");
    ck_assert_int_eq(fixture.engine->check(tool, no_fault, NULL), 0);
    fixture.engine->close(tool);
    store = owned;
}
END_TEST

START_TEST(a_missing_store_is_not_made_by_opening_it_read_only)
{
    int rc;
    close_it();
    fixture.end();
    fixture.begin();
    ck_assert_ptr_null(open_as(true, &rc));
    ck_assert_int_eq(rc, WEFT_ENOTFOUND);
}
END_TEST

static atomic_bool is_over;

struct order {
    uint64_t last;
};

static bool in_order(void *arg, const struct wf_store_record *r)
{
    struct order *o = arg;
    if (o->last != 0) ck_assert_uint_eq(r->offset, o->last + 1);
    ck_assert_uint_eq(r->size, sizeof r->offset);
    ck_assert(memcmp(&r->offset, r->data, sizeof r->offset) == 0);
    o->last = r->offset;
    return true;
}

static void read_on(void *arg)
{
    while (!atomic_load(&is_over)) {
        struct order o = {0};
        int rc = fixture.engine->read(store, "a", 1, 100, 10000, in_order, &o, NULL);
        if (rc < 0 && rc != WEFT_ENOTFOUND) fprintf(stderr, "a reader got %s\n", weft_error_name(rc)), abort();
        atomic_fetch_add((atomic_int *)arg, 1);
    }
}

START_TEST(readers_and_the_writer_at_once)
{
    if (!fixture.threads) return;
    enum { PAGES = 20 };
    pf_thread *thread[2];
    static atomic_int pages[2];
    const struct wf_store_limits few = {.count = 50};
    atomic_store(&is_over, false);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(pf_thread_start(&thread[i], "reader", read_on, &pages[i]), 0);
    for (uint64_t i = 0; i < 100 || atomic_load(&pages[0]) < PAGES || atomic_load(&pages[1]) < PAGES; i += 7) {
        uint64_t body[7];
        struct wf_store_append batch[7];
        for (uint64_t k = 0; k < 7; k++) {
            body[k] = i + k + 1;
            batch[k] = (struct wf_store_append){
                .topic = "a", .data = &body[k], .size = sizeof body[k], .limits = &few};
        }
        ck_assert_int_eq(fixture.engine->append(store, batch, 7), WEFT_OK);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++) pf_thread_join(thread[i]);
}
END_TEST

#ifndef _WIN32
/* A process that dies leaves no lock and no half of a record. On Windows two programs test it,
 * tests/integration/windows_test.py. */
START_TEST(the_lock_goes_with_its_process)
{
    if (!fixture.threads) return;
    close_it();
    pid_t child = fork();
    if (child == 0) {
        open_it();
        append_ok("a", "one");
        raise(SIGKILL);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    open_it();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
}
END_TEST
#endif

__attribute__((unused)) static TCase *conformance_case(const char *name)
{
    TCase *c = tcase_create(name);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, records_have_offsets_from_one);
    tcase_add_test(c, the_clock_of_an_engine_is_of_this_century);
    tcase_add_test(c, records_are_there_after_an_opening);
    tcase_add_test(c, a_batch_is_many_records);
    tcase_add_test(c, a_bad_record_does_not_spoil_its_batch);
    tcase_add_test(c, batches_are_bounded);
    tcase_add_test(c, topics_are_bounded);
    tcase_add_test(c, a_page_has_bounds);
    tcase_add_test(c, logs_are_listed_in_order);
    tcase_add_test(c, logs_that_begin_while_they_are_listed);
    add_bound_test(c, a_store_has_a_thousand_logs);
    tcase_add_test(c, a_trim_removes_old_records);
    tcase_add_test(c, a_trim_removes_many_records_at_once);
    tcase_add_test(c, limits_hold_at_each_append);
    tcase_add_test(c, limits_hold_within_a_batch);
    tcase_add_test(c, records_that_were_stored_together_are_read_from_each_of_them);
    tcase_add_test(c, limits_hold_among_records_that_were_stored_together);
    add_cursor_tests(c);
    add_queue_tests(c);
    add_shared_tests(c);
    add_state_tests(c);
    tcase_add_test(c, a_store_has_one_owner);
    tcase_add_test(c, tools_read_beside_the_owner);
    tcase_add_test(c, a_missing_store_is_not_made_by_opening_it_read_only);
    tcase_add_test(c, readers_and_the_writer_at_once);
    ON_UNIX(tcase_add_test(c, the_lock_goes_with_its_process);)
    return c;
}

#endif

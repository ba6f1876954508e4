/* tests/unit/transport/store/sqlite_file_test.c -- the engine for SQLite on a file of this machine. */
#include <sqlite3.h>
#include <unistd.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/stat.h>
#endif

#include "conformance.h"
#include "crc32c.h"
#include "sqlite_folder.h"
#include "store_file.h"
#include "stored_topic.h"

/* Opens another file, and makes another name of it, or finds one that it has. The file system of Windows gives short names
 * to files with long ones. */
static void open_file_with_two_names(char name[100], char other[100])
{
    close_it();
    snprintf(name, 100, "%s/a-longer-name.db", folder);
    fixture.where = name;
    open_it();
#ifdef _WIN32
    ck_assert_uint_gt(GetShortPathNameA(name, other, 100), 0);
    ck_assert_str_ne(other, name);
#else
    snprintf(other, 100, "%s/link.db", folder);
    ck_assert_int_eq(symlink(name, other), 0);
#endif
}

START_TEST(another_name_of_the_file_has_the_same_owner)
{
    char name[100], other[100];
    int rc;
    open_file_with_two_names(name, other);
    fixture.where = other;
    ck_assert_ptr_null(open_as(false, &rc));
    ck_assert_int_eq(rc, WEFT_EINUSE);
}
END_TEST

/* Each name would have a lock and a log of its own. A tool may read it: it may be that the other name is nobody's. */
START_TEST(a_file_with_several_names_is_refused)
{
    char name[100], other[100];
    int rc;
    snprintf(name, sizeof name, "%s/s.db", folder);
    snprintf(other, sizeof other, "%s/other.db", folder);
    append_ok("a", "one");
    close_it();
#ifdef _WIN32
    ck_assert(CreateHardLinkA(other, name, NULL));
#else
    ck_assert_int_eq(link(name, other), 0);
#endif
    const char *const both[] = {name, other};
    for (int i = 0; i < 2; i++) {
        fixture.where = both[i];
        ck_assert_ptr_null(open_as(false, &rc));
        ck_assert_int_eq(rc, WEFT_EFORMAT);
        ck_assert_msg(strstr(why.text, "hard links") != NULL, "%s", why.text);
    }
    fixture.where = name;
    store = open_as(true, &rc);
    ck_assert_int_eq(rc, WEFT_OK);
    close_it();
    ck_assert_int_eq(remove(other), 0);
    open_it();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
}
END_TEST

/* New records are in a log beside the file, which has to be found under each name. */
START_TEST(another_name_of_the_file_has_the_same_records)
{
    char name[100], other[100];
    int rc;
    open_file_with_two_names(name, other);
    append_ok("a", "one");
    struct wf_store *owner = store;
    fixture.where = other;
    store = open_as(true, &rc);
    ck_assert_int_eq(rc, WEFT_OK);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
    close_it();
    store = owner;
}
END_TEST

START_TEST(the_name_of_a_file_is_in_utf_8)
{
    char path[100];
    snprintf(path, sizeof path, "%s/st\u00f6re-\u65e5.db", folder);
    close_it();
    fixture.where = path;
    open_it();
    append_ok("a", "one");
    close_it();
    fixture.where = file;
    open_it();
#ifdef _WIN32
    wchar_t wide[100];
    swprintf(wide, sizeof wide / sizeof *wide, L"%hs/st\u00f6re-\u65e5.db", folder);
    ck_assert(DeleteFileW(wide));
    wcscat(wide, L"-owner");
    ck_assert(DeleteFileW(wide));
#else
    ck_assert_int_eq(unlink(path), 0);
    strcat(path, "-owner");
    ck_assert_int_eq(unlink(path), 0);
#endif
}
END_TEST

START_TEST(a_folder_that_is_missing)
{
    int rc;
    fixture.where = "/tmp/weft-store-no-such-folder/s.db";
    ck_assert_ptr_null(open_as(false, &rc));
    ck_assert_int_eq(rc, WEFT_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(why.text, "folder"));
    fixture.where = "";
    ck_assert_ptr_null(open_as(false, &rc));
    ck_assert_int_eq(rc, WEFT_EINVAL);
}
END_TEST

static void expect_refused(const char *where, const char *kind)
{
    for (int reads = 0; reads < 2; reads++) {
        int rc;
        fixture.where = where;
        ck_assert_ptr_null(open_as(reads == 1, &rc));
        ck_assert_int_eq(rc, WEFT_EFORMAT);
        ck_assert_msg(strstr(why.text, where) != NULL && strstr(why.text, kind) != NULL, "%s", why.text);
    }
}

/* To open or to read one may wait without end. */
START_TEST(what_is_no_file_is_refused_at_once)
{
    expect_refused(folder, "is a folder");
#ifdef _WIN32
    expect_refused("NUL", "is a device");
#else
    char name[100], link[100];
    snprintf(name, sizeof name, "%s/a-longer-name.db", folder);
    snprintf(link, sizeof link, "%s/link.db", folder);
    ck_assert_int_eq(mkfifo(name, 0600), 0);
    ck_assert_int_eq(symlink(name, link), 0);
    expect_refused("/dev/null", "is a device");
    expect_refused(name, "is a named pipe");
    expect_refused(link, "is a named pipe");
    ck_assert_int_ne(access("/dev/null-owner", F_OK), 0); /* nothing was made beside it */
#endif
}
END_TEST

#ifndef _WIN32
START_TEST(what_is_no_file_beside_the_store_is_refused_at_once)
{
    static const char *const beside[] = {"-wal", "-shm", "-journal", "-owner", "-owner-journal"};
    char name[100];
    close_it();
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        snprintf(name, sizeof name, "%s%s", file, beside[i]);
        (void)unlink(name);
        ck_assert_int_eq(mkfifo(name, 0600), 0);
        expect_refused(file, beside[i]);
        ck_assert_int_eq(unlink(name), 0);
    }
    open_it();
}
END_TEST
#endif

/* A tool that has begun to write. */
START_TEST(a_file_that_another_one_has_locked_stores_nothing_and_goes_on)
{
    sqlite3 *other;
    append_ok("a", "one");
    ck_assert_int_eq(sqlite3_open(file, &other), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(append_one("a", "two", NULL, NULL), WEFT_ESYSTEM);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
    ck_assert_int_eq(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(other), SQLITE_OK);
    append_ok("a", "three");
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=three ");
}
END_TEST

#ifndef _WIN32
/* What is written to a file without a name is lost when it is closed. */
START_TEST(a_file_that_was_renamed_stores_nothing_more)
{
    char away[100];
    snprintf(away, sizeof away, "%s.away", file);
    append_ok("a", "one");
    for (int replaced = 0; replaced < 2; replaced++) {
        ck_assert_int_eq(rename(file, away), 0);
        if (replaced == 1) ck_assert_int_eq(close(open(file, O_CREAT | O_WRONLY, 0600)), 0);
        for (int i = 0; i < 2; i++) ck_assert_int_eq(append_one("a", "lost", NULL, NULL), WEFT_ESYSTEM);
        ck_assert_int_eq(rename(away, file), 0);
        ck_assert_int_eq(append_one("a", "lost", NULL, NULL), WEFT_ESYSTEM); /* until it is opened again */
        reopen();
        ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
    }
    append_ok("a", "two");
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two ");
}
END_TEST
#endif

/* So an actor that gets the number, and is killed before it first runs, holds nothing. */
START_TEST(a_file_is_found_by_its_number_while_it_is_open)
{
    struct wf_store_file *f, *other;
    char url[100];
    close_it();
    snprintf(url, sizeof url, "sqlite:%s", file);
    ck_assert_int_eq(wf_store_file_open(&f, url, false, &why), 0);
    const uint64_t number = f->number;
    ck_assert_ptr_eq(wf_store_file_find(number), f);
    ck_assert_ptr_null(wf_store_file_find(number + 1));
    wf_store_file_release(f);
    ck_assert_int_eq(wf_store_file_open(&other, url, false, &why), WEFT_EINUSE);
    wf_store_file_release(f); /* the share that was found */
    ck_assert_ptr_null(wf_store_file_find(number));
    ck_assert_int_eq(wf_store_file_open(&other, url, false, &why), 0);
    ck_assert_uint_ne(other->number, number);
    wf_store_file_release(other);
}
END_TEST

START_TEST(the_checksum_is_crc_32c)
{
    ck_assert_uint_eq(wf_crc32c(0, "123456789", 9), 0xE3069283);
    ck_assert_uint_eq(wf_crc32c(wf_crc32c(0, "1234", 4), "56789", 5), 0xE3069283);
    ck_assert_uint_eq(wf_crc32c(0, "", 0), 0);
    const uint8_t zeroes[32] = {0}; /* RFC 3720, B.4 */
    ck_assert_uint_eq(wf_crc32c(0, zeroes, 32), 0x8A9136AA);
    uint8_t bytes[2000]; /* of long data the instruction sums three parts beside each other */
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 151 + (i >> 8) + 7);
    for (size_t from = 0; from < 8; from++)
        for (size_t size = 0; from + size <= sizeof bytes; size += size < 64 ? 1 : 5)
            ck_assert_uint_eq(wf_crc32c(5, bytes + from, size), wf_crc32c_by_tables(5, bytes + from, size));
}
END_TEST

START_TEST(patterns_match_topics_by_word)
{
    ck_assert(wf_store_pattern_ok("room.>") && wf_store_pattern_ok("*") && wf_store_pattern_ok("a.*.b"));
    ck_assert(!wf_store_pattern_ok("room.>.a") && !wf_store_pattern_ok("") && !wf_store_pattern_ok("a*"));
    ck_assert(wf_store_topic_matches("room.>", "room.a.b") && !wf_store_topic_matches("room.>", "room"));
    ck_assert(wf_store_topic_matches("room.*", "room.a") && !wf_store_topic_matches("room.*", "room.a.b"));
    ck_assert(wf_store_topic_matches("a", "a") && !wf_store_topic_matches("a", "ab"));
    ck_assert(!wf_store_topic_matches("a.b", "a") && !wf_store_topic_matches("a", "a.b"));
    ck_assert(wf_store_topic_matches("*.b", "x.b") && wf_store_topic_matches(">", "x"));
}
END_TEST

/* ---- What counts cost ------------------------------------------------------------------------------------------- */

static _Atomic uint64_t steps; /* of SQLite's virtual machine, of all connections */

static int count_step(void *arg)
{
    (void)arg;
    steps++;
    return 0;
}

/* SQLite calls it for each connection that is opened. */
static int watch_connection(sqlite3 *db, char **error, const void *api)
{
    (void)error, (void)api;
    sqlite3_progress_handler(db, 1, count_step, NULL);
    return SQLITE_OK;
}

/* Opens the store again: from now on the steps of its connections are counted. */
static void open_counted(void)
{
    close_it();
    ck_assert_int_eq(sqlite3_auto_extension((void (*)(void))watch_connection), SQLITE_OK);
    open_it();
}

static void stop_counting(void)
{
    (void)sqlite3_cancel_auto_extension((void (*)(void))watch_connection);
}

static void put_many(int count, int64_t delay)
{
    static struct wf_store_change x[1000];
    for (int i = 0; i < count; i += 1000) {
        for (int k = 0; k < 1000; k++)
            x[k] = (struct wf_store_change){
                .kind = WF_JOB_PUT, .queue = k % 2 == 0 ? "q" : "q.x", .now = 1, .delay = delay, .jobs_max = 1000000};
        ck_assert_int_eq(fixture.engine->change(store, x, 1000), WEFT_OK);
    }
}

static uint64_t steps_to_count(int64_t now, const char *expected)
{
    steps = 0;
    expect_queues(now, expected);
    return steps;
}

START_TEST(counts_cost_the_same_with_a_hundred_times_the_jobs)
{
    open_counted();
    put_many(1000, 100);
    put_many(1000, 0);
    expect_queues(1, "q=500,500,0,0 q.x=500,500,0,0 ");
    const uint64_t few = steps_to_count(50, "q=500,500,0,0 q.x=500,500,0,0 ");
    put_many(99000, 100);
    put_many(99000, 0);
    expect_queues(60, "q=50000,50000,0,0 q.x=50000,50000,0,0 ");
    const uint64_t many = steps_to_count(70, "q=50000,50000,0,0 q.x=50000,50000,0,0 ");
    ck_assert_msg(few == 0 && many == 0, "%llu and %llu steps", (unsigned long long)few, (unsigned long long)many);
    /* The jobs that have become due are counted once. */
    ck_assert_uint_gt(steps_to_count(101, "q=100000,0,0,0 q.x=100000,0,0,0 "), 100000);
    ck_assert_uint_eq(steps_to_count(102, "q=100000,0,0,0 q.x=100000,0,0,0 "), 0);
    take_job("q", NULL, 0);
    ck_assert_uint_gt(steps, 0); /* they are counted */
    stop_counting();
}
END_TEST

/* A job for each of so many queues, that is due at `due`. */
static void put_to_each(int queues, int64_t due)
{
    static struct wf_store_change x[1000];
    static char name[1000][16];
    for (int i = 0; i < queues; i++) {
        snprintf(name[i], sizeof name[i], "q.%d", i);
        x[i] = (struct wf_store_change){
            .kind = WF_JOB_PUT, .queue = name[i], .now = 1, .delay = due - 1, .jobs_max = 9};
    }
    ck_assert_int_eq(fixture.engine->change(store, x, (size_t)queues), WEFT_OK);
}

static uint64_t steps_of_a_page(int64_t now)
{
    char text[2000] = "";
    steps = 0;
    ck_assert_int_eq(fixture.engine->queues(store, "q.0", now, add_two_queues, text), WEFT_OK);
    return steps;
}

START_TEST(a_page_of_queues_costs_the_same_however_many_there_are)
{
    open_counted();
    put_to_each(10, 100);
    const uint64_t few = steps_of_a_page(150);
    put_to_each(1000, 200);
    const uint64_t many = steps_of_a_page(250);
    ck_assert_msg(few > 0 && many <= 2 * few, "%llu and %llu steps", (unsigned long long)few,
                  (unsigned long long)many);
    stop_counting();
}
END_TEST

/* Adds cursors, reminders and states, from number `from` to `upto` - 1. */
static void add_of_each_kind(int from, int upto)
{
    static char name[1000][16];
    static struct wf_store_advance cursor[1000];
    static struct wf_store_change reminder[1000];
    static struct wf_store_state_change state[1000];
    const struct wf_store_log log = find_log("t");
    const size_t count = (size_t)(upto - from);
    for (size_t i = 0; i < count; i++) {
        snprintf(name[i], sizeof name[i], "n%d", from + (int)i);
        cursor[i] = (struct wf_store_advance){.name = name[i], .topic = "t", .to = {log.epoch, 1}};
        reminder[i] = (struct wf_store_change){
            .kind = WF_JOB_SET, .queue = "r", .now = 1, .at = 1000, .key = name[i], .jobs_max = 1000000};
        state[i] = (struct wf_store_state_change){.kind = WF_STATE_OPEN, .key = name[i]};
    }
    ck_assert_int_eq(fixture.engine->advance(store, cursor, count), WEFT_OK);
    ck_assert_int_eq(fixture.engine->change(store, reminder, count), WEFT_OK);
    ck_assert_int_eq(fixture.engine->change_states(store, state, count), WEFT_OK);
    for (size_t i = 0; i < count; i++)
        ck_assert(cursor[i].error == 0 && reminder[i].error == 0 && state[i].error == 0);
}

static void change_ok(struct wf_store_change *x)
{
    ck_assert_int_eq(fixture.engine->change(store, x, 1), WEFT_OK);
    ck_assert_int_eq(x->error, WEFT_OK);
}

/* Steps of SQLite for: a cursor, a reminder and a state, each a new one and then an old one; a job that is put, taken
 * and done. */
static uint64_t steps_for_one_of_each(int number)
{
    struct wf_store_change put = {
        .kind = WF_JOB_PUT, .queue = "q", .now = 1, .jobs_max = 1000000, .key = "k", .key_age = 9};
    struct wf_store_change take = {.kind = WF_JOB_TAKE, .queue = "q", .now = 2, .delay = 100, .node = 1, .actor = 2};
    steps = 0;
    add_of_each_kind(number, number + 1);
    add_of_each_kind(number, number + 1);
    put.now = put.now + 10 * number; /* the key before has expired */
    change_ok(&put);
    change_ok(&take);
    struct wf_store_change done = {
        .kind = WF_JOB_DONE, .queue = "q", .now = 3, .id = take.job.id, .lease = take.job.lease};
    free(take.body);
    change_ok(&done);
    return steps;
}

START_TEST(what_is_done_to_one_of_many_costs_the_same_however_many_there_are)
{
    open_counted();
    append_ok("t", "x");
    put_many(1000, 0);
    add_of_each_kind(0, 1000);
    (void)steps_for_one_of_each(1000); /* prepares the statements */
    const uint64_t few = steps_for_one_of_each(1001);
    put_many(9 * 1000, 0);
    for (int i = 2000; i < 5 * 1000; i += 1000) add_of_each_kind(i, i + 1000);
    const uint64_t many = steps_for_one_of_each(5 * 1000);
    ck_assert_msg(few > 0 && many == few, "%llu and %llu steps", (unsigned long long)few, (unsigned long long)many);
    stop_counting();
}
END_TEST

static void append_to_topics(int from, int upto)
{
    char topic[16];
    for (int i = from; i < upto; i++) {
        snprintf(topic, sizeof topic, "t%d", i);
        append_ok(topic, "x");
    }
}

static uint64_t steps_to_read_as_a_tool(void)
{
    struct wf_store *owner = store;
    int rc;
    store = open_as(true, &rc);
    ck_assert_int_eq(rc, WEFT_OK);
    ck_assert_str_eq(read_text("t0", 1, 9, 99), "1=x ");
    steps = 0;
    ck_assert_str_eq(read_text("t0", 1, 9, 99), "1=x ");
    ck_assert_uint_eq(find_log("t0").last, 1);
    const uint64_t counted = steps;
    close_it();
    store = owner;
    return counted;
}

/* So what it takes to check or to export a store grows with the store, and not with its square. */
START_TEST(a_tool_reads_a_topic_at_the_same_cost_however_many_there_are)
{
    open_counted();
    append_to_topics(0, 10);
    const uint64_t few = steps_to_read_as_a_tool();
    append_to_topics(10, 200);
    const uint64_t many = steps_to_read_as_a_tool();
    ck_assert_msg(few > 0 && many == few, "%llu and %llu steps", (unsigned long long)few, (unsigned long long)many);
    stop_counting();
}
END_TEST

static uint64_t steps_to_check(void)
{
    steps = 0;
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
    return steps;
}

/* A snapshot and an event for each of these states. */
static void save_states(int from, int upto)
{
    for (int i = from; i < upto; i++) {
        char key[16];
        snprintf(key, sizeof key, "n%d", i);
        struct wf_store_state_change open = {.kind = WF_STATE_OPEN, .key = key};
        ck_assert_int_eq(fixture.engine->change_states(store, &open, 1), WEFT_OK);
        ck_assert_int_eq(write_state(WF_STATE_SAVE, open.state, 0, "snapshot"), WEFT_OK);
        append_event(open.state, 1, "event");
    }
}

START_TEST(a_check_of_ten_times_as_much_takes_ten_times_as_long)
{
    open_counted();
    append_ok("t", "x");
    add_of_each_kind(0, 200);
    save_states(0, 200);
    const uint64_t few = steps_to_check();
    for (int i = 200; i < 2000; i += 600) add_of_each_kind(i, i + 600);
    save_states(200, 2000);
    const uint64_t many = steps_to_check();
    ck_assert_msg(few > 0 && many <= 11 * few, "%llu and %llu steps", (unsigned long long)few,
                  (unsigned long long)many);
    stop_counting();
}
END_TEST

static bool count_to_200(void *arg, const struct wf_store_log *log)
{
    struct wf_store_log *last = arg;
    uint64_t count = last->bytes + 1;
    *last = *log;
    last->bytes = count;
    return count < 200;
}

/* Lists a page of topics behind `after`. Returns how many logs were looked at, or moved. */
static uint64_t steps_to_list(const char *after, uint64_t expected)
{
    struct wf_store_log last = {.bytes = 0};
    const uint64_t before = sql_of(store)->order_steps;
    ck_assert_int_eq(fixture.engine->list(store, after, count_to_200, &last), WEFT_OK);
    ck_assert_uint_eq(last.bytes, expected);
    return sql_of(store)->order_steps - before;
}

static void append_many_topics(int from, int upto)
{
    static char topic[1000][16];
    static struct wf_store_append batch[1000];
    for (int i = from; i < upto; i++) {
        snprintf(topic[i - from], sizeof topic[0], "t%d", i);
        batch[i - from] = (struct wf_store_append){.topic = topic[i - from], .data = "x", .size = 1};
    }
    ck_assert_int_eq(fixture.engine->append(store, batch, (size_t)(upto - from)), WEFT_OK);
}

/* So all pages of all topics are no square of their number. */
START_TEST(a_page_of_topics_costs_the_same_however_many_there_are)
{
    append_many_topics(0, 1000);
    (void)steps_to_list(NULL, 200); /* puts them in order */
    const uint64_t first = steps_to_list(NULL, 200), few = steps_to_list("t5", 200);
    ck_assert_uint_le(first, 200);
    ck_assert_uint_le(few, 200 + 10);
    for (int i = 1000; i < 10 * 1000; i += 1000) append_many_topics(i, i + 1000);
    (void)steps_to_list(NULL, 200);
    ck_assert_uint_eq(steps_to_list(NULL, 200), first);
    ck_assert_uint_le(steps_to_list("t5", 200), few + 6);
    ck_assert_uint_le(steps_to_list("t9998", 1), 1 + 17);
    append_many_topics(10000, 10001); /* one more is put in its place, not all of them */
    ck_assert_uint_le(steps_to_list("t9998", 1), 10001 + 17);
    ck_assert_uint_le(steps_to_list("t9998", 1), 1 + 17);
}
END_TEST

/* What the owner stores meanwhile is seen: in a log that is known, and in a new one. */
START_TEST(a_tool_sees_what_was_stored_since)
{
    struct wf_store *owner = store;
    int rc;
    append_ok("a", "one");
    struct wf_store *tool = open_as(true, &rc);
    ck_assert_int_eq(rc, WEFT_OK);
    append_ok("a", "two");
    append_ok("b", "one");
    store = tool;
    ck_assert_uint_eq(find_log("a").last, 2);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two ");
    ck_assert_str_eq(read_text("b", 1, 9, 99), "1=one ");
    close_it();
    store = owner;
}
END_TEST

int main(void)
{
    use_a_folder();
    fixture.threads = true;
    Suite *suite = suite_create("the store on a file");
    TCase *files = tcase_create("files");
    suite_add_tcase(suite, conformance_case("conformance"));
    suite_add_tcase(suite, files);
    tcase_add_checked_fixture(files, setup, teardown);
    tcase_add_test(files, another_name_of_the_file_has_the_same_owner);
    tcase_add_test(files, another_name_of_the_file_has_the_same_records);
    tcase_add_test(files, a_file_with_several_names_is_refused);
    tcase_add_test(files, the_name_of_a_file_is_in_utf_8);
    tcase_add_test(files, a_folder_that_is_missing);
    tcase_add_test(files, what_is_no_file_is_refused_at_once);
#ifndef _WIN32
    tcase_add_test(files, what_is_no_file_beside_the_store_is_refused_at_once);
#endif
    tcase_add_test(files, a_file_that_another_one_has_locked_stores_nothing_and_goes_on);
#ifndef _WIN32
    tcase_add_test(files, a_file_that_was_renamed_stores_nothing_more);
#endif
    tcase_add_test(files, a_file_is_found_by_its_number_while_it_is_open);
    tcase_add_test(files, the_checksum_is_crc_32c);
    tcase_add_test(files, patterns_match_topics_by_word);
    if (!under_tools()) { /* they count steps of SQLite, which are the same under a tool */
        tcase_add_test(files, counts_cost_the_same_with_a_hundred_times_the_jobs);
        tcase_add_test(files, a_page_of_queues_costs_the_same_however_many_there_are);
        tcase_add_test(files, what_is_done_to_one_of_many_costs_the_same_however_many_there_are);
        tcase_add_test(files, a_tool_reads_a_topic_at_the_same_cost_however_many_there_are);
        tcase_add_test(files, a_check_of_ten_times_as_much_takes_ten_times_as_long);
        tcase_add_test(files, a_page_of_topics_costs_the_same_however_many_there_are);
    }
    tcase_add_test(files, a_tool_sees_what_was_stored_since);
    return run_suite(suite);
}

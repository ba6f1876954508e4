/* tests/unit/transport/store/sqlite_checkpoint_test.c -- checkpoints, which copy the write-ahead log into the file: nothing
 * that was acknowledged is lost when one is cut off or fails, and the log stays small. */
#include "faulty_store.h"

enum {
    RECORDS = 16, /* of a batch, which takes about 18 pages */
    RECORD = 4000,
    STEP = 8, /* so many batches make a checkpoint due */
    LOG_STEP = SQ_LOG_STEP / 4096,
};

/* ---- Batches --------------------------------------------------------------------------------------------------- */

static uint64_t acknowledged;

static void body_of(uint64_t offset, char out[RECORD])
{
    memset(out, 'a' + (int)(offset % 26), RECORD);
    memcpy(out, &offset, sizeof offset);
}

static int append_batch(void)
{
    static char body[RECORDS][RECORD];
    struct wf_store_append batch[RECORDS];
    for (uint64_t i = 0; i < RECORDS; i++) {
        body_of(acknowledged + i + 1, body[i]);
        batch[i] = (struct wf_store_append){.topic = "a", .data = body[i], .size = RECORD};
    }
    int rc = fixture.engine->append(store, batch, RECORDS);
    if (rc == WEFT_OK) acknowledged += RECORDS;
    return rc;
}

/* Ends with the first one that fails. */
static int append_batches(int count)
{
    int rc = WEFT_OK;
    for (int i = 0; i < count && rc == WEFT_OK; i++) rc = append_batch();
    return rc;
}

static bool expect_record(void *arg, const struct wf_store_record *r)
{
    uint64_t *next = arg;
    char body[RECORD];
    body_of(*next, body);
    ck_assert_uint_eq(r->offset, *next);
    ck_assert(r->size == RECORD && memcmp(r->data, body, RECORD) == 0);
    ++*next;
    return true;
}

/* The batch that has failed may be there, too. */
static void expect_acknowledged(void)
{
    struct wf_store_log log = {.last = 0};
    uint64_t next = 1;
    int rc = fixture.engine->find(store, "a", &log);
    ck_assert(rc == WEFT_OK || (rc == WEFT_ENOTFOUND && acknowledged == 0));
    const uint64_t last = log.last;
    ck_assert_uint_ge(last, acknowledged);
    while (next <= last) {
        int count = fixture.engine->read(store, "a", next, 100, 1 << 20, expect_record, &next, NULL);
        ck_assert_msg(count > 0, "record %llu of %llu: %s", (unsigned long long)next,
                      (unsigned long long)acknowledged, weft_error_name(count));
    }
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
    acknowledged = last;
}

/* ---- Another reader of the file -------------------------------------------------------------------------------- */

/* Reads what is stored now until it ends: a checkpoint does not copy what was stored later. */
static sqlite3 *begin_reader(void)
{
    sqlite3 *reader;
    ck_assert_int_eq(sqlite3_open_v2("s.db", &reader, SQLITE_OPEN_READONLY, "faulty"), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM logs", NULL, NULL, NULL), SQLITE_OK);
    return reader;
}

static void end_reader(sqlite3 *reader)
{
    (void)sqlite3_exec(reader, "COMMIT", NULL, NULL, NULL);
    ck_assert_int_eq(sqlite3_close(reader), SQLITE_OK);
}

/* The first checkpoint copies a part, because of a reader. The next one is due. */
static void begin_with_half_a_checkpoint(void)
{
    ck_assert_int_eq(append_batches(2), WEFT_OK);
    sqlite3 *reader = begin_reader();
    ck_assert_int_eq(append_batches(2 * STEP), WEFT_OK);
    end_reader(reader);
}

/* ---- How large the log becomes --------------------------------------------------------------------------------- */

static size_t log_pages(void)
{
    size_t size;
    ck_assert_ptr_nonnull(faulty_bytes("s.db-wal", &size));
    return size / 4096;
}

/* A batch, and what the one before it may have left, are above the limit. */
START_TEST(the_log_is_written_over_while_appends_never_stop)
{
    acknowledged = 0;
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(append_batch(), WEFT_OK);
        ck_assert_uint_le(log_pages(), STEP * 20 + LOG_STEP);
    }
    expect_acknowledged();
}
END_TEST

START_TEST(small_commits_fill_the_log_before_they_are_copied)
{
    for (int i = 0; i < 3 * SQ_WAL_PAGES; i++) append_ok("b", "x");
    ck_assert_uint_ge(log_pages(), SQ_WAL_PAGES);
    ck_assert_uint_le(log_pages(), SQ_WAL_PAGES + SQ_SMALL_COMMIT + SQ_WAL_PAGES / 100 + LOG_STEP);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(the_log_grows_no_more_when_a_reader_has_ended)
{
    acknowledged = 0;
    ck_assert_int_eq(append_batch(), WEFT_OK);
    sqlite3 *reader = begin_reader();
    ck_assert_int_eq(append_batches(10 * STEP), WEFT_OK);
    const size_t pages = log_pages();
    ck_assert_uint_ge(pages, 10 * STEP * RECORDS * RECORD / 4096);
    end_reader(reader);
    ck_assert_int_eq(append_batches(STEP), WEFT_OK);
    const size_t after = log_pages();
    ck_assert_int_eq(append_batches(20 * STEP), WEFT_OK);
    ck_assert_uint_eq(log_pages(), after);
    expect_acknowledged();
}
END_TEST

/* ---- What is lost ---------------------------------------------------------------------------------------------- */

static void crash(void)
{
    faulty_cut_power(0);
    close_it();
    faulty_power_on();
    open_it();
}

static void fresh(uint64_t seed)
{
    close_it();
    faulty_begin(seed);
    acknowledged = 0;
    open_it();
}

/* `_i`: whether a part was copied before. */
START_TEST(a_power_cut_in_a_checkpoint_loses_nothing_acknowledged)
{
    bool was_cut = true;
    for (uint64_t changes = 0; was_cut; changes += 1 + faulty_random(15)) {
        fresh(changes);
        if (_i == 1) begin_with_half_a_checkpoint();
        faulty_cut_power(changes);
        was_cut = append_batches(STEP) < 0;
        crash();
        expect_acknowledged();
    }
}
END_TEST

START_TEST(a_sync_that_fails_in_a_checkpoint_loses_nothing_acknowledged)
{
    for (uint64_t syncs = 0; syncs < 2 * STEP; syncs += RUNNING_ON_VALGRIND ? 5 : 1) {
        fresh(syncs);
        if (_i == 1) begin_with_half_a_checkpoint();
        faulty_fail_sync(syncs);
        ck_assert_int_eq(append_batches(4 * STEP), WEFT_ESYSTEM);
        reopen();
        expect_acknowledged();
        ck_assert_int_eq(append_batches(2 * STEP), WEFT_OK);
        crash();
        expect_acknowledged();
    }
}
END_TEST

/* As `weft store check` does beside the owner, or without one. */
static void expect_no_fault_beside(void)
{
    struct wf_store *owner = store;
    int rc;
    store = open_as(true, &rc);
    ck_assert_int_eq(rc, WEFT_OK);
    expect_acknowledged();
    close_it();
    store = owner;
}

static sqlite3 *have_it_open(void)
{
    sqlite3 *other = begin_reader();
    ck_assert_int_eq(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    return other;
}

/* Such as a backup. It has read the file before, and has it open until the end: so the memory that processes share (FILE-shm)
 * stays, which says how much of the log was copied into the file, and nobody reads the whole log again. */
START_TEST(a_failed_checkpoint_is_made_again_while_another_process_has_the_file_open)
{
    for (uint64_t syncs = 0; syncs < 2 * STEP; syncs += RUNNING_ON_VALGRIND ? 5 : 1) {
        fresh(100 + syncs);
        if (_i == 1) begin_with_half_a_checkpoint();
        else ck_assert_int_eq(append_batch(), WEFT_OK);
        sqlite3 *other = have_it_open();
        faulty_fail_sync(syncs);
        ck_assert_int_eq(append_batches(4 * STEP), WEFT_ESYSTEM);
        expect_no_fault_beside();
        close_it();
        store = NULL;
        expect_no_fault_beside();
        open_it();
        expect_acknowledged();
        ck_assert_int_eq(append_batches(2 * STEP), WEFT_OK);
        expect_no_fault_beside();
        ck_assert_int_eq(sqlite3_close(other), SQLITE_OK);
        crash();
        expect_acknowledged();
    }
}
END_TEST

enum { OTHER = 1 }; /* a process that is no store */

/* As have_it_open, in a process of its own, which may also write: when it closes the file as the last one, SQLite makes a
 * checkpoint there. */
static sqlite3 *have_it_open_elsewhere(void)
{
    sqlite3 *other;
    faulty_process(OTHER);
    ck_assert_int_eq(sqlite3_open_v2("s.db", &other, SQLITE_OPEN_READWRITE, "faulty"), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(other, "SELECT count(*) FROM logs", NULL, NULL, NULL), SQLITE_OK);
    faulty_process(0);
    return other;
}

/* Fails a sync, and kills the process of the store, at once or before it closes the file. */
static void fail_and_kill(uint64_t syncs, bool at_once)
{
    faulty_fail_sync(syncs);
    faulty_kill_at_failed_sync(at_once ? 0 : -1);
    ck_assert_int_eq(append_batches(4 * STEP), WEFT_ESYSTEM);
    faulty_kill_at_failed_sync(-1);
    faulty_kill(0);
    close_it();
    store = NULL;
}

/* `_i` & 1: a part was copied before. 2: the other process closes the file first, as the last one. 4: the store is killed while
 * the sync fails. */
START_TEST(a_store_that_is_killed_behind_a_failed_sync_loses_nothing_acknowledged)
{
    for (uint64_t syncs = 0; syncs < 2 * STEP; syncs += RUNNING_ON_VALGRIND ? 5 : 1) {
        fresh(300 + syncs);
        if ((_i & 1) != 0) begin_with_half_a_checkpoint();
        else ck_assert_int_eq(append_batch(), WEFT_OK);
        sqlite3 *other = have_it_open_elsewhere();
        fail_and_kill(syncs, (_i & 4) != 0);
        if ((_i & 2) != 0) {
            ck_assert_int_eq(sqlite3_close(other), SQLITE_OK);
        } else {
            open_it();
            expect_acknowledged();
            ck_assert_int_eq(append_batches(2 * STEP), WEFT_OK);
            ck_assert_int_eq(sqlite3_close(other), SQLITE_OK);
        }
        crash();
        expect_acknowledged();
    }
}
END_TEST

/* An opening makes a checkpoint, too. */
START_TEST(an_opening_that_fails_is_made_again_while_another_process_has_the_file_open)
{
    int rc = WEFT_ESYSTEM;
    for (uint64_t syncs = 0; rc != WEFT_OK; syncs++) {
        fresh(200 + syncs);
        begin_with_half_a_checkpoint();
        sqlite3 *other = have_it_open();
        close_it();
        faulty_fail_sync(syncs);
        store = open_as(false, &rc);
        ck_assert(rc == WEFT_OK || rc == WEFT_ESYSTEM);
        if (rc < 0) open_it();
        expect_acknowledged();
        ck_assert_int_eq(sqlite3_close(other), SQLITE_OK);
        crash();
        expect_acknowledged();
        ck_assert_uint_lt(syncs, 10);
    }
}
END_TEST

int main(void)
{
    use_faulty_disk();
    Suite *suite = suite_create("checkpoints of the store");
    TCase *c = tcase_create("checkpoints");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, the_log_is_written_over_while_appends_never_stop);
    tcase_add_test(c, small_commits_fill_the_log_before_they_are_copied);
    tcase_add_test(c, the_log_grows_no_more_when_a_reader_has_ended);
    tcase_add_loop_test(c, a_power_cut_in_a_checkpoint_loses_nothing_acknowledged, 0, 2);
    tcase_add_loop_test(c, a_sync_that_fails_in_a_checkpoint_loses_nothing_acknowledged, 0, 2);
    tcase_add_loop_test(c, a_failed_checkpoint_is_made_again_while_another_process_has_the_file_open, 0, 2);
    tcase_add_loop_test(c, a_store_that_is_killed_behind_a_failed_sync_loses_nothing_acknowledged, 0, 6);
    tcase_add_test(c, an_opening_that_fails_is_made_again_while_another_process_has_the_file_open);
    return run_suite(suite);
}

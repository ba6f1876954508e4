/* tests/unit/transport/store/sqlite_faults_test.c -- the engine for SQLite on a disk that fails. */
#include "faulty_store.h"

#include "damage.h"

/* ---- Files that are not ours ----------------------------------------------------------------------------------- */

/* Its bytes are behind the head of 20 bytes that each has, and those of the first one. */
static void damage_second_of_four(const char *sql)
{
    append_four_together();
    close_it();
    run_sql(sql);
    open_it();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=x ");
    ck_assert_str_eq(read_text("a", 2, 9, 99), "WEFT_EFORMAT");
}

START_TEST(a_damaged_record_spoils_none_that_were_stored_with_it)
{
    damage_second_of_four("UPDATE records SET body = CAST(substr(body, 1, 41) || 'y' || substr(body, 43) AS BLOB)");
    ck_assert_str_eq(read_text("a", 3, 9, 99), "3=x 4=x ");
    ck_assert_int_eq(fixture.engine->trim(store, "a", &(struct wf_store_limits){.count = 2}, 0), WEFT_OK);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "3=x 4=x ");
}
END_TEST

static const char damaged_size[] =
    "UPDATE records SET body = CAST(substr(body, 1, %d) || 'y' || substr(body, %d) AS BLOB)";

static void damage_size_of_second(int byte)
{
    char sql[160];
    snprintf(sql, sizeof sql, damaged_size, byte, byte + 2);
    damage_second_of_four(sql);
}

START_TEST(a_damaged_size_hides_no_other_record)
{
    damage_size_of_second(_i);
    ck_assert_str_eq(read_text("a", 3, 9, 99), "3=x 4=x ");
    ck_assert_str_eq(read_text("a", 4, 9, 99), "4=x ");
    append_ok("a", "five");
    ck_assert_str_eq(read_text("a", 3, 9, 99), "3=x 4=x 5=five ");
    faults = 0;
    ck_assert_int_eq(fixture.engine->check(store, count_fault, NULL), 1);
    ck_assert_int_eq(faults, 1);
}
END_TEST

enum { SIX_BYTES = 6 * 20 + 15 }; /* of the row of six records, with bodies of 0 ... 5 bytes */

/* The record that has the byte `at` of that row. */
static uint64_t record_with_byte(int at)
{
    uint64_t offset = 1;
    for (int end = 20; at >= end; offset++) end += 20 + (int)offset;
    return offset;
}

/* Two changes of each byte. Under a tool one of seven is made: the fuzz target store_file damages rows as well. */
static int byte_step(void)
{
    return under_tools() ? 7 : 1;
}

START_TEST(a_damaged_byte_costs_one_record)
{
    struct wf_store_append batch[6];
    char sql[240], expected[32];
    for (int i = 0; i < 6; i++) batch[i] = (struct wf_store_append){.topic = "a", .data = "xxxxx", .size = (size_t)i};
    ck_assert_int_eq(fixture.engine->append(store, batch, 6), WEFT_OK);
    close_it();
    const int change = _i * byte_step(), at = change / 2;
    snprintf(sql, sizeof sql,
             "UPDATE records SET body = CAST(substr(body, 1, %d) || CASE substr(body, %d, 1) WHEN x'%s' THEN x'07' "
             "ELSE x'%s' END || substr(body, %d) AS BLOB)",
             at, at + 1, change % 2 == 0 ? "21" : "ee", change % 2 == 0 ? "21" : "ee", at + 2);
    run_sql(sql);
    open_it();
    for (uint64_t offset = 1; offset <= 6; offset++) {
        snprintf(expected, sizeof expected, "%d=%.*s ", (int)offset, (int)offset - 1, "xxxxx");
        ck_assert_str_eq(read_text("a", offset, 1, 99), offset == record_with_byte(at) ? "WEFT_EFORMAT" : expected);
    }
    ck_assert_int_eq(fixture.engine->check(store, count_fault, NULL), 1);
    ck_assert_int_eq(fixture.engine->trim(store, "a", &(struct wf_store_limits){.count = 1}, 0), WEFT_OK);
    append_ok("a", "seven");
    ck_assert_str_eq(read_text("a", 7, 9, 99), "7=seven ");
}
END_TEST

START_TEST(limits_pass_a_damaged_size)
{
    damage_size_of_second(33);
    struct wf_store_log log;
    ck_assert_int_eq(fixture.engine->trim(store, "a", &(struct wf_store_limits){.count = 3}, 0), WEFT_OK);
    ck_assert_str_eq(read_text("a", 2, 9, 99), "WEFT_EFORMAT");
    ck_assert_int_eq(fixture.engine->trim(store, "a", &(struct wf_store_limits){.count = 2}, 0), WEFT_OK);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "3=x 4=x ");
    ck_assert_int_eq(fixture.engine->find(store, "a", &log), WEFT_OK);
    ck_assert_uint_eq(log.bytes, 2);
    ck_assert_int_eq(fixture.engine->check(store, count_fault, NULL), 0);
}
END_TEST

START_TEST(limits_pass_what_is_missing)
{
    struct wf_store_log log;
    for (int i = 0; i < 9; i++) append_ok("a", "x");
    close_it();
    fixture.run_sql("DELETE FROM records WHERE id % 1024 BETWEEN 2 AND 5");
    open_it();
    const struct wf_store_limits limits = {.bytes = 4};
    ck_assert_int_eq(fixture.engine->trim(store, "a", &limits, 0), WEFT_OK);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "6=x 7=x 8=x 9=x ");
    ck_assert_int_eq(fixture.engine->find(store, "a", &log), WEFT_OK);
    ck_assert_uint_eq(log.bytes, 4);
    ck_assert_int_eq(append_one("a", "y", &limits, NULL), WEFT_OK);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "7=x 8=x 9=x 10=y ");
}
END_TEST

static int count_row(unsigned what, void *arg, void *statement, void *unused)
{
    (void)what, (void)statement, (void)unused;
    ++*(int *)arg;
    return 0;
}

/* Each second record is missing. The bytes of the others are counted once, and not for each hole. */
START_TEST(limits_look_at_each_record_a_few_times_however_many_are_missing)
{
    enum { RECORDS = 300 };
    struct wf_store_log log;
    int rows = 0;
    for (int i = 0; i < RECORDS; i++) append_ok("a", "x");
    close_it();
    fixture.run_sql("DELETE FROM records WHERE id % 2 = 0");
    open_it();
    (void)sqlite3_trace_v2(((struct sq_store *)store)->writer.db, SQLITE_TRACE_ROW, count_row, &rows);
    ck_assert_int_eq(fixture.engine->trim(store, "a", &(struct wf_store_limits){.bytes = 10}, 0), WEFT_OK);
    ck_assert_int_eq(fixture.engine->find(store, "a", &log), WEFT_OK);
    ck_assert_uint_eq(log.bytes, 10);
    ck_assert_uint_eq(log.first, RECORDS - 20);
    ck_assert_int_lt(rows, 4 * RECORDS);
}
END_TEST

START_TEST(what_is_missing_later_is_counted_again)
{
    const struct wf_store_limits limits = {.bytes = 4};
    for (int i = 0; i < 9; i++) append_ok("a", "x");
    close_it();
    fixture.run_sql("DELETE FROM records WHERE id % 1024 = 2");
    open_it();
    ck_assert_int_eq(fixture.engine->trim(store, "a", &limits, 0), WEFT_OK);
    ck_assert_uint_eq(find_log("a").bytes, 4);
    fixture.run_sql("DELETE FROM records WHERE id % 1024 IN (7, 8)");
    for (int i = 0; i < 20; i++) ck_assert_int_eq(append_one("a", "y", &limits, NULL), WEFT_OK);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "26=y 27=y 28=y 29=y ");
}
END_TEST

START_TEST(a_newer_file_is_refused)
{
    append_ok("a", "one");
    close_it();
    run_sql("PRAGMA user_version = 7");
    size_t size, size_after;
    uint8_t *copy = malloc(1 << 20), *bytes = faulty_bytes("s.db", &size);
    ck_assert_uint_lt(size, 1 << 20);
    memcpy(copy, bytes, size);
    expect_refused(WEFT_ENOTSUP, "newer");
    bytes = faulty_bytes("s.db", &size_after);
    ck_assert(size == size_after && memcmp(copy, bytes, size) == 0);
    free(copy);
    run_sql("PRAGMA user_version = 5");
    open_it();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
}
END_TEST

START_TEST(an_older_file_gets_the_newer_tables)
{
    int rc;
    append_ok("a", "one");
    close_it();
    run_sql(
        "DROP TABLE jobs; DROP TABLE job_bodies; DROP TABLE job_keys; DROP TABLE job_count; DROP TABLE job_workers;"
        " DROP TABLE job_reminders;"
        " DROP TABLE states; DROP TABLE state_count; DROP TABLE state_snapshots; DROP TABLE state_events;"
        " PRAGMA user_version = 1");
    store = open_as(true, &rc); /* a tool changes nothing */
    ck_assert_msg(store != NULL, "%s", why.text);
    expect_queues(0, "");
    expect_jobs("q", false, "");
    expect_states(NULL, "");
    expect_reminders("", "", 9, "");
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
    reopen();
    append_event(open_state("s", 1, 1, 0), 1, "event");
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
    put_job("q", "job", 0, 0);
    ck_assert_int_eq(set_reminder("q", "k", "tea", 50, 0, 0).error, WEFT_OK);
    reopen();
    expect_reminders("", "", 9, "q/k 50+0 ");
    take_job("q", "job", 0);
    expect_leases(0, "");
}
END_TEST

START_TEST(a_database_of_others_is_refused)
{
    close_it();
    faulty_end();
    run_sql("CREATE TABLE theirs(x)");
    expect_refused(WEFT_EFORMAT, "no store");
    faulty_begin(1);
    run_sql("PRAGMA user_version = 9; CREATE TABLE theirs(x)");
    expect_refused(WEFT_EFORMAT, "no store");
}
END_TEST

START_TEST(a_file_runs_no_code_of_its_own)
{
    append_ok("a", "one");
    close_it();
    run_sql("CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records WHERE id <> NEW.id; END");
    run_sql("CREATE TRIGGER u BEFORE UPDATE ON logs BEGIN SELECT RAISE(IGNORE); END");
    open_it();
    append_ok("a", "two");
    reopen();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two ");
    close_it();
    run_sql("ALTER TABLE logs RENAME TO other; CREATE VIEW logs AS SELECT * FROM other");
    expect_refused(WEFT_EFORMAT, "s.db");
}
END_TEST

START_TEST(a_file_that_is_no_database_is_refused)
{
    close_it();
    size_t size;
    uint8_t *bytes = faulty_bytes("s.db", &size);
    memset(bytes, 'x', size);
    faulty_power_on();
    expect_refused(WEFT_EFORMAT, "damaged");
}
END_TEST

START_TEST(a_read_only_file_is_refused)
{
    int rc;
    append_ok("a", "one");
    close_it();
    faulty_read_only(true);
    ck_assert_ptr_null(open_as(false, &rc));
    ck_assert_msg(rc == WEFT_EACCESS, "%s: %s", weft_error_name(rc), why.text);
    faulty_read_only(false);
}
END_TEST

/* ---- Disks ----------------------------------------------------------------------------------------------------- */

START_TEST(a_full_disk_is_said_and_can_be_emptied)
{
    static char text[20001];
    memset(text, 'x', sizeof text - 1);
    append_ok("a", "one");
    faulty_space(50000);
    int rc = WEFT_OK, stored = 0;
    for (int i = 0; i < 100 && rc == WEFT_OK; i++) stored += (rc = append_one("a", text, NULL, NULL)) == WEFT_OK;
    ck_assert_msg(rc == WEFT_ENOSPC, "%s", weft_strerror(rc));
    ck_assert_uint_eq(find_log("a").last, (uint64_t)stored + 1);
    ck_assert_str_eq(read_text("a", 1, 1, 99), "1=one ");
    faulty_space(SIZE_MAX);
    append_ok("a", "last");
    ck_assert_uint_eq(find_log("a").last, (uint64_t)stored + 2);
    reopen();
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(after_a_failed_sync_nothing_is_appended)
{
    append_ok("a", "one");
    faulty_fail_sync(0);
    ck_assert_int_eq(append_one("a", "two", NULL, NULL), WEFT_ESYSTEM);
    ck_assert_int_eq(append_one("a", "three", NULL, NULL), WEFT_ESYSTEM);
    ck_assert_int_eq(advance_to("c", "a", 1, 1), WEFT_ESYSTEM);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
    reopen();
    append_ok("a", "four");
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(acknowledged_records_survive_a_power_cut)
{
    append_ok("a", "one");
    append_ok("a", "two");
    faulty_cut_power(0);
    ck_assert_int_lt(append_one("a", "three", NULL, NULL), 0);
    close_it();
    faulty_power_on();
    open_it();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two ");
}
END_TEST

int main(void)
{
    use_faulty_disk();
    Suite *suite = suite_create("the store on a disk that fails");
    TCase *c = tcase_create("faults");
    suite_add_tcase(suite, conformance_case("conformance"));
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, a_damaged_record_spoils_none_that_were_stored_with_it);
    tcase_add_loop_test(c, a_damaged_size_hides_no_other_record, 33, 37);
    tcase_add_loop_test(c, a_damaged_byte_costs_one_record, 0, 2 * SIX_BYTES / byte_step());
    tcase_add_test(c, limits_pass_a_damaged_size);
    tcase_add_test(c, limits_pass_what_is_missing);
    tcase_add_test(c, limits_look_at_each_record_a_few_times_however_many_are_missing);
    tcase_add_test(c, what_is_missing_later_is_counted_again);
    tcase_add_test(c, a_newer_file_is_refused);
    tcase_add_test(c, an_older_file_gets_the_newer_tables);
    tcase_add_test(c, a_database_of_others_is_refused);
    tcase_add_test(c, a_file_runs_no_code_of_its_own);
    tcase_add_test(c, a_file_that_is_no_database_is_refused);
    tcase_add_test(c, a_read_only_file_is_refused);
    add_damage_tests(c);
    tcase_add_test(c, a_full_disk_is_said_and_can_be_emptied);
    tcase_add_test(c, after_a_failed_sync_nothing_is_appended);
    tcase_add_test(c, acknowledged_records_survive_a_power_cut);
    return run_suite(suite);
}

/* tests/unit/transport/store/damage.h -- an engine with tables that were changed by hand: what is damaged is never served,
 * and check finds it. A part of a program that includes conformance.h, and has set fixture.run_sql. */
#ifndef WF_STORE_DAMAGE_H
#define WF_STORE_DAMAGE_H

static void expect_refused(int error, const char *text)
{
    int rc;
    ck_assert_ptr_null(open_as(false, &rc));
    ck_assert_msg(rc == error, "%s: %s", weft_error_name(rc), why.text);
    ck_assert_msg(strstr(why.text, text) != NULL, "%s", why.text);
}

/* ---- Damage ---------------------------------------------------------------------------------------------------- */

static int faults;

static void count_fault(void *arg, const char *topic, uint64_t offset, const char *text)
{
    (void)arg, (void)topic, (void)text;
    faults += offset == 2;
}

static void expect_record_two_is_damaged(void)
{
    open_it();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
    ck_assert_str_eq(read_text("a", 2, 9, 99), "WEFT_EFORMAT");
    ck_assert_str_eq(read_text("a", 3, 9, 99), "3=three ");
    append_ok("a", "four");
    ck_assert_str_eq(read_text("a", 3, 9, 99), "3=three 4=four ");
    faults = 0;
    ck_assert_int_ge(fixture.engine->check(store, count_fault, NULL), 1);
    ck_assert_int_eq(faults, 1);
}

static void change_by_hand(const char *sql)
{
    append_ok("a", "one");
    append_ok("a", "two");
    append_ok("a", "three");
    close_it();
    fixture.run_sql(sql);
}

START_TEST(a_record_with_other_bytes_is_not_served)
{
    change_by_hand("UPDATE records SET body = 'twO' WHERE id = 1099511627778");
    expect_record_two_is_damaged();
}
END_TEST

START_TEST(a_record_of_another_offset_is_not_served)
{
    change_by_hand("UPDATE records SET (time, tag, body, sum) = (SELECT time, tag, body, sum FROM records WHERE id = "
                   "1099511627777)"
                   " WHERE id = 1099511627778");
    expect_record_two_is_damaged();
}
END_TEST

static void append_four_together(void)
{
    struct wf_store_append batch[4];
    for (int i = 0; i < 4; i++) batch[i] = (struct wf_store_append){.topic = "a", .data = "x", .size = 1};
    ck_assert_int_eq(fixture.engine->append(store, batch, 4), WEFT_OK);
}

/* Of the records 1 ... 4 and 5 ... 8. */
static void expect_first_four_are_damaged(const char *sql)
{
    append_four_together();
    append_four_together();
    append_ok("a", "nine");
    close_it();
    fixture.run_sql(sql);
    open_it();
    for (uint64_t from = 1; from <= 4; from++) ck_assert_str_eq(read_text("a", from, 9, 99), "WEFT_EFORMAT");
    ck_assert_str_eq(read_text("a", 5, 9, 99), "5=x 6=x 7=x 8=x 9=nine ");
    append_ok("a", "ten");
    ck_assert_int_ge(fixture.engine->check(store, count_fault, NULL), 1); /* one, or one for each record */
}

START_TEST(records_that_were_stored_together_with_other_bytes_are_not_served)
{
    expect_first_four_are_damaged("UPDATE records SET body = (SELECT body FROM records WHERE id = 1099511627784)"
                                  " WHERE id = 1099511627780");
}
END_TEST

START_TEST(records_that_were_stored_together_with_another_number_are_not_served)
{
    expect_first_four_are_damaged("UPDATE records SET tag = -3 WHERE id = 1099511627780");
}
END_TEST

START_TEST(records_that_were_stored_together_and_are_no_longer_are_not_served)
{
    expect_first_four_are_damaged("UPDATE records SET tag = 7 WHERE id = 1099511627780");
}
END_TEST

START_TEST(a_number_of_records_that_no_row_can_have_is_damage)
{
    expect_first_four_are_damaged("UPDATE records SET tag = -9223372036854775807 - 1 WHERE id = 1099511627780");
}
END_TEST

START_TEST(missing_records_that_were_stored_together_are_found)
{
    expect_first_four_are_damaged("DELETE FROM records WHERE id = 1099511627780");
}
END_TEST

START_TEST(records_without_their_bytes_are_not_served)
{
    expect_first_four_are_damaged("UPDATE records SET body = NULL WHERE id = 1099511627780");
}
END_TEST

START_TEST(damaged_records_that_were_stored_together_are_not_shared)
{
    struct wf_store_append batch[4];
    for (int i = 0; i < 4; i++) batch[i] = (struct wf_store_append){.topic = "orders.a", .data = "x", .size = 1};
    ck_assert_int_eq(fixture.engine->append(store, batch, 4), WEFT_OK);
    append_ok("orders.a", "five");
    fixture.run_sql("UPDATE records SET time = 7 WHERE id % 8 = 4");
    struct wf_store_change x = share_up_to("orders.a", 9, 3);
    ck_assert(x.error == WEFT_OK && x.count == 0 && x.skipped == 3 && x.more);
    x = share_up_to("orders.a", 9, 9);
    ck_assert(x.error == WEFT_OK && x.count == 1 && x.skipped == 1 && !x.more);
    take_shared("0 orders.a:5 five", 10);
}
END_TEST

/* To count the bytes of the others looks at the whole log: each append looks at a part of it, and the damaged record goes when
 * all is counted. */
START_TEST(a_damaged_record_of_a_long_log_is_removed_in_parts)
{
    static struct wf_store_append batch[WF_STORE_BATCH_MAX];
    const struct wf_store_limits limits = {.bytes = 10 * WF_STORE_BATCH_MAX};
    append_ok("a", "damaged");
    for (int k = 0; k < 10; k++) {
        for (int i = 0; i < WF_STORE_BATCH_MAX; i++)
            batch[i] = (struct wf_store_append){.topic = "a", .data = "x", .size = 1};
        ck_assert_int_eq(fixture.engine->append(store, batch, WF_STORE_BATCH_MAX), WEFT_OK);
    }
    fixture.run_sql("DELETE FROM records WHERE id = 1099511627777");
    int appends = 0;
    for (; find_log("a").first == 1 && appends < 9; appends++) {
        struct wf_store_append one = {.topic = "a", .data = "y", .size = 1, .limits = &limits};
        ck_assert_int_eq(fixture.engine->append(store, &one, 1), WEFT_OK);
    }
    ck_assert_int_eq(appends, 3); /* each counts 16,384 of 40,960 records */
    const struct wf_store_log log = find_log("a");
    ck_assert_uint_eq(log.bytes, log.last - log.first + 1);
    ck_assert_uint_eq(log.bytes, limits.bytes);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

/* At its opening a store serves nobody yet. */
START_TEST(a_damaged_record_of_a_long_log_is_removed_when_it_is_opened)
{
    static struct wf_store_append batch[WF_STORE_BATCH_MAX];
    const struct wf_store_limits limits = {.count = 3};
    append_ok("a", "damaged");
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < WF_STORE_BATCH_MAX; i++)
            batch[i] = (struct wf_store_append){.topic = "a", .data = "x", .size = 1};
        ck_assert_int_eq(fixture.engine->append(store, batch, WF_STORE_BATCH_MAX), WEFT_OK);
    }
    fixture.run_sql("UPDATE records SET body = NULL WHERE id = 1099511627777");
    ck_assert_int_eq(fixture.engine->trim(store, "a", &limits, 0), WEFT_OK);
    ck_assert_uint_eq(find_log("a").bytes, 3);
}
END_TEST

START_TEST(a_hole_is_found)
{
    change_by_hand("DELETE FROM records WHERE id = 1099511627778");
    expect_record_two_is_damaged();
}
END_TEST

static char hole[128];

static void note_hole(void *arg, const char *topic, uint64_t offset, const char *text)
{
    (void)arg;
    ck_assert_str_eq(topic, "a");
    snprintf(hole + strlen(hole), sizeof hole - strlen(hole), "%llu: %s; ", (unsigned long long)offset, text);
}

/* However many records a log says that it has, check ends. */
START_TEST(missing_records_side_by_side_are_one_fault)
{
    for (int i = 0; i < 9; i++) append_ok("a", "x");
    close_it();
    fixture.run_sql("DELETE FROM records WHERE id BETWEEN 1099511627778 AND 1099511627780");
    fixture.run_sql("DELETE FROM records WHERE id > 1099511627782");
    open_it();
    hole[0] = '\0';
    ck_assert_int_eq(fixture.engine->check(store, note_hole, NULL), 2);
    ck_assert_str_eq(hole, "2: the records up to 4 are missing; 7: the records up to 9 are missing; ");
}
END_TEST

START_TEST(a_missing_end_is_found)
{
    change_by_hand("DELETE FROM records WHERE id = 1099511627779");
    open_it();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two ");
    ck_assert_str_eq(read_text("a", 3, 9, 99), "WEFT_EFORMAT");
}
END_TEST

START_TEST(a_log_with_another_last_offset_is_refused)
{
    change_by_hand("UPDATE logs SET last = 2");
    expect_refused(WEFT_EFORMAT, "row 1");
}
END_TEST

START_TEST(a_missing_log_is_refused)
{
    change_by_hand("DELETE FROM logs");
    expect_refused(WEFT_EFORMAT, "row 1");
}
END_TEST

static void count_cursor_fault(void *arg, const char *topic, uint64_t offset, const char *text)
{
    (void)arg;
    ck_assert_str_eq(topic, "a");
    ck_assert_uint_eq(offset, 0);
    ck_assert_str_eq(text, "the cursor c is damaged");
}

START_TEST(what_is_no_number_is_damage)
{
    put_job("q", "job", 0, 0);
    close_it();
    fixture.run_sql("UPDATE jobs SET lease = NULL"); /* which was 0 */
    open_it();
    expect_jobs("q", false, "");
    ck_assert_int_ge(fixture.engine->check(store, count_fault, NULL), 1);
}
END_TEST

/* The members of a shared cursor get the records behind a damaged one. */
START_TEST(a_damaged_record_is_not_shared)
{
    for (int i = 0; i < 5; i++) append_ok("orders.a", "x");
    fixture.run_sql("UPDATE records SET tag = 8 WHERE id % 8 = 2");
    fixture.run_sql("DELETE FROM records WHERE id % 8 = 4");
    struct wf_store_change x = share_up_to("orders.a", 9, 3);
    ck_assert(x.error == WEFT_OK && x.count == 2 && x.skipped == 1 && x.more);
    x = share_up_to("orders.a", 9, 1);
    ck_assert(x.error == WEFT_OK && x.count == 0 && x.skipped == 1 && x.more);
    x = share_up_to("orders.a", 9, 9);
    ck_assert(x.error == WEFT_OK && x.count == 1 && x.skipped == 0 && !x.more);
    take_shared("0 orders.a:1 x", 10);
    take_shared("0 orders.a:3 x", 10);
    take_shared("0 orders.a:5 x", 10);
}
END_TEST

START_TEST(a_damaged_shared_cursor_gives_nothing)
{
    append_ok("orders.a", "x");
    share_all("orders.a");
    append_ok("orders.a", "y");
    fixture.run_sql("UPDATE cursors SET last = 0");
    ck_assert_int_eq(share_up_to("orders.a", 9, 9).error, WEFT_EFORMAT);
    ck_assert_int_eq(advance_to("bill", "orders.a", 9, 1), WEFT_EEXIST);
    ck_assert_int_eq(advance_to("bill", "orders.a", 0, 0), WEFT_OK);
    ck_assert_uint_eq(share_all("orders.a"), 2);
}
END_TEST

START_TEST(damaged_cursors_are_found)
{
    struct wf_store_cursor at;
    ck_assert_int_eq(advance_to("c", "a", 3, 3), WEFT_OK);
    close_it();
    fixture.run_sql("UPDATE cursors SET last = 4");
    open_it();
    ck_assert_int_eq(fixture.engine->cursor(store, "c", "a", &at), WEFT_EFORMAT);
    expect_cursors("", "", 9, "");
    ck_assert_int_eq(fixture.engine->check(store, count_cursor_fault, NULL), 1);
    ck_assert_int_eq(advance_to("c", "a", 3, 5), WEFT_EFORMAT);
    ck_assert_int_eq(advance_to("c", "a", 0, 0), WEFT_OK);
    ck_assert_int_eq(advance_to("c", "a", 3, 5), WEFT_OK);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

static int job_faults;

static void count_job_fault(void *arg, const char *topic, uint64_t offset, const char *text)
{
    (void)arg, (void)text;
    job_faults += topic != NULL && strcmp(topic, "q") == 0 && offset == 1;
}

static void expect_job_one_is_damaged(const char *sql)
{
    put_job("q", "one", 0, 0);
    put_job("q", "two", 0, 0);
    close_it();
    fixture.run_sql(sql);
    open_it();
    struct wf_store_job two = take_job("q", "two", 0);
    struct wf_store_change x = change_one((struct wf_store_change){.kind = WF_JOB_TAKE, .queue = "q"});
    ck_assert(x.error == WEFT_ENOTFOUND && x.count == 1);
    ck_assert_int_eq(done_job("q", two), WEFT_OK);
    expect_jobs("q", false, "");
    job_faults = 0;
    ck_assert_int_ge(fixture.engine->check(store, count_job_fault, NULL), 1);
    ck_assert_int_eq(job_faults, 1);
}

START_TEST(a_job_with_other_bytes_is_not_given)
{
    expect_job_one_is_damaged("UPDATE job_bodies SET body = 'onE' WHERE id = 1");
}
END_TEST

START_TEST(a_job_with_another_state_is_not_given)
{
    expect_job_one_is_damaged("UPDATE jobs SET attempts = 7 WHERE id = 1");
}
END_TEST

START_TEST(a_job_without_its_bytes_is_not_given)
{
    expect_job_one_is_damaged("DELETE FROM job_bodies WHERE id = 1");
}
END_TEST

START_TEST(a_damaged_count_of_jobs_is_refused)
{
    close_it();
    fixture.run_sql("UPDATE job_count SET last = 5");
    expect_refused(WEFT_EFORMAT, "queues");
}
END_TEST

START_TEST(a_damaged_key_is_said)
{
    struct wf_store_change x = {.kind = WF_JOB_PUT, .queue = "q", .key = "k", .key_age = 9};
    ck_assert_int_eq(change_one(x).error, WEFT_OK);
    close_it();
    fixture.run_sql("UPDATE job_keys SET job = 5");
    open_it();
    ck_assert_int_eq(change_one(x).error, WEFT_EFORMAT);
    ck_assert_int_eq(fixture.engine->check(store, count_job_fault, NULL), 1);
}
END_TEST

START_TEST(a_damaged_reminder_is_not_given)
{
    ck_assert_int_eq(set_reminder("q", "k", "tea", 0, 10, 0).error, WEFT_OK);
    ck_assert_int_eq(set_reminder("q", "other", "milk", 0, 10, 0).error, WEFT_OK);
    struct wf_store_job two = take_job("q", "tea", 0);
    close_it();
    fixture.run_sql("UPDATE job_reminders SET period = 0 WHERE job = 1");
    open_it();
    ck_assert_int_eq(done_job("q", two), WEFT_EFORMAT);
    take_reminder("q", "other", "milk", 0, 1);
    struct wf_store_change x = change_one(
        (struct wf_store_change){.kind = WF_JOB_TAKE, .queue = "q", .now = 1 + LEASE - 1});
    ck_assert(x.error == WEFT_ENOTFOUND && x.count == 1);
    ck_assert_int_eq(set_reminder("q", "k", "tea", 0, 10, 0).error, WEFT_EFORMAT);
    expect_reminders("", "", 9, "q/other 0+10 ");
    job_faults = 0;
    ck_assert_int_eq(fixture.engine->check(store, count_job_fault, NULL), 1);
    ck_assert_int_eq(job_faults, 1);
    ck_assert_int_eq(cancel_reminder("q", "k").error, WEFT_OK); /* its job becomes an ordinary one */
    ck_assert_int_eq(done_job("q", take_job("q", "tea", LEASE)), WEFT_OK);
    ck_assert_int_eq(set_reminder("q", "k", "tea", 0, 10, 0).error, WEFT_OK);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

/* Such a table is sound for the database. */
START_TEST(a_table_without_one_of_its_columns_is_found)
{
    static const char *const column[] = {"cursors RENAME COLUMN last",         "jobs RENAME COLUMN due",
                                         "job_bodies RENAME COLUMN sum",       "job_keys RENAME COLUMN until",
                                         "job_workers RENAME COLUMN node",     "job_reminders RENAME COLUMN planned",
                                         "states RENAME COLUMN opening",       "state_snapshots RENAME COLUMN body",
                                         "state_events RENAME COLUMN version", "job_count RENAME COLUMN last"};
    ck_assert_int_eq(set_reminder("q", "k", "tea", 0, 10, 0).error, WEFT_OK);
    struct wf_store_state state = open_state("a", 1, 1, 0);
    ck_assert_int_eq(write_state(WF_STATE_SAVE, state, 0, "nothing"), WEFT_OK);
    append_event(state, 1, "one");
    close_it();
    for (size_t i = 0; i < sizeof column / sizeof *column; i++) {
        char sql[128];
        int rc;
        snprintf(sql, sizeof sql, "ALTER TABLE %s TO other", column[i]);
        fixture.run_sql(sql);
        store = open_as(true, &rc);
        ck_assert_int_eq(rc, WEFT_OK);
        ck_assert_msg(fixture.engine->check(store, count_fault, NULL) > 0, "%s", sql);
        close_it();
        snprintf(sql, sizeof sql, "ALTER TABLE %.*sother TO %s", (int)(strrchr(column[i], ' ') - column[i]) + 1,
                 column[i], strrchr(column[i], ' ') + 1);
        fixture.run_sql(sql);
    }
    open_it();
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(a_missing_job_of_a_reminder_is_found)
{
    ck_assert_int_eq(set_reminder("q", "k", "tea", 0, 10, 0).error, WEFT_OK);
    close_it();
    fixture.run_sql("DELETE FROM jobs; DELETE FROM job_bodies");
    open_it();
    job_faults = 0;
    ck_assert_int_eq(fixture.engine->check(store, count_job_fault, NULL), 1);
    ck_assert_int_eq(job_faults, 1);
    ck_assert_int_eq(set_reminder("q", "k", "tea", 0, 10, 0).error, WEFT_OK);
    take_reminder("q", "k", "tea", 0, 0);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

static void add_damage_tests(TCase *c)
{
    tcase_add_test(c, a_damaged_reminder_is_not_given);
    tcase_add_test(c, a_missing_job_of_a_reminder_is_found);
    tcase_add_test(c, a_record_with_other_bytes_is_not_served);
    tcase_add_test(c, a_record_of_another_offset_is_not_served);
    tcase_add_test(c, records_that_were_stored_together_with_other_bytes_are_not_served);
    tcase_add_test(c, records_that_were_stored_together_with_another_number_are_not_served);
    tcase_add_test(c, records_that_were_stored_together_and_are_no_longer_are_not_served);
    tcase_add_test(c, a_number_of_records_that_no_row_can_have_is_damage);
    tcase_add_test(c, missing_records_that_were_stored_together_are_found);
    tcase_add_test(c, records_without_their_bytes_are_not_served);
    tcase_add_test(c, damaged_records_that_were_stored_together_are_not_shared);
    tcase_add_test(c, a_damaged_record_of_a_long_log_is_removed_in_parts);
    tcase_add_test(c, a_damaged_record_of_a_long_log_is_removed_when_it_is_opened);
    tcase_add_test(c, a_hole_is_found);
    tcase_add_test(c, what_is_no_number_is_damage);
    tcase_add_test(c, missing_records_side_by_side_are_one_fault);
    tcase_add_test(c, a_missing_end_is_found);
    tcase_add_test(c, a_log_with_another_last_offset_is_refused);
    tcase_add_test(c, a_missing_log_is_refused);
    tcase_add_test(c, a_damaged_record_is_not_shared);
    tcase_add_test(c, a_damaged_shared_cursor_gives_nothing);
    tcase_add_test(c, damaged_cursors_are_found);
    tcase_add_test(c, a_job_with_other_bytes_is_not_given);
    tcase_add_test(c, a_job_with_another_state_is_not_given);
    tcase_add_test(c, a_job_without_its_bytes_is_not_given);
    tcase_add_test(c, a_damaged_count_of_jobs_is_refused);
    tcase_add_test(c, a_table_without_one_of_its_columns_is_found);
    tcase_add_test(c, a_damaged_key_is_said);
}

#endif

/* tests/unit/transport/store/sqlite_states_test.c -- states of actors in a damaged file: damaged data is never
 * served, nor an empty state instead of a damaged one. */
#include "faulty_store.h"

/* A state with a snapshot and the events 2, 3 and 4, which is then changed by hand. */
static struct wf_store_state damaged(const char *sql)
{
    struct wf_store_state s = open_state("a", 1, 1, 0), other = open_state("b", 1, 1, 0);
    append_event(s, 1, "one");
    ck_assert_int_eq(write_state(WF_STATE_SAVE, s, 1, "all"), WEFT_OK);
    append_event(s, 2, "two");
    append_event(s, 3, "three");
    append_event(s, 4, "four");
    append_event(other, 1, "other");
    close_it();
    run_sql(sql);
    open_it();
    ck_assert_str_eq(state_text(other, 0, 9, 99), "1=other "); /* the others can be read */
    append_event(other, 2, "more");
    return s;
}

static char faults[500];

static void note_fault(void *arg, const char *key, uint64_t number, const char *text)
{
    (void)arg;
    size_t at = strlen(faults);
    snprintf(faults + at, sizeof faults - at, "%s %d: %s\n", key == NULL ? "-" : key, (int)number, text);
}

static void expect_faults(const char *expected)
{
    faults[0] = '\0';
    int count = 0;
    for (const char *at = expected; *at != '\0'; at++) count += *at == '\n';
    ck_assert_int_eq(fixture.engine->check(store, note_fault, NULL), count);
    ck_assert_str_eq(faults, expected);
}

START_TEST(a_damaged_snapshot_is_not_served)
{
    static const char *const ways[] = {"UPDATE state_snapshots SET body = CAST('aLl' AS BLOB)",
                                       "UPDATE state_snapshots SET tag = 8", "UPDATE state_snapshots SET version = 3",
                                       "UPDATE state_snapshots SET number = 2", "DELETE FROM state_snapshots"};
    struct wf_store_state s = damaged(ways[_i]);
    ck_assert_str_eq(state_text(s, 0, 9, 99), "WEFT_EFORMAT");
    expect_faults("a 1: the snapshot of the state is damaged or missing\n");
    ck_assert_int_eq(write_state(WF_STATE_REMOVE, s, 0, ""), WEFT_OK);
    expect_faults("");
    open_state("a", 1, 1, 0);
}
END_TEST

START_TEST(a_damaged_event_is_not_served)
{
    static const char *const ways[] = {
        "UPDATE state_events SET body = CAST('thrEe' AS BLOB) WHERE state = 1 AND number = 3",
        "UPDATE state_events SET time = 6 WHERE state = 1 AND number = 3",
        "DELETE FROM state_events WHERE state = 1 AND number = 3",
        "REPLACE INTO state_events SELECT state, 3, time, tag, version, body, sum FROM state_events WHERE number=2"};
    struct wf_store_state s = damaged(ways[_i]);
    ck_assert_str_eq(state_text(s, 0, 9, 99), "1:all 2=two ");
    ck_assert_str_eq(state_text(s, 3, 9, 99), "WEFT_EFORMAT");
    expect_faults("a 3: the event of the state is damaged or missing\n");
}
END_TEST

START_TEST(a_missing_end_is_found)
{
    struct wf_store_state s = damaged("DELETE FROM state_events WHERE state = 1 AND number = 4");
    ck_assert_str_eq(state_text(s, 0, 9, 99), "1:all 2=two 3=three ");
    ck_assert_str_eq(state_text(s, 4, 9, 99), "WEFT_EFORMAT");
    expect_faults("a 4: the event of the state is damaged or missing\n");
}
END_TEST

/* What an older snapshot and older events would look like, with the sums that they had. */
START_TEST(an_older_snapshot_is_not_served)
{
    struct wf_store_state s = open_state("a", 1, 1, 0);
    append_event(s, 1, "one");
    ck_assert_int_eq(write_state(WF_STATE_SAVE, s, 1, "old"), WEFT_OK);
    close_it();
    run_sql("CREATE TABLE kept AS SELECT * FROM state_snapshots");
    open_it();
    append_event(s, 2, "two");
    ck_assert_int_eq(write_state(WF_STATE_SAVE, s, 2, "new"), WEFT_OK);
    close_it();
    run_sql("DELETE FROM state_snapshots; INSERT INTO state_snapshots SELECT * FROM kept");
    open_it();
    ck_assert_str_eq(state_text(s, 0, 9, 99), "WEFT_EFORMAT");
}
END_TEST

START_TEST(a_damaged_state_is_not_served)
{
    static const char *const ways[] = {
        "UPDATE states SET owner = owner + 1 WHERE key = 'a'", "UPDATE states SET last = 3 WHERE key = 'a'",
        "UPDATE states SET opening = 7 WHERE key = 'a'", "UPDATE states SET size = -1 WHERE key = 'a'"};
    struct wf_store_state s = damaged(ways[_i]);
    ck_assert_str_eq(state_text(s, 0, 9, 99), "WEFT_EFORMAT");
    ck_assert_int_eq(write_state(WF_STATE_APPEND, s, 5, "x"), WEFT_EFORMAT);
    ck_assert_int_eq(change_state((struct wf_store_state_change){.kind = WF_STATE_OPEN, .key = "a"}).error,
                     WEFT_EFORMAT);
    expect_states(NULL, "b=1/1-2/9/-1 ");
    expect_faults("a 0: what is known of the state is damaged\n");
}
END_TEST

/* A state that cannot be found may be the damaged one: it does not begin again, without its events. */
START_TEST(no_state_begins_in_the_place_of_a_damaged_one)
{
    static const char *const ways[] = {"UPDATE states SET key = 'c' WHERE key = 'a'",
                                       "UPDATE states SET key = x'00ff' WHERE key = 'a'",
                                       "DELETE FROM states WHERE key = 'a'"};
    damaged(ways[_i]);
    ck_assert_int_eq(change_state((struct wf_store_state_change){.kind = WF_STATE_OPEN, .key = "a"}).error,
                     WEFT_EFORMAT);
    open_state("b", 2, 1, 2);
    ck_assert_int_ge(fixture.engine->check(store, note_fault, NULL), 1);
}
END_TEST

START_TEST(a_damaged_count_of_states_is_refused)
{
    int rc;
    close_it();
    run_sql("UPDATE state_count SET last = 5");
    ck_assert_ptr_null(open_as(false, &rc));
    ck_assert_int_eq(rc, WEFT_EFORMAT);
    ck_assert_ptr_nonnull(strstr(why.text, "states"));
}
END_TEST

START_TEST(an_event_without_its_state_is_said)
{
    damaged("INSERT INTO state_events(state, number) VALUES(9, 7)");
    expect_faults("- 7: there is a snapshot or an event without its state\n");
}
END_TEST

START_TEST(after_a_failed_sync_no_event_is_appended)
{
    struct wf_store_state s = open_state("a", 1, 1, 0);
    append_event(s, 1, "one");
    faulty_fail_sync(0);
    ck_assert_int_eq(write_state(WF_STATE_APPEND, s, 2, "two"), WEFT_ESYSTEM);
    ck_assert_int_eq(write_state(WF_STATE_APPEND, s, 2, "two"), WEFT_ESYSTEM);
    ck_assert_str_eq(state_text(s, 0, 9, 99), "1=one ");
}
END_TEST

int main(void)
{
    fixture.engine = &wf_store_sqlite;
    fixture.vfs = "faulty";
    fixture.where = "s.db";
    fixture.begin = begin;
    fixture.end = end;
    Suite *suite = suite_create("states in a damaged file");
    TCase *c = tcase_create("states");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, a_damaged_snapshot_is_not_served, 0, 5);
    tcase_add_loop_test(c, a_damaged_event_is_not_served, 0, 4);
    tcase_add_test(c, a_missing_end_is_found);
    tcase_add_test(c, an_older_snapshot_is_not_served);
    tcase_add_loop_test(c, a_damaged_state_is_not_served, 0, 4);
    tcase_add_loop_test(c, no_state_begins_in_the_place_of_a_damaged_one, 0, 3);
    tcase_add_test(c, a_damaged_count_of_states_is_refused);
    tcase_add_test(c, an_event_without_its_state_is_said);
    tcase_add_test(c, after_a_failed_sync_no_event_is_appended);
    return run_suite(suite);
}

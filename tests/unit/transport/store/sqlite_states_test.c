/* tests/unit/transport/store/sqlite_states_test.c -- states of actors in a damaged file, and on a disk that fails. */
#include "faulty_store.h"

#include "state_damage.h"

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

/* As when a bit of the type of the key is flipped: the row is sound, but it is not found by its key. */
START_TEST(no_state_begins_in_place_of_one_whose_key_has_another_type)
{
    struct wf_store_state_change x = {.kind = WF_STATE_OPEN, .key = "a"};
    damaged("UPDATE states SET key = CAST(key AS BLOB) WHERE key = 'a'");
    ck_assert_int_eq(fixture.engine->change_states(store, &x, 1), WEFT_OK);
    ck_assert_int_eq(x.error, WEFT_EFORMAT);
    ck_assert_int_ge(fixture.engine->check(store, note_fault, NULL), 1);
}
END_TEST

int main(void)
{
    use_faulty_disk();
    Suite *suite = suite_create("states in a damaged file");
    TCase *c = tcase_create("states");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    add_state_damage_tests(c);
    tcase_add_test(c, after_a_failed_sync_no_event_is_appended);
    tcase_add_test(c, no_state_begins_in_place_of_one_whose_key_has_another_type);
    return run_suite(suite);
}

/* tests/unit/runtime/os/windows_changes_test.c -- changes of directories and files on Windows, which may report more
 * changes of contents than there were. */
#include "changes.h"

static void put(int n, const char *text)
{
    FILE *f = fopen(file_path(n), "ab");
    want(f != NULL && fputs(text, f) >= 0);
    want_int(fclose(f), 0);
}

/* Whatever is said of contents before it. */
static void expect_change(weft_changes c, weft_change_kind kind, const char *name)
{
    weft_change change;
    do change = next_change(c);
    while (change.kind == WEFT_CHANGE_MODIFIED && kind != WEFT_CHANGE_MODIFIED);
    want_int(change.kind, kind);
    want(strcmp(change.name, name) == 0);
}

static void watch_folder(void *arg)
{
    (void)arg;
    weft_changes c;
    weft_change change;
    want_int(weft_changes_open(&c, folder_path), 0);
    weft_wait w = weft_on_changes(c);
    want_int(weft_wait_any(&w, 1, WEFT_NOW), WEFT_ETIMEDOUT);
    put(1, "");
    want_int(weft_wait_any(&w, 1, WEFT_FOREVER), 0);
    expect_change(c, WEFT_CHANGE_CREATED, "1");
    put(1, "x");
    expect_change(c, WEFT_CHANGE_MODIFIED, "1");
    move_file(1, 2);
    want_int(remove(file_path(2)), 0);
    expect_change(c, WEFT_CHANGE_REMOVED, "1");
    expect_change(c, WEFT_CHANGE_CREATED, "2");
    expect_change(c, WEFT_CHANGE_REMOVED, "2");
    want_int(weft_changes_close(c), 0);
    want_int(weft_changes_next(c, &change, WEFT_NOW), WEFT_ECLOSED);
    want_int(weft_changes_open(&c, file_path(3)), WEFT_ENOTFOUND);
}

START_TEST(changes_in_a_directory_come_in_order)
{
    run_alone(watch_folder, NULL);
}
END_TEST

static void watch_file(void *arg)
{
    (void)arg;
    weft_changes c;
    put(1, "");
    want_int(weft_changes_open(&c, file_path(1)), 0);
    put(2, "not of interest");
    put(1, "x");
    expect_change(c, WEFT_CHANGE_MODIFIED, "");
    want_int(remove(file_path(1)), 0);
    expect_change(c, WEFT_CHANGE_GONE, "");
    expect_the_end(c);
    want_int(weft_changes_defer_close(c), 0);
}

START_TEST(a_file_is_watched_until_it_is_gone)
{
    run_alone(watch_file, NULL);
}
END_TEST

static void watch_what_moves(void *arg)
{
    (void)arg;
    weft_changes c;
    want_int(_mkdir(file_path(1)), 0);
    want_int(weft_changes_open(&c, file_path(1)), 0);
    move_file(1, 2);
    expect_change(c, WEFT_CHANGE_GONE, "");
    expect_the_end(c);
    want_int(weft_changes_close(c), 0);
    want_int(rmdir(file_path(2)), 0);
}

START_TEST(a_folder_that_is_moved_away_is_gone)
{
    run_alone(watch_what_moves, NULL);
}
END_TEST

/* More than lies between the system and a reader that does not read. */
static void change_too_much(void *arg)
{
    (void)arg;
    enum { CHANGES = 2000 };
    weft_changes c;
    char path[256];
    int seen = 0;
    want_int(weft_changes_open(&c, folder_path), 0);
    snprintf(path, sizeof path, "%s/%0120d", folder_path, 1);
    for (int i = 0; i < CHANGES; i++) {
        FILE *f = fopen(path, "wb");
        want(f != NULL && fclose(f) == 0 && remove(path) == 0);
    }
    while (next_change(c).kind != WEFT_CHANGE_OVERFLOW) seen++;
    want(seen > 0 && seen < 3 * CHANGES);
    want_int(weft_changes_close(c), 0);
}

START_TEST(an_overflow_is_said)
{
    run_alone(change_too_much, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("changes");
    TCase *t = tcase_create("changes");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, changes_in_a_directory_come_in_order);
    tcase_add_test(t, a_file_is_watched_until_it_is_gone);
    tcase_add_test(t, a_folder_that_is_moved_away_is_gone);
    tcase_add_test(t, an_overflow_is_said);
    suite_add_tcase(suite, t);
    return run_suite_unforked(suite);
}

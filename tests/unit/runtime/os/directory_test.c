/* tests/unit/runtime/os/directory_test.c -- listings, changes, pipes and standard streams. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes.h"

#include <weft/dir.h>
#include <weft/pipe.h>

static void touch(int n)
{
    int fd = open(file_path(n), O_WRONLY | O_CREAT, 0600);
    want(fd >= 0);
    close(fd);
}

/* ---- Listings -------------------------------------------------------------------------------------------------- */

static void list(void *arg)
{
    (void)arg;
    weft_dir d;
    weft_dir_entry e;
    bool seen[FOLDER_FILES] = {false};
    enum { PLAIN = FOLDER_FILES - 2 };
    for (int i = 0; i < PLAIN; i++) touch(i);
    want_int(symlink("nowhere", file_path(PLAIN)), 0);
    want_int(mkdir(file_path(PLAIN + 1), 0700), 0);
    want_int(weft_dir_open(&d, folder_path, WEFT_FOREVER), 0);
    int rc;
    while ((rc = weft_dir_next(d, &e, WEFT_FOREVER)) == 1) {
        int n = atoi(e.name);
        want(!seen[n]);
        seen[n] = true;
        weft_dir_kind kind = n == PLAIN ? WEFT_DIR_LINK : n > PLAIN ? WEFT_DIR_DIRECTORY : WEFT_DIR_FILE;
        want(e.kind == kind || e.kind == WEFT_DIR_UNKNOWN);
    }
    want_int(rc, 0);
    want_int(weft_dir_next(d, &e, WEFT_FOREVER), 0);
    for (int i = 0; i < FOLDER_FILES; i++) want(seen[i]);
    want_int(weft_dir_close(d), 0);
    want_int(weft_dir_close(d), WEFT_ECLOSED);
    want_int(weft_dir_next(d, &e, WEFT_FOREVER), WEFT_ECLOSED);
    want_int(rmdir(file_path(PLAIN + 1)), 0);
}

START_TEST(a_directory_is_listed)
{
    run_alone(list, NULL);
}
END_TEST

static void list_badly(void *arg)
{
    (void)arg;
    weft_dir d;
    weft_dir_entry e;
    touch(0);
    want_int(weft_dir_open(&d, file_path(1), WEFT_FOREVER), WEFT_ENOTFOUND);
    want_int(weft_dir_open(&d, file_path(0), WEFT_FOREVER), WEFT_ENOTFOUND);
    want_int(weft_dir_open(&d, NULL, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_dir_open(&d, folder_path, WEFT_FOREVER), 0);
    want_int(weft_dir_next(d, NULL, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_dir_next(d, &e, WEFT_FOREVER), 1);
    /* left open: it ends with its actor */
}

START_TEST(listing_says_why_it_fails)
{
    run_alone(list_badly, NULL);
}
END_TEST

/* Nothing is lost when a deadline passes. */
static void list_impatiently(void *arg)
{
    (void)arg;
    weft_dir d;
    weft_dir_entry e;
    int count = 0, rc;
    for (int i = 0; i < FOLDER_FILES; i++) touch(i);
    want_int(weft_dir_open(&d, folder_path, WEFT_FOREVER), 0);
    while ((rc = weft_dir_next(d, &e, WEFT_NOW)) != 0) {
        if (rc == WEFT_ETIMEDOUT) wf_task_yield();
        else want_int(rc, 1);
        count += rc == 1;
    }
    want_int(count, FOLDER_FILES);
}

START_TEST(a_deadline_loses_no_entry)
{
    run_alone(list_impatiently, NULL);
}
END_TEST

/* ---- Changes --------------------------------------------------------------------------------------------------- */

static void expect_change(weft_changes c, weft_change_kind kind, const char *name)
{
    weft_change change = next_change(c);
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
    want_int(weft_changes_next(c, &change, WEFT_NOW), WEFT_ETIMEDOUT);
    touch(1);
    want_int(weft_wait_any(&w, 1, WEFT_FOREVER), 0);
    expect_change(c, WEFT_CHANGE_CREATED, "1");
    int fd = open(file_path(1), O_WRONLY);
    want_int(write(fd, "x", 1), 1);
    close(fd);
    move_file(1, 2);
    want_int(unlink(file_path(2)), 0);
    expect_change(c, WEFT_CHANGE_MODIFIED, "1");
    want_int(weft_wait_any(&w, 1, WEFT_NOW), 0); /* what was read with the first is still there */
    expect_change(c, WEFT_CHANGE_REMOVED, "1");
    expect_change(c, WEFT_CHANGE_CREATED, "2");
    expect_change(c, WEFT_CHANGE_REMOVED, "2");
    want_int(weft_changes_next(c, &change, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_changes_close(c), 0);
    want_int(weft_changes_next(c, &change, WEFT_NOW), WEFT_ECLOSED);
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
    touch(1);
    want_int(weft_changes_open(&c, file_path(1)), 0);
    int fd = open(file_path(1), O_WRONLY);
    want_int(write(fd, "x", 1), 1);
    close(fd);
    expect_change(c, WEFT_CHANGE_MODIFIED, "");
    want_int(unlink(file_path(1)), 0);
    expect_change(c, WEFT_CHANGE_GONE, "");
    expect_the_end(c);
    want_int(weft_changes_defer_close(c), 0);
    want_int(weft_changes_open(&c, file_path(1)), WEFT_ENOTFOUND);
}

START_TEST(a_file_is_watched_until_it_is_gone)
{
    run_alone(watch_file, NULL);
}
END_TEST

/* Changes that each system reports: each is seen before the next one is made. */
static void change_step_by_step(void *arg)
{
    (void)arg;
    weft_changes c;
    weft_change change;
    touch(0);
    want_int(weft_changes_open(&c, folder_path), 0);
    touch(1);
    expect_change(c, WEFT_CHANGE_CREATED, "1");
    for (int i = 0; i < 2; i++) { /* one that was there, and a new one */
        int fd = open(file_path(i), O_WRONLY);
        want_int(write(fd, "x", 1), 1);
        close(fd);
        expect_change(c, WEFT_CHANGE_MODIFIED, i == 0 ? "0" : "1");
    }
    move_file(1, 2);
    expect_change(c, WEFT_CHANGE_REMOVED, "1");
    expect_change(c, WEFT_CHANGE_CREATED, "2");
    move_file(0, 2); /* over one that is there */
    expect_change(c, WEFT_CHANGE_REMOVED, "0");
    expect_change(c, WEFT_CHANGE_CREATED, "2");
    want_int(unlink(file_path(2)), 0);
    expect_change(c, WEFT_CHANGE_REMOVED, "2");
    want_int(mkdir(file_path(3), 0700), 0);
    expect_change(c, WEFT_CHANGE_CREATED, "3");
    want_int(rmdir(file_path(3)), 0);
    expect_change(c, WEFT_CHANGE_REMOVED, "3");
    want_int(weft_changes_next(c, &change, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_changes_close(c), 0);
}

START_TEST(changes_are_seen_one_by_one)
{
    run_alone(change_step_by_step, NULL);
}
END_TEST

/* A directory that goes is the end, after what was in it. */
static void remove_watched(void *arg)
{
    (void)arg;
    weft_changes c;
    char inside[200], path[160];
    snprintf(path, sizeof path, "%s", file_path(1));
    snprintf(inside, sizeof inside, "%s/file", path);
    want_int(mkdir(path, 0700), 0);
    want_int(weft_changes_open(&c, path), 0);
    int fd = open(inside, O_WRONLY | O_CREAT, 0600);
    close(fd);
    expect_change(c, WEFT_CHANGE_CREATED, "file");
    want_int(unlink(inside), 0);
    expect_change(c, WEFT_CHANGE_REMOVED, "file");
    want_int(rmdir(path), 0);
    expect_change(c, WEFT_CHANGE_GONE, "");
    expect_the_end(c);
    want_int(weft_changes_close(c), 0);
}

START_TEST(a_directory_is_watched_until_it_is_gone)
{
    run_alone(remove_watched, NULL);
}
END_TEST

/* Whether it is the system that writes the list of changes, or weft, which looks when something has changed. */
#ifdef TEST_KQUEUE
static const bool looks_by_itself = true;
#else
static const bool looks_by_itself = false;
#endif

/* More than one read's worth: such a read is short of its buffer, because the next record does not fit. */
enum { BURST = 200 };

static const char *long_path(int n)
{
    static _Thread_local char path[128];
    snprintf(path, sizeof path, "%s/name-of-20-chars-%03d", folder_path, n);
    return path;
}

/* A folder is told as a file is. libkqueue watches a file with an instance of inotify, of which all processes of a
 * user have 128: this test would take them from those that run beside it. */
static void make_one(const char *path)
{
    if (THROUGH_LIBKQUEUE) {
        want_int(mkdir(path, 0700), 0);
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    want(fd >= 0);
    close(fd);
}

static void change_much(void *arg)
{
    (void)arg;
    for (int i = 0; i < BURST; i++) make_one(long_path(i));
}

static void watch_burst(void *arg)
{
    (void)arg;
    weft_changes c;
    weft_change change;
    want_int(weft_changes_open(&c, folder_path), 0);
    weft_wait w = weft_on_changes(c);
    struct test_task *t = spawn_here(change_much, NULL);
    want_int(weft_wait_any(&w, 1, weft_after(WEFT_SEC(30))), 0);
    until(t->done);
    for (int i = 0; i < BURST; i++) {
        do want_int(weft_changes_next(c, &change, weft_after(WEFT_SEC(30))), 1);
        while (looks_by_itself && change.kind == WEFT_CHANGE_OVERFLOW); /* more files than it could watch */
        want_int(change.kind, WEFT_CHANGE_CREATED);
        want(strcmp(change.name, strrchr(long_path(i), '/') + 1) == 0);
    }
    want_int(weft_changes_close(c), 0);
    for (int i = 0; i < BURST; i++) want_int(THROUGH_LIBKQUEUE ? rmdir(long_path(i)) : unlink(long_path(i)), 0);
}

START_TEST(a_burst_of_changes_comes_whole)
{
    run_alone(watch_burst, NULL);
}
END_TEST

/* Watchers on two workers, which see the same: the folder, and a file in it. Both directories and files change on two
 * workers at once; each watcher has to see what is there in the end, and the end of the file. */
enum { ROUNDS = 40, NAMES = 6, LAST = NAMES + 1 };

struct watching {
    bool of_file;
    _Atomic int *ready;
    bool there[FOLDER_FILES]; /* as its changes say */
    int changes;
};

static void watch_others(void *arg)
{
    struct watching *me = arg;
    weft_changes c;
    weft_change change = {0};
    want_int(weft_changes_open(&c, me->of_file ? file_path(0) : folder_path), 0);
    atomic_fetch_add(me->ready, 1);
    while (me->of_file ? change.kind != WEFT_CHANGE_GONE : !me->there[LAST]) {
        want_int(weft_changes_next(c, &change, WEFT_FOREVER), 1);
        me->changes++;
        if (change.kind == WEFT_CHANGE_CREATED) me->there[atoi(change.name)] = true;
        if (change.kind == WEFT_CHANGE_REMOVED) me->there[atoi(change.name)] = false;
        want(!me->of_file || change.name[0] == '\0');
    }
    want_int(weft_changes_close(c), 0);
}

struct changing {
    int first; /* of half of the names */
    _Atomic int *ready, *done;
    int watchers;
};

static void put(int n)
{
    int fd = open(file_path(n), O_WRONLY | O_CREAT, 0600);
    want(fd >= 0);
    want_int(write(fd, "x", 1), 1);
    close(fd);
}

static void change_names(void *arg)
{
    struct changing *me = arg;
    while (atomic_load(me->ready) < me->watchers) wf_task_yield();
    for (int i = 0; i < ROUNDS; i++) {
        for (int n = me->first; n < me->first + NAMES / 2; n++) {
            put(n);
            if (i % 3 == 0) move_file(n, n + 20); /* and back over another, or nothing */
            if (i % 3 == 0) put(n);
            if (i % 3 == 0) move_file(n + 20, n);
            if (i % 3 == 1) want_int(unlink(file_path(n)), 0);
        }
        wf_task_yield();
    }
    for (int n = me->first; n < me->first + NAMES / 2; n += 2) (void)unlink(file_path(n));
    if (atomic_fetch_add(me->done, 1) == 0) return;
    want_int(unlink(file_path(0)), 0);
    put(LAST); /* by who is last */
}

START_TEST(two_workers_watch_the_same)
{
    enum { WATCHERS = 6 };
    struct harness h;
    _Atomic int ready = 0, done = 0;
    struct watching watching[WATCHERS] = {0};
    struct changing changing[2];
    touch(0);
    harness_start(&h, 2);
    for (uint32_t i = 0; i < WATCHERS; i++) {
        watching[i].of_file = i >= 4;
        watching[i].ready = &ready;
        harness_spawn(&h, i % 2, watch_others, &watching[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        changing[i] = (struct changing){1 + (int)i * NAMES / 2, &ready, &done, WATCHERS};
        harness_spawn(&h, i, change_names, &changing[i]);
    }
    harness_stop(&h);
    for (int i = 0; i < WATCHERS; i++) {
        if (watching[i].of_file) continue;
        for (int n = 1; n <= LAST; n++) ck_assert_int_eq(watching[i].there[n], access(file_path(n), F_OK) == 0);
    }
}
END_TEST

/* The system would go on about it. */
static void watch_file_that_moves(void *arg)
{
    (void)arg;
    weft_changes c;
    touch(1);
    want_int(weft_changes_open(&c, file_path(1)), 0);
    move_file(1, 2);
    expect_change(c, WEFT_CHANGE_GONE, "");
    touch(2);
    int fd = open(file_path(2), O_WRONLY);
    want_int(write(fd, "x", 1), 1);
    close(fd);
    expect_the_end(c);
    want_int(weft_changes_close(c), 0);
}

START_TEST(a_file_that_is_moved_away_is_gone_too)
{
    run_alone(watch_file_that_moves, NULL);
}
END_TEST

static long queue_max(void)
{
    long n = 16384;
    FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    if (f != NULL) {
        if (fscanf(f, "%ld", &n) != 1) n = 16384;
        fclose(f);
    }
    return n;
}

static void change_too_much(void *arg)
{
    (void)arg;
    weft_changes c;
    weft_change change;
    long max = queue_max();
    if (max > 100000) return; /* it would take too long */
    want_int(weft_changes_open(&c, folder_path), 0);
    touch(0);
    touch(1);
    int files[] = {open(file_path(0), O_WRONLY), open(file_path(1), O_WRONLY)};
    for (long i = 0; i < max + 2; i++) want_int(pwrite(files[i % 2], "x", 1, 0), 1); /* two of the same are one */
    close(files[0]);
    close(files[1]);
    long count = 0;
    do {
        want_int(weft_changes_next(c, &change, WEFT_NOW), 1);
        count++;
    } while (change.kind != WEFT_CHANGE_OVERFLOW);
    want(count > 1);
    want_int(weft_changes_close(c), 0);
}

START_TEST(an_overflow_is_said)
{
    run_alone(change_too_much, NULL);
}
END_TEST

/* ---- Pipes ----------------------------------------------------------------------------------------------------- */

static void write_much(void *arg)
{
    const weft_stream *to = arg;
    static char data[64 * 1024];
    memset(data, 'x', sizeof data);
    for (int i = 0; i < 8; i++) want_int(weft_write(*to, data, sizeof data, WEFT_FOREVER), sizeof data);
    want_int(weft_close(*to), 0);
}

static void use_pipe(void *arg)
{
    (void)arg;
    weft_stream reading, writing;
    char text[8];
    want_int(weft_pipe(&reading, &writing), 0);
    want_int(weft_read(reading, text, sizeof text, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_write(writing, "line\n", 5, WEFT_FOREVER), 5);
    want_int(weft_read_until(reading, text, sizeof text, '\n', WEFT_FOREVER), 5);
    struct test_task *writer = spawn_here(write_much, &writing);
    int64_t total = 0, n;
    char data[10000];
    while ((n = weft_read(reading, data, sizeof data, WEFT_FOREVER)) > 0) total += n;
    want_int(n, 0);
    want_int(total, 8 * 64 * 1024);
    until(writer->done);
    want_int(weft_close(reading), 0);
    want_int(weft_pipe(&reading, &writing), 0);
    want_int(weft_close(reading), 0);
    want_int(weft_write(writing, "x", 1, WEFT_FOREVER), WEFT_ERESET);
    want_int(weft_close(writing), 0);
    want_int(weft_pipe(NULL, &writing), WEFT_EINVAL);
}

START_TEST(a_pipe_is_two_streams)
{
    run_alone(use_pipe, NULL);
}
END_TEST

static void use_standard(void *arg)
{
    int *ends = arg; /* the other sides */
    weft_stream in, out;
    char text[8];
    want_int(weft_stdin(&in), 0);
    want_int(weft_stdout(&out), 0);
    want_int(weft_read(in, text, sizeof text, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(write(ends[0], "typed", 5), 5);
    want_int(weft_read(in, text, sizeof text, WEFT_FOREVER), 5);
    want_int(weft_write(out, "said", 4, WEFT_FOREVER), 4);
    want_int(read(ends[1], text, sizeof text), 4);
    want_int(weft_close(in), 0);
    want_int(weft_close(out), 0);
    want(fcntl(0, F_GETFD) >= 0 && fcntl(1, F_GETFD) >= 0);
    want((fcntl(0, F_GETFL) & O_NONBLOCK) == 0 && (fcntl(1, F_GETFL) & O_NONBLOCK) == 0);
}

START_TEST(standard_streams_are_not_changed_for_others)
{
    int in[2], out[2], before[2] = {dup(0), dup(1)};
    ck_assert_int_eq(pipe(in), 0);
    ck_assert_int_eq(pipe(out), 0);
    ck_assert(dup2(in[0], 0) == 0 && dup2(out[1], 1) == 1);
    run_alone(use_standard, (int[]){in[1], out[0]});
    ck_assert(dup2(before[0], 0) == 0 && dup2(before[1], 1) == 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("directories, changes, pipes");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, a_directory_is_listed);
    tcase_add_test(t, listing_says_why_it_fails);
    tcase_add_test(t, a_deadline_loses_no_entry);
    if (!looks_by_itself) tcase_add_test(t, changes_in_a_directory_come_in_order);
    tcase_add_test(t, changes_are_seen_one_by_one);
    /* The end of a directory that is held open is no news to inotify, which libkqueue is built on. */
    if (!THROUGH_LIBKQUEUE) tcase_add_test(t, a_directory_is_watched_until_it_is_gone);
    tcase_add_test(t, a_file_is_watched_until_it_is_gone);
    tcase_add_test(t, a_burst_of_changes_comes_whole);
    tcase_add_test(t, a_file_that_is_moved_away_is_gone_too);
    tcase_add_test(t, two_workers_watch_the_same);
    if (!looks_by_itself) tcase_add_test(t, an_overflow_is_said);
    tcase_add_test(t, a_pipe_is_two_streams);
    tcase_add_test(t, standard_streams_are_not_changed_for_others);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

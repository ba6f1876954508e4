/* tests/unit/runtime/os/file_end_test.c -- files: operations that are given up, or waited for together with other
 * sources, and faults. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "file_gate.h"

/* ---- Given up -------------------------------------------------------------------------------------------------- */

static void outlast(void *arg)
{
    (void)arg;
    char text[8] = "before";
    weft_file f = open_file(file_path(0), BOTH);
    want_int(weft_file_write(f, "later", 5, 0, WEFT_FOREVER), 5);
    gate_set(true);
    want_int(weft_file_read(f, text, 5, 0, weft_after(WEFT_MS(5))), WEFT_ETIMEDOUT);
    int arrived = gate_count(&gate.arrived); /* 0: the deadline came before the thread; then it never reads */
    gate_set(false);
    gate_await(&gate.passed, arrived);
    want(memcmp(text, "before", 6) == 0);
    want_int(weft_file_read(f, text, 5, 0, WEFT_FOREVER), 5);
    want(memcmp(text, "later", 5) == 0);
    want_int(weft_file_close(f), 0);
}

START_TEST(a_read_that_timed_out_does_not_write_into_the_buffer)
{
    run_slowly(outlast, NULL);
}
END_TEST

struct reader {
    weft_file file;
    char text[8];
    int64_t result;
};

static void read_into(void *arg)
{
    struct reader *r = arg;
    r->result = 1;
    r->result = weft_file_read(r->file, r->text, 5, 0, WEFT_FOREVER);
}

static void start_reader(struct reader *r, struct test_task **task)
{
    *r = (struct reader){.file = open_file(file_path(0), BOTH), .text = "before"};
    want_int(weft_file_write(r->file, "later", 5, 0, WEFT_FOREVER), 5);
    gate_set(true);
    *task = spawn_here(read_into, r);
    until(is_waiting(*task));
    gate_await(&gate.arrived, 1);
}

static void cancel_reader(void *arg)
{
    (void)arg;
    struct reader r;
    struct test_task *task;
    start_reader(&r, &task);
    wf_task_cancel(&task->task);
    until(task->done);
    want_int(r.result, WEFT_ECANCELED);
    gate_set(false);
    gate_await(&gate.passed, 1);
    want(memcmp(r.text, "before", 6) == 0);
    want_int(weft_file_close(r.file), 0);
}

START_TEST(a_read_that_was_cancelled_does_not_write_into_the_buffer)
{
    run_slowly(cancel_reader, NULL);
}
END_TEST

static void kill_reader(void *arg)
{
    (void)arg;
    struct reader r;
    struct test_task *task;
    start_reader(&r, &task);
    wf_task_kill(&task->task);
    until(task->done);
    want(task->was_killed);
    want_int(r.result, 1); /* it has not come back */
    want_int(weft_file_close(r.file), 0);
    gate_set(false); /* the thread closes the file; nothing is left, say the sanitizers */
    gate_await(&gate.passed, 1);
    want(memcmp(r.text, "before", 6) == 0);
}

START_TEST(an_actor_that_waits_for_a_file_may_be_killed)
{
    run_slowly(kill_reader, NULL);
}
END_TEST

static void drop_op(void *arg)
{
    (void)arg;
    weft_file_op op;
    char text[5];
    weft_file f = open_file(file_path(0), BOTH);
    want_int(weft_file_write(f, "later", 5, 0, WEFT_FOREVER), 5);
    gate_set(true);
    want_int(weft_file_read_start(&op, f, 5, 0, WEFT_FOREVER), 0);
    want_int(weft_file_take(op, text, 4, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_file_take(op, text, 5, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_file_drop(op), 0);
    want_int(weft_file_drop(op), WEFT_ECLOSED);
    want_int(weft_file_take(op, text, 5, WEFT_NOW), WEFT_ECLOSED);
    gate_set(false);
    want_int(weft_file_read_start(&op, f, 5, 0, WEFT_FOREVER), 0); /* never taken: it ends with its actor */
    want_int(weft_file_close(f), 0);
}

static void drop_at_once(void *arg)
{
    (void)arg;
    weft_file_op op;
    char text[5];
    weft_file f = open_file(file_path(0), BOTH);
    want_int(weft_file_write(f, "later", 5, 0, WEFT_FOREVER), 5);
    want_int(weft_file_read_start(&op, f, 5, 0, WEFT_FOREVER), 0);
    want_int(weft_wait_any((weft_wait[]){weft_on_file(op)}, 1, WEFT_FOREVER), 0);
    want_int(weft_file_drop(op), 0);
    want_int(weft_file_take(op, text, 5, WEFT_NOW), WEFT_ECLOSED);
    want_int(weft_file_read_start(&op, f, 5, 0, WEFT_FOREVER), 0);
    want_int(weft_file_close(f), 0);
}

START_TEST(an_operation_may_be_dropped)
{
    run_slowly(drop_op, NULL);
    run_alone(drop_at_once, NULL);
}
END_TEST

static void close_under_way(void *arg)
{
    (void)arg;
    struct reader r;
    struct test_task *task;
    start_reader(&r, &task);
    want_int(weft_file_close(r.file), 0);
    weft_file other = open_file(file_path(1), BOTH); /* would get the descriptor's number if it were free */
    gate_set(false);
    until(task->done);
    want_int(r.result, 5);
    want(memcmp(r.text, "later", 5) == 0);
    want_int(weft_file_read(r.file, r.text, 1, 0, WEFT_FOREVER), WEFT_ECLOSED);
    want_int(weft_file_size(r.file, WEFT_FOREVER), WEFT_ECLOSED);
    want_int(weft_file_close(other), 0);
}

START_TEST(closing_carries_through_what_is_under_way)
{
    run_slowly(close_under_way, NULL);
}
END_TEST

/* ---- Together with other sources ------------------------------------------------------------------------------- */

static void wait_for_both(void *arg)
{
    (void)arg;
    weft_file_op op;
    weft_event other;
    char text[5];
    weft_file f = open_file(file_path(0), BOTH);
    want_int(weft_file_write(f, "later", 5, 0, WEFT_FOREVER), 5);
    want_int(weft_event_open(&other), 0);
    gate_set(true);
    want_int(weft_file_read_start(&op, f, 5, 0, WEFT_FOREVER), 0);
    weft_wait both[] = {weft_on_file(op), weft_on_event(other)};
    want_int(weft_wait_any(both, 2, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_event_set(other), 0);
    want_int(weft_wait_any(both, 2, WEFT_FOREVER), 1);
    want_int(weft_event_take(other), 1);
    gate_set(false);
    want_int(weft_wait_any(both, 2, WEFT_FOREVER), 0);
    want_int(weft_wait_any(both, 2, WEFT_NOW), 0); /* until it is taken */
    want_int(weft_file_take(op, text, 5, WEFT_NOW), 5);
    want_int(weft_file_close(f), 0);
}

START_TEST(a_file_is_waited_for_together_with_others)
{
    run_slowly(wait_for_both, NULL);
}
END_TEST

/* ---- Faults ---------------------------------------------------------------------------------------------------- */

static void open_badly(void *arg)
{
    (void)arg;
    weft_file f;
    char below[160];
    want_int(weft_file_open(&f, file_path(0), WEFT_FILE_READ, 0, WEFT_FOREVER), WEFT_ENOTFOUND);
    want_int(weft_file_open(&f, folder_path, WEFT_FILE_READ, 0, WEFT_FOREVER), WEFT_EISDIR);
    want_int(weft_file_close(open_file(file_path(0), BOTH)), 0);
    snprintf(below, sizeof below, "%s/below", file_path(0));
    want_int(weft_file_open(&f, below, WEFT_FILE_READ, 0, WEFT_FOREVER), WEFT_ENOTFOUND);
    want_int(weft_file_open(&f, file_path(0), BOTH | WEFT_FILE_EXCLUSIVE, 0600, WEFT_FOREVER), WEFT_EEXIST);
    want_int(weft_file_open(&f, file_path(0), 0, 0, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_file_open(&f, file_path(0), WEFT_FILE_READ | WEFT_FILE_TRUNCATE, 0, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_file_open(&f, file_path(0), WEFT_FILE_READ | 64, 0, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_file_open(&f, file_path(0), WEFT_FILE_READ, 0, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_file_open(&f, NULL, WEFT_FILE_READ, 0, WEFT_FOREVER), WEFT_EINVAL);
}

START_TEST(opening_says_why_it_fails)
{
    run_alone(open_badly, NULL);
}
END_TEST

static void open_forbidden(void *arg)
{
    (void)arg;
    weft_file f;
    want_int(weft_file_open(&f, file_path(0), WEFT_FILE_READ, 0, WEFT_FOREVER), WEFT_EACCESS);
    want_int(weft_file_open(&f, file_path(1), BOTH, 0600, WEFT_FOREVER), WEFT_EACCESS);
}

static void make_file(void *arg)
{
    (void)arg;
    want_int(weft_file_close(open_file(file_path(0), BOTH)), 0);
}

/* Root may do anything, so it is somebody else for a while. */
START_TEST(a_file_of_somebody_else_is_forbidden)
{
    run_alone(make_file, NULL);
    want_int(chmod(file_path(0), 0), 0);
    want_int(chmod(folder_path, 0555), 0);
    bool root = geteuid() == 0, allowed = !root || seteuid(65534) == 0; /* a container's root may not be */
    if (allowed) run_alone(open_forbidden, NULL);
    if (root) want_int(seteuid(0), 0);
    want_int(chmod(folder_path, 0700), 0);
}
END_TEST

static void use_wrongly(void *arg)
{
    (void)arg;
    char text[4] = "";
    weft_file_op op;
    weft_file f = open_file(file_path(0), WEFT_FILE_WRITE | WEFT_FILE_CREATE);
    want_int(weft_file_read(f, text, 1, 0, WEFT_FOREVER), WEFT_EACCESS);
    want_int(weft_file_close(f), 0);
    f = open_file(file_path(0), WEFT_FILE_READ);
    want_int(weft_file_write(f, text, 1, 0, WEFT_FOREVER), WEFT_EACCESS);
    want_int(weft_file_read(f, text, 1, -1, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_file_read(f, NULL, 1, 0, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_file_truncate(f, -1, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_file_read_start(&op, f, (size_t)WEFT_FILE_OP_MAX + 1, 0, WEFT_FOREVER), WEFT_ETOOBIG);
    want_int(weft_file_read_start(NULL, f, 1, 0, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_file_close(f), 0);
    want_int(weft_file_read_start(&op, f, 1, 0, WEFT_FOREVER), WEFT_ECLOSED);
    want_int(weft_file_close((weft_file){0}), WEFT_ECLOSED);
    want_int(weft_file_close((weft_file){UINT64_MAX}), WEFT_ECLOSED);
}

START_TEST(calls_that_make_no_sense_say_so)
{
    run_alone(use_wrongly, NULL);
    run_slowly(use_wrongly, NULL);
    weft_file f = {1};
    char text[1];
    ck_assert_int_eq(weft_file_open(&f, "/", WEFT_FILE_READ, 0, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_file_read(f, text, 1, 0, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_file_close(f), WEFT_ENOTACTOR);
}
END_TEST

static void fill_device(void *arg)
{
    (void)arg;
    weft_file f;
    if (weft_file_open(&f, "/dev/full", WEFT_FILE_WRITE, 0, WEFT_FOREVER) < 0) return; /* not every system has one */
    want_int(weft_file_write(f, "x", 1, 0, WEFT_FOREVER), WEFT_ENOSPC);
    weft_file_op op;
    want_int(weft_file_write_start(&op, f, "x", 1, 0, WEFT_FOREVER), 0);
    want_int(weft_file_take(op, NULL, 0, WEFT_FOREVER), WEFT_ENOSPC);
    want_int(weft_file_close(f), 0);
}

START_TEST(a_full_device_says_so)
{
    run_alone(fill_device, NULL);
    run_slowly(fill_device, NULL);
}
END_TEST

static void grow_too_large(void *arg)
{
    (void)arg;
    weft_file f = open_file(file_path(0), BOTH);
    want_int(weft_file_write(f, "x", 1, (1 << 20) - 1, WEFT_FOREVER), 1);
    want_int(weft_file_write(f, "xy", 2, (1 << 20) - 1, WEFT_FOREVER), WEFT_ETOOBIG); /* half of it fits */
    want_int(weft_file_write(f, "x", 1, 1 << 20, WEFT_FOREVER), WEFT_ETOOBIG);
    want_int(weft_file_close(f), 0);
}

START_TEST(a_file_that_would_get_too_large_says_so)
{
    struct rlimit before, small;
    want_int(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 1 << 20;
    want_int(setrlimit(RLIMIT_FSIZE, &small), 0);
    run_alone(grow_too_large, NULL); /* its threads block SIGXFSZ */
    run_slowly(grow_too_large, NULL);
    want_int(setrlimit(RLIMIT_FSIZE, &before), 0);
}
END_TEST

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

struct left_open {
    weft_file file;
    int open;
};

static void leave_open(void *arg)
{
    struct left_open *left = arg;
    (void)open_file(file_path(0), BOTH); /* closed at the node's end */
    left->file = open_file(file_path(1), BOTH);
    want_int(weft_file_defer_close(left->file), 0);
    want_int(weft_file_defer_close(open_file(file_path(2), BOTH)), 0);
    left->open = open_descriptors();
}

static void look_after(void *arg)
{
    const struct left_open *left = arg;
    want_int(weft_file_size(left->file, WEFT_FOREVER), WEFT_ECLOSED);
    want_int(open_descriptors(), left->open - 2);
}

START_TEST(a_file_is_closed_when_its_actor_ends_if_that_was_asked_for)
{
    struct harness h;
    struct left_open seen;
    harness_start(&h, 1); /* libkqueue keeps descriptors of its own from its first use on */
    harness_stop(&h);
    int before = open_descriptors();
    harness_start(&h, 1);
    harness_spawn(&h, 0, leave_open, &seen);
    harness_join(&h);
    harness_spawn(&h, 0, look_after, &seen);
    harness_stop(&h);
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file: ends and faults");
    TCase *t = tcase_create("files");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_read_that_timed_out_does_not_write_into_the_buffer);
    tcase_add_test(t, a_read_that_was_cancelled_does_not_write_into_the_buffer);
    tcase_add_test(t, an_actor_that_waits_for_a_file_may_be_killed);
    tcase_add_test(t, an_operation_may_be_dropped);
    tcase_add_test(t, closing_carries_through_what_is_under_way);
    tcase_add_test(t, a_file_is_waited_for_together_with_others);
    tcase_add_test(t, opening_says_why_it_fails);
    tcase_add_test(t, a_file_of_somebody_else_is_forbidden);
    tcase_add_test(t, calls_that_make_no_sense_say_so);
    tcase_add_test(t, a_full_device_says_so);
    tcase_add_test(t, a_file_that_would_get_too_large_says_so);
    tcase_add_test(t, a_file_is_closed_when_its_actor_ends_if_that_was_asked_for);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

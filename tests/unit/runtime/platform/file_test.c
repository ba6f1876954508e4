/* tests/unit/runtime/platform/file_test.c -- files of the platform: positions, ends, errors; operations done at
 * once. */
#include <sys/stat.h>

#include "../folder.h"
#include "platform.h"
#include "sim/sim.h"
#include "../../../suite.h"

static const char *const folder = folder_path;
static char path[128];

static void make_folder(void)
{
    folder_make();
    snprintf(path, sizeof path, "%s", file_path(0));
}

static pf_handle open_new(unsigned flags)
{
    pf_handle h;
    ck_assert_int_eq(pf_file_open(&h, path, flags | PF_FILE_WRITE | PF_FILE_READ | PF_FILE_CREATE, 0600), WEFT_OK);
    return h;
}

START_TEST(reads_and_writes_are_positioned)
{
    char text[16] = "";
    pf_handle h = open_new(0);
    ck_assert_int_eq(pf_file_write(h, "world", 5, 6), 5);
    ck_assert_int_eq(pf_file_write(h, "hello ", 6, 0), 6);
    ck_assert_int_eq(pf_file_read(h, text, 5, 6), 5);
    ck_assert_str_eq(text, "world");
    ck_assert_int_eq(pf_file_read(h, text, sizeof text, 4), 7);
    ck_assert_mem_eq(text, "o world", 7);
    ck_assert_int_eq(pf_file_size(h), 11);
    ck_assert_int_eq(pf_file_sync(h), WEFT_OK);
    pf_file_close(h);
}
END_TEST

START_TEST(the_end_of_a_file_is_a_plain_0)
{
    char text[16];
    pf_handle h = open_new(0);
    ck_assert_int_eq(pf_file_read(h, text, sizeof text, 0), 0);
    ck_assert_int_eq(pf_file_write(h, "abc", 3, 0), 3);
    ck_assert_int_eq(pf_file_read(h, text, sizeof text, 3), 0);
    ck_assert_int_eq(pf_file_read(h, text, sizeof text, 1 << 20), 0);
    ck_assert_int_eq(pf_file_read(h, text, sizeof text, -1), WEFT_EINVAL);
    pf_file_close(h);
}
END_TEST

START_TEST(truncating_cuts_and_adds_zeroes)
{
    char text[4];
    pf_handle h = open_new(0);
    ck_assert_int_eq(pf_file_write(h, "abcd", 4, 0), 4);
    ck_assert_int_eq(pf_file_truncate(h, 1), WEFT_OK);
    ck_assert_int_eq(pf_file_truncate(h, 3), WEFT_OK);
    ck_assert_int_eq(pf_file_read(h, text, sizeof text, 0), 3);
    ck_assert_mem_eq(text, "a\0\0", 3);
    ck_assert_int_eq(pf_file_truncate(h, -1), WEFT_EINVAL);
    pf_file_close(h);
    h = open_new(PF_FILE_TRUNCATE);
    ck_assert_int_eq(pf_file_size(h), 0);
    pf_file_close(h);
}
END_TEST

START_TEST(appended_bytes_go_to_the_end)
{
    char text[8];
    pf_handle one = open_new(PF_FILE_APPEND), other = open_new(PF_FILE_APPEND);
    ck_assert_int_eq(pf_file_write(one, "ab", 2, PF_FILE_END), 2);
    ck_assert_int_eq(pf_file_write(other, "cd", 2, PF_FILE_END), 2);
    ck_assert_int_eq(pf_file_write(one, "ef", 2, PF_FILE_END), 2);
    ck_assert_int_eq(pf_file_read(one, text, sizeof text, 0), 6);
    ck_assert_mem_eq(text, "abcdef", 6);
    pf_file_close(one);
    pf_file_close(other);
}
END_TEST

START_TEST(opening_says_why_it_fails)
{
    pf_handle h;
    ck_assert_int_eq(pf_file_open(&h, path, PF_FILE_READ, 0), WEFT_ENOTFOUND);
    ck_assert_int_eq(pf_file_open(&h, folder, PF_FILE_READ, 0), WEFT_EISDIR);
    ck_assert_int_eq(pf_file_open(&h, folder, PF_FILE_WRITE, 0), WEFT_EISDIR);
    pf_file_close(open_new(0));
    ck_assert_int_eq(pf_file_open(&h, path, PF_FILE_WRITE | PF_FILE_CREATE | PF_FILE_EXCLUSIVE, 0600), WEFT_EEXIST);
    char below[160];
    snprintf(below, sizeof below, "%s/below", path);
    ck_assert_int_eq(pf_file_open(&h, below, PF_FILE_READ, 0), WEFT_ENOTFOUND);
#ifndef _WIN32
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(pf_file_open(&h, path, PF_FILE_READ, 0), WEFT_EINVAL);
    ck_assert_int_eq(pf_file_open(&h, path, PF_FILE_WRITE, 0), WEFT_EINVAL);
#endif
}
END_TEST

START_TEST(a_handle_does_only_what_it_was_opened_for)
{
    char text[4];
    pf_handle h;
    pf_file_close(open_new(0));
    ck_assert_int_eq(pf_file_open(&h, path, PF_FILE_READ, 0), WEFT_OK);
    ck_assert_int_eq(pf_file_write(h, "x", 1, 0), WEFT_EACCESS);
    pf_file_close(h);
    ck_assert_int_eq(pf_file_open(&h, path, PF_FILE_WRITE, 0), WEFT_OK);
    ck_assert_int_eq(pf_file_read(h, text, 1, 0), WEFT_EACCESS);
    pf_file_close(h);
}
END_TEST

START_TEST(a_full_device_says_so)
{
    pf_handle h;
    if (pf_file_open(&h, "/dev/full", PF_FILE_WRITE, 0) < 0) return; /* not every system has one */
    ck_assert_int_eq(pf_file_write(h, "x", 1, 0), WEFT_ENOSPC);
    pf_file_close(h);
}
END_TEST

/* Whether at once or by a blocking call, the result is the same. */
static int64_t perform(struct pf_env *env, struct pf_poller *p, struct pf_file_op *op)
{
    op->at_once = true;
    int rc = env->file_submit(p, op);
    if (rc == PF_BLOCKING) {
        op->at_once = false;
        rc = env->file_submit(p, op);
    }
    if (rc == WEFT_OK) return op->result;
    if (rc != PF_BLOCKING) return rc;
    return op->write ? pf_file_write(op->file, op->data, op->size, op->offset)
                     : pf_file_read(op->file, op->data, op->size, op->offset);
}

static void submit_in(struct pf_env *env)
{
    struct pf_poller *p;
    ck_assert_int_eq(env->poller_create(env, &p), WEFT_OK);
    char text[8] = "";
    char word[] = "abc";
    pf_handle h = open_new(0);
    struct pf_file_op op = {.file = h, .data = word, .size = 3, .offset = 2, .write = true};
    ck_assert_int_eq(perform(env, p, &op), 3);
    op = (struct pf_file_op){.file = h, .data = text, .size = sizeof text, .offset = 2};
    ck_assert_int_eq(perform(env, p, &op), 3);
    ck_assert_mem_eq(text, "abc", 3);
    op.offset = 5;
    ck_assert_int_eq(perform(env, p, &op), 0);
    op.offset = -1;
    ck_assert_int_eq(perform(env, p, &op), WEFT_EINVAL);
    pf_file_close(h);
    env->poller_destroy(p);
}

#ifndef _WIN32
START_TEST(submitting_gives_the_same_results)
{
    submit_in(pf_env_native());
}
END_TEST
#endif

START_TEST(operations_in_a_simulation_are_done_at_once)
{
    struct pf_sim sim;
    pf_sim_init(&sim, 1);
    submit_in(pf_sim_env(&sim));
    pf_handle h = open_new(0);
    char text[4];
    struct pf_file_op op = {.file = h, .data = text, .size = sizeof text, .offset = 100};
    ck_assert_int_eq(sim.env.file_submit(NULL, &op), WEFT_OK);
    ck_assert_int_eq(op.result, 0);
    pf_file_close(h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("platform: files");
    TCase *t = tcase_create("files");
    tcase_add_checked_fixture(t, make_folder, folder_remove);
    tcase_add_test(t, reads_and_writes_are_positioned);
    tcase_add_test(t, the_end_of_a_file_is_a_plain_0);
    tcase_add_test(t, truncating_cuts_and_adds_zeroes);
    tcase_add_test(t, appended_bytes_go_to_the_end);
    tcase_add_test(t, opening_says_why_it_fails);
    tcase_add_test(t, a_handle_does_only_what_it_was_opened_for);
    tcase_add_test(t, a_full_device_says_so);
    ON_UNIX(tcase_add_test(t, submitting_gives_the_same_results);) /* Windows: file_overlapped_test.c */
    tcase_add_test(t, operations_in_a_simulation_are_done_at_once);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

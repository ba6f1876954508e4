/* tests/unit/runtime/log_test.c -- the form of log lines, read back from standard error. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "../../capture.h"
#include "../../suite.h"

#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

static char got[8192];

/* What `body` writes to standard error, in got[]. */
static void capture(void (*body)(void))
{
    capture_state c = capture_start();
    body();
    (void)capture_end(&c, got, sizeof got);
}

static void context(char *out, size_t size)
{
    snprintf(out, size, "node=a actor=0.17.1");
}

/* The text after the time, which varies. */
static const char *after_time(const char *start)
{
    size_t length = strlen(start), stamp = strlen("2026-11-21T03:29:00.123Z");
    ck_assert_msg(strncmp(got, start, length) == 0, "got: %s", got);
    ck_assert_int_eq(got[length + 10], 'T');
    ck_assert_int_eq(got[length + stamp - 1], 'Z');
    return got + length + stamp;
}

static void one_line(void)
{
    weft_log(WEFT_INFO, "%s is %d \"years\"\told\\\n", "weft", 3);
}

START_TEST(a_line_of_logfmt)
{
    capture(one_line);
    ck_assert_str_eq(after_time("time="), " level=info msg=\"weft is 3 \\\"years\\\"\\told\\\\\\n\"\n");
    atomic_store(&wf_log_context, context);
    capture(one_line);
    ck_assert_str_eq(after_time("time="),
                     " level=info node=a actor=0.17.1 msg=\"weft is 3 \\\"years\\\"\\told\\\\\\n\"\n");
}
END_TEST

START_TEST(a_line_of_json)
{
    weft_log_set(WEFT_INFO, true);
    atomic_store(&wf_log_context, context);
    capture(one_line);
    ck_assert_str_eq(after_time("{\"time\":\""), "\",\"level\":\"info\",\"node\":\"a\",\"actor\":\"0.17.1\","
                                                 "\"msg\":\"weft is 3 \\\"years\\\"\\told\\\\\\n\"}\n");
}
END_TEST

static void each_level(void)
{
    weft_log(WEFT_DEBUG, "one");
    weft_log(WEFT_INFO, "two");
    weft_log(WEFT_WARN, "three");
    weft_log(WEFT_ERROR, "four");
    weft_log(WEFT_SILENT, "five");
}

START_TEST(levels_below_the_set_one_are_silent)
{
    static const char *const FIRST[] = {"one", "two", "three", "four", NULL};
    static const char *const ALL[] = {"one", "two", "three", "four", "five"};
    weft_log_set((weft_log_level)_i, false);
    capture(each_level);
    bool expected = false;
    for (int i = 0; i < 4; i++) {
        expected = expected || (FIRST[_i] != NULL && strcmp(ALL[i], FIRST[_i]) == 0);
        ck_assert_int_eq(strstr(got, ALL[i]) != NULL, expected);
    }
    ck_assert_ptr_null(strstr(got, "five"));
}
END_TEST

static size_t long_size;
static char long_fill;

static void long_line(void)
{
    char *text = malloc(long_size + 1);
    memset(text, long_fill, long_size);
    text[long_size] = '\0';
    weft_log(WEFT_INFO, "%s", text);
    free(text);
}

START_TEST(long_lines_are_cut_and_say_so)
{
    static const char FILLS[] = {'x', '"', '\x01'};
    weft_log_set(WEFT_INFO, _i % 2 == 1);
    atomic_store(&wf_log_context, context);
    for (size_t f = 0; f < sizeof FILLS; f++) {
        long_fill = FILLS[f];
        for (long_size = 1; long_size < 5000; long_size += long_size < 1800 || long_size > 2100 ? 97 : 1) {
            capture(long_line);
            size_t size = strlen(got);
            ck_assert_uint_le(size, WF_LOG_LINE_MAX);
            ck_assert_int_eq(got[size - 1], '\n');
            ck_assert_ptr_eq(strchr(got, '\n'), got + size - 1); /* one line */
            bool cut = strstr(got, "truncated") != NULL;
            if (long_size > 2048) ck_assert(cut);
            if (long_size < 300) ck_assert(!cut);
            const char *end = _i % 2 == 0 ? (cut ? "\" truncated=true\n" : "\"\n")
                                          : (cut ? "\",\"truncated\":true}\n" : "\"}\n");
            ck_assert_str_eq(got + size - strlen(end), end);
        }
    }
}
END_TEST

#ifndef _WIN32
static void break_a_promise(void)
{
    if (fork() == 0) {
        WF_ASSERT(1 + 1 == 3);
        _exit(0);
    }
    int status;
    wait(&status);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

START_TEST(a_failed_assertion_names_its_place)
{
    capture(break_a_promise);
    ck_assert_ptr_nonnull(strstr(got, "log_test.c:"));
    ck_assert_ptr_nonnull(strstr(got, "assertion failed: 1 + 1 == 3\n"));
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *c = tcase_create("log");
    tcase_add_test(c, a_line_of_logfmt);
    tcase_add_test(c, a_line_of_json);
    tcase_add_loop_test(c, levels_below_the_set_one_are_silent, 0, 5);
    tcase_add_loop_test(c, long_lines_are_cut_and_say_so, 0, 2);
#ifndef _WIN32
    tcase_add_test(c, a_failed_assertion_names_its_place);
#endif
    suite_add_tcase(suite, c);
    return run_suite(suite);
}

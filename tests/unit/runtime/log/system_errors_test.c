/* tests/unit/runtime/log/system_errors_test.c -- an error of the system that becomes WEFT_ESYSTEM is in the log, with
 * the call that failed and what the system says. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "log.h"
#include "native.h"
#include "system_errors.h"
#include "../../../capture.h"
#include "../../../suite.h"

static char got[8192];

/* Writes to got[] what translating the error logs, and returns the code. */
static int translate(int translation(const char *where, int system_error), const char *where, int error)
{
    capture_state c = capture_start();
    int rc = translation(where, error);
    (void)capture_end(&c, got, sizeof got);
    return rc;
}

START_TEST(an_error_without_a_code_is_logged)
{
    ck_assert_int_eq(translate(pf_error_of, "frob", EDOM), WEFT_ESYSTEM);
    ck_assert_str_eq(got, ""); /* nobody has asked for it */
    wf_system_errors_tell();
    errno = 77;
    ck_assert_int_eq(translate(pf_error_of, "frob", EDOM), WEFT_ESYSTEM);
    ck_assert_int_eq(errno, 77);
    ck_assert_ptr_nonnull(strstr(got, "level=warn module=runtime msg=\"frob failed: "));
    ck_assert_ptr_nonnull(strstr(got, strerror(EDOM)));
    ck_assert_ptr_nonnull(strstr(got, " (system error 33)\"\n"));
    ck_assert_int_eq(translate(pf_file_error_of, "frob", 12345), WEFT_ESYSTEM);
    ck_assert_ptr_nonnull(strstr(got, "(system error 12345)"));
    ck_assert_int_eq(translate(pf_file_error_of, "frob", EAGAIN), WEFT_ESYSTEM);
    ck_assert_ptr_nonnull(strstr(got, "frob failed: "));
}
END_TEST

START_TEST(an_error_with_a_code_is_not_logged)
{
    wf_system_errors_tell();
    for (int e = 0; e < 200; e++) {
        bool is_known = translate(pf_error_of, "frob", e) != WEFT_ESYSTEM;
        ck_assert_msg(is_known == (got[0] == '\0'), "error %d: %s", e, got);
    }
}
END_TEST

static void log_many(void)
{
    for (int i = 0; i < 100; i++) (void)pf_error_of("frob", EDOM);
}

static int64_t now(char *out, size_t size, int64_t *wall)
{
    (void)wall;
    out[0] = '\0';
    return size > 0 ? WEFT_SEC(1000) : 0;
}

START_TEST(an_error_that_comes_again_and_again_is_held_back)
{
    int lines = 0;
    wf_system_errors_tell();
    atomic_store(&wf_log_context, now);
    capture_state c = capture_start();
    log_many();
    (void)capture_end(&c, got, sizeof got);
    for (const char *at = got; (at = strchr(at, '\n')) != NULL; at++) lines++;
    ck_assert_int_eq(lines, 20);
}
END_TEST

/* The log would wait for a lock that it holds. */
static bool fail_to_write(const char *line, size_t size)
{
    (void)line;
    return size > 0 && pf_error_of("write", EDOM) == WEFT_OK;
}

static void one_line(void)
{
    weft_log(WEFT_WARN, "lines");
}

START_TEST(an_error_of_the_log_itself_is_not_logged)
{
    wf_system_errors_tell();
    atomic_store(&wf_log_sink, fail_to_write);
    capture_state c = capture_start();
    one_line();
    (void)capture_end(&c, got, sizeof got);
    atomic_store(&wf_log_sink, NULL);
    ck_assert_ptr_null(strstr(got, "write failed"));
    ck_assert_ptr_nonnull(strstr(got, "msg=\"lines\"")); /* it is on standard error instead */
    ck_assert_int_eq(translate(pf_error_of, "frob", EDOM), WEFT_ESYSTEM);
    ck_assert_ptr_nonnull(strstr(got, "frob failed"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("system_errors");
    TCase *t = tcase_create("system_errors");
    tcase_add_test(t, an_error_without_a_code_is_logged);
    tcase_add_test(t, an_error_with_a_code_is_not_logged);
    tcase_add_test(t, an_error_that_comes_again_and_again_is_held_back);
    tcase_add_test(t, an_error_of_the_log_itself_is_not_logged);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

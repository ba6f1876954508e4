/* tests/unit/runtime/log/log_test.c -- the form of log lines, read back from standard error. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "log_levels.h"
#include "log_repeats.h"
#include "platform.h"
#include "../../../capture.h"
#include "../../../suite.h"

#ifndef _WIN32
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

static char got[8192];

/* Writes to got[] what `body` writes to standard error. */
static void capture(void (*body)(void))
{
    capture_state c = capture_start();
    body();
    (void)capture_end(&c, got, sizeof got);
}

static int64_t now;          /* 0: nothing is held back */
static int64_t wall_of_node; /* 0: the machine's */
static int64_t epoch;
static const char *fields = "node=a actor=0.17.1";

static int64_t context(char *out, size_t size, int64_t *wall)
{
    if (wall_of_node != 0) *wall = wall_of_node;
    snprintf(out, size, "%s", fields);
    return now;
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
    /* A simulated node has a clock of its own. */
    wall_of_node = WEFT_SEC(1000000000) + WEFT_MS(8515);
    capture(one_line);
    wall_of_node = 0;
    ck_assert_msg(strncmp(got, "time=2001-09-09T01:46:48.515Z level=info node=a ", 48) == 0, "%s", got);
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

/* ---- Modules --------------------------------------------------------------------------------------------------- */

static void each_module(void)
{
    weft_log(WEFT_INFO, "of the program");
    weft_log_in("billing", WEFT_DEBUG, "of billing");
    weft_log_in("billing", WEFT_INFO, "more of billing");
    weft_log_in("transport", WEFT_WARN, "of transport");
}

START_TEST(lines_of_a_module_name_it)
{
    capture(each_module);
    ck_assert_ptr_nonnull(strstr(got, " level=info msg=\"of the program\"\n"));
    ck_assert_ptr_null(strstr(got, "\"of billing\""));
    ck_assert_ptr_nonnull(strstr(got, " level=info module=billing msg=\"more of billing\"\n"));
    weft_log_set(WEFT_DEBUG, true);
    capture(each_module);
    ck_assert_ptr_nonnull(strstr(got, "\"level\":\"debug\",\"module\":\"billing\",\"msg\":\"of billing\"}\n"));
}
END_TEST

static const struct {
    const char *words;
    bool json, lines[4]; /* of each_module */
} CONFIGURED[] = {
    {"info", false, {true, false, true, true}},
    {"debug", false, {true, true, true, true}},
    {"silent", false, {false, false, false, false}},
    {"json", true, {true, false, true, true}},
    {"json:warn", true, {false, false, false, true}},
    {"logfmt:warn", false, {false, false, false, true}},
    {"billing=debug", false, {true, true, true, true}},
    {"billing=debug,warn", false, {false, true, true, true}},
    {"json,transport=silent,app=error,billing=info", true, {false, false, true, false}},
    {"silent,app=info", false, {true, false, false, false}},
    {"transport=silent,transport=warn,billing=warn", false, {true, false, false, true}},
};
enum { CONFIGURATIONS = sizeof CONFIGURED / sizeof CONFIGURED[0] };

START_TEST(words_set_levels_of_modules)
{
    static const char *const TEXTS[] = {"of the program", "of billing", "more of billing", "of transport"};
    const char *wrong;
    /* Earlier lines are gone. */
    ck_assert_int_eq(weft_log_configure("json:debug,app=silent,billing=silent,transport=silent", NULL), WEFT_OK);
    ck_assert_int_eq(weft_log_configure(CONFIGURED[_i].words, &wrong), WEFT_OK);
    capture(each_module);
    for (int i = 0; i < 4; i++) {
        char end[64];
        snprintf(end, sizeof end, "\"%s\"%s\n", TEXTS[i], CONFIGURED[_i].json ? "}" : "");
        ck_assert_msg((strstr(got, end) != NULL) == CONFIGURED[_i].lines[i], "%s: %s", end, got);
    }
    /* And weft_log_set is for all modules. */
    weft_log_set(WEFT_WARN, false);
    capture(each_module);
    ck_assert_ptr_nonnull(strstr(got, "of transport"));
    ck_assert_ptr_null(strstr(got, "of billing"));
    ck_assert_ptr_null(strstr(got, "of the program"));
}
END_TEST

START_TEST(adjusting_leaves_the_rest_as_it_is)
{
    static const struct {
        const char *words, *set;
    } STEPS[] = {
        {"transport=debug", "info,transport=debug"},
        {"warn", "warn,transport=debug"},
        {"json", "json:warn,transport=debug"},
        {"billing=error,transport=info", "json:warn,transport=info,billing=error"},
        {"logfmt:silent", "silent,transport=info,billing=error"},
    };
    char set[WF_LOG_WORDS_MAX];
    const char *wrong;
    weft_log_set(WEFT_INFO, false);
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) {
        ck_assert_int_eq(weft_log_adjust(STEPS[i].words, &wrong), WEFT_OK);
        ck_assert_uint_eq(weft_log_words(set, sizeof set), strlen(STEPS[i].set));
        ck_assert_str_eq(set, STEPS[i].set);
        ck_assert_int_eq(weft_log_check(set, NULL), WEFT_OK);
    }
    ck_assert_int_eq(weft_log_adjust("debug,transport=loud", &wrong), WEFT_EINVAL);
    ck_assert_str_eq(wrong, "transport=loud");
    ck_assert_uint_eq(weft_log_words(set, 4), strlen(STEPS[4].set));
    ck_assert_str_eq(set, "sil");
    /* Levels that weft_log_set has ended do not come back. */
    weft_log_set(WEFT_WARN, false);
    ck_assert_int_eq(weft_log_adjust("info", NULL), WEFT_OK);
    weft_log_words(set, sizeof set);
    ck_assert_str_eq(set, "info");
}
END_TEST

static const struct {
    const char *words, *wrong;
} WRONG[] = {
    {"", ""},
    {"loud", "loud"},
    {"warn,transport=loud", "transport=loud"},
    {"warn,,info", ",info"},
    {"warn,", ""},
    {"=warn", "=warn"},
    {"json:", "json:"},
    {"yaml:warn", "yaml:warn"},
    {"a b=warn", "a b=warn"},
    {"warn,this-is-a-name-too-long-=warn", "this-is-a-name-too-long-=warn"},
};
enum { WRONGS = sizeof WRONG / sizeof WRONG[0] };

START_TEST(wrong_words_change_nothing_and_are_shown)
{
    const char *wrong = NULL;
    ck_assert_int_eq(weft_log_configure("error,billing=debug", NULL), WEFT_OK);
    ck_assert_int_eq(weft_log_check(WRONG[_i].words, &wrong), WEFT_EINVAL);
    ck_assert_str_eq(wrong, WRONG[_i].wrong);
    ck_assert_int_eq(weft_log_check("silent,billing=silent", NULL), WEFT_OK); /* nor does this */
    ck_assert_int_eq(weft_log_configure(WRONG[_i].words, &wrong), WEFT_EINVAL);
    ck_assert_str_eq(wrong, WRONG[_i].wrong);
    ck_assert_int_eq(weft_log_configure(NULL, NULL), WEFT_EINVAL);
    capture(each_module);
    ck_assert_ptr_nonnull(strstr(got, "\"of billing\""));
    ck_assert_ptr_null(strstr(got, "of transport"));
}
END_TEST

START_TEST(the_number_of_modules_with_levels_is_bounded)
{
    char words[512] = "warn";
    const char *wrong;
    for (int i = 0; i <= WF_LOG_MODULES; i++) {
        ck_assert_int_eq(weft_log_configure(words, &wrong), WEFT_OK);
        snprintf(words + strlen(words), sizeof words - strlen(words), ",m%d=debug", i);
    }
    ck_assert_int_eq(weft_log_configure(words, &wrong), WEFT_EFULL);
    ck_assert_str_eq(wrong, "m16=debug");
}
END_TEST

/* ---- Repeats --------------------------------------------------------------------------------------------------- */

static void hundred_lines(void)
{
    for (int i = 0; i < 100; i++) weft_log_in("transport", WEFT_WARN, "no link to b");
    for (int i = 0; i < 30; i++) weft_log(WEFT_WARN, "number %d", i);
}

static void one_more(void)
{
    weft_log(WEFT_INFO, "something else");
}

static int count_in(const char *where, const char *text)
{
    int n = 0;
    for (; (where = strstr(where, text)) != NULL; where++) n++;
    return n;
}

static int count_of(const char *text)
{
    return count_in(got, text);
}

START_TEST(repeats_are_held_back_and_counted)
{
    static char big[65536];
    now = epoch;
    atomic_store(&wf_log_context, context);
    capture_state c = capture_start();
    hundred_lines();
    fields = "node=b actor=0.17.1"; /* another node's are others */
    hundred_lines();
    fields = "node=a actor=0.18.1"; /* another actor's are not */
    for (int i = 0; i < 5; i++) weft_log_in("transport", WEFT_WARN, "no link to b");
    now += WEFT_SEC(10) - 1;
    one_more();
    (void)capture_end(&c, big, sizeof big);
    ck_assert_int_eq(count_in(big, "no link to b"), 40);
    ck_assert_int_eq(count_in(big, "number 29"), 2);
    ck_assert_int_eq(count_in(big, "repeated"), 0);
    now += 1;
    capture(one_more);
    ck_assert_int_eq(count_of("\n"), 3);
    ck_assert_ptr_nonnull(strstr(got, "level=warn module=transport node=a repeated=85 msg=\"no link to b\"\n"));
    ck_assert_ptr_nonnull(strstr(got, "level=warn module=transport node=b repeated=80 msg=\"no link to b\"\n"));
    ck_assert_ptr_nonnull(strstr(got, "something else"));
    capture(one_more); /* once only */
    ck_assert_int_eq(count_of("\n"), 1);
}
END_TEST

static void thrice(void)
{
    for (int i = 0; i < 3; i++) weft_log(WEFT_ERROR, "again");
}

START_TEST(lines_held_back_are_reported_at_the_end)
{
    now = epoch;
    atomic_store(&wf_log_context, context);
    weft_log_set(WEFT_INFO, true);
    weft_log_repeats(1, WEFT_SEC(60));
    capture(thrice);
    ck_assert_int_eq(count_of("\n"), 1);
    capture(wf_log_write_repeats);
    ck_assert_ptr_nonnull(strstr(got, "\"level\":\"error\",\"node\":\"a\",\"repeated\":2,\"msg\":\"again\"}\n"));
    weft_log_repeats(0, WEFT_SEC(60));
    capture(thrice);
    ck_assert_int_eq(count_of("again"), 3);
    weft_log_repeats(1, WEFT_SEC(60));
    now = 0; /* a simulated node */
    capture(thrice);
    ck_assert_int_eq(count_of("again"), 3);
}
END_TEST

static void forty_texts_thrice(void)
{
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 3; k++) weft_log(WEFT_ERROR, "text %d;", i);
    }
}

START_TEST(repeated_lines_without_a_free_slot_are_written)
{
    now = epoch;
    atomic_store(&wf_log_context, context);
    weft_log_repeats(1, WEFT_SEC(60));
    capture(forty_texts_thrice);
    ck_assert_int_eq(count_of("text 0;"), 1);
    ck_assert_int_eq(count_of("text 39;"), 3);
    ck_assert_int_eq(count_of("\n"), 32 + 8 * 3);
    now += WEFT_SEC(60);
    capture(one_more);
    ck_assert_int_eq(count_of("repeated=2"), 32);
    ck_assert_int_eq(count_of("\n"), 33);
}
END_TEST

static void two_hundred_of_a_class(void)
{
    for (int i = 0; i < 200; i++) wf_log_class("actors", WEFT_WARN, "more children ended", "child %d ended;", i);
}

static void class_after_others(void)
{
    forty_texts_thrice();
    two_hundred_of_a_class();
}

START_TEST(lines_of_a_class_have_one_limit_however_much_they_differ)
{
    static char big[65536];
    now = epoch;
    atomic_store(&wf_log_context, context);
    capture_state c = capture_start();
    class_after_others();                               /* which have taken all slots of lines */
    weft_log_in("actors", WEFT_WARN, "child 0 ended;"); /* a line of its own */
    (void)capture_end(&c, big, sizeof big);
    ck_assert_int_eq(count_in(big, " ended;"), 100 + 1);
    ck_assert_ptr_nonnull(strstr(big, "child 99 ended;"));
    now += WEFT_SEC(10);
    capture(one_more);
    ck_assert_ptr_nonnull(strstr(got, "level=warn module=actors node=a repeated=100 msg=\"more children ended\"\n"));
    c = capture_start();
    two_hundred_of_a_class();
    (void)capture_end(&c, big, sizeof big);
    ck_assert_int_eq(count_in(big, " ended;"), 100);
    capture(wf_log_write_repeats);
    weft_log_repeats(0, WEFT_SEC(10));
    c = capture_start();
    two_hundred_of_a_class();
    (void)capture_end(&c, big, sizeof big);
    ck_assert_int_eq(count_in(big, " ended;"), 200);
}
END_TEST

/* ---- A file ---------------------------------------------------------------------------------------------------- */

static const char *content(const char *path)
{
    static char text[4096];
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

START_TEST(lines_go_to_a_file_that_is_opened_anew)
{
    char folder[256], path[300], old[300];
    snprintf(folder, sizeof folder, "log-%lld", (long long)pf_env_native()->now(pf_env_native()));
    snprintf(path, sizeof path, "%s/log", folder);
    snprintf(old, sizeof old, "%s/log.1", folder);
    ck_assert_int_eq(weft_log_file(path), WEFT_ENOTFOUND); /* there is no such folder */
    capture(one_line);
    ck_assert_ptr_nonnull(strstr(got, "weft is 3"));
    ck_assert_int_eq(pf_private_directory_of(path), WEFT_OK);
    ck_assert_int_eq(weft_log_reopen(), WEFT_OK); /* nothing to open */
    ck_assert_int_eq(weft_log_file(path), WEFT_OK);
    capture(one_line);
    ck_assert_str_eq(got, "");
    ck_assert_ptr_nonnull(strstr(content(path), "weft is 3"));
    ck_assert_int_eq(rename(path, old), 0);
    weft_log(WEFT_INFO, "to the old one");
    ck_assert_int_eq(weft_log_reopen(), WEFT_OK);
    weft_log(WEFT_INFO, "to the new one");
    ck_assert_ptr_nonnull(strstr(content(old), "weft is 3"));
    ck_assert_ptr_nonnull(strstr(content(old), "to the old one"));
    ck_assert_ptr_null(strstr(content(old), "to the new one"));
    ck_assert_ptr_nonnull(strstr(content(path), "to the new one"));
    ck_assert_ptr_null(strstr(content(path), "to the old one"));
    ck_assert_int_eq(weft_log_file(NULL), WEFT_OK);
    capture(one_line);
    ck_assert_ptr_nonnull(strstr(got, "weft is 3"));
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(remove(old), 0);
#ifndef _WIN32
    ck_assert_int_eq(rmdir(folder), 0);
#endif
}
END_TEST

#ifndef _WIN32
START_TEST(the_journal_gets_priorities)
{
    struct stat s;
    char stream[64];
    capture_state c = capture_start();
    ck_assert_int_eq(fstat(STDERR_FILENO, &s), 0);
    snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)s.st_dev, (uintmax_t)s.st_ino + (uintmax_t)(_i > 1));
    ck_assert_int_eq(setenv("JOURNAL_STREAM", stream, 1), 0);
    weft_log_set(WEFT_DEBUG, _i == 1);
    each_level();
    (void)capture_end(&c, got, sizeof got);
#define PLAIN                                                                                             \
    "<7>level=debug msg=\"one\"\n<6>level=info msg=\"two\"\n<4>level=warn msg=\"three\"\n<3>level=error " \
    "msg=\"four\"\n"
    static const char *const EXPECTED[] = {PLAIN, "<7>{\"time\":\"", "time="};
#undef PLAIN
    ck_assert_msg(strncmp(got, EXPECTED[_i], strlen(EXPECTED[_i])) == 0, "%s", got);
    if (_i == 1) ck_assert_int_eq(count_of("\n<"), 3);
}
END_TEST

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

/* Resets the log to its first state, for systems where one process runs all tests (Windows). */
static void setup(void)
{
    capture(wf_log_write_repeats);
    weft_log_set(WEFT_INFO, false);
    weft_log_repeats(20, WEFT_SEC(10));
    atomic_store(&wf_log_context, NULL);
    fields = "node=a actor=0.17.1";
    now = 0;
    epoch += WEFT_SEC(1000); /* what was held back is long ago */
}

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *c = tcase_create("log");
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_test(c, a_line_of_logfmt);
    tcase_add_test(c, a_line_of_json);
    tcase_add_loop_test(c, levels_below_the_set_one_are_silent, 0, 5);
    tcase_add_loop_test(c, long_lines_are_cut_and_say_so, 0, 2);
    tcase_add_test(c, lines_of_a_module_name_it);
    tcase_add_loop_test(c, words_set_levels_of_modules, 0, CONFIGURATIONS);
    tcase_add_test(c, adjusting_leaves_the_rest_as_it_is);
    tcase_add_loop_test(c, wrong_words_change_nothing_and_are_shown, 0, WRONGS);
    tcase_add_test(c, the_number_of_modules_with_levels_is_bounded);
    tcase_add_test(c, repeats_are_held_back_and_counted);
    tcase_add_test(c, lines_held_back_are_reported_at_the_end);
    tcase_add_test(c, repeated_lines_without_a_free_slot_are_written);
    tcase_add_test(c, lines_of_a_class_have_one_limit_however_much_they_differ);
    tcase_add_test(c, lines_go_to_a_file_that_is_opened_anew);
#ifndef _WIN32
    tcase_add_loop_test(c, the_journal_gets_priorities, 0, 3);
    tcase_add_test(c, a_failed_assertion_names_its_place);
#endif
    suite_add_tcase(suite, c);
    return run_suite(suite);
}

/* Tests of transport/burst.c: which warnings are written, and how many lines that makes. */
#include "burst.h"
#include "../../capture.h"
#include "../../suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include <weft/log.h>
#include <weft/time.h>

static struct wf_bursts all;
static capture_state capture;

static void begin(void)
{
    memset(&all, 0, sizeof all);
    weft_log_repeats(0, 0);
    capture = capture_start();
}

/* How often what was logged since has that text. */
static int count(const char *what)
{
    char text[65536];
    int n = 0;
    (void)capture_end(&capture, text, sizeof text);
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) n++;
    capture = capture_start();
    return n;
}

static void warn_many(int64_t now, const char *kind, int lines)
{
    for (int i = 0; i < lines; i++) wf_burst_warn(&all, now, kind, "%s n%d", kind, i);
}

START_TEST(a_few_are_written_and_many_are_one_line)
{
    begin();
    warn_many(1, "no way to", 3);
    ck_assert_int_eq(count("no way to"), 3);
    warn_many(2, "no way to", 100);
    ck_assert_int_eq(count("no way to"), WF_BURST_LINES - 3);
    ck_assert_int_eq(wf_bursts_tick(&all, 2), 1 + WF_BURST_TIME);
    ck_assert_int_eq(count("no way to"), 0);
    ck_assert_int_eq(wf_bursts_tick(&all, 1 + WF_BURST_TIME), WEFT_FOREVER);
    ck_assert_int_eq(count("no way to n99 (and 98 more like it)"), 1);
    warn_many(WEFT_SEC(10), "no way to", 1); /* another burst */
    ck_assert_int_eq(count("no way to"), 1);
    ck_assert_int_eq(wf_bursts_tick(&all, WEFT_SEC(10)), WEFT_FOREVER); /* nobody is woken for nothing */
}
END_TEST

START_TEST(one_that_was_held_back_is_written_whole)
{
    begin();
    warn_many(1, "no way to", WF_BURST_LINES + 1);
    (void)wf_bursts_tick(&all, WEFT_FOREVER);
    ck_assert_int_eq(count("no way to"), WF_BURST_LINES + 1);
    warn_many(1, "no way to", WF_BURST_LINES + 1);
    (void)wf_bursts_tick(&all, WEFT_FOREVER);
    ck_assert_int_eq(count("more like it"), 0);
}
END_TEST

START_TEST(kinds_are_told_apart)
{
    char kind[32];
    begin();
    for (int k = 0; k < 3 * WF_BURST_KINDS; k++) {
        snprintf(kind, sizeof kind, "kind-%d-", k);
        warn_many(k + 1, kind, WF_BURST_LINES + 2);
    }
    (void)wf_bursts_tick(&all, WEFT_FOREVER);
    ck_assert_int_eq(count("(and 1 more like it)"), 3 * WF_BURST_KINDS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("burst");
    TCase *t = tcase_create("burst");
    tcase_add_test(t, a_few_are_written_and_many_are_one_line);
    tcase_add_test(t, one_that_was_held_back_is_written_whole);
    tcase_add_test(t, kinds_are_told_apart);
    suite_add_tcase(s, t);
    return run_suite(s);
}

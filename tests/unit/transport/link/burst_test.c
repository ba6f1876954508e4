/* Tests of transport/link/burst.c: which warnings are written, and how many lines that makes. */
#include "burst.h"
#include "../../../capture.h"
#include "../../../suite.h"

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

static char text[65536]; /* what was logged until the last `take` */

static void take(void)
{
    (void)capture_end(&capture, text, sizeof text);
    capture = capture_start();
}

static int in_text(const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) n++;
    return n;
}

/* How often what was logged since has that text. */
static int count(const char *what)
{
    take();
    return in_text(what);
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

START_TEST(a_single_line_that_was_held_back_is_written_whole)
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

/* The quote before that place of the text. */
static const char *before(const char *at)
{
    while (at > text && *at != '"') at--;
    return at;
}

/* Whatever peers say, of whatever kind: another one each time. */
START_TEST(log_lines_that_peers_cause_are_bounded)
{
    enum { SECONDS = 100, EACH = 1000, TELL = WF_PEER_LINES_TOLD / WEFT_SEC(1) };
    char kind[32];
    int written = 0, told = 0;
    int held = 0, one;
    begin();
    for (int second = 0; second <= SECONDS; second++) {
        int64_t now = 1 + WEFT_SEC(second);
        for (int i = 0; i < EACH && second < SECONDS; i++) {
            snprintf(kind, sizeof kind, "reason-%d-%d ", second, i);
            warn_many(now, kind, 1);
        }
        if (second == SECONDS) (void)wf_bursts_tick(&all, WEFT_FOREVER); /* the node's end tells what is left */
        take();
        written += in_text("reason-");
        told += in_text("were left out");
        const char *at = strstr(text, "warnings about other nodes were left out");
        if (at != NULL && sscanf(before(at), "\"%d", &one) == 1) held += one;
    }
    ck_assert_int_ge(written, WF_PEER_WARNINGS);
    ck_assert_int_le(written, WF_PEER_WARNINGS + SECONDS * WF_PEER_WARNINGS_RATE);
    ck_assert_int_le(told, SECONDS / TELL + 1);
    ck_assert_int_eq(written + held, SECONDS * EACH); /* each is written, or counted */
    warn_many(WEFT_SEC(1000), "another", 1);
    ck_assert_int_eq(count("another"), 1);
}
END_TEST

START_TEST(other_lines_do_not_take_the_warnings_places)
{
    int written = 0;
    begin();
    for (int i = 0; i < 10 * WF_PEER_LINES; i++) {
        wf_peer_log(&all, 1, WEFT_INFO, "linked %d", i);
        if (i % 100 == 99) written += count("linked");
    }
    ck_assert_int_eq(written, WF_PEER_LINES);
    warn_many(1, "warned", 1);
    ck_assert_int_eq(count("warned"), 1);
    int64_t at = wf_bursts_tick(&all, 1);
    ck_assert_int_eq(at, 1 + WF_PEER_LINES_TOLD);
    ck_assert_int_eq(wf_bursts_tick(&all, at), WEFT_FOREVER); /* nobody is woken for nothing */
    ck_assert_int_eq(count("9000 lines about other nodes were left out"), 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("burst");
    TCase *t = tcase_create("burst");
    tcase_add_test(t, a_few_are_written_and_many_are_one_line);
    tcase_add_test(t, a_single_line_that_was_held_back_is_written_whole);
    tcase_add_test(t, kinds_are_told_apart);
    tcase_add_test(t, log_lines_that_peers_cause_are_bounded);
    tcase_add_test(t, other_lines_do_not_take_the_warnings_places);
    suite_add_tcase(s, t);
    return run_suite(s);
}

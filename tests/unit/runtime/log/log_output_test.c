/* tests/unit/runtime/log/log_output_test.c -- standard error that nobody reads: no thread that logs waits for a reader, and what
 * could be written is written, in order. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "log_output.h"
#include "platform.h"
#include "../../../suite.h"

static int reading, before;

/* From now on standard error is a pipe that is full. */
static void fill_pipe(void)
{
    int ends[2];
    char block[4096];
    memset(block, '-', sizeof block);
    block[sizeof block - 1] = '\n';
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while (write(ends[1], block, sizeof block) > 0) continue;
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, 0), 0);
    before = dup(STDERR_FILENO);
    ck_assert(before >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    close(ends[1]);
    reading = ends[0];
}

/* Reads everything, until standard error is what it was: the last end of the pipe is closed. */
static char *read_all(void)
{
    size_t size = 0, space = 8 << 20;
    char *text = malloc(space);
    ck_assert_ptr_nonnull(text);
    for (ssize_t n; (n = read(reading, text + size, space - 1 - size)) > 0;) size += (size_t)n;
    close(reading);
    text[size] = '\0';
    return text;
}

static void restore(void)
{
    ck_assert_int_ge(dup2(before, STDERR_FILENO), 0);
    close(before);
}

static void *restore_when_written(void *arg)
{
    (void)arg;
    wf_log_write_repeats();
    restore();
    return NULL;
}

/* What the log has, when somebody reads it in the end. */
static char *read_log(void)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, restore_when_written, NULL), 0);
    char *text = read_all();
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    return text;
}

#define LINE "line %d of many, which is of some length, and then some"
/* More lines than the queue has space for, as each is longer than its text. */
enum { TOO_MANY = WF_LOG_QUEUE_BYTES / (sizeof LINE - sizeof "%d") };

static void log_lines(int from, int count)
{
    for (int i = from; i < from + count; i++) weft_log(WEFT_INFO, LINE, i);
}

/* The number in the next line; -1: there is none. `*missing`: of lines that were lost before it. */
static int next_line(char **at, long *missing)
{
    int number = -1;
    for (char *end; number < 0 && (end = strchr(*at, '\n')) != NULL; *at = end + 1) {
        *end = '\0';
        const char *found = strstr(*at, "msg=\"line "), *gap = strstr(*at, "lines of the log are missing here");
        if (found != NULL) number = atoi(found + strlen("msg=\"line "));
        if (gap != NULL) *missing += strtol(strstr(*at, "msg=\"") + strlen("msg=\""), NULL, 10);
    }
    return number;
}

START_TEST(a_thread_that_logs_does_not_wait_for_a_reader)
{
    enum { LINES = 5000 };
    fill_pipe();
    log_lines(0, LINES);
    char *text = read_log(), *at = text;
    long missing = 0;
    for (int i = 0; i < LINES; i++) ck_assert_int_eq(next_line(&at, &missing), i);
    ck_assert_int_eq(next_line(&at, &missing), -1);
    ck_assert_int_eq(missing, 0);
    free(text);
}
END_TEST

START_TEST(lines_that_find_no_space_are_counted)
{
    fill_pipe();
    log_lines(0, TOO_MANY);
    char *text = read_log(), *at = text;
    long missing = 0;
    int count = 0;
    for (int number; (number = next_line(&at, &missing)) >= 0; count++) ck_assert_int_eq(number, count + missing);
    ck_assert_int_gt(count, 5000);
    ck_assert_int_gt(missing, 0);
    ck_assert_int_eq(count + missing, TOO_MANY);
    free(text);
}
END_TEST

/* The place of the lost lines is known, and later lines come. */
START_TEST(the_log_goes_on_when_somebody_reads_again)
{
    enum { BYTES = 200000 };
    static char some[BYTES];
    fill_pipe();
    log_lines(0, TOO_MANY);
    for (size_t size = 0; size < sizeof some;) {
        ssize_t n = read(reading, some + size, sizeof some - size);
        ck_assert_int_gt(n, 0);
        size += (size_t)n;
    }
    log_lines(TOO_MANY, 100);
    char *text = read_log(), *whole = malloc(sizeof some + strlen(text) + 1), *at = whole;
    memcpy(whole, some, sizeof some);
    memcpy(whole + sizeof some, text, strlen(text) + 1);
    long missing = 0;
    int count = 0;
    for (int number; (number = next_line(&at, &missing)) >= 0; count++) ck_assert_int_eq(number, count + missing);
    ck_assert_int_eq(count + missing, TOO_MANY + 100);
    ck_assert_int_gt(missing, 0);
    free(whole);
    free(text);
}
END_TEST

/* Of each thread. */
static int lines_of_a_thread(void)
{
    return repeats(2000);
}

static void *log_from_a_thread(void *arg)
{
    for (int i = 0; i < lines_of_a_thread(); i++) weft_log(WEFT_INFO, "thread %d, line %d", *(int *)arg, i);
    return NULL;
}

START_TEST(lines_of_each_thread_keep_their_order)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    int number[THREADS], next[THREADS] = {0};
    if (_i == 0) fill_pipe();
    int ends[2];
    if (_i == 1) {
        ck_assert_int_eq(pipe(ends), 0);
        before = dup(STDERR_FILENO);
        ck_assert(before >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
        close(ends[1]);
        reading = ends[0];
    }
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        ck_assert_int_eq(pthread_create(&thread[i], NULL, log_from_a_thread, &number[i]), 0);
    }
    if (_i == 0)
        for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
    pthread_t ending;
    char *text;
    if (_i == 1) {
        char *part = malloc(1 << 22); /* they log while this reads */
        size_t size = 0;
        const size_t lines = THREADS * (size_t)lines_of_a_thread();
        for (size_t found = 0; found < lines;) {
            ssize_t n = read(reading, part + size, (1 << 22) - 1 - size);
            ck_assert_int_gt(n, 0);
            for (ssize_t k = 0; k < n; k++) found += part[size + (size_t)k] == '\n';
            size += (size_t)n;
        }
        part[size] = '\0';
        for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
        ck_assert_int_eq(pthread_create(&ending, NULL, restore_when_written, NULL), 0);
        free(read_all());
        ck_assert_int_eq(pthread_join(ending, NULL), 0);
        text = part;
    } else {
        text = read_log();
    }
    int count = 0;
    for (const char *at = text; (at = strstr(at, "msg=\"thread ")) != NULL; at++, count++) {
        int who = -1, line = -1;
        ck_assert_int_eq(sscanf(at, "msg=\"thread %d, line %d\"\n", &who, &line), 2);
        ck_assert(who >= 0 && who < THREADS);
        ck_assert_int_eq(line, next[who]++);
    }
    ck_assert_int_eq(count, THREADS * lines_of_a_thread());
    free(text);
}
END_TEST

/* ---- Ends of a process ------------------------------------------------------------------------------------------ */

static void expect_end(void (*body)(void), int expected_signal)
{
    int status;
    fill_pipe();
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        body();
        exit(3);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child); /* though nobody reads */
    if (expected_signal != 0) ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == expected_signal);
    else ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    restore();
    close(reading);
}

static void log_and_exit(void)
{
    log_lines(0, 100);
}

static void log_and_break_a_promise(void)
{
    log_lines(0, 100);
    WF_ASSERT(1 + 1 == 3);
}

START_TEST(a_process_ends_though_nobody_reads_its_log)
{
    expect_end(_i == 0 ? log_and_exit : log_and_break_a_promise, _i == 0 ? 0 : SIGABRT);
}
END_TEST

/* Of a process that ends itself, by exit or by a failed assertion. */
START_TEST(what_is_queued_is_written_at_the_end_of_the_process)
{
    enum { LINES = 5000 };
    int status;
    fill_pipe();
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        log_lines(0, LINES);
        if (_i == 1) WF_ASSERT(1 + 1 == 3);
        exit(3);
    }
    restore();
    char *text = read_all(), *at = text;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert((strstr(text, "assertion failed: 1 + 1 == 3\n") != NULL) == (_i == 1));
    long missing = 0;
    for (int i = 0; i < LINES; i++) ck_assert_int_eq(next_line(&at, &missing), i);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log output");
    TCase *c = tcase_create("nobody reads");
    suite_add_tcase(suite, c);
    tcase_set_timeout(c, 60);
#ifdef WF_TSAN /* a child that was forked has no threads under it */
    const int ends = 0;
#else
    const int ends = 2;
#endif
    tcase_add_loop_test(c, a_process_ends_though_nobody_reads_its_log, 0, ends);
    tcase_add_loop_test(c, what_is_queued_is_written_at_the_end_of_the_process, 0, ends);
    tcase_add_test(c, a_thread_that_logs_does_not_wait_for_a_reader);
    tcase_add_test(c, lines_that_find_no_space_are_counted);
    tcase_add_test(c, the_log_goes_on_when_somebody_reads_again);
    tcase_add_loop_test(c, lines_of_each_thread_keep_their_order, 0, 2);
    return run_suite(suite);
}

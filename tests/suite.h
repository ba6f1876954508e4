/* tests/suite.h -- runs a suite of Check and returns the result for main(). Also assertions for actors, and whether a
 * tool (a sanitizer or Valgrind) watches the process. */
#ifndef WF_SUITE_H
#define WF_SUITE_H

#include <check.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef _WIN32
#include <signal.h>
#include <unistd.h>
#endif

#include "base.h"
#ifdef WF_VALGRIND
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

/* In a list of tests and between statements: what only Unixes have. */
#ifdef _WIN32
#define ON_UNIX(...)

__attribute__((unused)) static void *memmem(const void *in, size_t size, const void *what, size_t length)
{
    for (const char *at = in; size >= length; at++, size--)
        if (memcmp(at, what, length) == 0) return (void *)(uintptr_t)at;
    return NULL;
}
#else
#define ON_UNIX(...) __VA_ARGS__
#endif

/* Sanitizers and Valgrind: everything takes longer, and they watch memory and stacks themselves. */
static inline bool under_tools(void)
{
#if defined(WF_ASAN) || defined(WF_TSAN)
    return true;
#else
    return RUNNING_ON_VALGRIND != 0;
#endif
}

/* How often, where what is repeated is the same for every build: the tools look at a part of it, and Valgrind, under
 * which a program takes ten times as long as under a sanitizer, at a fiftieth. */
static inline int repeats(int count)
{
    return under_tools() ? WF_MAX(1, count / (RUNNING_ON_VALGRIND ? 50 : 10)) : count;
}

/* kqueue on Linux; what it cannot do is in docs/platforms.md. */
#if defined(TEST_KQUEUE) && defined(__linux__)
enum { THROUGH_LIBKQUEUE = true };
#else
enum { THROUGH_LIBKQUEUE = false };
#endif

/* A test without a process of its own that fails goes on by a jump to its runner, on the thread that has its stack.
 * An assertion that fails on another one, in an actor, ends the program instead: nothing would be true after that
 * jump. */
static _Thread_local bool has_runner;
static bool runner_jumps;

/* With WEFT_FIRST_FAILURE the first test that fails ends the program, by a signal: tools/mutants.py asks whether a test
 * fails, and the tests after that would take most of the time. */
#ifndef _WIN32
static pid_t first_process;

static void end_if_one_is_enough(const char *path, int number, const char *what, const char *why)
{
    if (getenv("WEFT_FIRST_FAILURE") == NULL) return;
    fprintf(stderr, "%s:%d:F:first: %s %s\n", path, number, what, why);
    (void)kill(first_process, SIGKILL);
    _exit(EXIT_FAILURE);
}
#endif

__attribute__((ON_UNIX(noreturn, ) unused, format(printf, 4, 5))) static void assertion_failed(
    const char *path, int number, const char *what, const char *format, ...)
{
    char why[2048] = "";
    va_list args;
    va_start(args, format);
    if (format != NULL) vsnprintf(why, sizeof why, format, args);
    va_end(args);
    ON_UNIX(end_if_one_is_enough(path, number, what, why);)
    if (runner_jumps && !has_runner) {
        fprintf(stderr, "%s:%d: on a thread of the node: %s %s\n", path, number, what, why);
        abort();
    }
    if (format != NULL) _ck_assert_failed(path, number, what, "%s", why);
    else _ck_assert_failed(path, number, what, NULL);
}
#define _ck_assert_failed assertion_failed

static inline int run_suite_as(Suite *suite, enum fork_status fork)
{
    SRunner *runner = srunner_create(suite);
    if (fork != CK_FORK_GETENV) srunner_set_fork_status(runner, fork);
    has_runner = true;
    ON_UNIX(first_process = getpid();)
    runner_jumps = srunner_fork_status(runner) == CK_NOFORK;
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Each test in a process of its own, unless CK_FORK=no. */
static inline int run_suite(Suite *suite)
{
    return run_suite_as(suite, CK_FORK_GETENV);
}

/* For tests with a network: NNG does not live in a forked child. */
static inline int run_suite_unforked(Suite *suite)
{
    return run_suite_as(suite, CK_NOFORK);
}

#endif

/* tests/suite.h -- runs a suite of Check; the result suits main(). */
#ifndef WF_SUITE_H
#define WF_SUITE_H

#include <check.h>
#include <stdlib.h>

static inline int run_suite_as(Suite *suite, enum fork_status fork)
{
    SRunner *runner = srunner_create(suite);
    if (fork != CK_FORK_GETENV) srunner_set_fork_status(runner, fork);
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

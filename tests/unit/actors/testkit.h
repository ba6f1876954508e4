/* tests/unit/actors/testkit/testkit.h -- for tests of the test kit. The bodies run in the calling thread, but on
 * stacks of their own: use `want` inside, Check's assertions outside. */
#ifndef WF_TESTKIT_H
#define WF_TESTKIT_H

#include "node_harness.h"

#include <weft/test.h>

enum { DATA = 1, ASK = 2, TICK = 3, OTHER = 4 };

#define QUIET (&(weft_test_options){.quiet = true})

static int trace[4096];
static size_t traced;

__attribute__((unused)) static void note(int what)
{
    if (traced < WF_COUNT(trace)) trace[traced++] = what;
}

__attribute__((unused)) static int run(weft_actor *body)
{
    traced = 0;
    return weft_test_run(body, NULL, 0, QUIET);
}

#define EXPECT_PASS(body)                                                                                     \
    do {                                                                                                      \
        int rc_ = run(body);                                                                                  \
        ck_assert_msg(rc_ == 0 && weft_test_report()[0] == 0, "%s: %s (%d)", #body, weft_test_report(), rc_); \
    } while (0)
#define EXPECT_FAIL(body, text)                                                            \
    do {                                                                                   \
        ck_assert_int_eq(run(body), WEFT_EXIT_FAILED);                                     \
        ck_assert_msg(strstr(weft_test_report(), text) != NULL, "%s", weft_test_report()); \
    } while (0)

__attribute__((unused)) static void sleeper(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    if (weft_sleep(weft_after(k.n)) == 0) want_int(say(k.parent, DATA, k.n), 0);
}

#endif

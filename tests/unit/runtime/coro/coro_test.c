/* tests/unit/runtime/coro/coro_test.c -- the switch itself. Only functions of coro.h and stack.h are used, so that
 * tests/aarch64 runs the same bodies on another processor: see coro_cases.h. */
#include <check.h>
#include <stdlib.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#if __has_include(<execinfo.h>)
#include <execinfo.h>
#else
#define backtrace(at, max) ((at)[0] = NULL, 1) /* musl does not walk stacks */
#endif
#define EXPECT(condition) ck_assert(condition)
#include "coro_cases.h"
#include "../../../suite.h"

START_TEST(switching_is_symmetric_and_ordered)
{
    case_ring(3, 1000);
}
END_TEST

START_TEST(thousands_of_coroutines)
{
    case_ring(under_tools() ? 300 : 5000, 20);
}
END_TEST

START_TEST(registers_and_floating_point_are_kept)
{
    case_registers();
}
END_TEST

START_TEST(deep_recursion_suspends_at_each_level)
{
    case_recursion();
}
END_TEST

START_TEST(leaving_gives_the_stack_to_the_next)
{
    case_leave(3000);
}
END_TEST

START_TEST(a_stack_serves_coroutines_one_after_the_other)
{
    case_succession(500);
}
END_TEST

/* ---- What needs a full C library ------------------------------------------------------------------------------- */

#ifndef _WIN32
static struct pair two;
static int frames;

static void count_frames(void *arg)
{
    void *at[64];
    frames = backtrace(at, 64);
    end_pair(arg);
}

START_TEST(a_backtrace_ends_at_the_coroutines_first_frame)
{
    start_pair(&two, 256 << 10, count_frames);
    wf_coro_switch(&two.thread, &two.other);
    finish_pair(&two);
    /* count_frames, and what starts a coroutine; nothing of the thread, nothing beyond. */
    ck_assert_int_ge(frames, 1);
    ck_assert_int_le(frames, 5);
}
END_TEST

/* Recurses without end, in a way that the compiler cannot see. */
static __attribute__((noinline)) int eat_stack(volatile int *depth)
{
    volatile char frame[512];
    frame[0] = (char)++*depth;
    return *depth == 0 ? 0 : eat_stack(depth) + frame[0];
}

static bool report(const struct pf_fault *f)
{
    struct wf_stack s;
    if (!wf_stack_slot(two.arena, f->address, &s) || (const char *)f->address >= wf_stack_low(&s)) return false;
    _exit(s.base == two.other.stack.base ? 42 : 43);
}

static void overflow(void *arg)
{
    int depth = 0;
    (void)arg;
    eat_stack(&depth);
    abort();
}

START_TEST(endless_recursion_ends_in_a_report)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        pf_fault_watch(report);
        start_pair(&two, 1, overflow);
        wf_coro_switch(&two.thread, &two.other);
        _exit(1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 42, "status %x", status);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("coro");
    TCase *c = tcase_create("coro");
    tcase_add_test(c, switching_is_symmetric_and_ordered);
    tcase_add_test(c, thousands_of_coroutines);
    tcase_add_test(c, registers_and_floating_point_are_kept);
    tcase_add_test(c, deep_recursion_suspends_at_each_level);
    tcase_add_test(c, leaving_gives_the_stack_to_the_next);
    tcase_add_test(c, a_stack_serves_coroutines_one_after_the_other);
    ON_UNIX(tcase_add_test(c, a_backtrace_ends_at_the_coroutines_first_frame);)
    ON_UNIX(tcase_add_test(c, endless_recursion_ends_in_a_report);)
    suite_add_tcase(suite, c);
    return run_suite(suite);
}

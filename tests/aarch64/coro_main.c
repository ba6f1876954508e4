/* tests/aarch64/coro_main.c -- the cases of tests/unit/runtime/coro/coro_test.c without a test framework, so that
 * they can be built statically for another processor and run in an emulator. */
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition) ((condition) ? (void)0 : missed(#condition, __LINE__))

static void missed(const char *condition, int line)
{
    fprintf(stderr, "coro_cases.h:%d: %s does not hold\n", line, condition);
    exit(1);
}

#include "coro_cases.h"
#include "log_output.h"

/* In the place of runtime/log/log_output.c, which needs threads and a poller. */
void wf_log_put(const char *line, size_t size)
{
    (void)!fwrite(line, 1, size, stderr);
}

void wf_log_flush(void)
{
}

/* In the place of runtime/platform/posix/signals.c. */
void pf_signals_before_write(void)
{
}

int main(void)
{
    case_ring(3, 1000);
    case_ring(1000, 20);
    case_registers();
    case_recursion();
    case_leave(1000);
    case_succession(200);
    puts("all cases hold");
    return 0;
}

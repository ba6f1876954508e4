/* cli/bench_none.c -- weft bench where its workloads are not built: they read what Linux says of a process. */
#include "bench.h"

int cli_bench(const struct cli *c)
{
    return cli_fail(c, CLI_FAILED, "not on this system: its workloads are written for Linux");
}

/* cli/bench.h -- weft bench. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "options.h"

int cli_bench(const struct cli *c);

#endif

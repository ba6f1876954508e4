/* bench/local.h -- between local.c and its workloads in other files. */
#ifndef BENCH_LOCAL_H
#define BENCH_LOCAL_H

#include "bench.h"

extern struct local_arg {
    int workers;
    bool apart;    /* the workload's name ends in -apart: each side has a worker of its own */
    bool handlers; /* in -handlers: with handlers instead of coroutines */
    long a, b;
} arg;

enum { PING = 1, PONG, READY, DONE };

void timers_main(const void *unused, size_t size);

#endif

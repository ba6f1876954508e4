/* bench/bench.h -- what the benchmark programs share: one node per run, result lines in the form
 *     workload weft params metric value
 * so that they can be put beside those of other runtimes. */
#ifndef BENCH_H
#define BENCH_H

#include <weft.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* `weft bench` has some of these programs in it, under other names (cli/bench.c). */
#ifndef BENCH_MAIN
#define BENCH_MAIN main
#endif
int BENCH_MAIN(int argc, char **argv);

static inline void report(const char *workload, const char *params, const char *metric, double value)
{
    printf("%s weft %s %s %.1f\n", workload, params, metric, value);
    fflush(stdout);
}

static inline void fail(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static inline void must(int rc, const char *what)
{
    if (rc >= 0) return;
    fprintf(stderr, "bench: %s: %s\n", what, weft_strerror(rc));
    exit(1);
}

static inline int64_t rss_bytes(void)
{
    long whole = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%ld %ld", &whole, &resident) != 2) fail("cannot read /proc/self/statm");
    fclose(f);
    return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

/* Not from getrusage: its figure also knows the program that started this one. */
static inline double peak_mib(void)
{
    char line[128];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && kib <= 0 && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0) kib = strtod(line + 6, NULL);
    if (f == NULL || kib <= 0) fail("cannot read /proc/self/status");
    fclose(f);
    return kib / 1024;
}

static inline double cpu_ms(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

/* Page tables are no part of what is resident. */
static inline int64_t page_table_bytes(void)
{
    char line[128];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && kib <= 0 && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "VmPTE:", 6) == 0) kib = strtod(line + 6, NULL);
    if (f == NULL || kib <= 0) fail("cannot read /proc/self/status");
    fclose(f);
    return (int64_t)kib * 1024;
}

/* Runs `body` as the first actor of a node with that many workers, pinned to the first, until no actor is left. No
 * workers: the node is embedded, in this thread.
 * `park_after`: as in weft_node_options. */
static inline void run_parking_node(int workers, int64_t park_after, weft_actor *body, const void *arg, size_t size)
{
    weft_node *node;
    /* However slow the machine is, an actor that waits for space keeps waiting. Small stacks, as the fibers of
     * bench/peers/fiber.cpp have. */
    weft_node_options options = {.workers = workers,
                                 .embedded = workers == 0,
                                 .park_after = park_after,
                                 .send_timeout = WEFT_FOREVER,
                                 .stack_bytes = 16 << 10};
    weft_spawn_options first = {.kind = "bench", .worker = 1};
    must(weft_node_start(&node, &options), "node");
    must(weft_node_spawn(node, NULL, body, arg, size, &first), "first actor");
    must(weft_node_wait(node, WEFT_FOREVER), "wait");
    must(weft_node_stop(node, weft_after(WEFT_SEC(10))), "stop");
}

static inline void run_node(int workers, weft_actor *body, const void *arg, size_t size)
{
    run_parking_node(workers, 0, body, arg, size);
}

static inline weft_pid spawn_on(int worker, const char *kind, weft_actor *body, const void *arg, size_t size)
{
    weft_pid pid;
    weft_spawn_options o = {.kind = kind, .worker = worker};
    must(weft_spawn(&pid, body, arg, size, &o), "spawn");
    return pid;
}

static inline weft_pid handler_on(int worker, weft_handler *handle, const void *state, size_t size)
{
    weft_pid pid;
    must(weft_spawn_handler(&pid, handle, state, size, &(weft_spawn_options){.worker = worker}), "spawn");
    return pid;
}

static inline weft_msg *receive(void)
{
    weft_msg *m;
    must(weft_recv(&m, WEFT_FOREVER), "receive");
    return m;
}

#endif

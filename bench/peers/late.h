/* bench/peers/late.h -- how late periodic timers fire: what our program and those of other runtimes share.
 *
 *     PROGRAM ... TIMERS PERIOD_MS ROUNDS
 *
 * Timer i is due at start + period + i * period / TIMERS (whole milliseconds), then every period, ROUNDS times.
 * Lateness is counted from there, so that drift adds up in it. libuv counts in milliseconds of its loop's clock, so
 * that it may be early: that counts as no lateness. */
#ifndef BENCH_LATE_H
#define BENCH_LATE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

struct late {
    long timers, period_ms, rounds;
    long count;
    int64_t *ns;
    double cpu_ms; /* when it began */
};

static inline double late_cpu_ms(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static inline void late_begin(struct late *l, char **argv)
{
    *l = (struct late){.timers = atol(argv[0]), .period_ms = atol(argv[1]), .rounds = atol(argv[2])};
    int fits = l->timers > 0 && l->timers <= 1000000 && l->period_ms > 0 && l->rounds > 0 && l->rounds <= 1000000;
    if (fits) l->ns = calloc((size_t)(l->timers * l->rounds), sizeof *l->ns);
    if (l->ns == NULL) {
        fprintf(stderr, "lateness: bad numbers, or no memory\n");
        exit(2);
    }
    l->cpu_ms = late_cpu_ms();
}

/* When the timer is due first, from the start. */
static inline int64_t late_first_ms(const struct late *l, long timer)
{
    return l->period_ms + timer * l->period_ms / l->timers;
}

static inline void late_add(struct late *l, int64_t ns)
{
    if (l->count < l->timers * l->rounds) l->ns[l->count] = ns > 0 ? ns : 0;
    l->count++;
}

static inline int late_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static inline void late_end(struct late *l, const char *name)
{
    long n = l->timers * l->rounds;
    double cpu = late_cpu_ms() - l->cpu_ms;
    if (l->count != n) {
        fprintf(stderr, "lateness: %ld firings instead of %ld\n", l->count, n);
        exit(1);
    }
    qsort(l->ns, (size_t)n, sizeof *l->ns, late_order);
    const struct {
        const char *metric;
        double value;
    } results[] = {{"late_p50_us", (double)l->ns[n / 2] / 1e3},
                   {"late_p99_us", (double)l->ns[n * 99 / 100] / 1e3},
                   {"late_max_us", (double)l->ns[n - 1] / 1e3},
                   {"cpu_ms", cpu}};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        printf("lateness %s timers=%ld,period_ms=%ld,rounds=%ld %s %.1f\n", name, l->timers, l->period_ms, l->rounds,
               results[i].metric, results[i].value);
    free(l->ns);
}

#endif

/* bench/peers/stored.h -- what the clients of servers that store messages share, for bench/stored.c: a body that says
 * its number, the time of each acknowledgement, and the results. Each time a publication is acknowledged, the next one
 * is sent. On a connection acknowledgements, and records, come in the order of publications. */
#ifndef BENCH_STORED_H
#define BENCH_STORED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STORED_SIZE_MAX = 65536, STORED_MANY = 512 };

static struct {
    bool appends;
    long publishers, size, limit; /* limit: ms of append, records of replay */
    uint64_t sent, acknowledged;
    int64_t *took; /* ns; while one is on its way: when it was sent */
    size_t took_max;
    int64_t start;
    char body[STORED_SIZE_MAX];
} stored;

static void fail(const char *what);

static int64_t stored_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* argv: append PUBLISHERS SIZE MILLISECONDS, or replay SIZE N. False: these are no right arguments. */
static bool stored_arguments(int argc, char **argv)
{
    stored.appends = argc > 0 && strcmp(argv[0], "append") == 0;
    if (argc != (stored.appends ? 4 : 3)) return false;
    stored.publishers = stored.appends ? atol(argv[1]) : STORED_MANY;
    stored.size = atol(argv[argc - 2]), stored.limit = atol(argv[argc - 1]);
    if (stored.publishers < 1 || stored.size < 16 || stored.size > STORED_SIZE_MAX || stored.limit < 1) return false;
    stored.took_max = stored.appends ? (size_t)(stored.limit + 10) * 2000 : (size_t)stored.limit;
    stored.took = calloc(stored.took_max, sizeof *stored.took);
    memset(stored.body, 'x', sizeof stored.body);
    return stored.took != NULL;
}

static void stored_begin(void)
{
    stored.start = stored_now();
}

/* Whether one more is to be sent; then stored.body is it. */
static bool stored_next(void)
{
    if (stored.sent - stored.acknowledged >= (uint64_t)stored.publishers) return false;
    int64_t now = stored_now();
    if (stored.appends ? now - stored.start >= stored.limit * 1000000 : stored.sent >= (uint64_t)stored.limit)
        return false;
    if (stored.sent == stored.took_max) fail("too many publications");
    memcpy(stored.body, &stored.sent, sizeof stored.sent);
    stored.took[stored.sent++] = now;
    return true;
}

static void stored_acknowledge(uint64_t number)
{
    stored.took[number] = stored_now() - stored.took[number];
    stored.acknowledged++;
}

/* Whether publications are on their way. */
static bool stored_waits(void)
{
    return stored.acknowledged < stored.sent;
}

static void stored_check(uint64_t number, const char *data, size_t size)
{
    size_t rest = (size_t)stored.size - sizeof number;
    if (size != (size_t)stored.size || memcmp(data, &number, sizeof number) != 0) fail("another record was expected");
    data += sizeof number;
    if (data[0] != 'x' || memcmp(data, data + 1, rest - 1) != 0) fail("a record has changed");
}

static int stored_by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void stored_report_appends(const char *who)
{
    double ns = (double)(stored_now() - stored.start);
    qsort(stored.took, stored.acknowledged, sizeof *stored.took, stored_by_value);
    char text[128];
    snprintf(text, sizeof text, "stored %s apart,append,publishers=%ld,size=%ld", who, stored.publishers,
             stored.size);
    printf("%s appends_per_s %.1f\n", text, 1e9 * (double)stored.acknowledged / ns);
    printf("%s p50_us %.1f\n", text, (double)stored.took[stored.acknowledged / 2] / 1e3);
    printf("%s p99_us %.1f\n", text, (double)stored.took[stored.acknowledged * 99 / 100] / 1e3);
    fflush(stdout);
}

/* Since `start`. */
static void stored_report_replay(const char *who, int64_t start)
{
    printf("replay %s apart,replay,size=%ld,n=%ld records_per_s %.1f\n", who, stored.size, stored.limit,
           1e9 * (double)stored.acknowledged / (double)(stored_now() - start));
    fflush(stdout);
}

#endif

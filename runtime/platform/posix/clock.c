/* runtime/platform/posix/clock.c -- the clocks and randomness. */
#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "native.h"

int64_t pf_native_now(struct pf_env *env)
{
    (void)env;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return WF_CLOCK_BEGIN + (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t pf_native_wall(struct pf_env *env)
{
    (void)env;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void pf_native_random(struct pf_env *env, void *out, size_t size)
{
    (void)env;
    char *at = out;
    while (size > 0) {
        size_t part = WF_MIN(size, (size_t)256); /* one call gives no more */
        WF_ASSERT(getentropy(at, part) == 0);
        at += part;
        size -= part;
    }
}

void pf_wall_clock_text(int64_t wall, char *out, size_t size)
{
    if (wall == 0) wall = pf_native_wall(NULL);
    time_t seconds = (time_t)(wall / 1000000000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    size_t n = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &parts);
    if (n > 0) snprintf(out + n, size - n, ".%03dZ", (int)(wall / 1000000 % 1000));
}

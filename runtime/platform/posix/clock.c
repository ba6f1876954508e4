/* runtime/platform/posix/clock.c -- the clocks, randomness, and the native environment made of them and the
 * kernel's poller. */
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
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + 1; /* + 1: never WEFT_NOW, even at boot */
}

static int64_t native_wall(struct pf_env *env)
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
        size_t part = WF_MIN(size, (size_t)256); /* as much as one call gives */
        WF_ASSERT(getentropy(at, part) == 0);
        at += part;
        size -= part;
    }
}

static int native_cond_wait(struct pf_env *env, pf_cond *c, pf_mutex *m, int64_t deadline)
{
    (void)env;
    return pf_cond_wait(c, m, deadline);
}

static void native_cond_broadcast(struct pf_env *env, pf_cond *c)
{
    (void)env;
    pf_cond_broadcast(c);
}

struct pf_env *pf_env_native(void)
{
    static struct pf_env native = {
        .now = pf_native_now,
        .wall = native_wall,
        .random = pf_native_random,
        .cond_wait = native_cond_wait,
        .cond_broadcast = native_cond_broadcast,
        .poller_create = pf_native_poller_create,
        .poller_destroy = pf_native_poller_destroy,
        .poller_add = pf_native_poller_add,
        .poller_remove = pf_native_poller_remove,
        .poller_arm = pf_native_poller_arm,
        .poller_wait = pf_native_poller_wait,
        .poller_wake = pf_native_poller_wake,
        .poller_handle = pf_native_poller_handle,
        .poller_alarm = pf_native_poller_alarm,
        .file_submit = pf_native_file_submit,
        .file_cancel = pf_native_file_cancel,
    };
    return &native;
}

void pf_wall_clock_text(char *out, size_t size)
{
    struct timespec t;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &t);
    gmtime_r(&t.tv_sec, &parts);
    size_t n = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &parts);
    if (n > 0) snprintf(out + n, size - n, ".%03dZ", (int)(t.tv_nsec / 1000000));
}

/* runtime/platform/posix/clock.c -- the clocks and randomness. */
#include <stdio.h>
#include <sys/random.h>
#include <string.h>
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

/* Many lines are written in the same second, so each thread keeps the text of the last one. */
static const char *text_of_second(time_t seconds)
{
    static _Thread_local struct {
        time_t seconds;
        char text[32];
    } last;
    if (last.text[0] != '\0' && last.seconds == seconds) return last.text;
    struct tm parts;
    gmtime_r(&seconds, &parts);
    last.seconds = seconds;
    last.text[strftime(last.text, sizeof last.text, "%Y-%m-%dT%H:%M:%S", &parts)] = '\0';
    return last.text;
}

void pf_wall_clock_text(int64_t wall, char *out, size_t size)
{
    if (wall == 0) wall = pf_native_wall(NULL);
    const char *text = text_of_second((time_t)(wall / 1000000000));
    const unsigned ms = (unsigned)(wall / 1000000 % 1000);
    const char end[] = {'.', (char)('0' + ms / 100), (char)('0' + ms / 10 % 10), (char)('0' + ms % 10), 'Z', '\0'};
    size_t n = strlen(text);
    if (n + sizeof end > size) n = size - sizeof end;
    memcpy(out, text, n); /* NOLINT(bugprone-not-null-terminated-result): the end follows */
    memcpy(out + n, end, sizeof end);
}

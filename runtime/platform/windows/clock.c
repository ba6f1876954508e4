/* runtime/platform/windows/clock.c -- the clocks and randomness. */
#include <stdio.h>
#include <time.h>

#include "system.h"
/* after windows.h */
#include <ntsecapi.h>

static const int64_t UNIX_EPOCH = 116444736000000000; /* in 100 ns since 1601 */

int64_t pf_native_now(struct pf_env *env)
{
    (void)env;
    static _Atomic int64_t frequency; /* relaxed: all threads store the same value */
    int64_t per_second = atomic_load_explicit(&frequency, memory_order_relaxed);
    LARGE_INTEGER t;
    if (per_second == 0) {
        (void)QueryPerformanceFrequency(&t); /* neither fails since Windows XP */
        per_second = t.QuadPart;
        atomic_store_explicit(&frequency, per_second, memory_order_relaxed);
    }
    (void)QueryPerformanceCounter(&t);
    return WF_CLOCK_BEGIN + t.QuadPart / per_second * 1000000000 + t.QuadPart % per_second * 1000000000 / per_second;
}

int64_t pf_native_wall(struct pf_env *env)
{
    FILETIME f;
    (void)env;
    GetSystemTimePreciseAsFileTime(&f);
    return ((int64_t)((uint64_t)f.dwHighDateTime << 32 | f.dwLowDateTime) - UNIX_EPOCH) * 100;
}

void pf_native_random(struct pf_env *env, void *out, size_t size)
{
    (void)env;
    WF_ASSERT(RtlGenRandom(out, (ULONG)size));
}

DWORD pf_milliseconds_until(int64_t deadline)
{
    if (deadline == WEFT_FOREVER) return INFINITE;
    int64_t now = deadline <= WEFT_NOW ? 0 : pf_native_now(NULL);
    int64_t left = deadline > now ? deadline - now : 0;
    int64_t ms = left / 1000000 + (left % 1000000 != 0);
    return (DWORD)WF_MIN(ms, (int64_t)INFINITE - 1);
}

void pf_wall_clock_text(int64_t wall, char *out, size_t size)
{
    if (wall == 0) wall = pf_native_wall(NULL);
    SYSTEMTIME t;
    uint64_t file_time = (uint64_t)(wall / 100 + UNIX_EPOCH);
    FILETIME f = {(DWORD)file_time, (DWORD)(file_time >> 32)};
    FileTimeToSystemTime(&f, &t);
    snprintf(out, size, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", t.wYear % 10000u, t.wMonth % 100u, t.wDay % 100u,
             t.wHour % 100u, t.wMinute % 100u, t.wSecond % 100u, t.wMilliseconds % 1000u);
}

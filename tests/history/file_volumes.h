/* tests/history/file_volumes.h -- volumes that are files of SQLite, on disks that fail (tests/unit/transport/store/faulty_vfs.h).
 * server_volumes.h has the same functions. */
#ifndef HISTORY_FILE_VOLUMES_H
#define HISTORY_FILE_VOLUMES_H

#include <stdint.h>
#include <stdio.h>

#include "../unit/transport/store/faulty_vfs.h"

enum { VOLUME_URL = 32 };

/* Before all runs. Returns 0, or the exit code of the test. */
static int volumes_open(void)
{
    return 0;
}

static void volumes_close(void)
{
}

/* Empty ones, for a run, and the end of a run. */
static void volumes_begin(uint64_t seed)
{
    faulty_begin(seed);
}

static void volumes_end(void)
{
    faulty_end();
}

static void volume_url(const char *name, char out[VOLUME_URL])
{
    snprintf(out, VOLUME_URL, "sqlite:%s.db", name);
}

/* The machine that has it open crashes, and its volume is there again. */
static void volume_off(const char *name, bool power)
{
    faulty_volume_off(name, power);
}

static void volume_on(const char *name, bool power)
{
    faulty_volume_on(name, power);
}

/* One of two faults. */
static void volume_fault(bool first, uint64_t *random)
{
    if (first) faulty_fail_sync(random_below(random, 8));
    else faulty_space(random_below(random, 3) == 0 ? random_below(random, 20000) : SIZE_MAX);
}

/* To be called before each job of a store. */
static void volume_disturb(void)
{
}

/* No fault is left. */
static void volumes_heal(void)
{
    faulty_fail_sync(UINT64_MAX);
    faulty_space(SIZE_MAX);
}

#endif

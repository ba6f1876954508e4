/* cli/os/sim_memory_none.c -- where nothing stands between a library and its allocator: see sim_memory.h. */
#include "sim_memory.h"

bool sim_memory_watch(const void *address)
{
    (void)address;
    return false;
}

void sim_memory_count(bool exactly)
{
    (void)exactly;
}

size_t sim_memory_blocks(void)
{
    return 0;
}

size_t sim_memory_bytes(void)
{
    return 0;
}

size_t sim_memory_most(void)
{
    return 0;
}

void sim_memory_describe(char *out, size_t size)
{
    (void)out;
    (void)size;
}

void sim_memory_show(void)
{
}

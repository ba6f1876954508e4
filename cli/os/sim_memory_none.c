/* cli/os/sim_memory_none.c -- where nothing stands between a library and its allocator: see sim_memory_elf.c. */
#include "sim_memory.h"

bool cli_sim_memory(weft_actor *body)
{
    (void)body;
    return false;
}

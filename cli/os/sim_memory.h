/* cli/os/sim_memory.h -- allocations of simulated nodes. */
#ifndef CLI_SIM_MEMORY_H
#define CLI_SIM_MEMORY_H

#include <weft.h>

/* From now on what the runtime and the module allocate may fail in a simulation. False: not on this system. */
bool cli_sim_memory(weft_actor *body);

#endif

/* cli/os/sim_memory.h -- what stands between simulated nodes and their allocator: `weft sim --faults memory` and
 * `--heap`, and the programs of ./dev sim (tests/sim/seeds.h).
 *
 * Design notes. Code is as it is anywhere else. Its calls of malloc and its like go through a table of addresses,
 * which the loader has filled in; here those entries are turned to functions that may say no, and that count. Other
 * libraries keep their own tables: what they allocate is neither refused nor counted, nor is it where watched code
 * frees it. */
#ifndef CLI_SIM_MEMORY_H
#define CLI_SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* The code with this address in it, a program, a library or a module, from now on. In the process of one run, or of
 * runs that are its copies, which then ends. False: not on this system. */
bool sim_memory_watch(const void *address);

/* Counts what is allocated from now on. `exactly`: with the way to each place, which takes time. */
void sim_memory_count(bool exactly);
/* Blocks and bytes that are allocated, and the most bytes at a moment. */
size_t sim_memory_blocks(void);
size_t sim_memory_bytes(void);
size_t sim_memory_most(void);
/* Into `out`: "192 bytes: 1 of 128 bytes from libweft.so.0+0x1413a, ...", what takes most first. */
void sim_memory_describe(char *out, size_t size);
/* On standard error: the way to each place, if it was counted exactly. addr2line turns places into lines. */
void sim_memory_show(void);

#endif

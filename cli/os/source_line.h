/* cli/os/source_line.h -- lines of sources, which only another program knows. */
#ifndef CLI_SOURCE_LINE_H
#define CLI_SOURCE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "function at file:line" of the code at that offset of a file, of `size` bytes. False: no tool on this machine could
 * tell. */
bool cli_source_line(const char *file, uint64_t offset, char *out, size_t size);

#endif

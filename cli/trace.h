/* cli/trace.h -- weft trace, and what bodies of docs/wire.md say of messages that are traced. */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "options.h"

#include <weft.h>

int cli_trace(const struct cli *c);
/* Prints a TRACE that a node sends. False: it cannot be decoded. */
bool cli_print_tracing(const char *what, weft_reader *r);
/* Prints at most `most` messages of a TRACED and returns their number; -1: it cannot be decoded. */
int64_t cli_print_traced(const struct cli *c, weft_reader *r, int64_t most);

#endif

/* cli/inspect/record_trace.h -- what a flight recorder has, for trace viewers. */
#ifndef CLI_RECORD_TRACE_H
#define CLI_RECORD_TRACE_H

#include "record.h"

/* As JSON for trace viewers, oldest event first. `name_all` calls cli_record_trace_name(to, ...) for each actor of
 * which more is known than its pid. False: out of memory. */
bool cli_print_record_trace(const struct cli_event *events, size_t count, const char *node,
                            void (*name_all)(void *to, void *arg), void *arg);
void cli_record_trace_name(void *to, weft_pid pid, weft_text kind, weft_text name);

#endif

/* runtime/log/log_output.h -- where composed lines go: to standard error or the log file, by the thread that logs; if that
 * would wait, by a thread of its own. */
#ifndef WF_LOG_OUTPUT_H
#define WF_LOG_OUTPUT_H

#include "base.h"

enum { WF_LOG_QUEUE_BYTES = 1024 * 1024 }; /* lines that wait; later ones are lost, and counted */

/* Writes one line, with its newline, or queues it. Lines keep their order. Never waits for a reader. */
void wf_log_put(const char *line, size_t size);
/* Waits until all lines are written, or none could be written for a second. */
void wf_log_flush(void);

#endif

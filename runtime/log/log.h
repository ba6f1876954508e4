/* runtime/log/log.h -- log lines: they are composed on the caller's stack, and written at once or queued
 * (log_output.h). Also the hook by which the layers above add fields, and where lines go. */
#ifndef WF_LOG_H
#define WF_LOG_H

#include "base.h"
#include <weft/log.h>

enum { WF_LOG_LINE_MAX = 2048 }; /* bytes with the newline; a longer line is cut and gets truncated=true */

/* Writes fields as "node=a actor=0.17.1" (values without spaces), at most `size` bytes with the NUL; "" where there
 * are none. Called on whatever thread logs. Returns the time on the machine's clock; 0: nothing is held back, as a
 * simulated node has to say the same with the same seed. `*wall` becomes what the node's wall clock
 * says if that is not the machine's. NULL: no fields, and 0. */
typedef int64_t wf_log_context_fn(char *out, size_t size, int64_t *wall);
extern _Atomic(wf_log_context_fn *) wf_log_context; /* release by its setter, acquire by logging threads */

/* Where lines go instead of standard error; false: nowhere. As above. */
typedef bool wf_log_sink_fn(const char *line, size_t size);
extern _Atomic(wf_log_sink_fn *) wf_log_sink;
/* A line that says that so many were lost, with its newline, for at most WF_LOG_LINE_MAX bytes. Returns its size. */
size_t wf_log_compose_lost(char *out, uint64_t lines);
/* As weft_log_in, for lines of which a program may cause any number, each with another text. More than 100 in 10 s, all of them
 * together (weft_log_repeats, times WF_LOG_CLASS_TIMES), are held back, and reported as `held` with repeated=N. */
void wf_log_class(const char *module, weft_log_level level, const char *held, const char *format, ...)
    WEFT_PRINTF(4, 5);
/* Writes what is still held back or queued: the process is about to end. */
void wf_log_write_repeats(void);

#endif

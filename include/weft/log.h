/* weft/log.h -- one line per event on standard error: logfmt, or JSON objects. */
#ifndef WEFT_LOG_H
#define WEFT_LOG_H

#include <weft/api.h>
WEFT_BEGIN

typedef enum { WEFT_DEBUG, WEFT_INFO, WEFT_WARN, WEFT_ERROR, WEFT_SILENT } weft_log_level;

/* [T] Lines below `level` are not written. Process-wide; the default is WEFT_INFO. */
WEFT_API void weft_log_set(weft_log_level level, bool json);

/* [T] Writes one line: time, level, node and actor (where called from an actor), and the formatted text.
 * A line is written with one write call and never suspends the caller. */
WEFT_API void weft_log(weft_log_level level, const char *format, ...) WEFT_PRINTF(2, 3);

WEFT_END
#endif

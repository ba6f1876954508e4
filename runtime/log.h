/* runtime/log.h -- what the layers above add to a log line. */
#ifndef WF_LOG_H
#define WF_LOG_H

#include "base.h"
#include <weft/log.h>

enum { WF_LOG_LINE_MAX = 2048 }; /* bytes with the newline; what is longer is cut and says truncated=true */

/* Writes fields as "node=a actor=0.17.1" (values without spaces), at most `size` bytes with the NUL; "" where there
 * are none. Called on whatever thread logs. NULL: no fields. */
typedef void wf_log_context_fn(char *out, size_t size);
extern _Atomic(wf_log_context_fn *) wf_log_context; /* release by who registers, acquire by who logs */

/* What else is said of a broken invariant before the process ends; NULL: nothing. As above. */
typedef void wf_last_words_fn(void);
extern _Atomic(wf_last_words_fn *) wf_last_words;

#endif

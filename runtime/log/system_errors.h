/* runtime/log/system_errors.h -- logs the errors of the system that callers get as WEFT_ESYSTEM: the text of that code
 * refers to the log. */
#ifndef WF_SYSTEM_ERRORS_H
#define WF_SYSTEM_ERRORS_H

#include "base.h"

/* From here on each of these errors is logged, by the thread that met it. */
void wf_system_errors_tell(void);
/* Whether errors of the calling thread are kept out of the log. The log's own calls do that, as they hold the locks
 * that logging needs. Returns what it was before. */
bool wf_system_errors_hide(bool hidden);

#endif

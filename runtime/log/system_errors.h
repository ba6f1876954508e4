/* runtime/log/system_errors.h -- logs the errors of the system that callers get as WEFT_ESYSTEM, whose text says that the
 * log knows more. */
#ifndef WF_SYSTEM_ERRORS_H
#define WF_SYSTEM_ERRORS_H

#include "base.h"

/* From here on each of them is logged, by the thread that met it. */
void wf_system_errors_tell(void);
/* Whether those of the calling thread are kept out of the log, as in the log's own calls, which have its locks: an
 * error there would be logged by the call that failed. Returns what it was before. */
bool wf_system_errors_hide(bool hidden);

#endif

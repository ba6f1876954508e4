/* runtime/log/log_file.h -- log lines in a file that may be renamed under way. */
#ifndef WF_LOG_FILE_H
#define WF_LOG_FILE_H

#include <stdbool.h>

/* Whether there is a log file, which SIGHUP opens again. */
bool wf_log_has_file(void);

#endif

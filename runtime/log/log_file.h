/* runtime/log/log_file.h -- the file of weft_log_file, as the sink of lines. */
#ifndef WF_LOG_FILE_H
#define WF_LOG_FILE_H

#include "base.h"

bool wf_log_file_is_ready(void); /* whether it takes lines without waiting */

#endif

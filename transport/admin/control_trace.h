/* transport/admin/control_trace.h -- TRACE, for $node. */
#ifndef WF_CONTROL_TRACE_H
#define WF_CONTROL_TRACE_H

#include <weft/message.h>

/* NULL, or the text of an error. */
const char *wf_trace_begin(const weft_msg *ask);

#endif

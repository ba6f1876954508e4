/* transport/admin/control_top.h -- TOP, for $node. */
#ifndef WF_CONTROL_TOP_H
#define WF_CONTROL_TOP_H

#include <stdbool.h>

#include <weft/message.h>

struct wf_transport;

/* NULL, or the text of an error. */
const char *wf_top_begin(struct wf_transport *t, weft_msg *ask, bool *handed);

#endif

/* transport/admin/control_inspect.h -- INSPECT, WAITS and DROPS, for $node. */
#ifndef WF_CONTROL_INSPECT_H
#define WF_CONTROL_INSPECT_H

#include <weft/message.h>

struct wf_transport;

/* NULL, or the text of an error. */
const char *wf_control_inspect(const struct wf_transport *t, const weft_msg *ask);

#endif

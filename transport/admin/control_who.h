/* transport/admin/control_who.h -- WHO, for $node. */
#ifndef WF_CONTROL_WHO_H
#define WF_CONTROL_WHO_H

#include <stdbool.h>

#include <weft/message.h>

struct wf_transport;

/* NULL, or the text of an error. */
const char *wf_who_begin(struct wf_transport *t, weft_msg *ask, bool *handed);

#endif

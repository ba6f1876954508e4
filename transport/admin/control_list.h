/* transport/admin/control_list.h -- PAGE; PS, NAMES and GROUPS as a whole, for $node. */
#ifndef WF_CONTROL_LIST_H
#define WF_CONTROL_LIST_H

#include <weft/message.h>

struct wf_transport;

/* NULL, or the text of an error. */
const char *wf_list_page(const struct wf_transport *t, const weft_msg *ask);
const char *wf_list_all(const struct wf_transport *t, const weft_msg *ask);

#endif

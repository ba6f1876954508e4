/* actors/names/group_send.h -- messages to the members of a group. */
#ifndef WF_GROUP_SEND_H
#define WF_GROUP_SEND_H

#include "node.h"

#include <weft/pack.h>

struct wf_body;
struct wf_inbound;

/* A message to a group has come from another node, for the members here; consumes one reference of `body`. */
void wf_groups_arrived(weft_node *node, struct wf_inbound *in, weft_text group, uint32_t tag, weft_pid from,
                       struct wf_body *body);

#endif

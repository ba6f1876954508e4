/* transport/admin/relay.h -- a tool subscribes and publishes through $node. */
#ifndef WF_RELAY_H
#define WF_RELAY_H

#include <stdbool.h>

#include <weft/message.h>

/* For $node: NULL, or the text of an error. */
const char *wf_relay_subscribe(const weft_msg *ask);
/* Answers, or hands one that waits to another actor. */
const char *wf_relay_publish(weft_msg *ask, bool *handed);
/* [A, W] Sends `m` and waits for space as long as the tool exists. Consumes `m`. False: the tool is gone, or the
 * calling actor was asked to stop. */
WEFT_CHECKED bool wf_tool_send(weft_pid tool, weft_msg *m);
/* [A] Sends the tool a request HOLD. The calling actor is stopped when the tool is gone, or frees that request. */
WEFT_CHECKED int wf_guard_begin(weft_pid tool);

#endif

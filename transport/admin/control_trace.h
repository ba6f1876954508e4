/* transport/admin/control_trace.h -- TRACE, for $node.
 *
 * Design notes.
 * (1) On each node an actor $trace has a tap (actors/trace/trace.h). It is woken when messages come into the tap, and
 *     sends them to the tool, at most every LOOK_EVERY; its guard (relay.c) ends it when the tool is gone.
 * (2) The tool is linked with one node only. That node's $trace starts an errand for each other node, now and when a
 *     node comes up later. An errand asks $node there for the same trace, acts as the tool for the $trace there, and
 *     passes its messages on. Errands are linked with the $trace that has started them; each ends with its node.
 * (3) A tap has the messages that were asked for, and all others with a trace id. The tool finds out which of those
 *     were caused by the former, as only the tool sees the messages of all nodes. */
#ifndef WF_CONTROL_TRACE_H
#define WF_CONTROL_TRACE_H

#include <weft/message.h>

/* NULL, or the text of an error. */
const char *wf_trace_begin(const weft_msg *ask);

#endif

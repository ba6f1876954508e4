/* transport/admin/control_trace.h -- TRACE, for $node.
 *
 * Design notes.
 * (1) On each node an actor $trace has a tap (actors/trace/trace.h), is woken when something comes into it, and
 *     sends what is there to the tool, at most every LOOK_EVERY; its guard (relay.c) ends it when the tool is gone.
 * (2) The tool is linked with one node only. That node's $trace starts an errand for each other node, now and when
 *     one comes up later: it asks $node there for the same, is the tool to the $trace there, and hands on what comes
 *     from it. Errands are linked with the $trace that has started them; each ends with its node.
 * (3) A tap has what it was asked for, and all else that has an id. Which of that follows from what was asked for the
 *     tool finds out: it alone sees what all nodes say. */
#ifndef WF_CONTROL_TRACE_H
#define WF_CONTROL_TRACE_H

#include <weft/message.h>

/* NULL, or the text of an error. */
const char *wf_trace_begin(const weft_msg *ask);

#endif

/* actors/topics/inbound_topics.h -- what comes from other nodes for subscribers. */
#ifndef WF_INBOUND_TOPICS_H
#define WF_INBOUND_TOPICS_H

#include "inbound.h"

struct wf_publish_count;

/* To the subscribers of this node; `queues`: also to one member of each queue group that has members here. `reached`
 * (may be NULL, see publish_report.h) counts those without a queue. */
void wf_inbound_publish(weft_node *node, struct wf_inbound *in, struct wf_body *body, bool queues,
                        struct wf_publish_count *reached);
/* The other node has not sent so many messages to subscribers of that pattern: they are told, behind all that has
 * come. */
void wf_inbound_missed(weft_node *node, struct wf_inbound *in, weft_text pattern, uint64_t count);

#endif

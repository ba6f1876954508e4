/* actors/topics/inbound_topics.h -- publications from other nodes, for subscribers here. */
#ifndef WF_INBOUND_TOPICS_H
#define WF_INBOUND_TOPICS_H

#include "inbound.h"

struct wf_publish_count;

/* Gives a publication to the subscribers of this node; with `queues`, also to one member of each queue group that has
 * members here. `reached` (may be NULL, see publish_report.h) counts the subscribers that are in no queue group. */
void wf_inbound_publish(weft_node *node, struct wf_inbound *in, struct wf_body *body, bool queues,
                        struct wf_publish_count *reached);
/* The other node has not sent `count` messages for subscribers of that pattern: they are notified, after all messages
 * that have come. */
void wf_inbound_missed(weft_node *node, struct wf_inbound *in, weft_text pattern, uint64_t count);

#endif

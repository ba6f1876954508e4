/* actors/topics/topic.h -- how publications get to the subscribers of a worker. */
#ifndef WF_TOPIC_H
#define WF_TOPIC_H

#include "inbound.h"

/* Delivers a message published on another worker or node. `in_vain`: its publisher has waited for space here in
 * vain. */
uint32_t wf_topics_arrived(struct wf_worker *w, struct wf_body *body, bool in_vain); /* returns how many got it */
/* Gives a message from another node to members of queue groups. Any thread. */
void wf_topics_choose_inbound(weft_node *node, struct wf_inbound *in, struct wf_body *body);
/* Gives it to one member of that queue group. If no member here has space and `pass` is true, another node must get
 * it, but not `peer`, which sent it: returns that node. 0: done; if there is no receiver at all, it is counted as
 * dropped. `*taken`: whether a member here gets it. */
uint64_t wf_inbound_queue(weft_node *node, struct wf_inbound *in, struct wf_body *body, weft_text pattern,
                          weft_text queue, uint64_t peer, bool pass, bool *taken);

#endif

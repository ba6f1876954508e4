/* actors/topics/topic.h -- what has been published, on its way to the subscribers of a worker. */
#ifndef WF_TOPIC_H
#define WF_TOPIC_H

#include "inbound.h"

/* Published on another worker or node. `in_vain`: its publisher has waited for room here. */
uint32_t wf_topics_arrived(struct wf_worker *w, struct wf_body *body, bool in_vain); /* how many got it */
/* A message from another node, for queue groups. Any thread. */
void wf_topics_choose_inbound(weft_node *node, struct wf_inbound *in, struct wf_body *body);
/* To one member of that queue group. If nobody here has room and `pass` is true it is for another node, but not for
 * `peer`, where it came from: returns which. 0: done; if there is nobody at all it is counted as dropped.
 * `*taken`: whether a member gets it. */
uint64_t wf_inbound_queue(weft_node *node, struct wf_inbound *in, struct wf_body *body, weft_text pattern,
                          weft_text queue, uint64_t peer, bool pass, bool *taken);

#endif

/* transport/link/topics.h -- publications that go to some subscribers, what is retained, and the patterns that peers
 * are told.
 *
 * Design notes.
 * (1) The publisher's node has chosen a node for each queue group (actors/topics/queue_groups.h). If nobody here has
 *     room any more, or the last member has gone meanwhile, it is passed on to another node that has members: at most
 *     WF_PUBLISH_PASSED_MAX times, and not to where it comes from. So a group loses nothing because members come and
 *     go, and a message that nobody has room for ends soon.
 * (2) Nodes that do not share the tables of topics say PUBLISH, and every node's queue groups then get it, as
 *     before. */
#ifndef WF_TOPICS_H
#define WF_TOPICS_H

#include "frame.h"
#include "route.h"

struct wf_channel;

/* PUBLISH_TO and RETAINED. */
void wf_topics_receive(struct wf_channel *ch, struct wf_frame *f);
void wf_topics_published(struct wf_channel *ch, uint32_t tag, weft_pid from, struct wf_body *body); /* a PUBLISH */
/* wf_route.interest */
int wf_topics_interest(struct wf_worker *w, const char *pattern, bool add, bool queue);

#endif

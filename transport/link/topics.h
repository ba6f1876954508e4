/* transport/link/topics.h -- publications that go to some subscribers, what is retained, and the patterns that peers
 * are told. */
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

/* transport/link/topics.h -- publications that go to some subscribers, what is retained, and the patterns that peers
 * are told.
 *
 * Design notes.
 * (1) The publisher's node has chosen a node for each queue group (actors/topics/queue_groups.h). If nobody here has
 *     room any more, or the last member has gone meanwhile, it is passed on to another node that has members: at most
 *     WF_PUBLISH_PASSED_MAX times, and not to where it comes from. So a group loses nothing because members come and
 *     go, and a message that nobody has room for ends soon.
 * (2) Nodes that do not share the tables of topics say PUBLISH, and every node's queue groups then get it, as
 *     before.
 * (3) A subscription reaches each linked node before anything that its actor does afterwards: so if the actor asks an
 *     actor there, and that one publishes, the answer arrives. Therefore the worker on which a pattern came or went
 *     sends it before the next batch leaves that worker, for a link or for another worker (wf_worker.before_batches).
 *     One thread at a time sends patterns, under wf_transport.patterns_turn: if two workers find the same pattern, the
 *     one that comes second goes on when it has been sent. What does not fit, because a link is full or because
 *     thousands of patterns came at once, is sent before later batches, and by $cluster. */
#ifndef WF_TOPICS_H
#define WF_TOPICS_H

#include "frame.h"
#include "route.h"

struct wf_channel;
struct wf_link;

/* PUBLISH_TO and RETAINED. */
void wf_topics_receive(struct wf_channel *ch, struct wf_frame *f);
void wf_topics_published(struct wf_channel *ch, uint32_t tag, weft_pid from, struct wf_body *body); /* a PUBLISH */
/* $cluster: begins to send all patterns of this node over the link; ends it, also if it never began. */
void wf_topics_open(struct wf_link *l);
void wf_topics_close(struct wf_link *l);
/* On a worker: sends each link a part of the patterns that it has not been sent. True: there is more to send, and space
 * for it. What there was no memory for is sent at the next call. */
bool wf_topics_send_patterns(struct wf_worker *w);
/* wf_route.interest */
int wf_topics_interest(struct wf_worker *w, const char *pattern, bool add, bool queue);

#endif

/* transport/link/topics.h -- receives publications and retained messages, and sends this node's patterns to its peers.
 *
 * Design notes.
 * (1) The publisher's node has chosen a node for each queue group (actors/topics/queue_groups.h). If the members here
 *     have no space, or the last one has left meanwhile, the message is passed on to another node with members: at
 *     most WF_PUBLISH_PASSED_MAX times, and not to the node it comes from. So members can join and leave without loss,
 *     and a message for which no member has space is not passed on for long.
 * (2) Nodes that do not share the tables of topics send PUBLISH, and then the queue groups of every node get the
 *     message.
 * (3) A subscription reaches each linked node before anything that its actor sends afterwards: if the actor sends a
 *     request to an actor there, and that actor publishes the answer, the answer arrives. Therefore the worker on which
 *     a pattern was added or removed sends this before its next batch for a link or for another worker
 *     (wf_worker.before_batches). One thread at a time sends patterns, under wf_transport.patterns_turn: if two workers
 *     find the same pattern, the second one waits until it has been sent. Patterns that do not fit, because a link is
 *     full or thousands came at once, are sent before later batches, and by $cluster. */
#ifndef WF_TOPICS_H
#define WF_TOPICS_H

#include "frame.h"
#include "route.h"

struct wf_channel;
struct wf_link;

/* PUBLISH, PUBLISH_TO and RETAINED. */
void wf_topics_receive(struct wf_channel *ch, struct wf_frame *f);
/* All bytes of a PUBLISH have arrived. Takes over a reference of `body`. */
void wf_topics_published(struct wf_channel *ch, uint32_t tag, weft_pid from, struct wf_body *body);
/* $cluster: begins to send all patterns of this node over the link; ends that, even if it never began. */
void wf_topics_open(struct wf_link *l);
void wf_topics_close(struct wf_link *l);
/* On a worker: sends each link a part of the patterns that it has not been sent. True: there is more to send, and space
 * for it. If there is no memory, the rest is sent at the next call. */
bool wf_topics_send_patterns(struct wf_worker *w);
/* wf_route.interest */
int wf_topics_interest(struct wf_worker *w, const char *pattern, bool add, bool queue);

#endif

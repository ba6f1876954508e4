/* actors/mailbox/inbound.h -- what the actor layer offers to the layer that connects nodes: functions for messages
 * from other nodes, and for events of nodes. */
#ifndef WF_INBOUND_H
#define WF_INBOUND_H

#include "msg.h"
#include "task.h"

#include <weft/node.h>
#include <weft/pack.h>

/* Collects messages that arrived for actors of this node and posts them, one push and at most one wake per worker.
 * Any thread, but one at a time for each wf_inbound: zero it first. A worker's thread, between tasks, may set `here`:
 * messages for actors of that worker are then delivered at once, and the others go through its batches for other
 * workers. */
struct wf_inbound {
    struct wf_worker *here; /* NULL: some other thread */
    uint64_t mask;          /* workers with posts in `to` */
    uint64_t reached;       /* workers to which anything was given since the last wf_inbound_congested */
    uint8_t published;      /* the wf_body.owed of the last body */
    uint32_t copies;        /* messages made for members and watchers of groups; the caller bounds them */
    struct {
        struct wf_post *newest, *oldest; /* newest -> ... -> oldest by next */
        uint32_t count;
    } to[WF_WORKERS_MAX];
};
/* Consumes `m`, whose to_actor, from, ref, kind and tag are filled in. If this node has no worker with that index,
 * the message is dropped and counted. */
void wf_inbound_add(weft_node *node, struct wf_inbound *in, weft_msg *m);
/* The same for one of many messages that share a body: see wf_msg_send_copy_to. */
void wf_inbound_add_copy(weft_node *node, struct wf_inbound *in, weft_msg *m, uint64_t *weighed);
/* Posts `m`, unchanged, to that worker. */
void wf_inbound_put(weft_node *node, struct wf_inbound *in, uint32_t worker, weft_msg *m);
/* The same to a name of this node. If no actor has the name, the message is dropped and counted, and the result is
 * WEFT_ENOACTOR (answer a CALL with FAILED then). */
int wf_inbound_add_name(weft_node *node, struct wf_inbound *in, const char *name, size_t name_size, weft_msg *m);
/* Writes the publisher and the tag into a received body that contains its topic. Call it before the functions that
 * keep references of the body. */
void wf_inbound_sign(struct wf_inbound *in, uint32_t tag, weft_pid from, struct wf_body *body);
void wf_inbound_post(weft_node *node, struct wf_inbound *in);
/* Whether nothing was given to another worker since the last wf_inbound_congested: no other thread has a body that has
 * come since then. */
static inline bool wf_inbound_is_local(const struct wf_inbound *in)
{
    return in->here != NULL && in->reached == 0;
}
/* A worker whose inbox is at its bound, of those to which something was given since the last call; NULL: there is
 * none. If there is one, stop reading from this connection and use wf_worker_when_space (runtime/sched/post.h). Other
 * connections go on, so that a peer that floods one worker holds up neither the rest of the cluster nor the operator.
 */
struct wf_worker *wf_inbound_congested(weft_node *node, struct wf_inbound *in);

/* Posted to a worker by wf_node_lost; `done` is called on that worker at the end. */
struct wf_lost_node {
    struct wf_call call;
    uint64_t peer;
    uint64_t at;      /* wf_feature.node_lost */
    uint32_t feature; /* wf_features.all: the one that is called next */
    void (*done)(struct wf_lost_node *lost);
};
/* Any thread; call it for each worker when the link to that peer is gone for good. Calls that wait for an answer from
 * that peer fail with WEFT_ENONODE; monitors and actor links are notified. */
void wf_node_lost(struct wf_worker *w, struct wf_lost_node *lost);
/* Any thread: puts a WEFT_TAG_NODE_UP or _DOWN message into the system lane of one watcher. */
void wf_node_tell(weft_node *node, weft_pid watcher, uint32_t tag, const struct weft_node_news *news);

#endif

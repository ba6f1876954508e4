/* actors/core/inbound.h -- what the actor layer offers to whatever connects nodes: what comes from other nodes,
 * and news of them. */
#ifndef WF_INBOUND_H
#define WF_INBOUND_H

#include "msg.h"
#include "task.h"

#include <weft/node.h>
#include <weft/pack.h>

/* Collects messages that arrived for actors of this node and posts them, one push and at most one wake per
 * worker. Any thread, one at a time per wf_inbound: zero it first. On a worker's thread, between tasks, it may be
 * told so by `here`: what is for actors of that worker is then delivered at once, and the rest goes by its
 * outboxes. */
struct wf_inbound {
    struct wf_worker *here; /* NULL: some other thread */
    uint64_t mask;
    uint8_t published; /* the last wf_body.owed that was given */
    uint32_t copies;   /* messages that were made for members of groups; the caller bounds them */
    struct {
        struct wf_post *newest, *oldest; /* newest -> ... -> oldest by next */
        uint32_t count;
    } to[WF_WORKERS_MAX];
};
/* Consumes `m`, whose to_actor, from, ref, kind and tag are filled in. A worker index that this node has not got
 * is dropped and counted. */
void wf_inbound_add(weft_node *node, struct wf_inbound *in, weft_msg *m);
/* Posts `p`, unchanged, to that worker. */
void wf_inbound_put(struct wf_inbound *in, uint32_t worker, struct wf_post *p);
/* The same to a name of this node; without such a name: dropped and counted, returns WEFT_ENOACTOR (a CALL should
 * then be answered by FAILED). */
int wf_inbound_add_name(weft_node *node, struct wf_inbound *in, const char *name, size_t name_size, weft_msg *m);
/* Says of a body that has come, with its topic inside, who published it; before the next two, which keep
 * references. */
void wf_inbound_sign(struct wf_inbound *in, uint32_t tag, weft_pid from, struct wf_body *body);
void wf_inbound_post(weft_node *node, struct wf_inbound *in);
/* The first worker whose inbox is at its bound, NULL if none: stop reading from the network and use
 * wf_worker_when_room (runtime/sched/post.h). */
struct wf_worker *wf_inbound_congested(weft_node *node);

/* What tells a worker of it; `done` is called there, behind everything. */
struct wf_lost_node {
    struct wf_call call;
    uint64_t peer;
    void (*done)(struct wf_lost_node *lost);
};
/* Any thread, for each worker: the link to that peer is gone for good; calls waiting for an answer from it fail
 * with WEFT_ENONODE, monitors and links are told. */
void wf_node_lost(struct wf_worker *w, struct wf_lost_node *lost);
/* Any thread: puts a WEFT_TAG_NODE_UP or _DOWN message into the system lane of one watcher. */
void wf_node_tell(weft_node *node, weft_pid watcher, uint32_t tag, const struct weft_node_news *news);

#endif

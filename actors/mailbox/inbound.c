/* actors/mailbox/inbound.c -- messages from other nodes, on any thread of a carrier: sorted by worker, posted once
 * per worker. */
#include "inbound.h"

#include "deliver.h"
#include "mailbox.h"

#include <weft/cluster.h>

#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) void put_elsewhere(weft_node *node, struct wf_inbound *in, uint32_t worker,
                                                    weft_msg *m, uint64_t *weighed)
{
    struct wf_post *p = &m->post;
    in->reached |= UINT64_C(1) << worker;
    if (in->here != NULL) {
        wf_msg_send_copy_to(in->here, worker, m, weighed);
        return;
    }
    if (wf_msg_is_heavy(m) && (*weighed >> worker & 1) == 0) wf_msg_weigh(node->workers.at[worker], m);
    *weighed |= UINT64_C(1) << worker;
    p->next = in->to[worker].newest;
    in->to[worker].newest = p;
    if (in->to[worker].oldest == NULL) in->to[worker].oldest = p;
    in->to[worker].count++;
    in->mask |= UINT64_C(1) << worker;
}

static void put_copy(weft_node *node, struct wf_inbound *in, uint32_t worker, weft_msg *m, uint64_t *weighed)
{
    WF_ASSERT(worker < node->workers.count);
    if (in->here != NULL && worker == in->here->index) wf_deliver(in->here, m);
    else put_elsewhere(node, in, worker, m, weighed);
}

void wf_inbound_put(weft_node *node, struct wf_inbound *in, uint32_t worker, weft_msg *m)
{
    uint64_t weighed = 0;
    put_copy(node, in, worker, m, &weighed);
}

void wf_inbound_add(weft_node *node, struct wf_inbound *in, weft_msg *m)
{
    uint64_t weighed = 0;
    wf_inbound_add_copy(node, in, m, &weighed);
}

void wf_inbound_add_copy(weft_node *node, struct wf_inbound *in, weft_msg *m, uint64_t *weighed)
{
    uint32_t worker = wf_id_worker(m->to_actor);
    if (wf_is_tapped(node)) m = node->tracing->in(node, in->here, m);
    /* A message to an id that this node never gave goes to worker 0, which finds no such actor, counts the message
     * and answers a request. */
    put_copy(node, in, worker < node->workers.count ? worker : 0, m, weighed);
}

int wf_inbound_add_name(weft_node *node, struct wf_inbound *in, const char *name, size_t name_size, weft_msg *m)
{
    weft_pid pid = {0, 0};
    int rc = node->naming == NULL ? WEFT_ENOACTOR : node->naming->find(node, weft_str(name, name_size), false, &pid);
    m->to_actor = pid.actor; /* 0: no actor has the name */
    wf_inbound_add(node, in, m);
    return rc;
}

void wf_inbound_sign(struct wf_inbound *in, uint32_t tag, weft_pid from, struct wf_body *body)
{
    if (++in->published == 0) in->published = 1;
    wf_body_sign(body, from, tag, in->published);
}

void wf_inbound_post(weft_node *node, struct wf_inbound *in)
{
    struct wf_worker *w = in->here;
    while (w != NULL && w->batch_mask != 0) wf_post_batch_flush(w, (uint32_t)__builtin_ctzll(w->batch_mask));
    while (in->mask != 0) {
        uint32_t i = (uint32_t)__builtin_ctzll(in->mask);
        WF_ASSERT(in->to[i].oldest != NULL && in->to[i].count > 0);
        wf_worker_post_chain(node->workers.at[i], in->to[i].newest, in->to[i].oldest, in->to[i].count);
        in->to[i].newest = in->to[i].oldest = NULL;
        in->to[i].count = 0;
        in->mask &= in->mask - 1;
    }
}

struct wf_worker *wf_inbound_congested(weft_node *node, struct wf_inbound *in)
{
    uint64_t reached = in->reached;
    for (in->reached = 0; reached != 0; reached &= reached - 1) {
        struct wf_worker *w = node->workers.at[__builtin_ctzll(reached)];
        if (wf_worker_is_congested(w)) return w;
    }
    return NULL;
}

/* ---- News of nodes --------------------------------------------------------------------------------------------- */

/* A node that stops may have no further turn, and then a post is dropped without `done`: it does all of it in this one.
 * Relaxed: `stopping` was set before the post that ends this worker's thread, so a turn that takes that post sees it. */
static void lost_here(struct wf_worker *w, struct wf_call *c)
{
    struct wf_lost_node *lost = WF_CONTAINER(c, struct wf_lost_node, call);
    weft_node *node = wf_node_of(w);
    WF_ASSERT(lost->done != NULL && lost->peer != node->incarnation);
    const struct wf_feature *f;
    for (; (f = node->features.all[lost->feature]) != NULL; lost->feature++, lost->at = 0) {
        while (f->node_lost != NULL && f->node_lost(w, lost->peer, &lost->at)) {
            if (atomic_load_explicit(&node->stopping, memory_order_relaxed)) continue;
            wf_worker_post(w, &lost->call.post);
            return;
        }
    }
    lost->done(lost);
}

void wf_node_lost(struct wf_worker *w, struct wf_lost_node *lost)
{
    lost->call = (struct wf_call){.post.kind = WF_POST_CALL, .call = lost_here};
    lost->feature = 0;
    lost->at = 0;
    wf_worker_post(w, &lost->call.post);
}

void wf_node_tell(weft_node *node, weft_pid watcher, uint32_t tag, const struct weft_node_news *news)
{
    WF_ASSERT(tag >= WEFT_TAG_SYSTEM);
    weft_msg *m = wf_msg_new(NULL, tag, sizeof *news);
    if (m == NULL) {
        weft_log(WEFT_ERROR, "no memory for a notification about node %s", news->name);
        return;
    }
    memcpy(m + 1, news, sizeof *news);
    m->post.flags = WF_MSG_SYSTEM;
    m->to_actor = watcher.actor;
    uint32_t worker = wf_id_worker(watcher.actor);
    wf_worker_post(node->workers.at[worker < node->workers.count ? worker : 0], &m->post);
}

static int watch(bool all)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    const struct wf_route *route = wf_node_of(self->task.worker)->route;
    if (route == NULL) return WEFT_OK; /* a node without network: there will be no news */
    return route->watch_nodes(self->task.worker, wf_actor_pid(self), all);
}

int weft_watch_nodes(void)
{
    return watch(true);
}

int weft_watch_drain(void)
{
    return watch(false);
}

int weft_node_news_read(const weft_msg *m, struct weft_node_news *out)
{
    if (m == NULL || out == NULL) return WEFT_EFORMAT;
    uint32_t tag = weft_tag(m);
    bool known = tag == WEFT_TAG_NODE_UP || tag == WEFT_TAG_NODE_DOWN || tag == WEFT_TAG_NODE_SUSPECT ||
                 tag == WEFT_TAG_MINORITY || tag == WEFT_TAG_MAJORITY || tag == WEFT_TAG_DRAIN ||
                 tag == WEFT_TAG_UNDRAIN;
    if (!known || weft_size(m) != sizeof *out) return WEFT_EFORMAT;
    memcpy(out, weft_data(m), sizeof *out);
    return WEFT_OK;
}

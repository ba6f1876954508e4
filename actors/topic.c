/* actors/topic.c -- publish and subscribe on one node.
 *
 * Design notes. Each worker has a trie of its own actors' subscriptions, so neither subscribing nor publishing takes
 * a lock. A publish is matched on the publisher's worker, handed as one shared body to each other worker that has
 * subscriptions at all, and to the route, which makes one wire copy for each node with a matching interest. All
 * receivers of a node share the one body. Queue groups and subscribers that are waited for are in the node's table:
 * topic_wide.h. */
#include "mailbox.h"
#include "subscription.h"

#include <string.h>

struct delivery {
    struct wf_body *body;
    weft_pid from;
    uint32_t tag, delivered;
};

/* It has options, or what comes is also retained: then it may have been told of it when it subscribed. */
static bool deliver_with_care(struct wf_subscription *s, const struct delivery *d)
{
    if (d->body->retained != 0 && d->body->retained <= s->seen) return false;
    return s->more == NULL ? wf_mailbox_put_shared(s->actor, d->tag, d->from, d->body)
                           : wf_subscription_put(s, d->tag, d->from, d->body);
}

static void deliver_one(struct wf_subscriber *s, void *arg)
{
    struct delivery *d = arg;
    struct wf_subscription *sub = WF_CONTAINER(s, struct wf_subscription, subscriber);
    if (WF_UNLIKELY(sub->more != NULL || d->body->retained != 0)) d->delivered += deliver_with_care(sub, d);
    else if (wf_mailbox_put_shared(sub->actor, d->tag, d->from, d->body)) d->delivered++;
}

void wf_topics_publish_here(struct wf_worker *w, uint32_t tag, weft_pid from, struct wf_body *body,
                            uint32_t *delivered)
{
    struct delivery d = {body, from, tag, 0};
    struct wf_actors *wa = wf_actors_of(w);
    wf_trie_match(&wa->topics, weft_cstr(wf_body_topic(body)), deliver_one, &d);
    if (WF_UNLIKELY(!wf_list_empty(&wa->cut))) wf_subscriptions_cut(wa);
    *delivered = d.delivered;
}

/* To the other workers of this node that have any subscription. */
static uint32_t publish_across(struct wf_worker *w, uint32_t tag, weft_pid from, struct wf_body *body)
{
    uint32_t handed = 0;
    for (uint32_t i = 0; i < w->set->count; i++) {
        struct wf_worker *other = w->set->at[i];
        if (other == w || atomic_load_explicit(&wf_actors_of(other)->subscriptions, memory_order_relaxed) == 0)
            continue;
        weft_msg *m = wf_worker_is_choked(other) ? NULL : wf_msg_share(w, tag, body);
        if (m == NULL) {
            wf_count_drop(w, wf_worker_is_choked(other) ? WF_DROP_SLOW_READER : WF_DROP_MEMORY);
            continue;
        }
        m->post.flags = WF_MSG_PUBLISH;
        m->from = from;
        wf_worker_send(w, i, &m->post);
        handed++;
    }
    return handed;
}

/* ---- Decided by the publisher: topic_wide.h -------------------------------------------------------------------- */

struct choice {
    struct wf_actor *self;
    struct wf_body *body;
    uint32_t tag, handed;
    uint32_t waiting; /* messages to be sent after the choice: the first so many it holds */
    int64_t wait;     /* the longest */
};

static struct wf_actor *find_anywhere(weft_node *node, uint64_t id)
{
    uint32_t i = wf_id_worker(id);
    return i < node->workers.count ? wf_slab_find(&wf_actors_of(node->workers.at[i])->slab, id) : NULL;
}

/* A hint, and exact on its own worker. */
static bool has_room(weft_node *node, uint64_t id)
{
    struct wf_actor *a = find_anywhere(node, id);
    if (a == NULL) return false;
    struct wf_worker *there = node->workers.at[wf_id_worker(id)];
    if (there == wf_here) return !wf_mailbox_full(a);
    return !wf_worker_is_choked(there) && !atomic_load_explicit(&a->full, memory_order_relaxed);
}

static bool publisher_room(uint64_t actor, void *arg)
{
    return has_room(wf_node_of(((struct choice *)arg)->self->task.worker), actor);
}

static void publisher_take(const struct wf_wide_member *to, int64_t wait, void *arg)
{
    struct choice *c = arg;
    struct wf_worker *w = c->self->task.worker;
    weft_msg *m = to == NULL ? NULL : wf_msg_share(w, c->tag, c->body);
    if (m == NULL) {
        wf_count_drop(w, to == NULL ? WF_DROP_SLOW_READER : WF_DROP_MEMORY);
        return;
    }
    if (wait < 0) {
        m->from = wf_actor_pid(c->self);
        c->handed += wf_send_or_drop(w, (weft_pid){m->from.node, to->actor}, m) == WEFT_OK;
        return;
    }
    /* Until it is sent; held, so that it is freed if the publisher is killed. */
    m->from = (weft_pid){wf_node_of(w)->incarnation, to->actor};
    m->ref = to->subscription;
    wf_hold(c->self, m);
    c->waiting++;
    c->wait = WF_MAX(c->wait, wait);
}

static void choose(struct choice *c)
{
    weft_node *node = wf_node_of(c->self->task.worker);
    if (WF_LIKELY(!wf_wide_any(node->topics))) return;
    struct wf_wide_ask ask = {publisher_room, publisher_take, c, c->body->retained};
    wf_wide_choose(node->topics, weft_cstr(wf_body_topic(c->body)), &ask);
}

/* Tells one that was waited for in vain; without memory it is only counted. */
static void tell_loss(struct wf_worker *w, weft_pid to, uint64_t subscription)
{
    weft_msg *m = wf_msg_new(w, 0, 0);
    if (m == NULL) return;
    m->post.flags = WF_MSG_LOST;
    m->ref = subscription;
    (void)wf_send_signal(w, to, m);
}

/* Whatever else the publisher holds came before: nobody else runs in it while it waits. */
static void send_waiting(struct choice *c)
{
    struct wf_worker *w = c->self->task.worker;
    int64_t deadline = c->waiting == 0 ? WEFT_NOW : weft_after(c->wait);
    for (; c->waiting > 0; c->waiting--) {
        weft_msg *m = c->self->held;
        weft_pid to = m->from;
        uint64_t subscription = m->ref;
        wf_release(c->self, m);
        m->ref = 0;
        m->from = wf_actor_pid(c->self);
        int rc = wf_send_or_free(c->self, to, m, deadline);
        if (rc == WEFT_OK) c->handed++;
        else if (rc != WEFT_ENOACTOR) {
            wf_count_drop(w, WF_DROP_SLOW_READER);
            tell_loss(w, to, subscription);
        }
        if (rc == WEFT_ECANCELED) deadline = WEFT_NOW;
    }
}

struct arrival {
    weft_node *node;
    struct wf_inbound *in;
    struct wf_body *body;
    weft_pid from;
    uint32_t tag;
};

static bool arrival_room(uint64_t actor, void *arg)
{
    return has_room(((struct arrival *)arg)->node, actor);
}

static void arrival_take(const struct wf_wide_member *to, int64_t wait, void *arg)
{
    struct arrival *a = arg;
    /* Without a receiver the loss goes to worker 0, which counts it. */
    weft_msg *m = to == NULL ? wf_msg_new(NULL, a->tag, 0) : wf_msg_share(NULL, a->tag, a->body);
    if (m == NULL) {
        weft_log(WEFT_ERROR, "no memory for a message published under %s: dropped", wf_body_topic(a->body));
        return;
    }
    m->from = a->from;
    m->to_actor = to == NULL ? 0 : to->actor;
    if (to == NULL) {
        m->post.flags = WF_MSG_LOST;
    } else if (wait >= 0) {
        m->post.flags = WF_MSG_COUNTED;
        m->ref = to->subscription;
    }
    wf_inbound_add(a->node, a->in, m);
}

void wf_topics_choose_inbound(weft_node *node, struct wf_inbound *in, uint32_t tag, weft_pid from,
                              struct wf_body *body)
{
    struct arrival a = {node, in, body, from, tag};
    struct wf_wide_ask ask = {arrival_room, arrival_take, &a, 0};
    if (wf_wide_any(node->topics)) wf_wide_choose(node->topics, weft_cstr(wf_body_topic(body)), &ask);
}

static int publish(const char *topic, uint32_t tag, const void *data, size_t size, bool retain)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (tag >= WEFT_TAG_SYSTEM || wf_topic_check(weft_cstr(topic)) < 0 || (data == NULL && size > 0))
        return WEFT_EINVAL;
    if (size > WEFT_MESSAGE_MAX) return WEFT_ETOOBIG;
    wf_task_tick(&self->task);
    struct wf_worker *w = self->task.worker;
    struct wf_body *body = wf_body_new(w, topic, strlen(topic), data, size);
    if (body == NULL) return WEFT_ENOMEM;
    weft_pid from = wf_actor_pid(self);
    if (WF_UNLIKELY(retain)) {
        int rc = wf_topics_retain(wf_node_of(w)->topics, w, body, tag, from);
        if (rc < 0) {
            wf_body_drop(w, body);
            return rc;
        }
    }
    uint32_t handed;
    wf_topics_publish_here(w, tag, from, body, &handed);
    handed += publish_across(w, tag, from, body);
    struct choice c = {.self = self, .body = body, .tag = tag};
    choose(&c);
    const struct wf_route *route = wf_node_of(w)->route;
    if (route != NULL) {
        int nodes = route->publish(w, topic, tag, from, body);
        if (nodes > 0) handed += (uint32_t)nodes;
    }
    wf_body_drop(w, body);
    if (WF_UNLIKELY(c.waiting > 0)) send_waiting(&c);
    return (int)(handed + c.handed);
}

int weft_publish(const char *topic, uint32_t tag, const void *data, size_t size)
{
    return publish(topic, tag, data, size, false);
}

int weft_publish_retained(const char *topic, uint32_t tag, const void *data, size_t size)
{
    return publish(topic, tag, data, size, true);
}

int weft_retained_clear(const char *topic)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (wf_topic_check(weft_cstr(topic)) < 0) return WEFT_EINVAL;
    struct wf_worker *w = self->task.worker;
    return wf_topics_clear(wf_node_of(w)->topics, w, weft_cstr(topic));
}

int weft_publish_msg(const char *topic, weft_msg *m)
{
    if (m == NULL) return WEFT_EINVAL;
    int rc = publish(topic, weft_tag(m), weft_data(m), weft_size(m), false);
    if (wf_actor_self() == NULL) wf_msg_free(wf_here, m);
    else weft_msg_free(m);
    return rc;
}

bool weft_is_retained(const weft_msg *m)
{
    return m->post.flags == WF_MSG_RETAINED;
}

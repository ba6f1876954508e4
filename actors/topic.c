/* actors/topic.c -- publish and subscribe on one node.
 *
 * Design notes. Each worker has a trie of its own actors' subscriptions, so neither subscribing nor publishing takes
 * a lock. A publish is matched on the publisher's worker, handed as one shared body to each other worker that has
 * subscriptions at all, and to the route, which makes one wire copy for each node with a matching interest. All
 * receivers of a node share the one body. Queue groups and subscribers that are waited for are in the node's table:
 * topic_wide.h. */
#include "actor.h"

#include <weft/topic.h>

#include <string.h>

struct wf_subscription {
    struct wf_slot slot;
    struct wf_subscriber subscriber; /* wf_actors.topics */
    struct wf_link on_actor;         /* wf_actor.subscriptions */
    struct wf_actor *actor;
    struct wf_wide_member wide;     /* instead of `subscriber` */
    char pattern[WF_TOPIC_MAX + 1]; /* for the route, when the last one leaves */
};

int wf_subscriptions_init(struct wf_actors *wa)
{
    return wf_slab_init(&wa->subscription_slab, sizeof(struct wf_subscription), WF_SLAB_MAX);
}

static void count_subscriptions(struct wf_actors *wa, int change)
{
    uint32_t n = atomic_load_explicit(&wa->subscriptions, memory_order_relaxed) +
                 (uint32_t)change; /* only this thread writes */
    atomic_store_explicit(&wa->subscriptions, n, memory_order_relaxed);
}

static int check_options(const weft_subscribe_options *o)
{
    if (o->slow != WEFT_SLOW_DROP && o->slow != WEFT_SLOW_SUSPEND) return WEFT_EINVAL;
    if (o->wait < 0 || (o->wait > 0 && o->slow != WEFT_SLOW_SUSPEND)) return WEFT_EINVAL;
    if (o->queue == NULL) return WEFT_OK;
    if (o->slow != WEFT_SLOW_DROP) return WEFT_EINVAL;
    size_t size = strnlen(o->queue, WF_QUEUE_MAX + 1);
    return size <= WF_QUEUE_MAX ? wf_name_check(weft_str(o->queue, size)) : WEFT_EINVAL;
}

/* 1: the first one of its pattern on this worker. */
static int enter(struct wf_actors *wa, struct wf_subscription *s, weft_text pattern, const weft_subscribe_options *o)
{
    if (o->queue == NULL && o->slow == WEFT_SLOW_DROP) {
        int first = wf_trie_add(&wa->topics, pattern, &s->subscriber);
        if (first >= 0) count_subscriptions(wa, 1);
        return first;
    }
    int64_t wait = o->wait == 0 ? wa->node->options.send_timeout : o->wait;
    int rc = wf_wide_add(wa->node->topics, pattern, o->queue, wait, s->actor->id, &s->wide);
    return rc < 0 ? rc : 1; /* each is an interest of its own */
}

int weft_subscribe_with(const char *pattern, const weft_subscribe_options *options, weft_subscription *out)
{
    static const weft_subscribe_options none;
    if (options == NULL) options = &none;
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    struct wf_worker *w = self->task.worker;
    struct wf_actors *wa = wf_actors_of(w);
    weft_text text = weft_cstr(pattern);
    if (wf_pattern_check(text) < 0 || check_options(options) < 0) return WEFT_EINVAL;
    struct wf_subscription *s = wf_slab_take(&wa->subscription_slab);
    if (s == NULL) return WEFT_ENOMEM;
    memset((char *)s + sizeof s->slot, 0, offsetof(struct wf_subscription, pattern) - sizeof s->slot);
    memcpy(s->pattern, text.data, text.size);
    s->pattern[text.size] = 0;
    s->actor = self;
    int first = enter(wa, s, text, options);
    if (first < 0) {
        wf_slab_give(&wa->subscription_slab, s);
        return first;
    }
    wf_list_push(&self->subscriptions, &s->on_actor);
    const struct wf_route *route = wf_node_of(w)->route;
    if (first == 1 && route != NULL) route->interest(w, s->pattern, true);
    if (out != NULL) *out = (weft_subscription){wf_id_make(&s->slot, w->index)};
    return WEFT_OK;
}

int weft_subscribe(const char *pattern, weft_subscription *out)
{
    return weft_subscribe_with(pattern, NULL, out);
}

/* True: it was the last one of its pattern. */
static bool leave(struct wf_actors *wa, struct wf_subscription *s)
{
    if (s->wide.wide != NULL) {
        wf_wide_remove(wa->node->topics, &s->wide);
        return true;
    }
    count_subscriptions(wa, -1);
    return wf_trie_remove(&wa->topics, &s->subscriber);
}

static void end_subscription(struct wf_actors *wa, struct wf_subscription *s)
{
    const struct wf_route *route = wa->node->route;
    wf_unlink(&s->on_actor);
    if (leave(wa, s) && route != NULL) route->interest(wa->worker, s->pattern, false);
    wf_slab_give(&wa->subscription_slab, s);
}

int weft_unsubscribe(weft_subscription s)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    struct wf_actors *wa = wf_actors_of(self->task.worker);
    struct wf_subscription *sub = wf_id_worker(s.id) == self->task.worker->index
                                      ? wf_slab_find(&wa->subscription_slab, s.id)
                                      : NULL;
    if (sub == NULL || sub->actor != self) return WEFT_ECLOSED;
    end_subscription(wa, sub);
    return WEFT_OK;
}

void wf_topics_leave(struct wf_actor *a)
{
    struct wf_link *k;
    while ((k = wf_list_first(&a->subscriptions)) != NULL)
        end_subscription(wf_actors_of(a->task.worker), WF_CONTAINER(k, struct wf_subscription, on_actor));
}

struct delivery {
    struct wf_body *body;
    weft_pid from;
    uint32_t tag, delivered;
};

static void deliver_one(struct wf_subscriber *s, void *arg)
{
    struct delivery *d = arg;
    if (wf_mailbox_put_shared(WF_CONTAINER(s, struct wf_subscription, subscriber)->actor, d->tag, d->from, d->body))
        d->delivered++;
}

void wf_topics_publish_here(struct wf_worker *w, uint32_t tag, weft_pid from, struct wf_body *body,
                            uint32_t *delivered)
{
    struct delivery d = {body, from, tag, 0};
    wf_trie_match(&wf_actors_of(w)->topics, weft_cstr(wf_body_topic(body)), deliver_one, &d);
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

static void publisher_take(uint64_t actor, int64_t wait, void *arg)
{
    struct choice *c = arg;
    struct wf_worker *w = c->self->task.worker;
    weft_msg *m = actor == 0 ? NULL : wf_msg_share(w, c->tag, c->body);
    if (m == NULL) {
        wf_count_drop(w, actor == 0 ? WF_DROP_SLOW_READER : WF_DROP_MEMORY);
        return;
    }
    m->from = wf_actor_pid(c->self);
    if (wait < 0) {
        c->handed += wf_send_or_drop(w, (weft_pid){m->from.node, actor}, m) == WEFT_OK;
        return;
    }
    m->ref = actor; /* until it is sent; held, so that it is freed if the publisher is killed */
    wf_hold(c->self, m);
    c->waiting++;
    c->wait = WF_MAX(c->wait, wait);
}

static void choose(struct choice *c)
{
    weft_node *node = wf_node_of(c->self->task.worker);
    if (WF_LIKELY(!wf_wide_any(node->topics))) return;
    struct wf_wide_ask ask = {publisher_room, publisher_take, c};
    wf_wide_choose(node->topics, weft_cstr(wf_body_topic(c->body)), &ask);
}

/* Whatever else the publisher holds came before: nobody else runs in it while it waits. */
static void send_waiting(struct choice *c)
{
    struct wf_worker *w = c->self->task.worker;
    int64_t deadline = c->waiting == 0 ? WEFT_NOW : weft_after(c->wait);
    for (; c->waiting > 0; c->waiting--) {
        weft_msg *m = c->self->held;
        weft_pid to = {wf_node_of(w)->incarnation, m->ref};
        wf_release(c->self, m);
        m->ref = 0;
        int rc = wf_send_or_free(c->self, to, m, deadline);
        if (rc == WEFT_OK) c->handed++;
        else if (rc != WEFT_ENOACTOR) wf_count_drop(w, WF_DROP_SLOW_READER);
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

static void arrival_take(uint64_t actor, int64_t wait, void *arg)
{
    struct arrival *a = arg;
    (void)wait;
    /* Without a receiver it goes to worker 0, which finds no such actor and counts it. */
    weft_msg *m = wf_msg_share(NULL, a->tag, a->body);
    if (m == NULL) {
        weft_log(WEFT_ERROR, "no memory for a message published under %s: dropped", wf_body_topic(a->body));
        return;
    }
    m->from = a->from;
    m->to_actor = actor;
    wf_inbound_add(a->node, a->in, m);
}

void wf_topics_choose_inbound(weft_node *node, struct wf_inbound *in, uint32_t tag, weft_pid from,
                              struct wf_body *body)
{
    struct arrival a = {node, in, body, from, tag};
    struct wf_wide_ask ask = {arrival_room, arrival_take, &a};
    if (wf_wide_any(node->topics)) wf_wide_choose(node->topics, weft_cstr(wf_body_topic(body)), &ask);
}

static int publish(const char *topic, uint32_t tag, const void *data, size_t size)
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
    return publish(topic, tag, data, size);
}

int weft_publish_msg(const char *topic, weft_msg *m)
{
    if (m == NULL) return WEFT_EINVAL;
    int rc = publish(topic, weft_tag(m), weft_data(m), weft_size(m));
    if (wf_actor_self() == NULL) wf_msg_free(wf_here, m);
    else weft_msg_free(m);
    return rc;
}

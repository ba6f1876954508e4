/* actors/topic.c -- publish and subscribe on one node.
 *
 * Design notes. Each worker has a trie of its own actors' subscriptions, so neither subscribing nor publishing takes
 * a lock. A publish is matched on the publisher's worker, handed as one shared body to each other worker that has
 * subscriptions at all, and to the route, which makes one wire copy for each node with a matching interest. All
 * receivers of a node share the one body. */
#include "actor.h"

#include <weft/topic.h>

#include <string.h>

struct wf_subscription {
    struct wf_slot slot;
    struct wf_subscriber subscriber; /* wf_actors.topics */
    struct wf_link on_actor;         /* wf_actor.subscriptions */
    struct wf_actor *actor;
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

int weft_subscribe(const char *pattern, weft_subscription *out)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    struct wf_worker *w = self->task.worker;
    struct wf_actors *wa = wf_actors_of(w);
    weft_text text = weft_cstr(pattern);
    if (wf_pattern_check(text) < 0) return WEFT_EINVAL;
    struct wf_subscription *s = wf_slab_take(&wa->subscription_slab);
    if (s == NULL) return WEFT_ENOMEM;
    memset((char *)s + sizeof s->slot, 0, offsetof(struct wf_subscription, pattern) - sizeof s->slot);
    memcpy(s->pattern, text.data, text.size);
    s->pattern[text.size] = 0;
    s->actor = self;
    int first = wf_trie_add(&wa->topics, text, &s->subscriber);
    if (first < 0) {
        wf_slab_give(&wa->subscription_slab, s);
        return first;
    }
    wf_list_push(&self->subscriptions, &s->on_actor);
    count_subscriptions(wa, 1);
    const struct wf_route *route = wf_node_of(w)->route;
    if (first == 1 && route != NULL) route->interest(w, s->pattern, true);
    if (out != NULL) *out = (weft_subscription){wf_id_make(&s->slot, w->index)};
    return WEFT_OK;
}

static void end_subscription(struct wf_actors *wa, struct wf_subscription *s)
{
    const struct wf_route *route = wa->node->route;
    wf_unlink(&s->on_actor);
    count_subscriptions(wa, -1);
    if (wf_trie_remove(&wa->topics, &s->subscriber) && route != NULL) route->interest(wa->worker, s->pattern, false);
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
    const struct wf_route *route = wf_node_of(w)->route;
    if (route != NULL) {
        int nodes = route->publish(w, topic, tag, from, body);
        if (nodes > 0) handed += (uint32_t)nodes;
    }
    wf_body_drop(w, body);
    return (int)handed;
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

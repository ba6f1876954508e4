/* actors/topics/topic.c -- publish and subscribe on one node.
 *
 * Design notes.
 * (1) Each worker has a trie of its own actors' subscriptions, so neither subscribing nor publishing takes a lock,
 *     and lists of subscribers for topics published again and again (topic_match.h). A publication goes as one shared
 *     body to each other worker that has subscriptions at all, then to this worker's subscribers, and to the route,
 *     which makes one wire copy for each node with a matching interest. All receivers of a node share the one body.
 * (2) Within a worker there is no atomic operation for each delivery: references of the body are taken for a whole
 *     list at once, and dropped as described at wf_body_drop.
 * (3) Queue groups are in the node's table: queue_groups.h. Publishers wait for slow subscribers in topic_await.c. */
#include "topic.h"

#include "deliver.h"
#include "lost_topics.h"
#include "mailbox.h"
#include "publish_report.h"
#include "published_block.h"
#include "queue_groups.h"
#include "send.h"
#include "subscription.h"
#include "tables.h"
#include "topic_await.h"
#include "topic_match.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

enum {
    AHEAD = 8,           /* places, see come_into_cache */
    BEYOND_CACHE = 4096, /* subscribers; so many do not fit into the cache */
    MANY_HERE = 64,      /* subscribers; so many are served after other workers have got the message */
};

struct delivery {
    struct wf_actors *wa;
    struct wf_body *body;
    struct wf_awaiting *awaiting; /* NULL: its publisher is on another worker or node and cannot wait */
    bool in_vain;                 /* its publisher has waited in vain */
    bool scarce;                  /* wf_body_is_scarce */
    uint32_t most;                /* how many more may follow */
    uint32_t delivered, tried;
};

/* ---- To one subscriber ----------------------------------------------------------------------------------------- */

/* Delivers it in an envelope, by the mailbox's policy. */
static bool put_by_policy(struct wf_subscription *s, const struct delivery *d)
{
    weft_msg *m = wf_msg_share(d->wa->worker, d->body->tag, d->body);
    if (m == NULL) {
        wf_actor_dropped(s->actor);
        wf_count_drop(d->wa->worker, WF_DROP_MEMORY);
    } else {
        m->from = d->body->from;
        if (wf_mailbox_put(s->actor, m)) return true;
    }
    wf_subscription_lost(s);
    return false;
}

/* For a full subscriber whose publishers wait. */
static bool put_full(struct wf_subscription *s, struct delivery *d)
{
    if (d->in_vain) return wf_subscription_refuse(s);
    if (d->awaiting == NULL) return put_by_policy(s, d); /* it was under way when the mailbox filled up */
    return wf_awaiting_add(d->awaiting, s, d->most) ? false : wf_subscription_refuse(s);
}

/* Takes over no reference. */
static bool put(struct wf_subscription *s, struct delivery *d)
{
    if (d->body->retained != 0 && d->body->retained <= s->seen) return false; /* it got this when it subscribed */
    const bool waits_for_it = d->awaiting != NULL && s->more != NULL && wf_is_awaited(s);
    if (WF_UNLIKELY(d->scarce) && wf_mail_count(s->actor) > 0 && !waits_for_it) return wf_subscription_refuse(s);
    if (s->more != NULL && !wf_is_awaited(s)) return wf_subscription_put(s, d->body);
    if (s->more != NULL && wf_mailbox_full(s->actor)) return put_full(s, d);
    wf_body_keep(d->body);
    if (wf_mailbox_put_shared(s->actor, d->body)) return true;
    wf_body_drop(NULL, d->body);
    if (s->more != NULL) wf_subscription_lost(s);
    return false;
}

static void deliver_one(struct wf_subscriber *s, void *arg)
{
    struct delivery *d = arg;
    d->tried++;
    d->delivered += put(WF_CONTAINER(s, struct wf_subscription, subscriber), d);
}

/* ---- To all of a list ------------------------------------------------------------------------------------------ */

static void deliver_otherwise(const struct wf_match_place *p, struct delivery *d, uint32_t *given)
{
    if (p->subscription->more == NULL) *given += wf_mailbox_put_shared(p->quick, d->body);
    else d->delivered += put(p->subscription, d);
}

/* With many subscribers each delivery would wait for memory. So this prefetches what the next deliveries touch: first
 * the actors, then their published blocks, then the places in these. */
static inline void come_into_cache(const struct wf_match *m, uint32_t i)
{
    if (WF_UNLIKELY(i + 3 * AHEAD >= m->count)) return;
    __builtin_prefetch(&m->places[i + 3 * AHEAD].quick->mail, 1);
    __builtin_prefetch(m->places[i + 2 * AHEAD].quick->mail.last, 1);
    const struct wf_lane *mail = &m->places[i + AHEAD].quick->mail;
    const struct wf_published_block *b = (struct wf_published_block *)mail->last;
    if (mail->first != NULL && b->post.room > 0) __builtin_prefetch(&b->at[b->post.room - 1], 1);
}

/* Delivers to the places from `from` to before `end`. Returns how many did not go the quick way; adds those of them
 * that took a reference to `*given`. */
static inline uint32_t deliver_each(const struct wf_match *m, struct delivery *d, uint32_t from, uint32_t end,
                                    uint32_t *given, bool remote)
{
    struct wf_body *body = d->body;
    uint32_t others = 0;
    const struct wf_match_place *last = &m->places[end];
    for (const struct wf_match_place *p = &m->places[from]; p < last; p++) {
        if (remote) come_into_cache(m, (uint32_t)(p - m->places));
        if (WF_LIKELY(wf_published_block_add(p->quick, body))) continue;
        others++;
        d->most = m->count - (uint32_t)(p - m->places);
        deliver_otherwise(p, d, given);
    }
    return others;
}

/* Most deliveries go the quick way: see published_block.h. The delivery that is to be timed does not; `timer->left`
 * is decremented once for all deliveries before it. */
static void deliver_list(const struct wf_match *m, struct delivery *d)
{
    struct wf_mail_timer *timer = &d->wa->timer;
    uint32_t given = 0; /* references that were taken over */
    wf_body_keep_many(d->body, m->count);
    for (uint32_t i = 0, end; i < m->count; i = end) {
        end = WF_MIN(m->count, i + timer->left - 1);
        uint32_t quick = end - i;
        quick -= m->count >= BEYOND_CACHE ? deliver_each(m, d, i, end, &given, true)
                                          : deliver_each(m, d, i, end, &given, false);
        given += quick;
        WF_ASSERT(quick < timer->left);
        timer->left -= quick;
        if (end < m->count) {
            d->most = m->count - end;
            deliver_otherwise(&m->places[end++], d, &given);
        }
    }
    d->delivered += given;
    d->tried += m->count;
    if (given < m->count) atomic_fetch_sub_explicit(&d->body->refs, m->count - given, memory_order_relaxed);
}

/* `m`: the place of the topic, or NULL. */
static void deliver(struct delivery *d, const struct wf_match *m)
{
    struct wf_trie *t = &d->wa->topics;
    if (t->subscribers == 0) return;
    d->scarce = wf_body_is_scarce(d->wa, d->body);
    if (m != NULL && m->places != NULL && d->body->retained == 0 && !d->scarce && !d->body->traced) {
        t->matching = true;
        deliver_list(m, d);
        t->matching = false;
    } else {
        wf_trie_match(t, wf_body_topic_text(d->body), deliver_one, d);
    }
    if (WF_UNLIKELY(!wf_list_empty(&d->wa->cut))) wf_subscriptions_cut(d->wa);
}

uint32_t wf_topics_arrived(struct wf_worker *w, struct wf_body *body, bool in_vain)
{
    struct delivery d = {.wa = wf_actors_of(w), .body = body, .in_vain = in_vain};
    int why;
    deliver(&d, wf_match_find(d.wa, wf_body_topic_text(body), &why));
    wf_worker_charge(w, d.tried);
    return d.delivered;
}

/* Hands it to the other workers of this node that have any subscription. Returns how many of them may deliver it. */
static uint32_t publish_across(struct wf_worker *w, struct wf_body *body, bool in_vain, bool now,
                               struct wf_publish_count *reached)
{
    uint32_t handed = 0;
    for (uint32_t i = 0; i < w->set->count; i++) {
        struct wf_worker *other = w->set->at[i];
        const struct wf_actors *there = wf_actors_of(other);
        uint32_t all = atomic_load_explicit(&there->subscriptions, memory_order_relaxed);
        if (other == w || all == 0) continue;
        weft_msg *m = wf_worker_is_congested(other) ? NULL : wf_msg_share(w, body->tag, body);
        if (m == NULL) {
            wf_count_drop(w, wf_worker_is_congested(other) ? WF_DROP_SLOW_READER : WF_DROP_MEMORY);
            wf_lost_topics_note(other, wf_body_topic_text(body));
            continue;
        }
        m->post.flags = WF_MSG_PUBLISH;
        m->from = body->from;
        m->ref = in_vain;
        m->reached = reached;
        if (WF_UNLIKELY(reached != NULL)) wf_publish_count_keep(reached);
        wf_msg_send_to(w, i, m);
        if (now && w->batches[i].count > 0) wf_post_batch_flush(w, i);
        handed += !in_vain || all > atomic_load_explicit(&there->awaited, memory_order_relaxed);
    }
    return handed;
}

/* ---- Queue groups: queue_groups.h ------------------------------------------------------------------------------ */

struct choice {
    struct wf_actor *self;
    struct wf_body *body;
    const struct wf_route *route;
    struct wf_chosen *remote; /* at most one for each group */
    uint64_t weighed;         /* workers where the body counts already: wf_msg_send_copy_to */
    uint32_t handed;
};

static struct wf_actor *find_anywhere(weft_node *node, uint64_t id)
{
    uint32_t i = wf_id_worker(id);
    return i < node->workers.count ? wf_slab_find(&wf_actors_of(node->workers.at[i])->slab, id) : NULL;
}

/* A hint; exact on the actor's own worker. */
static bool has_space(weft_node *node, uint64_t id, const struct wf_body *body, uint64_t weighed)
{
    struct wf_actor *a = find_anywhere(node, id);
    if (a == NULL) return false;
    struct wf_worker *there = node->workers.at[wf_id_worker(id)];
    if (there == wf_here) return !wf_mailbox_full(a);
    bool counts = (weighed >> there->index & 1) != 0;
    if (wf_worker_is_congested_beside(there, counts ? (uint32_t)(body->size >> WF_KIB_SHIFT) : 0)) return false;
    return !atomic_load_explicit(&a->full, memory_order_relaxed);
}

static bool publisher_has_space(uint64_t actor, void *arg)
{
    const struct choice *c = arg;
    return has_space(wf_node_of(c->self->task.worker), actor, c->body, c->weighed);
}

static void publisher_take(const struct wf_queue_member *to, void *arg)
{
    struct choice *c = arg;
    struct wf_worker *w = c->self->task.worker;
    weft_msg *m = to == NULL ? NULL : wf_msg_share(w, c->body->tag, c->body);
    if (m == NULL) {
        wf_count_drop(w, to == NULL ? WF_DROP_SLOW_READER : WF_DROP_MEMORY);
        return;
    }
    m->from = c->body->from;
    c->handed += wf_send_copy_or_drop(w, (weft_pid){m->from.node, to->actor}, m, &c->weighed) == WEFT_OK;
}

static bool publisher_reaches(uint64_t node, void *arg)
{
    const struct choice *c = arg;
    return c->route->reaches(c->self->task.worker, node);
}

static void publisher_pass(uint64_t node, weft_text pattern, weft_text queue, void *arg)
{
    struct choice *c = arg;
    struct wf_chosen *remote = malloc(sizeof *remote + pattern.size + queue.size);
    if (remote == NULL) {
        wf_count_drop(c->self->task.worker, WF_DROP_MEMORY);
        return;
    }
    char *text = (char *)(remote + 1);
    memcpy(text, pattern.data, pattern.size);
    memcpy(text + pattern.size, queue.data, queue.size);
    *remote = (struct wf_chosen){c->remote, node, weft_str(text, pattern.size),
                                 weft_str(text + pattern.size, queue.size)};
    c->remote = remote;
}

/* `m`: the place of the topic, or NULL; it remembers that the topic has no groups. */
static void choose(struct choice *c, struct wf_match *m)
{
    weft_node *node = wf_node_of(c->self->task.worker);
    uint32_t groups = wf_queue_groups_any(wf_topics_of(node));
    if (WF_LIKELY(groups == 0 || (m != NULL && m->no_groups == groups))) return;
    c->route = node->route;
    struct wf_queue_choice ask = {publisher_has_space, publisher_take, c->route == NULL ? NULL : publisher_reaches,
                                  publisher_pass, c};
    if (wf_queue_groups_choose(wf_topics_of(node), wf_body_topic_text(c->body), &ask) == 0 && m != NULL)
        m->no_groups = groups;
}

static void choice_free(struct choice *c)
{
    for (struct wf_chosen *next; c->remote != NULL; c->remote = next) {
        next = c->remote->next;
        free(c->remote);
    }
}

struct arrival {
    weft_node *node;
    struct wf_inbound *in;
    struct wf_body *body;
    uint64_t peer; /* the node that sent it */
    uint64_t next; /* the node that must get it; 0: none */
    bool taken;    /* a member here gets it */
    uint64_t weighed;
};

static bool arrival_has_space(uint64_t actor, void *arg)
{
    const struct arrival *a = arg;
    return has_space(a->node, actor, a->body, a->weighed);
}

static void arrival_take(const struct wf_queue_member *to, void *arg)
{
    struct arrival *a = arg;
    /* Without a receiver, a WF_MSG_LOST goes to worker 0, which counts the loss. */
    weft_msg *m = to == NULL ? wf_msg_new(NULL, a->body->tag, 0) : wf_msg_share(NULL, a->body->tag, a->body);
    if (m == NULL) {
        weft_log(WEFT_ERROR, "no memory for a message published under %s: dropped", wf_body_topic(a->body));
        return;
    }
    m->from = a->body->from;
    m->to_actor = to == NULL ? 0 : to->actor;
    a->taken = to != NULL;
    if (to == NULL) m->post.flags = WF_MSG_LOST;
    wf_inbound_add_copy(a->node, a->in, m, &a->weighed);
}

void wf_topics_choose_inbound(weft_node *node, struct wf_inbound *in, struct wf_body *body)
{
    struct arrival a = {.node = node, .in = in, .body = body};
    struct wf_queue_choice ask = {arrival_has_space, arrival_take, NULL, NULL, &a};
    if (wf_queue_groups_any(wf_topics_of(node)) != 0)
        wf_queue_groups_choose(wf_topics_of(node), wf_body_topic_text(body), &ask);
}

static bool arrival_reaches(uint64_t node, void *arg)
{
    return node != ((struct arrival *)arg)->peer;
}

static void arrival_pass(uint64_t node, weft_text pattern, weft_text queue, void *arg)
{
    (void)pattern, (void)queue;
    ((struct arrival *)arg)->next = node;
}

uint64_t wf_inbound_queue(weft_node *node, struct wf_inbound *in, struct wf_body *body, weft_text pattern,
                          weft_text queue, uint64_t peer, bool pass, bool *taken)
{
    struct arrival a = {.node = node, .in = in, .body = body, .peer = peer};
    struct wf_queue_choice ask = {arrival_has_space, arrival_take, pass ? arrival_reaches : NULL, arrival_pass, &a};
    wf_queue_groups_choose_in(wf_topics_of(node), pattern, queue, &ask);
    *taken = a.taken;
    return a.next;
}

/* ---- Publish --------------------------------------------------------------------------------------------------- */

static struct wf_body *body_of(struct wf_actor *self, weft_text topic, uint32_t tag, const void *data, size_t size)
{
    struct wf_actors *wa = wf_actors_of(self->task.worker);
    struct wf_body *body = WF_UNLIKELY(wa->tracing) ? wf_trace_publish(self, topic, true, tag, data, size) : NULL;
    if (body == NULL) body = wf_body_new(wa->worker, topic.data, topic.size, data, size);
    if (body == NULL) return NULL;
    /* Different bodies that are in mailboxes at the same time should have different `owed`, at least those of one
     * worker. */
    if (++wa->published == 0) wa->published = 1;
    wf_body_sign(body, wf_actor_pid(self), tag, wa->published);
    return body;
}

/* Retains it here and tells all linked nodes; a node that is linked later gets it with all other retained messages.
 * `instead`: only if a message of the topic is retained. */
static int retain_body(struct wf_worker *w, struct wf_body *body, bool instead)
{
    weft_node *node = wf_node_of(w);
    const struct wf_retained_now now = {.wall = wf_node_wall(node), .time = w->now};
    int rc = 0;
    wf_tables_begin(node);
    if (!instead || wf_topics_keeps(wf_topics_of(node), wf_body_topic_text(body)))
        rc = wf_topics_retain(wf_topics_of(node), w, body, &now);
    if (rc > 0 && node->route != NULL) node->route->retained(node, body->retained);
    wf_tables_end(node);
    return rc;
}

/* The publisher wants a report; `*reached` counts for the other workers of this node. */
static int begin_reach(struct wf_publish_report *reach, struct wf_actor *self, struct wf_publish_count **reached)
{
    struct wf_worker *w = self->task.worker;
    const struct wf_route *route = wf_node_of(w)->route;
    int rc = wf_publish_report_begin(reach, self, route == NULL ? 0 : route->peers(w));
    if (rc < 0) return rc;
    uint64_t ref = wf_publish_report_ask(reach, wf_node_of(w)->incarnation);
    *reached = wf_publish_count_new(wf_actor_pid(self), ref);
    if (*reached == NULL) wf_publish_report_lost(reach, ref);
    return WEFT_OK;
}

/* What has to be done before any subscriber gets it. */
static int prepare(struct wf_actor *self, struct wf_body *body, bool retain, struct wf_publish_report *reach,
                   struct wf_publish_count **reached)
{
    if (WF_LIKELY(!retain && reach == NULL)) return WEFT_OK;
    return retain ? retain_body(self->task.worker, body, false) : begin_reach(reach, self, reached);
}

static int publish(const char *name, uint32_t tag, const void *data, size_t size, bool retain,
                   struct wf_publish_report *reach)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    weft_text topic = weft_cstr(name);
    int rc;
    if (WF_UNLIKELY(wf_is_wrong_message(tag, data, size))) return wf_wrong_message("weft_publish", tag, data, size);
    wf_task_tick_for(&self->task, size);
    struct wf_worker *w = self->task.worker;
    bool in_vain = !wf_await_others(self, name);
    struct wf_match *m = wf_match_find(wf_actors_of(w), topic, &rc);
    if (WF_UNLIKELY(rc < 0)) return rc == WEFT_EINVAL ? wf_wrong_topic(name, false) : rc;
    struct wf_body *body = body_of(self, topic, tag, data, size);
    if (body == NULL) return WEFT_ENOMEM;
    wf_actor_record(self, WEFT_RECORD_SEND, weft_nobody(), tag);
    struct wf_publish_count *reached = NULL;
    if ((rc = prepare(self, body, retain, reach, &reached)) < 0) {
        wf_body_drop(NULL, body);
        return rc;
    }
    struct wf_awaiting awaiting = {.list = NULL};
    struct delivery d = {.wa = wf_actors_of(w), .body = body, .awaiting = &awaiting};
    struct choice c = {.self = self, .body = body};
    uint32_t handed = publish_across(w, body, in_vain, m != NULL && m->count >= MANY_HERE, reached), waited_for = 0;
    /* Here and not at the end: an actor that is killed while it waits for space does not return. */
    if (WF_UNLIKELY(reached != NULL)) wf_publish_count_end(w, reached, 0);
    deliver(&d, m);
    choose(&c, m);
    const struct wf_route *route = wf_node_of(w)->route;
    int nodes = route == NULL ? 0 : route->publish(w, body, m == NULL ? 0 : m->number, c.remote, reach);
    if (WF_UNLIKELY(c.remote != NULL)) choice_free(&c);
    wf_task_charge_work(&self->task, d.tried);
    if (WF_UNLIKELY(awaiting.count > 0)) waited_for = wf_awaiting_give(self, &awaiting, body);
    else wf_body_drop(w, body);
    if (WF_UNLIKELY(reach != NULL)) reach->here = d.delivered + c.handed + waited_for;
    return (int)(handed + d.delivered + c.handed + waited_for + (nodes > 0 ? (uint32_t)nodes : 0));
}

int weft_publish_reach(const char *topic, uint32_t tag, const void *data, size_t size, struct weft_reach *out,
                       int64_t deadline)
{
    struct wf_publish_report reach;
    if (out == NULL) return WEFT_EINVAL;
    int rc = publish(topic, tag, data, size, false, &reach);
    return rc < 0 ? rc : wf_publish_report_end(&reach, out, deadline);
}

int weft_publish(const char *topic, uint32_t tag, const void *data, size_t size)
{
    return publish(topic, tag, data, size, false, NULL);
}

int weft_publish_retained(const char *topic, uint32_t tag, const void *data, size_t size)
{
    return publish(topic, tag, data, size, true, NULL);
}

int weft_retained_clear(const char *topic)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (wf_topic_check(weft_cstr(topic)) < 0) return WEFT_EINVAL;
    struct wf_worker *w = self->task.worker;
    const weft_node *node = wf_node_of(w);
    if (node->route == NULL) return wf_topics_take(wf_topics_of(node), w, weft_cstr(topic));
    struct wf_body *empty = body_of(self, weft_cstr(topic), 0, NULL, 0);
    if (empty == NULL) return WEFT_ENOMEM;
    int rc = retain_body(w, empty, true);
    wf_body_drop(w, empty);
    return rc;
}

int weft_publish_msg(const char *topic, weft_msg *m)
{
    if (m == NULL) return WEFT_EINVAL;
    int rc = publish(topic, weft_tag(m), weft_data(m), weft_size(m), false, NULL);
    if (wf_actor_self() == NULL) wf_msg_free(wf_here, m);
    else weft_msg_free(m);
    return rc;
}

bool weft_is_retained(const weft_msg *m)
{
    return m->post.flags == WF_MSG_RETAINED;
}

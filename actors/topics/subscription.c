/* actors/topics/subscription.c -- see subscription.h. */
#include "end.h"
#include "mailbox.h"
#include "subscription.h"
#include "tables.h"
#include "topic_match.h"
#include "names.h"
#include "queue_groups.h"

#include <stdlib.h>
#include <string.h>

int wf_subscriptions_init(struct wf_actors *wa)
{
    wf_list_init(&wa->cut);
    wf_trie_init(&wa->topics, wa->secret);
    wf_slab_init(&wa->subscription_slab, sizeof(struct wf_subscription), WF_SLAB_MAX, wa->worker->index);
    return WEFT_OK;
}

void wf_subscriptions_finish(struct wf_actors *wa)
{
    wf_match_finish(wa);
    wf_trie_finish(&wa->topics);
    wf_slab_finish(&wa->subscription_slab);
}

static struct wf_actors *actors_of(const struct wf_subscription *s)
{
    return wf_actors_of(s->actor->task.worker);
}

static uint64_t id_of(const struct wf_subscription *s)
{
    return wf_slot_id(&s->slot);
}

static bool is_in_node_table(const struct wf_subscription *s)
{
    return s->more != NULL && s->more->member.group != NULL;
}

/* Whether it is in a queue group; else it is in its worker's trie. */
static bool is_queued(const struct wf_subscription *s)
{
    return is_in_node_table(s) && s->subscriber.node == NULL;
}

/* Only this thread writes. */
static void count(_Atomic uint32_t *n, int change)
{
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + (uint32_t)change, memory_order_relaxed);
}

static void put_on_actor(struct wf_subscription *s)
{
    struct wf_actor_more *m = s->actor->more;
    if (m->subscriptions != NULL) wf_list_insert_before(m->subscriptions, &s->on_actor);
    else m->subscriptions = s->on_actor.next = s->on_actor.prev = &s->on_actor;
    m->subscription_count++;
}

static void take_off_actor(struct wf_subscription *s)
{
    struct wf_actor_more *m = s->actor->more;
    if (m->subscriptions == &s->on_actor) m->subscriptions = s->on_actor.next;
    if (--m->subscription_count == 0) m->subscriptions = NULL;
    wf_unlink(&s->on_actor);
}

static void count_subscription(struct wf_actors *wa, const struct wf_subscription *s, int change)
{
    count(&wa->subscriptions, change);
    if (!wf_is_awaited(s)) return;
    count(&wa->awaited, change);
    s->actor->more->awaited_count += (uint32_t)change;
    wf_mailbox_awaited(s->actor, s->actor->more->awaited_count > 0);
}

/* ---- News ------------------------------------------------------------------------------------------------------ */

struct news {
    uint64_t lost;
    uint32_t kind;
    char pattern[];
};

static weft_msg *news_new(struct wf_subscription *s, weft_text pattern)
{
    size_t size = sizeof(struct news) + pattern.size + 1;
    weft_msg *m = wf_msg_new(s->actor->task.worker, WEFT_TAG_SUBSCRIPTION, size);
    if (m == NULL) return NULL;
    struct news *n = (struct news *)wf_msg_bytes(m);
    n->lost = 0;
    memcpy(n->pattern, pattern.data, pattern.size);
    n->pattern[pattern.size] = 0;
    m->ref = id_of(s);
    return m;
}

static weft_text pattern_of(const struct wf_subscription *s, char out[WF_TOPIC_MAX + 1])
{
    return is_in_node_table(s) ? wf_queue_groups_pattern(wf_topics_of(actors_of(s)->node), &s->more->member, out)
                               : wf_trie_pattern(&s->subscriber, out);
}

/* A sum of losses. It must not overflow to a small number, whatever numbers other nodes send. */
static uint64_t sum_of(uint64_t a, uint64_t b)
{
    const uint64_t most = UINT64_MAX / 2; /* increments by 1 never reach the rest */
    return a >= most ? a : a + WF_MIN(b, most - a);
}

/* Without memory the losses are reported with the next one. */
static void notify(struct wf_subscription *s, weft_subscription_kind kind)
{
    struct wf_subscription_more *more = s->more;
    char pattern[WF_TOPIC_MAX + 1];
    if (more->news == NULL) more->news = news_new(s, pattern_of(s, pattern));
    if (more->news == NULL) return;
    struct news *n = (struct news *)wf_msg_bytes(more->news);
    n->kind = kind;
    n->lost = sum_of(n->lost, more->lost);
    more->lost = 0;
    if (more->news_sent) return;
    more->news_sent = true;
    wf_signal_put(s->actor, more->news, WEFT_TAG_SUBSCRIPTION);
}

void wf_subscription_notified(struct wf_actors *wa, const weft_msg *m)
{
    struct wf_subscription *s = wf_slab_find(&wa->subscription_slab, m->ref);
    if (s == NULL || s->more->news != m) return;
    s->more->news = NULL;
    s->more->news_sent = false;
}

int weft_subscription_news_read(const weft_msg *m, struct weft_subscription_news *out)
{
    if (m == NULL || out == NULL || weft_tag(m) != WEFT_TAG_SUBSCRIPTION) return WEFT_EFORMAT;
    const struct news *n = weft_data(m);
    *out = (struct weft_subscription_news){
        .subscription = {m->ref}, .kind = (weft_subscription_kind)n->kind, .lost = n->lost};
    memcpy(out->pattern, n->pattern, strlen(n->pattern) + 1);
    return WEFT_OK;
}

/* ---- Slow readers ---------------------------------------------------------------------------------------------- */

void wf_subscription_lost(struct wf_subscription *s)
{
    struct wf_subscription_more *more = s->more;
    if (more == NULL) return;
    more->lost++;
    if (more->slow != WEFT_SLOW_DISCONNECT) notify(s, WEFT_SUBSCRIPTION_LOST);
    else if (!wf_linked(&more->on_cut)) wf_list_push(&actors_of(s)->cut, &more->on_cut);
}

void wf_subscription_missed(struct wf_subscription *s, uint64_t count_missed)
{
    if (s->more == NULL || is_queued(s)) return;
    WF_SOMETIMES("topics: a subscriber is notified of messages lost on the way", true);
    s->more->lost = sum_of(s->more->lost, count_missed); /* a number that another node may have sent */
    if (s->more->slow != WEFT_SLOW_DISCONNECT) notify(s, WEFT_SUBSCRIPTION_LOST);
}

void wf_subscriptions_missed(struct wf_actors *wa, weft_text pattern, uint64_t count_missed)
{
    for (struct wf_subscriber *at = wf_trie_find(&wa->topics, pattern); at != NULL; at = wf_trie_next(at))
        wf_subscription_missed(WF_CONTAINER(at, struct wf_subscription, subscriber), count_missed);
}

void wf_subscription_uncount(struct wf_actors *wa, weft_msg *m, bool dropped)
{
    struct wf_subscription *s = m->ref == 0 ? NULL : wf_slab_find(&wa->subscription_slab, m->ref);
    if (s != NULL) s->more->waiting--;
    if (s != NULL && dropped) wf_subscription_missed(s, 1);
    m->ref = 0;
    if (m->post.flags == WF_MSG_COUNTED) m->post.flags = m->came != 0 ? WF_MSG_TIMED : WF_MSG_SEND;
}

/* Whether there is space for one more message, or space could be made. */
static bool make_place(struct wf_subscription *s)
{
    struct wf_actor *a = s->actor;
    struct wf_subscription_more *more = s->more;
    weft_slow_policy slow = more == NULL ? WEFT_SLOW_DROP : (weft_slow_policy)more->slow;
    bool over = more != NULL && more->max > 0 && more->waiting >= more->max;
    if (!over && !wf_mailbox_full(a)) return true;
    if (!over && slow == WEFT_SLOW_DROP && wf_actor_policy(a) == WEFT_FULL_DROP_OLDEST) {
        wf_mailbox_make_space(a);
        return true;
    }
    if (slow != WEFT_SLOW_DROP_OLDEST || more->waiting == 0) return false;
    WF_SOMETIMES("topics: the oldest message of a slow subscriber is dropped", true);
    wf_mailbox_evict(a, id_of(s), &more->oldest);
    return !wf_mailbox_full(a);
}

/* Consumes `m`. */
static bool put(struct wf_subscription *s, weft_msg *m)
{
    if (s->more != NULL && s->more->counts) {
        m->ref = id_of(s);
        s->more->waiting++;
    }
    wf_mailbox_add(s->actor, m);
    return true;
}

bool wf_subscription_refuse(struct wf_subscription *s)
{
    wf_actor_dropped(s->actor);
    wf_note_drop(s->actor->task.worker, WF_DROP_SLOW_READER, s->actor->id, weft_nobody(), 0);
    wf_subscription_lost(s);
    return false;
}

bool wf_subscription_put(struct wf_subscription *s, struct wf_body *body)
{
    struct wf_worker *w = s->actor->task.worker;
    if (!make_place(s)) return wf_subscription_refuse(s);
    weft_msg *m = wf_msg_share(w, body->tag, body);
    if (m == NULL) {
        wf_actor_dropped(s->actor);
        wf_count_drop(w, WF_DROP_MEMORY);
        s->more->lost++; /* reported with the next notification */
        return false;
    }
    m->from = body->from;
    m->came = 0;
    if (s->more->counts) m->post.flags = WF_MSG_COUNTED;
    return put(s, m);
}

/* ---- What is retained ------------------------------------------------------------------------------------------ */

struct remembered {
    struct wf_worker *w;
    weft_msg *first, **end;
    uint64_t lost; /* for lack of memory */
};

static bool remember(const struct wf_retained *r, void *arg)
{
    struct remembered *all = arg;
    weft_msg *m = wf_msg_share(all->w, r->body->tag, r->body);
    if (m == NULL) {
        wf_count_drop(all->w, WF_DROP_MEMORY);
        all->lost++;
        return true;
    }
    m->post.flags = WF_MSG_RETAINED;
    m->from = r->body->from;
    *all->end = m;
    all->end = (weft_msg **)(void *)&m->post.next;
    return true;
}

static void give_remembered(struct wf_subscription *s, weft_msg *first)
{
    uint32_t given = 0;
    for (weft_msg *m = first, *next; m != NULL; m = next, given++) {
        next = (weft_msg *)m->post.next;
        if (make_place(s)) {
            (void)put(s, m);
        } else {
            wf_msg_free(s->actor->task.worker, m);
            (void)wf_subscription_refuse(s);
        }
    }
    wf_task_charge_work(&s->actor->task, given);
}

static void forget_remembered(struct remembered *all)
{
    for (weft_msg *m = all->first, *next; m != NULL; m = next) {
        next = (weft_msg *)m->post.next;
        wf_msg_free(all->w, m);
    }
}

/* ---- From beginning to end ------------------------------------------------------------------------------------- */

static int check_options(const weft_subscribe_options *o)
{
    if ((int)o->slow < WEFT_SLOW_DROP || o->slow > WEFT_SLOW_DISCONNECT) return WEFT_EINVAL;
    if (o->wait < 0 || wf_is_point(o->wait) || (o->wait > 0 && o->slow != WEFT_SLOW_SUSPEND)) return WEFT_EINVAL;
    if (o->max > 0 && (o->queue != NULL || o->slow == WEFT_SLOW_SUSPEND)) return WEFT_EINVAL;
    if (o->queue == NULL) return WEFT_OK;
    if (o->slow != WEFT_SLOW_DROP) return WEFT_EINVAL;
    size_t size = strnlen(o->queue, WF_QUEUE_MAX + 1);
    return size <= WF_QUEUE_MAX ? wf_name_check(weft_str(o->queue, size)) : WEFT_EINVAL;
}

static void give(struct wf_actors *wa, struct wf_subscription *s)
{
    if (s->more != NULL && s->more->news != NULL && !s->more->news_sent) wf_msg_free(wa->worker, s->more->news);
    free(s->more);
    wf_slab_give(&wa->subscription_slab, s);
}

/* A publisher can wait only for an actor whose mailbox lets senders wait; else the policy of the mailbox decides. */
static weft_slow_policy slow_policy_of(const struct wf_actor *self, const weft_subscribe_options *o)
{
    const bool can_wait = wf_actor_policy(self) == WEFT_FULL_SUSPEND;
    return o->slow == WEFT_SLOW_SUSPEND && !can_wait ? WEFT_SLOW_DROP : o->slow;
}

static struct wf_subscription *make(struct wf_actor *self, weft_text pattern, const weft_subscribe_options *o)
{
    struct wf_actors *wa = wf_actors_of(self->task.worker);
    struct wf_subscription *s = wf_actor_more(self) == NULL ? NULL : wf_slab_take(&wa->subscription_slab);
    if (s == NULL) return NULL;
    memset((char *)s + sizeof s->slot, 0, sizeof *s - sizeof s->slot);
    s->actor = self;
    if (o == NULL) return s;
    const weft_slow_policy slow = slow_policy_of(self, o);
    s->more = calloc(1, sizeof *s->more);
    if (s->more != NULL) {
        s->more->max = o->max;
        s->more->slow = (uint8_t)slow;
        s->more->counts = o->max > 0 || slow == WEFT_SLOW_DROP_OLDEST ||
                          wf_actor_policy(self) == WEFT_FULL_DROP_OLDEST;
        s->more->member.actor = self->id;
        s->more->member.subscription = id_of(s);
    }
    if (s->more != NULL && slow == WEFT_SLOW_DISCONNECT) s->more->news = news_new(s, pattern);
    if (s->more != NULL && (slow != WEFT_SLOW_DISCONNECT || s->more->news != NULL)) return s;
    give(wa, s);
    return NULL;
}

static void announce_queue(weft_node *node, enum wf_table_op op, weft_text pattern, weft_text queue)
{
    struct wf_entry e = {.table = WF_TABLE_QUEUES, .key = pattern, .queue = queue};
    wf_tables_tell(node, op, &e);
}

/* Returns 1, as each member is an interest of its own. */
static int enter_queue(weft_node *node, struct wf_subscription *s, weft_text pattern, const char *queue)
{
    wf_tables_begin(node);
    int rc = wf_tables_check_space(node);
    if (rc == WEFT_OK) rc = wf_queue_groups_add(wf_topics_of(node), pattern, queue, 0, &s->more->member);
    if (rc == 1) announce_queue(node, WF_TABLE_SET, pattern, weft_cstr(queue));
    wf_tables_end(node);
    return rc < 0 ? rc : 1;
}

static void leave_queue(weft_node *node, struct wf_subscription *s, char pattern[WF_TOPIC_MAX + 1])
{
    char queue[WF_QUEUE_MAX + 1];
    wf_tables_begin(node);
    if (wf_queue_groups_remove(wf_topics_of(node), &s->more->member, pattern, queue))
        announce_queue(node, WF_TABLE_UNSET, weft_cstr(pattern), weft_cstr(queue));
    wf_tables_end(node);
}

/* Returns 1 for the first subscription of its pattern on this worker. */
static int enter(struct wf_actors *wa, struct wf_subscription *s, weft_text pattern, const weft_subscribe_options *o,
                 const struct wf_recall *recall)
{
    struct wf_topics *topics = wf_topics_of(wa->node);
    bool awaited = wf_is_awaited(s);
    WF_ASSERT(!awaited || o != NULL);
    if (awaited) s->more->wait = o->wait == 0 ? wa->node->options.send_timeout : o->wait;
    if (o != NULL && o->queue != NULL) return enter_queue(wa->node, s, pattern, o->queue);
    int rc = awaited ? wf_queue_groups_add(topics, pattern, NULL, s->more->wait, &s->more->member) : WEFT_OK;
    if (rc < 0) return rc;
    int first = wf_trie_add(&wa->topics, pattern, &s->subscriber);
    if (first < 0) {
        char unused[WF_TOPIC_MAX + 1], none[WF_QUEUE_MAX + 1];
        if (awaited) (void)wf_queue_groups_remove(topics, &s->more->member, unused, none);
        return first;
    }
    count_subscription(wa, s, 1);
    s->order = wa->topics.changes;
    s->seen = wf_recall(topics, pattern, recall);
    return first;
}

/* True: it was the last one of its pattern; `pattern` gets a copy of it. */
static bool leave(struct wf_actors *wa, struct wf_subscription *s, char pattern[WF_TOPIC_MAX + 1])
{
    char none[WF_QUEUE_MAX + 1];
    if (is_queued(s)) {
        leave_queue(wa->node, s, pattern);
        return true;
    }
    if (is_in_node_table(s)) (void)wf_queue_groups_remove(wf_topics_of(wa->node), &s->more->member, pattern, none);
    count_subscription(wa, s, -1);
    if (wa->node->route != NULL) (void)wf_trie_pattern(&s->subscriber, pattern);
    return wf_trie_remove(&wa->topics, &s->subscriber);
}

/* It is the first one of its pattern here, so it is announced to other nodes. Without memory, undoes `enter`. */
static int announce_pattern(struct wf_actors *wa, struct wf_subscription *s, const char *pattern)
{
    const struct wf_route *route = wa->node->route;
    char unused[WF_TOPIC_MAX + 1];
    int rc = route == NULL ? WEFT_OK : route->interest(wa->worker, pattern, true, is_queued(s));
    if (rc < 0) (void)leave(wa, s, unused);
    return rc;
}

int weft_subscribe_with(const char *pattern, const weft_subscribe_options *options, weft_subscription *out)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    struct wf_worker *w = self->task.worker;
    struct wf_actors *wa = wf_actors_of(w);
    weft_text text = weft_cstr(pattern);
    if (wf_pattern_check(text) < 0) return wf_wrong_topic(pattern, true);
    if (options != NULL && check_options(options) < 0)
        return wf_wrong(WEFT_EINVAL,
                        "weft_subscribe_with: options that do not go together, see weft_subscribe_options");
    if (self->more != NULL && self->more->subscription_count >= wa->node->options.subscriptions_max)
        return WEFT_EFULL;
    struct wf_subscription *s = make(self, text, options);
    if (s == NULL) return WEFT_ENOMEM;
    wf_task_charge_entry(&self->task);
    struct remembered all = {.w = w, .end = &all.first};
    int rc = enter(wa, s, text, options, &(struct wf_recall){remember, &all});
    if (rc == 1) rc = announce_pattern(wa, s, pattern);
    if (rc < 0) {
        forget_remembered(&all);
        give(wa, s);
        return rc;
    }
    put_on_actor(s);
    if (out != NULL) *out = (weft_subscription){id_of(s)};
    if (WF_UNLIKELY(all.lost > 0)) wf_subscription_missed(s, all.lost);
    if (WF_UNLIKELY(all.first != NULL)) {
        give_remembered(s, all.first);
        wf_subscriptions_cut(wa);
    }
    return WEFT_OK;
}

int weft_subscribe(const char *pattern, weft_subscription *out)
{
    return weft_subscribe_with(pattern, NULL, out);
}

static void end_subscription(struct wf_actors *wa, struct wf_subscription *s)
{
    const struct wf_route *route = wa->node->route;
    char pattern[WF_TOPIC_MAX + 1];
    bool queued = is_queued(s);
    take_off_actor(s);
    if (s->more != NULL) {
        wf_unlink(&s->more->on_cut);
        wf_unlink(&s->more->oldest.on_marks);
    }
    if (leave(wa, s, pattern) && route != NULL) (void)route->interest(wa->worker, pattern, false, queued);
    give(wa, s);
}

void wf_subscriptions_cut(struct wf_actors *wa)
{
    for (struct wf_list_node *k; (k = wf_list_pop(&wa->cut)) != NULL;) {
        struct wf_subscription_more *more = WF_CONTAINER(k, struct wf_subscription_more, on_cut);
        struct wf_subscription *s = wf_slab_find(&wa->subscription_slab, more->member.subscription);
        WF_ASSERT(s != NULL);
        WF_SOMETIMES("topics: a slow subscriber is disconnected", true);
        notify(s, WEFT_SUBSCRIPTION_ENDED);
        end_subscription(wa, s);
    }
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
    if (sub->more != NULL && sub->more->news_sent)
        wf_msg_free(wa->worker, wf_signal_take(self, WEFT_TAG_SUBSCRIPTION, s.id, weft_nobody()));
    end_subscription(wa, sub);
    wf_task_charge_entry(&self->task);
    return WEFT_OK;
}

void wf_topics_leave(struct wf_actor *a)
{
    struct wf_list_node *k;
    if (a->more == NULL) return;
    while ((k = a->more->subscriptions) != NULL) {
        end_subscription(wf_actors_of(a->task.worker), WF_CONTAINER(k, struct wf_subscription, on_actor));
        wf_actor_end_part(a, 1);
    }
}

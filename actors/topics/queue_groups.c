/* actors/topics/queue_groups.c -- see queue_groups.h.
 *
 * Design notes.
 * (1) Queue groups are in one trie for the node, under one lock: a choice between members on different workers must
 *     be made once. A publisher on a node without queue groups reads one counter and takes no lock. Subscribers whose
 *     publishers wait are in their worker's trie; they are here only for publishers on other workers, which search
 *     when such a worker reports that one of these subscribers is full.
 * (2) A group's members are in a list: a chosen member goes to its end. Members without space are skipped and keep
 *     their place. The nodes that have members (tables.h) are in a second list of this kind, which is used when no
 *     member here has space. A member here costs nothing to reach and its space is known; of another node it is only
 *     known that it has members. So work spreads over nodes when it is too much for the members on the publisher's
 *     node, and if that node has none, the other nodes take turns.
 * (3) A new subscriber is in the table, or in its worker's trie, before it reads what is retained; a publisher
 *     retains a message before it looks for subscribers. The lock puts the two in order: a message retained before
 *     the reading has a number up to the one read, and its deliveries that still come are skipped; a message retained
 *     after it finds the subscriber. So no message is lost or comes twice, whatever the workers do meanwhile.
 * (4) A hash table finds a group by its pattern and its name: any number of groups may have the same pattern. Links
 *     are told of the groups in parts, and the entries of a lost node are removed in parts; other threads can take
 *     the lock in between.
 * (5) The counter is written under the lock. A publisher that reads an old value has published before the subscribe
 *     returned, or no message had informed it of the subscribe: both are races, for which weft promises nothing. */
#include "queue_groups.h"

#include "hash.h"
#include "platform.h"

#include <weft/log.h>

#include <stdlib.h>
#include <string.h>

#define BUCKETS_AT_ONCE WF_LIMIT("queue groups: buckets in a part", 1024, 1)
#define FORGOTTEN_AT_ONCE WF_LIMIT("retained: messages forgotten in a turn", 1024, 1)

struct wf_topics {
    pf_mutex *lock;
    struct wf_trie trie;         /* queue groups: wf_queue_group.subscriber */
    struct wf_trie awaited;      /* subscribers whose publishers wait */
    struct wf_hash_table groups; /* queue groups, by pattern and queue */
    uint64_t secret;             /* the key of its hashes */
    uint32_t changes;
    _Atomic uint32_t any; /* wf_queue_groups_any: relaxed, see note (5) */
    struct wf_retained_table retained;
    bool overflows; /* the last copy of another node was over its bound */
};

/* Another node with members of a group. */
struct group_node {
    struct wf_list_node in_group;
    struct wf_list_node in_copies; /* wf_copies.queues */
    struct wf_queue_group *group;
    uint64_t node;
    uint32_t round; /* the wf_copies.round in which it came */
};

struct wf_queue_group {
    struct wf_subscriber subscriber;
    struct wf_hashed in_table; /* wf_topics.groups, if it is a queue group */
    struct wf_list members;    /* wf_queue_member.in_group; the next to be chosen comes first */
    struct wf_list nodes;      /* group_node.in_group, in the same order */
    int64_t wait;
    char queue[WF_QUEUE_MAX + 1]; /* "": a subscriber on its own */
};

int wf_topics_create(struct wf_topics **out, uint64_t secret, uint32_t retained_max, size_t retained_bytes_max,
                     int64_t retained_keep)
{
    struct wf_topics *t = calloc(1, sizeof *t);
    int rc = t == NULL ? WEFT_ENOMEM : pf_mutex_create(&t->lock);
    if (rc < 0) {
        free(t);
        return rc;
    }
    t->secret = secret;
    wf_trie_init(&t->trie, secret);
    wf_trie_init(&t->awaited, secret);
    wf_retained_init(&t->retained, secret, retained_max, retained_bytes_max, retained_keep);
    *out = t;
    return WEFT_OK;
}

void wf_topics_destroy(struct wf_topics *t)
{
    if (t == NULL) return;
    /* actors leave before they end, and links before the node does */
    WF_ASSERT(t->trie.subscribers == 0 && t->awaited.subscribers == 0);
    wf_trie_finish(&t->trie);
    wf_trie_finish(&t->awaited);
    wf_retained_finish(&t->retained);
    wf_hash_table_finish(&t->groups);
    pf_mutex_destroy(t->lock);
    free(t);
}

uint32_t wf_queue_groups_any(const struct wf_topics *t)
{
    return atomic_load_explicit(&t->any, memory_order_relaxed);
}

static uint32_t hash_of(const struct wf_topics *t, weft_text pattern, weft_text queue)
{
    return wf_hash(queue.data, queue.size, t->secret + wf_hash(pattern.data, pattern.size, t->secret));
}

static bool is_of(const struct wf_queue_group *group, weft_text pattern, weft_text queue)
{
    char text[WF_TOPIC_MAX + 1];
    if (memcmp(group->queue, queue.data, queue.size) != 0 || group->queue[queue.size] != 0) return false;
    weft_text own = wf_trie_pattern(&group->subscriber, text);
    return own.size == pattern.size && memcmp(own.data, pattern.data, own.size) == 0;
}

static struct wf_queue_group *find(const struct wf_topics *t, weft_text pattern, weft_text queue)
{
    WF_HASHED_WITH(e, &t->groups, hash_of(t, pattern, queue))
    {
        struct wf_queue_group *group = WF_CONTAINER(e, struct wf_queue_group, in_table);
        if (is_of(group, pattern, queue)) return group;
    }
    return NULL;
}

static struct wf_trie *trie_of(struct wf_topics *t, const struct wf_queue_group *group)
{
    return group->queue[0] == 0 ? &t->awaited : &t->trie;
}

/* Called when a group was added or removed. */
static void count_groups(struct wf_topics *t)
{
    if (++t->changes == 0) t->changes = 1;
    atomic_store_explicit(&t->any, t->groups.count == 0 ? 0 : t->changes, memory_order_relaxed);
}

/* ---- The table, under the lock --------------------------------------------------------------------------------- */

/* `queue` empty: a subscriber on its own. */
static struct wf_queue_group *make(struct wf_topics *t, weft_text pattern, weft_text queue)
{
    struct wf_queue_group *group = calloc(1, sizeof *group);
    if (group == NULL) return NULL;
    wf_list_init(&group->members);
    wf_list_init(&group->nodes);
    if (queue.size > 0) memcpy(group->queue, queue.data, queue.size);
    if (wf_trie_add(trie_of(t, group), pattern, &group->subscriber) < 0) {
        free(group);
        return NULL;
    }
    if (queue.size == 0) return group;
    if (!wf_hash_table_add(&t->groups, &group->in_table, hash_of(t, pattern, queue))) {
        wf_trie_remove(&t->trie, &group->subscriber);
        free(group);
        return NULL;
    }
    count_groups(t);
    return group;
}

static struct wf_queue_group *find_or_make(struct wf_topics *t, weft_text pattern, weft_text queue)
{
    struct wf_queue_group *group = queue.size == 0 ? NULL : find(t, pattern, queue);
    return group == NULL ? make(t, pattern, queue) : group;
}

static void free_if_empty(struct wf_topics *t, struct wf_queue_group *group)
{
    if (!wf_list_empty(&group->members) || !wf_list_empty(&group->nodes)) return;
    wf_trie_remove(trie_of(t, group), &group->subscriber);
    if (group->queue[0] != 0) {
        wf_hash_table_remove(&t->groups, &group->in_table);
        count_groups(t);
    }
    free(group);
}

static struct group_node *node_of(const struct wf_queue_group *group, uint64_t node)
{
    WF_LIST_EACH(k, &group->nodes) {
        struct group_node *n = WF_CONTAINER(k, struct group_node, in_group);
        if (n->node == node) return n;
    }
    return NULL;
}

static void forget_node(struct wf_topics *t, struct group_node *n)
{
    struct wf_queue_group *group = n->group;
    wf_unlink(&n->in_group);
    wf_unlink(&n->in_copies);
    free(n);
    free_if_empty(t, group);
}

/* ---- Members --------------------------------------------------------------------------------------------------- */

int wf_queue_groups_add(struct wf_topics *t, weft_text pattern, const char *queue, int64_t wait,
                        struct wf_queue_member *m)
{
    int rc = WEFT_ENOMEM;
    pf_mutex_lock(t->lock);
    struct wf_queue_group *group = find_or_make(t, pattern, queue == NULL ? weft_str("", 0) : weft_cstr(queue));
    if (group != NULL) {
        rc = wf_list_empty(&group->members);
        if (queue == NULL) group->wait = wait;
        m->group = group;
        wf_list_push(&group->members, &m->in_group);
    }
    pf_mutex_unlock(t->lock);
    return rc;
}

bool wf_queue_groups_remove(struct wf_topics *t, struct wf_queue_member *m, char pattern[WF_TOPIC_MAX + 1],
                            char queue[WF_QUEUE_MAX + 1])
{
    struct wf_queue_group *group = m->group;
    pf_mutex_lock(t->lock);
    (void)wf_trie_pattern(&group->subscriber, pattern);
    memcpy(queue, group->queue, sizeof group->queue);
    wf_unlink(&m->in_group);
    m->group = NULL;
    bool last = wf_list_empty(&group->members);
    free_if_empty(t, group);
    pf_mutex_unlock(t->lock);
    return last;
}

weft_text wf_queue_groups_pattern(struct wf_topics *t, const struct wf_queue_member *m, char out[WF_TOPIC_MAX + 1])
{
    pf_mutex_lock(t->lock);
    weft_text pattern = wf_trie_pattern(&m->group->subscriber, out);
    pf_mutex_unlock(t->lock);
    return pattern;
}

static bool pass_to_node(struct wf_queue_group *group, const struct wf_queue_choice *ask)
{
    WF_LIST_EACH(k, &group->nodes) {
        uint64_t node = WF_CONTAINER(k, struct group_node, in_group)->node;
        if (!ask->reaches(node, ask->arg)) continue;
        WF_SOMETIMES("queue groups: a message goes to another node", true);
        WF_SOMETIMES("queue groups: members here have no space, so another node gets the message",
                     !wf_list_empty(&group->members));
        char pattern[WF_TOPIC_MAX + 1];
        wf_unlink(k);
        wf_list_push(&group->nodes, k);
        ask->pass(node, wf_trie_pattern(&group->subscriber, pattern), weft_cstr(group->queue), ask->arg);
        return true;
    }
    return false;
}

static void choose_in(struct wf_queue_group *group, const struct wf_queue_choice *ask)
{
    if (ask->reaches == NULL && wf_list_empty(&group->members)) return;
    WF_LIST_EACH(k, &group->members) {
        struct wf_queue_member *m = WF_CONTAINER(k, struct wf_queue_member, in_group);
        if (!ask->has_space(m->actor, ask->arg)) continue;
        wf_unlink(k);
        wf_list_push(&group->members, k);
        ask->take(m, ask->arg);
        return;
    }
    if (ask->reaches == NULL || !pass_to_node(group, ask)) ask->take(NULL, ask->arg);
}

static void choose(struct wf_subscriber *s, void *arg)
{
    choose_in(WF_CONTAINER(s, struct wf_queue_group, subscriber), arg);
}

size_t wf_queue_groups_choose(struct wf_topics *t, weft_text topic, const struct wf_queue_choice *ask)
{
    pf_mutex_lock(t->lock);
    size_t groups = wf_trie_match(&t->trie, topic, choose, (void *)(uintptr_t)ask);
    pf_mutex_unlock(t->lock);
    return groups;
}

void wf_queue_groups_choose_in(struct wf_topics *t, weft_text pattern, weft_text queue,
                               const struct wf_queue_choice *ask)
{
    pf_mutex_lock(t->lock);
    struct wf_queue_group *group = find(t, pattern, queue);
    bool here = group != NULL && !wf_list_empty(&group->members);
    if (here || (group != NULL && ask->reaches != NULL)) choose_in(group, ask);
    else ask->take(NULL, ask->arg);
    pf_mutex_unlock(t->lock);
}

struct looking {
    bool (*blocked)(uint64_t actor, void *arg);
    void *arg;
    uint64_t found;
    int64_t wait;
};

static void look(struct wf_subscriber *s, void *arg)
{
    struct looking *l = arg;
    struct wf_queue_group *group = WF_CONTAINER(s, struct wf_queue_group, subscriber);
    struct wf_queue_member *m = WF_CONTAINER(wf_list_first(&group->members), struct wf_queue_member, in_group);
    if (!l->blocked(m->actor, l->arg)) return;
    l->found = m->actor;
    l->wait = WF_MAX(l->wait, group->wait);
}

uint64_t wf_queue_groups_blocked(struct wf_topics *t, weft_text topic, bool (*blocked)(uint64_t actor, void *arg),
                                 void *arg, int64_t *wait)
{
    struct looking l = {blocked, arg, 0, 0};
    pf_mutex_lock(t->lock);
    wf_trie_match(&t->awaited, topic, look, &l);
    pf_mutex_unlock(t->lock);
    *wait = l.wait;
    return l.found;
}

/* ---- What other nodes tell ------------------------------------------------------------------------------------- */

/* Returns whether the node had not told of the group before. */
static bool put_on(struct group_node *n, struct wf_copies *from)
{
    bool fresh = !wf_linked(&n->in_copies) || n->round != from->round;
    wf_unlink(&n->in_copies);
    wf_list_push(&from->queues, &n->in_copies);
    n->round = from->round;
    return fresh;
}

int wf_queue_groups_put_copy(struct wf_topics *t, struct wf_copies *from, weft_text pattern, weft_text queue)
{
    int rc = WEFT_ENOMEM;
    pf_mutex_lock(t->lock);
    struct wf_queue_group *group = find_or_make(t, pattern, queue);
    struct group_node *n = group == NULL ? NULL : node_of(group, from->node);
    if (n == NULL && group != NULL && (n = calloc(1, sizeof *n)) != NULL) {
        n->node = from->node;
        n->group = group;
        wf_list_push(&group->nodes, &n->in_group);
    }
    if (n != NULL) rc = put_on(n, from);
    else if (group != NULL) free_if_empty(t, group);
    pf_mutex_unlock(t->lock);
    return rc;
}

bool wf_queue_groups_take_copy(struct wf_topics *t, struct wf_copies *from, weft_text pattern, weft_text queue)
{
    pf_mutex_lock(t->lock);
    struct wf_queue_group *group = find(t, pattern, queue);
    struct group_node *n = group == NULL ? NULL : node_of(group, from->node);
    bool had = n != NULL && n->round == from->round;
    if (n != NULL) forget_node(t, n);
    pf_mutex_unlock(t->lock);
    return had;
}

void wf_queue_groups_clear_copies(struct wf_topics *t, struct wf_copies *from, uint32_t *work)
{
    pf_mutex_lock_behind(t->lock);
    for (struct wf_list_node *k; *work > 0 && (k = wf_list_first(&from->queues)) != NULL; --*work) {
        struct group_node *n = WF_CONTAINER(k, struct group_node, in_copies);
        if (n->round == from->round) break;
        WF_SOMETIMES("queue groups: the members of a lost node are removed", true);
        forget_node(t, n);
    }
    pf_mutex_unlock(t->lock);
}

bool wf_queue_groups_some(struct wf_topics *t, uint64_t *at,
                          bool (*see)(weft_text pattern, weft_text queue, void *arg), void *arg)
{
    bool more = true;
    pf_mutex_lock_behind(t->lock);
    if (t->groups.bucket_count == 0) *at = WF_HASH_PARTS_END;
    for (int i = 0; i < BUCKETS_AT_ONCE && more && *at < WF_HASH_PARTS_END; i++) {
        uint32_t bucket = wf_hash_part(at, t->groups.bucket_count);
        WF_HASHED_IN(e, &t->groups, bucket)
        {
            const struct wf_queue_group *group = WF_CONTAINER(e, struct wf_queue_group, in_table);
            char text[WF_TOPIC_MAX + 1];
            if (wf_list_empty(&group->members)) continue;
            more &= see(wf_trie_pattern(&group->subscriber, text), weft_cstr(group->queue), arg);
        }
    }
    pf_mutex_unlock(t->lock);
    return *at < WF_HASH_PARTS_END;
}

/* ---- Retained -------------------------------------------------------------------------------------------------- */

int wf_topics_retain(struct wf_topics *t, struct wf_worker *w, struct wf_body *body,
                     const struct wf_retained_now *now)
{
    struct wf_body *old;
    pf_mutex_lock(t->lock);
    int rc = wf_retained_put(&t->retained, body, now, &old);
    pf_mutex_unlock(t->lock);
    if (old != NULL) wf_body_drop(w, old);
    return rc;
}

int wf_topics_retain_copy(struct wf_topics *t, const struct wf_retained_copy *c, const struct wf_retained_now *now)
{
    struct wf_body *old;
    pf_mutex_lock(t->lock);
    int rc = wf_retained_put_copy(&t->retained, c, now, &old);
    bool first = rc == WEFT_EFULL && !t->overflows;
    if (rc == 1 || rc == WEFT_EFULL) t->overflows = rc == WEFT_EFULL;
    pf_mutex_unlock(t->lock);
    if (old != NULL) wf_body_drop(NULL, old);
    if (first)
        weft_log(WEFT_WARN,
                 "a node has reached its limit of retained messages: its message under %s is not kept here",
                 wf_body_topic(c->body));
    return rc;
}

int wf_topics_linked(struct wf_topics *t, uint64_t node, struct wf_retained_source *by[WF_RETAINED_KINDS])
{
    pf_mutex_lock(t->lock);
    int rc = wf_retained_open(&t->retained, node, by);
    pf_mutex_unlock(t->lock);
    return rc;
}

void wf_topics_unlinked(struct wf_topics *t, struct wf_retained_source *by[WF_RETAINED_KINDS], int64_t time)
{
    pf_mutex_lock(t->lock);
    wf_retained_close(&t->retained, by, time);
    pf_mutex_unlock(t->lock);
}

bool wf_topics_trim(struct wf_topics *t)
{
    pf_mutex_lock_behind(t->lock);
    bool more = wf_retained_trim(&t->retained, FORGOTTEN_AT_ONCE);
    pf_mutex_unlock(t->lock);
    return more;
}

int64_t wf_topics_expire(struct wf_topics *t, int64_t time)
{
    pf_mutex_lock_behind(t->lock);
    int64_t next = wf_retained_expire(&t->retained, time, FORGOTTEN_AT_ONCE);
    pf_mutex_unlock(t->lock);
    return next;
}

bool wf_topics_take(struct wf_topics *t, struct wf_worker *w, weft_text topic)
{
    pf_mutex_lock(t->lock);
    struct wf_body *old = wf_retained_take(&t->retained, topic);
    pf_mutex_unlock(t->lock);
    if (old != NULL) wf_body_drop(w, old);
    return old != NULL;
}

bool wf_topics_keeps(struct wf_topics *t, weft_text topic)
{
    pf_mutex_lock(t->lock);
    bool keeps = wf_retained_find(&t->retained, topic) != NULL;
    pf_mutex_unlock(t->lock);
    return keeps;
}

struct taking {
    struct wf_kept *out;
    size_t count, max;
};

static bool take_kept(const struct wf_retained *r, void *arg)
{
    struct taking *x = arg;
    if (x->count == x->max) return false;
    wf_body_keep(r->body);
    x->out[x->count++] = (struct wf_kept){r->body, r->stamp, r->source->gone ? r->source->gone_at : WEFT_FOREVER};
    return true;
}

void wf_topics_mark(struct wf_topics *t, struct wf_retained *mark)
{
    pf_mutex_lock(t->lock);
    wf_retained_mark(&t->retained, mark);
    pf_mutex_unlock(t->lock);
}

void wf_topics_unmark(struct wf_topics *t, struct wf_retained *mark)
{
    pf_mutex_lock(t->lock);
    wf_unlink(&mark->in_order);
    pf_mutex_unlock(t->lock);
}

size_t wf_topics_after(struct wf_topics *t, const struct wf_retained *mark, struct wf_kept *out, size_t max)
{
    struct taking x = {out, 0, max};
    pf_mutex_lock(t->lock);
    wf_retained_after(&t->retained, mark, take_kept, &x);
    pf_mutex_unlock(t->lock);
    return x.count;
}

void wf_topics_pass(struct wf_topics *t, struct wf_retained *mark, uint64_t number)
{
    pf_mutex_lock(t->lock);
    wf_retained_pass(&t->retained, mark, number);
    pf_mutex_unlock(t->lock);
}

uint64_t wf_recall(struct wf_topics *t, weft_text pattern, const struct wf_recall *recall)
{
    pf_mutex_lock(t->lock);
    uint64_t seen = t->retained.last;
    wf_retained_each(&t->retained, pattern, recall->see, recall->arg);
    pf_mutex_unlock(t->lock);
    return seen;
}

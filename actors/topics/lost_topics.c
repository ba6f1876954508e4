/* actors/topics/lost_topics.c -- see lost_topics.h. */
#include "lost_topics.h"

#include "hash.h"
#include "queue_groups.h"
#include "subscription.h"

#include <stdlib.h>
#include <string.h>

enum { LOST_TOPICS_MAX = 1024 }; /* so the notes of a worker take 320 KiB at most */

struct lost_topic {
    struct wf_hashed in_table;
    struct wf_list_node on_list;
    uint64_t lost;
    uint32_t size;
    char topic[];
};

static struct wf_lost_topics *notes_of(const struct wf_actors *wa)
{
    return wa->slots[WF_TOPICS_SLOT];
}

static struct lost_topic *find(const struct wf_lost_topics *l, weft_text topic, uint32_t hash)
{
    WF_HASHED_WITH(e, &l->table, hash)
    {
        struct lost_topic *t = WF_CONTAINER(e, struct lost_topic, in_table);
        if (t->size == topic.size && memcmp(t->topic, topic.data, topic.size) == 0) return t;
    }
    return NULL;
}

/* NULL: there are too many, or there is no memory. */
static struct lost_topic *add(struct wf_lost_topics *l, weft_text topic, uint32_t hash)
{
    struct lost_topic *t = l->table.count < LOST_TOPICS_MAX ? malloc(sizeof *t + topic.size) : NULL;
    if (t == NULL) return NULL;
    if (!wf_hash_table_add(&l->table, &t->in_table, hash)) {
        free(t);
        return NULL;
    }
    t->lost = 0;
    t->size = (uint32_t)topic.size;
    memcpy(t->topic, topic.data, topic.size);
    t->on_list = (struct wf_list_node){0};
    wf_list_push(&l->list, &t->on_list);
    return t;
}

void wf_lost_topics_note(struct wf_worker *to, weft_text topic)
{
    const struct wf_actors *there = wf_actors_of(to);
    struct wf_lost_topics *l = notes_of(there);
    const uint32_t hash = wf_hash(topic.data, topic.size, there->secret);
    pf_mutex_lock(l->lock);
    struct lost_topic *t = find(l, topic, hash);
    if (t == NULL) t = add(l, topic, hash);
    if (t != NULL) t->lost++;
    else l->others++;
    const bool call = !l->called;
    l->called = true;
    pf_mutex_unlock(l->lock);
    if (call) wf_worker_when_space(to, &l->call);
}

static struct lost_topic *take_oldest(struct wf_lost_topics *l)
{
    pf_mutex_lock(l->lock);
    struct wf_list_node *k = wf_list_pop(&l->list);
    struct lost_topic *t = k == NULL ? NULL : WF_CONTAINER(k, struct lost_topic, on_list);
    if (t != NULL) wf_hash_table_remove(&l->table, &t->in_table);
    pf_mutex_unlock(l->lock);
    return t;
}

/* Whether there is nothing more to notify of; then the next note calls again. */
static bool is_done(struct wf_lost_topics *l)
{
    pf_mutex_lock(l->lock);
    if (l->pending == 0) {
        l->pending = l->others;
        l->others = 0;
    }
    l->called = l->pending > 0 || !wf_list_empty(&l->list);
    const bool done = !l->called;
    pf_mutex_unlock(l->lock);
    return done;
}

static void miss_one(struct wf_subscriber *s, void *arg)
{
    wf_subscription_missed(WF_CONTAINER(s, struct wf_subscription, subscriber), *(const uint64_t *)arg);
}

/* Does as much as belongs into one turn, and comes again for the rest. */
static void notify_subscribers(struct wf_worker *w, struct wf_call *c)
{
    struct wf_actors *wa = wf_actors_of(w);
    struct wf_lost_topics *l = WF_CONTAINER(c, struct wf_lost_topics, call);
    for (struct lost_topic *t; !wf_worker_is_spent(w) && (t = take_oldest(l)) != NULL; free(t)) {
        const size_t notified = wf_trie_match(&wa->topics, weft_str(t->topic, t->size), miss_one, &t->lost);
        wf_worker_charge(w, (uint32_t)notified + WF_ENTRY_WORK);
    }
    for (; l->pending > 0 && !wf_worker_is_spent(w); wf_worker_charge(w, 1)) {
        struct wf_slot *slot = wf_slab_at(&wa->subscription_slab, l->at);
        if (slot == NULL) {
            l->pending = l->at = 0;
        } else {
            if (wf_slot_is_taken(slot)) wf_subscription_missed((struct wf_subscription *)slot, l->pending);
            l->at++;
        }
    }
    if (!is_done(l)) wf_worker_when_space(w, c);
}

int wf_lost_topics_init(struct wf_actors *wa)
{
    struct wf_lost_topics *l = notes_of(wa);
    l->call.call = notify_subscribers;
    wf_list_init(&l->list);
    return pf_mutex_create(&l->lock);
}

void wf_lost_topics_finish(struct wf_actors *wa)
{
    struct wf_lost_topics *l = notes_of(wa);
    if (l->lock != NULL) {
        for (struct lost_topic *t; (t = take_oldest(l)) != NULL;) free(t);
    }
    wf_hash_table_finish(&l->table);
    pf_mutex_destroy(l->lock);
}

/* actors/topic_wide.c -- see topic_wide.h.
 *
 * Design notes.
 * (1) Queue groups are in one trie for the node, under one lock: a choice between members on different workers must
 *     be made once. Who publishes on a node without them reads one counter and takes no lock. Subscribers that are
 *     waited for are in their worker's trie, and here only to be found by publishers on other workers, which look
 *     when one of these workers says that somebody there is full.
 * (2) A group's members are in a circle: whoever is chosen goes to its end. Members without room are passed over and
 *     keep their turn.
 * (3) A new subscriber is in the table, or in its worker's trie, before it reads what is retained; a publisher
 *     retains a message before it looks for subscribers. The lock puts the two in order: what is retained before the
 *     reading has a number up to the one read, and copies of it that still come are skipped; what is retained after
 *     it finds the subscriber. So nothing is lost and nothing comes twice, whatever the workers do meanwhile.
 * (4) The counter is written under the lock. A publisher that reads an old value published before the subscribe
 *     returned, or was not told of it by anybody: both are races without a promise. */
#include "topic_wide.h"

#include "platform.h"

#include <stdlib.h>
#include <string.h>

struct wf_topics {
    pf_mutex *lock;
    struct wf_trie trie;    /* of queue groups: wf_wide.subscriber */
    struct wf_trie awaited; /* of those that are waited for */
    _Atomic uint32_t count; /* of groups: relaxed, see note (4) */
    struct wf_retained_table retained;
};

struct wf_wide {
    struct wf_subscriber subscriber;
    struct wf_list members; /* wf_wide_member.on_wide; whose turn it is comes first */
    int64_t wait;
    char queue[WF_QUEUE_MAX + 1]; /* "": a subscriber on its own */
};

int wf_topics_create(struct wf_topics **out, uint32_t retained_max, size_t retained_bytes_max)
{
    struct wf_topics *t = calloc(1, sizeof *t);
    int rc = t == NULL ? WEFT_ENOMEM : pf_mutex_create(&t->lock);
    if (rc < 0) {
        free(t);
        return rc;
    }
    wf_trie_init(&t->trie);
    wf_trie_init(&t->awaited);
    wf_retained_init(&t->retained, retained_max, retained_bytes_max);
    *out = t;
    return WEFT_OK;
}

void wf_topics_destroy(struct wf_topics *t)
{
    if (t == NULL) return;
    WF_ASSERT(t->trie.subscribers == 0 && t->awaited.subscribers == 0); /* actors leave before they end */
    wf_trie_finish(&t->trie);
    wf_trie_finish(&t->awaited);
    wf_retained_finish(&t->retained);
    pf_mutex_destroy(t->lock);
    free(t);
}

bool wf_wide_any(const struct wf_topics *t)
{
    return atomic_load_explicit(&t->count, memory_order_relaxed) > 0;
}

static struct wf_wide *find(const struct wf_topics *t, weft_text pattern, const char *queue)
{
    struct wf_subscriber *s = wf_trie_find(&t->trie, pattern);
    for (; s != NULL; s = wf_trie_next(s)) {
        struct wf_wide *wide = WF_CONTAINER(s, struct wf_wide, subscriber);
        if (strcmp(wide->queue, queue) == 0) return wide;
    }
    return NULL;
}

static struct wf_trie *trie_of(struct wf_topics *t, const struct wf_wide *wide)
{
    return wide->queue[0] == 0 ? &t->awaited : &t->trie;
}

static void count_groups(struct wf_topics *t)
{
    atomic_store_explicit(&t->count, (uint32_t)t->trie.subscribers, memory_order_relaxed);
}

/* Under the lock. */
static struct wf_wide *make(struct wf_topics *t, weft_text pattern, const char *queue, int64_t wait)
{
    struct wf_wide *wide = calloc(1, sizeof *wide);
    if (wide == NULL) return NULL;
    wf_list_init(&wide->members);
    wide->wait = wait;
    if (queue != NULL) memcpy(wide->queue, queue, strlen(queue));
    if (wf_trie_add(trie_of(t, wide), pattern, &wide->subscriber) < 0) {
        free(wide);
        return NULL;
    }
    count_groups(t);
    return wide;
}

int wf_wide_add(struct wf_topics *t, weft_text pattern, const char *queue, int64_t wait, struct wf_wide_member *m)
{
    pf_mutex_lock(t->lock);
    struct wf_wide *wide = queue == NULL ? NULL : find(t, pattern, queue);
    if (wide == NULL) wide = make(t, pattern, queue, wait);
    if (wide != NULL) {
        m->wide = wide;
        wf_list_push(&wide->members, &m->on_wide);
    }
    pf_mutex_unlock(t->lock);
    return wide == NULL ? WEFT_ENOMEM : WEFT_OK;
}

void wf_wide_remove(struct wf_topics *t, struct wf_wide_member *m, char pattern[WF_TOPIC_MAX + 1])
{
    struct wf_wide *wide = m->wide;
    pf_mutex_lock(t->lock);
    (void)wf_trie_pattern(&wide->subscriber, pattern);
    wf_unlink(&m->on_wide);
    m->wide = NULL;
    if (wf_list_empty(&wide->members)) {
        wf_trie_remove(trie_of(t, wide), &wide->subscriber);
        count_groups(t);
        free(wide);
    }
    pf_mutex_unlock(t->lock);
}

weft_text wf_wide_pattern(struct wf_topics *t, const struct wf_wide_member *m, char out[WF_TOPIC_MAX + 1])
{
    pf_mutex_lock(t->lock);
    weft_text pattern = wf_trie_pattern(&m->wide->subscriber, out);
    pf_mutex_unlock(t->lock);
    return pattern;
}

static void choose(struct wf_subscriber *s, void *arg)
{
    const struct wf_wide_ask *ask = arg;
    struct wf_wide *wide = WF_CONTAINER(s, struct wf_wide, subscriber);
    WF_LIST_EACH(k, &wide->members) {
        struct wf_wide_member *m = WF_CONTAINER(k, struct wf_wide_member, on_wide);
        if (!ask->room(m->actor, ask->arg)) continue;
        wf_unlink(k);
        wf_list_push(&wide->members, k);
        ask->take(m, ask->arg);
        return;
    }
    ask->take(NULL, ask->arg);
}

void wf_wide_choose(struct wf_topics *t, weft_text topic, const struct wf_wide_ask *ask)
{
    pf_mutex_lock(t->lock);
    wf_trie_match(&t->trie, topic, choose, (void *)(uintptr_t)ask);
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
    struct wf_wide *wide = WF_CONTAINER(s, struct wf_wide, subscriber);
    struct wf_wide_member *m = WF_CONTAINER(wf_list_first(&wide->members), struct wf_wide_member, on_wide);
    if (!l->blocked(m->actor, l->arg)) return;
    l->found = m->actor;
    l->wait = WF_MAX(l->wait, wide->wait);
}

uint64_t wf_wide_blocked(struct wf_topics *t, weft_text topic, bool (*blocked)(uint64_t actor, void *arg), void *arg,
                         int64_t *wait)
{
    struct looking l = {blocked, arg, 0, 0};
    pf_mutex_lock(t->lock);
    wf_trie_match(&t->awaited, topic, look, &l);
    pf_mutex_unlock(t->lock);
    *wait = l.wait;
    return l.found;
}

/* ---- Retained -------------------------------------------------------------------------------------------------- */

int wf_topics_retain(struct wf_topics *t, struct wf_worker *w, struct wf_body *body, uint32_t tag, weft_pid from)
{
    struct wf_body *old;
    pf_mutex_lock(t->lock);
    int rc = wf_retained_put(&t->retained, body, tag, from, &old);
    pf_mutex_unlock(t->lock);
    if (old != NULL) wf_body_drop(w, old);
    return rc;
}

bool wf_topics_clear(struct wf_topics *t, struct wf_worker *w, weft_text topic)
{
    pf_mutex_lock(t->lock);
    struct wf_body *old = wf_retained_clear(&t->retained, topic);
    pf_mutex_unlock(t->lock);
    if (old != NULL) wf_body_drop(w, old);
    return old != NULL;
}

uint64_t wf_recall(struct wf_topics *t, weft_text pattern, const struct wf_recall *recall)
{
    pf_mutex_lock(t->lock);
    uint64_t seen = t->retained.last;
    wf_retained_each(&t->retained, pattern, recall->see, recall->arg);
    pf_mutex_unlock(t->lock);
    return seen;
}

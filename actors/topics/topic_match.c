/* actors/topics/topic_match.c -- see topic_match.h. */
#include "topic_match.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

static void give_up(struct wf_actors *wa, struct wf_match *m)
{
    wa->matched -= m->capacity;
    free(m->places);
    m->places = NULL;
    m->count = m->capacity = 0;
}

static void give_up_all(struct wf_actors *wa)
{
    for (int i = 0; i < WF_MATCH_PLACES; i++) give_up(wa, &wa->matches[i]);
}

void wf_match_finish(struct wf_actors *wa)
{
    if (wa->matches == NULL) return;
    give_up_all(wa);
    free(wa->matches);
    wa->matches = NULL;
}

struct making {
    struct wf_actors *wa;
    struct wf_match *m;
    bool failed, sorted;
};

static bool grow(struct making *x)
{
    struct wf_match *m = x->m;
    uint32_t capacity = m->capacity == 0 ? 8 : m->capacity * 2;
    if (x->wa->matched + capacity - m->capacity > 4 * x->wa->topics.subscribers + 64) return false;
    struct wf_match_place *places = realloc(m->places, capacity * sizeof *places);
    if (places == NULL) return false;
    x->wa->matched += capacity - m->capacity;
    m->places = places;
    m->capacity = capacity;
    return true;
}

static struct wf_actor nobody; /* topic_match.h, note (4): it stays as it is, empty */

enum kind { PLAIN, AWAITED, CARE };

static enum kind kind_of(const struct wf_subscription *s)
{
    if (s->more == NULL) return PLAIN;
    return wf_is_awaited(s) ? AWAITED : CARE;
}

/* By actor and kind, then in the order of subscribing, as qsort is not stable. */
static int compare(const void *a, const void *b)
{
    const struct wf_subscription *x = ((const struct wf_match_place *)a)->subscription;
    const struct wf_subscription *y = ((const struct wf_match_place *)b)->subscription;
    if (x->actor != y->actor) return (uintptr_t)x->actor > (uintptr_t)y->actor ? 1 : -1;
    if (kind_of(x) != kind_of(y)) return kind_of(x) > kind_of(y) ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

static void add(struct wf_subscriber *subscriber, void *arg)
{
    struct making *x = arg;
    struct wf_match *m = x->m;
    struct wf_subscription *s = WF_CONTAINER(subscriber, struct wf_subscription, subscriber);
    if (x->failed || (m->count == m->capacity && !grow(x))) {
        x->failed = true;
        return;
    }
    struct wf_match_place place = {kind_of(s) == CARE ? &nobody : s->actor, s};
    if (m->count > 0 && compare(&m->places[m->count - 1], &place) > 0) x->sorted = false;
    m->places[m->count++] = place;
}

static void make_list(struct wf_actors *wa, struct wf_match *m)
{
    struct making x = {.wa = wa, .m = m, .sorted = true};
    if (grow(&x)) wf_trie_match(&wa->topics, weft_str(m->topic, m->size), add, &x);
    else x.failed = true;
    if (x.failed) give_up_all(wa);
    else if (!x.sorted) qsort(m->places, m->count, sizeof *m->places, compare);
}

/* The topic has this place, but no list, or one of before the last change of the trie. */
static __attribute__((noinline)) struct wf_match *renew(struct wf_actors *wa, struct wf_match *m)
{
    if (m->changes == wa->topics.changes) {
        make_list(wa, m);
    } else {
        give_up(wa, m);
        m->changes = wa->topics.changes;
    }
    return m;
}

/* Gives the topic its place. */
static __attribute__((noinline)) struct wf_match *take_place(struct wf_actors *wa, weft_text topic, uint32_t hash,
                                                             int *why)
{
    struct wf_match *m = wa->matches == NULL ? NULL : &wa->matches[hash % WF_MATCH_PLACES];
    *why = wf_topic_check(topic);
    if (*why < 0) return NULL;
    if (m == NULL) {
        wa->matches = calloc(WF_MATCH_PLACES, sizeof *wa->matches);
        if (wa->matches == NULL) return NULL;
        m = &wa->matches[hash % WF_MATCH_PLACES];
    }
    give_up(wa, m);
    m->changes = wa->topics.changes;
    m->number = ++wa->matches_made * WF_MATCH_PLACES + hash % WF_MATCH_PLACES; /* places have different remainders */
    m->no_groups = 0;
    m->hash = hash;
    m->size = (uint32_t)topic.size;
    memcpy(m->topic, topic.data, topic.size);
    return m;
}

struct wf_match *wf_match_find(struct wf_actors *wa, weft_text topic, int *why)
{
    uint32_t hash = wf_hash(topic.data, topic.size, wa->secret);
    struct wf_match *m = wa->matches == NULL ? NULL : &wa->matches[hash % WF_MATCH_PLACES];
    if (WF_UNLIKELY(m == NULL || topic.size == 0 || m->hash != hash || m->size != topic.size ||
                    memcmp(m->topic, topic.data, topic.size) != 0))
        return take_place(wa, topic, hash, why);
    *why = WEFT_OK;
    return WF_LIKELY(m->changes == wa->topics.changes && m->places != NULL) ? m : renew(wa, m);
}

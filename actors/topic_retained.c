/* actors/topic_retained.c -- see topic_retained.h.
 *
 * Design notes.
 * (1) A pattern without wildcards is one look-up. Others go through the list, comparing first what the pattern has
 *     before its first wildcard: subscribing with those costs some nanoseconds for each topic kept.
 *     Topics that were cleared are passed over there.
 * (2) If there is no memory for a larger table its chains just get longer. */
#include "topic_retained.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "names.h"
#include "topic_trie.h"

enum { BUCKETS_AT_FIRST = 16, CLEARED_MAX = 16384 };

static bool is_mark(const struct wf_retained *r)
{
    return r->body == NULL;
}

void wf_retained_init(struct wf_retained_table *t, uint32_t count_max, size_t bytes_max)
{
    memset(t, 0, sizeof *t);
    wf_list_init(&t->order);
    wf_list_init(&t->cleared);
    t->count_max = count_max;
    t->bytes_max = bytes_max;
}

void wf_retained_finish(struct wf_retained_table *t)
{
    WF_LIST_EACH(k, &t->order) {
        struct wf_retained *r = WF_CONTAINER(k, struct wf_retained, in_order);
        WF_ASSERT(!is_mark(r));
        wf_unlink(k);
        wf_unlink(&r->in_cleared);
        wf_body_drop(NULL, r->body);
        free(r);
    }
    free(t->buckets);
    t->buckets = NULL;
    t->bucket_count = t->count = t->cleared_count = 0;
    t->bytes = 0;
}

static size_t weight(const struct wf_body *body)
{
    return sizeof(struct wf_retained) + sizeof *body + body->topic_size + body->size;
}

static uint32_t hash_of(weft_text topic)
{
    return wf_hash(topic.data, topic.size, 0);
}

static struct wf_retained **place_of(const struct wf_retained_table *t, weft_text topic)
{
    uint32_t hash = hash_of(topic);
    struct wf_retained **at = &t->buckets[hash & (t->bucket_count - 1)];
    for (; *at != NULL; at = &(*at)->next) {
        const char *own = wf_body_topic((*at)->body);
        if ((*at)->hash == hash && strncmp(own, topic.data, topic.size) == 0 && own[topic.size] == 0) break;
    }
    return at;
}

static bool grow(struct wf_retained_table *t)
{
    uint32_t count = t->bucket_count == 0 ? BUCKETS_AT_FIRST : t->bucket_count * 2;
    struct wf_retained **bigger = calloc(count, sizeof *bigger);
    if (bigger == NULL) return t->buckets != NULL;
    WF_LIST_EACH(k, &t->order) {
        struct wf_retained *r = WF_CONTAINER(k, struct wf_retained, in_order);
        if (is_mark(r)) continue;
        struct wf_retained **at = &bigger[r->hash & (count - 1)];
        r->next = *at;
        *at = r;
    }
    free(t->buckets);
    t->buckets = bigger;
    t->bucket_count = count;
    return true;
}

/* Out of the lists, and out of what counts. */
static void unlist(struct wf_retained_table *t, struct wf_retained *r)
{
    wf_unlink(&r->in_order);
    if (wf_retained_is_cleared(r)) {
        wf_unlink(&r->in_cleared);
        t->cleared_count--;
    } else {
        t->bytes -= weight(r->body);
        t->count--;
    }
}

/* As if it had never been. */
static struct wf_body *take_out(struct wf_retained_table *t, struct wf_retained *r)
{
    struct wf_body *body = r->body;
    *place_of(t, weft_cstr(wf_body_topic(body))) = r->next;
    unlist(t, r);
    free(r);
    return body;
}

static struct wf_retained *find(const struct wf_retained_table *t, weft_text topic)
{
    return t->bucket_count == 0 ? NULL : *place_of(t, topic);
}

const struct wf_retained *wf_retained_find(const struct wf_retained_table *t, weft_text topic)
{
    const struct wf_retained *r = find(t, topic);
    return r == NULL || wf_retained_is_cleared(r) ? NULL : r;
}

struct wf_body *wf_retained_take(struct wf_retained_table *t, weft_text topic)
{
    struct wf_retained *r = find(t, topic);
    return r == NULL || wf_retained_is_cleared(r) ? NULL : take_out(t, r);
}

uint64_t wf_retained_stamp(struct wf_retained_table *t, int64_t now)
{
    return t->last_stamp = wf_stamp_after(t->last_stamp, now);
}

static bool is_newer(const struct wf_body *body, uint64_t stamp, const struct wf_retained *r)
{
    return stamp != r->stamp ? stamp > r->stamp : body->from.node > r->body->from.node;
}

/* With the body of its topic, but not in the lists yet. NULL: no memory. */
static struct wf_retained *make(struct wf_retained_table *t, struct wf_body *body)
{
    if (t->count + t->cleared_count == t->bucket_count && !grow(t)) return NULL;
    struct wf_retained *r = calloc(1, sizeof *r);
    if (r == NULL) return NULL;
    r->hash = hash_of(weft_cstr(wf_body_topic(body)));
    struct wf_retained **at = &t->buckets[r->hash & (t->bucket_count - 1)];
    r->next = *at;
    *at = r;
    return r;
}

/* Whether `body` has a place instead of `r` (NULL: beside all there is). */
static bool fits(const struct wf_retained_table *t, const struct wf_body *body, const struct wf_retained *r)
{
    bool kept = r != NULL && !wf_retained_is_cleared(r);
    size_t bytes = t->bytes - (kept ? weight(r->body) : 0);
    return body->size == 0 ||
           (weight(body) <= t->bytes_max - WF_MIN(bytes, t->bytes_max) && t->count - kept < t->count_max);
}

/* `r` gets another body, its first one perhaps; returns the one before. */
static struct wf_body *replace(struct wf_retained_table *t, struct wf_retained *r, struct wf_body *body,
                               uint64_t stamp)
{
    struct wf_body *old = r->body;
    if (old != NULL) unlist(t, r);
    r->body = body;
    r->stamp = stamp;
    wf_body_keep(body);
    body->retained = ++t->last;
    wf_list_push(&t->order, &r->in_order);
    if (body->size == 0) {
        wf_list_push(&t->cleared, &r->in_cleared);
        t->cleared_count++;
    } else {
        t->bytes += weight(body);
        t->count++;
    }
    return old;
}

int wf_retained_put(struct wf_retained_table *t, struct wf_body *body, uint64_t stamp, bool copy,
                    struct wf_body **old)
{
    weft_text topic = weft_cstr(wf_body_topic(body));
    struct wf_retained *r = find(t, topic);
    *old = NULL;
    t->last_stamp = WF_MAX(t->last_stamp, stamp);
    if (r != NULL && !is_newer(body, stamp, r))
        return copy && body->from.node == r->body->from.node ? WEFT_EEXIST : 0;
    if (!fits(t, body, r)) {
        if (copy && r != NULL) *old = take_out(t, r);
        return WEFT_EFULL;
    }
    if (r == NULL && (r = make(t, body)) == NULL) return WEFT_ENOMEM;
    *old = replace(t, r, body, stamp);
    if (t->cleared_count <= WF_MIN(t->count_max, (uint32_t)CLEARED_MAX)) return 1;
    r = WF_CONTAINER(wf_list_first(&t->cleared), struct wf_retained, in_cleared);
    wf_body_drop(NULL, take_out(t, r));
    return 1;
}

void wf_retained_mark(struct wf_retained_table *t, struct wf_retained *mark)
{
    WF_ASSERT(is_mark(mark));
    wf_list_push_front(&t->order, &mark->in_order);
}

void wf_retained_after(const struct wf_retained_table *t, const struct wf_retained *mark,
                       bool (*see)(const struct wf_retained *r, void *arg), void *arg)
{
    for (const struct wf_link *k = mark->in_order.next; k != &t->order.head; k = k->next) {
        const struct wf_retained *r = WF_CONTAINER(k, struct wf_retained, in_order);
        if (!is_mark(r) && !see(r, arg)) return;
    }
}

void wf_retained_pass(const struct wf_retained_table *t, struct wf_retained *mark, uint64_t number)
{
    struct wf_link *k = mark->in_order.next;
    for (; k != &t->order.head; k = k->next) {
        const struct wf_retained *r = WF_CONTAINER(k, struct wf_retained, in_order);
        if (!is_mark(r) && r->body->retained > number) break;
    }
    wf_unlink(&mark->in_order);
    wf_list_insert_before(k, &mark->in_order);
}

void wf_retained_each(const struct wf_retained_table *t, weft_text pattern,
                      bool (*see)(const struct wf_retained *r, void *arg), void *arg)
{
    size_t plain = 0;
    while (plain < pattern.size && pattern.data[plain] != '*' && pattern.data[plain] != '>') plain++;
    if (t->count == 0) return;
    if (plain == pattern.size) {
        const struct wf_retained *r = wf_retained_find(t, pattern);
        if (r != NULL) (void)see(r, arg);
        return;
    }
    WF_LIST_EACH(k, &t->order) {
        const struct wf_retained *r = WF_CONTAINER(k, struct wf_retained, in_order);
        if (is_mark(r) || wf_retained_is_cleared(r)) continue;
        const char *topic = wf_body_topic(r->body);
        if (strncmp(topic, pattern.data, plain) != 0 || !wf_pattern_matches(pattern, weft_cstr(topic))) continue;
        if (!see(r, arg)) return;
    }
}

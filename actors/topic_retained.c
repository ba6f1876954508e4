/* actors/topic_retained.c -- see topic_retained.h.
 *
 * Design notes.
 * (1) A pattern without wildcards is one look-up. Others go through the list, comparing first what the pattern has
 *     before its first wildcard: subscribing with those costs some nanoseconds for each topic kept.
 * (2) If there is no memory for a larger table its chains just get longer. */
#include "topic_retained.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "topic_trie.h"

enum { BUCKETS_AT_FIRST = 16 };

void wf_retained_init(struct wf_retained_table *t, uint32_t count_max, size_t bytes_max)
{
    memset(t, 0, sizeof *t);
    wf_list_init(&t->order);
    t->count_max = count_max;
    t->bytes_max = bytes_max;
}

void wf_retained_finish(struct wf_retained_table *t)
{
    WF_LIST_EACH(k, &t->order) {
        struct wf_retained *r = WF_CONTAINER(k, struct wf_retained, in_order);
        wf_unlink(k);
        wf_body_drop(NULL, r->body);
        free(r);
    }
    free(t->buckets);
    t->buckets = NULL;
    t->bucket_count = t->count = 0;
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
        struct wf_retained **at = &bigger[r->hash & (count - 1)];
        r->next = *at;
        *at = r;
    }
    free(t->buckets);
    t->buckets = bigger;
    t->bucket_count = count;
    return true;
}

static struct wf_body *take_out(struct wf_retained_table *t, struct wf_retained **at)
{
    struct wf_retained *r = *at;
    struct wf_body *body = r->body;
    *at = r->next;
    wf_unlink(&r->in_order);
    t->bytes -= weight(body);
    t->count--;
    free(r);
    return body;
}

struct wf_body *wf_retained_clear(struct wf_retained_table *t, weft_text topic)
{
    if (t->count == 0) return NULL;
    struct wf_retained **at = place_of(t, topic);
    return *at == NULL ? NULL : take_out(t, at);
}

static int put_new(struct wf_retained_table *t, weft_text topic, struct wf_retained **out)
{
    if (t->count == t->bucket_count && !grow(t)) return WEFT_ENOMEM;
    struct wf_retained *r = calloc(1, sizeof *r);
    if (r == NULL) return WEFT_ENOMEM;
    r->hash = hash_of(topic);
    struct wf_retained **at = &t->buckets[r->hash & (t->bucket_count - 1)];
    r->next = *at;
    *at = *out = r;
    t->count++;
    return WEFT_OK;
}

int wf_retained_put(struct wf_retained_table *t, struct wf_body *body, uint32_t tag, weft_pid from,
                    struct wf_body **old)
{
    weft_text topic = weft_cstr(wf_body_topic(body));
    *old = NULL;
    if (body->size == 0) {
        *old = wf_retained_clear(t, topic);
        body->retained = ++t->last;
        return WEFT_OK;
    }
    struct wf_retained *r = t->count == 0 ? NULL : *place_of(t, topic);
    size_t bytes = t->bytes - (r == NULL ? 0 : weight(r->body));
    if (weight(body) > t->bytes_max - WF_MIN(bytes, t->bytes_max)) return WEFT_EFULL;
    if (r != NULL) {
        *old = r->body;
        wf_unlink(&r->in_order);
    } else {
        if (t->count >= t->count_max) return WEFT_EFULL;
        int rc = put_new(t, topic, &r);
        if (rc < 0) return rc;
    }
    wf_body_keep(body);
    body->retained = ++t->last;
    r->body = body;
    r->from = from;
    r->tag = tag;
    wf_list_push(&t->order, &r->in_order);
    t->bytes = bytes + weight(body);
    return WEFT_OK;
}

void wf_retained_each(const struct wf_retained_table *t, weft_text pattern,
                      bool (*see)(const struct wf_retained *r, void *arg), void *arg)
{
    size_t plain = 0;
    while (plain < pattern.size && pattern.data[plain] != '*' && pattern.data[plain] != '>') plain++;
    if (t->count == 0) return;
    if (plain == pattern.size) {
        const struct wf_retained *r = *place_of(t, pattern);
        if (r != NULL) (void)see(r, arg);
        return;
    }
    WF_LIST_EACH(k, &t->order) {
        const struct wf_retained *r = WF_CONTAINER(k, struct wf_retained, in_order);
        const char *topic = wf_body_topic(r->body);
        if (strncmp(topic, pattern.data, plain) != 0 || !wf_pattern_matches(pattern, weft_cstr(topic))) continue;
        if (!see(r, arg)) return;
    }
}

/* transport/store/common/topic_set.c -- see topic_set.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <weft/error.h>

#include "hash.h"
#include "topic_set.h"

struct element {
    struct wf_chained in_bucket;
    char topic[];
};

static struct wf_chained **bucket_of(const struct wf_topic_set *s, const char *topic)
{
    return &s->bucket[wf_hash(topic, strlen(topic), s->secret) & (s->buckets - 1)];
}

static struct element *element_of(struct wf_chained *c)
{
    return WF_CONTAINER(c, struct element, in_bucket);
}

static struct element *find(const struct wf_topic_set *s, const char *topic)
{
    for (struct wf_chained *c = s->buckets == 0 ? NULL : *bucket_of(s, topic); c != NULL; c = c->next)
        if (strcmp(element_of(c)->topic, topic) == 0) return element_of(c);
    return NULL;
}

/* There are at most as many elements as buckets. */
static int grow(struct wf_topic_set *s)
{
    if (s->count < s->buckets) return WEFT_OK;
    struct wf_topic_set grown = {.secret = s->secret, .buckets = s->buckets == 0 ? 16 : s->buckets * 2};
    grown.bucket = calloc(grown.buckets, sizeof *grown.bucket);
    if (grown.bucket == NULL) return WEFT_ENOMEM;
    for (size_t i = 0; i < s->buckets; i++)
        for (struct wf_chained *c; (c = s->bucket[i]) != NULL;) {
            wf_chained_remove(c);
            wf_chained_push(bucket_of(&grown, element_of(c)->topic), c);
        }
    free(s->bucket);
    s->bucket = grown.bucket;
    s->buckets = grown.buckets;
    return WEFT_OK;
}

void wf_topic_set_free(struct wf_topic_set *s)
{
    for (size_t i = 0; i < s->buckets; i++)
        for (struct wf_chained *c = s->bucket[i], *next; c != NULL; c = next) {
            next = c->next;
            free(element_of(c));
        }
    free(s->bucket);
}

bool wf_topic_set_has(const struct wf_topic_set *s, const char *topic)
{
    return find(s, topic) != NULL;
}

int wf_topic_set_add(struct wf_topic_set *s, const char *topic)
{
    size_t size = strlen(topic) + 1;
    struct element *e = grow(s) < 0 ? NULL : malloc(sizeof *e + size);
    if (e == NULL) return WEFT_ENOMEM;
    memcpy(e->topic, topic, size);
    wf_chained_push(bucket_of(s, topic), &e->in_bucket);
    s->count++;
    return WEFT_OK;
}

void wf_topic_set_remove(struct wf_topic_set *s, const char *topic)
{
    struct element *e = find(s, topic);
    assert(e != NULL);
    wf_chained_remove(&e->in_bucket);
    free(e);
    s->count--;
}

/* transport/store/server/parked_reads.c -- see parked_reads.h. */
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "parked_reads.h"

/* Those that wait for a record of one topic: one at least. */
struct wf_parked_topic {
    struct wf_chained in_bucket;  /* until it has a record: */
    struct wf_list_node in_woken; /* then it is in this list */
    struct wf_list reads;
    char text[];
};

void wf_parked_reads_init(struct wf_parked_reads *p, uint64_t secret)
{
    p->secret = secret;
    wf_list_init(&p->woken);
}

/* ---- Topics ---------------------------------------------------------------------------------------------------- */

static struct wf_chained **topic_bucket(struct wf_parked_reads *p, const char *topic)
{
    return &p->by_topic[wf_hash(topic, strlen(topic), p->secret) % WF_PARKED_BUCKETS];
}

static struct wf_parked_topic *find_topic(struct wf_parked_reads *p, const char *topic)
{
    for (struct wf_chained *c = *topic_bucket(p, topic); c != NULL; c = c->next) {
        struct wf_parked_topic *t = WF_CONTAINER(c, struct wf_parked_topic, in_bucket);
        if (strcmp(t->text, topic) == 0) return t;
    }
    return NULL;
}

static struct wf_parked_topic *use_topic(struct wf_parked_reads *p, const char *topic)
{
    struct wf_parked_topic *t = find_topic(p, topic);
    const size_t size = strlen(topic) + 1;
    if (t != NULL || (t = calloc(1, sizeof *t + size)) == NULL) return t;
    memcpy(t->text, topic, size);
    wf_list_init(&t->reads);
    wf_chained_push(topic_bucket(p, topic), &t->in_bucket);
    return t;
}

static void release_topic(struct wf_parked_topic *t)
{
    if (!wf_list_empty(&t->reads)) return;
    wf_chained_remove(&t->in_bucket);
    wf_unlink(&t->in_woken);
    free(t);
}

static struct wf_parked_topic *woken_topic(const struct wf_parked_reads *p)
{
    struct wf_list_node *k = wf_list_first(&p->woken);
    return k == NULL ? NULL : WF_CONTAINER(k, struct wf_parked_topic, in_woken);
}

void wf_parked_reads_wake(struct wf_parked_reads *p, const char *topic)
{
    struct wf_parked_topic *t = find_topic(p, topic);
    if (t == NULL) return;
    wf_chained_remove(&t->in_bucket); /* later requests wait for a later record */
    wf_list_push(&p->woken, &t->in_woken);
}

/* ---- Requests -------------------------------------------------------------------------------------------------- */

static struct wf_chained **caller_bucket(struct wf_parked_reads *p, weft_monitor_ref caller)
{
    return &p->by_caller[wf_mix(caller.id) % WF_PARKED_BUCKETS];
}

/* Monitors the caller, and remembers the topic. */
static int begin_waiting(struct wf_parked_reads *p, struct wf_parked_read *r, const char *topic, const weft_msg *ask)
{
    int rc = weft_monitor(weft_from(ask), &r->caller);
    if (rc < 0) return rc;
    r->topic = use_topic(p, topic);
    if (r->topic != NULL) return WEFT_OK;
    (void)weft_demonitor(r->caller);
    return WEFT_ENOMEM;
}

int wf_parked_reads_add(struct wf_parked_reads *p, const char *topic, weft_msg *ask)
{
    if (weft_size(ask) > WF_PARKED_BYTES_MAX) return WEFT_ETOOBIG;
    if (p->count >= WF_PARKED_MAX) return WEFT_EFULL;
    int rc = wf_node_counts_add(&p->of_node, weft_from(ask).node, WF_PARKED_OF_NODE);
    if (rc < 0) return rc;
    struct wf_parked_read *r = calloc(1, sizeof *r);
    rc = r == NULL ? WEFT_ENOMEM : begin_waiting(p, r, topic, ask);
    if (rc < 0) {
        wf_node_counts_remove(&p->of_node, weft_from(ask).node);
        free(r);
        return rc;
    }
    r->ask = ask;
    wf_list_push(&r->topic->reads, &r->of_topic);
    wf_chained_push(caller_bucket(p, r->caller), &r->of_caller);
    p->count++;
    return WEFT_OK;
}

/* Removes it from both lists. Its topic may end with it. */
static weft_msg *take(struct wf_parked_reads *p, struct wf_parked_read *r)
{
    weft_msg *ask = r->ask;
    wf_unlink(&r->of_topic);
    wf_chained_remove(&r->of_caller);
    release_topic(r->topic);
    p->count--;
    wf_node_counts_remove(&p->of_node, weft_from(ask).node);
    free(r);
    return ask;
}

static struct wf_parked_read *first_of(const struct wf_parked_topic *t)
{
    return WF_CONTAINER(wf_list_first(&t->reads), struct wf_parked_read, of_topic);
}

static weft_msg *take_first(struct wf_parked_reads *p, const struct wf_parked_topic *t)
{
    struct wf_parked_read *r = first_of(t);
    (void)weft_demonitor(r->caller);
    return take(p, r);
}

weft_msg *wf_parked_reads_next(struct wf_parked_reads *p)
{
    struct wf_parked_topic *t = woken_topic(p);
    if (t == NULL) return NULL;
    wf_unlink(&t->in_woken);
    wf_list_push(&p->woken, &t->in_woken);
    return take_first(p, t);
}

weft_msg *wf_parked_reads_take(struct wf_parked_reads *p, const char *topic)
{
    const struct wf_parked_topic *t = find_topic(p, topic);
    return t == NULL ? NULL : take_first(p, t);
}

void wf_parked_reads_forget(struct wf_parked_reads *p, weft_monitor_ref caller)
{
    for (struct wf_chained *c = *caller_bucket(p, caller); c != NULL; c = c->next) {
        struct wf_parked_read *r = WF_CONTAINER(c, struct wf_parked_read, of_caller);
        if (r->caller.id != caller.id) continue;
        weft_msg_free(take(p, r));
        return;
    }
}

/* Its messages and monitors end with the actor. It may never have been begun: its file was not opened. */
void wf_parked_reads_free(struct wf_parked_reads *p, struct wf_effort *effort)
{
    for (int i = 0; i < WF_PARKED_BUCKETS; i++)
        while (p->by_caller[i] != NULL) {
            weft_msg_free(take(p, WF_CONTAINER(p->by_caller[i], struct wf_parked_read, of_caller)));
            wf_effort_count(effort, WF_EFFORT_ANSWER);
        }
    wf_node_counts_free(&p->of_node);
}

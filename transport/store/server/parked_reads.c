/* transport/store/server/parked_reads.c -- see parked_reads.h. */
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "parked_reads.h"

static struct wf_chained **topic_bucket(struct wf_parked_reads *p, const char *topic)
{
    return &p->by_topic[wf_hash(topic, strlen(topic), p->secret) % WF_PARKED_BUCKETS];
}

static struct wf_chained **caller_bucket(struct wf_parked_reads *p, weft_monitor_ref caller)
{
    return &p->by_caller[wf_mix(caller.id) % WF_PARKED_BUCKETS];
}

int wf_parked_reads_add(struct wf_parked_reads *p, const char *topic, weft_msg *ask)
{
    if (weft_size(ask) > WF_PARKED_BYTES_MAX) return WEFT_ETOOBIG;
    if (p->count >= WF_PARKED_MAX) return WEFT_EFULL;
    int rc = wf_node_counts_add(&p->of_node, weft_from(ask).node, WF_PARKED_OF_NODE);
    if (rc < 0) return rc;
    struct wf_parked_read *r = calloc(1, sizeof *r);
    rc = r == NULL ? WEFT_ENOMEM : weft_monitor(weft_from(ask), &r->caller);
    if (rc < 0) {
        wf_node_counts_remove(&p->of_node, weft_from(ask).node);
        free(r);
        return rc;
    }
    memcpy(r->topic, topic, strlen(topic) + 1);
    r->ask = ask;
    wf_chained_push(topic_bucket(p, topic), &r->of_topic);
    wf_chained_push(caller_bucket(p, r->caller), &r->of_caller);
    p->count++;
    return WEFT_OK;
}

/* Removes it from both lists. */
static weft_msg *take(struct wf_parked_reads *p, struct wf_parked_read *r)
{
    weft_msg *ask = r->ask;
    wf_chained_remove(&r->of_topic);
    wf_chained_remove(&r->of_caller);
    p->count--;
    wf_node_counts_remove(&p->of_node, weft_from(ask).node);
    free(r);
    return ask;
}

weft_msg *wf_parked_reads_take(struct wf_parked_reads *p, const char *topic)
{
    for (struct wf_chained *c = *topic_bucket(p, topic); c != NULL; c = c->next) {
        struct wf_parked_read *r = WF_CONTAINER(c, struct wf_parked_read, of_topic);
        if (strcmp(r->topic, topic) != 0) continue;
        (void)weft_demonitor(r->caller);
        return take(p, r);
    }
    return NULL;
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

void wf_parked_reads_free(struct wf_parked_reads *p, struct wf_effort *effort)
{
    for (int i = 0; i < WF_PARKED_BUCKETS; i++)
        while (p->by_topic[i] != NULL) {
            weft_msg_free(take(p, WF_CONTAINER(p->by_topic[i], struct wf_parked_read, of_topic)));
            wf_effort_count(effort, WF_EFFORT_ANSWER);
        }
    wf_node_counts_free(&p->of_node);
}

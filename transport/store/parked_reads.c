/* transport/store/parked_reads.c -- see parked_reads.h. */
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "parked_reads.h"

static struct wf_parked_read **of_topic(struct wf_parked_reads *p, const char *topic)
{
    return &p->by_topic[wf_hash(topic, strlen(topic), p->secret) % WF_PARKED_BUCKETS];
}

static struct wf_parked_read **of_caller(struct wf_parked_reads *p, weft_monitor_ref caller)
{
    return &p->by_caller[wf_mix(caller.id) % WF_PARKED_BUCKETS];
}

/* The count of that node, which is added if it has none. NULL: no memory. */
static struct wf_parked_node *count_of(struct wf_parked_reads *p, uint64_t node)
{
    for (size_t i = 0; i < p->nodes; i++)
        if (p->node[i].node == node) return &p->node[i];
    if (p->nodes == p->nodes_max) {
        size_t max = p->nodes_max == 0 ? 16 : p->nodes_max * 2;
        struct wf_parked_node *grown = realloc(p->node, max * sizeof *grown);
        if (grown == NULL) return NULL;
        p->node = grown;
        p->nodes_max = max;
    }
    p->node[p->nodes] = (struct wf_parked_node){.node = node};
    return &p->node[p->nodes++];
}

static void count_down(struct wf_parked_reads *p, uint64_t node)
{
    struct wf_parked_node *n = count_of(p, node); /* it is there */
    if (n != NULL && --n->count == 0) *n = p->node[--p->nodes];
}

int wf_parked_reads_add(struct wf_parked_reads *p, const char *topic, weft_msg *ask)
{
    if (p->count >= WF_PARKED_MAX) return WEFT_EFULL;
    struct wf_parked_node *node = count_of(p, weft_from(ask).node);
    struct wf_parked_read *r = node == NULL ? NULL : calloc(1, sizeof *r);
    int rc = node == NULL || r == NULL ? WEFT_ENOMEM : WEFT_OK;
    if (rc == WEFT_OK && node->count >= WF_PARKED_OF_NODE) rc = WEFT_EFULL;
    if (rc == WEFT_OK) rc = weft_monitor(weft_from(ask), &r->caller);
    if (node != NULL) node->count++;
    if (rc < 0) {
        if (node != NULL) count_down(p, weft_from(ask).node);
        free(r);
        return rc;
    }
    memcpy(r->topic, topic, strlen(topic) + 1);
    r->ask = ask;
    struct wf_parked_read **at = of_topic(p, topic), **other = of_caller(p, r->caller);
    r->next = *at;
    *at = r;
    r->next_of_caller = *other;
    *other = r;
    p->count++;
    return WEFT_OK;
}

/* Takes it off both lists. */
static weft_msg *take(struct wf_parked_reads *p, struct wf_parked_read *r)
{
    struct wf_parked_read **at = of_topic(p, r->topic), **other = of_caller(p, r->caller);
    weft_msg *ask = r->ask;
    while (*at != r) at = &(*at)->next;
    *at = r->next;
    while (*other != r) other = &(*other)->next_of_caller;
    *other = r->next_of_caller;
    p->count--;
    count_down(p, weft_from(ask).node);
    free(r);
    return ask;
}

weft_msg *wf_parked_reads_take(struct wf_parked_reads *p, const char *topic)
{
    struct wf_parked_read *r = *of_topic(p, topic);
    while (r != NULL && strcmp(r->topic, topic) != 0) r = r->next;
    if (r == NULL) return NULL;
    (void)weft_demonitor(r->caller);
    return take(p, r);
}

void wf_parked_reads_forget(struct wf_parked_reads *p, weft_monitor_ref caller)
{
    struct wf_parked_read *r = *of_caller(p, caller);
    while (r != NULL && r->caller.id != caller.id) r = r->next_of_caller;
    if (r != NULL) weft_msg_free(take(p, r));
}

void wf_parked_reads_free(struct wf_parked_reads *p)
{
    for (int i = 0; i < WF_PARKED_BUCKETS; i++)
        while (p->by_topic[i] != NULL) weft_msg_free(take(p, p->by_topic[i]));
    free(p->node);
}

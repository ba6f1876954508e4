/* transport/store/parked_reads.c -- see parked_reads.h. */
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "parked_reads.h"

static struct wf_parked_read **bucket_of(struct wf_parked_reads *p, const char *topic)
{
    return &p->bucket[wf_crc32c(0, topic, strlen(topic)) % WF_PARKED_BUCKETS];
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
    struct wf_parked_read **at = bucket_of(p, topic);
    r->next = *at;
    *at = r;
    p->count++;
    return WEFT_OK;
}

static weft_msg *take(struct wf_parked_reads *p, struct wf_parked_read **at)
{
    struct wf_parked_read *r = *at;
    weft_msg *ask = r->ask;
    *at = r->next;
    p->count--;
    count_down(p, weft_from(ask).node);
    free(r);
    return ask;
}

weft_msg *wf_parked_reads_take(struct wf_parked_reads *p, const char *topic)
{
    struct wf_parked_read **at = bucket_of(p, topic);
    while (*at != NULL && strcmp((*at)->topic, topic) != 0) at = &(*at)->next;
    if (*at == NULL) return NULL;
    (void)weft_demonitor((*at)->caller);
    return take(p, at);
}

void wf_parked_reads_forget(struct wf_parked_reads *p, weft_monitor_ref caller)
{
    for (int i = 0; i < WF_PARKED_BUCKETS; i++) {
        struct wf_parked_read **at = &p->bucket[i];
        while (*at != NULL && (*at)->caller.id != caller.id) at = &(*at)->next;
        if (*at == NULL) continue;
        weft_msg_free(take(p, at));
        return;
    }
}

void wf_parked_reads_free(struct wf_parked_reads *p)
{
    for (int i = 0; i < WF_PARKED_BUCKETS; i++)
        while (p->bucket[i] != NULL) weft_msg_free(take(p, &p->bucket[i]));
    free(p->node);
}

/* actors/inspect/record.c -- what all recorders of a node hold, in one list. */
#include "node.h"

#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
    const struct weft_record *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    if (x->worker != y->worker) return x->worker - y->worker;
    return x->number < y->number ? -1 : 1;
}

/* Appends what worker `w` has; returns how many there are then. */
static size_t read_worker(const struct wf_worker *w, uint64_t node, struct weft_record *out, size_t count)
{
    uint64_t number, next;
    wf_recorder_span(&w->recorder, &number, &next);
    for (; number != next; number++) {
        struct weft_record *r = &out[count];
        if (!wf_recorder_get(&w->recorder, number, r)) continue;
        if (r->actor.node != 0) r->actor.node = node;
        if (r->other.node != 0) r->other.node = node;
        r->worker = (int)w->index;
        count++;
    }
    return count;
}

int64_t weft_record_read(weft_node *node, struct weft_record **out)
{
    size_t capacity = 1, count = 0;
    for (uint32_t i = 0; i < node->workers.count; i++)
        capacity += wf_recorder_capacity(&node->workers.at[i]->recorder);
    struct weft_record *all = malloc(capacity * sizeof *all);
    if (all == NULL) return WEFT_ENOMEM;
    for (uint32_t i = 0; i < node->workers.count; i++) {
        const struct wf_worker *w = node->workers.at[i];
        count = read_worker(w, node->incarnation, all, count);
    }
    qsort(all, count, sizeof *all, by_time);
    *out = all;
    return (int64_t)count;
}

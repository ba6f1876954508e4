/* transport/store/server/node_counts.c -- see node_counts.h. A look-up searches all nodes that have places. */
#include <assert.h>
#include <stdlib.h>

#include <weft/error.h>

#include "node_counts.h"

static size_t find(const struct wf_node_counts *c, uint64_t node)
{
    size_t i = 0;
    while (i < c->nodes && c->of[i].node != node) i++;
    return i;
}

static int add_node(struct wf_node_counts *c, uint64_t node)
{
    if (c->nodes == c->nodes_max) {
        size_t max = c->nodes_max == 0 ? 16 : c->nodes_max * 2;
        struct wf_node_count *grown = realloc(c->of, max * sizeof *grown);
        if (grown == NULL) return WEFT_ENOMEM;
        c->of = grown;
        c->nodes_max = max;
    }
    c->of[c->nodes++] = (struct wf_node_count){.node = node};
    return WEFT_OK;
}

int wf_node_counts_add(struct wf_node_counts *c, uint64_t node, size_t max)
{
    size_t i = find(c, node);
    if (i < c->nodes && c->of[i].count >= max) return WEFT_EFULL;
    if (i == c->nodes && add_node(c, node) < 0) return WEFT_ENOMEM;
    c->of[i].count++;
    return WEFT_OK;
}

void wf_node_counts_remove(struct wf_node_counts *c, uint64_t node)
{
    size_t i = find(c, node);
    assert(i < c->nodes);
    if (--c->of[i].count == 0) c->of[i] = c->of[--c->nodes];
}

void wf_node_counts_free(struct wf_node_counts *c)
{
    free(c->of);
}

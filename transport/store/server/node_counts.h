/* transport/store/server/node_counts.h -- counts the places of a table that each node has, so that one node cannot
 * take all of them. */
#ifndef WF_STORE_NODE_COUNTS_H
#define WF_STORE_NODE_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct wf_node_count {
    uint64_t node;
    size_t count;
};

/* All zero means that it is empty. */
struct wf_node_counts {
    struct wf_node_count *of; /* counts of the nodes that have places */
    size_t nodes, nodes_max;
};

/* Gives the node one more place. WEFT_EFULL: it has `max` of them; WEFT_ENOMEM. */
int wf_node_counts_add(struct wf_node_counts *c, uint64_t node, size_t max);
void wf_node_counts_remove(struct wf_node_counts *c, uint64_t node); /* the node must have a place */
void wf_node_counts_free(struct wf_node_counts *c);

#endif

/* transport/store/node_counts.h -- how many places of a table each node has, so that no node keeps the others out. */
#ifndef WF_STORE_NODE_COUNTS_H
#define WF_STORE_NODE_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct wf_node_count {
    uint64_t node;
    size_t count;
};

/* All zero: empty. */
struct wf_node_counts {
    struct wf_node_count *of; /* of the nodes that have some */
    size_t nodes, nodes_max;
};

/* The node gets one more place. WEFT_EFULL: it has `max` of them; WEFT_ENOMEM. */
int wf_node_counts_add(struct wf_node_counts *c, uint64_t node, size_t max);
void wf_node_counts_remove(struct wf_node_counts *c, uint64_t node); /* which has a place */
void wf_node_counts_free(struct wf_node_counts *c);

#endif

/* transport/cluster/partition.h -- whether this node is in a minority.
 *
 * Design notes.
 * (1) `base` has the expected members: every member that was ever present, except those that have left, and those that
 *     went down while this node was in the majority and no other member of `base` was suspect for longer than any
 *     suspicion lasts. So a minority never comes to believe that it is the whole cluster, however long the partition
 *     lasts.
 * (2) Suspects count as gone here, and so does a node whose link is broken until it has answered through other members:
 *     a minority must know that it is one before the majority gives its nodes up, so that nothing exclusive exists
 *     twice.
 * (3) A node whose link is up and not silent counts as present, whatever other members say. When a partition has
 *     healed, the minority reports nodes of the majority as down. Those nodes refute it at once, and this puts no node
 *     into a minority. */
#ifndef WF_PARTITION_H
#define WF_PARTITION_H

#include "swim.h"
#include "frame.h"

#include <weft/node.h>

struct wf_cluster;

struct wf_base_member {
    uint64_t node;
    char name[WF_NODE_NAME_MAX + 1];
};

struct wf_partition {
    weft_partition policy;
    uint32_t quorum;
    bool ends;           /* the node ends if it stays in a minority: wf_partition_is_final */
    bool few;            /* the node is in a minority */
    bool was_many;       /* it was in a majority once: before that, as the cluster starts, it does not end */
    char text[64];       /* under wf_transport.lock: if `few`, "in a minority: 2 of 5 nodes are there", else "" */
    uint32_t there;      /* present members at the last look */
    int64_t quiet_since; /* since then no member of `base` was suspect or rechecked, nor was `few` true */
    struct wf_base_member *base; /* the expected members: note (1) */
    uint32_t count, capacity;
};

int wf_partition_init(struct wf_cluster *c, const weft_node_options *o); /* after c->swim is made; WEFT_ENOMEM */
void wf_partition_finish(struct wf_partition *p);
/* The member has changed. */
void wf_partition_review(struct wf_partition *p, const struct wf_swim_member *m);
/* Updates `few`; returns whether it has changed. `*again`: when to call it again at the latest. */
bool wf_partition_look(struct wf_partition *p, const struct wf_swim *s, int64_t now, int64_t *again);
/* Whether the node is in a minority even if suspects count as present. */
bool wf_partition_is_final(const struct wf_partition *p, const struct wf_swim *s);
int64_t wf_partition_tick(struct wf_cluster *c, int64_t now);

#endif

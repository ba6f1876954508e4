/* transport/cluster/partition.h -- whether this node is in a minority.
 *
 * Design notes.
 * (1) `base` is who there should be: every member that was ever there, less those that have left, and less those that
 *     went down while this node was on the side of the many, and all was quiet for longer than any suspicion lasts.
 *     So the side of the few can never come to think that it is all there is, however long the cut lasts.
 * (2) To be on the safe side with what is exclusive, suspects count as gone here, and so does a node whose link is
 *     broken until it has answered by way of others: the few should know before the many have given them up.
 * (3) A node whose link is up and not silent is there, whatever is said of it. When a cut has healed the few tell the
 *     many whom they have held for gone. Those refute it at once, and nobody is in a minority for that. */
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
    bool ends;                   /* the node, when it is in a minority for good */
    bool few;                    /* it is in a minority */
    bool was_many;               /* it has ever been in none: a cluster that is not whole yet does not end */
    char text[64];               /* under wf_transport.lock: then "in a minority: 2 of 5 nodes are there", else "" */
    uint32_t there;              /* of them, at the last look */
    int64_t quiet_since;         /* nobody of `base` has been suspect or recheck, and we are many */
    struct wf_base_member *base; /* who there should be: see above */
    uint32_t count, capacity;
};

int wf_partition_init(struct wf_cluster *c, const weft_node_options *o); /* once there is c->swim; WEFT_ENOMEM */
void wf_partition_finish(struct wf_partition *p);
/* The member has changed. */
void wf_partition_review(struct wf_partition *p, const struct wf_swim_member *m);
/* Whether it has changed that this node is in a minority; `*again`: when to look again at the latest. */
bool wf_partition_look(struct wf_partition *p, const struct wf_swim *s, int64_t now, int64_t *again);
/* Also with those that are only suspected it would be in a minority. */
bool wf_partition_is_final(const struct wf_partition *p, const struct wf_swim *s);
int64_t wf_partition_tick(struct wf_cluster *c, int64_t now);

#endif

/* actors/names/copies.h -- what one other node has told of its names, members of groups and queue groups: the copies
 * that this node keeps of them.
 *
 * Design notes.
 * (1) The copies of each table are listed in the order they came, so that they can be taken out in parts, however
 *     many the other nodes have: who lets go of them all at once makes one step of `round`. What has an older mark
 *     than that is over, and stands in front. It is found until it has been taken out, or is set again.
 * (2) `known` and `guest` say which names the other node may not take: names.c (6). */
#ifndef WF_COPIES_H
#define WF_COPIES_H

#include "list.h"

struct wf_copies {
    uint64_t node;
    bool guest;                           /* its claims give way to those of other nodes */
    uint32_t round;                       /* wf_hashed.mark of those that are not over */
    int64_t known;                        /* it has received what this node announced until then; monotonic */
    struct wf_list names, groups, queues; /* of each table, with tables_lock and the table's own held */
};

static inline void wf_copies_init(struct wf_copies *c, uint64_t node)
{
    *c = (struct wf_copies){.node = node, .known = INT64_MIN};
    wf_list_init(&c->names);
    wf_list_init(&c->groups);
    wf_list_init(&c->queues);
}

static inline bool wf_copies_empty(const struct wf_copies *c)
{
    return wf_list_empty(&c->names) && wf_list_empty(&c->groups) && wf_list_empty(&c->queues);
}

#endif

/* actors/names/copies.h -- the copies that this node keeps of another node's names, members of groups and queue
 * groups.
 *
 * Design notes.
 * (1) The copies of each table are in a list in the order in which they came, so that they can be removed in parts,
 *     however many there are: incrementing `round` makes all of them outdated at once. A copy with an older mark than
 *     `round` is outdated, and is at the front of its list. It is still found until it is removed or set again.
 * (2) `known` and `guest` say which names the other node may not take: names.c (6). */
#ifndef WF_COPIES_H
#define WF_COPIES_H

#include "list.h"

struct wf_copies {
    uint64_t node;
    bool guest;                           /* claims of other nodes win against its claims */
    uint32_t round;                       /* wf_hashed.mark of copies that are not outdated */
    int64_t known;                        /* it has received what this node announced until then; monotonic */
    struct wf_list names, groups, queues; /* one for each table; protected by tables_lock and the table's own lock */
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

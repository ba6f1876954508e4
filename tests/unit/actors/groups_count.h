/* tests/unit/actors/groups_count.h -- the number of groups of a node that have members or watchers. */
#ifndef GROUPS_COUNT_H
#define GROUPS_COUNT_H

#include "group_table.h"
#include "platform.h"

/* Any thread may call it. */
static inline size_t groups_count(const weft_node *n)
{
    struct wf_groups *g = wf_groups_of(n);
    if (g == NULL) return 0; /* a node without that feature */
    pf_mutex_lock(g->lock);
    size_t count = g->table.count;
    pf_mutex_unlock(g->lock);
    return count;
}

#endif

/* actors/run/placement.h -- on which worker a new actor lives, for good. */
#ifndef WF_PLACEMENT_H
#define WF_PLACEMENT_H

#include "node.h"
#include "task.h"

/* wf_place, where there may be something to choose. */
struct wf_worker *wf_place_by_choice(weft_node *node, struct wf_worker *from, int wanted, bool *at_once);
/* Chooses the worker of a new actor. `from` is its parent's worker; NULL: it has no parent. Sets `*at_once` if the
 * new actor should be posted to that worker before the turn ends. */
static inline struct wf_worker *wf_place(weft_node *node, struct wf_worker *from, int wanted, bool *at_once)
{
    if (WF_LIKELY(wanted == 0 && from != NULL) && (node->workers.users == 1 || from->index >= node->workers.users))
        return from;
    return wf_place_by_choice(node, from, wanted, at_once);
}

#endif

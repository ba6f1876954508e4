/* actors/run/placement.h -- on which worker a new actor lives, for good. */
#ifndef WF_PLACEMENT_H
#define WF_PLACEMENT_H

#include "task.h"

#include <weft/node.h>

/* Chooses the worker of a new actor. `from` is its parent's worker; NULL: it has no parent. Sets `*at_once` if the
 * new actor should be posted to that worker before the turn ends. */
struct wf_worker *wf_place(weft_node *node, struct wf_worker *from, int wanted, bool *at_once);

#endif

/* actors/core/placement.h -- on which worker a new actor lives, for good. */
#ifndef WF_PLACEMENT_H
#define WF_PLACEMENT_H

#include "task.h"

#include <weft/node.h>

/* The worker of a new actor; `from`: its parent's, NULL: it has none. `*at_once` is set if it should be
 * told before the turn ends. */
struct wf_worker *wf_place(weft_node *node, struct wf_worker *from, int wanted, bool *at_once);

#endif

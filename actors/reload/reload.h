/* actors/reload/reload.h -- lets actors continue with other code: include/weft/reload.h, but without modules.
 *
 * Design notes.
 * (1) A request with WEFT_TAG_RELOAD in the system lane carries the address of the new migrate hook. It never leaves
 *     the node, and only weft can send one.
 * (2) The code and state with which an actor continues are a struct life on its task's list of owned resources, from
 *     weft_hand_over until that body has returned: so it is freed however the actor ends. `handing` is set while one
 *     has not begun yet.
 * (3) The request is answered when the actor continues, not before: an actor that hands over and then ends is not
 *     reported as moved. */
#ifndef WF_RELOAD_H
#define WF_RELOAD_H

#include "actor.h"
#include "actor_list.h"

#include <weft/reload.h>

/* The result for one actor that was asked. */
struct wf_reloaded {
    struct wf_actor_info info;
    bool moved;
    char why[160]; /* not moved */
};
/* [A, W] Asks all actors of this node that trap reloads to go on with the code behind `hook`. `*out` has
 * `*count` entries, perhaps none, and is released with weft_release. WEFT_ETIMEDOUT (they cannot be listed), WEFT_ENOMEM,
 * WEFT_ECANCELED. */
int wf_reload_actors(weft_node *node, weft_migrate *hook, struct wf_reloaded **out, size_t *count, int64_t deadline);

#endif

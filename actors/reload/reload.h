/* actors/reload/reload.h -- actors go on with other code: what include/weft/reload.h says, without knowing of
 * modules.
 *
 * Design notes.
 * (1) A request with WEFT_TAG_RELOAD in the system lane carries the address of the new migrate hook. It never leaves
 *     the node, and nobody else can send one.
 * (2) What an actor goes on as is a struct life on its task's list of owned things, from weft_hand_over until that
 *     body has returned: so it is freed however the actor ends. `handing` says that one waits for its turn.
 * (3) The request is answered when the actor goes on, not before: who hands over and then ends is not said to have
 *     moved. */
#ifndef WF_RELOAD_H
#define WF_RELOAD_H

#include "actor.h"
#include "actor_list.h"

#include <weft/reload.h>

/* What became of one actor that was asked. */
struct wf_reloaded {
    struct wf_actor_info info;
    bool moved;
    char why[160]; /* not moved */
};
/* [A, W] Asks all actors of this node that trap reloads to go on with the code behind `hook`. `*out` is to be freed,
 * `*count` entries, perhaps none. WEFT_ETIMEDOUT (they cannot be listed), WEFT_ENOMEM, WEFT_ECANCELED. */
int wf_reload_actors(weft_node *node, weft_migrate *hook, struct wf_reloaded **out, size_t *count, int64_t deadline);

#endif

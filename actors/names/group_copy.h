/* actors/names/group_copy.h -- members of groups on other nodes. With tables_lock held. */
#ifndef WF_GROUP_COPY_H
#define WF_GROUP_COPY_H

#include "tables.h"

struct wf_inbound;

/* That actor of the node of `from` has joined. 1; 0: it was a member; WEFT_ENOMEM. News go by `in`, like all that
 * follow. */
int wf_groups_put_copy(weft_node *node, struct wf_inbound *in, struct wf_copies *from, weft_text group,
                       uint64_t actor);
/* It has left, or ended. Whether it was a member. */
bool wf_groups_take_copy(weft_node *node, struct wf_inbound *in, struct wf_copies *from, weft_text group,
                         uint64_t actor, bool ended, int reason);
/* Takes out those that are over, as if their node were lost: one, and news of it, for each of `*work`, which becomes
 * less. */
void wf_groups_clear_copies(weft_node *node, struct wf_inbound *in, struct wf_copies *from, uint32_t *work);

#endif

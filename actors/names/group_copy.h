/* actors/names/group_copy.h -- members of groups on other nodes. With tables_lock held. */
#ifndef WF_GROUP_COPY_H
#define WF_GROUP_COPY_H

#include "tables.h"

struct wf_inbound;

/* That actor of the node of `from` has joined. 1; 0: it was a member; WEFT_ENOMEM. Notifications are sent through
 * `in`, as in the next functions. */
int wf_groups_put_copy(weft_node *node, struct wf_inbound *in, struct wf_copies *from, weft_text group,
                       uint64_t actor);
/* That actor has left, or has ended. Returns whether it was a member. */
bool wf_groups_take_copy(weft_node *node, struct wf_inbound *in, struct wf_copies *from, weft_text group,
                         uint64_t actor, bool ended, int reason);
/* Removes outdated copies, as if their node were lost, and notifies watchers. Each copy and each notification
 * subtracts one from `*work`; stops at 0. */
void wf_groups_clear_copies(weft_node *node, struct wf_inbound *in, struct wf_copies *from, uint32_t *work);

#endif

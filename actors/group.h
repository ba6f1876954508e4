/* actors/group.h -- the groups of one node, see include/weft/group.h. Any thread; one lock, held for the length of a
 * change and its news. */
#ifndef WF_GROUP_H
#define WF_GROUP_H

#include "base.h"

struct wf_groups; /* opaque */

int wf_groups_create(struct wf_groups **out); /* WEFT_ENOMEM */
void wf_groups_destroy(struct wf_groups *g);  /* NULL is fine */
size_t wf_groups_count(struct wf_groups *g);  /* that have members or watchers */

#endif

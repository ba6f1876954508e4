/* transport/cluster/members.h -- what a node says of itself. */
#ifndef WF_MEMBERS_H
#define WF_MEMBERS_H

#include "swim_wire.h"

#include <weft/node.h>

struct wf_meta;

int wf_meta_options(struct wf_meta *m, const weft_node_options *o); /* says in the log what is wrong */
struct wf_swim_record wf_meta_record(const struct wf_meta *m);      /* without a name; views into `m` */

#endif

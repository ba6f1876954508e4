/* transport/cluster/members.h -- the metadata that a node publishes about itself. */
#ifndef WF_MEMBERS_H
#define WF_MEMBERS_H

#include "swim_wire.h"

#include <weft/node.h>

struct wf_meta;

/* Whether the option meta takes it alone: "KEY=VALUE". NULL, or what is wrong. */
const char *wf_meta_check(const char *entry);
int wf_meta_options(struct wf_meta *m, const weft_node_options *o); /* on an error the log says what is wrong */
struct wf_swim_record wf_meta_record(const struct wf_meta *m);      /* without a name; its texts point into `m` */

#endif

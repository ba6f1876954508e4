/* transport/cluster/clocks.h -- the clocks of other nodes, beside this one. */
#ifndef WF_CLOCKS_H
#define WF_CLOCKS_H

#include <stdint.h>

struct wf_cluster;
struct wf_transport;

/* What a HELLO says of the other side's clock, before this node's monotonic one; WF_CLOCK_UNKNOWN. */
int64_t wf_clock_ahead(const struct wf_transport *t, uint64_t said);
/* Links have come or gone: what wf_node_wall goes by. */
void wf_clocks_review(struct wf_cluster *c);

#endif

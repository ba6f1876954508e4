/* transport/cluster/clocks.h -- compares the clocks of other nodes with this node's clock. */
#ifndef WF_CLOCKS_H
#define WF_CLOCKS_H

#include <stdint.h>

struct wf_cluster;
struct wf_transport;

/* How far the clock in a HELLO (`said`) is ahead of this node's monotonic clock, in ns; WF_CLOCK_UNKNOWN. */
int64_t wf_clock_ahead(const struct wf_transport *t, uint64_t said);
/* Links have begun or ended: computes the offset that wf_node_wall uses again. */
void wf_clocks_review(struct wf_cluster *c);

#endif

/* transport/cluster/reachable.h -- where a node listens that was not told where. */
#ifndef WF_REACHABLE_H
#define WF_REACHABLE_H

struct wf_channel;
struct wf_cluster;

/* The dial of `ch` has reached somebody: listens where it has reached a seed, then says HELLO. */
void wf_reachable_dialled(struct wf_cluster *c, struct wf_channel *ch);

#endif

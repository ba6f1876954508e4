/* transport/cluster/reachable.h -- where a node listens if its options do not say it. */
#ifndef WF_REACHABLE_H
#define WF_REACHABLE_H

struct wf_channel;
struct wf_cluster;

/* The dial of `ch` has succeeded: if it has reached a seed, begins to listen on that address; then sends HELLO. */
void wf_reachable_dialled(struct wf_cluster *c, struct wf_channel *ch);

#endif

/* transport/cluster/fatal.h -- what keeps this node from being part of the cluster. */
#ifndef WF_FATAL_H
#define WF_FATAL_H

struct wf_transport;

/* This node cannot be part of the cluster (`what`, `why`): logged and told once. */
void wf_cluster_fail(struct wf_transport *t, const char *what, const char *why);

#endif

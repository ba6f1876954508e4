/* transport/link/fatal.h -- errors after which this node cannot be part of the cluster. */
#ifndef WF_FATAL_H
#define WF_FATAL_H

struct wf_transport;

/* This node cannot be part of the cluster (`what`, `why`): logs the first error, and reports it to `notify`. */
void wf_cluster_fail(struct wf_transport *t, const char *what, const char *why);

#endif

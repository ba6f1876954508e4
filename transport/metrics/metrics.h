/* transport/metrics/metrics.h -- what a node says over HTTP: /metrics for Prometheus, /healthz, /readyz, a page
 * at /. */
#ifndef WF_METRICS_H
#define WF_METRICS_H

#include "transport.h"

struct wf_metrics;

/* `address`: "127.0.0.1:9464", or a port of the loopback interface, "9464"; port 0: the kernel chooses. `bound` gets
 * what it is. An error is logged. */
int wf_metrics_start(struct wf_metrics **out, weft_node *node, const char *address, char bound[64]);
/* The node's actors have ended. NULL is fine. */
void wf_metrics_stop(struct wf_metrics *m);

#endif

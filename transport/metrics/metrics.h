/* transport/metrics/metrics.h -- what a node says over HTTP: /metrics for Prometheus, /healthz, /readyz, a page
 * at /.
 *
 * Design notes.
 * (1) Requests come on workers: they go to a queue, and $metrics is woken by an event. It asks the workers
 *     (node_stats.h) and writes the text; nothing is counted for its sake. Idle, it costs nothing.
 * (2) What comes before $metrics has begun waits for it. The queue is bounded: what comes while $metrics is behind is
 *     refused at once. If its own worker is stuck nobody answers, which is what a probe with a time limit takes for
 *     sick.
 * (3) $metrics is a service: it answers until all actors of users have ended, and says that it is not ready by then.
 *     Its last deed is to answer what is queued; what comes after it is refused. */
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

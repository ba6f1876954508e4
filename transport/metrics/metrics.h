/* transport/metrics/metrics.h -- the HTTP service of a node: /metrics for Prometheus, /healthz, /readyz, a page
 * at /.
 *
 * Design notes.
 * (1) Requests come on workers: they go to a queue, and $metrics is woken by an event. It asks the workers
 *     (node_stats.h) and writes the text. Nothing is counted only for $metrics, so it costs nothing while it is idle.
 * (2) Requests that come before $metrics has begun wait for it. The queue is bounded: if it is full, requests are
 *     refused at once. If the worker of $metrics is blocked there is no answer, which a probe with a time limit takes
 *     as a failure.
 * (3) $metrics is a service: it answers until all actors of users have ended, and says then that it is not ready. At
 *     its end it answers the queued requests; later ones are refused. */
#ifndef WF_METRICS_H
#define WF_METRICS_H

#include "transport.h"

struct wf_metrics;

/* `address`: "127.0.0.1:9464", or a port of the loopback interface, "9464"; port 0: the kernel chooses. `bound` gets
 * the real address. An error is logged. */
int wf_metrics_start(struct wf_metrics **out, weft_node *node, const char *address, char bound[64]);
/* The node's actors have ended. NULL is fine. */
void wf_metrics_stop(struct wf_metrics *m);

#endif

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

/* The text of /metrics, for tests too. `answers`: after how long workers came to what they were asked. `*out` is
 * malloc'ed and ends with a NUL. WEFT_ENOMEM. */
struct wf_tally;
struct wf_histogram;
int wf_metrics_text(const struct wf_transport *t, const struct wf_tally *tally, const struct wf_histogram *answers,
                    char **out);

#endif

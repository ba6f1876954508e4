/* transport/metrics/metrics_text.h -- the text of /metrics. */
#ifndef WF_METRICS_TEXT_H
#define WF_METRICS_TEXT_H

struct wf_histogram;
struct wf_node_stats;
struct wf_transport;

/* The text of /metrics, also for tests. `answers`: times until workers handled a question. `*out` is malloc'ed and ends
 * with a NUL. WEFT_ENOMEM. */
int wf_metrics_text(const struct wf_transport *t, const struct wf_node_stats *stats,
                    const struct wf_histogram *answers, char **out);

#endif

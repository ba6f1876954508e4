/* transport/store/readers/store_metrics.h -- the actor that counts the jobs, records and cursors of the store for
 * /metrics. */
#ifndef WF_STORE_METRICS_H
#define WF_STORE_METRICS_H

#include <stddef.h>

enum { WF_STORE_METRICS_LABELS = 100 }; /* queues, topics and cursors that get a label; the others are summed */

/* A weft_actor; its argument is the number of a struct wf_store_file, of which it takes a share. It ends with
 * WF_STORE_QUIT. */
void wf_store_metrics(const void *arg, size_t size);

#endif

/* transport/metrics/metrics_rows.h -- actors that add text of their own to /metrics. So a library beside libweft, such
 * as libweft-store, is seen there, and libweft does not know it. */
#ifndef WF_METRICS_ROWS_H
#define WF_METRICS_ROWS_H

#include <weft/api.h>

enum {
    WF_METRICS_ROWS_MAX = 8,               /* of one node */
    WF_METRICS_ROW_BYTES_MAX = 512 * 1024, /* of one answer; a larger one is left out */
    WF_METRICS_ASK = 1,                    /* a request without a body */
};

/* [A] From now on the calling actor gets a request WF_METRICS_ASK at each scrape. It answers within a second, with
 * text in the format of Prometheus that ends with a newline, and with bounded labels; else its text is left out. The
 * row goes with its actor. Without --metrics nobody asks. WEFT_EFULL. */
WEFT_API WEFT_CHECKED int wf_metrics_row_add(void);

struct wf_transport;
/* [A, W] Of $metrics: asks all of them, and appends their text to `*text`, which is malloc'ed. */
void wf_metrics_rows_append(struct wf_transport *t, char **text);

#endif

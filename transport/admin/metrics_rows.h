/* transport/admin/metrics_rows.h -- actors that add text of their own to /metrics, and queues to TOP. So a library
 * beside libweft, such as libweft-store, is seen there, and libweft does not know it. */
#ifndef WF_METRICS_ROWS_H
#define WF_METRICS_ROWS_H

#include <weft/api.h>
#include <weft/message.h>

enum {
    WF_METRICS_ROWS_MAX = 8,               /* of one node */
    WF_METRICS_ROW_BYTES_MAX = 512 * 1024, /* of one answer; a larger one is left out */
    WF_METRICS_ASK = 1,                    /* a request without a body */
    WF_METRICS_QUEUES = 2, /* the same; the answer is the array "queues" of TOP (docs/wire.md), in msgpack */
};

/* [A] From now on the calling actor gets a request WF_METRICS_ASK at each scrape. It answers within a second, with
 * text in the format of Prometheus that ends with a newline, and with bounded labels; else its text is left out.
 * Without --metrics nobody asks for that. It gets WF_METRICS_QUEUES when `weft top` asks the node, and frees it if
 * it has no queues. The row goes with its actor. WEFT_EFULL. */
WEFT_API WEFT_CHECKED int wf_metrics_row_add(void);

struct wf_transport;
/* [A, W] Of $metrics: asks all of them, and appends their text to `*text`, which is malloc'ed. */
void wf_metrics_rows_append(struct wf_transport *t, char **text);
/* [A, W] Asks for queues. Returns the first answer, which the caller frees; NULL: there are none. */
weft_msg *wf_metrics_queues(struct wf_transport *t);

#endif

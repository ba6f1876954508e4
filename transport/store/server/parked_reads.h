/* transport/store/server/parked_reads.h -- requests to read that wait for the next record: one for each subscription
 * that has reached the end of its log. */
#ifndef WF_PARKED_READS_H
#define WF_PARKED_READS_H

#include <weft/message.h>
#include <weft/monitor.h>

#include "bucket.h"
#include "effort.h"
#include "engine.h"
#include "node_counts.h"

enum {
    WF_PARKED_MAX = 100 * 1000,
    WF_PARKED_OF_NODE = 20 * 1000, /* requests of one node, so that one node cannot take all places */
    WF_PARKED_BYTES_MAX = 1024,    /* bytes of one request */
    WF_PARKED_BUCKETS = 16 * 1024,
};

struct wf_parked_read {
    weft_msg *ask;
    weft_monitor_ref caller; /* the request of an actor that has ended is freed */
    char topic[WF_STORE_TOPIC_MAX + 1];
    struct wf_chained of_topic, of_caller; /* in buckets */
};

struct wf_parked_reads {
    struct wf_chained *by_topic[WF_PARKED_BUCKETS], *by_caller[WF_PARKED_BUCKETS];
    uint64_t secret; /* the store's key for hashes, because readers choose the topics */
    size_t count;
    struct wf_node_counts of_node;
};

/* Keeps the request. After an error the caller still owns it: WEFT_EFULL, WEFT_ETOOBIG, WEFT_ENOMEM. */
int wf_parked_reads_add(struct wf_parked_reads *p, const char *topic, weft_msg *ask);
/* Takes one of the requests for that topic; NULL: there is none. */
weft_msg *wf_parked_reads_take(struct wf_parked_reads *p, const char *topic);
/* Frees the requests of the caller with this monitor, which has ended. */
void wf_parked_reads_forget(struct wf_parked_reads *p, weft_monitor_ref caller);
void wf_parked_reads_free(struct wf_parked_reads *p, struct wf_effort *effort); /* [A, W] */

#endif

/* transport/store/parked_reads.h -- requests to read that wait until there is something to read: one for each
 * subscription that has got to the end of its log. */
#ifndef WF_PARKED_READS_H
#define WF_PARKED_READS_H

#include <weft/message.h>
#include <weft/monitor.h>

#include "bucket.h"
#include "engine.h"
#include "node_counts.h"

enum {
    WF_PARKED_MAX = 100 * 1000,
    WF_PARKED_OF_NODE = 20 * 1000, /* those of one node, so that no node keeps others out */
    WF_PARKED_BYTES_MAX = 1024,    /* of one request */
    WF_PARKED_BUCKETS = 16 * 1024,
};

struct wf_parked_read {
    weft_msg *ask;
    weft_monitor_ref caller; /* a request of an actor that has ended is let go */
    char topic[WF_STORE_TOPIC_MAX + 1];
    struct wf_chained of_topic, of_caller; /* in buckets */
};

struct wf_parked_reads {
    struct wf_chained *by_topic[WF_PARKED_BUCKETS], *by_caller[WF_PARKED_BUCKETS];
    uint64_t secret; /* of the hash, as readers choose the topics: that of the store */
    size_t count;
    struct wf_node_counts of_node;
};

/* Keeps the request. Errors, after which it is still the caller's: WEFT_EFULL, WEFT_ETOOBIG,
 * WEFT_ENOMEM. */
int wf_parked_reads_add(struct wf_parked_reads *p, const char *topic, weft_msg *ask);
/* Takes one of the requests for that topic; NULL: there is none. */
weft_msg *wf_parked_reads_take(struct wf_parked_reads *p, const char *topic);
/* The caller of this monitor has ended. */
void wf_parked_reads_forget(struct wf_parked_reads *p, weft_monitor_ref caller);
void wf_parked_reads_free(struct wf_parked_reads *p);

#endif

/* transport/store/server/parked_reads.h -- requests to read that wait for the next record: one for each subscription
 * that has reached the end of its log. */
#ifndef WF_PARKED_READS_H
#define WF_PARKED_READS_H

#include <weft/message.h>
#include <weft/monitor.h>

#include "bucket.h"
#include "effort.h"
#include "engine.h"
#include "list.h"
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
    struct wf_parked_topic *topic;
    struct wf_list_node of_topic; /* wf_parked_topic.reads */
    struct wf_chained of_caller;  /* in a bucket */
};

struct wf_parked_reads {
    struct wf_chained *by_topic[WF_PARKED_BUCKETS], *by_caller[WF_PARKED_BUCKETS];
    struct wf_list
        woken;       /* topics that have a record, for whose readers wf_parked_reads_next has not been called yet */
    uint64_t secret; /* the store's key for hashes, because readers choose the topics */
    size_t count;
    struct wf_node_counts of_node;
};

void wf_parked_reads_init(struct wf_parked_reads *p, uint64_t secret); /* `p` is all zero */
/* Keeps the request. After an error the caller still owns it: WEFT_EFULL, WEFT_ETOOBIG, WEFT_ENOMEM. */
int wf_parked_reads_add(struct wf_parked_reads *p, const char *topic, weft_msg *ask);
/* The topic has a record: from now on wf_parked_reads_next returns the requests that wait for it. This costs the same however
 * many there are. */
void wf_parked_reads_wake(struct wf_parked_reads *p, const char *topic);
/* Takes one of the requests whose topics have a record, of each topic in turn; NULL: there is none. */
weft_msg *wf_parked_reads_next(struct wf_parked_reads *p);
/* Takes one of the requests for that topic; NULL: there is none. */
weft_msg *wf_parked_reads_take(struct wf_parked_reads *p, const char *topic);
/* Frees the requests of the caller with this monitor, which has ended. */
void wf_parked_reads_forget(struct wf_parked_reads *p, weft_monitor_ref caller);
void wf_parked_reads_free(struct wf_parked_reads *p, struct wf_effort *effort); /* [A, W] */

#endif

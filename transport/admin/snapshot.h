/* transport/admin/snapshot.h -- the figures of a node at one moment: the node, its workers, its links, its drop
 * counters, and some of its actors. `weft top`, the page at / and /metrics show them. Counters are totals: the reader
 * computes rates from two snapshots. */
#ifndef WF_SNAPSHOT_H
#define WF_SNAPSHOT_H

#include "cluster.h"
#include "node_stats.h"
#include "peers.h"

enum { WF_LINKS_SHOWN = 100 };

struct wf_link_seen {
    uint64_t incarnation;
    char peer[WF_NODE_NAME_MAX + 1];
    const char *state; /* "connecting", "up", "down", "suspect", "left" */
    bool linked;       /* if not, the following members are 0 */
    int64_t round_trip;
    uint64_t bytes_in, bytes_out, frames_in, frames_out, resumes, refused, backlog, unacked;
    /* Credit: how many of its actors are sent to from here, how many of these grant no credit at the moment, and how
     * many senders here wait for credit, or for space in the send queue. */
    uint64_t receivers, withheld, waiting;
};

/* Other nodes, at most WF_LINKS_SHOWN, without the last three; `states`: how many there are, by wf_peer_state. */
uint32_t wf_links_seen(const struct wf_transport *t, struct wf_link_seen *links, uint64_t states[WF_PEER_STATES]);

struct wf_snapshot {
    struct wf_transport *t;
    int64_t at; /* on the node's clock */
    struct pf_usage usage;
    struct wf_node_stats stats;
    struct wf_top_actors top;
    uint32_t link_count;
    struct wf_link_seen link[WF_LINKS_SHOWN];
    struct wf_ways *ways; /* only used while it looks */
    weft_msg *queues;     /* an array in msgpack: "queues" of TOP; NULL: the node has no store */
};

/* [A] Fills in `s`, which must be zeroed before, and cleared afterwards, also after an error. A worker that does not
 * answer within two seconds is left out (wf_node_stats_worker.counted). WEFT_ENOMEM, and others of
 * wf_node_stats_top. */
int wf_snapshot_take(struct wf_snapshot *s, struct wf_transport *t, const struct wf_top_want *want);
/* The answer to STUCK of docs/wire.md: which actors hold workers up. No worker has to answer for it (stuck.h). `data`
 * is not used. */
void wf_put_stuck(weft_writer *w, const struct wf_transport *t, const void *data);
/* Writes one map, as TOP of docs/wire.md describes it. */
void wf_snapshot_put(weft_writer *w, const struct wf_snapshot *s);
/* A clean-up: frees what it holds. */
void wf_snapshot_clear(void *snapshot);

#endif

/* transport/link/transport.h -- all of a node that talks to others: what the files of this folder share.
 *
 * Design notes.
 * (1) A channel is one connection to another node, from on_up to on_down. A link is between two nodes,
 *     that is between two incarnations: it outlives its channels. A new channel begins with the handshake, which ends
 *     with "up": then it carries a link, a new one or one whose channel was lost. Each worker has a writer to a
 *     link.
 * (2) Three kinds of threads meet here. Workers encode into the batch of a writer, which is theirs alone. The
 *     carrier's threads decode what comes and take batches from the send queue. The actor $cluster decides
 *     everything: handshakes, dialling, heartbeats, who is told. It hands its decisions to the workers as posted
 *     calls (writer opened, writer closed, interest changed), so that no worker ever takes a lock to find a peer.
 * (3) Both say HELLO, then the node with the higher incarnation says WELCOME if it agrees, then the other one: its
 *     WELCOME makes the channel the link's, and it refuses others. So two that dial each other at once agree without
 *     a race, and no message is ever sent on a connection that is then dropped as a duplicate.
 * (4) Receiving goes on in one channel of a link at a time: the next one is attached when on_down of the one
 *     before it has come.
 * (5) Locks: wf_transport.patterns_turn (topics.h), wf_transport.lock (events, tables, what a channel says in its
 *     handshake; short) and wf_link.lock (send queue), in this order if several. No call into the carrier under the
 *     last two. */
#ifndef WF_TRANSPORT_H
#define WF_TRANSPORT_H

#include "burst.h"
#include "carrier.h"
#include "frame.h"
#include "inbound.h"
#include "peer_limits.h"
#include "list.h"
#include "node.h"
#include "patterns.h"
#include "seal.h"
#include "swim_wire.h"

#include <weft/event.h>
#include <weft/log.h>
#include <weft/reload.h>

/* What is read is decoded and received while the core's cache still holds it: docs/performance.md. At least: a batch
 * of its own for a body that is not copied (first_batch) is smaller, and so is never taken for one to use again. */
#define WF_BATCH_BYTES WF_LIMIT("link: bytes of a batch", 32 * 1024, 1024)
/* Of one carrier message, unless one batch is larger. */
#define WF_SEND_BYTES WF_LIMIT("link: bytes of a carrier message", 64 * 1024, 1)
/* Then WEFT_EFULL; at half of it those who wait for space are woken. At least: what a link carries within a round trip,
 * or senders wait for longer than their time-out, and publications, which do not wait, are lost. */
#define WF_SEND_QUEUE_MAX WF_LIMIT("link: bytes of the send queue", 16 * 1024 * 1024, 256 * 1024)
#define WF_SEND_QUEUE_LOW (WF_SEND_QUEUE_MAX / 2)
/* So many received bytes are acknowledged at once, and so many with whatever is sent next. */
#define WF_ACK_BYTES WF_LIMIT("link: received bytes that are acknowledged", 128 * 1024, 1)
#define WF_ACK_ALONG WF_LIMIT("link: received bytes that are acknowledged along", 8 * 1024, 1)
/* A body of so many bytes is not copied: it is sent from where it is, and for that it is in no block of a pool. */
#define WF_APART_BYTES WF_LIMIT("link: bytes of a body that is not copied", 32 * 1024, 1024)
/* Of a longer body so many go at once; then others have their turn. At least: a message of 16 MiB is sent within a
 * sender's time-out also where one chunk in a hundred is late. */
#define WF_CHUNK_BYTES WF_LIMIT("link: bytes of a chunk", 256 * 1024, 32 * 1024)
#define WF_SPARE_BATCHES WF_LIMIT("link: batches kept by a quiet link", 4, 1)
/* Kept by a link that sends: given back by the heap they would be faulted in again. */
#define WF_SPARE_BATCHES_BUSY WF_LIMIT("link: batches kept by a busy link", 256, 1)
#define WF_PATTERNS_IN_FRAME WF_LIMIT("topics: patterns in a frame", 1024, 1)
#define WF_EVENTS_PER_CHANNEL WF_LIMIT("link: events of a channel", 16, 2) /* then its receiving pauses */

enum {
    /* Replies and signals may go beyond WF_SEND_QUEUE_MAX, up to here; then the link is cut. */
    WF_SEND_QUEUE_HARD = 64 * 1024 * 1024,
    WF_BATCH_MAX = 256 * 1024 + WEFT_MESSAGE_MAX + 1024, /* of what a peer may send in one message */
    WF_HEAD_BYTES = 64,                                  /* of what goes before the frames of a carrier message */
    WF_HELD_SLOTS = 256,
    WF_PATTERNS_OLD = 65536, /* that a node without WF_CAN_PATTERNS takes */
    WF_PATTERNS_TOOL = 256,  /* that a tool is told: it seldom publishes */
    WF_PEERS_MAX = 4096,
};

/* Which patterns a link is told of: one that shares the tables of topics hears there of queue groups. */
enum wf_interest_kind { WF_INTEREST_PLAIN, WF_INTEREST_ALL };

/* What a node says of itself. */
struct wf_meta {
    uint32_t count;
    struct {
        char key[WF_SWIM_META_KEY + 1];
        char value[WF_SWIM_META_VALUE + 1];
    } at[WF_SWIM_META_MAX];
};

/* ---- All of a node --------------------------------------------------------------------------------------------- */
struct wf_transport {
    weft_node *node;
    struct wf_carrier *carrier;
    struct wf_seal seal; /* of numbers of requests that stay in the node, as probes are told them */
    pf_mutex *lock;
    pf_cond *changed;        /* `finished`, `barrier`; of a client: what it is linked with, and dials that failed */
    struct wf_list events;   /* wf_cluster_event.in_queue */
    weft_event wake;         /* of $cluster; good once `listening` */
    bool listening;          /* $cluster has opened `wake` */
    bool stopping, finished; /* asked for by weft_node_stop; done by $cluster */
    bool undrained;          /* set before `stopping`: not all actors had ended by themselves */
    bool client;
    weft_pid service, control; /* $cluster, $node; fixed when the node has started */
    weft_pid metrics_row[8]; /* actors that add text to /metrics; under lock, as the next one (metrics_rows.h) */
    uint32_t metrics_rows;
    int64_t stop_by;
    uint32_t barrier;                 /* workers that have not passed it yet */
    struct wf_patterns patterns[2];   /* wf_interest_kind: of this node, counted per worker; under lock */
    pf_mutex *patterns_turn;          /* who sends patterns; their marks change only with it */
    uint32_t patterns_max;            /* of this node, and of each peer */
    struct wf_list table_peers;       /* of table_sync.c, under the node's tables_lock */
    struct wf_hash_table table_nodes; /* the same ones by incarnation */
    struct wf_list table_past;        /* of table_sync.c, under the same lock: nodes whose link has ended */
    struct wf_hash_table table_past_names;
    char (*url)[WF_URL_TEXT];     /* what other nodes may dial; they stay as they are once they are counted */
    _Atomic uint32_t url_count;   /* release by who adds one: wf_transport_urls */
    _Atomic bool listens_by_seed; /* relaxed: it is to listen where it reaches its first seed (reachable.c) */
    uint32_t seed_count;
    int64_t heartbeat, handshake_time, resume_window;
    int heartbeats_lost;
    uint64_t wire_version; /* the newest that this node speaks */
    uint64_t capabilities; /* wf_capability: of this node */
    struct wf_meta meta;   /* under lock */
    uint64_t last_number;  /* of a link, as the lower incarnation; $cluster only */
    struct wf_tls *tls;    /* NULL: this node has no certificates; replaced under tls_lock */
    pf_mutex *tls_lock;
    bool has_tls;       /* as it was started */
    _Atomic bool guest; /* relaxed: its certificate does not let it end actors of others */
    bool insecure;
    bool open_control;            /* to who has no certificate and may be any user */
    int socket_mode;              /* of the files of sockets that other nodes dial */
    char **ws_origins;            /* of the options, in one block */
    struct wf_limits limits;      /* of each peer */
    struct wf_discover *discover; /* NULL: no sources */
    struct wf_etcd *etcd;         /* one of them; NULL: none */
    weft_pid exclusive;           /* $exclusive, while there is an etcd; fixed when the node has started */
    struct wf_cluster *cluster;   /* of $cluster; its tables change under lock, so that $node may read them */
    void (*notify)(void *arg, int what, const char *why); /* wf_transport_watch */
    void *notify_arg;
    int (*load)(const char *path, weft_migrate **hook, char *why, size_t why_size); /* wf_transport_set_loader */
    uint32_t dials_failed;            /* under lock, like the next two; for wf_client_wait_up */
    char dial_reason[WF_REASON_TEXT]; /* of the last one */
    char fatal[WF_REASON_TEXT];       /* "" or why this node cannot be part of the cluster */
    _Atomic uint64_t dropped_refused; /* relaxed: frames that no role of their sender granted */
    /* relaxed: retained messages of other nodes that are not kept: their stamp, or their node, cannot be theirs; each
     * node's quota is used up */
    _Atomic uint64_t dropped_unbelieved, dropped_quota;
    _Atomic uint64_t dropped_full,
        dropped_lost;        /* relaxed: frames refused at the bound; queued or in flight when a link broke */
    struct wf_bursts bursts; /* of log lines about other nodes */
};

static inline struct wf_transport *wf_transport_of(const struct wf_worker *w)
{
    return wf_node_of(w)->transport;
}
/* How many of t->url there are. Acquire: they are written. */
static inline uint32_t wf_transport_urls(const struct wf_transport *t)
{
    return atomic_load_explicit(&t->url_count, memory_order_acquire);
}
static inline int64_t wf_transport_now(const struct wf_transport *t)
{
    struct pf_env *env = t->node->workers.env;
    return env->now(env);
}

/* Microseconds that the caller of a request still waits, rounded up. */
static inline uint64_t wf_time_left(const weft_msg *m)
{
    int64_t deadline = weft_deadline(m), now;
    if (deadline == WEFT_FOREVER) return WF_FRAME_NO_DEADLINE;
    now = weft_now();
    return deadline <= now ? 0 : (uint64_t)(deadline - now - 1) / 1000 + 1;
}

#endif

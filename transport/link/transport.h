/* transport/link/transport.h -- the part of a node that communicates with other nodes: what this folder's files share.
 *
 * Design notes.
 * (1) A channel is one connection to another node, from on_up to on_down. A link is between two nodes, that is between
 *     two incarnations: it outlives its channels. A new channel begins with the handshake, which ends with the phase
 *     UP: from then on the channel carries a link, a new one or one whose channel was lost. Each worker has a writer
 *     for each link.
 * (2) Three kinds of threads meet here. Workers encode into the batch of a writer, which only one worker uses. The
 *     carrier's threads decode received bytes and take batches from the send queue. The actor $cluster makes all
 *     decisions: handshakes, dialling, heartbeats, notifications. It posts them to the workers as calls (writer
 *     opened, writer closed, interest changed), so that no worker ever takes a lock to find a peer.
 * (3) Both nodes send HELLO. Then the node with the higher incarnation sends WELCOME if it agrees; the other node's
 *     WELCOME makes the channel the link's, and that node refuses other channels. So two nodes that dial each other at
 *     once agree without a race, and no message is sent on a connection that is then dropped as a duplicate.
 * (4) Only one channel of a link receives at a time: the next channel is attached after on_down of the previous one.
 * (5) Locks: wf_transport.patterns_turn (topics.h), wf_transport.lock (events, tables, handshake frames of channels;
 *     held shortly) and wf_link.lock (send queue). A thread that takes several takes them in this order. The carrier
 *     is not called under the last two. */
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

/* What a node that stops has for its send queues and the good-byes. */
#define WF_LEAVE_TIME WEFT_SEC(2)
/* So few bytes that a batch is decoded while the core's cache still holds it: docs/performance.md. At least: a batch for
 * a body that is not copied (first_batch) must be smaller, so that it is never recycled. */
#define WF_BATCH_BYTES WF_LIMIT("link: bytes of a batch", 32 * 1024, 1024)
/* Of one carrier message, unless one batch is larger. */
#define WF_SEND_BYTES WF_LIMIT("link: bytes of a carrier message", 64 * 1024, 1)
/* With more bytes in the queue a send gets WEFT_EFULL; from half of them down waiting senders are woken. At least: the
 * bytes that a link carries within a round trip. With fewer, senders wait for longer than their time-out, and
 * publications, which do not wait, are lost. */
#define WF_SEND_QUEUE_MAX WF_LIMIT("link: bytes of the send queue", 16 * 1024 * 1024, 256 * 1024)
#define WF_SEND_QUEUE_LOW (WF_SEND_QUEUE_MAX / 2)
/* After this many received bytes an acknowledgement is sent at once, or along with the next frames. */
#define WF_ACK_BYTES WF_LIMIT("link: received bytes that are acknowledged", 128 * 1024, 1)
#define WF_ACK_ALONG WF_LIMIT("link: received bytes that are acknowledged along", 8 * 1024, 1)
/* A body of at least this size is sent from where it is, without a copy, and is in no block of a pool. */
#define WF_APART_BYTES WF_LIMIT("link: bytes of a body that is not copied", 32 * 1024, 1024)
/* A longer body goes in chunks of this size; other senders may go between two. At least: a message of 16 MiB is sent
 * within a sender's time-out, also where one chunk in a hundred is late. */
#define WF_CHUNK_BYTES WF_LIMIT("link: bytes of a chunk", 256 * 1024, 32 * 1024)
#define WF_SPARE_BATCHES WF_LIMIT("link: batches kept by a quiet link", 4, 1)
/* Kept by a busy link: pages that the heap gave back would have to be faulted in. */
#define WF_SPARE_BATCHES_BUSY WF_LIMIT("link: batches kept by a busy link", 256, 1)
#define WF_PATTERNS_IN_FRAME WF_LIMIT("topics: patterns in a frame", 1024, 1)
/* With more events in the queue the channel pauses receiving. */
#define WF_EVENTS_PER_CHANNEL WF_LIMIT("link: events of a channel", 16, 2)

enum {
    /* Replies and signals may go beyond WF_SEND_QUEUE_MAX, up to here; then the link is cut. */
    WF_SEND_QUEUE_HARD = 64 * 1024 * 1024,
    WF_BATCH_MAX = 256 * 1024 + WEFT_MESSAGE_MAX + 1024, /* the most that a peer may send in one carrier message */
    WF_HEAD_BYTES = 64, /* of START, ACK, PONG and PING before the frames of a carrier message */
    WF_HELD_SLOTS = 256,
    WF_PATTERNS_OLD = 65536, /* the most that a node without WF_CAN_PATTERNS accepts */
    WF_PATTERNS_TOOL = 256,  /* the most that a tool is sent, as tools seldom publish */
    WF_PEERS_MAX = 4096,
};

/* Which patterns are sent on a link. PLAIN: without those of queue groups, for links that share the tables of topics,
 * which list the queue groups already. */
enum wf_interest_kind { WF_INTEREST_PLAIN, WF_INTEREST_ALL };

/* Metadata that a node publishes about itself. */
struct wf_meta {
    uint32_t count;
    struct {
        char key[WF_SWIM_META_KEY + 1];
        char value[WF_SWIM_META_VALUE + 1];
    } at[WF_SWIM_META_MAX];
};

/* ---- The transport of a node ----------------------------------------------------------------------------------- */
struct wf_transport {
    weft_node *node;
    struct wf_carrier *carrier;
    struct wf_seal seal; /* for numbers of requests that stay in the node; probes carry them sealed */
    pf_mutex *lock;
    pf_cond *changed;        /* `finished` or `barrier` has changed; of a client also its links and failed dials */
    struct wf_list events;   /* wf_cluster_event.in_queue */
    weft_event wake;         /* of $cluster; valid while `listening` */
    bool listening;          /* $cluster has opened `wake` */
    bool stopping, finished; /* set by weft_node_stop; set when $cluster has ended */
    bool undrained;          /* set before `stopping`: some actors had not ended by themselves */
    bool client;
    weft_pid service, control; /* $cluster, $node; fixed when the node has started */
    weft_pid metrics_row[8];   /* actors that add text to /metrics; under lock, as the next one (metrics_rows.h) */
    uint32_t metrics_rows;
    int64_t stop_by;
    uint32_t barrier;                 /* workers that have not passed it yet */
    struct wf_patterns patterns[2];   /* by wf_interest_kind: of this node, counted per worker; under lock */
    pf_mutex *patterns_turn;          /* held by the thread that sends patterns; marks change only under it */
    uint32_t patterns_max;            /* limit for this node, and for each peer */
    struct wf_list table_peers;       /* of table_sync.c, under the node's tables_lock */
    struct wf_hash_table table_nodes; /* the same ones by incarnation */
    struct wf_list table_past;        /* of table_sync.c, under the same lock: nodes whose link has ended */
    struct wf_hash_table table_past_names;
    char (*url)[WF_URL_TEXT];     /* URLs that other nodes may dial; a counted one never changes */
    _Atomic uint32_t url_count;   /* stored with release when a URL is added; see wf_transport_urls */
    _Atomic bool listens_by_seed; /* relaxed: will listen on the address that reaches its first seed (reachable.c) */
    uint32_t seed_count;
    int64_t heartbeat, handshake_time, resume_window;
    int heartbeats_lost;
    uint64_t wire_version; /* the newest that this node speaks */
    uint64_t capabilities; /* wf_capability */
    struct wf_meta meta;   /* under lock */
    uint64_t last_number;  /* given to a link by this node as the lower incarnation; $cluster only */
    struct wf_tls *tls;    /* NULL: this node has no certificates; replaced under tls_lock */
    pf_mutex *tls_lock;
    bool has_tls;       /* at its start; fixed */
    _Atomic bool guest; /* relaxed: its certificate does not let it end actors of other nodes */
    bool insecure;
    bool open_control;            /* peers without a certificate may do everything, even those of other users */
    int socket_mode;              /* of the files of sockets that other nodes dial */
    char **ws_origins;            /* of the options, in one block */
    struct wf_limits limits;      /* of each peer */
    struct wf_discover *discover; /* NULL: no sources */
    struct wf_etcd *etcd;         /* the etcd source; NULL: none */
    weft_pid exclusive;           /* $exclusive, while there is an etcd; fixed when the node has started */
    struct wf_cluster *cluster;   /* of $cluster; its tables change under lock, so that $node may read them */
    void (*notify)(void *arg, int what, const char *why); /* wf_transport_watch */
    void *notify_arg;
    int (*load)(const char *path, weft_migrate **hook, char *why, size_t why_size); /* wf_transport_set_loader */
    uint32_t dials_failed;            /* under lock, like the next two; for wf_client_wait_up */
    char dial_reason[WF_REASON_TEXT]; /* why the last one failed */
    char fatal[WF_REASON_TEXT];       /* "" or why this node cannot be part of the cluster */
    _Atomic uint64_t dropped_refused; /* relaxed: frames that no role of their sender granted */
    /* relaxed: retained messages of other nodes that were not kept, because their timestamp or node cannot be right;
     * because the quota of their node was used up */
    _Atomic uint64_t dropped_unbelieved, dropped_quota;
    _Atomic uint64_t dropped_full,
        dropped_lost; /* relaxed: frames refused because a queue was full; frames unacknowledged at a link's end */
    struct wf_bursts bursts; /* of log lines about other nodes */
};

static inline struct wf_transport *wf_transport_of(const struct wf_worker *w)
{
    return wf_node_of(w)->transport;
}
/* The number of t->url. Acquire: the URLs are written before they are counted. */
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

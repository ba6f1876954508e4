/* transport/link/transport.h -- what the files of this folder share.
 *
 * Design notes.
 * (1) A channel is one connection to another node, from on_up to on_down. A session is the link between two nodes,
 *     that is between two incarnations: it outlives its channels. A new channel begins with the handshake, which ends
 *     with "up": then it carries a session, a new one or one whose channel was lost. Each worker has a port to a
 *     session.
 * (2) Three kinds of threads meet here. Workers encode into the batch of a port, which is theirs alone. The carrier's
 *     threads decode what comes and take batches from the outbox. The actor $cluster decides everything: handshakes,
 *     dialling, heartbeats, who is told. It hands its decisions to the workers as posted calls (port opened, port
 *     closed, interest changed), so that no worker ever takes a lock to find a peer.
 * (3) Both say HELLO, then the node with the higher incarnation says WELCOME if it agrees, then the other one: its
 *     WELCOME makes the channel the link's, and it refuses others. So two that dial each other at once agree without
 *     a race, and no message is ever sent on a connection that is then dropped as a duplicate.
 * (4) Receiving goes on in one channel of a session at a time: the next one is attached when on_down of the one
 *     before it has come.
 * (5) Locks: wf_transport.lock (events, tables, what a channel says in its handshake; short) and wf_session.lock
 *     (outbox), in this order if both. No call into the carrier under either. */
#ifndef WF_TRANSPORT_H
#define WF_TRANSPORT_H

#include "burst.h"
#include "carrier.h"
#include "credit.h"
#include "frame.h"
#include "inbound.h"
#include "peer_limits.h"
#include "list.h"
#include "node.h"
#include "patterns.h"
#include "seal.h"
#include "swim_wire.h"
#include "tls.h"
#include "topic_retained.h"
#include "topic_trie.h"

#include <weft/event.h>
#include <weft/log.h>
#include <weft/reload.h>

enum {
    /* What is read is decoded and received while the core's cache still holds it: docs/performance.md */
    WF_BATCH_BYTES = 32 * 1024,
    WF_SEND_BYTES = 64 * 1024,          /* of one carrier message, unless one batch is larger */
    WF_OUTBOX_MAX = 16 * 1024 * 1024,   /* then WEFT_EFULL */
    WF_OUTBOX_LOW = WF_OUTBOX_MAX / 2,  /* here those who wait for room are woken */
    WF_OUTBOX_HARD = 4 * WF_OUTBOX_MAX, /* replies and signals may go beyond, up to here; then the link is cut */
    WF_BATCH_MAX = 256 * 1024 + WEFT_MESSAGE_MAX + 1024, /* of what a peer may send in one message */
    WF_SPARE_BATCHES = 4,                                /* kept by a quiet link */
    WF_SPARE_BATCHES_BUSY = 256, /* and by one that sends: given back by the heap they would be faulted in again */
    WF_ACK_BYTES = 128 * 1024,   /* so many received bytes are acknowledged at once */
    WF_ACK_ALONG = 8 * 1024,     /* and so many with whatever is sent next */
    WF_HEAD_BYTES = 64,          /* of what goes before the frames of a carrier message */
    WF_APART_BYTES = 32 * 1024,  /* a body of so many is not copied: it is sent from where it is */
    WF_CHUNK_BYTES = 256 * 1024, /* of a longer one go at once; then others have their turn */
    WF_HELD_SLOTS = 256,
    WF_PATTERNS_OLD = 65536,    /* that a node without WF_CAN_PATTERNS takes */
    WF_PATTERNS_TOOL = 256,     /* that a tool is told: it seldom publishes */
    WF_EVENTS_PER_CHANNEL = 16, /* then its receiving pauses */
    WF_PEERS_MAX = 4096,
};

struct wf_transport;
struct wf_session;
struct wf_channel;

/* Frames for one peer, encoded; with `body` it is one frame, and part of that body stands behind the first `cut`
 * bytes of its data. */
struct wf_batch {
    struct wf_batch *next;
    size_t size, capacity;
    uint32_t frames; /* that are counted, see docs/wire.md; never counted and uncounted ones in one batch */
    uint32_t cut;
    struct wf_body *body; /* a reference; NULL: all is in `data` */
    struct pf_slice piece;
    /* What it keeps in order with, see outbox.c (5). */
    enum wf_order { WF_ORDER_ANY, WF_ORDER_ACTOR, WF_ORDER_ALL } order;
    uint16_t slot, other_slot; /* of ACTOR */
    bool chunk;                /* goes in turn with what others send */
    uint8_t data[];
};

/* What one worker is told of a link. All there from the beginning: none of it may fail for want of memory. */
struct wf_room {
    struct wf_call call; /* there is room in the outbox */
    struct wf_call close;
    struct wf_lost_node lost;
    struct wf_session *session;
};

/* Which patterns a link is told of: one that shares the tables of topics hears there of queue groups. */
enum wf_interest_kind { WF_INTEREST_PLAIN, WF_INTEREST_ALL };

/* What a channel has been through. Written by $cluster while the receiving side is paused, read by the receiving
 * side. */
enum wf_phase {
    WF_PHASE_NEW,     /* waits for HELLO */
    WF_PHASE_HEARD,   /* HELLO was good; the other side decides */
    WF_PHASE_REFUSED, /* we said no; ends when that has been sent */
    WF_PHASE_PENDING, /* agreed; waits for the end of the channel that it replaces */
    WF_PHASE_UP,
    WF_PHASE_OVER,
};

/* What a channel knows of a dial; a wf_dialer begins with it, and is the tag of its dials. */
struct wf_dial {
    struct wf_news *over; /* for the end of a dial, which needs no memory then */
};

struct wf_channel {
    struct wf_list_node in_all; /* wf_cluster.channels */
    struct wf_transport *t;
    struct wf_conn *conn;
    _Atomic uint32_t refs;
    struct wf_dialer *dialer;   /* NULL: accepted */
    struct wf_news *over;       /* made with it, so that its end is told without memory, too */
    _Atomic int phase;          /* release by $cluster, acquire by the receiving side */
    struct wf_session *session; /* a reference; under t->lock until it is PENDING or UP, then fixed */
    /* What its HELLO said. */
    uint64_t incarnation;
    char name[WF_NODE_NAME_MAX + 1];
    char url[WF_FRAME_URLS][WF_URL_TEXT];
    uint32_t url_count;
    bool client;
    bool guarded;          /* frames are looked at by wf_rights_allow */
    uint32_t denied;       /* rights (wf_right) that its certificate, or ws://, does not grant */
    uint64_t capabilities; /* wf_capability: of both */
    int64_t heartbeat;
    int64_t clock_ahead; /* of its clock, before this node's monotonic one; WF_CLOCK_UNKNOWN */
    int64_t handshake_by;
    /* Under t->lock: what is said before it carries a session: HELLO, and WELCOME or REFUSED, so that one waits at
     * most. `saying` is true while something of it is being sent: release when it ends, acquire by who sends for a
     * session. */
    struct wf_batch *next, *flight;
    _Atomic bool saying;
    /* The receiving side. */
    struct wf_inbound in;
    struct wf_call read_on;  /* posted while no more is read */
    _Atomic int64_t held_at; /* relaxed: since when no more is read, until `read_on`; 0: it is */
    uint64_t at; /* counted frames of the session that have come, with those that came on channels before */
    bool placed; /* `at` is known */
    /* Bytes at the beginning of the message that is handed over next: the handshake has had them. Written by $cluster
     * while the connection is paused. */
    size_t skip;
    uint32_t work;  /* UP: so many entries of tables may be received in this turn */
    uint64_t heard; /* PENDING: frames that the other side has said it has */
    /* Of this channel in the queue; changed under t->lock. It is the receiving side that adds to them, and so it may
     * look without (relaxed). */
    _Atomic uint32_t events;
    bool events_pause; /* under t->lock */
    struct wf_slowing slowing;
};

/* A message that has come, or a part of it. */
struct wf_arrival {
    uint32_t kind; /* of its frame */
    uint32_t tag;
    weft_pid from;
    weft_msg *m;                     /* this one, */
    struct wf_body *body;            /* or this one; both NULL: it is thrown away */
    char name[WF_NODE_NAME_MAX + 1]; /* of an actor, of a group */
};

enum { WF_QUIET_BEATS = 2 }; /* heartbeats without a word after which a node is probed */
enum { WF_PING_BEATS = 5 };  /* heartbeats after which a link is asked for its round trip, however much it talks */

/* Of a session; $cluster only. */
enum wf_state {
    WF_STATE_UP,
    WF_STATE_BROKEN, /* has lost its channel; waits for another one until `resume_by` */
    WF_STATE_OVER,
};

struct wf_session {
    struct wf_list_node in_all;               /* wf_cluster.sessions, until it is over */
    struct wf_hashed by_incarnation, by_name; /* wf_cluster.links, and link_names unless it is a tool's */
    struct wf_transport *t;
    _Atomic uint32_t refs;
    enum wf_state state;
    uint64_t number;            /* of the link, see docs/wire.md; 0: it cannot be resumed */
    struct wf_channel *pending; /* $cluster only; a reference: the one to come */
    int64_t resume_by;
    char reason[WF_REASON_TEXT]; /* why it is broken */
    /* Who it is: fixed. */
    uint64_t incarnation;
    char name[WF_NODE_NAME_MAX + 1];
    char url[WF_FRAME_URLS][WF_URL_TEXT];
    uint32_t url_count;
    bool client;
    bool guest;            /* the peer may not end actors of this node */
    uint64_t capabilities; /* wf_capability: of both */
    int64_t heartbeat;     /* of the other side */
    int64_t clock_ahead;   /* $cluster only: as its channel's */
    struct wf_seal seal;   /* of the numbers of requests that go over this link */
    int64_t suspect_at;    /* 0: no; then it must have been heard since `suspect_from` */
    int64_t suspect_from;
    int64_t pinged_at;
    /* The outbox, under lock; see outbox.c. */
    pf_mutex *lock;
    struct wf_channel *channel; /* a reference; changed by $cluster alone */
    struct wf_batch *first, *last;
    struct wf_batch *landed; /* the last one that has been sent; NULL: none */
    struct wf_batch *unsent; /* the first one that is still to be sent; between the two: being sent */
    struct wf_batch *urgent; /* to be sent before it */
    struct wf_batch *chunk;  /* the last chunk there is from `unsent` on; NULL: there is none */
    struct wf_batch *held, *held_last;
    uint32_t held_by[WF_HELD_SLOTS];  /* how many of them have this slot */
    uint32_t held_all;                /* and how many have none: all others go behind them */
    uint64_t base, taken, most_taken; /* counted frames before `first`, before `unsent`, the most there has been */
    uint64_t acked;
    struct wf_batch *spare;
    uint32_t spares;
    /* Of all chunks, and of all others; changed under lock, read without (relaxed: bounds that may be a little
     * late) */
    _Atomic size_t bulk, bytes;
    /* Of `held`. Changed under lock, read without (relaxed): who has put something there finds it at least until it
     * has gone on. */
    _Atomic uint32_t held_count;
    bool sending;
    bool stuck;  /* the channel takes no more */
    bool rewind; /* all is to be sent again, as soon as what is being sent has ended */
    /* What goes before the frames of the next message. */
    bool say_start, say_ack;
    uint64_t say_ping, say_pong;  /* 0: nothing */
    uint64_t ping, ping_mark;     /* the last one, 0: none, and `taken` when it was sent */
    uint64_t acked_frames;        /* what we have acknowledged */
    uint8_t head[WF_HEAD_BYTES];  /* being sent */
    _Atomic uint64_t acked_bytes; /* `bytes_in` then; changed under lock, read without (relaxed, as a hint) */
    _Atomic bool
        closed; /* changed under lock, read without (relaxed: a send that comes a little early is counted as lost) */
    _Atomic bool failed; /* it must not be resumed; release after `why_failed`, which is under lock, acquire */
    char why_failed[WF_REASON_TEXT];
    struct wf_room *rooms; /* one for each worker */
    /* Under lock, one bit for each worker: who waits there for room, and whose room is on its way. */
    uint64_t rooms_wanted, rooms_posted;
    /* The receiving side. */
    _Atomic uint64_t received; /* counted frames; relaxed */
    struct wf_arrival arrival; /* of which `arrival_left` bytes are to come, to `arrival_at`; 0: of none */
    size_t arrival_left;
    uint8_t *arrival_at;
    /* Channels on which something may come, and one more until the link is over: without any `arrival` is freed, as
     * others keep the session for longer. */
    _Atomic uint32_t receivers;
    /* Of what it has said that it retains: see actors/topics/topic_retained.h (6); under the lock of the node's
     * topics. */
    struct wf_retained_source *retained[WF_RETAINED_KINDS];
    bool warned_of_stamp;
    struct wf_pattern_mark mark; /* of its kind of `wf_transport.patterns`; under t->lock */
    /* For `weft nodes`, and heartbeats; relaxed. */
    _Atomic int64_t last_heard, last_sent, rtt;
    _Atomic uint64_t bytes_in, bytes_out, frames_in, frames_out, frames_lost, resumes;
    _Atomic uint64_t refused; /* frames of it that its role, or its limit, does not allow */
    struct wf_usage usage;    /* of its limits */
};

/* ---- One worker's way to one peer (worker's thread only) ------------------------------------------------------- */
struct wf_port {
    struct wf_list_node in_ports;             /* wf_ports.ports, or `closed` */
    struct wf_hashed by_incarnation, by_name; /* wf_ports.nodes, and names unless it is a tool's; not if closed */
    struct wf_session *session;
    uint64_t incarnation;
    struct wf_batch *batch; /* NULL: nothing to flush, and no buffer */
    bool dirty;             /* on wf_ports.dirty */
    struct wf_port *next_dirty;
    struct wf_interest interest; /* of the peer */
    struct wf_list changes;      /* of `interest` that are to be made: `more` is armed while there are any */
    struct wf_timer more;
    struct wf_list waiting; /* wf_waiter.on_source: tasks that wait for room */
    struct wf_credits credits;
};

struct wf_ports {
    struct wf_transport *t;
    struct wf_list ports;  /* wf_port.in_ports */
    struct wf_list closed; /* the same, of ports whose patterns are still being freed: `more` is armed */
    struct wf_port *last;  /* found last; NULL */
    struct wf_port *dirty;
    struct wf_hash_table nodes, names; /* by incarnation, and by name */
    uint32_t worker;                   /* its index */
};

/* ---- What $cluster hears --------------------------------------------------------------------------------------- */
enum wf_news_kind {
    WF_NEWS_MESSAGE,     /* channel, data: a message during the handshake; the receiving side is paused */
    WF_NEWS_FRAME,       /* channel, data: gossip, PEERS or BYE; number: which, it has been checked */
    WF_NEWS_DOWN,        /* channel (may be NULL), dialer (may be NULL), text: reason */
    WF_NEWS_DIAL_FAILED, /* dialer, text */
    WF_NEWS_WATCH,       /* pid; number: whether it hears of all nodes, or only of whether this one drains */
    WF_NEWS_DRAIN,       /* this node drains, or no longer */
    WF_NEWS_LISTED,      /* number: a source's (discover.h); data: its URLs, each with its NUL */
    WF_NEWS_META,        /* this node says something else of itself */
    WF_NEWS_DIALLED,     /* channel: a dial has reached somebody, and HELLO has not been said yet */
};
struct wf_news {
    struct wf_list_node in_queue; /* wf_transport.news */
    enum wf_news_kind kind;
    struct wf_channel *channel; /* a reference */
    struct wf_dialer *dialer;
    char remote[64];
    weft_pid pid;
    uint32_t number;
    size_t size;
    uint8_t data[]; /* text is NUL-terminated */
};

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
    struct wf_list news;     /* wf_news.in_queue */
    weft_event wake;         /* of $cluster; good once `listening` */
    bool listening;          /* $cluster has opened `wake` */
    bool stopping, finished; /* asked for by weft_node_stop; done by $cluster */
    bool undrained;          /* set before `stopping`: not all actors had ended by themselves */
    bool client;
    weft_pid service, control; /* $cluster, $node; fixed when the node has started */
    int64_t stop_by;
    uint32_t barrier;                 /* workers that have not passed it yet */
    struct wf_patterns patterns[2];   /* wf_interest_kind: of this node, counted per worker; under lock */
    uint32_t patterns_max;            /* of this node, and of each peer */
    struct wf_list table_peers;       /* of tables.c, under the node's tables_lock */
    struct wf_hash_table table_nodes; /* the same ones by incarnation */
    struct wf_list table_past;        /* of tables.c, under the same lock: nodes whose link has ended */
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

/* ---- channel.c ------------------------------------------------------------------------------------------------- */
extern const struct wf_carrier_user wf_channel_carrier_user; /* owner: the transport */
/* Says HELLO, once, before anything else. */
void wf_channel_greet(struct wf_channel *ch);
/* Says one small frame of the handshake. False: no memory, the channel was closed. */
bool wf_channel_say(struct wf_channel *ch, const uint8_t *frame, size_t size);
enum { WF_COPIES_AT_ONCE = 4096 }; /* messages made for members of groups in one turn */
/* Whether another frame may be received in this turn. */
static inline bool wf_channel_may_go_on(const struct wf_channel *ch)
{
    const struct wf_worker *w = ch->in.here;
    return ch->work > 0 && ch->in.copies < WF_COPIES_AT_ONCE && (w == NULL || !wf_worker_is_spent(w));
}
/* Hands over what has been received so far, if it is not on its way already. */
static inline void wf_channel_post(struct wf_channel *ch)
{
    wf_inbound_post(ch->t->node, &ch->in);
}
int wf_channel_phase(const struct wf_channel *ch);
void wf_channel_enter(struct wf_channel *ch, enum wf_phase phase);
/* It is over, and closed; one that was refused stays so. */
void wf_channel_end(struct wf_channel *ch, const char *reason);

/* ---- session.c ------------------------------------------------------------------------------------------------- */
void wf_channel_keep(struct wf_channel *ch);
void wf_channel_release(struct wf_channel *ch);
typedef void wf_room_made(struct wf_worker *w, struct wf_call *c); /* of a wf_room */
/* NULL: out of memory. */
struct wf_session *wf_session_new(struct wf_channel *ch, uint64_t number, wf_room_made *room_made);
void wf_session_keep(struct wf_session *s);
void wf_session_release(struct wf_session *s);
/* Any thread: ends the link, whether or not it could be resumed; $cluster takes it down. */
void wf_session_fail(struct wf_session *s, const char *reason);
/* Whether it was ended so, for what the other side has said: not for want of memory here. */
bool wf_session_at_fault(struct wf_session *s);
void wf_session_lost(struct wf_channel *ch);            /* a message, for want of memory or room: it is counted */
void wf_session_receives_no_more(struct wf_session *s); /* one of wf_session.receivers */
/* The body of what is for many: `topic` is empty for a group. NULL: out of memory. */
struct wf_body *wf_session_body(struct wf_channel *ch, const struct wf_frame *f, weft_text topic, size_t size);
static inline bool wf_session_can(const struct wf_session *s, uint64_t capability)
{
    return (s->capabilities & capability) != 0;
}

/* Whether both keep copies of each other's tables, and of those of topics. */
static inline bool wf_session_shares_tables(const struct wf_session *s)
{
    return wf_session_can(s, WF_CAN_TABLES) && !s->client && !s->t->client;
}
static inline bool wf_session_shares_topics(const struct wf_session *s)
{
    return wf_session_shares_tables(s) && wf_session_can(s, WF_CAN_TOPICS);
}

/* With a new random key. */
void wf_transport_seal(struct wf_transport *t, struct wf_seal *s);
/* The number of a message, as the other side is told it: of a request it is sealed. */
static inline uint64_t wf_session_ref(const struct wf_session *s, const weft_msg *m)
{
    return m->post.flags == WF_MSG_CALL || m->post.flags == WF_MSG_SPAWN ? wf_seal(&s->seal, m->ref) : m->ref;
}

/* ---- receive.c ------------------------------------------------------------------------------------------------- */
/* Decodes frames that came on an established channel, for wf_channel_post, on its receiving side. False: the session
 * was ended for a fault in them. `*left`: so many bytes at the end are to be received in another turn, as this one
 * has done enough. */
bool wf_session_receive(struct wf_channel *ch, const uint8_t *data, size_t size, size_t *left);

/* ---- topics.c -------------------------------------------------------------------------------------------------- */
/* PUBLISH_TO and RETAINED. */
void wf_topics_receive(struct wf_channel *ch, struct wf_frame *f);
void wf_topics_published(struct wf_channel *ch, uint32_t tag, weft_pid from, struct wf_body *body); /* a PUBLISH */
/* The patterns that a link is told of. */
static inline struct wf_patterns *wf_session_patterns(const struct wf_session *s)
{
    return &s->t->patterns[wf_session_shares_topics(s) ? WF_INTEREST_PLAIN : WF_INTEREST_ALL];
}
/* wf_route.interest */
int wf_topics_interest(struct wf_worker *w, const char *pattern, bool add, bool queue);

/* ---- outbox.c -------------------------------------------------------------------------------------------------- */
struct wf_batch *wf_batch_new(struct wf_session *s, size_t at_least);
void wf_batch_free(struct wf_batch *b); /* a chain; NULL is fine */
/* Takes a chain of batches over; sends it now if nothing is in flight. Any thread. */
void wf_session_push(struct wf_session *s, struct wf_batch *b);
/* `b` with one frame written by `w` = wf_batch_writer(b): push. */
void wf_session_say(struct wf_session *s, struct wf_batch *b, const weft_writer *w);
/* The same, behind what that actor has sent before. */
void wf_session_say_of(struct wf_session *s, struct wf_batch *b, const weft_writer *w, uint64_t actor);
/* The same, behind all that was sent before, and all that comes goes behind it: also what goes in chunks. */
void wf_session_say_in_order(struct wf_session *s, struct wf_batch *b, const weft_writer *w);
/* The same, but it overtakes all that has not been sent yet, except what has overtaken before. For frames of the
 * cluster itself that need no order with messages. */
void wf_session_say_first(struct wf_session *s, struct wf_batch *b, const weft_writer *w);
/* Any thread. PING and PONG overtake everything; `number` is not 0. */
void wf_session_ping(struct wf_session *s, uint64_t number);
void wf_session_pong(struct wf_session *s, uint64_t number);
/* Says now what has been received. */
void wf_session_acknowledge(struct wf_session *s);
/* The other side has said that it has `count` frames. False: so many were never sent. */
bool wf_session_acked(struct wf_session *s, uint64_t count);
/* PONG has come: if it answers the last PING that was sent, this is the round trip, else it says nothing. False:
 * frames that were sent before that PING have not been acknowledged. */
bool wf_session_ponged(struct wf_session *s, uint64_t number);
/* The carrier has done with what was in flight on `ch`. */
void wf_session_sent(struct wf_session *s, struct wf_channel *ch, bool ok);
/* Gives back the memory that a burst has left. */
void wf_session_rest(struct wf_session *s);
/* Sends if there is something to send and nothing is in flight. */
void wf_session_kick(struct wf_session *s);
/* By $cluster: from now on `ch` carries it; the other side has `count` frames. */
void wf_session_attach(struct wf_session *s, struct wf_channel *ch, uint64_t count);
void wf_session_detach(struct wf_session *s);
/* No more is sent; what was not acknowledged is counted as lost. */
void wf_session_discard(struct wf_session *s);
bool wf_session_drained(struct wf_session *s); /* everything has been acknowledged */
/* What carries it now, as wf_conn.form; "": nothing does. */
const char *wf_session_carrier(struct wf_session *s);
size_t wf_session_unacked(struct wf_session *s); /* frames */
bool wf_session_confirmed(struct wf_session *s); /* the other side has sent a sign that it has the link */
/* Whether there is room; if not, that worker's room is posted when there is. */
bool wf_session_has_room(struct wf_session *s, uint32_t worker);
void wf_session_room_came(struct wf_session *s, uint32_t worker);
/* That worker's room is posted now, whether there is room or not: it goes on in another turn. */
void wf_session_make_turn(struct wf_session *s, uint32_t worker);
static inline weft_writer wf_batch_writer(struct wf_batch *b)
{
    return weft_writer_on(b->data + b->size, b->capacity - b->size);
}

/* ---- held.c ---------------------------------------------------------------------------------------------------- */
uint16_t wf_order_slot(uint64_t actor);  /* of what an actor says */
uint16_t wf_order_slot_to(uint64_t key); /* of what is for an actor, or a name: see wf_credit.key */
/* With the session's lock held: false: it can be sent. Else it waits until wf_bulk_next gives it back; NULL: nothing
 * can go on now. */
bool wf_bulk_hold(struct wf_session *s, struct wf_batch *b);
struct wf_batch *wf_bulk_next(struct wf_session *s);
/* Whether something waits that a frame with this slot has to go behind: then it needs a batch of its own. */
bool wf_session_holds_slot(struct wf_session *s, uint16_t slot);
static inline bool wf_session_holds(struct wf_session *s, uint16_t slot)
{
    return WF_UNLIKELY(atomic_load_explicit(&s->held_count, memory_order_relaxed) > 0) &&
           wf_session_holds_slot(s, slot);
}

/* ---- bulk.c ---------------------------------------------------------------------------------------------------- */
/* What is large, traced, or from somebody whose last message is still waiting, has batches of its own. */
static inline bool wf_goes_apart(const struct wf_port *port, uint64_t from, size_t size, const struct wf_body *shared)
{
    return WF_UNLIKELY(size >= WF_APART_BYTES || (shared != NULL && shared->traced)) ||
           wf_session_holds(port->session, wf_order_slot(from));
}
/* On a worker: a message to an actor (`key`), or a name (`key`: wf_credit_name), with batches of its own. 0;
 * WF_ROUTE_KEPT; WEFT_EFULL: too much waits; WEFT_ENOMEM. */
int wf_bulk_send(struct wf_port *port, uint32_t kind, weft_text name, uint64_t key, uint64_t from, weft_msg *m);
/* The same of a body for a topic or a group: wf_frame_describe(f). */
int wf_bulk_send_body(struct wf_port *port, struct wf_frame *f, struct wf_body *body);
/* In a batch of its own, of `size` bytes at most. False: no memory. */
bool wf_bulk_publish_to(struct wf_port *port, const struct wf_publish_to *to, size_t size);
/* A WANT behind large messages to whom it is for. False: no memory. */
bool wf_bulk_want(struct wf_port *port, const struct wf_frame *f);

/* ---- news.c ---------------------------------------------------------------------------------------------------- */
struct wf_news *wf_news_new(enum wf_news_kind kind, struct wf_channel *ch, const void *data, size_t size);
void wf_news_free(struct wf_news *n);
void wf_news_post_locked(struct wf_transport *t, struct wf_news *n); /* t->lock held; wf_news_wake when it is not */
void wf_news_wake(struct wf_transport *t);
/* Puts it into the queue and wakes $cluster. NULL is fine (no memory: the session is closed by its time limits). */
void wf_news_post(struct wf_transport *t, struct wf_news *n);
struct wf_news *wf_news_take(struct wf_transport *t);
/* By $cluster, in the middle of long work: the worker's other actors have their turn. */
void wf_cluster_pause(void);

/* ---- port.c ---------------------------------------------------------------------------------------------------- */
extern const struct wf_route wf_transport_route;
int wf_ports_create(struct wf_transport *t); /* for each worker; before they run */
void wf_ports_destroy(struct wf_transport *t);
/* On the worker: its port to that peer; NULL. */
struct wf_port *wf_port_find(struct wf_worker *w, uint64_t peer);
void wf_port_push(struct wf_port *port); /* what has been written goes into the outbox */
/* A WANT behind what has been sent. False: no memory. */
bool wf_port_say_want(struct wf_ports *p, struct wf_port *port, uint64_t key, const char *name, uint32_t number);
/* By $cluster: tells every worker. */
int wf_ports_open(struct wf_session *s);
void wf_ports_close(struct wf_session *s);
wf_room_made wf_ports_room_made;
/* Any thread: every worker's interest of that peer changes as the INTEREST frame says. */
int wf_ports_interest(struct wf_session *s, struct wf_frame *f);

/* ---- tables.c -------------------------------------------------------------------------------------------------- */
/* By $cluster: before wf_ports_open (WEFT_ENOMEM), and before anybody hears of the end. */
int wf_tables_open(struct wf_session *s);
void wf_tables_close(struct wf_session *s);
void wf_tables_finish(struct wf_transport *t); /* after the last link has ended */
/* at each heartbeat: for want of memory some may have missed something */
void wf_tables_retry(struct wf_transport *t);
/* A TABLE frame came. False: the session was closed. */
bool wf_tables_receive(struct wf_channel *ch, const struct wf_frame *f);
/* The link to that node, if it is open; a reference of the caller's. Any thread. */
struct wf_session *wf_tables_session(struct wf_transport *t, uint64_t incarnation);
void wf_tables_route_tell(weft_node *node, int op, const struct wf_entry *e); /* wf_route.tell */
void wf_tables_retained(weft_node *node, uint64_t number);                    /* wf_route.retained */
/* There is room in the outbox, for which what is retained may have waited. */
void wf_tables_go_on(struct wf_session *s);

#endif

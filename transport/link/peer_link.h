/* transport/link/peer_link.h -- the link between two nodes, that is between two incarnations. It outlives its
 * channels. */
#ifndef WF_PEER_LINK_H
#define WF_PEER_LINK_H

#include "channel.h"
#include "hash_table.h"
#include "seal.h"
#include "topic_retained.h"
#include "transport.h"

struct wf_batch;
struct wf_link;

/* The calls that are posted to one worker for a link. They are allocated with the link, so that posting never fails for
 * lack of memory. */
struct wf_link_calls {
    struct wf_call space; /* there is space in the send queue */
    struct wf_call close;
    struct wf_call interest; /* `changes` is not empty; posted while `interest_posted` */
    struct wf_lost_node lost;
    struct wf_link *link;
    struct wf_list changes; /* wf_interest_change.in_list, in the order of arrival; under wf_link.lock */
    bool interest_posted;   /* under wf_link.lock */
};

/* A received INTEREST frame, for one worker: peer_interest.h. */
struct wf_interest_change {
    struct wf_list_node in_list; /* wf_link_calls.changes, then wf_link_writer.changes */
    struct wf_worker *to;
    uint32_t op, count; /* of patterns that are still to be applied, from `at` on */
    size_t size, at;
    uint8_t data[];
};

/* NULL: no memory. */
struct wf_interest_change *wf_interest_change_new(struct wf_worker *to, size_t size);
void wf_interest_change_free(struct wf_interest_change *c);

/* A message that has been received in whole or in part. */
struct wf_arrival {
    uint32_t kind; /* of its frame */
    uint32_t tag;
    weft_pid from;
    weft_msg *m;                     /* a message to one actor, */
    struct wf_body *body;            /* or the body of one to many; both NULL: its bytes are thrown away */
    char name[WF_NODE_NAME_MAX + 1]; /* of the actor or group */
};

enum { WF_QUIET_BEATS = 2 }; /* after this many heartbeats of silence a node is probed */
enum { WF_PING_BEATS = 5 }; /* the round trip is measured each time after this many heartbeats, also on a busy link */

/* Of a link; $cluster only. */
enum wf_state {
    WF_STATE_UP,
    WF_STATE_BROKEN, /* its channel is lost; waits for another one until `resume_by` */
    WF_STATE_OVER,
};

struct wf_link {
    struct wf_list_node in_all;               /* wf_cluster.live_links, until it is over */
    struct wf_hashed by_incarnation, by_name; /* wf_cluster.links, and link_names unless it is a tool's */
    struct wf_transport *t;
    _Atomic uint32_t refs;
    enum wf_state state;
    uint64_t number;            /* of the link, see docs/wire.md; 0: it cannot be resumed */
    struct wf_channel *pending; /* $cluster only; a reference: the next channel */
    int64_t resume_by;
    char reason[WF_REASON_TEXT]; /* why it is broken */
    /* The identity of the peer: fixed. */
    uint64_t incarnation;
    char name[WF_NODE_NAME_MAX + 1];
    char url[WF_FRAME_URLS][WF_URL_TEXT];
    uint32_t url_count;
    bool client;
    bool guest;            /* the peer may not end actors of this node */
    uint64_t capabilities; /* wf_capability: of both */
    int64_t heartbeat;     /* of the other side */
    int64_t clock_ahead;   /* $cluster only: wf_channel.clock_ahead of its channel */
    struct wf_seal seal;   /* for the numbers of requests that are sent over this link */
    int64_t suspect_at;    /* 0: no; then it must have been heard since `suspect_from` */
    int64_t silent_at;     /* when $cluster found it silent; it may have been heard since */
    int64_t suspect_from;
    int64_t pinged_at;
    /* The send queue, under lock; see send_queue.h. */
    pf_mutex *lock;
    struct wf_channel *channel; /* a reference; changed by $cluster alone */
    struct wf_batch *first, *last;
    struct wf_batch *landed; /* the last batch that has been sent; NULL: none */
    struct wf_batch *unsent; /* the first batch that waits; the batches between `landed` and it are being sent */
    struct wf_batch *urgent; /* a chain that will be sent before `unsent` */
    struct wf_batch *chunk;  /* the last chunk in the list from `unsent` on; NULL: none */
    struct wf_batch *held, *held_last;
    uint32_t held_by[WF_HELD_SLOTS];  /* the number of held batches with this slot */
    uint32_t held_all;                /* the number of held batches without slots; all later batches go behind them */
    uint64_t base, taken, most_taken; /* counted frames before `first`; before `unsent`; the highest `taken` so far */
    uint64_t acked;
    int64_t marked; /* the highest wf_batch.mark that has been acknowledged */
    struct wf_batch *spare;
    uint32_t spares;
    /* Bytes of all chunks, and of all other batches; changed under lock, read without (relaxed: a limit may be noticed
     * a little late) */
    _Atomic size_t chunk_bytes, bytes;
    /* The length of `held`. Changed under lock, read without (relaxed): a thread that has put a batch there sees it
     * counted until it has left `held`. */
    _Atomic uint32_t held_count;
    bool sending;
    bool stuck;  /* the channel accepts no more batches */
    bool rewind; /* when the batches in flight come back, everything will be sent again */
    /* Sent before the frames of the next carrier message. */
    bool send_start, send_ack;
    uint64_t send_ping, send_pong; /* 0: none */
    uint64_t ping, ping_mark;      /* the unanswered PING, 0: none; `taken` when it was sent */
    uint64_t acked_frames;         /* frames that this node has acknowledged */
    uint8_t head[WF_HEAD_BYTES];   /* belongs to the carrier while it is being sent */
    _Atomic uint64_t acked_bytes;  /* `bytes_in` then; changed under lock, read without (relaxed, as a hint) */
    _Atomic bool
        closed; /* changed under lock, read without (relaxed: a send that sees it too late is counted as lost) */
    _Atomic bool failed; /* it must not be resumed; release after `why_failed`, which is under lock, acquire */
    char why_failed[WF_REASON_TEXT];
    struct wf_link_calls *calls; /* one for each worker */
    /* Under lock, one bit for each worker: it waits for space; its call has been posted. */
    uint64_t space_wanted, space_posted;
    /* The receiving side. */
    _Atomic uint64_t received; /* counted frames; relaxed */
    struct wf_arrival arrival; /* `arrival_left` of its bytes are missing and go to `arrival_at`; 0: no message */
    size_t arrival_left;
    uint8_t *arrival_at;
    /* Channels that may still receive, plus one until the link is over. At 0 `arrival` is freed, as the link itself may
     * live longer. */
    _Atomic uint32_t receivers;
    /* Of the peer's retained messages: see actors/topics/topic_retained.h (6); under the lock of the node's topics. */
    struct wf_retained_source *retained[WF_RETAINED_KINDS];
    bool warned_of_stamp;
    struct wf_pattern_mark mark; /* of its kind of `wf_transport.patterns`; under t->lock */
    /* For `weft nodes`, and heartbeats; relaxed. */
    _Atomic int64_t last_heard, last_sent, rtt;
    _Atomic uint64_t bytes_in, bytes_out, frames_in, frames_out, frames_lost, resumes;
    _Atomic uint64_t refused; /* frames of the peer that its role, or its limit, does not allow */
    struct wf_usage usage;    /* how much of its limits the peer has used */
};

/* A channel has a reference to its link, and a link to its channel, so the reference counts of both are here. */
void wf_channel_keep(struct wf_channel *ch);
void wf_channel_release(struct wf_channel *ch);

typedef void wf_on_space(struct wf_worker *w, struct wf_call *c); /* of a wf_link_calls */
/* NULL: out of memory. */
struct wf_link *wf_link_new(struct wf_channel *ch, uint64_t number, wf_on_space *on_space);
void wf_link_keep(struct wf_link *l);
void wf_link_release(struct wf_link *l);
/* Any thread: ends the link, even if it could be resumed. $cluster then takes it down. */
void wf_link_fail(struct wf_link *l, const char *reason);
/* Whether wf_link_fail has ended it for a fault of the peer, and not because this node has no memory. */
bool wf_link_at_fault(struct wf_link *l);
void wf_link_lost(struct wf_channel *ch);      /* counts a message that was lost for lack of memory or space */
void wf_link_end_receiving(struct wf_link *l); /* gives back one of wf_link.receivers */
/* A body for a message to many actors; `topic` is empty for a group. NULL: out of memory. */
struct wf_body *wf_link_body(struct wf_channel *ch, const struct wf_frame *f, weft_text topic, size_t size);
bool wf_link_drained(struct wf_link *l); /* everything has been acknowledged */
/* wf_conn.form of its present connection; "": there is none. */
const char *wf_link_carrier(struct wf_link *l);
size_t wf_link_unacked(struct wf_link *l); /* frames */
bool wf_link_confirmed(struct wf_link *l); /* the peer has sent or acknowledged a frame, so it has the link, too */
static inline bool wf_link_can(const struct wf_link *l, uint64_t capability)
{
    return (l->capabilities & capability) != 0;
}

/* Whether both nodes keep copies of each other's tables; the second: also of the tables of topics. */
static inline bool wf_link_shares_tables(const struct wf_link *l)
{
    return wf_link_can(l, WF_CAN_TABLES) && !l->client && !l->t->client;
}
static inline bool wf_link_shares_topics(const struct wf_link *l)
{
    return wf_link_shares_tables(l) && wf_link_can(l, WF_CAN_TOPICS);
}

/* Makes a seal with a new random key. */
void wf_transport_seal(struct wf_transport *t, struct wf_seal *s);
/* The number of a message as the peer sees it: that of a request is sealed. */
static inline uint64_t wf_link_ref(const struct wf_link *l, const weft_msg *m)
{
    return m->post.flags == WF_MSG_CALL || m->post.flags == WF_MSG_SPAWN ? wf_seal(&l->seal, m->ref) : m->ref;
}

/* The patterns that this node sends over the link. */
static inline struct wf_patterns *wf_link_patterns(const struct wf_link *l)
{
    return &l->t->patterns[wf_link_shares_topics(l) ? WF_INTEREST_PLAIN : WF_INTEREST_ALL];
}

#endif

/* transport/link/peer_link.h -- the link between two nodes, that is between two incarnations: it outlives its
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

/* What one worker is told of a link. All there from the beginning: none of it may fail for want of memory. */
struct wf_link_calls {
    struct wf_call space; /* there is space in the send queue */
    struct wf_call close;
    struct wf_call interest; /* `changes` has something; under way while `interest_posted` */
    struct wf_lost_node lost;
    struct wf_link *link;
    struct wf_list changes; /* wf_interest_change.in_list: have come, in order; under wf_link.lock, as the next */
    bool interest_posted;
};

/* An INTEREST frame that has come, for one worker. */
struct wf_interest_change {
    struct wf_list_node in_list; /* wf_link_calls.changes, then wf_link_writer.changes */
    uint32_t op, count;          /* of patterns that are still to be applied, from `at` on */
    size_t size, at;
    uint8_t data[];
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

/* Of a link; $cluster only. */
enum wf_state {
    WF_STATE_UP,
    WF_STATE_BROKEN, /* has lost its channel; waits for another one until `resume_by` */
    WF_STATE_OVER,
};

struct wf_link {
    struct wf_list_node in_all;               /* wf_cluster.live_links, until it is over */
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
    /* The send queue, under lock; see send_queue.h. */
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
    int64_t marked; /* wf_batch.mark of what has been acknowledged */
    struct wf_batch *spare;
    uint32_t spares;
    /* Of all chunks, and of all others; changed under lock, read without (relaxed: bounds that may be a little
     * late) */
    _Atomic size_t chunk_bytes, bytes;
    /* Of `held`. Changed under lock, read without (relaxed): who has put something there finds it at least until it
     * has gone on. */
    _Atomic uint32_t held_count;
    bool sending;
    bool stuck;  /* the channel takes no more */
    bool rewind; /* all is to be sent again, as soon as what is being sent has ended */
    /* What goes before the frames of the next message. */
    bool send_start, send_ack;
    uint64_t send_ping, send_pong; /* 0: nothing */
    uint64_t ping, ping_mark;      /* the last one, 0: none, and `taken` when it was sent */
    uint64_t acked_frames;         /* what we have acknowledged */
    uint8_t head[WF_HEAD_BYTES];   /* being sent */
    _Atomic uint64_t acked_bytes;  /* `bytes_in` then; changed under lock, read without (relaxed, as a hint) */
    _Atomic bool
        closed; /* changed under lock, read without (relaxed: a send that comes a little early is counted as lost) */
    _Atomic bool failed; /* it must not be resumed; release after `why_failed`, which is under lock, acquire */
    char why_failed[WF_REASON_TEXT];
    struct wf_link_calls *calls; /* one for each worker */
    /* Under lock, one bit for each worker: who waits there for space, and who is being told of it. */
    uint64_t space_wanted, space_posted;
    /* The receiving side. */
    _Atomic uint64_t received; /* counted frames; relaxed */
    struct wf_arrival arrival; /* of which `arrival_left` bytes are to come, to `arrival_at`; 0: of none */
    size_t arrival_left;
    uint8_t *arrival_at;
    /* Channels on which something may come, and one more until the link is over: without any `arrival` is freed, as
     * others keep the link for longer. */
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

/* A channel holds its link, and a link its channel: so the counts of both are here. */
void wf_channel_keep(struct wf_channel *ch);
void wf_channel_release(struct wf_channel *ch);

typedef void wf_on_space(struct wf_worker *w, struct wf_call *c); /* of a wf_link_calls */
/* NULL: out of memory. */
struct wf_link *wf_link_new(struct wf_channel *ch, uint64_t number, wf_on_space *on_space);
void wf_link_keep(struct wf_link *l);
void wf_link_release(struct wf_link *l);
/* Any thread: ends the link, also one that could be resumed. $cluster takes it down. */
void wf_link_fail(struct wf_link *l, const char *reason);
/* Whether wf_link_fail has ended it for a fault of the peer, and not because this node has no memory. */
bool wf_link_at_fault(struct wf_link *l);
void wf_link_lost(struct wf_channel *ch);      /* counts a message that there was no memory or space for */
void wf_link_end_receiving(struct wf_link *l); /* gives back one of wf_link.receivers */
/* A body for a message to many actors; `topic` is empty for a group. NULL: out of memory. */
struct wf_body *wf_link_body(struct wf_channel *ch, const struct wf_frame *f, weft_text topic, size_t size);
bool wf_link_drained(struct wf_link *l); /* everything has been acknowledged */
/* wf_conn.form of the connection that carries it now; "": there is none. */
const char *wf_link_carrier(struct wf_link *l);
size_t wf_link_unacked(struct wf_link *l); /* frames */
bool wf_link_confirmed(struct wf_link *l); /* something has come over it, so the peer has the link, too */
static inline bool wf_link_can(const struct wf_link *l, uint64_t capability)
{
    return (l->capabilities & capability) != 0;
}

/* Whether both keep copies of each other's tables, and of those of topics. */
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

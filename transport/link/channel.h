/* transport/link/channel.h -- one connection to another node, from on_up to on_down. */
#ifndef WF_CHANNEL_H
#define WF_CHANNEL_H

#include "carrier.h"
#include "frame.h"
#include "list.h"
#include "peer_limits.h"
#include "route.h"
#include "transport.h"
#include "worker.h"

struct wf_batch;
struct wf_dialer;
struct wf_cluster_event;
struct wf_link;

/* The state of a channel. $cluster writes it while the receiving side is paused; the receiving side reads it. */
enum wf_phase {
    WF_PHASE_NEW,     /* waits for HELLO */
    WF_PHASE_HEARD,   /* HELLO was accepted; waits for the other side's decision */
    WF_PHASE_REFUSED, /* this node has refused it; it ends when REFUSED has been sent */
    WF_PHASE_PENDING, /* both have agreed; waits for the end of the channel that it replaces */
    WF_PHASE_UP,
    WF_PHASE_OVER,
};

/* The part of a dialer that channel.c uses: a wf_dialer begins with it, and is the tag of its dials. */
struct wf_dial {
    struct wf_cluster_event *over; /* allocated in advance, so that the end of a dial needs no memory */
};

struct wf_channel {
    struct wf_list_node in_all; /* wf_cluster.channels */
    struct wf_transport *t;
    struct wf_conn *conn;
    _Atomic uint32_t refs;
    struct wf_dialer *dialer;      /* NULL: accepted */
    struct wf_cluster_event *over; /* allocated in advance, so that the channel's end needs no memory */
    _Atomic int phase;             /* release by $cluster, acquire by the receiving side */
    struct wf_link *link;          /* a reference; under t->lock until it is PENDING or UP, then fixed */
    /* From its HELLO. */
    uint64_t incarnation;
    char name[WF_NODE_NAME_MAX + 1];
    char url[WF_FRAME_URLS][WF_URL_TEXT];
    uint32_t url_count;
    bool client;
    bool guarded;          /* wf_rights_allow checks each frame */
    uint32_t denied;       /* rights (wf_right) that its certificate, or ws://, does not grant */
    uint64_t capabilities; /* wf_capability: of both */
    int64_t heartbeat;
    int64_t clock_ahead; /* how far its clock is ahead of this node's monotonic one; WF_CLOCK_UNKNOWN */
    int64_t handshake_by;
    /* Under t->lock: frames that are sent before the channel carries a link: HELLO, then WELCOME or REFUSED, so at
     * most one waits. `sending` is true while one is being sent: stored with release when it ends, loaded with acquire
     * by the thread that sends for a link. */
    struct wf_batch *next, *flight;
    _Atomic bool sending;
    /* The receiving side. */
    struct wf_inbound in;
    struct wf_call read_on;  /* posted to resume reading */
    _Atomic int64_t held_at; /* relaxed: when reading was paused, until `read_on` runs; 0: it is not paused */
    uint64_t at;             /* how many counted frames of the link have come, including those of earlier channels */
    bool placed;             /* `at` is known */
    /* Bytes at the beginning of the next message that belonged to the handshake. Written by $cluster while the
     * connection is paused. */
    size_t skip;
    uint32_t work;          /* UP: how many entries of tables may still be received in this turn */
    uint64_t peer_received; /* PENDING: frames that the other side has received, as its handshake said */
    /* Events of this channel in the queue; changed under t->lock. Only the receiving side adds events, so it may read
     * the number without the lock (relaxed). */
    _Atomic uint32_t events;
    bool events_pause; /* under t->lock */
    struct wf_slowing slowing;
};

extern const struct wf_carrier_user wf_channel_carrier_user; /* owner: the transport */
/* Sends HELLO, once, before anything else. */
void wf_channel_send_hello(struct wf_channel *ch);
/* Sends one small frame of the handshake. False: no memory, and the channel was closed. */
bool wf_channel_send(struct wf_channel *ch, const uint8_t *frame, size_t size);
/* Limit of messages that are made for members and watchers of groups in one turn. */
#define WF_COPIES_AT_ONCE WF_LIMIT("link: copies for members in a turn", 4096, 1)
/* Whether another frame may be received in this turn. */
static inline bool wf_channel_may_go_on(const struct wf_channel *ch)
{
    const struct wf_worker *w = ch->in.here;
    return ch->work > 0 && ch->in.copies < WF_COPIES_AT_ONCE && (w == NULL || !wf_worker_is_spent(w));
}
/* Posts the messages that have been received so far to the workers. */
static inline void wf_channel_post(struct wf_channel *ch)
{
    wf_inbound_post(ch->t->node, &ch->in);
}
int wf_channel_phase(const struct wf_channel *ch);
void wf_channel_enter(struct wf_channel *ch, enum wf_phase phase);
/* Closes the channel. Its phase becomes OVER, unless it is REFUSED. */
void wf_channel_end(struct wf_channel *ch, const char *reason);

#endif

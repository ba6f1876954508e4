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
    struct wf_cluster_event *over; /* for the end of a dial, which needs no memory then */
};

struct wf_channel {
    struct wf_list_node in_all; /* wf_cluster.channels */
    struct wf_transport *t;
    struct wf_conn *conn;
    _Atomic uint32_t refs;
    struct wf_dialer *dialer;      /* NULL: accepted */
    struct wf_cluster_event *over; /* made with it, so that its end is told without memory, too */
    _Atomic int phase;             /* release by $cluster, acquire by the receiving side */
    struct wf_link *link;          /* a reference; under t->lock until it is PENDING or UP, then fixed */
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
    /* Under t->lock: what is said before it carries a link: HELLO, and WELCOME or REFUSED, so that one waits at
     * most. `sending` is true while something of it is being sent: release when it ends, acquire by who sends for a
     * link. */
    struct wf_batch *next, *flight;
    _Atomic bool sending;
    /* The receiving side. */
    struct wf_inbound in;
    struct wf_call read_on;  /* posted while no more is read */
    _Atomic int64_t held_at; /* relaxed: since when no more is read, until `read_on`; 0: it is */
    uint64_t at;             /* counted frames of the link that have come, with those that came on channels before */
    bool placed;             /* `at` is known */
    /* Bytes at the beginning of the message that is handed over next: the handshake has had them. Written by $cluster
     * while the connection is paused. */
    size_t skip;
    uint32_t work;          /* UP: so many entries of tables may be received in this turn */
    uint64_t peer_received; /* PENDING: frames that the other side has said it has */
    /* Of this channel in the queue; changed under t->lock. It is the receiving side that adds to them, and so it may
     * look without (relaxed). */
    _Atomic uint32_t events;
    bool events_pause; /* under t->lock */
    struct wf_slowing slowing;
};

extern const struct wf_carrier_user wf_channel_carrier_user; /* owner: the transport */
/* Says HELLO, once, before anything else. */
void wf_channel_send_hello(struct wf_channel *ch);
/* Sends one small frame of the handshake. False: no memory, and the channel was closed. */
bool wf_channel_send(struct wf_channel *ch, const uint8_t *frame, size_t size);
/* Messages made for members of groups in one turn. */
#define WF_COPIES_AT_ONCE WF_LIMIT("link: copies for members in a turn", 4096, 1)
/* Whether another frame may be received in this turn. */
static inline bool wf_channel_may_go_on(const struct wf_channel *ch)
{
    const struct wf_worker *w = ch->in.here;
    return ch->work > 0 && ch->in.copies < WF_COPIES_AT_ONCE && (w == NULL || !wf_worker_is_spent(w));
}
/* Posts to the workers what has been received so far. */
static inline void wf_channel_post(struct wf_channel *ch)
{
    wf_inbound_post(ch->t->node, &ch->in);
}
int wf_channel_phase(const struct wf_channel *ch);
void wf_channel_enter(struct wf_channel *ch, enum wf_phase phase);
/* Closes the channel. Its phase is OVER then, or stays REFUSED. */
void wf_channel_end(struct wf_channel *ch, const char *reason);

#endif

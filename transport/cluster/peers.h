/* transport/cluster/peers.h -- the nodes that this node knows, and their states. */
#ifndef WF_PEERS_H
#define WF_PEERS_H

#include "cluster.h"
#include "hash_table.h"
#include "peer_link.h"
#include "swim_wire.h"

struct wf_swim_member;

/* A peer that is CONNECTING and does not listen is shown as LEAF, as it cannot be dialled. See wf_peer_shown. */
enum wf_peer_state { WF_PEER_CONNECTING, WF_PEER_UP, WF_PEER_DOWN, WF_PEER_SUSPECT, WF_PEER_LEAF, WF_PEER_STATES };
extern const char *const wf_peer_state_names[WF_PEER_STATES];

struct wf_peer {
    struct wf_list_node in_cluster;  /* wf_cluster.peers, oldest first */
    struct wf_list_node in_gone;     /* wf_cluster.gone: it is DOWN and has no dialer */
    struct wf_hashed by_incarnation; /* wf_cluster.known */
    uint64_t incarnation;
    char name[WF_NODE_NAME_MAX + 1];
    enum wf_peer_state state;
    char reason[WF_REASON_TEXT]; /* DOWN, SUSPECT: why */
    struct wf_link *link;        /* UP, SUSPECT */
    struct wf_link *ended; /* the last one that has ended, a reference: it may still count lost frames; or NULL */
    uint64_t frames_lost;  /* on the links before that one */
    uint64_t last_number;  /* wf_link.number of the last link */
    char (*url)[WF_URL_TEXT];
    uint32_t url_count;
    bool left;        /* it has sent BYE, or gossip says that it has left */
    bool said_bye;    /* it has announced itself, over its link, that it leaves */
    weft_text record; /* a copy of wf_swim_member.record; size 0: none */
    int64_t since;
    int64_t linked_at;  /* when its last link began; 0: never. Then even its name is only what others say */
    uint32_t faults;    /* how many links in a row have failed through its own faults */
    int64_t held_until; /* until then it is not dialled, and is refused; 0: no such limit */
};

static inline enum wf_peer_state wf_peer_shown(const struct wf_peer *p)
{
    return p->state == WF_PEER_CONNECTING && p->url_count == 0 ? WF_PEER_LEAF : p->state;
}
static inline const char *wf_peer_state_text(const struct wf_peer *p)
{
    return p->state == WF_PEER_DOWN && p->left ? "left" : wf_peer_state_names[wf_peer_shown(p)];
}

/* The record that the node has published; no name: there is none. The texts point into `p`. */
static inline struct wf_swim_record wf_peer_record(const struct wf_peer *p)
{
    return p->record.size == 0 ? (struct wf_swim_record){0} : wf_swim_record_of(p->record);
}

/* Inline, so that dialers.c, which peers.c calls, does not depend on peers.c. NULL: unknown. */
static inline struct wf_peer *wf_peers_find(const struct wf_cluster *c, uint64_t incarnation)
{
    WF_HASHED_WITH(e, &c->known, wf_cluster_hash(c, incarnation))
    {
        struct wf_peer *p = WF_CONTAINER(e, struct wf_peer, by_incarnation);
        if (p->incarnation == incarnation) return p;
    }
    return NULL;
}

void wf_peers_up(struct wf_cluster *c, struct wf_link *l);
/* The link has lost its connection: dials the peer. */
void wf_peers_broken(struct wf_cluster *c, struct wf_link *l, const char *reason);
/* Updates whether the link's node is suspect, and notifies watchers: the link may have lost its connection or got
 * another one, or gossip may suspect the node. */
void wf_peers_review(struct wf_cluster *c, struct wf_link *l, const char *reason);
/* Adds or updates the peer of a present member, with its record, and dials it if there is no link. NULL: no memory. */
struct wf_peer *wf_peers_member(struct wf_cluster *c, const struct wf_swim_member *m);
/* A node without a link is down, or has left. */
void wf_peers_gone(struct wf_cluster *c, struct wf_peer *p, const char *reason, bool left);
void wf_peers_down(struct wf_cluster *c, struct wf_link *l, const char *reason, bool left);
void wf_peers_heard_of(struct wf_cluster *c, const struct wf_link *from, const struct wf_frame_peer *p);
/* Sends `l` all other nodes, and all other nodes `l`, with PEERS, where gossip does not. */
void wf_peers_introduce(struct wf_cluster *c, struct wf_link *l);
/* This node leaves and does not listen any more, so it has to dial where a link is to be resumed: it does so now. */
void wf_peers_hurry(struct wf_cluster *c);
/* Dials the nodes that are due, and gives up others. Returns when to call it again. */
int64_t wf_peers_tick(struct wf_cluster *c, int64_t now);
void wf_peers_finish(struct wf_cluster *c);

#endif

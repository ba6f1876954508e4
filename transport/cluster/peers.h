/* transport/cluster/peers.h -- the nodes that this one knows of, and their states. */
#ifndef WF_PEERS_H
#define WF_PEERS_H

#include "cluster.h"
#include "hash_table.h"
#include "peer_link.h"
#include "swim_wire.h"

struct wf_swim_member;

/* LEAF is how a peer is shown that is CONNECTING and listens nowhere: nobody can dial it. See wf_peer_shown. */
enum wf_peer_state { WF_PEER_CONNECTING, WF_PEER_UP, WF_PEER_DOWN, WF_PEER_SUSPECT, WF_PEER_LEAF, WF_PEER_STATES };
extern const char *const wf_peer_state_names[WF_PEER_STATES];

struct wf_peer {
    struct wf_list_node in_cluster;  /* wf_cluster.peers, oldest first */
    struct wf_list_node in_gone;     /* wf_cluster.gone: it is DOWN, and nobody dials it */
    struct wf_hashed by_incarnation; /* wf_cluster.known */
    uint64_t incarnation;
    char name[WF_NODE_NAME_MAX + 1];
    enum wf_peer_state state;
    char reason[WF_REASON_TEXT]; /* DOWN, SUSPECT: why */
    struct wf_link *link;        /* UP, SUSPECT */
    struct wf_link *ended;       /* the last one that is over, a reference: it still counts what it has lost; NULL */
    uint64_t frames_lost;        /* on links before that one */
    uint64_t last_number;        /* of the last link with it */
    char (*url)[WF_URL_TEXT];
    uint32_t url_count;
    bool left;        /* said BYE */
    weft_text record; /* of wf_swim_member, a copy; size 0: none */
    int64_t since;
    int64_t linked_at;  /* its last link */
    uint32_t faults;    /* of its own, for which its links were closed, one after the other */
    int64_t held_until; /* it is not dialled before that, and refused; 0: at any time */
};

static inline enum wf_peer_state wf_peer_shown(const struct wf_peer *p)
{
    return p->state == WF_PEER_CONNECTING && p->url_count == 0 ? WF_PEER_LEAF : p->state;
}
static inline const char *wf_peer_state_text(const struct wf_peer *p)
{
    return p->state == WF_PEER_DOWN && p->left ? "left" : wf_peer_state_names[wf_peer_shown(p)];
}

/* What its node says of itself; nothing: no name. Views into `p`. */
static inline struct wf_swim_record wf_peer_record(const struct wf_peer *p)
{
    return p->record.size == 0 ? (struct wf_swim_record){0} : wf_swim_record_of(p->record);
}

/* Inline, so that dialers.c, which peers.c calls, needs nothing of peers.c. NULL: unknown. */
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
/* The link has lost its connection, and is to be dialled. */
void wf_peers_broken(struct wf_cluster *c, struct wf_link *l, const char *reason);
/* Whether its node is suspect may have changed: because the link is broken, or has another connection, or because of
 * what members say. Watchers are told. */
void wf_peers_review(struct wf_cluster *c, struct wf_link *l, const char *reason);
/* Of a member that is there: knows it, what it says of itself, and dials it if there is no link. NULL: no memory. */
struct wf_peer *wf_peers_member(struct wf_cluster *c, const struct wf_swim_member *m);
/* A node without a link is down, or has left. */
void wf_peers_gone(struct wf_cluster *c, struct wf_peer *p, const char *reason, bool left);
void wf_peers_down(struct wf_cluster *c, struct wf_link *l, const char *reason, bool left);
void wf_peers_heard_of(struct wf_cluster *c, const struct wf_link *from, const struct wf_frame_peer *p);
/* Tells `l` of all other nodes, and all other nodes of `l`. */
void wf_peers_introduce(struct wf_cluster *c, struct wf_link *l);
/* Dials nodes for which it is time, and gives up others. Returns when to call it again. */
int64_t wf_peers_tick(struct wf_cluster *c, int64_t now);
void wf_peers_finish(struct wf_cluster *c);

#endif

/* transport/cluster/cluster.h -- the state of the actor $cluster: links, peers, dialers, watchers. Only its coroutine
 * changes it. It changes `peers`, and what they point to, under wf_transport.lock, so that other threads may read
 * them. */
#ifndef WF_CLUSTER_H
#define WF_CLUSTER_H

#include "hash.h"
#include "learned.h"
#include "partition.h"
#include "swim.h"
#include "transport.h"

enum {
    WF_REJECT_SLOTS = 16,
    WF_PEERS_DOWN_KEPT = 64, /* the latest nodes that are down, which are still shown */
    WF_GUEST_BURST = 64,
    WF_OWN_SEEDS = 64, /* seeds that wf_learned_allows compares an address with */
};
#define WF_BACKOFF_FIRST WEFT_MS(50)
#define WF_BACKOFF_MAX WEFT_SEC(2)
#define WF_GIVE_UP WEFT_SEC(600)   /* how long a node is redialled that is neither a seed nor a member */
#define WF_GIVE_UP_NEW 6           /* the same for a node that was never linked, in resume windows */
#define WF_GUEST_EACH WEFT_SEC(1)  /* guests may introduce WF_GUEST_BURST nodes at once, then one in this time */
#define WF_NOT_OURS WEFT_SEC(30)   /* when an address that wf_learned_allows refuses is checked again */
#define WF_OTHER_DIALS WEFT_SEC(1) /* the node with the higher incarnation waits this long for the other one's dial */
/* This node's name may still be held by its predecessor, whose link will soon be lost. A node gives up when both
 * limits are reached, as the node that refuses it may have been stopped in between. */
#define WF_NAME_PATIENCE WEFT_SEC(3)
#define WF_NAME_REFUSALS 4
/* If links with a node fail in a row through faults of that node, the next link is delayed longer each time. The first
 * fault causes no delay. The fault of a link that has lived for WF_FAULT_FORGOTTEN is a first one again. */
#define WF_FAULT_HOLD WEFT_MS(250)
#define WF_FAULT_HOLD_MAX WEFT_SEC(30)
#define WF_FAULT_FORGOTTEN WEFT_SEC(60)
#define WF_REFUSED_TIME WEFT_SEC(1)   /* time for the other side to read REFUSED, and to close */
#define WF_HEARTBEAT_MAX WEFT_SEC(60) /* a longer heartbeat of another node is cut to this, or to this node's own */
#define WF_SUSPECT_TIME WEFT_SEC(1)   /* time for a linked node to send something when a new node claims its name */

/* An actor that is notified of all nodes, or only of this node's draining. */
struct wf_watcher {
    weft_pid pid;
    bool all;
};

struct wf_cluster {
    struct wf_transport *t;
    struct wf_list channels;   /* wf_channel.in_all; a reference each */
    struct wf_list live_links; /* wf_link.in_all; a reference each */
    struct wf_list dialers;    /* wf_dialer.in_cluster */
    struct wf_list peers;      /* wf_peer.in_cluster */
    struct wf_list gone;       /* wf_peer.in_gone; the one that went down first is first */
    uint32_t peer_count, gone_count;
    /* Links, dialers and peers by incarnation; links with nodes by name. Hashes have the node's secret. */
    struct wf_hash_table links, dialed, known, link_names;
    struct wf_watcher *watchers;
    uint32_t watcher_count, watcher_capacity;
    bool ever_up, leaving;
    bool draining;        /* the value of which watchers were notified last */
    bool leaf_told;       /* the log has said that this node does not listen */
    int64_t tables_at;    /* when wf_tables_retry is called next: once per heartbeat */
    struct wf_swim *swim; /* NULL: this is a client */
    struct wf_partition partition;
    struct wf_list changed; /* wf_swim_member.in_changed: changed members, to be reviewed by gossip.c */
    struct {
        uint32_t ended;            /* links that have ended since memory was given back */
        int64_t first_at, last_at; /* when the first and the last of them ended */
    } trim;
    struct wf_learned learned;
    int64_t guests_until; /* guests have used their rate for new members up to this time */
    struct {
        char remote[48], reason[64];
        int64_t logged_at;
        uint32_t silent;
    } rejects[WF_REJECT_SLOTS];
};

static inline uint32_t wf_cluster_hash(const struct wf_cluster *c, uint64_t incarnation)
{
    return (uint32_t)wf_mix(incarnation ^ c->t->node->secret);
}

weft_actor wf_cluster_main; /* arg: struct wf_transport * */

#endif

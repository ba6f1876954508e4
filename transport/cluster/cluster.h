/* transport/cluster/cluster.h -- what the actor $cluster keeps: links, peers, dialers, watchers. Only its
 * coroutine changes any of it; `peers` and what hangs on them change under wf_transport.lock, so that others may
 * look. */
#ifndef WF_CLUSTER_H
#define WF_CLUSTER_H

#include "hash.h"
#include "learned.h"
#include "partition.h"
#include "swim.h"
#include "transport.h"

enum {
    WF_REJECT_SLOTS = 16,
    WF_PEERS_DOWN_KEPT = 64, /* nodes that are gone and still shown */
    WF_GUEST_BURST = 64,
    WF_OWN_SEEDS = 64, /* that say where nodes of this cluster may be */
};
#define WF_BACKOFF_FIRST WEFT_MS(50)
#define WF_BACKOFF_MAX WEFT_SEC(2)
#define WF_GIVE_UP WEFT_SEC(600)   /* redialling a node that is no seed, and no member any more */
#define WF_GIVE_UP_NEW 6           /* resume windows: the same of one that has never been linked with */
#define WF_GUEST_EACH WEFT_SEC(1)  /* all guests may tell of WF_GUEST_BURST new nodes at once, and of one in each */
#define WF_NOT_OURS WEFT_SEC(30)   /* until an address is looked at again that nodes of this cluster have not */
#define WF_OTHER_DIALS WEFT_SEC(1) /* the node with the higher incarnation leaves the other one so much time */
/* A name may be taken by our own predecessor, whose link is about to be lost. Both: whoever refuses us may have been
 * stopped in between. */
#define WF_NAME_PATIENCE WEFT_SEC(3)
#define WF_NAME_REFUSALS 4
/* A node whose links are closed for faults of its own, one after the other, is dialled and taken again later each
 * time: the first one may have been a mishap, and one that has lived for WF_FAULT_FORGOTTEN is a first one again. */
#define WF_FAULT_HOLD WEFT_MS(250)
#define WF_FAULT_HOLD_MAX WEFT_SEC(30)
#define WF_FAULT_FORGOTTEN WEFT_SEC(60)
#define WF_REFUSED_TIME WEFT_SEC(1)   /* for the other side to read why, and to close */
#define WF_HEARTBEAT_MAX WEFT_SEC(60) /* of another node, that is believed */
#define WF_SUSPECT_TIME WEFT_SEC(1)   /* to show a sign of life when a newcomer claims the same name */

/* An actor that hears of nodes: of all, or only of whether this one drains. */
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
    struct wf_list gone;       /* wf_peer.in_gone; the one that has been gone for longest first */
    uint32_t peer_count, gone_count;
    /* Links, dialers and peers by incarnation; links with nodes by name. Hashes have the node's secret. */
    struct wf_hash_table links, dialed, known, link_names;
    struct wf_watcher *watchers;
    uint32_t watcher_count, watcher_capacity;
    bool ever_up, leaving;
    bool draining;        /* what watchers were told last */
    bool leaf_told;       /* that this node listens nowhere */
    int64_t tables_at;    /* when it is looked next at who could not be told of the tables: once in a heartbeat */
    struct wf_swim *swim; /* NULL: this is a client */
    struct wf_partition partition;
    struct wf_list changed; /* wf_swim_member.in_changed: members that have changed and were not looked at yet */
    struct {
        uint32_t ended;            /* links since memory was given back */
        int64_t first_at, last_at; /* when those ended */
    } trim;
    struct wf_learned learned;
    int64_t guests_until; /* what guests have told of new members is paid for by then */
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

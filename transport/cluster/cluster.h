/* transport/cluster/cluster.h -- what the actor $cluster keeps: sessions, peers, dialers, watchers. Only its
 * coroutine changes any of it; `peers` and what hangs on them change under wf_transport.lock, so that others may
 * look. */
#ifndef WF_CLUSTER_H
#define WF_CLUSTER_H

#include "hash.h"
#include "learned.h"
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
#define WF_REFUSED_TIME WEFT_SEC(1) /* for the other side to read why, and to close */
#define WF_SUSPECT_TIME WEFT_SEC(1) /* to show a sign of life when a newcomer claims the same name */

/* Somebody to be dialled: a seed, for ever, or a node heard of, for a while. */
struct wf_dialer {
    struct wf_dial dial;             /* first: see there */
    struct wf_list_node in_cluster;  /* wf_cluster.dialers */
    struct wf_hashed by_incarnation; /* wf_cluster.dialed, if that is known */
    bool in_table;
    bool seed, self, busy; /* busy: a dial or its session is under way */
    bool proven;           /* its node has been linked with: the addresses are its own */
    uint32_t source;       /* of discover.h, which lists it at the moment: then it is a seed; 0: none */
    char (*url)[WF_URL_TEXT];
    uint32_t url_count, next_url;
    uint64_t incarnation; /* of the node there, 0: not known */
    uint64_t learned;     /* wf_learned_key of the dial that is under way; 0: it need not be reported */
    uint32_t attempts;
    int64_t next_at, give_up_at;
    int64_t taken_since;       /* since when it says that our name is taken; 0: it does not */
    uint32_t taken_said;       /* how often it has said so since then */
    char last[WF_REASON_TEXT]; /* reason that was logged last */
};

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
    struct wf_session *session;  /* UP, SUSPECT */
    struct wf_session *ended;    /* the last one that is over, a reference: it still counts what it has lost; NULL */
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

struct wf_base_member {
    uint64_t node;
    char name[WF_NODE_NAME_MAX + 1];
};

struct wf_partition {
    weft_partition policy;
    uint32_t quorum;
    bool ends;                   /* the node, when it is in a minority for good */
    bool few;                    /* it is in a minority */
    bool was_many;               /* it has ever been in none: a cluster that is not whole yet does not end */
    char text[64];               /* under wf_transport.lock: then "in a minority: 2 of 5 nodes are there", else "" */
    uint32_t there;              /* of them, at the last look */
    int64_t quiet_since;         /* nobody of `base` has been suspect or doubted, and we are many */
    struct wf_base_member *base; /* who there should be: see partition.c */
    uint32_t count, capacity;
};

/* An actor that hears of nodes: of all, or only of whether this one drains. */
struct wf_watcher {
    weft_pid pid;
    bool all;
};

struct wf_cluster {
    struct wf_transport *t;
    struct wf_list channels; /* wf_channel.in_all; a reference each */
    struct wf_list sessions; /* wf_session.in_all; a reference each */
    struct wf_list dialers;  /* wf_dialer.in_cluster */
    struct wf_list peers;    /* wf_peer.in_cluster */
    struct wf_list gone;     /* wf_peer.in_gone; the one that has been gone for longest first */
    uint32_t peer_count, gone_count;
    /* Sessions, dialers and peers by incarnation; sessions with nodes by name. Hashes have the node's secret. */
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

/* ---- cluster.c ------------------------------------------------------------------------------------------------- */
weft_actor wf_cluster_main; /* arg: struct wf_transport * */

/* ---- fatal.c --------------------------------------------------------------------------------------------------- */
/* This node cannot be part of the cluster (`what`, `why`): logged and told once. */
void wf_cluster_fail(struct wf_transport *t, const char *what, const char *why);

/* ---- reachable.c: where a node listens that was not told where ------------------------------------------------- */
/* The dial of `ch` has reached somebody: listens where it has reached a seed, then says HELLO. */
void wf_reachable_dialled(struct wf_cluster *c, struct wf_channel *ch);

/* ---- admission.c ----------------------------------------------------------------------------------------------- */
/* Whether the session may be who its HELLO says. False: `why` (WF_REASON_TEXT bytes) is for both sides' logs. Without
 * TLS it may do everything, as all that get here are of this machine; but over ws:// nobody controls the node. */
bool wf_rights_admit(struct wf_cluster *c, struct wf_channel *ch, char *why);

/* ---- handshake.c: connections become links --------------------------------------------------------------------- */
void wf_handshakes_message(struct wf_cluster *c, struct wf_channel *ch, const uint8_t *data, size_t size);
void wf_handshakes_down(struct wf_cluster *c, struct wf_news *n);
int64_t wf_handshakes_tick(struct wf_cluster *c, int64_t now); /* returns when it has to look again */
void wf_handshakes_end(struct wf_cluster *c);                  /* closes those that carry no link yet */

/* ---- trim.c: memory of links that have ended goes back --------------------------------------------------------- */
void wf_trim_ended(struct wf_cluster *c, const struct wf_session *s); /* that link has ended */
int64_t wf_trim_tick(struct wf_cluster *c, int64_t now);              /* returns when it has to look again */

/* ---- links.c: links come up, are lost, go on and end ----------------------------------------------------------- */
void wf_links_bring_up(struct wf_cluster *c, struct wf_channel *ch, uint64_t number); /* 0: it cannot be resumed */
/* Both sides agree that `ch` carries `s` from now on; `heard`: frames that the other side has. Takes effect with
 * wf_links_go_on if it has no channel any more, else when that one has ended. */
void wf_links_resume(struct wf_session *s, struct wf_channel *ch, uint64_t heard);
void wf_links_go_on(struct wf_cluster *c, struct wf_session *s);
/* Its channel has ended: it is to be resumed, or over. */
void wf_links_lost(struct wf_cluster *c, struct wf_session *s, const char *reason);
/* Ends the link for good: all are told. `s` may be freed by it. */
void wf_links_end(struct wf_cluster *c, struct wf_session *s, const char *reason);
void wf_links_frame(struct wf_cluster *c, struct wf_channel *ch, const struct wf_news *n);
/* Tells each link a part of the patterns that it has not been told of. True: there is more to tell, and room for it.
 * What there was no memory for is told at the next call. */
bool wf_links_say_patterns(struct wf_cluster *c);
void wf_links_watch(struct wf_cluster *c, weft_pid who, bool all);
/* WF_NEWS_DRAIN. */
void wf_links_drain(struct wf_cluster *c);
/* Heartbeats and time limits; returns when it has to look again. */
int64_t wf_links_tick(struct wf_cluster *c, int64_t now);
/* Until when this node can tell whether the other side of that link was silent: `now`, or earlier. */
int64_t wf_links_heard_until(const struct wf_session *s, int64_t now);
void wf_links_say_bye(struct wf_session *s);
/* News for all watchers: of the node of that link; of this node itself. */
void wf_links_tell(struct wf_cluster *c, uint32_t tag, const struct wf_session *s, const char *reason);
void wf_links_tell_self(struct wf_cluster *c, uint32_t tag, const char *reason);
/* The link with that node, also one that is broken and being resumed; NULL. */
struct wf_session *wf_links_find(struct wf_cluster *c, uint64_t incarnation);
bool wf_links_is_up(struct wf_cluster *c, uint64_t incarnation); /* it has a connection */
struct wf_session *wf_links_named(struct wf_cluster *c,
                                  weft_text name); /* the same of a node of that name, no tool */

/* ---- peers.c: who there is, and dialling ----------------------------------------------------------------------- */
struct wf_peer *wf_peers_find(const struct wf_cluster *c, uint64_t incarnation);
void wf_peers_up(struct wf_cluster *c, struct wf_session *s);
/* The link has lost its connection, and is to be dialled. */
void wf_peers_broken(struct wf_cluster *c, struct wf_session *s, const char *reason);
/* Whether its node is suspect may have changed: because the link is broken, or has another connection, or because of
 * what members say. Watchers are told. */
void wf_peers_review(struct wf_cluster *c, struct wf_session *s, const char *reason);
/* Of a member that is there: knows it, what it says of itself, and dials it if there is no link. NULL: no memory. */
struct wf_peer *wf_peers_member(struct wf_cluster *c, const struct wf_swim_member *m);
/* A node without a link is down, or has left. */
void wf_peers_gone(struct wf_cluster *c, struct wf_peer *p, const char *reason, bool left);
void wf_dialers_finish(struct wf_cluster *c); /* once the carrier is gone */
void wf_peers_down(struct wf_cluster *c, struct wf_session *s, const char *reason, bool left);
void wf_peers_heard_of(struct wf_cluster *c, const struct wf_session *from, const struct wf_frame_peer *p);
/* Tells `s` of all other nodes, and all other nodes of `s`. */
void wf_peers_introduce(struct wf_cluster *c, struct wf_session *s);
int wf_dialers_add_seed(struct wf_cluster *c, const char *url);
/* What a source lists now, instead of what it listed before: URLs, each with its NUL. */
void wf_dialers_listed(struct wf_cluster *c, uint32_t source, const char *urls, size_t size);
void wf_dialers_failed(struct wf_cluster *c, struct wf_dialer *d, const char *reason);
const char *wf_dialers_url(const struct wf_dialer *d); /* that was dialled last */
/* The node that it dials is of that run. */
void wf_dialers_know(struct wf_cluster *c, struct wf_dialer *d, uint64_t incarnation);
void wf_dialers_linked(struct wf_cluster *c, struct wf_dialer *d, uint64_t incarnation);
void wf_dialers_free_again(struct wf_cluster *c, struct wf_dialer *d); /* its link is gone */
int64_t wf_dialers_tick(struct wf_cluster *c, int64_t now);
void wf_peers_finish(struct wf_cluster *c);

/* ---- gossip.c: membership -------------------------------------------------------------------------------------- */
int wf_gossip_create(struct wf_transport *t); /* once its URLs are known; WEFT_ENOMEM */
/* Whether that one may tell of one more node that is new here: guests may of few. */
bool wf_gossip_may_introduce(struct wf_cluster *c, const struct wf_session *s);
const struct wf_swim_member *wf_gossip_member(const struct wf_cluster *c, uint64_t incarnation); /* NULL: unknown */
/* What happens to links: a new one or one that goes on, one that is broken, one that has ended. */
void wf_gossip_linked(struct wf_cluster *c, struct wf_session *s);
void wf_gossip_broken(struct wf_cluster *c, const struct wf_session *s);
/* A member that this node has never been linked with was dialled in vain. */
void wf_gossip_unreached(struct wf_cluster *c, uint64_t incarnation);
/* Nothing has come over it for WF_QUIET_BEATS. */
void wf_gossip_silent(struct wf_cluster *c, const struct wf_session *s);
void wf_gossip_ended(struct wf_cluster *c, const struct wf_session *s, bool left);
/* Whether members say that the node does not answer, and its link is silent, too. */
bool wf_gossip_accused(const struct wf_cluster *c, const struct wf_session *s);
/* At each heartbeat: what members say counts once its link is silent, and no more when something is heard on it. */
void wf_gossip_look(struct wf_cluster *c, const struct wf_session *s);
void wf_gossip_frame(struct wf_cluster *c, struct wf_session *s, const void *data, size_t size);
int64_t wf_gossip_tick(struct wf_cluster *c, int64_t now); /* returns when it has to look again */
void wf_gossip_leave(struct wf_cluster *c);
void wf_gossip_describe(struct wf_cluster *c); /* this node's metadata have changed */

/* ---- partition.c ----------------------------------------------------------------------------------------------- */
int wf_partition_init(struct wf_cluster *c, const weft_node_options *o); /* once there is c->swim; WEFT_ENOMEM */
void wf_partition_finish(struct wf_partition *p);
/* The member has changed. */
void wf_partition_review(struct wf_partition *p, const struct wf_swim_member *m);
/* Whether it has changed that this node is in a minority; `*again`: when to look again at the latest. */
bool wf_partition_look(struct wf_partition *p, const struct wf_swim *s, int64_t now, int64_t *again);
/* Also with those that are only suspected it would be in a minority. */
bool wf_partition_is_final(const struct wf_partition *p, const struct wf_swim *s);
int64_t wf_partition_tick(struct wf_cluster *c, int64_t now);

/* ---- members.c ------------------------------------------------------------------------------------------------- */
int wf_meta_options(struct wf_meta *m, const weft_node_options *o); /* says in the log what is wrong */
struct wf_swim_record wf_meta_record(const struct wf_meta *m);      /* without a name; views into `m` */

#define WF_HEARTBEAT_MAX WEFT_SEC(60) /* of another node, that is believed */

/* ---- clocks.c -------------------------------------------------------------------------------------------------- */
/* What a HELLO says of the other side's clock, before this node's monotonic one; WF_CLOCK_UNKNOWN. */
int64_t wf_clock_ahead(const struct wf_transport *t, uint64_t said);
/* Links have come or gone: what wf_node_wall goes by. */
void wf_clocks_review(struct wf_cluster *c);

#endif

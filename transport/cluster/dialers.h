/* transport/cluster/dialers.h -- dialers: each dials one node, at that node's addresses, until the two are linked.
 *
 * (1) The dialer of a seed is never given up, and that of an address that discovery lists stays while it is listed. Any
 *     other dialer belongs to a node that other nodes have reported, and is given up later: peers.c decides when.
 * (2) After each failed dial it waits twice as long as before, up to WF_BACKOFF_MAX. Half of the time is random, so
 *     that many nodes do not dial one node at the same time.
 * (3) Addresses that other nodes have reported are dialled only as learned.h allows, until the node there has been
 *     linked. */
#ifndef WF_DIALERS_H
#define WF_DIALERS_H

#include "channel.h"
#include "hash_table.h"

struct wf_cluster;
struct wf_peer;

/* Dials a seed, or a node that other nodes have reported: note (1). */
struct wf_dialer {
    struct wf_dial dial;             /* first: see there */
    struct wf_list_node in_cluster;  /* wf_cluster.dialers */
    struct wf_hashed by_incarnation; /* wf_cluster.dialed, if the incarnation is known */
    bool in_table;
    bool seed, self, busy; /* self: dials this node itself; busy: it is dialling, or has a connection */
    bool proven;           /* its node has been linked, and has announced these addresses itself */
    uint32_t source;       /* the source (discover.h) that lists it now: then it is a seed; 0: none */
    char (*url)[WF_URL_TEXT];
    uint32_t url_count, next_url;
    uint64_t incarnation; /* the incarnation of the node there; 0: not known */
    uint64_t learned;     /* wf_learned_key of the present dial; 0: its result is not reported to learned.c */
    uint32_t attempts;
    int64_t next_at, give_up_at;
    int64_t taken_since;       /* when the node there first said that our name is taken; 0: it has not */
    uint32_t taken_said;       /* how often it has said so */
    char last[WF_REASON_TEXT]; /* the reason that was logged last */
};

/* A dialer of these addresses, which is never given up. NULL: no memory. */
struct wf_dialer *wf_dialers_add(struct wf_cluster *c, const weft_text *urls, uint32_t count);
int wf_dialers_add_seed(struct wf_cluster *c, const char *url);
/* The dialer of the node with that incarnation; NULL: there is none, or its incarnation is not known yet. */
struct wf_dialer *wf_dialers_find(const struct wf_cluster *c, uint64_t incarnation);
/* Sets the incarnation of the node that `d` dials; 0: it is not known. */
void wf_dialers_know(struct wf_cluster *c, struct wf_dialer *d, uint64_t incarnation);
/* Replaces the URLs that a source listed before by these: each ends with its NUL. */
void wf_dialers_listed(struct wf_cluster *c, uint32_t source, const char *urls, size_t size);
/* Dials the next address that may be dialled now; else sets `next_at`. */
void wf_dialers_dial(struct wf_cluster *c, struct wf_dialer *d);
const char *wf_dialers_url(const struct wf_dialer *d); /* the URL that was dialled last */
/* Replaces the addresses of `d`, which is not busy. False: no memory; it keeps those that it has. */
bool wf_dialers_readdress(struct wf_dialer *d, const weft_text *urls, uint32_t count);
void wf_dialers_failed(struct wf_cluster *c, struct wf_dialer *d, const char *reason);
void wf_dialers_linked(struct wf_cluster *c, struct wf_dialer *d, uint64_t incarnation);
void wf_dialers_free_again(struct wf_cluster *c, struct wf_dialer *d); /* its link has ended */
void wf_dialers_free(struct wf_cluster *c, struct wf_dialer *d);
/* Updates wf_cluster.gone, the peers that are DOWN and have no dialer: call it when one of the two may have changed.
 * `p` may be NULL. */
void wf_dialers_note_gone(struct wf_cluster *c, struct wf_peer *p);
void wf_dialers_finish(struct wf_cluster *c); /* after the carrier has been destroyed */

#endif

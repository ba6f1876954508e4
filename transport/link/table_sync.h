/* transport/link/table_sync.h -- sends this node's tables of names, groups and topics to its peers, and keeps copies of
 * theirs.
 *
 * Design notes.
 * (1) A peer is on the list from just before the workers learn of the link (so that no message overtakes the snapshot)
 *     until just before they learn of its end (so that the names of the peer vanish before any actor is notified). All
 *     this happens under the node's tables_lock. If a snapshot is too long for one turn, or for the space in the send
 *     queue, it is sent in parts, and changes are sent meanwhile. Setting an entry twice, or removing one that was not
 *     set yet, does no harm, so in the end the copy is right.
 * (2) If there is no memory to send an entry, the peer is stale: it gets a new snapshot at the next change or
 *     heartbeat.
 * (3) All nodes keep the same retained messages (actors/topics/topic_retained.h), which may be large. Each peer has a
 *     mark in the list of them; the messages behind the mark are sent as long as its send queue has space, and the
 *     rest when it has space again. A node sends the messages that were published on it, and those of nodes that are
 *     not linked with it: such nodes may have ended, and then every other node must send their messages.
 * (4) Leaves are nodes that do not listen. Two leaves have no link, and so do not learn each other's names. A node
 *     that is linked with both tells the leaf with the younger claim that the name is taken (WF_TABLE_TAKEN). Entries
 *     of groups and topics are not passed on between leaves.
 * (5) The entries that a peer sent before its link ended, or before it began a new snapshot, are removed in parts, in
 *     separate turns. The end of a link is not reported before all of them are removed.
 * (6) A worker may find a peer's entry before it has learned of the link; then it opens its writer at once
 *     (wf_tables_link).
 * (7) A node may not claim a name that it knew to be taken (actors/names/names.c (6)). It knew all names that were
 *     announced before a mark that it has acknowledged (wf_link_mark). An acknowledgement overtakes frames that wait to
 *     be sent, also a claim that is older than the acknowledgement. So a mark counts CLAIM_WAITS later. If the claim
 *     waits for even longer, this node doubts it without cause. But the other node cannot doubt this node's claim, too,
 *     as each would have to acknowledge the other's claim before its own is sent. So one of the two gives way. A link
 *     that cannot be resumed has no acknowledgements: its node counts as one that knew no names. When a link ends, the
 *     time of the mark is kept under the node's name, for the last PAST_MAX nodes: also a later run of that node counts
 *     as one that knew. */
#ifndef WF_TABLE_SYNC_H
#define WF_TABLE_SYNC_H

#include "frame.h"
#include "peer_link.h"
#include "tables.h"

/* $cluster calls them: the first before wf_link_writers_open (WEFT_ENOMEM), the second before the link's end is
 * reported. */
int wf_tables_open(struct wf_link *l);
void wf_tables_close(struct wf_link *l);
void wf_tables_finish(struct wf_transport *t); /* after the last link has ended */
/* $cluster calls it at each heartbeat: sends snapshots to stale peers, note (2), and the parts that wait for space. */
void wf_tables_retry(struct wf_transport *t);
/* A TABLE frame has come. False: the link has failed. */
bool wf_tables_receive(struct wf_channel *ch, const struct wf_frame *f);
/* The link to that node, with a reference for the caller; NULL: there is none. Any thread. */
struct wf_link *wf_tables_link(struct wf_transport *t, uint64_t incarnation);
void wf_tables_route_tell(weft_node *node, int op, const struct wf_entry *e); /* wf_route.tell */
void wf_tables_retained(weft_node *node, uint64_t number);                    /* wf_route.retained */
/* There is space in the send queue, or a new turn: continues to send and to remove entries, and to send retained
 * messages. */
void wf_tables_go_on(struct wf_link *l);

#endif

/* transport/link/table_sync.h -- the tables of names, groups and topics, of which nodes keep copies of each other.
 *
 * Design notes.
 * (1) Peers are on the list from just before the workers learn of the link (so that no message overtakes the
 *     snapshot) until just before they learn of its end (so that nobody hears of that sooner than its names vanish).
 *     All of it under the node's tables_lock. A snapshot that is more than one turn should say, or that has no room
 *     in the send queue, goes on in parts; changes are told meanwhile. What is set twice is set, and what is taken
 *     back before it was set is not there: so in the end the copy is right.
 * (2) What cannot be written down for want of memory makes the peer stale: it gets a new snapshot with the next
 *     change or heartbeat.
 * (3) What is retained is the same on all nodes (actors/topics/topic_retained.h), and may be large. A peer is told of
 *     all that stands behind its mark in the list of that, as long as there is room in its send queue; then it goes
 *     on when there is. Each node tells of what was published on it, and of what was published on nodes that are not
 *     linked with it: they may be gone, and then everybody has to.
 * (4) Two leaves, which listen nowhere, have no link, and so do not hear of each other's names. A node that both are
 *     linked with tells the one whose name is the younger that it is taken (WF_TABLE_TAKEN). Groups and topics do
 *     not pass between leaves.
 * (5) What a peer has told of before its link ended, or before it began anew, is taken out in parts, in turns of
 *     their own. A link has not ended for anybody before all of it is gone.
 * (6) A worker may find a peer's entry before it has learned of the link; then it opens its writer at once
 *     (wf_tables_link).
 * (7) A node may not claim a name that it knew to be taken (actors/names/names.c (6)). It knew what was announced
 *     before the last mark that it has acknowledged (wf_link_mark). Its claim may still have been made before it knew
 *     that: an acknowledgement overtakes what waits to be sent. Then this node doubts it without cause; but the other
 *     node cannot doubt the claim of this one, too, as each would have to acknowledge the other's before its own is
 *     sent. So one of the two gives way. A link that cannot be resumed has no acknowledgements, and its node counts as
 *     one that knew nothing. The time of the mark is kept under the node's name when its link ends, for the last
 *     PAST_MAX nodes. */
#ifndef WF_TABLE_SYNC_H
#define WF_TABLE_SYNC_H

#include "frame.h"
#include "peer_link.h"
#include "tables.h"

/* By $cluster: before wf_link_writers_open (WEFT_ENOMEM), and before anybody hears of the end. */
int wf_tables_open(struct wf_link *l);
void wf_tables_close(struct wf_link *l);
void wf_tables_finish(struct wf_transport *t); /* after the last link has ended */
/* at each heartbeat: for want of memory some may have missed something */
void wf_tables_retry(struct wf_transport *t);
/* A TABLE frame came. False: the link was closed. */
bool wf_tables_receive(struct wf_channel *ch, const struct wf_frame *f);
/* The link to that node, if it is open; a reference of the caller's. Any thread. */
struct wf_link *wf_tables_link(struct wf_transport *t, uint64_t incarnation);
void wf_tables_route_tell(weft_node *node, int op, const struct wf_entry *e); /* wf_route.tell */
void wf_tables_retained(weft_node *node, uint64_t number);                    /* wf_route.retained */
/* There is room in the send queue, for which what is retained may have waited. */
void wf_tables_go_on(struct wf_link *l);

#endif

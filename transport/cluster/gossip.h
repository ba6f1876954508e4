/* transport/cluster/gossip.h -- membership in a node: connects swim.c with links and peers.
 *
 * Design notes.
 * (1) Links watch connections, swim.c watches nodes. While something comes over all links, swim.c probes seldom. If a
 *     link is broken, or silent for two heartbeats, its node is probed next. A node with a broken link is suspect until
 *     the link is resumed. If gossip says that a node is down, its link is ended at once if it is broken or silent. A
 *     node from which something is heard lives, whatever other members say: its link is not ended, and it is not shown
 *     as suspect. It is told at once what members say of it, and refutes that. This is usual when a network partition
 *     has healed, and each side learns what the other one believed.
 * (2) swim.c must not be called from its callbacks, and ending a link calls it. So on_changed only lists the changed
 *     member, and `settle` reviews the list afterwards. */
#ifndef WF_GOSSIP_H
#define WF_GOSSIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_cluster;
struct wf_link;
struct wf_swim_member;
struct wf_transport;

int wf_gossip_create(struct wf_transport *t); /* when the node's URLs are known; WEFT_ENOMEM */
/* Whether that peer may introduce one more node that is new here. Guests may introduce only a few: it is counted. */
bool wf_gossip_may_introduce(struct wf_cluster *c, const struct wf_link *l);
const struct wf_swim_member *wf_gossip_member(const struct wf_cluster *c, uint64_t incarnation); /* NULL: unknown */
/* Events of links: a link is new or resumed; it has lost its channel. */
void wf_gossip_linked(struct wf_cluster *c, struct wf_link *l);
void wf_gossip_broken(struct wf_cluster *c, const struct wf_link *l);
/* A member that this node was never linked with could not be reached. */
void wf_gossip_unreached(struct wf_cluster *c, uint64_t incarnation);
/* Nothing has come over the link for WF_QUIET_BEATS heartbeats; the link has ended. */
void wf_gossip_silent(struct wf_cluster *c, const struct wf_link *l);
void wf_gossip_ended(struct wf_cluster *c, const struct wf_link *l, bool left);
/* Whether the node has left the cluster, as it or others say. */
bool wf_gossip_has_left(const struct wf_cluster *c, const struct wf_link *l);
/* Whether the node is suspect by gossip, and its link is silent, too. */
bool wf_gossip_accused(const struct wf_cluster *c, const struct wf_link *l);
/* At each heartbeat of a link: reviews a suspect, as a suspicion counts only while the link is silent. */
void wf_gossip_look(struct wf_cluster *c, const struct wf_link *l);
void wf_gossip_frame(struct wf_cluster *c, struct wf_link *l, const void *data, size_t size);
int64_t wf_gossip_tick(struct wf_cluster *c, int64_t now); /* returns when to call it again */
void wf_gossip_leave(struct wf_cluster *c);
void wf_gossip_describe(struct wf_cluster *c); /* this node's metadata have changed */

#endif

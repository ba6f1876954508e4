/* transport/cluster/gossip.h -- membership: what members say of each other.
 *
 * Design notes.
 * (1) Links watch connections, swim.c watches nodes. While all links are heard of, swim.c hardly has to look. A link
 *     that is broken, or silent for two heartbeats, is a reason to probe its node next, no more: the node is suspect
 *     to us, and goes on if the link is resumed. A node that is down ends a broken link at once, and one that has
 *     been quiet. A node from which something is heard lives, whatever others say: its link is not ended, nor is it
 *     suspect to us. It is told at once what is said of it, and will refute it. After a network was cut and has
 *     healed that is the rule, when each side hears what the other one has thought.
 * (2) swim.c must not be called back from its callbacks, and ending a link calls it. So on_changed only lists who it
 *     was, and `settle` looks at them afterwards. */
#ifndef WF_GOSSIP_H
#define WF_GOSSIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_cluster;
struct wf_link;
struct wf_swim_member;
struct wf_transport;

int wf_gossip_create(struct wf_transport *t); /* once its URLs are known; WEFT_ENOMEM */
/* Whether that one may tell of one more node that is new here: guests may of few. */
bool wf_gossip_may_introduce(struct wf_cluster *c, const struct wf_link *l);
const struct wf_swim_member *wf_gossip_member(const struct wf_cluster *c, uint64_t incarnation); /* NULL: unknown */
/* What happens to links: a new one or one that goes on, one that is broken, one that has ended. */
void wf_gossip_linked(struct wf_cluster *c, struct wf_link *l);
void wf_gossip_broken(struct wf_cluster *c, const struct wf_link *l);
/* A member that this node has never been linked with was dialled in vain. */
void wf_gossip_unreached(struct wf_cluster *c, uint64_t incarnation);
/* Nothing has come over it for WF_QUIET_BEATS. */
void wf_gossip_silent(struct wf_cluster *c, const struct wf_link *l);
void wf_gossip_ended(struct wf_cluster *c, const struct wf_link *l, bool left);
/* Whether members say that the node does not answer, and its link is silent, too. */
bool wf_gossip_accused(const struct wf_cluster *c, const struct wf_link *l);
/* At each heartbeat: what members say counts once its link is silent, and no more when something is heard on it. */
void wf_gossip_look(struct wf_cluster *c, const struct wf_link *l);
void wf_gossip_frame(struct wf_cluster *c, struct wf_link *l, const void *data, size_t size);
int64_t wf_gossip_tick(struct wf_cluster *c, int64_t now); /* returns when it has to look again */
void wf_gossip_leave(struct wf_cluster *c);
void wf_gossip_describe(struct wf_cluster *c); /* this node's metadata have changed */

#endif

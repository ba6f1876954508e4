/* transport/cluster/links.h -- how links begin, lose their channels, are resumed and end. */
#ifndef WF_LINKS_H
#define WF_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/pid.h>
#include <weft/pack.h>

struct wf_channel;
struct wf_cluster;
struct wf_cluster_event;
struct wf_link;

void wf_links_bring_up(struct wf_cluster *c, struct wf_channel *ch, uint64_t number); /* 0: it cannot be resumed */
/* Both sides have agreed that `ch` carries `l` from now on; `peer_received`: frames that the other side has received.
 * If the link has no channel, this takes effect in wf_links_go_on, otherwise when the old channel has ended. */
void wf_links_resume(struct wf_link *l, struct wf_channel *ch, uint64_t peer_received);
void wf_links_go_on(struct wf_cluster *c, struct wf_link *l);
/* The link's channel has ended: the link waits to be resumed, or ends. */
void wf_links_lost(struct wf_cluster *c, struct wf_link *l, const char *reason);
/* Ends the link for good and notifies workers, peers and watchers. `l` may be freed by it. */
void wf_links_end(struct wf_cluster *c, struct wf_link *l, const char *reason);
/* The node itself has announced that it leaves: the same, and this incarnation gets no other link. */
void wf_links_bye(struct wf_cluster *c, struct wf_link *l, const char *reason);
/* Others report that the node has left. If its link is up, its BYE ends the link, behind its last messages. If the link
 * has lost its connection, the node resumes it for those messages, as long as it has time for that. */
void wf_links_has_left(const struct wf_cluster *c, struct wf_link *l);
void wf_links_frame(struct wf_cluster *c, struct wf_channel *ch, const struct wf_cluster_event *e);
void wf_links_watch(struct wf_cluster *c, weft_pid who, bool all);
/* WF_CLUSTER_EVENT_DRAIN. */
void wf_links_drain(struct wf_cluster *c);
/* Heartbeats and time limits; returns when to call it again. */
int64_t wf_links_tick(struct wf_cluster *c, int64_t now);
/* Up to when this node has read everything on that link, so that silence can be judged: `now`, or earlier. */
int64_t wf_links_heard_until(const struct wf_link *l, int64_t now);
void wf_links_send_bye(struct wf_link *l);
/* Notifies all watchers: of the node of that link; of this node itself. */
void wf_links_notify(struct wf_cluster *c, uint32_t tag, const struct wf_link *l, const char *reason);
void wf_links_notify_self(struct wf_cluster *c, uint32_t tag, const char *reason);
/* The link with that node, also if it has no channel and waits to be resumed; NULL: there is none. */
struct wf_link *wf_links_find(struct wf_cluster *c, uint64_t incarnation);
bool wf_links_is_up(struct wf_cluster *c, uint64_t incarnation);      /* it has a connection */
struct wf_link *wf_links_named(struct wf_cluster *c, weft_text name); /* the same by name; never a tool's link */

#endif

/* transport/cluster/links.h -- links come up, are lost, go on and end. */
#ifndef WF_LINKS_H
#define WF_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/pid.h>
#include <weft/pack.h>

struct wf_channel;
struct wf_cluster;
struct wf_news;
struct wf_session;

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

#endif

/* transport/discover/discover.h -- finding other nodes: sources that say "these are the URLs now", whenever that
 * changes.
 *
 * Design notes.
 * (1) A source is one entry of weft_node_options.discover: a URL (a list of one, for ever), dns:, dns-srv: or etcd:.
 *     Its kind starts it, and from then on it reports from a thread of its own choice: an actor (DNS) or a thread
 *     (etcd). Nothing here knows how.
 * (2) What it reports goes to $cluster as news. There each URL has a dialer, like a seed, for as long as it is
 *     listed; a link that is up outlives its entry.
 * (3) A source that fails keeps what it has said before: a list that may be stale is better than none. A source that
 *     says "nobody" is believed.
 * (4) The log gets a line when the reason of a failure, or the list, changes; not one per attempt. */
#ifndef WF_DISCOVER_H
#define WF_DISCOVER_H

#include "source.h"

enum { WF_SOURCES_MAX = 16 };

struct wf_discover {
    uint32_t count;
    struct wf_source source[WF_SOURCES_MAX];
};

/* Checks the specs (the log says what is wrong with which). */
int wf_discover_create(struct wf_transport *t, const weft_node_options *o);
int wf_discover_start(struct wf_transport *t);
void wf_discover_leave(struct wf_transport *t, int64_t deadline);
void wf_discover_destroy(struct wf_transport *t);

#endif

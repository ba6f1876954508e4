/* transport/discover/discover.h -- finding other nodes: sources that report the list of their URLs whenever it
 * changes.
 *
 * Design notes.
 * (1) A source is one entry of weft_node_options.discover: a URL (a fixed list of one), dns:, dns-srv: or etcd:. The
 *     code of its kind starts it; from then on it reports from an actor (DNS) or from a thread (etcd), which does not
 *     matter here.
 * (2) A report goes to $cluster as an event. There each URL has a dialer, like a seed, as long as it is listed; a link
 *     that is up outlives its entry.
 * (3) A source that fails keeps its last list: a list that may be stale is better than none. An empty list is used
 *     like any other.
 * (4) The log gets a line when the reason of a failure, or the list, changes; not one per attempt. */
#ifndef WF_DISCOVER_H
#define WF_DISCOVER_H

#include "source.h"

enum { WF_SOURCES_MAX = 16 };

struct wf_discover {
    uint32_t count;
    struct wf_source source[WF_SOURCES_MAX];
};

/* Whether a node takes the spec, without a look at files or at the network. WEFT_EADDRESS; `why` (WF_REASON_TEXT bytes)
 * says what is wrong. */
int wf_discover_check(const char *spec, char *why);
/* Checks the specs (the log names the wrong one, and says what is wrong). */
int wf_discover_create(struct wf_transport *t, const weft_node_options *o);
int wf_discover_start(struct wf_transport *t);
void wf_discover_leave(struct wf_transport *t, int64_t deadline);
void wf_discover_destroy(struct wf_transport *t);

#endif

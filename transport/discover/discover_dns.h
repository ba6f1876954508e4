/* transport/discover/discover_dns.h -- DNS as a source of URLs.
 *
 * Design notes.
 * (1) Each source is an actor: it looks the name up, reports, and sleeps until the TTL of the records has passed. It
 *     waits for c-ares's sockets as for any other descriptor, so no worker is ever blocked and there is no thread.
 * (2) A channel lives for one look-up: changes of /etc/resolv.conf count at the next one, and nothing is open in
 *     between.
 * (3) "No such name" and "no such records" are answers: the list is empty then. If a server does not answer, or reports
 *     a failure, the list stays as it was. */
#ifndef WF_DISCOVER_DNS_H
#define WF_DISCOVER_DNS_H

#include "source.h"

extern const struct wf_source_kind wf_source_dns, wf_source_dns_srv;

#endif

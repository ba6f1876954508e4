/* transport/discover/discover_dns.h -- DNS as a source of URLs. */
#ifndef WF_DISCOVER_DNS_H
#define WF_DISCOVER_DNS_H

#include "source.h"

extern const struct wf_source_kind wf_source_dns, wf_source_dns_srv;

#endif

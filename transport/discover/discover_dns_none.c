/* transport/discover/discover_dns_none.c -- a build without c-ares. */
#include "discover.h"
#include "discover_dns.h"
#include "source.h"

#include <stdio.h>

static int no_dns(const struct wf_source *s, const char *rest, char *why)
{
    (void)s, (void)rest;
    snprintf(why, WF_REASON_TEXT, "this weft was built without c-ares: install libc-ares-dev and build weft again");
    return WEFT_EADDRESS;
}

static const char *const dns_options[] = {"server", "scheme", NULL};
const struct wf_source_kind wf_source_dns = {"dns:", dns_options, no_dns, NULL, NULL, NULL, NULL};
const struct wf_source_kind wf_source_dns_srv = {"dns-srv:", dns_options, no_dns, NULL, NULL, NULL, NULL};

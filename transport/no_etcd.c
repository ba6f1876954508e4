/* A build without libcurl. */
#include "discover.h"

#include <stdio.h>

static int no_etcd(struct wf_source *s, const char *rest, char *why)
{
    (void)s, (void)rest;
    snprintf(why, WF_REASON_TEXT,
             "this weft was built without libcurl: install libcurl4-gnutls-dev and build it anew");
    return WEFT_EADDRESS;
}

static const char *const etcd_options[] = {"ttl", "user", "password_file", "ca", "cert", "key", NULL};
const struct wf_source_kind wf_source_etcd = {"etcd:", etcd_options, no_etcd, NULL, NULL, NULL};

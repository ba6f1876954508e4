/* transport/discover/etcd_none.c -- a build without libcurl. */
#include "etcd.h"
#include "source.h"

#include <stdio.h>

static int no_etcd(const struct wf_source *s, const char *rest, char *why)
{
    (void)s, (void)rest;
    snprintf(why, WF_REASON_TEXT,
             "this weft was built without libcurl: install libcurl4-gnutls-dev and build weft again");
    return WEFT_EADDRESS;
}

static const char *const etcd_options[] = {"ttl", "user", "password_file", "ca", "cert", "key", NULL};
const struct wf_source_kind wf_source_etcd = {"etcd:", etcd_options, no_etcd, NULL, NULL, NULL, NULL};

int wf_etcd_ask(struct wf_etcd *e, enum wf_ask_kind kind, const char *name, int64_t token)
{
    (void)e, (void)kind, (void)name, (void)token;
    return WEFT_ECLOSED;
}

void wf_etcd_listen(struct wf_etcd *e, weft_event wake)
{
    (void)e, (void)wake;
}

struct wf_etcd_event *wf_etcd_take_event(struct wf_etcd *e)
{
    (void)e;
    return NULL;
}

int64_t wf_etcd_valid_until(const struct wf_etcd *e, int64_t lease)
{
    (void)e, (void)lease;
    return WEFT_NOW;
}

/* transport/discover/etcd_spec.h -- reads a spec of etcd. */
#ifndef WF_ETCD_SPEC_H
#define WF_ETCD_SPEC_H

#include "source.h"
#include "url.h"

/* The fields of a spec. */
struct wf_etcd_spec {
    char base[256];   /* "http://host:port" */
    char prefix[112]; /* of the keys, "/weft/" */
    char user[64], password[128];
    char ca[WF_URL_TEXT], cert[WF_URL_TEXT], key[WF_URL_TEXT];
    int64_t ttl;
};
/* Whether it is right, without a look at the file of its password: WEFT_EADDRESS, and why. */
int wf_etcd_spec_check(const struct wf_source *s, const char *rest, char *why);
/* WEFT_EADDRESS, WEFT_EACCESS, and why. */
int wf_etcd_spec_read(struct wf_etcd_spec *out, const struct wf_source *s, const char *rest, char *why);

#endif

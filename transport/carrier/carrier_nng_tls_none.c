/* transport/carrier/carrier_nng_tls_none.c -- a build without mbed TLS: no TLS under NNG's streams. */
#include "carrier_nng_tls.h"

#include <weft/error.h>

int wf_nng_tls_open(struct wf_nng_tls **out, const struct wf_tls *tls, bool server)
{
    (void)out;
    (void)tls;
    (void)server;
    return WEFT_ENOTFOUND;
}

struct nng_tls_config *wf_nng_tls_config(const struct wf_nng_tls *t)
{
    (void)t;
    return NULL;
}

int wf_nng_tls_renew(struct wf_nng_tls *t, const struct wf_tls *tls)
{
    (void)t;
    (void)tls;
    return WEFT_ENOTFOUND;
}

void wf_nng_tls_close(struct wf_nng_tls *t)
{
    (void)t;
}

void wf_nng_tls_ask(nng_stream *stream, struct wf_nng_tls_peer *out)
{
    (void)stream;
    *out = (struct wf_nng_tls_peer){.known = false};
}

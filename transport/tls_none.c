/* Without mbed TLS: no certificates, no TLS. */
#include "carrier_nng_tls.h"

#include <stdio.h>

#include <weft/error.h>

int wf_tls_load(struct wf_tls **out, const char *folder, const char *name, char *why, size_t why_size)
{
    (void)out;
    (void)folder;
    (void)name;
    snprintf(why, why_size, "this weft was built without TLS: install libmbedtls-dev (2.28) and build it anew");
    return WEFT_ENOTFOUND;
}

void wf_tls_free(struct wf_tls *tls)
{
    (void)tls;
}

int wf_nng_tls_open(struct nng_tls_config **out, const struct wf_tls *tls, bool server)
{
    (void)out;
    (void)tls;
    (void)server;
    return WEFT_ENOTFOUND;
}

void wf_nng_tls_close(struct nng_tls_config *config)
{
    (void)config;
}

void wf_nng_tls_ask(nng_stream *stream, struct wf_nng_tls_peer *out)
{
    (void)stream;
    *out = (struct wf_nng_tls_peer){.known = false};
}

/* tests/unit/transport/security/identity_read.h -- reads the identity out of the bytes of a certificate, as tests have
 * them. */
#ifndef IDENTITY_READ_H
#define IDENTITY_READ_H

#include <stdio.h>

#include "identity_tls.h"

/* From a certificate in DER or (`size` counts the final NUL) PEM, the first if there are several. */
static inline bool identity_read(struct wf_identity *out, const void *certificate, size_t size, char *why,
                                 size_t why_size)
{
    mbedtls_x509_crt crt;
    mbedtls_x509_crt_init(&crt);
    bool ok = mbedtls_x509_crt_parse(&crt, certificate, size) == 0;
    if (!ok) snprintf(why, why_size, "this is no certificate");
    else ok = wf_identity_of(out, &crt, why, why_size);
    mbedtls_x509_crt_free(&crt);
    return ok;
}

#endif

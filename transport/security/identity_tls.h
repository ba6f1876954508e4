/* transport/security/identity_tls.h -- the part of identity.h that needs mbed TLS. */
#ifndef WF_IDENTITY_TLS_H
#define WF_IDENTITY_TLS_H

#include "identity.h"

#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <stddef.h>

#include <weft/api.h>

/* False: `why` (`why_size` bytes) says what is wrong with the certificate. Does not check whether it can be trusted. */
WEFT_API bool wf_identity_of(struct wf_identity *out, const mbedtls_x509_crt *crt, char *why, size_t why_size);

#endif

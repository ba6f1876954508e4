/* transport/security/tls.h -- a node's certificates.
 *
 * tls.c reads them, carrier_nng_tls.c uses them; without mbed TLS they are tls_none.c and
 * carrier_nng_tls_none.c. */
#ifndef WF_TLS_H
#define WF_TLS_H

#include "identity.h"

WEFT_BEGIN

enum { WF_TLS_PATH = 4096, WF_TLS_WHY = 4400 };

/* A node's certificate and key, and the authority that it trusts. As PEM, checked. */
struct wf_tls {
    struct wf_identity self;
    char *authority, *certificate, *key;
    char *folder;      /* where they were found */
    char serial[64];   /* the serial number of the certificate, in hex digits */
    char until[16];    /* its last day, "2027-11-22" */
    char warning[256]; /* "" or a warning for the log */
};

/* ca.crt, NAME.crt and NAME.key of a folder. They must fit together and be good today. WEFT_OK; else `why`
 * (`why_size` bytes, WF_TLS_WHY are enough) says which file, what is wrong and what to do. */
WEFT_API int wf_tls_load(struct wf_tls **out, const char *folder, const char *name, char *why, size_t why_size);
WEFT_API void wf_tls_free(struct wf_tls *tls); /* NULL is fine */
/* Whether others can read that file, a private key: then `warning` says so, and what to do. Else it is "". */
WEFT_API bool wf_tls_key_is_open(const char *path, char *warning, size_t size);

WEFT_END
#endif

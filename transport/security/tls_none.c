/* transport/security/tls_none.c -- a build without mbed TLS: no certificates. */
#include "tls.h"

#include <stdio.h>

#include <weft/error.h>

int wf_tls_load(struct wf_tls **out, const char *folder, const char *name, char *why, size_t why_size)
{
    (void)out;
    (void)folder;
    (void)name;
    snprintf(why, why_size, "this weft was built without TLS: install libmbedtls-dev (2.28) and build weft again");
    return WEFT_ENOTFOUND;
}

void wf_tls_free(struct wf_tls *tls)
{
    (void)tls;
}

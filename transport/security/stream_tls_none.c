/* transport/security/stream_tls_none.c -- without mbed TLS: no TLS for users' streams. */
#include <stdio.h>

#include <weft/error.h>
#include <weft/tls.h>

static int none(char *why, size_t why_size)
{
    if (why != NULL)
        snprintf(why, why_size,
                 "this weft was built without TLS: install libmbedtls-dev (2.28) and build weft again");
    return WEFT_ENOTSUP;
}

int weft_tls_open(weft_tls **out, const weft_tls_options *options, char *why, size_t why_size)
{
    (void)out, (void)options;
    return none(why, why_size);
}

int weft_tls_add(weft_tls *tls, const char *name, const char *certificate, const char *key, char *why,
                 size_t why_size)
{
    (void)tls, (void)name, (void)certificate, (void)key;
    return none(why, why_size);
}

void weft_tls_close(weft_tls *tls)
{
    (void)tls;
}

int weft_stream_secure(weft_stream s, weft_tls *tls, const char *name, char *why, size_t why_size, int64_t deadline)
{
    (void)s, (void)tls, (void)name, (void)deadline;
    return none(why, why_size);
}

int weft_stream_tls(weft_stream s, weft_tls_info *out)
{
    (void)s, (void)out;
    return WEFT_ENOTSUP;
}

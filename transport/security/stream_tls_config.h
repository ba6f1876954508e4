/* transport/security/stream_tls_config.h -- TLS under users' streams: the configuration, as the connection sees
 * it. */
#ifndef WF_STREAM_TLS_CONFIG_H
#define WF_STREAM_TLS_CONFIG_H

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/ssl.h>
#include <stdatomic.h>

#include <weft/tls.h>

enum { WF_TLS_PROTOCOLS = 8, WF_TLS_NAMES = 64, WF_TLS_NAME_BYTES = 256 };

struct wf_tls_pair {
    mbedtls_x509_crt certificate;
    mbedtls_pk_context key;
    char name[WF_TLS_NAME_BYTES]; /* "": for clients that ask for no other pair's name */
};

/* Only read once streams use it, but for `random`, which mbed TLS guards by a mutex of its own. */
struct weft_tls {
    mbedtls_ssl_config ssl;
    mbedtls_x509_crt authority;
    struct wf_tls_pair *pairs[WF_TLS_NAMES];
    int pair_count;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    char *protocols[WF_TLS_PROTOCOLS + 1];
    bool server, unverified;
    _Atomic int holders; /* its opener and each stream; release, and acquire by the last one, which frees it */
};

void wf_tls_hold(weft_tls *tls);
void wf_tls_let_go(weft_tls *tls);
/* The pair for what a client asks for (`name` without a NUL); NULL: none. */
struct wf_tls_pair *wf_tls_pair_for(const weft_tls *tls, const unsigned char *name, size_t size);

#endif

/* transport/security/tls_suites.h -- the cipher suites that nodes and streams offer and accept. */
#ifndef WF_TLS_SUITES_H
#define WF_TLS_SUITES_H

#include <mbedtls/ssl_ciphersuites.h>

/* TLS 1.2 with forward secrecy (ephemeral keys) and authenticated encryption. */
static const int wf_tls_suites[] = {MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                                    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
                                    MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
                                    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
                                    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
                                    MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
                                    0};

#endif

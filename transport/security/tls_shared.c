/* transport/security/tls_shared.c -- see tls_shared.h. */
#include "tls_shared.h"

#include <mbedtls/ssl_ciphersuites.h>
#include <stddef.h>

static const int suites[] = {MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                             MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
                             MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
                             MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
                             MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
                             MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
                             0};

int wf_tls_init(mbedtls_ssl_config *ssl, mbedtls_entropy_context *entropy, mbedtls_ctr_drbg_context *random,
                bool server)
{
    mbedtls_ssl_config_init(ssl);
    mbedtls_entropy_init(entropy);
    mbedtls_ctr_drbg_init(random);
    int rc = mbedtls_ctr_drbg_seed(random, mbedtls_entropy_func, entropy, NULL, 0);
    if (rc == 0)
        rc = mbedtls_ssl_config_defaults(ssl, server ? MBEDTLS_SSL_IS_SERVER : MBEDTLS_SSL_IS_CLIENT,
                                         MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);
    if (rc != 0) return rc;
    mbedtls_ssl_conf_min_version(ssl, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    mbedtls_ssl_conf_max_version(ssl, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    mbedtls_ssl_conf_ciphersuites(ssl, suites);
    mbedtls_ssl_conf_rng(ssl, mbedtls_ctr_drbg_random, random);
    return 0;
}

const char *wf_tls_alert_words(unsigned char alert)
{
    switch (alert) {
    case MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED: return "it refuses this side's certificate: expired";
    case MBEDTLS_SSL_ALERT_MSG_CERT_REVOKED: return "it refuses this side's certificate: revoked";
    case MBEDTLS_SSL_ALERT_MSG_UNKNOWN_CA:
        return "it refuses this side's certificate: signed by no authority that it trusts";
    case MBEDTLS_SSL_ALERT_MSG_NO_CERT:
    case MBEDTLS_SSL_ALERT_MSG_BAD_CERT:
    case MBEDTLS_SSL_ALERT_MSG_UNSUPPORTED_CERT:
    case MBEDTLS_SSL_ALERT_MSG_CERT_UNKNOWN: return "it refuses this side's certificate";
    case MBEDTLS_SSL_ALERT_MSG_ACCESS_DENIED:
        return "it refuses this side's certificate: it grants no role, or no access";
    case MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE:
        return "it finds no version, cipher or certificate that both sides have";
    case MBEDTLS_SSL_ALERT_MSG_PROTOCOL_VERSION: return "it wants another version of TLS";
    case MBEDTLS_SSL_ALERT_MSG_UNRECOGNIZED_NAME: return "it knows no server of that name";
    case MBEDTLS_SSL_ALERT_MSG_NO_APPLICATION_PROTOCOL: return "it speaks none of these protocols";
    case MBEDTLS_SSL_ALERT_MSG_UNEXPECTED_MESSAGE: return "it does not accept what this side sent as TLS";
    default: return "it has ended TLS with an alert";
    }
}

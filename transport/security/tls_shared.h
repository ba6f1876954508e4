/* transport/security/tls_shared.h -- what the TLS of nodes and the TLS of users' streams have in common. */
#ifndef WF_TLS_SHARED_H
#define WF_TLS_SHARED_H

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/ssl.h>

#include <stdbool.h>

/* Initialises the three structs, which the caller frees, also after an error: TLS 1.2 with forward secrecy (ephemeral
 * keys) and authenticated encryption. Returns 0 or an error of mbed TLS: no memory, or no random bytes. */
int wf_tls_init(mbedtls_ssl_config *ssl, mbedtls_entropy_context *entropy, mbedtls_ctr_drbg_context *random,
                bool server);
/* Says what the other side means by its alert. */
const char *wf_tls_alert_words(unsigned char alert);

#endif

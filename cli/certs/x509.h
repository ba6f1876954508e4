/* cli/certs/x509.h -- making keys and certificates, with mbed TLS. All messages go to standard error; results are
 * exit codes. */
#ifndef CLI_X509_H
#define CLI_X509_H

#include "options.h"

#include <limits.h>
#include <mbedtls/pk.h>
#include <mbedtls/x509_crt.h>
#include <time.h>

enum { CLI_PEM_MAX = 8192, CLI_SANS_MAX = 24 };

/* Another name that a certificate is for. */
struct cli_san {
    int tag; /* CLI_SAN_... */
    const void *data;
    size_t size;
};
enum { CLI_SAN_DNS = 2, CLI_SAN_URI = 6, CLI_SAN_IP = 7 }; /* tags of GeneralName */

struct cli_subject {
    char name[160]; /* "CN=a,O=weft" */
    bool ca;
    time_t from, until;
    struct cli_san san[CLI_SANS_MAX];
    size_t san_count;
};

/* A cluster's authority: its certificate, and the key that signs. */
struct cli_ca {
    mbedtls_x509_crt crt;
    mbedtls_pk_context key;
};

/* A new key on P-256. */
int cli_key_new(const struct cli *c, mbedtls_pk_context *out);
int cli_key_pem(const struct cli *c, mbedtls_pk_context *key, char out[CLI_PEM_MAX]);
/* A certificate for `key`, signed by `ca`; NULL: by `key` itself. */
int cli_certificate(const struct cli *c, const struct cli_subject *s, mbedtls_pk_context *key, struct cli_ca *ca,
                    char out[CLI_PEM_MAX]);
/* Reads ca.crt and ca.key of the folder; to be freed also on failure. */
int cli_ca_load(const struct cli *c, const char *folder, struct cli_ca *out);
void cli_ca_free(struct cli_ca *ca);

/* "2026-11-21 12:00:00" as mbed TLS has it, in UTC. */
time_t cli_x509_time(const mbedtls_x509_time *t);

#endif

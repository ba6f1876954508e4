/* cli/certs/x509.c -- see x509.h. Keys are on P-256, signatures ECDSA with SHA-256: small, quick, and in every TLS
 * library.
 */
#include "x509.h"
#include "compat.h"

#include <mbedtls/asn1write.h>
#include <mbedtls/ecp.h>
#include <mbedtls/error.h>
#include <mbedtls/oid.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SERIAL_BYTES = 16, EXTENSION_MAX = 4096 };

static int random_bytes(void *unused, unsigned char *out, size_t size)
{
    (void)unused;
    for (size_t done = 0; done < size;) {
        size_t n = size - done < 256 ? size - done : 256;
        if (!cli_random(out + done, n)) return MBEDTLS_ERR_PK_ALLOC_FAILED;
        done += n;
    }
    return 0;
}

static int failed(const struct cli *c, const char *what, int error)
{
    char text[128];
    mbedtls_strerror(error, text, sizeof text);
    return cli_fail(c, CLI_FAILED, "%s: %s", what, text);
}

int cli_key_new(const struct cli *c, mbedtls_pk_context *out)
{
    int rc = mbedtls_pk_setup(out, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));
    if (rc == 0) rc = mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(*out), random_bytes, NULL);
    return rc == 0 ? CLI_OK : failed(c, "cannot make a key", rc);
}

int cli_key_pem(const struct cli *c, mbedtls_pk_context *key, char out[CLI_PEM_MAX])
{
    int rc = mbedtls_pk_write_key_pem(key, (unsigned char *)out, CLI_PEM_MAX);
    return rc == 0 ? CLI_OK : failed(c, "cannot write a key", rc);
}

/* ---- Extensions that mbed TLS 2 has no function for ------------------------------------------------------------ */

/* DER is written from its end. Returns the first byte, or NULL: no space. */
static unsigned char *put_sans(const struct cli_subject *s, unsigned char *start, unsigned char *end)
{
    unsigned char *at = end;
    for (size_t i = s->san_count; i-- > 0;) {
        const struct cli_san *n = &s->san[i];
        unsigned char tag = (unsigned char)(MBEDTLS_ASN1_CONTEXT_SPECIFIC | n->tag);
        if (mbedtls_asn1_write_raw_buffer(&at, start, n->data, n->size) < 0 ||
            mbedtls_asn1_write_len(&at, start, n->size) < 0 || mbedtls_asn1_write_tag(&at, start, tag) < 0)
            return NULL;
    }
    if (mbedtls_asn1_write_len(&at, start, (size_t)(end - at)) < 0 ||
        mbedtls_asn1_write_tag(&at, start, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE) < 0)
        return NULL;
    return at;
}

static int set_sans(mbedtls_x509write_cert *w, const struct cli_subject *s)
{
    unsigned char buffer[EXTENSION_MAX], *end = buffer + sizeof buffer, *at = put_sans(s, buffer, end);
    if (at == NULL) return MBEDTLS_ERR_ASN1_BUF_TOO_SMALL;
    return mbedtls_x509write_crt_set_extension(
        w, MBEDTLS_OID_SUBJECT_ALT_NAME, MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME), 0, at, (size_t)(end - at));
}

/* A node is both ends of TLS: a sequence of serverAuth and clientAuth. */
static int set_purposes(mbedtls_x509write_cert *w)
{
    static const unsigned char both[] = {0x30, 20, 6, 8, 0x2B, 6, 1, 5, 5, 7, 3, 1, 6, 8, 0x2B, 6, 1, 5, 5, 7, 3, 2};
    return mbedtls_x509write_crt_set_extension(
        w, MBEDTLS_OID_EXTENDED_KEY_USAGE, MBEDTLS_OID_SIZE(MBEDTLS_OID_EXTENDED_KEY_USAGE), 0, both, sizeof both);
}

/* ---- Certificates ---------------------------------------------------------------------------------------------- */

static void time_text(time_t t, char out[16])
{
    struct tm utc;
    cli_utc(t, &utc);
    strftime(out, 16, "%Y%m%d%H%M%S", &utc);
}

static int set_serial(mbedtls_x509write_cert *w)
{
    unsigned char bytes[SERIAL_BYTES];
    mbedtls_mpi serial;
    mbedtls_mpi_init(&serial);
    int rc = random_bytes(NULL, bytes, sizeof bytes);
    bytes[0] = (unsigned char)((bytes[0] & 0x7F) | 0x40); /* positive, and of full length */
    if (rc == 0) rc = mbedtls_mpi_read_binary(&serial, bytes, sizeof bytes);
    if (rc == 0) rc = mbedtls_x509write_crt_set_serial(w, &serial);
    mbedtls_mpi_free(&serial);
    return rc;
}

static int fill(mbedtls_x509write_cert *w, const struct cli_subject *s, mbedtls_pk_context *key, struct cli_ca *ca)
{
    char from[16], until[16], issuer[256];
    time_text(s->from, from);
    time_text(s->until, until);
    mbedtls_x509write_crt_set_version(w, MBEDTLS_X509_CRT_VERSION_3);
    mbedtls_x509write_crt_set_md_alg(w, MBEDTLS_MD_SHA256);
    mbedtls_x509write_crt_set_subject_key(w, key);
    mbedtls_x509write_crt_set_issuer_key(w, ca == NULL ? key : &ca->key);
    snprintf(issuer, sizeof issuer, "%s", s->name);
    int rc = 0;
    if (ca != NULL && mbedtls_x509_dn_gets(issuer, sizeof issuer, &ca->crt.subject) < 0)
        rc = MBEDTLS_ERR_X509_BUFFER_TOO_SMALL;
    if (rc == 0) rc = mbedtls_x509write_crt_set_issuer_name(w, issuer);
    if (rc == 0) rc = mbedtls_x509write_crt_set_subject_name(w, s->name);
    if (rc == 0) rc = set_serial(w);
    if (rc == 0) rc = mbedtls_x509write_crt_set_validity(w, from, until);
    if (rc == 0) rc = mbedtls_x509write_crt_set_basic_constraints(w, s->ca, s->ca ? 0 : -1);
    if (rc == 0)
        rc = mbedtls_x509write_crt_set_key_usage(w, s->ca ? MBEDTLS_X509_KU_KEY_CERT_SIGN | MBEDTLS_X509_KU_CRL_SIGN
                                                          : MBEDTLS_X509_KU_DIGITAL_SIGNATURE);
    if (rc == 0) rc = mbedtls_x509write_crt_set_subject_key_identifier(w);
    if (rc == 0) rc = mbedtls_x509write_crt_set_authority_key_identifier(w);
    if (rc == 0 && !s->ca) rc = set_purposes(w);
    if (rc == 0 && s->san_count > 0) rc = set_sans(w, s);
    return rc;
}

int cli_certificate(const struct cli *c, const struct cli_subject *s, mbedtls_pk_context *key, struct cli_ca *ca,
                    char out[CLI_PEM_MAX])
{
    mbedtls_x509write_cert w;
    mbedtls_x509write_crt_init(&w);
    int rc = fill(&w, s, key, ca);
    if (rc == 0) rc = mbedtls_x509write_crt_pem(&w, (unsigned char *)out, CLI_PEM_MAX, random_bytes, NULL);
    mbedtls_x509write_crt_free(&w);
    return rc == 0 ? CLI_OK : failed(c, "cannot make the certificate", rc);
}

/* ---- The authority --------------------------------------------------------------------------------------------- */

static int no_file(const struct cli *c, const char *path, int error)
{
    if (access(path, F_OK) != 0)
        return cli_fail(c, CLI_FAILED, "there is no %s; make a cluster's authority with 'weft certs init'",
                        CLI_PATH(path));
    if (access(path, R_OK) != 0)
        return cli_fail(c, CLI_FAILED, "cannot read %s; only its owner issues certificates", CLI_PATH(path));
    return failed(c, path, error);
}

int cli_ca_load(const struct cli *c, const char *folder, struct cli_ca *out)
{
    char path[PATH_MAX + 8];
    mbedtls_x509_crt_init(&out->crt);
    mbedtls_pk_init(&out->key);
    snprintf(path, sizeof path, "%s/ca.crt", folder);
    int rc = mbedtls_x509_crt_parse_file(&out->crt, path);
    if (rc != 0) return no_file(c, path, rc);
    if (!out->crt.ca_istrue) return cli_fail(c, CLI_FAILED, "%s is no authority's certificate", CLI_PATH(path));
    snprintf(path, sizeof path, "%s/ca.key", folder);
    rc = mbedtls_pk_parse_keyfile(&out->key, path, NULL);
    if (rc != 0) return no_file(c, path, rc);
    if (mbedtls_pk_check_pair(&out->crt.pk, &out->key) != 0)
        return cli_fail(c, CLI_FAILED, "%s is not the key of ca.crt beside it", CLI_PATH(path));
    if (mbedtls_x509_time_is_past(&out->crt.valid_to))
        return cli_fail(c, CLI_FAILED,
                        "the authority in %s has expired; make a new one with 'weft certs init --force' "
                        "and issue all certificates again",
                        folder);
    return CLI_OK;
}

void cli_ca_free(struct cli_ca *ca)
{
    mbedtls_x509_crt_free(&ca->crt);
    mbedtls_pk_free(&ca->key);
}

time_t cli_x509_time(const mbedtls_x509_time *t)
{
    struct tm utc = {.tm_year = t->year - 1900,
                     .tm_mon = t->mon - 1,
                     .tm_mday = t->day,
                     .tm_hour = t->hour,
                     .tm_min = t->min,
                     .tm_sec = t->sec};
    return cli_utc_time(&utc);
}

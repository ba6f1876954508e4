/* tests/unit/transport/security/certificates.h -- an authority and certificates that it signs, made for one run of a
 * test. */
#ifndef WF_TEST_CERTIFICATES_H
#define WF_TEST_CERTIFICATES_H

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/x509_crt.h>
#include <stdio.h>
#include <string.h>

struct pem {
    char certificate[2048], key[1024];
};

struct signer {
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_pk_context key;
    char name[64];
    struct pem pem;
};

static void make_key(struct signer *by, mbedtls_pk_context *key)
{
    mbedtls_pk_init(key);
    want_int(mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY)), 0);
    want_int(mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(*key), mbedtls_ctr_drbg_random, &by->random),
             0);
}

static void write_pem(struct signer *by, mbedtls_pk_context *key, const char *name, bool authority, const char *until,
                      struct pem *out)
{
    mbedtls_x509write_cert w;
    mbedtls_mpi serial;
    mbedtls_mpi_init(&serial);
    mbedtls_x509write_crt_init(&w);
    want_int(mbedtls_mpi_lset(&serial, authority ? 1 : 2), 0);
    want_int(mbedtls_x509write_crt_set_serial(&w, &serial), 0);
    mbedtls_x509write_crt_set_version(&w, MBEDTLS_X509_CRT_VERSION_3);
    mbedtls_x509write_crt_set_md_alg(&w, MBEDTLS_MD_SHA256);
    mbedtls_x509write_crt_set_subject_key(&w, key);
    mbedtls_x509write_crt_set_issuer_key(&w, &by->key);
    want_int(mbedtls_x509write_crt_set_subject_name(&w, name), 0);
    want_int(mbedtls_x509write_crt_set_issuer_name(&w, by->name), 0);
    want_int(mbedtls_x509write_crt_set_validity(&w, "20200101000000", until), 0);
    want_int(mbedtls_x509write_crt_set_basic_constraints(&w, authority, -1), 0);
    want_int(mbedtls_x509write_crt_pem(&w, (unsigned char *)out->certificate, sizeof out->certificate,
                                       mbedtls_ctr_drbg_random, &by->random),
             0);
    want_int(mbedtls_pk_write_key_pem(key, (unsigned char *)out->key, sizeof out->key), 0);
    mbedtls_x509write_crt_free(&w);
    mbedtls_mpi_free(&serial);
}

/* `name`: "CN=test authority". */
static void make_signer(struct signer *s, const char *name)
{
    mbedtls_entropy_init(&s->entropy);
    mbedtls_ctr_drbg_init(&s->random);
    want_int(mbedtls_ctr_drbg_seed(&s->random, mbedtls_entropy_func, &s->entropy, NULL, 0), 0);
    snprintf(s->name, sizeof s->name, "%s", name);
    make_key(s, &s->key);
    write_pem(s, &s->key, name, true, "20491231235959", &s->pem);
}

static void sign(struct signer *by, const char *name, const char *until, struct pem *out)
{
    mbedtls_pk_context key;
    make_key(by, &key);
    write_pem(by, &key, name, false, until, out);
    mbedtls_pk_free(&key);
}

static void free_signer(struct signer *s)
{
    mbedtls_pk_free(&s->key);
    mbedtls_ctr_drbg_free(&s->random);
    mbedtls_entropy_free(&s->entropy);
}

#endif

/* transport/security/stream_tls_config.c -- configurations of TLS for users' streams. */
#include "stream_tls_config.h"

#include <mbedtls/error.h>
#include <mbedtls/pem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sanitizer.h"
#include "stream_tls.h"
#include "tls_shared.h"

#include <weft/error.h>

enum { FILE_MAX = 4 * 1024 * 1024 };

/* Where systems keep the authorities they trust. */
static const char *const system_authorities[] = {"/etc/ssl/certs/ca-certificates.crt",
                                                 "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                                 "/etc/ssl/cert.pem"};

struct why {
    char *text;
    size_t size;
};

WEFT_PRINTF(3, 4) static int refuse(struct why why, int rc, const char *format, ...)
{
    va_list args;
    if (why.text == NULL || why.size == 0) return rc;
    va_start(args, format);
    vsnprintf(why.text, why.size, format, args);
    va_end(args);
    return rc;
}

/* ---- PEM, given or in a file ----------------------------------------------------------------------------------- */

static bool is_pem(const char *given)
{
    return strncmp(given, "-----BEGIN", 10) == 0;
}

static const char *title(const char *given)
{
    return is_pem(given) ? "the given text" : given;
}

static int read_open(FILE *f, char **out)
{
    char *text = NULL;
    size_t size = 0, capacity = 0;
    for (;;) {
        if (size + 1 >= capacity) {
            capacity = capacity == 0 ? 8192 : capacity * 2;
            char *more = capacity > FILE_MAX ? NULL : realloc(text, capacity);
            if (more == NULL) break;
            text = more;
        }
        size_t n = fread(text + size, 1, capacity - size - 1, f);
        size += n;
        if (n > 0) continue;
        text[size] = '\0';
        *out = text;
        return ferror(f) ? WEFT_ESYSTEM : WEFT_OK;
    }
    free(text);
    *out = NULL;
    return capacity > FILE_MAX ? WEFT_EFORMAT : WEFT_ENOMEM;
}

/* A copy to be freed, with mbedtls_platform_zeroize if it is a key. */
static int load(char **out, const char *given, struct why why)
{
    *out = NULL;
    if (is_pem(given)) return (*out = strdup(given)) == NULL ? WEFT_ENOMEM : WEFT_OK;
    FILE *f = fopen(given, "re");
    if (f == NULL) return refuse(why, WEFT_ENOTFOUND, "%s: cannot be opened", given);
    int rc = read_open(f, out);
    fclose(f);
    return rc < 0 ? refuse(why, rc, "%s: cannot be read", given) : rc;
}

static int parse_certificates(mbedtls_x509_crt *crt, const char *given, struct why why)
{
    char *text, words[96];
    int rc = load(&text, given, why);
    if (rc < 0 || text == NULL) {
        free(text);
        return rc;
    }
    rc = mbedtls_x509_crt_parse(crt, (const unsigned char *)text, strlen(text) + 1);
    free(text);
    if (rc >= 0 && crt->version != 0) return WEFT_OK; /* > 0: so many of a bundle are of kinds not known here */
    if (rc >= 0) return refuse(why, WEFT_EFORMAT, "%s: holds no certificate", title(given));
    mbedtls_strerror(rc, words, sizeof words);
    return refuse(why, rc == MBEDTLS_ERR_X509_ALLOC_FAILED ? WEFT_ENOMEM : WEFT_EFORMAT,
                  "%s: no good certificate: %s", title(given), words);
}

static int parse_key(struct wf_tls_pair *pair, const char *given, struct why why)
{
    char *text;
    int rc = load(&text, given, why);
    if (rc < 0 || text == NULL) {
        free(text);
        return rc;
    }
    rc = mbedtls_pk_parse_key(&pair->key, (const unsigned char *)text, strlen(text) + 1, NULL, 0);
    mbedtls_platform_zeroize(text, strlen(text));
    free(text);
    if (rc != 0) return refuse(why, WEFT_EFORMAT, "%s: no good key (one with a password is not taken)", title(given));
    if (mbedtls_pk_check_pair(&pair->certificate.pk, &pair->key) == 0) return WEFT_OK;
    return refuse(why, WEFT_EFORMAT, "%s: is not the key of the certificate", title(given));
}

/* ---- Pairs of certificate and key ------------------------------------------------------------------------------ */

static void free_pair(struct wf_tls_pair *pair)
{
    mbedtls_x509_crt_free(&pair->certificate);
    mbedtls_pk_free(&pair->key);
    free(pair);
}

static int add_pair(weft_tls *tls, const char *name, const char *certificate, const char *key, struct why why)
{
    if (certificate == NULL || key == NULL)
        return refuse(why, WEFT_EINVAL, "a certificate goes with its key, and a key with its certificate");
    if (strlen(name) >= WF_TLS_NAME_BYTES || tls->pair_count == WF_TLS_NAMES)
        return refuse(why, WEFT_EINVAL, "at most %d names, of at most %d bytes", WF_TLS_NAMES, WF_TLS_NAME_BYTES - 1);
    struct wf_tls_pair *pair = calloc(1, sizeof *pair);
    if (pair == NULL) return WEFT_ENOMEM;
    mbedtls_x509_crt_init(&pair->certificate);
    mbedtls_pk_init(&pair->key);
    snprintf(pair->name, sizeof pair->name, "%s", name);
    int rc = parse_certificates(&pair->certificate, certificate, why);
    if (rc == WEFT_OK) rc = parse_key(pair, key, why);
    if (rc == WEFT_OK && *name == '\0' && mbedtls_ssl_conf_own_cert(&tls->ssl, &pair->certificate, &pair->key) != 0)
        rc = WEFT_ENOMEM;
    if (rc < 0) free_pair(pair);
    else tls->pairs[tls->pair_count++] = pair;
    return rc;
}

static bool is_name(const char *pattern, const char *name)
{
    const char *rest = strchr(name, '.');
    if (strncmp(pattern, "*.", 2) == 0) return rest != NULL && strcasecmp(pattern + 1, rest) == 0;
    return strcasecmp(pattern, name) == 0;
}

struct wf_tls_pair *wf_tls_pair_for(const weft_tls *tls, const unsigned char *name, size_t size)
{
    char text[WF_TLS_NAME_BYTES];
    struct wf_tls_pair *best = NULL;
    if (size >= sizeof text) return NULL;
    memcpy(text, name, size);
    text[size] = '\0';
    for (int i = 0; i < tls->pair_count; i++) {
        struct wf_tls_pair *pair = tls->pairs[i];
        if (pair->name[0] == '\0' && best == NULL) best = pair;
        else if (pair->name[0] != '\0' && is_name(pair->name, text)) {
            best = pair;
            if (pair->name[0] != '*') break; /* the name itself goes before a wildcard */
        }
    }
    return best;
}

/* ---- A configuration ------------------------------------------------------------------------------------------- */

static void free_config(weft_tls *tls)
{
    mbedtls_ssl_config_free(&tls->ssl);
    mbedtls_x509_crt_free(&tls->authority);
    for (int i = 0; i < tls->pair_count; i++) free_pair(tls->pairs[i]);
    for (int i = 0; i < WF_TLS_PROTOCOLS; i++) free(tls->protocols[i]);
    mbedtls_ctr_drbg_free(&tls->random);
    mbedtls_entropy_free(&tls->entropy);
    free(tls);
}

void wf_tls_hold(weft_tls *tls)
{
    atomic_fetch_add_explicit(&tls->holders, 1, memory_order_relaxed);
}

void wf_tls_let_go(weft_tls *tls)
{
    /* Release and acquire: with those of the other holders. */
    if (WF_LAST_HOLDER(&tls->holders, 1)) free_config(tls);
}

static weft_tls *make_config(bool server)
{
    weft_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL) return NULL;
    tls->server = server;
    atomic_init(&tls->holders, 1);
    mbedtls_x509_crt_init(&tls->authority);
    if (wf_tls_init(&tls->ssl, &tls->entropy, &tls->random, server) == 0) return tls;
    free_config(tls);
    return NULL;
}

static int trust(weft_tls *tls, const weft_tls_options *o, struct why why)
{
    bool needed = !o->server ? !o->unverified : o->clients != WEFT_TLS_NO_CLIENT_CERTIFICATE;
    int mode = !needed                                          ? MBEDTLS_SSL_VERIFY_NONE
               : o->server && o->clients == WEFT_TLS_CLIENT_MAY ? MBEDTLS_SSL_VERIFY_OPTIONAL
                                                                : MBEDTLS_SSL_VERIFY_REQUIRED;
    mbedtls_ssl_conf_authmode(&tls->ssl, mode);
    if (!needed) return WEFT_OK;
    int rc = WEFT_ENOTFOUND;
    if (o->authority != NULL) rc = parse_certificates(&tls->authority, o->authority, why);
    else if (o->server)
        return refuse(why, WEFT_EINVAL, "a server that asks clients for certificates needs an authority");
    for (size_t i = 0; o->authority == NULL && rc == WEFT_ENOTFOUND; i++) {
        if (i == sizeof system_authorities / sizeof system_authorities[0])
            return refuse(why, rc, "this system's list of authorities was not found: give one");
        rc = parse_certificates(&tls->authority, system_authorities[i], why);
    }
    if (rc == WEFT_OK) mbedtls_ssl_conf_ca_chain(&tls->ssl, &tls->authority, NULL);
    return rc;
}

static int agree_on(weft_tls *tls, const char *const *protocols, struct why why)
{
    int count = 0;
    if (protocols == NULL) return WEFT_OK;
    for (; protocols[count] != NULL; count++) {
        if (count == WF_TLS_PROTOCOLS) return refuse(why, WEFT_EINVAL, "at most %d protocols", WF_TLS_PROTOCOLS);
        if ((tls->protocols[count] = strdup(protocols[count])) == NULL) return WEFT_ENOMEM;
    }
    if (count == 0 || mbedtls_ssl_conf_alpn_protocols(&tls->ssl, (const char **)tls->protocols) == 0) return WEFT_OK;
    return refuse(why, WEFT_EINVAL, "the name of a protocol has 1 to 63 bytes");
}

int weft_tls_open(weft_tls **out, const weft_tls_options *options, char *text, size_t size)
{
    struct why why = {text, size};
    (void)refuse(why, 0, "%s", "");
    if (out == NULL || options == NULL || (options->server && options->unverified)) return WEFT_EINVAL;
    weft_tls *tls = make_config(options->server);
    if (tls == NULL) return WEFT_ENOMEM;
    tls->unverified = options->unverified;
    if (tls->server) wf_tls_choose_by_name(tls);
    int rc = trust(tls, options, why);
    if (rc == WEFT_OK && (options->certificate != NULL || options->key != NULL))
        rc = add_pair(tls, "", options->certificate, options->key, why);
    if (rc == WEFT_OK) rc = agree_on(tls, options->protocols, why);
    if (rc < 0) {
        if (rc == WEFT_ENOMEM) (void)refuse(why, 0, "out of memory");
        free_config(tls);
        return rc;
    }
    *out = tls;
    return WEFT_OK;
}

int weft_tls_add(weft_tls *tls, const char *name, const char *certificate, const char *key, char *text, size_t size)
{
    struct why why = {text, size};
    (void)refuse(why, 0, "%s", "");
    if (tls == NULL || name == NULL || *name == '\0' || !tls->server) return WEFT_EINVAL;
    return add_pair(tls, name, certificate, key, why);
}

void weft_tls_close(weft_tls *tls)
{
    if (tls != NULL) wf_tls_let_go(tls);
}

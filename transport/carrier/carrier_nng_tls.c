/* transport/carrier/carrier_nng_tls.c -- an engine for NNG's TLS, on mbed TLS.
 *
 * Design notes.
 * (1) NNG's own engine is not used: it reports only that the other side's certificate is valid, but not its owner
 *     (NNG before 1.6), and only a number for a failure. Engines are a documented interface; docs/decisions.md.
 * (2) The engine belongs to the process: other users of NNG's TLS in the process get it, too, for configurations made
 *     from then on. For those it behaves like NNG's own. Names and roles are checked only for weft's configurations
 *     (`ours`).
 * (3) There is only one way from an nng_stream to its engine's connection: asking the stream whether its peer is
 *     verified calls `verified` here, on the asking thread. wf_nng_tls_ask sets `answer`, where the result goes.
 * (4) NNG holds the connection's lock around each call of these functions, so none of them locks.
 * (5) A side that refuses the other one sends an alert and waits until the other side closes, which it does when it has
 *     seen the alert. Closing at once, with bytes of the other side unread, may break the connection before that.
 * (6) Certificates may be reloaded while connections last (wf_nng_tls_renew): the certificates and trust of a
 *     configuration are one counted struct, which is replaced as a whole. Each connection keeps its first one.
 * (7) An operation on a closed stream must fail here: NNG 1.5 does not check this, and the operation would stay pending
 *     forever, with nothing below that could be cancelled. A stream that breaks under TLS while no read is pending is
 *     not reported either: then the link's heartbeats notice it. */
#include "carrier_nng_tls.h"
#include "identity_tls.h"
#include "sanitizer.h"
#include "tls_shared.h"

#include <mbedtls/error.h>
#include <mbedtls/ssl.h>
#include <nng/supplemental/tls/engine.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/error.h>

enum {
    RECORD_HANDSHAKE = 0x16,
    RECORD_ALERT = 0x15,
    SNIFFED = 3,
};

/* The certificate of one side, and the authority that it trusts. */
struct credentials {
    _Atomic uint32_t holders; /* acq_rel on decrement: the thread that frees it sees the writes of all others */
    mbedtls_ssl_config ssl;
    mbedtls_x509_crt authority, own;
    mbedtls_x509_crl revoked;
    mbedtls_pk_context key;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
};

struct nng_tls_engine_config {
    pf_mutex *lock; /* of `now`: connections begin on NNG's threads. No other lock is taken below it */
    struct credentials *now;
    char *server_name;
    bool server, ours;
};

/* One for the listeners of a node, one for its dialers. */
struct wf_nng_tls {
    nng_tls_config *config;
    nng_tls_engine_config *inside; /* it exists as long as `config` */
};

struct nng_tls_engine_conn {
    mbedtls_ssl_context ssl;
    const struct nng_tls_engine_config *config;
    struct credentials *credentials;
    void *below; /* NNG's object for the stream under TLS */
    /* `stranger`: the other side does not speak TLS, or will send nothing that is expected */
    bool started, done, sniffed, stranger;
    bool refuses; /* see (5) */
    bool closed;  /* see (7) */
    int error;    /* an error of NNG, after which the connection has ended */
    struct wf_nng_tls_peer peer;
};

static _Thread_local struct wf_nng_tls_peer *answer; /* set by wf_nng_tls_ask on this thread */
/* Set while wf_nng_tls_open runs on this thread: config_init stores its result there. */
static _Thread_local nng_tls_engine_config **making_ours;

/* ---- Failures in words ----------------------------------------------------------------------------------------- */

static const char *explain_certificate(uint32_t flags)
{
    if ((flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED) != 0) return "its certificate is not of this cluster's authority";
    if ((flags & MBEDTLS_X509_BADCERT_EXPIRED) != 0) return "its certificate has expired";
    if ((flags & MBEDTLS_X509_BADCERT_FUTURE) != 0)
        return "its certificate is not valid yet (is the clock of one machine wrong?)";
    if ((flags & MBEDTLS_X509_BADCERT_REVOKED) != 0) return "its certificate was revoked";
    if ((flags & MBEDTLS_X509_BADCERT_MISSING) != 0) return "it has shown no certificate";
    return "its certificate is not fit for this";
}

static void explain(nng_tls_engine_conn *c, int rc)
{
    char text[96];
    const char *why = text;
    if (c->peer.why[0] != '\0') return;
    switch (rc) {
    case MBEDTLS_ERR_X509_CERT_VERIFY_FAILED:
        why = explain_certificate(mbedtls_ssl_get_verify_result(&c->ssl));
        break;
    case MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE: why = "it has shown no certificate"; break;
    case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE: why = wf_tls_alert_words(c->ssl.in_msg[1]); break;
    case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY:
    case MBEDTLS_ERR_SSL_CONN_EOF: why = "closed by the other side"; break;
    default: mbedtls_strerror(rc, text, sizeof text); break;
    }
    snprintf(c->peer.why, sizeof c->peer.why, "%s%s", why == text ? "TLS: " : "", why);
}

static int nng_error(int rc)
{
    switch (rc) {
    case MBEDTLS_ERR_SSL_ALLOC_FAILED: return NNG_ENOMEM;
    case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY:
    case MBEDTLS_ERR_SSL_CONN_EOF: return NNG_ECLOSED;
    case MBEDTLS_ERR_X509_CERT_VERIFY_FAILED:
    case MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE: return NNG_EPEERAUTH;
    default: return NNG_ECRYPTO;
    }
}

/* ---- Below TLS ------------------------------------------------------------------------------------------------- */

static int below_send(void *arg, const unsigned char *data, size_t size)
{
    const nng_tls_engine_conn *c = arg;
    int rc = nng_tls_engine_send(c->below, data, &size);
    return rc == 0 ? (int)size : rc == NNG_EAGAIN ? MBEDTLS_ERR_SSL_WANT_WRITE : MBEDTLS_ERR_SSL_CONN_EOF;
}

/* The first bytes show whether the other side speaks TLS at all. If it does not, it is sent a TLS alert, which both
 * sides can recognise: its first byte is not that of the plain greeting. */
static bool is_tls(nng_tls_engine_conn *c, const unsigned char *data, size_t size)
{
    static const unsigned char alert[] = {RECORD_ALERT, 3, 1, 0, 2, 2, MBEDTLS_SSL_ALERT_MSG_UNEXPECTED_MESSAGE};
    bool sp = size >= SNIFFED && memcmp(data, "\0SP", SNIFFED) == 0;
    c->sniffed = true;
    if (data[0] == RECORD_HANDSHAKE || data[0] == RECORD_ALERT) return true;
    if (sp && c->config->server)
        snprintf(c->peer.why, sizeof c->peer.why,
                 "it does not use TLS, this port does: it has to use tls+tcp:// and --tls");
    else if (sp)
        snprintf(c->peer.why, sizeof c->peer.why,
                 "that port speaks no TLS: use tcp://, or start its node with --tls and tls+tcp://");
    else snprintf(c->peer.why, sizeof c->peer.why, "it speaks no TLS");
    c->stranger = !sp || !c->config->server;
    if (c->config->server) (void)below_send(c, alert, sizeof alert);
    return false;
}

static int below_recv(void *arg, unsigned char *data, size_t size)
{
    nng_tls_engine_conn *c = arg;
    int rc = nng_tls_engine_recv(c->below, data, &size);
    if (rc != 0) return rc == NNG_EAGAIN ? MBEDTLS_ERR_SSL_WANT_READ : MBEDTLS_ERR_SSL_CONN_EOF;
    if (size > 0 && !c->sniffed && !is_tls(c, data, size)) return MBEDTLS_ERR_SSL_INVALID_RECORD;
    return (int)size;
}

/* Reads and drops all bytes until the other side closes. */
static void drain(const nng_tls_engine_conn *c)
{
    uint8_t bin[256];
    size_t size;
    do size = sizeof bin;
    while (nng_tls_engine_recv(c->below, bin, &size) == 0);
}

/* ---- Credentials ----------------------------------------------------------------------------------------------- */

static void credentials_drop(struct credentials *c)
{
    if (c == NULL || !WF_LAST_HOLDER(&c->holders, 1)) return;
    mbedtls_ssl_config_free(&c->ssl);
    mbedtls_x509_crt_free(&c->authority);
    mbedtls_x509_crt_free(&c->own);
    mbedtls_x509_crl_free(&c->revoked);
    mbedtls_pk_free(&c->key);
    mbedtls_ctr_drbg_free(&c->random);
    mbedtls_entropy_free(&c->entropy);
    free(c);
}

/* NULL: there is no memory, or no random bytes. */
static struct credentials *credentials_new(bool server)
{
    struct credentials *c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    atomic_init(&c->holders, 1);
    mbedtls_x509_crt_init(&c->authority);
    mbedtls_x509_crt_init(&c->own);
    mbedtls_x509_crl_init(&c->revoked);
    mbedtls_pk_init(&c->key);
    if (wf_tls_init(&c->ssl, &c->entropy, &c->random, server) != 0) {
        credentials_drop(c);
        return NULL;
    }
    mbedtls_ssl_conf_authmode(&c->ssl, server ? MBEDTLS_SSL_VERIFY_NONE : MBEDTLS_SSL_VERIFY_REQUIRED);
    return c;
}

static int trust(struct credentials *c, const char *certificates, const char *revoked)
{
    const unsigned char *text = (const unsigned char *)certificates, *more = (const unsigned char *)revoked;
    if (mbedtls_x509_crt_parse(&c->authority, text, strlen(certificates) + 1) != 0) return NNG_ECRYPTO;
    if (more != NULL && mbedtls_x509_crl_parse(&c->revoked, more, strlen(revoked) + 1) != 0) return NNG_ECRYPTO;
    mbedtls_ssl_conf_ca_chain(&c->ssl, &c->authority, more != NULL ? &c->revoked : NULL);
    return 0;
}

/* Sets the certificate and key; NNG allows a server several pairs, this engine one. */
static int show(struct credentials *c, const char *certificate, const char *key, const char *password)
{
    const unsigned char *crt = (const unsigned char *)certificate, *k = (const unsigned char *)key;
    size_t secret = password == NULL ? 0 : strlen(password);
    if (c->own.version != 0) return NNG_ENOTSUP;
    if (mbedtls_x509_crt_parse(&c->own, crt, strlen(certificate) + 1) != 0) return NNG_ECRYPTO;
    if (mbedtls_pk_parse_key(&c->key, k, strlen(key) + 1, (const unsigned char *)password, secret) != 0)
        return NNG_ECRYPTO;
    return mbedtls_ssl_conf_own_cert(&c->ssl, &c->own, &c->key) == 0 ? 0 : NNG_ENOMEM;
}

static struct credentials *credentials_hold(const struct nng_tls_engine_config *g)
{
    pf_mutex_lock(g->lock);
    struct credentials *c = g->now;
    /* Relaxed: `g` has a reference, too. */
    (void)atomic_fetch_add_explicit(&c->holders, 1, memory_order_relaxed);
    pf_mutex_unlock(g->lock);
    return c;
}

/* ---- A connection ---------------------------------------------------------------------------------------------- */

static int conn_init(nng_tls_engine_conn *c, void *below, nng_tls_engine_config *config)
{
    c->below = below;
    c->config = config;
    mbedtls_ssl_init(&c->ssl);
    c->started = true;
    c->credentials = credentials_hold(config);
    mbedtls_ssl_set_bio(&c->ssl, c, below_send, below_recv, NULL);
    int rc = mbedtls_ssl_setup(&c->ssl, &c->credentials->ssl);
    if (rc == 0 && config->server_name != NULL) rc = mbedtls_ssl_set_hostname(&c->ssl, config->server_name);
    return rc == 0 ? 0 : NNG_ENOMEM;
}

static void conn_fini(nng_tls_engine_conn *c)
{
    if (!c->started) return;
    mbedtls_ssl_free(&c->ssl);
    credentials_drop(c->credentials);
}

static void conn_close(nng_tls_engine_conn *c)
{
    if (c->started && c->done && c->error == 0) (void)mbedtls_ssl_close_notify(&c->ssl);
    c->closed = true;
}

static void alert(nng_tls_engine_conn *c, unsigned char what)
{
    (void)mbedtls_ssl_send_alert_message(&c->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL, what);
}

/* False: the certificate is valid, but grants nothing here. */
static bool know_peer(nng_tls_engine_conn *c)
{
    const mbedtls_x509_crt *crt = mbedtls_ssl_get_peer_cert(&c->ssl);
    char why[96];
    if (crt == NULL) {
        snprintf(c->peer.why, sizeof c->peer.why, "it has shown no certificate");
    } else if (!wf_identity_of(&c->peer.who, crt, why, sizeof why)) {
        snprintf(c->peer.why, sizeof c->peer.why, "of its certificate: %s", why);
    } else if (c->peer.who.rights == 0) {
        snprintf(c->peer.why, sizeof c->peer.why, "its certificate, of %s, grants no role", c->peer.who.name);
    } else {
        c->peer.known = true;
        return true;
    }
    alert(c, MBEDTLS_SSL_ALERT_MSG_ACCESS_DENIED);
    return false;
}

/* Returns 0 when the handshake has ended. */
static int conn_handshake(nng_tls_engine_conn *c)
{
    if (c->closed) return NNG_ECLOSED;
    if (c->done) return 0;
    if (c->error == 0) {
        int rc = mbedtls_ssl_handshake(&c->ssl);
        if (rc == MBEDTLS_ERR_SSL_WANT_READ || rc == MBEDTLS_ERR_SSL_WANT_WRITE) return NNG_EAGAIN;
        if (rc == 0 && (!c->config->ours || know_peer(c))) {
            c->done = true;
            return 0;
        }
        c->error = rc == 0 ? NNG_EPEERAUTH : nng_error(rc);
        if (rc != 0) explain(c, rc);
        if (rc == MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE) alert(c, MBEDTLS_SSL_ALERT_MSG_BAD_CERT);
        c->refuses = !c->stranger && rc != MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE;
    }
    if (!c->refuses) return c->error;
    drain(c);
    return NNG_EAGAIN;
}

static int result_of(nng_tls_engine_conn *c, int rc)
{
    if (rc == MBEDTLS_ERR_SSL_WANT_READ || rc == MBEDTLS_ERR_SSL_WANT_WRITE) return NNG_EAGAIN;
    explain(c, rc);
    c->error = nng_error(rc);
    return c->error;
}

static int conn_recv(nng_tls_engine_conn *c, uint8_t *data, size_t *size)
{
    int rc = conn_handshake(c);
    if (rc != 0 || c->error != 0) return rc != 0 ? rc : c->error;
    rc = mbedtls_ssl_read(&c->ssl, data, *size);
    if (rc < 0) return result_of(c, rc);
    if (rc == 0) return result_of(c, MBEDTLS_ERR_SSL_CONN_EOF);
    *size = (size_t)rc;
    return 0;
}

static int conn_send(nng_tls_engine_conn *c, const uint8_t *data, size_t *size)
{
    int rc = conn_handshake(c);
    if (rc != 0 || c->error != 0) return rc != 0 ? rc : c->error;
    rc = mbedtls_ssl_write(&c->ssl, data, WF_MIN(*size, (size_t)WF_NNG_TLS_RECORD));
    if (rc < 0) return result_of(c, rc);
    *size = (size_t)rc;
    return 0;
}

static bool conn_verified(nng_tls_engine_conn *c)
{
    if (answer != NULL) *answer = c->peer;
    return c->done && mbedtls_ssl_get_verify_result(&c->ssl) == 0;
}

/* ---- A configuration ------------------------------------------------------------------------------------------- */

static void config_fini(nng_tls_engine_config *g)
{
    credentials_drop(g->now);
    pf_mutex_destroy(g->lock);
    free(g->server_name);
}

static int config_init(nng_tls_engine_config *g, nng_tls_mode mode)
{
    g->server = mode == NNG_TLS_MODE_SERVER;
    g->ours = making_ours != NULL;
    if (pf_mutex_create(&g->lock) < 0) return NNG_ENOMEM;
    g->now = credentials_new(g->server);
    if (g->now == NULL) {
        pf_mutex_destroy(g->lock);
        return NNG_ECRYPTO;
    }
    if (g->ours) *making_ours = g;
    return 0;
}

static int config_server(nng_tls_engine_config *g, const char *name)
{
    char *copy = strdup(name);
    if (copy == NULL) return NNG_ENOMEM;
    free(g->server_name);
    g->server_name = copy;
    return 0;
}

static int config_auth(nng_tls_engine_config *g, nng_tls_auth_mode mode)
{
    mbedtls_ssl_conf_authmode(&g->now->ssl, mode == NNG_TLS_AUTH_MODE_NONE       ? MBEDTLS_SSL_VERIFY_NONE
                                            : mode == NNG_TLS_AUTH_MODE_OPTIONAL ? MBEDTLS_SSL_VERIFY_OPTIONAL
                                                                                 : MBEDTLS_SSL_VERIFY_REQUIRED);
    return 0;
}

static int config_ca_chain(nng_tls_engine_config *g, const char *certificates, const char *revoked)
{
    return trust(g->now, certificates, revoked);
}

static int config_own_cert(nng_tls_engine_config *g, const char *certificate, const char *key, const char *password)
{
    return show(g->now, certificate, key, password);
}

static int config_version(nng_tls_engine_config *g, nng_tls_version least, nng_tls_version most)
{
    (void)g;
    return least <= NNG_TLS_1_2 && most >= NNG_TLS_1_2 ? 0 : NNG_ENOTSUP;
}

/* ---- The engine ------------------------------------------------------------------------------------------------ */

static nng_tls_engine_conn_ops conn_ops = {.size = sizeof(nng_tls_engine_conn),
                                           .init = conn_init,
                                           .fini = conn_fini,
                                           .close = conn_close,
                                           .handshake = conn_handshake,
                                           .recv = conn_recv,
                                           .send = conn_send,
                                           .verified = conn_verified};

static nng_tls_engine_config_ops config_ops = {.size = sizeof(nng_tls_engine_config),
                                               .init = config_init,
                                               .fini = config_fini,
                                               .server = config_server,
                                               .auth = config_auth,
                                               .ca_chain = config_ca_chain,
                                               .own_cert = config_own_cert,
                                               .version = config_version};

static const nng_tls_engine engine = {.version = NNG_TLS_ENGINE_VERSION,
                                      .config_ops = &config_ops,
                                      .conn_ops = &conn_ops,
                                      .name = "weft",
                                      .description = "mbed TLS, by weft",
                                      .fips_mode = false};

int wf_nng_tls_open(struct wf_nng_tls **out, const struct wf_tls *tls, bool server)
{
    struct wf_nng_tls *t = calloc(1, sizeof *t);
    if (t == NULL) return WEFT_ENOMEM;
    (void)nng_tls_engine_name(); /* initialises NNG, which would forget an engine that was there before */
    int rc = nng_tls_engine_register(&engine);
    making_ours = &t->inside;
    if (rc == 0) rc = nng_tls_config_alloc(&t->config, server ? NNG_TLS_MODE_SERVER : NNG_TLS_MODE_CLIENT);
    making_ours = NULL;
    if (rc == 0) rc = nng_tls_config_auth_mode(t->config, NNG_TLS_AUTH_MODE_REQUIRED);
    if (rc == 0) rc = nng_tls_config_ca_chain(t->config, tls->authority, NULL);
    if (rc == 0) rc = nng_tls_config_own_cert(t->config, tls->certificate, tls->key, NULL);
    if (rc == 0) *out = t;
    else wf_nng_tls_close(t);
    return rc == 0 ? WEFT_OK : rc == NNG_ENOTSUP ? WEFT_ENOTFOUND : WEFT_ENOMEM;
}

struct nng_tls_config *wf_nng_tls_config(const struct wf_nng_tls *t)
{
    return t->config;
}

int wf_nng_tls_renew(struct wf_nng_tls *t, const struct wf_tls *tls)
{
    nng_tls_engine_config *g = t->inside;
    struct credentials *fresh = credentials_new(g->server);
    if (fresh == NULL) return WEFT_ENOMEM;
    mbedtls_ssl_conf_authmode(&fresh->ssl, MBEDTLS_SSL_VERIFY_REQUIRED);
    if (trust(fresh, tls->authority, NULL) != 0 || show(fresh, tls->certificate, tls->key, NULL) != 0) {
        credentials_drop(fresh);
        return WEFT_ENOMEM; /* the files were checked when they were loaded */
    }
    pf_mutex_lock(g->lock);
    struct credentials *old = g->now;
    g->now = fresh;
    pf_mutex_unlock(g->lock);
    credentials_drop(old);
    return WEFT_OK;
}

void wf_nng_tls_close(struct wf_nng_tls *t)
{
    if (t == NULL) return;
    if (t->config != NULL) nng_tls_config_free(t->config);
    free(t);
}

void wf_nng_tls_ask(nng_stream *stream, struct wf_nng_tls_peer *out)
{
    bool verified;
    *out = (struct wf_nng_tls_peer){.known = false};
    answer = out;
    int rc = nng_stream_get_bool(stream, NNG_OPT_TLS_VERIFIED, &verified);
    answer = NULL;
    if (rc != 0) out->known = false;
}

/* transport/security/stream_tls.c -- users' streams under TLS: the layer between a stream and its socket.
 *
 * Design notes.
 * (1) mbed TLS never waits here. What it writes is collected in `unsent` and goes out by `flush`; what it reads comes
 *     from `ahead`, or from the socket while that has bytes. So a record is either made whole or not at all,
 *     and a write that ends at its deadline leaves the connection in step.
 * (2) `unsent` exists only while something is unsent; `ahead` holds the beginning of the next record, so that small
 *     records take one system call, not two. It begins with what the stream held back before it was secured.
 *     `unsent` is bounded: writers flush every 16 KiB, but each renegotiation that the other side requests is answered
 *     by a refusal, and it may send requests without end and not read the answers. The number of warnings in a row is
 *     bounded, too: a side that sends nothing else would keep the worker in `advance`.
 * (3) Reader and writer are tasks of one worker and nothing here suspends: the context is used by one at a time.
 * (4) The end of the connection is only the end of the stream if the other side has said so by a close_notify.
 * (5) A layer stays in its stream after a failed handshake, so that nothing is ever sent plainly by mistake. */

#include <mbedtls/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"
#include "stream_tls.h"
#include "stream_tls_config.h"
#include "tls_shared.h"

enum {
    AHEAD = 4096,
    RECORD = 16 * 1024,
    UNSENT_MAX = 64 * 1024,
    BARREN_MAX = 32,
    RECORD_ALERT = 0x15,
    RECORD_HANDSHAKE = 0x16
};

struct layer {
    struct wf_layer base;
    struct wf_stream *stream;
    weft_tls *tls;
    mbedtls_ssl_context ssl;
    char *ahead;
    size_t ahead_from, ahead_size, ahead_capacity;
    char *unsent;
    size_t unsent_from, unsent_size, unsent_capacity;
    int failed;      /* the error of every later call */
    int io;          /* the last error of the socket */
    uint32_t barren; /* records in a row that brought no bytes */
    bool starved;    /* `ahead` and the socket had nothing for mbed TLS */
    bool eof;        /* the connection has ended; */
    bool finished;   /* the other side has sent close_notify */
    bool secured;
    bool sniffed; /* the other side's first byte has been checked: it is one of TLS */
    bool ended;   /* this side has sent close_notify */
    char name[WF_TLS_NAME_BYTES];
    char why[256];
};

static struct layer *layer_of(struct wf_layer *l)
{
    return WF_CONTAINER(l, struct layer, base);
}

/* ---- Failures in words ----------------------------------------------------------------------------------------- */

static const char *certificate_words(uint32_t flags)
{
    if ((flags & MBEDTLS_X509_BADCERT_MISSING) != 0) return "the other side has shown no certificate";
    if ((flags & MBEDTLS_X509_BADCERT_EXPIRED) != 0) return "its certificate has expired";
    if ((flags & MBEDTLS_X509_BADCERT_FUTURE) != 0) return "its certificate is not valid yet";
    if ((flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED) != 0)
        return "its certificate is signed by no authority that is trusted here";
    if ((flags & MBEDTLS_X509_BADCERT_CN_MISMATCH) != 0) return "its certificate is that of another name";
    if ((flags & (MBEDTLS_X509_BADCERT_KEY_USAGE | MBEDTLS_X509_BADCERT_EXT_KEY_USAGE)) != 0)
        return "its certificate is not meant for this";
    return "its certificate is not good enough (key or signature too weak)";
}

static void alert(struct layer *l, unsigned char what)
{
    (void)mbedtls_ssl_send_alert_message(&l->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL, what);
}

/* Translates the error of a failed call of mbed TLS; the first one stays. */
static int fail(struct layer *l, int rc)
{
    char text[160];
    const char *words = text;
    if (l->failed < 0) return l->failed;
    l->failed = WEFT_ETLS;
    switch (rc) {
    case MBEDTLS_ERR_X509_CERT_VERIFY_FAILED:
        words = certificate_words(mbedtls_ssl_get_verify_result(&l->ssl));
        break;
    case MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE:
        words = certificate_words(MBEDTLS_X509_BADCERT_MISSING);
        alert(l, MBEDTLS_SSL_ALERT_MSG_BAD_CERT); /* mbed TLS does not */
        break;
    case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE: words = wf_tls_alert_words(l->ssl.in_msg[1]); break;
    case MBEDTLS_ERR_SSL_NO_CIPHER_CHOSEN:
    case MBEDTLS_ERR_SSL_NO_USABLE_CIPHERSUITE: words = "no cipher that both sides have"; break;
    case MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION: words = "the other side speaks another version of TLS"; break;
    case MBEDTLS_ERR_SSL_INVALID_RECORD: words = l->sniffed ? "bad data" : "the other side does not speak TLS"; break;
    case MBEDTLS_ERR_SSL_INVALID_MAC: words = "data was changed on the way"; break;
    case MBEDTLS_ERR_SSL_ALLOC_FAILED:
        l->failed = WEFT_ENOMEM;
        words = "out of memory";
        break;
    case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY:
    case MBEDTLS_ERR_SSL_CONN_EOF:
        l->failed = WEFT_ERESET;
        words = l->secured ? "the connection ended without a TLS close: data may be missing"
                           : "the other side has closed the connection";
        break;
    default:
        if (l->io < 0) {
            l->failed = l->io;
            words = weft_strerror(l->io);
        } else {
            mbedtls_strerror(rc, text, sizeof text);
        }
    }
    snprintf(l->why, sizeof l->why, "%s", words);
    return l->failed;
}

/* ---- Below: the socket ----------------------------------------------------------------------------------------- */

static int64_t read_socket(struct layer *l, void *out, size_t size)
{
    struct wf_socket *k = &l->stream->socket;
    if (!wf_socket_worth(k, false)) return PF_AGAIN;
    int64_t n = pf_read(k->handle, out, size);
    if (n == PF_AGAIN) wf_socket_stuck(k, false);
    else wf_socket_moved(k, false, n > 0 && (size_t)n < size && !l->stream->pieces);
    if (n == 0) l->eof = true;
    /* The kernel gave up on a peer that answers nothing: not a call's deadline. */
    if (n < 0 && n != PF_AGAIN) l->io = n == WEFT_ETIMEDOUT ? WEFT_ERESET : (int)n;
    return n;
}

static int below_read(void *arg, unsigned char *out, size_t size)
{
    struct layer *l = arg;
    if (l->ahead_size == 0) {
        int64_t n = size >= l->ahead_capacity ? read_socket(l, out, size)
                                              : read_socket(l, l->ahead, l->ahead_capacity);
        l->starved = n == PF_AGAIN;
        if (l->starved) return MBEDTLS_ERR_SSL_WANT_READ;
        if (n <= 0) return n == 0 ? 0 : MBEDTLS_ERR_SSL_INTERNAL_ERROR;
        if (size >= l->ahead_capacity) return (int)n;
        l->ahead_from = 0;
        l->ahead_size = (size_t)n;
    }
    char first = l->ahead[l->ahead_from];
    if (!l->sniffed && first != RECORD_HANDSHAKE && first != RECORD_ALERT) return MBEDTLS_ERR_SSL_INVALID_RECORD;
    l->sniffed = true;
    size_t n = WF_MIN(size, l->ahead_size);
    memcpy(out, l->ahead + l->ahead_from, n);
    l->ahead_from += n;
    l->ahead_size -= n;
    return (int)n;
}

static int below_write(void *arg, const unsigned char *data, size_t size)
{
    struct layer *l = arg;
    if (size > UNSENT_MAX - WF_MIN(l->unsent_size, (size_t)UNSENT_MAX)) return MBEDTLS_ERR_SSL_UNEXPECTED_MESSAGE;
    if (l->unsent_from > 0 && l->unsent_from + l->unsent_size + size > l->unsent_capacity) {
        memmove(l->unsent, l->unsent + l->unsent_from, l->unsent_size);
        l->unsent_from = 0;
    }
    size_t end = l->unsent_from + l->unsent_size;
    if (end + size > l->unsent_capacity) {
        size_t capacity = end + size + 1024;
        char *more = realloc(l->unsent, capacity);
        if (more == NULL) return MBEDTLS_ERR_SSL_ALLOC_FAILED;
        l->unsent = more;
        l->unsent_capacity = capacity;
    }
    memcpy(l->unsent + end, data, size);
    l->unsent_size += size;
    return (int)size;
}

static void drop_unsent(struct layer *l)
{
    free(l->unsent);
    l->unsent = NULL;
    l->unsent_from = l->unsent_size = l->unsent_capacity = 0;
}

static int flush(struct wf_layer *base)
{
    struct layer *l = layer_of(base);
    struct wf_socket *k = &l->stream->socket;
    while (l->unsent_size > 0) {
        if (!wf_socket_worth(k, true)) return PF_AGAIN;
        struct pf_slice slice = {l->unsent + l->unsent_from, l->unsent_size};
        int64_t n = pf_write(k->handle, &slice, 1);
        if (n == PF_AGAIN) wf_socket_stuck(k, true);
        else wf_socket_moved(k, true, false);
        if (n < 0) return (int)n;
        l->unsent_from += (size_t)n;
        l->unsent_size -= (size_t)n;
    }
    if (l->unsent != NULL) drop_unsent(l);
    return 0;
}

/* ---- The layer ------------------------------------------------------------------------------------------------- */

/* 1: there are decrypted bytes; 0: the end; PF_AGAIN, or an error. */
static int advance(struct layer *l)
{
    unsigned char none;
    if (l->failed < 0) return l->failed;
    if (l->finished) return 0;
    for (; mbedtls_ssl_get_bytes_avail(&l->ssl) == 0; l->barren++) {
        l->starved = false;
        int rc = mbedtls_ssl_read(&l->ssl, &none, 0);
        if (l->unsent_size > 0) (void)flush(&l->base); /* the reading side's answers; an error is the writer's */
        if (mbedtls_ssl_get_bytes_avail(&l->ssl) > 0) break;
        bool barren = rc == MBEDTLS_ERR_SSL_WANT_READ ? !l->starved : rc == 0 && !l->eof;
        if (barren && l->barren < BARREN_MAX) continue; /* a record without bytes, or a warning that is ignored */
        if (barren) rc = MBEDTLS_ERR_SSL_UNEXPECTED_MESSAGE;
        if (rc == MBEDTLS_ERR_SSL_WANT_READ || rc == MBEDTLS_ERR_SSL_WANT_WRITE) return PF_AGAIN;
        if (rc == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY) {
            l->finished = true;
            return 0;
        }
        rc = fail(l, rc == 0 ? MBEDTLS_ERR_SSL_CONN_EOF : rc);
        (void)flush(&l->base); /* the alert that says so */
        return rc;
    }
    l->barren = 0;
    return 1;
}

static int64_t layer_read(struct wf_layer *base, void *out, size_t size)
{
    struct layer *l = layer_of(base);
    int rc = advance(l);
    return rc != 1 ? rc : mbedtls_ssl_read(&l->ssl, out, size);
}

static int layer_look(struct wf_layer *base)
{
    return advance(layer_of(base)) != PF_AGAIN; /* the end and errors are ready, too */
}

static int64_t layer_write(struct wf_layer *base, const void *data, size_t size)
{
    struct layer *l = layer_of(base);
    if (l->failed < 0 && (!l->secured || l->failed != WEFT_ERESET)) return l->failed;
    if (l->ended) return WEFT_ERESET; /* a plain socket does the same once its writing side is shut down */
    int n = mbedtls_ssl_write(&l->ssl, data, WF_MIN(size, (size_t)RECORD));
    return n < 0 ? fail(l, n) : n;
}

static int layer_end(struct wf_layer *base)
{
    struct layer *l = layer_of(base);
    if (!l->secured || l->ended) return 0;
    l->ended = true;
    int rc = mbedtls_ssl_close_notify(&l->ssl);
    return rc == 0 ? 0 : fail(l, rc);
}

static void layer_finish(struct wf_layer *base)
{
    struct layer *l = layer_of(base);
    if (l->failed == 0 && layer_end(base) == 0) {
        wf_socket_recheck(&l->stream->socket, true);
        (void)flush(base);
    }
    mbedtls_ssl_free(&l->ssl);
    wf_tls_let_go(l->tls);
    free(l->ahead);
    drop_unsent(l);
    free(l);
}

static const struct wf_layer_ops operations = {layer_read, layer_look, layer_write, flush, layer_end, layer_finish};

/* ---- The handshake --------------------------------------------------------------------------------------------- */

/* A client has asked for a server name. */
static int choose_certificate(void *arg, mbedtls_ssl_context *ssl, const unsigned char *name, size_t size)
{
    struct layer *l = ssl->p_bio;
    (void)arg;
    snprintf(l->name, sizeof l->name, "%.*s", (int)WF_MIN(size, sizeof l->name - 1), (const char *)name);
    struct wf_tls_pair *pair = wf_tls_pair_for(l->tls, name, size);
    return pair == NULL ? -1 : mbedtls_ssl_set_hs_own_cert(ssl, &pair->certificate, &pair->key);
}

/* Takes over the bytes that the stream has read ahead: they come first. */
static bool take_held(struct layer *l, struct wf_stream *s)
{
    l->ahead_capacity = WF_MAX(s->held_size, (size_t)AHEAD);
    l->ahead = malloc(l->ahead_capacity);
    if (l->ahead == NULL) return false;
    if (s->held_size > 0) memcpy(l->ahead, s->held + s->held_from, s->held_size);
    l->ahead_size = s->held_size;
    free(s->held);
    s->held = NULL;
    s->held_size = s->held_from = 0;
    return true;
}

static int add_layer(struct wf_stream *s, weft_tls *tls, const char *name)
{
    struct layer *l = calloc(1, sizeof *l);
    if (l == NULL) return WEFT_ENOMEM;
    l->base.ops = &operations;
    l->stream = s;
    l->tls = tls;
    mbedtls_ssl_init(&l->ssl);
    int rc = mbedtls_ssl_setup(&l->ssl, &tls->ssl);
    if (rc == 0 && !tls->server && name != NULL) rc = mbedtls_ssl_set_hostname(&l->ssl, name);
    if (rc != 0 || !take_held(l, s)) {
        mbedtls_ssl_free(&l->ssl);
        free(l);
        return rc == MBEDTLS_ERR_SSL_BAD_INPUT_DATA ? WEFT_EINVAL : WEFT_ENOMEM;
    }
    if (!tls->server && name != NULL) snprintf(l->name, sizeof l->name, "%s", name);
    mbedtls_ssl_set_bio(&l->ssl, l, below_write, below_read, NULL);
    wf_tls_hold(tls);
    s->layer = &l->base;
    return WEFT_OK;
}

static int shake_hands(struct wf_stream *s, struct wf_task *t, int64_t deadline)
{
    struct layer *l = layer_of(s->layer);
    for (;;) {
        int rc = mbedtls_ssl_handshake(&l->ssl);
        if (rc != 0 && rc != MBEDTLS_ERR_SSL_WANT_READ) {
            rc = fail(l, rc);
            (void)flush(s->layer); /* the alert that says so */
            return rc;
        }
        int sent = wf_stream_flush(s, t, deadline);
        if (sent < 0) return sent;
        if (rc == 0) break;
        /* The look at the socket has been: it said PF_AGAIN. */
        rc = wf_socket_wait(&s->socket, t, false, deadline, "TLS handshake");
        if (rc < 0) return rc;
    }
    bool shown = mbedtls_ssl_get_peer_cert(&l->ssl) != NULL;
    if (l->tls->server && shown && mbedtls_ssl_get_verify_result(&l->ssl) != 0) {
        alert(l, MBEDTLS_SSL_ALERT_MSG_BAD_CERT); /* it need not have been shown, but if it is, it has to be good */
        (void)flush(s->layer);
        return fail(l, MBEDTLS_ERR_X509_CERT_VERIFY_FAILED);
    }
    l->secured = true;
    return WEFT_OK;
}

static int secure(struct wf_stream *s, struct wf_task *t, weft_tls *tls, const char *name, int64_t deadline)
{
    if (s->layer != NULL) return WEFT_EEXIST;
    int rc = add_layer(s, tls, name);
    if (rc < 0) return rc;
    struct layer *l = layer_of(s->layer);
    rc = shake_hands(s, t, deadline);
    if (rc < 0 && l->failed == 0) {
        l->failed = WEFT_ETLS; /* half a handshake is good for nothing */
        snprintf(l->why, sizeof l->why, "%s", weft_strerror(rc));
    }
    return rc;
}

int weft_stream_secure(weft_stream stream, weft_tls *tls, const char *name, char *why, size_t why_size,
                       int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    struct wf_socket *socket;
    if (why != NULL && why_size > 0) why[0] = '\0';
    if (t == NULL) return WEFT_ENOTACTOR;
    if (tls == NULL || (!tls->server && !tls->unverified && name == NULL)) return WEFT_EINVAL;
    if (t->cancelled) return (int)wf_task_finish_wait(WEFT_ECANCELED);
    int rc = wf_socket_begin(t, WF_STREAM, stream.id, false, &socket);
    if (rc < 0) return rc;
    rc = wf_socket_begin(t, WF_STREAM, stream.id, true, &socket);
    if (rc == 0) {
        struct wf_stream *s = wf_stream_of(socket);
        rc = secure(s, t, tls, name, deadline);
        if (rc < 0 && rc != WEFT_EEXIST && s->layer != NULL && why != NULL && why_size > 0)
            snprintf(why, why_size, "%s", layer_of(s->layer)->why);
        wf_socket_end(socket, true);
    }
    wf_socket_end(socket, false);
    return (int)wf_task_finish_wait(rc);
}

static int describe(const struct layer *l, weft_tls_info *out)
{
    memset(out, 0, sizeof *out);
    if (!l->secured) return WEFT_EINVAL;
    const char *protocol = mbedtls_ssl_get_alpn_protocol(&l->ssl);
    const mbedtls_x509_crt *peer = mbedtls_ssl_get_peer_cert(&l->ssl);
    snprintf(out->version, sizeof out->version, "%s", mbedtls_ssl_get_version(&l->ssl));
    snprintf(out->cipher, sizeof out->cipher, "%s", mbedtls_ssl_get_ciphersuite(&l->ssl));
    snprintf(out->protocol, sizeof out->protocol, "%s", protocol != NULL ? protocol : "");
    snprintf(out->name, sizeof out->name, "%s", l->name);
    if (peer != NULL && mbedtls_x509_dn_gets(out->peer, sizeof out->peer, &peer->subject) < 0) out->peer[0] = '\0';
    return WEFT_OK;
}

int weft_stream_tls(weft_stream stream, weft_tls_info *out)
{
    struct wf_task *t = wf_task_self();
    struct wf_socket *socket;
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL) return WEFT_EINVAL;
    int rc = wf_socket_enter(t->worker, WF_STREAM, stream.id, &socket);
    if (rc < 0) return rc;
    const struct wf_stream *s = wf_stream_of(socket);
    rc = s->layer == NULL ? WEFT_EINVAL : describe(layer_of(s->layer), out);
    wf_socket_leave(socket);
    return rc;
}

void wf_tls_choose_by_name(weft_tls *tls)
{
    mbedtls_ssl_conf_sni(&tls->ssl, choose_certificate, NULL);
}

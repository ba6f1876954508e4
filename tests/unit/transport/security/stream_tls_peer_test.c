/* TLS under streams, with another side that sends records which our side never sends. */
#include "../../runtime/streams.h"

#include "../../../sockets.h"
#include "certificates.h"
#include <mbedtls/ssl.h>
#include <weft/tls.h>

/* A server without weft. What it says goes out by `let_out`, at once. */
struct peer {
    int fd;
    struct signer authority;
    struct pem pem;
    mbedtls_x509_crt certificate;
    mbedtls_pk_context key;
    mbedtls_ssl_config config;
    mbedtls_ssl_context ssl;
    unsigned char said[128 * 1024];
    size_t size;
};

static int say(void *arg, const unsigned char *data, size_t size)
{
    struct peer *p = arg;
    want(size <= sizeof p->said - p->size);
    memcpy(p->said + p->size, data, size);
    p->size += size;
    return (int)size;
}

static int hear(void *arg, unsigned char *out, size_t size)
{
    const struct peer *p = arg;
    ssize_t n = recv(p->fd, out, size, MSG_DONTWAIT);
    want(n >= 0 || socket_would_wait());
    return n < 0 ? MBEDTLS_ERR_SSL_WANT_READ : (int)n;
}

static void let_out(struct peer *p)
{
    if (p->size > 0) want_int(send(p->fd, p->said, p->size, MSG_DONTWAIT | MSG_NOSIGNAL), p->size);
    p->size = 0;
}

static struct peer *peer_on(int fd)
{
    struct peer *p = calloc(1, sizeof *p);
    want(p != NULL);
    p->fd = fd;
    make_signer(&p->authority, "CN=test authority");
    sign(&p->authority, "CN=localhost", "20491231235959", &p->pem);
    mbedtls_x509_crt_init(&p->certificate);
    mbedtls_pk_init(&p->key);
    mbedtls_ssl_config_init(&p->config);
    mbedtls_ssl_init(&p->ssl);
    const unsigned char *certificate = (const unsigned char *)p->pem.certificate;
    const unsigned char *key = (const unsigned char *)p->pem.key;
    want_int(mbedtls_x509_crt_parse(&p->certificate, certificate, strlen(p->pem.certificate) + 1), 0);
    want_int(mbedtls_pk_parse_key(&p->key, key, strlen(p->pem.key) + 1, NULL, 0), 0);
    want_int(mbedtls_ssl_config_defaults(&p->config, MBEDTLS_SSL_IS_SERVER, MBEDTLS_SSL_TRANSPORT_STREAM,
                                         MBEDTLS_SSL_PRESET_DEFAULT),
             0);
    mbedtls_ssl_conf_rng(&p->config, mbedtls_ctr_drbg_random, &p->authority.random);
    want_int(mbedtls_ssl_conf_own_cert(&p->config, &p->certificate, &p->key), 0);
    want_int(mbedtls_ssl_setup(&p->ssl, &p->config), 0);
    mbedtls_ssl_set_bio(&p->ssl, p, say, hear, NULL);
    return p;
}

static void forget(struct peer *p)
{
    mbedtls_ssl_free(&p->ssl);
    mbedtls_ssl_config_free(&p->config);
    mbedtls_pk_free(&p->key);
    mbedtls_x509_crt_free(&p->certificate);
    free_signer(&p->authority);
    free(p);
}

static void do_secure(void *arg)
{
    weft_tls *tls;
    want_int(weft_tls_open(&tls, &(weft_tls_options){.unverified = true}, NULL, 0), 0);
    want_int(weft_stream_secure(*(weft_stream *)arg, tls, NULL, NULL, 0, WEFT_FOREVER), 0);
    weft_tls_close(tls);
}

static bool has_shaken_hands(struct peer *p)
{
    int rc = mbedtls_ssl_handshake(&p->ssl);
    want(rc == 0 || rc == MBEDTLS_ERR_SSL_WANT_READ);
    let_out(p);
    return rc == 0;
}

/* `s` is secured, waited for once (so that the poller knows it), and has nothing to read. */
static struct peer *secure_with_peer(weft_stream s, int fd)
{
    char byte;
    struct peer *p = peer_on(fd);
    struct test_task *t = spawn_here(do_secure, &s);
    until(has_shaken_hands(p));
    until(t->done);
    want_int(weft_read(s, &byte, 1, weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
    return p;
}

static void warn(struct peer *p, int times)
{
    for (int i = 0; i < times; i++)
        want_int(mbedtls_ssl_send_alert_message(&p->ssl, MBEDTLS_SSL_ALERT_LEVEL_WARNING,
                                                MBEDTLS_SSL_ALERT_MSG_NO_RENEGOTIATION),
                 0);
}

static void hear_warning(void *arg)
{
    weft_stream a, b;
    char buffer[8];
    int fd;
    (void)arg;
    make_pair(TCP, &a, &b);
    want_int(weft_stream_fd(b, &fd), 0);
    struct peer *p = secure_with_peer(a, fd);
    warn(p, 1);
    want_int(mbedtls_ssl_write(&p->ssl, (const unsigned char *)"data", 4), 4);
    let_out(p);
    want_int(weft_read_exact(a, buffer, 4, weft_after(WEFT_SEC(30))), 4);
    want(memcmp(buffer, "data", 4) == 0);
    forget(p);
    close_pair(a, b);
}

START_TEST(a_warning_hides_nothing_behind_it)
{
    run_alone(hear_warning, NULL);
}
END_TEST

static void hear_warnings(void *arg)
{
    weft_stream a, b;
    char byte;
    int fd;
    (void)arg;
    make_pair(TCP, &a, &b);
    want_int(weft_stream_fd(b, &fd), 0);
    struct peer *p = secure_with_peer(a, fd);
    for (int i = 0; i < 3; i++) {
        warn(p, 20);
        want_int(mbedtls_ssl_write(&p->ssl, (const unsigned char *)"x", 1), 1);
        let_out(p);
        want_int(weft_read_exact(a, &byte, 1, weft_after(WEFT_SEC(30))), 1);
    }
    warn(p, 100);
    let_out(p);
    want_int(weft_read(a, &byte, 1, weft_after(WEFT_SEC(30))), WEFT_ETLS);
    forget(p);
    close_pair(a, b);
}

START_TEST(a_peer_that_sends_endless_warnings_is_dropped)
{
    run_alone(hear_warnings, NULL);
}
END_TEST

#ifdef MBEDTLS_SSL_RENEGOTIATION
static void ask_anew(struct peer *p, int times)
{
    for (int i = 0; i < times; i++) want_int(mbedtls_ssl_renegotiate(&p->ssl), 0);
    let_out(p);
}

static bool has_refused(weft_stream s, int other)
{
    char byte;
    want_int(weft_read(s, &byte, 1, WEFT_NOW), WEFT_ETIMEDOUT);
    return recv(other, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

static void refuse_to_negotiate(void *arg)
{
    weft_stream a;
    int pair[2];
    char byte;
    (void)arg;
    want_int(socket_pair(pair), 0);
    want_int(weft_stream_from_fd(&a, pair[0]), 0);
    struct peer *p = secure_with_peer(a, pair[1]);
    ask_anew(p, 10);
    until(has_refused(a, pair[1])); /* without waiting for a writer */
    ask_anew(p, 3000);              /* more in one go than may be unsent */
    want_int(weft_read(a, &byte, 1, weft_after(WEFT_SEC(30))), WEFT_ETLS);
    want_int(weft_write(a, "x", 1, WEFT_NOW), WEFT_ETLS);
    want_int(weft_close(a), 0);
    close(pair[1]);
    forget(p);
}

START_TEST(a_peer_that_asks_for_endless_updates_is_dropped)
{
    run_alone(refuse_to_negotiate, NULL);
}
END_TEST

TEST_MAIN("stream_tls_peer", a_warning_hides_nothing_behind_it, a_peer_that_sends_endless_warnings_is_dropped,
          a_peer_that_asks_for_endless_updates_is_dropped)
#else
TEST_MAIN("stream_tls_peer", a_warning_hides_nothing_behind_it, a_peer_that_sends_endless_warnings_is_dropped)
#endif

/* Tests of transport/carrier/carrier_nng_tls.c that need no certificate; tests/integration/tls_test.py has the
 * rest. */
#include "carrier_nng_tls.h"

#include <nng/supplemental/tls/tls.h>

#include <stdio.h>

#include "suite.h"

/* A stream that has connected, and whose handshake waits for the other side. */
static nng_stream *half_open(nng_stream_listener *listener, nng_aio *aio)
{
    nng_stream_dialer *dialer;
    nng_tls_config *config;
    char url[64];
    int port;
    ck_assert_int_eq(nng_stream_listener_listen(listener), 0);
    ck_assert_int_eq(nng_stream_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port), 0);
    snprintf(url, sizeof url, "tls+tcp://127.0.0.1:%d", port);
    ck_assert_int_eq(nng_tls_config_alloc(&config, NNG_TLS_MODE_CLIENT), 0);
    ck_assert_int_eq(nng_stream_dialer_alloc(&dialer, url), 0);
    ck_assert_int_eq(nng_stream_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, config), 0);
    nng_stream_dialer_dial(dialer, aio);
    nng_aio_wait(aio);
    ck_assert_int_eq(nng_aio_result(aio), 0);
    nng_stream *s = nng_aio_get_output(aio, 0);
    nng_stream_dialer_free(dialer);
    nng_tls_config_free(config);
    return s;
}

typedef void operation(nng_stream *s, nng_aio *aio);

START_TEST(operations_begun_on_a_closed_stream_fail)
{
    static operation *const operations[] = {nng_stream_recv, nng_stream_send};
    nng_stream_listener *listener;
    nng_aio *aio;
    char byte = 0;
    ck_assert_int_eq(nng_stream_listener_alloc(&listener, "tcp://127.0.0.1:0"), 0);
    ck_assert_int_eq(nng_aio_alloc(&aio, NULL, NULL), 0);
    nng_stream *s = half_open(listener, aio);
    nng_stream_close(s);
    nng_aio_set_iov(aio, 1, &(nng_iov){&byte, 1});
    operations[_i](s, aio);
    nng_aio_wait(aio);
    ck_assert_int_eq(nng_aio_result(aio), NNG_ECLOSED);
    nng_stream_free(s);
    nng_aio_free(aio);
    nng_stream_listener_free(listener);
}
END_TEST

int main(void)
{
    /* No certificates, so no configuration; but from then on the engine is ours. */
    struct wf_nng_tls *none;
    if (wf_nng_tls_open(&none, &(struct wf_tls){.authority = "", .certificate = "", .key = ""}, false) == 0) return 1;
    Suite *s = suite_create("carrier_nng_tls");
    TCase *t = tcase_create("closing");
    tcase_add_loop_test(t, operations_begun_on_a_closed_stream_fail, 0, 2);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}

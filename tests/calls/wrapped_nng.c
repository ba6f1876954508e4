/* tests/calls/wrapped_nng.c -- the part of calls.h for NNG: the functions that the carrier calls. */
#include "calls.h"

#include <nng/nng.h>
#include <nng/supplemental/tls/engine.h>
#include <nng/supplemental/tls/tls.h>

/* Every function of the project keeps its frame pointer. */
#pragma GCC diagnostic ignored "-Wframe-address"

/* ---- What says at once how it went ----------------------------------------------------------------------------- */

WRAPPED_RC(nng_stream_dialer_set_bool, (nng_stream_dialer * d, const char *name, bool value), d, name, value)
WRAPPED_RC(nng_stream_dialer_set_ptr, (nng_stream_dialer * d, const char *name, void *value), d, name, value)
WRAPPED_RC(nng_stream_dialer_set_string, (nng_stream_dialer * d, const char *name, const char *value), d, name, value)
WRAPPED_RC(nng_stream_get_addr, (nng_stream * s, const char *name, nng_sockaddr *out), s, name, out)
WRAPPED_RC(nng_stream_get_bool, (nng_stream * s, const char *name, bool *out), s, name, out)
WRAPPED_RC(nng_stream_listener_get_int, (nng_stream_listener * l, const char *name, int *out), l, name, out)
WRAPPED_RC(nng_stream_listener_listen, (nng_stream_listener * l), l)
WRAPPED_RC(nng_stream_listener_set_bool, (nng_stream_listener * l, const char *name, bool value), l, name, value)
WRAPPED_RC(nng_stream_listener_set_int, (nng_stream_listener * l, const char *name, int value), l, name, value)
WRAPPED_RC(nng_stream_listener_set_ptr, (nng_stream_listener * l, const char *name, void *value), l, name, value)
WRAPPED_RC(nng_tls_config_auth_mode, (nng_tls_config * g, nng_tls_auth_mode mode), g, mode)
WRAPPED_RC(nng_tls_config_ca_chain, (nng_tls_config * g, const char *certs, const char *crl), g, certs, crl)
WRAPPED_RC(nng_tls_config_own_cert, (nng_tls_config * g, const char *cert, const char *key, const char *pass), g,
           cert, key, pass)
WRAPPED_RC(nng_tls_engine_register, (const nng_tls_engine *engine), engine)

/* ---- What has to be given back --------------------------------------------------------------------------------- */

#define WRAPPED_ALLOC(name, parameters, ...)   \
    int __real_##name parameters;              \
    int __wrap_##name parameters;              \
    int __wrap_##name parameters               \
    {                                          \
        int fault = FAULT(name);               \
        if (fault != FAULT_NONE) return fault; \
        fault = __real_##name(__VA_ARGS__);    \
        if (fault == 0) calls_count_block(1);  \
        return fault;                          \
    }
#define WRAPPED_FREE(name, type)                   \
    void __real_##name(type *object);              \
    void __wrap_##name(type *object);              \
    void __wrap_##name(type *object)               \
    {                                              \
        if (object != NULL) calls_count_block(-1); \
        __real_##name(object);                     \
    }

WRAPPED_ALLOC(nng_aio_alloc, (nng_aio * *out, void (*done)(void *), void *arg), out, done, arg)
WRAPPED_ALLOC(nng_stream_dialer_alloc, (nng_stream_dialer * *out, const char *url), out, url)
WRAPPED_ALLOC(nng_stream_listener_alloc, (nng_stream_listener * *out, const char *url), out, url)
WRAPPED_ALLOC(nng_tls_config_alloc, (nng_tls_config * *out, nng_tls_mode mode), out, mode)
WRAPPED_FREE(nng_aio_free, nng_aio)
WRAPPED_FREE(nng_aio_reap, nng_aio)
WRAPPED_FREE(nng_stream_dialer_free, nng_stream_dialer)
WRAPPED_FREE(nng_stream_free, nng_stream)
WRAPPED_FREE(nng_stream_listener_free, nng_stream_listener)
WRAPPED_FREE(nng_tls_config_free, nng_tls_config)

/* The stream of a dial or an accept. */
void *__real_nng_aio_get_output(nng_aio *aio, unsigned index);
void *__wrap_nng_aio_get_output(nng_aio *aio, unsigned index);
void *__wrap_nng_aio_get_output(nng_aio *aio, unsigned index)
{
    void *stream = __real_nng_aio_get_output(aio, index);
    if (stream != NULL) calls_count_block(1);
    return stream;
}

/* ---- What says it later ---------------------------------------------------------------------------------------- */

#define WRAPPED_AIO(name, type)                                  \
    void __real_##name(type *object, nng_aio *aio);              \
    void __wrap_##name(type *object, nng_aio *aio);              \
    void __wrap_##name(type *object, nng_aio *aio)               \
    {                                                            \
        int fault = FAULT(name);                                 \
        if (fault == FAULT_NONE) __real_##name(object, aio);     \
        else if (nng_aio_begin(aio)) nng_aio_finish(aio, fault); \
    }

WRAPPED_AIO(nng_stream_dialer_dial, nng_stream_dialer)
WRAPPED_AIO(nng_stream_listener_accept, nng_stream_listener)
WRAPPED_AIO(nng_stream_recv, nng_stream)
WRAPPED_AIO(nng_stream_send, nng_stream)

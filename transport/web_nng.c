/* transport/web_nng.c -- see web.h. */
#include "web.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nng/nng.h>
#include <nng/supplemental/http/http.h>

#include <weft/error.h>

struct route {
    struct wf_web *http;
    int path;
};

struct wf_web {
    nng_http_server *server;
    void (*on_ask)(void *arg, struct wf_web_ask *ask);
    void *arg;
    struct route routes[];
};

struct ask {
    struct wf_web_ask base;
    nng_aio *aio;
};

static int error_of(int rc)
{
    switch (rc) {
    case 0: return WEFT_OK;
    case NNG_EADDRINUSE: return WEFT_EINUSE;
    case NNG_ENOMEM: return WEFT_ENOMEM;
    case NNG_EINVAL:
    case NNG_EADDRINVAL: return WEFT_EADDRESS;
    case NNG_EPERM: return WEFT_EACCESS;
    default: return WEFT_ESYSTEM;
    }
}

/* On a thread of NNG's. */
static void on_request(nng_aio *aio)
{
    const struct route *route = nng_http_handler_get_data(nng_aio_get_input(aio, 1));
    struct ask *a = calloc(1, sizeof *a);
    if (a == NULL) {
        nng_aio_finish(aio, NNG_ENOMEM);
        return;
    }
    a->base.path = route->path;
    a->aio = aio;
    route->http->on_ask(route->http->arg, &a->base);
}

void wf_web_answer(struct wf_web_ask *ask, int status, const char *type, const void *body, size_t size)
{
    struct ask *a = WF_CONTAINER(ask, struct ask, base);
    const char *policy = ask->policy == NULL ? "default-src 'none'" : ask->policy;
    nng_http_res *res;
    int rc = nng_http_res_alloc(&res);
    if (rc == 0) {
        rc = nng_http_res_set_status(res, (uint16_t)status);
        if (rc == 0) rc = nng_http_res_set_header(res, "Content-Type", type);
        if (rc == 0) rc = nng_http_res_set_header(res, "Cache-Control", "no-store");
        if (rc == 0) rc = nng_http_res_set_header(res, "X-Content-Type-Options", "nosniff");
        if (rc == 0) rc = nng_http_res_set_header(res, "Content-Security-Policy", policy);
        if (rc == 0) rc = nng_http_res_copy_data(res, body, size);
        if (rc == 0) nng_aio_set_output(a->aio, 0, res);
        else nng_http_res_free(res);
    }
    nng_aio_finish(a->aio, rc);
    free(a);
}

static int add_path(struct wf_web *h, const char *path, int index)
{
    nng_http_handler *handler;
    int rc = nng_http_handler_alloc(&handler, path, on_request);
    if (rc != 0) return rc;
    h->routes[index] = (struct route){h, index};
    rc = nng_http_handler_set_method(handler, "GET");
    if (rc == 0) rc = nng_http_handler_set_data(handler, &h->routes[index], NULL);
    if (rc == 0) rc = nng_http_server_add_handler(h->server, handler);
    if (rc != 0) nng_http_handler_free(handler);
    return rc;
}

static int bound_port(nng_http_server *server, uint16_t *out)
{
    nng_sockaddr at;
    int rc = nng_http_server_get_addr(server, &at);
    if (rc != 0) return rc;
    uint16_t net = at.s_family == NNG_AF_INET6 ? at.s_in6.sa_port : at.s_in.sa_port;
    const uint8_t *bytes = (const uint8_t *)&net;
    *out = (uint16_t)(bytes[0] << 8 | bytes[1]);
    return 0;
}

static int listen_on(struct wf_web *h, const char *address, const char *const *paths, int count, char bound[64])
{
    char text[96];
    nng_url *url;
    uint16_t port = 0;
    snprintf(text, sizeof text, "http://%s/", address);
    int rc = nng_url_parse(&url, text);
    if (rc != 0) return rc;
    rc = nng_http_server_hold(&h->server, url);
    nng_url_free(url);
    for (int i = 0; rc == 0 && i < count; i++) rc = add_path(h, paths[i], i);
    if (rc == 0) rc = nng_http_server_start(h->server);
    if (rc == 0) rc = bound_port(h->server, &port);
    if (rc == 0) snprintf(bound, 64, "%.*s:%u", (int)(strrchr(address, ':') - address), address, (unsigned)port);
    return rc;
}

int wf_web_start(struct wf_web **out, const char *address, const char *const *paths, int count,
                 void (*on_ask)(void *arg, struct wf_web_ask *ask), void *arg, char bound[64], const char **why)
{
    struct wf_web *h = calloc(1, sizeof *h + (size_t)count * sizeof h->routes[0]);
    *why = "out of memory";
    if (h == NULL) return WEFT_ENOMEM;
    h->on_ask = on_ask;
    h->arg = arg;
    int rc = listen_on(h, address, paths, count, bound);
    if (rc != 0) {
        *why = nng_strerror(rc);
        if (h->server != NULL) nng_http_server_release(h->server);
        free(h);
        return error_of(rc);
    }
    *out = h;
    return WEFT_OK;
}

void wf_web_stop(struct wf_web *h)
{
    if (h == NULL) return;
    nng_http_server_stop(h->server);
    nng_http_server_release(h->server);
    free(h);
}

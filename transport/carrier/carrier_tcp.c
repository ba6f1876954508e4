/* transport/carrier/carrier_tcp.c -- the carrier on sockets of our own, over plain TCP: `--carrier tcp`, and all
 * sockets that a service manager hands over. It looks up no names, which would block: carrier.c gives such URLs to
 * NNG. */
#include "carrier_tcp.h"
#include "listener_tcp.h"

#include <weft/resolve.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix_of_urls[] = "tcp://";

bool wf_tcp_parse(const char *url, struct pf_address *out)
{
    size_t n = sizeof prefix_of_urls - 1;
    return strncmp(url, prefix_of_urls, n) == 0 && pf_address_parse(url + n, out) == WEFT_OK;
}

bool wf_carrier_tcp_knows(const char *url)
{
    struct pf_address a;
    return wf_tcp_parse(url, &a);
}

static int64_t socket_read(struct wf_loop_conn *c, void *buffer, size_t size)
{
    return pf_read(c->handle, buffer, size);
}

static int64_t socket_write(struct wf_loop_conn *c, const struct pf_slice *slices, unsigned count)
{
    return pf_write(c->handle, slices, (int)count);
}

static void socket_abort(struct wf_loop_conn *c)
{
    pf_abort(c->handle);
}

static void socket_finish(struct wf_loop_conn *c)
{
    (void)c;
}

static const struct wf_loop_io sockets = {socket_read, socket_write, socket_abort, socket_finish};

int wf_tcp_conn_new(struct tcp_carrier *k, pf_handle h, void *tag, const struct pf_address *to, bool connecting)
{
    struct pf_address remote;
    char text[WEFT_ADDRESS_TEXT];
    bool known = to != NULL || pf_peer_address(h, &remote) == WEFT_OK;
    if (!known || pf_address_format(to != NULL ? to : &remote, text, sizeof text) < 0)
        snprintf(text, sizeof text, "unknown");
    int rc = wf_loop_conn_new(
        &k->loop,
        &(struct wf_loop_made){
            .io = &sockets, .handle = h, .tag = tag, .remote = text, .form = "tcp", .connecting = connecting});
    if (rc < 0) pf_close(h);
    return rc;
}

static int carrier_dial(struct wf_carrier *base, const char *url, void *tag, char *why)
{
    struct tcp_carrier *k = (struct tcp_carrier *)base;
    WF_ASSERT(tag != NULL);
    struct pf_address to;
    pf_handle h;
    if (!wf_tcp_parse(url, &to)) {
        snprintf(why, WF_REASON_TEXT, "not a URL to dial");
        return WEFT_EADDRESS;
    }
    int rc = pf_connect(&h, &to);
    if (rc == WEFT_OK || rc == PF_AGAIN) rc = wf_tcp_conn_new(k, h, tag, &to, rc == PF_AGAIN);
    if (rc < 0) snprintf(why, WF_REASON_TEXT, "%s", rc == WEFT_ECLOSED ? "stopping" : wf_loop_explain(rc));
    return rc;
}

static void carrier_destroy(struct wf_carrier *base)
{
    struct tcp_carrier *k = (struct tcp_carrier *)base;
    if (k == NULL) return;
    wf_tcp_unlisten(base);
    wf_loop_end(&k->loop);
    wf_loop_finish(&k->loop);
    free(k);
}

static const struct wf_carrier_ops ops = {wf_tcp_listen,   wf_tcp_accept,   carrier_dial,  wf_loop_send,
                                          wf_loop_resume,  wf_loop_trust,   wf_loop_close, wf_loop_release,
                                          wf_tcp_unlisten, carrier_destroy, NULL};

struct wf_carrier *wf_carrier_tcp(const struct wf_carrier_options *options)
{
    struct tcp_carrier *k = calloc(1, sizeof *k);
    if (k == NULL) return NULL;
    k->loop.base.ops = &ops;
    wf_list_init(&k->listeners);
    if (wf_loop_init(&k->loop, options) == WEFT_OK) return &k->loop.base;
    wf_loop_finish(&k->loop);
    free(k);
    return NULL;
}

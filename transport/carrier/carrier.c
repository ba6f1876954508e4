/* transport/carrier/carrier.c -- chooses the carrier of a URL: NNG takes all URLs except inherited://, sockets that a
 * service manager hands over, which NNG 1.5 cannot take. With `--carrier tcp` the carrier on plain sockets also takes
 * tcp:// with a numeric address (or localhost). A connection names its own carrier, so all calls but listening and
 * dialling go straight to that one. */
#include "carrier.h"
#include "carrier_tcp.h"
#include "url.h"

#include <stdlib.h>

struct both {
    struct wf_carrier base;
    struct wf_carrier *tcp, *nng;
    bool own_tcp;
};

static struct wf_carrier *carrier_for(struct wf_carrier *base, const char *url)
{
    struct both *b = (struct both *)base;
    bool own = wf_url_inherited(url) != NULL || (b->own_tcp && wf_carrier_tcp_knows(url));
    return own ? b->tcp : b->nng;
}

static int both_listen(struct wf_carrier *base, const char *url, int mode, char *bound, char *why)
{
    struct wf_carrier *k = carrier_for(base, url);
    return k->ops->listen(k, url, mode, bound, why);
}

static int both_dial(struct wf_carrier *base, const char *url, void *tag, char *why)
{
    struct wf_carrier *k = carrier_for(base, url);
    return k->ops->dial(k, url, tag, why);
}

static void both_accept(struct wf_carrier *base)
{
    struct both *b = (struct both *)base;
    b->tcp->ops->accept(b->tcp);
    b->nng->ops->accept(b->nng);
}

static void both_unlisten(struct wf_carrier *base)
{
    struct both *b = (struct both *)base;
    b->tcp->ops->unlisten(b->tcp);
    b->nng->ops->unlisten(b->nng);
}

static int both_renew_tls(struct wf_carrier *base, const struct wf_tls *tls)
{
    struct both *b = (struct both *)base;
    return b->nng->ops->renew_tls(b->nng, tls);
}

static void both_destroy(struct wf_carrier *base)
{
    struct both *b = (struct both *)base;
    if (b->tcp != NULL) b->tcp->ops->destroy(b->tcp);
    if (b->nng != NULL) b->nng->ops->destroy(b->nng);
    free(b);
}

static const struct wf_carrier_ops ops = {.listen = both_listen,
                                          .accept = both_accept,
                                          .dial = both_dial,
                                          .unlisten = both_unlisten,
                                          .destroy = both_destroy,
                                          .renew_tls = both_renew_tls};

struct wf_carrier *wf_carrier_by_url(const struct wf_carrier_options *options, bool own_tcp)
{
    struct both *b = calloc(1, sizeof *b);
    if (b == NULL) return NULL;
    b->base.ops = &ops;
    b->own_tcp = own_tcp;
    b->tcp = wf_carrier_tcp(options);
    b->nng = wf_carrier_nng(options);
    if (b->tcp != NULL && b->nng != NULL) return &b->base;
    both_destroy(&b->base);
    return NULL;
}

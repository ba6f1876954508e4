/* Which carrier a URL belongs to: the one on our own reactor takes tcp:// with a numeric address (or localhost), and
 * sockets that are handed over (inherited://), NNG the rest. A connection names its own carrier, so everything but
 * listening and dialling goes straight there. */
#include "carrier.h"

#include <stdlib.h>

struct both {
    struct wf_carrier base;
    struct wf_carrier *tcp, *nng;
};

static struct wf_carrier *carrier_for(struct wf_carrier *base, const char *url)
{
    struct both *b = (struct both *)base;
    return wf_carrier_tcp_knows(url) ? b->tcp : b->nng;
}

static int both_listen(struct wf_carrier *base, const char *url, int mode, char *bound, char *why)
{
    struct wf_carrier *k = wf_url_inherited(url) != NULL ? ((struct both *)base)->tcp : carrier_for(base, url);
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

struct wf_carrier *wf_carrier_by_url(const struct wf_carrier_options *options)
{
    struct both *b = calloc(1, sizeof *b);
    if (b == NULL) return NULL;
    b->base.ops = &ops;
    b->tcp = wf_carrier_tcp(options);
    b->nng = wf_carrier_nng(options);
    if (b->tcp != NULL && b->nng != NULL) return &b->base;
    both_destroy(&b->base);
    return NULL;
}

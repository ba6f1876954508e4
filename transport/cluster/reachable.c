/* transport/cluster/reachable.c -- where a node listens if its options do not say it: on any port of the local address
 * from which it has reached a seed. Other nodes that reach the seed can reach this node there. The rules for --listen
 * hold for this listener, too. A node that cannot listen, or must not, is a leaf: it dials others, and two leaves have
 * no link. */
#include "reachable.h"
#include "channel.h"
#include "cluster.h"
#include "gossip.h"
#include "dialers.h"
#include "peers.h"
#include "transport.h"
#include "url.h"

#include <stdio.h>
#include <string.h>

/* Listens on an address beside `local`. If a local socket with the node's name exists already, perhaps of another
 * cluster, the caller tries again with the incarnation in the name (not `alone`). */
static int listen_beside(struct wf_transport *t, const char *seed, const char *local, bool alone, char *bound,
                         char *why)
{
    char url[WF_URL_TEXT], name[WF_NODE_NAME_MAX + 16];
    if (alone) snprintf(name, sizeof name, "%s", t->node->name);
    else snprintf(name, sizeof name, "%s-%08x", t->node->name, (unsigned)(t->node->incarnation >> 32));
    if (!wf_url_beside(seed, local, name, url)) {
        snprintf(why, WF_REASON_TEXT, "the address from which it has reached %.80s is not known", seed);
        return WEFT_EADDRESS;
    }
    int rc = wf_url_check_listen(url, t->has_tls, t->insecure, why);
    if (rc == WEFT_OK)
        rc = t->carrier->ops->listen(
            t->carrier, url, wf_url_is_local(url) && strncmp(url, "abstract://", 11) != 0 ? t->socket_mode : 0, bound,
            why);
    return rc;
}

/* Tries to listen each time a seed is reached, until one try succeeds; the log reports only the first failure. */
static void be_reachable(struct wf_cluster *c, const char *seed, const char *local)
{
    struct wf_transport *t = c->t;
    char bound[WF_URL_TEXT], why[WF_REASON_TEXT] = "out of memory";
    int rc = listen_beside(t, seed, local, true, bound, why);
    if (rc == WEFT_EINUSE && wf_url_is_local(seed)) rc = listen_beside(t, seed, local, false, bound, why);
    if (rc == WEFT_OK) {
        snprintf(t->url[0], sizeof t->url[0], "%s", bound);
        atomic_store_explicit(&t->url_count, 1, memory_order_release);
        atomic_store_explicit(&t->listens_by_seed, false, memory_order_relaxed);
        wf_gossip_describe(c);
        weft_log(WEFT_INFO, "node %s listens on %s, for the nodes that it joins", t->node->name, bound);
    } else if (!c->leaf_told) {
        c->leaf_told = true;
        weft_log(WEFT_WARN,
                 "node %s does not listen: %s. It has links only with nodes that listen, and exchanges nothing with "
                 "others "
                 "that do not. Give it a URL to listen on (--listen, option listen)",
                 t->node->name, why);
    }
}

void wf_reachable_dialled(struct wf_cluster *c, struct wf_channel *ch)
{
    bool wanted = atomic_load_explicit(&c->t->listens_by_seed, memory_order_relaxed);
    if (wanted && !c->leaving && ch->dialer->seed) be_reachable(c, wf_dialers_url(ch->dialer), ch->conn->local);
    wf_channel_send_hello(ch);
}

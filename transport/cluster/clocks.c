/* transport/cluster/clocks.c -- the time of day, in case this node's clock is wrong: see wf_node_wall.
 *
 * Each node sends its time in HELLO. A node takes the median of these times and its own, of two middle ones the
 * earlier. A minority of wrong clocks among its peers cannot move the median beyond a right clock. A median that is
 * too early does no harm, as wf_node_wall uses the node's own clock if that is later. */
#include "clocks.h"
#include "cluster.h"
#include "peer_link.h"
#include "transport.h"

#include <stdlib.h>

/* Nanoseconds: half of the range, so that adding time cannot overflow. */
#define CLOCK_MAX (INT64_MAX / 2)

int64_t wf_clock_ahead(const struct wf_transport *t, uint64_t said)
{
    if (said == 0 || said > (uint64_t)CLOCK_MAX / 1000) return WF_CLOCK_UNKNOWN;
    return (int64_t)said * 1000 - wf_transport_now(t);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void wf_clocks_review(struct wf_cluster *c)
{
    struct pf_env *env = c->t->node->workers.env;
    size_t count = 1;
    WF_LIST_EACH(k, &c->live_links) count++;
    int64_t *ahead = calloc(count, sizeof *ahead);
    if (ahead == NULL) return; /* the next change of a link tries again */
    count = 0;
    ahead[count++] = env->wall(env) - env->now(env);
    WF_LIST_EACH(k, &c->live_links) {
        const struct wf_link *l = WF_CONTAINER(k, struct wf_link, in_all);
        if (!l->client && l->clock_ahead != WF_CLOCK_UNKNOWN) ahead[count++] = l->clock_ahead;
    }
    qsort(ahead, count, sizeof *ahead, by_value);
    atomic_store_explicit(&c->t->node->clock_ahead, ahead[(count - 1) / 2], memory_order_relaxed);
    free(ahead);
}

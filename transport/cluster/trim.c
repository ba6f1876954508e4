/* transport/cluster/trim.c -- gives the memory of ended links back to the system.
 *
 * A link's batches, tables and buffers are freed when it ends, but the C library keeps free memory that lies between
 * blocks in use: a node that has had thousands of links, or one link with a large table, would stay as large as it was
 * then. A few small links are not worth it, as memory that is given back must be requested again. */
#include "trim.h"
#include "cluster.h"
#include "peer_link.h"
#include "transport.h"

enum { LINKS = 64, A_LINK = 65536 }; /* trims after this many links; so many received bytes count as a link */
#define QUIET WEFT_SEC(1)            /* waits until no link has ended for this time, */
#define MOST WEFT_SEC(10)            /* but no longer than this after the first end */

void wf_trim_ended(struct wf_cluster *c, const struct wf_link *l)
{
    int64_t now = wf_transport_now(c->t);
    uint64_t brought = atomic_load_explicit(&l->bytes_in, memory_order_relaxed) / A_LINK;
    if (c->trim.ended == 0) c->trim.first_at = now;
    c->trim.ended += 1 + (uint32_t)WF_MIN(brought, (uint64_t)LINKS);
    c->trim.last_at = now;
}

int64_t wf_trim_tick(struct wf_cluster *c, int64_t now)
{
    if (c->trim.ended < LINKS) return WEFT_FOREVER;
    int64_t at = WF_MIN(c->trim.last_at + QUIET, c->trim.first_at + MOST);
    if (now < at) return at;
    c->trim.ended = 0;
    pf_memory_trim();
    return WEFT_FOREVER;
}

/* actors/core/node.h -- one runtime instance: workers, names, actors, and the way to other nodes. */
#ifndef WF_NODE_H
#define WF_NODE_H

#include "embed.h"
#include "feature.h"
#include "misuse.h"
#include "msg.h"
#include "remains.h"
#include "route.h"
#include "task.h"

#include <weft/node.h>

struct wf_queue_tables; /* names/ */

struct weft_node {
    struct wf_workers workers; /* first: the runtime takes a weft_node * for a struct wf_workers * */
    struct wf_embed embed;     /* the environment of an embedded one */
    uint64_t incarnation;
    uint64_t secret; /* the key of its hash tables, so that an attacker cannot choose keys that share a bucket */
    char name[65];
    char cluster[65];
    weft_node_options options; /* the defaults are filled in; strings are not valid here, see name and transport */
    void *slots[WF_FEATURE_SLOTS]; /* feature.h */
    struct wf_features features;
    /* Functions of features that lower rooms call if the node has them: feature.h. */
    const struct wf_naming *naming;             /* NULL: actors have no names */
    const struct wf_tracing *tracing;           /* NULL: no message carries a trace id */
    const struct wf_queue_tables *queue_tables; /* tables.h */
    struct wf_hooks hooks;
    const struct wf_route *route; /* NULL: no network. Set once before the workers start */
    void *transport;              /* belongs to transport/: the route's functions get it through the worker's set */
    struct weft_args *args;       /* the arguments of weft_main and `weft run`; may be NULL */
    _Atomic uint32_t busy[2];     /* workers with actors, plus spawns under way: users, services. See wf_node_busy */
    _Atomic uint32_t next_worker; /* used by spawns of foreign threads and by WEFT_SPREAD: relaxed, a hint */
    _Atomic bool stopping;        /* no new user actors */
    _Atomic bool minority;        /* the node is in a minority; relaxed, set by the transport: see WEFT_EMINORITY */
    _Atomic bool draining;        /* weft_drain; as `minority` */
    pf_mutex *tables_lock;        /* tables.h; also for the next two members */
    uint64_t last_stamp;
    _Atomic int64_t clock_ahead;               /* relaxed, by the transport: see wf_node_wall */
    uint32_t entries;                          /* its own entries, of which other nodes keep copies */
    pf_mutex *taps_lock;                       /* trace.h; for `taps` */
    struct wf_list taps;                       /* wf_tap.on_node */
    _Atomic uint32_t tap_count;                /* relaxed: workers are told of a change by a post */
    _Atomic uint64_t misuses[WF_MISUSES_MAX];  /* mistakes that the log has reported: misuse.c */
    pf_mutex *lock;                            /* guards `ended` */
    struct wf_remains remains[WF_WORKERS_MAX]; /* of each worker */
    pf_cond *ended; /* signalled when a `busy` becomes 0, or all workers have done a round */
};
_Static_assert(offsetof(struct weft_node, workers) == 0, "see workers");

static inline weft_node *wf_node_of(const struct wf_worker *w)
{
    return (weft_node *)w->set;
}

/* The wall clock: this node's, or the median of the clocks of all nodes it is linked with, whichever is later. So a
 * clock that is slow does no harm while there are two others. */
#define WF_CLOCK_UNKNOWN INT64_MIN
static inline int64_t wf_node_wall(const weft_node *n)
{
    struct pf_env *env = n->workers.env;
    int64_t ahead = atomic_load_explicit(&n->clock_ahead, memory_order_relaxed);
    return ahead == WF_CLOCK_UNKNOWN ? env->wall(env) : WF_MAX(env->wall(env), env->now(env) + ahead);
}

static inline bool wf_node_is_draining(const weft_node *n)
{
    return atomic_load_explicit(&n->draining, memory_order_relaxed);
}

static inline bool wf_node_in_minority(const weft_node *n)
{
    return atomic_load_explicit(&n->minority, memory_order_relaxed);
}

/* Whether a tool traces messages: trace/trace.h. */
static inline bool wf_is_tapped(const weft_node *node)
{
    return WF_UNLIKELY(atomic_load_explicit(&node->tap_count, memory_order_relaxed) > 0);
}

#endif

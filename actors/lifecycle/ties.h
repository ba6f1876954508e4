/* actors/lifecycle/ties.h -- what an actor keeps of its monitors and links, and how it is found: monitors.h has
 * their rules.
 *
 * Design notes.
 * (1) Of who hears of its end an actor keeps the message that will say so: a WATCH of each watcher, an EXIT for each
 *     link. They are chained. The first few of a chain are found by looking at them; the others are in a hash table
 *     of the worker, whose fields lie in the message where its body will be. So one more or less costs the same
 *     however many there are, and the few ties that most actors have cost nothing beside their messages. A parent on
 *     another worker may tie itself to its child before that has run, as it only adds to these first few.
 * (2) What an actor has to do with the actors of one other node is in a set of its own (struct wf_remote_ties), and
 *     the sets of one node are listed (struct wf_tied_node). So the end of a link costs what it ends, and the ties
 *     that a node has here can be counted. */
#ifndef WF_TIES_H
#define WF_TIES_H

#include "hash_table.h"
#include "actor.h"
#include "slab.h"
#include "monitors.h"

enum {
    /* Watchers and links that one other node may have on one worker: 16 MiB of messages. */
    WF_TIES_OF_NODE = 262144
};

/* A monitor, on the watcher's worker: wf_worker_ties.monitors. */
struct wf_monitor {
    struct wf_slot slot;
    struct wf_list_node on_set; /* wf_tie_set.monitors */
    struct wf_actor *watcher;
    weft_pid target;
    struct wf_end_wait *wait; /* not NULL: weft_on_end, which is told instead of the mailbox */
    weft_msg *lost; /* of a target on another node: the DOWN for the case that the node is lost; else NULL */
};

struct wf_tied_node {
    struct wf_hashed in_table; /* wf_worker_ties.tied_nodes, by `node` */
    uint64_t node;
    struct wf_list sets; /* wf_remote_ties.on_node */
    uint32_t count;      /* of messages in them */
};

struct wf_remote_ties {
    struct wf_hashed in_table;              /* wf_worker_ties.remote_ties, by actor and node */
    struct wf_remote_ties *next, *previous; /* wf_ties.far */
    struct wf_list_node on_node;
    struct wf_tied_node *node;
    struct wf_actor *actor;
    struct wf_tie_set set;
    uint32_t count; /* of monitors and messages in it, and of who looks at it; never 0 */
};

_Static_assert(sizeof(struct wf_monitor) <= 64 && sizeof(struct wf_ties) <= 32 &&
                   sizeof(struct wf_remote_ties) <= 104,
               "docs/monitors.md states what monitors and links cost");

/* Of a worker. */
enum { WF_TIES_SLOT = 7 };
struct wf_worker_ties {
    struct wf_slab monitors; /* struct wf_monitor */
    struct wf_hash_table ties, remote_ties, tied_nodes;
    uint32_t last_link; /* of its actors' links */
};
static inline struct wf_worker_ties *wf_ties_of(const struct wf_worker *w)
{
    return wf_actors_of(w)->slots[WF_TIES_SLOT];
}

/* NULL: there is none. */
weft_msg *wf_tie_watcher(const struct wf_actor *a, weft_pid watcher, uint64_t ref);
weft_msg *wf_tie_link(const struct wf_actor *a, weft_pid other);
/* Puts in a WATCH, or an EXIT to be; what it has for a body is dropped. `w` is the calling worker: that of `a`, or of
 * its parent, before it has run. False: no memory, and nothing has changed. */
bool wf_tie_add(struct wf_actor *a, struct wf_worker *w, weft_msg *m);
void wf_tie_remove(struct wf_actor *a, weft_msg *m); /* it is the caller's, and has no body */
/* The other is a new actor of the same node. */
void wf_tie_rename(struct wf_actor *a, weft_msg *m, weft_pid other);
/* By its watcher and target. False: no memory. */
bool wf_tie_add_monitor(struct wf_monitor *mon);
void wf_tie_remove_monitor(struct wf_monitor *mon);
/* All of `a` with actors of that node; NULL: none. */
struct wf_tie_set *wf_tie_set_of(const struct wf_actor *a, uint64_t node);
/* The same for each set of `a`, the first for `before` NULL; NULL: there are no more. Taking out the last tie of the
 * set of another node frees that set. */
struct wf_tie_set *wf_tie_set_next(const struct wf_actor *a, const struct wf_tie_set *before);
/* Whether that node has WF_TIES_OF_NODE on worker `w`. */
bool wf_ties_full(const struct wf_worker *w, uint64_t node);
/* Calls `see` for each actor of worker `w` that has a set with that node, which it may empty. */
void wf_ties_each(struct wf_worker *w, uint64_t node,
                  void (*see)(struct wf_worker *w, struct wf_actor *a, struct wf_tie_set *s));
void wf_ties_finish(struct wf_worker *w);

#endif

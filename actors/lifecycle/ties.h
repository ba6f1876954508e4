/* actors/lifecycle/ties.h -- the data of an actor's monitors and links, and how it is found: monitors.h has their
 * rules.
 *
 * Design notes.
 * (1) For each actor that it must notify of its end, an actor keeps the message for that: a WATCH of each watcher, an
 *     EXIT for each link. They are chained. The first few of a chain are found by a walk; the others are in a hash
 *     table of the worker, whose fields are in the message in the place of its body. So adding and removing cost the
 *     same however many there are, and the few ties that most actors have need no memory besides their messages. A
 *     parent on another worker may tie itself to its child before the child has run, as it only adds to these first
 *     few.
 * (2) The ties of an actor with the actors of one other node are in a set (struct wf_remote_ties), and the sets for
 *     one node are in a list (struct wf_tied_node). So the end of a link between nodes costs only as much as it has
 *     ties, and the ties that a node has here can be counted. */
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
    struct wf_end_wait *wait; /* if not NULL: weft_on_end is notified, not the mailbox */
    weft_msg *lost; /* the DOWN to use if the node of a remote target is lost; NULL for a target on this node */
};

struct wf_tied_node {
    struct wf_hashed in_table; /* wf_worker_ties.tied_nodes, by `node` */
    uint64_t node;
    struct wf_list sets; /* wf_remote_ties.on_node */
    uint32_t count;      /* messages in these sets */
};

struct wf_remote_ties {
    struct wf_hashed in_table;              /* wf_worker_ties.remote_ties, by actor and node */
    struct wf_remote_ties *next, *previous; /* wf_ties.far */
    struct wf_list_node on_node;
    struct wf_tied_node *node;
    struct wf_actor *actor;
    struct wf_tie_set set;
    uint32_t count; /* monitors and messages in it, plus users of the set; never 0 */
};

_Static_assert(sizeof(struct wf_monitor) <= 64 && sizeof(struct wf_ties) <= 32 &&
                   sizeof(struct wf_remote_ties) <= 104,
               "docs/monitors.md states what monitors and links cost");

/* The ties of a worker. */
enum { WF_TIES_SLOT = 7 };
struct wf_worker_ties {
    struct wf_slab monitors; /* struct wf_monitor */
    struct wf_hash_table ties, remote_ties, tied_nodes;
    uint32_t last_link; /* the last number of a link of its actors */
};
static inline struct wf_worker_ties *wf_ties_of(const struct wf_worker *w)
{
    return wf_actors_of(w)->slots[WF_TIES_SLOT];
}

/* The message of that watcher or link; NULL: there is none. */
weft_msg *wf_tie_watcher(const struct wf_actor *a, weft_pid watcher, uint64_t ref);
weft_msg *wf_tie_link(const struct wf_actor *a, weft_pid other);
/* Adds a WATCH or a prepared EXIT, and drops its body. `w` is the calling worker: that of `a`, or, before `a` has
 * run, that of its parent. False: no memory, and nothing has changed. */
bool wf_tie_add(struct wf_actor *a, struct wf_worker *w, weft_msg *m);
void wf_tie_remove(struct wf_actor *a, weft_msg *m); /* the caller owns `m` then; it has no body */
/* Replaces the other actor of `m` by a new one of the same node. */
void wf_tie_rename(struct wf_actor *a, weft_msg *m, weft_pid other);
/* Adds it to the set of its watcher for the target's node. False: no memory. */
bool wf_tie_add_monitor(struct wf_monitor *mon);
void wf_tie_remove_monitor(struct wf_monitor *mon);
/* The ties of `a` with actors of that node; NULL: none. */
struct wf_tie_set *wf_tie_set_of(const struct wf_actor *a, uint64_t node);
/* The set of `a` after `before`; with NULL, the first one. Returns NULL after the last. Removing the last tie of a
 * set for another node frees that set. */
struct wf_tie_set *wf_tie_set_next(const struct wf_actor *a, const struct wf_tie_set *before);
/* Whether that node has WF_TIES_OF_NODE on worker `w`. */
bool wf_ties_full(const struct wf_worker *w, uint64_t node);
/* Calls `see` for actors of worker `w` that have a set with that node, until it has ended `most` ties in all: it ends as
 * many of a set as it is told, or fewer, and returns how many. False: `see` has been called for all of them. */
bool wf_ties_some(struct wf_worker *w, uint64_t node, uint32_t most,
                  uint32_t (*see)(struct wf_worker *w, struct wf_actor *a, struct wf_tie_set *s, uint32_t most));
void wf_ties_finish(struct wf_worker *w);

#endif

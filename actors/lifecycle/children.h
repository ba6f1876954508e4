/* actors/lifecycle/children.h -- the children of a supervisor: a list in the order of their start, found by name and
 * pid.
 *
 * Design notes. A child with pending work is on up to two lists, so that the supervisor need not look at the others:
 * `stops` or `downs`, in the order of `at`, and `clock`. Names and pids are found by scanning `keys`, 16 bytes
 * each. */
#ifndef WF_CHILDREN_H
#define WF_CHILDREN_H

#include "child.h"
#include "supervisor.h"

enum wf_child_phase { WF_DOWN, WF_STARTING, WF_UP, WF_STOPPING };

struct wf_child {
    struct wf_list_node on_turn;  /* wf_children.stops or downs, which is `turn` */
    struct wf_list_node on_clock; /* wf_children.clock */
    struct wf_list *turn;         /* NULL: neither */
    uint64_t serial;              /* rises in the order of `at` */
    weft_child_spec spec;
    uint8_t state; /* wf_child_phase */
    bool wanted, must_stop;
    bool late;    /* it was not ready in time, so it is killed */
    bool asked;   /* added by weft_start_child, and has never been up */
    bool starved; /* there was no memory to start it; the start is retried until `deadline` */
    bool is_supervisor;
    weft_pid pid;       /* its actor, unless it is WF_DOWN */
    int64_t deadline;   /* WF_STARTING, WF_STOPPING: when to kill it; WF_DOWN and `starved`: when the start fails */
    int64_t not_before; /* WF_DOWN: the end of the back-off, or when to retry for memory */
    int64_t up_since;   /* 0: it has not been up in this life */
    uint32_t restarts;
    uint32_t failures; /* in a row, without a life of a whole period in between */
    int reason;        /* why its last life ended */
    weft_msg *caller;  /* the request to answer when it has started, or is down */
    struct wf_kept_actor *keep;
    struct wf_charge charge; /* and its argument */
};

struct wf_child_key {
    uint64_t actor; /* pid.actor; 0: it is WF_DOWN */
    uint32_t hash;  /* the hash of its name */
};

struct wf_children {
    struct wf_child **at;      /* in the order of their start */
    struct wf_child_key *keys; /* the keys of the same children */
    size_t count, capacity;
    uint64_t last_serial;
    struct wf_list stops; /* wf_child.on_turn: up, and must stop */
    struct wf_list downs; /* wf_child.on_turn: down, and wanted */
    struct wf_list clock; /* wf_child.on_clock: starting or stopping, so it has a deadline */
};

void wf_children_init(struct wf_children *all);
void wf_children_finish(struct wf_children *all); /* frees the list, not the children */
/* Adds a child of the calling actor at the end, with `name` and `arg` instead of the spec's. WEFT_EFULL,
 * WEFT_ENOMEM. */
int wf_children_add(struct wf_children *all, const weft_child_spec *spec, const char *name, const void *arg,
                    struct wf_child **out);
void wf_children_remove(struct wf_children *all, struct wf_child *c);                /* does not free it */
struct wf_child *wf_children_named(const struct wf_children *all, const char *name); /* NULL */
struct wf_child *wf_children_find(const struct wf_children *all, weft_pid pid);      /* NULL */
size_t wf_children_index(const struct wf_children *all, const struct wf_child *c);
/* Call it after each change of `state`, `wanted` or `must_stop`. */
void wf_children_changed(struct wf_children *all, struct wf_child *c);
static inline struct wf_child *wf_child_on_turn(struct wf_list_node *k)
{
    return WF_CONTAINER(k, struct wf_child, on_turn);
}
static inline struct wf_child *wf_child_on_clock(struct wf_list_node *k)
{
    return WF_CONTAINER(k, struct wf_child, on_clock);
}

#endif

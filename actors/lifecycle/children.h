/* actors/lifecycle/children.h -- the children of a supervisor: a list in the order of their start, found by name and
 * pid.
 *
 * Design notes. A supervisor may have tens of thousands of children, so no look-up, change or removal of one looks at the
 * others: names and pids are in hash tables, and a child with pending work is in heaps, one for each question that the
 * supervisor asks (enum wf_child_queue). The memory of all of these grows when a child is added, so that a change of a
 * child cannot fail. */
#ifndef WF_CHILDREN_H
#define WF_CHILDREN_H

#include "child.h"
#include "hash_table.h"
#include "list.h"
#include "supervisor.h"

enum wf_child_phase { WF_DOWN, WF_STARTING, WF_UP, WF_STOPPING };

/* STOPS: it is up and must stop; the last one first. DOWNS: it is down and wanted; the first one first, or, for
 * wf_children_free_order, the one that may start soonest. STARTS: it is starting; the first one first. CLOCK: it is
 * starting or stopping, so it has a deadline; the earliest first. */
enum wf_child_queue { WF_STOPS, WF_DOWNS, WF_STARTS, WF_CLOCK, WF_CHILD_QUEUES };

struct wf_child {
    struct wf_list_node on_all;      /* wf_children.all */
    struct wf_hashed in_names;       /* wf_children.names */
    struct wf_hashed in_pids;        /* wf_children.pids, unless it is WF_DOWN */
    bool has_pid;                    /* it is there */
    uint32_t place[WF_CHILD_QUEUES]; /* its index in that queue + 1; 0: it is not in it */
    uint64_t serial;                 /* rises in the order of `all` */
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

struct wf_children {
    struct wf_list all; /* wf_child.on_all, in the order of their start */
    size_t count, capacity;
    uint64_t last_serial;
    struct wf_hash_table names, pids;
    struct wf_hashed always; /* in `pids`, so that adding a pid cannot fail */
    struct {
        struct wf_child **at; /* a heap: two behind each, none of them before it */
        uint32_t count;
    } queues[WF_CHILD_QUEUES];
    bool free_order;
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
/* The first child of that queue; NULL: it is empty. */
struct wf_child *wf_children_first(const struct wf_children *all, enum wf_child_queue queue);
/* From now on the children that are down start when they may, in whatever order. None is down. */
void wf_children_free_order(struct wf_children *all);
/* Call it after each change of `state`, `wanted`, `must_stop`, `pid`, `deadline` or `not_before`. */
void wf_children_changed(struct wf_children *all, struct wf_child *c);
static inline struct wf_child *wf_child_on_all(struct wf_list_node *k)
{
    return WF_CONTAINER(k, struct wf_child, on_all);
}

#endif

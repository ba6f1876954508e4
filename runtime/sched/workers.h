/* runtime/sched/workers.h -- the workers of a node: made together, started, stopped and freed together. */
#ifndef WF_WORKERS_H
#define WF_WORKERS_H

#include "hooks.h"
#include "part.h"
#include "worker.h"

struct wf_offload;
struct wf_watch;

enum { WF_WAIT_KINDS_MAX = 16 };

/* All workers of a node. A weft_node begins with it, so a weft_node * is a struct wf_workers *. */
struct wf_workers {
    struct pf_env *env;
    const struct wf_hooks *hooks;
    const struct wf_part *const *parts; /* the last is NULL; NULL itself: there are none */
    void (*on_ready)(struct wf_worker *w, const struct pf_ready *entries, int count); /* a part's, as is on_done */
    void (*on_done)(struct wf_worker *w, uint64_t tag);
    const struct wf_wait_kind *wait_kinds[WF_WAIT_KINDS_MAX]; /* by weft_wait.kind, see wait.h */
    struct wf_depot *depot;
    uint32_t count;
    /* The first `users` workers run users' actors. If there is one more, it runs weft's own actors, so that they
     * answer while all others are busy. wf_workers_init: 0 means `count`. */
    uint32_t users;
    bool may_look;        /* there is a core for each worker of users' actors: look_for_posts */
    uint32_t turn_budget; /* tasks run per turn; 0: WF_TURN_BUDGET */
    size_t stack_bytes;
    uint32_t blocking_threads, blocking_queue; /* bounds of `offload`; 0: the defaults */
    uint32_t record_events;                    /* of each worker's recorder; 0: none */
    bool record_sends;
    uint64_t identity; /* the layer above's: of this process, in the addresses of its tasks */
    uint64_t nowhere;  /* random and secret: no other process can choose it as its identity */
    /* stuck.h: turns of at least this length are reported; 0, WEFT_FOREVER: none is */
    int64_t stuck_after;
    _Atomic int64_t look_at;          /* relaxed: when the next look for such turns is; 0: no look is planned */
    struct wf_watch *watch;           /* NULL: nothing looks for such turns */
    struct wf_offload *offload;       /* threads for blocking functions, see offload.h */
    _Atomic uint32_t files_under_way; /* overlapped operations, see file.h */
    _Atomic bool files_draining;      /* a worker that has ended waits for these operations */
    struct wf_worker *at[WF_WORKERS_MAX];
};

/* Makes `count` workers (set->env, hooks, parts, stack_bytes, count and the bounds are filled in by the caller);
 * none runs yet. */
int wf_workers_init(struct wf_workers *set);
/* Starts their threads, named "weft-0", ... */
int wf_workers_start(struct wf_workers *set);
/* Any thread but theirs: asks each loop to end and joins it. Tasks must have ended. */
void wf_workers_stop(struct wf_workers *set);
void wf_workers_finish(struct wf_workers *set);

/* The worker of weft's own actors: one of its own, or, of a node with one thread, the only one. */
static inline struct wf_worker *wf_workers_own(const struct wf_workers *set)
{
    return set->at[set->count - 1];
}

#endif

/* actors/inspect/inspect_worker.h -- a look at one actor, or at all calls and drops of a worker: what `weft inspect`
 * and `weft why-dropped` show.
 *
 * It runs on the worker's own thread between two tasks, so that no data of an actor needs a lock, and other actors
 * pay nothing. The asking actor waits meanwhile. */
#ifndef WF_INSPECT_WORKER_H
#define WF_INSPECT_WORKER_H

#include "actor.h"
#include "actor_list.h"
#include "worker_query.h"

enum { WF_TIES_SHOWN = 32, WF_WAITS_SHOWN = 256, WF_CALLERS_SHOWN = 16 };

/* A list of pids, cut where it is longer. */
struct wf_pids {
    uint32_t count; /* how many there are */
    weft_pid of[WF_TIES_SHOWN];
};

struct wf_actor_detail {
    uint64_t id; /* which actor: the caller sets it */
    bool found;
    struct wf_actor_info info;
    int64_t mailbox_p50, mailbox_p99; /* ns that messages to its kind on its worker lie in mailboxes; -1: not known */
    int64_t waits_ns;                 /* how long its call has waited; 0: it is in none */
    struct wf_pids asks, links, monitors, watchers;
    uint32_t caller_count; /* its return addresses: wf_task_callers */
    uintptr_t callers[WF_CALLERS_SHOWN];
};

/* The calls under way on a worker. */
struct wf_waits {
    uint32_t count; /* how many there are, or more than so many if the worker has much to do */
    uint32_t shown;
    uint32_t next; /* slot of the worker's actors to look at */
    int64_t until; /* the worker counts no more after this time */
    struct {
        weft_pid who, whom;
        int64_t ns;
    } of[WF_WAITS_SHOWN];
};

/* An actor of a worker: its name, and the actors whose answers it waits for. */
struct wf_who {
    uint64_t id; /* which actor: the caller sets it, and zeroes the rest */
    bool found, service;
    struct wf_actor_info info;
    int64_t waits_ns;      /* how long its call has waited; 0: it is in none */
    bool needs_all;        /* it continues only when each of them has answered */
    uint32_t asks;         /* how many have not answered yet */
    weft_pid ask;          /* the first of them; its actor is 0: only the name is known */
    char ask_name[2 * 65]; /* "x@b"; "": it was called by its pid */
};
enum { WF_WHOS_MAX = 256 };
struct wf_whos {
    uint32_t count;
    struct wf_who of[];
};

struct wf_drops_seen {
    int64_t now;
    struct wf_drop_log log;
};

/* For wf_worker_inspect. All but wf_inspect_waits look once. The caller zeroes struct wf_waits. */
bool wf_inspect_actor(struct wf_worker *w, void *actor_detail);
bool wf_inspect_waits(struct wf_worker *w, void *waits);
bool wf_inspect_whos(struct wf_worker *w, void *whos);
bool wf_inspect_drops(struct wf_worker *w, void *drops_seen);

#endif

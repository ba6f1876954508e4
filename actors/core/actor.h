/* actors/core/actor.h -- an actor: a task with an identity, a mailbox and clean-ups; and what a worker keeps for
 * its actors.
 *
 * Design notes.
 * (1) An actor belongs to one worker. Only that worker's thread touches it, except for its first cache line, which
 *     senders on any thread read. That line is written at birth and death; `full` also when the mailbox reaches its
 *     bound or has space again.
 * (2) A message is freed by exactly one of these: the actor that holds it (weft_msg_free, or the end of the actor), a
 *     failed send, a drop that counts a reason. Messages that an actor has received or made are on its `held` list,
 *     so that killing it leaks nothing.
 * (3) End: body or weft_exit or kill -> wf_actor_end() on the actor's own stack: clean-ups (may wait, until the grace
 *     period is over), owned resources, names, subscriptions, unanswered requests, mailbox, ties. An actor that has
 *     very many of these yields in between (wf_actor_end_part), but not in the last step, wf_actor_end_tail: nothing
 *     runs between its beginning and the release of the slot.
 * (4) A cancel may come at any time; only waits notice it. A kill abandons the stack frames of a waiting call after
 *     that call has left the sources it waited for. */
#ifndef WF_ACTOR_H
#define WF_ACTOR_H

#include "actor_kinds.h"
#include "actor_more.h"
#include "drops.h"
#include "lane.h"
#include "mail_time.h"
#include "msg.h"
#include "node.h"
#include "probe.h"
#include "slab.h"
#include "sweep.h"
#include "task.h"
#include "text.h"
#include "topic_trie.h"

#include <weft/actor.h>
#include <weft/handler.h>
#include <weft/log.h>

struct wf_asking;

/* wf_actor.arg of a handler that began as a body, or whose state is larger than a pointer. From malloc. */
struct wf_handling {
    weft_handler *handle;
    void *given; /* what the function is given: `state`, or NULL if it has no bytes */
    alignas(16) unsigned char state[];
};

/* Four cache lines: (a) what other threads read, (b) what sending and receiving write, (c) what sending and receiving
 * read and a task switch writes, (d) what some waits need. */
struct wf_actor {
    struct wf_slot slot;
    uint64_t id; /* pid.actor of this life */
    const char *kind;
    union {
        weft_actor *body;
        weft_handler *handle; /* in_place */
    };
    size_t mailbox_bytes_max;
    struct wf_actor_more *more; /* NULL until it is needed for the first time */
    uint32_t arg_size;
    uint32_t mailbox_max;
    _Atomic bool full;      /* owner: relaxed store; senders on other threads: relaxed load. A hint, see mailbox.c */
    _Atomic uint8_t policy; /* weft_full_policy; as `full` */
    _Atomic bool service;   /* an actor of weft's own; as `full`, but written at birth only */
    bool listed;            /* its worker has taken it over: see WF_ACTORS_EACH */
    /* Some of these bits belong to features. They are here because a bit takes less space than a feature slot. */
    bool cleaning : 1;     /* wf_actor_end runs */
    bool traps_stop : 1;   /* weft_trap_stop */
    bool traps_exits : 1;  /* weft_trap_exits */
    bool stop_asked : 1;   /* it was asked to stop: wf_actor_cancel */
    bool told_ready : 1;   /* weft_ready */
    bool skip_told : 1;    /* the log has reported that a selective receive reached its bound */
    bool wants_space : 1;  /* it waits for space in another actor's mailbox */
    bool space_news : 1;   /* it was told that there is space */
    bool handles : 1;      /* it is a handler: see handler.c */
    bool in_place : 1;     /* it is a handler whose state is in `state` below */
    bool has_waiters : 1;  /* senders wait for space here, or believe that there is none */
    bool awaited : 1;      /* it has subscriptions whose publishers wait */
    bool lasts : 1;        /* only its node can end it */
    bool traps_reload : 1; /* weft_trap_reload */
    bool traced : 1;       /* the messages it sends carry a trace id: trace.h */
    bool handing : 1;      /* it continues with other code when its present code returns: reload.h */
    uint16_t space_asked;  /* how often it asked for space: an answer to an earlier request is ignored */
    /* From here on: for the owner's thread only. */
    alignas(WF_CACHE_LINE) struct wf_lane mail;
    struct wf_lane signals;
    weft_msg *held;       /* doubly linked: next by post.next, previous by `previous`; see wf_held_count */
    int64_t spare_bytes;  /* of mailbox_bytes_max; below 0: the mailbox is full */
    uint64_t gone;        /* messages that have left the mailbox, received or not */
    int32_t spare_places; /* the same for messages */
    uint32_t evicted;     /* how many of `gone` were dropped, not received; it stays at its maximum */
    union {
        void *arg; /* a pool block, until the actor starts; of a handler: a struct wf_handling */
        unsigned char state[sizeof(void *)]; /* in_place */
    };
    struct wf_asking *asking; /* the call it is in; NULL: none */
    struct wf_actor *sent_to; /* a slot of this worker: weft_send tries it first */
    struct wf_task task;
    uint32_t dropped;
    int reason; /* why it ends: WEFT_EXIT_* or weft_exit's argument; once it is asked to stop, why a return ends it */
};
_Static_assert(sizeof(struct wf_actor) <= 256, "docs/memory.md states the size of an actor before its stack");
_Static_assert(sizeof(struct wf_actor) % 16 == 0, "a slab keeps actors side by side: wf_actor_find");

/* Records in the flight recorder what `a` does with `other`, an actor of any node, or weft_nobody(). */
static inline __attribute__((always_inline)) void wf_actor_record(const struct wf_actor *a, unsigned kind,
                                                                  weft_pid other, uint32_t value)
{
    struct wf_worker *w = a->task.worker;
    unsigned far = other.node != w->identity ? WF_RECORD_REMOTE : 0;
    wf_worker_record(w, kind | far, a->id, other.actor, value);
    if (kind == WEFT_RECORD_SEND) WF_PROBE3(send, a->id, other.actor, value); /* `kind` is a constant */
    else if (kind == WEFT_RECORD_RECEIVE) WF_PROBE3(receive, a->id, other.actor, value);
    else if (kind == WEFT_RECORD_EXIT) WF_PROBE2(exit, a->id, a->reason);
}

/* The same for a message that `a` receives. `near`: it comes from this node. */
static inline __attribute__((always_inline)) void wf_actor_record_receive(struct wf_worker *w,
                                                                          const struct wf_actor *a, const weft_msg *m,
                                                                          bool near)
{
    WF_RECORD_PUT(&w->recorder, w->now,
                  WEFT_RECORD_RECEIVE | (near || m->from.node == w->identity ? 0U : (unsigned)WF_RECORD_REMOTE),
                  a->id, m->from.actor, m->post.word);
    WF_PROBE3(receive, a->id, m->from.actor, m->post.word);
}

/* Call it when one of these has changed: sending and receiving test only `slow_path`, and look at them where that is
 * set. */
static inline void wf_actor_set_slow_path(struct wf_actor *a)
{
    a->task.slow_path = a->has_waiters || a->traced || a->signals.first != NULL;
}

/* See actors/mailbox/send.c, note (1). */
static inline bool wf_is_unrecorded(const struct wf_worker *w, weft_pid to)
{
    return to.node == w->unrecorded && wf_id_worker(to.actor) == w->index;
}

/* A task may spawn over a hundred children in a turn, which end in the next one: WF_SPARES has space for them. A worker
 * without spare slots reserves WF_SPARES_TAKEN of them. */
enum { WF_SPARES_FROM = 65536, WF_SPARES = 256, WF_SPARES_TAKEN = 16 };

/* Slots that the worker itself has reserved, so that most of its spawns and ends take no lock. Other threads cannot
 * take these slots, even if no other slot is free. So a worker keeps some only if its limit of actors is
 * WF_SPARES_FROM or higher. */
struct wf_spare_slots {
    struct wf_actor *at[WF_SPARES];
    uint32_t count, max;
};

/* The actors of a worker: the memory behind it, so that no pointer to them has to be read. */
struct wf_actors {
    weft_node *node;
    struct wf_worker *worker;
    pf_mutex *lock;      /* guards taking and giving slots of `slab`: other threads spawn here, too */
    struct wf_slab slab; /* struct wf_actor */
    struct wf_spare_slots spare;
    uint64_t secret; /* the key of features' hash tables */
    struct wf_owing owing;
    struct wf_sweep sweep;
    struct wf_kinds kinds;
    void *slots[WF_FEATURE_SLOTS]; /* feature.h */
    size_t mail_bytes_max;
    int64_t spare_bytes;        /* of mail_bytes_max, for all mailboxes of the worker; may be below 0 */
    struct wf_mail_timer timer; /* it chooses the messages that are timed */
    /* wf_backlog.on_short: mailboxes that are full only because this worker's share of bytes is used up */
    struct wf_list short_of_bytes;
    uintptr_t some_short; /* not 0: there may be some; a receive tests it together with pointers */
    uint32_t alive[2];    /* users, services */
    uint64_t received;    /* the messages that ended actors have received */
    _Atomic uint64_t dropped[WF_DROP_REASONS]; /* relaxed, written by the owner: see wf_count_drop */
    struct wf_drop_log drops;
    struct wf_left left;
    /* Data of tracing, calls and topics. It is not in feature slots: each message, call or publication reads it, and
     * a slot would cost one load more. */
    bool tracing;              /* trace.h: some message here is traced, or may have to be */
    struct wf_list calls;      /* wf_asking.on_calls: the youngest last */
    struct wf_list long_calls; /* calls that `patrol` no longer handles */
    struct wf_timer patrol;    /* armed while there are calls: actors/call/cycle.c */
    uint64_t last_ref;         /* the number of its actors' last request; no other worker uses these numbers */
    struct wf_slab subscription_slab;
    struct wf_trie topics;    /* wf_subscription.subscriber */
    struct wf_list cut;       /* wf_subscription_more.on_cut */
    struct wf_match *matches; /* topic_match.h; NULL: none yet */
    size_t matched;           /* places in all of their lists */
    uint64_t matches_made;    /* how many topics have had a place in `matches` */
    uint8_t published;        /* the last wf_body.owed that was given */
    /* Owner: relaxed store; publishers elsewhere: relaxed load. Hints. */
    alignas(WF_CACHE_LINE) _Atomic uint32_t subscriptions;
    _Atomic uint32_t awaited;      /* how many of them have publishers that wait */
    _Atomic uint32_t full_awaited; /* actors with such subscriptions and a full mailbox */
};

static inline struct wf_actors *wf_actors_of(const struct wf_worker *w)
{
    return (struct wf_actors *)(uintptr_t)(w + 1);
}
static inline struct wf_actor *wf_actor_of(const struct wf_task *t)
{
    return WF_CONTAINER(t, struct wf_actor, task);
}
/* Loops over all actors of a worker, on its thread; the loop's body may start and end actors. */
#define WF_ACTORS_EACH(a, wa) WF_SLAB_EACH(struct wf_actor, a, &(wa)->slab) if (a->listed)

/* What a mailbox holds is counted down from its bounds: one subtraction counts a message, and its sign shows whether the
 * mailbox is full. */
static inline uint32_t wf_mail_count(const struct wf_actor *a)
{
    return a->mailbox_max - 1 - (uint32_t)a->spare_places;
}
static inline size_t wf_mail_bytes(const struct wf_actor *a)
{
    return a->mailbox_bytes_max - 1 - (size_t)a->spare_bytes;
}
/* The bytes of all mail of the worker. */
static inline size_t wf_all_mail_bytes(const struct wf_actors *wa)
{
    return wa->mail_bytes_max - 1 - (size_t)wa->spare_bytes;
}
/* Mail of that weight comes into the mailbox, or leaves it. */
static inline void wf_mail_counted(struct wf_actors *wa, struct wf_actor *a, size_t weight)
{
    wa->spare_bytes -= (int64_t)weight;
    a->spare_bytes -= (int64_t)weight;
    a->spare_places--;
}
static inline void wf_mail_uncounted(struct wf_actors *wa, struct wf_actor *a, size_t weight)
{
    wa->spare_bytes += (int64_t)weight;
    a->spare_bytes += (int64_t)weight;
    a->spare_places++;
}
static inline uint64_t wf_actor_received(const struct wf_actor *a)
{
    return a->gone - a->evicted;
}
/* Counts a message that reached this actor and is dropped. */
static inline void wf_actor_dropped(struct wf_actor *a)
{
    a->dropped += a->dropped != UINT32_MAX;
}
/* The keeper of an actor that has one. */
static inline struct wf_kept_actor *wf_actor_keep(const struct wf_actor *a)
{
    return a->more == NULL ? NULL : a->more->keep;
}
/* The functions of a feature for messages of this kind. */
static inline const struct wf_message_row *wf_message_row(struct wf_worker *w, const weft_msg *m)
{
    WF_ASSERT(m->post.flags < WF_MSG_KINDS);
    return &wf_node_of(w)->features.messages[m->post.flags];
}
/* Its first name; "" if it has none. */
static inline const char *wf_actor_name(const struct wf_actor *a)
{
    const struct wf_naming *naming = wf_node_of(a->task.worker)->naming;
    return a->more == NULL || naming == NULL ? "" : naming->first(a);
}
/* On the owner's thread only, so a load and a store are enough, without a locked instruction. */
static inline void wf_count_drop(struct wf_worker *w, enum wf_drop why)
{
    _Atomic uint64_t *n = &wf_actors_of(w)->dropped[why];
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}
/* The running actor; NULL outside of actors. */
static inline struct wf_actor *wf_actor_self(void)
{
    struct wf_task *t = wf_here_or_nobody->current;
    return WF_UNLIKELY(t == NULL) ? NULL : wf_actor_of(t);
}
static inline weft_pid wf_actor_pid(const struct wf_actor *a)
{
    weft_pid pid = {a->task.worker->identity, a->id};
    return pid;
}
/* On the owner's thread: the actor alive under that id, or NULL. */
static inline struct wf_actor *wf_actor_find(const struct wf_worker *w, uint64_t id)
{
    return wf_slab_find_sized(&wf_actors_of(w)->slab, id, sizeof(struct wf_actor));
}
/* The actor `to` if it is alive, on this worker, and wf_is_unrecorded(w, to); else NULL. */
static inline struct wf_actor *wf_actor_near(const struct wf_worker *w, weft_pid to)
{
    return WF_UNLIKELY(to.node != w->unrecorded) ? NULL : wf_actor_find(w, to.actor);
}

static inline weft_full_policy wf_actor_policy(const struct wf_actor *a)
{
    return (weft_full_policy)atomic_load_explicit(&a->policy, memory_order_relaxed);
}
/* Any thread: whether the mailbox seems full, and its policy makes senders wait or fail. */
static inline bool wf_actor_is_full(const struct wf_actor *a)
{
    if (WF_LIKELY(!atomic_load_explicit(&a->full, memory_order_relaxed))) return false;
    weft_full_policy policy = wf_actor_policy(a);
    return policy == WEFT_FULL_SUSPEND || policy == WEFT_FULL_FAIL;
}

static inline struct wf_actor_more *wf_actor_more(struct wf_actor *a)
{
    return WF_LIKELY(a->more != NULL) ? a->more : wf_actor_more_from(a, a->task.worker);
}

#endif

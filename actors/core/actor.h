/* actors/core/actor.h -- an actor: a task with an identity, a mailbox and clean-ups; and what a worker keeps for its
 * actors.
 *
 * Design notes.
 * (1) An actor belongs to one worker. Only that worker's thread touches it, but for its first cache line, which
 *     senders on any thread read: it is written at birth and death, and `full` when the mailbox reaches its bound or
 *     has room again.
 * (2) A message is freed by exactly one of: the actor that holds it (weft_msg_free, or its end), a failed send, a
 *     drop that counts a reason. Messages an actor has received or made are on its `held` list, so that killing it
 *     leaks nothing.
 * (3) End: body or weft_exit or kill -> wf_actor_end() on the actor's own stack: clean-ups (may wait, until the grace
 *     period is over), owned resources, names, subscriptions, unanswered requests, mailbox. Nothing runs between the
 *     last of these and the release of its slot.
 * (4) Cancel may come at any time; it is noticed by waits only. Kill abandons the frames of a waiting call after that
 *     call has left its sources. */
#ifndef WF_ACTOR_H
#define WF_ACTOR_H

#include "mail_time.h"
#include "msg.h"
#include "node.h"
#include "probe.h"
#include "slab.h"
#include "topic_trie.h"
#include "task.h"
#include "text.h"

#include <weft/actor.h>
#include <weft/call.h>
#include <weft/handler.h>
#include <weft/log.h>

struct wf_charge;
struct wf_cycle;
struct wf_defer;
struct wf_keep;
struct wf_locals;
struct wf_name;

/* A lane of a mailbox. */
struct wf_lane {
    weft_msg *first, *last; /* by post.next */
};

/* A call under way, to one actor or to many. It lies in the frame of the waiting call. */
struct wf_asking {
    struct weft_answer *slots;
    uint64_t first; /* ref of slots[0]; those of the others follow */
    size_t count, need, got, open;
    int64_t since;                /* the worker's clock when the wait began */
    const char *name;             /* "x@b", of a call to a name; NULL: to a pid */
    struct wf_list_node on_calls; /* wf_actors.calls or long_calls, while it waits for answers */
    struct wf_actor *actor;
    int64_t look_at;  /* in `calls`: when cycles are looked for */
    int64_t rested;   /* a gather: no probes before that. actors/call/cycle.c, note (8) */
    int64_t pause;    /* before the last round that it owed */
    size_t looked_at; /* how many were open when the last round began */
    bool waiting;     /* all is sent */
    /* It has waited for so long that cycles are looked for: who hears of a request in the mailbox. NULL: not yet */
    void (*probed)(struct wf_actor *a, weft_msg *m);
};
enum { WF_SPAWN_ARG_MAX = 64 * 1024 };
enum { WF_ANSWER_OPEN = 1 }; /* weft_answer.error until there is a result */

/* A handler that began as a body, or that has more state than a pointer takes: wf_actor.arg, from malloc. */
struct wf_handling {
    weft_handler *handle;
    alignas(16) unsigned char state[];
};

/* What few mailboxes need: wf_actor_more.backlog. */
struct wf_backlog {
    struct wf_lane room;          /* WF_MSG_ROOM requests of senders that wait for room here */
    struct wf_list_node on_short; /* wf_actors.short_of_bytes */
    struct wf_actor *actor;
    weft_msg *mark;    /* a signal, not the first: mail_order.h; NULL: none */
    weft_msg *scanned; /* weft_recv_match: the last message it has seen */
    uint32_t aside;    /* and how many of mail it has passed over */
    uint32_t aside_max;
    uint32_t promised;     /* senders of this worker that were told of room and have not used it yet: it is theirs; */
    size_t promised_bytes; /* so much of it */
};

/* Monitors and links of one actor with those of one node: lifecycle/ties.h. */
struct wf_tie_set {
    struct wf_list monitors; /* wf_monitor.on_set: of others, by this actor; the newest first */
    weft_msg *ends;          /* a wf_chain of WATCH and of EXIT messages to be; `from` is the other */
};
struct wf_far_ties;
struct wf_ties {
    struct wf_tie_set here;  /* with actors of this node */
    struct wf_far_ties *far; /* with those of others */
};

/* What a struct wf_keep begins with (lifecycle/kept_actor.c). */
struct wf_keep_head {
    char name[WF_NAME_MAX + 1]; /* that stays; "": none */
};

/* What few actors ever have, made at the first use and kept until the end of the actor: wf_actor_more(). */
struct wf_actor_more {
    struct wf_ties ties;                /* monitors and links: ties.h */
    struct wf_list_node *subscriptions; /* a ring of wf_subscription.on_actor, the oldest; NULL: none */
    uint32_t subscription_count;        /* of them */
    uint32_t awaited_count;             /* and of those whose publishers wait */
    struct wf_name *names;              /* chain of actors/names/names.h */
    struct wf_list_node *groups;        /* a ring of wf_group_tie.on_actor: watches, memberships; NULL: none */
    struct wf_defer *defers;            /* last first */
    struct wf_locals *locals;           /* local.h */
    int64_t latest;                     /* while clean-ups run: the end of the grace period */
    struct wf_keep *keep;               /* of its supervisor, which keeps its mailbox from life to life */
    const struct wf_charge *charge;     /* of a supervised child while its body runs */
    struct wf_body *end;                /* reason and text, if there is a text: wf_end_body */
    struct wf_cycle *cycle;             /* weft_call_cycle */
    struct wf_backlog *backlog;         /* wf_backlog() */
};

/* Four cache lines: what other threads read; what sending and receiving write; what those read and switching
 * writes; what some waits need. */
struct wf_actor {
    struct wf_slot slot;
    uint64_t id; /* of this life: pid.actor */
    const char *kind;
    union {
        weft_actor *body;
        weft_handler *handle; /* in_place */
    };
    size_t mailbox_bytes_max;
    struct wf_actor_more *more; /* NULL: nothing of it was ever needed */
    uint32_t arg_size;
    uint32_t mailbox_max;
    _Atomic bool full;      /* owner: relaxed store; senders on other threads: relaxed load. A hint, see mailbox.c */
    _Atomic uint8_t policy; /* weft_full_policy; as `full` */
    _Atomic bool service;   /* weft's own; as `full`, but written at birth only */
    bool listed;            /* it is on its worker: see WF_ACTORS_EACH */
    bool cleaning : 1;      /* wf_actor_end runs */
    bool traps_stop : 1;    /* weft_trap_stop */
    bool traps_exits : 1;   /* weft_trap_exits */
    bool stop_asked : 1;    /* and it was: it has, or had, a WEFT_TAG_STOP */
    bool told_ready : 1;    /* weft_ready */
    bool aside_told : 1;    /* the log has said that a selective receive came to its bound */
    bool wants_room : 1;    /* waits for room in another's mailbox */
    bool room_news : 1;     /* and was told that there is some */
    bool handles : 1;       /* it is a handler: see handler.c */
    bool in_place : 1;      /* and its state lies in here */
    bool crowded : 1;       /* senders wait for room here, or think that there is none */
    bool awaited : 1;       /* has subscriptions whose publishers wait */
    bool lasts : 1;         /* nobody but its node ends it */
    bool traps_reload : 1;  /* weft_trap_reload */
    bool traced : 1;        /* what it sends carries a trace id: trace.h */
    bool handing : 1;       /* it has handed over, and goes on with other code when its own returns: reload.h */
    uint16_t room_asked;    /* how often it asked: news of an earlier time say nothing */
    /* Owner's thread only, from here on. */
    alignas(WF_CACHE_LINE) struct wf_lane mail;
    struct wf_lane signals;
    weft_msg *held; /* doubly linked: next by post.next, previous by `previous`; see wf_held_count */
    size_t mail_bytes;
    uint64_t gone; /* messages that have left the mailbox, received or not */
    uint32_t mail_count;
    uint32_t evicted; /* of `gone`: dropped, not received. Both counters stay at their maximum */
    union {
        void *arg; /* pool block, until the actor starts; of a handler: struct wf_handling */
        unsigned char state[sizeof(void *)]; /* in_place */
    };
    struct wf_asking *asking; /* the call it is in; NULL: none */
    uint32_t dropped;
    int reason; /* of its end: WEFT_EXIT_*, or what weft_exit was given. Once it is asked to stop: of a return */
    struct wf_task task;
};
_Static_assert(sizeof(struct wf_actor) <= 256, "docs/memory.md states the size of an actor before its stack");
_Static_assert(sizeof(struct wf_actor_more) <= 128 && sizeof(struct wf_backlog) <= 128, "and of what few have");

/* The hand over a worker's actors: actors/core/park.c. */
struct wf_sweep {
    struct wf_timer timer; /* armed while an actor may become idle */
    int64_t park_after;
    int64_t since;     /* when its round began */
    uint32_t hand;     /* the slot it looks at next; 0 between rounds */
    uint32_t words;    /* of `settled` */
    uint64_t *settled; /* a bit for each slot: nothing to look at before its actor has stirred */
    bool restless;     /* there will be another round: nobody has to ask for one */
};

/* What is known of the actors of one kind on this worker: how much stack they have used, and how long their mail lay
 * in mailboxes. Owner's thread: kinds.c. */
struct wf_kind {
    const char *kind; /* NULL: a free place */
    size_t stack_most;
    struct wf_histogram *mail; /* NULL: none was timed yet */
};
struct wf_kinds {
    struct wf_kind *at; /* hashed by address, a power of two of places; kinds are few */
    uint32_t count, places;
};

/* References of one body that this worker is to drop. */
struct wf_owed {
    struct wf_body *body; /* NULL: none */
    uint32_t count;
};

/* For the flight recorder: something that `a` does with an actor of any node, or with nobody. */
static inline __attribute__((always_inline)) void wf_actor_record(const struct wf_actor *a, unsigned kind,
                                                                  weft_pid other, uint32_t value)
{
    struct wf_worker *w = a->task.worker;
    unsigned far = other.node != ((weft_node *)w->set)->incarnation ? WF_RECORD_FAR : 0;
    wf_worker_record(w, kind | far, a->id, other.actor, value);
    if (kind == WEFT_RECORD_SEND) WF_PROBE3(send, a->id, other.actor, value); /* `kind` is a constant */
    else if (kind == WEFT_RECORD_RECEIVE) WF_PROBE3(receive, a->id, other.actor, value);
    else if (kind == WEFT_RECORD_EXIT) WF_PROBE2(exit, a->id, a->reason);
}

/* See actors/core/send.c, note (1). */
static inline bool wf_is_unrecorded(const struct wf_worker *w, weft_pid to)
{
    return to.node == ((weft_node *)w->set)->incarnation && wf_id_worker(to.actor) == w->unrecorded;
}

/* The last messages that were dropped on a worker: inspect_worker.h. */
enum { WF_DROPS_KEPT = 32 };
struct wf_dropped {
    int64_t at;
    weft_pid from;
    uint64_t to;  /* an actor of this node; 0: no longer known */
    uint32_t tag; /* of a publication, its own */
    enum wf_drop why;
    const char *kind; /* of the receiver; NULL: not known */
    char name[65];    /* of a receiver that was ending, or had: its first registered name; else "" */
};
/* The last actor of a worker that gave its names back at its end. */
struct wf_left {
    uint64_t actor;
    char name[65]; /* the first of them */
};
struct wf_drop_log {
    uint64_t count; /* of those that were ever put here */
    struct wf_dropped last[WF_DROPS_KEPT];
};

/* What a worker keeps: wf_worker.actors. */
struct wf_actors {
    weft_node *node;
    struct wf_worker *worker;
    pf_mutex *lock;      /* of taking and giving slots of `slab`: other threads spawn here, too */
    struct wf_slab slab; /* struct wf_actor */
    struct wf_slab subscription_slab;
    struct wf_slab watch_slab;                       /* wf_group_watch */
    struct wf_slab later_slab;                       /* struct wf_later */
    struct wf_slab monitors;                         /* struct wf_monitor */
    struct wf_hash_table ties, far_ties, tied_nodes; /* ties.h */
    uint64_t secret;                                 /* of these tables */
    struct wf_trie topics;                           /* wf_subscription.subscriber */
    struct wf_list cut;                              /* wf_subscription_more.on_cut */
    struct wf_match *matches;                        /* topic_match.h; NULL: none yet */
    size_t matched;                                  /* places in all of their lists */
    uint8_t published;                               /* the last wf_body.owed that was given */
    uint64_t owes[4];                                /* which of `owed` are in use; the others are zero */
    struct wf_owed owed[256];                        /* by wf_body.owed, until the end of the turn */
    struct wf_list calls;                            /* wf_asking.on_calls: the youngest last */
    struct wf_list long_calls;                       /* those that `patrol` has no more to do with */
    struct wf_timer patrol;                          /* armed while there are calls: actors/call/cycle.c */
    struct wf_sweep sweep;
    struct wf_kinds kinds;
    weft_msg *grants;            /* that found no memory: credit.c */
    struct wf_timer grant_timer; /* to try them again */
    size_t mail_bytes, mail_bytes_max;
    struct wf_mail_timer timer; /* which messages are timed */
    /* wf_backlog.on_short: full for want of bytes of this worker's share */
    struct wf_list short_of_bytes;
    bool tracing;              /* trace.h: something is traced here, or may have to be */
    uint32_t traced;           /* actors that are */
    struct wf_call tap_closed; /* posted by who closes a tap, if it was not on its way: */
    _Atomic bool tap_closing;
    uint64_t last_ref;                         /* of its actors' requests; no other worker's has its numbers */
    uint32_t last_link;                        /* of its actors' links */
    uint32_t alive[2];                         /* users, services */
    uint64_t received;                         /* by actors that have ended */
    _Atomic uint64_t dropped[WF_DROP_REASONS]; /* relaxed, written by the owner: see wf_count_drop */
    struct wf_drop_log drops;
    struct wf_left left;
    /* Owner: relaxed store; publishers elsewhere: relaxed load. Hints. */
    alignas(WF_CACHE_LINE) _Atomic uint32_t subscriptions;
    _Atomic uint32_t awaited;      /* of them, those whose publishers wait */
    _Atomic uint32_t full_awaited; /* actors with such subscriptions and a full mailbox */
    struct wf_slab connecting;     /* connecting.c */
};

static inline struct wf_actors *wf_actors_of(const struct wf_worker *w)
{
    return w->actors;
}
static inline struct wf_actor *wf_actor_of(const struct wf_task *t)
{
    return WF_CONTAINER(t, struct wf_actor, task);
}
/* All actors that are on a worker, on its thread; the body may start and end some. */
#define WF_ACTORS_EACH(a, wa) WF_SLAB_EACH(struct wf_actor, a, &(wa)->slab) if (a->listed)

/* How many messages it holds. task.above counts those beyond the first: an actor that holds one message at a time
 * never changes it. */
static inline uint32_t wf_held_count(const struct wf_actor *a)
{
    return a->held == NULL ? 0 : a->task.above + 1;
}
static inline uint64_t wf_actor_received(const struct wf_actor *a)
{
    return a->gone - a->evicted;
}
/* One that reached it and is dropped. */
static inline void wf_actor_dropped(struct wf_actor *a)
{
    a->dropped += a->dropped != UINT32_MAX;
}
/* It is in no call any more. */
static inline void wf_asking_leave(struct wf_actor *a)
{
    if (WF_UNLIKELY(a->asking != NULL)) wf_unlink(&a->asking->on_calls);
    a->asking = NULL;
}
/* Whether it is a handler that was called with that message, and has not let go of it. */
static inline bool wf_is_handling(const struct wf_actor *a, const weft_msg *m)
{
    return a->task.handling && m->post.kind >= WF_POST_HANDLED;
}
/* Whether a pool passed it on and waits for its member to let go of it. */
static inline bool wf_is_work(const weft_msg *m)
{
    return m->post.kind == WF_POST_WORK || m->post.kind == WF_POST_HANDLED_WORK;
}
/* The keeper of an actor that has one. */
static inline struct wf_keep *wf_actor_keep(const struct wf_actor *a)
{
    return a->more == NULL ? NULL : a->more->keep;
}
/* What a feature does with messages of this kind. */
static inline const struct wf_message_row *wf_message_row(struct wf_worker *w, const weft_msg *m)
{
    WF_ASSERT(m->post.flags < WF_MSG_KINDS);
    return &wf_node_of(w)->features.messages[m->post.flags];
}
/* The actor lets go of a message that it was given as work. */
static inline void wf_work_let_go(struct wf_actor *a, weft_msg *m)
{
    wf_node_of(a->task.worker)->features.work_let_go(a, m);
}
/* Its first name; "": none. */
static inline const char *wf_actor_name(const struct wf_actor *a)
{
    const struct wf_naming *naming = wf_node_of(a->task.worker)->naming;
    return a->more == NULL || naming == NULL ? "" : naming->first(a);
}
/* On the owner's thread. A load and a store, no locked instruction. */
static inline void wf_count_drop(struct wf_worker *w, enum wf_drop why)
{
    _Atomic uint64_t *n = &wf_actors_of(w)->dropped[why];
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}
/* The same, and notes whose message it was: describe.c. */
void wf_note_drop(struct wf_worker *w, enum wf_drop why, uint64_t to, weft_pid from, uint32_t tag);
/* Its names are about to be given back: what is dropped from then on for want of it can be told by name. */
void wf_note_left(const struct wf_actor *a);
/* The running actor; NULL outside of actors. */
static inline struct wf_actor *wf_actor_self(void)
{
    struct wf_worker *w = wf_here;
    return WF_UNLIKELY(w == NULL || w->current == NULL) ? NULL : wf_actor_of(w->current);
}
static inline weft_pid wf_actor_pid(const struct wf_actor *a)
{
    weft_pid pid = {wf_node_of(a->task.worker)->incarnation, a->id};
    return pid;
}
/* On the owner's thread: the actor alive under that id, or NULL. */
static inline struct wf_actor *wf_actor_find(struct wf_worker *w, uint64_t id)
{
    return wf_slab_find(&wf_actors_of(w)->slab, id);
}

static inline weft_full_policy wf_actor_policy(const struct wf_actor *a)
{
    return (weft_full_policy)atomic_load_explicit(&a->policy, memory_order_relaxed);
}
/* Any thread: whether its mailbox seems to be full and refuses what does not fit: senders wait or fail. */
static inline bool wf_actor_is_full(const struct wf_actor *a)
{
    if (WF_LIKELY(!atomic_load_explicit(&a->full, memory_order_relaxed))) return false;
    weft_full_policy policy = wf_actor_policy(a);
    return policy == WEFT_FULL_SUSPEND || policy == WEFT_FULL_FAIL;
}

/* ---- actor.c --------------------------------------------------------------------------------------------------- */
int wf_actors_init(weft_node *node, struct wf_worker *w);
void wf_actors_finish(struct wf_worker *w);
/* What few actors have, made if there is none yet. Blocks come from worker `w`, that of the calling thread; NULL:
 * malloc. NULL: no memory; the actor is as it was. */
struct wf_actor_more *wf_actor_more_from(struct wf_actor *a, struct wf_worker *w);
struct wf_backlog *wf_backlog_from(struct wf_actor *a, struct wf_worker *w);
static inline struct wf_actor_more *wf_actor_more(struct wf_actor *a)
{
    return WF_LIKELY(a->more != NULL) ? a->more : wf_actor_more_from(a, a->task.worker);
}
/* placement.c. The worker of a new actor; `from`: its parent's, NULL: it has none. `*at_once` is set if it should be
 * told before the turn ends. */
struct wf_worker *wf_place(weft_node *node, struct wf_worker *from, int wanted, bool *at_once);
/* What an actor is made with: a body, or a handler whose state `arg` is. */
struct wf_birth {
    weft_actor *body;
    weft_handler *handle;
    const void *arg;
    size_t size;
    const weft_spawn_options *options; /* NULL: defaults */
    struct wf_keep *keep;              /* of a child: then and after each of its ends but the last; NULL: none */
    bool service, lasts;
};
int wf_actor_birth(weft_node *node, struct wf_worker *from, weft_pid *out, const struct wf_birth *b);
int wf_actor_spawn(weft_node *node, struct wf_worker *from, weft_pid *out, weft_actor *body, const void *arg,
                   size_t size, const weft_spawn_options *options, bool service);
/* The same for a child that `keep` is to keep: then and after each of its ends but the last. */
int wf_actor_spawn_kept(struct wf_worker *from, struct wf_keep *keep, weft_pid *out, weft_actor *body,
                        const void *arg, size_t size, const weft_spawn_options *options);
/* A kept actor between two lives gets the next one; takes `arg`, a block of the pool. */
void wf_actor_restart(struct wf_actor *a, void *arg, size_t size);
/* A kept actor whose last life is over, and that is kept no longer. */
void wf_actor_end_kept(struct wf_actor *a);
/* weft_exit with a text, as others are told of it. */
void wf_actor_fail(struct wf_actor *self, int reason, const char *text) __attribute__((noreturn));
/* A request to stop, on the owner's thread. If it returns because of it that is its reason, and `end` (may be NULL)
 * has its text. */
void wf_actor_cancel(struct wf_actor *a, int reason, struct wf_body *end);
void wf_actor_kill(struct wf_actor *a);
enum wf_turn wf_actor_main(struct wf_task *t);
void wf_actor_done(struct wf_task *t);
bool wf_actor_unstarted(struct wf_task *t);
int64_t wf_actor_latest(const struct wf_task *t);
void wf_actor_killed(struct wf_task *t) __attribute__((noreturn));
/* What it was started with, or the state of a handler. */
void wf_actor_free_arg(struct wf_actor *a, struct wf_worker *w);
void wf_actor_describe(const struct wf_task *t, char *out, size_t size);
/* What wf_stack_used has said of its stack. */
void wf_actor_stack_used(struct wf_task *t, size_t used);

/* ---- end.c ----------------------------------------------------------------------------------------------------- */
/* On the actor's own stack. When this returns nothing is left but the task. A clean-up that calls weft_exit comes
 * here again, and the rest of the clean-ups run. */
void wf_actor_end(struct wf_actor *a);
/* Of an actor that has wf_actor_more: each feature takes back what it has given to it. */
void wf_actor_leave(struct wf_actor *a);
/* The last part of its end, on any stack. A kept actor keeps its mail and those who monitor it. */
void wf_actor_end_tail(struct wf_actor *a);
/* weft_defer for an actor of the calling worker; and what was given to it, last first. */
int wf_actor_defer(struct wf_actor *a, void (*undo)(void *), void *arg);
void wf_run_defers(struct wf_actor *a);
static inline bool wf_has_clean_ups(const struct wf_actor *a)
{
    return a->more != NULL && (a->more->defers != NULL || a->more->locals != NULL);
}

/* A body that says why an actor ended: its reason in 4 bytes, and the text. NULL: no memory. */
enum { WF_REASON_BYTES = 4 };
struct wf_body *wf_end_body(struct wf_worker *w, int reason, const char *text);

/* ---- handler.c ------------------------------------------------------------------------------------------------- */
/* Makes `a`, which has no body, a handler with a copy of that state. WEFT_ENOMEM. */
int wf_handler_init(struct wf_actor *a, weft_handler *handle, const void *state, size_t size);
enum wf_turn wf_handler_turn(struct wf_actor *a);

/* ---- kinds.c --------------------------------------------------------------------------------------------------- */
/* The place of that kind; NULL: it has none, and there is no memory for one, or there are too many. */
struct wf_kind *wf_kind_noted(struct wf_kinds *k, const char *kind);
/* NULL: nothing is known of it. */
const struct wf_kind *wf_kind_find(const struct wf_kinds *k, const char *kind);
void wf_kinds_finish(struct wf_kinds *k);

/* ---- mailbox.c: on the owner's thread; what every message passes through is in mailbox.h ----------------------- */
/* Every message that reaches its worker comes through here, and here its kind is told apart. Consumes `m`. */
void wf_deliver(struct wf_worker *w, weft_msg *m);
/* published_block.c. A published body for a subscriber; takes over a reference. False: the mailbox was full, or
 * there was no memory; it is counted, and the reference still the caller's. */
bool wf_mailbox_put_shared(struct wf_actor *a, struct wf_body *body);
/* Gives each message in the mailbox an envelope, for who looks at the lane. */
void wf_mailbox_unpack(struct wf_actor *a);
/* Whether it has subscriptions whose publishers wait. */
void wf_mailbox_awaited(struct wf_actor *a, bool awaited);
bool wf_mailbox_ready(const struct wf_task *t);
extern const struct wf_wait_kind wf_mailbox_wait_kind; /* weft_on_mailbox */
/* weft_recv for the running actor, without waiting: NULL if there is nothing. */
weft_msg *wf_mailbox_next(struct wf_actor *a);
/* SEND or CALL, by the mailbox's policy; a sender that can wait has looked at wf_mailbox_full. False: it was
 * dropped. */
bool wf_mailbox_put(struct wf_actor *a, weft_msg *m);
/* The oldest go: at least one, and as many as its own bounds want. */
void wf_mailbox_make_room(struct wf_actor *a);
/* Drops the oldest message that this subscription counts. */
void wf_mailbox_evict(struct wf_actor *a, uint64_t subscription);
void wf_mailbox_leave(struct wf_actor *a); /* at the end of a life: what it held, and the system lane */
void wf_mailbox_close(struct wf_actor *a); /* at its end: that and everything still in it */
/* Into the system lane, as a message with that tag. Consumes. */
void wf_signal_put(struct wf_actor *a, weft_msg *m, uint32_t tag);
/* Takes the first one with that tag, ref (0: any) and sender (nobody: any) out of the system lane; NULL: none. */
weft_msg *wf_signal_take(struct wf_actor *a, uint32_t tag, uint64_t ref, weft_pid from);
void wf_room_tell_all(struct wf_actor *a);
/* weft_recv of the system lane only, also before mail that came earlier. */
int wf_recv_signal(weft_msg **out, int64_t deadline);

/* ---- send.c ---------------------------------------------------------------------------------------------------- */
/* The running actor waits for room for `weight` bytes in that mailbox of this node, or in the lane to its worker.
 * WEFT_EFULL: until the deadline there was none. If it is killed it does not return. */
int wf_await_room(struct wf_actor *self, weft_pid to, uint32_t weight, int64_t deadline);
/* It does not use what it was told of: that is for the next who waits. */
void wf_return_room(struct wf_actor *self, weft_pid to);
/* Counts a message that reaches nobody, answers it if it was a request, frees it. */
void wf_drop(struct wf_worker *w, weft_msg *m, enum wf_drop why);
/* Answers a request with an error instead of a reply, and frees it. Takes no memory of its own. */
void wf_refuse(struct wf_worker *w, weft_msg *ask, int error);
/* There is no memory to send an answer, or an error, to another node, and the request is gone. Ends the link with
 * that node, so that the asker hears WEFT_ENONODE instead of nothing. */
void wf_answer_lost(struct wf_worker *w, weft_pid asker);
/* From worker `w` to any actor anywhere, past all bounds: replies and signals. Consumes. */
int wf_send_signal(struct wf_worker *w, weft_pid to, weft_msg *m);
enum { WF_SEND_TIMEOUT = -1 }; /* as a deadline: the node's send timeout, counted from the first wait */
/* From worker `w`, by no running actor: a SEND that does not wait. Consumes. Where there is no room, or nobody, it is
 * dropped and counted: WEFT_EFULL, WEFT_ENOACTOR, WEFT_ENONODE. */
int wf_send_or_drop(struct wf_worker *w, weft_pid to, weft_msg *m);
/* The running actor sends a SEND or CALL, or frees it (answering it, if it is a request that is passed on) and says
 * why. Callers tick before they have `m`: a kill while the task yields would leak a message that is on no list. */
WEFT_CHECKED int wf_send_or_free(struct wf_actor *self, weft_pid to, weft_msg *m, int64_t deadline);
/* The running actor sends a message that it holds, as weft_send_msg with a deadline of its own. Consumes. */
WEFT_CHECKED int wf_send_given(weft_pid to, weft_msg *m, int64_t deadline);
/* wf_send_or_free to a name. `*node` gets the node it went to. */
WEFT_CHECKED int wf_send_named(struct wf_actor *self, const char *whole, weft_msg *m, int64_t deadline,
                               uint64_t *node);
/* The actor of a name, WEFT_ENOACTOR; weft_nobody() for a name on another node. */
int wf_resolve(struct wf_worker *w, const char *whole, weft_pid *to);
/* A new message for a name, its arguments checked; NULL: `*why`. */
weft_msg *wf_message_to_name(struct wf_actor *self, const char *name, uint32_t tag, const void *data, size_t size,
                             int *why);

/* ---- call.c ---------------------------------------------------------------------------------------------------- */
/* The running actor asks: `count` places, all of them open, of which `need` are waited for. */
void wf_asking_begin(struct wf_actor *self, struct wf_asking *s, struct weft_answer *slots, size_t count,
                     size_t need);
/* Returns what ended the wait, unsettled. It asks no more. */
int wf_asking_await(struct wf_actor *self, int64_t deadline);
/* A request to an actor of this node that comes in its system lane, as a message with that tag of weft's own:
 * WF_TAG_POOL_CONTROL. WEFT_EINVAL from one that does not take it. */
int wf_call_control(weft_pid to, uint32_t tag, const void *data, size_t size, weft_msg **answer, int64_t deadline);
/* The same to many of this node: as weft_gather for all of them. */
int wf_gather_control(struct weft_answer *answers, size_t count, uint32_t tag, const void *data, size_t size,
                      int64_t deadline);
/* The running actor asks a node to start one: `m` is a WF_MSG_SPAWN, consumed; the answer its WF_MSG_SPAWNED. */
int wf_call_spawn(struct wf_actor *self, weft_pid to, weft_msg *m, weft_msg **answer, int64_t deadline);
/* Where the answer to that request of `a` belongs; NULL: nobody waits for it. */
static inline struct weft_answer *wf_answer_place(const struct wf_actor *a, uint64_t ref)
{
    const struct wf_asking *s = a->asking;
    if (WF_UNLIKELY(s == NULL || ref - s->first >= s->count)) return NULL;
    struct weft_answer *at = &s->slots[ref - s->first];
    return at->error == WF_ANSWER_OPEN ? at : NULL;
}
/* A REPLY or FAILED has come. Consumes. */
void wf_answer_came(struct wf_actor *a, weft_msg *m);
/* There will be no answer. */
void wf_answer_fails(struct wf_actor *a, struct weft_answer *place, int error);

/* ---- cycle.c --------------------------------------------------------------------------------------------------- */
void wf_patrol_init(struct wf_actors *wa);
/* The running actor begins to wait in a->asking. */
void wf_patrol_add(struct wf_actor *a);
/* Whether a call of the running actor to `to`, on the same worker, closes a cycle; if so it is reported. */
bool wf_call_closes_cycle(struct wf_actor *self, struct wf_actor *to);
/* One answer less is open in its long call: that may close a cycle with those that are left. */
void wf_probe_rest(struct wf_actor *a);
void wf_probe_came(struct wf_actor *a, weft_msg *m);

/* ---- credit.c: the rest is in mailbox.h ------------------------------------------------------------------------ */
void wf_credit_init(struct wf_actors *wa);
void wf_credit_finish(struct wf_actors *wa);

/* ---- park.c ---------------------------------------------------------------------------------------------------- */
void wf_sweep_init(struct wf_actors *wa, int64_t park_after);
void wf_sweep_finish(struct wf_actors *wa);
/* There is an actor that may become idle; if `restless` that is known. */
void wf_sweep_wanted(struct wf_actors *wa);
/* It was IDLE or PARKED, and has been woken. */
void wf_actor_stirs(struct wf_task *t);
bool wf_actor_describe_parked(const struct wf_worker *w, const char *base, char *out, size_t size);

/* ---- msg.c ----------------------------------------------------------------------------------------------------- */
/* One more reference of `b`, whose `owed` is not 0, to be dropped at the end of the turn. False: another body is in
 * its place. */
static inline bool wf_owe(struct wf_worker *w, const struct wf_body *b)
{
    struct wf_owed *o = &wf_actors_of(w)->owed[b->owed];
    if (WF_UNLIKELY(o->body != b)) return false;
    o->count++;
    return true;
}
/* At the end of a turn: the references that the worker has gathered are dropped. */
void wf_owed_settle(struct wf_actors *wa);

/* ---- topic.c --------------------------------------------------------------------------------------------------- */
/* And subscription.c. */
int wf_subscriptions_init(struct wf_actors *wa);
void wf_subscriptions_finish(struct wf_actors *wa);
/* Published on another worker or node. `in_vain`: its publisher has waited for room here. */
uint32_t wf_topics_arrived(struct wf_worker *w, struct wf_body *body, bool in_vain); /* how many got it */
/* A message from another node, for queue groups. Any thread. */
void wf_topics_choose_inbound(weft_node *node, struct wf_inbound *in, struct wf_body *body);
void wf_topics_leave(struct wf_actor *a);
/* A message that its subscription counts, or a retained one, leaves the mailbox. */
void wf_subscription_uncount(struct wf_actors *wa, weft_msg *m);
/* News of a subscription leave the system lane. */
void wf_subscription_told(struct wf_actors *wa, const weft_msg *m);

#endif

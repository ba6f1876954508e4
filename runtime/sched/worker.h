/* runtime/sched/worker.h -- one OS thread with its reactor, and the tasks that live on it.
 *
 * Design notes.
 * (1) A task is a coroutine with a worker, a state and a deadline; actors/ embeds it. It starts and ends on one
 *     worker.
 * (2) Everything in a wf_worker belongs to its thread, but for `inbox`, `inbox_count`, `state`, `room_calls` and
 *     `pace`, which are atomic and lie on cache lines of their own.
 * (3) The loop's order, in ARCHITECTURE.md and in wf_worker_turn():
 *         1. due timers   2. inbox   3. runnable tasks, under a budget   4. flush outboxes   5. poll (sleep only if
 *         nothing is left)
 * (4) Sleeping: the worker stores ASLEEP, then looks at its inbox again; a producer pushes, then reads the state.
 *     Both are sequentially consistent, so at least one sees the other: no wake is lost. The producer that turns
 *     ASLEEP into RUNNING pays for the wake, once.
 * (5) wf_task_wait suspends the running task by switching straight to the next runnable one. Wakes are hints: who
 *     waits looks again.
 * (6) Cancel sets `cancelled` and wakes; from then on wf_task_wait returns WEFT_ECANCELED without suspending. Kill
 *     sets `killed` too; the waiting call takes its waiters off their sources first and then calls wf_task_settle,
 *     which does not return for a killed task.
 * (7) Fresh tasks, which have never run, stand in a list of their own: before older ones, behind those the same task
 *     has started. They run before tasks that are ready again, so that a tree of tasks runs depth first and few of
 *     them have a stack at a time. Nobody starves: a task that is ready again is due two turns later at most and
 *     then goes first, but for one in WF_DUE_RUN + 1, which is a fresh one; and the oldest fresh task joins the
 *     others when WF_FRESH_RUN have begun since it was the oldest. */
#ifndef WF_WORKER_H
#define WF_WORKER_H

#include "base.h"
#include "coro.h"
#include "heap.h"
#include "list.h"
#include "platform.h"
#include "pool.h"
#include "record.h"
#include "slab.h"

struct wf_worker;
struct wf_workers;
struct wf_task;

/* ---- What crosses threads -------------------------------------------------------------------------------------- */
/* WORK: a MESSAGE that a pool of actors has passed on, until its member lets go of it. */
enum wf_post_kind {
    WF_POST_CALL,
    WF_POST_MESSAGE,
    WF_POST_WORK,
    WF_POST_KINDS,
    WF_POST_BUNDLE = WF_POST_KINDS,
    WF_POST_HANDLED, /* a MESSAGE or WORK that a handler was called with: on no way to anywhere */
    WF_POST_HANDLED_WORK,
};

/* Anything handed to another worker begins with this. */
struct wf_post {
    struct wf_post *next; /* outbox and inbox: the one pushed before this one */
    uint8_t kind;         /* wf_post_kind: wf_hooks.on_post[kind] takes it */
    uint8_t flags;        /* for the kind */
    uint16_t block_class; /* of the block it lies in, for wf_pool_give */
    uint32_t word;        /* for the kind */
};

/* WF_POST_BUNDLE: many posts in an array, oldest first, so that their cache lines can be asked for ahead; along a
 * list each would be waited for in turn. `word` counts them. Made by wf_outbox_flush. */
enum { WF_BUNDLE = 62 };
struct wf_bundle {
    struct wf_post post;
    struct wf_post *at[WF_BUNDLE];
};
_Static_assert(sizeof(struct wf_bundle) == 512, "a block of the pool");

/* WF_POST_CALL: runs `call` on the target's thread between tasks; the callee frees or reuses it. It must not
 * suspend. */
struct wf_call {
    struct wf_post post;
    void (*call)(struct wf_worker *w, struct wf_call *c);
};

/* ---- Tasks ----------------------------------------------------------------------------------------------------- */
/* The first two stand in the queue of the runnable, but have to be given a stack, or its contents, before they run.
 * STACKLESS: it waits and has none; woken it is NEW. A task is PARKED from IDLE only, and IDLE is WAITING, but seen
 * by who looks for idle tasks: see park.h. */
enum wf_task_state {
    WF_TASK_NEW,
    WF_TASK_UNPARKED,
    WF_TASK_READY,
    WF_TASK_RUNNING,
    WF_TASK_WAITING,
    WF_TASK_STACKLESS,
    WF_TASK_IDLE,
    WF_TASK_PARKED,
    WF_TASK_DONE
};
/* What task_main has come to: it is over; it waits and needs no stack to go on; it has more to do, after others. */
enum wf_turn { WF_TURN_OVER, WF_TURN_IDLE, WF_TURN_AGAIN };

/* What switching and waking touch comes first; then what only some waits do. */
struct wf_task {
    union {
        struct wf_task *next_ready; /* READY: wf_worker.ready_first */
        const char *waits_for;      /* WAITING: static text, "mailbox", "read", "event, timer" */
    };
    struct wf_worker *worker;
    uint8_t state; /* wf_task_state */
    bool cancelled;
    bool killed;
    bool timed_out;
    bool wants_mail;       /* wake it when its mailbox gets something */
    bool bounded : 1;      /* no wait goes beyond hooks->task_latest */
    bool shares_stack : 1; /* others use its stack while it waits: it is never parked */
    bool handling : 1;     /* an actor that was called with a message, which it has not let go of */
    uint16_t stack_kib;    /* asked for */
    uint32_t ops;          /* operations left in this turn */
    uint32_t above;        /* the layer above counts something here; 0 at the beginning */
    union {
        struct wf_coro coro;
        struct wf_call start; /* until it is started: how it gets to its worker */
    };
    struct wf_timer deadline; /* of the wait it is in; once it was asked to end, of its grace period */
    struct wf_list owned;     /* wf_owned.on_task: closed when the task ends */
};

/* One task waiting at one source; lives on the waiting task's stack for the length of one wait. */
struct wf_waiter {
    struct wf_link on_source; /* wf_event.waiters, wf_user_timer.waiters or wf_worker.room */
    struct wf_task *task;
};

/* One task waiting for the end of an actor; likewise. */
struct wf_end_wait {
    struct wf_task *task;
    uint64_t node, actor;
    uint64_t monitor; /* while there is one */
    bool ended;
};

/* A resource that ends with its task: embed, link, and give a close. */
struct wf_owned {
    struct wf_link on_task; /* wf_task.owned */
    void (*close)(struct wf_owned *o);
};

/* ---- What the layer above registers ---------------------------------------------------------------------------- */
struct wf_hooks {
    ptrdiff_t task_id_at;   /* where the uint64_t lies that tells a task from others, from the task: for records */
    ptrdiff_t task_kind_at; /* and where the const char * to the name of its kind does, which is good for its life */
    /* Any thread: the name of the task with that id, "" if it has none. May be NULL. */
    void (*task_name)(struct wf_workers *set, uint64_t id, char *out, size_t size);
    enum wf_turn (*task_main)(struct wf_task *t); /* on the task's stack; called again after the latter two */
    void (*task_done)(struct wf_task *t);         /* the last touch: may free the task */
    void (*task_killed)(struct wf_task *t) __attribute__((noreturn)); /* on its stack: end it by wf_task_exit */
    /* There is no stack for it. True: it ends without having run, and may be freed; false: it tries again. */
    bool (*task_unstarted)(struct wf_task *t);
    int64_t (*task_latest)(const struct wf_task *t); /* of one that is `bounded` */
    /* The running task gave `what` a span where a point in time belongs (wf_is_span), or the other way round
     * (wf_is_point). On the task's stack, must not wait; may be NULL. */
    void (*wrong_time)(struct wf_task *t, const char *what, int64_t time);
    /* async-signal-safe: "actor chat 0.17.1" */
    void (*task_describe)(const struct wf_task *t, char *out, size_t size);
    bool (*mail_ready)(const struct wf_task *t);
    /* Waiting for the end of an actor: 1 if it has ended as far as is known here, else 0; from attach to detach the
     * task is woken when that is known. attach: WEFT_ENOMEM. */
    int (*end_look)(const struct wf_end_wait *e);
    int (*end_attach)(struct wf_end_wait *e);
    void (*end_detach)(struct wf_end_wait *e);
    /* One that was IDLE or PARKED has been woken; or that was STACKLESS begins to wait on a stack. May be NULL. */
    void (*task_stirs)(struct wf_task *t);
    /* of the stack it has or had, as wf_stack_used says, beyond one page; may be NULL */
    void (*task_stack_used)(struct wf_task *t, size_t used);
    /* async-signal-safe: the parked task of worker `w` whose stack begins there, if there is one; may be NULL */
    bool (*parked_describe)(const struct wf_worker *w, const char *base, char *out, size_t size);
    void (*on_post[WF_POST_KINDS])(struct wf_worker *w, struct wf_post *p);
    void (*drop_post)(struct wf_worker *w, struct wf_post *p); /* the node ends with it undelivered: free it */
    /* step 4 of a turn: hand what is batched per peer to the carrier; may be NULL */
    void (*flush)(struct wf_worker *w);
};

/* ---- Workers --------------------------------------------------------------------------------------------------- */
enum wf_worker_state { WF_RUNNING, WF_ASLEEP };

/* What goes to one worker at the end of the turn, or when it is full. */
struct wf_outbox {
    uint32_t count;
    struct wf_post *at[WF_BUNDLE]; /* oldest first */
};

struct wf_workers;

/* How long a worker's turns are: see stuck.h. Its thread writes, any thread may read; relaxed. */
enum { WF_TURN_BITS_MIN = 10, WF_TURN_BITS_MAX = 34, WF_TURN_BUCKETS = WF_TURN_BITS_MAX - WF_TURN_BITS_MIN + 2 };
#define WF_PACE_WINDOW WEFT_SEC(5)
struct wf_pace {
    _Atomic int64_t began;      /* the turn it is in; 0: it sleeps */
    _Atomic int64_t seen;       /* `began` of a turn that was seen to be too long: by who looks, release */
    _Atomic int64_t polled;     /* all that had come for it by then has been read */
    _Atomic int64_t busy;       /* ns, of all turns that are over */
    _Atomic int64_t longest[2]; /* of those that ended in this window, and in the one before */
    _Atomic int64_t window;     /* when it began */
    _Atomic uint64_t turns[WF_TURN_BUCKETS]; /* how many were below 2^10 ns, 2^11, ..., 2^34; and the others */
};

struct wf_watch;

struct wf_worker {
    /* Other threads read these; nothing here is written after the start. */
    struct wf_workers *set;
    uint32_t index;
    void *actors;    /* struct of actors/ */
    void *transport; /* struct of transport/ */
    struct pf_poller *poller;
    pf_thread *thread;

    alignas(WF_CACHE_LINE) struct wf_task *current; /* NULL in the loop itself */
    struct wf_task *ready_first, *ready_last;       /* those that have run before, see note (7) */
    struct wf_task *fresh_first, *fresh_last;       /* those that have not; the one before in coro.sp */
    struct wf_task *fresh_at; /* the last that `fresh_by` has started; the next goes behind it */
    const struct wf_task *fresh_by;
    uint32_t ready_count, fresh_count; /* all runnable ones, and the fresh ones among them */
    uint32_t budget;
    uint32_t ready_before;        /* those that were ready again at the beginning of this turn */
    uint32_t begun, begun_before; /* fresh ones that have been run, ever, and until this turn */
    const struct wf_task *oldest; /* fresh_last, */
    uint32_t oldest_since;        /* since so many had begun */
    uint32_t due, due_run;        /* ready since before the last turn; and run since the last fresh one */
    uint8_t preferred;            /* wf_task_prefer: from which of the two lists */
    bool lends;                   /* actors/place.c: the last child was; */
    uint64_t lent_in;             /* in this run of a task; */
    struct wf_worker *lent_to;    /* to whom, NULL: nobody */
    int64_t now;                  /* clock at the beginning of this turn */
    bool is_own;                  /* of weft's own actors: see `users` */
    bool woke;                    /* its turn has begun, in poll_until */
    struct wf_recorder recorder;
    uint32_t unrecorded; /* actors/send.c: `index`, or UINT32_MAX: every send is recorded */
    int64_t last_poll;   /* busy workers look at the poller every WF_POLL_GAP */
    uint64_t turn;
    struct wf_heap timers;
    struct wf_pool pool;
    struct wf_stack_arena *stacks;
    struct wf_coro loop;      /* the thread's own stack */
    uint64_t outbox_mask;     /* bit i: outbox[i] holds something */
    struct wf_outbox *outbox; /* one for each worker */
    /* wf_sources_init makes them */
    struct wf_slab fds, streams, listeners, datagrams, events, user_timers, tickets, files;
    struct wf_list children; /* process.c: those that run */
    struct wf_coro leaving;  /* what is left of a task between its end and the switch away from its stack */
    bool stop;
    struct wf_list room[WF_WORKERS_MAX]; /* wf_waiter.on_source: tasks here that wait for a choked worker */
    /* under way to that worker while tasks wait; NULL before the first use */
    struct wf_room_call *room_call[WF_WORKERS_MAX];
    int64_t
        /* moving average of how long this worker lay idle before a post came: whether looking for posts pays */
        idle_gap;
    struct {
        uint64_t turns, sleeps, looks, wakes_sent, posts_in, timers_fired, parked, unparked;
    } count; /* its thread only */

    alignas(WF_CACHE_LINE) struct wf_pace pace;

    alignas(WF_CACHE_LINE) _Atomic(struct wf_post *) inbox; /* producers: CAS (release); owner: exchange (acquire) */
    _Atomic uint32_t inbox_count;                           /* pushed and not drained; bounds the lane */
    _Atomic(struct wf_post *) room_calls;                   /* wf_calls to run after the next drain; as inbox */
    alignas(WF_CACHE_LINE) _Atomic int state;               /* wf_worker_state, see note (4) */
};

/* All workers of a node. A weft_node begins with it, so a weft_node * is a struct wf_workers *. */
struct wf_workers {
    struct pf_env *env;
    const struct wf_hooks *hooks;
    struct wf_depot *depot;
    uint32_t count;
    /* The first so many are for users' actors. One more, if there is one, is the last: it runs weft's own actors, so
     * that they answer while all others are busy. wf_workers_init: 0 means `count`. */
    uint32_t users;
    bool may_look;        /* there is a core for each of those */
    uint32_t turn_budget; /* tasks run per turn; 0: WF_TURN_BUDGET */
    size_t stack_bytes;
    uint32_t blocking_threads, blocking_queue; /* bounds of `offload`; 0: the defaults */
    uint32_t record_events;                    /* of each worker's recorder; 0: none */
    bool record_sends;
    int64_t stuck_after;              /* stuck.h: turns of this length are told of; 0, WEFT_FOREVER: none */
    _Atomic int64_t look_at;          /* relaxed: when somebody looks for them; 0: it is not known to be needed */
    struct wf_watch *watch;           /* NULL: nobody looks */
    struct wf_offload *offload;       /* threads for blocking functions, see offload.h */
    _Atomic uint32_t files_under_way; /* overlapped operations, see file.h; */
    _Atomic bool files_draining;      /* a worker has ended and waits for their end */
    struct wf_worker *at[WF_WORKERS_MAX];
};

/* Makes `count` workers (set->env, hooks, stack_bytes, count and the bounds are filled in by the caller); none runs
 * yet. */
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

/* The worker of the calling thread; NULL elsewhere. */
extern _Thread_local struct wf_worker *wf_here __attribute__((tls_model("initial-exec")));
/* Set by who drives a simulation in this thread: whose clock weft_now shows outside of workers. */
extern _Thread_local struct pf_env *wf_env_here;
/* Nothing can run before time goes on or somebody else posts. */
bool wf_worker_is_at_rest(const struct wf_worker *w);
/* The running task; NULL outside of tasks. */
static inline struct wf_task *wf_task_self(void)
{
    return wf_here == NULL ? NULL : wf_here->current;
}

/* Writes the last `most` events of a worker to standard error, as a fault handler may. NULL is fine. */
void wf_record_dump(struct wf_worker *w, uint64_t most);

static inline void wf_worker_record(struct wf_worker *w, unsigned kind, uint64_t who, uint64_t other, uint32_t value)
{
    wf_record_put(&w->recorder, w->now, kind, who, other, value);
}

/* One turn of the loop; sleeps at step 5 until `deadline` at most. For tests and embedding; threads run it for
 * ever. */
void wf_worker_turn(struct wf_worker *w, int64_t deadline);
/* The same the other way round, for embed.c: looks, for as long as `deadline` and its timers allow if there is
 * nothing to do, and then runs what is there. Leaves it asleep. When it is to be called next. */
int64_t wf_worker_visit(struct wf_worker *w, int64_t deadline);

/* Any thread, signal handlers: pushes one post and wakes the worker if it sleeps. Never fails: bounded by the
 * callers. */
void wf_worker_post(struct wf_worker *w, struct wf_post *p);
/* Any thread: pushes a chain (newest first, `oldest` its end) of `count` posts with one atomic operation and at most
 * one wake. */
void wf_worker_post_chain(struct wf_worker *w, struct wf_post *newest, struct wf_post *oldest, uint32_t count);
/* From worker `w`'s thread to another worker: batched until the end of the turn. */
void wf_worker_send(struct wf_worker *w, uint32_t target, struct wf_post *p);
/* Whether so much is on its way to `target` that senders should wait. Any thread. */
bool wf_worker_is_choked(const struct wf_worker *target);
/* Any thread: runs `c` on `target`'s thread when its inbox has been drained, at once if it is. The way to wait for a
 * choked worker. */
void wf_worker_when_room(struct wf_worker *target, struct wf_call *c);
/* Task on worker `w`: waits until `target` is no longer choked. As wf_task_wait. */
int wf_worker_wait_room(struct wf_worker *w, uint32_t target, int64_t deadline);

/* ---- Tasks: all on the owner's thread -------------------------------------------------------------------------- */
void wf_task_init(struct wf_task *t, struct wf_worker *w, size_t stack_bytes);
/* Makes a NEW task runnable for the first time. It gets its stack when it first runs. */
void wf_task_start(struct wf_task *t);
/* The same for one that has nothing to do before it is woken by mail. */
void wf_task_start_stackless(struct wf_task *t);
/* What it waits for; "": it does not. */
static inline const char *wf_task_waits_for(const struct wf_task *t)
{
    return t->state >= WF_TASK_WAITING && t->state <= WF_TASK_PARKED ? t->waits_for : "";
}
/* To the end of the queue of those that have run before. */
static inline void wf_task_push_ready(struct wf_worker *w, struct wf_task *t)
{
    t->next_ready = NULL;
    if (w->ready_last == NULL) w->ready_first = t;
    else w->ready_last->next_ready = t;
    w->ready_last = t;
    w->ready_count++;
}
/* STACKLESS, IDLE or PARKED, otherwise it does nothing. */
void wf_task_wake_idle(struct wf_task *t);
/* Makes a task that waits runnable; otherwise does nothing. Asks for the lines of its stack that it needs first, so
 * that they come while it is still queued: a hop around 100,000 actors takes 105 ns instead of 274 (four lines; with
 * two it is 160, six are no better). */
static inline void wf_task_wake(struct wf_task *t)
{
    if (t->state != WF_TASK_WAITING) {
        if (WF_UNLIKELY(t->state > WF_TASK_WAITING)) wf_task_wake_idle(t);
        return;
    }
    const char *frames = t->coro.sp;
    for (int i = 0; i < 4; i++) __builtin_prefetch(frames + i * WF_CACHE_LINE);
    t->state = WF_TASK_READY;
    wf_task_push_ready(t->worker, t);
}
/* Wakes all wf_waiters of a list; they stay linked. */
void wf_waiters_wake(struct wf_list *waiters);
/* Wakes all and takes them off: the source goes away. */
void wf_waiters_dismiss(struct wf_list *waiters);
/* The running task waits for a wake. 0: woken (look whether it is what you wait for); WEFT_ETIMEDOUT; WEFT_ECANCELED,
 * at once if it was cancelled before. Deadline WEFT_NOW: WEFT_ETIMEDOUT at once. `what` is static text for people. */
int wf_task_wait(int64_t deadline, const char *what);
/* The same without a record: what it waits for leaves one. */
int wf_task_wait_quietly(int64_t deadline, const char *what);
/* Ends every waiting call: returns `result`, or, if the running task was killed, does not return. */
int64_t wf_task_settle(int64_t result);
/* The running task goes to the end of the queue. */
void wf_task_yield(void);
/* Counts one operation of the running task; yields when its budget is used up, so that one that never waits cannot
 * starve others. */
static inline void wf_task_tick(struct wf_task *t)
{
    if (WF_UNLIKELY(--t->ops == 0)) wf_task_yield();
}
/* What tells a span from a point in time, see WF_CLOCK_BEGIN. WEFT_NOW and WEFT_FOREVER may stand for either. */
static inline bool wf_is_span(int64_t time)
{
    return time < WF_CLOCK_BEGIN && time != WEFT_NOW;
}
static inline bool wf_is_point(int64_t time)
{
    return time >= WF_CLOCK_BEGIN && time != WEFT_FOREVER;
}
/* The running task gave one for the other. */
void wf_task_wrong_time(struct wf_task *t, const char *what, int64_t time);
void wf_task_cancel(struct wf_task *t);
void wf_task_kill(struct wf_task *t);
/* For one that is to be cancelled: at the deadline it is killed. WEFT_ENOMEM. */
int wf_task_grace(struct wf_task *t, int64_t deadline);
/* It has begun to end. Returns when its grace period would have been over; WEFT_FOREVER: it had none. */
int64_t wf_task_end_grace(struct wf_task *t);
/* The running task is over: gives back its stack, calls hooks->task_done, runs others. */
__attribute__((noreturn)) void wf_task_exit(void);
void wf_task_close_owned(struct wf_task *t);

/* runtime/wait/fd.c: what the poller found, and the slabs of everything one can wait on. */
void wf_fds_ready(struct wf_worker *w, const struct pf_ready *entries, int count);
int wf_sources_init(struct wf_worker *w);
void wf_sources_finish(struct wf_worker *w);

/* Between worker.c, task.c and post.c. */
struct wf_task *wf_task_next(
    struct wf_worker *w); /* the next to run in this turn, with its stack; NULL: back to the loop */
void wf_task_run_here(struct wf_worker *w, struct wf_task *t);
/* At the beginning of a turn: who is due, see note (7). */
void wf_task_begin_turn(struct wf_worker *w);
/* Between two turns: the runnable task that stands at `place` (0: next) is run next, if there are so many; those of
 * both lists are counted in turns. For tests. */
void wf_task_prefer(struct wf_worker *w, uint32_t place);
struct wf_post *wf_posts_take(_Atomic(struct wf_post *) *from); /* all of them, oldest first */
void wf_outbox_flush(struct wf_worker *w, uint32_t target);

/* Timers of the worker, for whoever embeds a wf_timer. */
int wf_timer_arm(struct wf_worker *w, struct wf_timer *t, int64_t deadline);
/* The same of a timer for which a place was kept: wf_heap_set_aside. */
void wf_timer_arm_surely(struct wf_worker *w, struct wf_timer *t, int64_t deadline);
void wf_timer_disarm(struct wf_worker *w, struct wf_timer *t);

#endif

/* runtime/sched/task.h -- a task of a worker: a coroutine with a state, a deadline, and owned resources.
 *
 * Design notes.
 * (1) actors/ embeds a task in each actor. A task starts and ends on one worker, and all of it belongs to that
 *     worker's thread.
 * (2) wf_task_wait suspends the running task by switching straight to the next runnable one. Wakes are hints: a task
 *     that was woken checks again.
 * (3) Cancel sets `cancelled` and wakes; from then on wf_task_wait returns WEFT_ECANCELED without suspending. Kill
 *     sets `killed` too; the waiting call takes its waiters off their sources first and then calls
 *     wf_task_finish_wait, which does not return for a killed task.
 * (4) Fresh tasks, which have never run, have a list of their own: a new one stands before older ones, but after
 *     those that the same task has started. They run before tasks that are ready again, so that a tree of tasks runs
 *     depth first and few of them have a stack at a time. No task starves: a task that is ready again is due after at
 *     most two turns and then goes first, except that one in WF_DUE_RUN + 1 is a fresh one; and the oldest fresh task
 *     joins the others when WF_FRESH_RUN tasks have begun since it became the oldest.
 * (5) A wait that ends before its deadline leaves the timer of its task armed, at rest: the next wait mostly has a
 *     later deadline, and then only postpones it (heap.h). */
#ifndef WF_TASK_H
#define WF_TASK_H

#include "here.h"
#include "timers.h"
#include "workers.h"

/* The first two are in the run queue, but need a stack, or its contents, before they run. STACKLESS: it waits without
 * a stack; when woken it is NEW. Only an IDLE task becomes PARKED; IDLE is a WAITING task that a sweep for idle tasks
 * has seen: see park.h. */
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

/* HAND: wake it, or give it the message directly, which makes it HANDED, or IN_DOUBT if it first has to look whether
 * it may have the message; see actors/mailbox/mailbox.h. */
enum wf_mail_wish { WF_MAIL_NONE, WF_MAIL_HANDED, WF_MAIL_IN_DOUBT, WF_MAIL_WAKE = 4, WF_MAIL_HAND = 5 };
enum { WF_MAIL_WAKES = 4 /* the bit of the wishes for which mail wakes the task */ };

/* First the members that switching and waking touch, then those that only some waits touch. */
struct wf_task {
    union {
        struct wf_task *next_ready; /* READY: wf_worker.ready_first */
        const char *waits_for;      /* WAITING: static text, "mailbox", "read", "event, timer" */
    };
    struct wf_worker *worker;
    union {
        struct {
            uint8_t state;         /* wf_task_state */
            uint8_t wants_mail;    /* wf_mail_wish: what to do when its mailbox gets a message */
            bool cancelled : 1;    /* note (3) */
            bool bounded : 1;      /* no wait goes beyond hooks->task_latest */
            bool handling : 1;     /* a handler that was called with a message and has not freed, sent or kept it */
            bool slow_path : 1;    /* for the layer above: wf_actor_set_slow_path; false at the beginning */
            bool shares_stack : 1; /* other code uses its stack while it waits: it is never parked */
            bool killed;
        };
        uint32_t marks; /* these together, as sending tests several of them at once */
    };
    bool timed_out;
    uint16_t stack_kib; /* asked for */
    uint32_t ops;       /* operations that it may still do in this turn */
    uint32_t above;     /* the layer above counts something here; 0 at the beginning */
    union {
        struct wf_coro coro;
        struct wf_call start; /* until it is started: the post to its worker */
    };
    struct wf_timer deadline; /* of its present wait, else at rest; once it was asked to end, of its grace period */
    struct wf_list owned;     /* wf_owned.on_task: closed when the task ends */
};

/* A task that waits at a source. It is on the waiting task's stack during the wait. */
struct wf_waiter {
    struct wf_list_node on_source; /* wf_event.waiters, wf_user_timer.waiters or wf_worker.space */
    struct wf_task *task;
};

/* A resource that ends with its task: embed this, link it, and set `close`. */
struct wf_owned {
    struct wf_list_node on_task; /* wf_task.owned */
    void (*close)(struct wf_owned *o);
};

/* A resource that its users name by a handle: one task may have very many of them, so they are in a table. */
struct wf_owned_handle {
    struct wf_owned owned;
    struct wf_hashed by_id; /* in wf_worker.handles, if it has an id */
    struct wf_task *task;   /* that has given it the id */
    uint64_t id;            /* 0: none */
};

extern const char wf_waits_for_mail[]; /* wf_task.waits_for, also of a STACKLESS task */

/* The running task; NULL outside of tasks. */
static inline struct wf_task *wf_task_self(void)
{
    return wf_here_or_nobody->current;
}

void wf_task_init(struct wf_task *t, struct wf_worker *w, size_t stack_bytes);
/* Makes a NEW task runnable for the first time. It gets its stack when it first runs. */
void wf_task_start(struct wf_task *t);
/* The same for a task that does nothing until a message wakes it. */
void wf_task_start_stackless(struct wf_task *t);
/* What it waits for; "" if it does not wait. */
static inline const char *wf_task_waits_for(const struct wf_task *t)
{
    return t->state >= WF_TASK_WAITING && t->state <= WF_TASK_PARKED ? t->waits_for : "";
}
/* Adds it to the end of the queue of tasks that have run before. */
static inline void wf_task_push_ready(struct wf_worker *w, struct wf_task *t)
{
    t->next_ready = NULL;
    if (w->ready_first == NULL) w->ready_first = t;
    else w->ready_last->next_ready = t;
    w->ready_last = t;
    w->ready_count++;
}
/* Wakes a task that is STACKLESS, IDLE or PARKED; otherwise does nothing. */
void wf_task_wake_idle(struct wf_task *t);
/* Makes a WAITING task of this worker runnable. Prefetches the cache lines of its stack that it needs first, while it
 * is still queued: a hop around 100,000 actors takes 105 ns instead of 274 (four lines; with two it is 160, six are
 * no better). */
static inline void wf_task_wake_waiting(struct wf_worker *w, struct wf_task *t)
{
    const char *frames = t->coro.sp;
    for (int i = 0; i < 4; i++) __builtin_prefetch(frames + i * WF_CACHE_LINE);
    t->state = WF_TASK_READY;
    wf_task_push_ready(w, t);
}
/* The same for a STACKLESS task. */
static inline void wf_task_wake_stackless(struct wf_worker *w, struct wf_task *t)
{
    t->state = WF_TASK_NEW;
    wf_task_push_ready(w, t);
}
/* Makes a waiting task runnable; does nothing if it does not wait. */
static inline void wf_task_wake(struct wf_task *t)
{
    if (t->state == WF_TASK_WAITING) wf_task_wake_waiting(t->worker, t);
    else if (WF_UNLIKELY(t->state > WF_TASK_WAITING)) wf_task_wake_idle(t);
}
/* Wakes all wf_waiters of a list; they stay linked. */
void wf_waiters_wake(struct wf_list *waiters);
/* Wakes all and unlinks them, as the source goes away. */
void wf_waiters_dismiss(struct wf_list *waiters);
/* The running task waits for a wake. 0: woken (check whether your condition holds); WEFT_ETIMEDOUT; WEFT_ECANCELED,
 * at once if it was cancelled before. Deadline WEFT_NOW: WEFT_ETIMEDOUT at once. `what` is static text for users. */
int wf_task_wait(int64_t deadline, const char *what);
/* The same without a record in the flight recorder: the event it waits for leaves one. */
int wf_task_wait_quietly(int64_t deadline, const char *what);
/* Whether wf_task_wait_plainly may do the running task's next wait. */
static inline bool wf_task_is_plain(const struct wf_task *t)
{
    return !t->cancelled && !(t->bounded || t->handling);
}
/* As wf_task_wait_quietly(WEFT_FOREVER, what) for a plain task, in a few instructions, as every receive calls it. The
 * task may be cancelled afterwards. */
void wf_task_wait_plainly(struct wf_worker *w, struct wf_task *t, const char *what);
/* The same, and wakes `next`, a WAITING task of this worker, which is run at once if no other task is runnable. */
void wf_task_wait_for(struct wf_worker *w, struct wf_task *t, struct wf_task *next, const char *what);
/* Ends every waiting call: returns `result`, or, if the running task was killed, does not return. */
int64_t wf_task_finish_wait(int64_t result);
/* The running task goes to the end of the queue. */
void wf_task_yield(void);
/* Counts one operation of the running task; yields when its budget is used up, so that a task that never waits cannot
 * starve others. */
static inline void wf_task_tick(struct wf_task *t)
{
    if (WF_UNLIKELY(--t->ops == 0)) wf_task_yield();
}
/* The running task copies or frees so many bytes, which may take as long as thousands of operations: the pages of a large
 * block are given by the system one by one, and taken back. 64 KiB count as an operation, and 16 MiB end the turn when
 * the task yields, also if no other task is ready. */
enum { WF_TASK_BYTES_SHIFT = 16 };
void wf_task_charge_large(struct wf_task *t, size_t bytes);
static inline void wf_task_charge(struct wf_task *t, size_t bytes)
{
    if (WF_UNLIKELY(bytes >> WF_TASK_BYTES_SHIFT != 0)) wf_task_charge_large(t, bytes);
}
/* The running task has made so many messages at once, or looked at so many entries: wf_worker_charge. When a turn has had
 * WF_TURN_WORK of it, the task's next operation ends the turn. */
void wf_task_end_turn(struct wf_task *t);
static inline void wf_task_charge_work(struct wf_task *t, uint32_t work)
{
    wf_worker_charge(t->worker, work);
    if (WF_UNLIKELY(wf_worker_is_spent(t->worker))) wf_task_end_turn(t);
}
/* The running task has made or removed an entry of a table. */
static inline void wf_task_charge_entry(struct wf_task *t)
{
    wf_task_charge_work(t, WF_ENTRY_WORK);
}
/* As wf_task_tick, before a call that copies so many bytes. */
static inline void wf_task_tick_for(struct wf_task *t, size_t bytes)
{
    wf_task_charge(t, bytes);
    wf_task_tick(t);
}
/* Tell a span from a point in time, see WF_CLOCK_BEGIN. WEFT_NOW and WEFT_FOREVER may be either. */
static inline bool wf_is_span(int64_t time)
{
    return time < WF_CLOCK_BEGIN && time != WEFT_NOW;
}
static inline bool wf_is_point(int64_t time)
{
    return time >= WF_CLOCK_BEGIN && time != WEFT_FOREVER;
}
/* The running task used one in place of the other. */
void wf_task_wrong_time(struct wf_task *t, const char *what, int64_t time);
void wf_task_cancel(struct wf_task *t);
void wf_task_kill(struct wf_task *t);
/* Call it before wf_task_cancel: the task is killed at the deadline. WEFT_ENOMEM. */
int wf_task_grace(struct wf_task *t, int64_t deadline);
/* The task has begun to end. Returns when its grace period would have ended; WEFT_FOREVER: it had none. */
int64_t wf_task_end_grace(struct wf_task *t);
/* The running task is over: gives back its stack, calls hooks->task_done, runs others. */
__attribute__((noreturn)) void wf_task_exit(void);
/* Closes one of the resources that the task still has. False: it has none. */
bool wf_task_close_owned(struct wf_task *t);
/* Gives a resource of the task its id, or another one. Returns 0, or WEFT_ENOMEM, which only the first id can get. */
int wf_owned_name(struct wf_task *t, struct wf_owned_handle *h, uint64_t id);
/* Takes it from its task: it has no id any more. */
void wf_owned_leave(struct wf_owned_handle *h);
/* The resource of the running task with this id. `close` tells its kind, all of which are wf_owned_handle; two of
 * different kinds may have the same id. NULL: the task has no such resource, or the caller is outside of tasks. */
struct wf_owned_handle *wf_owned_find(void (*close)(struct wf_owned *o), uint64_t id);

/* For the loop: the next task to run in this turn, with its stack; NULL: back to the loop. */
struct wf_task *wf_task_next(struct wf_worker *w);
static inline void wf_task_run_here(struct wf_worker *w, struct wf_task *t)
{
    w->current = t;
    t->state = WF_TASK_RUNNING;
    t->ops = WF_TASK_BUDGET;
}
/* Counts a task that is run. False: this turn has run as many as it may. The counter is tested where it is changed. */
static inline bool wf_task_count_run(struct wf_worker *w)
{
    if (WF_LIKELY((int32_t)--w->budget >= 0)) return true;
    w->budget = 0;
    return false;
}
/* Fetches the stack of the task that runs after the next one, where the queue is long: the lines that wf_task_wake has
 * fetched may have left the cache again, and a call on a stream needs more lines of its stack. The number of lines is
 * not critical: docs/performance.md, "A thousand connections". It returns its argument, because GCC 12 drops calls of a
 * function that only prefetches. */
static inline __attribute__((always_inline)) struct wf_task *wf_task_fetch_stack(const struct wf_worker *w,
                                                                                 struct wf_task *t)
{
    enum { LONG_QUEUE = 4, FRAME_LINES = 8 };
    if (w->ready_count >= LONG_QUEUE && t != NULL && t->coro.sp != NULL) {
        const char *frames = t->coro.sp;
#pragma GCC unroll 8
        for (int i = 0; i < FRAME_LINES; i++) __builtin_prefetch(frames + i * WF_CACHE_LINE);
    }
    return t;
}
static inline struct wf_task *wf_task_take_ready(struct wf_worker *w)
{
    struct wf_task *t = w->ready_first;
    w->ready_count--;
    w->ready_first = wf_task_fetch_stack(w, t->next_ready);
    return t;
}
/* The running task `t` waits for its next message without a stack, and `next`, which is NEW and the first of
 * w->ready_first, runs in its place and on its stack: what the loop on each stack (trampoline in task.c) does after
 * WF_TURN_IDLE, in the common case. False: it is not that, and nothing was changed. */
static inline bool wf_task_give_way(struct wf_worker *w, struct wf_task *t, struct wf_task *next)
{
    if (WF_UNLIKELY(w->fresh_first != NULL || next->stack_kib != t->stack_kib || t->coro.sp != NULL) ||
        !wf_stack_is_shallow(&t->coro.stack) || WF_UNLIKELY(!wf_task_count_run(w)))
        return false;
    (void)wf_task_take_ready(w);
    t->state = WF_TASK_STACKLESS;
    t->waits_for = wf_waits_for_mail;
    next->coro.stack = t->coro.stack;
    t->coro.stack.base = NULL;
    wf_task_run_here(w, next);
    return true;
}
/* At the beginning of a turn: which tasks are due, see note (4). */
void wf_task_begin_turn(struct wf_worker *w);
/* Between two turns: the runnable task that stands at `place` (0: next) is run next, if there are so many; those of
 * both lists are counted in turns. For tests. */
void wf_task_prefer(struct wf_worker *w, uint32_t place);

#endif

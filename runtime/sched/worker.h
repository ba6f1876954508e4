/* runtime/sched/worker.h -- one OS thread with its reactor, and the tasks that live on it.
 *
 * Design notes.
 * (1) Everything in a wf_worker belongs to its thread, but for `inbox`, `inbox_count`, `state`, `space_calls` and
 *     `pace`, which are atomic and lie on cache lines of their own.
 * (2) The loop's order, in ARCHITECTURE.md and in wf_worker_turn():
 *         1. due timers   2. inbox   3. runnable tasks, under a budget   4. flush batches   5. poll (sleep only if
 *         nothing is left)
 * (3) Sleeping: the worker stores ASLEEP, then looks at its inbox again; a producer pushes, then reads the state.
 *     Both are sequentially consistent, so at least one sees the other: no wake is lost. The producer that turns
 *     ASLEEP into RUNNING pays for the wake, once.
 * What tasks are, and in which order they run, is in task.h. */
#ifndef WF_WORKER_H
#define WF_WORKER_H

#include "base.h"
#include "coro.h"
#include "hash_table.h"
#include "heap.h"
#include "list.h"
#include "pace.h"
#include "platform.h"
#include "pool.h"
#include "post.h"
#include "record.h"
#include "slab.h"

struct wf_task;
struct wf_workers;

enum wf_worker_state { WF_RUNNING, WF_ASLEEP };

/* Behind it lies what the layer above keeps for each worker: wf_hooks.worker_bytes, zero at the beginning. */
struct wf_worker {
    /* Other threads read these members; they do not change after the start. */
    struct wf_workers *set;
    uint32_t index;
    void *transport; /* struct of transport/ */
    struct pf_poller *poller;
    pf_thread *thread;
    uint64_t identity;   /* wf_workers.identity, copied: every message reads it */
    uint64_t unrecorded; /* actors/mailbox/send.c: `identity`, or wf_workers.nowhere: every send is recorded */

    alignas(WF_CACHE_LINE) struct wf_task *current; /* NULL in the loop itself */
    /* tasks that have run before: task.h, note (4); `ready_last` means nothing while there is none */
    struct wf_task *ready_first, *ready_last;
    struct wf_task *fresh_first, *fresh_last; /* tasks that have not run; coro.sp points to the previous one */
    struct wf_task *fresh_at; /* the last task that `fresh_by` has started; its next one goes behind it */
    const struct wf_task *fresh_by;
    uint32_t ready_count, fresh_count; /* all runnable tasks, and the fresh tasks among them */
    uint32_t budget;
    uint32_t ready_before;        /* tasks that were ready again at the beginning of this turn */
    uint32_t begun, begun_before; /* fresh tasks that have been run: in all, and before this turn */
    const struct wf_task *oldest; /* the oldest fresh task when it was last looked at */
    uint32_t oldest_since;        /* `begun` when it became the oldest */
    /* tasks that were ready before the last turn; how many of them have run since the last fresh task */
    uint32_t due, due_run;
    uint8_t preferred; /* wf_task_prefer: from which of the two lists */
    /* actors/run/placement.c: children of the present run of a task that go to another worker */
    bool lends;                /* the last child did */
    uint64_t lent_in;          /* the number of the run for which `lent_to` holds */
    struct wf_worker *lent_to; /* the worker that gets them; NULL: none of them goes to another worker */
    struct wf_post *undrained; /* posts that the last drain has left, the oldest first */
    uint32_t work;             /* of this turn */
    uint32_t unmerged;         /* work since the last wf_merge_freed */
    int64_t now;               /* clock at the beginning of this turn */
    bool is_own;               /* the worker of weft's own actors: see wf_workers.users */
    bool woke;                 /* its turn has begun, in poll_until */
    struct wf_recorder recorder;
    int64_t fired_at;  /* beginning of the last turn in which timers fired */
    int64_t last_poll; /* busy workers look at the poller every WF_POLL_GAP */
    uint64_t turn;
    struct wf_heap timers;
    struct wf_pool pool;
    struct wf_stack_arena *stacks;
    int64_t trim_at;               /* when some of the stacks that are free have to give their memory back */
    struct wf_coro loop;           /* the thread's own stack */
    uint64_t batch_mask;           /* bit i: batches[i] holds something */
    struct wf_post_batch *batches; /* one for each worker */
    /* NULL; else it is called, once, before anything else is handed over to other workers or nodes. A part sets it when
     * a task has changed something that others have to know before they hear from that task. */
    void (*before_batches)(struct wf_worker *w);
    /* sources of waits: a part makes each slab (part.h) */
    struct wf_slab fds, streams, listeners, datagrams, events, user_timers, tickets, files;
    struct wf_list children;      /* os/process.c: child processes that run */
    struct wf_hash_table handles; /* wf_owned_handle.by_id, of all tasks here */
    struct wf_coro leaving; /* the stack of a task, between the task's end and the switch away from this stack */
    bool stop;
    struct wf_list space[WF_WORKERS_MAX]; /* wf_waiter.on_source: tasks here that wait for a congested worker */
    /* calls under way to these workers while tasks wait; NULL before the first use */
    struct wf_space_call *space_call[WF_WORKERS_MAX];
    /* moving average of how long this worker lay idle before a post came: whether looking for posts pays */
    int64_t idle_gap;
    int64_t idle; /* for how long it has slept since the last post */
    struct {
        uint64_t turns, sleeps, posts_in, timers_fired, parked, unparked, merges;
    } count; /* its thread only */

    alignas(WF_CACHE_LINE) struct wf_pace pace;

    alignas(WF_CACHE_LINE) _Atomic(struct wf_post *) inbox; /* producers: CAS (release); owner: exchange (acquire) */
    /* posts and KiB that were pushed and not yet drained: the limit of the queue between workers */
    _Atomic uint32_t inbox_count;
    _Atomic(struct wf_post *) space_calls;    /* wf_calls to run after the next drain; as inbox */
    alignas(WF_CACHE_LINE) _Atomic int state; /* wf_worker_state, see note (3) */
};

/* Whether nothing can run until a timer fires or another thread posts. */
bool wf_worker_is_at_rest(const struct wf_worker *w);

/* From worker `w`'s thread to another worker: batched until the end of the turn. */
static inline void wf_worker_send(struct wf_worker *w, uint32_t target, struct wf_post *p)
{
    WF_ASSERT(target < WF_WORKERS_MAX);
    struct wf_post_batch *o = &w->batches[target];
    o->at[o->count++] = p;
    w->batch_mask |= UINT64_C(1) << target;
    if (WF_UNLIKELY(o->count == WF_BUNDLE)) wf_post_batch_flush(w, target);
}

/* Whether so many posts, or so many bytes, are on their way to `target` that senders should wait. Any thread. */
static inline bool wf_worker_is_congested(const struct wf_worker *target)
{
    return atomic_load_explicit(&target->inbox_count, memory_order_relaxed) >= WF_INBOX_MAX;
}

static inline void wf_worker_record(struct wf_worker *w, unsigned kind, uint64_t who, uint64_t other, uint32_t value)
{
    wf_record_put(&w->recorder, w->now, kind, who, other, value);
}

static inline void wf_worker_before_batches(struct wf_worker *w)
{
    void (*call)(struct wf_worker *) = w->before_batches;
    if (WF_LIKELY(call == NULL)) return;
    w->before_batches = NULL;
    call(w);
}

/* A post, or a message of a peer, has been `work`: deliveries, or entries of a list that were looked at. When a turn
 * has had WF_TURN_WORK of it, the rest of the inbox waits for the next turn, and so do further messages of peers. */
enum {
    WF_TURN_WORK = 65536,
    WF_ENTRY_WORK = WF_TURN_WORK / 1024 /* an entry of a table is made or removed, which takes some microseconds */
};
static inline void wf_worker_charge(struct wf_worker *w, uint32_t work)
{
    w->work += work;
}
static inline bool wf_worker_is_spent(const struct wf_worker *w)
{
    return w->work >= WF_TURN_WORK;
}

/* One turn of the loop; sleeps at step 5 until `deadline` at most. For tests and embedding; threads run it for
 * ever. */
void wf_worker_turn(struct wf_worker *w, int64_t deadline);
/* The same in the other order, for embed.c: polls first, until `deadline` or its first timer if there is no work, and
 * then runs the work. Leaves the worker asleep. Returns when to call it next. */
int64_t wf_worker_visit(struct wf_worker *w, int64_t deadline);
/* Its last turn is over. */
void wf_worker_rest(struct wf_worker *w);
/* All threads have ended: gives what is still in its inbox to hooks->drop_post. */
void wf_worker_drop_posts(struct wf_worker *w);

#endif

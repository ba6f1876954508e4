/* runtime/sched/worker.c -- the loop of a worker. The rules are in worker.h. */
#include "worker.h"

#include "stuck.h"
#include "task.h"

enum {
    TRIM_TURNS = 16, /* after this many turns a busy worker trims its free stacks, too */
    /* Timers in a turn: fewer than the tasks that a turn runs, so that a task runs while the caches still hold what its
     * timer has touched, and that thousands of due timers do not hold up a turn. */
    FIRE_MOST = WF_TURN_BUDGET / 2,
};

/* ---- The loop: its order is the contract of worker.h, note (2) ------------------------------------------------- */

static void fire_due_timers(struct wf_worker *w)
{
    /* Timers armed by those that fire now wait for the next turn, so a timer that arms itself cannot hold up the
     * loop. */
    const uint32_t serial = w->timers.serial;
    bool fired = false;
    for (int i = 0; i < FIRE_MOST && wf_heap_earliest(&w->timers) <= w->now; i++) {
        if (wf_heap_move_first(&w->timers)) continue; /* it was postponed, or rests */
        if (wf_heap_first_serial(&w->timers) >= serial) break;
        struct wf_timer *t = wf_heap_first(&w->timers);
        wf_heap_remove(&w->timers, t);
        wf_heap_fetch_first(&w->timers);
        w->count.timers_fired++;
        fired = true;
        t->fire(w, t);
    }
    if (fired) w->fired_at = w->now;
}

/* When it has to be awake for its timers. */
static int64_t next_timer_at(struct wf_worker *w)
{
    /* If more of them were postponed, it wakes too early, and continues with them. */
    for (int i = 0; i < FIRE_MOST && wf_heap_move_first(&w->timers); i++) {}
    const int64_t first = wf_heap_earliest(&w->timers);
    if (first == WEFT_FOREVER) return WEFT_FOREVER;
    return first <= w->now ? WEFT_NOW : WF_MAX(first, w->fired_at + w->set->env->sleep_min);
}

/* When it has to be awake for its timers, or for stacks that are free. */
static int64_t next_work_at(struct wf_worker *w)
{
    return WF_MIN(next_timer_at(w), w->trim_at);
}

static void take_call(struct wf_worker *w, struct wf_post *p)
{
    struct wf_call *c = WF_CONTAINER(p, struct wf_call, post);
    WF_ASSERT(c->call != NULL);
    c->call(w, c);
}

static inline void take_one(struct wf_worker *w, struct wf_post *p)
{
    if (p->kind == WF_POST_CALL) take_call(w, p);
    else w->set->hooks->on_post[p->kind](w, p);
}

/* Takes the posts of a bundle and gives the bundle's block back. Returns how many were taken; the others are put
 * before `*rest`. */
static inline uint32_t take_bundle(struct wf_worker *w, struct wf_bundle *b, struct wf_post **rest)
{
    enum { AHEAD = 6 };
    uint32_t taken = 0;
    for (uint32_t i = 0; i < b->post.word && i < AHEAD; i++) __builtin_prefetch(b->at[i], 1);
    while (taken < b->post.word && !wf_worker_is_spent(w)) {
        if (taken + AHEAD < b->post.word) __builtin_prefetch(b->at[taken + AHEAD], 1);
        take_one(w, b->at[taken++]);
    }
    for (uint32_t i = b->post.word; i > taken; i--) {
        b->at[i - 1]->next = *rest;
        *rest = b->at[i - 1];
    }
    wf_pool_give(&w->pool, b->post.block_class, b);
    return taken;
}

/* The work of the last turn is over. Much of it frees entries of tables. */
static inline void begin_work(struct wf_worker *w)
{
    w->unmerged += w->work;
    w->work = 0;
    if (WF_LIKELY(w->unmerged < WF_TURN_WORK)) return;
    w->unmerged = 0;
    w->count.merges++;
    wf_merge_freed();
}

static void drain_inbox(struct wf_worker *w)
{
    uint32_t count = 0;
    begin_work(w);
    struct wf_post *p = w->undrained != NULL ? w->undrained : wf_posts_take(&w->inbox), *next;
    for (; p != NULL && !wf_worker_is_spent(w); p = next) {
        next = p->next; /* the handler owns p */
        if (p->kind == WF_POST_BUNDLE) {
            count += take_bundle(w, WF_CONTAINER(p, struct wf_bundle, post), &next);
        } else {
            count++;
            take_one(w, p);
        }
    }
    w->undrained = p;
    if (count > 0) {
        atomic_fetch_sub_explicit(&w->inbox_count, count, memory_order_relaxed);
        w->count.posts_in += count;
    }
    if (p != NULL) return; /* tasks that wait for space continue when all posts are taken */
    for (p = wf_posts_take(&w->space_calls); p != NULL; p = next) {
        next = p->next;
        take_call(w, p);
    }
}

static void drop_bundle(struct wf_worker *w, struct wf_bundle *b)
{
    for (uint32_t i = 0; i < b->post.word; i++) w->set->hooks->drop_post(w, b->at[i]);
    wf_pool_give(&w->pool, b->post.block_class, b);
}

static void drop_list(struct wf_worker *w, struct wf_post *p)
{
    for (struct wf_post *next; p != NULL; p = next) {
        next = p->next;
        if (p->kind == WF_POST_BUNDLE) drop_bundle(w, WF_CONTAINER(p, struct wf_bundle, post));
        else w->set->hooks->drop_post(w, p);
    }
}

void wf_worker_drop_posts(struct wf_worker *w)
{
    WF_ASSERT(w->thread == NULL);
    drop_list(w, w->undrained);
    w->undrained = NULL;
    drop_list(w, wf_posts_take(&w->inbox));
}

static void run_ready(struct wf_worker *w)
{
    wf_task_begin_turn(w);
    struct wf_task *t = wf_task_next(w);
    if (t == NULL) return;
    wf_task_run_here(w, t);
    wf_coro_switch(&w->loop, &t->coro); /* returns when no task is runnable or the budget is used up */
}

static void flush(struct wf_worker *w)
{
    if (w->set->hooks->flush != NULL) w->set->hooks->flush(w);
    while (w->batch_mask != 0) wf_post_batch_flush(w, (uint32_t)__builtin_ctzll(w->batch_mask));
}

static bool has_posts(const struct wf_worker *w, memory_order order)
{
    return w->undrained != NULL || atomic_load_explicit(&w->inbox, order) != NULL ||
           atomic_load_explicit(&w->space_calls, order) != NULL;
}

bool wf_worker_is_at_rest(const struct wf_worker *w)
{
    /* Relaxed: posts of other threads may be seen a little later; those of this thread are seen at once. */
    return w->ready_count == 0 && w->batch_mask == 0 && !has_posts(w, memory_order_relaxed);
}

/* ---- How long a turn is: stuck.h ------------------------------------------------------------------------------- */

static int64_t began_at(const struct wf_worker *w)
{
    return atomic_load_explicit(&w->pace.began, memory_order_relaxed);
}

static inline void turn_over(struct wf_worker *w, int64_t now)
{
    const int64_t began = began_at(w);
    wf_pace_turn_over(&w->pace, began, now);
    if (WF_UNLIKELY(atomic_load_explicit(&w->pace.seen, memory_order_relaxed) == began)) wf_stuck_over(w, began, now);
}

static inline void turn_begins(struct wf_worker *w, int64_t now)
{
    if (!w->woke) {
        if (began_at(w) != 0) turn_over(w, now);
        else wf_stuck_awake(w, now); /* its first turn after a sleep */
        atomic_store_explicit(&w->pace.began, now, memory_order_release);
    }
    w->woke = false;
}

static void rests(struct wf_worker *w, int64_t now)
{
    if (began_at(w) != 0) turn_over(w, now);
    atomic_store_explicit(&w->pace.began, 0, memory_order_release);
}

void wf_worker_rest(struct wf_worker *w)
{
    rests(w, w->now);
}

static void awakes(struct wf_worker *w)
{
    w->last_poll = w->set->env->now(w->set->env);
    w->woke = true;
    atomic_store_explicit(&w->pace.began, w->last_poll, memory_order_release);
    wf_stuck_awake(w, w->last_poll);
}

/* Returns how many entries there were. */
static int poll_until(struct wf_worker *w, int64_t deadline)
{
    struct pf_ready ready[WF_POLL_BATCH];
    struct pf_env *env = w->set->env;
    int n = env->poller_wait(w->poller, ready, WF_POLL_BATCH, deadline);
    WF_ASSERT(n <= WF_POLL_BATCH && (n <= 0 || w->set->on_ready != NULL));
    const bool slept = began_at(w) == 0;
    if (slept) awakes(w);
    /* Marks it as awake before it handles the entries: posts that this causes need not wake it. */
    if (atomic_load_explicit(&w->state, memory_order_relaxed) != WF_RUNNING)
        atomic_store_explicit(&w->state, WF_RUNNING, memory_order_seq_cst);
    if (n > 0) w->set->on_ready(w, ready, n);
    if (slept) atomic_store_explicit(&w->pace.polled, w->last_poll, memory_order_relaxed);
    return n;
}

static int poll_now(struct wf_worker *w, int64_t now)
{
    w->last_poll = now;
    int n = poll_until(w, WEFT_NOW);
    atomic_store_explicit(&w->pace.polled, now, memory_order_relaxed);
    return n;
}

/* Whether it is worth looking for posts before sleeping: it is if posts have come soon lately. Two workers that
 * exchange posts and both sleep never find that, because each of them measures the time in which the other wakes up.
 * So a worker that is woken often looks in some of its turns in any case. */
static bool may_look(const struct wf_worker *w)
{
    return w->set->may_look && w->index < w->set->users &&
           (w->idle_gap <= WF_LOOK || (w->idle_gap <= WF_LOOK_TRIAL && w->count.sleeps % WF_LOOK_TRIALS == 0));
}

/* A worker that timers or sockets wake learns nothing of posts from that, but that none has come meanwhile. */
static void was_idle(struct wf_worker *w, int64_t time)
{
    const int64_t most = 100 * WF_LOOK;
    w->idle += time;
    if (w->idle < most && !has_posts(w, memory_order_relaxed)) return;
    w->idle_gap = (3 * w->idle_gap + WF_MIN(w->idle, most)) / 4;
    w->idle = 0;
}

/* Whether its poller can report anything but a wake. */
static bool has_handles(const struct wf_worker *w)
{
    return w->fds.used > 0 || w->files.used > 0;
}

/* Posts come within microseconds while two workers talk: then looking for them beats sleeping, which costs the
 * sleeper 6-26 us and the producer 2-12 us. It is done only if each worker can have a core. Most posts come before
 * the first look at the clock. What arrives at a socket meanwhile does not wait until the worker sleeps. */
static bool look_for_posts(struct wf_worker *w, int64_t deadline)
{
    struct pf_env *env = w->set->env;
    if (!may_look(w) || deadline <= w->now) return false;
    int64_t began = 0, now;
    do {
        for (int i = 0; i < 64; i++) {
            if (has_posts(w, memory_order_relaxed)) {
                w->idle_gap -= w->idle_gap / 2;
                w->idle = 0;
                return true;
            }
            pf_cpu_relax();
        }
        now = env->now(env);
        if (began == 0) began = now;
        if (has_handles(w) && now - w->last_poll >= WF_LOOK_POLL && poll_now(w, now) > 0) {
            was_idle(w, now - began);
            return true;
        }
    } while (now < WF_MIN(deadline, began + WF_LOOK));
    return false;
}

/* Timers follow each other so closely that neither looking for posts nor being woken by one would pay: a wake by another
 * thread costs both of them about as much as the post waits for the next timer. */
static bool timers_are_dense(const struct wf_worker *w, int64_t deadline)
{
    const int64_t near = w->set->env->sleep_min;
    return deadline > w->now && deadline - w->now <= near && w->now - w->fired_at <= near;
}

/* Sleeps for a moment without being marked as asleep, so that posts do not wake it. */
static void nap_until(struct wf_worker *w, int64_t deadline)
{
    w->count.sleeps++;
    rests(w, w->set->env->now(w->set->env));
    (void)poll_until(w, deadline);
}

static void sleep_until(struct wf_worker *w, int64_t deadline)
{
    struct pf_env *env = w->set->env;
    int64_t idle_since = env->now(env);
    WF_ASSERT(w->ready_count == 0 && w->batch_mask == 0);
    atomic_store_explicit(&w->state, WF_ASLEEP, memory_order_seq_cst); /* pairs with wake_if_asleep */
    if (has_posts(w, memory_order_seq_cst)) deadline = WEFT_NOW;
    else w->count.sleeps++;
    rests(w, idle_since);
    (void)poll_until(w, deadline);
    was_idle(w, w->last_poll - idle_since);
}

void wf_worker_turn(struct wf_worker *w, int64_t deadline)
{
    struct pf_env *env = w->set->env;
    WF_ASSERT(w->current == NULL);
    w->count.turns++;
    w->now = env->now(env);
    turn_begins(w, w->now);
    if (WF_UNLIKELY(w->is_own)) wf_stuck_look(w);
    fire_due_timers(w); /* 1 */
    drain_inbox(w);     /* 2 */
    run_ready(w);       /* 3 */
    flush(w);           /* 4 */
    if (w->stop) return;
    bool idle = w->ready_count == 0 && !has_posts(w, memory_order_relaxed);
    if (idle || w->count.turns % TRIM_TURNS == 0) w->trim_at = wf_stack_trim_free(w->stacks, w->now);
    deadline = WF_MIN(deadline, next_work_at(w)); /* 5 */
    if (WF_UNLIKELY(w->is_own)) deadline = WF_MIN(deadline, wf_stuck_rings_at(w));
    if (idle && timers_are_dense(w, deadline)) {
        nap_until(w, deadline);
    } else if (idle && !look_for_posts(w, deadline)) {
        sleep_until(w, deadline);
    } else if (w->now - w->last_poll >= WF_POLL_GAP) {
        (void)poll_now(w, w->now);
    }
}

/* See embed.h. A post after this store wakes the poller; the check after the store sees an earlier post. */
static int64_t leave_asleep(struct wf_worker *w)
{
    struct pf_env *env = w->set->env;
    w->trim_at = wf_stack_trim_free(w->stacks, w->now);
    int64_t next = next_work_at(w);
    atomic_store_explicit(&w->state, WF_ASLEEP, memory_order_seq_cst); /* pairs with wake_if_asleep */
    rests(w, env->now(env));
    if (w->ready_count > 0 || has_posts(w, memory_order_seq_cst) || next <= w->now) {
        env->poller_wake(w->poller);
        return WEFT_NOW;
    }
    WF_ASSERT(env->poller_alarm(w->poller, next) == WEFT_OK);
    return next;
}

int64_t wf_worker_visit(struct wf_worker *w, int64_t deadline)
{
    struct pf_env *env = w->set->env;
    WF_ASSERT(w == wf_here && w->current == NULL);
    deadline = WF_MIN(deadline, next_work_at(w));
    if (!wf_worker_is_at_rest(w)) deadline = WEFT_NOW;
    else if (deadline > WEFT_NOW) w->count.sleeps++;
    (void)poll_until(w, deadline);
    w->count.turns++;
    w->now = w->last_poll = env->now(env);
    turn_begins(w, w->now);
    fire_due_timers(w);
    drain_inbox(w);
    run_ready(w);
    flush(w);
    return leave_asleep(w);
}

/* runtime/worker.c -- the loop, the queue of runnable tasks, and what passes between workers. The rules are in
 * worker.h. */
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local struct wf_worker *wf_here __attribute__((tls_model("initial-exec")));

/* Under way from a worker whose tasks wait for room to the choked worker and back. */
struct wf_room_call {
    struct wf_call call;
    struct wf_worker *from;
    uint32_t target;
    bool under_way;
};

/* ---- The run queue --------------------------------------------------------------------------------------------- */

static void push_ready(struct wf_worker *w, struct wf_task *t)
{
    t->next_ready = NULL;
    if (w->ready_last == NULL) w->ready_first = t;
    else w->ready_last->next_ready = t;
    w->ready_last = t;
    w->ready_count++;
}

/* The next task to run in this turn; NULL sends the caller back to the loop. */
static struct wf_task *next_ready(struct wf_worker *w)
{
    struct wf_task *t = w->ready_first;
    if (t == NULL || w->budget == 0) return NULL;
    w->budget--;
    w->ready_count--;
    w->ready_first = t->next_ready;
    if (w->ready_first == NULL) w->ready_last = NULL;
    return t;
}

static void run_here(struct wf_worker *w, struct wf_task *t)
{
    w->current = t;
    t->state = WF_TASK_RUNNING;
    t->ops = WF_TASK_BUDGET;
}

static void trampoline(void *arg);

/* Gives a NEW task its stack. False: there was none, and the task is over. */
static bool give_stack(struct wf_worker *w, struct wf_task *t)
{
    struct wf_stack stack;
    if (WF_UNLIKELY(wf_stack_take(w->stacks, t->stack_bytes, &stack) < 0)) {
        t->state = WF_TASK_DONE;
        w->set->hooks->task_unstarted(t);
        return false;
    }
    wf_coro_prepare(&t->coro, stack, trampoline, t);
    return true;
}

/* The next task that can run, with its stack. */
static struct wf_task *next_runnable(struct wf_worker *w)
{
    struct wf_task *t;
    while ((t = next_ready(w)) != NULL && t->state == WF_TASK_NEW && !give_stack(w, t)) {}
    return t;
}

/* Switches from the running task to the next one, or to the loop. Returns when the task is run again. */
static void suspend(struct wf_worker *w, struct wf_task *t)
{
    struct wf_task *next = next_runnable(w);
    if (next == t) {
        run_here(w, t);
        return;
    }
    if (next == NULL) {
        w->current = NULL;
        wf_coro_switch(&t->coro, &w->loop);
        return;
    }
    run_here(w, next);
    wf_coro_switch(&t->coro, &next->coro);
}

/* The running task is over. `to` was chosen before its stack goes back: else a new task might be given this very
 * stack. */
static __attribute__((noreturn)) void leave(struct wf_worker *w, struct wf_task *t, struct wf_task *next)
{
    w->leaving = t->coro;
    wf_stack_seen(&w->leaving.stack, w->leaving.sp);
    wf_stack_give(w->stacks, &w->leaving.stack);
    w->set->hooks->task_done(t);
    if (next == NULL) {
        w->current = NULL;
        wf_coro_leave(&w->leaving, &w->loop);
    }
    run_here(w, next);
    wf_coro_leave(&w->leaving, &next->coro);
}

/* The bottom of every task's stack. A task that ends hands its stack to the next new one without a switch. */
static void trampoline(void *arg)
{
    struct wf_task *t = arg;
    struct wf_worker *w = t->worker;
    for (;;) {
        w->set->hooks->task_main(t);
        t->state = WF_TASK_DONE;
        struct wf_task *next = next_ready(w);
        if (next == NULL || next->state != WF_TASK_NEW || next->stack_bytes != t->stack_bytes) {
            if (next != NULL && next->state == WF_TASK_NEW && !give_stack(w, next)) next = next_runnable(w);
            leave(w, t, next);
        }
        wf_coro_succeed(&t->coro, &next->coro);
        w->set->hooks->task_done(t);
        run_here(w, next);
        t = next;
    }
}

/* ---- Tasks ----------------------------------------------------------------------------------------------------- */

static void deadline_passed(struct wf_worker *w, struct wf_timer *timer)
{
    (void)w;
    struct wf_task *t = WF_CONTAINER(timer, struct wf_task, deadline);
    t->timed_out = true;
    wf_task_wake(t);
}

void wf_task_init(struct wf_task *t, struct wf_worker *w, size_t stack_bytes)
{
    memset(t, 0, sizeof *t);
    t->worker = w;
    t->state = WF_TASK_NEW;
    t->ops = WF_TASK_BUDGET;
    t->stack_bytes = (uint32_t)stack_bytes;
    t->latest = WEFT_FOREVER;
    t->deadline.fire = deadline_passed;
    wf_list_init(&t->owned);
}

void wf_task_start(struct wf_task *t)
{
    WF_ASSERT(t->state == WF_TASK_NEW && t->worker == wf_here);
    push_ready(t->worker, t);
}

void wf_task_wake(struct wf_task *t)
{
    if (t->state != WF_TASK_WAITING) return;
    t->state = WF_TASK_READY;
    push_ready(t->worker, t);
}

int wf_task_wait(int64_t deadline, const char *what)
{
    struct wf_worker *w = wf_here;
    struct wf_task *t = w->current;
    WF_ASSERT(t != NULL && t->state == WF_TASK_RUNNING);
    if (WF_UNLIKELY(t->cancelled)) return WEFT_ECANCELED;
    if (WF_UNLIKELY(t->latest < deadline)) deadline = t->latest;
    if (deadline != WEFT_FOREVER) {
        if (deadline <= WEFT_NOW) return WEFT_ETIMEDOUT;
        int rc = wf_timer_arm(w, &t->deadline, deadline);
        if (rc < 0) return rc;
        t->timed_out = false;
    }
    t->state = WF_TASK_WAITING;
    t->waits_for = what;
    suspend(w, t);
    t->waits_for = NULL;
    if (deadline != WEFT_FOREVER) {
        wf_timer_disarm(w, &t->deadline);
        if (t->timed_out && !t->cancelled) return WEFT_ETIMEDOUT;
    }
    return WF_UNLIKELY(t->cancelled) ? WEFT_ECANCELED : WEFT_OK;
}

int64_t wf_task_settle(int64_t result)
{
    struct wf_worker *w = wf_here;
    if (WF_UNLIKELY(w->current->killed)) w->set->hooks->task_killed(w->current);
    return result;
}

void wf_task_yield(void)
{
    struct wf_worker *w = wf_here;
    struct wf_task *t = w->current;
    if (w->ready_first == NULL && w->budget > 0) {
        w->budget--;
        t->ops = WF_TASK_BUDGET;
    } else {
        t->state = WF_TASK_READY;
        push_ready(w, t);
        suspend(w, t);
    }
    wf_task_settle(0);
}

void wf_task_cancel(struct wf_task *t)
{
    t->cancelled = true;
    wf_task_wake(t);
}

void wf_task_kill(struct wf_task *t)
{
    t->killed = true;
    wf_task_cancel(t);
}

void wf_task_exit(void)
{
    struct wf_worker *w = wf_here;
    struct wf_task *t = w->current;
    t->state = WF_TASK_DONE;
    leave(w, t, next_runnable(w));
}

void wf_task_close_owned(struct wf_task *t)
{
    struct wf_link *k;
    while ((k = wf_list_pop(&t->owned)) != NULL) {
        struct wf_owned *o = WF_CONTAINER(k, struct wf_owned, on_task);
        o->close(o);
    }
}

int wf_timer_arm(struct wf_worker *w, struct wf_timer *t, int64_t deadline)
{
    /* Never before this turn: one that arms itself in the past sorts behind all that are due, not before them. */
    t->deadline = WF_MAX(deadline, w->now);
    return wf_heap_add(&w->timers, t);
}

void wf_timer_disarm(struct wf_worker *w, struct wf_timer *t)
{
    wf_heap_remove(&w->timers, t);
}

/* ---- Between workers ------------------------------------------------------------------------------------------- */

/* Pairs with sleep_until: the push before and the ASLEEP there are sequentially consistent, so one of us sees the
 * other. */
static void wake_if_asleep(struct wf_worker *w)
{
    if (atomic_load_explicit(&w->state, memory_order_seq_cst) != WF_ASLEEP) return;
    if (atomic_exchange_explicit(&w->state, WF_RUNNING, memory_order_seq_cst) != WF_ASLEEP) return; /* another paid */
    w->set->env->poller_wake(w->poller);
}

static void push_chain(_Atomic(struct wf_post *) *to, struct wf_post *newest, struct wf_post *oldest)
{
    struct wf_post *head = atomic_load_explicit(to, memory_order_relaxed);
    do oldest->next = head; /* release below: pairs with the acquire in take_all */
    while (!atomic_compare_exchange_weak_explicit(to, &head, newest, memory_order_seq_cst, memory_order_relaxed));
}

/* All posts, oldest first. */
static struct wf_post *take_all(_Atomic(struct wf_post *) *from, uint32_t *count)
{
    *count = 0;
    if (atomic_load_explicit(from, memory_order_relaxed) == NULL) return NULL;
    struct wf_post *newest = atomic_exchange_explicit(from, NULL, memory_order_acquire), *first = NULL;
    while (newest != NULL) {
        struct wf_post *older = newest->next;
        newest->next = first;
        first = newest;
        newest = older;
        ++*count;
    }
    return first;
}

void wf_worker_post_chain(struct wf_worker *w, struct wf_post *newest, struct wf_post *oldest, uint32_t count)
{
    atomic_fetch_add_explicit(&w->inbox_count, count, memory_order_relaxed); /* a bound, orders nothing */
    push_chain(&w->inbox, newest, oldest);
    wake_if_asleep(w);
}

void wf_worker_post(struct wf_worker *w, struct wf_post *p)
{
    wf_worker_post_chain(w, p, p, 1);
}

static void flush_outbox(struct wf_worker *w, uint32_t target)
{
    struct wf_outbox *o = &w->outbox[target];
    struct wf_outbox full = *o;
    o->newest = o->oldest = NULL;
    o->count = 0;
    w->outbox_mask &= ~(UINT64_C(1) << target);
    wf_worker_post_chain(w->set->at[target], full.newest, full.oldest, full.count);
}

void wf_worker_send(struct wf_worker *w, uint32_t target, struct wf_post *p)
{
    WF_ASSERT(target < w->set->count);
    struct wf_outbox *o = &w->outbox[target];
    p->next = o->newest;
    o->newest = p;
    if (o->oldest == NULL) o->oldest = p;
    w->outbox_mask |= UINT64_C(1) << target;
    if (++o->count >= WF_OUTBOX_FLUSH) flush_outbox(w, target);
}

bool wf_worker_is_choked(const struct wf_worker *target)
{
    return atomic_load_explicit(&target->inbox_count, memory_order_relaxed) >= WF_INBOX_MAX;
}

void wf_worker_when_room(struct wf_worker *target, struct wf_call *c)
{
    push_chain(&target->room_calls, &c->post, &c->post);
    wake_if_asleep(target);
}

static void room_came_back(struct wf_worker *w, struct wf_call *c)
{
    struct wf_room_call *r = WF_CONTAINER(c, struct wf_room_call, call);
    r->under_way = false;
    struct wf_link *k;
    while ((k = wf_list_pop(&w->room[r->target])) != NULL)
        wf_task_wake(WF_CONTAINER(k, struct wf_waiter, on_source)->task);
}

static void room_at_target(struct wf_worker *target, struct wf_call *c)
{
    (void)target;
    struct wf_room_call *r = WF_CONTAINER(c, struct wf_room_call, call);
    c->call = room_came_back;
    c->post.kind = WF_POST_CALL;
    wf_worker_post(r->from, &c->post);
}

int wf_worker_wait_room(struct wf_worker *w, uint32_t target, int64_t deadline)
{
    struct wf_room_call *r = w->room_call[target];
    if (r == NULL) {
        r = w->room_call[target] = calloc(1, sizeof *r);
        if (r == NULL) return WEFT_ENOMEM;
        r->from = w;
        r->target = target;
    }
    struct wf_waiter me = {.task = w->current};
    wf_list_push(&w->room[target], &me.on_source);
    if (!r->under_way) {
        r->under_way = true;
        r->call.call = room_at_target;
        wf_worker_when_room(w->set->at[target], &r->call);
    }
    int rc = wf_task_wait(deadline, "room at a worker");
    wf_unlink(&me.on_source);
    return rc;
}

/* ---- The loop: its order is the contract of worker.h, note (3) ------------------------------------------------- */

static void fire_due_timers(struct wf_worker *w)
{
    /* Timers armed by those that fire now wait for the next turn, so a timer that arms itself cannot hold up the
     * loop. */
    struct wf_timer *t;
    uint64_t serial = w->timers.serial;
    while ((t = wf_heap_first(&w->timers)) != NULL && t->deadline <= w->now &&
           wf_heap_first_serial(&w->timers) < serial) {
        wf_heap_remove(&w->timers, t);
        w->count.timers_fired++;
        t->fire(w, t);
    }
}

static void take_call(struct wf_worker *w, struct wf_post *p)
{
    struct wf_call *c = WF_CONTAINER(p, struct wf_call, post);
    c->call(w, c);
}

static void drain_inbox(struct wf_worker *w)
{
    uint32_t count;
    for (struct wf_post *p = take_all(&w->inbox, &count), *next; p != NULL; p = next) {
        next = p->next; /* the handler owns p */
        if (p->kind == WF_POST_CALL) take_call(w, p);
        else w->set->hooks->on_post[p->kind](w, p);
    }
    if (count > 0) {
        atomic_fetch_sub_explicit(&w->inbox_count, count, memory_order_relaxed);
        w->count.posts_in += count;
    }
    for (struct wf_post *p = take_all(&w->room_calls, &count), *next; p != NULL; p = next) {
        next = p->next;
        take_call(w, p);
    }
}

static void run_ready(struct wf_worker *w)
{
    w->budget = WF_TURN_BUDGET;
    struct wf_task *t = next_runnable(w);
    if (t == NULL) return;
    run_here(w, t);
    wf_coro_switch(&w->loop, &t->coro); /* comes back when none is left or the budget is used up */
}

static void flush(struct wf_worker *w)
{
    if (w->set->hooks->flush != NULL) w->set->hooks->flush(w);
    while (w->outbox_mask != 0) flush_outbox(w, (uint32_t)__builtin_ctzll(w->outbox_mask));
}

static bool has_posts(struct wf_worker *w, memory_order order)
{
    return atomic_load_explicit(&w->inbox, order) != NULL || atomic_load_explicit(&w->room_calls, order) != NULL;
}

static void poll_until(struct wf_worker *w, int64_t deadline)
{
    struct pf_ready ready[WF_POLL_BATCH];
    struct pf_env *env = w->set->env;
    int n = env->poller_wait(w->poller, ready, WF_POLL_BATCH, deadline);
    for (int i = 0; i < n; i++) wf_fd_ready(w, &ready[i]);
}

/* Posts come within microseconds while two workers talk: then looking for them beats sleeping, which costs the
 * sleeper 6-26 us and the producer 2-12 us. Only if that was so lately, and every worker can have a core. */
static bool look_for_posts(struct wf_worker *w, int64_t until)
{
    struct pf_env *env = w->set->env;
    if (!w->set->may_look || w->idle_gap > WF_LOOK) return false;
    w->count.looks++;
    /* for people; producers treat it as RUNNING */
    atomic_store_explicit(&w->state, WF_LOOKING, memory_order_relaxed);
    do {
        for (int i = 0; i < 32; i++) {
            if (has_posts(w, memory_order_relaxed)) {
                atomic_store_explicit(&w->state, WF_RUNNING, memory_order_relaxed);
                return true;
            }
            pf_cpu_relax();
        }
    } while (env->now(env) < until);
    return false;
}

static void sleep_until(struct wf_worker *w, int64_t deadline)
{
    struct pf_env *env = w->set->env;
    struct wf_timer *first = wf_heap_first(&w->timers);
    if (first != NULL && first->deadline < deadline) deadline = first->deadline;
    int64_t idle_since = env->now(env);
    if (deadline > idle_since && !look_for_posts(w, WF_MIN(deadline, idle_since + WF_LOOK))) {
        atomic_store_explicit(&w->state, WF_ASLEEP, memory_order_seq_cst); /* pairs with wake_if_asleep */
        if (has_posts(w, memory_order_seq_cst)) {
            deadline = WEFT_NOW;
        } else {
            w->count.sleeps++;
        }
        poll_until(w, deadline);
        atomic_store_explicit(&w->state, WF_RUNNING, memory_order_seq_cst);
    } else {
        poll_until(w, WEFT_NOW);
    }
    w->last_poll = env->now(env);
    w->idle_gap = (3 * w->idle_gap + WF_MIN(w->last_poll - idle_since, 100 * WF_LOOK)) / 4;
}

void wf_worker_turn(struct wf_worker *w, int64_t deadline)
{
    struct pf_env *env = w->set->env;
    w->count.turns++;
    w->now = env->now(env);
    fire_due_timers(w); /* 1 */
    drain_inbox(w);     /* 2 */
    run_ready(w);       /* 3 */
    flush(w);           /* 4 */
    if (w->stop) return;
    if (w->ready_first == NULL && !has_posts(w, memory_order_relaxed)) { /* 5 */
        sleep_until(w, deadline);
    } else if (w->now - w->last_poll >= WF_POLL_GAP) {
        w->last_poll = w->now;
        poll_until(w, WEFT_NOW);
    }
}

/* ---- Threads --------------------------------------------------------------------------------------------------- */

static bool report_fault(const void *address)
{
    struct wf_worker *w = wf_here;
    struct wf_stack stack;
    if (w == NULL || w->current == NULL || !wf_stack_owner(w->stacks, address, &stack)) return false;
    char who[160] = "a task", line[320];
    w->set->hooks->task_describe(w->current, who, sizeof who);
    int n = snprintf(
        line, sizeof line,
        "weft: %s overflowed its stack of %u KiB; give it a larger one with weft_spawn_options.stack_bytes\n", who,
        stack.slot_bytes / 1024);
    pf_stderr(line, (size_t)WF_MIN(n, (int)sizeof line - 1));
    abort();
}

static void worker_thread(void *arg)
{
    struct wf_worker *w = arg;
    wf_here = w;
    wf_coro_adopt_thread(&w->loop);
    while (!w->stop) wf_worker_turn(w, WEFT_FOREVER);
    wf_coro_release_thread(&w->loop);
    wf_here = NULL;
}

/* After all threads have ended: what was still on its way. */
static void drop_posts(struct wf_worker *w)
{
    uint32_t count;
    for (struct wf_post *p = take_all(&w->inbox, &count), *next; p != NULL; p = next) {
        next = p->next;
        w->set->hooks->drop_post(w, p);
    }
}

static void worker_destroy(struct wf_worker *w)
{
    if (w == NULL) return;
    for (uint32_t i = 0; i < WF_WORKERS_MAX; i++) free(w->room_call[i]);
    wf_sources_finish(w);
    w->set->env->poller_destroy(w->poller);
    wf_stack_arena_destroy(w->stacks);
    wf_pool_finish(&w->pool);
    wf_heap_finish(&w->timers);
    free(w);
}

static int worker_create(struct wf_workers *set, uint32_t index)
{
    struct wf_worker *w = aligned_alloc(WF_CACHE_LINE, sizeof *w);
    if (w == NULL) return WEFT_ENOMEM;
    memset(w, 0, sizeof *w);
    set->at[index] = w;
    w->set = set;
    w->index = index;
    w->idle_gap = 100 * WF_LOOK;
    for (uint32_t i = 0; i < WF_WORKERS_MAX; i++) wf_list_init(&w->room[i]);
    wf_heap_init(&w->timers);
    wf_pool_init(&w->pool, set->depot);
    int rc = wf_stack_arena_create(&w->stacks);
    if (rc == WEFT_OK) rc = set->env->poller_create(set->env, &w->poller);
    if (rc == WEFT_OK) rc = wf_sources_init(w);
    return rc;
}

int wf_workers_init(struct wf_workers *set)
{
    WF_ASSERT(set->count >= 1 && set->count <= WF_WORKERS_MAX);
    set->may_look = set->count > 1 && (int)set->count <= pf_cpu_count();
    pf_fault_watch(report_fault);
    int rc = wf_depot_create(&set->depot);
    for (uint32_t i = 0; rc == WEFT_OK && i < set->count; i++) rc = worker_create(set, i);
    if (rc < 0) wf_workers_finish(set);
    return rc;
}

int wf_workers_start(struct wf_workers *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        char name[16];
        snprintf(name, sizeof name, "weft-%u", i);
        int rc = pf_thread_start(&set->at[i]->thread, name, worker_thread, set->at[i]);
        if (rc < 0) {
            wf_workers_stop(set);
            return rc;
        }
    }
    return WEFT_OK;
}

static void stop_here(struct wf_worker *w, struct wf_call *c)
{
    (void)c;
    w->stop = true;
}

void wf_workers_stop(struct wf_workers *set)
{
    struct wf_call stops[WF_WORKERS_MAX];
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->at[i]->thread == NULL) continue;
        stops[i] = (struct wf_call){.post = {.kind = WF_POST_CALL}, .call = stop_here};
        wf_worker_post(set->at[i], &stops[i].post);
    }
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->at[i]->thread == NULL) continue;
        pf_thread_join(set->at[i]->thread);
        set->at[i]->thread = NULL;
    }
}

void wf_workers_finish(struct wf_workers *set)
{
    /* All posts first: one that lies in a slot of one worker may be in the inbox of another. */
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->at[i] != NULL) drop_posts(set->at[i]);
    }
    for (uint32_t i = 0; i < set->count; i++) {
        worker_destroy(set->at[i]);
        set->at[i] = NULL;
    }
    wf_depot_destroy(set->depot);
    set->depot = NULL;
}

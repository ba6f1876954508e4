/* runtime/sched/task.c -- the queue of runnable tasks, switching between them. The rules are in
 * task.h. */
#include "task.h"

#include "hash.h"
#include "park.h"
#include "probe.h"

#include <string.h>

const char wf_waits_for_mail[] = "mailbox";

/* ---- The run queue --------------------------------------------------------------------------------------------- */

enum { PREFER_FRESH = 1, PREFER_READY };
enum { WORK_SHIFT = 8 }; /* 16 MiB are WF_TURN_WORK */

static struct wf_task *older(const struct wf_task *t)
{
    return t->coro.sp;
}

static void put_fresh(struct wf_worker *w, struct wf_task *before, struct wf_task *t)
{
    struct wf_task *after = before == NULL ? w->fresh_first : before->next_ready;
    t->next_ready = after;
    t->coro.sp = before;
    if (before == NULL) w->fresh_first = t;
    else before->next_ready = t;
    if (after == NULL) w->fresh_last = t;
    else after->coro.sp = t;
    w->fresh_count++;
    w->ready_count++;
}

static void take_fresh(struct wf_worker *w, struct wf_task *t)
{
    struct wf_task *before = older(t), *after = t->next_ready;
    if (before == NULL) w->fresh_first = after;
    else before->next_ready = after;
    if (after == NULL) w->fresh_last = before;
    else after->coro.sp = before;
    t->coro.sp = NULL;
    w->fresh_count--;
    w->ready_count--;
    if (w->fresh_at == t) w->fresh_at = NULL;
}

/* There are fresh tasks: see task.h, note (4). */
static __attribute__((noinline)) struct wf_task *next_of_both(struct wf_worker *w)
{
    if (w->due > 0 && w->due_run < WF_DUE_RUN && w->ready_first != NULL) {
        w->due--;
        w->due_run++;
        return wf_task_take_ready(w);
    }
    /* take_fresh for the first one: none is before it, and it has no pointer to one. */
    struct wf_task *t = w->fresh_first, *after = t->next_ready;
    WF_ASSERT(t->state == WF_TASK_NEW && older(t) == NULL);
    w->fresh_first = after;
    if (after == NULL) w->fresh_last = NULL;
    else after->coro.sp = NULL;
    w->fresh_count--;
    w->ready_count--;
    w->fresh_at = NULL; /* the children of the task that begins now stand before all other fresh tasks */
    w->begun++;
    w->due_run = 0;
    return t;
}

/* The next task to run in this turn; NULL sends the caller back to the loop. */
static inline struct wf_task *next_ready(struct wf_worker *w)
{
    if (w->ready_count == 0 || w->budget == 0) return NULL;
    w->budget--;
    return WF_UNLIKELY(w->fresh_first != NULL) ? next_of_both(w) : wf_task_take_ready(w);
}

/* Moves the oldest fresh task to the other list if it has waited too long. Returns how many it has moved. */
static uint32_t help_oldest(struct wf_worker *w)
{
    struct wf_task *t = w->fresh_last;
    if (t != w->oldest) {
        w->oldest = t;
        w->oldest_since = w->begun;
    }
    if (w->begun - w->oldest_since < WF_FRESH_RUN) return 0;
    take_fresh(w, t);
    wf_task_push_ready(w, t);
    return 1;
}

/* Due are the tasks that were ready when the last turn began, except those that have run since. The number of tasks
 * that a turn has run is known from its budget, so that nothing is counted while there are no fresh tasks. */
void wf_task_begin_turn(struct wf_worker *w)
{
    WF_ASSERT(w->current == NULL && w->fresh_count <= w->ready_count && w->budget <= w->set->turn_budget);
    uint32_t run = w->set->turn_budget - w->budget - (w->begun - w->begun_before);
    uint32_t left = w->ready_before > run ? w->ready_before - run : 0, ready = w->ready_count - w->fresh_count;
    w->due = WF_MIN(left, ready);
    w->begun_before = w->begun;
    w->budget = w->set->turn_budget;
    if (w->fresh_last != NULL) ready += help_oldest(w);
    w->ready_before = ready;
    if (WF_UNLIKELY(w->preferred != 0)) {
        w->due_run = w->preferred == PREFER_FRESH ? WF_DUE_RUN : 0;
        w->due = WF_MAX(w->due, (uint32_t)(w->preferred == PREFER_READY));
        w->preferred = 0;
    }
}

static void prefer_fresh(struct wf_worker *w, uint32_t place)
{
    struct wf_task *t = w->fresh_first;
    WF_ASSERT(place < w->fresh_count);
    while (place-- > 0) t = t->next_ready;
    take_fresh(w, t);
    put_fresh(w, NULL, t);
    w->preferred = PREFER_FRESH;
}

static void prefer_ready(struct wf_worker *w, uint32_t place)
{
    WF_ASSERT(place < w->ready_count - w->fresh_count);
    if (place > 0) {
        struct wf_task *before = w->ready_first;
        while (--place > 0) before = before->next_ready;
        struct wf_task *t = before->next_ready;
        before->next_ready = t->next_ready;
        if (w->ready_last == t) w->ready_last = before;
        t->next_ready = w->ready_first;
        w->ready_first = t;
    }
    w->preferred = PREFER_READY;
}

void wf_task_prefer(struct wf_worker *w, uint32_t place)
{
    uint32_t fresh = w->fresh_count, ready = w->ready_count - fresh, both = 2 * WF_MIN(fresh, ready);
    if (place == 0 || place >= w->ready_count) return;
    bool of_ready = place < both ? place % 2 == 1 : ready > fresh;
    uint32_t at = place < both ? place / 2 : place - both / 2;
    if (of_ready) prefer_ready(w, at);
    else prefer_fresh(w, at);
}

static void trampoline(void *arg);

/* Gives a NEW task a stack, and a parked task the contents of its stack. False: there was no stack, and the task has
 * ended or is at the end of the queue. */
static __attribute__((noinline)) bool give_stack(struct wf_worker *w, struct wf_task *t)
{
    struct wf_stack stack;
    WF_ASSERT(t->worker == w && (t->state == WF_TASK_NEW || t->state == WF_TASK_UNPARKED));
    if (t->state == WF_TASK_UNPARKED) {
        wf_task_unpark(w, t);
        return true;
    }
    if (WF_UNLIKELY(wf_stack_take(w->stacks, (size_t)t->stack_kib * 1024, &stack) < 0)) {
        t->state = WF_TASK_DONE;
        if (w->set->hooks->task_unstarted(t)) return false;
        t->state = WF_TASK_NEW;
        wf_task_push_ready(w, t);
        w->budget = 0; /* ends the turn: by the next one another task may have given a stack back */
        return false;
    }
    wf_coro_prepare(&t->coro, stack, trampoline, t);
    return true;
}

/* Called when there was no stack for a NEW task: the task to run in its place. */
static __attribute__((noinline, cold)) struct wf_task *next_after(struct wf_worker *w)
{
    struct wf_task *t;
    while ((t = next_ready(w)) != NULL && WF_UNLIKELY(t->state < WF_TASK_READY) && !give_stack(w, t)) {}
    return t;
}

/* The next task that can run, with its stack. */
static inline struct wf_task *next_with_stack(struct wf_worker *w)
{
    struct wf_task *t = next_ready(w);
    if (WF_UNLIKELY(t != NULL && t->state < WF_TASK_READY && !give_stack(w, t))) t = next_after(w);
    return t;
}

struct wf_task *wf_task_next(struct wf_worker *w)
{
    return next_with_stack(w);
}

/* Switches from the running task to the next one, or to the loop. Returns when the task is run again. */
static inline __attribute__((always_inline)) void suspend(struct wf_worker *w, struct wf_task *t)
{
    struct wf_task *next = next_with_stack(w);
    if (next == t) {
        wf_task_run_here(w, t);
        return;
    }
    if (next == NULL) {
        w->current = NULL;
        wf_coro_switch(&t->coro, &w->loop);
        return;
    }
    wf_task_run_here(w, next);
    wf_coro_switch(&t->coro, &next->coro);
}

static __attribute__((noinline)) void suspend_slowly(struct wf_worker *w, struct wf_task *t)
{
    suspend(w, t);
}

static void tell_used(struct wf_worker *w, struct wf_task *t, size_t used)
{
    if (WF_UNLIKELY(used > 0) && w->set->hooks->task_stack_used != NULL) w->set->hooks->task_stack_used(t, used);
}

/* `t` has ended, and the layer above may give its memory to another one. */
static inline void end(struct wf_worker *w, struct wf_task *t)
{
    if (WF_UNLIKELY(wf_timer_armed(&t->deadline))) wf_timer_disarm(w, &t->deadline);
    w->set->hooks->task_done(t);
}

/* The stack in w->leaving is no longer used, nor is `t`, which ran on it, if it has ended (`over`). `next` was chosen
 * before the stack is given back: otherwise `next` might get this stack, which is still in use here. */
static __attribute__((noreturn)) void leave(struct wf_worker *w, struct wf_task *t, struct wf_task *next, bool over)
{
    WF_ASSERT(w->leaving.stack.base != NULL);
    wf_stack_seen(&w->leaving.stack, w->leaving.sp);
    tell_used(w, t, wf_stack_give(w->stacks, &w->leaving.stack));
    if (over) end(w, t);
    if (next == NULL) {
        w->current = NULL;
        wf_coro_leave(&w->leaving, &w->loop);
    }
    wf_task_run_here(w, next);
    wf_coro_leave(&w->leaving, &next->coro);
}

/* The task continues without its stack. */
static inline void put_down(struct wf_worker *w, struct wf_task *t, enum wf_turn turn)
{
    if (WF_LIKELY(turn == WF_TURN_IDLE)) {
        t->state = WF_TASK_STACKLESS;
        t->waits_for = wf_waits_for_mail;
    } else {
        t->state = WF_TASK_NEW;
        wf_task_push_ready(w, t);
    }
}

/* The task's stack is given back, as `next`, NULL for the loop, cannot use it. */
static __attribute__((noreturn, noinline)) void leave_for(struct wf_worker *w, struct wf_task *t,
                                                          struct wf_task *next, bool over)
{
    w->leaving = t->coro;
    t->coro = (struct wf_coro){.sp = NULL};
    if (next != NULL && next->state < WF_TASK_READY && !give_stack(w, next)) next = wf_task_next(w);
    leave(w, t, next, over);
}

/* The first function on each stack. A task that ends, or that waits without a stack, hands its stack to the next task
 * that needs one, without a switch. */
static void trampoline(void *arg)
{
    struct wf_task *t = arg;
    struct wf_worker *w = t->worker;
    const struct wf_hooks *hooks = w->set->hooks;
    for (;;) {
        enum wf_turn turn = hooks->task_main(t);
        t = w->current; /* others may have run in its place: wf_task_give_way */
        const bool over = turn == WF_TURN_OVER;
        if (over) t->state = WF_TASK_DONE;
        else put_down(w, t, turn);
        struct wf_task *next = next_ready(w);
        if (next == NULL || next->state != WF_TASK_NEW || next->stack_kib != t->stack_kib)
            leave_for(w, t, next, over);
        tell_used(w, t, wf_coro_succeed(&t->coro, &next->coro));
        if (over) end(w, t);
        wf_task_run_here(w, next);
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
    WF_ASSERT(w != NULL && (stack_bytes + 1023) / 1024 <= UINT16_MAX);
    memset(t, 0, offsetof(struct wf_task, deadline)); /* of so few bytes that the compiler calls nothing */
    t->worker = w;
    t->state = WF_TASK_NEW;
    t->ops = WF_TASK_BUDGET;
    t->stack_kib = (uint16_t)((stack_bytes + 1023) / 1024);
    t->deadline = (struct wf_timer){.fire = deadline_passed};
    wf_list_init(&t->owned);
}

void wf_task_wake_idle(struct wf_task *t)
{
    if (WF_LIKELY(t->state == WF_TASK_STACKLESS)) {
        wf_task_wake_stackless(t->worker, t);
        return;
    }
    if (t->state != WF_TASK_IDLE && t->state != WF_TASK_PARKED) return;
    t->state = t->state == WF_TASK_IDLE ? WF_TASK_READY : WF_TASK_UNPARKED;
    wf_task_push_ready(t->worker, t);
    void (*task_woken)(struct wf_task *) = t->worker->set->hooks->task_woken;
    if (task_woken != NULL) task_woken(t);
}

void wf_waiters_wake(struct wf_list *waiters)
{
    WF_LIST_EACH(k, waiters) wf_task_wake(WF_CONTAINER(k, struct wf_waiter, on_source)->task);
}

void wf_waiters_dismiss(struct wf_list *waiters)
{
    struct wf_list_node *k;
    while ((k = wf_list_pop(waiters)) != NULL) wf_task_wake(WF_CONTAINER(k, struct wf_waiter, on_source)->task);
}

void wf_task_start(struct wf_task *t)
{
    struct wf_worker *w = t->worker;
    WF_ASSERT(t->state == WF_TASK_NEW && w == wf_here);
    put_fresh(w, w->fresh_by == w->current ? w->fresh_at : NULL, t);
    w->fresh_at = t;
    w->fresh_by = w->current;
}

static inline __attribute__((always_inline)) void record(struct wf_worker *w, uint64_t actor, weft_record_kind kind,
                                                         const char *what, int result)
{
    wf_worker_record(w, kind, actor, (uintptr_t)what, (uint32_t)result);
    if (kind == WEFT_RECORD_WAIT) WF_PROBE2(wait, actor, what); /* `kind` is a constant */
    else WF_PROBE2(wake, actor, result);
}

static inline __attribute__((always_inline)) void wait_for_wake(struct wf_worker *w, struct wf_task *t,
                                                                const char *what)
{
    t->state = WF_TASK_WAITING;
    t->waits_for = what;
    if (WF_UNLIKELY(t->handling) && w->set->hooks->task_woken != NULL) w->set->hooks->task_woken(t);
    suspend(w, t);
}

__attribute__((noinline, cold)) void wf_task_wrong_time(struct wf_task *t, const char *what, int64_t time)
{
    const struct wf_hooks *hooks = t->worker->set->hooks;
    if (hooks->wrong_time != NULL) hooks->wrong_time(t, what, time);
}

static int wait_until(struct wf_worker *w, struct wf_task *t, int64_t deadline, const char *what)
{
    if (WF_UNLIKELY(deadline < WF_CLOCK_BEGIN)) {
        if (deadline != WEFT_NOW) wf_task_wrong_time(t, what, deadline);
        return WEFT_ETIMEDOUT;
    }
    int rc = wf_timer_set(w, &t->deadline, deadline);
    if (rc < 0) return rc;
    t->timed_out = false;
    wait_for_wake(w, t, what);
    /* the timer is that of its grace period */
    if (WF_UNLIKELY(t->deadline.fire != deadline_passed)) return WEFT_ECANCELED;
    wf_timer_rest(&t->deadline); /* task.h, note (5) */
    if (t->timed_out && !t->cancelled) return WEFT_ETIMEDOUT;
    return WF_UNLIKELY(t->cancelled) ? WEFT_ECANCELED : WEFT_OK;
}

static inline __attribute__((always_inline)) int wait_for_any(struct wf_worker *w, struct wf_task *t,
                                                              int64_t deadline, const char *what)
{
    WF_ASSERT(t != NULL && t->state == WF_TASK_RUNNING);
    if (WF_UNLIKELY(t->cancelled)) return WEFT_ECANCELED;
    if (WF_UNLIKELY(t->bounded)) deadline = WF_MIN(deadline, w->set->hooks->task_latest(t));
    if (deadline != WEFT_FOREVER) return wait_until(w, t, deadline, what);
    wait_for_wake(w, t, what);
    return WF_UNLIKELY(t->cancelled) ? WEFT_ECANCELED : WEFT_OK;
}

static __attribute__((noinline)) int wait_for_any_slowly(struct wf_worker *w, struct wf_task *t, int64_t deadline,
                                                         const char *what)
{
    return wait_for_any(w, t, deadline, what);
}

static inline __attribute__((always_inline)) void wait_plainly(struct wf_worker *w, struct wf_task *t,
                                                               const char *what)
{
    t->state = WF_TASK_WAITING;
    t->waits_for = what;
    struct wf_task *next = w->ready_first;
    if (WF_UNLIKELY(next == NULL || w->fresh_first != NULL || next->state < WF_TASK_READY || !wf_task_count_run(w))) {
        suspend_slowly(w, t);
        return;
    }
    (void)wf_task_take_ready(w);
    wf_task_run_here(w, next);
    wf_coro_switch(&t->coro, &next->coro);
}

void wf_task_wait_plainly(struct wf_worker *w, struct wf_task *t, const char *what)
{
    wait_plainly(w, t, what);
}

int wf_task_wait(int64_t deadline, const char *what)
{
    struct wf_worker *w = wf_here;
    struct wf_task *t = w->current;
    int rc;
    WF_ASSERT(t != NULL && t->state == WF_TASK_RUNNING);
    const char *id = (const char *)t + w->set->hooks->task_id_at;
    const uint64_t actor = *(const uint64_t *)(const void *)id;
    record(w, actor, WEFT_RECORD_WAIT, what, 0);
    if (WF_LIKELY(deadline == WEFT_FOREVER && wf_task_is_plain(t))) {
        wait_plainly(w, t, what);
        rc = WF_UNLIKELY(t->cancelled) ? WEFT_ECANCELED : WEFT_OK;
    } else {
        rc = wait_for_any_slowly(w, t, deadline, what);
    }
    record(w, actor, WEFT_RECORD_WAKE, NULL, rc);
    return rc;
}

void wf_task_wait_for(struct wf_worker *w, struct wf_task *t, struct wf_task *next, const char *what)
{
    WF_ASSERT(next->state == WF_TASK_WAITING);
    if (WF_UNLIKELY(w->ready_count != 0 || w->budget == 0)) {
        wf_task_wake_waiting(w, next);
        wf_task_wait_plainly(w, t, what);
        return;
    }
    WF_ASSERT(t->state == WF_TASK_RUNNING);
    t->state = WF_TASK_WAITING;
    t->waits_for = what;
    w->budget--;
    wf_task_run_here(w, next);
    wf_coro_switch(&t->coro, &next->coro);
}

int wf_task_wait_quietly(int64_t deadline, const char *what)
{
    struct wf_worker *w = wf_here;
    struct wf_task *t = w->current;
    if (WF_UNLIKELY(deadline != WEFT_FOREVER || !wf_task_is_plain(t))) return wait_for_any(w, t, deadline, what);
    wf_task_wait_plainly(w, t, what);
    return WF_UNLIKELY(t->cancelled) ? WEFT_ECANCELED : WEFT_OK;
}

void wf_task_start_stackless(struct wf_task *t)
{
    WF_ASSERT(t->state == WF_TASK_NEW && t->worker == wf_here);
    t->state = WF_TASK_STACKLESS;
    t->waits_for = wf_waits_for_mail;
}

int64_t wf_task_finish_wait(int64_t result)
{
    struct wf_worker *w = wf_here;
    struct wf_task *t = w->current;
    /* Waits that end at once, because the task is cancelled or the deadline has passed, count as operations, so that
     * a loop of them cannot block the worker. */
    if (result <= 0 && WF_UNLIKELY(--t->ops == 0)) wf_task_yield();
    if (WF_UNLIKELY(t->killed)) w->set->hooks->task_killed(t);
    return result;
}

void wf_task_end_turn(struct wf_task *t)
{
    WF_ASSERT(t->worker == wf_here && t->worker->current == t && t->ops > 0);
    t->worker->budget = 0;
    t->ops = 1;
}

void wf_task_charge_large(struct wf_task *t, size_t bytes)
{
    struct wf_worker *w = t->worker;
    uint32_t ops = (uint32_t)WF_MIN(bytes >> WF_TASK_BYTES_SHIFT, (size_t)UINT32_MAX);
    WF_ASSERT(w == wf_here && w->current == t && t->ops > 0);
    t->ops = ops < t->ops ? t->ops - ops : 1; /* the next operation yields */
    wf_task_charge_work(t, (uint32_t)WF_MIN(bytes >> WORK_SHIFT, (size_t)WF_TURN_WORK));
}

static __attribute__((noinline)) void yield_slowly(struct wf_worker *w, struct wf_task *t)
{
    if (w->ready_count == 0 && w->budget > 0) {
        w->budget--;
        t->ops = WF_TASK_BUDGET;
        return;
    }
    t->state = WF_TASK_READY;
    wf_task_push_ready(w, t);
    suspend(w, t);
}

void wf_task_yield(void)
{
    struct wf_worker *w = wf_here;
    struct wf_task *t = w->current, *next = w->ready_first;
    if (WF_UNLIKELY(next == NULL || w->fresh_first != NULL || next->state < WF_TASK_READY || !wf_task_count_run(w))) {
        yield_slowly(w, t);
    } else { /* one task comes into the queue, and one leaves it */
        t->state = WF_TASK_READY;
        t->next_ready = NULL;
        w->ready_last->next_ready = t;
        w->ready_last = t;
        w->ready_first = wf_task_fetch_stack(w, next->next_ready);
        wf_task_run_here(w, next);
        wf_coro_switch(&t->coro, &next->coro);
    }
    if (WF_UNLIKELY(t->killed)) t->worker->set->hooks->task_killed(t); /* `w` needs no register over the switch */
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

static void grace_over(struct wf_worker *w, struct wf_timer *timer)
{
    (void)w;
    wf_task_kill(WF_CONTAINER(timer, struct wf_task, deadline));
}

/* The timer of the deadline is free for this: a cancelled task waits no more. */
int wf_task_grace(struct wf_task *t, int64_t deadline)
{
    wf_timer_disarm(t->worker, &t->deadline);
    t->deadline.fire = grace_over;
    return wf_timer_arm(t->worker, &t->deadline, deadline);
}

int64_t wf_task_end_grace(struct wf_task *t)
{
    if (WF_LIKELY(t->deadline.fire != grace_over)) return WEFT_FOREVER;
    t->deadline.fire = deadline_passed;
    if (!wf_timer_armed(&t->deadline)) return WEFT_FOREVER;
    wf_timer_disarm(t->worker, &t->deadline);
    return t->deadline.deadline;
}

void wf_task_exit(void)
{
    struct wf_worker *w = wf_here;
    struct wf_task *t = w->current;
    WF_ASSERT(t != NULL && t->state == WF_TASK_RUNNING);
    WF_ASSERT(wf_list_empty(&t->owned)); /* its resources were closed on its own stack */
    t->state = WF_TASK_DONE;
    struct wf_task *next = wf_task_next(w);
    w->leaving = t->coro;
    leave(w, t, next, true);
}

bool wf_task_close_owned(struct wf_task *t)
{
    struct wf_list_node *k = wf_list_pop(&t->owned);
    if (k == NULL) return false;
    struct wf_owned *o = WF_CONTAINER(k, struct wf_owned, on_task);
    o->close(o);
    return true;
}

int wf_owned_name(struct wf_task *t, struct wf_owned_handle *h, uint64_t id)
{
    struct wf_hash_table *table = &t->worker->handles;
    uint32_t hash = (uint32_t)wf_mix(id);
    WF_ASSERT(id != 0);
    if (h->id != 0) wf_hash_table_move(table, &h->by_id, hash);
    else if (!wf_hash_table_add(table, &h->by_id, hash)) return WEFT_ENOMEM;
    h->task = t;
    h->id = id;
    return WEFT_OK;
}

void wf_owned_leave(struct wf_owned_handle *h)
{
    wf_unlink(&h->owned.on_task);
    if (h->id != 0) wf_hash_table_remove(&h->task->worker->handles, &h->by_id);
    h->id = 0;
}

struct wf_owned_handle *wf_owned_find(void (*close)(struct wf_owned *o), uint64_t id)
{
    const struct wf_task *t = wf_task_self();
    if (t == NULL) return NULL;
    WF_HASHED_WITH(e, &t->worker->handles, (uint32_t)wf_mix(id))
    {
        struct wf_owned_handle *h = WF_CONTAINER(e, struct wf_owned_handle, by_id);
        if (h->id == id && h->owned.close == close && h->task == t) return h;
    }
    return NULL;
}

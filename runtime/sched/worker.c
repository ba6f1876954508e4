/* runtime/sched/worker.c -- the loop, the queue of runnable tasks, and what passes between workers. The rules are in
 * worker.h. */
#include "file.h"
#include "log.h"
#include "offload.h"
#include "stuck.h"
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DUMPED = 64 };     /* events shown after a fault */
enum { TRIM_TURNS = 16 }; /* after which a busy worker, too, sees to free stacks */

_Thread_local struct wf_worker *wf_here __attribute__((tls_model("initial-exec")));

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

static inline void take_one(struct wf_worker *w, struct wf_post *p)
{
    if (p->kind == WF_POST_CALL) take_call(w, p);
    else w->set->hooks->on_post[p->kind](w, p);
}

/* Gives the block back. */
static void for_each_in(struct wf_worker *w, struct wf_bundle *b,
                        void (*each)(struct wf_worker *w, struct wf_post *p))
{
    enum { AHEAD = 6 };
    for (uint32_t i = 0; i < b->post.word && i < AHEAD; i++) __builtin_prefetch(b->at[i], 1);
    for (uint32_t i = 0; i < b->post.word; i++) {
        if (i + AHEAD < b->post.word) __builtin_prefetch(b->at[i + AHEAD], 1);
        each(w, b->at[i]);
    }
    wf_pool_give(&w->pool, b->post.block_class, b);
}

static void drain_inbox(struct wf_worker *w)
{
    uint32_t count = 0;
    for (struct wf_post *p = wf_posts_take(&w->inbox), *next; p != NULL; p = next) {
        next = p->next; /* the handler owns p */
        if (p->kind == WF_POST_BUNDLE) {
            count += p->word;
            for_each_in(w, WF_CONTAINER(p, struct wf_bundle, post), take_one);
        } else {
            count++;
            take_one(w, p);
        }
    }
    if (count > 0) {
        atomic_fetch_sub_explicit(&w->inbox_count, count, memory_order_relaxed);
        w->count.posts_in += count;
    }
    for (struct wf_post *p = wf_posts_take(&w->room_calls), *next; p != NULL; p = next) {
        next = p->next;
        take_call(w, p);
    }
}

static void run_ready(struct wf_worker *w)
{
    wf_task_begin_turn(w);
    struct wf_task *t = wf_task_next(w);
    if (t == NULL) return;
    wf_task_run_here(w, t);
    wf_coro_switch(&w->loop, &t->coro); /* comes back when none is left or the budget is used up */
}

static void flush(struct wf_worker *w)
{
    if (w->set->hooks->flush != NULL) w->set->hooks->flush(w);
    while (w->outbox_mask != 0) wf_outbox_flush(w, (uint32_t)__builtin_ctzll(w->outbox_mask));
}

static bool has_posts(const struct wf_worker *w, memory_order order)
{
    return atomic_load_explicit(&w->inbox, order) != NULL || atomic_load_explicit(&w->room_calls, order) != NULL;
}

bool wf_worker_is_at_rest(const struct wf_worker *w)
{
    /* Relaxed: what other threads post is heard sooner or later; what this one does, at once. */
    return w->ready_count == 0 && w->outbox_mask == 0 && !has_posts(w, memory_order_relaxed);
}

/* ---- How long a turn is: stuck.h ------------------------------------------------------------------------------- */

static int64_t began_at(const struct wf_worker *w)
{
    return atomic_load_explicit(&w->pace.began, memory_order_relaxed);
}

static __attribute__((noinline)) void next_window(struct wf_pace *p, int64_t now)
{
    bool beside = now - atomic_load_explicit(&p->window, memory_order_relaxed) < 2 * WF_PACE_WINDOW;
    int64_t before = beside ? atomic_load_explicit(&p->longest[0], memory_order_relaxed) : 0;
    atomic_store_explicit(&p->longest[1], before, memory_order_relaxed);
    atomic_store_explicit(&p->longest[0], 0, memory_order_relaxed);
    atomic_store_explicit(&p->window, now, memory_order_relaxed);
}

static inline void turn_over(struct wf_worker *w, int64_t now)
{
    struct wf_pace *p = &w->pace;
    int64_t began = began_at(w), ns = now - began;
    int bits = 64 - __builtin_clzll((unsigned long long)ns | 1);
    _Atomic uint64_t *turns =
        &p->turns[WF_MIN(WF_MAX(bits, WF_TURN_BITS_MIN), WF_TURN_BITS_MAX + 1) - WF_TURN_BITS_MIN];
    atomic_store_explicit(turns, atomic_load_explicit(turns, memory_order_relaxed) + 1, memory_order_relaxed);
    atomic_store_explicit(&p->busy, atomic_load_explicit(&p->busy, memory_order_relaxed) + ns, memory_order_release);
    if (WF_UNLIKELY(now - atomic_load_explicit(&p->window, memory_order_relaxed) >= WF_PACE_WINDOW))
        next_window(p, now);
    if (ns > atomic_load_explicit(&p->longest[0], memory_order_relaxed))
        atomic_store_explicit(&p->longest[0], ns, memory_order_relaxed);
    if (WF_UNLIKELY(atomic_load_explicit(&p->seen, memory_order_relaxed) == began)) wf_stuck_over(w, began, now);
}

static inline void turn_begins(struct wf_worker *w, int64_t now)
{
    if (!w->woke) {
        if (began_at(w) != 0) turn_over(w, now);
        else wf_stuck_awake(w, now); /* its first one */
        atomic_store_explicit(&w->pace.began, now, memory_order_release);
    }
    w->woke = false;
}

static void rests(struct wf_worker *w, int64_t now)
{
    if (began_at(w) != 0) turn_over(w, now);
    atomic_store_explicit(&w->pace.began, 0, memory_order_release);
}

static void awakes(struct wf_worker *w)
{
    w->last_poll = w->set->env->now(w->set->env);
    w->woke = true;
    atomic_store_explicit(&w->pace.began, w->last_poll, memory_order_release);
    wf_stuck_awake(w, w->last_poll);
}

static void poll_until(struct wf_worker *w, int64_t deadline)
{
    struct pf_ready ready[WF_POLL_BATCH];
    struct pf_env *env = w->set->env;
    int n = env->poller_wait(w->poller, ready, WF_POLL_BATCH, deadline);
    const bool slept = began_at(w) == 0;
    if (slept) awakes(w);
    /* Awake, before anything is posted here because of what is ready: nobody need wake us for that. */
    if (atomic_load_explicit(&w->state, memory_order_relaxed) != WF_RUNNING)
        atomic_store_explicit(&w->state, WF_RUNNING, memory_order_seq_cst);
    wf_fds_ready(w, ready, n);
    if (slept) atomic_store_explicit(&w->pace.polled, w->last_poll, memory_order_relaxed);
}

/* Whether looking is worth it: if posts came that soon lately. Two workers that talk to each other and both sleep
 * never see that: each measures the other's waking up. So one that is woken often enough looks now and then in any
 * case. */
static bool may_look(const struct wf_worker *w)
{
    return w->set->may_look && w->index < w->set->users &&
           (w->idle_gap <= WF_LOOK || (w->idle_gap <= WF_LOOK_TRIAL && w->count.sleeps % WF_LOOK_TRIALS == 0));
}

/* Posts come within microseconds while two workers talk: then looking for them beats sleeping, which costs the
 * sleeper 6-26 us and the producer 2-12 us. Only if every worker can have a core. Most come before the first look at
 * the clock. */
static bool look_for_posts(struct wf_worker *w, int64_t deadline)
{
    struct pf_env *env = w->set->env;
    if (!may_look(w) || deadline <= w->now) return false;
    w->count.looks++;
    int64_t until = 0;
    do {
        for (int i = 0; i < 64; i++) {
            if (has_posts(w, memory_order_relaxed)) {
                w->idle_gap -= w->idle_gap / 2;
                return true;
            }
            pf_cpu_relax();
        }
        if (until == 0) until = WF_MIN(deadline, env->now(env) + WF_LOOK);
    } while (env->now(env) < until);
    return false;
}

static void sleep_until(struct wf_worker *w, int64_t deadline)
{
    struct pf_env *env = w->set->env;
    int64_t idle_since = env->now(env);
    atomic_store_explicit(&w->state, WF_ASLEEP, memory_order_seq_cst); /* pairs with wake_if_asleep */
    if (has_posts(w, memory_order_seq_cst)) deadline = WEFT_NOW;
    else w->count.sleeps++;
    rests(w, idle_since);
    poll_until(w, deadline);
    w->idle_gap = (3 * w->idle_gap + WF_MIN(w->last_poll - idle_since, 100 * WF_LOOK)) / 4;
}

void wf_worker_turn(struct wf_worker *w, int64_t deadline)
{
    struct pf_env *env = w->set->env;
    w->count.turns++;
    w->now = env->now(env);
    turn_begins(w, w->now);
    if (WF_UNLIKELY(w->is_own)) wf_stuck_look(w);
    fire_due_timers(w); /* 1 */
    drain_inbox(w);     /* 2 */
    run_ready(w);       /* 3 */
    flush(w);           /* 4 */
    if (w->stop) return;
    struct wf_timer *first = wf_heap_first(&w->timers); /* 5 */
    if (first != NULL && first->deadline < deadline) deadline = first->deadline;
    if (WF_UNLIKELY(w->is_own)) deadline = WF_MIN(deadline, wf_stuck_rings_at(w));
    bool idle = w->ready_count == 0 && !has_posts(w, memory_order_relaxed);
    if ((idle || w->count.turns % TRIM_TURNS == 0) && wf_stack_trim_free(w->stacks) && idle) deadline = WEFT_NOW;
    if (idle && !look_for_posts(w, deadline)) {
        sleep_until(w, deadline);
    } else if (w->now - w->last_poll >= WF_POLL_GAP) {
        w->last_poll = w->now;
        poll_until(w, WEFT_NOW);
        atomic_store_explicit(&w->pace.polled, w->now, memory_order_relaxed);
    }
}

/* See embed.h. Whoever posts from the store on wakes the poller; who posted before is seen by the look after it. */
static int64_t leave_asleep(struct wf_worker *w)
{
    struct pf_env *env = w->set->env;
    struct wf_timer *first = wf_heap_first(&w->timers);
    int64_t next = first == NULL ? WEFT_FOREVER : first->deadline;
    bool more = w->ready_count > 0 || wf_stack_trim_free(w->stacks);
    atomic_store_explicit(&w->state, WF_ASLEEP, memory_order_seq_cst); /* pairs with wake_if_asleep */
    rests(w, env->now(env));
    if (more || has_posts(w, memory_order_seq_cst) || next <= w->now) {
        env->poller_wake(w->poller);
        return WEFT_NOW;
    }
    WF_ASSERT(env->poller_alarm(w->poller, next) == WEFT_OK);
    return next;
}

int64_t wf_worker_visit(struct wf_worker *w, int64_t deadline)
{
    struct pf_env *env = w->set->env;
    struct wf_timer *first = wf_heap_first(&w->timers);
    if (first != NULL && first->deadline < deadline) deadline = first->deadline;
    if (!wf_worker_is_at_rest(w)) deadline = WEFT_NOW;
    else if (deadline > WEFT_NOW) w->count.sleeps++;
    poll_until(w, deadline);
    w->count.turns++;
    w->now = w->last_poll = env->now(env);
    turn_begins(w, w->now);
    fire_due_timers(w);
    drain_inbox(w);
    run_ready(w);
    flush(w);
    return leave_asleep(w);
}

/* ---- Threads --------------------------------------------------------------------------------------------------- */

enum { WHO = 160, FRAMES = 16, FRAME_MAX = 1 << 30 };

/* Somebody, perhaps on another worker, has used a stack that is closed: see stack.h, note (6). */
static bool find_parked(const struct wf_worker *w, const void *address, char whose[WHO])
{
    struct wf_stack stack;
    if (w->set->hooks->parked_describe == NULL) return false;
    for (uint32_t i = 0; i < w->set->count; i++) {
        const struct wf_worker *other = w->set->at[i];
        if (wf_stack_slot(other->stacks, address, &stack))
            return w->set->hooks->parked_describe(other, stack.base, whose, WHO);
    }
    return false;
}

/* By the thread that ends the process: said who it was, printed its records. */
static _Atomic bool ending, dumped;

static void last_words(void)
{
    if (!dumped) wf_record_dump(wf_here, DUMPED);
    dumped = true;
}

/* Its stack pointer, or the address, lies below its stack. A frame that is larger than the guard moves the pointer
 * into another stack, or under all of them. A pointer that is far off is that of a stack of the
 * program's own. */
static bool overflowed(const struct wf_task *t, const struct pf_fault *f)
{
    const struct wf_stack *s = &t->coro.stack;
    if (!f->is_access || s->base == NULL) return false;
    uintptr_t low = (uintptr_t)wf_stack_low(s), at = (uintptr_t)f->address;
    if (at >= (uintptr_t)s->base && at < low) return true;
    return f->sp != 0 && f->sp < low && low - f->sp < (uintptr_t)FRAME_MAX;
}

/* Async-signal-safe as far as snprintf and dladdr are in practice: none of them takes memory. */
static void print_frames(const struct pf_fault *f)
{
    uintptr_t at[FRAMES];
    int count = pf_fault_frames(f, at, FRAMES);
    for (int i = 0; i < count; i++) {
        char line[sizeof(struct pf_code) + 64];
        struct pf_code code;
        if (!pf_code_at(at[i], &code)) continue;
        int n = code.symbol[0] != 0
                    ? snprintf(line, sizeof line, "weft:   in %s at %s+0x%zx\n", code.symbol, code.file,
                               (size_t)code.offset)
                    : snprintf(line, sizeof line, "weft:   at %s+0x%zx\n", code.file, (size_t)code.offset);
        pf_stderr(line, (size_t)WF_MIN(n, (int)sizeof line - 1));
    }
}

/* A crash that is the program's own. */
static void report_crash(const struct pf_fault *f, const char *who)
{
    char line[WHO + 160], at[64] = "";
    if (f->is_access) snprintf(at, sizeof at, " at address %#zx", (size_t)(uintptr_t)f->address);
    int n = snprintf(line, sizeof line, "weft: %s%s in %s\n", f->signal, at, who);
    pf_stderr(line, (size_t)WF_MIN(n, (int)sizeof line - 1));
    print_frames(f);
    last_words();
}

static bool report_fault(const struct pf_fault *f)
{
    struct wf_worker *w = wf_here;
    char who[WHO] = "a thread that runs no actor", whose[WHO], line[2 * WHO + 160];
    int n;
    if (w != NULL) snprintf(who, sizeof who, "a timer or a delivery of worker %u", (unsigned)w->index);
    if (w != NULL && w->current != NULL) w->set->hooks->task_describe(w->current, who, sizeof who);
    if (w != NULL && w->current != NULL && overflowed(w->current, f)) {
        n = snprintf(line, sizeof line,
                     "weft: %s overflowed its stack of %zu KiB; give it a larger one with "
                     "weft_spawn_options.stack_bytes\n",
                     who, wf_stack_bytes(&w->current->coro.stack) / 1024);
    } else if (w != NULL && f->is_access && find_parked(w, f->address, whose)) {
        n = snprintf(line, sizeof line,
                     "weft: %s used the stack of %s, which waits and is parked; to share it, give that one "
                     "weft_spawn_options.shares_stack\n",
                     who, whose);
    } else {
        if (f->fatal && !ending) report_crash(f, who);
        return false;
    }
    ending = true;
    pf_stderr(line, (size_t)WF_MIN(n, (int)sizeof line - 1));
    print_frames(f);
    last_words();
    abort();
}

static void worker_thread(void *arg)
{
    struct wf_worker *w = arg;
    wf_here = w;
    wf_coro_adopt_thread(&w->loop);
    pf_glimpse_allow();
    while (!w->stop) wf_worker_turn(w, WEFT_FOREVER);
    rests(w, w->now);
    wf_files_drain(w);
    wf_coro_release_thread(&w->loop);
    wf_here = NULL;
}

/* After all threads have ended: what was still on its way. */
static void drop_posts(struct wf_worker *w)
{
    for (struct wf_post *p = wf_posts_take(&w->inbox), *next; p != NULL; p = next) {
        next = p->next;
        if (p->kind == WF_POST_BUNDLE)
            for_each_in(w, WF_CONTAINER(p, struct wf_bundle, post), w->set->hooks->drop_post);
        else w->set->hooks->drop_post(w, p);
    }
}

static void worker_destroy(struct wf_worker *w)
{
    if (w == NULL) return;
    for (uint32_t i = 0; i < WF_WORKERS_MAX; i++) free(w->room_call[i]);
    free(w->outbox);
    wf_sources_finish(w);
    w->set->env->poller_destroy(w->poller);
    wf_stack_arena_destroy(w->stacks);
    wf_pool_finish(&w->pool);
    wf_heap_finish(&w->timers);
    wf_recorder_finish(&w->recorder);
    pf_aligned_free(w);
}

static int worker_create(struct wf_workers *set, uint32_t index)
{
    struct wf_worker *w = pf_aligned_alloc(WF_CACHE_LINE, sizeof *w);
    if (w == NULL) return WEFT_ENOMEM;
    memset(w, 0, sizeof *w);
    set->at[index] = w;
    w->set = set;
    w->index = index;
    w->is_own = index >= set->users;
    w->unrecorded = set->record_sends ? UINT32_MAX : index;
    w->idle_gap = 100 * WF_LOOK;
    for (uint32_t i = 0; i < WF_WORKERS_MAX; i++) wf_list_init(&w->room[i]);
    wf_list_init(&w->children);
    wf_heap_init(&w->timers);
    wf_pool_init(&w->pool, set->depot);
    w->outbox = calloc(set->count, sizeof *w->outbox);
    int rc = w->outbox == NULL ? WEFT_ENOMEM : wf_stack_arena_create(&w->stacks);
    if (rc == WEFT_OK) rc = set->env->poller_create(set->env, &w->poller);
    if (rc == WEFT_OK) rc = wf_sources_init(w);
    /* Its descriptor is there from the beginning. A poller that has no alarms is woken instead: stuck.c. */
    if (rc == WEFT_OK && w->is_own && set->env->poller_alarm(w->poller, WEFT_FOREVER - 1) == WEFT_OK)
        rc = set->env->poller_alarm(w->poller, WEFT_FOREVER);
    if (rc == WEFT_OK) rc = wf_recorder_init(&w->recorder, set->record_events);
    return rc;
}

int wf_workers_init(struct wf_workers *set)
{
    if (set->users == 0) set->users = set->count;
    WF_ASSERT(set->users >= 1 && set->users <= set->count && set->count <= WF_WORKERS_MAX);
    set->may_look = set->users > 1 && (int)set->users <= pf_cpu_count();
    if (set->turn_budget == 0) set->turn_budget = WF_TURN_BUDGET;
    atomic_store_explicit(&wf_last_words, last_words, memory_order_release);
    pf_fault_watch(report_fault);
    int rc = wf_depot_create(&set->depot);
    if (rc == WEFT_OK) rc = wf_offload_create(&set->offload, set->blocking_threads, set->blocking_queue);
    if (rc == WEFT_OK) rc = wf_stuck_init(set);
    for (uint32_t i = 0; rc == WEFT_OK && i < set->count; i++) rc = worker_create(set, i);
    if (rc < 0) wf_workers_finish(set);
    return rc;
}

int wf_workers_start(struct wf_workers *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        char name[16];
        if (i < set->users) snprintf(name, sizeof name, "weft-%u", i);
        else snprintf(name, sizeof name, "weft-own");
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

static void stop_from(struct wf_workers *set, uint32_t first, uint32_t end)
{
    struct wf_call stops[WF_WORKERS_MAX];
    for (uint32_t i = first; i < end; i++) {
        if (set->at[i]->thread == NULL) continue;
        stops[i] = (struct wf_call){.post = {.kind = WF_POST_CALL}, .call = stop_here};
        wf_worker_post(set->at[i], &stops[i].post);
    }
    for (uint32_t i = first; i < end; i++) {
        if (set->at[i]->thread == NULL) continue;
        pf_thread_join(set->at[i]->thread);
        set->at[i]->thread = NULL;
    }
}

void wf_workers_stop(struct wf_workers *set)
{
    stop_from(set, set->users, set->count); /* it may be glimpsing at the others' threads */
    stop_from(set, 0, set->users);
}

void wf_workers_finish(struct wf_workers *set)
{
    /* Of a worker without a thread of its own; the others have seen to it. */
    if (set->count == 1 && set->at[0] != NULL) wf_files_drain(set->at[0]);
    wf_offload_destroy(set->offload);
    set->offload = NULL;
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
    wf_stuck_finish(set);
    pf_standard_drain();
}

/* actors/run/actor_life.c -- the life of an actor: spawn, run, end. The rules are in actor.h. */
#include "actor_life.h"

#include "busy.h"
#include "end.h"
#include "handler.h"
#include "local.h"
#include "mailbox.h"
#include "park.h"
#include "placement.h"
#include "stopping.h"

#include <weft/monitor.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAILBOX_DEFAULT = 65536 };

/* ---- What a worker keeps --------------------------------------------------------------------------------------- */

static int init_feature(struct wf_actors *wa, const struct wf_feature *f)
{
    WF_ASSERT(f->worker_bytes == 0 || (f->slot != 0 && wa->slots[f->slot] == NULL));
    if (f->worker_bytes > 0 && (wa->slots[f->slot] = calloc(1, f->worker_bytes)) == NULL) return WEFT_ENOMEM;
    return f->worker_init == NULL ? WEFT_OK : f->worker_init(wa);
}

int wf_actors_init(weft_node *node, struct wf_worker *w)
{
    struct wf_actors *wa = wf_actors_of(w);
    WF_ASSERT(wa->node == NULL && node->workers.users > 0);
    wa->node = node;
    wa->worker = w;
    wa->last_ref = (uint64_t)w->index << 56;
    wa->secret = node->secret;
    wa->mail_bytes_max = WF_MIN(node->options.mailbox_bytes_max, (size_t)PTRDIFF_MAX) / node->workers.users;
    wa->spare_bytes = (int64_t)wa->mail_bytes_max - 1;
    wf_mail_timer_init(&wa->timer, w->index);
    wf_list_init(&wa->short_of_bytes);
    wf_sweep_init(wa, node->options.park_after);
    wf_slab_init(&wa->slab, sizeof(struct wf_actor), node->options.actors_max, wa->worker->index);
    int rc = pf_mutex_create(&wa->lock);
    if (node->options.actors_max >= WF_SPARES_FROM) wa->spare.max = WF_COUNT(wa->spare.at);
    WF_FEATURES_EACH(f, node)
    {
        if (rc == WEFT_OK) rc = init_feature(wa, *f);
    }
    return rc;
}

void wf_actors_finish(struct wf_worker *w)
{
    struct wf_actors *wa = wf_actors_of(w);
    if (wa->node == NULL) return; /* it was not begun */
    WF_ASSERT(wa->worker == w && wf_node_of(w) == wa->node);
    wf_sweep_finish(wa);
    wf_kinds_finish(&wa->kinds);
    wf_owed_settle(w);
    WF_FEATURES_EACH(f, wa->node)
    {
        bool has_slot = (*f)->worker_bytes == 0 || wa->slots[(*f)->slot] != NULL;
        if (has_slot && (*f)->worker_finish != NULL) (*f)->worker_finish(w);
        free(wa->slots[(*f)->slot]);
        wa->slots[(*f)->slot] = NULL;
    }
    wf_remains_finish(w);
    wf_slab_finish(&wa->slab);
    pf_mutex_destroy(wa->lock);
    wa->node = NULL;
}

/* The node counts only workers that have actors, and spawns under way between workers, so most spawns touch no shared
 * memory. */
static inline void enlist(struct wf_actors *wa, struct wf_actor *a)
{
    if (WF_UNLIKELY(!wa->sweep.restless)) wf_sweep_wanted(wa);
    a->listed = true;
    if (wa->alive[a->service]++ == 0) wf_node_busy(wa->node, a->service, 1);
}

/* ---- What few actors have -------------------------------------------------------------------------------------- */

void wf_actor_free_arg(struct wf_actor *a, struct wf_worker *w)
{
    if (!a->in_place && a->arg != NULL)
        wf_pool_give(w == NULL ? NULL : &w->pool, a->handles ? WF_POOL_LARGE : wf_pool_class(a->arg_size), a->arg);
    a->arg = NULL;
    a->handles = a->in_place = false;
}

/* ---- Spawn ----------------------------------------------------------------------------------------------------- */

/* `from`: the calling worker, or NULL. NULL: there is no slot, and `*why` is WEFT_EFULL or WEFT_ENOMEM. */
static __attribute__((noinline)) struct wf_actor *reserve_slot(struct wf_actors *wa, const struct wf_worker *from,
                                                               int *why)
{
    struct wf_spare_slots *s = &wa->spare;
    pf_mutex_lock(wa->lock);
    struct wf_actor *a = wf_slab_reserve(&wa->slab);
    if (wa->worker == from) {
        while (s->count < WF_MIN(s->max, WF_SPARES_TAKEN) && (s->at[s->count] = wf_slab_reserve(&wa->slab)) != NULL)
            s->count++;
    }
    *why = wa->slab.used == wa->slab.used_max ? WEFT_EFULL : WEFT_ENOMEM;
    pf_mutex_unlock(wa->lock);
    return a;
}

/* The same without a lock. NULL: reserve_slot has to look. */
static inline struct wf_actor *take_spare(struct wf_actors *wa, const struct wf_worker *from)
{
    struct wf_spare_slots *s = &wa->spare;
    return WF_UNLIKELY(wa->worker != from || s->count == 0) ? NULL : s->at[--s->count];
}

static __attribute__((noinline)) void give_slot_back(struct wf_actors *wa, const struct wf_worker *from,
                                                     struct wf_actor *a)
{
    struct wf_spare_slots *s = &wa->spare;
    pf_mutex_lock(wa->lock);
    wf_slab_give(&wa->slab, a);
    if (wa->worker == from)
        while (s->count > s->max / 2) wf_slab_give(&wa->slab, s->at[--s->count]);
    pf_mutex_unlock(wa->lock);
}

static inline void give_slot(struct wf_actors *wa, const struct wf_worker *from, struct wf_actor *a)
{
    struct wf_spare_slots *s = &wa->spare;
    if (WF_LIKELY(wa->worker == from && s->count < s->max && wf_slab_withdraw(a))) s->at[s->count++] = a;
    else give_slot_back(wa, from, a);
}

/* A handler need not run before its first message, but that may have come already. */
static inline void start_task(struct wf_actor *a)
{
    if (WF_UNLIKELY(a->handles) && !wf_mailbox_ready(&a->task) && !a->task.cancelled) {
        a->task.wants_mail = WF_MAIL_WAKE;
        wf_task_start_stackless(&a->task);
    } else {
        wf_task_start(&a->task);
    }
}

static void start_here(struct wf_worker *w, struct wf_call *c)
{
    struct wf_actor *a = WF_CONTAINER(c, struct wf_actor, task.start);
    WF_ASSERT(a->task.worker == w);
    a->task.coro = (struct wf_coro){.sp = NULL};
    enlist(wf_actors_of(w), a);
    wf_node_busy(wf_node_of(w), a->service, -1); /* it is no longer under way */
    start_task(a);
    if (atomic_load_explicit(&wf_node_of(w)->stopping, memory_order_relaxed) && !a->service)
        wf_actor_cancel(a, WEFT_EXIT_STOPPED, NULL);
}

/* Makes the actor's own copy of the argument. */
static inline __attribute__((always_inline)) int copy_arg(struct wf_actor *a, struct wf_worker *from,
                                                          const struct wf_birth *b)
{
    a->arg = NULL;
    a->arg_size = (uint32_t)b->size;
    if (WF_UNLIKELY(b->handle != NULL)) return wf_handler_init(a, b->handle, b->arg, b->size);
    a->body = b->body;
    if (b->size == 0) return WEFT_OK;
    a->arg = wf_pool_take(from == NULL ? NULL : &from->pool, wf_pool_class(b->size), b->size);
    if (a->arg == NULL) return WEFT_ENOMEM;
    memcpy(a->arg, b->arg, b->size);
    return WEFT_OK;
}

static inline void clear(struct wf_actor *a, size_t from, size_t to)
{
    memset((char *)a + from, 0, to - from);
}

static inline __attribute__((always_inline)) int init_actor(struct wf_actor *a, struct wf_worker *w,
                                                            struct wf_worker *from, const struct wf_birth *b,
                                                            const weft_spawn_options *o)
{
    /* Senders with a stale pid may be looking: see wf_actor_is_full. */
    atomic_store_explicit(&a->full, false, memory_order_relaxed);
    clear(a, offsetof(struct wf_actor, listed), offsetof(struct wf_actor, mail));
    /* In two parts, as compilers set up to 64 bytes with a few stores, and more with a slow loop. */
    clear(a, offsetof(struct wf_actor, mail), offsetof(struct wf_actor, gone));
    clear(a, offsetof(struct wf_actor, gone), offsetof(struct wf_actor, sent_to));
    a->dropped = 0;
    a->reason = 0;
    a->more = NULL;
    if (copy_arg(a, from, b) < 0) return WEFT_ENOMEM;
    a->id = wf_slot_id_reserved(&a->slot);
    a->sent_to = a;
    a->kind = o->kind == NULL ? "actor" : o->kind;
    a->mailbox_max = o->mailbox_max == 0 ? MAILBOX_DEFAULT : WF_MIN(o->mailbox_max, (uint32_t)INT32_MAX);
    a->spare_places = (int32_t)a->mailbox_max - 1;
    /* Never 0: an empty mailbox takes one message in any case. */
    const size_t bytes = WF_MAX(wf_actors_of(w)->mail_bytes_max, 1);
    a->mailbox_bytes_max = o->mailbox_bytes == 0 ? bytes : WF_MIN(o->mailbox_bytes, bytes);
    a->spare_bytes = (int64_t)a->mailbox_bytes_max - 1;
    atomic_store_explicit(&a->policy, (uint8_t)o->policy, memory_order_relaxed);
    atomic_store_explicit(&a->service, b->service, memory_order_relaxed);
    if (WF_UNLIKELY(b->lasts)) a->lasts = true;
    size_t stack_bytes = o->stack_bytes == 0 ? w->set->stack_bytes : o->stack_bytes;
    /* weft's own functions expect the default at least. */
    if (WF_UNLIKELY(b->service) && o->stack_bytes == 0) stack_bytes = WF_MAX(stack_bytes, (size_t)WF_STACK_BYTES);
    wf_task_init(&a->task, w, stack_bytes);
    if (WF_UNLIKELY(o->shares_stack)) a->task.shares_stack = true;
    return WEFT_OK;
}

static int tie_to_parent(struct wf_actor *a, const weft_spawn_options *o)
{
    int rc = WEFT_OK;
    WF_ASSERT(!a->listed); /* the monitor or link must exist before the actor runs */
    if (wf_actor_self() == NULL) return WEFT_ENOTACTOR;
    WF_FEATURES_EACH(f, wf_node_of(a->task.worker))
    {
        if (rc == WEFT_OK && (*f)->actor_birth != NULL) rc = (*f)->actor_birth(a, o);
    }
    return rc;
}

/* Whether it has one of the options that few spawns use. */
static inline bool has_more(const struct wf_birth *b)
{
    const weft_spawn_options *o = b->options;
    return b->keep != NULL || (o != NULL && (o->link || o->monitor != NULL || o->skipped_max != 0));
}

static int init_more(struct wf_actor *a, struct wf_worker *from, struct wf_kept_actor *keep,
                     const weft_spawn_options *o)
{
    if (o->skipped_max != 0) {
        struct wf_backlog *b = wf_backlog_from(a, from);
        if (b == NULL) return WEFT_ENOMEM;
        b->skipped_max = o->skipped_max;
    }
    if (keep != NULL) {
        if (wf_actor_more_from(a, from) == NULL) return WEFT_ENOMEM;
        a->more->keep = keep;
    }
    return o->link || o->monitor != NULL ? tie_to_parent(a, o) : WEFT_OK;
}

static inline bool has_wrong_options(const weft_node *node, const weft_spawn_options *o)
{
    return o->stack_bytes > WF_STACK_BYTES_MAX || o->worker < WEFT_BESIDE || o->worker > (int)node->workers.users ||
           (unsigned)o->policy > WEFT_FULL_FAIL;
}

static __attribute__((noinline, cold)) int wrong_birth(const weft_node *node, const struct wf_birth *b,
                                                       const weft_spawn_options *o)
{
    if (b->body == NULL && b->handle == NULL)
        return wf_wrong(WEFT_EINVAL, "weft_spawn: there is no function: it is NULL");
    if (b->size > WF_SPAWN_ARG_MAX)
        return wf_wrong(WEFT_EINVAL, "weft_spawn: an argument of %zu bytes is larger than %d: give a pointer to it",
                        b->size, WF_SPAWN_ARG_MAX);
    if (b->arg == NULL && b->size > 0)
        return wf_wrong(WEFT_EINVAL, "weft_spawn: the argument is NULL, but its size is %zu", b->size);
    if (o->stack_bytes > WF_STACK_BYTES_MAX)
        return wf_wrong(WEFT_EINVAL, "weft_spawn: a stack of %zu bytes is larger than %d", o->stack_bytes,
                        WF_STACK_BYTES_MAX);
    if ((unsigned)o->policy > WEFT_FULL_FAIL)
        return wf_wrong(WEFT_EINVAL, "weft_spawn: %d is no weft_full_policy", (int)o->policy);
    return wf_wrong(WEFT_EINVAL, "weft_spawn: there is no worker %d: this node has 1 to %u", o->worker,
                    node->workers.users);
}

/* Gives the actor to its worker, which is not the calling one. */
static __attribute__((noinline)) void start_there(weft_node *node, struct wf_worker *from, struct wf_actor *a,
                                                  bool at_once)
{
    struct wf_worker *w = a->task.worker;
    wf_node_busy(node, a->service, 1);
    if (from == NULL) {
        wf_worker_post(w, &a->task.start.post);
        return;
    }
    wf_worker_send(from, w->index, &a->task.start.post);
    if (at_once && from->batches[w->index].count > 0) wf_post_batch_flush(from, w->index);
}

/* Each caller has a copy of its own, in which what it does not need is left out: that saves a tenth of a spawn. */
static inline __attribute__((always_inline)) int give_birth(weft_node *node, struct wf_worker *from, weft_pid *out,
                                                            const struct wf_birth *b)
{
    static const weft_spawn_options defaults;
    const weft_spawn_options *o = b->options == NULL ? &defaults : b->options;
    if (WF_UNLIKELY((b->body == NULL && b->handle == NULL) || b->size > WF_SPAWN_ARG_MAX ||
                    (b->arg == NULL && b->size > 0) || (b->options != NULL && has_wrong_options(node, o)))) {
        const struct wf_birth wrong = *b; /* so that `b` itself need not be in memory */
        return wrong_birth(node, &wrong, o);
    }
    if (WF_UNLIKELY(atomic_load_explicit(&node->stopping, memory_order_relaxed) && !b->service))
        return WEFT_ECANCELED;
    bool at_once = false;
    struct wf_worker *w = b->service ? wf_workers_own(&node->workers) : wf_place(node, from, o->worker, &at_once);
    struct wf_actors *wa = wf_actors_of(w);
    struct wf_actor *a = take_spare(wa, from);
    if (WF_UNLIKELY(a == NULL)) {
        int why;
        a = reserve_slot(wa, from, &why);
        if (a == NULL) return why;
    }
    int rc = init_actor(a, w, from, b, o);
    if (rc == WEFT_OK && WF_UNLIKELY(has_more(b))) rc = init_more(a, from, b->keep, o);
    if (WF_UNLIKELY(rc < 0)) {
        if (a->more != NULL) wf_actor_more_free(a, from);
        wf_actor_free_arg(a, from);
        give_slot(wa, from, a);
        return rc;
    }
    if (w != from) a->task.start = (struct wf_call){.post = {.kind = WF_POST_CALL}, .call = start_here};
    uint64_t parent = from == NULL || from->current == NULL ? 0 : wf_actor_of(from->current)->id;
    if (parent != 0) wf_worker_record(from, WEFT_RECORD_SPAWN, parent, a->id, 0);
    WF_PROBE2(spawn, a->id, parent);
    wf_slab_publish(a); /* only now, when it is complete: another node may have guessed this pid */
    if (out != NULL) *out = (weft_pid){node->incarnation, a->id};
    if (WF_UNLIKELY(w != from)) {
        start_there(node, from, a, at_once);
        return WEFT_OK;
    }
    enlist(wa, a);
    start_task(a);
    return WEFT_OK;
}

int wf_actor_birth(weft_node *node, struct wf_worker *from, weft_pid *out, const struct wf_birth *b)
{
    return give_birth(node, from, out, b);
}

int wf_actor_spawn(weft_node *node, struct wf_worker *from, weft_pid *out, weft_actor *body, const void *arg,
                   size_t size, const weft_spawn_options *options, bool service)
{
    struct wf_birth b = {.body = body, .arg = arg, .size = size, .options = options, .service = service};
    return wf_actor_birth(node, from, out, &b);
}

int wf_actor_spawn_kept(struct wf_worker *from, struct wf_kept_actor *keep, weft_pid *out, weft_actor *body,
                        const void *arg, size_t size, const weft_spawn_options *options)
{
    WF_ASSERT(keep != NULL);
    struct wf_birth b = {.body = body, .arg = arg, .size = size, .options = options, .keep = keep};
    return wf_actor_birth(wf_node_of(from), from, out, &b);
}

static __attribute__((noinline)) int spawn_as_told(struct wf_actor *self, weft_pid *out, weft_actor *body,
                                                   const void *arg, size_t size, const weft_spawn_options *options)
{
    struct wf_worker *w = self->task.worker;
    return wf_actor_spawn(wf_node_of(w), w, out, body, arg, size, options, self->service);
}

int weft_spawn(weft_pid *out, weft_actor *body, const void *arg, size_t size, const weft_spawn_options *options)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    wf_task_tick(&self->task);
    if (options != NULL) return spawn_as_told(self, out, body, arg, size, options);
    struct wf_worker *w = self->task.worker;
    /* Without options: so the compiler knows all of them, and tests none. */
    const struct wf_birth b = {.body = body, .arg = arg, .size = size, .service = self->service};
    return give_birth(wf_node_of(w), w, out, &b);
}

/* ---- Run ------------------------------------------------------------------------------------------------------- */

/* Moves the argument to `copy`, which has space for it. */
static __attribute__((noinline)) void move_arg(struct wf_actor *a, void *copy)
{
    memcpy(copy, a->arg, a->arg_size);
    wf_actor_free_arg(a, a->task.worker);
}

/* Returns the argument, which is freed after the body's own clean-ups. NULL: there is no memory. */
static __attribute__((noinline)) void *keep_large_arg(struct wf_actor *a)
{
    void *arg = a->arg;
    a->arg = NULL;
    if (weft_defer(free, arg) == WEFT_OK) return arg; /* every block comes from malloc */
    weft_log(WEFT_ERROR, "no memory for the clean-ups of actor %s: it ends without having run", a->kind);
    a->reason = WEFT_ENOMEM;
    return NULL;
}

/* wf_actor_end is called in the same frame as the body, as clean-ups may use the body's argument. */
__attribute__((noinline)) enum wf_turn wf_actor_main(struct wf_task *t)
{
    struct wf_actor *a = wf_actor_of(t);
    if (WF_UNLIKELY(t->killed || a->handles)) {
        if (!a->handles) wf_actor_free_arg(a, t->worker);
    } else if (a->arg_size == 0) {
        a->body(NULL, 0);
    } else if (a->arg_size <= 512) {
        /* The actor's own copy is on its stack, so it is put aside with the stack when the actor is parked. Most
         * arguments are small. */
        char *copy = __builtin_alloca(a->arg_size);
        move_arg(a, copy);
        a->body(copy, a->arg_size);
    } else {
        void *arg = keep_large_arg(a);
        if (arg != NULL) a->body(arg, a->arg_size);
    }
    while (WF_UNLIKELY(a->handing) && !t->killed) wf_node_of(t->worker)->features.goes_on(a);
    if (WF_UNLIKELY(a->handles) && !t->cancelled) return wf_handler_turn(a); /* it has become a handler */
    if (WF_UNLIKELY(t->killed)) a->reason = WEFT_EXIT_KILLED;
    wf_actor_end(a);
    return WF_TURN_OVER;
}

enum wf_turn wf_actor_turn(struct wf_task *t)
{
    struct wf_actor *a = wf_actor_of(t);
    return a->handles ? wf_handler_turn(a) : wf_actor_main(t);
}

/* The last use of the actor: its slot is given back, and its pid is stale from here on. */
void wf_actor_done(struct wf_task *t)
{
    struct wf_actor *a = wf_actor_of(t);
    struct wf_actors *wa = wf_actors_of(t->worker);
    if (WF_UNLIKELY(a->more != NULL)) {
        if (a->more->keep != NULL) return;
        wf_actor_more_free(a, t->worker);
    }
    WF_ASSERT(a->mail.first == NULL && a->signals.first == NULL && a->held == NULL);
    const bool service = a->service;
    a->listed = false;
    wa->received += wf_actor_received(a);
    if (WF_UNLIKELY(service) && wa->node->route != NULL) wa->node->route->service_ended(wa->node, a->id);
    give_slot(wa, wa->worker, a);
    if (--wa->alive[service] == 0) wf_node_busy(wa->node, service, -1);
}

void wf_actor_restart(struct wf_actor *a, void *arg, size_t size)
{
    WF_ASSERT(wf_actor_keep(a) != NULL && a->listed);
    struct wf_worker *w = a->task.worker;
    WF_ASSERT(a->task.state == WF_TASK_DONE && a->held == NULL && !wf_has_clean_ups(a) && a->asking == NULL);
    a->arg = arg;
    a->arg_size = (uint32_t)size;
    a->cleaning = a->wants_space = a->space_news = a->traps_stop = a->stop_asked = a->told_ready = false;
    a->traps_exits = a->traps_reload = a->handing = false;
    a->reason = WEFT_EXIT_NORMAL;
    struct wf_actor_more *more = a->more;
    if (more->backlog != NULL) more->backlog->scanned = NULL;
    if (more->end != NULL) wf_body_drop(w, more->end);
    more->end = NULL;
    bool shares_stack = a->task.shares_stack;
    wf_task_init(&a->task, w, (size_t)a->task.stack_kib * 1024);
    wf_actor_set_slow_path(a);
    a->task.shares_stack = shares_stack;
    wf_task_start(&a->task);
}

void wf_actor_end_kept(struct wf_actor *a)
{
    WF_ASSERT(wf_actor_keep(a) == NULL && a->task.state == WF_TASK_DONE);
    wf_actor_leave(a);
    wf_actor_end_tail(a);
    wf_actor_done(&a->task);
}

/* Returns false for a handler: it needs a stack to end on, so it waits for one. */
bool wf_actor_unstarted(struct wf_task *t)
{
    struct wf_actor *a = wf_actor_of(t);
    if (a->handles) return false;
    WF_ASSERT(!a->cleaning && t->worker == wf_here);
    weft_log(WEFT_ERROR,
             "no memory for the stack of actor %s: it ends without having run; "
             "if there is memory, a limit of address space (ulimit -v) is too low",
             a->kind);
    wf_actor_free_arg(a, t->worker);
    wf_run_defers(a); /* only weft's own: its body never ran */
    (void)wf_task_end_grace(t);
    a->reason = WEFT_ENOMEM;
    wf_actor_end_tail(a);
    wf_actor_done(t);
    return true;
}

/* ---- Small calls ----------------------------------------------------------------------------------------------- */

weft_pid weft_self(void)
{
    struct wf_actor *self = wf_actor_self();
    return self == NULL ? weft_nobody() : wf_actor_pid(self);
}

weft_node *weft_here(void)
{
    struct wf_actor *self = wf_actor_self();
    return self == NULL ? NULL : wf_node_of(self->task.worker);
}

int weft_yield(void)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (WF_UNLIKELY(self->task.bounded)) (void)wf_actor_latest(&self->task); /* a clean-up may yield without end */
    wf_task_yield();
    return self->task.cancelled ? WEFT_ECANCELED : WEFT_OK;
}

int weft_sleep(int64_t deadline)
{
    if (wf_actor_self() == NULL) return WEFT_ENOTACTOR;
    int rc;
    while ((rc = wf_task_wait(deadline, wf_waits_for_time)) == WEFT_OK) {} /* a wake may come too early */
    return (int)wf_task_finish_wait(rc == WEFT_ETIMEDOUT ? WEFT_OK : rc);
}

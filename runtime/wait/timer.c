/* runtime/wait/timer.c -- see timer.h. */
#include "timer.h"

#include "wait.h"

#include <weft/timer.h>

struct wf_user_timer *wf_user_timer_find(struct wf_task *t, uint64_t id)
{
    if (id == 0 || wf_id_worker(id) != t->worker->index) return NULL;
    struct wf_user_timer *u = wf_slab_find(&t->worker->user_timers, id);
    return u != NULL && u->task == t ? u : NULL;
}

/* Counts the periods that have ended and arms the timer for the next one. Deadlines are sums of `first` and whole
 * periods, so they do not drift. */
static void fire(struct wf_worker *w, struct wf_timer *t)
{
    struct wf_user_timer *u = WF_CONTAINER(t, struct wf_user_timer, timer);
    WF_ASSERT(u->task != NULL && u->task->worker == w);
    int64_t late = w->now > u->due ? w->now - u->due : 0;
    int64_t passed = u->period > 0 ? late / u->period + 1 : 1;
    u->fired += passed;
    int64_t step;
    if (u->period > 0 && !__builtin_mul_overflow(passed, u->period, &step) &&
        !__builtin_add_overflow(u->due, step, &u->due)) {
        int rc = wf_timer_arm(w, t, u->due);
        WF_ASSERT(rc == 0); /* the timer has just left the heap, so there is space for it */
    }
    wf_waiters_wake(&u->waiters);
}

static void close_timer(struct wf_user_timer *u)
{
    WF_ASSERT(u->task != NULL);
    struct wf_worker *w = u->task->worker;
    wf_timer_disarm(w, &u->timer);
    wf_unlink(&u->owned.on_task);
    wf_waiters_dismiss(&u->waiters);
    u->task = NULL;
    wf_slab_give(&w->user_timers, u);
}

static void close_owned(struct wf_owned *o)
{
    close_timer(WF_CONTAINER(o, struct wf_user_timer, owned));
}

static int set(struct wf_user_timer *u, int64_t first, int64_t period, const char *call)
{
    if (WF_UNLIKELY(wf_is_span(first))) wf_task_wrong_time(u->task, call, first);
    if (WF_UNLIKELY(wf_is_point(period))) wf_task_wrong_time(u->task, call, period);
    u->due = first > WEFT_NOW ? first : weft_now();
    u->period = period;
    u->fired = 0;
    return first == WEFT_FOREVER ? 0 : wf_timer_arm(u->task->worker, &u->timer, u->due);
}

int weft_timer_open(weft_timer *out, int64_t first, int64_t period)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || period < 0) return WEFT_EINVAL;
    struct wf_worker *w = t->worker;
    struct wf_user_timer *u = wf_slab_take(&w->user_timers);
    if (u == NULL) return WEFT_ENOMEM;
    u->task = t;
    u->timer = (struct wf_timer){.fire = fire};
    u->owned = (struct wf_owned){.close = close_owned};
    wf_list_init(&u->waiters);
    if (set(u, first, period, "weft_timer_open") < 0) {
        wf_slab_give(&w->user_timers, u);
        return WEFT_ENOMEM;
    }
    wf_list_push(&t->owned, &u->owned.on_task);
    out->id = wf_slot_id(&u->slot);
    return 0;
}

int weft_timer_set(weft_timer timer, int64_t first, int64_t period)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (period < 0) return WEFT_EINVAL;
    struct wf_user_timer *u = wf_user_timer_find(t, timer.id);
    if (u == NULL) return WEFT_ECLOSED;
    wf_timer_disarm(t->worker, &u->timer);
    return set(u, first, period, "weft_timer_set");
}

int64_t weft_timer_take(weft_timer timer)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    struct wf_user_timer *u = wf_user_timer_find(t, timer.id);
    if (u == NULL) return WEFT_ECLOSED;
    int64_t fired = u->fired;
    u->fired = 0;
    return fired;
}

int64_t weft_timer_await(weft_timer timer, int64_t deadline)
{
    const weft_wait fired = weft_on_timer(timer);
    int rc = weft_wait_any(&fired, 1, deadline);
    return rc < 0 ? rc : weft_timer_take(timer);
}

int64_t weft_timer_next(weft_timer timer)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    struct wf_user_timer *u = wf_user_timer_find(t, timer.id);
    if (u == NULL) return WEFT_ECLOSED;
    return wf_timer_armed(&u->timer) ? u->due : WEFT_FOREVER;
}

int weft_timer_close(weft_timer timer)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    struct wf_user_timer *u = wf_user_timer_find(t, timer.id);
    if (u == NULL) return WEFT_ECLOSED;
    close_timer(u);
    return 0;
}

/* ---- Waiting --------------------------------------------------------------------------------------------------- */

struct wait_state {
    struct wf_user_timer *timer;
    struct wf_waiter waiter;
};

weft_wait weft_on_timer(weft_timer t)
{
    return (weft_wait){.kind = WF_ON_TIMER, .fd = -1, .id = t.id};
}

static int wait_open(struct wf_wait *s, const weft_wait *from)
{
    struct wait_state *k = WF_WAIT_STATE_OF(struct wait_state, s);
    *k = (struct wait_state){.timer = wf_user_timer_find(s->task, from->id), .waiter = {.task = s->task}};
    return k->timer == NULL ? WEFT_ECLOSED : 0;
}

static int wait_look(struct wf_wait *s)
{
    return WF_WAIT_STATE_OF(struct wait_state, s)->timer->fired > 0;
}

static int wait_attach(struct wf_wait *s, struct wf_wait *first)
{
    struct wait_state *k = WF_WAIT_STATE_OF(struct wait_state, s);
    (void)first;
    wf_list_push(&k->timer->waiters, &k->waiter.on_source);
    return 0;
}

static void wait_close(struct wf_wait *s)
{
    wf_unlink(&WF_WAIT_STATE_OF(struct wait_state, s)->waiter.on_source);
}

static const struct wf_wait_kind wait_kind = {.number = WF_ON_TIMER,
                                              .name = "timer",
                                              .open = wait_open,
                                              .look = wait_look,
                                              .attach = wait_attach,
                                              .close = wait_close};

/* ---- The part of each worker ------------------------------------------------------------------------------------- */

static int part_begin(struct wf_worker *w)
{
    wf_slab_init(&w->user_timers, sizeof(struct wf_user_timer), WF_SLAB_MAX, w->index);
    return WEFT_OK;
}

static void part_end(struct wf_worker *w)
{
    wf_slab_finish(&w->user_timers);
}

static const struct wf_wait_kind *const wait_kinds[] = {&wait_kind, NULL};
const struct wf_part wf_timer_part = {.worker_begin = part_begin, .worker_end = part_end, .wait_kinds = wait_kinds};

#include "socket.h"

#include <stdlib.h>

enum { USER = 1 << 8 };
static const uint64_t OWNER_MASK = 0xFF, USERS_MASK = 0xFFFFFF00;

static struct wf_slab *slab_of(struct wf_worker *w, enum wf_socket_kind kind)
{
    return kind == WF_STREAM ? &w->streams : kind == WF_UDP ? &w->datagrams : &w->listeners;
}

static uint32_t generation_of(uint64_t state)
{
    return (uint32_t)(state >> 32);
}

struct wf_socket *wf_socket_open(struct wf_worker *w, enum wf_socket_kind kind, pf_handle h,
                                 void (*finish)(struct wf_socket *))
{
    struct wf_socket *s = wf_slab_take(slab_of(w, kind));
    if (s == NULL) return NULL;
    s->kind = (uint8_t)kind;
    s->handle = h;
    s->fd = NULL;
    s->user[0] = s->user[1] = NULL;
    s->home = w;
    s->finish = finish;
    uint64_t generation = atomic_load_explicit(&s->slot.generation, memory_order_relaxed);
    /* Release: pairs with the acquire in enter. */
    atomic_store_explicit(&s->state, generation << 32 | w->index, memory_order_release);
    return s;
}

/* The slot of an id, whatever life it is in. */
static struct wf_socket *slot_of(struct wf_worker *w, enum wf_socket_kind kind, uint64_t id)
{
    if (id == 0 || wf_id_worker(id) >= w->set->count) return NULL;
    return wf_slab_at(slab_of(w->set->at[wf_id_worker(id)], kind), wf_id_slot(id));
}

static void adopt(struct wf_socket *s)
{
    if (s->fd != NULL) wf_fd_abandon(s->fd);
    s->fd = NULL;
}

int wf_socket_enter(struct wf_worker *w, enum wf_socket_kind kind, uint64_t id, struct wf_socket **out)
{
    struct wf_socket *s = slot_of(w, kind, id);
    if (s == NULL) return WEFT_ECLOSED;
    uint64_t state = atomic_load_explicit(&s->state, memory_order_relaxed), next;
    do {
        if (generation_of(state) != wf_id_generation(id) || generation_of(state) == 0) return WEFT_ECLOSED;
        if ((state & OWNER_MASK) != w->index && (state & USERS_MASK) != 0) return WEFT_EBUSY;
        next = ((state & ~OWNER_MASK) | w->index) + USER;
        /* Acquire: pairs with the release of open and of the last leave. */
    } while (
        !atomic_compare_exchange_weak_explicit(&s->state, &state, next, memory_order_acquire, memory_order_relaxed));
    if ((state & OWNER_MASK) != w->index) adopt(s);
    *out = s;
    return 0;
}

static void give_slot(struct wf_worker *w, struct wf_call *c)
{
    struct wf_socket *s = WF_CONTAINER(c, struct wf_socket, call);
    WF_ASSERT(s->home == w);
    wf_slab_give(slab_of(w, s->kind), s);
}

static void destroy(struct wf_socket *s)
{
    if (s->fd != NULL) wf_fd_remove(s->fd);
    s->fd = NULL;
    s->finish(s);
    s->finish = NULL;
    s->handle = PF_NO_HANDLE;
    s->call = (struct wf_call){.post = {.kind = WF_POST_CALL, .block_class = WF_POOL_LARGE}, .call = give_slot};
    if (s->home == wf_here) give_slot(s->home, &s->call);
    else wf_worker_send(wf_here, s->home->index, &s->call.post);
}

void wf_socket_leave(struct wf_socket *s)
{
    /* Release: what this call did is seen by the next to enter. Acquire: the last to leave a closed socket sees what
     * all did. */
    uint64_t before = atomic_fetch_sub_explicit(&s->state, USER, memory_order_acq_rel);
    WF_ASSERT((before & USERS_MASK) != 0);
    if (generation_of(before) == 0 && (before & USERS_MASK) == USER) destroy(s);
}

int wf_socket_begin(struct wf_task *t, enum wf_socket_kind kind, uint64_t id, bool for_write, struct wf_socket **out)
{
    struct wf_socket *s;
    int rc = wf_socket_enter(t->worker, kind, id, &s);
    if (rc < 0) return rc;
    if (s->user[for_write] != NULL && s->user[for_write] != t) {
        wf_socket_leave(s);
        return WEFT_EBUSY;
    }
    rc = s->user[for_write] == t;
    s->user[for_write] = t;
    *out = s;
    return rc;
}

void wf_socket_end(struct wf_socket *s, bool for_write)
{
    s->user[for_write] = NULL;
    wf_socket_leave(s);
}

bool wf_socket_worth(const struct wf_socket *s, bool for_write)
{
    return s->fd == NULL || s->fd->side[for_write].readiness != WF_NOT_READY;
}

void wf_socket_stuck(struct wf_socket *s, bool for_write)
{
    if (s->fd != NULL) s->fd->side[for_write].readiness = WF_NOT_READY;
}

void wf_socket_moved(struct wf_socket *s, bool for_write, bool emptied)
{
    if (s->fd == NULL) return;
    bool sure = emptied && !s->fd->hangup;
    s->fd->side[for_write].readiness = sure ? WF_NOT_READY : WF_MAYBE_READY;
}

void wf_socket_doubt(struct wf_socket *s, bool for_write)
{
    if (!wf_socket_worth(s, for_write)) s->fd->side[for_write].readiness = WF_MAYBE_READY;
}

int wf_socket_look(struct wf_socket *s, bool for_write)
{
    if (wf_socket_closed(s)) return WEFT_ECLOSED;
    return s->fd != NULL ? wf_fd_look(s->fd, for_write) : pf_is_ready(s->handle, for_write);
}

int wf_socket_attach(struct wf_socket *s, bool for_write, struct wf_waiter *waiter)
{
    if (s->fd == NULL) {
        int rc = wf_fd_add(wf_here, s->handle, &s->fd);
        if (rc < 0) return rc;
        /* The caller has just been told that it would have to wait; what came since is reported as an edge. */
        s->fd->side[for_write].readiness = WF_NOT_READY;
    }
    int rc = wf_fd_arm(s->fd, for_write);
    if (rc < 0) return rc;
    wf_list_push(&s->fd->side[for_write].waiters, &waiter->on_source);
    return 0;
}

int wf_socket_wait(struct wf_socket *s, struct wf_task *t, bool for_write, int64_t deadline, const char *what)
{
    if (wf_socket_closed(s)) return WEFT_ECLOSED;
    if (deadline == WEFT_NOW) return t->cancelled ? WEFT_ECANCELED : WEFT_ETIMEDOUT;
    struct wf_waiter waiter = {.task = t};
    int rc = wf_socket_attach(s, for_write, &waiter);
    if (rc < 0) return rc;
    while (!wf_socket_worth(s, for_write)) {
        rc = wf_task_wait(deadline, what);
        if (wf_socket_closed(s)) rc = WEFT_ECLOSED;
        if (rc < 0) break;
    }
    wf_unlink(&waiter.on_source);
    if (rc == WEFT_ETIMEDOUT && wf_socket_worth(s, for_write)) rc = 0; /* both came in one turn */
    return rc;
}

static void wake_both(struct wf_socket *s)
{
    if (s->fd == NULL) return;
    for (int i = 0; i < 2; i++) wf_waiters_wake(&s->fd->side[i].waiters);
}

static void owner_closes(struct wf_worker *w, struct wf_call *c)
{
    (void)w;
    struct wf_socket *s = WF_CONTAINER(c, struct wf_socket, call);
    wake_both(s);
    wf_socket_leave(s);
}

int wf_socket_close(struct wf_worker *w, enum wf_socket_kind kind, uint64_t id)
{
    struct wf_socket *s = slot_of(w, kind, id);
    if (s == NULL) return WEFT_ECLOSED;
    uint64_t state = atomic_load_explicit(&s->state, memory_order_relaxed), next;
    bool foreign;
    do {
        if (generation_of(state) != wf_id_generation(id) || generation_of(state) == 0) return WEFT_ECLOSED;
        foreign = (state & OWNER_MASK) != w->index && (state & USERS_MASK) != 0;
        uint64_t owner = foreign ? state & OWNER_MASK : w->index;
        next = ((state & USERS_MASK) | owner) + USER; /* generation 0 */
        /* As in enter. */
    } while (
        !atomic_compare_exchange_weak_explicit(&s->state, &state, next, memory_order_acquire, memory_order_relaxed));
    if (foreign) {
        s->call = (struct wf_call){.post = {.kind = WF_POST_CALL, .block_class = WF_POOL_LARGE},
                                   .call = owner_closes};
        wf_worker_send(w, (uint32_t)(state & OWNER_MASK), &s->call.post);
        return 0;
    }
    if ((state & OWNER_MASK) != w->index) adopt(s);
    wake_both(s);
    wf_socket_leave(s);
    return 0;
}

struct deferred {
    struct wf_owned owned;
    enum wf_socket_kind kind;
    uint64_t id;
};

static void close_deferred(struct wf_owned *o)
{
    struct deferred *d = WF_CONTAINER(o, struct deferred, owned);
    (void)wf_socket_close(wf_here, d->kind, d->id);
    free(d);
}

int wf_socket_defer_close(enum wf_socket_kind kind, uint64_t id)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    struct deferred *d = malloc(sizeof *d);
    if (d == NULL) {
        (void)wf_socket_close(t->worker, kind, id);
        return WEFT_ENOMEM;
    }
    *d = (struct deferred){.owned = {.close = close_deferred}, .kind = kind, .id = id};
    wf_list_push(&t->owned, &d->owned.on_task);
    return WEFT_OK;
}

void wf_socket_finish_all(struct wf_worker *w, enum wf_socket_kind kind)
{
    struct wf_slab *slab = slab_of(w, kind);
    for (uint32_t i = 0; i < slab->chunk_count * WF_SLAB_CHUNK; i++) {
        struct wf_socket *s = wf_slab_at(slab, i);
        if (s->finish != NULL) s->finish(s);
        s->finish = NULL;
    }
}

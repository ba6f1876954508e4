/* runtime/io/socket.c -- see socket.h. */
#include "socket.h"

#include <stdlib.h>

struct wf_socket *wf_socket_open(struct wf_worker *w, enum wf_socket_kind kind, pf_handle h,
                                 void (*finish)(struct wf_socket *))
{
    struct wf_socket *s = wf_slab_take(wf_socket_slab(w, kind));
    if (s == NULL) return NULL;
    s->kind = (uint8_t)kind;
    s->handle = h;
    s->fd = NULL;
    s->user[0] = s->user[1] = NULL;
    s->home = w;
    s->finish = finish;
    s->places = NULL;
    uint64_t generation = wf_id_generation(wf_slot_id(&s->slot));
    /* Release: pairs with the acquire in enter. */
    atomic_store_explicit(&s->state, generation << 32 | w->index, memory_order_release);
    return s;
}

/* The slot of an id, whatever its generation. */
static struct wf_socket *slot_of(const struct wf_worker *w, enum wf_socket_kind kind, uint64_t id)
{
    const struct wf_workers *set = w->set;
    if (id == 0 || wf_id_worker(id) >= set->count) return NULL;
    return wf_slab_at(wf_socket_slab(set->at[wf_id_worker(id)], kind), wf_id_slot(id));
}

/* The new owner takes the handle from the old one's poller. */
static void adopt(struct wf_socket *s)
{
    if (s->fd != NULL) wf_fd_abandon(s->fd);
    s->fd = NULL;
}

int wf_socket_enter_any(struct wf_worker *w, enum wf_socket_kind kind, uint64_t id, struct wf_socket **out)
{
    struct wf_socket *s = slot_of(w, kind, id);
    if (s == NULL) return WEFT_ECLOSED;
    uint64_t state = atomic_load_explicit(&s->state, memory_order_relaxed), next;
    do {
        if (wf_id_generation(state) != wf_id_generation(id) || wf_id_generation(state) == 0) return WEFT_ECLOSED;
        if ((state & WF_SOCKET_OWNER) != w->index && (state & WF_SOCKET_USERS) != 0) return WEFT_EBUSY;
        next = ((state & ~WF_SOCKET_OWNER) | w->index) + WF_SOCKET_USER;
        /* Acquire: as in wf_socket_enter. */
    } while (
        !atomic_compare_exchange_weak_explicit(&s->state, &state, next, memory_order_acquire, memory_order_relaxed));
    wf_tsan_acquire(&s->state);
    if ((state & WF_SOCKET_OWNER) != w->index) adopt(s);
    *out = s;
    return 0;
}

static void give_slot(struct wf_worker *w, struct wf_call *c)
{
    struct wf_socket *s = WF_CONTAINER(c, struct wf_socket, call);
    WF_ASSERT(s->home == w);
    wf_slab_give(wf_socket_slab(w, s->kind), s);
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

/* The last to leave a closed socket ends it. */
void wf_socket_leave_closed(struct wf_socket *s, uint64_t before)
{
    wf_tsan_acquire(&s->state);
    if ((before & WF_SOCKET_USERS) == WF_SOCKET_USER) destroy(s);
}

void wf_socket_recheck(struct wf_socket *s, bool for_write)
{
    if (!wf_socket_worth(s, for_write)) s->fd->readiness[for_write] = WF_MAYBE_READY;
}

int wf_socket_look(struct wf_socket *s, bool for_write)
{
    if (wf_socket_closed(s)) return WEFT_ECLOSED;
    return s->fd != NULL ? wf_fd_look(s->fd, for_write) : pf_is_ready(s->handle, for_write);
}

int wf_socket_register(struct wf_socket *s, bool for_write)
{
    int rc = wf_fd_add(wf_here, s->handle, &s->fd);
    /* The last system call has said that the task must wait. The poller reports an edge for data that has come
     * since. */
    if (rc < 0) return rc;
    s->fd->readiness[for_write] = WF_NOT_READY;
    s->fd->ahead = &s->state;
    return 0;
}

int wf_socket_wait(struct wf_socket *s, struct wf_task *t, bool for_write, int64_t deadline, const char *what)
{
    return wf_socket_wait_inline(s, t, for_write, deadline, what);
}

int64_t wf_socket_pass(struct wf_socket *s, struct wf_task *t, bool for_write,
                       int64_t (*attempt)(struct wf_socket *s, bool for_write, void *arg), void *arg,
                       int64_t deadline, const char *what)
{
    if (deadline == WEFT_NOW) wf_socket_recheck(s, for_write);
    for (;;) {
        if (wf_socket_worth(s, for_write)) {
            if (wf_socket_closed(s)) return WEFT_ECLOSED;
            int64_t n = attempt(s, for_write, arg);
            if (n != PF_AGAIN) {
                wf_socket_moved(s, for_write, false);
                return n;
            }
            wf_socket_stuck(s, for_write);
        }
        int rc = wf_socket_wait(s, t, for_write, deadline, what);
        if (rc < 0) return rc;
    }
}

static void wake_both(struct wf_socket *s)
{
    if (s->fd != NULL) wf_fd_wake(s->fd);
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
        if (wf_id_generation(state) != wf_id_generation(id) || wf_id_generation(state) == 0) return WEFT_ECLOSED;
        foreign = (state & WF_SOCKET_OWNER) != w->index && (state & WF_SOCKET_USERS) != 0;
        uint64_t owner = foreign ? state & WF_SOCKET_OWNER : w->index;
        next = ((state & WF_SOCKET_USERS) | owner) + WF_SOCKET_USER; /* generation 0 */
        /* Acquire: as in wf_socket_enter. */
    } while (
        !atomic_compare_exchange_weak_explicit(&s->state, &state, next, memory_order_acquire, memory_order_relaxed));
    if (foreign) {
        s->call = (struct wf_call){.post = {.kind = WF_POST_CALL, .block_class = WF_POOL_LARGE},
                                   .call = owner_closes};
        wf_worker_send(w, (uint32_t)(state & WF_SOCKET_OWNER), &s->call.post);
        return 0;
    }
    if ((state & WF_SOCKET_OWNER) != w->index) adopt(s);
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
    struct wf_slab *slab = wf_socket_slab(w, kind);
    for (uint32_t i = 0; i < wf_slab_chunks(slab) * WF_SLAB_CHUNK; i++) {
        struct wf_socket *s = wf_slab_at(slab, i);
        if (s->finish != NULL) s->finish(s);
        s->finish = NULL;
    }
}

/* ---- A socket as a source of waits ------------------------------------------------------------------------------- */

struct wait_state {
    struct wf_socket *socket;
    bool claimed; /* this source has entered as the first of the wait, so it ends the use of the socket */
};

int wf_socket_wait_open(struct wf_wait *s, enum wf_socket_kind kind, uint64_t id)
{
    struct wait_state *k = WF_WAIT_STATE_OF(struct wait_state, s);
    int rc = wf_socket_begin(s->task, kind, id, s->kind->for_write, &k->socket);
    k->claimed = rc == 0;
    return WF_MIN(rc, 0);
}

struct wf_socket *wf_socket_wait_of(struct wf_wait *s)
{
    return WF_WAIT_STATE_OF(struct wait_state, s)->socket;
}

void wf_socket_wait_recheck(struct wf_wait *s)
{
    wf_socket_recheck(wf_socket_wait_of(s), s->kind->for_write);
}

int wf_socket_wait_look(struct wf_wait *s)
{
    return wf_socket_look(wf_socket_wait_of(s), s->kind->for_write);
}

int wf_socket_wait_attach(struct wf_wait *s, struct wf_wait *first)
{
    (void)first;
    int rc = wf_socket_attach(wf_socket_wait_of(s), s->kind->for_write, s->task);
    return rc < 0 ? rc : 1;
}

void wf_socket_wait_close(struct wf_wait *s)
{
    const struct wait_state *k = WF_WAIT_STATE_OF(struct wait_state, s);
    /* attaching it may have failed */
    if (s->attached && k->socket->fd != NULL) wf_fd_stop_waiting(k->socket->fd, s->kind->for_write);
    if (k->claimed) wf_socket_end(k->socket, s->kind->for_write);
    else wf_socket_leave(k->socket);
}

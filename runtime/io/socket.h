/* runtime/io/socket.h -- the common part of streams, listeners and UDP sockets: a handle whose owner may change, and
 * which can be closed safely at any time.
 *
 * Design notes.
 * (1) A socket lies in a slab of the worker that opened it (its home) and belongs to the worker that used it last
 *     (its owner). `state` holds the life's generation (0: closed), how many calls are inside, and the owner. Every
 *     call enters by a compare-and-swap that adds a user and, if no call is inside, may make its own worker the
 *     owner; it leaves by subtracting the user. So only one thread at a time uses the other fields: leaving (release)
 *     happens before the next entering (acquire), whichever way the handle took to the other worker.
 * (2) A new owner takes the handle off the old owner's poller at once (any thread may) and posts the old registration
 *     back to the worker that owns its slot. It registers with its own poller when it first has to wait. Registering
 *     also reports earlier data, so no byte is missed.
 * (3) Closing clears the generation: no further call can enter. Tasks inside are woken, find the socket closed, and
 *     leave with WEFT_ECLOSED. The last one to leave closes the handle, on the owner's thread, and gives the slot
 *     back to the home. A closer on another worker counts as a user until its post has run.
 * (4) user[] has the task that is inside, for each direction; a second task gets WEFT_EBUSY.
 * (5) With 1,000 connections a socket is not in the cache when its actor continues. So what each call touches is in one
 *     cache line, with the members of a stream that each read looks at. */
#ifndef WF_SOCKET_H
#define WF_SOCKET_H

#include "fd.h"
#include "sanitizer.h"
#include "wait.h"

enum wf_socket_kind { WF_STREAM, WF_LISTENER, WF_UDP };

struct wf_places;
struct wf_socket {
    struct wf_slot slot; /* wf_worker.streams, .listeners or .datagrams of `home` */
    struct wf_worker *home;
    /* closes the handle, frees the members of the kind; NULL: this has been done */
    void (*finish)(struct wf_socket *s);
    struct wf_call call; /* one at a time: "wake your waiters" to the owner, then "take your slot" to the home */
    /* of a listener: the limit of its streams; of a stream: where it takes `place`; NULL: there is no limit */
    struct wf_places *places;
    uint32_t place;
    uint8_t kind; /* wf_socket_kind */
    /* The rest is what each call touches: see note (5). */
    _Atomic uint64_t state; /* generation << 32 | users << 8 | owner, see note (1) */
    pf_handle handle;
    struct wf_fd *fd;        /* registration with the owner's poller; NULL: none yet */
    struct wf_task *user[2]; /* [for_write]: the task that is inside */
};
_Static_assert(offsetof(struct wf_socket, state) == WF_CACHE_LINE, "a line begins with what each call touches");

/* Takes a slot on worker `w` (of this thread) for `h`. The caller fills in the fields of its kind. NULL: no memory,
 * and the caller keeps `h`. */
struct wf_socket *wf_socket_open(struct wf_worker *w, enum wf_socket_kind kind, pf_handle h,
                                 void (*finish)(struct wf_socket *));
static inline uint64_t wf_socket_id(const struct wf_socket *s)
{
    return wf_slot_id(&s->slot);
}

/* Enters without a direction. WEFT_ECLOSED; WEFT_EBUSY: an actor of another worker is inside. */
static inline int wf_socket_enter(struct wf_worker *w, enum wf_socket_kind kind, uint64_t id, struct wf_socket **out);
static inline void wf_socket_leave(struct wf_socket *s);
/* Enters as the only task that reads, or writes. Returns 0; 1: this task is inside already (it must leave as often as
 * it has entered, and end once); WEFT_ECLOSED; WEFT_EBUSY. */
static inline int wf_socket_begin(struct wf_task *t, enum wf_socket_kind kind, uint64_t id, bool for_write,
                                  struct wf_socket **out);
static inline void wf_socket_end(struct wf_socket *s, bool for_write);

/* Between begin and end: */
static inline bool wf_socket_closed(const struct wf_socket *s)
{
    return atomic_load_explicit(&s->state, memory_order_relaxed) >> 32 == 0; /* a hint; leaving orders the rest */
}
/* Whether the next system call is worth trying. False: it would return PF_AGAIN. */
static inline bool wf_socket_worth(const struct wf_socket *s, bool for_write)
{
    return s->fd == NULL || s->fd->readiness[for_write] != WF_NOT_READY;
}
/* The system call has returned PF_AGAIN (stuck), or has moved data (moved). `emptied`: it has moved less than
 * requested. */
static inline void wf_socket_stuck(struct wf_socket *s, bool for_write)
{
    if (s->fd != NULL) s->fd->readiness[for_write] = WF_NOT_READY;
}
static inline void wf_socket_moved(struct wf_socket *s, bool for_write, bool emptied)
{
    if (s->fd != NULL) s->fd->readiness[for_write] = emptied && !s->fd->hangup ? WF_NOT_READY : WF_MAYBE_READY;
}
/* 0, or the error that its poller has reported. */
static inline int wf_socket_error(const struct wf_socket *s)
{
    return s->fd != NULL ? s->fd->error : 0;
}
/* A caller that does not wait checks again: it also finds data that has come since the last poll, without an edge. */
void wf_socket_recheck(struct wf_socket *s, bool for_write);
/* Returns 1: it is ready; 0: it is not; or an error. */
int wf_socket_look(struct wf_socket *s, bool for_write);
/* Call it after PF_AGAIN: it suspends the task until another try is worth it. Returns 0, WEFT_ETIMEDOUT,
 * WEFT_ECANCELED, WEFT_ECLOSED, WEFT_ENOMEM. The second is inline: with it a task that waits needs a stack frame less. */
int wf_socket_wait(struct wf_socket *s, struct wf_task *t, bool for_write, int64_t deadline, const char *what);
static inline int wf_socket_wait_inline(struct wf_socket *s, struct wf_task *t, bool for_write, int64_t deadline,
                                        const char *what);
/* Calls `attempt` until it returns something else than PF_AGAIN, waits in between, and returns what it has returned,
 * or an error of wf_socket_wait. */
int64_t wf_socket_pass(struct wf_socket *s, struct wf_task *t, bool for_write,
                       int64_t (*attempt)(struct wf_socket *s, bool for_write, void *arg), void *arg,
                       int64_t deadline, const char *what);

/* Any task or worker thread of the node may call it. Returns 0; WEFT_ECLOSED: it was closed before. */
int wf_socket_close(struct wf_worker *w, enum wf_socket_kind kind, uint64_t id);
/* Closes the socket when the task ends. WEFT_ENOMEM: it has been closed now. */
int wf_socket_defer_close(enum wf_socket_kind kind, uint64_t id);
/* Closes all sockets of a slab when the worker ends. */
void wf_socket_finish_all(struct wf_worker *w, enum wf_socket_kind kind);

/* ---- Sockets as sources of waits: the common functions of the rows of all kinds ---------------------------------- */
/* A row's `open` calls it; the row's for_write is the direction. */
int wf_socket_wait_open(struct wf_wait *s, enum wf_socket_kind kind, uint64_t id);
struct wf_socket *wf_socket_wait_of(struct wf_wait *s);
void wf_socket_wait_recheck(struct wf_wait *s);
int wf_socket_wait_look(struct wf_wait *s);
int wf_socket_wait_attach(struct wf_wait *s, struct wf_wait *first);
void wf_socket_wait_close(struct wf_wait *s);

/* ---- Entering and leaving: inline, because each call on a stream does both --------------------------------------- */
enum { WF_SOCKET_USER = 1 << 8 };
static const uint64_t WF_SOCKET_OWNER = 0xFF, WF_SOCKET_USERS = 0xFFFFFF00,
                      WF_SOCKET_LIFE = UINT64_C(0xFFFFFFFF) << 32;

static inline struct wf_slab *wf_socket_slab(struct wf_worker *w, enum wf_socket_kind kind)
{
    return kind == WF_STREAM ? &w->streams : kind == WF_UDP ? &w->datagrams : &w->listeners;
}
/* The uncommon cases. Entering: the home or the owner is another worker, the socket is closed, or several workers enter
 * at a time. Leaving: the socket is closed, and `before` was its state. */
int wf_socket_enter_any(struct wf_worker *w, enum wf_socket_kind kind, uint64_t id, struct wf_socket **out);
void wf_socket_leave_closed(struct wf_socket *s, uint64_t before);

static inline int wf_socket_enter(struct wf_worker *w, enum wf_socket_kind kind, uint64_t id, struct wf_socket **out)
{
    const uint64_t own = (id & WF_SOCKET_LIFE) | w->index; /* it is this life, and this worker's */
    struct wf_socket *s;
    if (WF_UNLIKELY(id >> 32 == 0 || wf_id_worker(id) != w->index) ||
        WF_UNLIKELY((s = wf_slab_at(wf_socket_slab(w, kind), wf_id_slot(id))) == NULL))
        return wf_socket_enter_any(w, kind, id, out);
    uint64_t state = atomic_load_explicit(&s->state, memory_order_relaxed);
    /* Acquire: pairs with the release of open and of the last leave. */
    if (WF_UNLIKELY((state & ~WF_SOCKET_USERS) != own ||
                    !atomic_compare_exchange_strong_explicit(&s->state, &state, state + WF_SOCKET_USER,
                                                             memory_order_acquire, memory_order_relaxed)))
        return wf_socket_enter_any(w, kind, id, out);
    if (WF_UNLIKELY(wf_is_sanitized())) wf_tsan_acquire(&s->state);
    *out = s;
    return 0;
}

static inline void wf_socket_leave(struct wf_socket *s)
{
    /* Release: the next task to enter sees the writes of this call. Acquire: the last task to leave a closed socket
     * sees the writes of all others. */
    if (WF_UNLIKELY(wf_is_sanitized())) wf_tsan_release(&s->state);
    uint64_t before = atomic_fetch_sub_explicit(&s->state, WF_SOCKET_USER, memory_order_acq_rel);
    WF_ASSERT((before & WF_SOCKET_USERS) != 0);
    if (WF_UNLIKELY(wf_id_generation(before) == 0)) wf_socket_leave_closed(s, before);
}

static inline int wf_socket_begin(struct wf_task *t, enum wf_socket_kind kind, uint64_t id, bool for_write,
                                  struct wf_socket **out)
{
    int rc = wf_socket_enter(t->worker, kind, id, out);
    if (WF_UNLIKELY(rc < 0)) return rc;
    struct wf_task **user = &(*out)->user[for_write];
    if (WF_LIKELY(*user == NULL)) {
        *user = t;
        return 0;
    }
    if (*user == t) return 1;
    wf_socket_leave(*out);
    return WEFT_EBUSY;
}

static inline void wf_socket_end(struct wf_socket *s, bool for_write)
{
    s->user[for_write] = NULL;
    wf_socket_leave(s);
}

/* ---- Waiting --------------------------------------------------------------------------------------------------- */
/* Registers the handle with the poller. Returns 0 or WEFT_ENOMEM. */
int wf_socket_register(struct wf_socket *s, bool for_write);

/* From now on `t` is woken when this direction is ready. Returns 0 or WEFT_ENOMEM. */
static inline int wf_socket_attach(struct wf_socket *s, bool for_write, struct wf_task *t)
{
    int rc = WF_LIKELY(s->fd != NULL) ? 0 : wf_socket_register(s, for_write);
    return WF_UNLIKELY(rc < 0) ? rc : wf_fd_wait(s->fd, for_write, t);
}

static inline __attribute__((always_inline)) int wf_socket_wait_inline(struct wf_socket *s, struct wf_task *t,
                                                                       bool for_write, int64_t deadline,
                                                                       const char *what)
{
    if (WF_UNLIKELY(wf_socket_closed(s))) return WEFT_ECLOSED;
    if (WF_UNLIKELY(deadline == WEFT_NOW)) return t->cancelled ? WEFT_ECANCELED : WEFT_ETIMEDOUT;
    int rc = wf_socket_attach(s, for_write, t);
    if (WF_UNLIKELY(rc < 0)) return rc;
    struct wf_fd *fd = s->fd; /* it stays, as long as a task is inside */
    const uint8_t *readiness = &fd->readiness[for_write];
    while (WF_LIKELY(*readiness == WF_NOT_READY)) {
        rc = wf_task_wait(deadline, what);
        if (WF_UNLIKELY(wf_socket_closed(s))) rc = WEFT_ECLOSED;
        if (WF_UNLIKELY(rc < 0)) break;
    }
    wf_fd_stop_waiting(fd, for_write);
    if (WF_UNLIKELY(rc == WEFT_ETIMEDOUT) && *readiness != WF_NOT_READY) rc = 0; /* it has come as well */
    return rc;
}

#endif

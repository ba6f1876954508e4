/* runtime/io/socket.h -- what streams, listeners and UDP sockets have in common: a handle with an owner that may
 * change, and a safe end.
 *
 * Design notes.
 * (1) A socket lies in a slab of the worker that opened it (its home) and belongs to the worker that used it last
 *     (its owner). `state` holds the life's generation (0: closed), how many calls are inside, and the owner. Every
 *     call enters by a compare-and-swap that adds a user and, if no call is inside, may make its own worker the
 *     owner; it leaves by subtracting the user. So all other fields are touched by one thread at a time: leaving
 *     (release) happens before the next entering (acquire), however the handle got to the other worker.
 * (2) A new owner takes the handle off the old owner's poller at once (any thread may) and posts the old
 *     registration back to where it lies. It registers with its own poller when it first has to wait; registering
 *     reports what is ready already, so no byte is missed.
 * (3) Closing clears the generation: no further call can enter. Tasks inside are woken, look, and leave with
 *     WEFT_ECLOSED; the last one to leave closes the handle, on the owner's thread, and the slot goes home. A closer
 *     on another worker counts as a user until its post has run.
 * (4) user[] is the task inside per direction; a second one gets WEFT_EBUSY. */
#ifndef WF_SOCKET_H
#define WF_SOCKET_H

#include "fd.h"
#include "sanitizer.h"
#include "wait.h"

enum wf_socket_kind { WF_STREAM, WF_LISTENER, WF_UDP };

struct wf_socket {
    struct wf_slot slot;    /* wf_worker.streams, .listeners or .datagrams of `home` */
    _Atomic uint64_t state; /* generation << 32 | users << 8 | owner, see note (1) */
    uint8_t kind;           /* wf_socket_kind */
    pf_handle handle;
    struct wf_fd *fd;        /* registration with the owner's poller; NULL: none yet */
    struct wf_task *user[2]; /* [for_write] */
    struct wf_worker *home;
    void (*finish)(struct wf_socket *s); /* closes the handle, frees what the kind holds; NULL: done */
    struct wf_call call; /* one at a time: "wake your waiters" to the owner, then "take your slot" to the home */
};

/* A slot on worker `w` (this thread) around `h`; the kind's own fields are the caller's to fill in. NULL: no memory,
 * `h` is still the caller's. */
struct wf_socket *wf_socket_open(struct wf_worker *w, enum wf_socket_kind kind, pf_handle h,
                                 void (*finish)(struct wf_socket *));
static inline uint64_t wf_socket_id(const struct wf_socket *s)
{
    return wf_id_make(&s->slot, s->home->index);
}

/* Enters without a direction. WEFT_ECLOSED; WEFT_EBUSY: an actor of another worker is inside. */
static inline int wf_socket_enter(struct wf_worker *w, enum wf_socket_kind kind, uint64_t id, struct wf_socket **out);
static inline void wf_socket_leave(struct wf_socket *s);
/* Enters as the one task that reads or writes. 0; 1: this task is in already (leave as often as you entered, end
 * once). WEFT_ECLOSED, WEFT_EBUSY. */
static inline int wf_socket_begin(struct wf_task *t, enum wf_socket_kind kind, uint64_t id, bool for_write,
                                  struct wf_socket **out);
static inline void wf_socket_end(struct wf_socket *s, bool for_write);

/* Between begin and end: */
static inline bool wf_socket_closed(const struct wf_socket *s)
{
    return atomic_load_explicit(&s->state, memory_order_relaxed) >> 32 == 0; /* a hint; leaving orders the rest */
}
/* Whether the next call is worth trying: false only if it would surely say PF_AGAIN. */
static inline bool wf_socket_worth(const struct wf_socket *s, bool for_write)
{
    return s->fd == NULL || s->fd->readiness[for_write] != WF_NOT_READY;
}
/* The call said PF_AGAIN / did something: `emptied` if it did less than asked for. */
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
/* A caller looks and will not wait: finds data that came since the last poll, though no edge has reported it yet. */
void wf_socket_recheck(struct wf_socket *s, bool for_write);
/* 1: ready, 0: not, or an error. */
int wf_socket_look(struct wf_socket *s, bool for_write);
/* From now on `t` is woken when this direction is ready. Registers the handle if it is not. WEFT_ENOMEM. */
int wf_socket_attach(struct wf_socket *s, bool for_write, struct wf_task *t);
/* Also without attach, and after one that failed. */
static inline void wf_socket_detach(struct wf_socket *s, bool for_write)
{
    if (s->fd != NULL) wf_fd_stop_waiting(s->fd, for_write);
}
/* After PF_AGAIN: suspends until it is worth trying again. 0, WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ECLOSED,
 * WEFT_ENOMEM. */
int wf_socket_wait(struct wf_socket *s, struct wf_task *t, bool for_write, int64_t deadline, const char *what);

/* From any task or worker thread of the node. WEFT_ECLOSED if it was closed before. */
int wf_socket_close(struct wf_worker *w, enum wf_socket_kind kind, uint64_t id);
/* weft_defer_close. WEFT_ENOMEM: it was closed. */
int wf_socket_defer_close(enum wf_socket_kind kind, uint64_t id);
/* At the end of the worker: closes what is left in a slab. */
void wf_socket_finish_all(struct wf_worker *w, enum wf_socket_kind kind);

/* ---- As a source of waits: what the rows of all kinds share ---------------------------------------------------- */
/* On behalf of a row's `open`; the row's for_write says which direction. */
int wf_socket_wait_open(struct wf_wait *s, enum wf_socket_kind kind, uint64_t id);
struct wf_socket *wf_socket_wait_of(struct wf_wait *s);
void wf_socket_wait_recheck(struct wf_wait *s);
int wf_socket_wait_look(struct wf_wait *s);
int wf_socket_wait_attach(struct wf_wait *s, struct wf_wait *first);
void wf_socket_wait_close(struct wf_wait *s);

/* ---- Entering and leaving, inline, for every call on a stream does both ---------------------------------------- */
enum { WF_SOCKET_USER = 1 << 8 };
static const uint64_t WF_SOCKET_OWNER = 0xFF, WF_SOCKET_USERS = 0xFFFFFF00;

static inline struct wf_slab *wf_socket_slab(struct wf_worker *w, enum wf_socket_kind kind)
{
    return kind == WF_STREAM ? &w->streams : kind == WF_UDP ? &w->datagrams : &w->listeners;
}
/* The slot of an id, in any of its lives. */
static inline struct wf_socket *wf_socket_slot(const struct wf_worker *w, enum wf_socket_kind kind, uint64_t id)
{
    const struct wf_workers *set = w->set;
    if (WF_UNLIKELY(id == 0 || wf_id_worker(id) >= set->count)) return NULL;
    return wf_slab_at(wf_socket_slab(set->at[wf_id_worker(id)], kind), wf_id_slot(id));
}
/* The new owner takes the handle from the old one's poller; the last to leave a closed socket ends it. */
void wf_socket_adopt(struct wf_socket *s);
void wf_socket_destroy(struct wf_socket *s);

static inline int wf_socket_enter(struct wf_worker *w, enum wf_socket_kind kind, uint64_t id, struct wf_socket **out)
{
    struct wf_socket *s = wf_socket_slot(w, kind, id);
    if (WF_UNLIKELY(s == NULL)) return WEFT_ECLOSED;
    uint64_t state = atomic_load_explicit(&s->state, memory_order_relaxed), next;
    do {
        if (WF_UNLIKELY(wf_id_generation(state) != wf_id_generation(id) || wf_id_generation(state) == 0))
            return WEFT_ECLOSED;
        if (WF_UNLIKELY((state & WF_SOCKET_OWNER) != w->index && (state & WF_SOCKET_USERS) != 0)) return WEFT_EBUSY;
        next = ((state & ~WF_SOCKET_OWNER) | w->index) + WF_SOCKET_USER;
        /* Acquire: pairs with the release of open and of the last leave. */
    } while (WF_UNLIKELY(
        !atomic_compare_exchange_weak_explicit(&s->state, &state, next, memory_order_acquire, memory_order_relaxed)));
    wf_tsan_acquire(&s->state);
    if (WF_UNLIKELY((state & WF_SOCKET_OWNER) != w->index)) wf_socket_adopt(s);
    *out = s;
    return 0;
}

static inline void wf_socket_leave(struct wf_socket *s)
{
    /* Release: what this call did is seen by the next to enter. Acquire: the last to leave a closed socket sees what
     * all did. */
    wf_tsan_release(&s->state);
    uint64_t before = atomic_fetch_sub_explicit(&s->state, WF_SOCKET_USER, memory_order_acq_rel);
    wf_tsan_acquire(&s->state);
    WF_ASSERT((before & WF_SOCKET_USERS) != 0);
    if (WF_UNLIKELY(wf_id_generation(before) == 0 && (before & WF_SOCKET_USERS) == WF_SOCKET_USER))
        wf_socket_destroy(s);
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

#endif

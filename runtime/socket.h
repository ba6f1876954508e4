/* runtime/socket.h -- what streams and listeners have in common: a handle with an owner that may change, and a
 * safe end.
 *
 * Design notes.
 * (1) A socket lies in a slab of the worker that opened it (its home) and belongs to the worker that used it
 *     last (its owner). `state` holds the life's generation (0: closed), how many calls are inside, and the owner.
 *     Every call enters by a compare-and-swap that adds a user and, when nobody is inside, may make its own worker
 *     the owner; it leaves by taking the user off. So all other fields are touched by one thread at a time: leaving
 *     (release) happens before the next entering (acquire), whatever way the handle travelled.
 * (2) A new owner takes the handle off the old owner's poller at once (any thread may) and posts the old
 *     registration back to where it lies. It registers with its own poller when it first has to wait; registering
 *     reports what is ready already, so no byte is missed.
 * (3) Closing clears the generation: nobody enters any more. Whoever is inside is woken, looks, and leaves with
 *     WEFT_ECLOSED; the last one to leave closes the handle, on the owner's thread, and the slot goes home. A
 *     closer on another worker counts as a user until its post has run.
 * (4) user[] is the task inside per direction; a second one gets WEFT_EBUSY. */
#ifndef WF_SOCKET_H
#define WF_SOCKET_H

#include "fd.h"

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
int wf_socket_enter(struct wf_worker *w, enum wf_socket_kind kind, uint64_t id, struct wf_socket **out);
void wf_socket_leave(struct wf_socket *s);
/* Enters as the one task that reads or writes. 0; 1: this task is in already (leave as often as you entered, end
 * once). WEFT_ECLOSED, WEFT_EBUSY. */
int wf_socket_begin(struct wf_task *t, enum wf_socket_kind kind, uint64_t id, bool for_write, struct wf_socket **out);
void wf_socket_end(struct wf_socket *s, bool for_write);

/* Between begin and end: */
static inline bool wf_socket_closed(const struct wf_socket *s)
{
    return atomic_load_explicit(&s->state, memory_order_relaxed) >> 32 == 0; /* a hint; leaving orders the rest */
}
/* Whether the next call is worth trying: false only if it would surely say PF_AGAIN. */
bool wf_socket_worth(const struct wf_socket *s, bool for_write);
/* The call said PF_AGAIN / did something: `emptied` if it did less than asked for. */
void wf_socket_stuck(struct wf_socket *s, bool for_write);
void wf_socket_moved(struct wf_socket *s, bool for_write, bool emptied);
/* Somebody looks and will not wait: what came since the last poll counts, though no edge told of it yet. */
void wf_socket_doubt(struct wf_socket *s, bool for_write);
/* 1: ready, 0: not, or an error. */
int wf_socket_look(struct wf_socket *s, bool for_write);
/* Links `waiter` for this direction, registering the handle if it is not. WEFT_ENOMEM. */
int wf_socket_attach(struct wf_socket *s, bool for_write, struct wf_waiter *waiter);
/* After PF_AGAIN: suspends until it is worth trying again. 0, WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ECLOSED,
 * WEFT_ENOMEM. */
int wf_socket_wait(struct wf_socket *s, struct wf_task *t, bool for_write, int64_t deadline, const char *what);

/* From any task or worker thread of the node. WEFT_ECLOSED if it was closed before. */
int wf_socket_close(struct wf_worker *w, enum wf_socket_kind kind, uint64_t id);
/* weft_defer_close. WEFT_ENOMEM: it was closed. */
int wf_socket_defer_close(enum wf_socket_kind kind, uint64_t id);
/* At the end of the worker: closes what is left in a slab. */
void wf_socket_finish_all(struct wf_worker *w, enum wf_socket_kind kind);

#endif

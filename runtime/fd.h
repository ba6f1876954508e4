/* runtime/fd.h -- descriptors registered with a worker's poller, and the waiters of anything an actor can wait
 * for.
 *
 * Design notes.
 * (1) Registration is lazy: the first call that says PF_AGAIN, or the first wait, makes the record; most
 *     accepted connections that are read at once and closed never get one. The poller's tag is the record's id, so
 *     an entry of a record that is gone is known by its generation.
 * (2) Readiness is what we know per direction. NOT_READY: a call said PF_AGAIN (or read less than asked for)
 *     and no edge came since. READY: an edge came and nothing was consumed since. MAYBE: something was consumed
 *     since the last edge, only a system call can tell.
 * (3) A wake is a hint. Waiters live on the stack of the task that waits, for the length of one wait, and are
 *     off every source before it returns. */
#ifndef WF_FD_H
#define WF_FD_H

#include "worker.h"

/* Wakes all; they stay linked. */
void wf_waiters_wake(struct wf_list *waiters);
/* Wakes all and takes them off: the source goes away. */
void wf_waiters_dismiss(struct wf_list *waiters);

enum wf_readiness { WF_NOT_READY, WF_MAYBE_READY, WF_READY };

struct wf_fd_side {
    struct wf_list waiters; /* wf_waiter.on_source */
    uint8_t readiness;      /* wf_readiness */
};

/* All fields are its worker's thread's own once the record exists, but `release`, which is whoever abandons it. */
struct wf_fd {
    struct wf_slot slot; /* wf_worker.fds */
    struct wf_worker *worker;
    pf_handle handle;
    struct pf_process *process; /* not NULL: the end of this child, not a handle */
    struct wf_fd_side side[2];  /* [for_write] */
    bool hangup;
    void (*watch)(void *arg, const struct pf_ready *r); /* not NULL: called for each entry; nobody waits then */
    void *watch_arg;
    struct wf_call release;
};

/* Registers `h` with the poller of `w`, whose thread this is. WEFT_ENOMEM, WEFT_EINVAL (not pollable: always ready),
 * WEFT_EEXIST. */
int wf_fd_add(struct wf_worker *w, pf_handle h, struct wf_fd **out);
/* The same for the end of a child, which lives longer than the record. */
int wf_fd_add_process(struct wf_worker *w, struct pf_process *process, struct wf_fd **out);
/* Its worker's thread. Whoever still waits is woken and taken off. */
void wf_fd_remove(struct wf_fd *f);
/* Another worker's thread takes the handle over: nobody may be waiting. The record goes back to its slab by a
 * post. */
void wf_fd_abandon(struct wf_fd *f);
/* A task is about to wait for this direction. */
int wf_fd_arm(struct wf_fd *f, bool for_write);
/* 1 if a call in this direction would not have to wait, 0 if it would, WEFT_ECLOSED if the handle is none. */
int wf_fd_look(struct wf_fd *f, bool for_write);

#endif

/* runtime/wait/fd.h -- descriptors registered with a worker's poller, and who waits for them.
 *
 * Design notes.
 * (1) Registration is lazy: the first call that says PF_AGAIN, or the first wait, makes the record; most
 *     accepted connections that are read at once and closed never get one. The poller's tag is the record's id, so
 *     an entry of a record that is gone is known by its generation.
 * (2) Readiness is what we know per direction. NOT_READY: a call said PF_AGAIN (or read less than asked for)
 *     and no edge came since. READY: an edge came and nothing was consumed since. MAYBE: something was consumed
 *     since the last edge, only a system call can tell.
 * (3) One task at most waits in each direction: a socket lets only one in, and the record of a bare descriptor is
 *     made for one wait. It is noted in the record itself, which an entry has to touch anyway. A wake is a hint.
 * (4) With 1,000 connections nothing of a record is in the cache when its entry comes. What an entry needs stands
 *     first, to lie in one line. */
#ifndef WF_FD_H
#define WF_FD_H

#include "task.h"

enum wf_readiness { WF_NOT_READY, WF_MAYBE_READY, WF_READY };

/* All fields are its worker's thread's own once the record exists, but `release`, which is whoever abandons it. */
struct wf_fd {
    struct wf_slot slot; /* wf_worker.fds */
    bool hangup;
    int16_t error;                                      /* as pf_ready's */
    uint8_t readiness[2];                               /* [for_write], wf_readiness */
    struct wf_task *waiting[2];                         /* [for_write]; NULL: nobody */
    void (*watch)(void *arg, const struct pf_ready *r); /* not NULL: called for each entry; nobody waits then */
    void *watch_arg;
    pf_handle handle;
    struct wf_worker *worker;
    struct pf_process *process; /* not NULL: the end of this child, not a handle */
    struct wf_call release;
};

/* Registers `h` with the poller of `w`, whose thread this is. WEFT_ENOMEM, WEFT_EINVAL (not pollable: always ready),
 * WEFT_EEXIST. */
int wf_fd_add(struct wf_worker *w, pf_handle h, struct wf_fd **out);
/* The same for the end of a child, which lives longer than the record. */
int wf_fd_add_process(struct wf_worker *w, struct pf_process *process, struct wf_fd **out);
/* Its worker's thread. Whoever still waits is woken. */
void wf_fd_remove(struct wf_fd *f);
/* Another worker's thread takes the handle over: nobody may be waiting. The record goes back to its slab by a
 * post. */
void wf_fd_abandon(struct wf_fd *f);
/* The poller is to tell of this direction. */
int wf_fd_arm(struct wf_fd *f, bool for_write);
/* The same for task `t`, which is woken then, until it stops waiting. */
int wf_fd_wait(struct wf_fd *f, bool for_write, struct wf_task *t);
static inline void wf_fd_stop_waiting(struct wf_fd *f, bool for_write)
{
    f->waiting[for_write] = NULL;
}
/* Whoever waits in either direction looks again. */
void wf_fd_wake(struct wf_fd *f);
/* 1 if a call in this direction would not have to wait, 0 if it would, WEFT_ECLOSED if the handle is none. */
int wf_fd_look(struct wf_fd *f, bool for_write);

extern const struct wf_part wf_fd_part; /* takes the poller's entries, and lets actors wait for descriptors */

#endif

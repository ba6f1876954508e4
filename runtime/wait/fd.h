/* runtime/wait/fd.h -- descriptors registered with a worker's poller, and the tasks that wait for them.
 *
 * Design notes.
 * (1) Registration is lazy: the first call that says PF_AGAIN, or the first wait, makes the record; most
 *     accepted connections that are read at once and closed never get one. The poller's tag is the record's id, so
 *     an entry of a record that is gone is known by its generation.
 * (2) Readiness is what is known for each direction. NOT_READY: a call said PF_AGAIN (or read less than asked for)
 *     and no edge came since. READY: an edge came and nothing was consumed since. MAYBE: something was consumed since
 *     the last edge, only a system call can tell.
 * (3) At most one task waits in each direction: a socket lets only one in, and the record of a bare descriptor is
 *     made for one wait. The record itself has the task, as an entry of the poller touches the record anyway. A wake
 *     is a hint.
 * (4) With 1,000 connections a record is not in the cache when its entry comes. So the members that an entry needs
 *     come first, in one cache line. */
#ifndef WF_FD_H
#define WF_FD_H

#include "task.h"

enum wf_readiness { WF_NOT_READY, WF_MAYBE_READY, WF_READY };

/* Once the record exists, all members belong to its worker's thread, except `release`, which belongs to the thread
 * that abandons it. */
struct wf_fd {
    struct wf_slot slot; /* wf_worker.fds */
    bool hangup;
    int16_t error;                                      /* as pf_ready's */
    uint8_t readiness[2];                               /* [for_write], wf_readiness */
    struct wf_task *waiting[2];                         /* [for_write]; NULL: no task */
    void (*watch)(void *arg, const struct pf_ready *r); /* not NULL: called for each entry; then no task waits */
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
/* On its worker's thread. Wakes a task that still waits. */
void wf_fd_remove(struct wf_fd *f);
/* Another worker's thread takes over the handle; no task may be waiting. A post gives the record back to its slab. */
void wf_fd_abandon(struct wf_fd *f);
/* Makes the poller report this direction. */
int wf_fd_arm(struct wf_fd *f, bool for_write);
/* The same for task `t`, which is woken then, until it stops waiting. */
int wf_fd_wait(struct wf_fd *f, bool for_write, struct wf_task *t);
static inline void wf_fd_stop_waiting(struct wf_fd *f, bool for_write)
{
    f->waiting[for_write] = NULL;
}
/* Wakes the tasks that wait in either direction; they look again. */
void wf_fd_wake(struct wf_fd *f);
/* 1 if a call in this direction would not have to wait, 0 if it would, WEFT_ECLOSED if the handle is none. */
int wf_fd_look(struct wf_fd *f, bool for_write);

extern const struct wf_part wf_fd_part; /* takes the poller's entries, and lets actors wait for descriptors */

#endif

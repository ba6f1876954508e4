/* runtime/wait/fd.h -- descriptors registered with a worker's poller, and the tasks that wait for them.
 *
 * Design notes.
 * (1) Registration is lazy: the first call that says PF_AGAIN, or the first wait, makes the record; most accepted
 *     connections that are read at once and closed never get one. The poller's tag is the record's id, so the
 *     generation shows that the record of an entry has been removed.
 * (2) Readiness is what is known for each direction. NOT_READY: a system call has returned PF_AGAIN (or less than
 *     requested), and no edge has come since. READY: an edge has come, and nothing was consumed since. MAYBE:
 *     something was consumed since the last edge, so only a system call can find out.
 * (3) At most one task waits in each direction: a socket lets only one task in, and the record of a program's
 *     descriptor is made for one wait. The record itself has the task, as an entry of the poller touches the record
 *     anyway. A wake is a hint.
 * (4) With 1,000 connections a record is not in the cache when its entry comes. So the members that an entry needs
 *     come first, in one cache line. */
#ifndef WF_FD_H
#define WF_FD_H

#include "task.h"

enum wf_readiness { WF_NOT_READY, WF_MAYBE_READY, WF_READY };

/* Once the record exists, all members belong to its worker's thread, except `release`, which belongs to the thread
 * that abandons it. */
struct wf_fd {
    alignas(WF_CACHE_LINE) struct wf_slot slot; /* wf_worker.fds */
    bool hangup;
    bool arms;                  /* a wait has to call poller_arm */
    int16_t error;              /* as in pf_ready */
    uint8_t readiness[2];       /* [for_write], wf_readiness */
    struct wf_task *waiting[2]; /* [for_write]; NULL: no task */
    /* if it is not NULL, it is called for each entry, and no task waits */
    void (*watch)(void *arg, const struct pf_ready *r);
    union {
        void *watch_arg;
        const void *ahead; /* without a watch: what the waiting task touches first, to be fetched; may be NULL */
    };
    struct wf_worker *worker;
    pf_handle handle;
    struct pf_process *process; /* not NULL: the record is for the end of this child process, and not for a handle */
    struct wf_call release;
};

/* Registers `h` with the poller of `w`, on its thread. Returns 0, WEFT_ENOMEM, WEFT_EEXIST; WEFT_EINVAL: `h` cannot
 * be polled, so it is always ready. */
int wf_fd_add(struct wf_worker *w, pf_handle h, struct wf_fd **out);
/* The same for the end of a child process. `pf_process` must live longer than the record. */
int wf_fd_add_process(struct wf_worker *w, struct pf_process *process, struct wf_fd **out);
/* Removes the record, on its worker's thread. Wakes a task that still waits. */
void wf_fd_remove(struct wf_fd *f);
/* Called by the thread of another worker, which takes over the handle: no task may be waiting. A post gives the
 * record back to its slab. */
void wf_fd_abandon(struct wf_fd *f);
/* Makes the poller report this direction. */
int wf_fd_ask(struct wf_fd *f, bool for_write);
static inline int wf_fd_arm(struct wf_fd *f, bool for_write)
{
    return WF_UNLIKELY(f->arms) ? wf_fd_ask(f, for_write) : WEFT_OK;
}
/* The same, and wakes task `t` for each event until it stops waiting. */
static inline int wf_fd_wait(struct wf_fd *f, bool for_write, struct wf_task *t)
{
    WF_ASSERT(f->waiting[for_write] == NULL || f->waiting[for_write] == t);
    f->waiting[for_write] = t;
    int rc = wf_fd_arm(f, for_write);
    if (WF_UNLIKELY(rc < 0)) f->waiting[for_write] = NULL;
    return rc;
}
static inline void wf_fd_stop_waiting(struct wf_fd *f, bool for_write)
{
    f->waiting[for_write] = NULL;
}
/* Wakes the tasks that wait, in both directions; they look again. */
void wf_fd_wake(struct wf_fd *f);
/* Returns 1 if a system call in this direction would not wait; 0 if it would; WEFT_ECLOSED: the handle is not
 * open. */
int wf_fd_look(struct wf_fd *f, bool for_write);

extern const struct wf_part wf_fd_part; /* handles the poller's entries, and lets actors wait for descriptors */

#endif

/* runtime/platform/bsd/process_kqueue.c -- a child's end comes from the kqueue itself. */
#include <errno.h>
#include <sys/event.h>
#include <sys/types.h>

#include "native.h"

int pf_native_process_possible(void)
{
    return WEFT_OK;
}

int pf_native_process_open(struct pf_process *c)
{
    c->handle = PF_NO_HANDLE;
    return WEFT_OK;
}

int pf_native_process_watch(struct pf_poller *p, struct pf_process *c, uint64_t tag)
{
    int error = pf_kqueue_change(p, c->id, EVFILT_PROC, EV_ADD | EV_ONESHOT, NOTE_EXIT, 0, tag);
    /* Some kernels know nothing more of a child that has ended. The number of a child is no other timer's. */
    if (error == ESRCH) error = pf_kqueue_change(p, c->id, EVFILT_TIMER, EV_ADD | EV_ONESHOT, NOTE_USECONDS, 1, tag);
    return pf_error(error);
}

void pf_native_process_unwatch(struct pf_poller *p, struct pf_process *c)
{
    (void)pf_kqueue_change(p, c->id, EVFILT_PROC, EV_DELETE, NOTE_EXIT, 0, 0);
    (void)pf_kqueue_change(p, c->id, EVFILT_TIMER, EV_DELETE, 0, 0, 0);
}

/* runtime/platform/linux/process_pidfd.c -- the poller reports the end of a child: its pidfd becomes readable. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "native.h"

static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0); /* pidfds are always close-on-exec */
}

int pf_native_process_possible(void)
{
    static _Atomic int known; /* 0: not tested yet; relaxed: any thread may test it again */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        int fd = open_pidfd(getpid());
        /* The kernel is older than 5.3, or a sandbox refuses the call. Any other error will occur again when a child
         * is started, and is reported then. */
        answer = fd >= 0 || (errno != ENOSYS && errno != EPERM) ? 1 : -1;
        if (fd >= 0) close(fd);
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer > 0 ? WEFT_OK : WEFT_ENOTSUP;
}

int pf_native_process_open(struct pf_process *c)
{
    int fd = open_pidfd((pid_t)c->id);
    c->handle = fd;
    return fd >= 0 ? WEFT_OK : pf_error(errno);
}

int pf_native_process_signal(struct pf_process *c, int number)
{
    return (int)syscall(SYS_pidfd_send_signal, c->handle, number, NULL, 0); /* it is older than pidfd_open */
}

int pf_native_process_watch(struct pf_poller *p, struct pf_process *c, uint64_t tag)
{
    return pf_native_poller_add(p, c->handle, tag);
}

void pf_native_process_unwatch(struct pf_poller *p, struct pf_process *c)
{
    pf_native_poller_remove(p, c->handle);
}

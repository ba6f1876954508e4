/* runtime/platform/linux/process_pidfd.c -- a child's end comes from the poller: a pidfd is readable then. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "native.h"

static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
}

int pf_native_process_possible(void)
{
    static _Atomic int known; /* 0: not asked yet; relaxed: any thread may ask again */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        int fd = open_pidfd(getpid());
        /* A kernel before 5.3, or a sandbox. Whatever else is wrong now, a child's own call will say. */
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

int pf_native_process_watch(struct pf_poller *p, struct pf_process *c, uint64_t tag)
{
    return pf_native_poller_add(p, c->handle, tag);
}

void pf_native_process_unwatch(struct pf_poller *p, struct pf_process *c)
{
    pf_native_poller_remove(p, c->handle);
}

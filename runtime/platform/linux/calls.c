/* runtime/platform/linux/calls.c -- see calls.h. */
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"

int epoll_pwait2(int epoll, struct epoll_event *events, int max, const struct timespec *span, const sigset_t *mask)
{
    return (int)syscall(SYS_epoll_pwait2, epoll, events, max, span, mask, (size_t)8);
}

ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
    return syscall(SYS_preadv2, fd, parts, count, offset, 0L, flags);
}

ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
    return syscall(SYS_pwritev2, fd, parts, count, offset, 0L, flags);
}

/* runtime/platform/linux/calls.h -- system calls that a C library may lack, as musl 1.2.3 does. Then meson defines
 * WF_OWN_CALLS, and calls.c implements them. */
#ifndef PF_LINUX_CALLS_H
#define PF_LINUX_CALLS_H

#include <signal.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <time.h>

#ifdef WF_OWN_CALLS
#include <linux/fs.h>

int epoll_pwait2(int epoll, struct epoll_event *events, int max, const struct timespec *span, const sigset_t *mask);
ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags);
ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags);
#endif

#endif

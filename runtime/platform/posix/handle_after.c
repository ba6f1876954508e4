/* runtime/platform/posix/handle_after.c -- marks a descriptor as closed on exec after it was made, for systems that
 * cannot do both at once (macOS). */
#include "handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static int configure(int fd)
{
    if (fd < 0) return -1;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) {
#ifdef SO_NOSIGPIPE
        int on = 1;
        (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on); /* fails if the peer has closed: fine */
#endif
        return fd;
    }
    int before = errno;
    close(fd);
    errno = before;
    return -1;
}

int pf_handle_socket(int family, int type)
{
    return configure(socket(family, type, 0));
}

int pf_handle_accept(int listener)
{
    return configure(accept(listener, NULL, NULL));
}

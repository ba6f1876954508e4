/* runtime/platform/posix/socket_options.c -- options of sockets, sockets made by others, and handles sent over Unix
 * sockets. */
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "socket.h"

static int family_of(int fd)
{
    union pf_any_address a;
    socklen_t size = sizeof a;
    memset(&a, 0, sizeof a);
    return getsockname(fd, &a.head, &size) == 0 ? a.head.sa_family : -1;
}

static bool place_of(int fd, enum pf_option option, int *level, int *name)
{
    return pf_option_place(family_of(fd) == AF_INET6, option, level, name);
}

static int failed(void)
{
    return errno == ENOPROTOOPT || errno == EDOM ? WEFT_EINVAL : pf_error(errno);
}

static int set_linger(int fd, int value)
{
    struct linger l = {.l_onoff = value >= 0, .l_linger = WF_MAX(value, 0)};
    return setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l) == 0 ? WEFT_OK : failed();
}

int pf_set_option(pf_handle h, enum pf_option option, int value)
{
    int fd = (int)h, level, name;
    if (option == PF_LINGER) return set_linger(fd, value);
    if (value < 0 || !place_of(fd, option, &level, &name)) return WEFT_EINVAL;
    if (option == PF_KEEPALIVE) {
        int on = value > 0;
        if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) != 0) return failed();
        if (!on) return WEFT_OK;
    }
    return setsockopt(fd, level, name, &value, sizeof value) == 0 ? WEFT_OK : failed();
}

int pf_get_option(pf_handle h, enum pf_option option, int *value)
{
    int fd = (int)h, level, name;
    socklen_t size = sizeof *value;
    if (option == PF_LINGER) {
        struct linger l;
        size = sizeof l;
        if (getsockopt(fd, SOL_SOCKET, SO_LINGER, &l, &size) != 0) return failed();
        *value = l.l_onoff != 0 ? l.l_linger : -1;
        return WEFT_OK;
    }
    if (option == PF_KEEPALIVE) {
        if (getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, value, &size) != 0) return failed();
        if (*value == 0) return WEFT_OK;
        size = sizeof *value;
    }
    if (!place_of(fd, option, &level, &name)) return WEFT_EINVAL;
    *value = 0; /* some options are one byte on some systems */
    return getsockopt(fd, level, name, value, &size) == 0 ? WEFT_OK : failed();
}

int pf_adopt(pf_handle h)
{
    int fd = (int)h, type = 0;
    socklen_t size = sizeof type;
    struct pf_address peer;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return errno == EBADF ? WEFT_EINVAL : failed();
    if (type != SOCK_STREAM || pf_peer_address(h, &peer) != WEFT_OK) return WEFT_EINVAL;
    int flags = fcntl(fd, F_GETFL), keeps = fcntl(fd, F_GETFD);
    if (flags < 0 || keeps < 0) return pf_error(errno);
    if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, keeps | FD_CLOEXEC) != 0)
        return pf_error(errno);
    return WEFT_OK;
}

/* ---- Handles on their way -------------------------------------------------------------------------------------- */

union control {
    struct cmsghdr head;
    char space[CMSG_SPACE(sizeof(int))];
};

int pf_send_handle(pf_handle h, pf_handle sent)
{
    if (family_of((int)h) != AF_UNIX) return WEFT_EINVAL;
    union control control;
    char byte = 0;
    int fd = (int)sent;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    memset(&control, 0, sizeof control);
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof fd)};
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    ssize_t n;
    do n = sendmsg((int)h, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0) return WEFT_OK;
    /* ETOOMANYREFS: too many handles are under way and were not received. */
    return errno == EBADF ? WEFT_EINVAL : errno == ETOOMANYREFS ? WEFT_EFULL : pf_error(errno);
}

int pf_receive_handle(pf_handle h, pf_handle *out)
{
    *out = PF_NO_HANDLE;
    if (family_of((int)h) != AF_UNIX) return WEFT_EINVAL;
    union control control;
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    /* There is space for one handle only, so that the kernel does not pass further ones. */
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t n;
    do n = recvmsg((int)h, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0) return pf_error(errno);
    if (n == 0) return 0;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len < CMSG_LEN(sizeof(int)))
        return (m.msg_flags & MSG_CTRUNC) != 0 ? WEFT_EFULL : WEFT_EFORMAT;
    int fd;
    memcpy(&fd, CMSG_DATA(c), sizeof fd);
    if (MSG_CMSG_CLOEXEC == 0) (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    *out = fd;
    return 1;
}

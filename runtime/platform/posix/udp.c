/* runtime/platform/posix/udp.c -- datagrams. */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/uio.h>
#include <unistd.h>

#include "socket.h"

int pf_udp_open(pf_handle *out, const struct pf_address *at, bool reuse)
{
    union pf_any_address a;
    pf_load(&a, at);
    *out = PF_NO_HANDLE;
    if (!pf_is_internet(&a)) return WEFT_EADDRESS;
    int fd = pf_handle_socket(a.head.sa_family, SOCK_DGRAM), on = 1;
    if (fd < 0) return pf_error(errno);
    bool good = !reuse || (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                           setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0);
    if (!good || bind(fd, &a.head, at->size) != 0) {
        int rc = pf_error(errno);
        close(fd);
        return rc;
    }
    *out = fd;
    return WEFT_OK;
}

int pf_udp_connect(pf_handle h, const struct pf_address *to)
{
    union pf_any_address a;
    pf_load(&a, to);
    return connect((int)h, &a.head, to->size) == 0 ? WEFT_OK : pf_error(errno);
}

int pf_udp_send(pf_handle h, const struct pf_address *to, const void *data, size_t size)
{
    union pf_any_address a;
    if (to != NULL) pf_load(&a, to);
    ssize_t n;
    do n = sendto((int)h, data, size, MSG_NOSIGNAL, to != NULL ? &a.head : NULL, to != NULL ? to->size : 0);
    while (n < 0 && errno == EINTR);
    if (n >= 0) return WEFT_OK;
    switch (errno) {
    case EDESTADDRREQ:
    case EAFNOSUPPORT: return WEFT_EINVAL;
    default: return pf_error(errno);
    }
}

int64_t pf_udp_receive(pf_handle h, void *buffer, size_t size, struct pf_address *from)
{
    union pf_any_address a;
    struct iovec part = {.iov_base = buffer, .iov_len = size};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    if (from != NULL) {
        m.msg_name = &a;
        m.msg_namelen = sizeof a;
    }
    ssize_t n;
    do n = recvmsg((int)h, &m, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0) return pf_error(errno);
    if (from != NULL) pf_store(from, &a, m.msg_namelen);
    return (m.msg_flags & MSG_TRUNC) != 0 ? WEFT_ETOOBIG : n;
}

int pf_udp_group(pf_handle h, const struct pf_address *group, const char *interface, bool join)
{
    union pf_any_address a;
    struct group_req request;
    pf_load(&a, group);
    memset(&request, 0, sizeof request);
    if (interface != NULL && (request.gr_interface = if_nametoindex(interface)) == 0) return WEFT_EADDRESS;
    memcpy(&request.gr_group, &a, sizeof request.gr_group);
    int level = a.head.sa_family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
    int rc = setsockopt((int)h, level, join ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP, &request, sizeof request);
    if (rc == 0) return WEFT_OK;
    switch (errno) {
    case EINVAL: /* not a multicast address */
    case ENODEV:
    case EADDRNOTAVAIL: return WEFT_EADDRESS; /* the group was not joined */
    case EADDRINUSE: return WEFT_EEXIST;
    default: return pf_error(errno);
    }
}

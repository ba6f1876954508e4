/* runtime/platform/posix/socket.h -- what the files about sockets share. */
#ifndef PF_POSIX_SOCKET_H
#define PF_POSIX_SOCKET_H

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "handle.h"
#include "native.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* macOS: the sockets have SO_NOSIGPIPE */
#endif
#ifndef MSG_CMSG_CLOEXEC
#define MSG_CMSG_CLOEXEC 0 /* macOS */
#endif
#ifndef POLLRDHUP
#define POLLRDHUP 0 /* elsewhere the other side's end is readiness like any other */
#endif

/* A sockaddr with room and alignment for each kind. */
union pf_any_address {
    struct sockaddr head;
    struct sockaddr_un unix_path;
    struct sockaddr_storage room;
};

static inline void pf_load(union pf_any_address *out, const struct pf_address *from)
{
    memset(out, 0, sizeof *out);
    memcpy(out, from->bytes, WF_MIN((size_t)from->size, sizeof from->bytes));
}

static inline bool pf_is_internet(const union pf_any_address *a)
{
    return a->head.sa_family == AF_INET || a->head.sa_family == AF_INET6;
}

static inline void pf_store(struct pf_address *out, const union pf_any_address *from, socklen_t size)
{
    memset(out, 0, sizeof *out);
    out->size = (uint32_t)WF_MIN((size_t)size, sizeof out->bytes);
    memcpy(out->bytes, from, out->size);
}

#endif

/* runtime/platform/socket_shared.h -- code that the sockets of all systems share; each system has its own inet.h. */
#ifndef PF_SOCKET_SHARED_H
#define PF_SOCKET_SHARED_H

#include <string.h>

#include "inet.h"
#include "platform.h"

/* A sockaddr with space and alignment for each kind. */
union pf_any_address {
    struct sockaddr head;
    struct sockaddr_un unix_path;
    struct sockaddr_storage space;
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

/* Finds the level and name of an option whose value is one int. False: the system has no such option, or its value is
 * no int. */
static inline bool pf_option_place(bool v6, enum pf_option option, int *level, int *name)
{
    *level = IPPROTO_TCP;
    switch (option) {
    case PF_NODELAY: *name = TCP_NODELAY; return true;
    case PF_KEEPALIVE: *name = PF_TCP_IDLE; return true;
    case PF_KEEPALIVE_INTERVAL: *name = TCP_KEEPINTVL; return true;
    case PF_KEEPALIVE_COUNT: *name = TCP_KEEPCNT; return true;
    case PF_NOT_SENT: *name = PF_TCP_NOT_SENT; return PF_TCP_NOT_SENT != 0;
    case PF_MULTICAST_HOPS:
        *level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
        *name = v6 ? IPV6_MULTICAST_HOPS : IP_MULTICAST_TTL;
        return true;
    case PF_MULTICAST_LOOP:
        *level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
        *name = v6 ? IPV6_MULTICAST_LOOP : IP_MULTICAST_LOOP;
        return true;
    default: break;
    }
    *level = SOL_SOCKET;
    switch (option) {
    case PF_SEND_BUFFER: *name = SO_SNDBUF; return true;
    case PF_RECEIVE_BUFFER: *name = SO_RCVBUF; return true;
    case PF_BROADCAST: *name = SO_BROADCAST; return true;
    default: return false;
    }
}

#endif

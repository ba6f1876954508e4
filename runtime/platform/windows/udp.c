/* runtime/platform/windows/udp.c -- datagrams. */
#include "socket.h"
/* after winsock2.h */
#include <mswsock.h>

int pf_udp_open(pf_handle *out, const struct pf_address *at, bool reuse)
{
    union pf_any_address a;
    pf_load(&a, at);
    *out = PF_NO_HANDLE;
    if (!pf_is_internet(&a)) return WEFT_EADDRESS;
    pf_sockets_load();
    SOCKET s = WSASocketW(a.head.sa_family, SOCK_DGRAM, 0, NULL, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    if (s == INVALID_SOCKET) return pf_socket_error();
    pf_make_ours(s);
    /* A receive reports the errors of earlier datagrams only if the socket is connected: see pf_udp_connect. */
    BOOL tell = FALSE;
    DWORD size = 0;
    (void)WSAIoctl(s, SIO_UDP_CONNRESET, &tell, sizeof tell, NULL, 0, &size, NULL, NULL);
    int on = 1;
    bool good = setsockopt(s, SOL_SOCKET, reuse ? SO_REUSEADDR : SO_EXCLUSIVEADDRUSE, (const char *)&on, sizeof on) ==
                0;
    if (!good || bind(s, &a.head, (int)at->size) != 0) {
        int rc = WSAGetLastError() == WSAEACCES ? WEFT_EINUSE : pf_socket_error();
        closesocket(s);
        return rc;
    }
    *out = (pf_handle)s;
    return WEFT_OK;
}

int pf_udp_connect(pf_handle h, const struct pf_address *to)
{
    union pf_any_address a;
    BOOL tell = TRUE;
    DWORD size = 0;
    pf_load(&a, to);
    (void)WSAIoctl((SOCKET)h, SIO_UDP_CONNRESET, &tell, sizeof tell, NULL, 0, &size, NULL, NULL);
    return connect((SOCKET)h, &a.head, (int)to->size) == 0 ? WEFT_OK : pf_socket_error();
}

/* "Connection reset" means that no process listens at that address. */
static int failed(void)
{
    switch (WSAGetLastError()) {
    case WSAECONNRESET:
    case WSAENETRESET: return WEFT_EREFUSED;
    case WSAENOBUFS: return PF_AGAIN;
    case WSAENOTCONN:
    case WSAEDESTADDRREQ:
    case WSAEAFNOSUPPORT:
    case WSAEFAULT: return WEFT_EINVAL;
    default: return pf_socket_error();
    }
}

int pf_udp_send(pf_handle h, const struct pf_address *to, const void *data, size_t size)
{
    union pf_any_address a;
    if (size > INT32_MAX) return WEFT_ETOOBIG;
    if (to != NULL) pf_load(&a, to);
    int n = to != NULL ? sendto((SOCKET)h, data, (int)size, 0, &a.head, (int)to->size)
                       : send((SOCKET)h, data, (int)size, 0);
    return n >= 0 ? WEFT_OK : failed();
}

int64_t pf_udp_receive(pf_handle h, void *buffer, size_t size, struct pf_address *from)
{
    union pf_any_address a;
    int length = sizeof a, n = recvfrom((SOCKET)h, buffer, (int)WF_MIN(size, (size_t)INT32_MAX), 0, &a.head, &length);
    bool cut = n < 0 && WSAGetLastError() == WSAEMSGSIZE;
    if (n < 0 && !cut) return failed();
    if (from != NULL) pf_store(from, &a, length);
    return cut ? WEFT_ETOOBIG : n;
}

int pf_udp_group(pf_handle h, const struct pf_address *group, const char *interface_name, bool join)
{
    union pf_any_address a;
    GROUP_REQ request;
    pf_load(&a, group);
    memset(&request, 0, sizeof request);
    if (interface_name != NULL && (request.gr_interface = if_nametoindex(interface_name)) == 0) return WEFT_EADDRESS;
    memcpy(&request.gr_group, &a, sizeof request.gr_group);
    int level = a.head.sa_family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
    if (setsockopt((SOCKET)h, level, join ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP, (const char *)&request,
                   sizeof request) == 0)
        return WEFT_OK;
    switch (WSAGetLastError()) {
    case WSAEINVAL: /* not a multicast address */
    case WSAEADDRNOTAVAIL: return WEFT_EADDRESS;
    case WSAEADDRINUSE: return WEFT_EEXIST;
    default: return pf_socket_error();
    }
}

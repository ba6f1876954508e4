/* runtime/platform/windows/pipe.c -- pipes, and copies of handles.
 *
 * Design notes.
 * (1) The port reports finished operations on pipes of this system, not readiness, and the driver of sockets supports
 *     sockets only. So a pipe is a pair of connected sockets of the loopback network: the poller supports them as any
 *     other, and a child can read and write a socket that was not made for overlapped use like a file.
 * (2) Between listening and accepting, any process on this machine could connect: only the socket that we have
 *     connected is accepted. */
#include "socket.h"

static SOCKET new_socket(bool ours)
{
    SOCKET s = WSASocketW(AF_INET, SOCK_STREAM, 0, NULL, 0,
                          (ours ? WSA_FLAG_OVERLAPPED : 0) | WSA_FLAG_NO_HANDLE_INHERIT);
    int on = 1;
    if (s != INVALID_SOCKET) (void)setsockopt(s, IPPROTO_TCP, TCP_NODELAY, (const char *)&on, sizeof on);
    return s;
}

static bool is_same(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
    return a->sin_port == b->sin_port && a->sin_addr.s_addr == b->sin_addr.s_addr;
}

/* Accepts the connection whose other end is `to`. */
static SOCKET accept_from(SOCKET listener, SOCKET to)
{
    struct sockaddr_in wanted, from;
    int size = sizeof wanted;
    if (getsockname(to, (struct sockaddr *)&wanted, &size) != 0) return INVALID_SOCKET;
    for (;;) {
        size = sizeof from;
        SOCKET s = accept(listener, (struct sockaddr *)&from, &size);
        /* Another process has connected and closed the connection. */
        if (s == INVALID_SOCKET && WSAGetLastError() == WSAECONNRESET) continue;
        if (s == INVALID_SOCKET || is_same(&from, &wanted)) return s;
        closesocket(s);
    }
}

static int connect_pair(SOCKET listener, SOCKET reading, SOCKET *writing)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int size = sizeof at;
    if (bind(listener, (const struct sockaddr *)&at, size) != 0 || listen(listener, SOMAXCONN) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &size) != 0 ||
        connect(reading, (const struct sockaddr *)&at, size) != 0)
        return pf_socket_error();
    *writing = accept_from(listener, reading);
    return *writing == INVALID_SOCKET ? pf_socket_error() : WEFT_OK;
}

static pf_handle finish(SOCKET s, bool ours)
{
    if (ours) pf_make_ours(s);
    else (void)SetHandleInformation((HANDLE)s, HANDLE_FLAG_INHERIT, 0);
    return (pf_handle)s;
}

int pf_pipe(pf_handle *reading, pf_handle *writing, bool reading_is_ours, bool writing_is_ours)
{
    pf_sockets_load();
    /* An accepted socket is of its listener's kind. */
    SOCKET listener = new_socket(writing_is_ours), in = new_socket(reading_is_ours), out = INVALID_SOCKET;
    int rc = listener == INVALID_SOCKET || in == INVALID_SOCKET ? pf_socket_error() : WEFT_OK;
    if (rc == WEFT_OK) rc = connect_pair(listener, in, &out);
    if (listener != INVALID_SOCKET) closesocket(listener);
    if (rc < 0) {
        if (in != INVALID_SOCKET) closesocket(in);
        return rc;
    }
    *reading = finish(in, reading_is_ours);
    *writing = finish(out, writing_is_ours);
    return WEFT_OK;
}

int pf_duplicate(pf_handle h, pf_handle *out)
{
    HANDLE copy, self = GetCurrentProcess();
    if (!pf_is_open(h)) return WEFT_ECLOSED;
    if (!DuplicateHandle(self, (HANDLE)h, self, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS))
        return pf_error((int)GetLastError());
    *out = (pf_handle)copy;
    return WEFT_OK;
}

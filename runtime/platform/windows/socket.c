/* runtime/platform/windows/socket.c -- non-blocking sockets that children do not inherit; errors as WEFT_E*. */
#include "socket.h"

enum { SLICES = 64 }; /* slices per system call */

static BOOL CALLBACK load_library(INIT_ONCE *once, void *arg, void **context)
{
    (void)once, (void)arg, (void)context;
    WSADATA data;
    return WSAStartup(MAKEWORD(2, 2), &data) == 0;
}

void pf_sockets_load(void)
{
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    bool loaded = InitOnceExecuteOnce(&once, load_library, NULL, NULL);
    WF_ASSERT(loaded);
}

void pf_make_ours(SOCKET s)
{
    u_long on = 1;
    (void)ioctlsocket(s, (long)FIONBIO, &on);
    (void)SetHandleInformation((HANDLE)s, HANDLE_FLAG_INHERIT, 0);
}

/* Writers batch by themselves, so the system must not delay their data. */
static void write_at_once(SOCKET s, const union pf_any_address *a)
{
    int on = 1;
    if (pf_is_internet(a)) (void)setsockopt(s, IPPROTO_TCP, TCP_NODELAY, (const char *)&on, sizeof on);
}

static SOCKET open_socket(const union pf_any_address *a)
{
    pf_sockets_load();
    SOCKET s = WSASocketW(a->head.sa_family, SOCK_STREAM, 0, NULL, 0,
                          WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    if (s == INVALID_SOCKET) return s;
    pf_make_ours(s);
    write_at_once(s, a);
    return s;
}

int pf_listen(pf_handle *out, const struct pf_address *at, int backlog, bool reuse_port)
{
    union pf_any_address a;
    pf_load(&a, at);
    *out = PF_NO_HANDLE;
    /* SO_REUSEADDR has another meaning on this system: it lets two processes steal each other's connections. */
    if (reuse_port) return WEFT_EINVAL;
    SOCKET s = open_socket(&a);
    if (s == INVALID_SOCKET) return pf_socket_error();
    int on = 1;
    if (pf_is_internet(&a)) (void)setsockopt(s, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&on, sizeof on);
    if (bind(s, &a.head, (int)at->size) == 0 && listen(s, backlog) == 0) {
        *out = (pf_handle)s;
        return WEFT_OK;
    }
    /* WSAEACCES: another process uses the address exclusively. */
    int rc = WSAGetLastError() == WSAEACCES && pf_is_internet(&a) ? WEFT_EINUSE : pf_socket_error();
    closesocket(s);
    return rc;
}

void pf_listen_close(pf_handle h, const struct pf_address *at)
{
    union pf_any_address a;
    pf_load(&a, at);
    if (a.head.sa_family == AF_UNIX) (void)DeleteFileA(a.unix_path.sun_path);
    pf_close(h);
}

static int address_of(int(WSAAPI *ask)(SOCKET, struct sockaddr *, int *), pf_handle h, struct pf_address *out)
{
    union pf_any_address a;
    int size = sizeof a;
    memset(&a, 0, sizeof a);
    if (ask((SOCKET)h, &a.head, &size) != 0) return pf_socket_error();
    pf_store(out, &a, size);
    return WEFT_OK;
}

int pf_local_address(pf_handle h, struct pf_address *out)
{
    return address_of(getsockname, h, out);
}

int pf_peer_address(pf_handle h, struct pf_address *out)
{
    return address_of(getpeername, h, out);
}

bool pf_handles_scarce(void)
{
    return false;
}

int pf_accept(pf_handle listener, pf_handle *out)
{
    *out = PF_NO_HANDLE;
    for (;;) {
        union pf_any_address from;
        int size = sizeof from;
        SOCKET s = accept((SOCKET)listener, &from.head, &size);
        if (s != INVALID_SOCKET) {
            pf_make_ours(s);
            write_at_once(s, &from);
            *out = (pf_handle)s;
            return WEFT_OK;
        }
        switch (WSAGetLastError()) {
        case WSAECONNRESET: /* the client closed it while it was queued; the next one may be there */
        case WSAECONNABORTED:
        case WSAENETDOWN: continue;
        default: return pf_socket_error();
        }
    }
}

int pf_connect(pf_handle *out, const struct pf_address *to)
{
    union pf_any_address a;
    pf_load(&a, to);
    *out = PF_NO_HANDLE;
    SOCKET s = open_socket(&a);
    if (s == INVALID_SOCKET) return pf_socket_error();
    int rc = connect(s, &a.head, (int)to->size) == 0 ? WEFT_OK : pf_socket_error();
    if (rc == WEFT_OK || rc == PF_AGAIN) *out = (pf_handle)s;
    else closesocket(s);
    return rc;
}

int pf_connect_result(pf_handle h)
{
    int result = 0, size = sizeof result;
    if (getsockopt((SOCKET)h, SOL_SOCKET, SO_ERROR, (char *)&result, &size) != 0) return pf_socket_error();
    if (result != 0) return pf_error(result);
    struct pf_address peer;
    int rc = pf_peer_address(h, &peer);
    return rc == WEFT_ERESET ? PF_AGAIN : rc; /* it is not connected and has no error, so it is under way */
}

int64_t pf_read(pf_handle h, void *buffer, size_t size)
{
    int n = recv((SOCKET)h, buffer, (int)WF_MIN(size, (size_t)1 << 30), 0);
    return n >= 0 ? n : pf_socket_error();
}

int64_t pf_write(pf_handle h, const struct pf_slice *slices, int count)
{
    WSABUF parts[SLICES];
    DWORD sent = 0;
    count = WF_MIN(count, (int)SLICES);
    for (int i = 0; i < count; i++) {
        parts[i].buf = (char *)(uintptr_t)slices[i].data;
        parts[i].len = (ULONG)WF_MIN(slices[i].size, (size_t)1 << 30);
        if (parts[i].len < slices[i].size) count = i + 1;
    }
    return WSASend((SOCKET)h, parts, (DWORD)count, &sent, 0, NULL, NULL) == 0 ? (int64_t)sent : pf_socket_error();
}

int pf_shutdown(pf_handle h)
{
    return shutdown((SOCKET)h, SD_SEND) == 0 ? WEFT_OK : pf_socket_error();
}

void pf_close(pf_handle h)
{
    if (h == PF_NO_HANDLE) return;
    pf_standard_closes(h);
    if (closesocket((SOCKET)h) == 0) return;
    /* The handle was made by other code; or no socket was used before, so the library is not loaded. */
    if (WSAGetLastError() == WSAENOTSOCK || WSAGetLastError() == WSANOTINITIALISED) (void)CloseHandle((HANDLE)h);
}

int pf_is_ready(pf_handle h, bool for_write)
{
    WSAPOLLFD p = {.fd = (SOCKET)h, .events = for_write ? POLLOUT : POLLIN};
    pf_sockets_load();
    int n = h == PF_NO_HANDLE ? SOCKET_ERROR : WSAPoll(&p, 1, 0);
    if (n == SOCKET_ERROR) return WSAGetLastError() == WSAENOBUFS ? WEFT_ENOMEM : WEFT_ECLOSED;
    if ((p.revents & POLLNVAL) != 0) return WEFT_ECLOSED;
    return n > 0;
}

void pf_raise_handle_limit(void)
{
    /* Memory is the only limit of handles. */
}

/* runtime/platform/posix/socket.c -- non-blocking, close-on-exec sockets; errors as WEFT_E*. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "socket.h"

enum { SLICES = 64 }; /* slices per system call */

static int open_socket(const union pf_any_address *a)
{
    int fd = pf_handle_socket(a->head.sa_family, SOCK_STREAM);
    if (fd < 0) return pf_error(errno);
    int on = 1;
    /* Writers batch by themselves, so the kernel must not delay their data. Accepted sockets inherit the option. */
    if (pf_is_internet(a)) (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* Removes a socket file on which no process listens: a process that died has left it. */
static bool remove_stale(const union pf_any_address *a, socklen_t size)
{
    struct stat s;
    if (a->head.sa_family != AF_UNIX) return false;
    if (lstat(a->unix_path.sun_path, &s) != 0 || !S_ISSOCK(s.st_mode)) return false;
    int probe = pf_handle_socket(AF_UNIX, SOCK_STREAM);
    if (probe < 0) return false;
    bool stale = connect(probe, &a->head, size) != 0 && errno == ECONNREFUSED;
    close(probe);
    return stale && unlink(a->unix_path.sun_path) == 0;
}

int pf_listen(pf_handle *out, const struct pf_address *at, int backlog, bool reuse_port)
{
    union pf_any_address a;
    pf_load(&a, at);
    int fd = open_socket(&a), on = 1;
    *out = PF_NO_HANDLE;
    if (fd < 0) return fd;
    if (pf_is_internet(&a)) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (reuse_port && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) goto failed;
    }
    if (bind(fd, &a.head, at->size) != 0) {
        if (errno != EADDRINUSE) goto failed;
        if (!remove_stale(&a, at->size)) {
            errno = EADDRINUSE;
            goto failed;
        }
        if (bind(fd, &a.head, at->size) != 0) goto failed;
    }
    if (listen(fd, backlog) != 0) goto failed;
    *out = fd;
    return WEFT_OK;
failed:;
    /* ENOENT: the socket's directory does not exist. */
    int rc = errno == ENOENT ? WEFT_EADDRESS : pf_error(errno);
    close(fd);
    return rc;
}

void pf_listen_close(pf_handle h, const struct pf_address *at)
{
    union pf_any_address a;
    pf_load(&a, at);
    pf_close(h);
    (void)remove_stale(&a, at->size); /* another process may have put a socket of its own there meanwhile */
}

static int address_of(int (*ask)(int, struct sockaddr *, socklen_t *), pf_handle h, struct pf_address *out)
{
    union pf_any_address a;
    socklen_t size = sizeof a;
    memset(&a, 0, sizeof a);
    if (ask((int)h, &a.head, &size) != 0) return pf_error(errno);
    pf_store(out, &a, size);
    return WEFT_OK;
}

static int ask_local(int fd, struct sockaddr *a, socklen_t *size)
{
    return getsockname(fd, a, size);
}

static int ask_peer(int fd, struct sockaddr *a, socklen_t *size)
{
    return getpeername(fd, a, size);
}

int pf_local_address(pf_handle h, struct pf_address *out)
{
    return address_of(ask_local, h, out);
}

int pf_peer_address(pf_handle h, struct pf_address *out)
{
    return address_of(ask_peer, h, out);
}

/* A new descriptor has the lowest free number. So its number tells how many can be left at most. */
static bool is_reserved(int fd)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return false;
    rlim_t reserved = WF_MIN((rlim_t)PF_RESERVED, limit.rlim_cur / 8);
    return (rlim_t)fd + reserved >= limit.rlim_cur;
}

bool pf_handles_scarce(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) return errno == EMFILE || errno == ENFILE;
    bool scarce = is_reserved(fd);
    close(fd);
    return scarce;
}

int pf_accept(pf_handle listener, pf_handle *out)
{
    static _Atomic bool scarce; /* relaxed, a hint: the last accepted descriptor is a reserved one */
    *out = PF_NO_HANDLE;
    if (atomic_load_explicit(&scarce, memory_order_relaxed)) {
        if (pf_handles_scarce()) return WEFT_EFULL;
        atomic_store_explicit(&scarce, false, memory_order_relaxed);
    }
    for (;;) {
        int fd = pf_handle_accept((int)listener);
        if (fd >= 0) {
            if (is_reserved(fd)) atomic_store_explicit(&scarce, true, memory_order_relaxed);
            *out = fd;
            return WEFT_OK;
        }
        switch (errno) {
        case EINTR:
        case ECONNABORTED: /* the client closed it while it was queued; the next one may be there */
        case EPROTO:
        case ENETDOWN:
        case ENETUNREACH:
        case EHOSTUNREACH: continue;
        default: return pf_error(errno);
        }
    }
}

int pf_connect(pf_handle *out, const struct pf_address *to)
{
    union pf_any_address a;
    pf_load(&a, to);
    int fd = open_socket(&a);
    *out = PF_NO_HANDLE;
    if (fd < 0) return fd;
    int rc = connect(fd, &a.head, to->size) == 0 ? 0 : errno;
    if (rc == 0 || rc == EINPROGRESS || rc == EINTR) {
        *out = fd;
        return rc == 0 ? WEFT_OK : PF_AGAIN;
    }
    close(fd);
    return rc == EAGAIN ? WEFT_EREFUSED
                        : pf_error(rc); /* EAGAIN: the queue of a Unix listener is full; nothing reports space */
}

int pf_connect_result(pf_handle h)
{
    for (bool over = false;; over = true) {
        int result = 0;
        socklen_t size = sizeof result;
        if (getsockopt((int)h, SOL_SOCKET, SO_ERROR, &result, &size) != 0) return pf_error(errno);
        if (result != 0) return pf_error(result);
        struct pf_address peer;
        int rc = pf_peer_address(h, &peer);
        if (rc != WEFT_ERESET) return rc;
        /* It is not connected and has no error: it is under way, unless libkqueue has consumed the error before. */
        if (over) return WEFT_EREFUSED;
        if (pf_is_ready(h, true) != 1) return PF_AGAIN;
    }
}

/* The handle is nearly always a socket, for which recv and send are the faster calls. */
int64_t pf_read(pf_handle h, void *buffer, size_t size)
{
    ssize_t n;
    do n = recv((int)h, buffer, size, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == ENOTSOCK) {
        do n = read((int)h, buffer, size);
        while (n < 0 && errno == EINTR);
    }
    return n >= 0 ? n : pf_error(errno);
}

/* `socket`: false for a pipe or a terminal. */
static __attribute__((noinline)) ssize_t write_parts(int fd, bool socket, const struct pf_slice *slices, int count)
{
    struct iovec parts[SLICES];
    struct msghdr m = {.msg_iov = parts};
    ssize_t n;
    count = WF_MIN(count, (int)SLICES);
    for (int i = 0; i < count; i++)
        parts[i] = (struct iovec){.iov_base = (void *)(uintptr_t)slices[i].data, .iov_len = slices[i].size};
    m.msg_iovlen = (unsigned char)count; /* at most SLICES; systems differ in its type */
    if (!socket) pf_signals_before_write();
    do n = socket ? sendmsg(fd, &m, MSG_NOSIGNAL) : writev(fd, parts, count);
    while (n < 0 && errno == EINTR);
    return n;
}

int64_t pf_write(pf_handle h, const struct pf_slice *slices, int count)
{
    ssize_t n;
    if (count == 1) {
        do n = send((int)h, slices->data, slices->size, MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
    } else {
        n = write_parts((int)h, true, slices, count);
    }
    if (n < 0 && errno == ENOTSOCK) n = write_parts((int)h, false, slices, count);
    return n >= 0 ? n : pf_error(errno);
}

int pf_shutdown(pf_handle h)
{
    return shutdown((int)h, SHUT_WR) == 0 ? WEFT_OK : pf_error(errno);
}

void pf_abort(pf_handle h)
{
    (void)shutdown((int)h, SHUT_RDWR);
}

void pf_close(pf_handle h)
{
    if (h != PF_NO_HANDLE) (void)close((int)h); /* not again after EINTR: another thread may have the number now */
}

int pf_is_ready(pf_handle h, bool for_write)
{
    struct pollfd p = {.fd = (int)h, .events = for_write ? POLLOUT : POLLIN | POLLRDHUP};
    int n;
    do n = poll(&p, 1, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0) return pf_error(errno);
    if (h < 0 || (p.revents & POLLNVAL) != 0) return WEFT_ECLOSED;
    return n > 0;
}

void pf_raise_handle_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* a system with a lower limit refuses, and the limit stays as before */
}

/* tests/sockets.h -- calls on plain sockets and pipes for tests, also on Windows: there a pipe is two sockets, and
 * read, write and close are for sockets only. */
#ifndef WF_TEST_SOCKETS_H
#define WF_TEST_SOCKETS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <winsock2.h>
/* after winsock2.h */
#include <windows.h>
#include <ws2tcpip.h>
#include <io.h> /* declares what has other names below */
#include <unistd.h>
#undef interface /* words of their own in C */
#undef near
#undef far

#include "platform.h"

#define MSG_NOSIGNAL 0
#define MSG_DONTWAIT 0
#define SHUT_WR SD_SEND
#define SHUT_RDWR SD_BOTH

__attribute__((constructor, unused)) static void sockets_load(void)
{
    WSADATA data;
    if (WSAStartup(MAKEWORD(2, 2), &data) != 0) abort();
}

__attribute__((unused)) static int socket_pipe(int ends[2])
{
    pf_handle both[2];
    if (pf_pipe(&both[0], &both[1], true, false) < 0) return -1;
    u_long off = 0; /* as a pipe is: it blocks */
    (void)ioctlsocket((SOCKET)both[0], (long)FIONBIO, &off);
    for (int i = 0; i < 2; i++) ends[i] = (int)both[i];
    return 0;
}

__attribute__((unused)) static ssize_t socket_send(int fd, const void *data, size_t size, int flags)
{
    return (send)((SOCKET)fd, data, (int)size, flags);
}

__attribute__((unused)) static ssize_t socket_recv(int fd, void *data, size_t size, int flags)
{
    return (recv)((SOCKET)fd, data, (int)size, flags);
}

__attribute__((unused)) static int socket_set(int fd, int level, int name, const void *value, socklen_t size)
{
    return (setsockopt)((SOCKET)fd, level, name, value, size);
}

__attribute__((unused)) static int socket_close(int fd)
{
    return closesocket((SOCKET)fd);
}

__attribute__((unused)) static int socket_listen(int fd, int backlog)
{
    return listen((SOCKET)fd, backlog);
}

__attribute__((unused)) static int socket_accept(int fd)
{
    return (int)accept((SOCKET)fd, NULL, NULL);
}

/* Two that are connected; they do not wait. */
__attribute__((unused)) static int socket_pair(int ends[2])
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int size = sizeof here;
    u_long on = 1;
    SOCKET listener = socket(AF_INET, SOCK_STREAM, 0), both[2] = {socket(AF_INET, SOCK_STREAM, 0), INVALID_SOCKET};
    bool ok = bind(listener, (struct sockaddr *)&here, size) == 0 && listen(listener, 1) == 0 &&
              getsockname(listener, (struct sockaddr *)&here, &size) == 0 &&
              connect(both[0], (struct sockaddr *)&here, size) == 0 &&
              (both[1] = accept(listener, NULL, NULL)) != INVALID_SOCKET;
    closesocket(listener);
    for (int i = 0; i < 2; i++) {
        if (ioctlsocket(both[i], (long)FIONBIO, &on) != 0) ok = false;
        ends[i] = (int)both[i];
    }
    return ok ? 0 : -1;
}

#define pipe socket_pipe
#define close socket_close
#define read(fd, data, size) socket_recv(fd, data, size, 0)
#define write(fd, data, size) socket_send(fd, data, size, 0)
#define recv socket_recv
#define send socket_send
#define setsockopt socket_set
#define socket(family, type, protocol) ((int)(socket)(family, type, protocol))
#define bind(fd, address, size) (bind)((SOCKET)(fd), address, size)
#define getsockname(fd, address, size) (getsockname)((SOCKET)(fd), address, size)
#define connect(fd, address, size) (connect)((SOCKET)(fd), address, size)
#define shutdown(fd, how) (shutdown)((SOCKET)(fd), how)

typedef WSAPOLLFD socket_poll;
typedef SOCKET socket_number;
#define poll_sockets(list, count, ms) WSAPoll(list, (ULONG)(count), ms)
#else
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

__attribute__((unused)) static int socket_listen(int fd, int backlog)
{
    return listen(fd, backlog);
}

__attribute__((unused)) static int socket_accept(int fd)
{
    return accept(fd, NULL, NULL);
}

__attribute__((unused)) static int socket_pair(int ends[2])
{
    int rc = socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    for (int i = 0; i < 2 && rc == 0; i++) rc = fcntl(ends[i], F_SETFL, O_NONBLOCK);
    return rc;
}

typedef struct pollfd socket_poll;
typedef int socket_number;
#define poll_sockets(list, count, ms) poll(list, (nfds_t)(count), ms)
#endif

/* Waits until one of them, of which -1 are none, is readable or broken; says which are. */
__attribute__((unused)) static void await_sockets(const int *fds, bool *ready, int count)
{
    socket_poll list[256];
    int n = 0;
    if (count > 256) abort();
    for (int i = 0; i < count; i++)
        if (fds[i] >= 0) list[n++] = (socket_poll){.fd = (socket_number)fds[i], .events = POLLIN};
    if (poll_sockets(list, n, -1) < 0) n = 0;
    for (int i = 0, at = 0; i < count; i++) ready[i] = fds[i] >= 0 && at < n && list[at++].revents != 0;
}

/* The last call on a socket has failed because the other side has broken the connection. */
__attribute__((unused)) static bool socket_was_reset(void)
{
#ifdef _WIN32
    return WSAGetLastError() == WSAECONNRESET || WSAGetLastError() == WSAECONNABORTED;
#else
    return errno == ECONNRESET;
#endif
}

/* The last call has failed because it may not wait. */
__attribute__((unused)) static bool socket_would_wait(void)
{
#ifdef _WIN32
    return WSAGetLastError() == WSAEWOULDBLOCK;
#else
    return errno == EAGAIN;
#endif
}

/* No call on this socket waits. */
__attribute__((unused)) static void socket_never_waits(int fd)
{
#ifdef _WIN32
    u_long on = 1;
    ioctlsocket((SOCKET)fd, (long)FIONBIO, &on);
#else
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
#endif
}

/* A call on this socket gives up after that time. */
__attribute__((unused)) static void socket_patience(int fd, int seconds)
{
#ifdef _WIN32
    DWORD patience = (DWORD)seconds * 1000;
#else
    struct timeval patience = {.tv_sec = seconds};
#endif
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

#endif

/* Plain TCP sockets on 127.0.0.1, for proxies between nodes and for tests that send bytes to a node by hand. */
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include <check.h>
#include <stdio.h>

#include "../sockets.h"

__attribute__((unused)) static int loopback_port(const char *url)
{
    return atoi(strrchr(url, ':') + 1);
}

/* A listener on a free port. */
__attribute__((unused)) static int loopback_listen(char url[64])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(socket_listen(fd, 16), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    snprintf(url, 64, "tcp://127.0.0.1:%d", ntohs(at.sin_port));
    return fd;
}

/* -1: no process listens there. */
__attribute__((unused)) static int loopback_connect(int port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return fd;
    }
    close(fd);
    return -1;
}

/* False: the connection is over. */
__attribute__((unused)) static bool loopback_write(int fd, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        if (n <= 0) return false;
        at += n, size -= (size_t)n;
    }
    return true;
}

#endif

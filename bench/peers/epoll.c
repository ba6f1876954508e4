/* bench/peers/epoll.c -- the floor of the remote workloads: two processes, bare TCP, epoll, no actors.
 *
 *     epoll rtt SIZE N | oneway SIZE N
 *
 * One way: frames are gathered in 64 KiB before they are written. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 64 * 1024, WARM = 1000 };
static char buffer[BUFFER];

static void fail(const char *what)
{
    perror(what);
    _exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void await(int poller)
{
    struct epoll_event event;
    while (epoll_wait(poller, &event, 1, -1) != 1)
        if (errno != EINTR) fail("epoll_wait");
}

static void write_all(int fd, const char *from, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, from, size);
        if (n < 0) fail("write");
        from += n, size -= (size_t)n;
    }
}

/* As a reactor does it: reads what is there, and sleeps in epoll_wait when there is nothing. */
static size_t read_some(int fd, int poller, size_t limit)
{
    for (;;) {
        ssize_t n = recv(fd, buffer, limit, MSG_DONTWAIT);
        if (n > 0) return (size_t)n;
        if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) fail("read");
        await(poller);
    }
}

static void read_all(int fd, int poller, size_t size)
{
    while (size > 0) size -= read_some(fd, poller, size < BUFFER ? size : BUFFER);
}

static int prepared(int fd)
{
    int poller = epoll_create1(0), one = 1;
    struct epoll_event event = {.events = EPOLLIN};
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) < 0) fail("setsockopt");
    if (poller < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) < 0) fail("epoll");
    return poller;
}

static void serve(int listener, int echo, size_t size, long n)
{
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) fail("accept");
    int poller = prepared(fd);
    for (long i = 0; echo && i < n + WARM; i++) {
        read_all(fd, poller, size);
        write_all(fd, buffer, size);
    }
    if (echo) return;
    read_all(fd, poller, size * (size_t)n);
    write_all(fd, "", 1);
}

static int by_value(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static void round_trips(int fd, size_t size, long n)
{
    int poller = prepared(fd);
    int64_t *took = calloc((size_t)n, sizeof *took);
    if (took == NULL) fail("calloc");
    for (long i = -WARM; i < n; i++) {
        int64_t start = now_ns();
        write_all(fd, buffer, size);
        read_all(fd, poller, size);
        if (i >= 0) took[i] = now_ns() - start;
    }
    qsort(took, (size_t)n, sizeof *took, by_value);
    printf("remote epoll rtt,size=%zu,n=%ld p50_us %.1f\n", size, n, (double)took[n / 2] / 1e3);
    printf("remote epoll rtt,size=%zu,n=%ld p99_us %.1f\n", size, n, (double)took[n * 99 / 100] / 1e3);
    free(took);
}

static void one_way(int fd, size_t size, long n)
{
    int poller = prepared(fd);
    size_t filled = 0;
    char frame[BUFFER] = {0};
    int64_t start = now_ns();
    for (long i = 0; i < n; i++) {
        if (filled + size > BUFFER) write_all(fd, buffer, filled), filled = 0;
        memcpy(buffer + filled, frame, size);
        filled += size;
    }
    write_all(fd, buffer, filled);
    read_all(fd, poller, 1);
    printf("remote epoll oneway,size=%zu,n=%ld msgs_per_s %.1f\n", size, n,
           1e9 * (double)n / (double)(now_ns() - start));
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    long size = argc == 4 ? atol(argv[2]) : 0, n = argc == 4 ? atol(argv[3]) : 0;
    if (size < 1 || size > BUFFER || n < 1) {
        fprintf(stderr, "usage: %s rtt SIZE N | oneway SIZE N\n", argv[0]);
        return 2;
    }
    int echo = strcmp(argv[1], "rtt") == 0, listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) < 0)
        fail("listen");
    pid_t server = fork();
    if (server < 0) fail("fork");
    if (server == 0) {
        serve(listener, echo, (size_t)size, n);
        _exit(0);
    }
    int fd = socket(AF_INET, SOCK_STREAM, 0), status = 0;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, length) < 0) fail("connect");
    if (echo) round_trips(fd, (size_t)size, n);
    else one_way(fd, (size_t)size, n);
    close(fd);
    return waitpid(server, &status, 0) != server || status != 0;
}

/* bench/peers/redis.c -- publish of bench/remote.c through Redis: one connection that publishes, a hundred PUBLISH in
 * one write, and subscribers that read everything; one client process with epoll.
 *
 *     redis SUBSCRIBERS N
 *
 * Starts redis-server on a free port of 127.0.0.1, without persistence, and ends it. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIPELINE = 100, MAX_SUBSCRIBERS = 1000 };
#define SUBSCRIBE "*2\r\n$9\r\nSUBSCRIBE\r\n$4\r\nnews\r\n"
#define SUBSCRIBED "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n"
#define PUBLISH "*3\r\n$7\r\nPUBLISH\r\n$4\r\nnews\r\n$8\r\n01234567\r\n"
#define NEWS "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$8\r\n01234567\r\n"

static pid_t server;
static struct sockaddr_in address = {.sin_family = AF_INET};
static char buffer[256 * 1024];

static void fail(const char *what)
{
    fprintf(stderr, "redis: %s: %s\n", what, strerror(errno));
    if (server > 0) kill(server, SIGTERM);
    _exit(1);
}

static void start_server(void)
{
    socklen_t length = sizeof address;
    char port[16];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        fail("no port");
    close(fd);
    snprintf(port, sizeof port, "%d", ntohs(address.sin_port));
    server = fork();
    if (server != 0) return;
    if (freopen("/dev/null", "w", stdout) == NULL) _exit(1);
    execlp("redis-server", "redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no",
           "--client-output-buffer-limit", "pubsub 0 0 0", (char *)NULL);
    _exit(127);
}

static int dial(void)
{
    int one = 1;
    for (int tries = 0; tries < 500; tries++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0)
            return fd;
        close(fd);
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
    fail("cannot connect");
    return -1;
}

static void write_all(int fd, const char *from, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, from, size);
        if (n < 0) fail("write");
        from += n, size -= (size_t)n;
    }
}

static void expect(int fd, const char *text)
{
    size_t size = strlen(text);
    if (recv(fd, buffer, size, MSG_WAITALL) != (ssize_t)size || memcmp(buffer, text, size) != 0)
        fail("a wrong answer");
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int poller;
static size_t got[MAX_SUBSCRIBERS + 1]; /* bytes of each connection; the first publishes */
static int fds[MAX_SUBSCRIBERS + 1];

static size_t take_some(void)
{
    struct epoll_event events[64];
    size_t all = 0;
    int ready = epoll_wait(poller, events, 64, -1);
    for (int i = 0; i < ready; i++) {
        uint32_t at = events[i].data.u32;
        ssize_t n = recv(fds[at], buffer, sizeof buffer, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) fail("read");
        if (n < 0) continue;
        got[at] += (size_t)n;
        if (at > 0) all += (size_t)n;
    }
    return all;
}

static void publish(long subscribers, long n)
{
    char *batch = malloc(PIPELINE * (sizeof PUBLISH - 1)), ack[32];
    if (batch == NULL) fail("malloc");
    for (int i = 0; i < PIPELINE; i++) memcpy(batch + (size_t)i * (sizeof PUBLISH - 1), PUBLISH, sizeof PUBLISH - 1);
    size_t ack_size = (size_t)snprintf(ack, sizeof ack, ":%ld\r\n", subscribers), taken = 0;
    double start = now_s();
    for (long sent = 0; sent < n; sent += PIPELINE) {
        write_all(fds[0], batch, PIPELINE * (sizeof PUBLISH - 1));
        while (got[0] < (size_t)(sent + PIPELINE) * ack_size) taken += take_some();
    }
    while (taken < (size_t)n * (size_t)subscribers * (sizeof NEWS - 1)) taken += take_some();
    double took = now_s() - start;
    for (long i = 1; i <= subscribers; i++)
        if (got[i] != (size_t)n * (sizeof NEWS - 1)) fail("a subscriber has lost some");
    printf("remote redis publish,size=8,subs=%ld,n=%ld deliveries_per_s %.1f\n", subscribers, n,
           (double)n * (double)subscribers / took);
    free(batch);
}

int main(int argc, char **argv)
{
    long subscribers = argc == 3 ? atol(argv[1]) : 0, n = argc == 3 ? atol(argv[2]) : 0;
    if (subscribers < 1 || subscribers > MAX_SUBSCRIBERS || n < PIPELINE || n % PIPELINE != 0) {
        fprintf(stderr, "usage: %s SUBSCRIBERS N, a multiple of %d\n", argv[0], PIPELINE);
        return 2;
    }
    start_server();
    if ((poller = epoll_create1(0)) < 0) fail("epoll");
    for (uint32_t i = 0; i <= (uint32_t)subscribers; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = i}};
        fds[i] = dial();
        if (i > 0) write_all(fds[i], SUBSCRIBE, sizeof SUBSCRIBE - 1), expect(fds[i], SUBSCRIBED);
        if (epoll_ctl(poller, EPOLL_CTL_ADD, fds[i], &event) < 0) fail("epoll");
    }
    publish(subscribers, n);
    kill(server, SIGTERM);
    waitpid(server, NULL, 0);
    return 0;
}

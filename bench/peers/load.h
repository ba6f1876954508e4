/* bench/peers/load.h -- clients of an echo server, in a process of their own, the same for every server: a number of
 * connections with one request under way on each, until all requests have been answered.
 *
 * The server forks it before it starts anything (load_begin), tells it its port (load_go), serves until all
 * connections have been closed, and asks for the result (load_end). What it reports is its own processor time, from
 * load_go to load_end. C, and C++ for asio.cpp. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOAD_SIZE_MAX = 16384, LOAD_BATCH = 512 };

struct load {
    int connections;
    size_t size;
    long requests;
    const char *how; /* the server's name for its way of serving, which is shown; NULL: none */
    pid_t process;
    int port_pipe[2], done_pipe[2];
    double cpu_s;
};

static void load_must(int good, const char *what)
{
    if (good) return;
    perror(what);
    _exit(1);
}

static double load_cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double load_wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct load_client {
    int fd;
    size_t got;
};

static void load_send(const struct load *l, const struct load_client *c, const char *request)
{
    load_must(send(c->fd, request, l->size, MSG_NOSIGNAL) == (ssize_t)l->size, "send"); /* its buffer is empty */
}

static void load_run(const struct load *l, const struct sockaddr_in *server)
{
    struct load_client *all = (struct load_client *)calloc((size_t)l->connections, sizeof *all);
    static char request[LOAD_SIZE_MAX], answer[LOAD_SIZE_MAX];
    int poller = epoll_create1(EPOLL_CLOEXEC), on = 1;
    long begun = 0, answered = 0;
    load_must(all != NULL && poller >= 0, "clients");
    for (size_t i = 0; i < l->size; i++) request[i] = (char)('a' + i % 26);
    for (int i = 0; i < l->connections; i++) {
        struct epoll_event e = {.events = EPOLLIN};
        e.data.ptr = &all[i];
        all[i].fd = socket(AF_INET, SOCK_STREAM, 0);
        load_must(connect(all[i].fd, (const struct sockaddr *)server, sizeof *server) == 0, "connect");
        load_must(setsockopt(all[i].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "nodelay");
        load_must(epoll_ctl(poller, EPOLL_CTL_ADD, all[i].fd, &e) == 0, "epoll_ctl");
    }
    double start = load_wall();
    for (int i = 0; i < l->connections && begun < l->requests; i++, begun++) load_send(l, &all[i], request);
    while (answered < l->requests) {
        struct epoll_event ready[LOAD_BATCH];
        int n = epoll_wait(poller, ready, LOAD_BATCH, -1);
        for (int i = 0; i < n; i++) {
            struct load_client *c = (struct load_client *)ready[i].data.ptr;
            ssize_t size = recv(c->fd, answer + c->got, l->size - c->got, 0);
            load_must(size > 0, "recv");
            c->got += (size_t)size;
            if (c->got < l->size) continue;
            load_must(memcmp(answer, request, c->got) == 0 || l->connections > 1, "another answer");
            c->got = 0;
            answered++;
            if (begun < l->requests) load_send(l, c, request), begun++;
        }
    }
    double took = load_wall() - start;
    for (int i = 0; i < l->connections; i++) close(all[i].fd);
    load_must(write(l->done_pipe[1], &took, sizeof took) == sizeof took, "result");
    free(all);
}

/* argv: CONNECTIONS SIZE REQUESTS [HOW]. Before there are threads. */
static void load_begin(struct load *l, char **argv)
{
    *l = (struct load){
        .connections = atoi(argv[0]), .size = (size_t)atol(argv[1]), .requests = atol(argv[2]), .how = argv[3]};
    load_must(l->connections > 0 && l->size > 0 && l->size <= LOAD_SIZE_MAX && l->requests >= l->connections,
              "CONNECTIONS SIZE REQUESTS");
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    load_must(pipe(l->port_pipe) == 0 && pipe(l->done_pipe) == 0, "pipe");
    l->process = fork();
    load_must(l->process >= 0, "fork");
    if (l->process > 0) return;
    struct sockaddr_in server = {.sin_family = AF_INET};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    load_must(read(l->port_pipe[0], &server.sin_port, sizeof server.sin_port) == sizeof server.sin_port, "port");
    load_run(l, &server);
    _exit(0);
}

static void load_go(struct load *l, int port)
{
    uint16_t in_order = htons((uint16_t)port);
    l->cpu_s = load_cpu();
    load_must(write(l->port_pipe[1], &in_order, sizeof in_order) == sizeof in_order, "port");
}

static void load_end(struct load *l, const char *who)
{
    double took, cpu = load_cpu() - l->cpu_s;
    int status;
    char params[64];
    load_must(read(l->done_pipe[0], &took, sizeof took) == sizeof took, "result");
    load_must(waitpid(l->process, &status, 0) == l->process && status == 0, "clients");
    snprintf(params, sizeof params, "%s%sconnections=%d,size=%zu,n=%ld", l->how == NULL ? "" : l->how,
             l->how == NULL ? "" : ",", l->connections, l->size, l->requests);
    printf("echo %s %s cpu_requests_per_s %.1f\n", who, params, (double)l->requests / cpu);
    printf("echo %s %s requests_per_s %.1f\n", who, params, (double)l->requests / took);
}

#endif

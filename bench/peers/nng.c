/* bench/peers/nng.c -- the remote workloads over NNG's PAIR sockets: messages and a bounded queue on each side, but
 * no actors and one peer only.
 *
 *     nng rtt SIZE N | oneway SIZE N */
#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM = 1000, QUEUE = 8192 };

static void must(int rc, const char *what)
{
    if (rc == 0) return;
    fprintf(stderr, "nng: %s: %s\n", what, nng_strerror(rc));
    _exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static nng_socket open_pair(void)
{
    nng_socket s;
    must(nng_pair0_open(&s), "open");
    must(nng_socket_set_int(s, NNG_OPT_SENDBUF, QUEUE), "queue");
    must(nng_socket_set_int(s, NNG_OPT_RECVBUF, QUEUE), "queue");
    must(nng_socket_set_bool(s, NNG_OPT_TCP_NODELAY, true), "nodelay");
    return s;
}

static void send_new(nng_socket s, size_t size)
{
    nng_msg *m;
    must(nng_msg_alloc(&m, size), "message");
    memset(nng_msg_body(m), 'x', size);
    must(nng_sendmsg(s, m, 0), "send");
}

static nng_msg *receive(nng_socket s, size_t size)
{
    nng_msg *m;
    must(nng_recvmsg(s, &m, 0), "receive");
    if (nng_msg_len(m) != size) must(NNG_EPROTO, "size");
    return m;
}

/* Tells its port, echoes or counts, then waits until the other is gone. */
static void serve(int tell, int echo, size_t size, long n)
{
    nng_socket s = open_pair();
    nng_listener l;
    int port;
    must(nng_listen(s, "tcp://127.0.0.1:0", &l, 0), "listen");
    must(nng_listener_get_int(l, NNG_OPT_TCP_BOUND_PORT, &port), "port");
    if (write(tell, &port, sizeof port) != sizeof port) _exit(1);
    for (long i = 0; i < n; i++) {
        nng_msg *m = receive(s, size);
        if (echo) must(nng_sendmsg(s, m, 0), "echo");
        else nng_msg_free(m);
    }
    if (!echo) send_new(s, 1);
    nng_msg_free(receive(s, 2)); /* the end: a socket that closes drops what it has not sent */
    nng_close(s);
}

static int by_value(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static void round_trips(nng_socket s, size_t size, long n)
{
    int64_t *took = calloc((size_t)n, sizeof *took);
    if (took == NULL) must(NNG_ENOMEM, "calloc");
    for (long i = -WARM; i < n; i++) {
        int64_t start = now_ns();
        send_new(s, size);
        nng_msg_free(receive(s, size));
        if (i >= 0) took[i] = now_ns() - start;
    }
    qsort(took, (size_t)n, sizeof *took, by_value);
    printf("remote nng rtt,size=%zu,n=%ld p50_us %.1f\n", size, n, (double)took[n / 2] / 1e3);
    printf("remote nng rtt,size=%zu,n=%ld p99_us %.1f\n", size, n, (double)took[n * 99 / 100] / 1e3);
    free(took);
}

static void one_way(nng_socket s, size_t size, long n)
{
    int64_t start = now_ns();
    for (long i = 0; i < n; i++) send_new(s, size);
    nng_msg_free(receive(s, 1));
    printf("remote nng oneway,size=%zu,n=%ld msgs_per_s %.1f\n", size, n,
           1e9 * (double)n / (double)(now_ns() - start));
}

int main(int argc, char **argv)
{
    long size = argc == 4 ? atol(argv[2]) : 0, n = argc == 4 ? atol(argv[3]) : 0;
    if (size < 1 || n < 1) {
        fprintf(stderr, "usage: %s rtt SIZE N | oneway SIZE N\n", argv[0]);
        return 2;
    }
    int echo = strcmp(argv[1], "rtt") == 0, tell[2], port, status = 0;
    pid_t server = pipe(tell) < 0 ? -1 : fork(); /* before the library's threads */
    if (server < 0) return 1;
    if (server == 0) {
        serve(tell[1], echo, (size_t)size, echo ? n + WARM : n);
        _exit(0);
    }
    close(tell[1]);
    if (read(tell[0], &port, sizeof port) != sizeof port) return 1;
    char url[64];
    snprintf(url, sizeof url, "tcp://127.0.0.1:%d", port);
    nng_socket s = open_pair();
    must(nng_dial(s, url, NULL, 0), "dial");
    if (echo) round_trips(s, (size_t)size, n);
    else one_way(s, (size_t)size, n);
    send_new(s, 2);
    int ended = waitpid(server, &status, 0) == server && status == 0;
    nng_close(s);
    return !ended;
}

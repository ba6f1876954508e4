/* bench/peers/zmq.c -- the remote workloads over ZeroMQ, between two processes: messages and a bounded queue on each
 * side, but no actors.
 *
 *     zmq rtt SIZE N | oneway SIZE N
 *
 * The settings are the fastest of those tried on two cores. Round trips are over PAIR, which is at least as fast as
 * REQ and REP, and one way is PUSH to PULL. The queues hold 1,000 messages, which is the default, and 8,192 of small
 * ones; without a limit both sizes are slower. Small bodies are in the message itself (zmq_send), and one thread of
 * the library for each process is all that a single connection can use. */
#include <zmq.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM = 1000, QUEUE = 1000, SMALL = 256, SMALL_QUEUE = 8192, LARGEST = 65536, PATIENCE_MS = 30 * 1000 };
static char body[LARGEST + 1], endpoint[64];

static void must(int ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "zmq: %s: %s\n", what, zmq_strerror(zmq_errno()));
    _exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void set(void *s, int option, int value)
{
    must(zmq_setsockopt(s, option, &value, sizeof value) == 0, "option");
}

static void *open_socket(int type, size_t size)
{
    void *context = zmq_ctx_new(), *s = context != NULL ? zmq_socket(context, type) : NULL;
    int queue = size <= SMALL ? SMALL_QUEUE : QUEUE;
    must(s != NULL, "socket");
    set(s, ZMQ_SNDHWM, queue), set(s, ZMQ_RCVHWM, queue);
    set(s, ZMQ_SNDTIMEO, PATIENCE_MS), set(s, ZMQ_RCVTIMEO, PATIENCE_MS);
    return s;
}

static void send_one(void *s, size_t size)
{
    must(zmq_send(s, body, size, 0) == (int)size, "send");
}

static void receive_one(void *s, size_t size)
{
    must(zmq_recv(s, body, sizeof body, 0) == (int)size, "receive");
}

/* Prints its address, echoes or counts, then reports that it is done and waits until the other process ends it. */
static void serve(int tell, int echo, size_t size, long n)
{
    void *s = open_socket(echo ? ZMQ_PAIR : ZMQ_PULL, size);
    size_t length = sizeof endpoint;
    must(zmq_bind(s, "tcp://127.0.0.1:*") == 0, "bind");
    must(zmq_getsockopt(s, ZMQ_LAST_ENDPOINT, endpoint, &length) == 0, "endpoint");
    must(write(tell, endpoint, sizeof endpoint) == sizeof endpoint, "pipe");
    for (long i = 0; i < n; i++) {
        receive_one(s, size);
        if (echo) send_one(s, size);
    }
    must(write(tell, "", 1) == 1, "pipe");
    for (;;) pause();
}

static int by_value(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static void round_trips(void *s, size_t size, long n)
{
    int64_t *took = calloc((size_t)n, sizeof *took);
    must(took != NULL, "calloc");
    for (long i = -WARM; i < n; i++) {
        int64_t start = now_ns();
        send_one(s, size);
        receive_one(s, size);
        if (i >= 0) took[i] = now_ns() - start;
    }
    qsort(took, (size_t)n, sizeof *took, by_value);
    printf("remote zmq rtt,size=%zu,n=%ld p50_us %.1f\n", size, n, (double)took[n / 2] / 1e3);
    printf("remote zmq rtt,size=%zu,n=%ld p99_us %.1f\n", size, n, (double)took[n * 99 / 100] / 1e3);
    free(took);
}

static void one_way(void *s, size_t size, long n, int told)
{
    char all;
    int64_t start = now_ns();
    for (long i = 0; i < n; i++) send_one(s, size);
    must(read(told, &all, 1) == 1, "messages are missing");
    printf("remote zmq oneway,size=%zu,n=%ld msgs_per_s %.1f\n", size, n,
           1e9 * (double)n / (double)(now_ns() - start));
}

int main(int argc, char **argv)
{
    long size = argc == 4 ? atol(argv[2]) : 0, n = argc == 4 ? atol(argv[3]) : 0;
    if (size < 1 || size > LARGEST || n < 1) {
        fprintf(stderr, "usage: %s rtt SIZE N | oneway SIZE N\n", argv[0]);
        return 2;
    }
    int echo = strcmp(argv[1], "rtt") == 0, pipes[2];
    pid_t server = pipe(pipes) < 0 ? -1 : fork(); /* before the library's threads */
    if (server < 0) return 1;
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(pipes[1], echo, (size_t)size, echo ? n + WARM : n);
    }
    close(pipes[1]);
    must(read(pipes[0], endpoint, sizeof endpoint) == sizeof endpoint, "no endpoint");
    void *s = open_socket(echo ? ZMQ_PAIR : ZMQ_PUSH, (size_t)size);
    must(zmq_connect(s, endpoint) == 0, "connect");
    if (echo) round_trips(s, (size_t)size, n);
    else one_way(s, (size_t)size, n, pipes[0]);
    fflush(stdout);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    _exit(0);
}

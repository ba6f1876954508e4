/* bench/peers/nats.c -- round trips and publish of bench/remote.c through a NATS server: one process asks or
 * publishes, a second one answers or subscribes, the server is a third.
 *
 *     nats URL rtt SIZE N | publish SUBSCRIBERS N
 *
 * The settings are the fastest of those tried on two cores. Round trips: SendAsap, and each process drives its
 * connection itself as an event loop does, because the library's reading thread hands each message to another thread;
 * this takes a quarter less than a synchronous subscription, which takes less than natsConnection_Request. Publish:
 * messages are gathered in 256 KiB, and asynchronous subscriptions on five connections share one thread; one to fifty
 * connections and a thread for each subscription are as fast. Neither the client nor the server limits what is
 * pending, so that nothing is dropped, and every subscriber counts every message. */
#include "nats_loop.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM = 1000, CONNECTIONS = 5 };

static const char *url;
static char body[65536];
static long size, n; /* of publish: how many subscribers */
static int told[2];  /* the other process writes a byte when it is ready, and one when it has received everything */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void tell(void)
{
    if (write(told[1], "", 1) != 1) fail("pipe");
}

static void await(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    if (poll(&one, 1, PATIENCE_MS) != 1) fail("messages are missing");
}

static void await_other(void)
{
    char byte;
    await(told[0]);
    if (read(told[0], &byte, 1) != 1) fail("the other process has ended");
}

/* ---- connections ----------------------------------------------------------------------------------------------- */

static natsConnection *dial(struct loop *loop)
{
    natsOptions *o;
    natsConnection *nc;
    must(natsOptions_Create(&o), "options");
    must(natsOptions_SetURL(o, url), "URL");
    must(natsOptions_SetAllowReconnect(o, false), "options");
    must(natsOptions_SetClosedCB(o, closed, NULL), "options");
    must(natsOptions_UseGlobalMessageDelivery(o, true), "options");
    must(loop != NULL ? natsOptions_SetSendAsap(o, true) : natsOptions_SetIOBufSize(o, GATHERED), "options");
    if (loop != NULL) must(natsOptions_SetEventLoop(o, loop, attach, want_read, want_write, detach), "event loop");
    must(natsConnection_Connect(&nc, o), "connect");
    natsOptions_Destroy(o);
    return nc;
}

/* ---- round trips ----------------------------------------------------------------------------------------------- */

static void write_out(struct loop *l)
{
    while (l->must_write) natsConnection_ProcessWriteEvent(l->nc);
}

static natsMsg *receive(struct loop *l, natsSubscription *s)
{
    natsMsg *m;
    natsStatus status;
    while ((status = natsSubscription_NextMsg(&m, s, 0)) == NATS_TIMEOUT) {
        await(l->fd);
        natsConnection_ProcessReadEvent(l->nc);
    }
    must(status, "receive");
    if (natsMsg_GetDataLength(m) != size) fail("wrong size");
    return m;
}

/* The server knows of the subscription when a message to itself has come back. */
static natsSubscription *subscribe(struct loop *l, const char *subject)
{
    natsSubscription *s;
    must(natsConnection_SubscribeSync(&s, dial(l), subject), "subscribe");
    must(natsConnection_Publish(l->nc, subject, body, (int)size), "publish");
    write_out(l);
    natsMsg_Destroy(receive(l, s));
    return s;
}

static void answer(void)
{
    struct loop l = {0};
    natsSubscription *s = subscribe(&l, "ask");
    tell();
    for (long i = -WARM; i < n; i++) {
        natsMsg *m = receive(&l, s);
        must(natsConnection_Publish(l.nc, natsMsg_GetReply(m), natsMsg_GetData(m), (int)size), "answer");
        write_out(&l);
        natsMsg_Destroy(m);
    }
}

static int by_value(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static void round_trips(void)
{
    struct loop l = {0};
    int64_t *took = calloc((size_t)n, sizeof *took);
    if (took == NULL) fail("no memory");
    natsSubscription *s = subscribe(&l, "answer");
    for (long i = -WARM; i < n; i++) {
        int64_t start = now_ns();
        must(natsConnection_PublishRequest(l.nc, "ask", "answer", body, (int)size), "ask");
        write_out(&l);
        natsMsg_Destroy(receive(&l, s));
        if (i >= 0) took[i] = now_ns() - start;
    }
    qsort(took, (size_t)n, sizeof *took, by_value);
    printf("remote nats rtt,size=%ld,n=%ld p50_us %.1f\n", size, n, (double)took[n / 2] / 1e3);
    printf("remote nats rtt,size=%ld,n=%ld p99_us %.1f\n", size, n, (double)took[n * 99 / 100] / 1e3);
    free(took);
}

/* ---- publish --------------------------------------------------------------------------------------------------- */

static long unfinished; /* subscribers; all are called by one thread */

static void on_news(natsConnection *nc, natsSubscription *s, natsMsg *m, void *seen)
{
    long number, *mine = seen;
    (void)nc, (void)s;
    if (natsMsg_GetDataLength(m) != sizeof number) fail("wrong size");
    memcpy(&number, natsMsg_GetData(m), sizeof number);
    natsMsg_Destroy(m);
    if (number != (*mine)++) fail("publish: lost or out of order");
    if (*mine == n && --unfinished == 0) tell();
}

static void receive_all(void)
{
    natsConnection *connections[CONNECTIONS];
    long *seen = calloc((size_t)size, sizeof *seen), used = size < CONNECTIONS ? size : CONNECTIONS;
    if (seen == NULL) fail("no memory");
    must(nats_Open(-1), "open");
    must(nats_SetMessageDeliveryPoolSize(1), "one thread");
    unfinished = size;
    for (long i = 0; i < used; i++) connections[i] = dial(NULL);
    for (long i = 0; i < size; i++) {
        natsSubscription *s;
        must(natsConnection_Subscribe(&s, connections[i % used], "news", on_news, seen + i), "subscribe");
        must(natsSubscription_SetPendingLimits(s, -1, -1), "no limit");
    }
    for (long i = 0; i < used; i++) must(natsConnection_Flush(connections[i]), "flush");
    tell();
    for (;;) pause(); /* until the publisher ends */
}

static void publish(void)
{
    natsConnection *nc = dial(NULL);
    int64_t start = now_ns();
    for (long i = 0; i < n; i++) must(natsConnection_Publish(nc, "news", &i, sizeof i), "publish");
    must(natsConnection_FlushTimeout(nc, PATIENCE_MS), "flush");
    await_other();
    printf("remote nats publish,size=8,subs=%ld,n=%ld deliveries_per_s %.1f\n", size, n,
           1e9 * (double)n * (double)size / (double)(now_ns() - start));
}

int main(int argc, char **argv)
{
    size = argc == 5 ? atol(argv[3]) : 0, n = argc == 5 ? atol(argv[4]) : 0;
    if (size < 1 || size > (long)sizeof body || n < 1) {
        fprintf(stderr, "usage: %s URL rtt SIZE N | publish SUBSCRIBERS N\n", argv[0]);
        return 2;
    }
    url = argv[1];
    int asks = strcmp(argv[2], "rtt") == 0;
    pid_t other = pipe(told) < 0 ? -1 : fork(); /* before the library's threads */
    if (other < 0) return 1;
    if (other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (asks) answer();
        else receive_all();
        _exit(0);
    }
    close(told[1]);
    await_other();
    if (asks) round_trips();
    else publish();
    fflush(stdout);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    _exit(0); /* the library's threads would report closed connections */
}

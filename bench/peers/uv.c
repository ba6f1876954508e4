/* bench/peers/uv.c -- libuv's loop: the round trip of two processes, and timers. No actors: a floor.
 *
 *     uv rtt SIZE N | timers THREADS TIMERS BASE_MS | echo CONNECTIONS SIZE REQUESTS [embedded] |
 *        lateness TIMERS PERIOD_MS ROUNDS
 *
 * Timers: a loop a thread, each with its share. libuv counts in milliseconds of its loop's clock, so a timer may come
 * up to one early; that counts as no lateness. */
#include <uv.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "late.h"
#include "load.h"

enum { BUFFER = 64 * 1024, WARM = 1000, BINS = 300000, BIN_US = 10, THREADS = 64 };

static void must(int rc, const char *what)
{
    if (rc >= 0) return;
    fprintf(stderr, "uv: %s: %s\n", what, uv_strerror(rc));
    _exit(1);
}

/* ---- rtt ------------------------------------------------------------------------------------------------------- */

static char buffer[BUFFER];
static size_t size, got;
static long count, rounds;
static uint64_t begun, *took;
static uv_tcp_t listener, connection;

static void give_buffer(uv_handle_t *h, size_t suggested, uv_buf_t *out)
{
    (void)h, (void)suggested;
    *out = uv_buf_init(buffer, BUFFER);
}

/* Small frames on an empty connection always go at once. */
static void send_frame(void)
{
    uv_buf_t frame = uv_buf_init(buffer, (unsigned)size);
    begun = uv_hrtime();
    if (uv_try_write((uv_stream_t *)&connection, &frame, 1) != (int)size) must(UV_EAGAIN, "write");
}

static void client_read(uv_stream_t *s, ssize_t n, const uv_buf_t *unused)
{
    (void)unused;
    if (n == 0) return;
    must((int)n, "read");
    if ((got += (size_t)n) < size) return;
    got = 0;
    if (rounds >= WARM) took[rounds - WARM] = uv_hrtime() - begun;
    if (++rounds < count + WARM) send_frame();
    else uv_close((uv_handle_t *)s, NULL);
}

static void server_read(uv_stream_t *s, ssize_t n, const uv_buf_t *unused)
{
    (void)unused;
    if (n < 0) {
        uv_close((uv_handle_t *)s, NULL);
        uv_close((uv_handle_t *)&listener, NULL);
        return;
    }
    for (got += (size_t)n; got >= size; got -= size) send_frame();
}

static void accepted(uv_stream_t *s, int rc)
{
    must(rc, "listen");
    must(uv_tcp_init(s->loop, &connection), "tcp");
    must(uv_accept(s, (uv_stream_t *)&connection), "accept");
    must(uv_tcp_nodelay(&connection, 1), "nodelay");
    must(uv_read_start((uv_stream_t *)&connection, give_buffer, server_read), "read");
}

static void connected(uv_connect_t *c, int rc)
{
    (void)c;
    must(rc, "connect");
    must(uv_tcp_nodelay(&connection, 1), "nodelay");
    must(uv_read_start((uv_stream_t *)&connection, give_buffer, client_read), "read");
    send_frame();
}

static void serve(int tell)
{
    struct sockaddr_in address;
    int length = sizeof address;
    must(uv_ip4_addr("127.0.0.1", 0, &address), "address");
    must(uv_tcp_init(uv_default_loop(), &listener), "tcp");
    must(uv_tcp_bind(&listener, (struct sockaddr *)&address, 0), "bind");
    must(uv_listen((uv_stream_t *)&listener, 1, accepted), "listen");
    must(uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &length), "port");
    if (write(tell, &address, sizeof address) != sizeof address) _exit(1);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static int rtt(void)
{
    int tell[2], status = 0;
    pid_t server = pipe(tell) < 0 ? -1 : fork(); /* before the loop */
    if (server < 0) return 1;
    if (server == 0) {
        serve(tell[1]);
        _exit(0);
    }
    struct sockaddr_in address;
    uv_connect_t c;
    close(tell[1]);
    if (read(tell[0], &address, sizeof address) != sizeof address) return 1;
    if ((took = calloc((size_t)count, sizeof *took)) == NULL) must(UV_ENOMEM, "calloc");
    must(uv_tcp_init(uv_default_loop(), &connection), "tcp");
    must(uv_tcp_connect(&c, &connection, (struct sockaddr *)&address, connected), "connect");
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    qsort(took, (size_t)count, sizeof *took, by_value);
    printf("remote libuv rtt,size=%zu,n=%ld p50_us %.1f\n", size, count, (double)took[count / 2] / 1e3);
    printf("remote libuv rtt,size=%zu,n=%ld p99_us %.1f\n", size, count, (double)took[count * 99 / 100] / 1e3);
    free(took);
    return waitpid(server, &status, 0) != server || status != 0;
}

/* ---- timers ---------------------------------------------------------------------------------------------------- */

struct one {
    uv_timer_t timer;
    uint64_t due;
};

static struct share {
    uv_thread_t thread;
    struct one *timers;
    long n, fired;
    double spawned_ms;
    uint32_t late[BINS];
} shares[THREADS];
static long threads, base;

static void fired(uv_timer_t *t)
{
    struct one *o = t->data;
    struct share *s = t->loop->data;
    uint64_t now = uv_hrtime(), late = now > o->due ? (now - o->due) / 1000 / BIN_US : 0;
    s->late[late < BINS ? late : BINS - 1]++;
    s->fired++;
    uv_close((uv_handle_t *)t, NULL);
}

static void run_share(void *given)
{
    struct share *s = given;
    uint32_t random = 42 + (uint32_t)(s - shares);
    uint64_t start = uv_hrtime();
    uv_loop_t loop;
    must(uv_loop_init(&loop), "loop");
    loop.data = s;
    for (long i = 0; i < s->n; i++) {
        struct one *o = &s->timers[i];
        random = (random * 1103515245u + 12345u) & 0x7fffffffu;
        uint64_t span = (uint64_t)base * 1000000 + ((random >> 8) % 1000000 + 1) * UINT64_C(1000);
        if (i % 256 == 0) uv_run(&loop, UV_RUN_NOWAIT); /* its clock, and those that are due */
        must(uv_timer_init(&loop, &o->timer), "timer");
        o->timer.data = o;
        uint64_t now = uv_hrtime();
        o->due = (base > 0 ? start : now) + span; /* as in bench/timers.c */
        uint64_t ms = o->due > now ? (o->due - now + 999999) / 1000000 : 0;
        must(uv_timer_start(&o->timer, fired, ms, 0), "timer");
    }
    s->spawned_ms = (double)(uv_hrtime() - start) / 1e6;
    uv_run(&loop, UV_RUN_DEFAULT);
    must(uv_loop_close(&loop), "close");
}

static double late_us(double wanted)
{
    double seen = 0;
    for (int bin = 0; bin < BINS; bin++) {
        for (long t = 0; t < threads; t++) seen += shares[t].late[bin];
        if (seen >= wanted) return (double)bin * BIN_US;
    }
    return (double)BINS * BIN_US;
}

static int timers(void)
{
    long all = 0;
    double spawned = 0, cpu = late_cpu_ms();
    uint64_t start = uv_hrtime();
    for (long t = 0; t < threads; t++) {
        shares[t].n = count / threads + (t < count % threads);
        shares[t].timers = calloc((size_t)shares[t].n, sizeof *shares[t].timers);
        if (shares[t].timers == NULL) must(UV_ENOMEM, "calloc");
        must(uv_thread_create(&shares[t].thread, run_share, &shares[t]), "thread");
    }
    for (long t = 0; t < threads; t++) {
        must(uv_thread_join(&shares[t].thread), "join");
        all += shares[t].fired;
        if (shares[t].spawned_ms > spawned) spawned = shares[t].spawned_ms;
        free(shares[t].timers);
    }
    if (all != count) must(UV_EOF, "timers are missing");
    double wall = (double)(uv_hrtime() - start) / 1e6;
    cpu = late_cpu_ms() - cpu;
    const struct {
        const char *metric;
        double value;
    } results[] = {{"spawn_ms", spawned},
                   {"wall_ms", wall},
                   {"cpu_ms", cpu},
                   {"late_p50_us", late_us((double)count * .5)},
                   {"late_p99_us", late_us((double)count * .99)},
                   {"late_max_us", late_us((double)count)}};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        printf("timers libuv base_ms=%ld,threads=%ld,n=%ld %s %.1f\n", base, threads, count, results[i].metric,
               results[i].value);
    return 0;
}

/* ---- lateness -------------------------------------------------------------------------------------------------- */

struct periodic {
    uv_timer_t timer;
    uint64_t due;
    long round;
};
static struct late late;

static void ticked(uv_timer_t *t)
{
    struct periodic *p = t->data;
    late_add(&late, (int64_t)(uv_hrtime() - p->due));
    p->due += (uint64_t)late.period_ms * 1000000;
    if (++p->round == late.rounds) uv_close((uv_handle_t *)t, NULL);
}

static int lateness(char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    late_begin(&late, argv);
    struct periodic *all = calloc((size_t)late.timers, sizeof *all);
    if (all == NULL) must(UV_ENOMEM, "calloc");
    uv_update_time(loop);
    uint64_t start = uv_hrtime();
    for (long i = 0; i < late.timers; i++) {
        uint64_t first = (uint64_t)late_first_ms(&late, i);
        must(uv_timer_init(loop, &all[i].timer), "timer");
        all[i].timer.data = &all[i];
        all[i].due = start + first * 1000000;
        must(uv_timer_start(&all[i].timer, ticked, first, (uint64_t)late.period_ms), "timer");
    }
    uv_run(loop, UV_RUN_DEFAULT);
    late_end(&late, "libuv");
    free(all);
    return 0;
}

/* ---- echo ------------------------------------------------------------------------------------------------------ */

static struct load load;
static int left;

static void echo_over(uv_handle_t *h)
{
    free(h);
}

static void echo_read(uv_stream_t *s, ssize_t n, const uv_buf_t *from)
{
    if (n == 0) return;
    if (n < 0) {
        uv_close((uv_handle_t *)s, echo_over);
        return;
    }
    uv_buf_t answer = uv_buf_init(from->base, (unsigned)n);
    if (uv_try_write(s, &answer, 1) != (int)n) must(UV_EAGAIN, "write"); /* one answer at a time always fits */
}

static void echo_accept(uv_stream_t *s, int rc)
{
    uv_tcp_t *client = malloc(sizeof *client);
    must(rc, "listen");
    must(client == NULL ? UV_ENOMEM : 0, "malloc");
    must(uv_tcp_init(s->loop, client), "tcp");
    must(uv_accept(s, (uv_stream_t *)client), "accept");
    must(uv_tcp_nodelay(client, 1), "nodelay");
    must(uv_read_start((uv_stream_t *)client, give_buffer, echo_read), "read");
    if (--left == 0) uv_close((uv_handle_t *)s, NULL);
}

static int echo(char **argv)
{
    struct sockaddr_in address;
    int length = sizeof address;
    load_begin(&load, argv);
    left = load.connections;
    must(uv_ip4_addr("127.0.0.1", 0, &address), "address");
    must(uv_tcp_init(uv_default_loop(), &listener), "tcp");
    must(uv_tcp_bind(&listener, (struct sockaddr *)&address, 0), "bind");
    must(uv_listen((uv_stream_t *)&listener, 1024, echo_accept), "listen");
    must(uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &length), "port");
    load_go(&load, ntohs(address.sin_port));
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    load_end(&load, "libuv");
    return 0;
}

int main(int argc, char **argv)
{
    if ((argc == 5 || argc == 6) && strcmp(argv[1], "echo") == 0) return echo(argv + 2);
    if (argc == 5 && strcmp(argv[1], "lateness") == 0) return lateness(argv + 2);
    if (argc == 4 && strcmp(argv[1], "rtt") == 0 && atol(argv[2]) > 0 && atol(argv[2]) <= BUFFER &&
        atol(argv[3]) > 0) {
        size = (size_t)atol(argv[2]), count = atol(argv[3]);
        return rtt();
    }
    if (argc == 5 && strcmp(argv[1], "timers") == 0) {
        threads = atol(argv[2]), count = atol(argv[3]), base = atol(argv[4]);
        if (threads > 0 && threads <= THREADS && count > 0 && base >= 0) return timers();
    }
    fprintf(stderr,
            "usage: %s rtt SIZE N | timers THREADS TIMERS BASE_MS | echo CONNECTIONS SIZE REQUESTS [embedded] |\n"
            "       lateness TIMERS PERIOD_MS ROUNDS\n",
            argv[0]);
    return 2;
}

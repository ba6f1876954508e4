/* A TCP server of actors: one test for each property of such a server. Reading, writing and accepting as such are
 * tested in tests/unit/runtime. */
#include "../node_harness.h"

#include <weft/stream.h>

#ifndef _WIN32
#include <sys/resource.h>
#endif

enum { READY = 1, ANSWERED = 2, WORKERS = 2, PER_WORKER = 500 };

static int per_worker = PER_WORKER;

struct server {
    weft_pid parent;
};

struct connection {
    weft_stream stream;
};

/* Answers each byte with the number of its worker. */
static void serve_client(const void *arg, size_t size)
{
    weft_stream s = ((const struct connection *)arg)->stream;
    char byte;
    int64_t n;
    (void)size;
    weft_defer_close(s);
    while ((n = weft_read(s, &byte, 1, WEFT_FOREVER)) == 1) {
        byte = (char)wf_here->index;
        want_int(weft_write(s, &byte, 1, WEFT_FOREVER), 1);
    }
    want(n == 0 || n == WEFT_ECANCELED);
}

static void accept_all(const void *arg, size_t size)
{
    const struct server *k = arg;
    weft_listener l;
    char address[WEFT_ADDRESS_TEXT];
    struct connection c;
    (void)size;
    want_int(weft_listen(&l, "127.0.0.1:0", NULL), 0);
    weft_listener_defer_close(l);
    want_int(weft_listener_address(l, address, sizeof address), 0);
    want_int(say(k->parent, READY, atoi(strrchr(address, ':') + 1)), 0);
    int rc;
    while ((rc = weft_accept(l, &c.stream, WEFT_FOREVER)) == 0)
        want_int(weft_spawn(NULL, serve_client, &c, sizeof c, &(weft_spawn_options){.worker = WEFT_SPREAD}), 0);
    want_int(rc, WEFT_ECANCELED);
}

static weft_stream ask(int64_t port, int *worker)
{
    char address[WEFT_ADDRESS_TEXT], byte = 'x';
    weft_stream s;
    snprintf(address, sizeof address, "127.0.0.1:%d", (int)port);
    want_int(weft_connect(&s, address, WEFT_FOREVER), 0);
    want_int(weft_write(s, &byte, 1, WEFT_FOREVER), 1);
    want_int(weft_read(s, &byte, 1, WEFT_FOREVER), 1);
    *worker = byte;
    return s;
}

/* ---- Accepted connections are spread over the workers ---- */
static void counts_workers(const void *arg, size_t size)
{
    struct server k = {.parent = weft_self()};
    int seen[WORKERS] = {0}, worker;
    weft_pid server;
    (void)arg, (void)size;
    want_int(weft_spawn(&server, accept_all, &k, sizeof k, NULL), 0);
    int64_t port = hear_only(READY);
    for (int i = 0; i < 10; i++) {
        weft_stream s = ask(port, &worker);
        want(worker >= 0 && worker < WORKERS);
        seen[worker]++;
        want_int(weft_close(s), 0);
    }
    for (int i = 0; i < WORKERS; i++) want(seen[i] > 0);
    want_int(weft_stop(server), 0);
}

START_TEST(accepted_connections_are_spread_over_workers)
{
    run_on(WORKERS, counts_workers);
}
END_TEST

/* ---- A server with many clients that wait stops at once, and while they wait nothing turns ---- */
static void many_clients(const void *arg, size_t size)
{
    const struct kid *k = arg;
    weft_stream s[PER_WORKER];
    int worker;
    (void)size;
    for (int i = 0; i < per_worker; i++) {
        s[i] = ask(k->n, &worker);
        want_int(weft_defer_close(s[i]), 0);
    }
    want_int(say(k->parent, ANSWERED, 0), 0);
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), WEFT_ECANCELED);
}

static pf_mutex *lock;
static pf_cond *changed;
static bool all_answered;

static void fills(const void *arg, size_t size)
{
    struct server k = {.parent = weft_self()};
    (void)arg, (void)size;
    want_int(weft_spawn(NULL, accept_all, &k, sizeof k, NULL), 0);
    int64_t port = hear_only(READY);
    for (int w = 1; w <= WORKERS; w++) kid_on(w, many_clients, port);
    for (int w = 1; w <= WORKERS; w++) hear_only(ANSWERED);
    pf_mutex_lock(lock);
    all_answered = true;
    pf_cond_broadcast(changed);
    pf_mutex_unlock(lock);
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), WEFT_ECANCELED);
}

START_TEST(a_server_with_a_thousand_connections_shuts_down_by_itself)
{
    want_int(pf_mutex_create(&lock), 0);
    want_int(pf_cond_create(&changed), 0);
    pf_raise_handle_limit();
#ifndef _WIN32
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur < 100 + 4 * PER_WORKER) { /* both ends are here; Valgrind, say, allows no more */
        per_worker = (int)(limit.rlim_cur - 100) / 4;
        fprintf(stderr, "only %d connections: the limit of descriptors is low\n", WORKERS * per_worker);
    }
#endif
    weft_node *n = node_of(WORKERS);
    node_spawn(n, 1, fills);
    pf_mutex_lock(lock);
    while (!all_answered) (void)pf_cond_wait(changed, lock, WEFT_FOREVER);
    pf_mutex_unlock(lock);
    want_int(wf_node_drain(n, WEFT_FOREVER), 0); /* each of two thousand waits ends, and has closed its socket */
    node_finish(n);
    wf_node_destroy(n);
    pf_cond_destroy(changed);
    pf_mutex_destroy(lock);
}
END_TEST

/* ---- A client that does not read holds up its own actor only ---- */
static void pours(const void *arg, size_t size)
{
    weft_stream s = ((const struct connection *)arg)->stream;
    static char block[65536];
    int64_t n;
    (void)size;
    weft_defer_close(s);
    while ((n = weft_write(s, block, sizeof block, WEFT_FOREVER)) > 0) continue;
    want(n == WEFT_ERESET || n == WEFT_ECANCELED);
}

static void waits_for_space(const void *arg, size_t size)
{
    weft_listener l;
    struct connection c;
    char address[WEFT_ADDRESS_TEXT];
    struct server k = {.parent = weft_self()};
    weft_stream deaf;
    weft_pid pourer, server;
    int worker;
    (void)arg, (void)size;
    want_int(weft_listen(&l, "127.0.0.1:0", NULL), 0);
    want_int(weft_listener_address(l, address, sizeof address), 0);
    want_int(weft_connect(&deaf, address, WEFT_FOREVER), 0);
    want_int(weft_accept(l, &c.stream, WEFT_FOREVER), 0);
    want_int(weft_spawn(&pourer, pours, &c, sizeof c, &(weft_spawn_options){.worker = 1}), 0);
    await_wait(pourer, "stream to write"); /* both sides' buffers are full, and there is no other */
    want_int(weft_spawn(&server, accept_all, &k, sizeof k, NULL), 0);
    want_int(weft_close(ask(hear_only(READY), &worker)), 0); /* others are served meanwhile */
    want_int(weft_close(deaf), 0);
    await_end(pourer); /* and its write has told it */
    want_int(weft_stop(server), 0);
    weft_listener_close(l);
}

START_TEST(back_pressure_holds_up_only_who_writes)
{
    run_on(1, waits_for_space);
}
END_TEST

TEST_MAIN("server", accepted_connections_are_spread_over_workers,
          a_server_with_a_thousand_connections_shuts_down_by_itself, back_pressure_holds_up_only_who_writes)

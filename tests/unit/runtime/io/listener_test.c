#include "../streams.h"

#ifndef _WIN32
#include <sys/resource.h>
#include <sys/stat.h>
#endif

static const enum transport kinds[] = {TCP, ON_UNIX(UNIX)};
#define EACH_KIND(run) \
    for (size_t i_ = 0; i_ < WF_COUNT(kinds); i_++) run_alone(run, (void *)(uintptr_t)&kinds[i_])

static void addresses(void *arg)
{
    (void)arg;
    weft_listener l;
    weft_stream s;
    char text[WEFT_ADDRESS_TEXT], small[4];
    want_int(weft_listen(&l, "nonsense", NULL), WEFT_EADDRESS);
    want_int(weft_listen(&l, NULL, NULL), WEFT_EINVAL);
    want_int(weft_connect(&s, "nonsense", WEFT_FOREVER), WEFT_EADDRESS);
    want_int(weft_listen(&l, "localhost:0", NULL), 0);
    want_int(weft_listener_address(l, text, sizeof text), 0);
    want(strncmp(text, "127.0.0.1:", 10) == 0 && strcmp(text + 10, "0") != 0);
    want(weft_listener_address(l, small, sizeof small) < 0);
    weft_listener second;
    want_int(weft_listen(&second, text, NULL), WEFT_EINUSE);
    struct connecting c = {.result = 1};
    memcpy(c.address, text, sizeof text);
    spawn_here(do_connect, &c);
    want_int(weft_accept(l, &s, WEFT_FOREVER), 0);
    until(c.result != 1);
    want_int(weft_stream_peer(c.stream, text, sizeof text), 0);
    want_int(strcmp(text, c.address), 0);
    want_int(weft_close(s), 0);
    want_int(weft_close(c.stream), 0);
    want_int(weft_listener_close(l), 0);
    want_int(weft_listener_close(l), WEFT_ECLOSED);
    want_int(weft_accept(l, &s, WEFT_FOREVER), WEFT_ECLOSED);
    want_int(weft_listener_address(l, text, sizeof text), WEFT_ECLOSED);
    want_int(weft_connect(&s, c.address, WEFT_FOREVER), WEFT_EREFUSED);
    want_int(wf_here->streams.used, 0);
    want_int(wf_here->listeners.used, 0);
}

START_TEST(addresses_are_parsed_bound_and_told)
{
    run_alone(addresses, NULL);
}
END_TEST

#ifndef _WIN32
static void unix_files(void *arg)
{
    (void)arg;
    char address[WEFT_ADDRESS_TEXT];
    struct stat s;
    weft_listener l, second;
    weft_stream stream;
    make_address(UNIX, address);
    want_int(weft_connect(&stream, address, WEFT_FOREVER), WEFT_EREFUSED);
    want_int(weft_listen(&l, address, NULL), 0);
    want_int(stat(address + 5, &s), 0);
    want_int(weft_listen(&second, address, NULL), WEFT_EINUSE);
    want_int(weft_listener_close(l), 0);
    want_int(stat(address + 5, &s), -1);
    want_int(weft_listen(&l, address, NULL), 0);
    want_int(unlink(address + 5), 0); /* as for the next version of a program, which is to listen there */
    want_int(weft_listen(&second, address, NULL), 0);
    want_int(weft_listener_close(l), 0);
    want_int(weft_connect(&stream, address, WEFT_FOREVER), 0);
    want_int(weft_close(stream), 0);
    want_int(weft_listener_close(second), 0);
    want_int(stat(address + 5, &s), -1);
    forget_address(address);
}

START_TEST(the_file_of_a_unix_socket_goes_with_the_listener)
{
    run_alone(unix_files, NULL);
}
END_TEST
#endif

static void shared_port(void *arg)
{
    (void)arg;
    weft_listener a, b;
    char text[WEFT_ADDRESS_TEXT];
    weft_listen_options options = {.backlog = 5, .reuse_port = true};
#ifdef _WIN32
    (void)b, (void)text;
    want_int(weft_listen(&a, "127.0.0.1:0", &options), WEFT_EINVAL);
#else
    want_int(weft_listen(&a, "127.0.0.1:0", &options), 0);
    want_int(weft_listener_address(a, text, sizeof text), 0);
    want_int(weft_listen(&b, text, &options), 0);
    want_int(weft_listener_close(a), 0);
    want_int(weft_listener_close(b), 0);
    options.backlog = -1;
    want_int(weft_listen(&a, text, &options), WEFT_EINVAL);
#endif
}

START_TEST(listeners_may_share_a_port)
{
    run_alone(shared_port, NULL);
}
END_TEST

static void endings(void *arg)
{
    char address[WEFT_ADDRESS_TEXT];
    make_address(*(enum transport *)arg, address);
    struct call c = {.what = ACCEPT};
    want_int(weft_listen(&c.listener, address, NULL), 0);
    check_endings(&c);
    c.deadline = WEFT_FOREVER;
    struct test_task *t = spawn_here(do_call, &c);
    until(is_waiting(t));
    weft_stream s;
    want_int(weft_accept(c.listener, &s, WEFT_NOW), WEFT_EBUSY);
    weft_wait w = weft_on_listener(c.listener);
    want_int(weft_wait_any(&w, 1, WEFT_NOW), WEFT_EBUSY);
    want_int(weft_listener_close(c.listener), 0);
    until(t->done);
    want_int(c.result, WEFT_ECLOSED);
    forget_address(address);
}

START_TEST(accepting_ends_at_deadline_cancel_kill_and_close)
{
    EACH_KIND(endings);
}
END_TEST

/* Connections that nobody accepts fill the queue; then the kernel lets one more hang. */
static void hanging_connect(void *arg)
{
    (void)arg;
    enum { TRIES = 8 };
    weft_listener l;
    weft_stream s[TRIES];
    char address[WEFT_ADDRESS_TEXT];
    weft_listen_options options = {.backlog = 1};
    want_int(weft_listen(&l, "127.0.0.1:0", &options), 0);
    want_int(weft_listener_address(l, address, sizeof address), 0);
    int n = 0, rc = 0;
    while (n < TRIES && (rc = weft_connect(&s[n], address, weft_after(WEFT_MS(50)))) == 0) n++;
    want_int(rc, WEFT_ETIMEDOUT);
    struct call c = {.what = CONNECT, .address = address};
    check_endings(&c);
    while (n > 0) want_int(weft_close(s[--n]), 0);
    want_int(weft_listener_close(l), 0);
    want_int(wf_here->streams.used, 0);
}

START_TEST(connecting_ends_at_deadline_cancel_and_kill)
{
    run_alone(hanging_connect, NULL);
}
END_TEST

/* The one who only connects gets his share, and another one after him. */
static void places(void *arg)
{
    (void)arg;
    enum { MOST = 8, EACH = 2 };
    weft_listener l;
    weft_stream accepted[MOST], out;
    struct connecting c[MOST];
    want_int(weft_listen(&l, "127.0.0.1:0", NULL), 0);
    want_int(weft_listener_places(l, 0, 1), WEFT_EINVAL);
    want_int(weft_listener_places(l, (1 << 20) + 1, 1), WEFT_EINVAL);
    want_int(weft_listener_places(l, MOST, 0), 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MOST; i++) {
            c[i] = (struct connecting){.result = 1};
            want_int(weft_listener_address(l, c[i].address, sizeof c[i].address), 0);
            spawn_here(do_connect, &c[i]);
        }
        for (int i = 0; i < EACH; i++) want_int(weft_accept(l, &accepted[i], WEFT_FOREVER), 0);
        for (int i = 0; i < MOST; i++) until(c[i].result != 1);
        want_int(weft_accept(l, &out, WEFT_NOW), WEFT_ETIMEDOUT);
        int closed = 0;
        char byte;
        for (int i = 0; i < EACH; i++) want_int(weft_write(accepted[i], "x", 1, WEFT_FOREVER), 1);
        for (int i = 0; i < MOST; i++) {
            closed += weft_read(c[i].stream, &byte, 1, WEFT_FOREVER) != 1;
            want_int(weft_close(c[i].stream), 0);
        }
        want_int(closed, MOST - EACH);
        for (int i = 0; i < EACH; i++) want_int(weft_close(accepted[i]), 0);
    }
    want_int(weft_listener_close(l), 0);
    want_int(weft_listener_places(l, 1, 1), WEFT_ECLOSED);
}

START_TEST(places_are_shared)
{
    run_alone(places, NULL);
}
END_TEST

#ifndef _WIN32
static void out_of_descriptors(void *arg)
{
    weft_stream a, b;
    struct connecting c = {.result = 1};
    weft_listener l;
    char asked[WEFT_ADDRESS_TEXT];
    make_address(*(enum transport *)arg, asked);
    want_int(weft_listen(&l, asked, NULL), 0);
    want_int(weft_listener_address(l, c.address, sizeof c.address), 0);
    struct test_task *t = spawn_here(do_connect, &c);
    until(t->done);
    want_int(c.result, 0);
    struct rlimit before, none;
    want_int(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3;
    want_int(setrlimit(RLIMIT_NOFILE, &none), 0);
    weft_wait w = weft_on_listener(l);
    want_int(weft_wait_any(&w, 1, WEFT_FOREVER), 0);
    want_int(weft_accept(l, &a, WEFT_NOW), WEFT_EFULL);
    int64_t start = weft_now();
    want_int(weft_accept(l, &a, WEFT_FOREVER), WEFT_EFULL);
    want(weft_now() - start >= WEFT_MS(50)); /* it paused, so a loop does not spin */
    want_int(weft_connect(&b, c.address, WEFT_FOREVER), WEFT_EFULL);
    want_int(setrlimit(RLIMIT_NOFILE, &before), 0);
    want_int(weft_accept(l, &a, WEFT_FOREVER), 0); /* the connection was not lost */
    want_int(weft_close(a), 0);
    want_int(weft_close(c.stream), 0);
    want_int(weft_listener_close(l), 0);
    forget_address(asked);
}

START_TEST(out_of_descriptors_pauses_and_loses_nothing)
{
    if (RUNNING_ON_VALGRIND) return; /* it keeps the table of descriptors itself */
    EACH_KIND(out_of_descriptors);
}
END_TEST
#endif

/* ---- A thousand connections ---- */
#ifdef _WIN32
enum { CONNECTIONS = 100 }; /* which are slow under wine */
#else
enum { CONNECTIONS = 1000 };
#endif
static char server[WEFT_ADDRESS_TEXT];
static _Atomic int sessions; /* counts only */

static void session(void *arg)
{
    weft_stream s = {(uint64_t)(uintptr_t)arg};
    char line[64];
    int64_t n;
    want_int(weft_defer_close(s), 0);
    while ((n = weft_read_until(s, line, sizeof line, '\n', WEFT_FOREVER)) > 0)
        want_int(weft_write(s, line, (size_t)n, WEFT_FOREVER), n);
    want_int(n, 0);
    atomic_fetch_add(&sessions, 1);
}

static void client(void *arg)
{
    weft_stream s;
    char line[64], answer[64];
    want_int(weft_connect(&s, server, WEFT_FOREVER), 0);
    for (int i = 0; i < 3; i++) {
        int size = snprintf(line, sizeof line, "client %d says %d\n", (int)(intptr_t)arg, i);
        want_int(weft_write(s, line, (size_t)size, WEFT_FOREVER), size);
        want_int(weft_read_until(s, answer, sizeof answer, '\n', WEFT_FOREVER), size);
        want_int(memcmp(line, answer, (size_t)size), 0);
    }
    want_int(weft_close(s), 0);
}

/* Accepts on worker 0 and hands each stream to a worker in turn. */
static void serve(void *arg)
{
    (void)arg;
    weft_listener l;
    char text[WEFT_ADDRESS_TEXT];
    struct harness *h = harness_here();
    want_int(weft_listen(&l, "127.0.0.1:0", NULL), 0);
    want_int(weft_listener_address(l, text, sizeof text), 0);
    memcpy(server, text, sizeof text);
    for (uint32_t i = 0; i < CONNECTIONS; i++) harness_spawn(h, i % 2, client, (void *)(uintptr_t)i);
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        weft_stream s;
        want_int(weft_accept(l, &s, WEFT_FOREVER), 0);
        harness_spawn(h, i / 2 % 2, session, (void *)(uintptr_t)s.id);
    }
    want_int(weft_listener_close(l), 0);
}

START_TEST(a_thousand_connections_on_two_workers)
{
    struct harness h;
#ifndef _WIN32
    struct rlimit limit;
    want_int(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    want_int(setrlimit(RLIMIT_NOFILE, &limit), 0);
#endif
    atomic_store(&sessions, 0);
    harness_start(&h, 2);
    harness_spawn(&h, 0, serve, NULL);
    harness_stop(&h);
    want_int(atomic_load(&sessions), CONNECTIONS);
}
END_TEST

TEST_MAIN("listener", addresses_are_parsed_bound_and_told,
          ON_UNIX(the_file_of_a_unix_socket_goes_with_the_listener, ) listeners_may_share_a_port, places_are_shared,
          accepting_ends_at_deadline_cancel_kill_and_close, connecting_ends_at_deadline_cancel_and_kill,
          ON_UNIX(out_of_descriptors_pauses_and_loses_nothing, ) a_thousand_connections_on_two_workers)

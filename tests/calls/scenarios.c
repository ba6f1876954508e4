/* tests/calls/scenarios.c -- see scenario.h. Every wait has a deadline that is reached only if the code hangs:
 * WEFT_ETIMEDOUT is always a failure, except where a datagram may have been lost. */
#include "scenario.h"
#include "calls.h"
#include "platform.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <weft.h>

/* The test's own calls do not fail. */
int __real_close(int fd);
int __real_socket(int family, int type, int protocol);
int __real_bind(int fd, const struct sockaddr *a, socklen_t size);

enum { DATA = 1, ASK = 2, END = 3, MANY = 40 };

bool ok_at(int64_t rc, const char *call, const char *file, int line)
{
    if (rc >= 0) return true;
    if (calls_failed() > 0 && (rc != WEFT_ETIMEDOUT || calls_out_of_memory())) return false;
    fprintf(stderr, "%s:%d: %s is %s%s\n", file, line, call, weft_error_name((int)rc),
            calls_failed() > 0 ? "" : " though nothing has failed");
    _exit(3);
}

void must_at(bool holds, const char *text, const char *file, int line)
{
    if (holds) return;
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
    _exit(3);
}

const char *path_of(const char *name)
{
    static _Thread_local char path[200];
    snprintf(path, sizeof path, "%s/weft-calls-%d-%s", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp", getpid(),
             name);
    return path;
}

void stop(weft_node *n)
{
    must(weft_node_stop(n, PATIENCE) == 0);
}

/* Refused for lack of memory once, it is done the second time: else nobody would end the actor. */
static void halt(weft_pid who)
{
    if (!ok(weft_stop(who))) must(weft_stop(who) == 0);
}

/* A node of `workers` with one actor, until that ends. */
static void run_one(int workers, weft_actor *body)
{
    weft_node *n;
    weft_node_options o = {.name = "one", .workers = workers, .offload_threads = 1};
    if (!ok(weft_node_start(&n, &o))) return;
    if (ok(weft_node_spawn(n, NULL, body, NULL, 0, NULL))) must(weft_node_wait(n, PATIENCE) == 0);
    stop(n);
}

/* ---- Messages and timers --------------------------------------------------------------------------------------- */

static void adder(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    int64_t sum = 0, n;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (weft_tag(m) == DATA) {
            memcpy(&n, weft_data(m), sizeof n);
            sum += n;
        }
        if (weft_wants_reply(m)) (void)weft_reply(m, DATA, &sum, sizeof sum);
        weft_msg_free(m);
    }
}

/* Sends 1 to MANY; what is said to be sent has been added up. */
static void tell_numbers(weft_pid to)
{
    int64_t sum = 0, got;
    weft_msg *m;
    for (int64_t i = 1; i <= MANY; i++)
        if (ok(weft_send(to, DATA, &i, sizeof i))) sum += i;
    int rc = weft_call(to, ASK, NULL, 0, &m, PATIENCE);
    if (!ok(rc)) return;
    must(weft_size(m) == sizeof got);
    memcpy(&got, weft_data(m), sizeof got);
    must(got == sum);
    weft_msg_free(m);
}

static void workers_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_timer t;
    for (int i = 1; i <= 2; i++) {
        weft_pid kid;
        if (!ok(weft_spawn(&kid, adder, NULL, 0, &(weft_spawn_options){.worker = i}))) continue;
        tell_numbers(kid);
        halt(kid);
    }
    if (ok(weft_timer_open(&t, weft_after(WEFT_MS(1)), WEFT_MS(1)))) {
        for (int i = 0; i < 3; i++) (void)ok(weft_timer_await(t, PATIENCE));
        must(weft_timer_close(t) == 0);
    }
    (void)ok(weft_sleep(weft_after(WEFT_MS(1))));
}

static void workers(void)
{
    run_one(2, workers_body);
}

/* ---- Stacks ---------------------------------------------------------------------------------------------------- */

__attribute__((noinline)) static int deep(int n)
{
    volatile char page[2048];
    memset((void *)(uintptr_t)page, n, sizeof page);
    return n == 0 ? page[0] : deep(n - 1) + page[1];
}

static void sleeper(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    (void)deep(12);
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (weft_wants_reply(m)) (void)weft_reply(m, DATA, NULL, 0);
        weft_msg_free(m);
    }
}

static void stacks_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid kid[MANY];
    weft_msg *m;
    bool there[MANY];
    for (int i = 0; i < MANY; i++)
        there[i] = ok(
            weft_spawn(&kid[i], sleeper, NULL, 0, &(weft_spawn_options){.stack_bytes = i % 2 ? 0 : 1 << 20}));
    (void)ok(weft_sleep(weft_after(WEFT_MS(20)))); /* they are parked meanwhile */
    for (int i = 0; i < MANY; i++) {
        if (!there[i] || !ok(weft_call(kid[i], ASK, NULL, 0, &m, PATIENCE))) continue;
        weft_msg_free(m);
    }
    for (int i = 0; i < MANY; i++)
        if (there[i]) halt(kid[i]);
}

static void stacks(void)
{
    weft_node *n;
    weft_node_options o = {.name = "one", .workers = 1, .park_after = WEFT_MS(1)};
    if (!ok(weft_node_start(&n, &o))) return;
    if (ok(weft_node_spawn(n, NULL, stacks_body, NULL, 0, NULL))) must(weft_node_wait(n, PATIENCE) == 0);
    stop(n);
}

/* ---- Streams --------------------------------------------------------------------------------------------------- */

enum { BULK = 300 * 1024 };

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 31 + (i >> 8));
}

/* Writes BULK bytes from where it is told to, and ends. */
static void pourer(const void *arg, size_t size)
{
    weft_stream s;
    (void)size;
    char *bulk = malloc(BULK);
    if (bulk == NULL) return;
    for (size_t i = 0; i < BULK; i++) bulk[i] = (char)byte_at(i);
    weft_slice parts[3] = {{bulk, 1000}, {bulk + 1000, 50000}, {bulk + 51000, BULK - 51000}};
    if (ok(weft_connect(&s, arg, PATIENCE))) {
        if (ok(weft_writev(s, parts, 3, PATIENCE))) (void)ok(weft_shutdown(s));
        must(weft_close(s) == 0);
    }
    free(bulk);
}

/* In order, and none but those that were written. */
static void pour_in(weft_stream s)
{
    static char in[4096];
    size_t at = 0;
    int64_t n;
    while (ok(n = weft_read(s, in, sizeof in, PATIENCE)) && n > 0)
        for (int64_t i = 0; i < n; i++, at++) must((unsigned char)in[i] == byte_at(at));
    must(at <= BULK);
    must(at == BULK || n < 0 || calls_failed() > 0);
    must(weft_close(s) == 0);
}

static void serve_one(const char *address)
{
    char at[200];
    weft_listener l;
    weft_stream s;
    weft_monitor_ref ref;
    weft_msg *m;
    if (!ok(weft_listen(&l, address, NULL))) return;
    if (ok(weft_listener_address(l, at, sizeof at)) &&
        ok(weft_spawn(NULL, pourer, at, strlen(at) + 1, &(weft_spawn_options){.monitor = &ref}))) {
        weft_wait either[2] = {weft_on_listener(l), weft_on_mailbox()};
        int which = weft_wait_any(either, 2, PATIENCE);
        if (ok(which) && which == 0 && ok(weft_accept(l, &s, PATIENCE))) pour_in(s);
        must(weft_listener_close(l) == 0); /* what was not accepted ends */
        if (ok(weft_recv_tag(&m, WEFT_TAG_DOWN, PATIENCE))) weft_msg_free(m);
        return;
    }
    must(weft_listener_close(l) == 0);
}

static void tcp_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    serve_one("127.0.0.1:0");
}

static void tcp(void)
{
    run_one(1, tcp_body);
}

/* A socket file that a process which died has left is taken over. */
static void unix_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    char address[220];
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const char *path = path_of("socket");
    must(strlen(path) < sizeof a.sun_path);
    memcpy(a.sun_path, path, strlen(path) + 1);
    int left = __real_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(left >= 0 && __real_bind(left, (struct sockaddr *)&a, sizeof a) == 0);
    __real_close(left);
    snprintf(address, sizeof address, "unix:%s", a.sun_path);
    serve_one(address);
    (void)remove(a.sun_path);
}

static void unix_sockets(void)
{
    run_one(1, unix_body);
}

/* Descriptors go through a socket; a pipe's ends on two workers. */
static void pipe_reader(const void *arg, size_t size)
{
    weft_stream s;
    char text[16] = "";
    (void)size;
    memcpy(&s, arg, sizeof s);
    int64_t n = weft_read_until(s, text, sizeof text, '\n', PATIENCE);
    if (ok(n)) must((n == 6 && memcmp(text, "hello\n", 6) == 0) || calls_failed() > 0);
    must(weft_close(s) == 0);
}

static void pipes_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_stream reading, writing, out;
    weft_monitor_ref ref;
    weft_msg *m;
    if (ok(weft_stderr(&out))) must(weft_close(out) == 0);
    if (!ok(weft_pipe(&reading, &writing))) return;
    weft_spawn_options there = {.worker = 2, .monitor = &ref};
    bool begun = ok(weft_spawn(NULL, pipe_reader, &reading, sizeof reading, &there));
    if (!begun) must(weft_close(reading) == 0);
    int rc = weft_write(writing, "hello\n", 6, PATIENCE) < 0;
    if (begun) (void)ok(rc);
    must(weft_close(writing) == 0);
    if (begun && ok(weft_recv_tag(&m, WEFT_TAG_DOWN, PATIENCE))) weft_msg_free(m);
}

static void pipes(void)
{
    run_one(2, pipes_body);
}

/* ---- Datagrams, names ------------------------------------------------------------------------------------------ */

static void udp_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_udp a, b;
    weft_address at, from;
    char in[64];
    if (!ok(weft_udp_open(&a, "127.0.0.1:0", &(weft_udp_options){.reuse = true, .receive_buffer = 65536}))) return;
    if (ok(weft_udp_address(a, &at)) && ok(weft_udp_open(&b, "127.0.0.1:0", NULL))) {
        int sent = 0, got = 0;
        for (int i = 0; i < 5; i++) sent += ok(weft_udp_send(b, &at, "datagram", 8, PATIENCE));
        for (int i = 0; i < sent; i++) {
            int64_t n = weft_udp_receive(a, in, sizeof in, &from, weft_after(WEFT_SEC(2)));
            if (!ok(n)) continue;
            must(n == 8 && memcmp(in, "datagram", 8) == 0);
            got++;
        }
        must(got == sent || calls_failed() > 0);
        must(weft_udp_close(b) == 0);
    }
    must(weft_udp_close(a) == 0);
}

static void udp(void)
{
    run_one(1, udp_body);
}

static bool connected(int rc)
{
    return rc == PF_AGAIN || ok(rc);
}

/* The descriptor of a socket that somebody else has made: NNG, in a node. */
static void find_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct pf_address at, from;
    pf_handle listener, client, server = PF_NO_HANDLE, found;
    if (pf_address_parse("127.0.0.1:0", &at) < 0 || !ok(pf_listen(&listener, &at, 1, false))) return;
    if (ok(pf_local_address(listener, &at)) && connected(pf_connect(&client, &at))) {
        while (pf_accept(listener, &server) == PF_AGAIN && weft_sleep(weft_after(WEFT_MS(1))) == 0) {}
        if (server != PF_NO_HANDLE && ok(pf_local_address(client, &from)) && ok(pf_find_stream(&from, &at, &found)))
            pf_close(found);
        pf_close(server);
        pf_close(client);
    }
    pf_close(listener);
}

static void find(void)
{
    run_one(1, find_body);
}

static void resolve_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_address a[4];
    weft_stream s;
    (void)ok(weft_resolve("127.0.0.1", "80", a, 4, PATIENCE));
    int rc = weft_connect(&s, "localhost:1", PATIENCE);
    must(rc < 0 && rc != WEFT_ETIMEDOUT);
}

static void resolve(void)
{
    run_one(1, resolve_body);
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

enum { BLOCK = 20000 };

static void file_rw(weft_file f)
{
    static char block[BLOCK], in[BLOCK];
    memset(block, 'x', sizeof block);
    int64_t n = weft_file_write(f, block, sizeof block, 0, PATIENCE), got;
    if (ok(n)) must(n == BLOCK);
    bool synced = ok(weft_file_sync(f, PATIENCE));
    if (n == BLOCK && ok(got = weft_file_read(f, in, sizeof in, 0, PATIENCE)))
        must(got == BLOCK && memcmp(in, block, BLOCK) == 0);
    if (synced && n == BLOCK && ok(got = weft_file_size(f, PATIENCE))) must(got == BLOCK);
    if (ok(weft_file_truncate(f, 10, PATIENCE)) && ok(got = weft_file_size(f, PATIENCE))) must(got == 10);
    weft_file_op op;
    if (ok(weft_file_write_start(&op, f, "abc", 3, 10, PATIENCE)) && ok(got = weft_file_take(op, NULL, 0, PATIENCE)))
        must(got == 3);
}

static void files_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_file f;
    weft_dir d;
    weft_dir_entry e;
    char path[200];
    int64_t n;
    snprintf(path, sizeof path, "%s", path_of("file"));
    if (ok(weft_file_open(&f, path, WEFT_FILE_READ | WEFT_FILE_WRITE | WEFT_FILE_CREATE, 0600, PATIENCE))) {
        file_rw(f);
        must(weft_file_close(f) == 0);
    }
    if (ok(weft_file_open(&f, path, WEFT_FILE_WRITE | WEFT_FILE_CREATE | WEFT_FILE_APPEND, 0600, PATIENCE))) {
        if (ok(n = weft_file_write(f, "tail", 4, WEFT_FILE_END, PATIENCE))) must(n == 4);
        must(weft_file_close(f) == 0);
    }
    if (ok(weft_dir_open(&d, "/sys/class", PATIENCE))) {
        int entries = 0;
        while (ok(n = weft_dir_next(d, &e, PATIENCE)) && n == 1) entries++;
        must(n < 0 || entries > 0);
        must(weft_dir_close(d) == 0);
    }
    (void)remove(path);
}

static void files(void)
{
    run_one(1, files_body);
}

static void changes_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_changes c;
    weft_change what;
    char path[200];
    snprintf(path, sizeof path, "%s", path_of("watched"));
    FILE *file = fopen(path, "w");
    must(file != NULL);
    if (ok(weft_changes_open(&c, path))) {
        fputs("more", file);
        fflush(file);
        if (ok(weft_changes_next(c, &what, PATIENCE))) must(what.kind == WEFT_CHANGE_MODIFIED || calls_failed() > 0);
        must(weft_changes_close(c) == 0);
    }
    fclose(file);
    (void)remove(path);
}

static void changes(void)
{
    run_one(1, changes_body);
}

/* ---- Processes, signals ---------------------------------------------------------------------------------------- */

static void process_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const char *const cat[] = {"cat", NULL};
    weft_process_options o = {.argv = cat, .directory = "/", .err = {.kind = WEFT_STDIO_NULL}};
    o.in.kind = o.out.kind = WEFT_STDIO_PIPE;
    weft_process p;
    weft_process_status status;
    char text[16];
    if (!ok(weft_process_start(&p, &o, PATIENCE))) return;
    bool wrote = ok(weft_write(weft_process_in(p), "meow\n", 5, PATIENCE));
    if (wrote) {
        int64_t n = weft_read_until(weft_process_out(p), text, sizeof text, '\n', PATIENCE);
        if (ok(n)) must((n == 5 && memcmp(text, "meow\n", 5) == 0) || calls_failed() > 0);
    }
    must(weft_close(weft_process_in(p)) == 0);
    if (ok(weft_process_wait(p, &status, PATIENCE)))
        must((status.code == 0 && status.signal == 0) || calls_failed() > 0);
    must(weft_process_close(p) == 0);
}

static void process(void)
{
    run_one(1, process_body);
}

static void signals_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_signal s;
    signal(SIGUSR1, SIG_IGN); /* it may come when nobody waits for it any more */
    if (!ok(weft_signal_open(&s, SIGUSR1))) return;
    must(kill(getpid(), SIGUSR1) == 0);
    weft_wait w = weft_on_signal(s);
    if (ok(weft_wait_any(&w, 1, PATIENCE))) must(weft_signal_take(s) == 1);
    must(weft_signal_close(s) == 0);
}

static void signals(void)
{
    run_one(1, signals_body);
}

/* ---- A loop of somebody else's --------------------------------------------------------------------------------- */

static bool embedded_done;

static void embedded_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_stream reading, writing;
    char byte;
    (void)ok(weft_sleep(weft_after(WEFT_MS(1))));
    if (ok(weft_pipe(&reading, &writing))) {
        if (ok(weft_write(writing, "x", 1, PATIENCE))) (void)ok(weft_read(reading, &byte, 1, PATIENCE));
        must(weft_close(reading) == 0 && weft_close(writing) == 0);
    }
    embedded_done = true;
}

static void embedded(void)
{
    weft_node *n;
    int64_t until = PATIENCE;
    embedded_done = false;
    if (!ok(weft_node_start(&n, &(weft_node_options){.name = "one", .embedded = true}))) return;
    if (ok(weft_node_spawn(n, NULL, embedded_body, NULL, 0, NULL)))
        while (!embedded_done) {
            must(weft_now() < until);
            (void)weft_node_turn(n, until);
        }
    stop(n);
}

const struct scenario scenarios[] = {
    {.name = "workers", .run = workers},
    {.name = "stacks", .run = stacks},
    {.name = "tcp", .run = tcp},
    {.name = "unix", .run = unix_sockets},
    {.name = "pipes", .run = pipes},
    {.name = "udp", .run = udp},
    {.name = "find", .run = find},
    {.name = "resolve", .run = resolve},
    {.name = "files", .run = files},
    {.name = "changes", .run = changes},
    {.name = "process", .run = process},
    {.name = "signals", .run = signals, .keeps = 2},
    {.name = "embedded", .run = embedded},
    {.name = "link", .run = link_nodes},
    {.name = "nng", .run = nng_tcp, .keeps = 2, .nng = true},
    {.name = "nng_tls", .run = nng_tls, .keeps = 2, .nng = true, .tls = true},
};
const size_t scenario_count = sizeof scenarios / sizeof *scenarios;

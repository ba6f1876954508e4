/* tests/unit/runtime/streams.h -- connected pairs of streams for the tests of streams, listeners and sockets. */
#ifndef WF_TEST_STREAMS_H
#define WF_TEST_STREAMS_H

#include "harness.h"

#include <unistd.h>

#include "socket.h"

#include <weft/stream.h>
#include <weft/wait.h>

enum transport { TCP, UNIX };

/* An address to listen on: any free port, or a socket in a new directory (see forget_address). Under wine 8,
 * which has no such sockets, always the former. */
__attribute__((unused)) static void make_address(enum transport kind, char out[WEFT_ADDRESS_TEXT])
{
#ifdef _WIN32
    kind = TCP;
#else
    char directory[] = "/tmp/weft-test-XXXXXX";
    if (kind == UNIX) {
        want(mkdtemp(directory) != NULL);
        snprintf(out, WEFT_ADDRESS_TEXT, "unix:%s/socket", directory);
    }
#endif
    if (kind == TCP) snprintf(out, WEFT_ADDRESS_TEXT, "127.0.0.1:0");
}

__attribute__((unused)) static void forget_address(const char *address)
{
    if (strncmp(address, "unix:", 5) != 0) return;
    char directory[WEFT_ADDRESS_TEXT];
    snprintf(directory, sizeof directory, "%s", address + 5);
    *strrchr(directory, '/') = 0;
    want_int(rmdir(directory), 0); /* closing the listener has removed the socket */
}

struct connecting {
    char address[WEFT_ADDRESS_TEXT];
    weft_stream stream;
    int result;
};

__attribute__((unused)) static void do_connect(void *arg)
{
    struct connecting *c = arg;
    c->result = weft_connect(&c->stream, c->address, WEFT_FOREVER);
}

/* In a task: two ends of one connection, both owned by this worker. */
__attribute__((unused)) static void make_pair(enum transport kind, weft_stream *a, weft_stream *b)
{
    struct connecting c = {.result = 1};
    weft_listener l;
    char asked[WEFT_ADDRESS_TEXT];
    make_address(kind, asked);
    want_int(weft_listen(&l, asked, NULL), 0);
    want_int(weft_listener_address(l, c.address, sizeof c.address), 0);
    struct test_task *t = spawn_here(do_connect, &c);
    want_int(weft_accept(l, a, WEFT_FOREVER), 0);
    until(t->done);
    want_int(c.result, 0);
    *b = c.stream;
    want_int(weft_listener_close(l), 0);
    forget_address(asked);
}

__attribute__((unused)) static void close_pair(weft_stream a, weft_stream b)
{
    want_int(weft_close(a), 0);
    want_int(weft_close(b), 0);
    want_int(wf_here->streams.used, 0);
    want_int(wf_here->fds.used, 0);
}

/* Runs one call in a task of its own. */
enum call_kind { READ, READ_EXACT, READ_UNTIL, WRITE, ACCEPT, CONNECT, WAIT_READABLE };
struct call {
    enum call_kind what;
    weft_stream stream;
    weft_listener listener;
    const char *address;
    char *buffer;
    size_t size;
    int64_t deadline, result;
};

__attribute__((unused)) static void do_call(void *arg)
{
    struct call *c = arg;
    c->result = 1 << 30;
    weft_wait w = weft_on_readable(c->stream);
    switch (c->what) {
    case READ: c->result = weft_read(c->stream, c->buffer, c->size, c->deadline); break;
    case READ_EXACT: c->result = weft_read_exact(c->stream, c->buffer, c->size, c->deadline); break;
    case READ_UNTIL: c->result = weft_read_until(c->stream, c->buffer, c->size, '\n', c->deadline); break;
    case WRITE: c->result = weft_write(c->stream, c->buffer, c->size, c->deadline); break;
    case ACCEPT: c->result = weft_accept(c->listener, &c->stream, c->deadline); break;
    case CONNECT: c->result = weft_connect(&c->stream, c->address, c->deadline); break;
    case WAIT_READABLE: c->result = weft_wait_any(&w, 1, c->deadline); break;
    }
}

/* The call must have to wait; it ends at its deadline, when cancelled, and when killed. */
__attribute__((unused)) static void check_endings(struct call *c)
{
    c->deadline = weft_after(WEFT_MS(2));
    struct test_task *t = spawn_here(do_call, c);
    until(t->done);
    want_int(c->result, WEFT_ETIMEDOUT);
    want(weft_now() >= c->deadline);
    c->deadline = WEFT_NOW;
    t = spawn_here(do_call, c);
    until(t->done);
    want_int(c->result, WEFT_ETIMEDOUT);
    c->deadline = WEFT_FOREVER;
    t = spawn_here(do_call, c);
    until(is_waiting(t));
    wf_task_cancel(&t->task);
    until(t->done);
    want_int(c->result, WEFT_ECANCELED);
    t = spawn_here(do_call, c);
    until(is_waiting(t));
    wf_task_kill(&t->task);
    until(t->done);
    want(t->was_killed);
}

#endif

/* actors/lifecycle/connecting.c: connecting while waiting for other sources. */
#include "connecting.h"
#include "../node_harness.h"

#ifndef _WIN32
#include <unistd.h>
#endif

static void accept_and_echo(const void *arg, size_t size)
{
    const weft_listener *l = arg;
    weft_stream s;
    char byte;
    (void)size;
    want_int(weft_accept(*l, &s, WEFT_FOREVER), 0);
    want_int(weft_read(s, &byte, 1, WEFT_FOREVER), 1);
    want_int(weft_write(s, &byte, 1, WEFT_FOREVER), 1);
    weft_close(s);
}

static void connects_to(const char *listen_on, const char *name)
{
    weft_listener l;
    weft_connecting c;
    weft_stream s = {0};
    char text[WEFT_ADDRESS_TEXT], by_name[64], byte = 'x';
    want_int(weft_listen(&l, listen_on, NULL), 0);
    want_int(weft_listener_address(l, text, sizeof text), 0);
    if (name != NULL) snprintf(by_name, sizeof by_name, "%s:%s", name, strrchr(text, ':') + 1);
    want_int(weft_spawn(NULL, accept_and_echo, &l, sizeof l, NULL), 0);
    want_int(weft_connect_start(&c, name == NULL ? text : by_name, WEFT_FOREVER), 0);
    want_int(weft_connect_take(c, &s), WEFT_EBUSY);
    const weft_wait sources[] = {weft_on_mailbox(), weft_on_connect(c)};
    want_int(weft_wait_any(sources, 2, WEFT_FOREVER), 1);
    want_int(weft_connect_take(c, &s), 0);
    want_int(weft_connect_take(c, &s), WEFT_ECLOSED);
    want_int(weft_connect_drop(c), WEFT_ECLOSED);
    want_int(weft_write(s, &byte, 1, WEFT_FOREVER), 1);
    want_int(weft_read_exact(s, &byte, 1, WEFT_FOREVER), 1);
    want_int(weft_close(s), 0);
    want_int(weft_listener_close(l), 0);
}

static void connects(const void *arg, size_t size)
{
    (void)arg, (void)size;
    connects_to("127.0.0.1:0", NULL);
    connects_to("127.0.0.1:0", "localhost");
#ifndef _WIN32
    char path[64];
    snprintf(path, sizeof path, "unix:/tmp/weft-connecting-%ld", (long)getpid());
    connects_to(path, NULL);
#endif
}

START_TEST(a_connection_is_waited_for_beside_the_mailbox)
{
    run_on(1, connects);
}
END_TEST

static int outcome(const char *address, int64_t deadline)
{
    weft_connecting c;
    weft_stream s;
    int rc = weft_connect_start(&c, address, deadline);
    if (rc < 0) return rc;
    const weft_wait w = weft_on_connect(c);
    want_int(weft_wait_any(&w, 1, WEFT_FOREVER), 0);
    return weft_connect_take(c, &s);
}

static void fails(const void *arg, size_t size)
{
    weft_listener l;
    weft_connecting c;
    weft_stream s;
    char text[WEFT_ADDRESS_TEXT], endless[2048];
    (void)arg, (void)size;
    want_int(weft_listen(&l, "127.0.0.1:0", NULL), 0);
    want_int(weft_listener_address(l, text, sizeof text), 0);
    want_int(weft_listener_close(l), 0);
    want_int(outcome(text, WEFT_FOREVER), WEFT_EREFUSED);
    want_int(outcome("10.0.0.300:80", WEFT_FOREVER), WEFT_EADDRESS);
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    want_int(outcome(endless, WEFT_FOREVER), WEFT_EADDRESS);
    want_int(weft_connect_start(NULL, text, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_connect_start(&c, NULL, WEFT_FOREVER), WEFT_EINVAL);
    c = (weft_connecting){0};
    want_int(weft_connect_take(c, &s), WEFT_ECLOSED);
    want_int(weft_connect_drop(c), WEFT_ECLOSED);
}

START_TEST(failures_say_why)
{
    weft_connecting c;
    weft_stream s;
    run_on(1, fails);
    want_int(weft_connect_start(&c, "127.0.0.1:1", WEFT_FOREVER), WEFT_ENOTACTOR);
    want_int(weft_connect_take((weft_connecting){0}, &s), WEFT_ENOTACTOR);
    want_int(weft_connect_drop((weft_connecting){0}), WEFT_ENOTACTOR);
}
END_TEST

#ifdef __linux__
/* A listener whose queue is full: each connection to it waits. */
struct silent {
    weft_listener listener;
    weft_stream fill[16];
    int filled;
    char address[WEFT_ADDRESS_TEXT];
};

static void open_silent(struct silent *q)
{
    int silent = 0;
    q->filled = 0;
    want_int(weft_listen(&q->listener, "127.0.0.1:0", &(weft_listen_options){.backlog = 1}), 0);
    want_int(weft_listener_address(q->listener, q->address, sizeof q->address), 0);
    while (q->filled < 16 && silent < 2) { /* one may be silent because this machine is busy */
        int rc = weft_connect(&q->fill[q->filled], q->address, weft_after(WEFT_MS(400)));
        want(rc == 0 || rc == WEFT_ETIMEDOUT);
        silent = rc == 0 ? 0 : silent + 1;
        if (rc == 0) q->filled++;
    }
    want_int(silent, 2);
}

static void close_silent(struct silent *q)
{
    for (int i = 0; i < q->filled; i++) weft_close(q->fill[i]);
    weft_listener_close(q->listener);
}

static void connect_for_ever(const void *arg, size_t size)
{
    weft_connecting c;
    (void)size;
    want_int(weft_connect_start(&c, arg, WEFT_FOREVER), 0);
    const weft_wait sources[] = {weft_on_mailbox(), weft_on_connect(c)};
    want_int(weft_wait_any(sources, 2, WEFT_FOREVER), WEFT_ECANCELED);
} /* and leaves it */

static void waits_in_vain(const void *arg, size_t size)
{
    struct silent q;
    weft_connecting c, own;
    weft_stream s;
    weft_pid pid;
    weft_msg *m;
    (void)arg, (void)size;
    open_silent(&q);
    uint32_t streams = wf_here->streams.used;
    want_int(outcome(q.address, weft_after(WEFT_MS(50))), WEFT_ETIMEDOUT);
    /* Something else comes first. */
    want_int(weft_connect_start(&c, q.address, WEFT_FOREVER), 0);
    const weft_wait sources[] = {weft_on_mailbox(), weft_on_connect(c)};
    want_int(weft_wait_any(sources, 2, weft_after(WEFT_MS(20))), WEFT_ETIMEDOUT);
    want_int(weft_send(weft_self(), 7, NULL, 0), 0);
    want_int(weft_wait_any(sources, 2, WEFT_FOREVER), 0);
    want_int(weft_recv(&m, WEFT_NOW), 0);
    weft_msg_free(m);
    want_int(weft_connect_take(c, &s), WEFT_EBUSY);
    /* Given up while it connects. */
    want_int(weft_connect_drop(c), 0);
    want_int(weft_connect_take(c, &s), WEFT_ECLOSED);
    want_int(weft_wait_any(&sources[1], 1, WEFT_FOREVER), 0);
    want_int(wf_here->streams.used, streams);
    want_int(wf_connecting_of(wf_actors_of(wf_here))->used, 0);
    /* Given up before the actor that connects has run. */
    want_int(weft_connect_start(&own, q.address, WEFT_FOREVER), 0);
    want_int(weft_connect_drop(own), 0);
    const weft_wait dropped = weft_on_connect(own);
    want_int(weft_wait_any(&dropped, 1, WEFT_FOREVER), 0);
    want_int(wf_connecting_of(wf_actors_of(wf_here))->used, 0);
    /* The actor that has started it is stopped or killed. */
    for (int kill = 0; kill < 2; kill++) {
        want_int(weft_spawn(&pid, connect_for_ever, q.address, sizeof q.address, NULL), 0);
        want_int(weft_sleep(weft_after(WEFT_MS(20))), 0);
        want_int(wf_connecting_of(wf_actors_of(wf_here))->used, 1);
        want_int(kill ? weft_kill(pid) : weft_stop(pid), 0);
        const weft_wait end = weft_on_end(pid);
        want_int(weft_wait_any(&end, 1, WEFT_FOREVER), 0);
        while (wf_connecting_of(wf_actors_of(wf_here))->used > 0) wf_task_yield();
        want_int(wf_here->streams.used, streams);
    }
    close_silent(&q);
}

START_TEST(an_actor_that_gives_up_leaves_nothing_behind)
{
    run_on(1, waits_in_vain);
}
END_TEST
#endif

/* Connected, and nobody takes it. */
static void untaken(const void *arg, size_t size)
{
    weft_listener l;
    weft_connecting c;
    char text[WEFT_ADDRESS_TEXT], byte;
    weft_stream accepted;
    (void)arg, (void)size;
    want_int(weft_listen(&l, "127.0.0.1:0", NULL), 0);
    want_int(weft_listener_address(l, text, sizeof text), 0);
    want_int(weft_connect_start(&c, text, WEFT_FOREVER), 0);
    const weft_wait w = weft_on_connect(c);
    want_int(weft_wait_any(&w, 1, WEFT_FOREVER), 0);
    want_int(weft_connect_drop(c), 0);
    want_int(weft_accept(l, &accepted, WEFT_FOREVER), 0);
    want_int(weft_read(accepted, &byte, 1, WEFT_FOREVER), 0);
    weft_close(accepted);
    weft_listener_close(l);
}

START_TEST(a_connection_that_is_never_taken_is_closed)
{
    run_on(1, untaken);
}
END_TEST

static bool is_starting;

static void is_killed_as_it_starts(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_connecting c;
    wf_task_self()->ops = 1; /* so the spawn of the second actor yields */
    is_starting = true;
    weft_ignore(weft_connect_start(&c, "127.0.0.1:1", WEFT_FOREVER));
    ck_abort_msg("it was killed while it yielded");
}

/* node_finish finds nothing left. */
static void kills_it(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid kid = kid_on(1, is_killed_as_it_starts, 0);
    until(is_starting);
    want_int(weft_kill(kid), 0);
    await_end(kid);
}

START_TEST(an_actor_that_is_killed_as_it_starts_to_connect_leaves_nothing)
{
    run_on(1, kills_it);
}
END_TEST

#ifdef __linux__
TEST_MAIN("connecting", a_connection_is_waited_for_beside_the_mailbox, failures_say_why,
          an_actor_that_gives_up_leaves_nothing_behind, a_connection_that_is_never_taken_is_closed,
          an_actor_that_is_killed_as_it_starts_to_connect_leaves_nothing)
#else
TEST_MAIN("connecting", a_connection_is_waited_for_beside_the_mailbox, failures_say_why,
          a_connection_that_is_never_taken_is_closed, an_actor_that_is_killed_as_it_starts_to_connect_leaves_nothing)
#endif

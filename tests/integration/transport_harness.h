/* Nodes in one process, and a place where their actors report what happened. */
#ifndef TRANSPORT_HARNESS_H
#define TRANSPORT_HARNESS_H

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

#include "platform.h"
#include "../suite.h"
#ifdef _WIN32
#include <sched.h>
#define LET_NODES_RUN() (void)sched_yield()
#else
#include <poll.h>
#define LET_NODES_RUN() (void)poll(NULL, 0, 1) /* a thread that only yields takes a core from them */
#endif

/* A deadline that only a hang reaches, shortly before the one of the test runner. */
__attribute__((unused)) static int64_t patience(void)
{
    return weft_after(WEFT_SEC(100));
}

/* Lines that actors say; the test waits for the ones it needs. */
static pf_mutex *said_lock;
static pf_cond *said_more;
enum { SAID_MAX = 65536 };
static char said[SAID_MAX][200];
static int said_count;

__attribute__((constructor)) static void said_init(void)
{
    if (pf_mutex_create(&said_lock) < 0 || pf_cond_create(&said_more) < 0) abort();
}

__attribute__((format(printf, 1, 2), unused)) static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pf_mutex_lock(said_lock);
    if (said_count == SAID_MAX) { /* a line that is dropped would be one that nobody said */
        fprintf(stderr, "more than %d lines are said\n", SAID_MAX);
        abort();
    }
    vsnprintf(said[said_count++], sizeof said[0], format, args);
    pf_cond_broadcast(said_more);
    pf_mutex_unlock(said_lock);
    va_end(args);
}

/* How often a line that begins so was said; waits until it is at least `least` times. */
__attribute__((unused)) static int heard(const char *start, int least)
{
    int64_t by = patience();
    int count, late = 0;
    pf_mutex_lock(said_lock);
    for (;;) {
        count = 0;
        for (int i = 0; i < said_count; i++) count += strncmp(said[i], start, strlen(start)) == 0;
        if (count >= least || late != 0) break;
        late = pf_cond_wait(said_more, said_lock, by);
    }
    if (count < least) {
        fprintf(stderr, "waited in vain for %d x \"%s\"; heard:\n", least, start);
        for (int i = 0; i < said_count; i++) fprintf(stderr, "  %s\n", said[i]);
    }
    pf_mutex_unlock(said_lock);
    return count;
}

/* No line begins so; if one does, it is shown. */
__attribute__((unused)) static void expect_unheard(const char *start)
{
    pf_mutex_lock(said_lock);
    int at = 0;
    while (at < said_count && strncmp(said[at], start, strlen(start)) != 0) at++;
    bool found = at < said_count;
    pf_mutex_unlock(said_lock);
    if (found) ck_abort_msg("heard: %s", said[at]);
}

/* Which line it was, of all there are. */
__attribute__((unused)) static int place_of(const char *line)
{
    int at = 0;
    pf_mutex_lock(said_lock);
    while (at < said_count && strcmp(said[at], line) != 0) at++;
    bool found = at < said_count;
    pf_mutex_unlock(said_lock);
    if (!found) ck_abort_msg("no actor has said '%s'", line);
    return at;
}

__attribute__((unused)) static void forget_all(void)
{
    pf_mutex_lock(said_lock);
    said_count = 0;
    pf_mutex_unlock(said_lock);
}

#define HEAR(start) ck_assert_int_ge(heard(start, 1), 1)

/* The carrier of tcp:// links: TEST_CARRIER is tcp, nng, or mixed, which gives each node another carrier than the
 * node before. */
__attribute__((unused)) static const char *next_carrier(void)
{
    static unsigned turn;
    const char *name = getenv("TEST_CARRIER");
    if (name == NULL) return NULL;
    return strcmp(name, "mixed") == 0 ? turn++ % 2 == 0 ? "tcp" : "nng" : name;
}

/* Waits until it holds; the message says what did not. For what no line says. */
#define UNTIL(condition)                                                                      \
    do {                                                                                      \
        int64_t until_ = patience();                                                          \
        while (!(condition)) {                                                                \
            if (weft_now() > until_) ck_abort_msg("this has never become true: " #condition); \
            LET_NODES_RUN();                                                                  \
        }                                                                                     \
    } while (0)

/* Starts a node with 2 workers, and senders that wait however slow the machine is, unless `o` says otherwise;
 * `listen` may be NULL, for none (each pair of nodes has one way then, which a test may break), and so may `join`. */
__attribute__((unused)) static weft_node *node_with(weft_node_options o, const char *listen, const char *join)
{
    weft_node *n = NULL;
    if (listen == NULL) listen = "none";
    if (o.workers == 0) o.workers = 2;
    if (o.send_timeout == 0) o.send_timeout = WEFT_SEC(1000);
    o.carrier = next_carrier();
    o.listen = &listen;
    o.join = &join;
    o.listen_count = 1;
    o.join_count = join != NULL;
    ck_assert_int_eq(weft_node_start(&n, &o), WEFT_OK);
    return n;
}

/* The same with what most tests want. */
__attribute__((unused)) static weft_node *node_up(const char *name, const char *listen, const char *join,
                                                  int64_t heartbeat)
{
    weft_node_options o = {.name = name, .heartbeat = heartbeat, .resume_window = WEFT_SEC(2)};
    return node_with(o, listen, join);
}

__attribute__((unused)) static void run_actor(weft_node *n, weft_actor *body, const void *arg, size_t size)
{
    ck_assert_int_eq(weft_node_spawn(n, NULL, body, arg, size, NULL), WEFT_OK);
}

/* Registered as "echo": answers requests with the same bytes and the tag behind theirs. */
__attribute__((unused)) static void echo(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_register("echo");
    say("echo ready");
    weft_msg *m;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m))
        if (weft_wants_reply(m)) weft_reply(m, weft_tag(m) + 1, weft_data(m), weft_size(m));
}

/* `arg`: "echo@NODE". */
__attribute__((unused)) static void call_echo(const void *arg, size_t size)
{
    (void)size;
    weft_msg *m = NULL;
    int rc = weft_call_name(arg, 1, NULL, 0, &m, patience());
    weft_msg_free(m);
    say("called %d", rc);
}

/* An actor: until there is a link with another node. */
__attribute__((unused)) static void await_link(void)
{
    weft_msg *m = NULL;
    ck_assert_int_eq(weft_watch_nodes(), WEFT_OK);
    do {
        weft_msg_free(m);
        m = NULL;
        ck_assert_int_eq(weft_recv(&m, patience()), WEFT_OK);
    } while (weft_tag(m) != WEFT_TAG_NODE_UP);
    weft_msg_free(m);
}

__attribute__((unused)) static void node_down(weft_node *n)
{
    ck_assert_int_eq(weft_node_stop(n, patience()), WEFT_OK);
}

/* The word for a notification with that tag. It is "well" for a node of `suspects` that is up again: on a busy
 * machine a node may be suspected at any time, and "up" must be reported once for each link. */
__attribute__((unused)) static const char *name_of_news(uint32_t tag, uint64_t node, uint64_t suspects[8])
{
    int at = 0;
    while (at < 7 && suspects[at] != node && (tag != WEFT_TAG_NODE_SUSPECT || suspects[at] != 0)) at++;
    bool was = suspects[at] == node;
    if (tag == WEFT_TAG_MINORITY) return "minority";
    if (tag == WEFT_TAG_MAJORITY) return "majority";
    if (was || tag == WEFT_TAG_NODE_SUSPECT) suspects[at] = tag == WEFT_TAG_NODE_SUSPECT ? node : 0;
    if (tag == WEFT_TAG_NODE_SUSPECT) return "suspect";
    return tag == WEFT_TAG_NODE_DOWN ? "down" : was ? "well" : "up";
}

/* Says "NODE up OTHER" and "NODE down OTHER: REASON", suspect, well, minority and majority, as they come; `arg` is
 * the node's name. */
__attribute__((unused)) static void watcher(const void *arg, size_t size)
{
    uint64_t suspects[8] = {0};
    (void)size;
    weft_watch_nodes();
    weft_msg *m;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        struct weft_node_news news;
        if (weft_node_news_read(m, &news) != WEFT_OK) continue;
        say("%s %s %s%s%s", (const char *)arg, name_of_news(weft_tag(m), news.incarnation, suspects), news.name,
            news.reason[0] == '\0' ? "" : ": ", news.reason);
    }
}

__attribute__((unused)) static void watch(weft_node *n)
{
    const char *name = weft_node_name(n);
    run_actor(n, watcher, name, strlen(name) + 1);
}

#endif

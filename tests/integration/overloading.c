/* A module for overload_test.py. `serve`: actors on two workers that are slow. `call NAME ACTORS MS`: that many actors call
 * NAME all the time, and wait for so many ms each; a message to "enough" ends it, and the sums are printed. `calm NAME
 * COUNT`: so many calls one after the other. `pour NAME ACTORS`: that many actors send all the time. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

#define WORK WEFT_MS(2) /* that a request takes */
enum { ASK = 1, HOLD_UP = 2, GO_ON = 3, REFUSING = 20, SUSPENDING = 100, BODY = 1000 };

static void say(const char *text)
{
    puts(text);
    fflush(stdout);
}

/* ---- The node that is asked for too much ----------------------------------------------------------------------- */

static atomic_bool held_up;

static __attribute__((noinline)) void holds_its_worker_up(void)
{
    atomic_store(&held_up, true);
    while (atomic_load(&held_up)) {}
}

static void serve(const char *name, int64_t work)
{
    weft_msg *m;
    if (weft_register(name) < 0) return;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        int64_t until = weft_after(work);
        while (weft_now() < until) {} /* it computes */
        if (weft_tag(m) == HOLD_UP) holds_its_worker_up();
        if (weft_tag(m) == GO_ON) atomic_store(&held_up, false);
        if (weft_wants_reply(m)) (void)weft_reply(m, ASK, NULL, 0);
        if (weft_yield() == WEFT_ECANCELED) return; /* the others on its worker have a turn after each request */
    }
}

static void slow_one(const void *arg, size_t size)
{
    (void)size;
    serve(arg, WORK);
}

static void quick_one(const void *arg, size_t size)
{
    (void)size;
    serve(arg, 0);
}

static void serve_all(void)
{
    static const struct {
        const char *name;
        weft_actor *body;
        weft_spawn_options o;
    } all[] = {
        {"refusing", slow_one, {.kind = "server", .worker = 1, .mailbox_max = REFUSING, .policy = WEFT_FULL_FAIL}},
        {"usual", slow_one, {.kind = "server", .worker = 1}},
        {"suspending", slow_one, {.kind = "server", .worker = 1, .mailbox_max = SUSPENDING}},
        {"neighbour", quick_one, {.kind = "neighbour", .worker = 1}},
        {"other", quick_one, {.kind = "neighbour", .worker = 2}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (weft_spawn(NULL, all[i].body, all[i].name, strlen(all[i].name) + 1, &all[i].o) < 0) abort();
    say("ready");
    (void)weft_sleep(WEFT_FOREVER);
}

/* ---- The nodes that ask ---------------------------------------------------------------------------------------- */

static char receiver[80];
static int64_t patience;
static atomic_bool enough;
static atomic_uint_fast64_t asked, answered, refused, late, failed;

static int ask(int64_t deadline)
{
    weft_msg *m = NULL;
    int rc = weft_call_name(receiver, ASK, NULL, 0, &m, deadline);
    atomic_fetch_add(&asked, 1);
    if (rc == WEFT_OK) atomic_fetch_add(&answered, 1);
    else if (rc == WEFT_EFULL) atomic_fetch_add(&refused, 1);
    else if (rc == WEFT_ETIMEDOUT) atomic_fetch_add(&late, 1);
    else atomic_fetch_add(&failed, 1);
    weft_msg_free(m);
    return rc;
}

/* Without a pause, unless it is refused. */
static void caller(const void *arg, size_t size)
{
    (void)arg, (void)size;
    while (!atomic_load(&enough)) {
        int rc = ask(weft_after(patience));
        if (rc == WEFT_ENONODE || rc == WEFT_ECANCELED) return;
        if (rc == WEFT_EFULL && weft_sleep(weft_after(WEFT_MS(10))) == WEFT_ECANCELED) return;
    }
}

static void pourer(const void *arg, size_t size)
{
    static const char body[BODY];
    (void)arg, (void)size;
    while (!atomic_load(&enough)) {
        int rc = weft_send_name(receiver, ASK, body, sizeof body);
        atomic_fetch_add(&asked, 1);
        if (rc == WEFT_EFULL) atomic_fetch_add(&refused, 1);
        else if (rc < 0) return;
    }
}

static void wait_for_the_node(void)
{
    while (ask(weft_after(WEFT_SEC(60))) != WEFT_OK)
        if (weft_sleep(weft_after(WEFT_MS(20))) == WEFT_ECANCELED) return;
    atomic_store(&asked, 0), atomic_store(&answered, 0), atomic_store(&failed, 0);
}

static void run_many(weft_actor *body, int count)
{
    weft_msg *m;
    weft_monitor_ref ref;
    if (weft_register("enough") < 0) abort();
    for (int i = 0; i < count; i++)
        if (weft_spawn(NULL, body, NULL, 0, &(weft_spawn_options){.monitor = &ref, .worker = WEFT_SPREAD}) < 0)
            abort();
    say("begun");
    while (count > 0 && weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (weft_tag(m) == WEFT_TAG_DOWN) count--;
        else atomic_store(&enough, true);
        weft_msg_free(m);
    }
}

static void report(void)
{
    printf("{\"asked\": %" PRIuFAST64 ", \"answered\": %" PRIuFAST64 ", \"refused\": %" PRIuFAST64
           ", \"late\": %" PRIuFAST64 ", \"failed\": %" PRIuFAST64 "}\n",
           atomic_load(&asked), atomic_load(&answered), atomic_load(&refused), atomic_load(&late),
           atomic_load(&failed));
    fflush(stdout);
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    (void)size;
    if (args->argc < 4) {
        serve_all();
        return;
    }
    const char *what = args->argv[1];
    int count = atoi(args->argv[3]);
    snprintf(receiver, sizeof receiver, "%s@w", args->argv[2]);
    wait_for_the_node();
    if (args->argc > 4) patience = WEFT_MS(1) * atoi(args->argv[4]);
    if (strcmp(what, "call") == 0) run_many(caller, count);
    if (strcmp(what, "pour") == 0) run_many(pourer, count);
    if (strcmp(what, "calm") == 0)
        for (int i = 0; i < count; i++) (void)ask(weft_after(WEFT_SEC(60)));
    report();
    (void)weft_sleep(WEFT_FOREVER);
}

WEFT_MODULE(first)

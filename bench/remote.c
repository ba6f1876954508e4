/* bench/remote.c -- two processes on 127.0.0.1: round trip and one-way messages between actors on two nodes.
 *
 *     [WEFT_CARRIER=tcp|nng] [WEFT_APART=1] remote rtt SIZE N | oneway SIZE N | publish SUBSCRIBERS N
 *
 * Starts the other node itself, as `remote serve URL`, and ends it. Publish counts deliveries to subscribers
 * there. WEFT_APART: each node has two workers, one with the link, one with the actors. */
#include "bench.h"

#include <signal.h>
#include <sys/wait.h>

/* What this program is called with to be the other node. */
#ifndef BENCH_SERVE
#define BENCH_SERVE "serve"
#endif

static char params[128], url[64];
static const char *apart; /* "apart," or "" */
static struct {
    char mode;
    long size, n;
} arg;
enum { ECHO = 1, COUNT, END, SUBSCRIBE, NEWS, SEEN };
/* published and not seen by all, at most twice this: a topic drops what a slow reader has no space for */
enum { WINDOW = 16384 };

/* ---- The other node -------------------------------------------------------------------------------------------- */

static void subscriber(const void *given, size_t size)
{
    struct {
        weft_pid boss;
        long n;
    } a;
    (void)size;
    memcpy(&a, given, sizeof a);
    must(weft_subscribe("bench.news", NULL), "subscribe");
    must(weft_send(a.boss, SUBSCRIBE, NULL, 0), "ready");
    long seen = 0;
    while (seen < a.n) {
        weft_msg *m = receive();
        long number;
        memcpy(&number, weft_data(m), sizeof number);
        if (number != seen++) fail("publish: lost or out of order");
        weft_msg_free(m);
        if (seen % WINDOW == 0) must(weft_send(a.boss, SEEN, NULL, 0), "seen");
    }
    must(weft_send(a.boss, END, NULL, 0), "done");
}

static void start_subscribers(const weft_msg *m)
{
    long counts[2];
    memcpy(counts, weft_data(m), sizeof counts);
    struct {
        weft_pid boss;
        long n;
    } a = {weft_from(m), counts[1]};
    weft_spawn_options one = {.kind = "subscriber", .worker = apart[0] != '\0' ? 2 : 1};
    for (long i = 0; i < counts[0]; i++) must(weft_spawn(NULL, subscriber, &a, sizeof a, &one), "spawn");
}

static void serve(const void *unused, size_t unused_size)
{
    (void)unused, (void)unused_size;
    must(weft_register("bench"), "register");
    long counted = 0;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        weft_pid from = weft_from(m);
        switch (weft_tag(m)) {
        case ECHO:
            if (weft_wants_reply(m)) {
                must(weft_reply(m, ECHO, NULL, 0), "reply");
                break;
            }
            must(weft_send_msg(from, m), "echo");
            continue;
        case COUNT: counted++; break;
        case SUBSCRIBE: start_subscribers(m); break;
        case END: must(weft_send(from, END, &counted, sizeof counted), "count"), counted = 0; break;
        }
        weft_msg_free(m);
    }
}

static void node_main(const char *name, const char *listen, const char *join, weft_actor *body)
{
    weft_node *node;
    int workers = apart[0] != '\0' ? 2 : 1; /* the first link is the first worker's */
    weft_node_options options = {.name = name,
                                 .workers = workers,
                                 .carrier = getenv("WEFT_CARRIER"),
                                 .listen = &listen,
                                 .listen_count = listen != NULL,
                                 .join = &join,
                                 .join_count = join != NULL};
    must(weft_node_start(&node, &options), "node");
    must(weft_node_spawn(node, NULL, body, NULL, 0, &(weft_spawn_options){.worker = workers}), "first actor");
    if (join == NULL) {
        printf("%s\n", weft_node_url(node, 0));
        fflush(stdout);
    }
    must(weft_node_wait(node, WEFT_FOREVER), "wait");
    (void)weft_node_stop(node, weft_after(WEFT_SEC(5)));
}

/* ---- This node ------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void round_trips(weft_pid to, const char *body)
{
    int64_t *took = calloc((size_t)arg.n, sizeof *took);
    if (took == NULL) fail("no memory");
    for (long i = -1000; i < arg.n; i++) {
        int64_t start = weft_now();
        must(weft_send(to, ECHO, body, (size_t)arg.size), "send");
        weft_msg *m = receive();
        if (weft_size(m) != (size_t)arg.size) fail("rtt: wrong answer");
        weft_msg_free(m);
        if (i >= 0) took[i] = weft_now() - start;
    }
    qsort(took, (size_t)arg.n, sizeof *took, by_value);
    snprintf(params, sizeof params, "%srtt,size=%ld,n=%ld", apart, arg.size, arg.n);
    report("remote", params, "p50_us", (double)took[arg.n / 2] / 1e3);
    report("remote", params, "p99_us", (double)took[arg.n * 99 / 100] / 1e3);
    free(took);
}

static void one_way(weft_pid to, const char *body)
{
    int64_t start = weft_now();
    for (long i = 0; i < arg.n; i++) must(weft_send(to, COUNT, body, (size_t)arg.size), "send");
    must(weft_send(to, END, NULL, 0), "end");
    weft_msg *m = receive();
    double ns = (double)(weft_now() - start);
    long counted;
    memcpy(&counted, weft_data(m), sizeof counted);
    weft_msg_free(m);
    if (counted != arg.n) fail("oneway: messages were lost");
    snprintf(params, sizeof params, "%soneway,size=%ld,n=%ld", apart, arg.size, arg.n);
    report("remote", params, "msgs_per_s", 1e9 * (double)arg.n / ns);
}

static void publish(weft_pid to)
{
    long counts[2] = {arg.size, arg.n};
    must(weft_send(to, SUBSCRIBE, counts, sizeof counts), "subscribe");
    for (long i = 0; i < arg.size; i++) weft_msg_free(receive());
    long number = 0;
    /* The other node's subscription may still be under way: the first message is repeated until a subscriber gets
     * it. */
    while (weft_publish("bench.news", NEWS, &number, sizeof number) == 0) (void)weft_sleep(weft_after(WEFT_MS(1)));
    int64_t start = weft_now();
    long acks = 0; /* of all subscribers */
    for (number = 1; number < arg.n; number++) {
        for (; number / WINDOW - acks / arg.size >= 2; acks++) weft_msg_free(receive());
        must(weft_publish("bench.news", NEWS, &number, sizeof number), "publish");
    }
    for (long ends = 0; ends < arg.size;) {
        weft_msg *m = receive();
        ends += weft_tag(m) == END;
        weft_msg_free(m);
    }
    double ns = (double)(weft_now() - start);
    snprintf(params, sizeof params, "%spublish,size=8,subs=%ld,n=%ld", apart, arg.size, arg.n);
    report("remote", params, "deliveries_per_s", 1e9 * (double)arg.n * (double)arg.size / ns);
}

static void client(const void *unused, size_t unused_size)
{
    (void)unused, (void)unused_size;
    static char body[WEFT_MESSAGE_MAX / 16];
    weft_msg *m;
    /* Until the link is up and the other node's actor has its name. */
    while (weft_call_name("bench@server", ECHO, NULL, 0, &m, weft_after(WEFT_SEC(5))) < 0)
        (void)weft_sleep(weft_after(WEFT_MS(5)));
    weft_pid to = weft_from(m);
    weft_msg_free(m);
    if (arg.mode == 'r') round_trips(to, body);
    else if (arg.mode == 'o') one_way(to, body);
    else publish(to);
}

int BENCH_MAIN(int argc, char **argv)
{
    weft_log_set(WEFT_ERROR, false);
    apart = getenv("WEFT_APART") != NULL ? "apart," : "";
    if (argc == 2 && strcmp(argv[1], "serve") == 0) {
        node_main("server", "tcp://127.0.0.1:0", NULL, serve);
        return 0;
    }
    if (argc != 4 || (arg.size = strtol(argv[2], NULL, 10)) < 0 || (arg.n = strtol(argv[3], NULL, 10)) < 1) {
        fprintf(stderr, "usage: %s rtt SIZE N | oneway SIZE N | publish SUBSCRIBERS N\n", argv[0]);
        return 2;
    }
    arg.mode = argv[1][0];
    int out[2];
    if (pipe(out) < 0) fail("pipe");
    pid_t server = fork(); /* before any node: the carrier's library does not survive a fork */
    if (server == 0) {
        dup2(out[1], 1);
        char self[4096] = ""; /* its name, as /proc/self/exe is Valgrind under Valgrind */
        if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) fail("readlink");
        execl(self, argv[0], BENCH_SERVE, (char *)NULL);
        fail("exec");
    }
    FILE *f = fdopen(out[0], "r");
    close(out[1]);
    if (f == NULL || fgets(url, sizeof url, f) == NULL) fail("the other node did not start");
    url[strcspn(url, "\n")] = 0;
    node_main("client", NULL, url, client);
    kill(server, SIGTERM);
    waitpid(server, NULL, 0);
    return 0;
}

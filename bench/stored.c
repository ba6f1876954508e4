/* bench/stored.c -- stored topics (weft/store.h) on a disk: publishers that each wait until their message is on disk,
 * and a reader that reads everything from the start. The store is in a process of its own, or in the clients' one.
 *
 *     [BENCH_DISK=FOLDER] stored apart|embedded append PUBLISHERS SIZE MILLISECONDS | replay SIZE N
 *
 * Its file is in BENCH_DISK (default: the current folder), and is removed at the end. */
#include "bench.h"

#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <weft/store.h>

enum { MANY = 512, SIZE_MAX_HERE = 65536 };
#define TOPIC "bench.stored"

static char folder[PATH_MAX], url[64], params[128];
static bool is_apart;
static struct {
    char mode;
    long publishers, size, limit; /* limit: ms of append, records of replay */
} arg;

/* ---- The store ------------------------------------------------------------------------------------------------- */

static void open_store(void)
{
    char file[PATH_MAX + 32];
    snprintf(file, sizeof file, "sqlite:%s/weft.db", folder);
    must(weft_store_open(&(weft_store_options){.url = file,
                                               .topics = &(struct weft_stored_topics){.pattern = TOPIC},
                                               .topic_count = 1},
                         NULL, weft_after(WEFT_SEC(30))),
         "store");
}

static void serve(const void *unused, size_t unused_size)
{
    (void)unused, (void)unused_size;
    open_store();
    must(weft_register("bench"), "register");
    (void)weft_sleep(WEFT_FOREVER);
}

static void run_here(const char *name, const char *listen, const char *join, weft_actor *body)
{
    weft_node *node;
    weft_node_options options = {.name = name,
                                 .listen = &listen,
                                 .listen_count = listen != NULL,
                                 .join = &join,
                                 .join_count = join != NULL,
                                 .send_timeout = WEFT_FOREVER};
    must(weft_node_start(&node, &options), "node");
    must(weft_node_spawn(node, NULL, body, NULL, 0, &(weft_spawn_options){.worker = 1}), "first actor");
    if (listen != NULL) {
        printf("%s\n", weft_node_url(node, 0));
        fflush(stdout);
    }
    must(weft_node_wait(node, WEFT_FOREVER), "wait");
    (void)weft_node_stop(node, weft_after(WEFT_SEC(5)));
}

/* ---- Publishing ------------------------------------------------------------------------------------------------ */

/* All publishers are on the first worker, so they share these. */
static struct {
    weft_pid boss;
    int64_t until;           /* of append */
    long left;               /* of replay: records that no publisher has taken */
    uint64_t count, highest; /* of acknowledgements; the highest offset */
    int64_t *took;           /* ns of each */
    size_t took_max;
} done;

/* Each record says its number, so that a reader can check that its content is that of its offset. */
static void publisher(const void *number, size_t size)
{
    char body[SIZE_MAX_HERE];
    uint64_t own;
    (void)size;
    memcpy(&own, number, sizeof own);
    memset(body, 'x', sizeof body);
    for (uint64_t i = 0; arg.mode == 'a' ? weft_now() < done.until : done.left-- > 0; i++) {
        struct weft_position at;
        int64_t start = weft_now();
        memcpy(body, &own, sizeof own);
        memcpy(body + sizeof own, &i, sizeof i);
        must(weft_publish_stored(TOPIC, 1, body, (size_t)arg.size, &at, WEFT_FOREVER), "publish");
        if (at.offset > done.highest) done.highest = at.offset;
        if (done.count == done.took_max) fail("too many publications");
        done.took[done.count++] = weft_now() - start;
    }
    must(weft_send(done.boss, 1, NULL, 0), "done");
}

static void publish_all(long publishers)
{
    done.boss = weft_self();
    done.until = weft_after(WEFT_MS(arg.limit));
    done.left = arg.limit;
    done.took_max = arg.mode == 'a' ? (size_t)(arg.limit + 10) * 2000 : (size_t)arg.limit;
    done.took = calloc(done.took_max, sizeof *done.took);
    if (done.took == NULL) fail("no memory");
    for (uint64_t i = 0; i < (uint64_t)publishers; i++)
        must(weft_spawn(NULL, publisher, &i, sizeof i, &(weft_spawn_options){.worker = 1, .stack_bytes = 256 * 1024}),
             "spawn");
    for (long i = 0; i < publishers; i++) weft_msg_free(receive());
    if (done.highest != done.count) fail("an offset is missing, or there twice");
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

/* Returns when all records have come, in the order of their offsets, and those of each publisher in its order. */
static void read_all(long publishers)
{
    uint64_t *next = calloc((size_t)publishers, sizeof *next);
    if (next == NULL) fail("no memory");
    weft_stored_subscription reading;
    must(weft_subscribe_from(TOPIC, WEFT_FROM_START, &reading, weft_after(WEFT_SEC(30))), "subscribe");
    for (uint64_t offset = 1; offset <= done.count; offset++) {
        weft_msg *m = receive();
        struct weft_stored got;
        uint64_t number[2];
        must(weft_stored_read(m, &got), "read");
        if (got.kind != WEFT_STORED_RECORD || got.at.offset != offset) fail("a record is missing, or there twice");
        if (got.size != (size_t)arg.size) fail("a record has another size");
        memcpy(number, got.data, sizeof number);
        if (number[0] >= (uint64_t)publishers || number[1] != next[number[0]]++) fail("records have another order");
        const char *text = (const char *)got.data + sizeof number;
        size_t rest = got.size - sizeof number;
        if (rest > 0 && (text[0] != 'x' || memcmp(text, text + 1, rest - 1) != 0)) fail("a record has changed");
        weft_msg_free(m);
    }
    must(weft_unsubscribe_stored(reading), "unsubscribe");
    free(next);
}

static void append(void)
{
    int64_t start = weft_now();
    publish_all(arg.publishers);
    double ns = (double)(weft_now() - start);
    read_all(arg.publishers);
    qsort(done.took, done.count, sizeof *done.took, by_value);
    snprintf(params, sizeof params, "%s,append,publishers=%ld,size=%ld", is_apart ? "apart" : "embedded",
             arg.publishers, arg.size);
    report("stored", params, "appends_per_s", 1e9 * (double)done.count / ns);
    report("stored", params, "p50_us", (double)done.took[done.count / 2] / 1e3);
    report("stored", params, "p99_us", (double)done.took[done.count * 99 / 100] / 1e3);
}

static void replay(void)
{
    publish_all(MANY);
    int64_t start = weft_now();
    read_all(MANY);
    double ns = (double)(weft_now() - start);
    snprintf(params, sizeof params, "%s,replay,size=%ld,n=%ld", is_apart ? "apart" : "embedded", arg.size, arg.limit);
    report("replay", params, "records_per_s", 1e9 * (double)done.count / ns);
}

static void client(const void *unused, size_t unused_size)
{
    (void)unused, (void)unused_size;
    weft_pid store;
    if (is_apart) must(weft_await_name(WEFT_STORE_NAME, &store, weft_after(WEFT_SEC(30))), "await the store");
    else open_store();
    if (arg.mode == 'a') append();
    else replay();
    free(done.took);
    if (!is_apart && weft_whereis(WEFT_STORE_NAME, &store) == 0) must(weft_stop(store), "stop");
}

/* ---- Two processes --------------------------------------------------------------------------------------------- */

static void make_folder(void)
{
    const char *disk = getenv("BENCH_DISK");
    snprintf(folder, sizeof folder, "%s/stored-XXXXXX", disk == NULL ? "." : disk);
    if (mkdtemp(folder) == NULL) fail("cannot make a folder in BENCH_DISK");
}

static void remove_folder(void)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-owner"};
    char file[PATH_MAX + 32];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(file, sizeof file, "%s/weft.db%s", folder, ends[i]);
        (void)unlink(file);
    }
    if (rmdir(folder) < 0) perror(folder);
}

static pid_t start_server(const char *name)
{
    int out[2];
    if (pipe(out) < 0) fail("pipe");
    pid_t server = fork(); /* before any node: the carrier's library does not survive a fork */
    if (server == 0) {
        dup2(out[1], 1);
        char self[PATH_MAX] = "";
        if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) fail("readlink");
        execl(self, name, "serve", folder, (char *)NULL);
        fail("exec");
    }
    close(out[1]);
    FILE *f = fdopen(out[0], "r");
    if (server < 0 || f == NULL || fgets(url, sizeof url, f) == NULL) fail("the store did not start");
    url[strcspn(url, "\n")] = 0;
    return server;
}

/* False: these are no right arguments. */
static bool read_arguments(int argc, char **argv)
{
    if (argc < 5 || (strcmp(argv[1], "apart") != 0 && strcmp(argv[1], "embedded") != 0)) return false;
    is_apart = argv[1][0] == 'a';
    arg.mode = argv[2][0];
    bool appends = strcmp(argv[2], "append") == 0;
    if (argc != (appends ? 6 : 5) || (!appends && strcmp(argv[2], "replay") != 0)) return false;
    arg.publishers = appends ? strtol(argv[3], NULL, 10) : MANY;
    arg.size = strtol(argv[argc - 2], NULL, 10);
    arg.limit = strtol(argv[argc - 1], NULL, 10);
    return arg.publishers > 0 && arg.publishers <= 10000 && arg.size >= 16 && arg.size <= SIZE_MAX_HERE &&
           arg.limit > 0;
}

int BENCH_MAIN(int argc, char **argv)
{
    weft_log_set(WEFT_ERROR, false);
    if (argc == 3 && strcmp(argv[1], "serve") == 0) {
        snprintf(folder, sizeof folder, "%s", argv[2]);
        run_here("server", "tcp://127.0.0.1:0", NULL, serve);
        return 0;
    }
    if (!read_arguments(argc, argv)) {
        fprintf(stderr, "usage: %s apart|embedded append PUBLISHERS SIZE MILLISECONDS | replay SIZE N\n", argv[0]);
        return 2;
    }
    make_folder();
    (void)atexit(remove_folder);
    pid_t server = is_apart ? start_server(argv[0]) : 0;
    run_here("client", NULL, is_apart ? url : NULL, client);
    if (server > 0) {
        kill(server, SIGTERM);
        waitpid(server, NULL, 0);
    }
    return 0;
}

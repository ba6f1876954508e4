/* bench/local.c -- messages, switches, spawns and memory within one node.
 *
 *     local yield N | pingpong WORKERS N | ring WORKERS ACTORS HOPS | counting WORKERS PRODUCERS N | big WORKERS
 *     ACTORS PINGS | create WORKERS N | tree WORKERS LEAVES | fanout WORKERS SUBSCRIBERS MESSAGES | idle N |
 *     timers WORKERS SLEEPERS BASE_MS | call WORKERS N | call-pool WORKERS N | offload N | parked N | either WORKERS N;
 *     pingpong-, counting-, call-apart: with the partners on another worker, else where weft puts them; ring-, idle- and
 *     timers-handlers
 *
 * Every workload checks its answer: a message lost or doubled ends the program with an error. */
#include "local.h"

struct local_arg arg;

static char params[128];

/* ---- yield: two actors take turns through the scheduler -------------------------------------------------------- */

static void yielder(const void *boss, size_t size)
{
    weft_pid to;
    (void)size;
    memcpy(&to, boss, sizeof to);
    for (long i = 0; i < arg.a; i++) weft_yield();
    must(weft_send(to, DONE, NULL, 0), "done");
}

static void yield_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    weft_pid self = weft_self();
    int64_t start = weft_now();
    for (int i = 0; i < 2; i++) spawn_on(1, "yielder", yielder, &self, sizeof self);
    for (int i = 0; i < 2; i++) weft_msg_free(receive());
    snprintf(params, sizeof params, "yield,threads=1,n=%ld", arg.a);
    report("ctxswitch", params, "ns_per_switch", (double)(weft_now() - start) / (2.0 * (double)arg.a));
}

/* Where partners run: where weft places them, which is near their parent, or on the last worker. */
static int partners(void)
{
    return arg.apart ? arg.workers : 0;
}

/* ---- pingpong -------------------------------------------------------------------------------------------------- */

static void ponger(const void *unused, size_t size)
{
    (void)unused, (void)size;
    for (long i = 0; i < arg.a; i++) {
        weft_msg *m = receive();
        weft_pid from = weft_from(m);
        weft_msg_free(m);
        must(weft_send(from, 1, NULL, 0), "pong");
    }
}

static void pingpong_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    weft_pid pong = spawn_on(partners(), "pong", ponger, NULL, 0);
    int64_t start = weft_now();
    for (long i = 0; i < arg.a; i++) {
        must(weft_send(pong, 1, NULL, 0), "ping");
        weft_msg_free(receive());
    }
    double ns = (double)(weft_now() - start);
    snprintf(params, sizeof params, "%sthreads=%d,n=%ld", arg.apart ? "apart," : "", arg.workers, arg.a);
    report("pingpong", params, "ns_per_msg", ns / (2.0 * (double)arg.a));
    report("pingpong", params, "msgs_per_s", 2e9 * (double)arg.a / ns);
}

/* ---- either: two actors that wait for two sources, woken by one and by the other in turn ------------------------- */

static weft_event either_event[2];

static void wake_other(long turn, weft_pid other, weft_event event)
{
    if (turn % 2 == 0) must(weft_send(other, 1, NULL, 0), "wake by a message");
    else must(weft_event_set(event), "wake by an event");
}

/* Waits until a message or the event is there, and takes it. It has to be the one whose turn it is. */
static void await_either(long turn, weft_event event)
{
    weft_wait sources[] = {weft_on_mailbox(), weft_on_event(event)};
    int ready = weft_wait_any(sources, 2, WEFT_FOREVER);
    if (ready == 0) weft_msg_free(receive());
    else if (ready == 1) (void)weft_event_take(event);
    if (ready != turn % 2) must(WEFT_EFORMAT, "the source that is ready");
}

static void either_other(const void *boss, size_t size)
{
    (void)size;
    weft_pid to;
    memcpy(&to, boss, sizeof to);
    must(weft_event_open(&either_event[1]), "event");
    must(weft_send(to, READY, NULL, 0), "ready");
    for (long i = 0; i < arg.a; i++) {
        await_either(i, either_event[1]);
        wake_other(i, to, either_event[0]);
    }
}

static void either_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    weft_pid self = weft_self();
    must(weft_event_open(&either_event[0]), "event");
    weft_pid other = spawn_on(0, "other", either_other, &self, sizeof self);
    weft_msg_free(receive());
    int64_t start = weft_now();
    for (long i = 0; i < arg.a; i++) {
        wake_other(i, other, either_event[1]);
        await_either(i, either_event[0]);
    }
    snprintf(params, sizeof params, "threads=%d,n=%ld", arg.workers, arg.a);
    report("either", params, "ns_per_wake", (double)(weft_now() - start) / (2.0 * (double)arg.a));
}

/* ---- ring: one token around ------------------------------------------------------------------------------------ */

static void ring_node(const void *next, size_t size)
{
    weft_pid to;
    (void)size;
    memcpy(&to, next, sizeof to);
    for (;;) {
        weft_msg *m = receive();
        uint32_t tag = weft_tag(m);
        long left = *(const long *)weft_data(m) - 1;
        weft_msg_free(m);
        must(weft_send(to, tag, &left, sizeof left), "hop");
        if (tag == DONE) return; /* the end goes once around */
    }
}

static void ring_handler(void *next, weft_msg *m)
{
    long left = *(const long *)weft_data(m) - 1;
    must(weft_send(*(weft_pid *)next, weft_tag(m), &left, sizeof left), "hop");
    if (weft_tag(m) == DONE) weft_exit(WEFT_EXIT_NORMAL);
}

static void ring_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    weft_pid next = weft_self();
    for (long i = 1; i < arg.a; i++) {
        int worker = 1 + (int)(i * arg.workers / arg.a); /* neighbours in blocks of a half ring per worker */
        if (arg.handlers) next = handler_on(worker, ring_handler, &next, sizeof next);
        else next = spawn_on(worker, "ring", ring_node, &next, sizeof next);
    }
    long left = arg.b;
    int64_t start = weft_now();
    while (left > 0) {
        must(weft_send(next, PING, &left, sizeof left), "hop");
        weft_msg *m = receive();
        left = *(const long *)weft_data(m) - 1;
        weft_msg_free(m);
    }
    double ns = (double)(weft_now() - start);
    must(weft_send(next, DONE, &left, sizeof left), "end");
    weft_msg_free(receive());
    snprintf(params, sizeof params, "%sthreads=%d,actors=%ld,hops=%ld", arg.handlers ? "handlers," : "", arg.workers,
             arg.a, arg.b);
    report("ring", params, "ns_per_hop", ns / (double)arg.b);
}

/* ---- counting: producers to one counter ------------------------------------------------------------------------ */

static void producer(const void *to, size_t size)
{
    weft_pid counter;
    (void)size;
    memcpy(&counter, to, sizeof counter);
    for (long i = 0; i < arg.b / arg.a; i++) must(weft_send(counter, 1, NULL, 0), "count");
}

static void counting_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    weft_pid self = weft_self();
    long whole = arg.b / arg.a * arg.a;
    int64_t start = weft_now();
    for (long i = 0; i < arg.a; i++) spawn_on(partners(), "producer", producer, &self, sizeof self);
    for (long i = 0; i < whole; i++) weft_msg_free(receive());
    double ns = (double)(weft_now() - start);
    weft_msg *more;
    if (weft_recv(&more, WEFT_NOW) != WEFT_ETIMEDOUT) fail("counting: more messages than were sent");
    snprintf(params, sizeof params, "%sthreads=%d,producers=%ld,n=%ld", arg.apart ? "apart," : "", arg.workers, arg.a,
             arg.b);
    report("counting", params, "msgs_per_s", 1e9 * (double)whole / ns);
}

/* ---- big: everybody pings somebody ----------------------------------------------------------------------------- */

static weft_pid *bigs;

static void big_actor(const void *index, size_t size)
{
    uint32_t random;
    (void)size;
    memcpy(&random, index, sizeof random);
    random = random * 2654435761u + 12345;
    weft_msg *m; /* all pids are known */
    must(weft_recv_tag(&m, READY, WEFT_FOREVER), "ready");
    weft_pid sink = weft_from(m);
    weft_msg_free(m);
    long sent = 0, ponged = 0;
    for (;;) {
        if (sent == ponged && sent < arg.b) {
            random = (random * 1103515245u + 12345u) & 0x7fffffffu;
            must(weft_send(bigs[(random >> 8) % (uint32_t)arg.a], PING, NULL, 0), "ping");
            sent++;
        }
        m = receive();
        uint32_t tag = weft_tag(m);
        weft_pid from = weft_from(m);
        weft_msg_free(m);
        if (tag == PING) must(weft_send(from, PONG, NULL, 0), "pong");
        else if (tag == DONE) return;
        else if (++ponged == arg.b) must(weft_send(sink, DONE, NULL, 0), "done");
    }
}

static void big_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    bigs = calloc((size_t)arg.a, sizeof *bigs);
    for (uint32_t i = 0; i < arg.a; i++) bigs[i] = spawn_on(1 + (int)i % arg.workers, "big", big_actor, &i, sizeof i);
    int64_t start = weft_now();
    for (long i = 0; i < arg.a; i++) must(weft_send(bigs[i], READY, NULL, 0), "ready");
    for (long i = 0; i < arg.a; i++) weft_msg_free(receive());
    double ns = (double)(weft_now() - start);
    for (long i = 0; i < arg.a; i++) must(weft_send(bigs[i], DONE, NULL, 0), "done");
    snprintf(params, sizeof params, "threads=%d,actors=%ld,pings=%ld", arg.workers, arg.a, arg.b);
    report("big", params, "msgs_per_s", 2e9 * (double)arg.a * (double)arg.b / ns);
    free(bigs);
}

/* ---- create: spawn, one message, exit -------------------------------------------------------------------------- */

static void created(const void *unused, size_t size)
{
    (void)unused, (void)size;
    weft_msg_free(receive());
}

static void creator(const void *boss, size_t size)
{
    (void)size;
    weft_pid to;
    memcpy(&to, boss, sizeof to);
    for (long i = 0; i < arg.a / arg.workers; i++) {
        weft_pid child;
        must(weft_spawn(&child, created, NULL, 0, NULL), "spawn");
        must(weft_send(child, 1, NULL, 0), "message");
        if (i % 64 == 63) weft_yield();
    }
    must(weft_send(to, 1, NULL, 0), "done");
}

static void create_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    weft_pid self = weft_self();
    int64_t start = weft_now();
    for (int i = 1; i <= arg.workers; i++) spawn_on(i, "creator", creator, &self, sizeof self);
    for (int i = 1; i <= arg.workers; i++) weft_msg_free(receive());
    double ns = (double)(weft_now() - start);
    snprintf(params, sizeof params, "create,threads=%d,n=%ld", arg.workers, arg.a);
    report("spawn", params, "spawns_per_s", 1e9 * (double)arg.a / ns);
    report("spawn", params, "peak_rss_mib", peak_mib());
}

/* ---- tree: each node spawns ten children; the leaves have numbers, the sum comes back up ----------------------- */

struct branch {
    weft_pid parent;
    long number, leaves;
};

static void tree_node(const void *given, size_t size)
{
    struct branch b;
    (void)size;
    memcpy(&b, given, sizeof b);
    long sum = b.number;
    if (b.leaves > 1) {
        struct branch child = {weft_self(), b.number, b.leaves / 10};
        for (int i = 0; i < 10; i++, child.number += child.leaves)
            must(weft_spawn(NULL, tree_node, &child, sizeof child, NULL), "spawn");
        sum = 0;
        for (int i = 0; i < 10; i++) {
            weft_msg *m = receive();
            long part;
            memcpy(&part, weft_data(m), sizeof part);
            sum += part;
            weft_msg_free(m);
        }
    }
    must(weft_send(b.parent, 1, &sum, sizeof sum), "sum");
}

static void tree_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    struct branch root = {weft_self(), 0, arg.a};
    for (long n = arg.a; n > 1; n /= 10)
        if (n % 10 != 0) fail("tree: its leaves are a power of ten");
    int64_t start = weft_now();
    must(weft_spawn(NULL, tree_node, &root, sizeof root, NULL), "spawn");
    weft_msg *m = receive();
    double ns = (double)(weft_now() - start);
    long sum;
    memcpy(&sum, weft_data(m), sizeof sum);
    weft_msg_free(m);
    if (sum != arg.a * (arg.a - 1) / 2) fail("tree: leaves are missing");
    snprintf(params, sizeof params, "tree,threads=%d,n=%ld", arg.workers, arg.a);
    report("spawn", params, "wall_ms", ns / 1e6);
    report("spawn", params, "peak_rss_mib", peak_mib());
}

/* ---- fanout: one publisher, many subscribers ------------------------------------------------------------------- */
/* As those of the other runtimes, whose channels hold 64: the publisher runs until a mailbox of 64 is full, and
 * waits. */

enum { FANOUT_BOUND = 64 };
struct news {
    long number;
    char rest[8];
};

static void subscriber(const void *boss, size_t size)
{
    weft_pid to;
    (void)size;
    memcpy(&to, boss, sizeof to);
    weft_subscribe_options bounded = {.slow = WEFT_SLOW_SUSPEND, .wait = WEFT_SEC(3600)};
    must(weft_subscribe_with("bench.fan", &bounded, NULL), "subscribe");
    must(weft_send(to, READY, NULL, 0), "ready");
    for (long i = 0; i < arg.b; i++) {
        weft_msg *m = receive();
        const struct news *n = weft_data(m);
        if (n->number != i) fail("fanout: a message is missing");
        weft_msg_free(m);
    }
    must(weft_send(to, DONE, NULL, 0), "done");
    weft_msg_free(receive()); /* the others give back their stacks when the clock has stopped, too */
}

static void fanout_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    weft_pid self = weft_self();
    weft_spawn_options o = {.kind = "subscriber", .mailbox_max = FANOUT_BOUND};
    for (long i = 0; i < arg.a; i++) {
        o.worker = 1 + (int)(i % arg.workers);
        must(weft_spawn(NULL, subscriber, &self, sizeof self, &o), "spawn");
    }
    for (long i = 0; i < arg.a; i++) weft_msg_free(receive());
    struct news n = {0, "payload"};
    int64_t start = weft_now();
    for (; n.number < arg.b; n.number++) must(weft_publish("bench.fan", 1, &n, sizeof n), "publish");
    for (long i = 0; i < arg.a; i++) weft_msg_free(receive());
    double ns = (double)(weft_now() - start);
    must(weft_publish("bench.fan", DONE, NULL, 0), "publish");
    snprintf(params, sizeof params, "topic,threads=%d,subs=%ld,msgs=%ld", arg.workers, arg.a, arg.b);
    report("fanout", params, "deliveries_per_s", 1e9 * (double)arg.a * (double)arg.b / ns);
}

/* ---- idle: actors that wait for mail --------------------------------------------------------------------------- */

enum { WAKE_AT_ONCE = 1024 };

static void idler(const void *boss, size_t size)
{
    weft_pid to;
    (void)size;
    memcpy(&to, boss, sizeof to);
    for (int tag = 0; tag != DONE;) {
        must(weft_send(to, READY, NULL, 0), "ready");
        weft_msg *m = receive();
        tag = (int)weft_tag(m);
        weft_msg_free(m);
    }
}

static weft_pid *idlers(void)
{
    weft_pid *all = calloc((size_t)arg.a, sizeof *all);
    if (all == NULL) fail("no memory for the pids");
    memset(all, 1, (size_t)arg.a * sizeof *all); /* touched before, so that they do not count */
    return all;
}

static void idle_handler(void *state, weft_msg *m)
{
    ++*(long *)state;
    if (weft_tag(m) == DONE) weft_exit(WEFT_EXIT_NORMAL);
    must(weft_send(weft_from(m), READY, NULL, 0), "ready");
}

static weft_pid start_idler(weft_pid self)
{
    if (!arg.handlers) return spawn_on(1, "idler", idler, &self, sizeof self);
    weft_pid out = handler_on(1, idle_handler, &(long){0}, sizeof(long));
    must(weft_send(out, PING, NULL, 0), "wake"); /* each has run */
    return out;
}

static void start_idlers(weft_pid *all)
{
    weft_pid self = weft_self();
    for (long i = 0; i < arg.a; i++) {
        all[i] = start_idler(self);
        if (i % WAKE_AT_ONCE == WAKE_AT_ONCE - 1) {
            for (int k = 0; k < WAKE_AT_ONCE; k++) weft_msg_free(receive());
        }
    }
    for (long i = 0; i < arg.a % WAKE_AT_ONCE; i++) weft_msg_free(receive());
}

/* All answer. */
static double wake_idlers_ms(const weft_pid *all)
{
    int64_t start = weft_now();
    for (long i = 0; i < arg.a; i++) {
        must(weft_send(all[i], PING, NULL, 0), "wake");
        if (i % WAKE_AT_ONCE == WAKE_AT_ONCE - 1) {
            for (int k = 0; k < WAKE_AT_ONCE; k++) weft_msg_free(receive());
        }
    }
    for (long i = 0; i < arg.a % WAKE_AT_ONCE; i++) weft_msg_free(receive());
    return (double)(weft_now() - start) / 1e6;
}

static void end_idlers(weft_pid *all)
{
    for (long i = 0; i < arg.a; i++) must(weft_send(all[i], DONE, NULL, 0), "end");
    free(all);
}

static void idle_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    weft_pid *all = idlers();
    int64_t before = rss_bytes();
    start_idlers(all);
    snprintf(params, sizeof params, "%s,n=%ld", arg.handlers ? "handlers" : "plain", arg.a);
    report("idle", params, "bytes_per_actor", (double)(rss_bytes() - before) / (double)arg.a);
    report("idle", params, "wake_all_ms", wake_idlers_ms(all));
    end_idlers(all);
}

#ifndef __has_feature /* of clang */
#define __has_feature(name) 0
#endif

/* The same once they are parked: when the process does not get smaller any more. The boss's own parking while it
 * sleeps is part of it. */
static void parked_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    weft_pid *all = idlers();
    int64_t before = rss_bytes(), tables = page_table_bytes(), start = weft_now(), plain;
    start_idlers(all);
    double spawned_ms = (double)(weft_now() - start) / 1e6, cpu = cpu_ms();
    plain = rss_bytes();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer)
    const bool parks = false; /* under these tools nothing is: only whether all wake */
#else
    const bool parks = true;
#endif
    for (int64_t last = plain, now = 0; parks && (now < last || now > before + (plain - before) / 2);) {
        if (now > 0) last = now;
        if (weft_now() - start > WEFT_SEC(60)) fail("the actors are not parked");
        weft_sleep(weft_after(WEFT_MS(1500)));
        now = rss_bytes();
    }
    snprintf(params, sizeof params, "parked,n=%ld", arg.a);
    report("idle", params, "bytes_per_actor", (double)(rss_bytes() - before) / (double)arg.a);
    report("idle", params, "page_table_bytes_per_actor", (double)(page_table_bytes() - tables) / (double)arg.a);
    report("idle", params, "spawn_all_ms", spawned_ms);
    report("idle", params, "park_all_cpu_ms", cpu_ms() - cpu);
    report("idle", params, "wake_all_ms", wake_idlers_ms(all));
    end_idlers(all);
}

/* ---- call: ask and be answered, by an actor or by a pool of them ----------------------------------------------- */

static void answerer(const void *unused, size_t size)
{
    (void)unused, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) { /* until it is stopped */
        must(weft_reply(m, 1, NULL, 0), "reply");
        weft_msg_free(m);
    }
}

static void ask(weft_pid whom, const char *workload)
{
    int64_t start = weft_now();
    for (long i = 0; i < arg.a; i++) {
        weft_msg *answer;
        must(weft_call(whom, 1, NULL, 0, &answer, WEFT_FOREVER), "call");
        weft_msg_free(answer);
    }
    snprintf(params, sizeof params, "%sthreads=%d,n=%ld", arg.apart ? "apart," : "", arg.workers, arg.a);
    report(workload, params, "ns_per_call", (double)(weft_now() - start) / (double)arg.a);
}

static void call_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    weft_pid one = spawn_on(partners(), "answerer", answerer, NULL, 0);
    ask(one, "call");
    must(weft_stop(one), "stop");
}

static void call_pool_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    weft_pid pool;
    weft_pool_options options = {.count = 2, .member = {.kind = "answerer", .worker = partners()}};
    must(weft_spawn_pool(&pool, answerer, NULL, 0, &options), "pool");
    ask(pool, "call-pool");
    must(weft_pool_stop(pool, WEFT_FOREVER), "stop");
}

/* ---- offload: an empty function on another thread -------------------------------------------------------------- */

static void nothing(void *block)
{
    (void)block;
}

static void offload_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    int64_t start = weft_now();
    for (long i = 0; i < arg.a; i++) must(weft_offload(nothing, NULL, 0, WEFT_FOREVER), "offload");
    snprintf(params, sizeof params, "n=%ld", arg.a);
    report("offload", params, "ns_per_job", (double)(weft_now() - start) / (double)arg.a);
}

static const struct {
    const char *name;
    int numbers; /* after the name; the first is WORKERS unless there is one only */
    weft_actor *body;
} workloads[] = {
    {"yield", 1, yield_main},       {"pingpong", 2, pingpong_main}, {"ring", 3, ring_main},
    {"counting", 3, counting_main}, {"big", 3, big_main},           {"create", 2, create_main},
    {"tree", 2, tree_main},         {"fanout", 3, fanout_main},     {"idle", 1, idle_main},
    {"timers", 3, timers_main},     {"call", 2, call_main},         {"offload", 1, offload_main},
    {"parked", 1, parked_main},     {"either", 2, either_main},     {"call-pool", 2, call_pool_main},
};

int BENCH_MAIN(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof workloads / sizeof *workloads; i++) {
        size_t name = strlen(workloads[i].name);
        if (strncmp(argv[1], workloads[i].name, name) != 0 || argc - 2 != workloads[i].numbers) continue;
        arg.apart = strcmp(argv[1] + name, "-apart") == 0;
        arg.handlers = strcmp(argv[1] + name, "-handlers") == 0;
        if (argv[1][name] != 0 && !arg.apart && !arg.handlers) continue;
        long n[3] = {1, 0, 0};
        for (int k = 0; k < argc - 2; k++) n[workloads[i].numbers == 1 ? 1 : k] = strtol(argv[2 + k], NULL, 10);
        arg.workers = (int)n[0];
        arg.a = n[1];
        arg.b = n[2];
        if (arg.workers < 1 || arg.workers > 64 || arg.a < 1) break;
        weft_log_set(WEFT_ERROR, false);
        /* Actors that are measured unparked must not be parked meanwhile. */
        run_parking_node(arg.workers, workloads[i].body == parked_main ? 0 : WEFT_FOREVER, workloads[i].body, NULL,
                         0);
        return 0;
    }
    fprintf(stderr,
            "usage: %s yield N | pingpong WORKERS N | ring WORKERS ACTORS HOPS | counting WORKERS PRODUCERS N |\n"
            "       big WORKERS ACTORS PINGS | create WORKERS N | tree WORKERS LEAVES | fanout WORKERS SUBSCRIBERS "
            "MESSAGES | idle N |\n       timers WORKERS SLEEPERS BASE_MS | call WORKERS N | call-pool WORKERS N |\n "
            "      offload N | parked N | either WORKERS N\n",
            argv[0]);
    return 2;
}

// bench/peers/caf.cpp -- the local workloads of bench/local.c in CAF 0.17: event-based actors, unbounded mailboxes.
//
//     caf WORKLOAD THREADS NUMBER...
//
// Every answer is checked.
#include <caf/all.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

using namespace caf;
using go = atom_constant<atom("go")>;
using ping = atom_constant<atom("ping")>;
using pong = atom_constant<atom("pong")>;
using done = atom_constant<atom("done")>;

static int threads;
static long a, b;
static actor_system *home;

static double now_ns()
{
    return double(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}

static std::string with(const char *format, long x, long y = 0)
{
    char text[160];
    snprintf(text, sizeof text, format, threads, x, y);
    return text;
}

static void report(const char *workload, const std::string &params, const char *metric, double value)
{
    printf("%s caf %s %s %.1f\n", workload, params.c_str(), metric, value);
}

static void check(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "peer: %s\n", what);
    fflush(stdout);
    _exit(1);
}

// A field of /proc/self/status in KiB.
static double status(const char *field)
{
    char line[128];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != nullptr && kib <= 0 && fgets(line, sizeof line, f) != nullptr)
        if (strncmp(line, field, strlen(field)) == 0) kib = strtod(line + strlen(field), nullptr);
    check(f != nullptr && kib > 0, "cannot read /proc/self/status");
    fclose(f);
    return kib;
}

static double cpu_ms()
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return double(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           double(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

// ---- pingpong ------------------------------------------------------------------------------------------------------

static behavior ponger(event_based_actor *)
{
    return {[](long n) { return n + 1; }};
}

static behavior pinger(event_based_actor *self, actor other, double start)
{
    self->send(other, 0L);
    return {[=](long n) {
        if (n < a) {
            self->send(other, n);
            return;
        }
        double took = now_ns() - start;
        report("pingpong", with("threads=%d,n=%ld", a), "ns_per_msg", took / (2.0 * double(a)));
        report("pingpong", with("threads=%d,n=%ld", a), "msgs_per_s", 2e9 * double(a) / took);
        self->send_exit(other, exit_reason::user_shutdown);
        self->quit();
    }};
}

static void pingpong()
{
    home->spawn(pinger, home->spawn(ponger), now_ns());
}

// ---- call ----------------------------------------------------------------------------------------------------------

static void ask(event_based_actor *self, const actor &other, long n, double start)
{
    self->request(other, infinite, n).then([=](long answer) {
        check(answer == n + 1, "call: a wrong answer");
        if (answer < a) return ask(self, other, answer, start);
        report("call", with("threads=%d,n=%ld", a), "ns_per_call", (now_ns() - start) / double(a));
        self->send_exit(other, exit_reason::user_shutdown);
    });
}

static void asker(event_based_actor *self, const actor &other, double start)
{
    ask(self, other, 0, start);
}

static void call()
{
    home->spawn(asker, home->spawn(ponger), now_ns());
}

// ---- ring ----------------------------------------------------------------------------------------------------------

static behavior member(event_based_actor *self, long index, actor next, double start)
{
    auto to = std::make_shared<actor>(std::move(next));
    return {[=](actor first) { *to = std::move(first); },
            [=](long left) {
                if (left > 0) {
                    self->send(*to, left - 1);
                    return;
                }
                check(index == b % a, "ring: ended elsewhere");
                report("ring", with("threads=%d,actors=%ld,hops=%ld", a, b), "ns_per_hop",
                       (now_ns() - start) / double(b));
                self->send(*to, go::value);
            },
            [=](go) { // the end goes around
                if (*to) self->send(*to, go::value);
                *to = nullptr;
                self->quit();
            }};
}

static void ring()
{
    actor first = home->spawn(member, 0L, actor{}, now_ns()), next = first;
    double start = now_ns();
    for (long i = a - 1; i > 0; i--) next = home->spawn(member, i, next, start);
    anon_send(first, next);
    anon_send(first, b);
}

// ---- counting ------------------------------------------------------------------------------------------------------

static behavior counter(event_based_actor *self, double start)
{
    auto count = std::make_shared<long>(0);
    return {[=](long one) {
        if ((*count += one) < b / a * a) return;
        report("counting", with("threads=%d,producers=%ld,n=%ld", a, b), "msgs_per_s",
               1e9 * double(*count) / (now_ns() - start));
        self->quit();
    }};
}

static void producer(event_based_actor *self, actor to)
{
    for (long i = 0; i < b / a; i++) self->send(to, 1L);
}

static void counting()
{
    actor to = home->spawn(counter, now_ns());
    for (long i = 0; i < a; i++) home->spawn(producer, to);
}

// ---- big -----------------------------------------------------------------------------------------------------------

static std::vector<actor> all;

static behavior big_actor(event_based_actor *self, long index, actor sink)
{
    auto random = std::make_shared<uint32_t>(uint32_t(index) * 2654435761u + 12345u);
    auto ponged = std::make_shared<long>(0);
    auto ask = [=] {
        *random = (*random * 1103515245u + 12345u) & 0x7fffffffu;
        self->send(all[(*random >> 8) % uint32_t(a)], ping::value);
    };
    return {[=](go) { ask(); }, [=](ping) { return pong::value; },
            [=](pong) {
                if (++*ponged < b) ask();
                else self->send(sink, done::value);
            }};
}

static behavior big_sink(event_based_actor *self, double start)
{
    auto ends = std::make_shared<long>(0);
    return {[=](done) {
        if (++*ends < a) return;
        report("big", with("threads=%d,actors=%ld,pings=%ld", a, b), "msgs_per_s",
               2e9 * double(a) * double(b) / (now_ns() - start));
        for (auto &one : all) self->send_exit(one, exit_reason::user_shutdown);
        all.clear();
        self->quit();
    }};
}

static void big()
{
    actor sink = home->spawn(big_sink, now_ns());
    for (long i = 0; i < a; i++) all.push_back(home->spawn(big_actor, i, sink));
    for (auto &one : all) anon_send(one, go::value);
}

// ---- create --------------------------------------------------------------------------------------------------------

static behavior created(event_based_actor *self)
{
    return {[=](long) { self->quit(); }};
}

// In steps, as an actor here cannot yield.
static behavior creator(event_based_actor *self)
{
    auto made = std::make_shared<long>(0);
    self->send(self, go::value);
    return {[=](go) {
        for (int i = 0; i < 64 && *made < a / threads; i++, ++*made) self->send(self->spawn(created), 1L);
        if (*made < a / threads) self->send(self, go::value);
        else self->quit();
    }};
}

static double create_start;
static void create()
{
    create_start = now_ns();
    for (int i = 0; i < threads; i++) home->spawn(creator);
}

static void create_over()
{
    double took = now_ns() - create_start;
    report("spawn", with("create,threads=%d,n=%ld", a), "spawns_per_s", 1e9 * double(a) / took);
    report("spawn", with("create,threads=%d,n=%ld", a), "peak_rss_mib", status("VmHWM:") / 1024);
}

// ---- tree ----------------------------------------------------------------------------------------------------------

static behavior branch(event_based_actor *self, actor parent, long number, long leaves)
{
    if (leaves == 1) {
        self->send(parent, number);
        return {};
    }
    for (int i = 0; i < 10; i++) self->spawn(branch, actor{self}, number + i * (leaves / 10), leaves / 10);
    auto left = std::make_shared<int>(10);
    auto sum = std::make_shared<long>(0);
    return {[=](long part) {
        *sum += part;
        if (--*left > 0) return;
        self->send(parent, *sum);
        self->quit();
    }};
}

static behavior root(event_based_actor *self, double start)
{
    self->spawn(branch, actor{self}, 0L, a);
    return {[=](long sum) {
        double took = now_ns() - start;
        check(sum == a * (a - 1) / 2, "tree: leaves are missing");
        report("spawn", with("tree,threads=%d,n=%ld", a), "wall_ms", took / 1e6);
        report("spawn", with("tree,threads=%d,n=%ld", a), "peak_rss_mib", status("VmHWM:") / 1024);
        self->quit();
    }};
}

static void tree()
{
    home->spawn(root, now_ns());
}

// ---- fanout --------------------------------------------------------------------------------------------------------

static behavior subscriber(event_based_actor *self, actor boss)
{
    auto left = std::make_shared<long>(b);
    return {[=](const std::string &) {
        if (--*left > 0) return;
        self->send(boss, done::value);
        self->quit();
    }};
}

// One message for all of them; then it lets others run.
static behavior publisher(event_based_actor *self)
{
    for (long i = 0; i < a; i++) all.push_back(self->spawn(subscriber, actor{self}));
    auto published = std::make_shared<long>(0);
    auto ends = std::make_shared<long>(0);
    double start = now_ns();
    self->send(self, go::value);
    return {[=](go) {
                auto news = make_message(std::string("0123456789abcdef"));
                for (auto &one : all) self->send(one, news);
                if (++*published < b) self->send(self, go::value);
            },
            [=](done) {
                if (++*ends < a) return;
                report("fanout", with("topic,threads=%d,subs=%ld,msgs=%ld", a, b), "deliveries_per_s",
                       1e9 * double(a) * double(b) / (now_ns() - start));
                all.clear();
                self->quit();
            }};
}

static void fanout()
{
    home->spawn(publisher);
}

// ---- idle ----------------------------------------------------------------------------------------------------------

static std::atomic<long> up;
static behavior idler(event_based_actor *self)
{
    up++;
    return {[=](long) { self->quit(); }};
}

static void idle()
{
    all.reserve(size_t(a));
    memset(static_cast<void *>(all.data()), 0, size_t(a) * sizeof(actor)); // touched: does not count
    double before = status("VmRSS:");
    for (long i = 0; i < a; i++) all.push_back(home->spawn(idler));
    while (up < a) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    char params[64];
    snprintf(params, sizeof params, "plain,n=%ld", a);
    report("idle", params, "bytes_per_actor", (status("VmRSS:") - before) * 1024 / double(a));
    for (auto &one : all) anon_send(one, 1L);
    all.clear();
}

// ---- timers --------------------------------------------------------------------------------------------------------

enum { BINS = 300000, BIN_US = 10 };
static std::atomic<uint32_t> lateness[BINS];
static double timers_start, timers_spawned, timers_cpu;

static behavior sleeper(event_based_actor *self, long us)
{
    double due = (b > 0 ? timers_start : now_ns()) + double(us) * 1e3; // as in bench/timers.c
    self->delayed_send(self, std::chrono::nanoseconds(std::max(0L, long(due - now_ns()) + 1)), go::value);
    return {[=](go) {
        double late = now_ns() - due;
        check(late >= 0, "timers: woke too early");
        lateness[std::min(long(late / 1e3) / BIN_US, long(BINS - 1))]++;
        self->quit();
    }};
}

static void timers()
{
    uint32_t random = 42;
    timers_cpu = cpu_ms();
    timers_start = now_ns();
    for (long i = 0; i < a; i++) {
        random = (random * 1103515245u + 12345u) & 0x7fffffffu;
        home->spawn(sleeper, b * 1000 + long((random >> 8) % 1000000 + 1));
    }
    timers_spawned = now_ns();
}

static double late_us(double wanted)
{
    double seen = 0;
    for (int bin = 0; bin < BINS; bin++)
        if ((seen += lateness[bin]) >= wanted) return double(bin) * BIN_US;
    return double(BINS) * BIN_US;
}

static void timers_over()
{
    std::string params = with("base_ms=%3$ld,threads=%1$d,n=%2$ld", a, b);
    report("timers", params, "spawn_ms", (timers_spawned - timers_start) / 1e6);
    report("timers", params, "wall_ms", (now_ns() - timers_start) / 1e6);
    report("timers", params, "cpu_ms", cpu_ms() - timers_cpu);
    report("timers", params, "late_p50_us", late_us(double(a) * .5));
    report("timers", params, "late_p99_us", late_us(double(a) * .99));
    report("timers", params, "late_max_us", late_us(double(a)));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
        void (*over)();
        bool many; // runnable actors at a time
    } workloads[] = {{"pingpong", pingpong, nullptr, false}, {"call", call, nullptr, false},
                     {"ring", ring, nullptr, false},         {"counting", counting, nullptr, false},
                     {"big", big, nullptr, false},           {"create", create, create_over, true},
                     {"tree", tree, nullptr, false},         {"fanout", fanout, nullptr, false},
                     {"idle", idle, nullptr, false},         {"timers", timers, timers_over, true}};
    check(argc > 3, "usage: caf WORKLOAD THREADS NUMBER...");
    threads = atoi(argv[2]);
    a = atol(argv[3]);
    b = argc > 4 ? atol(argv[4]) : 0;
    for (auto &w : workloads) {
        if (strcmp(w.name, argv[1]) != 0) continue;
        actor_system_config config;
        config.set("scheduler.max-threads", threads);
        if (w.many) {
            // Measured to be best there: stealing walks the victim's whole queue, and actors that do not give way soon
            // let it grow.
            config.set("scheduler.policy", atom_from_string("sharing"));
            config.set("scheduler.max-throughput", size_t(10));
        }
        actor_system system{config};
        home = &system;
        w.run();
        system.await_all_actors_done();
        if (w.over != nullptr) w.over();
        return 0;
    }
    check(false, "no such workload");
}

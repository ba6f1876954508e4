// bench/peers/fiber.cpp -- the local workloads of bench/local.c with Boost.Fiber: fibers and bounded channels.
//
//     fiber WORKLOAD THREADS NUMBER...
//
// Two threads share the work with Boost's own work-stealing scheduler. Every answer is checked.
#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/all.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace fibers = boost::fibers;
using mailbox = fibers::buffered_channel<long>;

static int threads;
static long a, b;

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
    printf("%s boost-fiber %s %s %.1f\n", workload, params.c_str(), metric, value);
}

static void check(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "peer: %s\n", what);
    exit(1);
}

// Small stacks from a pool, as a server with many fibers would have them.
template <class F> static fibers::fiber spawn(F body)
{
    thread_local boost::fibers::pooled_fixedsize_stack stacks(16384);
    return fibers::fiber(fibers::launch::post, std::allocator_arg, stacks, std::move(body));
}

// A pool belongs to one thread; fibers that may end on another have stacks of their own.
template <class F> static fibers::fiber spawn_anywhere(F body)
{
    if (threads == 1) return spawn(std::move(body));
    return fibers::fiber(fibers::launch::post, std::allocator_arg, fibers::fixedsize_stack(16384), std::move(body));
}

static void on_threads(const std::function<void()> &body)
{
    if (threads == 1) return body();
    fibers::mutex lock;
    fibers::condition_variable_any over;
    bool ended = false;
    std::vector<std::thread> others;
    for (int i = 1; i < threads; i++)
        others.emplace_back([&] {
            fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(uint32_t(threads));
            std::unique_lock<fibers::mutex> held(lock);
            over.wait(held, [&] { return ended; });
        });
    fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(uint32_t(threads));
    body();
    {
        std::unique_lock<fibers::mutex> held(lock);
        ended = true;
    }
    over.notify_all();
    for (auto &t : others) t.join();
}

static void yield()
{
    auto body = [] {
        for (long i = 0; i < a; i++) boost::this_fiber::yield();
    };
    double start = now_ns();
    auto one = spawn(body), two = spawn(body);
    one.join(), two.join();
    report("ctxswitch", with("yield,threads=%d,n=%ld", a), "ns_per_switch", (now_ns() - start) / (2.0 * double(a)));
}

static void pingpong()
{
    mailbox ping(2), pong(2);
    double start = now_ns();
    auto other = spawn_anywhere([&] {
        for (long n; ping.pop(n) == fibers::channel_op_status::success;) pong.push(n + 1);
    });
    auto one = spawn_anywhere([&] {
        long n = 0;
        for (long i = 0; i < a; i++) ping.push(n), pong.pop(n);
        check(n == a, "pingpong: a wrong count");
        ping.close();
    });
    one.join(), other.join();
    double took = now_ns() - start;
    report("pingpong", with("threads=%d,n=%ld", a), "ns_per_msg", took / (2.0 * double(a)));
    report("pingpong", with("threads=%d,n=%ld", a), "msgs_per_s", 2e9 * double(a) / took);
}

static void ring()
{
    std::vector<std::unique_ptr<mailbox>> boxes;
    for (long i = 0; i < a; i++) boxes.push_back(std::make_unique<mailbox>(2));
    std::vector<fibers::fiber> all;
    long last = -1;
    for (long i = 0; i < a; i++)
        all.push_back(spawn_anywhere([&, i] {
            for (long left; boxes[size_t(i)]->pop(left) == fibers::channel_op_status::success;) {
                if (left > 0) {
                    boxes[size_t((i + 1) % a)]->push(left - 1);
                    continue;
                }
                last = i;
                for (auto &box : boxes) box->close();
            }
        }));
    double start = now_ns();
    boxes[0]->push(b);
    all[size_t(b % a)].join();
    double took = now_ns() - start;
    for (auto &f : all)
        if (f.joinable()) f.join();
    check(last == b % a, "ring: ended elsewhere");
    report("ring", with("threads=%d,actors=%ld,hops=%ld", a, b), "ns_per_hop", took / double(b));
}

static void counting()
{
    mailbox box(1024);
    long each = b / a, count = 0;
    double start = now_ns();
    std::vector<fibers::fiber> all;
    all.push_back(spawn_anywhere([&] {
        for (long one; count < each * a; count += one) box.pop(one);
    }));
    for (long i = 0; i < a; i++)
        all.push_back(spawn_anywhere([&] {
            for (long k = 0; k < each; k++) box.push(1);
        }));
    for (auto &f : all) f.join();
    report("counting", with("threads=%d,producers=%ld,n=%ld", a, b), "msgs_per_s",
           1e9 * double(each * a) / (now_ns() - start));
}

// A message is its sender's index, plus PONG.
static void big()
{
    const long PONG = 1L << 32;
    size_t capacity = 2;
    while (capacity < size_t(2 * a)) capacity *= 2;
    std::vector<std::unique_ptr<mailbox>> boxes;
    for (long i = 0; i < a; i++) boxes.push_back(std::make_unique<mailbox>(capacity));
    fibers::unbuffered_channel<long> done;
    std::vector<fibers::fiber> all;
    double start = now_ns();
    for (long i = 0; i < a; i++)
        all.push_back(spawn_anywhere([&, i] {
            uint32_t random = uint32_t(i) * 2654435761u + 12345u;
            long ponged = 0;
            auto ask = [&] {
                random = (random * 1103515245u + 12345u) & 0x7fffffffu;
                boxes[(random >> 8) % uint32_t(a)]->push(i);
            };
            ask();
            for (long m; boxes[size_t(i)]->pop(m) == fibers::channel_op_status::success;) {
                if (m < PONG) boxes[size_t(m)]->push(PONG + i);
                else if (++ponged < b) ask();
                else done.push(i);
            }
        }));
    for (long i = 0, who; i < a; i++) done.pop(who);
    double took = now_ns() - start;
    for (auto &box : boxes) box->close();
    for (auto &f : all) f.join();
    report("big", with("threads=%d,actors=%ld,pings=%ld", a, b), "msgs_per_s", 2e9 * double(a) * double(b) / took);
}

// Not from getrusage: its figure also knows the program that started this one.
static double peak_mib()
{
    char line[128];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != nullptr && kib <= 0 && fgets(line, sizeof line, f) != nullptr)
        if (strncmp(line, "VmHWM:", 6) == 0) kib = strtod(line + 6, nullptr);
    check(f != nullptr && kib > 0, "cannot read /proc/self/status");
    fclose(f);
    return kib / 1024;
}

static void create()
{
    double start = now_ns();
    for (long i = 0; i < a; i++) {
        auto box = std::make_shared<mailbox>(2);
        spawn_anywhere([box] {
            long n;
            box->pop(n);
        }).detach();
        box->push(1);
        if (i % 64 == 63) boost::this_fiber::yield();
    }
    double took = now_ns() - start;
    report("spawn", with("create,threads=%d,n=%ld", a), "spawns_per_s", 1e9 * double(a) / took);
    report("spawn", with("create,threads=%d,n=%ld", a), "peak_rss_mib", peak_mib());
}

static void fanout()
{
    using body = std::shared_ptr<std::string>;
    using news = fibers::buffered_channel<body *>;
    std::vector<std::unique_ptr<news>> boxes;
    std::vector<fibers::fiber> all;
    for (long i = 0; i < a; i++) boxes.push_back(std::make_unique<news>(64));
    for (long i = 0; i < a; i++)
        all.push_back(spawn_anywhere([&, i] {
            body *m;
            for (long k = 0; k < b; k++) boxes[size_t(i)]->pop(m);
        }));
    boost::this_fiber::yield();
    body m = std::make_shared<std::string>("0123456789abcdef");
    double start = now_ns();
    for (long k = 0; k < b; k++)
        for (auto &box : boxes) box->push(&m);
    for (auto &f : all) f.join();
    report("fanout", with("topic,threads=%d,subs=%ld,msgs=%ld", a, b), "deliveries_per_s",
           1e9 * double(a) * double(b) / (now_ns() - start));
}

static long resident()
{
    long whole = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    check(f != nullptr && fscanf(f, "%ld %ld", &whole, &pages) == 2, "cannot read /proc/self/statm");
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static void idle()
{
    std::vector<fibers::fiber> all;
    all.reserve(size_t(a));
    memset(static_cast<void *>(all.data()), 0, size_t(a) * sizeof(fibers::fiber)); // touched: does not count
    long before = resident();
    std::vector<std::unique_ptr<mailbox>> boxes;
    for (long i = 0; i < a; i++) {
        boxes.push_back(std::make_unique<mailbox>(2));
        mailbox *box = boxes.back().get();
        all.push_back(spawn([box] {
            long n;
            box->pop(n);
        }));
        if (i % 1024 == 1023) boost::this_fiber::yield();
    }
    boost::this_fiber::yield();
    char params[64];
    snprintf(params, sizeof params, "plain,n=%ld", a);
    report("idle", params, "bytes_per_actor", double(resident() - before) / double(a));
    for (auto &box : boxes) box->push(1);
    for (auto &f : all) f.join();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } workloads[] = {{"yield", yield},       {"pingpong", pingpong},
                     {"ring", ring},          {"counting", counting}, {"big", big},
                     {"create", create},      {"fanout", fanout},     {"idle", idle}};
    check(argc > 3, "usage: fiber WORKLOAD THREADS NUMBER...");
    threads = atoi(argv[2]);
    a = atol(argv[3]);
    b = argc > 4 ? atol(argv[4]) : 0;
    for (auto &w : workloads) {
        if (strcmp(w.name, argv[1]) != 0) continue;
        on_threads(w.run);
        return 0;
    }
    check(false, "no such workload");
}

/* bench/timers.c -- sleepers of base + 1..1,000,000 us: how late they wake, and what it costs.
 *
 * With a base the time counts from the start of the first sleeper, so that all runtimes have the same wakes to do in
 * the same second, however long they take to start. Without one it counts from the start of each, so that wakes and
 * starts go on side by side. */
#include "local.h"

#include <stdatomic.h>

static char params[128];

enum { BINS = 300000, BIN_US = 10 };
static uint32_t *lateness[65]; /* of each worker */
static atomic_long asleep;
static weft_pid sleepers_boss;
static int64_t first_start;

/* When a sleeper is due that is started now. */
static int64_t due_after(int64_t span)
{
    return span + (arg.b > 0 ? first_start : weft_now());
}

static void has_woken(int64_t due)
{
    int64_t late = weft_now() - due;
    if (late < 0) fail("timers: woke too early");
    late /= WEFT_US(BIN_US);
    int worker = (int)(weft_self().actor >> 24 & 0xff);
    lateness[worker][late < BINS ? late : BINS - 1]++;
    if (atomic_fetch_sub(&asleep, 1) == 1) must(weft_send(sleepers_boss, DONE, NULL, 0), "all are awake");
}

static void sleeper(const void *given, size_t size)
{
    int64_t span;
    (void)size;
    memcpy(&span, given, sizeof span);
    int64_t due = due_after(span);
    must(weft_sleep(due), "sleep");
    has_woken(due);
}

/* Its state is when it is due. */
static void sleeping_handler(void *state, weft_msg *m)
{
    int64_t *due = state;
    if (weft_tag(m) == DONE) {
        has_woken(*due);
        weft_exit(WEFT_EXIT_NORMAL);
    }
    *due = due_after(*(const int64_t *)weft_data(m));
    must(weft_send_after(*due, weft_self(), DONE, NULL, 0, NULL), "sleep");
}

static void start_sleeper(int worker, int64_t span)
{
    if (!arg.handlers) {
        spawn_on(worker, "sleeper", sleeper, &span, sizeof span);
        return;
    }
    weft_pid to = handler_on(worker, sleeping_handler, &(int64_t){0}, sizeof(int64_t));
    must(weft_send(to, PING, &span, sizeof span), "go to sleep");
}

static double late_us(double wanted)
{
    long seen = 0;
    for (int bin = 0; bin < BINS; bin++) {
        for (int w = 0; w <= 64; w++) seen += lateness[w] != NULL ? lateness[w][bin] : 0;
        if ((double)seen >= wanted) return (double)bin * BIN_US;
    }
    return (double)BINS * BIN_US;
}

void timers_main(const void *unused, size_t size)
{
    (void)unused, (void)size;
    for (int w = 0; w <= 64; w++)
        if ((w <= arg.workers) && (lateness[w] = calloc(BINS, sizeof **lateness)) == NULL) fail("no memory");
    sleepers_boss = weft_self();
    asleep = arg.a;
    uint32_t random = 42;
    double cpu = cpu_ms();
    int64_t start = first_start = weft_now();
    for (long i = 0; i < arg.a; i++) {
        random = (random * 1103515245u + 12345u) & 0x7fffffffu;
        start_sleeper(1 + (int)(i % arg.workers), WEFT_MS(arg.b) + WEFT_US((random >> 8) % 1000000 + 1));
        if (i % 256 == 255) weft_yield(); /* they fall asleep as they are made, as where threads preempt */
    }
    double spawned = (double)(weft_now() - start) / 1e6;
    weft_msg_free(receive());
    snprintf(params, sizeof params, "%sbase_ms=%ld,threads=%d,n=%ld", arg.handlers ? "handlers," : "", arg.b,
             arg.workers, arg.a);
    report("timers", params, "spawn_ms", spawned);
    report("timers", params, "wall_ms", (double)(weft_now() - start) / 1e6);
    report("timers", params, "cpu_ms", cpu_ms() - cpu);
    report("timers", params, "late_p50_us", late_us((double)arg.a * .5));
    report("timers", params, "late_p99_us", late_us((double)arg.a * .99));
    report("timers", params, "late_max_us", late_us((double)arg.a));
    for (int w = 0; w <= arg.workers; w++) free(lateness[w]);
}

/* bench/lateness.c -- how late periodic timers wake their actors, an actor for each; see peers/late.h.
 *
 *     bench_lateness TIMERS PERIOD_MS ROUNDS
 *
 * One worker, since libuv's loop is one thread. */
#include "bench.h"
#include "peers/late.h"

static struct late late; /* of the one worker's actors */
static int64_t start;

static void keeper(const void *arg, size_t size)
{
    long i = *(const long *)arg;
    int64_t due = start + WEFT_MS(late_first_ms(&late, i)), period = WEFT_MS(late.period_ms);
    weft_timer t;
    (void)size;
    must(weft_timer_open(&t, due, period), "timer");
    for (long round = 0; round < late.rounds;) {
        int64_t fired = weft_timer_await(t, WEFT_FOREVER);
        must((int)fired, "await");
        for (; fired > 0 && round < late.rounds; fired--, round++, due += period) {
            if (weft_now() < due) fail("lateness: woke too early");
            late_add(&late, weft_now() - due);
        }
    }
}

static void keepers(const void *arg, size_t size)
{
    (void)arg, (void)size;
    start = weft_now();
    for (long i = 0; i < late.timers; i++) (void)spawn_on(1, "keeper", keeper, &i, sizeof i);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s TIMERS PERIOD_MS ROUNDS\n", argv[0]);
        return 2;
    }
    weft_log_set(WEFT_ERROR, false);
    late_begin(&late, argv + 1);
    run_node(1, keepers, NULL, 0);
    late_end(&late, "weft");
    return 0;
}

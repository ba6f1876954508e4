/* tests/stress/parked.c -- starts a million waiting actors (or ACTORS), which are parked at once, so that a million
 * of them takes well under a gigabyte. Then each is woken, by a message, its timer, a stop or a kill, and its stack
 * must have its old contents.
 *
 *     parked [ACTORS] */
#include "../unit/actors/node_harness.h"
#include "park.h"

#include <weft/test.h>

#include <unistd.h>

enum { GO = 1, DONE = 2, BATCH = 10000, KINDS = 4, BYTES_MAX = 1100, WORDS = 12 };
static const int64_t AFTER = WEFT_MS(10);
static int64_t begun, count, woken, stopped, undone;
static weft_pid *all;

static void undo(void *arg)
{
    (void)arg;
    undone++;
}

static void waits(const void *arg, size_t size)
{
    (void)size;
    int64_t n = ((const struct kid *)arg)->n;
    uint64_t words[WORDS];
    for (uint64_t i = 0; i < WORDS; i++) words[i] = (uint64_t)n * i;
    weft_msg *m = NULL;
    if (n % KINDS == 3) want_int(weft_defer(undo, NULL), 0);
    int rc = n % KINDS == 1 ? weft_sleep(begun + WEFT_SEC(1000) + n) : weft_recv(&m, WEFT_FOREVER);
    for (uint64_t i = 0; i < WORDS; i++) want_int(words[i], (uint64_t)n * i);
    want_int(n, ((const struct kid *)arg)->n);
    if (m != NULL) weft_msg_free(m);
    if (rc == 0) woken++;
    else stopped++;
    if (n % KINDS == 1) want_int(weft_now(), begun + WEFT_SEC(1000) + n);
}

static int64_t resident_bytes(void)
{
    long whole, resident;
    FILE *f = fopen("/proc/self/statm", "r");
    want(f != NULL && fscanf(f, "%ld %ld", &whole, &resident) == 2);
    fclose(f);
    return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

static void body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    memset(all, 1, (size_t)count * sizeof *all); /* touched, so that they do not count */
    begun = weft_now();
    int64_t before = resident_bytes();
    for (int64_t i = 0; i < count; i++) {
        all[i] = kid_on(0, waits, i);
        if (i % BATCH == BATCH - 1) want_int(weft_advance(3 * AFTER), 0);
    }
    want_int(weft_advance(3 * AFTER), 0);
    if (wf_parks()) want_int(wf_here->count.parked - wf_here->count.unparked, count);
    int64_t bytes = (resident_bytes() - before) / count;
    printf("%lld actors, %lld bytes each\n", (long long)count, (long long)bytes), fflush(stdout);
    want(under_tools() || bytes < BYTES_MAX);
    for (int64_t i = 0; i < count; i++) {
        if (i % KINDS == 0) want_int(weft_send(all[i], GO, NULL, 0), 0);
        else if (i % KINDS == 2) want_int(weft_stop(all[i]), 0);
        else if (i % KINDS == 3) want_int(weft_kill(all[i]), 0);
        if (i % BATCH == BATCH - 1) want_int(weft_settle(), 0);
    }
    want_int(weft_sleep(begun + WEFT_SEC(2000)), 0);
    want_int(woken, (count + 3) / KINDS + (count + 2) / KINDS);
    want_int(stopped, (count + 1) / KINDS);
    want_int(undone, count / KINDS);
}

int main(int argc, char **argv)
{
    count = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000000;
    all = calloc((size_t)count, sizeof *all);
    want(all != NULL);
    weft_test_options o = {.turns_max = UINT64_MAX, .node.park_after = AFTER};
    int rc = weft_test_run(body, NULL, 0, &o);
    if (rc != 0) fprintf(stderr, "%s\n", weft_test_report());
    free(all);
    return rc;
}

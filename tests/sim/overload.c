/* tests/sim/overload.c -- a server on n1 that is asked for twice what it can do, for twenty seconds, then for half of it,
 * and so on. Its mailbox holds what it can do before callers give up, and refuses the rest at once, as docs/mailboxes.md
 * advises: so under overload it still answers nearly as much as it can, the calls to its neighbour on that node are
 * answered, and seconds after an overload all calls are. With `unbounded` its mailbox is as usual: then only what comes
 * after the overload is promised. */
#include "kit.h"

#define WORK WEFT_MS(10)      /* that a request takes */
#define PATIENCE WEFT_MS(500) /* of a caller */
#define PHASE WEFT_SEC(20)
enum { MAILBOX = 20, CAPACITY = 100 /* requests a second */, SECONDS = 1200, ASK = 1 };

/* Counts of requests, by the second in which they were made. */
static struct second {
    uint32_t asked, answered, neighbour_asked, neighbour_answered;
} seconds[SECONDS];
static int64_t calm_at = WEFT_FOREVER;
static bool unbounded;

static bool is_overload(int64_t time)
{
    return time / PHASE % 2 == 0;
}

static struct second *this_second(void)
{
    return &seconds[sim_time() / WEFT_SEC(1) % SECONDS];
}

/* ---- n1 -------------------------------------------------------------------------------------------------------- */

static void serve(const char *name, int64_t work)
{
    weft_msg *m;
    while (weft_register(name) < 0)
        if (!sim_again()) return;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (work > 0) (void)weft_sleep(weft_after(work));
        if (weft_wants_reply(m)) (void)weft_reply(m, ASK, NULL, 0);
        weft_msg_free(m);
    }
}

static void server(const void *arg, size_t size)
{
    (void)arg, (void)size;
    serve("server", WORK);
}

static void neighbour(const void *arg, size_t size)
{
    (void)arg, (void)size;
    serve("neighbour", 0);
}

/* ---- The others ------------------------------------------------------------------------------------------------ */

static bool is_answered(const char *name)
{
    weft_msg *m = NULL;
    bool answered = weft_call_name(name, ASK, NULL, 0, &m, weft_after(PATIENCE)) == WEFT_OK;
    weft_msg_free(m);
    return answered;
}

static void caller(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct second *s = this_second();
    s->asked++;
    s->answered += is_answered("server@n1");
}

static void neighbours_caller(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct second *s = this_second();
    s->neighbour_asked++;
    s->neighbour_answered += is_answered("neighbour@n1");
}

static void generator(const void *arg, size_t size)
{
    unsigned clients;
    uint64_t random = sim_random();
    memcpy(&clients, arg, size);
    for (uint32_t i = 0;; i++) {
        int64_t rate = is_overload(sim_time()) ? 2 * CAPACITY : CAPACITY / 2;
        int64_t mean = WEFT_SEC(1) * clients / rate;
        if (weft_sleep(weft_after(random_between(&random, 0, 2 * mean))) == WEFT_ECANCELED) return;
        (void)weft_spawn(NULL, caller, NULL, 0, NULL);
        if (i % 10 == 0) (void)weft_spawn(NULL, neighbours_caller, NULL, 0, NULL);
    }
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    unsigned clients = 2;
    (void)size;
    for (int i = 1; i < args->argc; i++)
        if (strcmp(args->argv[i], "unbounded") == 0) unbounded = true;
    weft_spawn_options bounded = {.mailbox_max = MAILBOX, .policy = WEFT_FULL_FAIL};
    if (sim_self() == 0) {
        sim_spawn(server, NULL, 0, unbounded ? NULL : &bounded);
        sim_spawn(neighbour, NULL, 0, NULL);
    } else {
        sim_spawn(generator, &clients, sizeof clients, NULL);
    }
    sim_wait();
}

/* ---- What has to be true --------------------------------------------------------------------------------------- */

/* Adds up `count` seconds, the first of which is `from`. False: they have not all passed, or the faults were not over when they began. */
static bool sum(int64_t from, int count, struct second *out)
{
    *out = (struct second){0};
    if (from < calm_at || from + count + 1 > sim_time() / WEFT_SEC(1)) return false;
    for (int64_t i = from; i < from + count; i++) {
        const struct second *s = &seconds[i % SECONDS];
        out->asked += s->asked;
        out->answered += s->answered;
        out->neighbour_asked += s->neighbour_asked;
        out->neighbour_answered += s->neighbour_answered;
    }
    return true;
}

/* Sums the counts of `count` seconds, from `after` seconds after the beginning of the last complete phase of that
 * kind. */
static bool last_phase(bool overload, int after, int count, struct second *out)
{
    int64_t phase = sim_time() / PHASE - 1;
    if (phase >= 0 && is_overload(phase * PHASE) != overload) phase--;
    return phase >= 0 && sum(phase * (PHASE / WEFT_SEC(1)) + after, count, out);
}

static void begin_calm(void)
{
    if (calm_at == WEFT_FOREVER) calm_at = sim_time() / WEFT_SEC(1) + 10;
}

static bool works_under_overload(void *arg)
{
    struct second s;
    (void)arg;
    begin_calm();
    return last_phase(true, 5, 10, &s) && (unbounded || s.answered >= 10 * CAPACITY * 3 / 4) &&
           s.neighbour_asked > 0 && s.neighbour_answered * 100 >= s.neighbour_asked * 95;
}

static bool recovers(void *arg)
{
    struct second s;
    (void)arg;
    begin_calm();
    return last_phase(false, 3, 15, &s) && s.asked > 0 && s.answered * 100 >= s.asked * 95;
}

static void checks(void)
{
    weft_sim_eventually("under overload the server answers nearly what it can, and its neighbour answers",
                        works_under_overload, NULL);
    weft_sim_eventually("three seconds after an overload calls are answered", recovers, NULL);
}

WEFT_MODULE(first)
WEFT_SIM(checks)

/* tests/sim/exclusive.c -- exclusive names in a simulated cluster with a simulated etcd (etcd_store.h): contenders on
 * all nodes want the same names, while nodes crash, freeze, are slow, have clocks that step or are cut off from the
 * store, and the store is slow, deaf or down.
 *
 *     exclusive [SEEDS [FIRST SEED]]
 *
 * At no moment do two contenders believe that they hold a name (weft_exclusive_until is in the future); tokens only
 * grow; a holder is notified when it has lost its name; and in the end names change their holders again. The history of
 * each name is that of a lock (tests/history/): a holder that is notified of the loss of its name, or that crashes,
 * has it until the time that weft_exclusive_until has returned last, at the least. */
#include "etcd_store.h"
#include "seeds.h"

#include "../history/models.h"

#include <weft/exclusive.h>

enum { HOSTS = 4, NAMES = 2, EACH = 2 /* contenders for a name on a node */ };

static const char *const names[NAMES] = {"ledger", "clock"};

struct contender {
    uint64_t token;
    int64_t until; /* it is sure of the name; WEFT_NOW: it is not */
    int64_t sure;  /* the last `until`; 0: it does not hold the name */
};

static struct {
    uint64_t seed, random;
    unsigned hosts;
    struct wf_sim_world world;
    struct contender contender[HOSTS][NAMES][EACH];
    uint64_t highest[NAMES]; /* token */
    uint32_t acquired[NAMES];
    struct lin_history history;
} all;

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "seed %llu, at %.6f s: %s: %s\n", (unsigned long long)all.seed,
            (double)wf_sim_now(&all.world) / 1e9, name, what);
    exit(EXIT_FAILURE);
}

/* ---- Contenders ------------------------------------------------------------------------------------------------ */

struct who {
    unsigned host, name, number;
};

static struct contender *contender_of(const struct who *w)
{
    return &all.contender[w->host][w->name][w->number];
}

/* WEFT_OK: it is; else as weft_recv. */
static int lost(int64_t until)
{
    struct weft_exclusive_lost news;
    for (;;) {
        weft_msg *m;
        int rc = weft_recv(&m, until);
        if (rc != WEFT_OK) return rc;
        bool told = weft_exclusive_lost_read(m, &news) == WEFT_OK;
        weft_msg_free(m);
        if (told) return WEFT_OK;
    }
}

/* ---- The history ----------------------------------------------------------------------------------------------- */

static int64_t time_here(void)
{
    return wf_sim_now(&all.world) - PF_SIM_START;
}

static void acquired(const struct who *w, size_t op, weft_exclusive mine)
{
    struct contender *c = contender_of(w);
    lin_end(&all.history, op, time_here(), LIN_OK, mine.token);
    c->token = mine.token;
    c->sure = time_here();
}

static struct lin_op giving_back(const struct who *w)
{
    return (struct lin_op){.who = w->host, .what = LOCK_RELEASE, .key = w->name, .in = {contender_of(w)->token}};
}

/* From then on another actor has the name, or will have it at some time. */
static void gone(const struct who *w, int64_t from)
{
    struct lin_op op = giving_back(w);
    if (contender_of(w)->sure == 0) return;
    op.begin = from;
    lin_add(&all.history, op);
    contender_of(w)->sure = 0;
}

static void lost_at_last(const struct who *w)
{
    gone(w, contender_of(w)->sure);
}

/* WEFT_ENOACTOR: it was lost before. */
static int give_back(const struct who *w)
{
    struct lin_op op = giving_back(w);
    size_t number = lin_begin(&all.history, time_here(), op);
    int rc = weft_exclusive_release(names[w->name]);
    lin_end(&all.history, number, time_here(), rc == WEFT_OK ? LIN_OK : LIN_UNKNOWN, 0);
    if (rc == WEFT_ENOACTOR) all.history.op[number].begin = contender_of(w)->sure;
    contender_of(w)->sure = 0;
    return rc;
}

/* ---- Holders --------------------------------------------------------------------------------------------------- */

/* Holds the name until it gives it back, or is told that it is lost. False: the actor ends while it holds the
 * name. */
static bool hold(const struct who *w, weft_exclusive mine, uint64_t *random)
{
    struct contender *c = contender_of(w);
    int64_t enough = weft_after(random_between(random, WEFT_MS(100), WEFT_SEC(6)));
    unsigned unsure = 0;
    if (mine.token <= all.highest[w->name]) fail("a token is not higher than all before", names[w->name]);
    all.highest[w->name] = mine.token;
    all.acquired[w->name]++;
    while (weft_now() < enough) {
        c->until = weft_exclusive_until(mine);
        if (c->until != WEFT_NOW) c->sure = c->until - PF_SIM_START;
        if (c->until == WEFT_NOW && ++unsure > 20) fail("its holder is not told that it is lost", names[w->name]);
        int rc = lost(weft_after(WEFT_MS(100)));
        if (rc == WEFT_ETIMEDOUT) continue;
        c->until = WEFT_NOW;
        lost_at_last(w);
        return rc == WEFT_OK;
    }
    c->until = WEFT_NOW;
    if (random_below(random, 4) == 0) { /* after a pause it may be lost already */
        gone(w, weft_exclusive_until(mine) == WEFT_NOW ? c->sure : time_here());
        return false;
    }
    int rc = give_back(w);
    if (rc != WEFT_OK && rc != WEFT_ENOACTOR && rc != WEFT_ECANCELED) fail("it cannot be given back", names[w->name]);
    (void)lost(WEFT_NOW); /* it may have come meanwhile */
    return true;
}

static void contend(const void *arg, size_t size)
{
    struct who w;
    weft_exclusive mine;
    memcpy(&w, arg, size);
    uint64_t random = weft_self().node ^ weft_self().actor;
    do {
        int64_t patience = random_below(&random, 3) == 0 ? weft_after(random_between(&random, 0, WEFT_SEC(2)))
                                                         : WEFT_FOREVER;
        struct lin_op op = {.who = w.host, .what = LOCK_ACQUIRE, .key = w.name};
        size_t number = lin_begin(&all.history, time_here(), op);
        int rc = weft_exclusive_acquire(names[w.name], &mine, patience);
        if (rc == WEFT_OK) acquired(&w, number, mine);
        if (rc == WEFT_OK && !hold(&w, mine, &random)) return; /* which is giving it back, too */
        if (rc != WEFT_OK && rc != WEFT_ETIMEDOUT && rc != WEFT_ECANCELED) fail(weft_strerror(rc), names[w.name]);
    } while (weft_sleep(weft_after(random_between(&random, 0, WEFT_MS(500)))) == WEFT_OK);
}

static void keep_one(const void *arg, size_t size)
{
    weft_monitor_ref ref;
    weft_msg *m;
    while (weft_spawn(NULL, contend, arg, size, &(weft_spawn_options){.monitor = &ref}) == WEFT_OK) {
        if (weft_recv(&m, WEFT_FOREVER) != WEFT_OK) return;
        weft_msg_free(m);
    }
}

static void first(const void *arg, size_t size)
{
    struct who w;
    weft_msg *m;
    memcpy(&w, arg, size);
    for (w.name = 0; w.name < NAMES; w.name++)
        for (w.number = 0; w.number < EACH; w.number++)
            if (weft_spawn(NULL, keep_one, &w, sizeof w, NULL) < 0) fail("no memory", "");
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}

/* ---- What has to be true at every moment ----------------------------------------------------------------------- */

static void check_one(unsigned name)
{
    unsigned sure = 0;
    for (unsigned i = 0; i < HOSTS * EACH; i++)
        sure += all.contender[i / EACH][name][i % EACH].until > wf_sim_now(&all.world);
    if (sure > 1) fail("two hold it", names[name]);
}

static void after_turn(struct wf_sim_world *w)
{
    (void)w;
    for (unsigned i = 0; i < NAMES; i++) check_one(i);
}

/* ---- The cluster and its faults -------------------------------------------------------------------------------- */

static void start(unsigned host)
{
    char url[WF_URL_TEXT], name[16];
    wf_sim_url(host, url);
    snprintf(name, sizeof name, "n%u", host);
    const char *listen[] = {url}, *discover[] = {"etcd:http://127.0.0.1:2379?ttl=4"};
    weft_node_options o = {
        .name = name, .listen = listen, .listen_count = 1, .discover = discover, .discover_count = 1};
    struct who w = {.host = host};
    if (wf_sim_start(&all.world, host, &o) < 0) fail("does not start", name);
    if (weft_node_spawn(all.world.host[host].node, NULL, first, &w, sizeof w, NULL) < 0) fail("no memory", name);
}

static void crash(unsigned host)
{
    wf_sim_crash(&all.world, host, random_below(&all.random, 2) == 0);
    for (unsigned i = 0; i < NAMES * EACH; i++) lost_at_last(&(struct who){host, i / EACH, i % EACH});
    memset(all.contender[host], 0, sizeof all.contender[host]);
}

static void go(int64_t span)
{
    for (int64_t until = wf_sim_now(&all.world) + span; wf_sim_now(&all.world) < until;) {
        wf_sim_run(&all.world, WEFT_MS(1));
        store_step();
    }
}

static void fault(void)
{
    unsigned a = random_below(&all.random, all.hosts);
    int64_t span = random_between(&all.random, WEFT_MS(20), WEFT_SEC(1)) << random_below(&all.random, 5);
    int64_t end = wf_sim_now(&all.world) + span;
    switch (random_below(&all.random, 8)) {
    case 0: store.cut_by[a] = end; break;
    case 1: store.slow_by = end; break;
    case 2: store.deaf_by = end; break;
    case 3: store.down_by = end; break;
    case 4: wf_sim_freeze(&all.world, a, span); break;
    case 5: wf_sim_slow(&all.world, a, WEFT_MS(10), span); break;
    case 6: wf_sim_step_clock(&all.world, a, a % 2 == 0 ? span * 1000 : -span * 1000); break;
    case 7:
        crash(a);
        go(WF_MIN(span, WEFT_SEC(5)));
        start(a);
        break;
    }
    go(random_between(&all.random, WEFT_MS(1), WEFT_SEC(4)));
}

static bool names_move(void)
{
    uint32_t before[NAMES];
    memcpy(before, all.acquired, sizeof before);
    go(WEFT_SEC(40));
    for (unsigned i = 0; i < NAMES; i++)
        if (all.acquired[i] < before[i] + 3) return false;
    return true;
}

static void run(uint64_t seed)
{
    all.seed = seed;
    all.random = seed ^ UINT64_C(0x6578636C75736976);
    store.random = seed;
    store.world = &all.world;
    all.hosts = 2 + random_below(&all.random, HOSTS - 1);
    wf_sim_world_init(&all.world, seed);
    all.world.after_turn = after_turn;
    for (unsigned i = 0; i < all.hosts; i++) start(i);
    go(WEFT_SEC(5));
    for (unsigned n = 3 + random_below(&all.random, 6); n > 0; n--) fault();
    go(WEFT_SEC(20)); /* the last faults are over */
    if (!names_move()) fail("no name changes hands any more", names[0]);
    for (unsigned i = 0; i < all.hosts; i++) crash(i);
    wf_sim_world_finish(&all.world);
    store_finish();
    if (lin_check(&all.history, &lock_model, stderr) != LIN_LINEARIZABLE)
        fail("this is not the history of a lock", "the names");
    lin_free(&all.history);
}

int main(int argc, char **argv)
{
    return run_seeds(
        &(struct seeds){
            .count = 50, .limit = 100, .heap = HOSTS * SIM_NODE + (8 << 20), .log = WEFT_SILENT, .run = run},
        argc, argv);
}

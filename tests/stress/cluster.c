/* tests/stress/cluster.c -- whole clusters in a simulated world: nodes send each other numbered messages while
 * connections break, the network is cut, clocks step, and nodes are slow, freeze, crash and restart.
 *
 *     cluster [SEEDS [FIRST SEED]]
 *
 * Every second seed is gentle: no fault lasts longer than links survive, so no message may be lost, and no node may
 * be reported as down. With the other seeds a message may be lost only if the loss is reported. No message ever comes
 * twice or out of order. In the end all nodes are linked and agree on the holder of a name that all want, and its
 * holder knows it; then one node stops for good, and all others know that. With every fifth seed some messages are so
 * long that they go in chunks. Every eighth seed runs twice: the second run has to be the same, step by step. */
#include "sim_world.h"
#include "transport.h"

#include "../sim/seeds.h"
#include "../unit/actors/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { HOSTS = 5, RUNS = 4, COUNT = 60, HELLO = 1, DATA = 2 };

struct body {
    uint32_t number, from, run, to;
};

/* Messages that a run of one node has received from a run of another. */
struct counts {
    uint32_t received, missed, doubled, reordered, next;
    bool seen[COUNT];
};

static struct {
    uint64_t seed, random;
    unsigned hosts;
    bool gentle, heavy;
    struct wf_sim_world *world;
    unsigned run[HOSTS];
    struct counts counts[HOSTS][RUNS][HOSTS][RUNS]; /* receiver, its run, sender, its run */
    uint32_t sent[HOSTS][HOSTS], downs[HOSTS][HOSTS];
    weft_pid leader[HOSTS], claimer[HOSTS]; /* as each sees it; who wants to be it */
    bool leads[HOSTS];                      /* as its claimer has been told */
    unsigned gone;                          /* the host that does not come back, in the end */
} all;

static void fail(const char *condition, int line)
{
    fprintf(stderr, "seed %llu, at %.6f s: not %s (line %d)\n", (unsigned long long)all.seed,
            (double)wf_sim_now(all.world) / 1e9, condition, line);
    for (unsigned i = 0; i < all.hosts; i++) {
        fprintf(stderr, "n%u, run %u:", i, all.run[i]);
        for (unsigned k = 0; k < all.hosts; k++)
            if (i != k) fprintf(stderr, " to n%u %u, which was down %u times;", k, all.sent[i][k], all.downs[i][k]);
        fprintf(stderr, "\n");
    }
    exit(EXIT_FAILURE);
}

#define WANT(condition)                               \
    do {                                              \
        if (!(condition)) fail(#condition, __LINE__); \
    } while (0)

struct who {
    unsigned self, run, other;
};

/* Some go in chunks. */
static size_t size_of(const struct body *b)
{
    bool large = all.heavy && b->number % 7 == 3;
    return sizeof *b + (large ? 10000 * (size_t)(1 + (b->number + b->from * 7 + b->to * 13) % 60) : 0);
}

/* ---- Receiving ------------------------------------------------------------------------------------------------- */

static void take(const struct who *w, const weft_msg *m)
{
    struct body b = {.from = HOSTS};
    const uint8_t *bytes = weft_data(m);
    if (weft_size(m) >= sizeof b) memcpy(&b, bytes, sizeof b);
    WANT(b.from == w->other && b.to == w->self && b.run < RUNS && b.number < COUNT);
    WANT(weft_size(m) == size_of(&b));
    for (size_t i = sizeof b; i < weft_size(m); i += 4099) WANT(bytes[i] == (uint8_t)(b.number + i));
    struct counts *c = &all.counts[w->self][w->run][b.from][b.run];
    if (c->seen[b.number]) {
        c->doubled++;
        return;
    }
    c->seen[b.number] = true;
    c->received++;
    if (b.number < c->next) {
        c->reordered++;
        return;
    }
    c->missed += b.number - c->next;
    c->next = b.number + 1;
}

/* A sender says where it goes on; who began before this run did is not missed. */
static void greet(const struct who *w, const weft_msg *m)
{
    struct body b;
    WANT(weft_size(m) == sizeof b);
    memcpy(&b, weft_data(m), sizeof b);
    struct counts *c = &all.counts[w->self][w->run][b.from][b.run];
    if (c->received == 0) c->next = b.number;
    (void)weft_reply(m, HELLO, NULL, 0);
}

static void receiver(const void *arg, size_t size)
{
    struct who w;
    char name[16];
    weft_msg *m;
    memcpy(&w, arg, size);
    snprintf(name, sizeof name, "from-n%u", w.other);
    WANT(weft_register(name) == WEFT_OK);
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        if (weft_tag(m) == DATA) take(&w, m);
        else if (weft_tag(m) == HELLO) greet(&w, m);
    }
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

static bool is_of(const weft_msg *m, unsigned other)
{
    struct weft_node_news news;
    char name[16];
    snprintf(name, sizeof name, "n%u", other);
    return weft_node_news_read(m, &news) == WEFT_OK && strcmp(news.name, name) == 0;
}

static void sender(const void *arg, size_t size)
{
    uint8_t *bytes = malloc(700000);
    struct who w;
    char name[32];
    weft_msg *m;
    memcpy(&w, arg, size);
    snprintf(name, sizeof name, "from-n%u@n%u", w.self, w.other);
    struct body b = {.from = w.self, .run = w.run, .to = w.other};
    bool met = false;
    WANT(bytes != NULL && weft_defer(free, bytes) == WEFT_OK);
    (void)weft_watch_nodes();
    while (b.number < COUNT) {
        if (weft_sleep(weft_after(WEFT_MS(20))) < 0) return;
        for (; weft_recv(&m, WEFT_NOW) == WEFT_OK; weft_msg_free(m))
            if (is_of(m, w.other) && weft_tag(m) != WEFT_TAG_NODE_SUSPECT) met = false;
        if (!met) {
            weft_msg *answer = NULL;
            met = weft_call_name(name, HELLO, &b, sizeof b, &answer, weft_after(WEFT_SEC(20))) == WEFT_OK;
            weft_msg_free(answer);
        }
        if (!met) continue;
        memcpy(bytes, &b, sizeof b);
        for (size_t i = sizeof b; i < size_of(&b); i += 4099) bytes[i] = (uint8_t)(b.number + i);
        int rc = weft_send_name(name, DATA, bytes, size_of(&b));
        if (rc == WEFT_OK) all.sent[w.self][w.other] = ++b.number;
        else met = false;
    }
}

/* ---- Names and news -------------------------------------------------------------------------------------------- */

static void claimer(const void *arg, size_t size)
{
    struct who w;
    memcpy(&w, arg, size);
    (void)weft_watch_nodes();
    all.claimer[w.self] = weft_self();
    for (;;) {
        weft_msg *m;
        if (weft_register_global("leader") == WEFT_OK) all.leads[w.self] = true; /* it has a holder, or now it has */
        if (weft_whereis("leader", &all.leader[w.self]) < 0) all.leader[w.self] = weft_nobody();
        int rc = weft_recv(&m, weft_after(WEFT_MS(200)));
        if (rc == WEFT_ETIMEDOUT) continue;
        if (rc < 0) return;
        for (unsigned i = 0; i < all.hosts; i++)
            if (weft_tag(m) == WEFT_TAG_NODE_DOWN && is_of(m, i)) all.downs[w.self][i]++;
        weft_pid leader; /* the news may be old */
        if (weft_tag(m) == WEFT_TAG_NAME_LOST)
            all.leads[w.self] = weft_whereis("leader", &leader) == WEFT_OK && weft_pid_equal(leader, weft_self());
        weft_msg_free(m);
    }
}

static void first(const void *arg, size_t size)
{
    struct who w;
    weft_msg *m;
    memcpy(&w, arg, size);
    WANT(weft_spawn(NULL, claimer, &w, sizeof w, NULL) == WEFT_OK);
    for (w.other = 0; w.other < all.hosts; w.other++) {
        if (w.other == w.self) continue;
        WANT(weft_spawn(NULL, receiver, &w, sizeof w, NULL) == WEFT_OK);
        WANT(weft_spawn(NULL, sender, &w, sizeof w, NULL) == WEFT_OK);
    }
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}

/* ---- The cluster ----------------------------------------------------------------------------------------------- */

static void start(unsigned host)
{
    char url[WF_URL_TEXT], seed[WF_URL_TEXT], name[16];
    wf_sim_url(host, url);
    wf_sim_url(host == 0 ? 1 : 0, seed);
    snprintf(name, sizeof name, "n%u", host);
    const char *listen[] = {url}, *join[] = {seed};
    weft_node_options o = {.name = name,
                           .listen = listen,
                           .listen_count = 1,
                           .join = join,
                           .join_count = 1,
                           .heartbeat = WEFT_MS(200),
                           .resume_window = WEFT_SEC(4)};
    WANT(wf_sim_start(all.world, host, &o) == WEFT_OK);
    struct who w = {host, all.run[host], 0};
    WANT(weft_node_spawn(all.world->host[host].node, NULL, first, &w, sizeof w, NULL) == WEFT_OK);
}

static bool all_linked(void)
{
    for (unsigned i = 0; i < all.hosts; i++) {
        struct weft_member *members;
        size_t count, up = 0;
        WANT(weft_members(all.world->host[i].node, &members, &count) == WEFT_OK);
        for (size_t k = 0; k < count; k++) up += members[k].state == WEFT_MEMBER_UP;
        free(members);
        if (up != all.hosts) return false;
    }
    return true;
}

static bool all_sent(void)
{
    for (unsigned i = 0; i < all.hosts; i++)
        for (unsigned k = 0; k < all.hosts; k++)
            if (i != k && all.sent[i][k] < COUNT) return false;
    return true;
}

static bool all_agree(void)
{
    for (unsigned i = 0; i < all.hosts; i++)
        if (weft_pid_is_nobody(all.leader[i]) || !weft_pid_equal(all.leader[i], all.leader[0])) return false;
    return true;
}

/* The leader knows that it leads, and no other actor believes that it does. */
static bool all_know(void)
{
    for (unsigned i = 0; i < all.hosts; i++)
        if (all.leads[i] != weft_pid_equal(all.leader[i], all.claimer[i])) return false;
    return all_agree();
}

static bool is_known_to_be_gone(void)
{
    char name[16];
    bool known = true;
    snprintf(name, sizeof name, "n%u", all.gone);
    for (unsigned i = 0; i < all.hosts; i++) {
        struct weft_member *members;
        size_t count;
        if (i == all.gone) continue;
        WANT(weft_members(all.world->host[i].node, &members, &count) == WEFT_OK);
        for (size_t k = 0; k < count; k++)
            known &= strcmp(members[k].name, name) != 0 || members[k].state == WEFT_MEMBER_DOWN;
        free(members);
    }
    return known;
}

static bool happens(bool (*what)(void), int64_t within)
{
    for (int64_t until = wf_sim_now(all.world) + within; wf_sim_now(all.world) < until;) {
        if (what()) return true;
        wf_sim_run(all.world, WEFT_MS(50));
    }
    return what();
}

static void crash(unsigned host)
{
    if (all.run[host] + 1 == RUNS) return;
    wf_sim_crash(all.world, host, random_below(&all.random, 2) == 0);
    wf_sim_run(all.world, random_between(&all.random, WEFT_MS(1), WEFT_SEC(2)));
    all.run[host]++;
    for (unsigned i = 0; i < all.hosts; i++) all.sent[host][i] = 0;
    all.leader[host] = weft_nobody();
    all.leads[host] = false;
    start(host);
}

static void fault(void)
{
    struct wf_sim_world *w = all.world;
    unsigned a = random_below(&all.random, all.hosts);
    unsigned b = (a + 1 + random_below(&all.random, all.hosts - 1)) % all.hosts;
    /* Gentle: the link knows it within a second, and then has time to dial again. */
    int64_t span = random_between(&all.random, WEFT_MS(20), all.gentle ? WEFT_MS(1500) : WEFT_SEC(9));
    switch (random_below(&all.random, all.gentle ? 6 : 8)) {
    case 0: wf_sim_reset(w, a, b); break;
    case 1: wf_sim_cut(w, a, b, span); break;
    case 2: wf_sim_cut(w, a, b, span), wf_sim_cut(w, b, a, span); break;
    case 3: wf_sim_freeze(w, a, span); break;
    case 4: wf_sim_step_clock(w, a, b % 2 == 0 ? span * 1000 : -span * 1000); break;
    case 5: wf_sim_slow(w, a, WEFT_MS(10), span); break;
    case 6: crash(a); break;
    case 7: /* the cluster falls into two */
        for (unsigned i = 0; i < all.hosts; i++)
            for (unsigned k = 0; k < all.hosts; k++)
                if ((i <= a % (all.hosts - 1)) != (k <= a % (all.hosts - 1))) wf_sim_cut(w, i, k, span);
        break;
    }
}

static void judge(void)
{
    for (unsigned i = 0; i < all.hosts; i++) {
        const struct wf_transport *t = all.world->host[i].node->transport;
        WANT(t->fatal[0] == '\0');
    }
    for (unsigned i = 0; i < all.hosts; i++)
        for (unsigned k = 0; k < all.hosts; k++)
            for (unsigned r = 0; i != k && r < RUNS * RUNS; r++) {
                const struct counts *c = &all.counts[i][r / RUNS][k][r % RUNS];
                WANT(c->doubled == 0 && c->reordered == 0);
                bool both_live = r == all.run[i] * RUNS + all.run[k]; /* so what is not there is lost, not dead */
                bool told = all.downs[i][k] + all.downs[k][i] > 0;
                WANT(c->missed == 0 || told);
                WANT(!both_live || c->next == COUNT || told);
                WANT(!all.gentle || r > 0 || c->received == COUNT);
            }
    for (unsigned i = 0; all.gentle && i < HOSTS; i++)
        for (unsigned k = 0; k < HOSTS; k++) WANT(all.downs[i][k] == 0);
}

/* Returns the trace. */
static uint64_t run(uint64_t seed)
{
    static struct wf_sim_world world;
    memset(&all, 0, sizeof all);
    all.seed = all.random = seed;
    all.world = &world;
    all.hosts = 3 + random_below(&all.random, HOSTS - 2);
    all.gentle = seed % 2 == 0;
    all.heavy = seed % 5 == 0;
    wf_sim_world_init(&world, seed);
    world.late_permille = 50 * random_below(&all.random, 3);
    world.late = WEFT_MS(200);
    for (unsigned i = 0; i < all.hosts; i++) start(i);
    WANT(happens(all_linked, WEFT_SEC(60)));
    for (unsigned n = 2 + random_below(&all.random, 4); n > 0; n--) {
        wf_sim_run(&world, random_between(&all.random, WEFT_MS(1), WEFT_SEC(1)));
        fault();
        if (all.gentle) wf_sim_run(&world, WEFT_SEC(4)); /* else two together could be a long one */
    }
    WANT(happens(all_sent, WEFT_SEC(600)));
    WANT(happens(all_linked, WEFT_SEC(600)));
    WANT(happens(all_know, WEFT_SEC(60)));
    wf_sim_run(&world, WEFT_SEC(20)); /* what is on its way */
    judge();
    all.gone = random_below(&all.random, all.hosts);
    wf_sim_crash(&world, all.gone, true);
    WANT(happens(is_known_to_be_gone, WEFT_SEC(60)));
    uint64_t trace = world.trace;
    for (unsigned i = 0; i < all.hosts; i++)
        if (i != all.gone) WANT(wf_sim_stop(&world, i, wf_sim_now(&world) + WEFT_SEC(5)) == WEFT_OK);
    wf_sim_world_finish(&world);
    return trace;
}

/* Every eighth twice: it has to be the same run. */
static void run_checked(uint64_t seed)
{
    uint64_t trace = run(seed);
    if (seed % 8 != 0 || run(seed) == trace) return;
    fprintf(stderr, "seed %llu: the second run was another\n", (unsigned long long)seed);
    exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    return run_seeds(
        &(struct seeds){
            .count = 100, .limit = 200, .heap = HOSTS * SIM_NODE + (64 << 20), .log = WEFT_ERROR, .run = run_checked},
        argc, argv);
}

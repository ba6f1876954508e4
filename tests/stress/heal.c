/* tests/stress/heal.c -- a cluster in a simulated world that is cut in two and healed, with the default timings of
 * nodes.
 *
 *     heal [SEEDS [FIRST SEED]]
 *
 * When the two sides can reach each other again they exchange their views: each side has declared the other one down,
 * and members of the minority may have suspected each other. A node whose link to a neighbour was up all the time
 * must not be told that this neighbour is suspect, nor that it is in a minority if its side was not. As soon as all
 * are linked, no node takes another one for suspect or down. */
#include "cluster.h"
#include "sim_world.h"
#include "swim.h"
#include "transport.h"

#include "../sim/seeds.h"
#include "../unit/actors/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { HOSTS_MAX = 12 };

static struct {
    struct wf_sim_world *world;
    uint64_t seed;
    unsigned hosts, few; /* those below `few` are cut off from the others */
    bool healed;
    unsigned suspicions; /* of neighbours, since the heal */
    unsigned minorities; /* what those have been told who have been the majority all the time */
} all;

static void fail(const char *what, int line)
{
    fprintf(stderr, "seed %llu, %u of %u cut off, at %.3f s: not %s (line %d)\n", (unsigned long long)all.seed,
            all.few, all.hosts, (double)wf_sim_now(all.world) / 1e9, what, line);
    exit(EXIT_FAILURE);
}

#define WANT(condition)                               \
    do {                                              \
        if (!(condition)) fail(#condition, __LINE__); \
    } while (0)

static bool same_side(unsigned a, unsigned b)
{
    return (a < all.few) == (b < all.few);
}

static void note(unsigned self, const weft_msg *m)
{
    struct weft_node_news news;
    unsigned other;
    bool many = (self < all.few ? all.few : all.hosts - all.few) * 2 > all.hosts;
    if (all.healed && many && weft_tag(m) == WEFT_TAG_MINORITY) all.minorities++;
    if (weft_node_news_read(m, &news) < 0 || sscanf(news.name, "n%u", &other) != 1) return;
    all.suspicions += all.healed && same_side(self, other) && weft_tag(m) == WEFT_TAG_NODE_SUSPECT;
}

static void watcher(const void *arg, size_t size)
{
    unsigned self;
    weft_msg *m;
    memcpy(&self, arg, size);
    WANT(weft_watch_nodes() == WEFT_OK);
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) note(self, m);
}

static void start(unsigned host)
{
    char url[WF_URL_TEXT], seed[WF_URL_TEXT], name[16];
    wf_sim_url(host, url);
    wf_sim_url(0, seed);
    snprintf(name, sizeof name, "n%u", host);
    const char *listen[] = {url}, *join[] = {seed};
    weft_node_options o = {.name = name,
                           .listen = listen,
                           .listen_count = 1,
                           .join = join,
                           .join_count = host > 0,
                           .partition = WEFT_PARTITION_MAJORITY};
    WANT(wf_sim_start(all.world, host, &o) == WEFT_OK);
    WANT(weft_node_spawn(all.world->host[host].node, NULL, watcher, &host, sizeof host, NULL) == WEFT_OK);
}

static bool linked(bool everybody)
{
    for (unsigned i = 0; i < all.hosts; i++) {
        struct weft_member *members;
        size_t count, up = 0, wanted = 0;
        WANT(weft_members(all.world->host[i].node, &members, &count) == WEFT_OK);
        for (size_t k = 0; k < count; k++) up += members[k].state == WEFT_MEMBER_UP;
        free(members);
        for (unsigned k = 0; k < all.hosts; k++) wanted += everybody || same_side(i, k);
        if (up != wanted) return false;
    }
    return true;
}

/* No node believes that another one is suspect or down. */
static bool trusted(void)
{
    for (unsigned i = 0; i < all.hosts; i++) {
        const struct wf_transport *t = all.world->host[i].node->transport;
        const struct wf_swim *swim = t->cluster->swim;
        for (uint32_t k = 0; k < swim->count; k++)
            if (swim->at[k]->state != WF_SWIM_ALIVE) return false;
    }
    return true;
}

static void run_seed(uint64_t seed)
{
    struct wf_sim_world *w = malloc(sizeof *w);
    memset(&all, 0, sizeof all);
    all.seed = seed;
    all.world = w;
    WANT(w != NULL);
    wf_sim_world_init(w, seed);
    uint64_t random = seed;
    all.hosts = 3 + random_below(&random, HOSTS_MAX - 2);
    all.few = 1 + random_below(&random, all.hosts / 2);
    int64_t span = WEFT_SEC(1) + WEFT_MS(1) * random_below(&random, 60000);
    if (seed % 8 == 0) span += WEFT_SEC(240); /* so long that the many forget the few */
    for (unsigned i = 0; i < all.hosts; i++) start(i);
    for (int i = 0; i < 60 && !linked(true); i++) wf_sim_run(w, WEFT_SEC(1));
    WANT(linked(true));
    for (unsigned i = 0; i < all.hosts; i++)
        for (unsigned k = 0; k < all.hosts; k++)
            if (!same_side(i, k)) wf_sim_cut(w, i, k, span);
    wf_sim_run(w, span);
    all.healed = true;
    for (int i = 0; i < 600 && !linked(true); i++) wf_sim_run(w, WEFT_MS(100));
    WANT(linked(true));
    for (int i = 0; i < 100; i++) {
        wf_sim_run(w, WEFT_MS(100));
        WANT(linked(true) && trusted());
    }
    WANT(all.suspicions == 0);
    WANT(all.minorities == 0);
    for (unsigned i = 0; i < all.hosts; i++) (void)wf_sim_stop(w, i, WEFT_NOW);
    wf_sim_world_finish(w);
    free(w);
}

int main(int argc, char **argv)
{
    static const struct seeds s = {
        .count = 20, .limit = 60, .heap = HOSTS_MAX * SIM_NODE + (48 << 20), .log = WEFT_ERROR, .run = run_seed};
    return run_seeds(&s, argc, argv);
}

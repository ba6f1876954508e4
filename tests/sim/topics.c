/* tests/sim/topics.c -- topics in a simulated cluster: each node publishes versions of its state, retained, and hears
 * those of all. Nothing comes twice or out of order; in the end all have heard the last version of each, and all keep
 * that one for who subscribes later. Beside it each publishes a beat that nobody keeps: in the end all hear those,
 * too, so each node knows what the others listen to. */
#include "kit.h"

/* With `rest`, without beats: then each has published for the last time, unless it starts anew. So nothing that is
 * missing comes by itself. It takes clocks that agree: a node that has lost all cannot know that what it once
 * published is of a later time than now, until it is told. */
#define LAST_AT WEFT_SEC(25) /* of 30, in which faults begin */
static bool rest;

struct state {
    uint32_t node, run, version;
};

/* What has been published outlives a node, as on a disk. */
static uint32_t published[NODES], run[NODES];
static uint32_t heard[NODES][NODES]; /* by the listener of a node, of another */
static uint32_t kept[NODES][NODES];  /* what a new subscriber there got */
static uint32_t beats[NODES], beat_heard[NODES][NODES];
static unsigned nodes;

static void publisher(const void *arg, size_t size)
{
    struct state s = {.node = sim_self(), .run = run[sim_self()]};
    uint64_t random = sim_random();
    char topic[16];
    (void)arg, (void)size;
    snprintf(topic, sizeof topic, "state.n%u", s.node);
    bool once = false;
    while (weft_sleep(weft_after(sim_between(&random, WEFT_MS(200), WEFT_SEC(1)))) != WEFT_ECANCELED) {
        if (rest && once && weft_now() > LAST_AT) continue;
        s.version = published[s.node] + 1;
        if (weft_publish_retained(topic, 1, &s, sizeof s) < 0) continue;
        published[s.node] = s.version;
        once = true;
    }
}

static void listener(const void *arg, size_t size)
{
    unsigned self = sim_self();
    struct state last[NODES] = {0}, s;
    weft_msg *m;
    (void)arg, (void)size;
    memset(heard[self], 0, sizeof heard[self]);
    while (weft_subscribe("state.>", NULL) < 0)
        if (!sim_again()) return;
    for (int rc; (rc = weft_recv(&m, WEFT_FOREVER)) != WEFT_ECANCELED;) {
        if (rc < 0) continue;
        memcpy(&s, weft_data(m), sizeof s);
        weft_msg_free(m);
        struct state *l = &last[s.node];
        if (s.run == l->run && s.version <= l->version)
            weft_sim_fail("n%u hears version %u of n%u after %u", self + 1, s.version, s.node + 1, l->version);
        *l = s;
        heard[self][s.node] = s.version;
    }
}

/* Subscribes now and then, as somebody who comes late. */
static void latecomer(const void *arg, size_t size)
{
    unsigned self = sim_self();
    weft_subscription sub;
    struct state s;
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_sleep(weft_after(WEFT_MS(300))) != WEFT_ECANCELED) {
        if (weft_subscribe("state.>", &sub) < 0) continue;
        while (weft_recv(&m, weft_after(WEFT_MS(1))) == WEFT_OK) {
            memcpy(&s, weft_data(m), sizeof s);
            if (weft_is_retained(m)) kept[self][s.node] = s.version;
            weft_msg_free(m);
        }
        (void)weft_unsubscribe(sub);
    }
}

/* ---- Beats ----------------------------------------------------------------------------------------------------- */

struct beat {
    uint32_t node, number;
};

static void beater(const void *arg, size_t size)
{
    struct beat b = {.node = sim_self()};
    uint64_t random = sim_random();
    char topic[16];
    (void)arg, (void)size;
    snprintf(topic, sizeof topic, "beat.n%u", b.node);
    while (weft_sleep(weft_after(sim_between(&random, WEFT_MS(200), WEFT_SEC(1)))) != WEFT_ECANCELED) {
        b.number = ++beats[b.node];
        (void)weft_publish(topic, 2, &b, sizeof b);
    }
}

/* Subscribes once, so a node that misses it misses it until their link begins anew. */
static void beat_listener(const void *arg, size_t size)
{
    struct beat b;
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_subscribe("beat.*", NULL) < 0)
        if (!sim_again()) return;
    for (int rc; (rc = weft_recv(&m, WEFT_FOREVER)) != WEFT_ECANCELED;) {
        if (rc < 0) continue;
        memcpy(&b, weft_data(m), sizeof b);
        weft_msg_free(m);
        beat_heard[sim_self()][b.node] = b.number;
    }
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    unsigned self = sim_self();
    (void)size;
    rest = args->argc > 1 && strcmp(args->argv[1], "rest") == 0;
    run[self]++;
    if (self >= nodes) nodes = self + 1;
    memset(kept[self], 0, sizeof kept[self]);
    sim_spawn(listener, NULL, 0, NULL);
    sim_spawn(publisher, NULL, 0, NULL);
    sim_spawn(latecomer, NULL, 0, NULL);
    if (!rest) {
        sim_spawn(beat_listener, NULL, 0, NULL);
        sim_spawn(beater, NULL, 0, NULL);
    }
    sim_wait();
}

static bool all_are(uint32_t of[NODES][NODES])
{
    for (unsigned i = 0; i < nodes; i++)
        for (unsigned k = 0; k < nodes; k++)
            if (of[i][k] != published[k] || published[k] == 0) return false;
    return true;
}

static bool all_hear(void *arg)
{
    (void)arg;
    return all_are(heard);
}

static bool all_keep(void *arg)
{
    (void)arg;
    return all_are(kept);
}

/* Asked for the first time when all faults are over: one that was published since then. */
static bool all_hear_beats(void *arg)
{
    static uint32_t before[NODES];
    static bool asked;
    (void)arg;
    if (!asked) memcpy(before, beats, sizeof before);
    asked = true;
    for (unsigned i = 0; i < nodes && !rest; i++)
        for (unsigned k = 0; k < nodes; k++)
            if (beat_heard[i][k] <= before[k]) return false;
    return true;
}

static void checks(void)
{
    weft_sim_eventually("all hear what nobody keeps", all_hear_beats, NULL);
    weft_sim_eventually("all hear the last version of each", all_hear, NULL);
    weft_sim_eventually("all keep the last version of each", all_keep, NULL);
}

WEFT_MODULE(first)
WEFT_SIM(checks)

/* tests/sim/topics.c -- topics in a simulated cluster: each node publishes versions of its state as retained
 * messages, and subscribes to those of all. No message comes twice or out of order; in the end all have received the
 * last version of each node, and all retain it for later subscribers. Each node also publishes a heartbeat that is
 * not retained: in the end all receive these, too, so each node knows the subscriptions of the others. And each asks
 * the others, which publish their answers. */
#include "kit.h"

/* With `rest`, without beats: then each has published for the last time, unless it starts anew. So nothing that is
 * missing comes by itself. It takes clocks that agree: a node that has lost all cannot know that what it once
 * published is of a later time than now, until it is told. */
#define LAST_AT WEFT_SEC(25) /* of 30, in which faults begin */
static bool rest;
/* With `scarce` allocations fail, so an answer may be lost: then no actor sends requests. */
static bool scarce;

struct state {
    uint32_t node, run, version;
};

/* Published versions outlive a node, as if they were on a disk. */
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
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(200), WEFT_SEC(1)))) != WEFT_ECANCELED) {
        if (rest && once && sim_time() > LAST_AT) continue;
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
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(200), WEFT_SEC(1)))) != WEFT_ECANCELED) {
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

/* ---- Questions ------------------------------------------------------------------------------------------------- */

/* Publishes its answer, and then says whether it has: so the asker has the answer before it hears that. */
static void oracle(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_register("oracle") < 0)
        if (!sim_again()) return;
    for (int rc; (rc = weft_recv(&m, WEFT_FOREVER)) != WEFT_ECANCELED;) {
        if (rc < 0) continue;
        int32_t sent = weft_publish(weft_data(m), 3, NULL, 0);
        (void)weft_reply(m, 4, &sent, sizeof sent);
        weft_msg_free(m);
    }
}

static bool is_answered(const char *topic, const char *name)
{
    weft_msg *answer;
    int32_t sent = -1;
    if (weft_call_name(name, 5, topic, strlen(topic) + 1, &answer, weft_after(WEFT_SEC(2))) < 0) return false;
    memcpy(&sent, weft_data(answer), sizeof sent);
    weft_msg_free(answer);
    return sent >= 0;
}

/* Subscribes, asks, and has the answer: a subscription reaches another node before what its actor says next. */
static void asker(const void *arg, size_t size)
{
    uint64_t random = sim_random();
    unsigned self = sim_self(), asked = 0;
    weft_subscription sub;
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(50), WEFT_MS(500)))) != WEFT_ECANCELED) {
        char topic[48], name[24];
        snprintf(topic, sizeof topic, "answer.n%u.%u", self, ++asked);
        snprintf(name, sizeof name, "oracle@n%u", 1 + random_below(&random, nodes));
        if (weft_subscribe(topic, &sub) < 0) continue;
        bool answered = is_answered(topic, name);
        int rc = weft_recv_tag(&m, 3, WEFT_NOW);
        if (rc == WEFT_ECANCELED) return; /* the node stops, so the message stays in the mailbox */
        bool got = rc == WEFT_OK;
        if (got) weft_msg_free(m);
        if (answered && !got) weft_sim_fail("n%u has not got what %s published under %s", self + 1, name, topic);
        (void)weft_unsubscribe(sub);
        while (weft_recv(&m, WEFT_NOW) == WEFT_OK) weft_msg_free(m);
    }
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    unsigned self = sim_self();
    (void)size;
    rest = args->argc > 1 && strcmp(args->argv[1], "rest") == 0;
    scarce = args->argc > 1 && strcmp(args->argv[1], "scarce") == 0;
    run[self]++;
    if (self >= nodes) nodes = self + 1;
    memset(kept[self], 0, sizeof kept[self]);
    sim_spawn(listener, NULL, 0, NULL);
    sim_spawn(publisher, NULL, 0, NULL);
    sim_spawn(latecomer, NULL, 0, NULL);
    if (!rest) {
        sim_spawn(beat_listener, NULL, 0, NULL);
        sim_spawn(beater, NULL, 0, NULL);
        sim_spawn(oracle, NULL, 0, NULL);
        if (!scarce) sim_spawn(asker, NULL, 0, NULL);
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

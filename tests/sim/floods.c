/* tests/sim/floods.c -- too many publications for links and subscribers, in a simulated cluster. Each node publishes
 * in bursts that are larger than a link's queue, and has large retained messages, so that a new link has more to send
 * than its queue can hold. Subscribers of all kinds come and go: slow ones whose oldest messages are dropped, or
 * which are disconnected, and some that unsubscribe at once. Jobs go to a queue group whose members have little
 * space. Messages of one publisher arrive in order, once; a subscriber that loses messages while no link is lost is
 * told their number; no job is done twice; in the end jobs are done, and all nodes know the same retained messages.
 * With `scarce`, for --faults memory: a message that finds no memory where it arrives is lost without notice
 * (docs/transparency.md). */
#include "calm.h"

enum {
    BURST = 620,
    BYTES = 29000, /* of one message: together more than a link holds */
    LARGE = 40,    /* topics with a large retained message, */
    LARGE_BYTES = 240000,
    SMALL = 3, /* and with a small one, of each node */
    BOXES = 40,
    BOX_BYTES = 600000,
    JOBS = 4096,
    SEEN = 64,
    FLOOD = 1,
    JOB = 2,
    STATE = 3
};

struct mail {
    uint32_t node, run, number;
};

static uint32_t run[NODES], number[NODES];
static bool broken; /* a link has ended, or there may be no memory */
static struct {
    uint64_t missing, told;
} listened[NODES];
static uint32_t state[NODES][SMALL]; /* version of the retained message; 0: there is none */
static uint32_t found[NODES][NODES][SMALL];
static uint32_t job, done[JOBS], done_in_the_end;
static unsigned nodes;

/* ---- Floods ---------------------------------------------------------------------------------------------------- */

static void flooder(const void *arg, size_t size)
{
    struct mail is = {.node = sim_self(), .run = run[sim_self()]};
    uint64_t random = sim_random();
    char topic[32];
    uint8_t *bytes = calloc(1, BYTES);
    (void)arg, (void)size;
    if (bytes == NULL || weft_defer(free, bytes) < 0) return;
    snprintf(topic, sizeof topic, "flood.n%u", is.node);
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(100), WEFT_SEC(12)))) != WEFT_ECANCELED) {
        uint32_t count = random_below(&random, 3) == 0 ? BURST : random_below(&random, 20);
        for (uint32_t i = 0; i < count && !is_calm(); i++) {
            is.number = number[is.node] + 1;
            memcpy(bytes, &is, sizeof is);
            if (weft_publish(topic, FLOOD, bytes, BYTES) >= 0) number[is.node]++;
        }
    }
}

/* The last messages received from each run of a publisher. */
struct heard {
    struct mail last[SEEN];
    unsigned count;
};

/* Returns how many are missing before it. */
static uint32_t take(struct heard *h, const weft_msg *m)
{
    struct mail is;
    memcpy(&is, weft_data(m), sizeof is);
    for (unsigned i = 0; i < h->count; i++) {
        struct mail *last = &h->last[i];
        if (last->node != is.node || last->run != is.run) continue;
        uint32_t before = last->number;
        if (is.number <= before) weft_sim_fail("n%u is heard to say %u after %u", is.node + 1, is.number, before);
        *last = is;
        return is.number - before - 1;
    }
    if (h->count < SEEN) h->last[h->count++] = is;
    return 0;
}

/* Hears all that it can, and is told what it has lost. */
static void listener(const void *arg, size_t size)
{
    unsigned self = sim_self();
    struct weft_subscription_news news;
    struct heard h = {.count = 0};
    weft_msg *m;
    (void)arg, (void)size;
    memset(&listened[self], 0, sizeof listened[self]);
    while (weft_subscribe_with("flood.>", &(weft_subscribe_options){0}, NULL) < 0)
        if (!sim_again()) return;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (weft_tag(m) == FLOOD) listened[self].missing += take(&h, m);
        if (weft_subscription_news_read(m, &news) == WEFT_OK) listened[self].told += news.lost;
        weft_msg_free(m);
    }
}

/* Slow, in one way or another, until it is disconnected, or has had enough. */
static void slow_reader(const void *arg, size_t size)
{
    static const weft_slow_policy ways[] = {WEFT_SLOW_DROP_OLDEST, WEFT_SLOW_DISCONNECT, WEFT_SLOW_DROP_NEWEST,
                                            WEFT_SLOW_SUSPEND};
    uint64_t random = sim_random() ^ (uint64_t)weft_now();
    unsigned way = *(const unsigned *)arg % 4;
    weft_subscribe_options o = {.slow = ways[way], .max = ways[way] == WEFT_SLOW_SUSPEND ? 0 : 3};
    (void)size;
    while (weft_sleep(weft_after(random_between(&random, 0, WEFT_SEC(1)))) != WEFT_ECANCELED) {
        weft_subscription sub;
        struct weft_subscription_news news;
        struct heard h = {.count = 0};
        bool over = false;
        if (weft_subscribe_with("flood.*", &o, &sub) < 0) continue;
        for (unsigned left = 1 + random_below(&random, 400); left > 0 && !over; left--) {
            weft_msg *m;
            if (weft_recv(&m, weft_after(WEFT_SEC(5))) < 0) break;
            if (weft_tag(m) == FLOOD) (void)take(&h, m);
            over = weft_subscription_news_read(m, &news) == WEFT_OK && news.kind == WEFT_SUBSCRIPTION_ENDED;
            weft_msg_free(m);
            if (random_below(&random, 8) == 0) (void)weft_sleep(weft_after(random_between(&random, 0, WEFT_MS(50))));
        }
        if (!over && random_below(&random, 2) == 0) return; /* which ends it, too */
        (void)weft_unsubscribe(sub);
        for (weft_msg *m; weft_recv(&m, WEFT_NOW) == WEFT_OK;) weft_msg_free(m);
    }
}

/* Patterns that come and go. */
static void fickle(const void *arg, size_t size)
{
    uint64_t random = sim_random();
    char pattern[32];
    (void)arg, (void)size;
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(1), WEFT_MS(200)))) != WEFT_ECANCELED) {
        weft_subscription sub;
        snprintf(pattern, sizeof pattern, "fickle.%u.*", random_below(&random, 50));
        if (weft_subscribe(pattern, &sub) < 0) continue;
        if (random_below(&random, 3) > 0)
            (void)weft_sleep(weft_after(random_between(&random, WEFT_MS(1), WEFT_MS(500))));
        (void)weft_unsubscribe(sub);
    }
}

/* ---- Large messages -------------------------------------------------------------------------------------------- */

/* Runs on n2. Each box gets one message at a time, so credit never delays it. */
static void box(const void *arg, size_t size)
{
    char name[16];
    weft_msg *m;
    (void)size;
    snprintf(name, sizeof name, "box-%u", *(const unsigned *)arg);
    while (weft_register(name) < 0)
        if (!sim_again()) return;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        const uint8_t *bytes = weft_data(m);
        if (weft_size(m) != BOX_BYTES || bytes[0] != bytes[BOX_BYTES - 1])
            weft_sim_fail("a large message is another");
        weft_msg_free(m);
    }
}

/* Runs on n1. It sends to all boxes at once, which is more than a link holds. */
static void mailer(const void *arg, size_t size)
{
    uint64_t random = sim_random();
    char name[24];
    uint8_t *bytes = calloc(1, BOX_BYTES);
    (void)arg, (void)size;
    if (bytes == NULL || weft_defer(free, bytes) < 0) return;
    while (weft_sleep(weft_after(random_between(&random, WEFT_SEC(1), WEFT_SEC(20)))) != WEFT_ECANCELED) {
        bytes[0] = ++bytes[BOX_BYTES - 1];
        for (unsigned i = 0; i < BOXES && !is_calm(); i++) {
            snprintf(name, sizeof name, "box-%u@n2", i);
            (void)(weft_send_name(name, FLOOD, bytes, BOX_BYTES) < 0);
        }
    }
}

/* ---- Jobs ------------------------------------------------------------------------------------------------------ */

static void job_giver(const void *arg, size_t size)
{
    uint64_t random = sim_random();
    (void)arg, (void)size;
    while (weft_sleep(weft_after(random_between(&random, 0, WEFT_MS(600)))) != WEFT_ECANCELED) {
        for (unsigned i = random_below(&random, 12); i > 0 && job < JOBS - 1; i--) {
            const uint32_t own = ++job; /* others add to it while this one waits for its turn */
            (void)weft_publish("jobs.new", JOB, &own, sizeof own);
        }
    }
}

static void worker(const void *arg, size_t size)
{
    uint64_t random = sim_random() ^ (uint64_t)weft_now();
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_subscribe_with("jobs.*", &(weft_subscribe_options){.queue = "workers"}, NULL) < 0) return;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        uint32_t which;
        memcpy(&which, weft_data(m), sizeof which);
        weft_msg_free(m);
        if (++done[which % JOBS] > 1) weft_sim_fail("job %u is done twice", which);
        if (is_calm()) done_in_the_end++;
        (void)weft_sleep(weft_after(random_between(&random, 0, WEFT_MS(60))));
        if (random_below(&random, 60) == 0) return;
    }
}

/* ---- What is retained ------------------------------------------------------------------------------------------ */

static void keeper_of_large(const void *arg, size_t size)
{
    uint64_t random = sim_random();
    char topic[32];
    uint8_t *bytes = calloc(1, LARGE_BYTES);
    (void)arg, (void)size;
    if (bytes == NULL || weft_defer(free, bytes) < 0) return;
    for (uint32_t i = 0; weft_sleep(weft_after(WEFT_MS(i < LARGE ? 5 : 1500))) != WEFT_ECANCELED; i++) {
        snprintf(topic, sizeof topic, "large.%u", i < LARGE ? i : random_below(&random, LARGE));
        memcpy(bytes, &i, sizeof i);
        if (!is_calm()) (void)weft_publish_retained(topic, STATE, bytes, LARGE_BYTES);
    }
}

static void small_topic(unsigned node, unsigned which, char out[32])
{
    snprintf(out, 32, "small.n%u.%u", node, which);
}

/* One in four messages is removed, by an empty message or by weft_retained_clear. */
static void keeper_of_small(const void *arg, size_t size)
{
    unsigned self = sim_self();
    uint64_t random = sim_random();
    uint32_t version = run[self] * 100000;
    char topic[32];
    (void)arg, (void)size;
    for (unsigned i = 0; weft_sleep(weft_after(random_between(&random, WEFT_MS(1), WEFT_MS(300)))) != WEFT_ECANCELED;
         i++) {
        unsigned which = i < SMALL ? i : random_below(&random, SMALL),
                 kind = i < SMALL ? 7 : random_below(&random, 8);
        small_topic(self, which, topic);
        if (i >= SMALL && is_calm()) continue;
        version++;
        int rc = kind == 0   ? weft_retained_clear(topic)
                 : kind == 1 ? weft_publish_retained(topic, STATE, NULL, 0)
                             : weft_publish_retained(topic, STATE, &version, sizeof version);
        if (rc >= 0) state[self][which] = kind <= 1 ? 0 : version;
    }
}

/* Subscribes late, and notes which retained messages it finds. */
static void finder(const void *arg, size_t size)
{
    unsigned self = sim_self();
    char topic[32];
    (void)arg, (void)size;
    while (weft_sleep(weft_after(WEFT_MS(500))) != WEFT_ECANCELED) {
        for (unsigned i = 0; i < nodes * SMALL; i++) {
            weft_subscription sub;
            weft_msg *m;
            small_topic(i / SMALL, i % SMALL, topic);
            found[self][i / SMALL][i % SMALL] = 0;
            if (weft_subscribe(topic, &sub) < 0) continue;
            (void)weft_unsubscribe(sub);
            while (weft_recv(&m, WEFT_NOW) == WEFT_OK) {
                if (weft_size(m) == sizeof(uint32_t)) memcpy(&found[self][i / SMALL][i % SMALL], weft_data(m), 4);
                weft_msg_free(m);
            }
        }
    }
}

/* ---- The node -------------------------------------------------------------------------------------------------- */

struct post {
    weft_actor *body;
    unsigned which;
    uint32_t mailbox;
};

/* Starts the actor again each time it has ended. */
static void keep(const void *arg, size_t size)
{
    struct post p;
    weft_monitor_ref ref;
    weft_msg *m;
    memcpy(&p, arg, size);
    do {
        weft_spawn_options o = {.monitor = &ref, .mailbox_max = p.mailbox};
        if (weft_spawn(NULL, p.body, &p.which, sizeof p.which, &o) < 0) continue;
        if (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
    } while (sim_again());
}

static void watch_links(const void *arg, size_t size)
{
    (void)arg, (void)size;
    sim_watch_links(&broken);
}

static void first(const void *arg, size_t size)
{
    unsigned self = sim_self();
    static const struct post posts[] = {
        {flooder, 0, 0},         {listener, 0, 0}, {slow_reader, 0, 0}, {slow_reader, 1, 0}, {slow_reader, 2, 0},
        {slow_reader, 3, 4},     {fickle, 0, 0},   {job_giver, 0, 0},   {worker, 0, 2},      {worker, 1, 1},
        {keeper_of_small, 0, 0}, {finder, 0, 0},   {watch_links, 0, 0}};
    const struct weft_args *args = arg;
    (void)size;
    run[self]++;
    broken |= run[self] > 1 || (args->argc > 1 && strcmp(args->argv[1], "scarce") == 0);
    if (self >= nodes) nodes = self + 1;
    for (size_t i = 0; i < sizeof posts / sizeof posts[0]; i++) sim_spawn(keep, &posts[i], sizeof posts[i], NULL);
    if (self == 0) sim_spawn(keep, &(struct post){.body = keeper_of_large}, sizeof(struct post), NULL);
    if (self == 0) sim_spawn(keep, &(struct post){.body = mailer}, sizeof(struct post), NULL);
    for (unsigned i = 0; i < BOXES && self == 1; i++) sim_spawn(box, &i, sizeof i, NULL);
    sim_wait();
}

/* ---- What has to be true --------------------------------------------------------------------------------------- */

/* Asked for the first time when all faults are over. */
static bool all_were_told(void *arg)
{
    (void)arg;
    calm_after(WEFT_SEC(15));
    if (weft_now() < calm_at + WEFT_SEC(5)) return false;
    for (unsigned i = 0; i < nodes && !broken; i++)
        if (listened[i].missing > listened[i].told) return false;
    return true;
}

static bool jobs_are_done(void *arg)
{
    (void)arg;
    return done_in_the_end >= 20 || job >= JOBS - 1;
}

static bool all_find(void *arg)
{
    (void)arg;
    if (weft_now() < calm_at + WEFT_SEC(5)) return false;
    for (unsigned i = 0; i < nodes; i++)
        if (memcmp(found[i], state, sizeof state) != 0) return false;
    return true;
}

static void checks(void)
{
    weft_sim_eventually("subscribers that lost messages were told", all_were_told, NULL);
    weft_sim_eventually("jobs are done", jobs_are_done, NULL);
    weft_sim_eventually("all find what is retained", all_find, NULL);
}

WEFT_MODULE(first)
WEFT_SIM(checks)

/* tests/sim/groups.c -- a group in a simulated cluster: members join and leave on all nodes, each node watches the
 * group, and sends to all members. Each notification comes once, and they are consistent; messages arrive in order,
 * once; in the end all nodes know the members that exist. */
#include "kit.h"

enum { SLOTS = 2, SEEN = 256, SAY = 1 };

static weft_pid member[NODES][SLOTS]; /* what is true: nobody, if that one is none now */
struct watch {
    weft_pid who[SEEN];
    uint32_t count;
};
static struct watch watched[NODES];
static weft_pid known[NODES][SEEN]; /* what weft_group_members says there */
static int known_count[NODES];
static unsigned nodes;

/* ---- Members --------------------------------------------------------------------------------------------------- */

/* Numbers of each sender grow. Senders of nodes that are gone leave their place to others. */
static void take(weft_pid sender[SEEN], uint32_t last[SEEN], const weft_msg *m)
{
    uint32_t number, i = 0;
    weft_pid from = weft_from(m);
    memcpy(&number, weft_data(m), sizeof number);
    while (i < SEEN && !weft_pid_is_nobody(sender[i]) && !weft_pid_equal(sender[i], from)) i++;
    if (i == SEEN) return;
    if (number <= last[i]) weft_sim_fail("a member hears %u after %u of one sender", number, last[i]);
    sender[i] = from;
    last[i] = number;
}

static void listen(weft_pid sender[SEEN], uint32_t last[SEEN], int64_t until)
{
    weft_msg *m;
    for (int rc; (rc = weft_recv(&m, until)) != WEFT_ECANCELED && rc != WEFT_ETIMEDOUT;) {
        if (rc < 0) continue;
        if (weft_tag(m) == SAY) take(sender, last, m);
        weft_msg_free(m);
    }
}

static void gone(void *arg)
{
    *(weft_pid *)arg = weft_nobody();
}

static void play(const void *arg, size_t size)
{
    unsigned slot = *(const unsigned *)arg, self = sim_self();
    uint64_t random = sim_random();
    weft_pid *mine = &member[self][slot], sender[SEEN] = {{0, 0}};
    uint32_t last[SEEN] = {0};
    (void)size;
    if (weft_defer(gone, mine) < 0) return;
    do {
        if (weft_group_join("g") == WEFT_OK) *mine = weft_self();
        listen(sender, last, weft_after(random_between(&random, WEFT_MS(100), WEFT_SEC(4))));
        if (random_below(&random, 3) == 0) return; /* which is leaving, too */
        if (weft_group_leave("g") == WEFT_OK) *mine = weft_nobody();
        listen(sender, last, weft_after(random_between(&random, WEFT_MS(100), WEFT_SEC(2))));
    } while (weft_sleep(WEFT_NOW) != WEFT_ECANCELED);
}

/* Starts one member after the other. */
static void place(const void *arg, size_t size)
{
    weft_pid who;
    weft_monitor_ref ref;
    weft_msg *m;
    while (weft_sleep(weft_after(WEFT_MS(200))) != WEFT_ECANCELED) {
        if (weft_spawn(&who, play, arg, size, NULL) < 0) continue;
        if (weft_monitor(who, &ref) < 0) continue;
        if (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
    }
}

/* ---- Who looks on ---------------------------------------------------------------------------------------------- */

static void on_news(struct watch *w, const struct weft_group_news *news, bool join)
{
    uint32_t i = 0;
    while (i < w->count && !weft_pid_equal(w->who[i], news->who)) i++;
    if (join == (i < w->count)) weft_sim_fail("a watcher hears twice that one has %s", join ? "joined" : "left");
    if (join && w->count < SEEN) w->who[w->count++] = news->who;
    if (!join && i < w->count) w->who[i] = w->who[--w->count];
}

static void watcher(const void *arg, size_t size)
{
    struct watch *w = &watched[sim_self()];
    struct weft_group_news news;
    weft_msg *m;
    (void)arg, (void)size;
    w->count = 0;
    while (weft_group_watch("g") < 0)
        if (weft_sleep(weft_after(WEFT_MS(50))) == WEFT_ECANCELED) return;
    for (int rc; (rc = weft_recv(&m, WEFT_FOREVER)) != WEFT_ECANCELED;) {
        if (rc < 0) continue;
        if (weft_group_news_read(m, &news) == WEFT_OK) on_news(w, &news, weft_tag(m) == WEFT_TAG_GROUP_JOIN);
        weft_msg_free(m);
    }
}

static void sender(const void *arg, size_t size)
{
    unsigned self = sim_self();
    uint32_t number = 0;
    (void)arg, (void)size;
    while (weft_sleep(weft_after(WEFT_MS(200))) != WEFT_ECANCELED) {
        number++;
        (void)weft_group_send("g", SAY, &number, sizeof number);
        known_count[self] = weft_group_members("g", known[self], SEEN);
    }
}

static void first(const void *arg, size_t size)
{
    unsigned self = sim_self();
    (void)arg, (void)size;
    if (self >= nodes) nodes = self + 1;
    for (unsigned i = 0; i < SLOTS; i++) member[self][i] = weft_nobody();
    sim_spawn(watcher, NULL, 0, NULL);
    sim_spawn(sender, NULL, 0, NULL);
    for (unsigned i = 0; i < SLOTS; i++) sim_spawn(place, &i, sizeof i, NULL);
    sim_wait();
}

/* ---- What has to be true --------------------------------------------------------------------------------------- */

static bool are_the_members(const weft_pid *who, int count)
{
    int there = 0;
    for (unsigned i = 0; i < nodes * SLOTS; i++) {
        weft_pid m = member[i / SLOTS][i % SLOTS];
        if (weft_pid_is_nobody(m)) continue;
        bool found = false;
        for (int k = 0; k < count; k++) found |= weft_pid_equal(who[k], m);
        if (!found) return false;
        there++;
    }
    return there == count;
}

static bool all_know(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < nodes; i++)
        if (!are_the_members(known[i], known_count[i])) return false;
    return true;
}

static bool all_were_told(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < nodes; i++)
        if (!are_the_members(watched[i].who, (int)watched[i].count)) return false;
    return true;
}

static void checks(void)
{
    weft_sim_eventually("all nodes know the members", all_know, NULL);
    weft_sim_eventually("all watchers were told of the members", all_were_told, NULL);
}

WEFT_MODULE(first)
WEFT_SIM(checks)

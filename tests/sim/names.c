/* tests/sim/names.c -- global names in a simulated cluster: on each node several actors want the same few names, hold
 * one for a while, unregister it, end with it, or register it again when they have lost it. Other actors wait until a
 * name has a holder. In the end no actor gives up a name any more: then each name has one holder, which knows it, all
 * others that have held it were told that they have lost it, and each node finds that holder. With `crowd` a node
 * also has thousands of other names, which change all the time, so that a new link has much to send; in the end all
 * nodes have the same number of them. */
#include "calm.h"

enum { NAMES = 2, WANT = 3 /* contenders for a name on a node */, CROWD = 4500 };

static weft_pid holder[NODES][NAMES][WANT]; /* the contender, while it believes that it holds the name */
static weft_pid found[NODES][NAMES];        /* what a look-up says there */
static int64_t found_at[NODES];
static uint32_t members[NODES]; /* of the crowd that are found there */
static uint32_t crowd;          /* that there are */
static unsigned nodes;
static bool with_crowd;

static const char *name_of(unsigned name)
{
    static const char *const names[NAMES] = {"leader", "clock"};
    return names[name % NAMES];
}

/* ---- Contenders ------------------------------------------------------------------------------------------------ */

static void let_go(void *arg)
{
    *(weft_pid *)arg = weft_nobody();
}

/* Whether it is told that it has lost the name. News of a loss may be old, if it has the name again. */
static bool is_lost(unsigned name, const weft_msg *m)
{
    struct weft_name_lost lost;
    weft_pid has;
    if (weft_name_lost_read(m, &lost) < 0 || strcmp(lost.name, name_of(name)) != 0) return false;
    if (weft_pid_equal(lost.winner, weft_self())) weft_sim_fail("an actor loses a name to itself");
    return weft_whereis(name_of(name), &has) < 0 || !weft_pid_equal(has, weft_self());
}

enum outcome { KEPT, LOST, STOPPED };

/* Holds the name for that long, or until the name is lost; when the scenario is calm it does not release it. */
static enum outcome hold(unsigned name, int64_t until)
{
    for (;;) {
        weft_msg *m;
        int rc = weft_recv(&m, is_calm() ? WEFT_FOREVER : until);
        if (rc == WEFT_ETIMEDOUT && is_calm()) continue;
        if (rc < 0) return rc == WEFT_ETIMEDOUT ? KEPT : STOPPED;
        bool lost = is_lost(name, m);
        weft_msg_free(m);
        if (lost) return LOST;
    }
}

static void contend(const void *arg, size_t size)
{
    unsigned which = *(const unsigned *)arg, name = which / WANT % NAMES;
    uint64_t random = sim_random() ^ (uint64_t)weft_now();
    weft_pid *mine = &holder[sim_self()][name][which % WANT];
    (void)size;
    if (weft_defer(let_go, mine) < 0) return;
    do {
        if (weft_register_global(name_of(name)) < 0) continue;
        *mine = weft_self();
        bool long_time = random_below(&random, 3) == 0;
        int64_t until = weft_after(random_between(&random, WEFT_MS(50), long_time ? WEFT_SEC(120) : WEFT_SEC(4)));
        enum outcome was = hold(name, until);
        *mine = weft_nobody();
        if (was == STOPPED) return;
        if (was == LOST) continue; /* it wants it back */
        if (random_below(&random, 4) == 0) return;
        /* It may have lost it this moment. */
        int rc = weft_unregister(name_of(name));
        if (rc < 0 && rc != WEFT_ENOACTOR) weft_sim_fail("a name cannot be given back: %s", weft_strerror(rc));
    } while (weft_sleep(weft_after(random_between(&random, WEFT_MS(10), WEFT_MS(400)))) != WEFT_ECANCELED);
}

/* Starts one actor after the other; the first one at once, when the node has no links yet. */
static void place(const void *arg, size_t size)
{
    weft_monitor_ref ref;
    weft_msg *m;
    do {
        if (weft_spawn(NULL, contend, arg, size, &(weft_spawn_options){.monitor = &ref}) < 0) continue;
        if (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
    } while (sim_again());
}

/* ---- Who looks, and who waits ---------------------------------------------------------------------------------- */

static void look(const void *arg, size_t size)
{
    unsigned self = sim_self();
    (void)arg, (void)size;
    do {
        for (unsigned i = 0; i < NAMES; i++)
            if (weft_whereis(name_of(i), &found[self][i]) < 0) found[self][i] = weft_nobody();
        found_at[self] = weft_now();
    } while (weft_sleep(weft_after(WEFT_MS(50))) != WEFT_ECANCELED);
}

static void await(const void *arg, size_t size)
{
    uint64_t random = sim_random();
    (void)arg, (void)size;
    do {
        weft_pid who;
        unsigned name = random_below(&random, NAMES);
        int64_t deadline = weft_after(random_between(&random, WEFT_MS(1), WEFT_SEC(5)));
        int rc = weft_await_name(name_of(name), &who, deadline);
        if (rc == WEFT_OK && weft_pid_is_nobody(who)) weft_sim_fail("who waits for a name finds nobody");
        if (rc == WEFT_ETIMEDOUT && weft_now() < deadline) weft_sim_fail("who waits for a name gives up too early");
    } while (weft_sleep(weft_after(random_between(&random, WEFT_MS(10), WEFT_MS(500)))) != WEFT_ECANCELED);
}

/* ---- The crowd ------------------------------------------------------------------------------------------------- */

static bool member(uint32_t number, bool add)
{
    char name[32];
    snprintf(name, sizeof name, "m%u", number);
    return (add ? weft_register_global(name) : weft_unregister(name)) == WEFT_OK;
}

/* Runs on n1: holds all numbers from `first` on, and again and again gives the lowest up for a new highest one. */
static void have_crowd(const void *arg, size_t size)
{
    uint32_t first = 0, next = 0;
    (void)arg, (void)size;
    crowd = 0;
    do {
        for (int i = 0; i < 500 && next - first < CROWD && member(next, true); i++, next++) crowd++;
        if (!is_calm() && next - first == CROWD && member(first, false)) first++, crowd--;
    } while (weft_sleep(weft_after(WEFT_MS(50))) != WEFT_ECANCELED);
}

/* Elsewhere: how many of the numbers are found, up to the one behind which there are none. Only in the end, as it
 * takes long. */
static void count_crowd(const void *arg, size_t size)
{
    unsigned self = sim_self();
    uint32_t first = 0;
    char name[32];
    weft_pid who;
    (void)arg, (void)size;
    while (weft_sleep(weft_after(WEFT_SEC(2))) != WEFT_ECANCELED) {
        if (!is_calm()) continue;
        uint32_t count = 0, last = first;
        for (uint32_t i = first; i < last + 4000; i++) {
            snprintf(name, sizeof name, "m%u", i);
            if (weft_whereis(name, &who) == WEFT_OK) {
                if (count++ == 0) first = i;
                last = i;
            }
            if (i % 1000 == 0) (void)weft_yield();
        }
        members[self] = count;
    }
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    unsigned self = sim_self();
    (void)size;
    with_crowd = args->argc > 1 && strcmp(args->argv[1], "crowd") == 0;
    if (self >= nodes) nodes = self + 1;
    members[self] = 0;
    memset(holder[self], 0, sizeof holder[self]);
    for (unsigned i = 0; i < NAMES * WANT; i++) sim_spawn(place, &i, sizeof i, NULL);
    sim_spawn(look, NULL, 0, NULL);
    sim_spawn(await, NULL, 0, NULL);
    if (with_crowd) sim_spawn(self == 0 ? have_crowd : count_crowd, NULL, 0, NULL);
    sim_wait();
}

static weft_pid only_holder(unsigned name)
{
    weft_pid one = weft_nobody();
    for (unsigned i = 0; i < nodes * WANT; i++) {
        weft_pid who = holder[i / WANT][name][i % WANT];
        if (weft_pid_is_nobody(who)) continue;
        if (!weft_pid_is_nobody(one)) return weft_nobody();
        one = who;
    }
    return one;
}

/* Asked for the first time when all faults are over: since then links have become whole again, and names settled. */
static bool all_agree(void *arg)
{
    (void)arg;
    calm_after(WEFT_SEC(10));
    if (weft_now() < calm_at + WEFT_SEC(10)) return false;
    for (unsigned name = 0; name < NAMES; name++) {
        weft_pid one = only_holder(name);
        if (weft_pid_is_nobody(one)) return false;
        for (unsigned i = 0; i < nodes; i++)
            if (!weft_pid_equal(found[i][name], one) || found_at[i] < calm_at) return false;
    }
    return true;
}

static bool crowd_is_known(void *arg)
{
    (void)arg;
    for (unsigned i = 1; i < nodes && with_crowd; i++)
        if (members[i] != crowd || crowd != CROWD) return false;
    return true;
}

static void checks(void)
{
    weft_sim_eventually("each name has one holder, which all find", all_agree, NULL);
    weft_sim_eventually("all know the names of the crowd", crowd_is_known, NULL);
}

WEFT_MODULE(first)
WEFT_SIM(checks)

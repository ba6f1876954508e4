/* tests/sim/leaving.c -- nodes of a simulated cluster that leave in order while traffic goes on, one after the other, and
 * come back.
 *
 *     sim_leaving [SEEDS [FIRST SEED]]
 *
 * All nodes send, publish and call all the time, in bursts, and one of them has a global name. In three of four seeds the
 * connections of the leaving node are reset meanwhile, or nodes are slow. When weft_node_stop has returned:
 *
 *     all that the node has sent, published and answered has arrived at each node that stays, in order and once, unless
 *     that takes longer than a node has time for when it leaves, as with drawn limits of a few bytes; publications may
 *     be missing if the node has counted that a full link has dropped some;
 *     each of these was notified that the node has left, and not that it is lost, under the same condition;
 *     an actor that was notified no longer finds the name at that node; another node has it soon. */
#include "sim_world.h"

#include "seeds.h"
#include "transport.h"
#include "../unit/actors/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { HOSTS_MAX = 5, ROUNDS = 6, LIVES = HOSTS_MAX + ROUNDS, BURST = 40, ADD = 1, WORD = 2, SAID = 3 };
#define SETTLED WEFT_MS(100) /* what has arrived was received by then, unless the node is slow */

/* Between two runs of nodes, the sender's first. */
struct traffic {
    uint64_t sent, got, heard /* the last publication */, replied, answered;
};

static struct {
    struct wf_sim_world *world;
    uint64_t seed, random;
    unsigned hosts, lives;
    unsigned life[HOSTS_MAX];                  /* the run of the node that is on that host */
    uint64_t incarnation[LIVES];               /* of that run */
    int64_t leaving[LIVES];                    /* when it was asked to stop; 0: not yet */
    int64_t left[LIVES];                       /* when it had stopped */
    uint64_t published[LIVES], dropped[LIVES]; /* for each node that was to get it, because the link was full */
    bool told[LIVES][LIVES];                   /* the first was notified that the second one has left */
    struct traffic traffic[LIVES][LIVES];
    uint64_t found[LIVES];       /* the incarnation at which that run finds the name; 0: nowhere */
    bool disturbed;              /* some nodes are slow now and then, and connections are reset */
    bool paused;                 /* nodes neither send nor publish, until the links have sent what waits */
    unsigned leaver;             /* the host whose node leaves now */
    int64_t reset_at[HOSTS_MAX]; /* when its connection with that host is reset; 0: not again */
    bool over;                   /* the run is, and its nodes end anyhow */
} all;

static void fail(const char *what, int line)
{
    fprintf(stderr, "seed %llu, at %.3f s: not %s (line %d)\n", (unsigned long long)all.seed,
            (double)wf_sim_now(all.world) / 1e9, what, line);
    exit(EXIT_FAILURE);
}

#define WANT(condition)                               \
    do {                                              \
        if (!(condition)) fail(#condition, __LINE__); \
    } while (0)

/* ---- What runs on each node ------------------------------------------------------------------------------------ */

/* What an actor is given. */
struct role {
    unsigned life, other; /* `other`: the host that it talks to */
};

struct numbered {
    uint64_t life, number;
};

static struct role role_of(const void *arg)
{
    struct role r;
    memcpy(&r, arg, sizeof r);
    return r;
}

static bool rest(int64_t most)
{
    return weft_sleep(weft_after(random_between(&all.random, WEFT_MS(1), most))) != WEFT_ECANCELED;
}

static uint32_t burst(void)
{
    return all.paused ? 0 : random_below(&all.random, BURST);
}

static void counter(const void *arg, size_t size)
{
    struct role r = role_of(arg);
    weft_msg *m;
    (void)size;
    WANT(weft_subscribe("said", NULL) == WEFT_OK && weft_register("counter") == WEFT_OK);
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        struct numbered n;
        WANT(weft_size(m) == sizeof n);
        memcpy(&n, weft_data(m), sizeof n);
        struct traffic *from = &all.traffic[n.life][r.life];
        if (weft_tag(m) == WORD) {
            WANT(n.number == from->got + 1);
            from->got = n.number;
        } else if (weft_tag(m) == SAID) {
            WANT(n.number == from->heard + 1 || from->heard == 0 ||
                 (n.number > from->heard && all.dropped[n.life] > 0));
            from->heard = n.number;
        } else {
            n.number = r.life;
            all.traffic[r.life][n.life].replied += weft_reply(m, ADD, &n, sizeof n) == WEFT_OK;
        }
    }
}

static int ask(const struct role *r, weft_pid *out)
{
    char name[32];
    weft_msg *m = NULL;
    struct numbered n = {.life = r->life};
    snprintf(name, sizeof name, "counter@n%u", r->other);
    int rc = weft_call_name(name, ADD, &n, sizeof n, &m, weft_after(WEFT_SEC(60)));
    WANT(rc == WEFT_OK || rc == WEFT_ENONODE || rc == WEFT_ENOACTOR || rc == WEFT_ENOREPLY || rc == WEFT_ECANCELED);
    if (rc < 0) return rc;
    memcpy(&n, weft_data(m), sizeof n);
    all.traffic[n.number][r->life].answered++;
    *out = weft_from(m);
    weft_msg_free(m);
    return rc;
}

static void caller(const void *arg, size_t size)
{
    struct role r = role_of(arg);
    weft_pid to;
    (void)size;
    do weft_ignore(ask(&r, &to));
    while (rest(WEFT_MS(20)));
}

static unsigned life_of(uint64_t incarnation)
{
    unsigned i = 0;
    while (i < all.lives && all.incarnation[i] != incarnation) i++;
    WANT(i < all.lives);
    return i;
}

/* To one run of that node after the other. */
static void sender(const void *arg, size_t size)
{
    struct role r = role_of(arg);
    (void)size;
    for (;;) {
        weft_pid to;
        int rc;
        while ((rc = ask(&r, &to)) != WEFT_OK)
            if (rc == WEFT_ECANCELED || !rest(WEFT_MS(20))) return;
        struct traffic *t = &all.traffic[r.life][life_of(to.node)];
        while (rc == WEFT_OK) {
            for (uint32_t i = burst(); i > 0 && rc == WEFT_OK; i--) {
                struct numbered n = {r.life, t->sent + 1};
                rc = weft_send(to, WORD, &n, sizeof n);
                t->sent += rc == WEFT_OK;
            }
            if (!rest(WEFT_MS(20))) return;
        }
    }
}

static void publisher(const void *arg, size_t size)
{
    struct role r = role_of(arg);
    (void)size;
    do {
        for (uint32_t i = burst(); i > 0; i--) {
            struct numbered n = {r.life, ++all.published[r.life]};
            WANT(weft_publish("said", SAID, &n, sizeof n) >= 0);
        }
    } while (rest(WEFT_MS(20)));
}

/* Has the global name, or waits for the end of the one that has it. */
static void keeper(const void *arg, size_t size)
{
    weft_pid holder;
    weft_msg *m;
    (void)arg, (void)size;
    for (;;) {
        bool again = false;
        int rc = weft_register_global("ledger");
        WANT(rc == WEFT_OK || rc == WEFT_EEXIST);
        if (rc != WEFT_OK && (weft_whereis("ledger", &holder) < 0 || weft_monitor(holder, NULL) < 0)) again = true;
        while (!again) {
            if (weft_recv(&m, WEFT_FOREVER) < 0) return;
            again = weft_tag(m) == WEFT_TAG_DOWN || weft_tag(m) == WEFT_TAG_NAME_LOST;
            weft_msg_free(m);
        }
    }
}

static void finder(const void *arg, size_t size)
{
    struct role r = role_of(arg);
    (void)size;
    do {
        weft_pid holder;
        all.found[r.life] = weft_whereis("ledger", &holder) < 0 ? 0 : holder.node;
    } while (rest(WEFT_MS(20)));
}

static bool leaves_in_time(unsigned gone)
{
    int64_t until = all.left[gone] != 0 ? all.left[gone] : wf_sim_now(all.world);
    return until - all.leaving[gone] < WF_LEAVE_TIME;
}

static void watcher(const void *arg, size_t size)
{
    struct role r = role_of(arg);
    struct weft_node_news news;
    weft_msg *m;
    weft_pid holder;
    (void)size;
    WANT(weft_watch_nodes() == WEFT_OK);
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        if (weft_tag(m) != WEFT_TAG_NODE_DOWN || weft_node_news_read(m, &news) < 0) continue;
        if (all.leaving[r.life] != 0 || all.over) continue; /* this node leaves itself, so its links end */
        unsigned gone = life_of(news.incarnation);
        WANT(all.leaving[gone] != 0);
        if (leaves_in_time(gone)) WANT(strcmp(news.reason, "left") == 0);
        WANT(weft_whereis("ledger", &holder) < 0 || holder.node != news.incarnation);
        all.told[r.life][gone] = true;
    }
}

/* ---- The world ------------------------------------------------------------------------------------------------- */

static void spawn(unsigned host, weft_actor *body, unsigned other)
{
    struct role r = {all.life[host], other};
    WANT(weft_node_spawn(all.world->host[host].node, NULL, body, &r, sizeof r, NULL) == WEFT_OK);
}

static void start(unsigned host)
{
    char url[WF_URL_TEXT], seed[WF_URL_TEXT], name[16];
    wf_sim_url(host, url);
    wf_sim_url((host + 1) % all.hosts, seed);
    snprintf(name, sizeof name, "n%u", host);
    const char *listen[] = {url}, *join[] = {seed};
    weft_node_options o = {.name = name, .listen = listen, .listen_count = 1, .join = join, .join_count = 1};
    WANT(wf_sim_start(all.world, host, &o) == WEFT_OK);
    all.life[host] = all.lives++;
    all.incarnation[all.life[host]] = weft_node_incarnation(all.world->host[host].node);
    spawn(host, counter, host);
    spawn(host, keeper, host);
    spawn(host, finder, host);
    spawn(host, watcher, host);
    spawn(host, publisher, host);
    for (unsigned other = 0; other < all.hosts; other++) {
        spawn(host, caller, other);
        spawn(host, sender, other);
    }
}

static bool linked(void)
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

/* Also in the midst of weft_node_stop. */
static void after_turn(struct wf_sim_world *w)
{
    for (unsigned host = 0; host < all.hosts; host++) {
        const struct wf_transport *t = w->host[host].node == NULL ? NULL : w->host[host].node->transport;
        uint64_t dropped = t == NULL ? 0 : atomic_load_explicit(&t->dropped_full, memory_order_relaxed);
        all.dropped[all.life[host]] = WF_MAX(all.dropped[all.life[host]], dropped);
    }
    for (unsigned other = 0; other < all.hosts; other++) {
        if (all.reset_at[other] == 0 || wf_sim_now(w) < all.reset_at[other]) continue;
        all.reset_at[other] = 0;
        wf_sim_reset(w, all.leaver, other);
    }
}

/* Faults that the time which a node has for leaving is enough for. */
static void disturb(unsigned host)
{
    all.leaver = host;
    for (unsigned other = 0; other < all.hosts; other++) {
        if (other == host) continue;
        switch (random_below(&all.random, 4)) {
        case 0: all.reset_at[other] = wf_sim_now(all.world) + random_between(&all.random, 1, WEFT_MS(20)); break;
        case 1: wf_sim_slow(all.world, other, WEFT_MS(2), WEFT_SEC(1)); break;
        default: break;
        }
    }
    if (random_below(&all.random, 4) == 0) wf_sim_slow(all.world, host, WEFT_MS(2), WEFT_SEC(1));
}

/* The names of what has not arrived yet at one of those that stay; NULL: nothing. */
static const char *missing(unsigned gone)
{
    for (unsigned host = 0; host < all.hosts; host++) {
        unsigned life = all.life[host];
        const struct traffic *t = &all.traffic[gone][life];
        if (life == gone) continue;
        if (t->got != t->sent) return "all messages have arrived";
        if (t->heard != 0 && t->heard != all.published[gone] && all.dropped[gone] == 0)
            return "all publications have arrived";
        if (t->answered != t->replied) return "all answers have arrived";
        if (!all.told[life][gone]) return "all were notified";
    }
    return NULL;
}

/* All find the name, at the same one of those that stay. */
static bool is_found(unsigned gone)
{
    uint64_t at = all.found[all.life[(gone + 1) % all.hosts]];
    bool stays = false;
    for (unsigned host = 0; host < all.hosts; host++) {
        if (host == gone) continue;
        if (all.found[all.life[host]] != at) return false;
        stays |= at == all.incarnation[all.life[host]];
    }
    return stays;
}

static void leave(unsigned host)
{
    unsigned gone = all.life[host];
    all.leaving[gone] = wf_sim_now(all.world);
    WANT(wf_sim_stop(all.world, host, weft_after(WEFT_SEC(10))) == WEFT_OK);
    all.left[gone] = wf_sim_now(all.world);
    bool in_time = leaves_in_time(gone);
    wf_sim_run(all.world, SETTLED);
    for (int i = 0; i < (all.disturbed ? 20 : 0) && missing(gone) != NULL; i++) wf_sim_run(all.world, SETTLED);
    if (in_time && missing(gone) != NULL) fail(missing(gone), __LINE__);
    for (int i = 0; i < 20 && !is_found(host); i++) wf_sim_run(all.world, SETTLED);
    /* Names follow what was sent before them. With limits of a few bytes that may be more than links can carry. */
    all.paused = !in_time || limits_are_drawn;
    for (int i = 0; i < (all.paused ? 3000 : 0) && !is_found(host); i++) wf_sim_run(all.world, SETTLED);
    WANT(is_found(host));
    all.paused = false;
}

static void run_seed(uint64_t seed)
{
    struct wf_sim_world *w = malloc(sizeof *w);
    memset(&all, 0, sizeof all);
    all.seed = seed;
    all.world = w;
    WANT(w != NULL);
    wf_sim_world_init(w, seed);
    w->after_turn = after_turn;
    all.random = seed;
    all.disturbed = seed % 4 != 0;
    w->delay_max = random_between(&all.random, WEFT_MS(1), WEFT_MS(20));
    all.hosts = 3 + random_below(&all.random, HOSTS_MAX - 2);
    for (unsigned i = 0; i < all.hosts; i++) start(i);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned host = random_below(&all.random, all.hosts);
        for (int i = 0; i < 600 && !linked(); i++) wf_sim_run(w, WEFT_MS(100));
        WANT(linked());
        wf_sim_run(w, random_between(&all.random, WEFT_MS(10), WEFT_SEC(1)));
        if (all.disturbed) disturb(host);
        leave(host);
        memset(all.reset_at, 0, sizeof all.reset_at);
        start(host);
    }
    all.over = true;
    for (unsigned i = 0; i < all.hosts; i++) (void)wf_sim_stop(w, i, WEFT_NOW);
    wf_sim_world_finish(w);
    free(w);
}

int main(int argc, char **argv)
{
    static const struct seeds s = {
        .count = 20, .limit = 60, .heap = HOSTS_MAX * SIM_NODE + (64 << 20), .log = WEFT_SILENT, .run = run_seed};
    return run_seeds(&s, argc, argv);
}

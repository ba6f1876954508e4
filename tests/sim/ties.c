/* tests/sim/ties.c -- monitors, links and calls in a simulated cluster. Actors on all nodes monitor and link each
 * other, undo that, call each other, and end. Several senders on each node also fill small mailboxes, whose actors
 * are slow and end now and then; the senders are stopped and killed while they wait. Each DOWN comes once, and not
 * after the monitor was removed; a reply is the one to the request; messages of one sender arrive in order, once. No
 * message is missing, unless a link has ended, or with `scarce`, for --faults memory (docs/transparency.md). In the
 * end each actor that monitors, or is linked with, an actor that has ended knows it. No sender waits for ever. */
#include "calm.h"

enum {
    PLAYERS = 4,
    TIES = 6,
    ASK = 1,
    MAIL = 2,
    SENDERS = 3,
    SINK_MAX = 16,
    BURST = 300,
    FAILED = 16,
    UNLINKED = 16
};

struct tie {
    weft_pid who; /* weft_nobody(): there is none */
    weft_monitor_ref ref;
};
struct player {
    weft_pid self; /* weft_nobody(): it has ended */
    bool traps;    /* exits. Without that it is not told of an end that is no failure */
    struct tie monitor[TIES], link[TIES];
    /* The last ones that took their link with it back. A link to such a one that is made before it has heard of that is
     * over when it does. */
    weft_pid unlinked_by[UNLINKED];
    unsigned unlinked;
};
static struct player players[NODES][PLAYERS];
static weft_pid sinks[NODES];
static uint32_t lives;                  /* of senders */
static uint32_t bursts[NODES][SENDERS]; /* that were sent without waiting in vain */
static unsigned nodes;
static bool lossy; /* a link has ended, or there may be no memory */

/* ---- Players --------------------------------------------------------------------------------------------------- */

static void leave(void *arg)
{
    memset(arg, 0, sizeof(struct player));
}

static struct player *any_player(uint64_t *random)
{
    return &players[random_below(random, nodes)][random_below(random, PLAYERS)];
}

static struct player *player_of(weft_pid who)
{
    for (unsigned i = 0; i < NODES * PLAYERS; i++)
        if (weft_pid_equal(players[i / PLAYERS][i % PLAYERS].self, who)) return &players[i / PLAYERS][i % PLAYERS];
    return NULL;
}

static struct tie *find(struct tie ties[TIES], weft_pid who)
{
    for (unsigned i = 0; i < TIES; i++)
        if (weft_pid_equal(ties[i].who, who)) return &ties[i];
    return NULL;
}

static void forget_link(struct player *p, weft_pid who)
{
    struct tie *t = p == NULL ? NULL : find(p->link, who);
    if (t != NULL) t->who = weft_nobody();
}

static void take_down(struct player *p, const struct weft_down *down)
{
    for (unsigned i = 0; i < TIES; i++) {
        struct tie *t = &p->monitor[i];
        if (weft_pid_is_nobody(t->who) || t->ref.id != down->ref.id) continue;
        if (!weft_pid_equal(t->who, down->who)) weft_sim_fail("a DOWN is that of another actor");
        t->who = weft_nobody();
        return;
    }
    weft_sim_fail("a DOWN comes for a monitor that is over");
}

static void take(struct player *p, weft_msg *m)
{
    struct weft_down down;
    if (weft_tag(m) == ASK) (void)weft_reply(m, ASK, weft_data(m), weft_size(m));
    if (weft_tag(m) == WEFT_TAG_DOWN && weft_down_read(m, &down) == WEFT_OK) take_down(p, &down);
    if (weft_tag(m) == WEFT_TAG_EXIT) forget_link(p, weft_from(m));
    weft_msg_free(m);
}

static void ask(weft_pid who, uint64_t *random)
{
    uint64_t number = *random, back = 0;
    weft_msg *answer = NULL;
    int64_t deadline = weft_after(random_between(random, WEFT_MS(1), WEFT_SEC(2)));
    if (weft_call(who, ASK, &number, sizeof number, &answer, deadline) < 0) return;
    if (weft_size(answer) == sizeof back) memcpy(&back, weft_data(answer), sizeof back);
    if (back != number) weft_sim_fail("an answer to another request");
    weft_msg_free(answer);
}

static bool was_unlinked_by(const struct player *p, weft_pid who)
{
    for (unsigned i = 0; i < UNLINKED; i++)
        if (weft_pid_equal(p->unlinked_by[i], who)) return true;
    return false;
}

static void tie(struct player *p, weft_pid who, bool monitor)
{
    struct tie *t = find(monitor ? p->monitor : p->link, weft_nobody());
    if (t == NULL || (!monitor && (find(p->link, who) != NULL || was_unlinked_by(p, who)))) return;
    if ((monitor ? weft_monitor(who, &t->ref) : weft_link(who)) == WEFT_OK) t->who = who;
}

static void untie(struct player *p, struct tie *t, bool monitor)
{
    weft_pid who = t->who;
    if (weft_pid_is_nobody(who)) return;
    int rc = monitor ? weft_demonitor(t->ref) : weft_unlink(who);
    if (rc < 0 && monitor) weft_sim_fail("a monitor that has brought no DOWN is over");
    t->who = weft_nobody();
    struct player *other = player_of(who);
    if (rc < 0 || monitor || other == NULL) return;
    forget_link(other, p->self); /* it is not to be told of our end */
    other->unlinked_by[other->unlinked++ % UNLINKED] = p->self;
}

/* False: it ends. */
static bool move(struct player *p, uint64_t *random)
{
    weft_pid who = any_player(random)->self;
    unsigned kind = random_below(random, 24), which = random_below(random, TIES);
    if (weft_pid_is_nobody(who) || weft_pid_equal(who, p->self)) return true;
    if (kind < 6) tie(p, who, true);
    else if (kind < 10) tie(p, who, false);
    else if (kind < 13) untie(p, &p->monitor[which], true);
    else if (kind < 16) untie(p, &p->link[which], false);
    else if (kind < 20) ask(who, random);
    else if (kind < 22) {
        (void)weft_sleep(weft_after(random_between(random, WEFT_MS(1), WEFT_SEC(2))));
        untie(p, &(kind == 20 ? p->monitor : p->link)[which], kind == 20); /* its end may be in the mailbox */
    } else if (kind < 23) weft_fail(FAILED, "by chance");
    return kind < 23;
}

static void play(const void *arg, size_t size)
{
    struct player *p = &players[sim_self()][*(const unsigned *)arg % PLAYERS];
    uint64_t random = sim_random() ^ (uint64_t)weft_now();
    (void)size;
    if (weft_defer(leave, p) < 0) return;
    p->self = weft_self();
    p->traps = random_below(&random, 3) != 0;
    (void)weft_trap_exits(p->traps);
    for (;;) {
        weft_msg *m;
        int64_t pause = random_between(&random, 0, WEFT_MS(300));
        int rc = weft_recv(&m, weft_after(pause));
        if (rc == WEFT_OK) take(p, m);
        else if (rc == WEFT_ECANCELED || (rc == WEFT_ETIMEDOUT && !is_calm() && !move(p, &random))) return;
    }
}

/* ---- Mail ------------------------------------------------------------------------------------------------------ */

struct mail {
    uint32_t sender, life, number;
};

static void sink_ends(void *arg)
{
    *(weft_pid *)arg = weft_nobody();
}

static void sink(const void *arg, size_t size)
{
    struct mail last[NODES * SENDERS] = {{0, 0, 0}}, is;
    uint64_t random = sim_random() ^ (uint64_t)weft_now();
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_defer(sink_ends, &sinks[sim_self()]) < 0) return;
    sinks[sim_self()] = weft_self();
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        bool good = weft_tag(m) == MAIL && weft_size(m) == sizeof is;
        if (good) memcpy(&is, weft_data(m), sizeof is);
        weft_msg_free(m);
        if (!good) continue;
        struct mail *before = &last[is.sender % (NODES * SENDERS)];
        if (before->life == is.life && is.number <= before->number)
            weft_sim_fail("a sink gets %u after %u of one sender", is.number, before->number);
        if (before->life == is.life && is.number != before->number + 1 && !lossy)
            weft_sim_fail("a sink misses messages between %u and %u of one sender", before->number, is.number);
        *before = is;
        unsigned chance = random_below(&random, 600);
        if (chance < 30) (void)weft_sleep(weft_after(random_between(&random, 0, WEFT_MS(60))));
        if (chance == 599 && !is_calm()) return;
    }
}

/* Sends until the sink has ended, or all messages are sent. */
static void pour(struct mail *is, uint32_t *last, weft_pid to, uint32_t *done)
{
    for (int i = 0; i < BURST; i++) {
        int64_t began = weft_now();
        is->number = *last + 1;
        int rc = weft_send(to, MAIL, is, sizeof *is);
        if (rc == WEFT_EFULL && began > calm_at) weft_sim_fail("sender %u waits in vain", is->sender);
        if (rc < 0) return;
        *last = is->number;
    }
    ++*done;
}

static void send(const void *arg, size_t size)
{
    unsigned self = sim_self(), which = *(const unsigned *)arg % SENDERS, turn = which;
    struct mail is = {.sender = self * SENDERS + which, .life = ++lives};
    uint32_t last[NODES] = {0}; /* number, to the sinks of a node */
    uint64_t random = sim_random() ^ (uint64_t)weft_now();
    (void)size;
    while (weft_sleep(weft_after(random_between(&random, 0, WEFT_SEC(1)))) != WEFT_ECANCELED) {
        unsigned node = turn++ % nodes;
        weft_pid to = sinks[node];
        if (!weft_pid_is_nobody(to)) pour(&is, &last[node], to, &bursts[self][which]);
    }
}

static void watch_links(const void *arg, size_t size)
{
    (void)arg, (void)size;
    sim_watch_links(&lossy);
}

/* ---- The node -------------------------------------------------------------------------------------------------- */

struct post {
    weft_actor *body;
    unsigned which;
    bool hunted; /* it is stopped or killed now and then */
    uint32_t mailbox;
};

/* Starts the actor again each time it has ended. */
static void keep(const void *arg, size_t size)
{
    struct post p;
    uint64_t random = sim_random();
    memcpy(&p, arg, size);
    while (sim_again()) {
        weft_pid who;
        weft_monitor_ref ref;
        weft_msg *m;
        weft_spawn_options o = {.monitor = &ref, .mailbox_max = p.mailbox};
        if (weft_spawn(&who, p.body, &p.which, sizeof p.which, &o) < 0) continue;
        int64_t until = p.hunted ? weft_after(random_between(&random, WEFT_MS(100), WEFT_SEC(20))) : WEFT_FOREVER;
        int rc = weft_recv(&m, until);
        if (rc == WEFT_ETIMEDOUT && !is_calm())
            (void)(random_below(&random, 2) == 0 ? weft_stop(who) : weft_kill(who));
        if (rc == WEFT_ETIMEDOUT) rc = weft_recv(&m, WEFT_FOREVER);
        if (rc == WEFT_OK) weft_msg_free(m);
    }
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    unsigned self = sim_self();
    (void)size;
    lossy |= args->argc > 1 && strcmp(args->argv[1], "scarce") == 0;
    if (self >= nodes) nodes = self + 1;
    sim_spawn(watch_links, NULL, 0, NULL);
    memset(players[self], 0, sizeof players[self]);
    sinks[self] = weft_nobody();
    for (unsigned i = 0; i < PLAYERS; i++) {
        struct post p = {.body = play, .which = i};
        sim_spawn(keep, &p, sizeof p, NULL);
    }
    for (unsigned i = 0; i < SENDERS; i++) {
        struct post p = {.body = send, .which = i, .hunted = true};
        sim_spawn(keep, &p, sizeof p, NULL);
    }
    struct post p = {.body = sink, .mailbox = SINK_MAX};
    sim_spawn(keep, &p, sizeof p, NULL);
    sim_wait();
}

/* ---- What has to be true --------------------------------------------------------------------------------------- */

static bool knows_who_has_ended(const struct tie ties[TIES])
{
    for (unsigned i = 0; i < TIES; i++)
        if (!weft_pid_is_nobody(ties[i].who) && player_of(ties[i].who) == NULL) return false;
    return true;
}

/* Asked for the first time when all faults are over. */
static bool all_know(void *arg)
{
    (void)arg;
    calm_after(WEFT_SEC(10));
    if (weft_now() < calm_at + WEFT_SEC(5)) return false;
    for (unsigned i = 0; i < nodes * PLAYERS; i++) {
        const struct player *p = &players[i / PLAYERS][i % PLAYERS];
        if (!knows_who_has_ended(p->monitor)) return false;
        if (p->traps && !knows_who_has_ended(p->link)) return false;
    }
    return true;
}

static bool all_flows(void *arg)
{
    static uint32_t at_first[NODES][SENDERS];
    (void)arg;
    if (weft_now() < calm_at) memcpy(at_first, bursts, sizeof bursts);
    if (weft_now() < calm_at) return false;
    for (unsigned i = 0; i < nodes * SENDERS; i++)
        if (bursts[i / SENDERS][i % SENDERS] < at_first[i / SENDERS][i % SENDERS] + 2) return false;
    return true;
}

static void checks(void)
{
    weft_sim_eventually("all know which actors have ended", all_know, NULL);
    weft_sim_eventually("all senders get on", all_flows, NULL);
}

WEFT_MODULE(first)
WEFT_SIM(checks)

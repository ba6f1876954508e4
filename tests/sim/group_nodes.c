/* tests/sim/group_nodes.c -- random programs of groups (weft/group.h) and of weft_gather over three simulated nodes,
 * against a specification.
 *
 *     sim_group_nodes [SEEDS [FIRST SEED [limits]]]
 *
 * One operation is done at a time: an actor joins, leaves, watches, sends to a group, asks many actors, or ends; or a
 * node crashes, or is cut off. The messages of an operation may still be on their way when the next ones are done. At
 * a rest, all have arrived.
 * - At a rest each node knows exactly the members, its own first, in the order in which they joined.
 * - A watcher gets a notification for each change, once, those of a member in order, with its reason. After a fault
 *   members of other nodes may besides have left, as their node was lost, and joined again; at a rest the watcher has
 *   been told of exactly the members.
 * - A message gets to each member that was one at the last rest and is one at the next, once; to none that was no
 *   member since the last rest. Each member gets the messages of one sender in order.
 * - An actor that joins and then sends a message is known as a member where the message arrives.
 * - weft_gather returns as many replies as it has, each of the actor that was asked, before its deadline is over;
 *   fewer than are needed only at the deadline, or when so many cannot come any more. Without faults each error is
 *   the one that the actor's behaviour causes. */
#include "sim_world.h"

#include "seeds.h"

#include "../unit/actors/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { HOSTS = 3, CREW = 4, SLOTS = HOSTS * CREW, LIVES = 400, GROUPS = 2, CHANGES = 64, SENDS = 2000, TARGETS = 8 };
enum { SAY = 1, TELL = 2, ASK = 3 };
enum what { NOTHING, JOIN, LEAVE, WATCH, UNWATCH, SEND, TELL_ONE, GATHER, END, LOOK };
enum plan { REPLIES, REPLIES_LATE, FORGETS, ENDS };

static const char *const group_name[GROUPS] = {"g", "group.2"};

struct change {
    bool joined, ended;
    int reason;
};

/* An actor, from its start to its end. */
struct life {
    weft_pid pid;
    unsigned host;
    bool alive, lost; /* lost: its node is */
    bool is[GROUPS], was[GROUPS],
        steady[GROUPS];                    /* a member now; at some time since the last rest; all the time since */
    uint64_t joined[GROUPS];               /* a number that grows */
    struct change change[GROUPS][CHANGES]; /* since the last rest */
    unsigned changes[GROUPS];
};

/* What a watcher has been told. */
struct watch {
    bool on;
    bool view[LIVES], first[LIVES]; /* first: it is to be told of this one, which was a member when it began */
    unsigned told[LIVES];           /* changes since the last rest */
};

struct slot {
    unsigned host, life;
    enum what does;
    int group, reason;
    unsigned to;
    struct watch watch[GROUPS];
    uint32_t last[LIVES]; /* message of that sender */
};

struct send {
    unsigned from, group;
    bool sure[LIVES], got[LIVES];
};

static struct {
    uint64_t seed, random, joins;
    struct wf_sim_world world;
    struct life life[LIVES];
    unsigned lives;
    struct slot slot[SLOTS];
    struct send send[SENDS];
    unsigned sends, since; /* since: the first one after the last rest */
    bool faulty;           /* there was a fault since the last rest */
    bool rested;           /* nothing has happened since the last rest */
    struct {
        unsigned count, need, life[TARGETS];
        enum plan plan[TARGETS];
        int64_t patience;
        uint32_t number;
    } gather;
} all;

__attribute__((noreturn)) static void fail(const char *what)
{
    fprintf(stderr, "seed %llu, at %.6f s: %s\n", (unsigned long long)all.seed,
            (double)(wf_sim_now(&all.world) - PF_SIM_START) / 1e9, what);
    exit(EXIT_FAILURE);
}

#define WANT(condition, what) ((condition) ? (void)0 : fail(what))

static unsigned life_of(weft_pid pid)
{
    for (unsigned i = all.lives; i > 0; i--)
        if (weft_pid_equal(all.life[i - 1].pid, pid)) return i - 1;
    fail("an actor that nobody knows");
}

/* ---- The specification ----------------------------------------------------------------------------------------- */

static void change(unsigned n, int group, bool joins, bool ended, int reason)
{
    struct life *l = &all.life[n];
    if (l->is[group] == joins) return;
    WANT(l->changes[group] < CHANGES, "too many changes for this test");
    l->change[group][l->changes[group]++] = (struct change){joins, ended, reason};
    l->is[group] = joins;
    l->steady[group] = false;
    l->was[group] = true;
    if (joins) l->joined[group] = ++all.joins;
    for (unsigned i = all.since; i < all.sends; i++)
        if (all.send[i].group == (unsigned)group) all.send[i].sure[n] = false;
}

static void end_life(unsigned n, int reason)
{
    for (int g = 0; g < GROUPS; g++) change(n, g, false, true, reason);
    all.life[n].alive = false;
}

static void begin_fault(void)
{
    all.faulty = true;
    all.rested = false;
    for (unsigned i = all.since; i < all.sends; i++) memset(all.send[i].sure, 0, sizeof all.send[i].sure);
}

/* ---- What actors do and get ------------------------------------------------------------------------------------ */

static void look(const struct slot *s)
{
    for (int g = 0; g < GROUPS; g++) {
        weft_pid got[LIVES];
        int n = weft_group_members(group_name[g], got, LIVES), others = 0;
        uint64_t before = 0;
        for (int i = 0; i < n; i++) {
            const struct life *l = &all.life[life_of(got[i])];
            WANT(l->is[g], "a node knows a member that is none");
            for (int k = 0; k < i; k++) WANT(!weft_pid_equal(got[i], got[k]), "a node knows a member twice");
            if (l->host != s->host) {
                others++;
                continue;
            }
            WANT(others == 0, "a member of another node stands before one of this node");
            WANT(l->joined[g] > before, "members of this node are not in the order in which they joined");
            before = l->joined[g];
        }
        for (unsigned i = 0; i < all.lives; i++) n -= all.life[i].is[g];
        WANT(n == 0, "a node does not know a member");
    }
}

static void on_news(struct slot *s, const weft_msg *m)
{
    struct weft_group_news news;
    int g = 0;
    WANT(weft_group_news_read(m, &news) == WEFT_OK, "a notification cannot be read");
    while (g < GROUPS && strcmp(news.group, group_name[g]) != 0) g++;
    WANT(g < GROUPS, "a notification of another group");
    struct watch *w = &s->watch[g];
    bool joined = weft_tag(m) == WEFT_TAG_GROUP_JOIN;
    unsigned n = life_of(news.who);
    const struct life *l = &all.life[n];
    WANT(w->on, "a notification after weft_group_unwatch");
    WANT(w->view[n] != joined, "a watcher is told twice that a member has joined, or left");
    w->view[n] = joined;
    if (w->first[n]) {
        w->first[n] = false;
        return;
    }
    if (all.faulty) {
        WANT(joined || !news.ended || news.reason != WEFT_EXIT_NODE_LOST || l->host != s->host,
             "a member on this node has left as its node was lost");
        return;
    }
    WANT(w->told[n] < l->changes[g], "a watcher is notified of a change that was not made");
    const struct change *c = &l->change[g][w->told[n]++];
    WANT(c->joined == joined, "a watcher is notified of changes in another order");
    WANT(joined || (c->ended == news.ended && (!c->ended || c->reason == news.reason)),
         "a member has left for another reason");
}

static void on_mail(struct slot *s, const weft_msg *m)
{
    uint32_t number;
    memcpy(&number, weft_data(m), sizeof number);
    struct send *x = &all.send[number];
    WANT(weft_pid_equal(weft_from(m), all.life[x->from].pid), "a message has another sender");
    WANT(all.life[s->life].was[x->group], "an actor that is no member gets a message");
    WANT(!x->got[s->life], "a member gets a message twice");
    WANT(number >= s->last[x->from], "a member gets messages of one sender in another order");
    x->got[s->life] = true;
    s->last[x->from] = number;
}

/* The sender has joined before it sent this. */
static void on_tell(const weft_msg *m)
{
    int g;
    weft_pid got[LIVES];
    memcpy(&g, weft_data(m), sizeof g);
    const struct life *from = &all.life[life_of(weft_from(m))];
    if (all.faulty || !from->is[g]) return;
    for (int i = 0, n = weft_group_members(group_name[g], got, LIVES); i < n; i++)
        if (weft_pid_equal(got[i], weft_from(m))) return;
    fail("a message arrives before its sender is known as a member");
}

/* Returns true if the actor ends. */
static bool on_ask(struct slot *s, weft_msg *m)
{
    uint32_t number, i = 0;
    memcpy(&number, weft_data(m), sizeof number);
    if (number != all.gather.number) return false; /* of one that is over */
    while (i < all.gather.count && all.gather.life[i] != s->life) i++;
    WANT(i < all.gather.count, "an actor is asked that was not to be asked");
    uint32_t reply[2] = {number, s->life};
    enum plan plan = all.gather.plan[i];
    if (plan == REPLIES_LATE && weft_sleep(weft_after(WEFT_MS(300))) < 0) return true;
    if (plan <= REPLIES_LATE) (void)weft_reply(m, ASK, reply, sizeof reply);
    if (plan == ENDS) s->reason = 20;
    return plan == ENDS;
}

static void check_answer(const struct weft_answer *a, unsigned i, bool was_alive)
{
    enum plan plan = all.gather.plan[i];
    uint32_t got[2];
    if (a->error == WEFT_OK) {
        WANT(a->answer != NULL && weft_size(a->answer) == sizeof got, "a reply that is none");
        memcpy(got, weft_data(a->answer), sizeof got);
        WANT(got[0] == all.gather.number && got[1] == all.gather.life[i], "a reply of another actor");
        WANT(plan == REPLIES || plan == REPLIES_LATE, "a reply of an actor that sends none");
        return;
    }
    WANT(a->answer == NULL, "an error with a reply");
    if (all.faulty || a->error == WEFT_ETIMEDOUT) return;
    if (!was_alive)
        WANT(a->error == (all.life[all.gather.life[i]].lost ? WEFT_ENONODE : WEFT_ENOACTOR),
             "another error of an actor that has ended");
    else WANT(a->error == WEFT_ENOREPLY && plan >= FORGETS, "another error of an actor that lives");
}

static void gather(void)
{
    struct weft_answer a[TARGETS] = {{.error = 0}};
    bool alive[TARGETS];
    unsigned got = 0, failed = 0, surely = 0, fail_surely = 0, count = all.gather.count, need = all.gather.need;
    for (unsigned i = 0; i < count; i++) {
        a[i].from = all.life[all.gather.life[i]].pid;
        alive[i] = all.life[all.gather.life[i]].alive;
        surely += alive[i] && all.gather.plan[i] == REPLIES;
        fail_surely += !alive[i] || all.gather.plan[i] >= FORGETS;
    }
    int64_t deadline = weft_after(all.gather.patience);
    int n = weft_gather(a, count, need, ASK, &all.gather.number, sizeof all.gather.number, deadline);
    int64_t now = weft_now();
    if (n == WEFT_ECANCELED) return;
    WANT(n >= 0, "weft_gather fails");
    for (unsigned i = 0; i < count; i++) {
        check_answer(&a[i], i, alive[i]);
        got += a[i].error == WEFT_OK;
        failed += a[i].error != WEFT_OK && a[i].error != WEFT_ETIMEDOUT;
    }
    weft_answers_free(a, count);
    WANT((unsigned)n == got, "weft_gather returns another number than it has replies");
    WANT(now <= deadline + WEFT_MS(20), "weft_gather returns after its deadline");
    if (got < need) WANT(now >= deadline || failed > count - need, "weft_gather gives up too soon");
    if (!all.faulty && all.gather.patience > WEFT_SEC(1) && fail_surely > count - need)
        WANT(now < deadline - WEFT_MS(500), "weft_gather waits for actors that have ended");
    if (!all.faulty && all.gather.patience > WEFT_SEC(1))
        WANT(got >= need || surely < need, "weft_gather has too few replies");
}

static void send_to_group(const struct slot *s)
{
    WANT(all.sends < SENDS, "too many messages for this test");
    uint32_t number = all.sends++;
    struct send *x = &all.send[number];
    int members = 0;
    x->from = s->life;
    x->group = (unsigned)s->group;
    for (unsigned i = 0; i < all.lives; i++) {
        members += all.life[i].is[s->group];
        x->sure[i] = !all.faulty && all.life[i].is[s->group] && all.life[i].steady[s->group];
    }
    int rc = weft_group_send(group_name[s->group], SAY, &number, sizeof number);
    WANT(rc >= 0, "a message to a group cannot be sent");
    WANT(!all.rested || rc == members, "a message has another number of receivers");
}

static void watch(struct slot *s, bool begins)
{
    struct watch *w = &s->watch[s->group];
    int rc = begins ? weft_group_watch(group_name[s->group]) : weft_group_unwatch(group_name[s->group]);
    WANT(rc == (begins != w->on ? WEFT_OK : begins ? WEFT_EEXIST : WEFT_ENOACTOR), "weft_group_watch, or unwatch");
    if (rc < 0) return;
    memset(w, 0, sizeof *w);
    w->on = begins;
    for (unsigned i = 0; i < all.lives; i++) w->first[i] = begins && all.life[i].is[s->group];
}

static void join_or_leave(const struct slot *s, bool joins)
{
    const struct life *l = &all.life[s->life];
    int rc = joins ? weft_group_join(group_name[s->group]) : weft_group_leave(group_name[s->group]);
    WANT(rc == (l->is[s->group] != joins ? WEFT_OK
                : joins                  ? WEFT_EEXIST
                                         : WEFT_ENOACTOR),
         "weft_group_join, or leave");
    change(s->life, s->group, joins, false, 0);
}

static void tell_one(const struct slot *s)
{
    if (!all.life[s->life].is[s->group]) join_or_leave(s, true);
    weft_ignore(weft_send(all.life[s->to].pid, TELL, &s->group, sizeof s->group));
}

/* Returns true if the actor ends. */
static bool obey(struct slot *s)
{
    enum what does = s->does;
    switch (does) {
    case NOTHING: return false;
    case JOIN:
    case LEAVE: join_or_leave(s, does == JOIN); break;
    case WATCH:
    case UNWATCH: watch(s, does == WATCH); break;
    case SEND: send_to_group(s); break;
    case TELL_ONE: tell_one(s); break;
    case GATHER: gather(); break;
    case LOOK: look(s); break;
    case END: s->reason = 16 + s->group; return true;
    }
    s->does = NOTHING;
    return false;
}

static void actor(const void *arg, size_t size)
{
    struct slot *s;
    bool ends = false;
    weft_msg *m;
    (void)size;
    memcpy(&s, arg, sizeof(void *));
    all.life[s->life].pid = weft_self();
    while (!ends) {
        int rc = weft_recv(&m, weft_after(WEFT_MS(2)));
        if (rc == WEFT_ETIMEDOUT) {
            ends = obey(s);
            continue;
        }
        if (rc < 0) return;
        if (weft_tag(m) == WEFT_TAG_GROUP_JOIN || weft_tag(m) == WEFT_TAG_GROUP_LEAVE) on_news(s, m);
        else if (weft_tag(m) == SAY) on_mail(s, m);
        else if (weft_tag(m) == TELL) on_tell(m);
        else if (weft_tag(m) == ASK) ends = on_ask(s, m);
        weft_msg_free(m);
    }
    end_life(s->life, s->reason);
    s->does = NOTHING;
    weft_exit(s->reason);
}

/* ---- The program ----------------------------------------------------------------------------------------------- */

static void go(int64_t span)
{
    wf_sim_run(&all.world, span);
}

static void start_actor(struct slot *s)
{
    if (all.lives == LIVES) return;
    s->life = all.lives;
    s->does = NOTHING;
    memset(s->watch, 0, sizeof s->watch);
    memset(s->last, 0, sizeof s->last);
    all.life[all.lives] = (struct life){.host = s->host, .alive = true};
    if (weft_node_spawn(all.world.host[s->host].node, NULL, actor, &s, sizeof(void *), NULL) < 0) fail("no memory");
    all.lives++;
    go(WEFT_MS(10));
    WANT(!weft_pid_is_nobody(all.life[s->life].pid), "an actor does not start");
}

static void start_node(unsigned host)
{
    char url[WF_URL_TEXT], seed[2][WF_URL_TEXT], name[16];
    wf_sim_url(host, url);
    for (unsigned i = 0; i < 2; i++) wf_sim_url(host == i ? 2 : i, seed[i]);
    snprintf(name, sizeof name, "n%u", host);
    const char *listen[] = {url}, *join[] = {seed[0], seed[1]};
    weft_node_options o = {.name = name,
                           .listen = listen,
                           .listen_count = 1,
                           .join = join,
                           .join_count = 2,
                           .heartbeat = WEFT_MS(200),
                           .resume_window = WEFT_SEC(1)};
    if (wf_sim_start(&all.world, host, &o) < 0) fail("a node does not start");
    for (unsigned i = 0; i < CREW; i++) start_actor(&all.slot[host * CREW + i]);
}

static void crash_node(unsigned host)
{
    begin_fault();
    for (unsigned i = 0; i < CREW; i++) {
        struct slot *s = &all.slot[host * CREW + i];
        if (all.life[s->life].alive) end_life(s->life, WEFT_EXIT_NODE_LOST);
        s->does = NOTHING;
    }
    for (unsigned i = 0; i < all.lives; i++) all.life[i].lost |= all.life[i].host == host;
    wf_sim_crash(&all.world, host, random_below(&all.random, 2) == 0);
}

static void let(struct slot *s, enum what does)
{
    if (!all.life[s->life].alive) return;
    s->does = does;
    for (int i = 0; s->does != NOTHING; i++) {
        go(WEFT_MS(1));
        WANT(i < 10000, "an actor does not go on");
        if (does == GATHER && random_below(&all.random, 4000) == 0) {
            unsigned a = random_below(&all.random, HOSTS), b = (a + 1) % HOSTS;
            begin_fault();
            wf_sim_cut(&all.world, a, b, WEFT_SEC(2));
            wf_sim_cut(&all.world, b, a, WEFT_SEC(2));
        }
    }
}

static void check_watches(void)
{
    for (unsigned k = 0; k < SLOTS; k++)
        for (int g = 0; g < GROUPS; g++) {
            struct watch *w = &all.slot[k].watch[g];
            if (!w->on || !all.life[all.slot[k].life].alive) continue;
            for (unsigned i = 0; i < all.lives; i++) {
                WANT(w->view[i] == all.life[i].is[g], "a watcher is not told of the members");
                WANT(all.faulty || w->told[i] == all.life[i].changes[g], "a watcher is not told of a change");
                w->told[i] = 0;
                w->first[i] = false;
            }
        }
}

static void rest(void)
{
    go(all.faulty ? WEFT_SEC(20) : WEFT_MS(600));
    for (unsigned k = 0; k < SLOTS; k++) let(&all.slot[k], LOOK);
    check_watches();
    for (; all.since < all.sends; all.since++)
        for (unsigned i = 0; i < all.lives; i++)
            WANT(!all.send[all.since].sure[i] || all.send[all.since].got[i], "a member does not get a message");
    for (unsigned i = 0; i < all.lives; i++)
        for (int g = 0; g < GROUPS; g++) {
            all.life[i].was[g] = all.life[i].steady[g] = all.life[i].is[g];
            all.life[i].changes[g] = 0;
        }
    all.faulty = false;
    all.rested = true;
}

static void draw_gather(const struct slot *s)
{
    unsigned count = 0, wanted = 1 + random_below(&all.random, TARGETS);
    for (int tries = 0; tries < 100 && count < wanted; tries++) {
        unsigned n = random_below(&all.random, 4) == 0 ? random_below(&all.random, all.lives)
                                                       : all.slot[random_below(&all.random, SLOTS)].life,
                 i = 0;
        while (i < count && all.gather.life[i] != n) i++;
        if (i < count || n == s->life) continue;
        uint32_t chance = random_below(&all.random, 8);
        all.gather.plan[count] = chance < 4 ? REPLIES : chance < 6 ? REPLIES_LATE : chance == 6 ? FORGETS : ENDS;
        all.gather.life[count++] = n;
    }
    all.gather.count = count;
    all.gather.need = 1 + random_below(&all.random, count);
    all.gather.patience = random_below(&all.random, 2) == 0 ? WEFT_SEC(2)
                                                            : random_between(&all.random, WEFT_MS(1), WEFT_MS(500));
    all.gather.number++;
}

static void step(void)
{
    struct slot *s = &all.slot[random_below(&all.random, SLOTS)];
    unsigned chance = random_below(&all.random, 40);
    s->group = (int)random_below(&all.random, GROUPS);
    if (!all.life[s->life].alive) {
        if (all.world.host[s->host].node != NULL) start_actor(s);
        return;
    }
    if (all.rested && chance < 6) {
        let(s, s->watch[s->group].on ? UNWATCH : WATCH);
        return;
    }
    if (chance >= 6 && chance < 18)
        let(s, all.life[s->life].is[s->group] == (random_below(&all.random, 8) > 0) ? LEAVE : JOIN);
    else if (chance < 28) let(s, SEND);
    else if (chance < 32) {
        s->to = all.slot[random_below(&all.random, SLOTS)].life;
        let(s, TELL_ONE);
    } else if (chance < 37) {
        draw_gather(s);
        let(s, GATHER);
    } else let(s, END);
    all.rested = all.rested && (chance >= 18 && chance < 28);
}

static void fault(void)
{
    unsigned a = random_below(&all.random, HOSTS), b = (a + 1 + random_below(&all.random, HOSTS - 1)) % HOSTS;
    int64_t span = random_between(&all.random, WEFT_MS(20), WEFT_SEC(1)) << random_below(&all.random, 4);
    if (random_below(&all.random, 2) == 0) {
        crash_node(a);
        go(random_between(&all.random, WEFT_MS(1), WEFT_SEC(3)));
        start_node(a);
        return;
    }
    begin_fault();
    wf_sim_cut(&all.world, a, b, span);
    wf_sim_cut(&all.world, b, a, span);
}

static void run(uint64_t seed)
{
    all.seed = seed;
    all.random = seed ^ UINT64_C(0x67726F757073);
    wf_sim_world_init(&all.world, seed);
    for (unsigned i = 0; i < SLOTS; i++) all.slot[i].host = i / CREW;
    for (unsigned i = 0; i < HOSTS; i++) start_node(i);
    go(WEFT_SEC(3));
    rest();
    for (unsigned rests = 0; rests < 12; rests++) {
        bool faults = rests % 4 == 3;
        for (unsigned n = 4 + random_below(&all.random, 20); n > 0; n--) {
            step();
            if (faults && random_below(&all.random, 8) == 0) fault();
            if (random_below(&all.random, 2) == 0) go(random_between(&all.random, 0, WEFT_MS(20)));
        }
        rest();
    }
    for (unsigned i = 0; i < HOSTS; i++) wf_sim_crash(&all.world, i, false);
    wf_sim_world_finish(&all.world);
}

int main(int argc, char **argv)
{
    const struct seeds seeds = {
        .count = 50, .limit = 100, .heap = HOSTS * SIM_NODE + (16 << 20), .log = WEFT_SILENT, .run = run};
    return run_seeds(&seeds, argc, argv);
}

/* Groups and names against a specification: actors join, leave, watch, send to groups, register names, wait for them,
 * and end. After each operation the members and the holders are those of the specification. Each member gets each
 * message once, each watcher one notification for each change. On two workers only the notifications about one member
 * and the messages of one sender have an order, and a member that has just ended may still be found. */
#include "../crew.h"

#include <weft/group.h>
#include <weft/names.h>

enum { ACTORS = 5, GROUPS = 2, NAMES = 3, WAITING = 1024, MAIL_TAG = 7 };

static const char *const group_name[GROUPS] = {"g", "group.2"};
static const char *const actor_name[NAMES] = {"a", "name.b", "c"};

/* ---- The specification ----------------------------------------------------------------------------------------- */

struct news {
    weft_pid who;
    int group, reason;
    bool joined, ended;
};

struct mail {
    uint32_t id;
    int from, group;
    uint32_t rest;
    bool sure;
};

static struct {
    int members[GROUPS][ACTORS]; /* in the order in which they joined */
    size_t count[GROUPS];
    bool watches[ACTORS][GROUPS];
    struct news news[ACTORS][WAITING]; /* that are to come */
    size_t news_count[ACTORS];
    struct mail mail[ACTORS][WAITING];
    size_t mail_count[ACTORS];
    int names[ACTORS][NAMES]; /* of each actor, the oldest first */
    size_t name_count[ACTORS];
    int holder[NAMES];           /* -1: nobody */
    int awaits[ACTORS];          /* a name; -1: none */
    uint32_t registered[ACTORS]; /* since it began to wait: a bit for each actor that got the name */
    int reason[ACTORS];          /* with which it ends */
    uint32_t next_id, rests;
    uint32_t ended; /* since the last rest */
} spec;
static bool exact;

#define CHECK(condition, ...) ((condition) ? (void)0 : programs_fail(__VA_ARGS__))

/* Whether what can be looked up is what the specification has. */
static bool is_known(void)
{
    return exact || spec.ended == 0;
}

static int place_of(int group, int self)
{
    for (size_t i = 0; i < spec.count[group]; i++)
        if (spec.members[group][i] == self) return (int)i;
    return -1;
}

static void tell_watchers(int group, int who, bool joined, bool ended)
{
    const struct news n = {.who = crew.at[who].pid,
                           .group = group,
                           .reason = ended ? spec.reason[who] : 0,
                           .joined = joined,
                           .ended = ended};
    for (int i = 0; i < ACTORS; i++) {
        if (!spec.watches[i][group] || !crew.at[i].alive) continue;
        want(spec.news_count[i] < WAITING);
        spec.news[i][spec.news_count[i]++] = n;
    }
}

static void spec_leave(int group, int self, bool ended)
{
    const int place = place_of(group, self);
    if (place < 0) return;
    memmove(&spec.members[group][place], &spec.members[group][place + 1],
            (--spec.count[group] - (size_t)place) * sizeof(int));
    tell_watchers(group, self, false, ended);
    for (size_t i = 0; i < spec.mail_count[self] && !exact; i++) /* on its way when it left */
        if (spec.mail[self][i].group == group && spec.mail[self][i].rest == spec.rests)
            spec.mail[self][i].sure = false;
}

static void forget_news(int self, size_t i)
{
    memmove(&spec.news[self][i], &spec.news[self][i + 1], (--spec.news_count[self] - i) * sizeof(struct news));
}

static void unwatch_all(int self, int group)
{
    spec.watches[self][group] = false;
    for (size_t i = 0; i < spec.news_count[self];)
        if (spec.news[self][i].group == group) forget_news(self, i);
        else i++;
}

static void release_name(int self, size_t i)
{
    spec.holder[spec.names[self][i]] = -1;
    memmove(&spec.names[self][i], &spec.names[self][i + 1], (--spec.name_count[self] - i) * sizeof(int));
}

/* ---- Groups ---------------------------------------------------------------------------------------------------- */

static void check_members(int self, int group)
{
    weft_pid got[ACTORS + 1];
    if (!is_known()) return;
    int n = weft_group_members(group_name[group], got, WF_COUNT(got));
    CHECK(n == (int)spec.count[group], "actor %d finds %d members of %s, not %zu", self, n, group_name[group],
          spec.count[group]);
    for (size_t i = 0; i < spec.count[group] && (int)i < n; i++)
        CHECK(weft_pid_equal(got[i], crew.at[spec.members[group][i]].pid),
              "actor %d finds another as member %zu of %s", self, i, group_name[group]);
}

static void join_or_leave(int self, int group, uint64_t *random)
{
    const bool is_member = place_of(group, self) >= 0, joins = random_below(random, 2) == 0;
    int rc = joins ? weft_group_join(group_name[group]) : weft_group_leave(group_name[group]);
    programs_tell("%d: %s %s: %d", self, joins ? "joins" : "leaves", group_name[group], rc);
    int wanted = joins == is_member ? (joins ? WEFT_EEXIST : WEFT_ENOACTOR) : 0;
    CHECK(rc == wanted, "actor %d joins or leaves %s: %d instead of %d", self, group_name[group], rc, wanted);
    if (rc != 0) return;
    if (joins) spec.members[group][spec.count[group]++] = self;
    if (joins) tell_watchers(group, self, true, false);
    else spec_leave(group, self, false);
}

static void watch(int self, int group)
{
    const bool begins = !spec.watches[self][group];
    if (begins && !is_known()) return; /* it would hear of those that have just ended, or not */
    int rc = begins ? weft_group_watch(group_name[group]) : weft_group_unwatch(group_name[group]);
    programs_tell("%d: %s %s: %d", self, begins ? "watches" : "watches no more", group_name[group], rc);
    CHECK(rc == 0, "actor %d cannot watch %s, or end that: %d", self, group_name[group], rc);
    if (!begins) {
        unwatch_all(self, group);
        CHECK(weft_group_unwatch(group_name[group]) == WEFT_ENOACTOR, "actor %d ends a watch twice", self);
        return;
    }
    CHECK(weft_group_watch(group_name[group]) == WEFT_EEXIST, "actor %d watches twice", self);
    spec.watches[self][group] = true;
    for (size_t i = 0; i < spec.count[group]; i++)
        spec.news[self][spec.news_count[self]++] = (struct news){
            .who = crew.at[spec.members[group][i]].pid, .group = group, .joined = true};
}

static void send_group(int self, int group)
{
    const uint32_t id = ++spec.next_id;
    int rc = weft_group_send(group_name[group], MAIL_TAG, &id, sizeof id);
    programs_tell("%d: sends %u to %s: %d", self, id, group_name[group], rc);
    if (is_known())
        CHECK(rc == (int)spec.count[group], "actor %d sends to %d members of %s, not to %zu", self, rc,
              group_name[group], spec.count[group]);
    for (size_t i = 0; i < spec.count[group]; i++) {
        const int to = spec.members[group][i];
        want(spec.mail_count[to] < WAITING);
        spec.mail[to][spec.mail_count[to]++] = (struct mail){
            .id = id, .from = self, .group = group, .rest = spec.rests, .sure = true};
    }
}

static bool is_news(const weft_msg *m, void *arg)
{
    (void)arg;
    return weft_tag(m) == WEFT_TAG_GROUP_JOIN || weft_tag(m) == WEFT_TAG_GROUP_LEAVE;
}

static void hear_news(int self, const weft_msg *m)
{
    struct weft_group_news got;
    int group = 0;
    want_int(weft_group_news_read(m, &got), 0);
    while (group < GROUPS - 1 && strcmp(group_name[group], got.group) != 0) group++;
    const bool joined = weft_tag(m) == WEFT_TAG_GROUP_JOIN;
    programs_tell("%d: hears that %" PRIx64 " has %s %s, reason %d", self, got.who.actor, joined ? "joined" : "left",
                  got.group, got.reason);
    for (size_t i = 0; i < spec.news_count[self]; i++) {
        const struct news *n = &spec.news[self][i];
        const bool about = n->group == group && weft_pid_equal(n->who, got.who);
        const bool one_end = n->ended && got.ended &&
                             weft_pid_equal(n->who, got.who); /* it leaves all groups at once */
        if (!about && (!exact || one_end)) continue;
        CHECK(about && n->joined == joined && (joined || n->ended == got.ended) &&
                  (!n->ended || n->reason == got.reason),
              "actor %d is told something else than what comes next: reason %d, not %d", self, got.reason, n->reason);
        forget_news(self, i);
        return;
    }
    programs_fail("actor %d gets a notification about %s that was not due, or gets it twice", self, got.group);
}

static void get_mail(int self, uint32_t id)
{
    programs_tell("%d: gets %u", self, id);
    for (size_t i = 0; i < spec.mail_count[self]; i++) {
        const struct mail m = spec.mail[self][i];
        if (m.id == id) {
            memmove(&spec.mail[self][i], &spec.mail[self][i + 1], (--spec.mail_count[self] - i) * sizeof m);
            return;
        }
        uint32_t from = 0;
        for (size_t k = i; k < spec.mail_count[self]; k++)
            if (spec.mail[self][k].id == id) from = 1u << spec.mail[self][k].from;
        if (m.sure && (exact || from == 1u << m.from)) break;
    }
    programs_fail("actor %d gets %u, which is not for it, or comes again, or in another order", self, id);
}

static void receive(int self, bool all)
{
    weft_msg *m;
    bool more = true;
    while (more && weft_recv_match(&m, is_news, NULL, WEFT_NOW) == 0) {
        hear_news(self, m);
        weft_msg_free(m);
        more = all;
    }
    if (more && exact) CHECK(spec.news_count[self] == 0, "actor %d is not told of a change", self);
    more = true;
    while (more && weft_recv_tag(&m, MAIL_TAG, WEFT_NOW) == 0) {
        uint32_t id;
        memcpy(&id, weft_data(m), sizeof id);
        weft_msg_free(m);
        get_mail(self, id);
        more = all;
    }
    if (more && exact) CHECK(spec.mail_count[self] == 0, "actor %d does not get %u", self, spec.mail[self][0].id);
}

/* ---- Names ----------------------------------------------------------------------------------------------------- */

static void check_name(int self, int name)
{
    weft_pid got;
    if (!is_known()) return;
    int rc = weft_whereis(actor_name[name], &got);
    CHECK(rc == (spec.holder[name] < 0 ? WEFT_ENOACTOR : 0), "actor %d looks for %s: %d", self, actor_name[name], rc);
    CHECK(rc < 0 || weft_pid_equal(got, crew.at[spec.holder[name]].pid), "actor %d finds another as %s", self,
          actor_name[name]);
    for (size_t i = 0; i <= spec.name_count[self]; i++) {
        const char *own = weft_own_name(i);
        CHECK(i == spec.name_count[self] ? own == NULL
                                         : own != NULL && strcmp(own, actor_name[spec.names[self][i]]) == 0,
              "actor %d has another name %zu: %s", self, i, own == NULL ? "none" : own);
    }
}

static void register_name(int self, int name, bool global)
{
    int rc = global ? weft_register_global(actor_name[name]) : weft_register(actor_name[name]);
    programs_tell("%d: registers %s%s: %d", self, actor_name[name], global ? " everywhere" : "", rc);
    if (is_known() || spec.holder[name] >= 0)
        CHECK(rc == (spec.holder[name] < 0 ? 0 : WEFT_EEXIST), "actor %d registers %s: %d", self, actor_name[name],
              rc);
    if (rc != 0) return;
    spec.holder[name] = self;
    spec.names[self][spec.name_count[self]++] = name;
    for (int i = 0; i < ACTORS; i++)
        if (spec.awaits[i] == name) spec.registered[i] |= 1u << self;
}

static void unregister_name(int self, int name)
{
    int rc = weft_unregister(actor_name[name]);
    programs_tell("%d: unregisters %s: %d", self, actor_name[name], rc);
    CHECK(rc == (spec.holder[name] == self ? 0 : WEFT_ENOACTOR), "actor %d unregisters %s: %d", self,
          actor_name[name], rc);
    for (size_t i = 0; i < spec.name_count[self] && rc == 0; i++)
        if (spec.names[self][i] == name) release_name(self, i--);
}

static void await_name(int self, int name, uint64_t *random)
{
    weft_pid got = weft_nobody();
    const int64_t deadline = random_below(random, 2) == 0 ? WEFT_FOREVER
                                                          : weft_after(exact ? WEFT_MS(2) : WEFT_US(50));
    crew_lock();
    spec.awaits[self] = name;
    spec.registered[self] = spec.holder[name] < 0 ? 0 : 1u << spec.holder[name];
    bool was_known = is_known();
    crew.at[self].waits = true;
    crew_unlock();
    int rc = weft_await_name(actor_name[name], &got, deadline);
    crew_lock();
    crew.at[self].waits = false;
    programs_tell("%d: awaited %s: %d", self, actor_name[name], rc);
    bool good = false;
    for (int i = 0; i < ACTORS; i++)
        good = good || ((spec.registered[self] >> i & 1) != 0 && weft_pid_equal(got, crew.at[i].pid));
    if (rc == 0)
        CHECK(good || !was_known, "actor %d finds an actor that does not have the name %s", self, actor_name[name]);
    if (rc == WEFT_ETIMEDOUT) {
        CHECK(weft_now() >= deadline, "actor %d waits too short for %s", self, actor_name[name]);
        CHECK(spec.registered[self] == 0 || !exact, "actor %d is not told of %s", self, actor_name[name]);
    }
    CHECK(rc == 0 || rc == WEFT_ETIMEDOUT || (rc == WEFT_ECANCELED && crew.at[self].dying),
          "actor %d waits for %s: %d", self, actor_name[name], rc);
    spec.awaits[self] = -1;
    crew_unlock();
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void act(int self, uint64_t *random)
{
    const int group = (int)random_below(random, GROUPS), name = (int)random_below(random, NAMES);
    const uint32_t what = random_below(random, 32);
    if (what == 31) {
        await_name(self, name, random);
        return;
    }
    crew_lock();
    if (what < 8) join_or_leave(self, group, random);
    else if (what < 11) watch(self, group);
    else if (what < 16) send_group(self, group);
    else if (what < 20) receive(self, what < 18);
    else if (what < 25) register_name(self, name, what < 22);
    else if (what < 29) unregister_name(self, name);
    check_members(self, group);
    check_name(self, name);
    const bool ends = what == 30 && random_below(random, 4) == 0;
    if (ends) spec.reason[self] = 17;
    crew_unlock();
    if (ends) weft_exit(17);
}

static void gone(int self)
{
    programs_tell("%d: has ended, reason %d", self, spec.reason[self]);
    spec.ended++;
    for (int g = 0; g < GROUPS; g++) spec.watches[self][g] = false;
    for (int g = 0; g < GROUPS; g++) spec_leave(g, self, true);
    while (spec.name_count[self] > 0) release_name(self, 0);
    spec.news_count[self] = spec.mail_count[self] = 0;
    spec.awaits[self] = -1;
    spec.reason[self] = 0;
}

static void collect(int self, uint64_t *random)
{
    (void)random;
    crew_lock();
    receive(self, true);
    CHECK(spec.news_count[self] == 0, "actor %d is not told of a change", self);
    for (size_t i = 0; i < spec.mail_count[self]; i++)
        CHECK(!spec.mail[self][i].sure, "actor %d does not get %u", self, spec.mail[self][i].id);
    spec.mail_count[self] = 0;
    crew_unlock();
}

static void compare_all(void)
{
    crew_settle_and_lock();
    spec.ended = 0;
    spec.rests++;
    for (int i = 0; i < ACTORS; i++)
        CHECK(spec.awaits[i] < 0 || spec.holder[spec.awaits[i]] < 0, "actor %d waits for a name that there is", i);
    crew.work.act = collect;
    crew_unlock();
    for (int i = 0; i < ACTORS; i++)
        if (!crew.at[i].waits) crew_tell(i, 0);
    crew_settle();
    crew.work.act = act;
}

static void end_one(int who, bool kill)
{
    crew_lock();
    if (crew.at[who].alive && !crew.at[who].dying) spec.reason[who] = kill ? WEFT_EXIT_KILLED : WEFT_EXIT_STOPPED;
    crew_unlock();
    if (crew_end_one(who, kill)) programs_tell("%d: is to end", who);
}

static void drive(const struct program *p)
{
    memset(&spec, 0, sizeof spec);
    for (int i = 0; i < NAMES; i++) spec.holder[i] = -1;
    for (int i = 0; i < ACTORS; i++) spec.awaits[i] = -1;
    crew_begin(&(struct crew_work){.act = act, .gone = gone}, ACTORS, exact ? 0 : 2);
    for (size_t i = 0; i < p->n && !programs_broken(); i++) {
        uint64_t random = p->ops[i].random;
        const int who = (int)p->ops[i].who;
        switch (random_below(&random, 32)) {
        case 0: end_one(who, random_below(&random, 2) == 0); break;
        case 1: compare_all(); break;
        case 2:
            if (exact) want_int(weft_advance(WEFT_MS(1)), 0);
            break;
        case 3:
        case 4:
            if (exact) crew_settle();
            break;
        default: crew_tell(who, random);
        }
    }
    compare_all();
    crew_end();
}

static void on_one_worker(const struct program *p)
{
    crew_run(p, drive);
}

START_TEST(groups_and_names_do_as_their_specification)
{
    exact = true;
    ck_assert(programs_pass(&(struct programs){.name = "GROUP",
                                               .test = "unit/actors/names/group_programs",
                                               .seeds = 80,
                                               .actors = ACTORS,
                                               .ops = 150,
                                               .run = on_one_worker}));
}
END_TEST

START_TEST(groups_and_names_on_two_workers_do_as_their_specification)
{
    exact = false;
    ck_assert(crew_pass_on(2, &(struct programs){.name = "GROUP_APART",
                                                 .test = "unit/actors/names/group_programs",
                                                 .seeds = 20,
                                                 .actors = ACTORS,
                                                 .ops = 150,
                                                 .times = 20,
                                                 .run = drive}));
}
END_TEST

TEST_MAIN("group programs", groups_and_names_do_as_their_specification,
          groups_and_names_on_two_workers_do_as_their_specification)

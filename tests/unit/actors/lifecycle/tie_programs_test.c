/* Monitors and links against a specification: actors monitor and link each other, undo that, trap exits, send each
 * other messages and end in every way. Each monitor brings one DOWN, each link one EXIT or the end, with the reason
 * of the other actor's end, after all messages of the other; none comes after the monitor or the link was removed. On
 * two workers there are no links, and only the messages of one sender have an order. */
#include "../crew.h"

#include <weft/monitor.h>

enum { ACTORS = 4, MONITORS = 6, WAITING = 1024, MAIL_TAG = 7, REASONS = 8 };

/* ---- The specification ----------------------------------------------------------------------------------------- */

enum kind { MAIL, DOWN, EXIT };

/* The messages that must arrive. */
struct item {
    enum kind kind;
    uint64_t id; /* of mail; of DOWN: the monitor */
    weft_pid who;
    int reason;
    bool may_be_unknown; /* it may have ended before its worker heard of the monitor */
};

struct monitor {
    weft_monitor_ref ref;
    weft_pid who;
    bool lives; /* no DOWN of it has been received */
    uint32_t rest;
};

static struct {
    struct item items[ACTORS][WAITING];
    size_t waiting[ACTORS];
    struct monitor monitors[ACTORS][MONITORS];
    bool linked[ACTORS][ACTORS]; /* both ways, while both live */
    bool traps[ACTORS];
    int may_end_with[ACTORS][REASONS];
    size_t reasons[ACTORS];
    weft_pid last[ACTORS]; /* that lived there before */
    uint64_t next_id;
    uint32_t rests;
} spec;
static bool exact;

#define CHECK(condition, ...) ((condition) ? (void)0 : programs_fail(__VA_ARGS__))

static void expect(int self, struct item i)
{
    want(spec.waiting[self] < WAITING);
    if (crew.at[self].alive) spec.items[self][spec.waiting[self]++] = i;
}

static void forget(int self, size_t i)
{
    memmove(&spec.items[self][i], &spec.items[self][i + 1], (--spec.waiting[self] - i) * sizeof(struct item));
}

static void will_end(int self, int reason)
{
    if (spec.reasons[self] < REASONS) spec.may_end_with[self][spec.reasons[self]++] = reason;
}

/* The link of `self` ends because of an end. */
static void told_of_end(int self, weft_pid who, int reason)
{
    if (spec.traps[self]) expect(self, (struct item){.kind = EXIT, .who = who, .reason = reason});
    else if (reason != WEFT_EXIT_NORMAL) will_end(self, reason);
}

static void spec_end(int self, int reason)
{
    const weft_pid who = crew.at[self].pid;
    bool allowed = reason == WEFT_EXIT_NORMAL && spec.reasons[self] == 0;
    for (size_t i = 0; i < spec.reasons[self]; i++) allowed = allowed || spec.may_end_with[self][i] == reason;
    CHECK(allowed, "actor %d ends with reason %d", self, reason);
    for (int i = 0; i < ACTORS; i++) {
        for (int k = 0; k < MONITORS && i != self; k++) {
            const struct monitor *m = &spec.monitors[i][k];
            if (!m->lives || !weft_pid_equal(m->who, who)) continue;
            expect(i, (struct item){.kind = DOWN,
                                    .id = m->ref.id,
                                    .who = who,
                                    .reason = reason,
                                    .may_be_unknown = !exact && m->rest == spec.rests});
        }
        if (spec.linked[self][i]) told_of_end(i, who, reason);
        spec.linked[self][i] = spec.linked[i][self] = false;
    }
    memset(spec.monitors[self], 0, sizeof spec.monitors[self]);
    spec.waiting[self] = spec.reasons[self] = 0;
    spec.traps[self] = false;
    spec.last[self] = who;
}

/* ---- Operations ------------------------------------------------------------------------------------------------ */

/* Chooses the present actor, or its predecessor. Returns whether the chosen one lives. */
static bool choose(int other, uint64_t *random, weft_pid *out)
{
    const bool last = random_below(random, 3) == 0 && !weft_pid_is_nobody(spec.last[other]);
    *out = last ? spec.last[other] : crew.at[other].pid;
    return !last && crew.at[other].alive;
}

static void monitor(int self, int other, uint64_t *random)
{
    struct monitor *m = &spec.monitors[self][random_below(random, MONITORS)];
    weft_pid who;
    if (m->lives) {
        int rc = weft_demonitor(m->ref);
        programs_tell("%d: monitors %" PRIx64 " no more: %d", self, m->who.actor, rc);
        CHECK(rc == 0, "actor %d cannot end a monitor: %d", self, rc);
        CHECK(weft_demonitor(m->ref) == WEFT_ECLOSED, "actor %d ends a monitor twice", self);
        for (size_t i = 0; i < spec.waiting[self]; i++)
            if (spec.items[self][i].kind == DOWN && spec.items[self][i].id == m->ref.id) forget(self, i--);
        m->lives = false;
        return;
    }
    const bool lives = choose(other, random, &who);
    *m = (struct monitor){.who = who, .lives = true, .rest = spec.rests};
    int rc = weft_monitor(who, &m->ref);
    programs_tell("%d: monitors %d, %" PRIx64 ": %d", self, other, who.actor, rc);
    CHECK(rc == 0, "actor %d cannot monitor: %d", self, rc);
    if (other == self && weft_pid_equal(who, weft_self())) m->lives = false; /* without effect */
    else if (!lives)
        expect(self,
               (struct item){
                   .kind = DOWN, .id = m->ref.id, .who = who, .reason = WEFT_EXIT_NO_ACTOR, .may_be_unknown = true});
}

static void link_or_unlink(int self, int other, uint64_t *random)
{
    weft_pid who;
    const bool lives = choose(other, random, &who), links = random_below(random, 3) > 0;
    bool *linked = &spec.linked[self][other], none = false;
    if (other == self || (!links && !lives)) return;
    if (links) {
        int rc = weft_link(who);
        programs_tell("%d: links with %d, %" PRIx64 ": %d", self, other, who.actor, rc);
        CHECK(rc == 0, "actor %d cannot link with %d: %d", self, other, rc);
        if (lives) *linked = spec.linked[other][self] = true;
        else told_of_end(self, who, WEFT_EXIT_NO_ACTOR);
        return;
    }
    int rc = weft_unlink(who);
    programs_tell("%d: unlinks %d: %d", self, other, rc);
    CHECK(rc == (*linked ? 0 : WEFT_ECLOSED), "actor %d unlinks %d: %d", self, other, rc);
    *linked = spec.linked[other][self] = none;
}

/* No EXIT of one that has ended comes after that. */
static void unlink_last(int self, int other)
{
    const weft_pid who = spec.last[other];
    if (weft_pid_is_nobody(who) || other == self) return;
    int rc = weft_unlink(who);
    programs_tell("%d: unlinks %" PRIx64 ", which has ended: %d", self, who.actor, rc);
    for (size_t i = 0; i < spec.waiting[self]; i++)
        if (spec.items[self][i].kind == EXIT && weft_pid_equal(spec.items[self][i].who, who)) forget(self, i--);
}

static void send_mail(int self, int other)
{
    const uint64_t id = ++spec.next_id;
    const weft_pid to = crew.at[other].pid;
    int rc = weft_send(to, MAIL_TAG, &id, sizeof id);
    programs_tell("%d: sends %" PRIu64 " to %d: %d", self, id, other, rc);
    CHECK(rc == 0 || !crew.at[other].alive, "actor %d cannot send to %d: %d", self, other, rc);
    expect(other, (struct item){.kind = MAIL, .id = id, .who = crew.at[self].pid});
}

static bool is_for_model(const weft_msg *m, void *arg)
{
    (void)arg;
    return weft_tag(m) != CREW_TAG;
}

static struct item item_of(const weft_msg *m)
{
    struct item i = {.kind = MAIL, .who = weft_from(m)};
    struct weft_down down;
    if (weft_tag(m) == MAIL_TAG) {
        memcpy(&i.id, weft_data(m), sizeof i.id);
        return i;
    }
    want_int(weft_down_read(m, &down), 0);
    return (struct item){.kind = weft_tag(m) == WEFT_TAG_DOWN ? DOWN : EXIT,
                         .id = down.ref.id,
                         .who = down.who,
                         .reason = down.reason};
}

static void got(int self, const struct item *it)
{
    static const char *const name[] = {"mail", "a DOWN", "an EXIT"};
    programs_tell("%d: gets %s, %" PRIu64 " of %" PRIx64 ", reason %d", self, name[it->kind], it->id, it->who.actor,
                  it->reason);
    for (size_t i = 0; i < spec.waiting[self]; i++) {
        const struct item k = spec.items[self][i];
        const bool same = k.kind == it->kind && k.id == it->id && weft_pid_equal(k.who, it->who);
        if (same) {
            CHECK(k.reason == it->reason || (k.may_be_unknown && it->reason == WEFT_EXIT_NO_ACTOR),
                  "actor %d gets the reason %d, not %d", self, it->reason, k.reason);
            for (int n = 0; n < MONITORS && k.kind == DOWN; n++)
                if (spec.monitors[self][n].ref.id == k.id) spec.monitors[self][n].lives = false;
            forget(self, i);
            return;
        }
        /* all DOWN and EXIT of one end come at once */
        const bool one_end = k.kind != MAIL && it->kind != MAIL && weft_pid_equal(k.who, it->who);
        const bool behind = exact || (weft_pid_equal(k.who, it->who) && k.kind == MAIL);
        if (behind && !one_end) break;
    }
    programs_fail("actor %d gets %s of %" PRIx64 ", which was not to come now", self, name[it->kind], it->who.actor);
}

static void receive(int self, bool all)
{
    weft_msg *m;
    while (weft_recv_match(&m, is_for_model, NULL, WEFT_NOW) == 0) {
        const struct item i = item_of(m);
        weft_msg_free(m);
        got(self, &i);
        if (!all) return;
    }
    if (exact && spec.reasons[self] == 0)
        CHECK(spec.waiting[self] == 0, "actor %d does not get what has been sent", self);
}

static void act(int self, uint64_t *random)
{
    const int other = (int)random_below(random, ACTORS);
    const uint32_t what = random_below(random, 32);
    int reason = -1;
    crew_lock();
    if (what < 6) monitor(self, other, random);
    else if (what < 13 && exact) link_or_unlink(self, other, random);
    else if (what < 16 && exact) unlink_last(self, other);
    else if (what < 18) {
        spec.traps[self] = !spec.traps[self];
        want_int(weft_trap_exits(spec.traps[self]), 0);
        programs_tell("%d: traps exits: %d", self, spec.traps[self]);
    } else if (what < 23) send_mail(self, other);
    else if (what < 28) receive(self, what < 25);
    else if (random_below(random, 4) == 0) {
        reason = random_below(random, 2) == 0 ? WEFT_EXIT_NORMAL : 16 + (int)random_below(random, 4);
        spec.reasons[self] = 0;
        will_end(self, reason);
    }
    crew_unlock();
    if (reason >= 0) weft_exit(reason);
}

static void gone(int self)
{
    const int reason = wf_actor_self()->reason;
    programs_tell("%d: has ended, reason %d", self, reason);
    spec_end(self, reason);
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void collect(int self, uint64_t *random)
{
    (void)random;
    crew_lock();
    receive(self, true);
    CHECK(spec.waiting[self] == 0, "actor %d does not get what was sent", self);
    crew_unlock();
}

static void compare_all(void)
{
    crew_settle();
    spec.rests++;
    crew.work.act = collect;
    for (int i = 0; i < ACTORS; i++) crew_tell(i, 0);
    crew_settle();
    crew.work.act = act;
}

static void end_one(int who, bool kill)
{
    crew_lock();
    if (crew.at[who].alive && !crew.at[who].dying) will_end(who, kill ? WEFT_EXIT_KILLED : WEFT_EXIT_STOPPED);
    crew_unlock();
    if (crew_end_one(who, kill)) programs_tell("%d: is to end", who);
}

static void drive(const struct program *p)
{
    memset(&spec, 0, sizeof spec);
    crew_begin(&(struct crew_work){.act = act, .gone = gone}, ACTORS, exact ? 0 : 2);
    for (size_t i = 0; i < p->n && !programs_broken(); i++) {
        uint64_t random = p->ops[i].random;
        const int who = (int)p->ops[i].who;
        switch (random_below(&random, 24)) {
        case 0: end_one(who, random_below(&random, 2) == 0); break;
        case 1: compare_all(); break;
        case 2:
        case 3:
            if (exact) crew_settle();
            break;
        default: crew_tell(who, random);
        }
    }
    compare_all();
    for (int i = 0; i < ACTORS; i++) end_one(i, true);
    crew_end();
}

static void on_one_worker(const struct program *p)
{
    crew_run(p, drive);
}

START_TEST(ties_do_as_their_specification)
{
    exact = true;
    ck_assert(programs_pass(&(struct programs){.name = "TIE",
                                               .test = "unit/actors/lifecycle/tie_programs",
                                               .seeds = 200,
                                               .actors = ACTORS,
                                               .ops = 150,
                                               .run = on_one_worker}));
}
END_TEST

START_TEST(ties_on_two_workers_do_as_their_specification)
{
    exact = false;
    ck_assert(crew_pass_on(2, &(struct programs){.name = "TIE_APART",
                                                 .test = "unit/actors/lifecycle/tie_programs",
                                                 .seeds = 20,
                                                 .actors = ACTORS,
                                                 .ops = 150,
                                                 .times = 20,
                                                 .run = drive}));
}
END_TEST

TEST_MAIN("tie programs", ties_do_as_their_specification, ties_on_two_workers_do_as_their_specification)

/* Mailboxes against a specification, with several actors: each runs a random program of sends, receives,
 * publications, monitors, kills and ends. All live on one worker, so at most one of them runs at a time, and the
 * specification knows the order of all operations. It states which message each receive must return, and whether each
 * send may succeed, fail or wait. mail_apart_programs_test.c has several workers. */
#include "../node_harness.h"
#include "../programs.h"
#include "mail_wanted.h"

enum { ACTORS = 5, PLACES = 256 };

/* ---- The specification ----------------------------------------------------------------------------------------- */

struct item {
    int64_t id; /* of mail; of DOWN: that of the actor which has ended */
    uint32_t tag;
    int from;
    bool published;
    bool handed; /* the receiver waited for it, and may have it already: then it uses no place */
};

/* The specification's knowledge of one actor. */
struct spec {
    weft_pid pid;
    weft_full_policy policy;
    uint32_t max;
    struct item at[PLACES]; /* all messages that wait for it, the oldest first */
    size_t n;
    /* senders that wait for space, or have just been told of it; the one that has waited for longest is first */
    int waiting[ACTORS];
    int waits;
    bool
        may_be_promised; /* a sender that waited was killed: the place that it was promised comes free some time later */
    bool dying;          /* it has been killed, or its program is over: it ends as soon as the worker comes to it */
    bool listens;        /* to the topic */
    bool receives;       /* it is in a receive that takes anything, and waits there */
    bool monitors[ACTORS];  /* and has not heard of their ends */
    bool down_soon[ACTORS]; /* an actor has ended: its DOWN waits somewhere, or will come */
};

static struct spec spec[ACTORS];
static const struct program *running;
static uint64_t random_state; /* random numbers of the operation that runs: it draws them before it waits */
static int64_t next_id;
static uint64_t activity; /* counts the operations of all actors: it shows whether others have run meanwhile */

static void report(int self, const char *what, int64_t value)
{
    programs_fail("actor %d: %s (%lld)", self, what, (long long)value);
}

static void check(bool holds, int self, const char *what, int64_t value)
{
    if (!holds) report(self, what, value);
}

static bool is_mail(const struct item *i)
{
    return i->tag < WEFT_TAG_SYSTEM;
}

/* The smallest and (`most`) the largest number of messages that its mailbox can have. */
static uint32_t count(const struct spec *s, bool most)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s->n; i++) n += is_mail(&s->at[i]) && (most || !s->at[i].handed);
    return n;
}

static uint32_t count_published(const struct spec *s)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s->n; i++) n += s->at[i].published;
    return n;
}

static struct item take(struct spec *s, size_t i)
{
    struct item taken = s->at[i];
    memmove(&s->at[i], &s->at[i + 1], (--s->n - i) * sizeof s->at[0]);
    return taken;
}

/* The real number of messages in its mailbox: used where the specification allows two outcomes. */
static uint32_t mail_of(const struct spec *s)
{
    const struct wf_actor *a = wf_actor_find(wf_here, s->pid.actor);
    return a == NULL ? 0 : wf_mail_count(a);
}

static void put(struct spec *s, struct item i)
{
    check(s->n < PLACES, (int)(s - spec), "too much waits", (int64_t)s->n);
    i.handed = is_mail(&i) && s->receives && s->n == 0 && mail_of(s) == 0;
    s->at[s->n++] = i;
}

static void put_mail(struct spec *s, struct item i)
{
    bool full = count(s, false) >= s->max;
    if (full && s->policy == WEFT_FULL_DROP_OLDEST) {
        size_t oldest = 0;
        while (!is_mail(&s->at[oldest])) oldest++;
        (void)take(s, oldest);
        full = false;
    }
    if (!full) put(s, i);
}

/* Actors that monitor it get DOWN some time later, behind all messages that it has sent. */
static void ends(int self)
{
    for (int i = 0; i < ACTORS; i++) {
        if (spec[i].monitors[self]) spec[i].down_soon[self] = true;
        spec[i].monitors[self] = false;
    }
}

static void stops_waiting(int self, bool killed)
{
    for (int k = 0; k < ACTORS; k++) {
        struct spec *s = &spec[k];
        for (int i = 0; i < s->waits; i++) {
            if (s->waiting[i] != self) continue;
            s->may_be_promised = s->may_be_promised || killed;
            memmove(&s->waiting[i], &s->waiting[i + 1], (size_t)(--s->waits - i) * sizeof s->waiting[0]);
            break;
        }
    }
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

/* No other actor has run in between: the message was either sent, or refused because there was no space. */
static void sent_at_once(int self, struct spec *to, int rc, int others)
{
    bool may_wait = to->policy == WEFT_FULL_SUSPEND;
    bool is_full = count(to, false) >= to->max, may_be_full = count(to, true) >= to->max;
    if (rc == WEFT_EFULL) {
        check(to->policy == WEFT_FULL_FAIL || may_wait, self, "a send fails because of a mailbox that drops",
              to->max);
        check(may_be_full || (may_wait && (others > 0 || to->may_be_promised)), self,
              "a send finds a mailbox full that is not", count(to, true));
        return;
    }
    if (to->policy == WEFT_FULL_FAIL || may_wait) check(!is_full, self, "a send exceeds the bound", count(to, false));
    if (may_wait)
        check(count(to, false) + (uint32_t)others < to->max, self, "a send takes what others wait for", others);
}

static void send_one(int self, bool may_wait)
{
    int target = (int)random_below(&random_state, ACTORS);
    struct spec *to = &spec[target];
    struct item i = {.id = ++next_id, .tag = 1 + random_below(&random_state, TAGS), .from = self};
    const uint64_t before = ++activity;
    const int others = to->waits;
    if (target == self && may_wait && to->policy == WEFT_FULL_SUSPEND) return; /* it would wait for itself */
    if (may_wait && to->policy == WEFT_FULL_SUSPEND) to->waiting[to->waits++] = self;
    int rc = may_wait ? weft_send(to->pid, i.tag, &i.id, sizeof i.id)
                      : weft_try_send(to->pid, i.tag, &i.id, sizeof i.id);
    const bool waited = activity != before;
    const bool was_first = to->waits > 0 && to->waiting[0] == self;
    stops_waiting(self, false);
    programs_tell("%d: sends %lld to %d%s: %d", self, (long long)i.id, target, may_wait ? "" : ", without waiting",
                  rc);
    if (rc == WEFT_ENOACTOR) {
        check(to->dying, self, "an actor that lives is not found", target);
        return;
    }
    check(rc == WEFT_OK || rc == WEFT_EFULL, self, "a send returns", rc);
    if (to->dying) return;
    if (!waited) sent_at_once(self, to, rc, others);
    if (waited && to->policy == WEFT_FULL_SUSPEND && rc == WEFT_OK) {
        /* a publication may have taken the place that it was promised */
        check(count(to, false) < to->max + count_published(to), self, "a send that waited exceeds the bound", target);
        check(was_first, self, "a send overtakes those that have waited for longer", target);
    }
    if (rc < 0) return;
    if (to->policy == WEFT_FULL_SUSPEND) put(to, i);
    else put_mail(to, i);
}

/* Each subscriber with space gets it, and no actor waits. A place that was promised to a sender is not free. */
static void publish(int self)
{
    struct item i = {.id = ++next_id, .tag = 1 + random_below(&random_state, TAGS), .from = self, .published = true};
    activity++;
    int rc = weft_publish("news", i.tag, &i.id, sizeof i.id);
    programs_tell("%d: publishes %lld: %d", self, (long long)i.id, rc);
    for (int k = 0; k < ACTORS; k++) {
        struct spec *s = &spec[k];
        if (!s->listens || s->dying) continue;
        bool claims = s->may_be_promised || count(s, false) + (uint32_t)s->waits >= s->max;
        bool promised = s->policy == WEFT_FULL_SUSPEND && claims;
        if (!promised || mail_of(s) > count(s, false)) put_mail(s, i);
    }
    check(rc >= 0 && rc <= ACTORS, self, "publications", rc);
}

/* ---- Receiving ------------------------------------------------------------------------------------------------- */

static int64_t number_of(weft_pid who)
{
    for (int k = 0; k < ACTORS; k++)
        if (weft_pid_equal(spec[k].pid, who)) return k;
    return 0;
}

/* Whether it is a DOWN, which must come behind all messages that the ended actor has sent. */
static bool is_down(int self, const struct brought *i, const struct wanted *w)
{
    struct spec *s = &spec[self];
    if (i->tag != WEFT_TAG_DOWN) return false;
    check(s->down_soon[i->id], self, "DOWN comes of an actor that lives, or again", i->id);
    for (size_t k = 0; k < s->n; k++)
        check(!is_mail(&s->at[k]) || s->at[k].from != i->id || !is_wanted(w, s->at[k].tag, s->at[k].id), self,
              "DOWN comes before mail that was sent earlier", s->at[k].id);
    s->down_soon[i->id] = false;
    return true;
}

static void received(int self, const struct wanted *w, const weft_msg *m)
{
    struct spec *s = &spec[self];
    struct brought got = brought_by(m);
    check(is_wanted(w, got.tag, got.id), self, "a receive returns what was not wanted", got.id);
    if (is_down(self, &got, w)) return;
    for (size_t i = 0; i < s->n; i++) {
        if (!is_wanted(w, s->at[i].tag, s->at[i].id)) continue;
        check(s->at[i].id == got.id && s->at[i].tag == got.tag, self, "the wrong message is received", got.id);
        (void)take(s, i);
        return;
    }
    report(self, "a message is received that was not sent, or twice", got.id);
}

static void receive_one(int self)
{
    struct spec *s = &spec[self];
    struct wanted w = random_wanted(&random_state);
    weft_msg *m = NULL;
    const bool waits = random_below(&random_state, 2) == 0, all = w.tag == 0 && w.of == 0;
    activity++;
    s->receives = waits && all;
    int rc = receive_wanted(&m, &w, waits ? weft_after(WEFT_MS(1)) : WEFT_NOW);
    s->receives = false;
    for (size_t i = 0; i < s->n; i++) s->at[i].handed = false;
    programs_tell("%d: receives, tag %u, %lld of %lld%s: %d", self, w.tag, (long long)w.rest, (long long)w.of,
                  waits ? "" : ", without waiting", rc);
    if (rc == WEFT_OK) {
        received(self, &w, m);
        weft_msg_free(m);
        return;
    }
    check(rc == WEFT_ETIMEDOUT || (rc == WEFT_EFULL && !all && count(s, true) >= s->max), self, "a receive returns",
          rc);
    for (size_t i = 0; i < s->n; i++)
        check(!is_wanted(&w, s->at[i].tag, s->at[i].id), self, "a receive does not find what waits", s->at[i].id);
}

/* ---- Ends ------------------------------------------------------------------------------------------------------ */

static void monitor(int self)
{
    int target = (int)random_below(&random_state, ACTORS);
    struct spec *s = &spec[self];
    activity++;
    if (target == self || s->monitors[target] || s->down_soon[target] || spec[target].dying) return;
    want_int(weft_monitor(spec[target].pid, NULL), 0);
    programs_tell("%d: monitors %d", self, target);
    s->monitors[target] = true;
}

/* It may kill an actor that waits for space, or that has just been told of space. */
static void kill_one(int self)
{
    int target = (int)random_below(&random_state, ACTORS);
    activity++;
    if (target == self || spec[target].dying) return;
    want_int(weft_kill(spec[target].pid), 0);
    programs_tell("%d: kills %d", self, target);
    spec[target].dying = true;
    stops_waiting(target, true);
    ends(target);
}

static void step(int self)
{
    switch (random_below(&random_state, 32)) {
    case 0: monitor(self); break;
    case 1:
        if (random_below(&random_state, 8) == 0) kill_one(self);
        break;
    case 2:
    case 3: publish(self); break;
    case 4:
    case 5:
    case 6:
    case 7: send_one(self, false); break;
    case 8:
    case 9: activity++, (void)weft_yield(); break;
    default:
        if (random_below(&random_state, 2) == 0) send_one(self, true);
        else receive_one(self);
    }
}

static void program(const void *arg, size_t size)
{
    const int self = (int)((const struct kid *)arg)->n;
    (void)size;
    if (spec[self].listens) want_int(weft_subscribe("news", NULL), 0);
    (void)weft_yield(); /* all begin together */
    for (size_t i = 0; i < running->n && !programs_broken(); i++) {
        if ((int)running->ops[i].who != self) continue;
        check(!spec[self].dying, self, "an actor goes on that was killed", (int64_t)i);
        random_state = running->ops[i].random;
        step(self);
    }
    activity++;
    spec[self].dying = true;
    ends(self);
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void run_program(const struct program *p)
{
    const uint32_t bounds[] = {1, 2, 3, 5, 16, 24};
    uint64_t random = p->seed;
    memset(spec, 0, sizeof spec);
    running = p;
    for (int i = 0; i < ACTORS; i++) {
        struct spec *s = &spec[i];
        s->policy = random_below(&random, 2) == 0 ? WEFT_FULL_SUSPEND : (weft_full_policy)random_below(&random, 4);
        s->max = bounds[random_below(&random, WF_COUNT(bounds))];
        s->listens = random_below(&random, 2) == 0;
        weft_spawn_options o = {.worker = 1, .mailbox_max = s->max, .policy = s->policy, .shares_stack = true};
        s->pid = kid_with(program, (struct kid){.n = i}, &o);
    }
    for (int i = 0; i < ACTORS; i++) await_end(spec[i].pid);
}

static bool passed;

static void run_all(const void *arg, size_t size)
{
    (void)arg, (void)size;
    passed = programs_pass(&(struct programs){.name = "MAIL",
                                              .test = "unit/actors/mailbox/mail_programs",
                                              .seeds = 100,
                                              .actors = ACTORS,
                                              .ops = 300,
                                              .times = 3,
                                              .run = run_program});
}

START_TEST(mailboxes_do_as_their_specification)
{
    weft_log_set(WEFT_ERROR, false);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .send_timeout = WEFT_MS(2)));
    node_spawn(n, 1, run_all);
    node_end(n);
    ck_assert(passed);
}
END_TEST

TEST_MAIN("mail programs", mailboxes_do_as_their_specification)

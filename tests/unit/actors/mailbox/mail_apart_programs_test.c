/* Mailboxes against a specification, over two workers: as mail_programs_test.c, but there the order of all operations
 * is known. Here only the order of each sender is known: its messages arrive in order and once, and DOWN after them.
 * A message that was sent successfully arrives, unless the mailbox may drop it or its actor has ended; a refused
 * message does not. */
#include "../node_harness.h"
#include "../programs.h"
#include "mail_wanted.h"

#include <weft/latch.h>

enum { ACTORS = 4, PLACES = 512 };

/* ---- The specification ----------------------------------------------------------------------------------------- */

enum state { SENDING, SENT, PUBLISHED, REFUSED, GONE };

struct item {
    int64_t id;
    uint32_t tag;
    int from;
    enum state state;
};

struct spec {
    weft_pid pid;
    weft_full_policy policy;
    struct item at[PLACES]; /* all messages that were sent to it */
    size_t n;
    bool listens, dying, done;
    bool monitors[ACTORS]; /* it monitors these actors, and has got no DOWN of them yet */
};

static struct spec spec[ACTORS];
static pf_mutex *lock; /* guards the specification; never held while an actor suspends */
static int64_t next_id;
static const struct program *running;
/* each program has its own topic: a publication may arrive after the end of its program */
static char topic[32];
static weft_latch begun, done; /* `begun`: all actors have begun; `done`: no actor sends any more */

#define CHECK(condition, ...) ((condition) ? (void)0 : programs_fail(__VA_ARGS__))

static bool keeps_all(const struct spec *s)
{
    return s->policy == WEFT_FULL_SUSPEND || s->policy == WEFT_FULL_FAIL;
}

static size_t spec_send(int self, struct spec *to, uint32_t tag, int64_t id, enum state state)
{
    want(to->n < PLACES);
    to->at[to->n] = (struct item){.id = id, .tag = tag, .from = self, .state = state};
    return to->n++;
}

/* Checks the order of a message from `from`: no older message of that sender that is wanted, too, may still wait. */
static void check_order(int self, const struct wanted *w, size_t end, int from)
{
    const struct spec *s = &spec[self];
    for (size_t i = 0; i < end && keeps_all(s); i++)
        CHECK(s->at[i].from != from || s->at[i].state != SENT || !is_wanted(w, s->at[i].tag, s->at[i].id),
              "actor %d is overtaken: %lld of %d is still to come", self, (long long)s->at[i].id, from);
}

static void spec_receive(int self, const struct wanted *w, const struct brought *got)
{
    struct spec *s = &spec[self];
    size_t i = 0;
    while (i < s->n && s->at[i].id != got->id) i++;
    CHECK(i < s->n, "actor %d receives %lld, which is not for it", self, (long long)got->id);
    CHECK(i == s->n || s->at[i].state != REFUSED, "actor %d receives %lld, which was refused", self,
          (long long)got->id);
    CHECK(i == s->n || s->at[i].state != GONE, "actor %d receives %lld twice", self, (long long)got->id);
    CHECK(is_wanted(w, got->tag, got->id), "actor %d receives %lld, which it does not want", self,
          (long long)got->id);
    if (i == s->n) return;
    check_order(self, w, i, s->at[i].from);
    s->at[i].state = GONE;
}

/* ---- Operations ------------------------------------------------------------------------------------------------ */

static void send_one(int self, uint64_t *random, bool may_wait)
{
    const int target = (int)random_below(random, ACTORS);
    struct spec *to = &spec[target];
    const uint32_t tag = 1 + random_below(random, TAGS);
    if (target == self && may_wait) return; /* it would wait for its own space */
    pf_mutex_lock(lock);
    const int64_t id = ++next_id;
    const size_t at = spec_send(self, to, tag, id, SENDING);
    pf_mutex_unlock(lock);
    int rc = may_wait ? weft_send(to->pid, tag, &id, sizeof id) : weft_try_send(to->pid, tag, &id, sizeof id);
    pf_mutex_lock(lock);
    programs_tell("%d: sends %lld to %d%s: %d", self, (long long)id, target, may_wait ? "" : ", without waiting", rc);
    CHECK(rc == 0 || (rc == WEFT_EFULL && keeps_all(to)) || (rc == WEFT_ENOACTOR && (to->dying || to->done)),
          "actor %d sends to %d: %d", self, target, rc);
    CHECK(rc == 0 || to->at[at].state == SENDING, "actor %d has received %lld, which was refused", target,
          (long long)id);
    if (to->at[at].state == SENDING) to->at[at].state = rc == 0 ? SENT : REFUSED;
    pf_mutex_unlock(lock);
}

static void publish(int self, uint64_t *random)
{
    const uint32_t tag = 1 + random_below(random, TAGS);
    pf_mutex_lock(lock);
    const int64_t id = ++next_id;
    for (struct spec *s = spec; s < spec + ACTORS; s++)
        if (s->listens) (void)spec_send(self, s, tag, id, PUBLISHED);
    pf_mutex_unlock(lock);
    int rc = weft_publish(topic, tag, &id, sizeof id);
    programs_tell("%d: publishes %lld: %d", self, (long long)id, rc);
    CHECK(rc >= 0, "actor %d publishes: %d", self, rc);
}

static int64_t number_of(weft_pid who)
{
    for (int k = 0; k < ACTORS; k++)
        if (weft_pid_equal(spec[k].pid, who)) return k;
    return 0;
}

/* Returns what the receive has returned. */
static int receive(int self, struct wanted w, int64_t deadline)
{
    weft_msg *m;
    int rc = receive_wanted(&m, &w, deadline);
    if (rc < 0) return rc;
    const struct brought got = brought_by(m);
    weft_msg_free(m);
    pf_mutex_lock(lock);
    programs_tell("%d: receives %lld, tag %u", self, (long long)got.id, got.tag);
    if (got.tag == WEFT_TAG_DOWN) {
        CHECK(spec[self].monitors[got.id], "actor %d hears of the end of %d, or again", self, (int)got.id);
        CHECK(spec[got.id].dying || spec[got.id].done, "actor %d hears of the end of %d, which lives", self,
              (int)got.id);
        check_order(self, &w, spec[self].n, (int)got.id);
        spec[self].monitors[got.id] = false;
    } else {
        spec_receive(self, &w, &got);
    }
    pf_mutex_unlock(lock);
    return 0;
}

static void receive_one(int self, uint64_t *random)
{
    struct wanted w = random_wanted(random);
    int rc = receive(self, w, random_below(random, 2) == 0 ? WEFT_NOW : weft_after(WEFT_US(100)));
    CHECK(rc == 0 || rc == WEFT_ETIMEDOUT || rc == WEFT_EFULL, "actor %d receives: %d", self, rc);
}

static void monitor_one(int self, uint64_t *random)
{
    const int target = (int)random_below(random, ACTORS);
    pf_mutex_lock(lock);
    if (target != self && !spec[self].monitors[target] && !spec[target].dying) {
        programs_tell("%d: monitors %d", self, target);
        want_int(weft_monitor(spec[target].pid, NULL), 0);
        spec[self].monitors[target] = true;
    }
    pf_mutex_unlock(lock);
}

static void kill_one(int self, uint64_t *random)
{
    const int target = (int)random_below(random, ACTORS);
    pf_mutex_lock(lock);
    if (target != self && !spec[target].dying && !spec[target].done) {
        programs_tell("%d: kills %d", self, target);
        want_int(weft_kill(spec[target].pid), 0);
        spec[target].dying = true;
    }
    pf_mutex_unlock(lock);
}

static void step(int self, uint64_t *random)
{
    switch (random_below(random, 32)) {
    case 0: monitor_one(self, random); break;
    case 1:
        if (random_below(random, 8) == 0) kill_one(self, random);
        break;
    case 2:
    case 3: publish(self, random); break;
    case 4:
    case 5: (void)weft_yield(); break;
    case 6:
    case 7:
    case 8:
    case 9:
    case 10: send_one(self, random, false); break;
    default:
        if (random_below(random, 2) == 0) send_one(self, random, true);
        else receive_one(self, random);
    }
}

/* ---------------------------------------------------------------------------------------------------------------- */

/* Runs when the actor has ended, in any way: it sends nothing any more. */
static void finish(void *arg)
{
    struct spec *s = arg;
    pf_mutex_lock(lock);
    if (!s->done) (void)weft_latch_count_down(done, 1);
    s->done = true;
    pf_mutex_unlock(lock);
}

static bool is_owed(const struct spec *s)
{
    bool owed = false;
    pf_mutex_lock(lock);
    for (size_t i = 0; i < s->n && keeps_all(s) && !s->dying; i++) owed = owed || s->at[i].state == SENT;
    pf_mutex_unlock(lock);
    return owed;
}

static void program(const void *arg, size_t size)
{
    const int self = (int)((const struct kid *)arg)->n;
    struct spec *s = &spec[self];
    (void)size;
    want_int(weft_defer(finish, s), 0);
    if (s->listens) want_int(weft_subscribe(topic, NULL), 0);
    (void)weft_latch_count_down(begun, 1);
    if (weft_latch_await(begun, WEFT_FOREVER) < 0) return;
    for (size_t i = 0; i < running->n && !programs_broken(); i++) {
        uint64_t random = running->ops[i].random;
        if ((int)running->ops[i].who == self) step(self, &random);
    }
    finish(s);
    if (weft_latch_await(done, WEFT_FOREVER) < 0) return;
    while (is_owed(s) && !programs_broken())
        CHECK(receive(self, (struct wanted){0}, weft_after(WEFT_SEC(10))) == 0, "actor %d does not get what was sent",
              self);
    while (receive(self, (struct wanted){0}, WEFT_NOW) == 0) {}
}

static void run_program(const struct program *p)
{
    const uint32_t bounds[] = {1, 2, 3, 5, 16, 24};
    uint64_t random = p->seed;
    memset(spec, 0, sizeof spec);
    running = p;
    snprintf(topic, sizeof topic, "news.%lld", (long long)++next_id);
    want_int(weft_latch_open(&begun, ACTORS + 1), 0);
    want_int(weft_latch_open(&done, ACTORS), 0);
    for (int i = 0; i < ACTORS; i++) {
        struct spec *s = &spec[i];
        s->policy = random_below(&random, 2) == 0 ? WEFT_FULL_SUSPEND : (weft_full_policy)random_below(&random, 4);
        s->listens = random_below(&random, 2) == 0;
        weft_spawn_options o = {.worker = 1 + i % 2,
                                .mailbox_max = bounds[random_below(&random, WF_COUNT(bounds))],
                                .policy = s->policy,
                                .shares_stack = true};
        s->pid = kid_with(program, (struct kid){.n = i}, &o);
    }
    (void)weft_latch_count_down(begun, 1); /* from now on each actor knows the others */
    for (int i = 0; i < ACTORS; i++) {
        const weft_wait end = weft_on_end(spec[i].pid);
        want_int(weft_wait_any(&end, 1, WEFT_FOREVER), 0);
    }
    want_int(weft_latch_close(begun), 0);
    want_int(weft_latch_close(done), 0);
}

static bool passed;

static void run_all(const void *arg, size_t size)
{
    (void)arg, (void)size;
    passed = programs_pass(&(struct programs){.name = "MAIL_APART",
                                              .test = "unit/actors/mailbox/mail_apart_programs",
                                              .seeds = 60,
                                              .actors = ACTORS,
                                              .ops = 240,
                                              .times = 20,
                                              .run = run_program});
}

START_TEST(mailboxes_do_as_their_specification)
{
    weft_log_set(WEFT_ERROR, false);
    want_int(pf_mutex_create(&lock), 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .send_timeout = WEFT_US(200)));
    node_spawn(n, 1, run_all);
    node_end(n);
    pf_mutex_destroy(lock);
    ck_assert(passed);
}
END_TEST

TEST_MAIN("mail apart programs", mailboxes_do_as_their_specification)

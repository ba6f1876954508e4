/* Publications, subscriptions, retained messages and queue groups against a specification: each publication reaches
 * each matching subscription once, in order, and one member of each queue group; a later subscriber gets the last
 * retained message of each topic. A naive matcher decides what matches. On one worker the specification knows the
 * order of all operations. On two workers a message under way to a subscription that begins or ends meanwhile may
 * arrive or not, and only the messages of one publisher have an order. */
#include "../crew.h"

#include <weft/topic.h>

enum { ACTORS = 4, SUBSCRIPTIONS = 6, MESSAGES = 128, WAITING = 2048, TOPICS = 64, NEWS_TAG = 7, NAME = 32 };

/* ---- The specification ----------------------------------------------------------------------------------------- */

/* Word by word: '*' is any one, '>' at the end is one or more. */
static bool matches(const char *pattern, const char *topic)
{
    for (;;) {
        if (strcmp(pattern, ">") == 0) return true;
        const size_t p = strcspn(pattern, "."), t = strcspn(topic, ".");
        if (strncmp(pattern, "*", WF_MAX(p, (size_t)1)) != 0 && (p != t || strncmp(pattern, topic, p) != 0))
            return false;
        if (pattern[p] == 0 || topic[t] == 0) return pattern[p] == topic[t];
        pattern += p + 1;
        topic += t + 1;
    }
}

struct message {
    char topic[NAME];
    int from;
    uint32_t rest; /* how many rests there had been */
};

struct subscription {
    weft_subscription it;
    char pattern[NAME];
    bool lives;
    char queue; /* the name of its group; 0: none */
    uint32_t rest;
};

/* A message that must arrive at an actor. */
struct item {
    uint32_t message;
    int subscription;
    bool sure;
    bool stored; /* it was retained before the subscription */
};

/* A message that must arrive at one of the members of a group. */
struct share {
    uint32_t message;
    uint32_t members; /* a bit for each actor */
    bool sure;
};

static struct {
    struct message messages[MESSAGES];
    uint32_t n;
    struct subscription subscriptions[ACTORS][SUBSCRIPTIONS];
    struct item items[ACTORS][WAITING];
    size_t waiting[ACTORS];
    struct share shares[WAITING];
    size_t sharing;
    uint32_t retained[TOPICS]; /* messages, the oldest first */
    size_t keeping;
    uint32_t rests;
} spec;
static bool exact;

#define CHECK(condition, ...) ((condition) ? (void)0 : programs_fail(__VA_ARGS__))

static void expect(int self, struct item i)
{
    want(spec.waiting[self] < WAITING);
    spec.items[self][spec.waiting[self]++] = i;
}

static void forget_item(int self, size_t k)
{
    memmove(&spec.items[self][k], &spec.items[self][k + 1], (--spec.waiting[self] - k) * sizeof(struct item));
}

static void forget_retained(const char *topic)
{
    for (size_t i = 0; i < spec.keeping; i++)
        if (strcmp(spec.messages[spec.retained[i]].topic, topic) == 0)
            memmove(&spec.retained[i], &spec.retained[i + 1], (--spec.keeping - i) * sizeof spec.retained[0]);
}

/* Sends it to one of all subscribers with the pattern and the queue of that subscription. */
static void share_out(uint32_t id, const struct subscription *first)
{
    struct share out = {.message = id, .sure = true};
    for (int i = 0; i < ACTORS; i++)
        for (const struct subscription *s = spec.subscriptions[i]; s < spec.subscriptions[i] + SUBSCRIPTIONS; s++) {
            if (!s->lives || s->queue != first->queue || strcmp(s->pattern, first->pattern) != 0) continue;
            if (s < first) return; /* it was shared out then */
            out.members |= 1u << i;
            out.sure = out.sure && (exact || s->rest < spec.rests);
        }
    want(spec.sharing < WAITING);
    spec.shares[spec.sharing++] = out;
}

static void spec_publish(uint32_t id)
{
    for (int i = 0; i < ACTORS; i++)
        for (int k = 0; k < SUBSCRIPTIONS; k++) {
            const struct subscription *s = &spec.subscriptions[i][k];
            if (!s->lives || !matches(s->pattern, spec.messages[id].topic)) continue;
            if (s->queue != 0) share_out(id, s);
            else expect(i, (struct item){.message = id, .subscription = k, .sure = exact || s->rest < spec.rests});
        }
}

/* It gets what is retained; and what others have published since the last rest may still be on its way. */
static void spec_subscribe(int self, int k)
{
    const struct subscription *s = &spec.subscriptions[self][k];
    for (size_t i = 0; i < spec.keeping && s->queue == 0; i++)
        if (matches(s->pattern, spec.messages[spec.retained[i]].topic))
            expect(self, (struct item){.message = spec.retained[i], .subscription = k, .sure = true, .stored = true});
    for (uint32_t id = 0; id < spec.n && !exact; id++) {
        const struct message *m = &spec.messages[id];
        bool retained = false;
        for (size_t i = 0; i < spec.keeping; i++) retained = retained || spec.retained[i] == id;
        if (m->rest != spec.rests || retained || !matches(s->pattern, m->topic)) continue;
        if (s->queue == 0) expect(self, (struct item){.message = id, .subscription = k});
        else spec.shares[spec.sharing++] = (struct share){.message = id, .members = 1u << self};
    }
}

/* Messages under way to it may be lost. */
static void spec_unsubscribe(int self, int k)
{
    for (size_t i = 0; i < spec.waiting[self] && !exact; i++) {
        struct item *it = &spec.items[self][i];
        if (it->subscription == k && spec.messages[it->message].rest == spec.rests) it->sure = false;
    }
    for (size_t i = 0; i < spec.sharing && !exact; i++)
        if (spec.messages[spec.shares[i].message].rest == spec.rests) spec.shares[i].sure = false;
    spec.subscriptions[self][k].lives = false;
}

/* Finds a message that has come among those that wait. `sure`: one that must come now; otherwise one that may. */
static bool take_item(int self, uint32_t id, bool stored, bool sure)
{
    for (size_t i = 0; i < spec.waiting[self]; i++) {
        const struct item it = spec.items[self][i];
        if (it.message == id && it.sure == sure && (it.stored == stored || !exact)) {
            forget_item(self, i);
            return true;
        }
        /* what was retained is there at once, perhaps before what had been published before it */
        const bool in_order = exact ||
                              (spec.messages[it.message].from == spec.messages[id].from && !it.stored && !stored);
        if (it.sure && in_order) return false; /* what is behind it comes later */
    }
    return false;
}

/* The receiver is a member of a group, for which no order is promised. */
static bool take_share(int self, uint32_t id, bool sure)
{
    for (size_t i = 0; i < spec.sharing; i++) {
        const struct share *s = &spec.shares[i];
        if (s->message != id || (s->members >> self & 1) == 0 || s->sure != sure) continue;
        spec.shares[i] = spec.shares[--spec.sharing];
        return true;
    }
    return false;
}

static bool take(int self, uint32_t id, bool stored)
{
    return take_item(self, id, stored, true) || take_share(self, id, true) || take_item(self, id, stored, false) ||
           take_share(self, id, false);
}

/* ---- Operations ------------------------------------------------------------------------------------------------ */

/* On two workers, what queue groups get has topics of its own: it could not be told whether a message that may arrive
 * is for the group or for another subscription. */
static void some_name(uint64_t *random, char out[NAME], bool pattern)
{
    const uint32_t words = 1 + random_below(random, 4);
    size_t n = 0;
    if (!exact) {
        out[n++] = !pattern && random_below(random, 3) == 0 ? 'q' : 'n';
        out[n++] = '.';
    }
    for (uint32_t i = 0; i < words; i++) {
        const uint32_t what = random_below(random, pattern ? 6 : 3);
        if (i > 0) out[n++] = '.';
        out[n++] = what < 3 ? (char)('a' + what) : what == 3 && i == words - 1 ? '>' : '*';
        if (what == 1) out[n++] = 'a'; /* "ba" begins as no other does */
    }
    out[n] = 0;
}

static void publish(int self, uint64_t *random)
{
    const uint32_t id = spec.n, how = random_below(random, 8);
    if (id == MESSAGES || spec.keeping == TOPICS) return;
    struct message *m = &spec.messages[spec.n++];
    *m = (struct message){.from = self, .rest = spec.rests};
    some_name(random, m->topic, false);
    if (how == 0) {
        int rc = weft_retained_clear(m->topic);
        const size_t kept = spec.keeping;
        forget_retained(m->topic);
        programs_tell("%d: clears %s: %d", self, m->topic, rc);
        CHECK(rc == (kept > spec.keeping), "actor %d clears %s: %d", self, m->topic, rc);
        return;
    }
    spec_publish(id);
    int rc = how < 4 ? weft_publish_retained(m->topic, NEWS_TAG, &id, sizeof id)
                     : weft_publish(m->topic, NEWS_TAG, &id, sizeof id);
    programs_tell("%d: publishes %u, %s%s: %d", self, id, m->topic, how < 4 ? ", retained" : "", rc);
    CHECK(rc >= 0, "actor %d publishes %u: %d", self, id, rc);
    if (how >= 4) return;
    forget_retained(m->topic);
    spec.retained[spec.keeping++] = id;
}

static void subscribe(int self, uint64_t *random)
{
    const int k = (int)random_below(random, SUBSCRIPTIONS);
    struct subscription *s = &spec.subscriptions[self][k];
    if (s->lives) {
        programs_tell("%d: unsubscribes %s", self, s->pattern);
        CHECK(weft_unsubscribe(s->it) == 0, "actor %d cannot end its subscription to %s", self, s->pattern);
        spec_unsubscribe(self, k);
        CHECK(weft_unsubscribe(s->it) == WEFT_ECLOSED, "actor %d ends a subscription twice", self);
        return;
    }
    char queue[2] = {random_below(random, 4) == 0 ? 'q' : 0};
    *s = (struct subscription){.lives = true, .queue = queue[0], .rest = spec.rests};
    if (queue[0] != 0) strcpy(s->pattern, !exact ? "q.>" : random_below(random, 2) == 0 ? "a" : "*.>");
    else some_name(random, s->pattern, true);
    int rc = weft_subscribe_with(s->pattern, &(weft_subscribe_options){.queue = queue[0] == 0 ? NULL : queue},
                                 &s->it);
    programs_tell("%d: subscribes to %s%s%s", self, s->pattern, queue[0] == 0 ? "" : ", queue ", queue);
    CHECK(rc == 0, "actor %d cannot subscribe to %s: %d", self, s->pattern, rc);
    spec_subscribe(self, k);
}

static void receive(int self, bool all)
{
    weft_msg *m;
    uint32_t id;
    while (weft_recv_tag(&m, NEWS_TAG, WEFT_NOW) == 0) {
        memcpy(&id, weft_data(m), sizeof id);
        const bool stored = weft_is_retained(m);
        const bool known = id < spec.n && strcmp(spec.messages[id].topic, weft_topic(m)) == 0;
        weft_msg_free(m);
        programs_tell("%d: gets %u%s", self, id, stored ? ", which was retained" : "");
        CHECK(known, "actor %d gets %u under another topic", self, id);
        if (!known || !take(self, id, stored))
            programs_fail("actor %d gets %u, which is not for it, or comes again, or in another order", self, id);
        if (!all) return;
    }
    /* on two workers the rest is compared at the end */
    for (size_t i = 0; i < spec.waiting[self] && exact; i++)
        CHECK(false, "actor %d does not get %u", self, spec.items[self][i].message);
}

static void act(int self, uint64_t *random)
{
    const uint32_t what = random_below(random, 10);
    crew_lock();
    if (what < 4) subscribe(self, random);
    else if (what < 8) publish(self, random);
    else receive(self, what == 8 || random_below(random, 2) == 0);
    crew_unlock();
}

static void gone(int self)
{
    programs_tell("%d: has ended", self);
    for (int k = 0; k < SUBSCRIPTIONS; k++) spec_unsubscribe(self, k);
    spec.waiting[self] = 0;
    for (size_t i = 0; i < spec.sharing; i++) /* what waited for it is lost, and so is what it was to get */
        if ((spec.shares[i].members >> self & 1) != 0) spec.shares[i].sure = false;
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void collect(int self, uint64_t *random)
{
    (void)random;
    crew_lock();
    receive(self, true);
    for (size_t i = 0; i < spec.waiting[self]; i++)
        CHECK(!spec.items[self][i].sure, "actor %d does not get %u", self, spec.items[self][i].message);
    spec.waiting[self] = 0;
    crew_unlock();
}

/* Compares the rest of the specification, when all messages were received. */
static void compare_all(void)
{
    crew_settle();
    crew.work.act = collect;
    for (int i = 0; i < ACTORS; i++) crew_tell(i, 0);
    crew_settle();
    crew.work.act = act;
    for (size_t i = 0; i < spec.sharing; i++)
        CHECK(!spec.shares[i].sure, "no member of a queue group gets %u", spec.shares[i].message);
    spec.sharing = 0;
    spec.rests++;
}

static void drive(const struct program *p)
{
    memset(&spec, 0, sizeof spec);
    crew_begin(&(struct crew_work){.act = act, .gone = gone}, ACTORS, exact ? 0 : 2);
    for (size_t i = 0; i < p->n && !programs_broken(); i++) {
        uint64_t random = p->ops[i].random;
        const int who = (int)p->ops[i].who;
        switch (random_below(&random, 32)) {
        case 0:
            if (crew_end_one(who, true)) programs_tell("%d: is to end", who);
            break;
        case 1: compare_all(); break;
        case 2:
        case 3:
            if (exact) crew_settle();
            break;
        default: crew_tell(who, random);
        }
    }
    compare_all();
    for (size_t i = 0; i < spec.keeping; i++) /* the next program may run on this node as well */
        want_int(weft_retained_clear(spec.messages[spec.retained[i]].topic), 1);
    crew_end();
}

static void on_one_worker(const struct program *p)
{
    crew_run(p, drive);
}

START_TEST(topics_do_as_their_specification)
{
    exact = true;
    ck_assert(programs_pass(&(struct programs){.name = "TOPIC",
                                               .test = "unit/actors/topics/topic_programs",
                                               .seeds = 150,
                                               .actors = ACTORS,
                                               .ops = 120,
                                               .run = on_one_worker}));
}
END_TEST

START_TEST(topics_on_two_workers_do_as_their_specification)
{
    exact = false;
    ck_assert(crew_pass_on(2, &(struct programs){.name = "TOPIC_APART",
                                                 .test = "unit/actors/topics/topic_programs",
                                                 .seeds = 25,
                                                 .actors = ACTORS,
                                                 .ops = 120,
                                                 .times = 20,
                                                 .run = drive}));
}
END_TEST

TEST_MAIN("topic programs", topics_do_as_their_specification, topics_on_two_workers_do_as_their_specification)

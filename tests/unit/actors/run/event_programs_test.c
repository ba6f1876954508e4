/* Events, semaphores and latches against a specification: actors set, post, take, wait for one of them or for two,
 * reach deadlines, close them, and are stopped and killed meanwhile. On one worker the specification knows the order
 * of all operations, so it is exact. On two workers it is compared whenever all actors are at rest: no unit is lost
 * or made, no actor waits for a unit that is available, and no actor has overtaken one that had begun to wait at an
 * earlier rest. */
#include "../crew.h"

#include <weft/latch.h>
#include <weft/semaphore.h>

/* ---- The specification ----------------------------------------------------------------------------------------- */

enum kind { AUTOMATIC, MANUAL, SEMAPHORE, LATCH, KINDS };
enum { ACTORS = 5 };

static const char *const name_of[KINDS] = {"automatic event", "manual event", "semaphore", "latch"};

struct spec {
    union {
        weft_event event;
        weft_semaphore semaphore;
        weft_latch latch;
    } it;
    bool open;
    int owner;
    uint32_t count;       /* units of a semaphore; what a latch lacks; 1: an event is set */
    uint32_t sets, taken; /* of an automatic event: on two workers no more is known than that not more are taken */
    int queue[ACTORS];    /* who waits, the longest one first */
    int waits;
    uint32_t rest[ACTORS]; /* how many rests there had been when they began */
    bool may_go[ACTORS];   /* the manual event was set when they began to wait, or since */
    bool must_go[ACTORS];  /* it was set when they surely waited: on two workers they do at the next rest */
    uint32_t newest;       /* rest[] of the newest waiter that was served since the last rest */
    bool passed;           /* since then something was taken without waiting, or left for others */
};

static struct spec spec[KINDS];
static bool exact;     /* one worker */
static uint32_t rests; /* how often all were at rest */

static bool is_ready(const struct spec *s)
{
    return s - spec == LATCH ? s->count == 0 : s->count > 0;
}

static bool is_taken(enum kind k)
{
    return k == AUTOMATIC || k == SEMAPHORE;
}

static void spec_take(struct spec *s)
{
    if (s - spec == AUTOMATIC) s->count = 0;
    if (s - spec == SEMAPHORE) s->count--;
    s->taken++;
}

static void spec_set(struct spec *s)
{
    for (int i = 0; i < s->waits && s->count == 0 && s - spec == MANUAL; i++) {
        const int who = s->queue[i];
        s->may_go[who] = true;
        s->must_go[who] = exact || s->rest[who] < rests;
    }
    s->count = 1;
    s->sets++;
}

static void spec_leave(struct spec *s, int self)
{
    for (int i = 0; i < s->waits; i++)
        if (s->queue[i] == self) memmove(&s->queue[i], &s->queue[i + 1], (size_t)(--s->waits - i) * sizeof(int));
}

static void spec_wait(struct spec *s, int self)
{
    s->queue[s->waits++] = self;
    s->may_go[self] = s - spec == MANUAL && is_ready(s);
    s->must_go[self] = false;
    s->rest[self] = rests;
}

#define CHECK(condition, s, format, ...) \
    ((condition) ? (void)0 : programs_fail("%s: " format, name_of[(s)-spec], __VA_ARGS__))

/* It is served. Those that have waited for longer are served as well: there are units for them. */
static void spec_serve(struct spec *s, int self, bool takes)
{
    const enum kind k = (enum kind)(s - spec);
    if (exact) {
        CHECK(is_ready(s) || s->may_go[self], s, "actor %d is let go in vain", self);
        uint32_t before = 0;
        while (s->queue[before] != self) before++;
        if (is_taken(k)) CHECK(before < s->count, s, "actor %d overtakes actor %d", self, s->queue[0]);
    } else if (k != AUTOMATIC) {
        CHECK(is_ready(s) || s->may_go[self] || !takes, s, "actor %d is let go in vain", self);
    }
    s->newest = WF_MAX(s->newest, s->rest[self]);
    spec_leave(s, self);
    if (takes) spec_take(s);
    else s->passed = true;
    if (k == AUTOMATIC) CHECK(s->taken <= s->sets, s, "it was set %u times, and taken once more", s->sets);
}

/* Nothing happens any more. */
static void spec_rest(struct spec *s)
{
    if (!s->open) return;
    const enum kind k = (enum kind)(s - spec);
    int64_t n = k == SEMAPHORE ? weft_semaphore_count(s->it.semaphore)
                : k == LATCH   ? weft_latch_count(s->it.latch)
                               : 0;
    if (k == SEMAPHORE || k == LATCH) CHECK(n == s->count, s, "the count is %lld, not %u", (long long)n, s->count);
    if (exact || k != AUTOMATIC)
        CHECK(s->waits == 0 || !is_ready(s), s, "actor %d waits for what is there", s->queue[0]);
    if (k == AUTOMATIC && s->waits > 0)
        CHECK(weft_event_take(s->it.event) == 0, s, "actor %d waits for what is set", s->queue[0]);
    for (int i = 0; i < s->waits && is_taken(k) && !s->passed; i++)
        CHECK(s->rest[s->queue[i]] >= s->newest, s, "actor %d was overtaken", s->queue[i]);
    for (int i = 0; i < s->waits; i++) CHECK(!s->must_go[s->queue[i]], s, "actor %d was not let go", s->queue[i]);
    s->newest = 0;
    s->passed = false;
}

/* ---- Operations ------------------------------------------------------------------------------------------------ */

static weft_wait wait_on(const struct spec *s)
{
    return s - spec == SEMAPHORE ? weft_on_semaphore(s->it.semaphore)
           : s - spec == LATCH   ? weft_on_latch(s->it.latch)
                                 : weft_on_event(s->it.event);
}

static int64_t some_deadline(uint64_t *random)
{
    const int64_t spans[] = {0, WEFT_MS(1), WEFT_MS(3), WEFT_FOREVER, WEFT_FOREVER};
    int64_t span = spans[random_below(random, WF_COUNT(spans))];
    if (!exact && span < WEFT_FOREVER) span /= 20;
    return span == 0 ? WEFT_NOW : weft_after(span);
}

static void begin_wait(int self, struct spec *s)
{
    spec_wait(s, self);
    crew.at[self].waits = true;
}

/* Checks what must hold for a wait that has ended without a unit. */
static void check_error(int self, const struct spec *s, int rc, int64_t deadline)
{
    switch (rc) {
    case WEFT_ETIMEDOUT: CHECK(weft_now() >= deadline, s, "actor %d is too early", self); break;
    case WEFT_ECANCELED: CHECK(crew.at[self].dying, s, "actor %d was not stopped", self); break;
    case WEFT_ECLOSED: CHECK(!s->open, s, "it is not closed, but actor %d is told so", self); break;
    default: CHECK(false, s, "a wait of actor %d returns %d", self, rc); break;
    }
}

static void await(int self, struct spec *s, uint64_t *random)
{
    const enum kind k = (enum kind)(s - spec);
    const int64_t deadline = some_deadline(random);
    crew_lock();
    const uint64_t before = crew.activity;
    const bool at_once = s->open && is_ready(s) && (s->waits == 0 || !is_taken(k));
    begin_wait(self, s);
    crew_unlock();
    int rc = k == SEMAPHORE ? weft_semaphore_await(s->it.semaphore, deadline)
             : k == LATCH   ? weft_latch_await(s->it.latch, deadline)
                            : weft_event_await(s->it.event, deadline);
    crew_lock();
    programs_tell("%d: waited for the %s until %lld: %d", self, name_of[k],
                  (long long)(deadline == WEFT_FOREVER ? -1 : deadline), rc);
    crew.at[self].waits = false;
    if (exact && at_once && !crew.at[self].dying)
        CHECK(rc == 0 && crew.activity == before + 1, s, "actor %d waits for what is there (%d)", self, rc);
    if (rc == 0) spec_serve(s, self, true);
    else check_error(self, s, rc, deadline);
    spec_leave(s, self);
    crew_unlock();
}

/* Waits for two of them; then it takes from the one that is ready, or leaves that to the next waiting actor. */
static void await_two(int self, struct spec *s, uint64_t *random)
{
    struct spec *both[] = {s, &spec[(s - spec + 1 + random_below(random, KINDS - 1)) % KINDS]};
    const int64_t deadline = some_deadline(random);
    const bool takes = random_below(random, 2) == 0;
    crew_lock();
    const weft_wait on[] = {wait_on(both[0]), wait_on(both[1])};
    begin_wait(self, both[0]);
    begin_wait(self, both[1]);
    crew_unlock();
    int rc = weft_wait_any(on, 2, deadline);
    crew_lock();
    crew.at[self].waits = false;
    programs_tell("%d: waited for the %s or the %s: %d", self, name_of[both[0] - spec], name_of[both[1] - spec], rc);
    if (rc >= 0) {
        spec_serve(both[rc], self, false);
        if (takes && rc < 2 && is_taken((enum kind)(both[rc] - spec))) {
            struct spec *ready = both[rc];
            int got = ready - spec == SEMAPHORE ? weft_semaphore_take(ready->it.semaphore)
                                                : weft_event_take(ready->it.event);
            if (exact) CHECK(got == 1, ready, "actor %d finds nothing in its turn", self);
            if (got == 1) spec_take(ready);
        }
    } else {
        check_error(self, rc == WEFT_ECLOSED && both[0]->open ? both[1] : both[0], rc, deadline);
    }
    for (int i = 0; i < 2; i++) {
        both[i]->passed = true;
        spec_leave(both[i], self);
    }
    crew_unlock();
}

static void take(int self, struct spec *s)
{
    const enum kind k = (enum kind)(s - spec);
    if (k == LATCH) return;
    int rc = k == SEMAPHORE ? weft_semaphore_take(s->it.semaphore) : weft_event_take(s->it.event);
    programs_tell("%d: takes the %s: %d", self, name_of[k], rc);
    if (!s->open) CHECK(rc == WEFT_ECLOSED, s, "a take of one that is closed: %d", rc);
    else if (exact) CHECK(rc == is_ready(s), s, "a take finds %d instead of %d", rc, is_ready(s));
    else if (k != AUTOMATIC) CHECK(rc <= is_ready(s), s, "a take finds %d instead of %d", rc, is_ready(s));
    s->passed = true;
    if (rc == 1 && k != MANUAL) spec_take(s);
}

static void give(int self, struct spec *s, uint64_t *random)
{
    const enum kind k = (enum kind)(s - spec);
    const uint32_t n = 1 + random_below(random, 2);
    int rc = k == SEMAPHORE ? weft_semaphore_post(s->it.semaphore, n)
             : k == LATCH   ? weft_latch_count_down(s->it.latch, n)
                            : weft_event_set(s->it.event);
    programs_tell("%d: sets the %s, %u: %d", self, name_of[k], n, rc);
    CHECK(rc == (s->open ? 0 : WEFT_ECLOSED), s, "setting it returns %d", rc);
    if (rc < 0) return;
    if (k == SEMAPHORE) s->count += n;
    else if (k == LATCH) s->count -= WF_MIN(n, s->count);
    else spec_set(s);
}

static void reset(int self, struct spec *s)
{
    if (s - spec != AUTOMATIC && s - spec != MANUAL) return;
    int rc = weft_event_reset(s->it.event);
    programs_tell("%d: resets the %s: %d", self, name_of[s - spec], rc);
    CHECK(rc == (s->open ? 0 : WEFT_ECLOSED), s, "resetting it returns %d", rc);
    if (rc == 0) s->count = 0;
}

static void open_or_close(int self, struct spec *s, uint64_t *random)
{
    const enum kind k = (enum kind)(s - spec);
    programs_tell("%d: %s the %s", self, s->open ? "closes" : "opens", name_of[k]);
    if (s->open) {
        want_int(weft_event_close(s->it.event), 0); /* they are all the same */
        s->open = false;
        return;
    }
    if (s->waits > 0) return; /* they have not heard yet that it is closed */
    const uint32_t count = random_below(random, 3);
    *s = (struct spec){.open = true, .owner = self};
    switch (k) {
    case AUTOMATIC: want_int(weft_event_open(&s->it.event), 0); return;
    case MANUAL: want_int(weft_event_open_manual(&s->it.event), 0); return;
    case SEMAPHORE: want_int(weft_semaphore_open(&s->it.semaphore, count), 0); break;
    default: want_int(weft_latch_open(&s->it.latch, count), 0); break;
    }
    s->count = count;
}

static void act(int self, uint64_t *random)
{
    struct spec *s = &spec[random_below(random, KINDS)];
    const uint32_t what = random_below(random, 32);
    if (what < 9) {
        await(self, s, random);
        return;
    }
    if (what < 15) {
        await_two(self, s, random);
        return;
    }
    crew_lock();
    if (what < 22) give(self, s, random);
    else if (what < 24) take(self, s);
    else if (what == 24) reset(self, s);
    else if (what == 25 || !s->open) open_or_close(self, s, random);
    crew_unlock();
    if (what > 28) (void)weft_yield();
}

static void gone(int self)
{
    programs_tell("%d: has ended", self);
    for (struct spec *s = spec; s < spec + KINDS; s++) {
        spec_leave(s, self);
        if (s->owner == self && s->open) {
            want_int(weft_event_close(s->it.event), 0);
            s->open = false;
        }
    }
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void rest(void)
{
    crew_settle_and_lock();
    for (struct spec *s = spec; s < spec + KINDS; s++) spec_rest(s);
    rests++;
    crew_unlock();
}

static void drive(const struct program *p)
{
    memset(spec, 0, sizeof spec);
    crew_begin(&(struct crew_work){.act = act, .gone = gone}, ACTORS, exact ? 0 : 2);
    for (size_t i = 0; i < p->n && !programs_broken(); i++) {
        uint64_t random = p->ops[i].random;
        const int who = (int)p->ops[i].who;
        switch (random_below(&random, 24)) {
        case 0:
            if (crew_end_one(who, random_below(&random, 4) > 0)) programs_tell("%d: is to end", who);
            break;
        case 1:
        case 2: /* on two workers less often, as it takes long there */
            if (exact) want_int(weft_advance(WEFT_MS(1)), 0);
            rest();
            break;
        case 3:
        case 4:
        case 5:
            if (exact) rest();
            break;
        default: crew_tell(who, random);
        }
    }
    rest();
    crew_end();
}

static void on_one_worker(const struct program *p)
{
    crew_run(p, drive);
}

START_TEST(events_do_as_their_specification)
{
    exact = true;
    ck_assert(programs_pass(&(struct programs){.name = "EVENT",
                                               .test = "unit/actors/run/event_programs",
                                               .seeds = 300,
                                               .actors = ACTORS,
                                               .ops = 80,
                                               .run = on_one_worker}));
}
END_TEST

START_TEST(events_on_two_workers_do_as_their_specification)
{
    exact = false;
    ck_assert(crew_pass_on(2, &(struct programs){.name = "EVENT_APART",
                                                 .test = "unit/actors/run/event_programs",
                                                 .seeds = 60,
                                                 .actors = ACTORS,
                                                 .ops = 80,
                                                 .times = 20,
                                                 .run = drive}));
}
END_TEST

TEST_MAIN("event programs", events_do_as_their_specification, events_on_two_workers_do_as_their_specification)

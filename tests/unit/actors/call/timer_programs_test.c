/* Timers, sleeps and messages that are sent later, against a specification, in virtual time: no message or firing
 * comes early; each comes exactly when it is due, in the order of these points in time, and once; nothing that was
 * cancelled comes.
 *
 * A timer that is due at the current moment may have fired or not, because it fires when the worker's loop reaches
 * it. */
#include "../crew.h"

#include <weft/later.h>
#include <weft/timer.h>

enum { ACTORS = 4, TIMERS = 2, LATERS = 128, LATER_TAG = 7 };

/* ---- The specification ----------------------------------------------------------------------------------------- */

/* Points in time: first, first + period, ... or one alone; counted from when it was set. */
struct points {
    int64_t first, period, set_at;
};

/* How many of them have passed at `now`. */
static int64_t passed(const struct points *p, int64_t now)
{
    if (now < p->first) return 0;
    return p->period == 0 ? 1 : (now - p->first) / p->period + 1;
}

/* The least, and the most, that can have fired by now. */
static int64_t fired_surely(const struct points *p)
{
    return p->set_at == weft_now() ? 0 : passed(p, weft_now() - 1);
}

static int64_t fired_at_most(const struct points *p)
{
    return passed(p, weft_now());
}

struct timer {
    weft_timer it;
    bool open;
    struct points points;
    int64_t taken; /* firings */
};

/* A message that is sent later, or one after the other. */
struct later {
    weft_later it;
    int owner, to;
    uint32_t owner_life, to_life;
    struct points points;
    int64_t sent_at; /* the next one comes then, or waits since then */
    bool over;       /* nothing more is sent */
    bool unsure;     /* whether it was sent before it was over, at the same moment */
};

static struct {
    struct timer timers[ACTORS][TIMERS];
    struct later laters[LATERS];
    uint32_t n;
    int64_t began;
    uint32_t life[ACTORS]; /* counts those that had this place */
} spec;

#define CHECK(condition, ...) ((condition) ? (void)0 : programs_fail(__VA_ARGS__))

static int64_t ms(int64_t point)
{
    return point == WEFT_FOREVER ? -1 : (point - spec.began) / WEFT_MS(1);
}

/* A time in the past, the present or the future. */
static int64_t some_point(uint64_t *random)
{
    uint32_t n = random_below(random, 12);
    return n == 0 ? WEFT_NOW : n == 1 ? WEFT_FOREVER : weft_now() + WEFT_MS((int64_t)n - 4);
}

static struct points some_points(uint64_t *random)
{
    struct points p = {.first = some_point(random), .set_at = weft_now()};
    if (random_below(random, 3) == 0) p.period = WEFT_MS(1 + random_below(random, 3));
    return p;
}

/* A time as it counts: WEFT_NOW means now. */
static struct points settled(struct points p)
{
    if (p.first == WEFT_NOW) p.first = weft_now();
    return p;
}

/* ---- Timers ---------------------------------------------------------------------------------------------------- */

static void took(int self, struct timer *t, int64_t n)
{
    CHECK(t->taken + n >= fired_surely(&t->points) && t->taken + n <= fired_at_most(&t->points),
          "actor %d: %lld firings are taken of a timer that has fired %lld to %lld times, and %lld were taken before",
          self, (long long)n, (long long)fired_surely(&t->points), (long long)fired_at_most(&t->points),
          (long long)t->taken);
    t->taken += n;
}

static void await_timer(int self, struct timer *t, uint64_t *random)
{
    const int64_t began = weft_now(), given = some_point(random), deadline = WF_MAX(given, began);
    crew.at[self].waits = true;
    int64_t n = weft_timer_await(t->it, given);
    crew.at[self].waits = false;
    programs_tell("%d: waits for the timer from %lld to %lld: %lld", self, (long long)ms(began),
                  (long long)ms(deadline), (long long)n);
    if (n == WEFT_ECANCELED) return;
    if (!t->open) {
        CHECK(n == WEFT_ECLOSED, "actor %d waits for a closed timer: %lld", self, (long long)n);
        return;
    }
    if (weft_now() > began)
        CHECK(passed(&t->points, weft_now() - 1) <= t->taken, "actor %d is late for its timer", self);
    if (n == WEFT_ETIMEDOUT) {
        CHECK(weft_now() == deadline, "actor %d waits until %lld, not %lld", self, (long long)ms(weft_now()),
              (long long)ms(deadline));
        n = 0;
    } else {
        CHECK(n > 0, "actor %d waits for a timer, and gets %lld", self, (long long)n);
    }
    took(self, t, n);
}

static void look_at_timer(int self, struct timer *t)
{
    int64_t next = weft_timer_next(t->it);
    const struct points *p = &t->points;
    programs_tell("%d: the timer is due at %lld", self, (long long)ms(next));
    if (!t->open) {
        CHECK(next == WEFT_ECLOSED, "actor %d looks at a closed timer: %lld", self, (long long)next);
        return;
    }
    bool good = false;
    for (int64_t n = fired_surely(p); n <= fired_at_most(p); n++)
        good = good || next == (n == 0 ? p->first : p->period == 0 ? WEFT_FOREVER : p->first + n * p->period);
    CHECK(good, "actor %d: a timer is due at %lld", self, (long long)ms(next));
}

static void set_timer(int self, struct timer *t, uint64_t *random)
{
    const struct points p = some_points(random);
    programs_tell("%d: sets the timer to %lld, period %lld", self, (long long)ms(settled(p).first),
                  (long long)p.period / WEFT_MS(1));
    if (t->open) CHECK(weft_timer_set(t->it, p.first, p.period) == 0, "actor %d cannot set its timer", self);
    else CHECK(weft_timer_open(&t->it, p.first, p.period) == 0, "actor %d cannot open a timer", self);
    *t = (struct timer){.it = t->it, .open = true, .points = settled(p)};
}

static void use_timer(int self, uint64_t *random)
{
    struct timer *t = &spec.timers[self][random_below(random, TIMERS)];
    switch (random_below(random, 8)) {
    case 0:
    case 1: set_timer(self, t, random); return;
    case 2:
        programs_tell("%d: closes the timer", self);
        CHECK(weft_timer_close(t->it) == (t->open ? 0 : WEFT_ECLOSED), "actor %d cannot close its timer", self);
        t->open = false;
        return;
    case 3: look_at_timer(self, t); return;
    case 4: {
        int64_t n = weft_timer_take(t->it);
        programs_tell("%d: takes of the timer: %lld", self, (long long)n);
        if (t->open) took(self, t, n);
        else CHECK(n == WEFT_ECLOSED, "actor %d takes of a closed timer", self);
        return;
    }
    default: await_timer(self, t, random);
    }
}

static void nap(int self, uint64_t *random)
{
    const int64_t began = weft_now(), given = some_point(random), deadline = WF_MAX(given, began);
    if (given == WEFT_FOREVER) return;
    crew.at[self].waits = true;
    int rc = weft_sleep(given);
    crew.at[self].waits = false;
    programs_tell("%d: sleeps from %lld to %lld", self, (long long)ms(began), (long long)ms(deadline));
    CHECK(rc == WEFT_ECANCELED || weft_now() == deadline, "actor %d sleeps until %lld, not %lld", self,
          (long long)ms(weft_now()), (long long)ms(deadline));
}

/* ---- Messages that are sent later ------------------------------------------------------------------------------ */

/* The first one comes when it is due, but not before it was scheduled. */
static int64_t first_of(const struct points *p)
{
    return WF_MAX(p->first, p->set_at);
}

static void schedule(int self, uint64_t *random)
{
    if (spec.n == LATERS) return;
    const uint32_t id = spec.n++;
    struct later *l = &spec.laters[id];
    const struct points p = some_points(random);
    const int to = (int)random_below(random, ACTORS);
    *l = (struct later){.owner = self,
                        .owner_life = spec.life[self],
                        .to = to,
                        .to_life = crew.at[to].alive ? spec.life[to] : UINT32_MAX, /* its pid is that of a dead one */
                        .points = settled(p),
                        .sent_at = first_of(&(struct points){.first = settled(p).first, .set_at = p.set_at})};
    int rc = p.period == 0 ? weft_send_after(p.first, crew.at[to].pid, LATER_TAG, &id, sizeof id, &l->it)
                           : weft_send_every(p.first, p.period, crew.at[to].pid, LATER_TAG, &id, sizeof id, &l->it);
    programs_tell("%d: schedules %u for %d at %lld, period %lld", self, id, to, (long long)ms(l->sent_at),
                  (long long)p.period / WEFT_MS(1));
    CHECK(rc == 0, "actor %d cannot send later: %d", self, rc);
}

/* Whether the receiver that it was meant for is there. */
static bool has_receiver(const struct later *l)
{
    return l->to_life == spec.life[l->to];
}

/* Nothing more comes but what has been sent. */
static void end_later(struct later *l)
{
    l->over = true;
    l->unsure = l->points.set_at == weft_now();
    if (l->sent_at > weft_now()) l->sent_at = WEFT_FOREVER;
}

static void cancel(int self, uint64_t *random)
{
    if (spec.n == 0) return;
    const uint32_t id = random_below(random, spec.n);
    struct later *l = &spec.laters[id];
    int rc = weft_later_cancel(l->it);
    const bool mine = l->owner == self && l->owner_life == spec.life[self] && !l->over;
    programs_tell("%d: cancels %u: %d", self, id, rc);
    CHECK(rc == 0 || rc == WEFT_ECLOSED, "actor %d: cancelling %u returns %d", self, id, rc);
    if (rc == 0) CHECK(mine, "actor %d: %u is cancelled, which is not its own, or over", self, id);
    if (rc == 0 && l->points.period == 0)
        CHECK(fired_surely(&l->points) == 0, "actor %d: %u is cancelled when it was sent", self, id);
    if (rc < 0 && mine && has_receiver(l))
        CHECK(l->points.period == 0 && fired_at_most(&l->points) > 0, "actor %d: %u cannot be cancelled", self, id);
    if (rc < 0) return;
    if (l->points.period == 0) l->sent_at = WEFT_FOREVER;
    end_later(l);
}

/* The first of what waits surely; NULL: there may be nothing. */
static const struct later *oldest_for(int self)
{
    const struct later *oldest = NULL;
    for (uint32_t i = 0; i < spec.n; i++) {
        const struct later *l = &spec.laters[i];
        bool waits = l->to == self && has_receiver(l) && l->sent_at < weft_now() && !l->unsure;
        if (waits && (oldest == NULL || l->sent_at < oldest->sent_at)) oldest = l;
    }
    return oldest;
}

static void received(int self, uint32_t id, int64_t began)
{
    struct later *l = &spec.laters[id];
    const struct later *oldest = oldest_for(self);
    CHECK(id < spec.n && l->to == self && has_receiver(l), "actor %d gets %u, which is for another", self, id);
    CHECK(l->sent_at != WEFT_FOREVER, "actor %d gets %u, which was cancelled, or again", self, id);
    CHECK(l->sent_at <= weft_now(), "actor %d gets %u too early, not at %lld", self, id, (long long)ms(l->sent_at));
    CHECK(weft_now() == began || l->sent_at >= weft_now(), "actor %d gets %u too late", self, id);
    CHECK(oldest == NULL || l->sent_at <= oldest->sent_at, "actor %d gets %u before %u, which is older", self, id,
          (uint32_t)(oldest - spec.laters));
    for (uint32_t i = 0; i < id; i++) { /* scheduled earlier for the same point in time */
        const struct later *k = &spec.laters[i];
        CHECK(k->to != self || !has_receiver(k) || k->sent_at != l->sent_at || k->points.first != l->points.first ||
                  k->points.period + l->points.period != 0,
              "actor %d gets %u before %u, which was scheduled before", self, id, i);
    }
    const int64_t n = passed(&l->points, weft_now());
    l->sent_at = l->points.period == 0 || l->over ? WEFT_FOREVER : l->points.first + n * l->points.period;
}

static void receive(int self, uint64_t *random)
{
    weft_msg *m;
    uint32_t id;
    const int64_t began = weft_now(), given = some_point(random);
    crew.at[self].waits = true;
    int rc = weft_recv_tag(&m, LATER_TAG, given);
    crew.at[self].waits = false;
    programs_tell("%d: receives from %lld to %lld: %d", self, (long long)ms(began), (long long)ms(given), rc);
    if (rc == 0) {
        memcpy(&id, weft_data(m), sizeof id);
        programs_tell("   %u", id);
        weft_msg_free(m);
        received(self, id, began);
    } else if (rc == WEFT_ETIMEDOUT) {
        CHECK(weft_now() == WF_MAX(given, began), "actor %d receives until %lld", self, (long long)ms(weft_now()));
        CHECK(oldest_for(self) == NULL, "actor %d does not get %u", self, (uint32_t)(oldest_for(self) - spec.laters));
    }
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void act(int self, uint64_t *random)
{
    switch (random_below(random, 8)) {
    case 0: nap(self, random); return;
    case 1:
    case 2: schedule(self, random); return;
    case 3: cancel(self, random); return;
    case 4:
    case 5: receive(self, random); return;
    default: use_timer(self, random);
    }
}

static void gone(int self)
{
    programs_tell("%d: has ended", self);
    memset(spec.timers[self], 0, sizeof spec.timers[self]);
    for (uint32_t i = 0; i < spec.n; i++) {
        struct later *l = &spec.laters[i];
        if (l->owner == self && l->owner_life == spec.life[self] && !l->over) end_later(l);
    }
    spec.life[self]++;
}

static void drive(const struct program *p)
{
    memset(&spec, 0, sizeof spec);
    spec.began = weft_now();
    crew_begin(&(struct crew_work){.act = act, .gone = gone}, ACTORS, 0);
    for (size_t i = 0; i < p->n && !programs_broken(); i++) {
        uint64_t random = p->ops[i].random;
        const int who = (int)p->ops[i].who;
        switch (random_below(&random, 16)) {
        case 0:
            if (random_below(&random, 4) == 0 && crew_end_one(who, random_below(&random, 4) > 0))
                programs_tell("%d: is to end", who);
            break;
        case 1:
        case 2:
        case 3:
        case 4: want_int(weft_advance(WEFT_MS(1 + random_below(&random, 4))), 0); break;
        case 5:
        case 6: crew_settle(); break;
        default: crew_tell(who, random);
        }
    }
    crew_settle();
    crew_end();
}

static void run(const struct program *p)
{
    crew_run(p, drive);
}

START_TEST(timers_do_as_their_specification)
{
    ck_assert(programs_pass(&(struct programs){.name = "TIMER",
                                               .test = "unit/actors/call/timer_programs",
                                               .seeds = 300,
                                               .actors = ACTORS,
                                               .ops = 120,
                                               .run = run}));
}
END_TEST

TEST_MAIN("timer programs", timers_do_as_their_specification)

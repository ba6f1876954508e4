/* bench/savina/people.c -- problems of shared resources: philosophers, a barber, smokers. */
#include "savina.h"

enum { HUNGRY = 1, EAT, WAIT, FULL, LEAVE, ENTER, CUT, TURNED_AWAY, SMOKE, SMOKING, STOP };

/* ---- dining philosophers: an arbiter has the forks ------------------------------------------------------------- */

struct seat {
    weft_pid arbiter;
    long index;
};

static void philosopher(const void *given, size_t size)
{
    struct seat me;
    (void)size;
    memcpy(&me, given, sizeof me);
    for (long eaten = 0; eaten < savina.b;) {
        give(me.arbiter, HUNGRY, &me.index, sizeof me.index);
        if (signal_from(NULL) != EAT) continue; /* a fork is taken: asks again */
        eaten++;
        give(me.arbiter, FULL, &me.index, sizeof me.index);
    }
    give(me.arbiter, LEAVE, &me.index, sizeof me.index);
}

long philosophers(void)
{
    check(savina.a >= 2, "philosophers: it takes two");
    bool *taken = grab((size_t)savina.a, sizeof *taken);
    for (long i = 0; i < savina.a; i++) {
        struct seat s = {weft_self(), i};
        start("philosopher", philosopher, &s, sizeof s);
    }
    long meals = 0, messages = 0, at;
    for (long left = savina.a; left > 0; messages++) {
        weft_pid who;
        uint32_t tag = take(&at, sizeof at, &who);
        bool *one = &taken[at], *other = &taken[(at + 1) % savina.a];
        if (tag == LEAVE) {
            left--;
        } else if (tag == FULL) {
            check(*one && *other, "philosophers: ate without forks");
            *one = *other = false;
            meals++;
        } else {
            bool free_forks = !*one && !*other;
            if (free_forks) *one = *other = true;
            tell(who, free_forks ? EAT : WAIT);
            messages++;
        }
    }
    check(meals == savina.a * savina.b, "philosophers: somebody is still hungry");
    for (long i = 0; i < savina.a; i++) check(!taken[i], "philosophers: a fork is missing");
    free(taken);
    return messages;
}

/* ---- sleeping barber: who finds no chair comes again ----------------------------------------------------------- */

struct visit {
    weft_pid room, boss;
};

static void customer(const void *given, size_t size)
{
    struct visit v;
    long tries = 0;
    (void)size;
    memcpy(&v, given, sizeof v);
    do {
        tries++;
        tell(v.room, ENTER);
        if (tries > 1) weft_yield();
    } while (signal_from(NULL) == TURNED_AWAY);
    give(v.boss, LEAVE, &tries, sizeof tries);
}

/* Cuts the hair of each customer that the room sends. */
static void barber_actor(const void *given, size_t size)
{
    weft_pid room, head, from;
    (void)given, (void)size;
    long cut = 0;
    for (;;) {
        if (take(&head, sizeof head, &from) == STOP) break;
        room = from;
        cut++;
        tell(head, CUT);
        tell(room, FULL);
    }
    give(from, STOP, &cut, sizeof cut);
}

/* The waiting room: a queue of `chairs` and one barber, who sleeps until the room sends a customer. */
static void waiting_room(const void *boss, size_t size)
{
    weft_pid to, from, barber_pid = start("barber", barber_actor, NULL, 0);
    (void)size;
    memcpy(&to, boss, sizeof to);
    long chairs = savina.b, seated = 0, head = 0, cut = 0, served = 0;
    weft_pid *queue = grab((size_t)chairs, sizeof *queue);
    bool busy = false;
    while (served < savina.a) {
        uint32_t tag = signal_from(&from);
        if (tag == FULL) busy = false, served++;
        else if (seated == chairs) tell(from, TURNED_AWAY);
        else queue[(head + seated++) % chairs] = from;
        if (busy || seated == 0) continue;
        give(barber_pid, CUT, &queue[head], sizeof *queue);
        head = (head + 1) % chairs;
        seated--;
        busy = true;
    }
    give(barber_pid, STOP, &to, sizeof to);
    take(&cut, sizeof cut, NULL);
    check(cut == savina.a, "barber: not everybody's hair was cut, or somebody's twice");
    give(to, STOP, &cut, sizeof cut);
    free(queue);
}

long barber(void)
{
    struct visit v = {.boss = weft_self()};
    v.room = start("room", waiting_room, &v.boss, sizeof v.boss);
    for (long i = 0; i < savina.a; i++) {
        start("customer", customer, &v, sizeof v);
        if (i % 16 == 15) weft_yield();
    }
    long tries, all = 0, customers = 0;
    for (long i = 0; i <= savina.a; i++) {
        if (take(&tries, sizeof tries, NULL) != LEAVE) continue;
        all += tries, customers++;
    }
    check(customers == savina.a, "barber: a customer is missing");
    return 2 * all + 3 * customers;
}

/* ---- cigarette smokers: an arbiter lays out what one of them lacks --------------------------------------------- */

static void smoker(const void *given, size_t size)
{
    struct seat me;
    (void)size;
    memcpy(&me, given, sizeof me);
    long smoked = 0;
    while (signal_from(NULL) == SMOKE) {
        smoked++;
        give(me.arbiter, SMOKING, &me.index, sizeof me.index);
    }
    give(me.arbiter, STOP, &smoked, sizeof smoked);
}

long smokers(void)
{
    weft_pid *all = grab((size_t)savina.a, sizeof *all);
    for (long i = 0; i < savina.a; i++) {
        struct seat s = {weft_self(), i};
        all[i] = start("smoker", smoker, &s, sizeof s);
    }
    uint32_t random = 42;
    for (long round = 0; round < savina.b; round++) {
        long chosen = (long)(next_random(&random) % (uint32_t)savina.a), who;
        tell(all[chosen], SMOKE);
        take(&who, sizeof who, NULL);
        check(who == chosen, "smokers: the wrong one smokes");
    }
    long sum = 0, smoked;
    for (long i = 0; i < savina.a; i++) tell(all[i], STOP);
    for (long i = 0; i < savina.a; i++) take(&smoked, sizeof smoked, NULL), sum += smoked;
    check(sum == savina.b, "smokers: rounds do not add up");
    free(all);
    return 2 * savina.b;
}

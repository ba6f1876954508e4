/* tests/unit/actors/crew.h -- a crew of actors that do the operations of a random program (programs.h). The test's
 * own actor, the driver, gives each of its members one operation after the other, kills some, starts new ones in
 * their place, and waits until all are at rest. Either all live on one worker in virtual time, where the same program
 * always runs in the same way, or on several workers of a real node. */
#ifndef WF_CREW_H
#define WF_CREW_H

#include "node_harness.h"
#include "programs.h"

enum { CREW_MAX = 8, CREW_TAG = 1000, ECHO_TAG, ROUNDS = 4 };

struct crew_member {
    weft_pid pid;
    bool alive;     /* until its clean-up has run */
    bool dying;     /* it was killed or stopped */
    bool waits;     /* in an operation that may take as long as it likes */
    uint32_t to_do; /* operations that it was given and that are not over */
};

/* The operations that a model gives its members. */
struct crew_work {
    void (*act)(int self, uint64_t *random); /* one operation */
    void (*gone)(int self);                  /* in the clean-up, however a member ends */
};

static struct {
    struct crew_work work;
    int size, workers; /* workers of 0: one, in virtual time */
    pf_mutex *lock;    /* the specification's as well, and the members'; never held while an actor suspends */
    struct crew_member at[CREW_MAX];
    atomic_uint_fast64_t activity; /* counts all that happens */
    uint64_t rested_at;            /* the activity when all were last seen at rest; the driver's */
    weft_pid echo[CREW_MAX];       /* one on each worker but the driver's */
} crew;

/* Held while the specification is used, and around calls that belong to an entry in it, because members on several
 * workers run at the same time. */
static void crew_lock(void)
{
    pf_mutex_lock(crew.lock);
    atomic_fetch_add(&crew.activity, 1);
}

static void crew_unlock(void)
{
    pf_mutex_unlock(crew.lock);
}

static void crew_gone(void *arg)
{
    const int self = (int)(intptr_t)arg;
    crew_lock();
    if (crew.work.gone != NULL) crew.work.gone(self);
    crew.at[self].alive = false;
    crew_unlock();
}

static void crew_body(const void *arg, size_t size)
{
    const int self = *(const int *)arg;
    weft_msg *m;
    (void)size;
    want_int(weft_defer(crew_gone, (void *)(intptr_t)self), 0);
    while (weft_recv_tag(&m, CREW_TAG, WEFT_FOREVER) == 0) {
        uint64_t random;
        memcpy(&random, weft_data(m), sizeof random);
        weft_msg_free(m);
        crew.work.act(self, &random);
        crew_lock();
        crew.at[self].to_do--;
        crew_unlock();
    }
}

static void crew_echo(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (!weft_wants_reply(m)) break;
        want_int(weft_reply(m, ECHO_TAG, NULL, 0), 0);
    }
    weft_msg_free(m);
}

/* ---- The driver's ---------------------------------------------------------------------------------------------- */

static void crew_spawn(int i)
{
    const weft_spawn_options o = {.worker = crew.workers == 0 ? 0 : 1 + i % crew.workers, .shares_stack = true};
    crew_lock();
    crew.at[i] = (struct crew_member){.alive = true};
    want_int(weft_spawn(&crew.at[i].pid, crew_body, &i, sizeof i, &o), 0);
    crew_unlock();
}

__attribute__((unused)) static void crew_tell(int i, uint64_t random)
{
    crew_lock();
    bool lives = crew.at[i].alive && !crew.at[i].dying;
    if (lives) {
        crew.at[i].to_do++;
        want_int(weft_try_send(crew.at[i].pid, CREW_TAG, &random, sizeof random), 0);
    }
    crew_unlock();
}

/* Whether it lives now. */
__attribute__((unused)) static bool crew_end_one(int i, bool kill)
{
    crew_lock();
    bool lives = crew.at[i].alive && !crew.at[i].dying;
    if (lives) {
        crew.at[i].dying = true;
        int rc = kill ? weft_kill(crew.at[i].pid) : weft_stop(crew.at[i].pid);
        want(rc == 0);
    }
    crew_unlock();
    return lives;
}

/* Waits until all posts under way to any worker have arrived, and the actors that they have made ready have run. */
static void crew_round(void)
{
    for (int i = 1; i < crew.workers; i++) {
        weft_msg *m;
        want_int(weft_call(crew.echo[i], ECHO_TAG, NULL, 0, &m, WEFT_FOREVER), 0);
        weft_msg_free(m);
    }
    (void)weft_yield();
}

static bool crew_is_idle(void)
{
    bool idle = true;
    pf_mutex_lock(crew.lock);
    for (int i = 0; i < crew.size; i++) {
        const struct crew_member *c = &crew.at[i];
        idle = idle && (!c->alive || (!c->dying && (c->waits || c->to_do == 0)));
    }
    pf_mutex_unlock(crew.lock);
    return idle;
}

static void crew_rest(void)
{
    if (crew.workers == 0) {
        want_int(weft_settle(), 0);
        if (!crew_is_idle()) programs_fail("an actor neither waits nor is at rest");
        return;
    }
    for (int quiet = 0; quiet < ROUNDS;) {
        uint64_t before = atomic_load(&crew.activity);
        crew_round();
        quiet = crew_is_idle() && atomic_load(&crew.activity) == before ? quiet + 1 : 0;
        crew.rested_at = before;
    }
}

static bool crew_lives(int i)
{
    pf_mutex_lock(crew.lock);
    bool lives = crew.at[i].alive;
    pf_mutex_unlock(crew.lock);
    return lives;
}

/* Until nothing more happens by itself, other than that time passes. A wake takes at most ROUNDS steps between two
 * workers. Those that have ended are there again afterwards, and have begun: one that is killed before has no
 * clean-up. */
static void crew_settle(void)
{
    bool some = false;
    crew_rest();
    for (int i = 0; i < crew.size; i++) {
        if (crew_lives(i)) continue;
        crew_spawn(i);
        some = true;
    }
    if (some) crew_rest();
}

/* The same, and locks the crew while all are at rest. On several workers an actor whose deadline passes does what it
 * was told next, perhaps after the others were seen at rest and before the lock: then the driver settles again. */
__attribute__((unused)) static void crew_settle_and_lock(void)
{
    for (;;) {
        crew_settle();
        pf_mutex_lock(crew.lock);
        if (crew.workers == 0 || atomic_load(&crew.activity) == crew.rested_at) return;
        pf_mutex_unlock(crew.lock);
    }
}

static void crew_begin(const struct crew_work *work, int size, int workers)
{
    if (crew.lock == NULL) want_int(pf_mutex_create(&crew.lock), 0);
    crew.work = *work;
    crew.size = size;
    crew.workers = workers;
    for (int i = 1; i < workers; i++)
        want_int(weft_spawn(&crew.echo[i], crew_echo, NULL, 0, &(weft_spawn_options){.worker = i + 1}), 0);
    for (int i = 0; i < size; i++) crew_spawn(i);
    crew_rest();
}

static void crew_end(void)
{
    for (int i = 0; i < crew.size; i++) (void)crew_end_one(i, true);
    if (crew.workers == 0) want_int(weft_settle(), 0);
    for (int i = 0; i < crew.size; i++)
        while (crew_lives(i)) crew_round();
    for (int i = 1; i < crew.workers; i++) want_int(weft_send(crew.echo[i], ECHO_TAG, NULL, 0), 0);
}

/* ---- In a test ------------------------------------------------------------------------------------------------- */

struct crew_drive {
    void (*drive)(const struct program *p);
    const struct program *p;
};

static void crew_driver(const void *arg, size_t size)
{
    const struct crew_drive *d = arg;
    (void)size;
    d->drive(d->p);
}

/* Runs a program in virtual time; `drive` is the body of the driver. */
__attribute__((unused)) static void crew_run(const struct program *p, void (*drive)(const struct program *p))
{
    int rc = weft_test_run(crew_driver, &(struct crew_drive){drive, p}, sizeof(struct crew_drive),
                           &(weft_test_options){.quiet = true});
    if (rc != 0) programs_fail("%s", weft_test_report());
}

static const struct programs *crew_programs;
static bool crew_passed;

static void crew_on_node(const void *arg, size_t size)
{
    (void)arg, (void)size;
    crew_passed = programs_pass(crew_programs);
}

/* Runs all programs on one real node; returns whether they have passed. */
__attribute__((unused)) static bool crew_pass_on(int workers, const struct programs *all)
{
    weft_log_set(WEFT_ERROR, false);
    crew_programs = all;
    weft_node *n = node_of(workers);
    node_spawn(n, 1, crew_on_node);
    node_end(n);
    return crew_passed;
}

#endif

/* tests/sim/children.c -- difficult children in a simulated cluster: one that is often not ready in time, one that
 * ignores stop requests, one that sometimes ends normally, one that is temporary, and one that keeps its mailbox.
 * Each node has a supervisor for them, with another strategy on each node; an actor starts and stops children at run
 * time, and the supervisor itself is stopped now and then. No child runs twice; a stopped child does not run; a
 * supervisor that has ended leaves no child behind. In the end no child fails any more, and all children run. */
#include "calm.h"

enum { LATE, STUBBORN, WELL, SHORT, KEPT, EXTRA, CHILDREN, FAILED = 16 };

static const char *const names[CHILDREN] = {"late", "stubborn", "well", "short", "kept", "extra"};
static const unsigned numbers[CHILDREN] = {LATE, STUBBORN, WELL, SHORT, KEPT, EXTRA};
static unsigned alive[NODES][CHILDREN];
static weft_pid supervisor[NODES]; /* nobody: there is none */
static unsigned nodes;
static bool scarce; /* memory: then a supervisor may leave children to their links */

static void has_ended(void *arg)
{
    --*(unsigned *)arg;
}

static void fail_or_end(unsigned which, uint64_t *random)
{
    if (which == WELL && random_below(random, 2) == 0) weft_exit(WEFT_EXIT_NORMAL);
    weft_fail(FAILED, "by chance");
}

static void child(const void *arg, size_t size)
{
    unsigned which = *(const unsigned *)arg, *runs = &alive[sim_self()][which];
    uint64_t random = sim_random() ^ (uint64_t)weft_now();
    (void)size;
    if (*runs != 0) weft_sim_fail("child %s of n%u runs twice", names[which], sim_self() + 1);
    ++*runs;
    if (weft_defer(has_ended, runs) < 0) return; /* which has run then */
    (void)weft_trap_stop(which == STUBBORN);
    if (which == LATE)
        (void)weft_sleep(weft_after(random_between(&random, 0, is_calm() ? WEFT_MS(10) : WEFT_MS(130))));
    if (!is_calm() && random_below(&random, 20) == 0) fail_or_end(which, &random);
    if (weft_ready() < 0) weft_fail(WEFT_ENOMEM, "no memory");
    for (;;) {
        weft_msg *m;
        int rc = weft_recv(&m, weft_after(random_between(&random, WEFT_MS(100), WEFT_SEC(4))));
        if (rc == WEFT_OK) weft_msg_free(m); /* of one who asks it to stop, perhaps */
        else if (rc == WEFT_ECANCELED) break;
        else if (!is_calm() && random_below(&random, 3) == 0) fail_or_end(which, &random);
    }
    if (random_below(&random, 4) == 0) weft_fail(FAILED, "while it stops");
}

static weft_child_spec spec_of(unsigned which)
{
    weft_child_spec s = {.name = names[which],
                         .body = child,
                         .arg = &numbers[which],
                         .arg_size = sizeof numbers[which],
                         .await_ready = which != SHORT,
                         .stop_timeout = WEFT_MS(100)};
    if (which == LATE) s.start_timeout = WEFT_MS(100);
    if (which == WELL) s.restart = WEFT_TRANSIENT;
    if (which == SHORT) s.restart = WEFT_TEMPORARY;
    s.keep_mailbox = which == KEPT;
    return s;
}

static void supervise(const void *arg, size_t size)
{
    unsigned self = sim_self();
    weft_child_spec children[EXTRA];
    (void)arg, (void)size;
    for (unsigned i = 0; i < EXTRA; i++) children[i] = spec_of(i);
    supervisor[self] = weft_self();
    weft_supervisor_spec spec = {.strategy = (weft_strategy)(self % 3),
                                 .children = children,
                                 .child_count = EXTRA,
                                 .max_restarts = 8,
                                 .period = WEFT_SEC(5),
                                 .backoff_min = self % 2 == 0 ? 0 : WEFT_MS(50),
                                 .backoff_max = WEFT_MS(400),
                                 .jitter = true};
    (void)weft_supervise(&spec);
}

/* Starts one supervisor after the other; each is stopped now and then. */
static void keeper(const void *arg, size_t size)
{
    unsigned self = sim_self();
    uint64_t random = sim_random();
    (void)arg, (void)size;
    do {
        weft_pid who;
        weft_monitor_ref ref;
        weft_msg *m;
        if (weft_spawn(&who, supervise, NULL, 0, &(weft_spawn_options){.monitor = &ref}) < 0) continue;
        int rc = weft_recv(&m, weft_after(random_between(&random, WEFT_MS(1), WEFT_SEC(20))));
        if (rc == WEFT_ETIMEDOUT && !is_calm()) (void)weft_stop(who);
        if (rc == WEFT_ETIMEDOUT) rc = weft_recv(&m, WEFT_FOREVER);
        if (rc < 0) continue;
        weft_msg_free(m);
        supervisor[self] = weft_nobody();
        for (unsigned i = 0; i < CHILDREN && !scarce; i++)
            if (alive[self][i] != 0) weft_sim_fail("child %s of n%u outlives its supervisor", names[i], self + 1);
    } while (sim_again());
}

/* An actor that starts and stops children while the supervisor runs. In the end all children run. */
static void meddler(const void *arg, size_t size)
{
    unsigned self = sim_self();
    uint64_t random = sim_random();
    (void)arg, (void)size;
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(1), WEFT_SEC(1)))) != WEFT_ECANCELED) {
        weft_pid of = supervisor[self], out;
        unsigned which = random_below(&random, CHILDREN);
        if (weft_pid_is_nobody(of)) continue;
        weft_child_spec s = spec_of(which);
        if (random_below(&random, 2) == 0 || is_calm()) {
            (void)(weft_start_child(of, &s, &out, weft_after(WEFT_SEC(2))) < 0);
        } else if (weft_stop_child(of, names[which], weft_after(WEFT_SEC(2))) == WEFT_OK) {
            /* Only this actor starts the child again, unless the supervisor is a new one. */
            if (alive[self][which] != 0 && weft_pid_equal(of, supervisor[self]))
                weft_sim_fail("child %s of n%u runs, though it was stopped", names[which], self + 1);
        }
    }
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    unsigned self = sim_self();
    (void)size;
    scarce = args->argc > 1 && strcmp(args->argv[1], "scarce") == 0;
    if (self >= nodes) nodes = self + 1;
    memset(alive[self], 0, sizeof alive[self]);
    supervisor[self] = weft_nobody();
    sim_spawn(keeper, NULL, 0, NULL);
    sim_spawn(meddler, NULL, 0, NULL);
    sim_wait();
}

/* Asked for the first time when all faults are over. */
static bool all_run(void *arg)
{
    (void)arg;
    calm_after(WEFT_SEC(5));
    if (!is_calm()) return false;
    for (unsigned i = 0; i < nodes * CHILDREN; i++)
        if (i % CHILDREN != WELL && alive[i / CHILDREN][i % CHILDREN] != 1)
            return false; /* that one may have ended well */
    return true;
}

static void checks(void)
{
    weft_sim_eventually("all children run", all_run, NULL);
}

WEFT_MODULE(first)
WEFT_SIM(checks)

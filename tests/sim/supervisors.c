/* tests/sim/supervisors.c -- supervisors in a simulated cluster. On each node one supervisor has three children that
 * fail at random, with another strategy on each node, and one has a child on another node. No child runs twice;
 * children start in their order; a supervisor gives up if there were too many restarts, and only then; in the end all
 * run. A start for which there is no memory does not count as a failure. */
#include "kit.h"

enum { CHILDREN = 3, FAILURES = 64, MAX_RESTARTS = 3, FAILED = 16 };
#define PERIOD WEFT_SEC(5)

static struct {
    unsigned alive[CHILDREN], starts[CHILDREN]; /* starts: in one supervisor's life */
    int64_t failed_at[FAILURES];                /* a ring, of one supervisor's life */
    unsigned failures;
    weft_strategy strategy;
} local[NODES];
static unsigned far_alive[NODES]; /* by whose child it is */
static unsigned nodes;

/* ---- Children on the same node --------------------------------------------------------------------------------- */

static unsigned failures_within(unsigned self, int64_t span)
{
    unsigned count = 0;
    for (unsigned i = 0; i < FAILURES && i < local[self].failures; i++)
        count += weft_now() - local[self].failed_at[i] < span;
    return count;
}

static void check_start(unsigned self, unsigned child)
{
    const unsigned *alive = local[self].alive;
    if (alive[child] != 0) weft_sim_fail("child %u of n%u runs twice", child, self + 1);
    if (local[self].strategy == WEFT_ONE_FOR_ONE) {
        /* The others may have failed since it was decided. */
        if (failures_within(self, PERIOD) > MAX_RESTARTS + CHILDREN - 1)
            weft_sim_fail("one restart too many on n%u", self + 1);
        return;
    }
    for (unsigned i = 0; i < child; i++)
        if (local[self].starts[i] == 0) weft_sim_fail("child %u of n%u starts before %u does", child, self + 1, i);
    for (unsigned i = child + 1; i < CHILDREN; i++)
        if (alive[i] != 0) weft_sim_fail("child %u of n%u starts while %u runs", child, self + 1, i);
}

static void has_ended(void *arg)
{
    --*(unsigned *)arg;
}

static void child(const void *arg, size_t size)
{
    unsigned self = sim_self(), which = *(const unsigned *)arg;
    uint64_t random = sim_random() ^ (uint64_t)weft_now();
    (void)size;
    check_start(self, which);
    local[self].alive[which]++;
    if (weft_defer(has_ended, &local[self].alive[which]) < 0) weft_fail(WEFT_ENOMEM, "no memory");
    local[self].starts[which]++;
    if (weft_ready() < 0) weft_fail(WEFT_ENOMEM, "no memory");
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(200), WEFT_SEC(3)))) != WEFT_ECANCELED) {
        if (random_below(&random, 2) != 0) continue;
        local[self].failed_at[local[self].failures++ % FAILURES] = weft_now();
        weft_fail(FAILED, "by chance");
    }
}

static void local_supervisor(const void *arg, size_t size)
{
    static const unsigned which[CHILDREN] = {0, 1, 2};
    static const char *const names[CHILDREN] = {"a", "b", "c"};
    unsigned self = sim_self();
    weft_child_spec children[CHILDREN];
    (void)arg, (void)size;
    memset(children, 0, sizeof children);
    for (unsigned i = 0; i < CHILDREN; i++)
        children[i] = (weft_child_spec){
            .name = names[i], .body = child, .arg = &which[i], .arg_size = sizeof which[i], .await_ready = true};
    local[self].failures = 0;
    memset(local[self].starts, 0, sizeof local[self].starts);
    weft_supervisor_spec spec = {.strategy = local[self].strategy,
                                 .children = children,
                                 .child_count = CHILDREN,
                                 .max_restarts = MAX_RESTARTS,
                                 .period = PERIOD};
    (void)weft_supervise(&spec);
}

/* ---- A child on another node ----------------------------------------------------------------------------------- */

#define WORKER_ARGS(F) F(uint, owner)
WEFT_STRUCT(worker_args, WORKER_ARGS)

static void far_worker(const struct worker_args *args)
{
    unsigned *alive = &far_alive[args->owner % NODES];
    ++*alive;
    if (weft_defer(has_ended, alive) < 0) return; /* which has run then */
    sim_wait();
}
WEFT_EXPORT_ACTOR("sim.worker", far_worker, worker_args)

static void far_supervisor(const void *arg, size_t size)
{
    unsigned self = sim_self();
    char place[256], name[2][16];
    const char *where[2] = {name[0], name[1]};
    (void)arg, (void)size;
    for (unsigned i = 0; i < 2; i++) snprintf(name[i], sizeof name[i], "n%u", (self + 1 + i) % 3 + 1);
    struct worker_args args = {self};
    int64_t bytes = weft_remote_place(place, sizeof place, where, 2, "sim.worker", WEFT_ARGS(worker_args, &args));
    if (bytes < 0) weft_fail((int)bytes, "no place");
    weft_child_spec far = {.name = "far", .body = weft_remote_child, .arg = place, .arg_size = (size_t)bytes};
    weft_supervisor_spec spec = {.children = &far,
                                 .child_count = 1,
                                 .max_restarts = 100,
                                 .backoff_min = WEFT_MS(100),
                                 .backoff_max = WEFT_SEC(1)};
    (void)weft_supervise(&spec);
}

/* ---- The node -------------------------------------------------------------------------------------------------- */

/* Keeps a supervisor running, whatever it ends by. */
static void keeper(weft_actor *body)
{
    unsigned self = sim_self();
    weft_pid who;
    weft_monitor_ref ref;
    struct weft_down down;
    weft_msg *m;
    while (weft_sleep(weft_after(WEFT_MS(100))) != WEFT_ECANCELED) {
        if (weft_spawn(&who, body, NULL, 0, &(weft_spawn_options){.monitor = &ref}) < 0) continue;
        if (weft_recv(&m, WEFT_FOREVER) < 0) return;
        bool gave_up = weft_down_read(m, &down) == WEFT_OK && down.reason == WEFT_EXIT_GAVE_UP;
        weft_msg_free(m);
        /* It may have been frozen between the failures and the decision. */
        if (gave_up && body == local_supervisor && failures_within(self, WEFT_SEC(60)) <= MAX_RESTARTS)
            weft_sim_fail("the supervisor of n%u gives up too early", self + 1);
    }
}

static void local_keeper(const void *arg, size_t size)
{
    (void)arg, (void)size;
    keeper(local_supervisor);
}

static void far_keeper(const void *arg, size_t size)
{
    (void)arg, (void)size;
    keeper(far_supervisor);
}

static void first(const void *arg, size_t size)
{
    unsigned self = sim_self();
    (void)arg, (void)size;
    if (self >= nodes) nodes = self + 1;
    local[self].strategy = (weft_strategy)(self % 3);
    sim_spawn(local_keeper, NULL, 0, NULL);
    sim_spawn(far_keeper, NULL, 0, NULL);
    sim_wait();
}

static bool all_run(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < nodes; i++)
        for (unsigned k = 0; k < CHILDREN; k++)
            if (local[i].alive[k] != 1) return false;
    return true;
}

static bool far_ones_run(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < nodes; i++)
        if (far_alive[i] != 1) return false;
    return true;
}

static void checks(void)
{
    weft_sim_eventually("all children run", all_run, NULL);
    weft_sim_eventually("each child on another node runs once", far_ones_run, NULL);
}

WEFT_MODULE(first)
WEFT_SIM(checks)

/* Timers in virtual time, to the nanosecond; tests that depend on the machine's clock assert no times. */
#include "../harness.h"

#include "embed.h"
#include "park.h"
#include "sim/sim.h"
#include "timer.h"

#include <weft/timer.h>
#include <weft/wait.h>

#define YEAR (WEFT_SEC(3600) * 24 * 365)

static int wait_for(weft_timer t, int64_t deadline)
{
    weft_wait w = weft_on_timer(t);
    return weft_wait_any(&w, 1, deadline);
}

/* ---- A simulated world that counts what reaches its poller ----------------------------------------------------- */
enum { JUMPS_MAX = 2048 };

static struct {
    struct pf_sim sim;
    struct pf_env plain;      /* its functions before they were wrapped */
    int64_t wall_step;        /* the wall clock is so far from the other one, and jumps whenever that one does */
    int calls, handles;       /* of the poller, but for the waits that do not block; descriptors it was given */
    int64_t asked;            /* the deadline of the last wait */
    int64_t jumps[JUMPS_MAX]; /* the first of them */
    int jump_count;           /* waits that ended at their deadline */
    int naps;                 /* of them, those in which the worker was not marked as asleep: posts did not wake it */
} world;

static int64_t jumping_wall(struct pf_env *env)
{
    return world.plain.now(env) + world.wall_step;
}

static int counted_wait(struct pf_poller *p, struct pf_ready *out, int max, int64_t deadline)
{
    struct pf_env *env = pf_sim_env(&world.sim);
    int64_t before = env->now(env);
    world.calls += deadline != WEFT_NOW;
    world.asked = deadline;
    int n = world.plain.poller_wait(p, out, max, deadline);
    if (env->now(env) > before) {
        if (world.jump_count < JUMPS_MAX) world.jumps[world.jump_count] = env->now(env);
        world.jump_count++;
        world.naps += atomic_load(&wf_here->state) == WF_RUNNING;
        world.wall_step = -world.wall_step;
    }
    return n;
}

static int counted_add(struct pf_poller *p, pf_handle h, uint64_t tag)
{
    world.calls++;
    world.handles++;
    return world.plain.poller_add(p, h, tag);
}

static int counted_arm(struct pf_poller *p, pf_handle h, uint64_t tag, bool for_write)
{
    world.calls++;
    return world.plain.poller_arm(p, h, tag, for_write);
}

/* Runs one task on one worker, in a world where time passes only while all tasks wait, and where the worker sleeps for
 * `sleep_min` at least between two timers. */
static void run_where_sleeps_are(int64_t sleep_min, void (*run)(void *), void *arg)
{
    struct harness h;
    memset(&world, 0, sizeof world);
    pf_sim_init(&world.sim, 2);
    world.plain = world.sim.env;
    world.sim.env.wall = jumping_wall;
    world.sim.env.poller_wait = counted_wait;
    world.sim.env.poller_add = counted_add;
    world.sim.env.poller_arm = counted_arm;
    world.sim.env.sleep_min = sleep_min;
    harness_start_in(&h, 1, pf_sim_env(&world.sim));
    harness_spawn(&h, 0, run, arg);
    harness_stop(&h);
}

static void run_simulated(void (*run)(void *), void *arg)
{
    run_where_sleeps_are(0, run, arg);
}

/* The actor computes for so long. */
static void work(int64_t span)
{
    pf_sim_advance(&world.sim, weft_now() + span);
}

static weft_timer opened(int64_t first, int64_t period)
{
    weft_timer t;
    want_int(weft_timer_open(&t, first, period), 0);
    return t;
}

/* ---- One shot -------------------------------------------------------------------------------------------------- */
static void fires_once(void *arg)
{
    (void)arg;
    int64_t start = weft_now(), at = start + WEFT_SEC(2);
    weft_timer t = opened(at, 0);
    want_int(weft_timer_next(t), at);
    want_int(weft_timer_take(t), 0);
    want_int(weft_timer_await(t, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_now(), start);
    want_int(weft_timer_await(t, at - 1), WEFT_ETIMEDOUT);
    want_int(weft_now(), at - 1);
    want_int(wait_for(t, WEFT_FOREVER), 0);
    want_int(weft_now(), at);
    want_int(wait_for(t, WEFT_FOREVER), 0); /* waiting consumes nothing */
    want_int(weft_timer_await(t, WEFT_FOREVER), 1);
    want_int(weft_now(), at);
    want_int(weft_timer_next(t), WEFT_FOREVER);
    want_int(weft_timer_take(t), 0);
    want_int(weft_timer_await(t, at + YEAR), WEFT_ETIMEDOUT);
    want_int(weft_now(), at + YEAR);
    want_int(weft_timer_close(t), 0);
}

START_TEST(a_one_shot_timer_fires_once_and_at_its_time)
{
    run_simulated(fires_once, NULL);
}
END_TEST

/* ---- Periodic -------------------------------------------------------------------------------------------------- */
static void keeps_its_grid(void *arg)
{
    (void)arg;
    const int64_t period = 333333333, first = weft_now() + 7;
    weft_timer t = opened(first, period);
    int64_t taken = 0, late = 0;
    for (int i = 0; i < 1000; i++) {
        int64_t due = first + taken * period;
        want_int(weft_timer_next(t), due);
        work((int64_t)(pf_sim_random(&world.sim) % (3 * (uint64_t)period)));
        bool in_time = weft_now() < due;
        int64_t n = weft_timer_await(t, WEFT_FOREVER);
        want(n >= 1);
        taken += n;
        if (in_time) want_int(weft_now(), due);
        else late++;
        want_int(taken, (weft_now() - first) / period + 1); /* none lost, none too many */
    }
    want(late > 100 && late < 900);
    while (taken < 10000) {
        want_int(weft_timer_await(t, WEFT_FOREVER), 1);
        want_int(weft_now(), first + taken * period);
        taken++;
    }
}

START_TEST(a_periodic_timer_does_not_drift)
{
    run_simulated(keeps_its_grid, NULL);
}
END_TEST

static void counts_missed(void *arg)
{
    (void)arg;
    const int64_t period = WEFT_MS(1);
    weft_timer t;
    int64_t first = weft_now() - 10 * period; /* ten deadlines have passed, and the one of just now */
    want_int(weft_timer_open(&t, first, period), 0);
    want_int(wait_for(t, WEFT_FOREVER), 0);
    int64_t n = weft_timer_take(t);
    want(n >= 11);
    /* The sum never drifts from what the clock says. */
    while (n < 50) {
        want_int(wait_for(t, WEFT_FOREVER), 0);
        int64_t taken = weft_timer_take(t);
        want(taken >= 1);
        n += taken;
        want(n <= (weft_now() - first) / period + 1);
    }
    struct wf_user_timer *u = wf_user_timer_find(wf_task_self(), t.id);
    want_int((u->due - first) % period, 0);
    want_int((u->due - first) / period, n);
}

START_TEST(periods_are_counted_from_the_first_deadline)
{
    run_alone(counts_missed, NULL);
}
END_TEST

/* ---- Absolute deadlines ---------------------------------------------------------------------------------------- */
static struct {
    int64_t deadline;
    const struct wf_task *armed[3], *ended[3];
    int armed_count, ended_count;
} meeting;

static void comes_to_meeting(void *arg)
{
    (void)arg;
    work(WEFT_SEC(1)); /* each arms its timer at another time, for the same one */
    weft_timer t = opened(meeting.deadline, 0);
    meeting.armed[meeting.armed_count++] = wf_task_self();
    want_int(weft_timer_await(t, WEFT_FOREVER), 1);
    want_int(weft_now(), meeting.deadline);
    meeting.ended[meeting.ended_count++] = wf_task_self();
}

static void is_absolute(void *arg)
{
    (void)arg;
    int64_t start = weft_now();
    memset(&meeting, 0, sizeof meeting);
    meeting.deadline = start + WEFT_SEC(10);
    for (int i = 0; i < 3; i++) (void)spawn_here(comes_to_meeting, NULL);
    pass_turns(2);
    want_int(meeting.armed_count, 3);
    want_int(weft_now(), start + WEFT_SEC(3));
    weft_timer mine = opened(meeting.deadline, 0);
    want_int(weft_timer_await(mine, WEFT_FOREVER), 1);
    want_int(meeting.ended_count, 3); /* those of one deadline fire in the order in which they were armed */
    for (int i = 0; i < 3; i++) want(meeting.ended[i] == meeting.armed[i]);

    const int64_t passed[] = {meeting.deadline, meeting.deadline - 1, start, 1, WEFT_NOW, -1, INT64_MIN};
    for (size_t i = 0; i < WF_COUNT(passed); i++) {
        weft_timer t = opened(passed[i], 0);
        want_int(weft_timer_await(t, WEFT_FOREVER), 1);
        want_int(weft_now(), meeting.deadline); /* at once: no time has passed */
        want_int(weft_timer_close(t), 0);
    }
    weft_timer t = opened(WEFT_FOREVER - 1, WEFT_FOREVER); /* far, but a point in time; after it there is none */
    want_int(weft_timer_next(t), WEFT_FOREVER - 1);
    want_int(weft_timer_await(t, WEFT_FOREVER), 1);
    want_int(weft_now(), WEFT_FOREVER - 1);
    want_int(weft_timer_next(t), WEFT_FOREVER);
}

START_TEST(a_deadline_is_a_point_in_time)
{
    run_simulated(is_absolute, NULL);
}
END_TEST

/* ---- Cancel ---------------------------------------------------------------------------------------------------- */
static void is_cancelled(void *arg)
{
    (void)arg;
    weft_timer t = opened(weft_after(WEFT_SEC(1)), 0);
    for (int i = 0; i < 2; i++) {
        want_int(weft_timer_set(t, WEFT_FOREVER, 0), 0); /* twice is as once */
        want_int(weft_timer_next(t), WEFT_FOREVER);
    }
    want_int(weft_timer_await(t, weft_after(WEFT_SEC(9))), WEFT_ETIMEDOUT);

    want_int(weft_timer_set(t, weft_after(WEFT_SEC(1)), WEFT_SEC(1)), 0);
    for (int i = 0; i < 3; i++) want_int(weft_timer_await(t, WEFT_FOREVER), 1);
    want_int(wait_for(t, WEFT_FOREVER), 0);
    want_int(weft_timer_set(t, WEFT_FOREVER, WEFT_SEC(1)), 0); /* it has fired, nobody has taken it: forgotten */
    want_int(weft_timer_take(t), 0);
    want_int(weft_timer_await(t, weft_after(WEFT_SEC(9))), WEFT_ETIMEDOUT);

    /* A cancelled wait leaves nothing behind. */
    want(wf_heap_first(&wf_here->timers) == NULL);
    uint32_t capacity = wf_here->timers.capacity;
    for (int i = 0; i < 10000; i++) {
        want_int(weft_timer_set(t, weft_after(WEFT_SEC(i + 1)), i % 2), 0);
        want_int(weft_timer_set(t, WEFT_FOREVER, 0), 0);
    }
    want_int(wf_here->timers.capacity, capacity);
    want_int(wf_here->timers.count, 0);
}

START_TEST(a_cancelled_timer_does_not_fire)
{
    run_simulated(is_cancelled, NULL);
}
END_TEST

static void cancels_some(void *arg)
{
    (void)arg;
    enum { N = 1000 };
    static weft_timer t[N];
    int64_t start = weft_now();
    for (int i = 0; i < N; i++) t[i] = opened(start + WEFT_MS(1 + pf_sim_random(&world.sim) % 500), 0);
    weft_timer last = opened(start + WEFT_SEC(1), 0);
    for (int i = 0; i < N; i += 3) want_int(weft_timer_set(t[i], WEFT_FOREVER, 0), 0);
    for (int i = 1; i < N; i += 3) want_int(weft_timer_close(t[i]), 0);
    want_int(weft_timer_await(last, WEFT_FOREVER), 1);
    for (int i = 0; i < N; i++) want_int(weft_timer_take(t[i]), i % 3 == 0 ? 0 : i % 3 == 1 ? WEFT_ECLOSED : 1);
}

START_TEST(cancelling_one_timer_leaves_the_others)
{
    run_simulated(cancels_some, NULL);
}
END_TEST

/* ---- Re-arm ---------------------------------------------------------------------------------------------------- */
static void is_set_anew(void *arg)
{
    (void)arg;
    int64_t start = weft_now();
    weft_timer t = opened(start + WEFT_SEC(5), 0);
    want_int(weft_timer_set(t, start + WEFT_SEC(1), 0), 0); /* earlier */
    want_int(weft_timer_await(t, WEFT_FOREVER), 1);
    want_int(weft_now(), start + WEFT_SEC(1));
    want_int(weft_timer_set(t, start + WEFT_SEC(2), 0), 0); /* it had fired */
    want_int(weft_timer_set(t, start + WEFT_SEC(8), 0), 0); /* later; neither the 2nd nor the 5th second fires */
    want_int(weft_timer_await(t, WEFT_FOREVER), 1);
    want_int(weft_now(), start + WEFT_SEC(8));
    want_int(weft_timer_set(t, start + WEFT_SEC(9), WEFT_SEC(2)), 0); /* periodic */
    for (int i = 0; i < 3; i++) want_int(weft_timer_await(t, WEFT_FOREVER), 1);
    want_int(weft_now(), start + WEFT_SEC(13));
    want_int(weft_timer_set(t, start + WEFT_SEC(20), WEFT_SEC(3)), 0); /* another period and phase */
    for (int i = 0; i < 2; i++) want_int(weft_timer_await(t, WEFT_FOREVER), 1);
    want_int(weft_now(), start + WEFT_SEC(23));
    want_int(weft_timer_set(t, WEFT_FOREVER, 0), 0);
    want_int(weft_timer_set(t, start + WEFT_SEC(30), 0), 0); /* it was cancelled; once again */
    want_int(weft_timer_await(t, WEFT_FOREVER), 1);
    want_int(weft_now(), start + WEFT_SEC(30));
    want_int(weft_timer_await(t, start + WEFT_SEC(99)), WEFT_ETIMEDOUT);
    want_int(weft_timer_set(t, WEFT_NOW, 0), 0);
    want_int(wait_for(t, WEFT_FOREVER), 0);
    want_int(weft_timer_set(t, start + WEFT_SEC(100), 0), 0); /* the firing that nobody took is forgotten */
    want_int(weft_timer_await(t, WEFT_FOREVER), 1);
    want_int(weft_now(), start + WEFT_SEC(100));
    for (int i = 1; i <= 1000; i++) { /* the same timer over and over */
        want_int(weft_timer_set(t, weft_after(WEFT_SEC(1)), 0), 0);
        want_int(weft_timer_await(t, WEFT_FOREVER), 1);
        want_int(weft_now(), start + WEFT_SEC(100 + i));
    }
    want_int(wf_here->timers.count, 0);
}

START_TEST(a_timer_can_be_set_anew)
{
    run_simulated(is_set_anew, NULL);
}
END_TEST

/* ---- The wall clock -------------------------------------------------------------------------------------------- */
static void ignores_the_wall(void *arg)
{
    (void)arg;
    struct pf_env *env = pf_sim_env(&world.sim);
    int64_t start = weft_now(), far[2];
    weft_timer once = opened(start + WEFT_SEC(3600), 0), often = opened(start + WEFT_SEC(1), WEFT_SEC(1));
    world.wall_step = 10 * YEAR;
    for (int i = 1; i <= 3600; i++) {
        far[i % 2] = env->wall(env) - weft_now(); /* the next wait turns it back, or on again */
        want_int(weft_timer_await(often, weft_after(YEAR)), 1);
        want_int(weft_now(), start + WEFT_SEC(i));
    }
    want(far[0] == -far[1]);
    want_int(weft_timer_await(once, WEFT_FOREVER), 1);
    want_int(weft_timer_set(often, WEFT_FOREVER, 0), 0);
    want_int(weft_timer_await(often, start + WEFT_SEC(7200)), WEFT_ETIMEDOUT);
    want_int(weft_now(), start + WEFT_SEC(7200));
}

START_TEST(steps_of_the_wall_clock_do_not_matter)
{
    run_simulated(ignores_the_wall, NULL);
}
END_TEST

/* ---- One deadline with the kernel ------------------------------------------------------------------------------ */
static void arms_thousands(void *arg)
{
    (void)arg;
    enum { N = 5000, TIMES = 1000 };
    static weft_timer t[N];
    int64_t start = weft_now();
    pass_turns(2); /* nothing of this task's own beginning is on its way */
    int calls = world.calls;
    for (int i = 0; i < N; i++) t[i] = opened(start + WEFT_MS(1 + i * 7919 % TIMES), 0); /* in no order */
    want_int(world.calls, calls);
    weft_timer last = opened(start + WEFT_MS(TIMES), 0);
    want_int(world.jump_count, 0);
    want_int(weft_timer_await(last, WEFT_FOREVER), 1);
    want_int(world.jump_count, TIMES); /* one wait for five timers: each ended at the first deadline there was */
    for (int i = 0; i < TIMES; i++) want_int(world.jumps[i], start + WEFT_MS(1 + i));
    for (int i = 0; i < N; i++) want_int(weft_timer_take(t[i]), 1);
    calls = world.calls;
    for (int i = 0; i < N; i++) want_int(weft_timer_set(t[i], weft_after(WEFT_SEC(N + i)), 0), 0);
    for (int i = 0; i < N; i++) want_int(weft_timer_close(t[i]), 0);
    want_int(world.calls, calls);
    want_int(weft_timer_await(last, weft_after(YEAR)), WEFT_ETIMEDOUT);
    want_int(world.asked, start + WEFT_MS(TIMES) + YEAR); /* what is closed has no part in it */
    want_int(world.handles, 0);
}

START_TEST(a_worker_has_one_deadline_with_the_kernel)
{
    run_simulated(arms_thousands, NULL);
}
END_TEST

static void has_close_timers(void *arg)
{
    (void)arg;
    enum { N = 100, A_WAKE = 20 };
    weft_timer t[N];
    int64_t start = weft_now() + WEFT_MS(1);
    pass_turns(2);
    for (int i = 0; i < N; i++) t[i] = opened(start + WEFT_US(i), 0);
    weft_timer later = opened(start + WEFT_MS(1), 0);
    for (int i = 0; i < N; i++) {
        want_int(weft_timer_await(t[i], WEFT_FOREVER), 1);
        want_int(weft_now(), start + WEFT_US((i + A_WAKE - 1) / A_WAKE * A_WAKE));
    }
    want_int(world.jump_count, N / A_WAKE + 1);
    want_int(world.naps, N / A_WAKE);
    want_int(weft_timer_await(later, WEFT_FOREVER), 1);
    want_int(weft_now(), start + WEFT_MS(1)); /* one by itself fires when it is due */
    want_int(world.naps, N / A_WAKE);         /* and posts wake a worker that waits for that */
}

START_TEST(timers_that_are_close_to_each_other_share_a_wake)
{
    run_where_sleeps_are(WEFT_US(20), has_close_timers, NULL);
}
END_TEST

static void is_late_for_all(void *arg)
{
    (void)arg;
    enum { N = 10000, MOST = 100 };
    static weft_timer t[N];
    int64_t due = weft_now() + WEFT_MS(1);
    for (int i = 0; i < N; i++) t[i] = opened(due, 0);
    pass_turns(2);
    work(WEFT_SEC(1));
    for (int fired = 0, before = 0; fired < N; before = fired) {
        pass_turns(1);
        while (fired < N && weft_timer_take(t[fired]) == 1) fired++;
        want(fired > before && fired - before <= 2 * MOST);
    }
}

START_TEST(timers_that_are_due_at_once_do_not_hold_up_a_turn)
{
    run_simulated(is_late_for_all, NULL);
}
END_TEST

static struct {
    int64_t asked, first;
    int changes, handles; /* of the alarm; descriptors the poller was given */
} embedded;

static int counted_alarm(struct pf_poller *p, int64_t deadline)
{
    embedded.changes += deadline != embedded.asked;
    embedded.asked = deadline;
    return pf_env_native()->poller_alarm(p, deadline);
}

static int counted_handle(struct pf_poller *p, pf_handle h, uint64_t tag)
{
    embedded.handles++;
    return pf_env_native()->poller_add(p, h, tag);
}

static void arms_far(void *arg)
{
    (void)arg;
    embedded.first = weft_now() + WEFT_SEC(3600);
    for (int i = 3000; i > 0; i--) (void)opened(embedded.first + WEFT_MS(i), WEFT_MS(1));
    weft_timer first = opened(embedded.first, 0);
    want_int(weft_timer_await(first, WEFT_FOREVER), WEFT_ECANCELED);
}

static void cancel_other(void *arg)
{
    wf_task_cancel(&((struct test_task *)arg)->task);
}

START_TEST(an_embedded_worker_has_one_alarm)
{
    struct harness h;
    struct wf_embed e;
    memset(&h, 0, sizeof h);
    memset(&embedded, 0, sizeof embedded);
    wf_embed_init(&e, &h.set);
    e.env.poller_alarm = counted_alarm;
    e.env.poller_add = counted_handle;
    want_int(pf_mutex_create(&h.lock), 0);
    want_int(pf_cond_create(&h.ended), 0);
    h.set.hooks = &test_hooks;
    h.set.parts = wf_runtime_parts;
    h.set.count = 1;
    h.set.stack_bytes = WF_STACK_BYTES;
    want_int(wf_workers_init(&h.set), 0);
    int rc = wf_embed_start(&h.set);
    if (rc != WEFT_ENOTSUP) { /* nobody's loop could wait for a node on Windows */
        want_int(rc, 0);
        int before = embedded.changes;
        struct test_task *t = harness_spawn(&h, 0, arms_far, NULL);
        while (!is_waiting(t)) (void)wf_embed_turn(&h.set, WEFT_NOW);
        want_int(wf_embed_turn(&h.set, WEFT_NOW), embedded.first);
        want_int(embedded.asked, embedded.first);
        want_int(embedded.changes, before + 1);
        want_int(embedded.handles, 0);
        harness_spawn(&h, 0, cancel_other, t);
        while (!t->done) (void)wf_embed_turn(&h.set, WEFT_NOW);
        want_int(wf_embed_turn(&h.set, WEFT_NOW), WEFT_FOREVER);
    }
    harness_stop(&h);
}
END_TEST

/* ---- On the owner's worker ------------------------------------------------------------------------------------- */
static _Thread_local char thread;

/* Out of line: a compiler may keep the address while a task waits. */
__attribute__((noinline)) static char *thread_here(void)
{
    __asm__ volatile("");
    return &thread;
}

static void stays_home(void *arg)
{
    uint32_t home = *(uint32_t *)arg;
    char *mine = thread_here();
    weft_timer once[8], often = opened(WEFT_NOW, WEFT_US(100));
    want_int(wf_here->index, home);
    for (int i = 0; i < 8; i++) once[i] = opened(weft_after(WEFT_US(200 * i)), 0);
    for (int i = 0; i < 8; i++) {
        want_int(weft_timer_await(once[i], WEFT_FOREVER), 1);
        want_int(wf_here->index, home);
        want(thread_here() == mine);
        want(weft_timer_await(often, WEFT_FOREVER) >= 1);
        want_int(wf_here->index, home);
        want(thread_here() == mine);
    }
}

START_TEST(waiting_tasks_continue_on_their_own_worker)
{
    enum { WORKERS = 3, TASKS = 5 };
    static uint32_t home[WORKERS];
    struct harness h;
    harness_start(&h, WORKERS);
    for (uint32_t w = 0; w < WORKERS; w++) {
        home[w] = w;
        for (int i = 0; i < TASKS; i++) harness_spawn(&h, w, stays_home, &home[w]);
    }
    harness_stop(&h);
}
END_TEST

/* ---- Stacks that are free -------------------------------------------------------------------------------------- */
static void ends_at(void *at)
{
    (void)wf_task_wait(*(const int64_t *)at, wf_waits_for_time);
}

static void is_alone_after_a_peak(void *arg)
{
    (void)arg;
    enum { PEAK = 1100, KEPT = 1024 };
    static int64_t end;
    static struct test_task *peak[PEAK];
    size_t resident = 0;
    end = weft_after(WEFT_SEC(1));
    for (int i = 0; i < PEAK; i++) peak[i] = spawn_here(ends_at, &end);
    until(is_waiting(peak[0]) && is_waiting(peak[PEAK - 1]));
    struct wf_stack stack[PEAK];
    for (int i = 0; i < PEAK; i++) stack[i] = peak[i]->task.coro.stack;
    weft_timer t = opened(end, 0);
    want_int(weft_timer_await(t, WEFT_FOREVER), 1);
    for (int i = 0; i < PEAK; i++) until(peak[i]->done);
    want_int(weft_timer_set(t, end + WEFT_SEC(60), 0), 0);
    world.jump_count = 0;
    want_int(weft_timer_await(t, WEFT_FOREVER), 1);
    for (int i = 0; i < PEAK; i++) resident += wf_stack_resident(&stack[i]) > 0;
    want_int(resident, KEPT);
    want(world.jump_count == 2 || world.jump_count == 3); /* it woke once or twice for the stacks */
    want_int(world.jumps[0], end + WF_STACK_KEPT);
    want_int(weft_timer_close(t), 0);
}

START_TEST(a_worker_that_sleeps_after_a_peak_wakes_to_give_memory_back)
{
    run_simulated(is_alone_after_a_peak, NULL);
}
END_TEST

/* ---- Await ----------------------------------------------------------------------------------------------------- */
static void waits_for_ever(void *arg)
{
    weft_timer t = opened(weft_after(YEAR), 0);
    int64_t rc = weft_timer_await(t, WEFT_FOREVER);
    *(int64_t *)arg = rc;
}

static void awaits(void *arg)
{
    (void)arg;
    int64_t at = weft_after(WEFT_SEC(1)), result = 0;
    weft_timer t = opened(at, WEFT_SEC(1));
    want_int(weft_timer_await(t, at), 1); /* both come in one turn: it has fired */
    want_int(weft_timer_await(t, WEFT_NOW), WEFT_ETIMEDOUT);
    work(WEFT_SEC(5));
    want_int(weft_timer_await(t, WEFT_FOREVER), 5); /* late: all of them, in one resumption */
    want_int(weft_timer_next(t), at + WEFT_SEC(6));
    want_int(weft_timer_close(t), 0);

    struct test_task *other = spawn_here(waits_for_ever, &result);
    until(is_waiting(other));
    wf_task_cancel(&other->task);
    until(other->done);
    want_int(result, WEFT_ECANCELED);
    other = spawn_here(waits_for_ever, &result);
    until(is_waiting(other));
    wf_task_kill(&other->task);
    until(other->done);
    want(other->was_killed);
    want_int(wf_here->user_timers.used, 0);
    want_int(wf_here->timers.count, 0);
}

START_TEST(an_await_takes_what_has_fired)
{
    run_simulated(awaits, NULL);
}
END_TEST

/* ---- Whose it is ----------------------------------------------------------------------------------------------- */
static weft_timer other;

static void open_other(void *arg)
{
    (void)arg;
    want_int(weft_timer_open(&other, WEFT_NOW, WEFT_MS(1)), 0);
    want_int(wait_for(other, WEFT_FOREVER), 0);
}

static void is_owned(void *arg)
{
    (void)arg;
    struct test_task *t = spawn_here(open_other, NULL);
    until(is_waiting(t));
    want_int(weft_timer_take(other), WEFT_ECLOSED); /* only its own actor may */
    until(t->done);
    want_int(wf_here->user_timers.used, 0);
    want(wf_heap_first(&wf_here->timers) == NULL);
    weft_timer mine, reused;
    want_int(weft_timer_open(&mine, WEFT_FOREVER, 0), 0);
    want_int(weft_timer_close(mine), 0);
    want_int(weft_timer_open(&reused, WEFT_FOREVER, 0), 0);
    want_int(weft_timer_close(mine), WEFT_ECLOSED);
    want_int(weft_timer_take(mine), WEFT_ECLOSED);
    want_int(weft_timer_next(mine), WEFT_ECLOSED);
    want_int(weft_timer_await(mine, WEFT_FOREVER), WEFT_ECLOSED);
    want_int(weft_timer_set(mine, WEFT_NOW, 0), WEFT_ECLOSED);
    want_int(wait_for(mine, WEFT_FOREVER), WEFT_ECLOSED);
    want_int(weft_timer_open(&mine, WEFT_NOW, -1), WEFT_EINVAL);
    want_int(weft_timer_set(reused, WEFT_NOW, -1), WEFT_EINVAL);
}

START_TEST(a_timer_belongs_to_one_actor)
{
    run_alone(is_owned, NULL);
    want_int(weft_timer_open(&other, WEFT_NOW, 0), WEFT_ENOTACTOR);
    want_int(weft_timer_take(other), WEFT_ENOTACTOR);
    want_int(weft_timer_next(other), WEFT_ENOTACTOR);
    want_int(weft_timer_await(other, WEFT_NOW), WEFT_ENOTACTOR);
}
END_TEST

TEST_MAIN("timer", a_one_shot_timer_fires_once_and_at_its_time, a_periodic_timer_does_not_drift,
          periods_are_counted_from_the_first_deadline, a_deadline_is_a_point_in_time, a_cancelled_timer_does_not_fire,
          cancelling_one_timer_leaves_the_others, a_timer_can_be_set_anew, steps_of_the_wall_clock_do_not_matter,
          a_worker_has_one_deadline_with_the_kernel, timers_that_are_close_to_each_other_share_a_wake,
          timers_that_are_due_at_once_do_not_hold_up_a_turn, an_embedded_worker_has_one_alarm,
          waiting_tasks_continue_on_their_own_worker, a_worker_that_sleeps_after_a_peak_wakes_to_give_memory_back,
          an_await_takes_what_has_fired, a_timer_belongs_to_one_actor)

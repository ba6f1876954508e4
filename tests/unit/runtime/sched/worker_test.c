/* runtime/sched/worker.c, task.c, post.c: posts between workers, wakes, order, fairness, and that an idle worker does
 * nothing. */
#include "../harness.h"

#ifndef _WIN32
#include <dirent.h>
#endif

#include "post.h"

static void rest(int64_t ns)
{
    pf_mutex *lock;
    pf_cond *never;
    want_int(pf_mutex_create(&lock), 0);
    want_int(pf_cond_create(&never), 0);
    struct pf_env *env = pf_env_native();
    int64_t until = env->now(env) + ns;
    pf_mutex_lock(lock);
    while (pf_cond_wait(never, lock, until) == 0) {}
    pf_mutex_unlock(lock);
    pf_cond_destroy(never);
    pf_mutex_destroy(lock);
}

/* ---- Ping-pong: a wake that is lost is a hang ------------------------------------------------------------------ */

struct ball {
    struct wf_call call;
    uint32_t from, to;
    int64_t left;
    _Atomic bool over;
    bool direct; /* by wf_worker_post instead of the outbox */
};

static void bounce(struct wf_worker *w, struct wf_call *c)
{
    struct ball *b = WF_CONTAINER(c, struct ball, call);
    if (--b->left <= 0) {
        atomic_store_explicit(&b->over, true, memory_order_release);
        return;
    }
    uint32_t next = w->index == b->to ? b->from : b->to;
    if (b->direct) wf_worker_post(w->set->at[next], &c->post);
    else wf_worker_send(w, next, &c->post);
}

static void play(struct harness *h, struct ball *balls, size_t count, int64_t rounds)
{
    for (size_t i = 0; i < count; i++) {
        balls[i] = (struct ball){.call = {.post = {.kind = WF_POST_CALL}, .call = bounce},
                                 .from = (uint32_t)(i % h->set.count),
                                 .to = (uint32_t)((i + 1 + i / 3) % h->set.count),
                                 .left = rounds,
                                 .direct = i % 2 == 0};
        wf_worker_post(h->set.at[balls[i].from], &balls[i].call.post);
    }
    for (size_t i = 0; i < count; i++) {
        while (!atomic_load_explicit(&balls[i].over, memory_order_acquire)) rest(WEFT_MS(1));
    }
}

START_TEST(no_wake_is_lost)
{
    for (uint32_t workers = 2; workers <= 4; workers++) {
        struct harness h;
        struct ball balls[8];
        harness_start(&h, workers);
        play(&h, balls, 1, 20000); /* both sides sleep between the strokes */
        play(&h, balls, 8, 5000);
        harness_stop(&h);
    }
}
END_TEST

/* Posts of a foreign thread at every moment of the loop, each after the worker may have gone to sleep. */
struct knock {
    struct wf_call call;
    _Atomic int64_t heard;
};

static void hear_knock(struct wf_worker *w, struct wf_call *c)
{
    (void)w;
    atomic_fetch_add_explicit(&WF_CONTAINER(c, struct knock, call)->heard, 1, memory_order_release);
}

START_TEST(a_sleeping_worker_hears_every_knock)
{
    struct harness h;
    struct knock k = {.call = {.post = {.kind = WF_POST_CALL}, .call = hear_knock}};
    harness_start(&h, 1);
    for (int64_t i = 1; i <= 30000; i++) {
        wf_worker_post(h.set.at[0], &k.call.post);
        while (atomic_load_explicit(&k.heard, memory_order_acquire) < i) pf_cpu_relax();
        for (int64_t j = 0; j < i % 200; j++) pf_cpu_relax();
    }
    harness_stop(&h);
}
END_TEST

/* ---- Order ----------------------------------------------------------------------------------------------------- */

enum { POSTS = 2000 };

struct numbered {
    struct wf_call call;
    int n;
};

static struct numbered *numbered[2];
static int next_of[2];
static uint32_t copies; /* that each post becomes */
static uint64_t turn;   /* in which the last one was taken */
static uint32_t in_turn;

static void take_numbered(struct wf_worker *w, struct wf_call *c)
{
    struct numbered *p = WF_CONTAINER(c, struct numbered, call);
    int from = p - numbered[0] >= 0 && p - numbered[0] < POSTS ? 0 : 1;
    want_int(w->index, 1);
    want_int(p->n, next_of[from]++);
    in_turn = turn == w->count.turns ? in_turn + 1 : 1;
    turn = w->count.turns;
    want(copies == 0 || in_turn <= 2);
    wf_worker_charge(w, copies);
}

static void send_numbered(void *arg)
{
    struct numbered *all = arg;
    for (int i = 0; i < POSTS; i++) {
        all[i] = (struct numbered){{{.kind = WF_POST_CALL}, take_numbered}, i};
        wf_worker_send(wf_here, 1, &all[i].call.post);
        if (i % 100 == 0) wf_task_yield();
    }
}

static void await_all(void *arg)
{
    (void)arg;
    until(next_of[0] == POSTS && next_of[1] == POSTS);
}

static void see_the_order(uint32_t copies_each)
{
    struct harness h;
    copies = copies_each;
    next_of[0] = next_of[1] = 0; /* one process may run all tests */
    turn = in_turn = 0;
    for (int i = 0; i < 2; i++) numbered[i] = calloc(POSTS, sizeof *numbered[i]);
    harness_start(&h, 2);
    harness_spawn(&h, 0, send_numbered, numbered[0]);
    harness_spawn(&h, 1, send_numbered, numbered[1]); /* to oneself, through the outbox too */
    harness_spawn(&h, 1, await_all, NULL); /* a worker stops with what others have not flushed yet unread */
    harness_stop(&h);
    for (int i = 0; i < 2; i++) free(numbered[i]);
}

START_TEST(posts_arrive_in_order)
{
    see_the_order(0);
}
END_TEST

START_TEST(posts_that_are_much_work_wait_for_their_turn_in_order)
{
    see_the_order(WF_TURN_WORK / 2);
}
END_TEST

/* ---- Blocks that were freed one by one ------------------------------------------------------------------------------ */

static void free_entries(void *arg)
{
    enum { ENTRIES = 4 * WF_TURN_WORK / WF_ENTRY_WORK };
    (void)arg;
    const uint64_t before = wf_here->count.merges;
    for (int i = 0; i < ENTRIES; i++) {
        wf_task_charge_entry(wf_task_self());
        if (i % 100 == 0) wf_task_yield();
    }
    const uint64_t turns = wf_here->count.turns;
    until(wf_here->count.turns > turns + 1);
    const uint64_t merges = wf_here->count.merges;
    want(merges >= before + 3); /* also in turns that do less work than they may */
    want(merges <= before + 4);
    until(wf_here->count.turns > turns + 100);
    want_int(wf_here->count.merges, merges);
}

START_TEST(freed_blocks_are_merged_after_as_much_work_as_a_turn_may_do)
{
    run_alone(free_entries, NULL);
}
END_TEST

/* ---- Tasks that wait for space at a worker --------------------------------------------------------------------- */

enum { MANY = 16 * WF_SPACE_PART };
static struct test_word all_wait;
static _Atomic bool is_held_up;
static int got_space;

/* Nothing is drained on this worker until all wait. */
static void hold_up(void *arg)
{
    (void)arg;
    is_held_up = true;
    word_await(&all_wait);
}

static void want_space(void *arg)
{
    (void)arg;
    want_int(wf_worker_wait_space(wf_here, 1, WEFT_FOREVER), 0);
    got_space++;
}

static void watch_waiting(void *arg)
{
    static struct test_task *task[MANY];
    uint32_t most = 0;
    (void)arg;
    harness_spawn(harness_here(), 1, hold_up, NULL);
    until(is_held_up);
    for (int i = 0; i < MANY; i++) task[i] = spawn_here(want_space, NULL);
    for (int i = 0; i < MANY; i++) until(is_waiting(task[i]));
    word_say(&all_wait);
    for (; got_space < MANY; wf_task_yield()) most = WF_MAX(most, wf_here->ready_count);
    want(most <= 2 * WF_SPACE_PART);
}

START_TEST(tasks_that_wait_for_space_are_woken_in_parts)
{
    struct harness h;
    word_begin(&all_wait);
    is_held_up = false;
    got_space = 0;
    harness_start(&h, 2);
    harness_spawn(&h, 0, watch_waiting, NULL);
    harness_stop(&h);
    want_int(got_space, MANY);
    word_end(&all_wait);
}
END_TEST

/* ---- Fairness -------------------------------------------------------------------------------------------------- */

static bool other_ran;

static void run_other(void *arg)
{
    (void)arg;
    other_ran = true;
}

/* A task whose waits all end at once still lets others run: cancelled, and with a deadline long past. */
static void never_waits(void *arg)
{
    (void)arg;
    spawn_here(run_other, NULL);
    for (int64_t i = 0; !other_ran; i++) {
        want(i < 1000 * 1000);
        want_int(wf_task_finish_wait(wf_task_wait(WEFT_NOW, "nothing")), WEFT_ETIMEDOUT);
    }
    other_ran = false;
    wf_task_cancel(wf_task_self());
    spawn_here(run_other, NULL);
    for (int64_t i = 0; !other_ran; i++) {
        want(i < 1000 * 1000);
        want_int(wf_task_finish_wait(wf_task_wait(WEFT_FOREVER, "nothing")), WEFT_ECANCELED);
    }
}

START_TEST(waits_that_end_at_once_starve_nobody)
{
    run_alone(never_waits, NULL);
}
END_TEST

static void sleep_until_killed(void *arg)
{
    for (;;) {
        (void)wf_task_finish_wait(wf_task_wait(WEFT_FOREVER, "its end"));
        ++*(int64_t *)arg;
    }
}

static void kill_sleeper(void *arg)
{
    (void)arg;
    int64_t waits = 0;
    struct test_task *t = spawn_here(sleep_until_killed, &waits);
    until(is_waiting(t));
    wf_task_wake(&t->task);
    wf_task_wake(&t->task); /* twice is once */
    until(waits == 1 && is_waiting(t));
    wf_task_cancel(&t->task);
    until(waits > 1000); /* it does not end by itself */
    wf_task_kill(&t->task);
    until(t->done);
    want(t->was_killed);
}

START_TEST(a_kill_ends_a_task_that_ignores_its_cancellation)
{
    run_alone(kill_sleeper, NULL);
}
END_TEST

/* ---- Deadlines ------------------------------------------------------------------------------------------------- */

/* Its timer is armed once for the first two waits: the second only postpones it. A wait for an earlier time moves it. */
static void wait_with_deadlines(void *arg)
{
    const int64_t late = weft_after(WEFT_SEC(1000));
    const struct wf_heap *timers = &wf_here->timers;
    (void)arg;
    want_int(wf_task_wait(late, "a wake"), WEFT_OK);
    want_int(wf_heap_earliest(timers), late);
    want_int(wf_task_wait(late + WEFT_SEC(1), "a wake"), WEFT_OK);
    want_int(wf_heap_earliest(timers), late);
    want_int(timers->count, 1);
    want_int(wf_task_wait(weft_after(WEFT_MS(1)), "its deadline"), WEFT_ETIMEDOUT);
    want_int(timers->count, 0);
    want_int(wf_task_wait(late, "a wake"), WEFT_OK);
    want_int(timers->count, 1);
}

static void wake_one_with_deadlines(void *arg)
{
    struct test_task *t = spawn_here(wait_with_deadlines, NULL);
    (void)arg;
    for (int i = 0; i < 3; i++) {
        until(is_waiting(t) && (i < 2 || t->task.deadline.deadline > weft_after(WEFT_SEC(900))));
        wf_task_wake(&t->task);
    }
    until(t->done);
    want_int(wf_here->timers.count, 0); /* it has taken its timer along */
}

START_TEST(a_wait_that_ends_before_its_deadline_keeps_its_timer_for_the_next)
{
    run_alone(wake_one_with_deadlines, NULL);
}
END_TEST

/* ---- Looking for posts ----------------------------------------------------------------------------------------- */

enum { TOLD = 8 };

/* An environment in which time passes by looking at the clock, and something arrives at a socket before the second poll. */
static struct {
    struct pf_env env;
    int64_t time;
    int polls, taken;
    int64_t deadlines[TOLD];
} looking;

static int64_t step_time(struct pf_env *env)
{
    (void)env;
    return looking.time += WEFT_US(1);
}

static int poll_twice(struct pf_poller *p, struct pf_ready *out, int max, int64_t deadline)
{
    (void)p;
    want(max > 0 && looking.polls < TOLD);
    looking.deadlines[looking.polls++] = deadline;
    if (looking.polls < 2) return 0;
    *out = (struct pf_ready){.tag = 1, .readable = true};
    return 1;
}

static void take_ready(struct wf_worker *w, const struct pf_ready *ready, int n)
{
    (void)w, (void)ready;
    looking.taken += n;
}

START_TEST(a_worker_that_looks_for_posts_takes_what_arrives_at_its_sockets)
{
    looking.env = *pf_env_native();
    looking.env.now = step_time;
    looking.env.poller_wait = poll_twice;
    looking.time = WF_CLOCK_BEGIN;
    struct wf_workers set = {.env = &looking.env, .hooks = &test_hooks, .parts = wf_runtime_parts, .count = 2};
    want_int(wf_workers_init(&set), 0);
    set.on_ready = take_ready;
    set.may_look = true;
    struct wf_worker *w = set.at[0];
    wf_here_set(w);
    void *socket = wf_slab_take(&w->fds);
    w->idle_gap = 0; /* posts have come soon lately */
    w->last_poll = looking.time;
    wf_worker_turn(w, WEFT_FOREVER);
    wf_here_set(NULL);
    ck_assert_int_eq(looking.polls, 2);
    ck_assert_int_eq(looking.taken, 1);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(looking.deadlines[i], WEFT_NOW);
    wf_slab_give(&w->fds, socket);
    wf_workers_finish(&set);
}
END_TEST

/* ---- Idle means idle ------------------------------------------------------------------------------------------- */

#ifndef _WIN32 /* there integration/windows looks on, from Linux */
/* Context switches of all threads of this process that are named weft-N; a sleeping thread has none. */
static int64_t switches(void)
{
    int64_t sum = 0;
    int threads = 0;
    DIR *d = opendir("/proc/self/task");
    want(d != NULL);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[300], line[128];
        bool ours = false;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        while (f != NULL && fgets(line, sizeof line, f) != NULL) {
            long long n = 0;
            if (strncmp(line, "Name:\tweft-", 11) == 0) ours = true;
            if (sscanf(line, "voluntary_ctxt_switches: %lld", &n) == 1 ||
                sscanf(line, "nonvoluntary_ctxt_switches: %lld", &n) == 1)
                sum += ours ? n : 0;
        }
        threads += ours;
        if (f != NULL) fclose(f);
    }
    closedir(d);
    want_int(threads, 3);
    return sum;
}

static void wait_long(void *arg)
{
    (void)arg;
    (void)wf_task_wait(weft_after(WEFT_SEC(1000)), "the end of the test");
}

static struct {
    struct wf_call call;
    struct test_task *task;
} waking;

static void wake_waiter(struct wf_worker *w, struct wf_call *c)
{
    (void)w, (void)c;
    wf_task_wake(&waking.task->task);
}

START_TEST(idle_workers_make_no_context_switches)
{
    struct harness h;
    struct ball balls[8];
    harness_start(&h, 3);
    play(&h, balls, 8, 1000); /* they have been busy */
    waking.task = harness_spawn(&h, 1, wait_long, NULL);
    int64_t before, after = switches();
    do { /* until they have gone to sleep */
        before = after;
        rest(WEFT_MS(20));
        after = switches();
    } while (after != before);
    rest(WEFT_SEC(1));
    ck_assert_int_eq(switches(), after);
    waking.call = (struct wf_call){.post = {.kind = WF_POST_CALL}, .call = wake_waiter};
    wf_worker_post(h.set.at[1], &waking.call.post);
    harness_stop(&h);
}
END_TEST
#endif

TEST_MAIN(
    "worker", no_wake_is_lost, a_sleeping_worker_hears_every_knock, posts_arrive_in_order,
    posts_that_are_much_work_wait_for_their_turn_in_order,
    freed_blocks_are_merged_after_as_much_work_as_a_turn_may_do, tasks_that_wait_for_space_are_woken_in_parts,
    waits_that_end_at_once_starve_nobody, a_kill_ends_a_task_that_ignores_its_cancellation,
    a_wait_that_ends_before_its_deadline_keeps_its_timer_for_the_next,
    a_worker_that_looks_for_posts_takes_what_arrives_at_its_sockets ON_UNIX(, idle_workers_make_no_context_switches))

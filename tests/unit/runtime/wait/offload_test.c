/* Blocking functions: results, limits of threads and queue, and actors that give up while they run. Gates stop a
 * function where a test wants it. The sanitizers show memory that was leaked or freed too early. */
#include "../../actors/node_harness.h"
#include "../../actors/random.h"
#include "../folder.h"
#include "log.h"
#include "offload.h"

#include <weft/dir.h>
#include <weft/offload.h>
#include <weft/test.h>

enum { READY = 1, GO = 2 };

/* ---- Gates ----------------------------------------------------------------------------------------------------- */

struct gate {
    pf_mutex *lock;
    pf_cond *changed;
    int entered, left, dropped;
    bool open;
};

static struct gate gate;

static void gate_close(void)
{
    gate = (struct gate){0};
    want_int(pf_mutex_create(&gate.lock), 0);
    want_int(pf_cond_create(&gate.changed), 0);
}

static void gate_open(void)
{
    pf_mutex_lock(gate.lock);
    gate.open = true;
    pf_cond_broadcast(gate.changed);
    pf_mutex_unlock(gate.lock);
}

static void gate_free(void)
{
    pf_cond_destroy(gate.changed);
    pf_mutex_destroy(gate.lock);
}

static void count_one(int *counter)
{
    pf_mutex_lock(gate.lock);
    ++*counter;
    pf_cond_broadcast(gate.changed);
    pf_mutex_unlock(gate.lock);
}

static int now_at(const int *counter)
{
    pf_mutex_lock(gate.lock);
    int n = *counter;
    pf_mutex_unlock(gate.lock);
    return n;
}

/* Called on threads that run no actor. */
static void await_count(const int *counter, int n)
{
    pf_mutex_lock(gate.lock);
    while (*counter < n) (void)pf_cond_wait(gate.changed, gate.lock, WEFT_FOREVER);
    pf_mutex_unlock(gate.lock);
}

struct block {
    int64_t in, out;
    void *owned; /* of a job with `free_owned` */
};

static void pass_gate(void *block)
{
    struct block *b = block;
    pf_mutex_lock(gate.lock);
    gate.entered++;
    pf_cond_broadcast(gate.changed);
    while (!gate.open) (void)pf_cond_wait(gate.changed, gate.lock, WEFT_FOREVER);
    gate.left++;
    pf_cond_broadcast(gate.changed);
    pf_mutex_unlock(gate.lock);
    b->out = 2 * b->in;
}

static void free_owned(void *block)
{
    struct block *b = block;
    free(b->owned);
    count_one(&gate.dropped);
}

static struct wf_offload_counts counts(void)
{
    return wf_offload_count(wf_here->set->offload);
}

static void doubles(void *block)
{
    struct block *b = block;
    want(wf_here == NULL);
    want_int(weft_sleep(WEFT_NOW), WEFT_ENOTACTOR);
    b->out = 2 * b->in;
}

static void does_nothing(void *block)
{
    (void)block;
}

/* ---- Results and errors ---------------------------------------------------------------------------------------- */

static void offloads(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 100; i++) {
        struct block b = {.in = i};
        want_int(weft_offload(doubles, &b, sizeof b, WEFT_FOREVER), 0);
        want_int(b.out, 2 * i);
    }
    want_int(weft_offload(does_nothing, NULL, 0, WEFT_FOREVER), 0);
    want_int(counts().threads, 1); /* one was idle each time */
    want_int(counts().running + counts().queued + counts().waiting, 0);
}

START_TEST(a_function_runs_elsewhere_and_its_result_comes_back)
{
    run_on(1, offloads);
}
END_TEST

static void is_refused(const void *arg, size_t size)
{
    struct block b = {.in = 3, .out = 7};
    weft_job job;
    (void)arg, (void)size;
    want_int(weft_offload(NULL, &b, sizeof b, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_offload(doubles, NULL, sizeof b, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_offload(doubles, &b, (size_t)WEFT_OFFLOAD_MAX + 1, WEFT_FOREVER), WEFT_ETOOBIG);
    want_int(weft_offload(doubles, &b, sizeof b, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_offload_start(NULL, doubles, NULL, &b, sizeof b, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_offload_start(&job, NULL, NULL, &b, sizeof b, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_offload_take((weft_job){{NULL, 0}}, &b, sizeof b, WEFT_NOW), WEFT_ECLOSED);
    want_int(weft_offload_drop((weft_job){{NULL, 0}}), WEFT_ECLOSED);
    want_int(weft_stop(weft_self()), 0);
    want_int(weft_offload(doubles, &b, sizeof b, WEFT_FOREVER), WEFT_ECANCELED);
    want_int(b.out, 7);
    want_int(counts().threads, 0); /* none of it was run */
}

START_TEST(bad_arguments_have_their_errors)
{
    weft_job job;
    ck_assert_int_eq(weft_offload(doubles, NULL, 0, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_offload_start(&job, doubles, NULL, NULL, 0, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_offload_take((weft_job){{NULL, 0}}, NULL, 0, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_offload_drop((weft_job){{NULL, 0}}), WEFT_ENOTACTOR);
    weft_node *n;
    ck_assert_int_eq(wf_node_create(&n, RUN_OPTIONS(.offload_threads = 257), NULL), WEFT_EINVAL);
    ck_assert_int_eq(wf_node_create(&n, RUN_OPTIONS(.offload_threads = -1), NULL), WEFT_EINVAL);
    ck_assert_int_eq(wf_node_create(&n, RUN_OPTIONS(.offload_queue = -1), NULL), WEFT_EINVAL);
    run_on(1, is_refused);
}
END_TEST

/* ---- Handles --------------------------------------------------------------------------------------------------- */

static void tries_to_take(const void *arg, size_t size)
{
    const struct {
        weft_job job;
        weft_pid parent;
    } *k = arg;
    struct block b;
    (void)size;
    want_int(weft_offload_take(k->job, &b, sizeof b, WEFT_NOW), WEFT_ECLOSED);
    want_int(weft_offload_drop(k->job), WEFT_ECLOSED);
    want_int(say(k->parent, READY, 0), 0);
}

static void waits_for_any(const void *arg, size_t size)
{
    struct block b = {.in = 21};
    struct {
        weft_job job;
        weft_pid parent;
    } k = {.parent = weft_self()};
    (void)arg, (void)size;
    want_int(weft_offload_start(&k.job, pass_gate, NULL, &b, sizeof b, WEFT_NOW), 0);
    const weft_wait sources[] = {weft_on_mailbox(), weft_on_offload(k.job)};
    want_int(weft_wait_any(sources, 2, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_offload_take(k.job, &b, sizeof b, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_spawn(NULL, tries_to_take, &k, sizeof k, NULL), 0);
    want_int(weft_wait_any(sources, 2, WEFT_FOREVER), 0);
    hear(READY);
    gate_open();
    want_int(weft_wait_any(sources, 2, WEFT_FOREVER), 1);
    want_int(weft_wait_any(sources, 2, WEFT_FOREVER), 1); /* until it is taken */
    want_int(weft_offload_take(k.job, &b, sizeof b - 1, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_offload_take(k.job, &b, sizeof b, WEFT_NOW), 0);
    want_int(b.out, 42);
    want_int(weft_offload_take(k.job, &b, sizeof b, WEFT_NOW), WEFT_ECLOSED);
    want_int(weft_wait_any(sources, 2, WEFT_NOW), WEFT_ECLOSED);
}

START_TEST(a_job_is_waited_for_among_other_things)
{
    gate_close();
    run_on(1, waits_for_any);
    gate_free();
}
END_TEST

/* ---- Bounds ---------------------------------------------------------------------------------------------------- */

static void starts_many(const void *arg, size_t size)
{
    weft_job jobs[5];
    (void)arg, (void)size;
    for (int i = 0; i < 5; i++) {
        struct block b = {.in = i};
        want_int(weft_offload_start(&jobs[i], pass_gate, NULL, &b, sizeof b, WEFT_NOW), 0);
    }
    until(counts().running == 2);
    want_int(counts().queued, 3);
    want_int(counts().threads, 2);
    gate_open();
    for (int i = 0; i < 5; i++) {
        struct block b;
        want_int(weft_offload_take(jobs[i], &b, sizeof b, WEFT_FOREVER), 0);
        want_int(b.out, 2 * i);
    }
    want_int(counts().threads, 2);
}

START_TEST(no_more_threads_than_the_option_says)
{
    gate_close();
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .offload_threads = 2));
    node_spawn(n, 1, starts_many);
    node_end(n);
    gate_free();
}
END_TEST

static void offloads_one(const void *arg, size_t size)
{
    struct kid k;
    (void)size;
    memcpy(&k, arg, sizeof k);
    struct block b = {.in = k.n};
    want_int(weft_offload(pass_gate, &b, sizeof b, WEFT_FOREVER), 0);
    want_int(say(k.parent, READY, b.out), 0);
}

/* One job runs, one is in the queue. */
static void fill_up(weft_job *running, weft_job *queued)
{
    struct block b = {.in = 1};
    want_int(weft_offload_start(running, pass_gate, NULL, &b, sizeof b, WEFT_NOW), 0);
    until(counts().running == 1);
    want_int(weft_offload_start(queued, pass_gate, NULL, &b, sizeof b, WEFT_NOW), 0);
}

static void finds_the_queue_full(const void *arg, size_t size)
{
    weft_job running, queued, third;
    struct block b = {.in = 1, .out = 5};
    (void)arg, (void)size;
    fill_up(&running, &queued);
    want_int(weft_offload_start(&third, pass_gate, free_owned, &b, sizeof b, WEFT_NOW), WEFT_EFULL);
    want_int(weft_offload_start(&third, pass_gate, free_owned, &b, sizeof b, weft_after(1)), WEFT_EFULL);
    want_int(weft_offload(pass_gate, &b, sizeof b, weft_after(1)), WEFT_EFULL);
    want_int(b.out, 5);
    want_int(now_at(&gate.dropped), 0); /* the block is still the caller's */
    for (int i = 0; i < 3; i++) kid_on(1 + i % 2, offloads_one, 10);
    until(counts().waiting == 3);
    want_int(weft_offload_drop(queued), 0); /* makes a place */
    want_int(counts().waiting, 2);
    gate_open();
    for (int i = 0; i < 3; i++) want_int(hear(READY), 20);
    want_int(weft_offload_take(running, &b, sizeof b, WEFT_FOREVER), 0);
    want_int(now_at(&gate.entered), 4);
}

START_TEST(beyond_the_queue_actors_wait_until_their_deadlines)
{
    gate_close();
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .offload_threads = 1, .offload_queue = 1));
    node_spawn(n, 1, finds_the_queue_full);
    node_end(n);
    gate_free();
}
END_TEST

/* A place found while waiting is not taken for the job's end. */
static void is_admitted(const void *arg, size_t size)
{
    weft_job running, queued, third;
    struct block b = {.in = 1};
    (void)arg, (void)size;
    fill_up(&running, &queued);
    weft_pid kid = kid_on(1, offloads_one, 10);
    until(counts().waiting == 1);
    await_wait(kid, "event");
    gate_open();
    hear(READY);
    want_int(weft_offload_start(&third, pass_gate, NULL, &b, sizeof b, WEFT_FOREVER), 0);
    want_int(weft_offload_take(third, &b, sizeof b, WEFT_FOREVER), 0);
    want_int(b.out, 2);
}

START_TEST(a_place_in_the_queue_is_not_the_end_of_the_job)
{
    gate_close();
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .offload_threads = 1, .offload_queue = 1));
    node_spawn(n, 1, is_admitted);
    node_end(n);
    gate_free();
}
END_TEST

static void lists_while_the_queue_is_full(const void *arg, size_t size)
{
    weft_job running, queued;
    weft_dir d;
    weft_dir_entry e;
    struct block b;
    int count = 0, rc;
    (void)arg, (void)size;
    want_int(weft_dir_open(&d, folder_path, WEFT_FOREVER), 0);
    fill_up(&running, &queued);
    while ((rc = weft_dir_next(d, &e, WEFT_NOW)) == 1) count++;
    want_int(rc, WEFT_ETIMEDOUT);
    want_int(weft_dir_next(d, &e, weft_after(1)), WEFT_ETIMEDOUT);
    want_int(counts().waiting, 1);
    gate_open();
    while ((rc = weft_dir_next(d, &e, WEFT_FOREVER)) == 1) count++;
    want_int(rc, 0);
    want_int(count, FOLDER_FILES);
    want_int(weft_offload_take(running, &b, sizeof b, WEFT_FOREVER), 0);
    want_int(weft_offload_take(queued, &b, sizeof b, WEFT_FOREVER), 0);
}

START_TEST(a_listing_outlasts_a_full_queue)
{
    gate_close();
    folder_make();
    for (int i = 0; i < FOLDER_FILES; i++) {
        FILE *f = fopen(file_path(i), "w");
        ck_assert(f != NULL && fclose(f) == 0);
    }
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .offload_threads = 1, .offload_queue = 1));
    node_spawn(n, 1, lists_while_the_queue_is_full);
    node_end(n);
    folder_remove();
    gate_free();
}
END_TEST

/* ---- Actors that give up --------------------------------------------------------------------------------------- */

static void gives_up(const void *arg, size_t size)
{
    struct block b = {.in = 1, .out = 5, .owned = malloc(100)};
    weft_job job;
    (void)arg, (void)size;
    want_int(weft_offload_start(&job, pass_gate, free_owned, &b, sizeof b, WEFT_NOW), 0);
    until(now_at(&gate.entered) == 1);
    want_int(weft_offload_drop(job), 0);
    want_int(now_at(&gate.dropped), 0); /* it is still running on it */
    b = (struct block){.in = 1, .out = 5};
    want_int(weft_offload(pass_gate, &b, sizeof b, weft_after(1)), WEFT_ETIMEDOUT);
    want_int(b.out, 5);
    gate_open();
    until(now_at(&gate.dropped) == 1);
    b.owned = malloc(100);
    want_int(weft_offload_start(&job, pass_gate, free_owned, &b, sizeof b, WEFT_NOW), 0);
    const weft_wait done[] = {weft_on_offload(job)};
    want_int(weft_wait_any(done, 1, WEFT_FOREVER), 0);
    want_int(weft_offload_drop(job), 0); /* done, but not taken */
    want_int(now_at(&gate.dropped), 2);
}

START_TEST(a_result_nobody_takes_is_dropped)
{
    gate_close();
    run_on(1, gives_up);
    gate_free();
}
END_TEST

enum where { RUNNING, QUEUED, WAITING_FOR_PLACE, BY_HANDLE, PLACES };

static void is_killed(const void *arg, size_t size)
{
    struct kid k;
    (void)size;
    memcpy(&k, arg, sizeof k);
    struct block b = {.in = 1};
    weft_job job;
    if (k.n == BY_HANDLE) {
        b.owned = malloc(10);
        want_int(weft_offload_start(&job, pass_gate, free_owned, &b, sizeof b, WEFT_FOREVER), 0);
        (void)weft_offload_take(job, &b, sizeof b, WEFT_FOREVER);
    }
    for (;;) (void)weft_offload(pass_gate, &b, sizeof b, WEFT_FOREVER); /* until it is killed */
}

static void kills_there(enum where where)
{
    weft_job first = {{NULL, 0}}, second = {{NULL, 0}};
    struct block b = {.in = 1};
    if (where != RUNNING && where != BY_HANDLE) {
        want_int(weft_offload_start(&first, pass_gate, NULL, &b, sizeof b, WEFT_NOW), 0);
        until(counts().running == 1);
    }
    if (where == WAITING_FOR_PLACE) want_int(weft_offload_start(&second, pass_gate, NULL, &b, sizeof b, WEFT_NOW), 0);
    weft_pid kid = kid_on(2, is_killed, where);
    if (where == RUNNING || where == BY_HANDLE) until(counts().running == 1);
    else until((where == QUEUED ? counts().queued : counts().waiting) == 1);
    want_int(weft_stop(kid), 0);
    await_end(kid);
    want_int(counts().waiting, 0);
    want_int(counts().queued, where == WAITING_FOR_PLACE);
    gate_open();
    until(counts().running == 0 && counts().queued == 0);
}

static void kills(const void *arg, size_t size)
{
    (void)size;
    kills_there(*(const enum where *)arg);
}

START_TEST(a_killed_actor_leaves_its_job_safe)
{
    for (enum where where = 0; where < PLACES; where++) {
        gate_close();
        weft_node *n = node_start(
            RUN_OPTIONS(.workers = 2, .offload_threads = 1, .offload_queue = 1, .grace = WEFT_MS(1)));
        weft_spawn_options on_one = {.worker = 1};
        want_int(weft_node_spawn(n, NULL, kills, &where, sizeof where, &on_one), 0);
        node_end(n);
        ck_assert_int_eq(gate.dropped, where == BY_HANDLE);
        gate_free();
    }
}
END_TEST

/* ---- The node's end -------------------------------------------------------------------------------------------- */

static void leaves_one_running(const void *arg, size_t size)
{
    struct block b = {.in = 1, .owned = malloc(100)};
    weft_job job;
    (void)arg, (void)size;
    want_int(weft_offload_start(&job, pass_gate, free_owned, &b, sizeof b, WEFT_NOW), 0);
    b.owned = malloc(100);
    want_int(weft_offload_start(&job, pass_gate, free_owned, &b, sizeof b, WEFT_NOW), 0);
    until(now_at(&gate.entered) == 2);
}

static int overdue; /* lines about a function that does not return, and whose it is */

static bool see_overdue(const char *line, size_t size)
{
    static const char text[] = "a blocking function of actor ", whose[] = "leaves-one";
    const char *at = memmem(line, size, text, sizeof text - 1);
    overdue += at != NULL && memcmp(at + sizeof text - 1, whose, sizeof whose - 1) == 0;
    return true;
}

START_TEST(a_node_waits_for_its_functions_until_the_deadline)
{
    weft_node *n;
    weft_spawn_options named = {.kind = "leaves-one"};
    gate_close();
    overdue = 0;
    atomic_store(&wf_log_sink, see_overdue);
    ck_assert_int_eq(weft_node_start(&n, RUN_OPTIONS(.workers = 1)), 0);
    ck_assert_int_eq(weft_node_spawn(n, NULL, leaves_one_running, NULL, 0, &named), 0);
    ck_assert_int_eq(weft_node_wait(n, WEFT_FOREVER), 0);
    ck_assert_int_eq(weft_node_stop(n, weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
    atomic_store(&wf_log_sink, NULL);
    ck_assert_int_eq(overdue, 2);
    gate_open(); /* the node is gone, the functions come back */
    await_count(&gate.dropped, 2);
}
END_TEST

static void open_gate(void *arg)
{
    await_count(arg, 2);
    gate_open();
}

START_TEST(a_node_ends_in_order_when_its_functions_return)
{
    weft_node *n;
    pf_thread *opener;
    gate_close();
    ck_assert_int_eq(weft_node_start(&n, RUN_OPTIONS(.workers = 1)), 0);
    ck_assert_int_eq(weft_node_spawn(n, NULL, leaves_one_running, NULL, 0, NULL), 0);
    ck_assert_int_eq(weft_node_wait(n, WEFT_FOREVER), 0);
    ck_assert_int_eq(pf_thread_start(&opener, "opener", open_gate, &gate.entered), 0);
    ck_assert_int_eq(weft_node_stop(n, WEFT_FOREVER), 0);
    pf_thread_join(opener);
    ck_assert_int_eq(gate.dropped, 2);
    gate_free();
}
END_TEST

/* ---- In virtual time ------------------------------------------------------------------------------------------- */

static void blocks_for_a_while(void *block)
{
    (void)block;
    struct pf_env *env = pf_env_native();
    for (int64_t by = env->now(env) + WEFT_MS(20); env->now(env) < by;) pf_cpu_relax();
}

static void offloads_in_no_time(const void *arg, size_t size)
{
    int64_t start = weft_now();
    (void)arg, (void)size;
    want_int(weft_offload(blocks_for_a_while, NULL, 0, weft_after(WEFT_MS(1))), 0);
    want_int(weft_now() - start, 0);
    want_int(weft_sleep(weft_after(WEFT_SEC(3600))), 0);
}

START_TEST(virtual_time_stands_still_while_a_function_runs)
{
    ck_assert_int_eq(weft_test_run(offloads_in_no_time, NULL, 0, NULL), 0);
}
END_TEST

/* If each take looked through all jobs of the actor, this would take minutes. */
static void has_very_many(const void *arg, size_t size)
{
    enum { VERY_MANY = 80000, STEP = 7919 /* they are taken in another order than started */ };
    weft_job *job = malloc(VERY_MANY * sizeof *job);
    (void)arg, (void)size;
    want(job != NULL);
    for (int64_t i = 0; i < VERY_MANY; i++) {
        struct block b = {.in = i};
        want_int(weft_offload_start(&job[i], doubles, NULL, &b, sizeof b, WEFT_FOREVER), 0);
    }
    for (int64_t n = 0; n < VERY_MANY; n++) {
        struct block b;
        int64_t i = n * STEP % VERY_MANY;
        want_int(weft_offload_take(job[i], &b, sizeof b, WEFT_FOREVER), 0);
        want_int(b.out, 2 * i);
    }
    free(job);
}

START_TEST(an_actor_may_have_very_many_jobs)
{
    run_on(1, has_very_many);
}
END_TEST

/* ---- All of it at random --------------------------------------------------------------------------------------- */

enum { ACTORS = 40, JOBS = 50 };
static int started, taken;

static void is_random(const void *arg, size_t size)
{
    struct kid k;
    (void)size;
    memcpy(&k, arg, sizeof k);
    uint64_t seed = (uint64_t)k.n;
    for (int i = 0; i < JOBS; i++) {
        struct block b = {.in = i};
        weft_job job;
        int64_t deadline = random_below(&seed, 2) == 0 ? WEFT_FOREVER : weft_after(random_below(&seed, 20000));
        if (weft_offload_start(&job, doubles, free_owned, &b, sizeof b, deadline) < 0) continue;
        count_one(&started);
        if (random_below(&seed, 10) == 0) continue; /* dropped with the actor */
        if (weft_offload_take(job, &b, sizeof b, deadline) < 0) continue;
        count_one(&taken);
        want_int(b.out, 2 * i);
        if (random_below(&seed, JOBS) == 0) weft_exit(20);
    }
}

static void makes_random_ones(const void *arg, size_t size)
{
    weft_pid kids[ACTORS];
    (void)arg, (void)size;
    for (int i = 0; i < ACTORS; i++) kids[i] = kid_on(1 + i % 3, is_random, i + 1);
    for (int i = 0; i < ACTORS; i += 3) {
        (void)weft_sleep(weft_after(WEFT_US(200)));
        (void)weft_stop(kids[i]);
    }
}

START_TEST(a_job_is_taken_or_dropped_once)
{
    gate_close();
    started = taken = 0;
    weft_node *n = node_start(
        RUN_OPTIONS(.workers = 3, .offload_threads = 2, .offload_queue = 5, .grace = WEFT_MS(1)));
    node_spawn(n, 1, makes_random_ones);
    want_int(weft_node_wait(n, WEFT_FOREVER), 0);
    want_int(wf_node_drain(n, WEFT_FOREVER), 0);
    node_end(n);
    ck_assert_int_gt(taken, 0);
    ck_assert_int_eq(started, taken + gate.dropped);
    gate_free();
}
END_TEST

TEST_MAIN("offload", a_function_runs_elsewhere_and_its_result_comes_back, bad_arguments_have_their_errors,
          a_job_is_waited_for_among_other_things, no_more_threads_than_the_option_says,
          beyond_the_queue_actors_wait_until_their_deadlines, a_place_in_the_queue_is_not_the_end_of_the_job,
          a_listing_outlasts_a_full_queue, a_result_nobody_takes_is_dropped, a_killed_actor_leaves_its_job_safe,
          a_node_waits_for_its_functions_until_the_deadline, a_node_ends_in_order_when_its_functions_return,
          virtual_time_stands_still_while_a_function_runs, an_actor_may_have_very_many_jobs,
          a_job_is_taken_or_dropped_once)

/* A stuck actor is reported, once, with its kind and the function in which it is, and reports of other actors still
 * come. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "../../../capture.h"
#include "../node_harness.h"
#include "stuck.h"

static _Atomic bool let_go, let_next_go;
static _Atomic int64_t slept; /* ns that it had asked for and did not get; 1: not yet */

static void begin(void)
{
    atomic_store(&let_go, false);
    atomic_store(&let_next_go, false);
    atomic_store(&slept, 1);
}

/* Functions that only this file sees. */
static inline __attribute__((always_inline)) void computes_until(_Atomic bool *flag)
{
    for (volatile uint64_t i = 0; !atomic_load_explicit(flag, memory_order_relaxed); i++) {}
}

static __attribute__((noinline)) void computes_for_ever(void)
{
    computes_until(&let_go);
}

static void spinner(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_register("the-spinner"), 0);
    computes_for_ever();
    want_int(weft_unregister("the-spinner"), 0);
}

static void nameless(const void *arg, size_t size)
{
    (void)arg, (void)size;
    computes_for_ever();
}

static void next_one(const void *arg, size_t size)
{
    (void)arg, (void)size;
    computes_until(&let_next_go);
}

enum { NAP = 1500 /* ms */ };

static __attribute__((noinline)) void naps_for_long(void)
{
    struct timespec t = {.tv_sec = NAP / 1000, .tv_nsec = NAP % 1000 * 1000000L};
    int64_t until = weft_after(WEFT_MS(NAP));
    int rc = nanosleep(&t, &t);
    int64_t missing = until - weft_now();
    atomic_store(&slept, rc != 0 || missing > 0 ? WF_MAX(missing, 2) : 0);
}

static void sleeper(const void *arg, size_t size)
{
    (void)arg, (void)size;
    naps_for_long();
    computes_for_ever();
}

/* It does not answer, like a thread that gets no processor. */
static void deaf(const void *arg, size_t size)
{
    sigset_t all, before;
    (void)arg, (void)size;
    sigfillset(&all);
    want_int(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
    computes_until(&let_next_go);
    want_int(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    computes_for_ever();
}

/* Runs on a thread that is no worker. */
#define wait_until(condition) \
    do {                      \
        (void)sched_yield();  \
    } while (!(condition))

static bool seen(weft_node *n, uint32_t worker)
{
    return wf_stuck_at(&n->workers, worker, NULL);
}

/* A node whose actors are called stuck soon, and what it logs. */
static struct {
    weft_node *node;
    capture_state capture;
    char said[16384];
} it;

static void start(int workers, int64_t stuck_after)
{
    begin();
    it.capture = capture_start();
    it.node = node_start(RUN_OPTIONS(.workers = workers, .stuck_after = stuck_after));
}

static void finish(void)
{
    atomic_store(&let_go, true);
    atomic_store(&let_next_go, true);
    node_end(it.node);
    (void)capture_end(&it.capture, it.said, sizeof it.said);
}

static int times(const char *text)
{
    int n = 0;
    for (const char *at = it.said; (at = strstr(at, text)) != NULL; at++) n++;
    return n;
}

static void want_said(const char *text, int how_often)
{
    ck_assert_msg(times(text) == how_often, "%s is not there %d times: %s", text, how_often, it.said);
}

/* TSan holds a signal back until the thread makes a call; for musl there is no unwinder. */
static bool functions_are_known(void)
{
#if defined(__linux__) && defined(__GLIBC__) && !defined(WF_TSAN)
    return RUNNING_ON_VALGRIND == 0;
#else
    return false;
#endif
}

START_TEST(an_actor_in_a_loop_without_waits_is_named)
{
    start(1, WEFT_MS(50));
    weft_pid pid;
    char text[WEFT_PID_TEXT], line[120];
    ck_assert_int_eq(weft_node_spawn(it.node, &pid, spinner, NULL, 0, &(weft_spawn_options){.kind = "spinner"}), 0);
    wait_until(seen(it.node, 0));
    struct wf_stuck s;
    ck_assert(wf_stuck_at(&it.node->workers, 0, &s));
    ck_assert_uint_eq(s.actor, pid.actor);
    ck_assert_str_eq(s.kind, "spinner");
    ck_assert_str_eq(s.name, "the-spinner");
    ck_assert_int_ge(s.now - s.began, WEFT_MS(50));
    finish();
    weft_pid_format(pid, text);
    snprintf(line, sizeof line, "worker 0 is held up by actor the-spinner (spinner %.*s)", (int)strcspn(text, "@"),
             text);
    want_said(line, 1);
    want_said("worker 0 goes on: actor the-spinner", 1);
    if (functions_are_known()) want_said(" in computes_for_ever < spinner", 1);
}
END_TEST

START_TEST(a_stuck_actor_that_gives_no_backtrace_is_asked_again)
{
    if (!functions_are_known()) return;
    start(1, WEFT_MS(50));
    struct wf_stuck s;
    ck_assert_int_eq(weft_node_spawn(it.node, NULL, deaf, NULL, 0, &(weft_spawn_options){.kind = "deaf"}), 0);
    wait_until(wf_stuck_at(&it.node->workers, 0, &s));
    ck_assert_int_eq(s.calls, 0);
    ck_assert_str_eq(s.kind, "deaf");
    atomic_store(&let_next_go, true);
    wait_until(wf_stuck_at(&it.node->workers, 0, &s) && s.calls > 0);
    finish();
    want_said("worker 0 is held up by actor deaf 0.", 1);
    want_said("worker 0 is still held up by actor deaf 0.", 1);
    want_said(" in computes_for_ever < deaf", 1);
}
END_TEST

START_TEST(an_actor_that_blocks_in_a_sleep_is_named_and_its_sleep_is_not_cut_short)
{
    start(1, WEFT_MS(50));
    ck_assert_int_eq(weft_node_spawn(it.node, NULL, sleeper, NULL, 0, &(weft_spawn_options){.kind = "sleeper"}), 0);
    wait_until(seen(it.node, 0));
    wait_until(atomic_load(&slept) != 1);
    ck_assert_int_eq(atomic_load(&slept), 0);
    finish();
    want_said("is held up by actor sleeper 0.", 1);
    if (functions_are_known()) want_said("nanosleep < naps_for_long < sleeper", 1);
}
END_TEST

START_TEST(two_stuck_actors_at_once_are_both_named)
{
    start(2, WEFT_MS(50));
    for (int i = 1; i <= 2; i++)
        ck_assert_int_eq(weft_node_spawn(it.node, NULL, nameless, NULL, 0,
                                         &(weft_spawn_options){.kind = i == 1 ? "first" : "second", .worker = i}),
                         0);
    wait_until(seen(it.node, 0) && seen(it.node, 1));
    ck_assert_uint_eq(wf_stuck_report(&it.node->workers, "the test"), 2);
    finish();
    want_said("worker 0 is held up by actor first 0.", 1);
    want_said("worker 1 is held up by actor second 1.", 1);
    want_said("the test waits for actor first", 1);
    want_said("the test waits for actor second", 1);
}
END_TEST

/* The next one begins in the turn after the first one's, of a worker that did not sleep between. */
START_TEST(the_next_stuck_actor_on_the_same_worker_is_named_too)
{
    start(1, WEFT_MS(50));
    struct wf_stuck s, next;
    ck_assert_int_eq(weft_node_spawn(it.node, NULL, nameless, NULL, 0, &(weft_spawn_options){.kind = "first"}), 0);
    wait_until(seen(it.node, 0));
    ck_assert(wf_stuck_at(&it.node->workers, 0, &s));
    weft_node *n = it.node;
    /* Posted while the worker is held up; its turn comes when the first one has gone. */
    ck_assert_int_eq(weft_node_spawn(n, NULL, next_one, NULL, 0, &(weft_spawn_options){.kind = "second"}), 0);
    atomic_store(&let_go, true);
    wait_until(seen(n, 0) && wf_stuck_at(&n->workers, 0, &next) && next.began != s.began);
    finish();
    want_said("is held up by actor first 0.", 1);
    want_said("is held up by actor second 0.", 1);
    want_said("goes on: actor first 0.", 1); /* of others that got no processor for so long it is said, too */
    want_said("goes on: actor second 0.", 1);
}
END_TEST

START_TEST(no_actor_is_named_when_stuck_after_is_off)
{
    start(1, WEFT_FOREVER);
    ck_assert_int_eq(weft_node_spawn(it.node, NULL, sleeper, NULL, 0, NULL), 0);
    wait_until(atomic_load(&slept) != 1);
    ck_assert(!seen(it.node, 0));
    struct wf_pace_seen pace; /* what it took is known all the same */
    wf_pace_see(it.node->workers.at[0], weft_now(), &pace);
    ck_assert_int_ge(pace.longest, WEFT_MS(NAP));
    ck_assert_int_ge(pace.busy, WEFT_MS(NAP));
    finish();
    want_said("held up", 0);
}
END_TEST

/* A span is told by the test kit's virtual clock alone there: nobody looks, in a node with one thread. */
START_TEST(a_node_with_one_thread_has_no_worker_of_its_own)
{
    weft_node *n = NULL;
    ck_assert_int_eq(wf_node_create(&n, &(weft_node_options){.embedded = true}, NULL), 0);
    ck_assert_uint_eq(n->workers.count, 1);
    ck_assert_uint_eq(n->workers.users, 1);
    ck_assert(n->workers.watch == NULL);
    wf_node_destroy(n);
    ck_assert_int_eq(wf_node_create(&n, &(weft_node_options){.workers = 2}, NULL), 0);
    ck_assert_uint_eq(n->workers.count, 3);
    wf_node_destroy(n);
    ck_assert_int_eq(wf_node_create(&n, &(weft_node_options){.workers = WF_USER_WORKERS_MAX + 1}, NULL), WEFT_EINVAL);
}
END_TEST

static _Atomic uint32_t where;

static void looks_where(const void *arg, size_t size)
{
    (void)arg, (void)size;
    atomic_store(&where, 1 + wf_actor_self()->task.worker->index);
}

/* An actor of weft answers while the only worker of users is blocked; no user's actor ever runs on its worker. */
START_TEST(weft_s_own_actors_run_beside_all_workers)
{
    start(1, WEFT_FOREVER);
    ck_assert_int_eq(weft_node_spawn(it.node, NULL, nameless, NULL, 0, NULL), 0);
    ck_assert_int_eq(wf_node_spawn_service(it.node, NULL, looks_where, NULL, 0, "$looks"), 0);
    wait_until(atomic_load(&where) != 0);
    ck_assert_uint_eq(atomic_load(&where), 2);
    for (int i = 0; i < 10; i++) {
        weft_pid pid;
        ck_assert_int_eq(weft_node_spawn(it.node, &pid, looks_where, NULL, 0,
                                         &(weft_spawn_options){.worker = i % 2 == 0 ? WEFT_SPREAD : 0}),
                         0);
        ck_assert_uint_eq(wf_id_worker(pid.actor), 0);
    }
    ck_assert_int_eq(weft_node_spawn(it.node, NULL, looks_where, NULL, 0, &(weft_spawn_options){.worker = 2}),
                     WEFT_EINVAL);
    finish();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stuck");
    TCase *c = tcase_create("stuck");
    tcase_add_test(c, an_actor_in_a_loop_without_waits_is_named);
    tcase_add_test(c, a_stuck_actor_that_gives_no_backtrace_is_asked_again);
    tcase_add_test(c, an_actor_that_blocks_in_a_sleep_is_named_and_its_sleep_is_not_cut_short);
    tcase_add_test(c, two_stuck_actors_at_once_are_both_named);
    tcase_add_test(c, the_next_stuck_actor_on_the_same_worker_is_named_too);
    tcase_add_test(c, no_actor_is_named_when_stuck_after_is_off);
    tcase_add_test(c, a_node_with_one_thread_has_no_worker_of_its_own);
    tcase_add_test(c, weft_s_own_actors_run_beside_all_workers);
    suite_add_tcase(s, c);
    return run_suite(s);
}

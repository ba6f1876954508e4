/* actors/core/sweep.c and runtime/sched/park.c: actors that wait for long are parked, and resume with the contents of
 * their stacks; the worker stops searching for idle actors when it has none. The tests use virtual time, so they
 * never wait. */
#include "../node_harness.h"
#include "park.h"

#include <weft/monitor.h>
#include <weft/supervisor.h>
#include <weft/test.h>

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

enum { DATA = 1, GO = 2, DONE = 3 };
static const int64_t AFTER = WEFT_MS(100);
/* Looked at twice and parked then. */
static const int64_t LONG = WEFT_MS(250);

static int run_with(weft_actor *body, const void *arg, size_t size, weft_node_options node)
{
    return weft_test_run(body, arg, size, &(weft_test_options){.node = node});
}

#define EXPECT_PASS(body) ck_assert_msg(run_with(body, NULL, 0, PARKING) == 0, "%s", weft_test_report())
#define PARKING ((weft_node_options){.park_after = AFTER})

static struct wf_actor *actor_of(weft_pid pid)
{
    struct wf_actor *a = wf_actor_find(wf_here, pid.actor);
    want(a != NULL);
    return a;
}

static bool is_parked(weft_pid pid)
{
    return actor_of(pid)->task.state == WF_TASK_PARKED;
}

/* Nothing is under the sanitizers; what follows is to be as it is without parking, there. */
static void want_parked(weft_pid pid)
{
    want(is_parked(pid) || !wf_parks());
    if (wf_parks()) want_int(wf_stack_resident(&actor_of(pid)->task.coro.stack), 0);
}

/* ---- Frames of many sizes -------------------------------------------------------------------------------------- */

struct shape {
    uint32_t depth, bytes;
};

static uint32_t mixed(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352d;
    x ^= x >> 15;
    x *= 0x846ca68b;
    return x ^ x >> 16;
}

/* Waits at the bottom; on the way back each frame has what it had, and pointers into others still lead there. */
static __attribute__((noinline)) void descend(struct shape s, uint32_t level, const uint32_t *above,
                                              int (*wait)(void))
{
    uint32_t words = s.bytes / 4 + 1;
    uint32_t *frame = __builtin_alloca(words * sizeof *frame);
    for (uint32_t i = 0; i < words; i++) frame[i] = i % 3 == 0 ? 0 : mixed(level * 65536 + i);
    if (level == s.depth) want_int(wait(), 0);
    else descend(s, level + 1, frame, wait);
    for (uint32_t i = 0; i < words; i++) want_int(frame[i], i % 3 == 0 ? 0 : mixed(level * 65536 + i));
    if (above != NULL) want_int(above[1], mixed((level - 1) * 65536 + 1));
}

static const struct shape shapes[] = {{0, 4},     {1, 64},    {3, 500},   {0, 4096}, {5, 1000},
                                      {0, 20000}, {30, 1000}, {10, 3900}, {200, 8},  {0, 150000}};

static weft_pid with_shape(weft_actor *body, size_t shape, int64_t n)
{
    bool large = under_tools() || shapes[shape].bytes > 100000; /* their frames are larger, too */
    weft_spawn_options o = {.stack_bytes = large ? 256 << 10 : 0};
    return kid_with(body, (struct kid){.n = n}, &o);
}

static int wait_for_go(void)
{
    (void)hear(GO);
    return 0;
}

static int sleep_long(void)
{
    int64_t end = weft_after(WEFT_SEC(10));
    int rc = weft_sleep(end);
    want_int(weft_now(), end);
    return rc;
}

static int recv_in_vain(void)
{
    weft_msg *m;
    want_int(weft_recv_tag(&m, DATA, weft_after(WEFT_SEC(10))), WEFT_ETIMEDOUT);
    return 0;
}

static int (*const waits[])(void) = {wait_for_go, sleep_long, recv_in_vain};

static void shaped(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    double real = (double)k.n + 0.5;
    for (int round = 0; round < 3; round++) {
        descend(shapes[k.n % 100], 0, NULL, waits[k.n / 100]);
        want(memcmp(&k, arg, sizeof k) == 0); /* the argument lies on the stack, too */
        want(real == (double)k.n + 0.5);
    }
    want_int(say(k.parent, DONE, k.n), 0);
}

static void shapes_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid kids[3][WF_COUNT(shapes)];
    for (size_t w = 0; w < 3; w++) {
        for (size_t s = 0; s < WF_COUNT(shapes); s++) kids[w][s] = with_shape(shaped, s, (int64_t)(100 * w + s));
    }
    for (int round = 0; round < 3; round++) {
        want_int(weft_advance(LONG), 0);
        for (size_t w = 0; w < 3; w++) {
            for (size_t s = 0; s < WF_COUNT(shapes); s++) want_parked(kids[w][s]);
        }
        for (size_t s = WF_COUNT(shapes); s-- > 0;) want_int(say(kids[0][s], GO, 0), 0);
        want_int(weft_advance(WEFT_SEC(10) - LONG), 0); /* the others' deadline */
    }
    for (size_t n = 0; n < 3 * WF_COUNT(shapes); n++) (void)hear(DONE);
}

START_TEST(unparking_restores_the_stack)
{
    EXPECT_PASS(shapes_body);
}
END_TEST

START_TEST(unparking_restores_the_stack_in_any_order)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        weft_test_options o = {.seed = seed, .node = PARKING};
        ck_assert_msg(weft_test_run(shapes_body, NULL, 0, &o) == 0, "seed %d: %s", (int)seed, weft_test_report());
    }
}
END_TEST

/* There are no guards, as on older kernels: then stacks that are parked together have no guards between them. */
static void unguarded_body(const void *arg, size_t size)
{
    wf_stacks_do_without_guards(wf_here->stacks);
    shapes_body(arg, size);
}

START_TEST(actors_are_parked_on_kernels_without_guards)
{
    EXPECT_PASS(unguarded_body);
}
END_TEST

/* ---- Who is, and when ------------------------------------------------------------------------------------------ */

static void waits_for_ever(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) weft_msg_free(m);
}

static void asks_for_ever(const void *arg, size_t size)
{
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    (void)size;
    (void)weft_call(k.other, GO, NULL, 0, &m, WEFT_FOREVER);
}

static void awaits_all_kinds(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_event e;
    want_int(weft_event_open(&e), 0);
    const weft_wait on[] = {weft_on_mailbox(), weft_on_event(e)};
    (void)weft_wait_any(on, 2, WEFT_FOREVER);
}

static void keeps_requests(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {}
}

/* Sleeps until a deadline that is near when somebody looks, and longer when that has passed. */
static void naps(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_sleep(weft_after(10 * AFTER)), 0);
    want_int(weft_sleep(weft_after(13 * AFTER)), 0);
}

static void who_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid plain = kid_on(0, waits_for_ever, 0), keeper = kid_on(0, keeps_requests, 0);
    weft_pid asker = kid_with(asks_for_ever, (struct kid){.other = keeper}, NULL);
    weft_pid any = kid_on(0, awaits_all_kinds, 0);
    weft_pid sharer = kid_with(waits_for_ever, (struct kid){.n = 0}, &(weft_spawn_options){.shares_stack = true});
    weft_pid napper = kid_on(0, naps, 0);
    int64_t start = weft_now();
    want_int(weft_advance(AFTER - 1), 0);
    want(!is_parked(plain));
    while (wf_parks() && !is_parked(plain)) want_int(weft_advance(WEFT_MS(1)), 0);
    if (wf_parks()) want(weft_now() - start >= AFTER && weft_now() - start <= 2 * AFTER + WEFT_MS(1));
    want_int(weft_advance(LONG), 0);
    want_parked(keeper);
    want(!is_parked(asker) && !is_parked(any) && !is_parked(sharer));
    want_int(weft_advance(start + 10 * AFTER - 1 - weft_now()), 0);
    want(!is_parked(napper));
    want_int(weft_advance(LONG), 0);
    want_parked(napper);
    /* A handler that is used again and again is not parked; when that ends it is. */
    for (int i = 0; i < 20; i++) {
        want_int(say(plain, DATA, 0), 0);
        want_int(weft_advance(AFTER - 1), 0);
        want(!is_parked(plain));
    }
    want_int(weft_advance(LONG), 0);
    want_parked(plain);
}

START_TEST(actors_whose_frames_are_in_use_are_not_parked)
{
    EXPECT_PASS(who_body);
}
END_TEST

static void never_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid plain = kid_on(0, waits_for_ever, 0);
    uint64_t fired = wf_here->count.timers_fired;
    want_int(weft_advance(WEFT_SEC(3600)), 0);
    want(!is_parked(plain));
    want_int(wf_here->count.timers_fired, fired + 1);
}

START_TEST(no_actor_is_parked_if_the_option_is_off)
{
    ck_assert_int_eq(run_with(never_body, NULL, 0, (weft_node_options){.park_after = WEFT_FOREVER}), 0);
    ck_assert_int_eq(run_with(never_body, NULL, 0, (weft_node_options){.park_after = 0}), 0); /* the kit's default */
}
END_TEST

/* Waits that are none of the mailbox, so that the body itself has no part in it. */
static void rest(int64_t span)
{
    weft_event e;
    want_int(weft_event_open(&e), 0);
    want_int(weft_event_await(e, weft_after(span)), WEFT_ETIMEDOUT);
    want_int(weft_event_close(e), 0);
}

enum { CROWD = 1000 };

static void quiet_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static weft_pid kids[CROWD];
    for (int i = 0; i < CROWD; i++) kids[i] = kid_on(0, i % 10 == 0 ? awaits_all_kinds : waits_for_ever, 0);
    for (int round = 0; round < 3; round++) {
        rest(WEFT_SEC(1));
        uint64_t fired = wf_here->count.timers_fired, turns = wf_here->count.turns;
        for (int i = 0; i < CROWD; i++) want(is_parked(kids[i]) == (i % 10 != 0) || !wf_parks());
        rest(WEFT_SEC(100000));
        /* The body's own waits have stirred it: two rounds and their slices, and then nobody looks again. */
        want(wf_here->count.timers_fired - fired <= 20 && wf_here->count.turns - turns <= 40);
        want_int(say(kids[round * 7 + 1], DATA, 0), 0); /* and again once one has stirred */
        rest(WEFT_SEC(1));
        want_parked(kids[round * 7 + 1]);
    }
}

START_TEST(no_sweep_runs_when_all_actors_are_parked)
{
    EXPECT_PASS(quiet_body);
}
END_TEST

/* One without a stack is passed over; one whose function waits is parked as any other; and who gets its slot later is
 * looked at again. */
static void sleeps_when_called(void *state, weft_msg *m)
{
    int64_t *calls = state;
    (void)m;
    if (++*calls > 1) weft_exit(WEFT_EXIT_NORMAL);
    want_int(weft_sleep(weft_after(WEFT_SEC(10))), 0);
}

static void handler_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid handler, next;
    int64_t calls = 0;
    want_int(weft_spawn_handler(&handler, sleeps_when_called, &calls, sizeof calls, NULL), 0);
    rest(WEFT_SEC(100)); /* long enough for nobody to look any more */
    want_int(actor_of(handler)->task.state, WF_TASK_STACKLESS);
    want_int(say(handler, DATA, 0), 0);
    rest(LONG);
    want_parked(handler);
    want_int(say(handler, DATA, 0), 0);
    rest(WEFT_SEC(100)); /* it has woken, was called again, and is over */
    want(wf_actor_find(wf_here, handler.actor) == NULL);
    next = kid_on(0, waits_for_ever, 0);
    want_int(wf_id_slot(next.actor), wf_id_slot(handler.actor));
    rest(LONG);
    want_parked(next);
}

START_TEST(a_handler_whose_function_waits_is_parked)
{
    EXPECT_PASS(handler_body);
}
END_TEST

/* ---- Ends ------------------------------------------------------------------------------------------------------ */

static int undone;

static void undo(void *arg)
{
    (void)arg;
    undone++;
}

static int wait_for_the_end(void)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), WEFT_ECANCELED);
    return 0;
}

static void ends(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_defer(undo, NULL), 0);
    descend(shapes[k.n], 0, NULL, wait_for_the_end);
}

static void ends_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid kids[2 * WF_COUNT(shapes)];
    weft_monitor_ref ref;
    undone = 0;
    for (size_t i = 0; i < WF_COUNT(kids); i++) {
        kids[i] = with_shape(ends, i / 2, (int64_t)(i / 2));
        want_int(weft_monitor(kids[i], &ref), 0);
    }
    want_int(weft_advance(LONG), 0);
    for (size_t i = 0; i < WF_COUNT(kids); i++) {
        want_parked(kids[i]);
        want_int(i % 2 == 0 ? weft_stop(kids[i]) : weft_kill(kids[i]), 0);
    }
    for (size_t i = 0; i < WF_COUNT(kids); i++)
        weft_expect_down(kids[i], i % 2 == 0 ? WEFT_EXIT_STOPPED : WEFT_EXIT_KILLED, WEFT_SEC(1));
    want_int(undone, WF_COUNT(kids));
}

START_TEST(parked_actors_are_stopped_and_killed)
{
    EXPECT_PASS(ends_body);
}
END_TEST

static void leaves_them(const void *arg, size_t size)
{
    (void)arg, (void)size;
    undone = 0;
    for (size_t i = 0; i < WF_COUNT(shapes); i++) (void)with_shape(ends, i, (int64_t)i);
    want_int(weft_advance(LONG), 0);
}

START_TEST(the_node_ends_with_all_parked)
{
    EXPECT_PASS(leaves_them);
    ck_assert_int_eq(undone, WF_COUNT(shapes));
}
END_TEST

/* Supervisor and children are all parked when one child is to end. */
static void child(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        weft_pid from = weft_from(m);
        bool fails = weft_tag(m) == GO;
        weft_msg_free(m);
        if (fails) weft_fail(17, "as it was told");
        want_int(say(from, DONE, 0), 0);
    }
}

static void supervisor(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static const weft_child_spec children[] = {{.name = "a", .body = child},
                                               {.name = "b", .body = child, .keep_mailbox = true}};
    static const weft_supervisor_spec spec = {.children = children, .child_count = 2, .max_restarts = 100};
    want_int(weft_supervise(&spec), 0);
}

static void supervised_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid s = kid_on(0, supervisor, 0), was[2], is[2];
    const char *names[] = {"a", "b"};
    want_int(weft_settle(), 0);
    for (int round = 0; round < 4; round++) {
        want_int(weft_advance(LONG), 0);
        want_parked(s);
        for (int i = 0; i < 2; i++) {
            want_int(weft_whereis(names[i], &was[i]), 0);
            want_parked(was[i]);
        }
        want_int(round % 2 == 0 ? say(was[0], GO, 0) : weft_kill(was[0]), 0);
        want_int(say(was[1], GO, 0), 0);
        want_int(say(was[1], DATA, 0), 0); /* kept for its next life */
        (void)hear(DONE);
        want_int(weft_settle(), 0);
        for (int i = 0; i < 2; i++) want_int(weft_whereis(names[i], &is[i]), 0);
        want(!weft_pid_equal(was[0], is[0]) && weft_pid_equal(was[1], is[1]));
    }
    want_int(weft_advance(LONG), 0);
    want_int(weft_stop(s), 0);
    want_int(weft_advance(LONG), 0);
    want(weft_whereis("a", &is[0]) < 0 && wf_actor_find(wf_here, s.actor) == NULL);
}

START_TEST(a_parked_supervisor_restarts_a_parked_child)
{
    weft_log_set(WEFT_SILENT, false);
    EXPECT_PASS(supervised_body);
    weft_log_set(WEFT_WARN, false);
}
END_TEST

/* ---- Somebody else's stack ------------------------------------------------------------------------------------- */

static int *shared;

static void lends(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int mine = 5;
    shared = &mine;
    weft_msg *m;
    (void)weft_recv(&m, WEFT_FOREVER);
    want_int(mine, 6);
}

static void borrows(const void *arg, size_t size)
{
    bool share = *(const bool *)arg;
    (void)size;
    weft_spawn_options o = {.kind = "lender", .shares_stack = share};
    want_int(weft_spawn(NULL, lends, NULL, 0, &o), 0);
    want_int(weft_advance(LONG), 0);
    ++*(volatile int *)shared;
}

START_TEST(an_actor_that_shares_its_stack_has_to_say_so)
{
    bool share = true;
    ck_assert_int_eq(run_with(borrows, &share, sizeof share, PARKING), 0);
#ifndef _WIN32
    if (!wf_parks() || under_tools()) return;
    int pipe_ends[2], status;
    char said[512] = "";
    ck_assert_int_eq(pipe(pipe_ends), 0);
    pid_t child_process = fork();
    if (child_process == 0) {
        dup2(pipe_ends[1], STDERR_FILENO);
        share = false;
        run_with(borrows, &share, sizeof share, PARKING);
        _exit(0);
    }
    close(pipe_ends[1]);
    for (size_t size = 0; size < sizeof said - 1;) {
        ssize_t n = read(pipe_ends[0], said + size, sizeof said - 1 - size);
        if (n <= 0) break;
        size += (size_t)n;
    }
    close(pipe_ends[0]);
    ck_assert_int_eq(waitpid(child_process, &status, 0), child_process);
    if (WIFEXITED(status)) return; /* the kernel has no such guards: nobody can tell */
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
    ck_assert_msg(strstr(said, "actor test") != NULL && strstr(said, "used the stack of actor lender") != NULL, "%s",
                  said);
#endif
}
END_TEST

/* ---- Where it waits -------------------------------------------------------------------------------------------- */

#if defined(__x86_64__) && !defined(_WIN32) || defined(__aarch64__)
enum { CALLERS_ARE_KNOWN = true };
#else
enum { CALLERS_ARE_KNOWN = false };
#endif

static __attribute__((noinline)) int waits_below(void)
{
    int rc = wait_for_go();
    __asm__ volatile(""); /* no jump into what it calls */
    return rc;
}

static void waits_above(const void *arg, size_t size)
{
    const struct kid *k = arg;
    (void)size;
    want_int(waits_below(), 0);
    want_int(say(k->parent, DONE, 0), 0);
}

static size_t find_in(const uintptr_t *at, size_t count, void (*function)(void))
{
    enum { LONGEST = 512 }; /* bytes of these functions; they are a fraction of it */
    uintptr_t start;
    size_t i = 0;
    memcpy(&start, &function, sizeof start);
    while (i < count && (at[i] <= start || at[i] > start + LONGEST)) i++;
    return i;
}

static void callers_body(const void *arg, size_t size)
{
    uintptr_t before[32], parked[32];
    (void)arg, (void)size;
    weft_pid kid = kid_with(waits_above, (struct kid){.n = 0}, NULL);
    want_int((int64_t)wf_task_callers(&actor_of(kid)->task, before, 32), 0); /* has not begun */
    want_int(weft_advance(WEFT_MS(1)), 0);
    size_t count = wf_task_callers(&actor_of(kid)->task, before, 32);
    want_int((int64_t)wf_task_callers(&actor_of(kid)->task, before, 2), count < 2 ? (int64_t)count : 2);
    size_t below = find_in(before, count, (void (*)(void))waits_below);
    size_t above = find_in(before, count, (void (*)(void))waits_above);
    want(CALLERS_ARE_KNOWN ? below <= above && above < count : count == 0);
    want_int(weft_advance(LONG), 0);
    want_parked(kid);
    want_int((int64_t)wf_task_callers(&actor_of(kid)->task, parked, 32), (int64_t)count);
    want(memcmp(before, parked, count * sizeof before[0]) == 0);
    want_int(say(kid, GO, 0), 0);
    want_int((int64_t)wf_task_callers(&actor_of(kid)->task, parked, 32), (int64_t)count); /* before it runs */
    want_int((int64_t)wf_task_callers(&actor_of(weft_self())->task, parked, 32), 0);      /* it runs */
    (void)hear(DONE);
}

START_TEST(the_backtrace_of_a_waiting_actor_is_known_parked_or_not)
{
    EXPECT_PASS(callers_body);
}
END_TEST

TEST_MAIN("park", the_backtrace_of_a_waiting_actor_is_known_parked_or_not, unparking_restores_the_stack,
          unparking_restores_the_stack_in_any_order, actors_are_parked_on_kernels_without_guards,
          actors_whose_frames_are_in_use_are_not_parked, no_actor_is_parked_if_the_option_is_off,
          no_sweep_runs_when_all_actors_are_parked, a_handler_whose_function_waits_is_parked,
          parked_actors_are_stopped_and_killed, the_node_ends_with_all_parked,
          a_parked_supervisor_restarts_a_parked_child, an_actor_that_shares_its_stack_has_to_say_so)

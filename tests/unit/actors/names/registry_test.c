/* actors/names/registry.c: names as actors use them; waiting for a name. */
#include "../node_harness.h"
#include "names.h"

#include <weft/test.h>

enum { DATA = 1, GO = 2 };

/* ---- Registering ----------------------------------------------------------------------------------------------- */

static const char long_name[] = "0123456789012345678901234567890123456789012345678901234567890123456789";

static void bad_names(const char *name, int why)
{
    weft_pid p = weft_nobody();
    want_int(weft_register(name), why);
    want_int(weft_unregister(name), why);
    want_int(weft_whereis(name, &p), why);
    want_int(weft_await_name(name, &p, WEFT_FOREVER), why);
    want(weft_pid_is_nobody(p));
}

static void takes(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_register("a"), WEFT_EEXIST);
    want_int(weft_unregister("a"), WEFT_ENOACTOR); /* not its own */
    want_int(weft_register("c"), 0);
}

static void names_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid p = weft_nobody();
    bad_names(NULL, WEFT_EINVAL);
    bad_names("", WEFT_EINVAL);
    bad_names("no spaces", WEFT_EINVAL);
    bad_names("a@b", WEFT_EINVAL);
    bad_names(long_name, WEFT_ETOOBIG);
    want_int(weft_whereis("a", NULL), WEFT_EINVAL);
    want_int(weft_await_name("a", NULL, WEFT_NOW), WEFT_EINVAL);
    want(weft_own_name(0) == NULL);
    want_int(weft_register("a"), 0);
    want_int(weft_register("a"), WEFT_EEXIST);
    want_int(weft_register("b"), 0);
    want(strcmp(weft_own_name(0), "a") == 0 && strcmp(weft_own_name(1), "b") == 0 && weft_own_name(2) == NULL);
    for (int worker = 1; worker <= 2; worker++) {
        await_end(kid_on(worker, takes, 0));
        want_int(weft_whereis("c", &p), WEFT_ENOACTOR);
    }
    want_int(weft_unregister("a"), 0);
    want_int(weft_unregister("a"), WEFT_ENOACTOR);
    want_int(weft_whereis("a", &p), WEFT_ENOACTOR);
    want_int(weft_whereis("b", &p), 0);
    want(weft_pid_equal(p, weft_self()));
    want(strcmp(weft_own_name(0), "b") == 0);
    want_int(weft_register("a"), 0);
}

START_TEST(names_are_taken_and_given_back)
{
    run_on(2, names_body);
    weft_pid p;
    ck_assert_int_eq(weft_unregister("x"), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_await_name("x", &p, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_ptr_null(weft_own_name(0));
}
END_TEST

/* ---- Waiting for a name ---------------------------------------------------------------------------------------- */

static void awaits(const void *arg, size_t size)
{
    (void)size;
    const struct kid *k = arg;
    weft_pid p;
    want_int(weft_await_name(k->n % 2 == 0 ? "even" : "odd", &p, WEFT_FOREVER), 0);
    want(weft_pid_equal(p, k->parent));
    want_int(say(k->parent, GO, k->n), 0);
}

enum { WAITERS = 40, CROWD = 1000, PART = WF_TURN_BUDGET / 2 };

static void await_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct wf_names *names = wf_names_of(weft_here());
    for (int64_t i = 0; i < WAITERS; i++) kid_on(1 + (int)(i / 2 % 2), awaits, i);
    until(wf_names_waits(names) == WAITERS);
    want_int(weft_register("neither"), 0);
    want_int(wf_names_waits(names), WAITERS);
    want_int(weft_register("odd"), 0);
    want_int(weft_unregister("odd"), 0); /* they are told all the same */
    want_int(wf_names_waits(names), WAITERS / 2);
    for (int64_t i = 0; i < WAITERS / 2; i++) want_int(hear(GO) % 2, 1);
    want_int(weft_register("even"), 0);
    for (int64_t i = 0; i < WAITERS / 2; i++) want_int(hear(GO) % 2, 0);
    await_end(kid_on(2, awaits, 0)); /* is there: no wait */
    want_int(hear(GO), 0);
    until(wf_actors_of(wf_here)->alive[0] == 1);
}

START_TEST(all_actors_that_wait_for_a_name_are_woken)
{
    run_on(2, await_body);
}
END_TEST

enum crowd { ONE_NAME, UNREGISTERED_AT_ONCE, TWO_NAMES, CROWDS };
static enum crowd crowd;

static void await_crowd(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct wf_names *names = wf_names_of(weft_here());
    for (int64_t i = 0; i < CROWD; i++) kid_on(1 + (int)(i % 2), awaits, crowd == TWO_NAMES ? i / 2 : 1);
    until(wf_names_waits(names) == CROWD);
    size_t left = CROWD;
    want_int(weft_register("odd"), 0);
    if (crowd == TWO_NAMES) want_int(weft_register("even"), 0);
    if (crowd == UNREGISTERED_AT_ONCE) want_int(weft_unregister("odd"), 0); /* they are told all the same */
    while (left > 0) {                                                      /* between two looks a turn ends */
        const uint64_t turns = wf_here->count.turns;
        const size_t now = wf_names_waits(names);
        want(left - now <= PART);
        left = now;
        while (left > 0 && wf_here->count.turns == turns) wf_task_yield();
    }
    for (int64_t i = 0; i < CROWD; i++) {
        const int64_t heard = hear(GO);
        want(crowd == TWO_NAMES || heard == 1);
    }
}

START_TEST(many_actors_that_wait_for_a_name_are_woken_in_parts)
{
    for (crowd = 0; crowd < CROWDS; crowd++) run_on(2, await_crowd);
}
END_TEST

static void race_waits(const void *arg, size_t size)
{
    (void)size;
    const struct kid *k = arg;
    weft_pid p;
    char name[16];
    for (int64_t i = 0; i < k->n; i++) {
        snprintf(name, sizeof name, "n%d", (int)i);
        want_int(weft_await_name(name, &p, WEFT_FOREVER), 0);
        want(weft_pid_equal(p, k->parent));
    }
    want_int(say(k->parent, GO, 0), 0);
}

/* Registering races with the beginning of a wait on another worker: none is missed. */
static void race_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { NAMES = 2000 };
    char name[16];
    for (int i = 0; i < 4; i++) kid_on(1 + i % 2, race_waits, NAMES);
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "n%d", i);
        want_int(weft_register(name), 0);
        if (i % 3 == 0) want_int(weft_yield(), 0);
    }
    for (int i = 0; i < 4; i++) hear(GO);
}

START_TEST(no_name_is_missed)
{
    run_on(2, race_body);
}
END_TEST

static _Atomic int seen;

static void note(void *arg)
{
    (void)arg;
    atomic_fetch_add(&seen, 1);
}

static void awaits_in_vain(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid p;
    want_int(weft_defer(note, NULL), 0);
    int rc = weft_await_name("never", &p, WEFT_FOREVER);
    want_int(rc, WEFT_ECANCELED); /* not reached when it is killed */
    want_int(weft_await_name("never", &p, WEFT_FOREVER), WEFT_ECANCELED);
}

static void ends_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct wf_names *names = wf_names_of(weft_here());
    for (int i = 0; i < 4; i++) {
        weft_pid kid = kid_on(1 + i % 2, awaits_in_vain, 0);
        until(wf_names_waits(names) == 1);
        want_int(i < 2 ? weft_stop(kid) : weft_kill(kid), 0);
        await_end(kid);
        want_int(wf_names_waits(names), 0);
    }
    want_int(atomic_load(&seen), 4);
    want_int(weft_register("never"), 0); /* nobody is left to be told */
}

START_TEST(stop_and_kill_leave_nothing_behind)
{
    atomic_store(&seen, 0);
    run_on(2, ends_body);
}
END_TEST

static void late_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid p = weft_nobody();
    int64_t now = weft_now();
    want_int(weft_await_name("late", &p, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_await_name("late", &p, now + WEFT_SEC(3)), WEFT_ETIMEDOUT);
    want_int(weft_now(), now + WEFT_SEC(3));
    want(weft_pid_is_nobody(p));
    want_int(wf_names_waits(wf_names_of(weft_here())), 0);
}

START_TEST(a_wait_for_a_name_has_a_deadline)
{
    ck_assert_msg(weft_test_run(late_body, NULL, 0, NULL) == 0, "%s", weft_test_report());
}
END_TEST

TEST_MAIN("registry", names_are_taken_and_given_back, all_actors_that_wait_for_a_name_are_woken,
          many_actors_that_wait_for_a_name_are_woken_in_parts, no_name_is_missed, stop_and_kill_leave_nothing_behind,
          a_wait_for_a_name_has_a_deadline)

/* actors/run/actor_life.c: the life of an actor: spawn, clean-ups, stop, kill, end. */
#include "../node_harness.h"

#include "../../../sockets.h"
#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#endif

enum { DATA = 1, GO = 2 };
#ifdef _WIN32
enum { MANY = 10 * 1000 }; /* wine has a mapping of Linux's for each, of which there are 65,530 */
#else
enum { MANY = 100 * 1000 };
#endif

static _Atomic int64_t ends, order;

static void ended(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ends, 1);
}

/* Clean-ups write their digit. */
static void digit(void *arg)
{
    atomic_store(&order, atomic_load(&order) * 10 + (intptr_t)arg);
}

static void three_defers(void)
{
    atomic_store(&order, 0);
    for (intptr_t i = 1; i <= 3; i++) want_int(weft_defer(digit, (void *)i), 0);
    want_int(weft_defer(NULL, NULL), WEFT_EINVAL);
}

/* ---- Arguments ------------------------------------------------------------------------------------------------- */

static const size_t arg_sizes[] = {0, 1, 511, 512, 513, 4096, 65536};

static void check_arg(void *arg)
{
    const uint8_t *bytes = arg;
    for (size_t i = 0; i < 513; i++) want_int(bytes[i], (uint8_t)i);
    ended(NULL);
}

/* For an argument that lies on the actor's stack. */
static void check_small_arg(void *arg)
{
    const uint8_t *bytes = arg;
    for (size_t i = 0; i < 511; i++) want_int(bytes[i], (uint8_t)i);
    ended(NULL);
}

static void take_arg(const void *arg, size_t size)
{
    const uint8_t *bytes = arg;
    want((uintptr_t)arg % alignof(max_align_t) == 0);
    want(size > 0 || arg == NULL);
    for (size_t i = 0; i < size; i++) want_int(bytes[i], (uint8_t)i);
    if (size >= 513) want_int(weft_defer(check_arg, (void *)(uintptr_t)arg), 0); /* still there for clean-ups */
    else if (size >= 511) want_int(weft_defer(check_small_arg, (void *)(uintptr_t)arg), 0);
    else ended(NULL);
    if (size % 2 == 1) weft_exit(7);
}

static void args_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    uint8_t bytes[65537];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)i;
    for (int worker = 0; worker <= 2; worker++) {
        for (size_t i = 0; i < WF_COUNT(arg_sizes); i++) {
            weft_pid kid;
            want_int(weft_spawn(&kid, take_arg, bytes, arg_sizes[i], &(weft_spawn_options){.worker = worker}), 0);
            await_end(kid);
        }
    }
    want_int(weft_spawn(NULL, take_arg, bytes, 65537, NULL), WEFT_EINVAL);
    want_int(weft_spawn(NULL, take_arg, NULL, 1, NULL), WEFT_EINVAL);
    want_int(weft_spawn(NULL, NULL, NULL, 0, NULL), WEFT_EINVAL);
    want_int(weft_spawn(NULL, take_arg, NULL, 0, &(weft_spawn_options){.worker = 3}), WEFT_EINVAL);
    want_int(weft_spawn(NULL, take_arg, NULL, 0, &(weft_spawn_options){.worker = WEFT_BESIDE - 1}), WEFT_EINVAL);
    want_int(weft_spawn(NULL, take_arg, NULL, 0, &(weft_spawn_options){.stack_bytes = 9 << 20}), WEFT_EINVAL);
    want_int(weft_spawn(NULL, take_arg, NULL, 0, &(weft_spawn_options){.policy = (weft_full_policy)4}), WEFT_EINVAL);
}

START_TEST(arguments_of_all_sizes_are_copied)
{
    atomic_store(&ends, 0);
    weft_node *n = node_of(2);
    want_int(weft_node_spawn(n, NULL, args_body, NULL, 0, &(weft_spawn_options){.worker = 1, .stack_bytes = 1 << 20}),
             0);
    node_end(n);
    ck_assert_int_eq(atomic_load(&ends), 3 * WF_COUNT(arg_sizes));
}
END_TEST

/* ---- Clean-ups ------------------------------------------------------------------------------------------------- */

static void return_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    three_defers();
}

__attribute__((noinline)) static int deep(int n, void (*bottom)(int))
{
    volatile char frame[256] = {(char)n};
    if (n == 0) bottom(0);
    return n == 0 ? 0 : deep(n - 1, bottom) + frame[0];
}

static void exit_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    three_defers();
    want(weft_msg_new(DATA, 10) != NULL);
    (void)deep(50, weft_exit);
}

static void stopped_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    three_defers();
    want_int(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
    want_int(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED); /* and every later wait */
}

static void killed_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    three_defers();
    for (;;) (void)weft_sleep(WEFT_FOREVER);
}

static void defers_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_actor *const bodies[] = {return_body, exit_body, stopped_body, killed_body};
    for (int worker = 1; worker <= 2; worker++) {
        for (size_t i = 0; i < WF_COUNT(bodies); i++) {
            weft_pid kid = kid_on(worker, bodies[i], 0);
            if (i >= 2) want_int(weft_stop(kid), 0); /* before it has even started */
            await_end(kid);
            want_int(atomic_load(&order), 321);
        }
    }
}

START_TEST(clean_ups_run_last_first_in_whatever_way_an_actor_ends)
{
    atomic_store(&ends, 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = short_grace()));
    node_spawn(n, 1, defers_body);
    node_end(n);
}
END_TEST

static void waiting_clean_up(void *arg)
{
    weft_pid other = *(weft_pid *)arg;
    weft_msg *answer = NULL;
    int64_t value = 1;
    want_int(weft_sleep(weft_after(WEFT_MS(1))), 0); /* waits, though the actor was stopped or killed */
    want_int(weft_call(other, GO, &value, sizeof value, &answer, WEFT_FOREVER), 0);
    want_int(value_of(answer), 2);
    want_int(weft_defer(ended, NULL), 0); /* one more, from within */
}

static void forever_clean_up(void *arg)
{
    (void)arg;
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), WEFT_ETIMEDOUT); /* the grace period is over */
    ended(NULL);
}

static weft_pid answering;

static void with_clean_up(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_defer(k.n == 2 ? forever_clean_up : waiting_clean_up, &answering), 0);
    if (k.n == 0) weft_exit(0);
    if (k.n == 1 || k.n == 2) (void)weft_sleep(WEFT_FOREVER);
    while (k.n == 3) (void)weft_sleep(WEFT_FOREVER);
}

static void answerer(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        int64_t value = value_of(m) + 1;
        want_int(weft_reply(m, DATA, &value, sizeof value), 0);
        weft_msg_free(m);
    }
}

static void waiting_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    answering = kid_on(2, answerer, 0);
    for (int64_t i = 0; i < 4; i++) {
        weft_pid kid = kid_on(1, with_clean_up, i);
        if (i > 0) await_wait(kid, "sleep");
        if (i > 0) want_int(weft_stop(kid), 0);
        if (i > 0) (void)weft_stop(kid); /* twice is once */
        await_end(kid);
        want_int(atomic_load(&ends), i + 1);
    }
    want_int(weft_stop(answering), 0);
}

START_TEST(clean_ups_may_wait_within_the_grace_period)
{
    atomic_store(&ends, 0);
    /* The answers that a clean-up waits for have to come in this time. */
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = short_grace()));
    node_spawn(n, 1, waiting_body);
    node_end(n);
}
END_TEST

enum { STUBBORN_WAYS = 4 };

/* Waits again whenever its wait fails. */
static void stubborn_clean_up(void *arg)
{
    const struct kid *k = arg;
    weft_msg *m;
    for (;;) {
        if (k->n == 0) (void)weft_sleep(WEFT_FOREVER);
        if (k->n == 1 && weft_call(k->other, GO, NULL, 0, &m, WEFT_FOREVER) == 0) return;
        if (k->n == 2 && weft_wait_any(&(weft_wait){0}, 0, WEFT_FOREVER) == 0) return;
        if (k->n == 3) (void)weft_yield();
    }
}

static struct kid stubborn_kid;

static void with_stubborn_clean_ups(const void *arg, size_t size)
{
    (void)size;
    stubborn_kid = *(const struct kid *)arg;
    want_int(weft_defer(ended, NULL), 0);
    want_int(weft_defer(stubborn_clean_up, &stubborn_kid), 0);
    want_int(weft_defer(ended, NULL), 0);
    want_int(weft_defer(stubborn_clean_up, &stubborn_kid), 0);
    weft_exit(17);
}

static void mute(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static int hear_reason(void)
{
    struct weft_down down;
    weft_msg *m;
    want_int(weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER), 0);
    want_int(weft_down_read(m, &down), 0);
    weft_msg_free(m);
    return down.reason;
}

static void stubborn_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid other = kid_on(2, mute, 0);
    for (int64_t i = 0; i < STUBBORN_WAYS; i++) {
        weft_monitor_ref ref;
        atomic_store(&ends, 0);
        kid_with(with_stubborn_clean_ups, (struct kid){.other = other, .n = i},
                 &(weft_spawn_options){.worker = 1, .monitor = &ref});
        want_int(hear_reason(), 17);
        want_int(atomic_load(&ends), 2);
    }
    want_int(weft_stop(other), 0);
}

START_TEST(a_clean_up_that_waits_for_ever_is_abandoned)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = WEFT_MS(20)));
    node_spawn(n, 1, stubborn_body);
    node_end(n);
}
END_TEST

enum { ABANDONED = 100000, HANGING_EACH = 100 };

static void ends_its_actor(void *arg)
{
    static unsigned turn;
    (void)arg;
    turn++;
    while (turn % HANGING_EACH == 0) (void)weft_sleep(WEFT_FOREVER);
    if (turn % 2 == 0) weft_exit(18);
    weft_fail(19, "clean-up %u", turn);
}

static void with_very_many_abandoned(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < ABANDONED; i++) {
        want_int(weft_defer(ended, NULL), 0);
        want_int(weft_defer(ends_its_actor, NULL), 0);
    }
}

static void handles_once(void *state, weft_msg *m)
{
    (void)state, (void)m;
    with_very_many_abandoned(NULL, 0);
    weft_exit(17);
}

static void abandoning_body(const void *arg, size_t size)
{
    static const size_t stacks[] = {0, 1};
    (void)arg, (void)size;
    for (size_t i = 0; i < WF_COUNT(stacks); i++) {
        weft_monitor_ref ref;
        atomic_store(&ends, 0);
        kid_with(with_very_many_abandoned, (struct kid){.n = 0},
                 &(weft_spawn_options){.worker = 1, .monitor = &ref, .stack_bytes = stacks[i]});
        want_int(hear_reason(), 19); /* the last one hangs */
        want_int(atomic_load(&ends), ABANDONED);
    }
    weft_pid handler;
    weft_monitor_ref ref;
    atomic_store(&ends, 0);
    want_int(weft_spawn_handler(&handler, handles_once, NULL, 0, &(weft_spawn_options){.worker = 1, .monitor = &ref}),
             0);
    want_int(say(handler, GO, 0), 0);
    want_int(hear_reason(), 19);
    want_int(atomic_load(&ends), ABANDONED);
}

START_TEST(abandoned_clean_ups_take_no_stack)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .grace = WEFT_MS(20)));
    node_spawn(n, 1, abandoning_body);
    node_end(n);
}
END_TEST

static int refusals;

static void defers_itself(void *arg)
{
    int rc = weft_defer(defers_itself, arg);
    if (rc == 0) return;
    want_int(rc, WEFT_ETIMEDOUT);
    refusals++;
    if (arg != NULL) weft_exit(18);
}

static void defers_late(void *arg)
{
    int64_t before = atomic_load(&ends);
    (void)arg;
    want_int(weft_defer(ended, NULL), WEFT_ETIMEDOUT);
    want_int(atomic_load(&ends), before + 1); /* it has been run */
}

static void with_endless_clean_ups(const void *arg, size_t size)
{
    static char exits;
    (void)arg, (void)size;
    want_int(weft_defer(ended, NULL), 0);
    want_int(weft_defer(defers_late, NULL), 0);
    want_int(weft_defer(defers_itself, &exits), 0);
    want_int(weft_defer(defers_late, NULL), 0);
    want_int(weft_defer(defers_itself, NULL), 0);
}

static void endless_body(const void *arg, size_t size)
{
    weft_monitor_ref ref;
    (void)arg, (void)size;
    kid_with(with_endless_clean_ups, (struct kid){.n = 0}, &(weft_spawn_options){.worker = 1, .monitor = &ref});
    want_int(hear_reason(), 18);
}

START_TEST(clean_ups_that_defer_themselves_again_come_to_an_end)
{
    atomic_store(&ends, 0);
    refusals = 0;
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .grace = WEFT_MS(20)));
    node_spawn(n, 1, endless_body);
    node_end(n);
    ck_assert_int_eq(atomic_load(&ends), 3);
    ck_assert_int_eq(refusals, 3); /* the call, and the one in what it runs; weft_exit keeps one from returning */
}
END_TEST

/* ---- Stop wakes every wait ------------------------------------------------------------------------------------- */

static bool no_match(const weft_msg *m, void *arg)
{
    (void)m, (void)arg;
    return false;
}

enum { WAITS = 9 };

static void wait_somehow(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    weft_timer t;
    weft_event e;
    int fds[2], rc;
    want_int(pipe(fds), 0);
    want_int(weft_timer_open(&t, WEFT_FOREVER, 0), 0);
    want_int(weft_event_open(&e), 0);
    weft_wait sources[] = {weft_on_mailbox(), weft_on_timer(t), weft_on_event(e), weft_on_fd(fds[0], false)};
    for (int64_t i = 0; i < 2; i++) { /* the second one does not even begin to wait */
        switch (k.n) {
        case 0: rc = weft_recv(&m, WEFT_FOREVER); break;
        case 1: rc = weft_recv_tag(&m, DATA, WEFT_FOREVER); break;
        case 2: rc = weft_recv_match(&m, no_match, NULL, WEFT_FOREVER); break;
        case 3: rc = weft_sleep(WEFT_FOREVER); break;
        case 4: rc = weft_event_await(e, WEFT_FOREVER); break;
        case 5: rc = weft_wait_any(sources, WF_COUNT(sources), WEFT_FOREVER); break;
        case 6: rc = weft_wait_all(sources, WF_COUNT(sources), WEFT_FOREVER); break;
        case 7: rc = weft_call(k.other, GO, NULL, 0, &m, WEFT_FOREVER); break;
        default: rc = weft_wait_any(NULL, 0, WEFT_FOREVER); break;
        }
        want_int(rc, WEFT_ECANCELED);
    }
    close(fds[0]), close(fds[1]);
    ended(NULL);
}

static void deaf(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static void stop_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid other = kid_on(1, deaf, 0);
    for (int64_t i = 0; i < WAITS; i++) {
        weft_pid kid = kid_with(wait_somehow, (struct kid){.other = other, .n = i},
                                &(weft_spawn_options){.worker = 1, .stack_bytes = 256 * 1024});
        until(wf_task_waits_for(&peek(kid)->task)[0] != 0);
        want_int(weft_stop(kid), 0);
        await_end(kid);
    }
    want_int(weft_stop(other), 0);
    want_int(atomic_load(&ends), WAITS);
    want_int(weft_stop(weft_self()), 0); /* oneself */
    want_int(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
    want_int(weft_yield(), WEFT_ECANCELED);
}

START_TEST(stop_wakes_every_wait)
{
    atomic_store(&ends, 0);
    run_on(1, stop_body);
}
END_TEST

/* Ignores that it was stopped, in every way there is; the kill comes and nothing leaks. */
static void ignore_stop(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    weft_timer t;
    weft_event e;
    char name[16];
    snprintf(name, sizeof name, "stubborn%d", (int)k.n);
    want_int(weft_register(name), 0);
    want_int(weft_subscribe("a.*", NULL), 0);
    want_int(weft_timer_open(&t, WEFT_FOREVER, 0), 0);
    want_int(weft_event_open(&e), 0);
    want(weft_msg_new(DATA, 1000) != NULL);
    want_int(weft_publish("a.b", DATA, NULL, 0), 1);
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want_int(weft_defer(ended, NULL), 0);
    want_int(say(k.parent, GO, 0), 0);
    weft_wait sources[] = {weft_on_mailbox(), weft_on_timer(t), weft_on_event(e)};
    for (;;) {
        switch (k.n) {
        case 0: (void)weft_recv(&m, WEFT_FOREVER); break;
        case 1: (void)weft_recv_match(&m, no_match, NULL, WEFT_FOREVER); break;
        case 2: (void)weft_sleep(WEFT_FOREVER); break;
        case 3: (void)weft_event_await(e, WEFT_FOREVER); break;
        case 4: (void)weft_wait_any(sources, WF_COUNT(sources), WEFT_FOREVER); break;
        case 5: (void)weft_wait_all(sources, WF_COUNT(sources), WEFT_FOREVER); break;
        case 6: (void)weft_call(k.other, GO, NULL, 0, &m, WEFT_FOREVER); break;
        case 7: (void)weft_yield(); break;
        default: (void)weft_publish("nobody", DATA, NULL, 0); break; /* never waits at all */
        }
    }
}

static void kill_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        weft_pid other = kid_on(1, deaf, 0);
        for (int64_t i = 0; i < WAITS; i++) {
            weft_pid kid = kid_with(ignore_stop, (struct kid){.other = other, .n = i},
                                    &(weft_spawn_options){.worker = worker, .stack_bytes = 256 * 1024});
            (void)hear(GO);
            want_int(weft_stop(kid), 0);
            await_end(kid);
        }
        want_int(weft_stop(other), 0);
    }
    want_int(atomic_load(&ends), 2 * WAITS);
}

START_TEST(a_kill_follows_the_grace_period_and_leaks_nothing)
{
    atomic_store(&ends, 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = WEFT_MS(5)));
    node_spawn(n, 1, kill_body);
    node_end(n);
}
END_TEST

/* ---- Identity -------------------------------------------------------------------------------------------------- */

static void nothing(const void *arg, size_t size)
{
    (void)arg, (void)size;
}

static void stale_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid old = kid_on(1, nothing, 0), again;
    await_end(old);
    again = kid_on(1, deaf, 0);
    want_int(wf_id_slot(again.actor), wf_id_slot(old.actor)); /* the same slot, another actor */
    want(!weft_pid_equal(old, again));
    want_int(weft_send(old, DATA, NULL, 0), WEFT_ENOACTOR);
    want_int(weft_node_send(weft_here(), old, DATA, NULL, 0), WEFT_ENOACTOR);
    want_int(weft_stop(old), WEFT_ENOACTOR);
    want(is_alive(again));
    want_int(wf_mail_count(peek(again)), 0);
    want_int(weft_stop(again), 0);
}

START_TEST(a_pid_is_never_used_again)
{
    atomic_store(&ends, 0);
    run_on(1, stale_body);
}
END_TEST

/* ---- Very many, and too deep ----------------------------------------------------------------------------------- */

static void wait_for_go(const void *arg, size_t size)
{
    struct kid k = *(const struct kid *)arg;
    (void)size;
    want_int(say(k.parent, DATA, hear(GO)), 0);
}

static void many_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const int64_t many = under_tools() ? 2000 : MANY;
    weft_pid *kids = malloc((size_t)many * sizeof *kids);
    want_int(weft_defer(free, kids), 0);
    for (int64_t i = 0; i < many; i++) kids[i] = kid_on((int)(i % 2) + 1, wait_for_go, 0);
    for (int64_t i = 0; i < many; i++) want_int(say(kids[i], GO, i), 0); /* so all are alive now */
    int64_t sum = 0;
    for (int64_t i = 0; i < many; i++) sum += hear(DATA);
    want_int(sum, many * (many - 1) / 2);
}

START_TEST(a_hundred_thousand_are_alive_at_once)
{
    atomic_store(&ends, 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .send_timeout = WEFT_FOREVER));
    want_int(weft_node_spawn(n, NULL, many_body, NULL, 0, &(weft_spawn_options){.mailbox_max = 1 << 20}), 0);
    node_end(n);
}
END_TEST

static void limit_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid kids[9];
    for (int i = 0; i < 9; i++) want_int(weft_spawn(&kids[i], deaf, NULL, 0, NULL), 0);
    want_int(weft_spawn(NULL, deaf, NULL, 0, NULL), WEFT_EFULL);
    want_int(weft_stop(kids[0]), 0);
    await_end(kids[0]);
    want_int(weft_spawn(&kids[0], deaf, NULL, 0, NULL), 0);
    for (int i = 0; i < 9; i++) want_int(weft_stop(kids[i]), 0);
}

START_TEST(the_actor_limit_is_efull)
{
    atomic_store(&ends, 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .actors_max = 10));
    node_spawn(n, 1, limit_body);
    node_end(n);
}
END_TEST

#ifndef _WIN32
static _Atomic int64_t result;

__attribute__((noinline)) static int64_t bottomless(int64_t n)
{
    volatile char frame[1024];
    for (size_t i = 0; i < sizeof frame; i++) frame[i] = (char)n;
    return n == INT64_MAX ? 0 : bottomless(n + 1) + frame[n % 1024];
}

static void overflow(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_register("digger"), 0);
    atomic_store(&result, bottomless(0));
}

START_TEST(too_deep_a_recursion_names_its_actor)
{
    if (under_tools()) return; /* they report it themselves */
    int fds[2];
    want_int(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], 2);
        weft_node *n = node_of(1);
        want_int(weft_node_spawn(n, NULL, overflow, NULL, 0, &(weft_spawn_options){.kind = "mole"}), 0);
        (void)weft_node_wait(n, WEFT_FOREVER);
        _exit(0);
    }
    close(fds[1]);
    char said[1024];
    size_t got = 0;
    ssize_t n;
    while (got < sizeof said - 1 && (n = read(fds[0], said + got, sizeof said - 1 - got)) > 0) got += (size_t)n;
    said[got] = 0;
    close(fds[0]);
    int status;
    want_int(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %x, said %s", status, said);
    ck_assert_msg(strstr(said, "actor digger (mole 0.") != NULL && strstr(said, "stack") != NULL, "said %s", said);
}
END_TEST
#endif

TEST_MAIN("actor", arguments_of_all_sizes_are_copied, clean_ups_run_last_first_in_whatever_way_an_actor_ends,
          clean_ups_may_wait_within_the_grace_period, a_clean_up_that_waits_for_ever_is_abandoned,
          abandoned_clean_ups_take_no_stack, clean_ups_that_defer_themselves_again_come_to_an_end,
          stop_wakes_every_wait, a_kill_follows_the_grace_period_and_leaks_nothing, a_pid_is_never_used_again,
          a_hundred_thousand_are_alive_at_once,
          ON_UNIX(too_deep_a_recursion_names_its_actor, ) the_actor_limit_is_efull)

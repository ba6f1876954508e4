/* Handlers that run one after the other on one stack, without a way back to the worker's queue: what they share with the
 * tasks around them stays as it is. */
#include "handlers.h"

#include "actor_kinds.h"

static weft_pid handler_of(weft_handler *handle, struct counter c, const char *kind)
{
    weft_pid out;
    c.parent = weft_self();
    want_int(weft_spawn_handler(&out, handle, &c, sizeof c, &(weft_spawn_options){.kind = kind, .worker = 1}), 0);
    return out;
}

/* ---- Order ----------------------------------------------------------------------------------------------------- */

static int64_t noted[16];
static int notes;

static void note(void *state, weft_msg *m)
{
    (void)state;
    noted[notes++] = value_of(m);
}

static void body_notes(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int64_t value = hear(DATA);
    noted[notes++] = value;
}

static void in_order(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid handlers[4], body = kid_on(1, body_notes, 0);
    for (int i = 0; i < 4; i++) handlers[i] = handler_of(note, (struct counter){.calls = 0}, "notes");
    await_wait(body, "mailbox");
    notes = 0;
    for (int64_t i = 0; i < 5; i++) want_int(say(i == 2 ? body : handlers[i < 2 ? i : i - 1], DATA, i), 0);
    want_int(notes, 0);
    until(notes == 5);
    for (int64_t i = 0; i < 5; i++) want_int(noted[i], i);
    for (int i = 0; i < 4; i++) want_int(weft_stop(handlers[i]), 0);
}

START_TEST(handlers_and_bodies_run_in_the_order_of_their_messages)
{
    run_on(1, in_order);
}
END_TEST

/* ---- The worker's other work ----------------------------------------------------------------------------------- */

static void back_and_forth(void *state, weft_msg *m)
{
    struct counter *c = state;
    if (weft_pid_is_nobody(c->other)) c->other = m->from; /* the second one */
    want_int(weft_send(c->other, DATA, NULL, 0), 0);
}

static void from_elsewhere(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(say(k.parent, GO, 7), 0);
}

static void beside_two_that_never_wait(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid second = handler_of(back_and_forth, (struct counter){.calls = 0}, "second"),
             first = handler_of(back_and_forth, (struct counter){.other = second}, "first");
    want_int(weft_send(first, DATA, NULL, 0), 0);
    for (int i = 0; i < 3; i++) {
        want_int(weft_sleep(weft_after(WEFT_US(1))), 0); /* a timer */
        (void)kid_on(2, from_elsewhere, 0);
        want_int(hear(GO), 7); /* a post of another worker */
    }
    want_int(weft_kill(first), 0);
    await_end(first);
    want_int(weft_stop(second), 0);
    await_end(second);
}

START_TEST(handlers_that_never_wait_leave_the_worker_time_for_timers_and_posts)
{
    run_on(2, beside_two_that_never_wait);
}
END_TEST

/* ---- Stacks ---------------------------------------------------------------------------------------------------- */

enum { DEEP = 20000 };

static void goes_deep(void *state, weft_msg *m)
{
    (void)state, (void)m;
    volatile char much[DEEP];
    for (size_t i = 0; i < sizeof much; i++) much[i] = 1;
    notes++;
}

static void stays_flat(void *state, weft_msg *m)
{
    (void)state, (void)m;
    notes++;
}

static size_t most_of(const char *kind)
{
    const struct wf_kind *k = wf_kind_find(&wf_actors_of(wf_here)->kinds, kind);
    return k == NULL ? 0 : k->stack_most;
}

static void deep_and_flat(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static const char deep[] = "deep", flat[] = "flat"; /* kinds are compared by address */
    weft_pid all[6];
    for (int i = 0; i < 6; i++)
        all[i] = handler_of(i == 3 ? goes_deep : stays_flat, (struct counter){.calls = 0}, i == 3 ? deep : flat);
    notes = 0;
    for (int i = 0; i < 6; i++) want_int(say(all[i], DATA, i), 0);
    until(notes == 6);
    want(most_of(deep) >= DEEP);
    want(most_of(flat) < DEEP);
    for (int i = 0; i < 6; i++) want_int(weft_stop(all[i]), 0);
}

START_TEST(what_a_handler_uses_of_the_stack_counts_for_its_kind)
{
    run_on(1, deep_and_flat);
}
END_TEST

static void sleeps_then_notes(void *state, weft_msg *m)
{
    want_int(weft_sleep(weft_after(WEFT_US(1))), 0);
    note(state, m);
}

static void one_waits(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid all[4];
    for (int i = 0; i < 4; i++)
        all[i] = handler_of(i == 1 ? sleeps_then_notes : note, (struct counter){.calls = 0}, "waits");
    for (int round = 0; round < 3; round++) {
        notes = 0;
        for (int i = 0; i < 4; i++) want_int(say(all[i], DATA, i), 0);
        until(notes == 4);
        want_int(noted[3], 1); /* the others have not waited for it */
    }
    for (int i = 0; i < 4; i++) want_int(weft_stop(all[i]), 0);
}

START_TEST(a_handler_that_waits_keeps_its_stack_and_the_next_ones_run)
{
    run_on(1, one_waits);
}
END_TEST

/* ---- Endings --------------------------------------------------------------------------------------------------- */

static void notes_and_exits(void *state, weft_msg *m)
{
    note(state, m);
    if (value_of(m) == 1) weft_exit(OWN_REASON);
}

static struct weft_down next_down(void)
{
    weft_msg *m;
    struct weft_down down;
    want_int(weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER), 0);
    want_int(weft_down_read(m, &down), 0);
    weft_msg_free(m);
    return down;
}

/* Handlers 0 to 5 are handed a message each. 1 ends in its function, 2 is stopped and 3 is killed before it has run. */
static void some_end(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid all[6];
    weft_monitor_ref ref;
    for (int i = 0; i < 6; i++) {
        all[i] = handler_of(notes_and_exits, (struct counter){.calls = 0}, "ends");
        want_int(weft_monitor(all[i], &ref), 0);
    }
    notes = 0;
    for (int i = 0; i < 6; i++) want_int(say(all[i], DATA, i), 0);
    want_int(weft_stop(all[2]), 0);
    want_int(weft_kill(all[3]), 0);
    int reasons[6] = {0};
    for (int ends = 0; ends < 3; ends++) {
        struct weft_down down = next_down();
        for (int i = 0; i < 6; i++)
            if (weft_pid_equal(down.who, all[i])) reasons[i] = down.reason;
    }
    until(notes == 4);
    want_int(reasons[1], OWN_REASON);
    want_int(reasons[2], WEFT_EXIT_STOPPED);
    want_int(reasons[3], WEFT_EXIT_KILLED);
    static const int64_t left[] = {0, 1, 4, 5};
    for (int i = 0; i < 4; i++) want_int(noted[i], left[i]);
    for (int i = 0; i < 6; i++) want_int(is_alive(all[i]), i == 0 || i >= 4);
    want_int(weft_stop(all[0]) + weft_stop(all[4]) + weft_stop(all[5]), 0);
    for (int i = 0; i < 3; i++) (void)next_down();
}

START_TEST(a_handler_that_ends_or_must_end_leaves_its_place_to_the_next)
{
    run_on(1, some_end);
}
END_TEST

TEST_MAIN("handler_chain", handlers_and_bodies_run_in_the_order_of_their_messages,
          handlers_that_never_wait_leave_the_worker_time_for_timers_and_posts,
          what_a_handler_uses_of_the_stack_counts_for_its_kind,
          a_handler_that_waits_keeps_its_stack_and_the_next_ones_run,
          a_handler_that_ends_or_must_end_leaves_its_place_to_the_next)

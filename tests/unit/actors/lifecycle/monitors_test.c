/* actors/lifecycle/monitors.c: monitors, links, exit reasons; actors end, monitors are removed and nodes are lost in
 * every order. */
#include "../node_harness.h"
#include "../random.h"

enum { DATA = 1, GO = 2 };
enum { OWN_REASON = 42 };

/* ---- Actors that end ------------------------------------------------------------------------------------------- */

enum how { RETURNS, EXITS, FAILS, REQUIRES, WAITS };

static void ender(const void *arg, size_t size)
{
    (void)size;
    struct kid k;
    memcpy(&k, arg, sizeof k);
    if (k.other.node != 0) (void)hear(GO); /* told when */
    switch ((enum how)k.n) {
    case RETURNS: return;
    case EXITS: weft_exit(OWN_REASON);
    case FAILS: weft_fail(WEFT_EFORMAT, "byte %d of %s", 7, "the header");
    case REQUIRES: weft_require(size == 0);
    default: break;
    }
    (void)weft_sleep(WEFT_FOREVER);
}

static void want_news(uint32_t tag, weft_pid who, int reason, struct weft_down *out)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want_int(weft_tag(m), tag);
    want_int(weft_down_read(m, out), 0);
    want(weft_pid_equal(out->who, who));
    want_int(out->reason, reason);
    weft_msg_free(m);
}

static void want_silence(void)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT);
}

/* ---- Reasons --------------------------------------------------------------------------------------------------- */

static const int reasons[] = {
    [RETURNS] = WEFT_EXIT_NORMAL, [EXITS] = OWN_REASON, [FAILS] = WEFT_EFORMAT, [REQUIRES] = WEFT_EXIT_FAILED};

static void reasons_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct weft_down d;
    for (int worker = 1; worker <= 2; worker++) {
        for (int how = RETURNS; how < WAITS; how++) {
            weft_monitor_ref ref;
            weft_spawn_options o = {.worker = worker, .monitor = &ref};
            weft_pid p = kid_with(ender, (struct kid){.n = how}, &o);
            want_news(WEFT_TAG_DOWN, p, reasons[how], &d);
            want(d.ref.id == ref.id);
            if (how == FAILS)
                want(strncmp(d.text, "monitors_test.c:", 16) == 0 && strstr(d.text, ": byte 7 of the header"));
            else if (how == REQUIRES) want(strstr(d.text, "size == 0 does not hold") != NULL);
            else want(d.text[0] == 0);
            want_int(weft_demonitor(ref), WEFT_ECLOSED);
            want_int(weft_monitor(p, &ref), 0); /* gone: told at once */
            want_news(WEFT_TAG_DOWN, p, WEFT_EXIT_NO_ACTOR, &d);
            want(d.ref.id == ref.id);
        }
        weft_monitor_ref ref;
        weft_pid p = kid_with(ender, (struct kid){.n = WAITS},
                              &(weft_spawn_options){.worker = worker, .monitor = &ref});
        want_int(weft_stop(p), 0);
        want_news(WEFT_TAG_DOWN, p, WEFT_EXIT_STOPPED, &d);
        p = kid_with(ender, (struct kid){.n = WAITS}, &(weft_spawn_options){.worker = worker, .monitor = &ref});
        want_int(weft_kill(p), 0);
        want_news(WEFT_TAG_DOWN, p, WEFT_EXIT_KILLED, &d);
    }
    want_silence();
}

START_TEST(a_monitor_tells_every_reason_with_its_text)
{
    run_on(2, reasons_body);
}
END_TEST

START_TEST(reasons_have_words)
{
    char words[32];
    ck_assert_str_eq(weft_reason_text(WEFT_EXIT_NORMAL, words), "normal");
    ck_assert_str_eq(weft_reason_text(WEFT_EXIT_FAILED, words), "failed");
    ck_assert_str_eq(weft_reason_text(WEFT_EEXIST, words), "name is taken");
    ck_assert_str_eq(weft_reason_text(OWN_REASON, words), "reason 42");
    ck_assert_str_eq(weft_reason_text(-9999, words), "reason -9999");
}
END_TEST

/* ---- Monitors -------------------------------------------------------------------------------------------------- */

static void monitors_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_monitor(weft_nobody(), NULL), WEFT_EINVAL);
    want_int(weft_demonitor((weft_monitor_ref){0}), WEFT_ECLOSED);
    for (int worker = 1; worker <= 2; worker++) {
        weft_pid p = kid_with(ender, (struct kid){.other = weft_self(), .n = EXITS},
                              &(weft_spawn_options){.worker = worker});
        weft_monitor_ref ref[3];
        for (int i = 0; i < 3; i++) want_int(weft_monitor(p, &ref[i]), 0);
        want_int(weft_demonitor(ref[1]), 0);
        want_int(weft_demonitor(ref[1]), WEFT_ECLOSED);
        want_int(weft_monitor(weft_self(), NULL), 0); /* in vain */
        want_int(say(p, GO, 0), 0);
        struct weft_down d;
        uint64_t seen = 0;
        for (int i = 0; i < 2; i++) {
            want_news(WEFT_TAG_DOWN, p, OWN_REASON, &d);
            seen += d.ref.id;
        }
        want(seen == ref[0].id + ref[2].id);
        want_silence();
        /* A DOWN that is in the mailbox already is removed. */
        want_int(weft_monitor(p, &ref[0]), 0);
        until(peek(weft_self())->signals.first != NULL);
        want_int(weft_demonitor(ref[0]), 0);
        want_silence();
    }
    /* A pid of a node that there is not. */
    weft_pid elsewhere = {weft_self().node + 1, 1};
    struct weft_down d;
    want_int(weft_monitor(elsewhere, NULL), 0);
    want_news(WEFT_TAG_DOWN, elsewhere, WEFT_EXIT_NODE_LOST, &d);
}

START_TEST(a_monitor_notifies_once_and_not_after_it_was_removed)
{
    run_on(2, monitors_body);
}
END_TEST

static void last_words(const void *arg, size_t size)
{
    (void)size;
    struct kid k;
    memcpy(&k, arg, sizeof k);
    for (int64_t i = 0; i < k.n; i++) want_int(say(k.parent, DATA, i), 0);
}

static void order_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        weft_monitor_ref ref;
        weft_pid p = kid_with(last_words, (struct kid){.n = 100},
                              &(weft_spawn_options){.worker = worker, .monitor = &ref});
        for (int i = 0; i < 100; i++) want_int(hear(DATA), i);
        struct weft_down d;
        want_news(WEFT_TAG_DOWN, p, WEFT_EXIT_NORMAL, &d);
    }
}

START_TEST(messages_sent_before_the_end_are_received_before_down)
{
    run_on(2, order_body);
}
END_TEST

/* ---- Links ----------------------------------------------------------------------------------------------------- */

static void links_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct weft_down d;
    want_int(weft_trap_exits(true), 0);
    want_int(weft_link(weft_nobody()), WEFT_EINVAL);
    want_int(weft_link(weft_self()), WEFT_EINVAL);
    for (int worker = 1; worker <= 2; worker++) {
        for (int how = RETURNS; how < WAITS; how++) {
            weft_pid p = kid_with(ender, (struct kid){.n = how},
                                  &(weft_spawn_options){.worker = worker, .link = true});
            want_news(WEFT_TAG_EXIT, p, reasons[how], &d);
            want_int(d.ref.id, 0);
            want_int(weft_unlink(p), WEFT_ECLOSED);
            want_int(weft_link(p), 0);
            want_news(WEFT_TAG_EXIT, p, WEFT_EXIT_NO_ACTOR, &d);
            for (int again = 0; again < 2;
                 again++) { /* an EXIT waits, and another one does as well or is on its way */
                want_int(weft_link(p), 0);
                until(peek(weft_self())->signals.first != NULL);
                want_int(weft_link(p), 0);
                if (again == 1) until(peek(weft_self())->signals.first->post.next != NULL);
                want_int(weft_unlink(p), 0);
                want_silence();
            }
        }
        weft_pid p = kid_with(ender, (struct kid){.other = weft_self(), .n = FAILS},
                              &(weft_spawn_options){.worker = worker, .link = true});
        want_int(weft_link(p), 0); /* twice is once */
        want_int(say(p, GO, 0), 0);
        want_news(WEFT_TAG_EXIT, p, WEFT_EFORMAT, &d);
        want_silence();
        p = kid_with(ender, (struct kid){.other = weft_self(), .n = FAILS}, &(weft_spawn_options){.worker = worker});
        want_int(weft_link(p), 0);
        want_int(weft_unlink(p), 0);
        want_int(weft_unlink(p), WEFT_ECLOSED);
        want_int(say(p, GO, 0), 0);
        await_end(p);
        want_silence();
    }
    want_silence();
}

START_TEST(a_link_tells_once_and_not_after_it_was_undone)
{
    run_on(2, links_body);
}
END_TEST

/* Ends with its parent; its parent's end is told to `other` by a monitor. */
static void middle(const void *arg, size_t size)
{
    (void)size;
    struct kid k;
    memcpy(&k, arg, sizeof k);
    if (k.n == 0) weft_fail(OWN_REASON, "the deepest");
    k.n--;
    weft_pid child = kid_with(middle, k, &(weft_spawn_options){.worker = 1 + (int)(k.n % 2), .link = true});
    (void)child;
    want_int(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
}

static void chain_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_monitor_ref ref;
    struct weft_down d;
    weft_pid top = kid_with(middle, (struct kid){.n = 20}, &(weft_spawn_options){.monitor = &ref});
    want_news(WEFT_TAG_DOWN, top, OWN_REASON, &d);
    want(strstr(d.text, "the deepest") != NULL);
}

START_TEST(a_failure_runs_along_links_with_its_reason)
{
    run_on(2, chain_body);
}
END_TEST

static void normal_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid p = kid_with(ender, (struct kid){.n = RETURNS}, &(weft_spawn_options){.link = true});
    await_end(p);
    want_int(weft_yield(), 0); /* not stopped */
    /* Stopping what is linked stops this one, with the same reason. */
    p = kid_with(ender, (struct kid){.n = WAITS}, &(weft_spawn_options){.link = true});
    want_int(weft_stop(p), 0);
    want_int(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
}

START_TEST(a_normal_end_stops_nobody)
{
    run_on(1, normal_body);
}
END_TEST

/* The running actor has no watchers. */
static bool has_link(void)
{
    return peek(weft_self())->more->ties.here.ends != NULL;
}

/* Both ends link and unlink as they like; then one ends. What each believes must be what the other believes. */
static void fickle(const void *arg, size_t size)
{
    (void)size;
    struct kid k;
    memcpy(&k, arg, sizeof k);
    for (int i = 0; i < 2000; i++) {
        if (i % 3 == 0) (void)weft_unlink(k.parent);
        else want_int(weft_link(k.parent), 0);
        if (i % 7 == 0) (void)weft_yield();
    }
    (void)weft_unlink(k.parent);
    want_int(say(k.parent, DATA, 0), 0);
    want_int(hear(GO), 0); /* both have said their last: what is now will stay */
    want_int(say(k.parent, DATA, has_link()), 0);
    want_int(hear(GO), 1);
}

static void fickle_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct weft_down d;
    want_int(weft_trap_exits(true), 0);
    for (int round = 0; round < 10; round++) {
        weft_pid p = kid_on(2, fickle, 0);
        for (int i = 0; i < 2000; i++) {
            if (i % 5 == 0) (void)weft_unlink(p);
            else want_int(weft_link(p), 0);
            if (i % 4 == 0) (void)weft_yield();
        }
        if (round % 2 == 0) (void)weft_unlink(p);
        (void)hear_only(DATA);
        want_int(say(p, GO, 0), 0);
        int64_t linked = hear_only(DATA);
        want_int(has_link(), linked);
        want_int(say(p, GO, 1), 0);
        if (linked) want_news(WEFT_TAG_EXIT, p, WEFT_EXIT_NORMAL, &d);
        await_end(p);
        want_silence();
    }
}

START_TEST(both_ends_of_a_link_agree_whatever_they_do_at_once)
{
    run_on(2, fickle_body);
}
END_TEST

/* ---- Stopping -------------------------------------------------------------------------------------------------- */

static void trapper(const void *arg, size_t size)
{
    (void)size;
    struct kid k;
    memcpy(&k, arg, sizeof k);
    want_int(weft_trap_stop(true), 0);
    want_int(say(k.parent, DATA, 0), 0);
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want_int(weft_tag(m), WEFT_TAG_STOP);
    weft_msg_free(m);
    want_int(weft_sleep(weft_after(WEFT_MS(20))), 0);  /* it may still wait, beyond the grace period */
    want_int(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT); /* asked twice is asked once */
    if (k.n == 1) (void)weft_sleep(WEFT_FOREVER);
}

static void trap_stop_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct weft_down d;
    weft_monitor_ref ref;
    for (int64_t ignores = 0; ignores < 2; ignores++) {
        weft_pid p = kid_with(trapper, (struct kid){.n = ignores},
                              &(weft_spawn_options){.worker = 2, .monitor = &ref});
        (void)hear(DATA);
        want_int(weft_stop(p), 0);
        want_int(weft_stop(p), 0);
        if (ignores) {
            want_int(weft_sleep(weft_after(WEFT_MS(30))), 0);
            want(is_alive(p)); /* no grace period: the actor that asked decides */
            want_int(weft_kill(p), 0);
        }
        want_news(WEFT_TAG_DOWN, p, ignores ? WEFT_EXIT_KILLED : WEFT_EXIT_STOPPED, &d);
    }
}

START_TEST(a_stop_can_be_a_message)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = WEFT_MS(5)));
    node_spawn(n, 1, trap_stop_body);
    node_end(n);
}
END_TEST

static void never_runs(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want(false);
}

static void unborn_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_monitor_ref ref;
    weft_pid p = kid_with(never_runs, (struct kid){0}, &(weft_spawn_options){.worker = 1, .monitor = &ref});
    want_int(weft_kill(p), 0);
    struct weft_down d;
    want_news(WEFT_TAG_DOWN, p, WEFT_EXIT_KILLED, &d);
    want_int(weft_kill(p), WEFT_ENOACTOR);
}

START_TEST(an_actor_killed_before_it_ran_never_runs)
{
    run_on(1, unborn_body);
}
END_TEST

static _Atomic int undone;

static void count(void *arg)
{
    (void)arg;
    undone++;
}

static void exit_again(void *arg)
{
    (void)arg;
    undone++;
    weft_fail(OWN_REASON, "while cleaning up");
}

static void exits_twice(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_defer(count, NULL), 0);
    want_int(weft_defer(exit_again, NULL), 0);
    want_int(weft_defer(exit_again, NULL), 0);
}

static void cleaning_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_monitor_ref ref;
    struct weft_down d;
    weft_pid p = kid_with(exits_twice, (struct kid){0}, &(weft_spawn_options){.worker = 2, .monitor = &ref});
    want_news(WEFT_TAG_DOWN, p, OWN_REASON, &d);
    want_int(undone, 3);
}

START_TEST(a_clean_up_that_fails_keeps_nobody_from_the_others)
{
    undone = 0;
    run_on(2, cleaning_body);
}
END_TEST

/* ---- Races ----------------------------------------------------------------------------------------------------- */

/* Many watchers of many that end at any moment, from both workers: every monitor tells exactly once. */
enum { TARGETS = 300, ROUNDS = 5 };

static void race_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    uint64_t seen[TARGETS];
    for (int round = 0; round < ROUNDS; round++) {
        weft_pid p[TARGETS];
        weft_monitor_ref ref[TARGETS];
        int ended = 0, open = 0;
        for (int i = 0; i < TARGETS; i++) {
            p[i] = kid_with(ender, (struct kid){.n = i % 3 == 0 ? WAITS : EXITS},
                            &(weft_spawn_options){.worker = 1 + i % 2});
            want_int(weft_monitor(p[i], &ref[i]), 0);
            seen[i] = 0;
            if (i % 3 == 0) (void)weft_kill(p[i]);
            if (i % 5 == 0) (void)weft_yield();
        }
        for (int i = 0; i < TARGETS; i += 4) {
            want_int(weft_demonitor(ref[i]), 0); /* nothing was received yet, so each is still open */
            seen[i] = 1;
            ended++;
        }
        for (open = TARGETS - ended; open > 0; open--) {
            weft_msg *m;
            struct weft_down d;
            want_int(weft_recv(&m, WEFT_FOREVER), 0);
            want_int(weft_down_read(m, &d), 0);
            weft_msg_free(m);
            int i = 0;
            while (i < TARGETS && ref[i].id != d.ref.id) i++;
            want(i < TARGETS && weft_pid_equal(d.who, p[i]));
            want_int(seen[i]++, 0);
        }
        for (int i = 0; i < TARGETS; i++) await_end(p[i]);
        want_silence();
    }
}

START_TEST(no_news_is_lost_or_doubled_in_a_race)
{
    weft_node *n = node_of(2);
    node_spawn(n, 1, race_body);
    node_spawn(n, 2, race_body);
    node_end(n);
}
END_TEST

/* ---- Pids that nobody was given -------------------------------------------------------------------------------- */

/* Makes up a pid: its slot may be empty, or the other worker may be filling it at this time. */
static weft_pid made_up(uint64_t *seed)
{
    weft_pid p = {weft_self().node, 0};
    if (random_below(seed, 16) == 0) p.node = random_next(seed);
    uint64_t generation = random_below(seed, 4) == 0 ? random_next(seed) : random_below(seed, 40);
    uint64_t worker = random_below(seed, 8) == 0 ? random_below(seed, 256) : random_below(seed, 2);
    p.actor = generation << 32 | worker << 24 | random_below(seed, random_below(seed, 8) == 0 ? 1 << 24 : 64);
    return p;
}

static void brief(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_yield();
}

static void breeder(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 5000; i++) {
        want_int(weft_spawn(NULL, brief, &i, sizeof i, &(weft_spawn_options){.worker = 1 + i % 2}), 0);
        if (i % 8 == 0) (void)weft_yield();
    }
}

static void guesser(const void *arg, size_t size)
{
    (void)arg, (void)size;
    uint64_t seed = 11;
    want_int(weft_trap_exits(true), 0);
    want_int(weft_trap_stop(true), 0);
    for (int i = 0; i < 20000; i++) {
        weft_pid p = made_up(&seed);
        weft_monitor_ref ref;
        weft_msg *m;
        switch (random_below(&seed, 8)) {
        case 0: (void)weft_stop(p); break;
        case 1: (void)weft_kill(p); break;
        case 2: (void)weft_try_send(p, DATA, &i, sizeof i); break;
        case 3: want_int(weft_monitor(p, NULL), weft_pid_is_nobody(p) ? WEFT_EINVAL : 0); break;
        case 4:
            if (weft_monitor(p, &ref) == 0) want_int(weft_demonitor(ref), 0);
            break;
        case 5: (void)weft_link(p); break;
        case 6: (void)weft_unlink(p); break;
        default: want(weft_call(p, DATA, NULL, 0, &m, weft_after(WEFT_US(10))) < 0);
        }
        while (weft_recv(&m, WEFT_NOW) == 0) weft_msg_free(m);
        if (i % 16 == 0) (void)weft_yield();
    }
}

START_TEST(made_up_pids_do_no_harm)
{
    weft_node *n = node_of(2);
    node_spawn(n, 1, guesser);
    node_spawn(n, 2, breeder);
    node_end(n);
}
END_TEST

/* ---- Very many at once ----------------------------------------------------------------------------------------- */

enum { CROWD = 20000, FEW = 64 /* the first ones are not in the table */ };
enum { TURN_MOST = 1300 /* entries that one turn makes: 1,024, and the last bundle */ };
static _Atomic bool crowd_is_there;

static void crowd(const void *arg, size_t size)
{
    (void)size;
    const weft_pid target = ((const struct kid *)arg)->parent;
    want_int(say(target, DATA, 0), 0);
    for (int i = 0; i < CROWD; i++) want_int(weft_monitor(target, NULL), 0);
    for (uint64_t turn = wf_here->count.turns; wf_here->count.turns == turn;) (void)weft_yield(); /* posts the last */
    atomic_store(&crowd_is_there, true);
    (void)weft_sleep(WEFT_FOREVER);
}

/* All of them are in its worker's inbox when its turn ends. */
static void crowded(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid p = kid_on(2, crowd, 0);
    want_int(hear(DATA), 0);
    while (!atomic_load(&crowd_is_there)) pf_cpu_relax();
    uint32_t before = (uint32_t)wf_ties_of(wf_here)->ties.count, most = before; /* what came with DATA */
    for (uint64_t turn = wf_here->count.turns; before < CROWD - FEW;) {
        want_int(weft_yield(), 0);
        if (wf_here->count.turns == turn) continue;
        turn = wf_here->count.turns;
        uint32_t now = (uint32_t)wf_ties_of(wf_here)->ties.count;
        most = WF_MAX(most, now - before);
        before = now;
    }
    want(most < TURN_MOST);
    want_int(weft_kill(p), 0);
    await_end(p);
    until(wf_ties_of(wf_here)->ties.count == 0);
}

START_TEST(monitors_of_another_worker_come_in_parts)
{
    run_on(2, crowded);
}
END_TEST

TEST_MAIN("watch", a_monitor_tells_every_reason_with_its_text, reasons_have_words,
          a_monitor_notifies_once_and_not_after_it_was_removed, messages_sent_before_the_end_are_received_before_down,
          a_link_tells_once_and_not_after_it_was_undone, a_failure_runs_along_links_with_its_reason,
          a_normal_end_stops_nobody, both_ends_of_a_link_agree_whatever_they_do_at_once, a_stop_can_be_a_message,
          an_actor_killed_before_it_ran_never_runs, a_clean_up_that_fails_keeps_nobody_from_the_others,
          no_news_is_lost_or_doubled_in_a_race, made_up_pids_do_no_harm, monitors_of_another_worker_come_in_parts)

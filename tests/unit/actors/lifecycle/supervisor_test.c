/* actors/lifecycle/supervisor.c: which children are restarted, when, and when the supervisor gives up. */
#include "supervisor_kit.h"

/* ---- Strategies ------------------------------------------------------------------------------------------------ */

BODY(children_start_in_order_and_stop_in_reverse)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC(abc);
    weft_pid s = top(&spec);
    want_trace("+a+b+c");
    stop_top(s, "-c-b-a");
    want(!exists("a") && !exists("b") && !exists("c"));
}
PLAY(children_start_in_order_and_stop_in_reverse)

BODY(one_for_one)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC_WITH(abc, .strategy = WEFT_ONE_FOR_ONE);
    weft_pid s = top(&spec), old = named("b"), a = named("a");
    want_trace("+a+b+c");
    tell("b", EXIT, 17);
    want_now("-b+b");
    want(!weft_pid_equal(old, named("b"))); /* a new actor, the same name */
    want(weft_pid_equal(a, named("a")));
    tell("b", EXIT, WEFT_EXIT_NORMAL); /* permanent: that, too */
    want_now("-b+b");
    want_int(weft_stop(named("b")), 0); /* and by whomever it was stopped */
    want_now("-b+b");
    stop_top(s, "-c-b-a"); /* in the order of the list, not of the last start */
}
PLAY(one_for_one)

BODY(one_for_all)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC_WITH(abcd, .strategy = WEFT_ONE_FOR_ALL);
    weft_pid s = top(&spec);
    clear();
    tell("b", FAIL, 17);
    want_now("-b-d-c-a+a+b+c+d");
    stop_top(s, "-d-c-b-a");
}
PLAY(one_for_all)

BODY(rest_for_one)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC_WITH(abcd, .strategy = WEFT_REST_FOR_ONE);
    weft_pid s = top(&spec);
    clear();
    tell("b", EXIT, 17);
    want_now("-b-d-c+b+c+d");
    tell("d", EXIT, 17);
    want_now("-d+d");
    stop_top(s, "-d-c-b-a");
}
PLAY(rest_for_one)

BODY(restart_kinds)
{
    NO_ARGS;
    static const weft_child_spec kids[] = {CHILD_WITH("p", .restart = WEFT_PERMANENT),
                                           CHILD_WITH("t", .restart = WEFT_TRANSIENT),
                                           CHILD_WITH("x", .restart = WEFT_TEMPORARY)};
    static const weft_supervisor_spec spec = SPEC_WITH(kids, .max_restarts = 100);
    static const int reasons[] = {WEFT_EXIT_NORMAL, WEFT_EXIT_STOPPED, WEFT_EXIT_FAILED, WEFT_ENOMEM, 17};
    for (size_t i = 0; i < WF_COUNT(reasons); i++) {
        weft_pid s = top(&spec);
        struct weft_child_info infos[3];
        bool failure = i >= 2;
        clear();
        tell("p", EXIT, reasons[i]);
        want_now("-p+p");
        tell("t", EXIT, reasons[i]);
        want_now(failure ? "-t+t" : "-t");
        tell("x", EXIT, reasons[i]);
        want_now("-x");
        want_int(weft_children(s, infos, 3, WEFT_FOREVER), failure ? 2 : 1); /* done is off the list */
        want_int(infos[0].restarts, 1);
        want_int(infos[0].reason, reasons[i]);
        stop_top(s, failure ? "-t-p" : "-p");
    }
}
PLAY(restart_kinds)

BODY(a_group_takes_along_what_ended_well_but_not_the_temporary)
{
    NO_ARGS;
    static const weft_child_spec kids[] = {CHILD_WITH("s", .restart = WEFT_TRANSIENT),
                                           CHILD_WITH("x", .restart = WEFT_TEMPORARY), CHILD("p")};
    static const weft_supervisor_spec spec = SPEC_WITH(kids, .strategy = WEFT_ONE_FOR_ALL);
    weft_pid s = top(&spec);
    struct weft_child_info infos[3];
    tell("s", EXIT, WEFT_EXIT_NORMAL);
    want_now("+s+x+p-s");
    want_int(weft_children(s, infos, 3, WEFT_FOREVER), 3);
    want_int(infos[0].state, WEFT_CHILD_ENDED);
    want(weft_pid_is_nobody(infos[0].pid));
    tell("p", EXIT, 17);
    want_now("-p-x+s+p");
    want_int(weft_children(s, infos, 3, WEFT_FOREVER), 2);
    want(strcmp(infos[0].name, "s") == 0 && infos[0].state == WEFT_CHILD_RUNNING);
    want(strcmp(infos[1].name, "p") == 0 && infos[1].state == WEFT_CHILD_RUNNING);
    stop_top(s, "-p-s");
}
PLAY(a_group_takes_along_what_ended_well_but_not_the_temporary)

/* b hangs when it is to stop; meanwhile a ends by itself, which is not another failure. */
BODY(a_child_that_dies_while_its_group_stops)
{
    NO_ARGS;
    static const weft_child_spec kids[] = {CHILD("a"), CHILD_WITH("b", .stop_timeout = WEFT_SEC(1)), CHILD("c")};
    static const weft_supervisor_spec spec = SPEC_WITH(kids, .strategy = WEFT_ONE_FOR_ALL, .max_restarts = 1);
    weft_pid s = top(&spec);
    clear();
    tell("b", HANG, 0);
    tell("c", EXIT, 17);
    want_now("-c");
    tell("a", EXIT, 17);
    want_now("-a");
    want_int(weft_advance(WEFT_SEC(1)), 0);
    want_now("-b+a+b+c");
    want(!weft_pid_is_nobody(s));
    stop_top(s, "-c-b-a");
}
PLAY(a_child_that_dies_while_its_group_stops)

/* While b is not ready again, a dies: b is stopped, and all begins anew. */
BODY(a_child_that_dies_while_its_group_starts)
{
    NO_ARGS;
    static const weft_child_spec kids[] = {CHILD("a"), CHILD_WITH("b", .await_ready = true), CHILD("c")};
    static const weft_supervisor_spec spec = SPEC_WITH(kids, .strategy = WEFT_ONE_FOR_ALL);
    weft_pid s = top(&spec);
    want_now("+a+b");
    tell("b", READY, 0);
    want_now("+c");
    tell("c", EXIT, 17);
    want_now("-c-b-a+a+b");
    tell("a", EXIT, 17);
    want_now("-a-b+a+b");
    tell("b", READY, 0);
    want_now("+c");
    stop_top(s, "-c-b-a");
}
PLAY(a_child_that_dies_while_its_group_starts)

/* ---- Intensity, back-off, escalation --------------------------------------------------------------------------- */

BODY(too_many_restarts_within_the_period)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC_WITH(abc, .max_restarts = 2, .period = WEFT_SEC(10));
    weft_pid s = top(&spec);
    clear();
    for (int i = 0; i < 5; i++) { /* two in each period of 10 s and a nanosecond are not too many */
        tell("a", EXIT, 17);
        want_now("-a+a");
        want_int(weft_advance(WEFT_SEC(5)), 0);
        want_int(weft_advance(i % 2), 0);
    }
    want_int(weft_advance(WEFT_SEC(10) + 1), 0);
    tell("a", EXIT, 17);
    want_now("-a+a");
    want_int(weft_advance(WEFT_SEC(5)), 0);
    tell("b", EXIT, 17); /* of whichever child */
    want_now("-b+b");
    want_int(weft_advance(WEFT_SEC(5)), 0);
    tell("c", FAIL, 18); /* the third within 10 s */
    want_now("-c-b-a");
    struct weft_down down = down_now();
    want(weft_pid_equal(down.who, s));
    want_int(down.reason, WEFT_EXIT_GAVE_UP);
    want_text(&down, "more than 2 restarts in 10 s, the last of c: supervisor_kit.h:");
    want_text(&down, ": c has failed");
}
PLAY(too_many_restarts_within_the_period)

BODY(no_restarts_at_all)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC_WITH(abc, .max_restarts = WEFT_NO_RESTARTS);
    top(&spec);
    clear();
    tell("b", EXIT, 17);
    want_now("-b-c-a");
    struct weft_down down = down_now();
    want_int(down.reason, WEFT_EXIT_GAVE_UP);
    want_text(&down, "b: reason 17");
}
PLAY(no_restarts_at_all)

BODY(escalation_through_two_levels)
{
    NO_ARGS;
    static const weft_child_spec leaves[] = {CHILD("x"), CHILD("y")};
    static const weft_supervisor_spec low = SPEC_WITH(leaves, .max_restarts = 1);
    static const weft_supervisor_spec *const to_low = &low;
    static const weft_child_spec middles[] = {
        CHILD("m"),
        {.name = "low", .body = subtree, .arg = &to_low, .arg_size = sizeof to_low, .await_ready = true},
        CHILD("n")};
    static const weft_supervisor_spec middle = SPEC_WITH(middles, .strategy = WEFT_REST_FOR_ONE, .max_restarts = 1);
    static const weft_supervisor_spec *const to_middle = &middle;
    static const weft_child_spec tops[] = {
        CHILD("a"),
        {.name = "middle", .body = subtree, .arg = &to_middle, .arg_size = sizeof to_middle, .await_ready = true},
        CHILD("b")};
    static const weft_supervisor_spec high = SPEC_WITH(tops, .strategy = WEFT_ONE_FOR_ALL, .max_restarts = 1);
    weft_pid s = top(&high);
    struct weft_child_info infos[3];
    want_trace("+a+m+x+y+n+b"); /* b waits for the whole subtree */
    want_int(weft_children(s, infos, 3, WEFT_FOREVER), 3);
    want(infos[1].is_supervisor && !infos[0].is_supervisor);
    tell("x", EXIT, 17);
    want_now("-x+x");
    tell("x", EXIT, 17); /* low gives up, middle restarts it and what is after it */
    want_now("-x-y-n+x+y+n");
    tell("x", EXIT, 17);
    want_now("-x+x");
    tell("x", EXIT, 17); /* low gives up again, so middle does, too; high restarts all */
    want_now("-x-y-n-m-b-a+a+m+x+y+n+b");
    want_int(weft_children(s, infos, 3, WEFT_FOREVER), 3);
    want_int(infos[1].reason, WEFT_EXIT_GAVE_UP);
    want_int(infos[1].restarts, 1);
    for (int i = 0; i < 4; i++) {
        clear();
        tell("x", EXIT, 17);
        want_int(weft_settle(), 0);
    }
    want_trace("-x-y-n-m-b-a"); /* high, too */
    struct weft_down down = down_now();
    want_int(down.reason, WEFT_EXIT_GAVE_UP);
    want_text(&down, "the last of middle: more than 1 restarts in 5 s, the last of low: more than 1 restarts in 5 s");
}
PLAY(escalation_through_two_levels)

BODY(back_off_doubles_up_to_its_bound_and_begins_anew)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC_WITH(abc, .max_restarts = 1000, .period = WEFT_SEC(60),
                                                       .backoff_min = WEFT_MS(100), .backoff_max = WEFT_MS(700));
    static const int wait_ms[] = {100, 200, 400, 700, 700};
    weft_pid s = top(&spec);
    clear();
    for (size_t i = 0; i < WF_COUNT(wait_ms); i++) {
        struct weft_child_info infos[3];
        int64_t before = weft_now();
        tell("b", EXIT, 17);
        want_now("-b");
        want_int(weft_children(s, infos, 3, WEFT_FOREVER), 3); /* it does not wait, only b does */
        want_int(infos[1].state, WEFT_CHILD_WAITING);
        want(!exists("b"));
        want_int(weft_advance(WEFT_MS(wait_ms[i])), 0);
        want_int(times[0] - before, WEFT_MS(wait_ms[i]));
        want_now("+b");
    }
    want_int(weft_advance(WEFT_SEC(60)), 0); /* it has lived for a whole period */
    tell("b", EXIT, 17);
    int64_t before = weft_now();
    want_int(weft_advance(WEFT_MS(100)), 0);
    want_int(times[0] - before, WEFT_MS(100));
    want_now("-b+b");
    stop_top(s, "-c-b-a");
}
PLAY(back_off_doubles_up_to_its_bound_and_begins_anew)

BODY(back_off_holds_up_nobody_else)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC_WITH(abcd, .max_restarts = 1000, .backoff_min = WEFT_SEC(1));
    weft_pid s = top(&spec);
    clear();
    tell("a", EXIT, 17);
    want_now("-a");
    want_int(weft_advance(WEFT_MS(500)), 0);
    tell("c", EXIT, 17);
    want_now("-c");
    want_int(weft_advance(WEFT_MS(500)), 0);
    want_now("+a");
    want_int(weft_stop_child(s, "c", WEFT_FOREVER), 0); /* ends the waiting for it */
    want_int(weft_advance(WEFT_SEC(10)), 0);
    want_now("");
    tell("b", EXIT, 17);
    want_now("-b");
    stop_top(s, "-d-a"); /* at once */
}
PLAY(back_off_holds_up_nobody_else)

BODY(a_group_waits_for_the_back_off_together)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC_WITH(abc, .strategy = WEFT_REST_FOR_ONE, .max_restarts = 1000,
                                                       .backoff_min = WEFT_SEC(1));
    weft_pid s = top(&spec);
    clear();
    tell("b", EXIT, 17);
    want_now("-b-c");
    want_int(weft_advance(WEFT_MS(999)), 0);
    tell("a", EXIT, 17); /* the group grows, and waits for both */
    want_now("-a");
    want_int(weft_advance(WEFT_MS(999)), 0);
    want_now("");
    want_int(weft_advance(WEFT_MS(1)), 0);
    want_now("+a+b+c");
    stop_top(s, "-c-b-a");
}
PLAY(a_group_waits_for_the_back_off_together)

BODY(jitter_waits_between_half_and_whole)
{
    NO_ARGS;
    static const weft_child_spec one[] = {CHILD("a")};
    static const weft_supervisor_spec spec = SPEC_WITH(one, .max_restarts = 1000, .backoff_min = WEFT_SEC(1),
                                                       .backoff_max = WEFT_SEC(1), .jitter = true);
    weft_pid s = top(&spec);
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < 100; i++) {
        clear();
        int64_t before = weft_now();
        tell("a", EXIT, 17);
        want_int(weft_advance(WEFT_SEC(1)), 0);
        want_int(starts, 1);
        least = WF_MIN(least, times[0] - before);
        most = WF_MAX(most, times[0] - before);
    }
    want(least >= WEFT_MS(500) && least < WEFT_MS(600));
    want(most <= WEFT_SEC(1) && most > WEFT_MS(900));
    clear();
    stop_top(s, "-a");
}
PLAY(jitter_waits_between_half_and_whole)

TEST_MAIN("supervisor", children_start_in_order_and_stop_in_reverse, one_for_one, one_for_all, rest_for_one,
          restart_kinds, a_group_takes_along_what_ended_well_but_not_the_temporary,
          a_child_that_dies_while_its_group_stops, a_child_that_dies_while_its_group_starts,
          too_many_restarts_within_the_period, no_restarts_at_all, escalation_through_two_levels,
          back_off_doubles_up_to_its_bound_and_begins_anew, back_off_holds_up_nobody_else,
          a_group_waits_for_the_back_off_together, jitter_waits_between_half_and_whole)

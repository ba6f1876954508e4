/* actors/lifecycle/supervisor.c, child.c: how children start and stop, and with them their supervisor; bad input. */
#include "supervisor_kit.h"

#include "../../../capture.h"
#include "log.h"
#include "supervisor.h"

/* ---- Starting -------------------------------------------------------------------------------------------------- */

BODY(the_next_child_starts_when_the_one_before_is_ready)
{
    NO_ARGS;
    static const weft_child_spec kids[] = {CHILD_WITH("a", .await_ready = true), CHILD_WITH("b", .await_ready = true),
                                           CHILD("c")};
    static const weft_supervisor_spec spec = SPEC(kids);
    weft_pid s = top(&spec);
    struct weft_child_info infos[3];
    want_trace("+a");
    want_int(weft_children(s, infos, 2, WEFT_FOREVER), 3);
    want_int(infos[0].state, WEFT_CHILD_STARTING);
    want_int(infos[1].state, WEFT_CHILD_WAITING);
    want_int(weft_advance(WEFT_SEC(29)), 0);
    tell("a", READY, 0);
    want_now("+b");
    tell("a", READY, 0); /* says nothing new */
    want_now("");
    tell("b", READY, 0);
    want_now("+c");
    stop_top(s, "-c-b-a");
    want_int(weft_ready(), 0); /* nobody's child */
}
PLAY(the_next_child_starts_when_the_one_before_is_ready)

static const weft_child_spec a_fails_c[] = {
    CHILD("a"), {.name = "f", .body = fails, .arg = "f", .arg_size = 1, .await_ready = true}, CHILD("c")};

BODY(a_child_that_does_not_start_at_first_ends_its_supervisor)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC_WITH(a_fails_c, .max_restarts = 1000);
    static const int reasons[] = {17, WEFT_EREFUSED, WEFT_EXIT_NORMAL};
    for (size_t i = 0; i < WF_COUNT(reasons); i++) {
        fail_starts = 1;
        fail_reason = reasons[i];
        top(&spec);
        want_trace("+a+f-f-a");
        struct weft_down down = down_now();
        want_int(down.reason, reasons[i] == WEFT_EXIT_NORMAL ? WEFT_EXIT_FAILED : reasons[i]);
        want_text(&down, "child f did not start: ");
        want_text(&down, reasons[i] == WEFT_EXIT_NORMAL ? "normal" : "no luck");
    }
}
PLAY(a_child_that_does_not_start_at_first_ends_its_supervisor)

BODY(a_start_that_takes_too_long_is_a_failed_one)
{
    NO_ARGS;
    static const weft_child_spec kids[] = {CHILD("a"),
                                           CHILD_WITH("b", .await_ready = true, .start_timeout = WEFT_SEC(2))};
    static const weft_supervisor_spec spec = SPEC(kids);
    top(&spec);
    want_trace("+a+b");
    want_int(weft_advance(WEFT_SEC(2)), 0);
    want_now("-b-a");
    struct weft_down down = down_now();
    want_int(down.reason, WEFT_EXIT_KILLED);
    want_text(&down, "child b did not start: it was not ready in time");
}
PLAY(a_start_that_takes_too_long_is_a_failed_one)

BODY(a_failed_restart_counts_and_is_tried_again)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC_WITH(a_fails_c, .strategy = WEFT_REST_FOR_ONE, .max_restarts = 3,
                                                       .period = WEFT_SEC(100), .backoff_min = WEFT_SEC(1));
    fail_starts = 0;
    fail_reason = WEFT_EREFUSED;
    top(&spec);
    clear();
    fail_starts = 1;
    tell("f", EXIT, 17);
    want_now("-f-c");
    want_int(weft_advance(WEFT_SEC(1)), 0);
    want_now("+f-f");
    want_int(weft_advance(WEFT_SEC(2)), 0);
    want_now("+f+c");
    fail_starts = 10;
    tell("f", EXIT, 17);
    want_int(weft_advance(WEFT_SEC(4)), 0);
    want_now("-f-c+f-f-a"); /* the fourth one is too many */
    struct weft_down down = down_now();
    want_int(down.reason, WEFT_EXIT_GAVE_UP);
    want_text(&down, "f: supervisor_kit.h:");
    fail_starts = 0;
}
PLAY(a_failed_restart_counts_and_is_tried_again)

static void squatter(const void *arg, size_t size)
{
    (void)size;
    want_int(weft_register(arg), 0);
    (void)weft_sleep(WEFT_FOREVER);
}

BODY(a_name_that_is_taken_keeps_a_child_from_starting)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC(abc);
    weft_pid squat;
    want_int(weft_spawn(&squat, squatter, "b", 2, NULL), 0);
    want_int(weft_settle(), 0);
    top(&spec);
    want_trace("+a-a");
    struct weft_down down = down_now();
    want_int(down.reason, WEFT_EEXIST);
    want_text(&down, "child b did not start: name is taken");
    want_int(weft_stop(squat), 0);
    static const weft_child_spec two[] = {CHILD_WITH("u", .unregistered = true)};
    static const weft_supervisor_spec same = SPEC(two);
    weft_pid s = top(&same), t = top(&same); /* two with the same name under two supervisors */
    want_now("+u+u");
    want(!exists("u"));
    stop_top(s, "-u");
    stop_top(t, "-u");
}
PLAY(a_name_that_is_taken_keeps_a_child_from_starting)

/* ---- Stopping -------------------------------------------------------------------------------------------------- */

BODY(a_child_that_ignores_its_stop_is_killed_at_the_deadline)
{
    NO_ARGS;
    static const weft_child_spec kids[] = {CHILD("a"), CHILD_WITH("b", .stop_timeout = WEFT_SEC(2)), CHILD("c")};
    static const weft_supervisor_spec spec = SPEC(kids);
    weft_pid s = top(&spec);
    clear();
    tell("b", HANG, 0);
    tell("c", HANG, 0);
    want_int(weft_settle(), 0);
    want_int(weft_stop(s), 0);
    want_int(weft_advance(WEFT_SEC(5) - 1), 0);
    want_now("");
    want_int(weft_advance(1), 0); /* the grace period of the node */
    want_now("-c");
    want_int(weft_advance(WEFT_SEC(2) - 1), 0);
    want_now("");
    want_int(weft_advance(1), 0);
    want_now("-b-a");
    want_int(down_now().reason, WEFT_EXIT_STOPPED); /* though this took longer than a grace period */
}
PLAY(a_child_that_ignores_its_stop_is_killed_at_the_deadline)

BODY(a_supervisor_is_given_the_time_its_children_need)
{
    NO_ARGS;
    static const weft_supervisor_spec low = SPEC(abc);
    static const weft_supervisor_spec *const to_low = &low;
    static const weft_child_spec kids[] = {
        CHILD("x"), {.name = "low", .body = subtree, .arg = &to_low, .arg_size = sizeof to_low, .await_ready = true}};
    static const weft_supervisor_spec spec = SPEC(kids);
    weft_pid s = top(&spec);
    want_trace("+x+a+b+c");
    tell("a", HANG, 0);
    tell("b", HANG, 0);
    tell("c", HANG, 0);
    want_int(weft_settle(), 0);
    want_int(weft_stop(s), 0);
    want_int(weft_advance(WEFT_SEC(15) - 1), 0);
    want_now("-c-b");
    want_int(weft_advance(1), 0);
    want_now("-a-x");
    want_int(down_now().reason, WEFT_EXIT_STOPPED);
}
PLAY(a_supervisor_is_given_the_time_its_children_need)

BODY(children_of_a_killed_supervisor_end)
{
    NO_ARGS;
    static const weft_child_spec kids[] = {CHILD("a"), CHILD_WITH("k", .keep_mailbox = true), CHILD("c")};
    static const weft_supervisor_spec spec = SPEC_WITH(kids, .backoff_min = WEFT_SEC(1));
    for (int i = 0; i < 2; i++) {
        weft_pid s = top(&spec);
        clear();
        if (i == 1) tell("k", EXIT, 17); /* between two lives */
        want_int(weft_settle(), 0);
        want_int(weft_kill(s), 0);
        want_int(weft_settle(), 0);
        want_int(traced, 6);
        want(strstr(trace, "-a") != NULL && strstr(trace, "-k") != NULL && strstr(trace, "-c") != NULL);
        want(!exists("a") && !exists("k") && !exists("c"));
        want_int(down_now().reason, WEFT_EXIT_KILLED);
    }
}
PLAY(children_of_a_killed_supervisor_end)

static void parent(const void *arg, size_t size)
{
    (void)size;
    const weft_supervisor_spec *spec = *(const weft_supervisor_spec *const *)arg;
    want_int(weft_spawn(NULL, subtree, &spec, sizeof spec, &(weft_spawn_options){.link = true}), 0);
    obey('p');
}

BODY(a_supervisor_ends_with_the_actor_it_is_linked_to)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC(abc);
    const weft_supervisor_spec *p = &spec;
    weft_pid pid;
    want_int(weft_spawn(&pid, parent, &p, sizeof p, NULL), 0);
    want_now("+a+b+c");
    want_int(say(pid, EXIT, 17), 0);
    want_now("-c-b-a"); /* in order */
    want_int(weft_spawn(&pid, parent, &p, sizeof p, NULL), 0);
    want_now("+a+b+c");
    want_int(say(pid, EXIT, WEFT_EXIT_NORMAL), 0);
    want_now(""); /* a normal end stops nobody; the end of the test will, in order, which play_end looks at */
}

START_TEST(a_supervisor_ends_with_the_actor_it_is_linked_to)
{
    play(a_supervisor_ends_with_the_actor_it_is_linked_to_body);
    ck_assert_str_eq(trace, "-c-b-a"); /* the end of a node is in order, too */
}
END_TEST

static struct test_word all_are_up;

static void says_when_all_are_up(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid last;
    want_int(weft_await_name("c", &last, WEFT_FOREVER), 0);
    int64_t value = 0;
    weft_msg *m;
    want_int(weft_call(last, ASK, &value, sizeof value, &m, WEFT_FOREVER), 0); /* it has begun */
    word_say(&all_are_up);
}

START_TEST(the_end_of_a_node_is_in_order)
{
    static const weft_supervisor_spec spec = SPEC(abc);
    const weft_supervisor_spec *to_spec = &spec;
    clear();
    word_begin(&all_are_up);
    weft_node *n = node_of(1);
    want_int(weft_node_spawn(n, NULL, subtree, &to_spec, sizeof to_spec, NULL), 0);
    node_spawn(n, 1, says_when_all_are_up);
    word_await(&all_are_up);
    ck_assert_int_eq(wf_node_drain(n, weft_after(WEFT_SEC(60))), 0);
    node_finish(n);
    wf_node_destroy(n);
    ck_assert_str_eq(trace, "+a+b+c-c-b-a");
    word_end(&all_are_up);
}
END_TEST

/* ---- The log ---------------------------------------------------------------------------------------------------- */

enum { LIVES = 300 };
static int lives;

/* Each time for another reason. */
static void fails_again(const void *arg, size_t size)
{
    (void)arg, (void)size;
    if (++lives <= LIVES) weft_fail(WEFT_EXIT_FAILED, "life %d", lives);
    word_say(&all_are_up);
}

static void supervise_failing(const void *arg, size_t size)
{
    const weft_child_spec kids[] = {{.name = "a", .body = fails_again, .restart = WEFT_TRANSIENT}};
    const weft_supervisor_spec spec = SPEC_WITH(kids, .max_restarts = 2 * LIVES, .period = WEFT_SEC(1));
    (void)arg, (void)size;
    weft_ignore(weft_supervise(&spec));
}

static size_t count_of(const char *said, const char *text)
{
    size_t n = 0;
    for (; (said = strstr(said, text)) != NULL; said++) n++;
    return n;
}

/* 4 lines, times 5. */
START_TEST(children_that_fail_all_the_time_write_a_limited_number_of_lines)
{
    static char said[128 * 1024];
    lives = 0;
    weft_log_repeats(4, WEFT_SEC(3600));
    capture_state c = capture_start();
    weft_node *n = node_of(1);
    word_begin(&all_are_up);
    node_spawn(n, 1, supervise_failing);
    word_await(&all_are_up);
    ck_assert_int_eq(wf_node_drain(n, weft_after(WEFT_SEC(60))), 0);
    node_finish(n);
    wf_node_destroy(n);
    wf_log_write_repeats();
    (void)capture_end(&c, said, sizeof said);
    weft_log_repeats(20, WEFT_SEC(10));
    word_end(&all_are_up);
    ck_assert_int_eq(lives, LIVES + 1);
    ck_assert_uint_eq(count_of(said, "child a has ended"), 20);
    ck_assert_uint_eq(count_of(said, ": life "), 2 * 20);
    ck_assert_uint_eq(count_of(said, "repeated=280 "), 2);
}
END_TEST

/* ---- Bad input ------------------------------------------------------------------------------------------------- */

static int supervise_result;

static void supervise_and_tell(const void *arg, size_t size)
{
    (void)size;
    supervise_result = weft_supervise(*(const weft_supervisor_spec *const *)arg);
}

static void want_invalid(const weft_supervisor_spec *spec)
{
    supervise_result = 0;
    want_int(weft_spawn(NULL, supervise_and_tell, &spec, sizeof spec, NULL), 0);
    want_now("");
    want_int(supervise_result, WEFT_EINVAL);
}

BODY(bad_specs_start_nothing)
{
    NO_ARGS;
    static char big[WEFT_CHILD_ARG_MAX + 1];
    static const char long_name[] = "a2345678901234567890123456789012345678901234567890123456789012345";
    const weft_child_spec bad[] = {
        {.name = NULL, .body = player},
        {.name = "", .body = player},
        {.name = "a b", .body = player},
        {.name = long_name, .body = player},
        {.name = "b", .body = NULL},
        {.name = "b", .body = player, .arg = big, .arg_size = sizeof big},
        {.name = "b", .body = player, .arg = NULL, .arg_size = 1},
        CHILD_WITH("b", .restart = (weft_restart)3),
        CHILD_WITH("b", .start_timeout = -1),
        CHILD_WITH("b", .stop_timeout = -1),
        CHILD_WITH("b", .options = {.link = true}),
        CHILD_WITH("b", .options = {.monitor = &(weft_monitor_ref){0}}),
        CHILD("a"), /* twice */
    };
    static const weft_supervisor_spec good = SPEC(abc);
    weft_pid s = top(&good);
    clear();
    for (size_t i = 0; i < WF_COUNT(bad); i++) {
        weft_child_spec kids[] = {CHILD("a"), bad[i]};
        const weft_supervisor_spec spec = SPEC(kids);
        want_invalid(&spec);
        want_int(weft_start_child(s, &bad[i], NULL, WEFT_FOREVER),
                 i + 1 == WF_COUNT(bad) ? WEFT_EEXIST : WEFT_EINVAL);
    }
    const weft_supervisor_spec wrong[] = {
        SPEC_WITH(abc, .strategy = (weft_strategy)3),
        {.children = NULL, .child_count = 1},
        {.children = abc, .child_count = SIZE_MAX},
        SPEC_WITH(abc, .max_restarts = -2),
        SPEC_WITH(abc, .max_restarts = WEFT_RESTARTS_MAX + 1),
        SPEC_WITH(abc, .period = -1),
        SPEC_WITH(abc, .backoff_min = -1),
        SPEC_WITH(abc, .backoff_max = -1),
        SPEC_WITH(abc, .backoff_min = 2, .backoff_max = 1),
    };
    for (size_t i = 0; i < WF_COUNT(wrong); i++) want_invalid(&wrong[i]);
    want_invalid(NULL);
    want_int(weft_start_child(s, NULL, NULL, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_start_child(weft_nobody(), &abc[0], NULL, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_stop_child(s, NULL, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_stop_child(s, "", WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_children(s, NULL, 1, WEFT_FOREVER), WEFT_EINVAL);
    stop_top(s, "-c-b-a");
}
PLAY(bad_specs_start_nothing)

BODY(strange_messages_are_dropped)
{
    NO_ARGS;
    static const weft_supervisor_spec spec = SPEC(abc);
    weft_pid s = top(&spec);
    weft_msg *m;
    clear();
    for (uint32_t tag = WEFT_TAG_SYSTEM - 5; tag < WEFT_TAG_SYSTEM; tag++) want_int(say(s, tag, 1), 0);
    want_int(weft_call(s, 77, NULL, 0, &m, WEFT_FOREVER), WEFT_ENOREPLY);
    for (uint32_t tag = WEFT_TAG_SYSTEM - 2; tag < WEFT_TAG_SYSTEM; tag++) {
        want_int(weft_call(s, tag, "?", 1, &m, WEFT_FOREVER), 0); /* an answer that says WEFT_EFORMAT */
        weft_msg_free(m);
    }
    want_int(weft_children(s, NULL, 0, WEFT_FOREVER), 3);
    stop_top(s, "-c-b-a");
}
PLAY(strange_messages_are_dropped)

static void answers_all(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (weft_msg *m; weft_recv(&m, WEFT_FOREVER) == 0; weft_msg_free(m)) {
        char none[2 * sizeof(struct weft_child_info)] = {0};
        weft_ignore(weft_reply(m, 0, none,
                               weft_tag(m) == WF_TAG_LIST_CHILDREN ? sizeof none : sizeof(struct wf_child_answer)));
    }
}

BODY(an_actor_that_is_no_supervisor_has_no_children)
{
    NO_ARGS;
    weft_pid p;
    struct weft_child_info infos[2];
    want_int(weft_spawn(&p, answers_all, NULL, 0, NULL), 0);
    want_int(weft_children(p, infos, 2, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_start_child(p, &abc[0], NULL, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_stop_child(p, "a", WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_kill(p), 0);
}
PLAY(an_actor_that_is_no_supervisor_has_no_children)

START_TEST(functions_of_supervisors_are_refused_outside_of_actors)
{
    ck_assert_int_eq(weft_supervise(&(weft_supervisor_spec){0}), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_ready(), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_start_child(weft_nobody(), &abc[0], NULL, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_stop_child(weft_nobody(), "a", WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_children(weft_nobody(), NULL, 0, WEFT_NOW), WEFT_ENOTACTOR);
}
END_TEST

/* ---- In a clean-up --------------------------------------------------------------------------------------------- */

static void supervise_too_late(void *arg)
{
    static const weft_supervisor_spec empty = {.child_count = 0};
    int *result = arg;
    *result = weft_supervise(&empty);
}

static void ends_as_a_supervisor(const void *arg, size_t size)
{
    (void)size;
    int *result = *(int *const *)arg;
    want_int(weft_defer(supervise_too_late, result), 0);
}

BODY(a_clean_up_cannot_supervise)
{
    NO_ARGS;
    int result = 0, *at = &result;
    weft_monitor_ref ref;
    want_int(weft_spawn(NULL, ends_as_a_supervisor, &at, sizeof at, &(weft_spawn_options){.monitor = &ref}), 0);
    want_int(down_now().reason, WEFT_EXIT_NORMAL);
    want_int(result, WEFT_EINVAL);
}
PLAY(a_clean_up_cannot_supervise)

TEST_MAIN("supervisor_life", the_next_child_starts_when_the_one_before_is_ready,
          a_child_that_does_not_start_at_first_ends_its_supervisor, a_start_that_takes_too_long_is_a_failed_one,
          a_failed_restart_counts_and_is_tried_again, a_name_that_is_taken_keeps_a_child_from_starting,
          a_child_that_ignores_its_stop_is_killed_at_the_deadline, a_supervisor_is_given_the_time_its_children_need,
          children_of_a_killed_supervisor_end, a_supervisor_ends_with_the_actor_it_is_linked_to,
          the_end_of_a_node_is_in_order, children_that_fail_all_the_time_write_a_limited_number_of_lines,
          bad_specs_start_nothing, strange_messages_are_dropped, an_actor_that_is_no_supervisor_has_no_children,
          functions_of_supervisors_are_refused_outside_of_actors, a_clean_up_cannot_supervise)

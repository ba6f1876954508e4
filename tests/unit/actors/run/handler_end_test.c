/* Handlers: every kind of end, in each of their states, and bodies that become handlers. */
#include "handlers.h"

#include <weft/supervisor.h>

/* ---- Endings --------------------------------------------------------------------------------------------------- */

enum place { AT_IDLE, IN_CALL, IN_SLEEP, IN_RECV, PLACES };
enum way { STOP, KILL, LINK, EXIT, FAIL, TRAPPED, WAYS };
static const int reasons[WAYS] = {WEFT_EXIT_STOPPED, WEFT_EXIT_KILLED, OWN_REASON,
                                  OWN_REASON,        OWN_REASON,       WEFT_EXIT_STOPPED};

struct ending {
    weft_pid parent, deaf;
    int place, way;
    int64_t mark;
};
static int undone;

/* The state is there until the clean-ups have run, and they may wait. */
static void undo(void *arg)
{
    struct ending *e = arg;
    want_int(e->mark, 4711);
    want_int(weft_sleep(weft_after(WEFT_US(1))), 0);
    undone++;
}

static void hold(struct ending *e)
{
    want_int(weft_defer(undo, e), 0);
    want_int(weft_register("handler"), 0);
    want_int(weft_subscribe("some.topic", NULL), 0);
    want(weft_alloc(100) != NULL);
    want_int(weft_link(e->parent), 0);
    if (e->way == TRAPPED) want_int(weft_trap_stop(true), 0);
    want(weft_msg_new(DATA, 300) != NULL);
    want_int(say(e->parent, GO, 0), 0);
}

static void ends(void *state, weft_msg *m)
{
    struct ending *e = state;
    weft_msg *answer;
    if (weft_tag(m) == GO) {
        hold(e);
        if (e->place == IN_CALL) (void)weft_call(e->deaf, ASK, NULL, 0, &answer, WEFT_FOREVER);
        if (e->place == IN_SLEEP) (void)weft_sleep(WEFT_FOREVER);
        if (e->place == IN_RECV && weft_recv(&answer, WEFT_FOREVER) == 0) ends(state, answer);
    } else if (weft_tag(m) == WEFT_TAG_STOP) {
        weft_exit(WEFT_EXIT_STOPPED);
    } else if (e->way == EXIT) {
        weft_exit(OWN_REASON);
    } else {
        weft_fail(OWN_REASON, "as was wanted");
    }
}

static void deaf(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static void dies(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_link(k.other), 0);
    want_int(say(k.parent, GO, 0), 0);
    (void)hear(GO);
    weft_exit(OWN_REASON);
}

static void end_it(weft_pid p, int way)
{
    weft_pid linked;
    switch (way) {
    case STOP:
    case TRAPPED: want_int(weft_stop(p), 0); break;
    case KILL: want_int(weft_kill(p), 0); break;
    case LINK:
        linked = kid_with(dies, (struct kid){.other = p}, NULL);
        (void)hear(GO);
        want_int(say(linked, GO, 0), 0);
        break;
    default: want_int(weft_send(p, DATA, NULL, 0), 0);
    }
}

static void judge(const void *arg, size_t size)
{
    (void)size;
    struct ending e = *(const struct ending *)arg;
    e.parent = weft_self();
    e.mark = 4711;
    e.deaf = kid_on(1, deaf, 0);
    want_int(weft_trap_exits(true), 0);
    undone = 0;
    weft_pid p, found;
    weft_monitor_ref ref;
    want_int(weft_spawn_handler(&p, ends, &e, sizeof e, &(weft_spawn_options){.monitor = &ref, .worker = 1}), 0);
    want_int(weft_send(p, GO, NULL, 0), 0);
    want_int(hear(GO), 0);
    static const char *const places[] = {"mailbox", "an answer", "sleep", "mailbox"};
    await_wait(p, places[e.place]);
    want_int(peek(p)->task.state, e.place == AT_IDLE ? WF_TASK_STACKLESS : WF_TASK_WAITING);
    end_it(p, e.way);
    struct weft_down down;
    weft_msg *m;
    want_int(weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER), 0);
    want_int(weft_down_read(m, &down), 0);
    weft_msg_free(m);
    want_int(down.reason, reasons[e.way]);
    want_int(strstr(down.text, "as was wanted") != NULL, e.way == FAIL);
    want_int(undone, 1);
    want_int(weft_whereis("handler", &found), WEFT_ENOACTOR);
    want_int(weft_stop(e.deaf), 0);
}

/* With _EXIT and _FAIL, a handler that does not wait for messages would never end. */
START_TEST(a_handler_ends_in_every_way_wherever_it_is)
{
    for (int place = 0; place < PLACES; place++) {
        for (int way = 0; way < WAYS; way++) {
            bool by_message = way == EXIT || way == FAIL || way == TRAPPED;
            if (by_message && (place == IN_CALL || place == IN_SLEEP)) continue;
            struct ending e = {.place = place, .way = way};
            weft_node *n = node_of(1);
            want_int(weft_node_spawn(n, NULL, judge, &e, sizeof e, NULL), 0);
            node_end(n);
        }
    }
}
END_TEST

/* Ends an actor that has never run, with and without messages. */
static void early(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    struct weft_down down;
    for (int i = 0; i < 8; i++) {
        bool mail = i & 1, kill = i & 2;
        weft_monitor_ref ref;
        weft_pid p;
        weft_spawn_options o = {.monitor = &ref, .worker = i & 4 ? 2 : 1};
        want_int(weft_spawn_handler(&p, count_up, &(struct counter){.sum = 1}, sizeof(struct counter), &o), 0);
        if (mail) want_int(say(p, DATA, 1), 0);
        want_int(kill ? weft_kill(p) : weft_stop(p), 0);
        want_int(weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER), 0);
        want_int(weft_down_read(m, &down), 0);
        weft_msg_free(m);
        want_int(down.reason, kill ? WEFT_EXIT_KILLED : WEFT_EXIT_STOPPED);
    }
}

START_TEST(a_handler_that_has_not_run_ends_too)
{
    run_on(2, early);
}
END_TEST

static struct test_word all_spawned;

static void spawns(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 20; i++) {
        weft_pid p = handler_with(count_up, (struct counter){.sum = 1}, 1 + i % 2);
        if (i % 3 > 0) want_int(say(p, DATA, i), 0);
    }
    word_say(&all_spawned);
    (void)weft_sleep(WEFT_FOREVER);
}

START_TEST(a_node_ends_its_handlers)
{
    word_begin(&all_spawned);
    weft_node *n = node_of(2);
    node_spawn(n, 1, spawns);
    word_await(&all_spawned);
    want_int(wf_node_drain(n, weft_after(WEFT_SEC(20))), 0);
    node_end(n);
    word_end(&all_spawned);
}
END_TEST

/* ---- Bodies that become handlers ------------------------------------------------------------------------------- */

static void fails_at_three(void *state, weft_msg *m)
{
    struct counter *c = state;
    want_int(weft_handle(fails_at_three, NULL, 0), WEFT_EINVAL);
    c->calls++;
    if (weft_tag(m) == ASK) want_int(weft_reply(m, ASK, &c->calls, sizeof c->calls), 0);
    else if (c->calls == 3) weft_fail(OWN_REASON, "the third");
}

static void begins(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct counter c = {.calls = 0};
    want_int(weft_handle(fails_at_three, &c, sizeof c), 0);
    want_int(weft_handle(fails_at_three, &c, sizeof c), WEFT_EINVAL);
    (void)weft_sleep(weft_after(WEFT_US(1)));
}

static void supervises(const void *arg, size_t size)
{
    (void)size;
    weft_child_spec children[] = {{.name = "fresh", .body = begins},
                                  {.name = "kept", .body = begins, .keep_mailbox = true}};
    (void)weft_supervise(&(weft_supervisor_spec){.children = children, .child_count = 2, .max_restarts = 10});
    (void)arg;
}

static void supervised(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid top = kid_on(1, supervises, 0), first, again;
    static const char *const names[] = {"fresh", "kept"};
    for (int i = 0; i < 2; i++) {
        want_int(weft_await_name(names[i], &first, WEFT_FOREVER), 0);
        want_int(ask(first), 1);
        want_int(weft_send(first, DATA, NULL, 0), 0);
        want_int(weft_send(first, DATA, NULL, 0), 0);
        if (i == 0) until(weft_whereis(names[i], &again) == 0 && !weft_pid_equal(again, first));
        else again = first;
        want_int(ask(again), 1); /* a new state */
    }
    want_int(weft_stop(top), 0);
}

START_TEST(a_body_may_go_on_as_a_handler_under_a_supervisor)
{
    run_on(1, supervised);
}
END_TEST
TEST_MAIN("handler_end", a_handler_ends_in_every_way_wherever_it_is, a_handler_that_has_not_run_ends_too,
          a_node_ends_its_handlers, a_body_may_go_on_as_a_handler_under_a_supervisor)

/* An actor that makes one call after the other, none of which has to wait: calls marked [W] or [Y] in the headers let
 * other actors of the worker run after WF_TASK_BUDGET of them, and other calls never do. */
#include "../node_harness.h"

enum { DATA = 1, CALLS = 4 * WF_TASK_BUDGET };

static uint64_t rounds; /* of the other actor */

static struct {
    weft_pid sink, child;
    weft_event set;
    weft_latch open;
    weft_semaphore many;
    weft_timer timer;
    weft_udp udp;
    weft_listener listener;
    weft_stream stream, accepted;
} on;

static bool match_all(const weft_msg *m, void *arg)
{
    (void)m, (void)arg;
    return true;
}

static void nothing(const void *arg, size_t size)
{
    (void)arg, (void)size;
}

static void handle_nothing(void *state, weft_msg *m)
{
    (void)state, (void)m;
}

static void sleeps(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

/* ---- Calls that may let others run ----------------------------------------------------------------------------- */

static void send_one(void)
{
    want_int(weft_send(on.sink, DATA, NULL, 0), 0);
}

static void try_send(void)
{
    want_int(weft_try_send(on.sink, DATA, NULL, 0), 0);
}

static void send_msg(void)
{
    want_int(weft_send_msg(on.sink, weft_msg_new(DATA, 0)), 0);
}

static void try_send_msg(void)
{
    want_int(weft_try_send_msg(on.sink, weft_msg_new(DATA, 0)), 0);
}

static void send_name(void)
{
    want_int(weft_send_name("sink", DATA, NULL, 0), 0);
}

static void send_in_vain(void)
{
    want_int(weft_send(weft_nobody(), DATA, NULL, 0), WEFT_ENOBODY);
}

static void send_after(void)
{
    weft_later l;
    want_int(weft_send_after(WEFT_FOREVER, on.sink, DATA, NULL, 0, &l), 0);
    want_int(weft_later_cancel(l), 0);
}

static void send_every(void)
{
    weft_later l;
    want_int(weft_send_every(WEFT_FOREVER, 1, on.sink, DATA, NULL, 0, &l), 0);
    want_int(weft_later_cancel(l), 0);
}

static void publish(void)
{
    want_int(weft_publish("topic", DATA, NULL, 0), 0);
}

static void publish_msg(void)
{
    want_int(weft_publish_msg("topic", weft_msg_new(DATA, 0)), 0);
}

static void publish_retained(void)
{
    want_int(weft_publish_retained("kept", DATA, NULL, 0), 0);
}

static void receive(void)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT);
}

static void receive_tag(void)
{
    weft_msg *m;
    want_int(weft_recv_tag(&m, DATA, WEFT_NOW), WEFT_ETIMEDOUT);
}

static void receive_match(void)
{
    weft_msg *m;
    want_int(weft_recv_match(&m, match_all, NULL, WEFT_NOW), WEFT_ETIMEDOUT);
}

static void sleep_no_time(void)
{
    want_int(weft_sleep(WEFT_NOW), 0);
}

static void await_event(void)
{
    want_int(weft_event_await(on.set, WEFT_FOREVER), 0);
}

static void await_latch(void)
{
    want_int(weft_latch_await(on.open, WEFT_FOREVER), 0);
}

static void await_semaphore(void)
{
    want_int(weft_semaphore_await(on.many, WEFT_FOREVER), 0);
}

static void await_timer(void)
{
    want_int(weft_timer_await(on.timer, WEFT_NOW), WEFT_ETIMEDOUT);
}

static void await_name(void)
{
    weft_pid found;
    want_int(weft_await_name("sink", &found, WEFT_FOREVER), 0);
}

static void wait_any(void)
{
    const weft_wait sources[] = {weft_on_mailbox(), weft_on_event(on.set)};
    want_int(weft_wait_any(sources, 2, WEFT_FOREVER), 1);
}

static void wait_all(void)
{
    const weft_wait sources[] = {weft_on_event(on.set), weft_on_latch(on.open)};
    want_int(weft_wait_all(sources, 2, WEFT_FOREVER), 0);
}

static void receive_datagram(void)
{
    char byte;
    want_int(weft_udp_receive(on.udp, &byte, 1, NULL, WEFT_NOW), WEFT_ETIMEDOUT);
}

static void accept_none(void)
{
    weft_stream s;
    want_int(weft_accept(on.listener, &s, WEFT_NOW), WEFT_ETIMEDOUT);
}

static void read_none(void)
{
    char byte;
    want_int(weft_read(on.stream, &byte, 1, WEFT_NOW), WEFT_ETIMEDOUT);
}

static void spawn(void)
{
    want_int(weft_spawn(NULL, nothing, NULL, 0, NULL), 0);
}

static void spawn_handler(void)
{
    weft_pid p;
    want_int(weft_spawn_handler(&p, handle_nothing, NULL, 0, NULL), 0);
    want_int(weft_kill(p), 0);
}

static void join_and_leave(void)
{
    want_int(weft_group_join("group"), 0);
    want_int(weft_group_leave("group"), 0);
}

static void send_to_group(void)
{
    want_int(weft_group_send("group", DATA, NULL, 0), 0);
}

static void watch_group(void)
{
    want_int(weft_group_watch("group"), 0);
    want_int(weft_group_unwatch("group"), 0);
}

/* ---- Calls that do not ----------------------------------------------------------------------------------------- */

static void monitor(void)
{
    weft_monitor_ref r;
    want_int(weft_monitor(on.child, &r), 0);
    want_int(weft_demonitor(r), 0);
}

static void link_and_unlink(void)
{
    want_int(weft_link(on.child), 0);
    want_int(weft_unlink(on.child), 0);
}

static void register_name(void)
{
    want_int(weft_register("name"), 0);
    want_int(weft_unregister("name"), 0);
}

static void subscribe(void)
{
    weft_subscription s;
    want_int(weft_subscribe("none", &s), 0);
    want_int(weft_unsubscribe(s), 0);
}

static void open_timer(void)
{
    weft_timer t;
    want_int(weft_timer_open(&t, WEFT_FOREVER, 0), 0);
    want_int(weft_timer_close(t), 0);
}

static void set_event(void)
{
    want_int(weft_event_set(on.set), 0);
    want_int(weft_semaphore_post(on.many, 1), 0);
}

static void look_up(void)
{
    weft_pid found;
    want_int(weft_whereis("sink", &found), 0);
    want_int(weft_group_members("group", NULL, 0), 0);
}

static const struct {
    const char *name;
    void (*call)(void);
    bool yields;
} rows[] = {
    {"weft_send", send_one, true},
    {"weft_try_send", try_send, true},
    {"weft_send_msg", send_msg, true},
    {"weft_try_send_msg", try_send_msg, true},
    {"weft_send_name", send_name, true},
    {"weft_send to nobody", send_in_vain, true},
    {"weft_send_after", send_after, true},
    {"weft_send_every", send_every, true},
    {"weft_publish", publish, true},
    {"weft_publish_msg", publish_msg, true},
    {"weft_publish_retained", publish_retained, true},
    {"weft_recv", receive, true},
    {"weft_recv_tag", receive_tag, true},
    {"weft_recv_match", receive_match, true},
    {"weft_sleep", sleep_no_time, true},
    {"weft_event_await", await_event, true},
    {"weft_latch_await", await_latch, true},
    {"weft_semaphore_await", await_semaphore, true},
    {"weft_timer_await", await_timer, true},
    {"weft_await_name", await_name, true},
    {"weft_wait_any", wait_any, true},
    {"weft_wait_all", wait_all, true},
    {"weft_udp_receive", receive_datagram, true},
    {"weft_accept", accept_none, true},
    {"weft_read", read_none, true},
    {"weft_spawn", spawn, true},
    {"weft_spawn_handler", spawn_handler, true},
    {"weft_group_join, weft_group_leave", join_and_leave, true},
    {"weft_group_send", send_to_group, true},
    {"weft_group_watch", watch_group, true},
    {"weft_monitor", monitor, false},
    {"weft_link", link_and_unlink, false},
    {"weft_register", register_name, false},
    {"weft_subscribe", subscribe, false},
    {"weft_timer_open", open_timer, false},
    {"weft_event_set, weft_semaphore_post", set_event, false},
    {"weft_whereis, weft_group_members", look_up, false},
};

/* Takes what is sent to it, so that no sender has to wait. */
static void takes_all(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_register("sink"), 0);
    for (weft_msg *m; weft_recv(&m, WEFT_FOREVER) == WEFT_OK;) weft_msg_free(m);
}

static void counts_rounds(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (;; rounds++) wf_task_yield();
}

static void open_sources(void)
{
    char text[WEFT_ADDRESS_TEXT];
    want_int(weft_event_open_manual(&on.set), 0);
    want_int(weft_event_set(on.set), 0);
    want_int(weft_latch_open(&on.open, 0), 0);
    want_int(weft_semaphore_open(&on.many, CALLS), 0);
    want_int(weft_timer_open(&on.timer, WEFT_FOREVER, 0), 0);
    want_int(weft_udp_open(&on.udp, "127.0.0.1:0", NULL), 0);
    want_int(weft_listen(&on.listener, "127.0.0.1:0", NULL), 0);
    want_int(weft_listener_address(on.listener, text, sizeof text), 0);
    want_int(weft_connect(&on.stream, text, WEFT_FOREVER), 0);
    want_int(weft_accept(on.listener, &on.accepted, WEFT_FOREVER), 0);
}

static void calls_in_loops(const void *arg, size_t size)
{
    (void)arg, (void)size;
    on.sink = kid_on(1, takes_all, 0);
    on.child = kid_on(1, sleeps, 0);
    weft_pid other = kid_on(1, counts_rounds, 0);
    until(rounds > 0);
    open_sources();
    for (size_t r = 0; r < WF_COUNT(rows); r++) {
        wf_task_yield(); /* it has all of its budget */
        const uint64_t before = rounds;
        for (int i = 0; i < CALLS; i++) rows[r].call();
        if ((rounds > before) != rows[r].yields)
            fprintf(stderr, "%s: others ran %d times\n", rows[r].name, (int)(rounds - before));
        want_int(rounds > before, rows[r].yields);
    }
    want_int(weft_close(on.stream), 0);
    want_int(weft_close(on.accepted), 0);
    want_int(weft_listener_close(on.listener), 0);
    want_int(weft_udp_close(on.udp), 0);
    want_int(weft_kill(other), 0);
    want_int(weft_kill(on.sink), 0);
    want_int(weft_kill(on.child), 0);
}

START_TEST(calls_that_may_yield_let_others_run_and_other_calls_do_not)
{
    run_on(1, calls_in_loops);
}
END_TEST

TEST_MAIN("loops", calls_that_may_yield_let_others_run_and_other_calls_do_not)

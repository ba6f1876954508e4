/* Two and three nodes in one process: they find each other, carry messages, calls, names and topics, and
 * disconnect. */
#include "control.h"
#include "loopback.h"
#include "transport_harness.h"

static void setup(void)
{
    forget_all();
}

/* ---- Actors ---------------------------------------------------------------------------------------------------- */

/* Registered as "echo": answers calls with the same bytes, says what else it gets, ends on tag 9. */
static void talkative_echo(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    ck_assert_int_eq(weft_register("echo"), WEFT_OK);
    say("echo ready");
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        uint32_t tag = weft_tag(m);
        if (weft_wants_reply(m)) weft_reply(m, tag + 1, weft_data(m), weft_size(m));
        else say("echo got %u %.*s", tag, (int)weft_size(m), (const char *)weft_data(m));
        if (!weft_pid_is_nobody(weft_from(m)) && tag == 5) weft_send(weft_from(m), 6, "pong", 4);
        weft_msg_free(m);
        if (tag == 9) return;
    }
}

static void talker(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    weft_msg *m;
    int rc = weft_call_name("echo@b", 1, "hello", 5, &m, patience());
    say("call %d", rc);
    if (rc == WEFT_OK) {
        say("answer %u %.*s", weft_tag(m), (int)weft_size(m), (const char *)weft_data(m));
        weft_pid echo_pid = weft_from(m);
        weft_msg_free(m);
        say("send %d", weft_send_name("echo@b", 5, "ping", 4));
        rc = weft_recv(&m, patience());
        if (rc == WEFT_OK) {
            echo_pid = weft_from(m);
            say("pong %u %.*s", weft_tag(m), (int)weft_size(m), (const char *)weft_data(m));
            weft_msg_free(m);
        }
        say("direct %d", weft_send(echo_pid, 7, "direct", 6));
        rc = weft_call(echo_pid, 3, "x", 1, &m, patience());
        say("second call %d", rc);
        if (rc == WEFT_OK) weft_msg_free(m);
    }
    say("no name %d", weft_call_name("nobody@b", 1, NULL, 0, &m, patience()));
    say("no node %d", weft_send_name("echo@c", 1, NULL, 0));
}

/* Tied to an actor of another node, in each way; says what it hears. */
static void tied(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid p;
    weft_msg *m;
    ck_assert_int_eq(weft_trap_exits(true), WEFT_OK);
    ck_assert_int_eq(weft_call_name("echo@b", 1, NULL, 0, &m, patience()), WEFT_OK);
    p = weft_from(m);
    weft_msg_free(m);
    weft_monitor_ref ref;
    ck_assert_int_eq(weft_monitor(p, NULL), WEFT_OK);
    ck_assert_int_eq(weft_monitor(p, &ref), WEFT_OK);
    ck_assert_int_eq(weft_link(p), WEFT_OK);
    ck_assert_int_eq(weft_demonitor(ref), WEFT_OK);
    ck_assert_int_eq(weft_call(p, 1, NULL, 0, &m, patience()), WEFT_OK); /* all of it has arrived */
    weft_msg_free(m);
    say("tied");
    for (int i = 0; i < 2 && weft_recv(&m, patience()) == WEFT_OK; i++) {
        struct weft_down d;
        ck_assert_int_eq(weft_down_read(m, &d), WEFT_OK);
        ck_assert(weft_pid_equal(d.who, p));
        say("%s %d %s", weft_tag(m) == WEFT_TAG_DOWN ? "down" : "exit", d.reason, d.text);
        weft_msg_free(m);
    }
    say("more %d", weft_recv(&m, WEFT_NOW));
    ck_assert_int_eq(weft_monitor(p, NULL), WEFT_OK);
    if (weft_recv(&m, patience()) == WEFT_OK) {
        struct weft_down d;
        ck_assert_int_eq(weft_down_read(m, &d), WEFT_OK);
        say("late %d", d.reason);
        weft_msg_free(m);
    }
}

static void fails_when_told(const void *arg, size_t size)
{
    (void)arg, (void)size;
    ck_assert_int_eq(weft_register("echo"), WEFT_OK);
    say("echo ready");
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (weft_wants_reply(m)) weft_reply(m, 1, NULL, 0);
        if (weft_tag(m) == 2) weft_fail(42, "told to");
        weft_msg_free(m);
    }
}

static void teller(const void *arg, size_t size)
{
    (void)size;
    uint32_t tag;
    memcpy(&tag, arg, sizeof tag);
    weft_pid p;
    ck_assert_int_eq(weft_whereis("echo", &p), WEFT_OK);
    if (tag == 0) say("kill %d", weft_kill(p));
    else say("told %d", weft_send(p, tag, NULL, 0));
}

START_TEST(monitors_and_links_reach_across_nodes)
{
    const char *listen = "tcp://127.0.0.1:0";
    for (uint32_t how = 0; how < 3; how++) { /* killed, failed, its node gone */
        forget_all();
        weft_node *b = node_up("b", listen, NULL, 0);
        weft_node *a = node_up("a", NULL, weft_node_url(b, 0), 0);
        watch(a);
        HEAR("a up b");
        run_actor(b, fails_when_told, NULL, 0);
        HEAR("echo ready");
        run_actor(a, tied, NULL, 0);
        HEAR("tied");
        uint32_t tag = how * 2;
        if (how < 2) run_actor(b, teller, &tag, sizeof tag);
        else node_down(b);
        if (how == 0) {
            HEAR("down 2 ");
            HEAR("exit 2 ");
        } else if (how == 1) {
            HEAR("down 42 transport_link_test.c:");
            HEAR("exit 42 transport_link_test.c:");
        } else {
            ck_assert_int_ge(heard("down ", 1), 1);
            ck_assert_int_ge(heard("exit ", 1), 1);
        }
        HEAR("more -3");
        HEAR(how < 2 ? "late 3" : "late "); /* the link to a node that ends lives a little longer */
        node_down(a);
        if (how < 2) node_down(b);
    }
}
END_TEST

static void carries(const char *listen)
{
    const bool open = strncmp(listen, "abstract://", 11) == 0; /* to any user */
    weft_node_options o = {.name = "b", .resume_window = WEFT_SEC(2), .insecure = open};
    weft_node *b = node_with(o, listen, NULL);
    o.name = "a";
    weft_node *a = node_with(o, NULL, weft_node_url(b, 0));
    watch(a);
    watch(b);
    run_actor(b, talkative_echo, NULL, 0);
    HEAR("echo ready");
    HEAR("a up b");
    HEAR("b up a");
    run_actor(a, talker, NULL, 0);
    HEAR("no node -7");
    HEAR("call 0");
    HEAR("answer 2 hello");
    HEAR("echo got 5 ping");
    HEAR("pong 6 pong");
    HEAR("echo got 7 direct");
    HEAR("second call 0");
    HEAR("no name -6");
    node_down(b);
    HEAR("a down b: left");
    node_down(a);
}

START_TEST(tcp_carries_everything)
{
    carries("tcp://127.0.0.1:0");
}
END_TEST

#ifndef _WIN32 /* such sockets are there from Windows 10 on, but not under wine 8 */
START_TEST(ipc_carries_everything)
{
    char folder[] = "/tmp/weft-XXXXXX", url[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(url, sizeof url, "ipc://%s/b", folder);
    carries(url);
    snprintf(url, sizeof url, "abstract://%s", folder + 5);
    forget_all();
    carries(url);
    ck_assert_int_eq(rmdir(folder), 0); /* the socket's file is gone */
}
END_TEST
#endif

/* ---- Order and bulk -------------------------------------------------------------------------------------------- */

enum { BULK = 50000 };

static void counter(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    weft_register("counter");
    say("counter ready");
    uint32_t next = 0;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        uint32_t n;
        memcpy(&n, weft_data(m), sizeof n);
        if (n != next) say("out of order: %u instead of %u", n, next);
        next = n + 1;
        if (weft_size(m) == 300000 && n % 100 != 0) say("wrong size");
        weft_msg_free(m);
        if (next == BULK) say("counted");
    }
}

static void bulk(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    static char big[300000];
    for (uint32_t i = 0; i < BULK; i++) {
        memcpy(big, &i, sizeof i);
        int rc = weft_send_name("counter@b", 1, big, i % 1000 == 0 ? sizeof big : 16);
        if (rc < 0) {
            say("bulk failed %d at %u", rc, i);
            return;
        }
    }
    say("bulk sent");
}

START_TEST(keeps_order)
{
    weft_node *b = node_up("b", "tcp://127.0.0.1:0", NULL, 0);
    weft_node *a = node_up("a", NULL, weft_node_url(b, 0), 0);
    watch(a);
    run_actor(b, counter, NULL, 0);
    HEAR("counter ready");
    HEAR("a up b");
    run_actor(a, bulk, NULL, 0);
    HEAR("bulk sent");
    HEAR("counted");
    ck_assert_int_eq(heard("out of order", 0), 0);
    node_down(a);
    node_down(b);
}
END_TEST

/* ---- Topics ---------------------------------------------------------------------------------------------------- */

static void subscriber(const void *arg, size_t size)
{
    (void)size;
    ck_assert_int_eq(weft_subscribe("room.*", NULL), WEFT_OK);
    say("subscribed");
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        say("%s heard %s: %.*s", (const char *)arg, weft_topic(m), (int)weft_size(m), (const char *)weft_data(m));
        weft_msg_free(m);
    }
}

/* Publishes until it goes to another node, then once more what the test counts. */
static void publisher(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    while (weft_publish("room.lobby", 1, "early", 5) == 0) weft_sleep(weft_after(WEFT_MS(1)));
    say("published to %d", weft_publish("room.lobby", 1, "now", 3));
    say("elsewhere %d", weft_publish("hall.lobby", 1, "now", 3));
}

START_TEST(topics_send_one_copy_to_a_node)
{
    weft_node *b = node_up("b", "tcp://127.0.0.1:0", NULL, 0);
    weft_node *a = node_up("a", NULL, weft_node_url(b, 0), 0);
    for (int i = 0; i < 3; i++) run_actor(b, subscriber, "b", 2);
    ck_assert_int_ge(heard("subscribed", 3), 3);
    run_actor(a, publisher, NULL, 0);
    HEAR("published to 1");
    HEAR("elsewhere 0");
    ck_assert_int_eq(heard("b heard room.lobby: now", 3), 3);
    node_down(a);
    node_down(b);
}
END_TEST

/* Members of a queue group on the node that does not publish. They end when they hear "end". */
static void member(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_subscription s;
    ck_assert_int_eq(weft_subscribe_with("job.*", &(weft_subscribe_options){.queue = "q"}, &s), WEFT_OK);
    say("joined");
    weft_msg *m;
    for (bool end = false; !end && weft_recv(&m, WEFT_FOREVER) == WEFT_OK;) {
        end = weft_size(m) == 3;
        say("member %.*s", (int)weft_size(m), (const char *)weft_data(m));
        weft_msg_free(m);
    }
    ck_assert_int_eq(weft_unsubscribe(s), WEFT_OK);
    say("left");
}

static void gives_jobs(const void *arg, size_t size)
{
    (void)arg, (void)size;
    while (weft_publish("job.new", 1, "early", 5) == 0) weft_sleep(weft_after(WEFT_MS(1)));
    for (int i = 0; i < 10; i++) say("to %d", weft_publish("job.new", 1, "work", 4));
    say("to %d", weft_publish("job.new", 1, "end", 3));
    weft_msg *go; /* when one has left: the interest of the other one stays */
    if (weft_recv(&go, WEFT_FOREVER) == WEFT_OK) weft_msg_free(go);
    for (int i = 0; i < 10; i++) say("to %d", weft_publish("job.new", 1, "again", 5));
    say("to %d", weft_publish("job.new", 1, "end", 3));
}

START_TEST(each_message_goes_to_one_member_of_a_queue_group_on_another_node)
{
    weft_node *b = node_up("b", "tcp://127.0.0.1:0", NULL, 0);
    weft_node *a = node_up("a", NULL, weft_node_url(b, 0), 0);
    for (int i = 0; i < 2; i++) run_actor(b, member, NULL, 0);
    ck_assert_int_ge(heard("joined", 2), 2);
    weft_pid giver;
    ck_assert_int_eq(weft_node_spawn(a, &giver, gives_jobs, NULL, 0, NULL), WEFT_OK);
    HEAR("left");
    ck_assert_int_eq(weft_node_send(a, giver, 1, NULL, 0), WEFT_OK);
    ck_assert_int_ge(heard("left", 2), 2);
    ck_assert_int_eq(heard("member work", 10), 10);
    ck_assert_int_eq(heard("member again", 10), 10);
    ck_assert_int_eq(heard("to 1", 22), 22);
    node_down(a);
    node_down(b);
}
END_TEST

/* ---- Calls between nodes --------------------------------------------------------------------------------------- */

/* Says how long the caller of each request still waits, and "dead" if nobody did; can be told to be busy. */
static void timed(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_register("timed");
    say("timed ready");
    weft_msg *m;
    for (int64_t began = weft_now(); weft_recv(&m, WEFT_FOREVER) == WEFT_OK; began = weft_now()) {
        if (weft_deadline(m) <= began) say("dead");
        if (weft_tag(m) == 8) {
            say("busy");
            weft_msg *go;
            if (weft_recv_tag(&go, 9, WEFT_FOREVER) == WEFT_OK) weft_msg_free(go);
        } else {
            int64_t left = weft_deadline(m) - weft_now();
            say("%.*s %s", (int)weft_size(m), (const char *)weft_data(m),
                weft_deadline(m) == WEFT_FOREVER                              ? "for ever"
                : left > WEFT_SEC(900) && left <= WEFT_SEC(1000) + WEFT_MS(1) ? "as long as it says"
                                                                              : "wrong");
            weft_reply(m, 2, NULL, 0);
        }
        weft_msg_free(m);
    }
}

static int call_timed(const char *what, int64_t deadline)
{
    weft_msg *m = NULL;
    int rc = weft_call_name("timed@b", 1, what, strlen(what), &m, deadline);
    weft_msg_free(m);
    return rc;
}

static void asker(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    say("long %d", call_timed("waits", weft_after(WEFT_SEC(1000))));
    say("endless %d", call_timed("waits", WEFT_FOREVER));
    weft_send_name("timed@b", 8, NULL, 0);
    say("short %d", call_timed("brief", weft_after(WEFT_MS(20))));
    weft_send_name("timed@b", 9, NULL, 0);
    say("after %d", call_timed("alive", WEFT_FOREVER));
}

START_TEST(deadlines_of_requests_reach_across_nodes)
{
    weft_node *b = node_up("b", "tcp://127.0.0.1:0", NULL, 0);
    weft_node *a = node_up("a", NULL, weft_node_url(b, 0), 0);
    watch(a);
    run_actor(b, timed, NULL, 0);
    HEAR("timed ready");
    HEAR("a up b");
    run_actor(a, asker, NULL, 0);
    HEAR("after 0");
    HEAR("long 0");
    HEAR("waits as long as it says");
    HEAR("endless 0");
    HEAR("waits for ever");
    HEAR("short -3");
    HEAR("alive for ever");
    ck_assert_int_eq(heard("dead", 0), 0); /* never read */
    node_down(a);
    node_down(b);
}
END_TEST

/* Calls a name when it is told to; answers requests before and after. */
static void circular(const void *arg, size_t size)
{
    (void)size;
    const char *const *names = arg; /* its own and whom to call */
    weft_register(names[0]);
    say("%s ready", names[0]);
    weft_msg *m, *answer = NULL;
    if (weft_recv_tag(&m, 3, WEFT_FOREVER) < 0) return;
    weft_msg_free(m);
    int rc = weft_call_name(names[1], 1, NULL, 0, &answer, WEFT_FOREVER);
    weft_msg_free(answer);
    weft_pid members[4];
    if (rc == WEFT_EDEADLOCK) say("cycle of %d", (int)weft_call_cycle(members, 4));
    say("call %d", rc);
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (weft_wants_reply(m)) weft_reply(m, 2, NULL, 0);
        weft_msg_free(m);
    }
}

static void starter(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    static const char *const names[] = {"one", "two@b", "three"};
    for (size_t i = 0; i < 3; i++) say("start %d", weft_send_name(names[i], 3, NULL, 0));
}

START_TEST(one_call_of_a_cycle_across_nodes_fails)
{
    static const char *const ring[3][2] = {{"one", "two@b"}, {"two", "three@a"}, {"three", "one"}};
    weft_node *b = node_up("b", "tcp://127.0.0.1:0", NULL, 0);
    weft_node *a = node_up("a", NULL, weft_node_url(b, 0), 0);
    watch(a);
    watch(b);
    for (size_t i = 0; i < 3; i++) run_actor(i == 1 ? b : a, circular, ring[i], sizeof ring[i]);
    HEAR("one ready");
    HEAR("two ready");
    HEAR("three ready");
    HEAR("a up b");
    HEAR("b up a");
    run_actor(a, starter, NULL, 0);
    HEAR("cycle of 3");
    ck_assert_int_eq(heard("call", 3), 3);
    ck_assert_int_eq(heard("call -22", 0), 1);
    ck_assert_int_eq(heard("call 0", 0), 2);
    node_down(a);
    node_down(b);
}
END_TEST

/* ---- Membership ------------------------------------------------------------------------------------------------ */

START_TEST(three_nodes_with_one_seed_become_a_mesh)
{
    weft_node *a = node_up("a", "tcp://127.0.0.1:0", NULL, 0);
    weft_node *b = node_up("b", "tcp://127.0.0.1:0", weft_node_url(a, 0), 0);
    weft_node *c = node_up("c", "tcp://127.0.0.1:0", weft_node_url(a, 0), 0);
    watch(a);
    watch(b);
    watch(c);
    HEAR("b up a");
    HEAR("b up c");
    HEAR("c up b");
    HEAR("a up c");
    node_down(a);
    HEAR("b down a: left");
    HEAR("c down a: left");
    ck_assert_int_eq(heard("b down c", 0), 0);
    node_down(b);
    HEAR("c down b: left");
    node_down(c);
}
END_TEST

static int free_port(void);

START_TEST(two_that_dial_each_other_have_one_link)
{
    char url[2][64];
    for (int i = 0; i < 2; i++) snprintf(url[i], sizeof url[i], "tcp://127.0.0.1:%d", free_port());
    weft_node *a = node_up("a", url[0], url[1], 0);
    weft_node *b = node_up("b", url[1], url[0], 0);
    watch(a);
    watch(b);
    HEAR("a up b");
    HEAR("b up a");
    node_down(b);
    HEAR("a down b: left");
    b = node_up("b", url[1], url[0], 0);
    ck_assert_int_ge(heard("a up b", 2), 2); /* the seed is dialled again */
    node_down(a);
    node_down(b);
    ck_assert_int_eq(heard("a down b: conn", 0), 0);
}
END_TEST

START_TEST(clusters_do_not_mix)
{
    weft_node *a = node_up("a", "tcp://127.0.0.1:0", NULL, 0);
    const char *join = weft_node_url(a, 0);
    weft_node *b = node_with((weft_node_options){.name = "b", .cluster = "other"}, NULL, join);
    watch(a);
    weft_node *c = node_up("c", NULL, join, 0);
    HEAR("a up c");
    ck_assert_int_eq(heard("a up b", 0), 0);
    node_down(b);
    node_down(c);
    node_down(a);
}
END_TEST

static void on_notice(void *arg, int what, const char *why)
{
    (void)arg;
    if (what == 1) say("fatal %s", why);
}

START_TEST(a_second_node_of_one_name_is_refused)
{
    weft_node *seed = node_up("seed", "tcp://127.0.0.1:0", NULL, 0);
    weft_node *a = node_up("a", NULL, weft_node_url(seed, 0), 0);
    watch(seed);
    HEAR("seed up a");
    weft_node *twin = node_up("a", NULL, weft_node_url(seed, 0), 0);
    wf_transport_watch(twin, on_notice, NULL);
    HEAR("fatal refused by node seed: there is another node named a");
    ck_assert_int_eq(heard("seed down", 0), 0);
    node_down(twin);
    node_down(a);
    node_down(seed);
}
END_TEST

START_TEST(listening_says_what_is_wrong)
{
    weft_node *n = NULL, *a = node_up("a", "tcp://127.0.0.1:0", NULL, 0);
    static const struct {
        const char *url;
        int rc;
    } bad[] = {{"tcp://0.0.0.0:0", WEFT_EADDRESS},
               {"tcp://:0", WEFT_EADDRESS},
               {"tcp://127.0.0.1.example:1", WEFT_EADDRESS},
               {"nonsense", WEFT_EADDRESS},
#ifndef _WIN32 /* there it lies in no folder */
               {"ipc:///nowhere/at/all", WEFT_EADDRESS},
#endif
               {"ipc://", WEFT_EADDRESS}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        weft_node_options o = {.carrier = next_carrier(), .listen = &bad[i].url, .listen_count = 1};
        ck_assert_int_eq(weft_node_start(&n, &o), bad[i].rc);
    }
    const char *taken = weft_node_url(a, 0);
    weft_node_options o = {.carrier = next_carrier(), .listen = &taken, .listen_count = 1};
    ck_assert_int_eq(weft_node_start(&n, &o), WEFT_EINUSE);
    node_down(a);
}
END_TEST

static int free_port(void)
{
    char url[64];
    close(loopback_listen(url));
    return loopback_port(url);
}

int main(void)
{
    Suite *s = suite_create("transport_link");
    TCase *t = tcase_create("nodes");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, tcp_carries_everything);
#ifndef _WIN32
    tcase_add_test(t, ipc_carries_everything);
#endif
    tcase_add_test(t, keeps_order);
    tcase_add_test(t, topics_send_one_copy_to_a_node);
    tcase_add_test(t, each_message_goes_to_one_member_of_a_queue_group_on_another_node);
    tcase_add_test(t, three_nodes_with_one_seed_become_a_mesh);
    tcase_add_test(t, two_that_dial_each_other_have_one_link);
    tcase_add_test(t, clusters_do_not_mix);
    tcase_add_test(t, a_second_node_of_one_name_is_refused);
    tcase_add_test(t, listening_says_what_is_wrong);
    tcase_add_test(t, monitors_and_links_reach_across_nodes);
    tcase_add_test(t, deadlines_of_requests_reach_across_nodes);
    tcase_add_test(t, one_call_of_a_cycle_across_nodes_fails);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}

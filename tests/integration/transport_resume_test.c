/* Links whose connections break: everything arrives once and in order, and a link that cannot be resumed ends with
 * its reason. */
#include "answer.h"
#include "control.h"
#include "proxy.h"
#include "snapshot.h"
#include "transport_harness.h"

static struct proxy proxy;
static weft_node *a, *b; /* a dials b through the proxy */

static void setup_with(weft_node_options oa, weft_node_options ob, bool a_listens)
{
    static uint64_t seed = 88172645463325252u;
    forget_all();
    oa.name = "a", ob.name = "b";
    b = node_with(ob, "tcp://127.0.0.1:0", NULL);
    proxy_start(&proxy, weft_node_url(b, 0), seed += 2);
    a = node_with(oa, a_listens ? "tcp://127.0.0.1:0" : NULL, proxy.url);
    watch(a);
    watch(b);
    HEAR("a up b");
    HEAR("b up a");
}

/* Sound for so long that no load of the machine makes it expire. */
static void setup(void)
{
    weft_node_options o = {.resume_window = WEFT_SEC(60), .heartbeat = WEFT_MS(50), .heartbeats_lost = 6};
    setup_with(o, o, false);
}

static void teardown(void)
{
    if (a != NULL) node_down(a);
    if (b != NULL) node_down(b);
    proxy_end(&proxy);
}

/* ---- Numbered messages ----------------------------------------------------------------------------------------- */

struct stream {
    char from[8], to[8];                /* names of nodes */
    uint32_t count, size, large, every; /* each `every`-th has `large` bytes */
};

static void sink(const void *arg, size_t arg_size)
{
    struct stream s;
    memcpy(&s, arg, arg_size);
    weft_register("sink");
    say("%s sink ready", s.to);
    weft_msg *m;
    uint32_t next = 0;
    while (next < s.count && weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        uint32_t n = UINT32_MAX;
        if (weft_size(m) >= sizeof n) memcpy(&n, weft_data(m), sizeof n);
        size_t size = s.every > 0 && n % s.every == 0 ? s.large : s.size;
        if (n != next) say("wrong: %u instead of %u at %s", n, next, s.to);
        if (weft_size(m) != size || ((const uint8_t *)weft_data(m))[size - 1] != (uint8_t)(size > 4 ? n : n >> 24))
            say("wrong bytes in %u", n);
        next = n + 1;
        if (next == s.count / 2) say("%s half", s.to);
        weft_msg_free(m);
    }
    say("%s got all", s.to);
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        say("wrong: one too many at %s", s.to);
        weft_msg_free(m);
    }
}

static void source(const void *arg, size_t arg_size)
{
    struct stream s;
    memcpy(&s, arg, arg_size);
    char to[24];
    snprintf(to, sizeof to, "sink@%s", s.to);
    uint8_t *bytes = calloc(1, s.large > s.size ? s.large : s.size);
    for (uint32_t i = 0; i < s.count; i++) {
        size_t size = s.every > 0 && i % s.every == 0 ? s.large : s.size;
        bytes[size - 1] = (uint8_t)i;
        memcpy(bytes, &i, sizeof i);
        int rc;
        do rc = weft_send_name(to, 1, bytes, size);
        while (rc == WEFT_EFULL);
        if (rc < 0) {
            say("wrong: sending %u to %s says %d", i, s.to, rc);
            break;
        }
    }
    free(bytes);
    say("%s sent all", s.from);
}

/* Both ways at once. */
static void start_streams(struct stream s)
{
    struct stream up = s, down = s;
    snprintf(up.from, sizeof up.from, "a"), snprintf(up.to, sizeof up.to, "b");
    snprintf(down.from, sizeof down.from, "b"), snprintf(down.to, sizeof down.to, "a");
    run_actor(b, sink, &up, sizeof up);
    run_actor(a, sink, &down, sizeof down);
    HEAR("a sink ready");
    HEAR("b sink ready");
    run_actor(a, source, &up, sizeof up);
    run_actor(b, source, &down, sizeof down);
}

static void expect_all(void)
{
    HEAR("a got all");
    HEAR("b got all");
    ck_assert_int_eq(heard("wrong", 0), 0);
    ck_assert_int_eq(heard("a down", 0), 0);
    ck_assert_int_eq(heard("b down", 0), 0);
    ck_assert_int_eq(heard("a up", 0), 1);
}

static const struct stream small = {.count = 60000, .size = 16};
static const struct stream mixed = {.count = 20000, .size = 40, .large = 60000, .every = 500};

START_TEST(cut_again_and_again_nothing_is_lost)
{
    proxy_cut_every(&proxy, 300000); /* a whole batch, or a large message, must get through at times */
    proxy_do(&proxy, PROXY_CUT);
    start_streams(_i == 0 ? small : mixed);
    HEAR("a half");
    HEAR("b half");
    expect_all();
    ck_assert_uint_gt(proxy_taken(&proxy), 5);
}
END_TEST

/* Each kind of fault some times while messages travel both ways. */
START_TEST(a_link_survives_each_kind_of_fault)
{
    static const enum proxy_fault faults[] = {PROXY_CUT,       PROXY_HANG,    PROXY_DEAF_UP,
                                              PROXY_DEAF_DOWN, PROXY_HALF_UP, PROXY_HALF_DOWN};
    uint64_t taken = proxy_taken(&proxy);
    start_streams((struct stream){.count = under_tools() ? 20000 : 100000, .size = 100});
    proxy_do(&proxy, faults[_i]);
    HEAR("a half");
    proxy_do(&proxy, faults[_i]);
    expect_all();
    ck_assert_uint_ge(proxy_taken(&proxy), taken + 1);
}
END_TEST

/* Without traffic only heartbeats find out. */
START_TEST(a_call_waits_while_the_link_is_resumed)
{
    run_actor(b, echo, NULL, 0);
    HEAR("echo ready");
    for (int i = 1; i <= 3; i++) {
        proxy_do(&proxy, i == 2 ? PROXY_CUT : PROXY_HANG);
        run_actor(a, call_echo, "echo@b", sizeof "echo@b");
        ck_assert_int_ge(heard("called 0", i), i);
    }
    ck_assert_int_eq(heard("a down", 0), 0);
}
END_TEST

START_TEST(both_sides_dial_again_at_once)
{
    weft_node_options o = {.resume_window = WEFT_SEC(60), .heartbeat = WEFT_MS(50), .heartbeats_lost = 6};
    setup_with(o, o, true);
    proxy_cut_every(&proxy, 200000);
    proxy_do(&proxy, PROXY_CUT);
    start_streams((struct stream){.count = 50000, .size = 16});
    expect_all();
    teardown();
}
END_TEST

/* ---- The window ------------------------------------------------------------------------------------------------ */

static void fills(const void *arg, size_t arg_size)
{
    (void)arg, (void)arg_size;
    static uint8_t big[65536];
    uint32_t i = 0;
    int rc;
    weft_msg *m = NULL;
    ck_assert_int_eq(weft_call_name("sink@b", 1, NULL, 0, &m, patience()), WEFT_OK);
    weft_pid to = weft_from(m);
    weft_msg_free(m);
    for (uint32_t n = 0; n < 1000; n++) /* until credit without end has been granted */
        ck_assert_int_eq(weft_send(to, 2, NULL, 0), WEFT_OK);
    ck_assert_int_eq(weft_call_name("sink@b", 1, NULL, 0, &m, patience()), WEFT_OK);
    weft_msg_free(m);
    say("knows the sink");
    ck_assert_int_eq(weft_recv(&m, WEFT_FOREVER), WEFT_OK);
    weft_msg_free(m);
    do {
        memcpy(big, &i, sizeof i);
        rc = weft_try_send(to, 1, big, sizeof big);
        if (rc == WEFT_OK) i++;
        if (i % 16 == 0) weft_yield();
    } while (rc == WEFT_OK && i < 2000);
    say("filled %s", rc == WEFT_EFULL && i >= 250 && i < 400 ? "to the bound" : "otherwise");
    memcpy(big, &i, sizeof i);
    rc = weft_send(to, 1, big, sizeof big); /* waits for the link to go on */
    say("waited %d, %u", rc, i + 1);
}

static void counts(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_register("sink");
    say("sink ready");
    weft_msg *m;
    for (uint32_t next = 0, n; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; next++) {
        if (weft_wants_reply(m)) {
            weft_reply(m, 2, NULL, 0);
            weft_msg_free(m);
            next--;
            continue;
        }
        if (weft_tag(m) == 2) {
            weft_msg_free(m);
            next--;
            continue;
        }
        memcpy(&n, weft_data(m), sizeof n);
        if (n != next) say("wrong: %u instead of %u", n, next);
        if (n + 1 == 250) say("count %u", n + 1);
        weft_msg_free(m);
    }
}

START_TEST(the_window_has_a_bound_and_senders_wait)
{
    weft_spawn_options never_suspends = {.policy = WEFT_FULL_FAIL};
    ck_assert_int_eq(weft_node_spawn(b, NULL, counts, NULL, 0, &never_suspends), WEFT_OK);
    HEAR("sink ready");
    weft_pid pid;
    ck_assert_int_eq(weft_node_spawn(a, &pid, fills, NULL, 0, NULL), WEFT_OK);
    HEAR("knows the sink");
    proxy_close_to_all(&proxy, true, NULL);
    proxy_do(&proxy, PROXY_CUT);
    ck_assert_int_eq(weft_node_send(a, pid, 1, NULL, 0), WEFT_OK);
    HEAR("filled to the bound");
    ck_assert_int_eq(heard("waited", 0), 0);
    proxy_close_to_all(&proxy, false, NULL);
    HEAR("waited 0");
    HEAR("count 250");
    ck_assert_int_eq(heard("wrong", 0), 0);
}
END_TEST

/* ---- Publications, which never wait ---------------------------------------------------------------------------- */

enum { WARM = 1, POUR = 2, POURED = 500 }; /* of 64 KiB: twice what a link keeps */

/* Says when all publications have come or are known to be lost. */
static void hears(const void *arg, size_t size)
{
    const char *pattern = arg;
    (void)size;
    weft_subscribe_options o = {.slow = WEFT_SLOW_DROP};
    struct weft_subscription_news news;
    uint64_t came = 0, lost = 0;
    bool warm = false;
    weft_msg *m;
    ck_assert_int_eq(weft_subscribe_with(pattern, &o, NULL), WEFT_OK);
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        if (weft_tag(m) == WARM && !warm) say("%s is warm", pattern);
        warm |= weft_tag(m) == WARM;
        came += weft_tag(m) == POUR;
        if (weft_subscription_news_read(m, &news) == WEFT_OK) {
            if (news.kind != WEFT_SUBSCRIPTION_LOST || strcmp(news.pattern, pattern) != 0) say("wrong news");
            lost += news.lost;
        }
        if (came + lost == POURED && weft_tag(m) != WARM)
            say("%s %s", pattern, lost > 0 ? "has missed some" : "has all");
        if (came + lost > POURED) say("wrong: %s counts too many", pattern);
    }
}

static void pours(const void *arg, size_t size)
{
    static uint8_t big[65536];
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_NOW) != WEFT_OK) {
        (void)weft_publish("pour.a", WARM, NULL, 0);
        weft_yield();
    }
    weft_msg_free(m);
    say("poured once");
    ck_assert_int_eq(weft_recv(&m, WEFT_FOREVER), WEFT_OK);
    weft_msg_free(m);
    for (int i = 0; i < POURED; i++) {
        (void)weft_publish("pour.a", POUR, big, sizeof big);
        if (i % 16 == 0) weft_yield();
    }
    say("poured all");
}

START_TEST(subscribers_are_told_of_what_a_broken_link_could_not_keep)
{
    static const char *const patterns[] = {"pour.>", "*.a"};
    weft_pid publisher;
    for (int i = 0; i < 2; i++) run_actor(b, hears, patterns[i], strlen(patterns[i]) + 1);
    ck_assert_int_eq(weft_node_spawn(a, &publisher, pours, NULL, 0, NULL), WEFT_OK);
    HEAR("pour.> is warm");
    HEAR("*.a is warm");
    ck_assert_int_eq(weft_node_send(a, publisher, 1, NULL, 0), WEFT_OK);
    HEAR("poured once");
    proxy_close_to_all(&proxy, true, NULL);
    proxy_do(&proxy, PROXY_CUT);
    HEAR("a suspect b");
    ck_assert_int_eq(weft_node_send(a, publisher, 1, NULL, 0), WEFT_OK);
    HEAR("poured all");
    ck_assert_int_eq(heard("pour.> has", 0), 0);
    struct wf_drop_count all[WF_ALL_DROPS];
    uint64_t full = 0;
    wf_transport_drops(a->transport, all);
    for (int i = 0; i < WF_ALL_DROPS; i++) full += strcmp(all[i].reason, "send-queue-full") == 0 ? all[i].count : 0;
    ck_assert_uint_gt(full, 100);
    proxy_close_to_all(&proxy, false, NULL);
    HEAR("pour.> has missed some");
    HEAR("*.a has missed some");
    ck_assert_int_eq(heard("wrong", 0), 0);
}
END_TEST

/* ---- Ends ------------------------------------------------------------------------------------------------------ */

static void watches_echo(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m = NULL;
    ck_assert_int_eq(weft_call_name("echo@b", 1, NULL, 0, &m, patience()), WEFT_OK);
    weft_pid p = weft_from(m);
    weft_msg_free(m);
    ck_assert_int_eq(weft_monitor(p, NULL), WEFT_OK);
    say("monitors");
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        struct weft_down d;
        if (weft_down_read(m, &d) == WEFT_OK) say("monitor says %d", d.reason);
        weft_msg_free(m);
        say("send says %d", weft_send(p, 1, NULL, 0));
    }
}

START_TEST(an_expired_window_ends_the_link)
{
    /* Silence for as long as others have the processor is none. */
    weft_node_options o = {.resume_window = WEFT_MS(150), .heartbeat = WEFT_MS(50), .heartbeats_lost = 400};
    setup_with(o, o, false);
    run_actor(b, echo, NULL, 0);
    HEAR("echo ready");
    run_actor(a, watches_echo, NULL, 0);
    HEAR("monitors");
    proxy_close_to_all(&proxy, true, NULL);
    proxy_do(&proxy, PROXY_CUT);
    run_actor(a, call_echo, "echo@b", sizeof "echo@b");
    HEAR("a down b: connection lost: ");
    HEAR("b down a: connection lost: ");
    HEAR("monitor says 4");
    HEAR("send says -7");
    HEAR("called -7");
    proxy_close_to_all(&proxy, false, NULL);
    ck_assert_int_ge(heard("a up b", 2), 2);
    ck_assert_int_ge(heard("b up a", 2), 2);
    teardown();
}
END_TEST

static void sends_some(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 100; i++) ck_assert_int_eq(weft_send_name("sink@b", 2, NULL, 0), WEFT_OK);
    say("sent some");
}

/* Says what `weft nodes` shows of the other node. */
static void asks_for_lost(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    ck_assert_int_eq(weft_call_name("$node", WF_CONTROL_NODES, NULL, 0, &m, patience()), WEFT_OK);
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    for (uint32_t i = 0, count = weft_get_array(&r); i < count; i++) {
        uint32_t fields = weft_get_array(&r);
        weft_text name = weft_get_str(&r);
        for (uint32_t k = 1; k < 10; k++) weft_skip(&r);
        uint64_t lost = weft_get_uint(&r);
        for (uint32_t k = 11; k < fields; k++) weft_skip(&r);
        const char *many = lost < 10 ? "hardly any" : lost >= 100 && lost < 150 ? "so many" : "others";
        if (name.data[0] == 'b') say("%s lost", many);
    }
    weft_msg_free(m);
}

START_TEST(losses_of_an_ended_link_are_still_reported)
{
    weft_node_options o = {.resume_window = WEFT_MS(150), .heartbeat = WEFT_MS(50), .heartbeats_lost = 400};
    setup_with(o, o, false);
    proxy_close_to_all(&proxy, true, NULL);
    proxy_do(&proxy, PROXY_HANG);
    run_actor(a, sends_some, NULL, 0);
    HEAR("sent some");
    proxy_do(&proxy, PROXY_CUT);
    HEAR("a down b: connection lost: ");
    run_actor(a, asks_for_lost, NULL, 0);
    HEAR("so many lost");
    proxy_close_to_all(&proxy, false, NULL);
    ck_assert_int_ge(heard("a up b", 2), 2); /* and it is not forgotten for a new link */
    run_actor(a, asks_for_lost, NULL, 0);
    ck_assert_int_ge(heard("so many lost", 2), 2);
    teardown();
}
END_TEST

/* A node that leaves acknowledges what it has received, even if it is too little to be acknowledged at once. */
START_TEST(messages_that_a_leaving_node_has_received_do_not_count_as_lost)
{
    static const struct stream up = {.from = "a", .to = "b", .count = 100, .size = 16};
    weft_node_options o = {.heartbeat = WEFT_SEC(20)};
    setup_with(o, o, false);
    run_actor(b, sink, &up, sizeof up);
    HEAR("b sink ready");
    run_actor(a, source, &up, sizeof up);
    HEAR("b got all");
    node_down(b);
    b = NULL;
    HEAR("a down b: left");
    run_actor(a, asks_for_lost, NULL, 0);
    HEAR("hardly any lost"); /* gossip may be under way at any time */
    teardown();
}
END_TEST

/* The resume window of one side has passed, that of the other has not: no half of a link is left. */
START_TEST(a_node_that_still_waits_learns_that_the_other_gave_up)
{
    weft_node_options o = {.resume_window = WEFT_MS(100)}, patient = {.resume_window = WEFT_SEC(60)};
    setup_with(_i == 0 ? o : patient, _i == 0 ? patient : o, false);
    proxy_close_to_all(&proxy, true, NULL);
    proxy_do(&proxy, PROXY_CUT);
    HEAR(_i == 0 ? "a down b: connection lost: " : "b down a: connection lost: ");
    proxy_close_to_all(&proxy, false, NULL);
    HEAR(_i == 0 ? "b down a: the other side has given the link up"
                 : "a down b: the other side has given the link up");
    ck_assert_int_ge(heard("a up b", 2), 2);
    ck_assert_int_ge(heard("b up a", 2), 2);
    teardown();
}
END_TEST

START_TEST(a_successor_ends_the_link_of_its_predecessor)
{
    forget_all();
    weft_node_options o = {.name = "b"};
    weft_node *successor = node_with(o, "tcp://127.0.0.1:0", NULL);
    weft_node_options patient = {.resume_window = WEFT_SEC(60)};
    setup_with(patient, patient, false);
    proxy_close_to_all(&proxy, false, weft_node_url(successor, 0));
    proxy_do(&proxy, PROXY_CUT);
    HEAR("a down b: connection lost, and another node has its name now");
    ck_assert_int_ge(heard("a up b", 2), 2);
    node_down(a);
    a = NULL;
    node_down(successor);
    teardown();
}
END_TEST

/* Messages that were sent before the end of the node arrive even if the connection breaks meanwhile. */
START_TEST(bye_waits_for_unacknowledged_messages)
{
    static const struct stream up = {.from = "a", .to = "b", .count = 30000, .size = 64};
    run_actor(b, sink, &up, sizeof up);
    HEAR("b sink ready");
    proxy_cut_every(&proxy, 1000000);
    run_actor(a, source, &up, sizeof up);
    HEAR("a sent all");
    proxy_do(&proxy, PROXY_CUT);
    node_down(a);
    a = NULL;
    HEAR("b got all");
    HEAR("b down a: left");
    ck_assert_int_eq(heard("wrong", 0), 0);
}
END_TEST

/* ---- The version before ---------------------------------------------------------------------------------------- */

START_TEST(a_node_of_the_version_before_links_without_resumption)
{
    weft_node_options now = {.resume_window = WEFT_SEC(60)}, before = {.wire_version = 1};
    setup_with(_i == 0 ? now : before, _i == 0 ? before : now, false);
    start_streams((struct stream){.count = 20000, .size = 40, .large = 200000, .every = 5000});
    expect_all();
    proxy_do(&proxy, PROXY_CUT);
    HEAR("a down b: connection lost: ");
    HEAR("b down a: connection lost: ");
    ck_assert_int_ge(heard("a up b", 2), 2);
    ck_assert_int_ge(heard("b up a", 2), 2);
    teardown();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("transport_resume");
    TCase *t = tcase_create("faults");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, cut_again_and_again_nothing_is_lost, 0, 2);
    tcase_add_loop_test(t, a_link_survives_each_kind_of_fault, 0, 6);
    tcase_add_test(t, a_call_waits_while_the_link_is_resumed);
    tcase_add_test(t, the_window_has_a_bound_and_senders_wait);
    tcase_add_test(t, subscribers_are_told_of_what_a_broken_link_could_not_keep);
    tcase_add_test(t, bye_waits_for_unacknowledged_messages);
    suite_add_tcase(s, t);
    t = tcase_create("ends");
    tcase_add_test(t, both_sides_dial_again_at_once);
    tcase_add_test(t, an_expired_window_ends_the_link);
    tcase_add_test(t, losses_of_an_ended_link_are_still_reported);
    tcase_add_test(t, messages_that_a_leaving_node_has_received_do_not_count_as_lost);
    tcase_add_loop_test(t, a_node_that_still_waits_learns_that_the_other_gave_up, 0, 2);
    tcase_add_test(t, a_successor_ends_the_link_of_its_predecessor);
    tcase_add_loop_test(t, a_node_of_the_version_before_links_without_resumption, 0, 2);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}

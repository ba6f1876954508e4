/* Credit between nodes: senders on two nodes, a slow receiver on a third. Every message is accounted for. */
#include "drops.h"
#include "actor_list.h"
#include "deliver.h"
#include "node.h"
#include "link_writer.h"
#include "transport_harness.h"

#include <stdatomic.h>

enum { DATA = 1, ACTORS_MAX = 400, WORKERS = 2, SENDING_NODES = 2, BLOCKED = 2000 };

/* Each credit is a way there and back: less of it where a system call is a question to another process (wine). */
#ifdef _WIN32
enum { SHARE = 10 };
#else
enum { SHARE = 1 };
#endif

static weft_node *nodes[3]; /* the last one receives */

static struct {
    _Atomic int64_t sent, refused, received, wrong, most; /* most: sent and not received, at a receive */
    _Atomic int32_t begun;
    _Atomic int32_t left;              /* senders that have not ended */
    _Atomic uint32_t next[ACTORS_MAX]; /* of each sender: the number that comes next */
} all;

static void setup(void)
{
    static const char *const names[] = {"a", "b", "r"};
    forget_all();
    memset(&all, 0, sizeof all);
    nodes[2] = node_up(names[2], "tcp://127.0.0.1:0", NULL, 0);
    for (int i = 0; i < SENDING_NODES; i++) {
        weft_node_options o = {.name = names[i], .resume_window = WEFT_SEC(2)};
        nodes[i] = node_with(o, NULL, weft_node_url(nodes[2], 0));
        watch(nodes[i]);
    }
    HEAR("a up r");
    HEAR("b up r");
}

static void teardown(void)
{
    for (int i = 0; i < 3; i++)
        if (nodes[i] != NULL) node_down(nodes[i]);
}

static uint64_t dropped(enum wf_drop why)
{
    uint64_t counts[WF_DROP_REASONS];
    wf_node_drops(nodes[2], counts);
    return counts[why];
}

/* ---- Receiving ------------------------------------------------------------------------------------------------- */

struct numbered {
    uint32_t sender, number;
};

static void take(const weft_msg *m, bool gaps)
{
    struct numbered n;
    memcpy(&n, weft_data(m), sizeof n);
    uint32_t next = atomic_load(&all.next[n.sender]);
    if (gaps ? n.number < next : n.number != next) atomic_fetch_add(&all.wrong, 1);
    atomic_store(&all.next[n.sender], n.number + 1);
    int64_t open = atomic_load(&all.sent) - atomic_fetch_add(&all.received, 1);
    if (open > atomic_load(&all.most)) atomic_store(&all.most, open);
}

struct receiver {
    int slow;   /* yields for each message */
    bool gaps;  /* messages may be missing */
    bool named; /* registers as "box" */
};

static void receives(const void *arg, size_t size)
{
    (void)size;
    const struct receiver *r = arg;
    weft_msg *m;
    if (r->named && weft_register("box") < 0) say("no name");
    say("ready");
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        take(m, r->gaps);
        weft_msg_free(m);
        for (int i = 0; i < r->slow; i++) (void)weft_yield();
    }
}

static void sits(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

struct sender {
    weft_pid to;
    uint32_t index, count, size;
    bool tries, named;
};

static void ended(void *arg)
{
    (void)arg;
    if (atomic_fetch_sub(&all.left, 1) == 1) say("senders have ended");
}

static void sends(const void *arg, size_t size)
{
    (void)size;
    const struct sender *s = arg;
    unsigned char body[4096] = {0};
    (void)weft_defer(ended, NULL);
    atomic_fetch_add(&all.begun, 1);
    for (uint32_t i = 0; i < s->count; i++) {
        struct numbered n = {s->index, i};
        memcpy(body, &n, sizeof n);
        int rc = s->named   ? weft_send_name("box@r", DATA, body, s->size)
                 : s->tries ? weft_try_send(s->to, DATA, body, s->size)
                            : weft_send(s->to, DATA, body, s->size);
        if (rc == WEFT_EFULL && s->tries) { /* refused, it waits */
            atomic_fetch_add(&all.refused, 1);
            rc = weft_send(s->to, DATA, body, s->size);
        }
        if (rc < 0) {
            say("%s", weft_error_name(rc));
            return;
        }
        atomic_fetch_add(&all.sent, 1);
    }
}

static void start_senders(struct sender s, int count, weft_pid *pids)
{
    atomic_store(&all.left, count);
    for (int i = 0; i < count; i++) {
        weft_spawn_options o = {.worker = 1 + i / SENDING_NODES % WORKERS};
        s.index = (uint32_t)i;
        ck_assert_int_eq(
            weft_node_spawn(nodes[i % SENDING_NODES], pids == NULL ? NULL : &pids[i], sends, &s, sizeof s, &o),
            WEFT_OK);
    }
    UNTIL(atomic_load(&all.begun) >= count); /* from here on a kill is counted */
}

struct run {
    weft_spawn_options o;
    struct receiver r;
    struct sender s;
    int senders;
};

static weft_pid run(struct run x)
{
    weft_pid box;
    x.o.worker = 1;
    ck_assert_int_eq(weft_node_spawn(nodes[2], &box, receives, &x.r, sizeof x.r, &x.o), WEFT_OK);
    HEAR("ready");
    x.s.to = box;
    start_senders(x.s, x.senders, NULL);
    return box;
}

/* All messages have come, in order, and there were never more under way than the limit and the credit of each
 * worker. */
static void expect_all(struct run x)
{
    uint64_t before = dropped(WF_DROP_FULL);
    (void)run(x);
    HEAR("senders have ended");
    ck_assert_int_eq(heard("WEFT_", 0), 0);
    int64_t expected = (int64_t)x.senders * x.s.count;
    ck_assert_int_eq(atomic_load(&all.sent), expected);
    UNTIL(atomic_load(&all.received) >= expected);
    ck_assert_int_eq(atomic_load(&all.wrong), 0);
    ck_assert_uint_eq(dropped(WF_DROP_FULL), before);
    int64_t lanes = SENDING_NODES * WORKERS, bound = x.o.mailbox_max;
    ck_assert_int_le(atomic_load(&all.most), bound + lanes * (WF_CREDIT_FIRST + bound / 8 + 1) + x.senders);
}

START_TEST(suspended_senders_lose_nothing)
{
    expect_all((struct run){{.mailbox_max = 64}, {.slow = 5}, {.count = 3000 / SHARE, .size = 16}, 8});
}
END_TEST

START_TEST(many_remote_senders_share_a_small_mailbox)
{
    expect_all((struct run){{.mailbox_max = 4}, {.slow = 1}, {.count = 30 / SHARE, .size = 16}, ACTORS_MAX});
}
END_TEST

START_TEST(large_messages_are_counted_by_their_size)
{
    expect_all((struct run){
        {.mailbox_max = 64, .mailbox_bytes = 100000}, {.slow = 2}, {.count = 500 / SHARE, .size = 4000}, 8});
}
END_TEST

START_TEST(a_quick_receiver_is_sent_to_without_end)
{
    expect_all((struct run){{.mailbox_max = 65536}, {.slow = 0}, {.count = 12000, .size = 16}, 8});
}
END_TEST

START_TEST(a_sender_that_tries_is_refused_and_loses_no_message)
{
    expect_all((struct run){{.mailbox_max = 16}, {.slow = 5}, {.count = 1000, .size = 16, .tries = true}, 8});
    ck_assert_int_gt(atomic_load(&all.refused), 0);
}
END_TEST

START_TEST(a_name_is_sent_to_on_credit)
{
    expect_all((struct run){
        {.mailbox_max = 16}, {.slow = 5, .named = true}, {.count = 2000 / SHARE, .size = 16, .named = true}, 8});
}
END_TEST

/* ---- Other policies -------------------------------------------------------------------------------------------- */

static void expect_drops(weft_full_policy policy)
{
    struct run x = {
        {.mailbox_max = 16, .policy = policy}, {.slow = 5, .gaps = true}, {.count = 3000 / SHARE, .size = 16}, 8};
    uint64_t before = dropped(WF_DROP_FULL);
    (void)run(x);
    HEAR("senders have ended");
    int64_t expected = (int64_t)x.senders * x.s.count;
    ck_assert_int_eq(atomic_load(&all.sent), expected);
    UNTIL(atomic_load(&all.received) + (int64_t)(dropped(WF_DROP_FULL) - before) >= expected);
    uint64_t lost = dropped(WF_DROP_FULL) - before;
    ck_assert_uint_gt(lost, 0);
    ck_assert_int_eq(atomic_load(&all.received) + (int64_t)lost, expected);
    ck_assert_int_eq(atomic_load(&all.wrong), 0);
}

START_TEST(the_newest_are_dropped_and_counted)
{
    expect_drops(WEFT_FULL_DROP_NEWEST);
}
END_TEST

START_TEST(the_oldest_are_dropped_and_counted)
{
    expect_drops(WEFT_FULL_DROP_OLDEST);
}
END_TEST

START_TEST(a_remote_message_to_a_full_mailbox_that_fails_senders_is_dropped_and_counted)
{
    expect_drops(WEFT_FULL_FAIL);
}
END_TEST

/* ---- Ends ------------------------------------------------------------------------------------------------------ */

/* Senders to one that does not receive: until all of them wait. Of each worker a few messages get through. */
static weft_pid block(weft_pid *pids, int count)
{
    struct run x = {{.mailbox_max = 4, .worker = 1}, {0}, {.count = BLOCKED, .size = 16}, count};
    ck_assert_int_eq(weft_node_spawn(nodes[2], &x.s.to, sits, NULL, 0, &x.o), WEFT_OK);
    start_senders(x.s, count, pids);
    UNTIL(atomic_load(&all.sent) >= SENDING_NODES * WORKERS * WF_CREDIT_FIRST);
    return x.s.to;
}

static void stops(const void *arg, size_t size)
{
    (void)size;
    weft_pid to;
    memcpy(&to, arg, sizeof to);
    (void)weft_kill(to);
}

START_TEST(the_end_of_the_receiver_frees_its_senders)
{
    weft_pid box = block(NULL, 40);
    ck_assert_int_eq(atomic_load(&all.sent), SENDING_NODES * WORKERS * WF_CREDIT_FIRST);
    run_actor(nodes[2], stops, &box, sizeof box);
    HEAR("senders have ended"); /* they send into the void, and it is counted */
    ck_assert_int_eq(heard("WEFT_", 0), 0);
    UNTIL(dropped(WF_DROP_NO_ACTOR) + dropped(WF_DROP_UNREAD) >= 40 * BLOCKED);
    ck_assert_int_eq(atomic_load(&all.sent), 40 * BLOCKED);
}
END_TEST

START_TEST(the_end_of_the_link_frees_its_senders)
{
    (void)block(NULL, 40);
    node_down(nodes[2]);
    nodes[2] = NULL;
    HEAR("senders have ended");
    /* Some may have got rid of all while the actor was gone and the link still there. */
    ck_assert_int_eq(heard("WEFT_", 0), heard("WEFT_ENONODE", 0));
}
END_TEST

START_TEST(senders_are_killed_while_they_wait)
{
    weft_pid pids[40];
    (void)block(pids, 40);
    for (int i = 0; i < 40; i++) run_actor(nodes[i % SENDING_NODES], stops, &pids[i], sizeof pids[i]);
    HEAR("senders have ended");
    ck_assert_int_eq(atomic_load(&all.sent), SENDING_NODES * WORKERS * WF_CREDIT_FIRST);
}
END_TEST

START_TEST(the_others_go_on_when_some_are_killed)
{
    struct run x = {{.mailbox_max = 4}, {.slow = 3, .gaps = true}, {.count = 400 / SHARE, .size = 16}, 40};
    weft_pid pids[40];
    x.o.worker = 1;
    ck_assert_int_eq(weft_node_spawn(nodes[2], &x.s.to, receives, &x.r, sizeof x.r, &x.o), WEFT_OK);
    HEAR("ready");
    start_senders(x.s, x.senders, pids);
    for (int i = 0; i < 20; i++) run_actor(nodes[i % SENDING_NODES], stops, &pids[i], sizeof pids[i]);
    HEAR("senders have ended");
    UNTIL(atomic_load(&all.received) >= atomic_load(&all.sent));
    for (int i = 20; i < 40; i++) ck_assert_uint_eq(atomic_load(&all.next[i]), x.s.count);
    ck_assert_uint_eq(dropped(WF_DROP_FULL), 0);
}
END_TEST

/* ---- State, and who does not keep to it ------------------------------------------------------------------------ */

static void counts(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}

enum { MANY = 2000 };
static weft_pid many[MANY];

static struct wf_link_writer *port_here(void)
{
    return wf_link_writer_find(wf_here, weft_node_incarnation(nodes[2]));
}

static void counts_one(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}
WEFT_EXPORT_PLAIN("test.counts_one", counts_one)

/* Sends one message to each of many actors, then to others until few entries are left: entries without spent units
 * are freed. */
static void scatters(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid next;
    for (int i = 0; i < MANY; i++)
        if (weft_send(many[i], DATA, "x", 1) < 0) say("not sent");
    int64_t by = patience();
    while (port_here()->credits.table.count > MANY / 20 && weft_now() < by) {
        if (weft_spawn_on("r", "test.counts_one", &next, WEFT_NO_ARGS, NULL) < 0) say("not started");
        else if (weft_send(next, DATA, "x", 1) < 0) say("not sent");
    }
    say("scattered, %s", port_here()->credits.table.count > MANY / 20 ? "and all is kept" : "little is kept");
}

START_TEST(few_entries_are_kept)
{
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(weft_node_spawn(nodes[2], &many[i], counts, NULL, 0, NULL), WEFT_OK);
    run_actor(nodes[0], scatters, NULL, 0);
    HEAR("scattered, little is kept");
    ck_assert_int_eq(heard("not ", 0), 0);
}
END_TEST

static void lies(const void *arg, size_t size)
{
    (void)size;
    weft_pid to;
    memcpy(&to, arg, sizeof to);
    struct wf_link_writer *p = port_here();
    wf_credits_finish(&p->credits);
    p->credits.on = false;
    int rc = WEFT_OK;
    for (int i = 0; i < 400000 && rc == WEFT_OK; i++) rc = weft_send(to, DATA, "x", 1);
    say("liar %d", rc);
}

START_TEST(a_peer_that_sends_without_credit_is_cut_off)
{
    weft_pid box;
    watch(nodes[2]);
    ck_assert_int_eq(weft_node_spawn(nodes[2], &box, sits, NULL, 0, &(weft_spawn_options){.mailbox_max = 16}),
                     WEFT_OK);
    run_actor(nodes[0], lies, &box, sizeof box);
    HEAR("r down a: connection lost: it sends more than it was given credit for");
    ck_assert_int_eq(heard("r down b", 0), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("credit");
    TCase *t = tcase_create("credit");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, suspended_senders_lose_nothing);
    tcase_add_test(t, many_remote_senders_share_a_small_mailbox);
    tcase_add_test(t, large_messages_are_counted_by_their_size);
    tcase_add_test(t, a_quick_receiver_is_sent_to_without_end);
    tcase_add_test(t, a_sender_that_tries_is_refused_and_loses_no_message);
    tcase_add_test(t, a_name_is_sent_to_on_credit);
    tcase_add_test(t, the_newest_are_dropped_and_counted);
    tcase_add_test(t, the_oldest_are_dropped_and_counted);
    tcase_add_test(t, a_remote_message_to_a_full_mailbox_that_fails_senders_is_dropped_and_counted);
    tcase_add_test(t, the_end_of_the_receiver_frees_its_senders);
    tcase_add_test(t, the_end_of_the_link_frees_its_senders);
    tcase_add_test(t, senders_are_killed_while_they_wait);
    tcase_add_test(t, the_others_go_on_when_some_are_killed);
    tcase_add_test(t, few_entries_are_kept);
    tcase_add_test(t, a_peer_that_sends_without_credit_is_cut_off);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}

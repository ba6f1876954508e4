/* Mailboxes that another node fills: messages that do not fit are counted by the receiver, with each policy and
 * either limit; messages of another node never wait in front of a mailbox. */
#include "drops.h"
#include "actor_list.h"
#include "node.h"
#include "transport_harness.h"

enum { DATA = 1, PING = 2, SENT = 20 };

static void setup(void)
{
    forget_all();
}

static void sits(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static void answers(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        (void)weft_reply(m, PING, NULL, 0);
        weft_msg_free(m);
    }
}

struct flood {
    weft_pid box, echo;
    size_t bytes;
    int call; /* what a request to the full mailbox is answered with; 0: it is taken, and not asked */
};

static void floods(const void *arg, size_t size)
{
    (void)size;
    static const char data[1000];
    const struct flood *f = arg;
    weft_msg *m;
    for (int i = 0; i < SENT; i++) {
        int rc = weft_send(f->box, DATA, data, f->bytes);
        if (rc < 0) say("send %d", rc);
    }
    /* `echo` is on the same worker: when it answers, all messages have arrived. */
    int rc = weft_call(f->echo, PING, NULL, 0, &m, patience());
    if (rc == WEFT_OK) weft_msg_free(m);
    say("arrived %d", rc);
    if (f->call != 0) rc = weft_call(f->box, DATA, NULL, 0, &m, patience());
    if (rc == f->call) say("done");
    else say("call %d", rc);
}

static uint64_t dropped(const weft_node *n)
{
    uint64_t all[WF_DROP_REASONS];
    wf_node_drops(n, all);
    return all[WF_DROP_FULL];
}

static void fill(weft_node *a, weft_node *b, weft_full_policy policy, size_t bytes, int taken, int call)
{
    weft_spawn_options o = {.worker = 1, .policy = policy, .mailbox_max = 4};
    if (bytes > 0) {
        o.mailbox_max = 0;
        o.mailbox_bytes = 3000;
    }
    struct flood f = {.bytes = bytes, .call = call};
    ck_assert_int_eq(weft_node_spawn(b, &f.box, sits, NULL, 0, &o), WEFT_OK);
    ck_assert_int_eq(weft_node_spawn(b, &f.echo, answers, NULL, 0, &(weft_spawn_options){.worker = 1}), WEFT_OK);
    uint64_t before = dropped(b);
    forget_all();
    run_actor(a, floods, &f, sizeof f);
    HEAR("done");
    ck_assert_int_eq(heard("send", 0), 0);
    ck_assert_int_eq(heard("arrived 0", 0), 1);
    ck_assert_uint_eq(dropped(b) - before, (uint64_t)(SENT - taken + (call != 0)));
}

START_TEST(an_overrun_by_another_node_is_counted)
{
    weft_node *b = node_up("b", "tcp://127.0.0.1:0", NULL, 0);
    weft_node *a = node_up("a", NULL, weft_node_url(b, 0), 0);
    watch(a);
    HEAR("a up b");
    fill(a, b, WEFT_FULL_SUSPEND, 0, SENT, 0); /* on credit */
    fill(a, b, WEFT_FULL_FAIL, 0, 4, WEFT_EFULL);
    fill(a, b, WEFT_FULL_DROP_NEWEST, 0, 4, WEFT_EFULL);
    fill(a, b, WEFT_FULL_DROP_OLDEST, 0, 4, 0);
    /* 1,000 bytes count for 1,064 */
    fill(a, b, WEFT_FULL_SUSPEND, 1000, SENT, 0);
    fill(a, b, WEFT_FULL_FAIL, 1000, 3, WEFT_EFULL);
    fill(a, b, WEFT_FULL_DROP_NEWEST, 1000, 3, WEFT_EFULL);
    fill(a, b, WEFT_FULL_DROP_OLDEST, 1000, 3, 0);
    node_down(a);
    node_down(b);
}
END_TEST

/* ---- Messages sent later --------------------------------------------------------------------------------------- */

static void hears_ticks(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    int got = 0;
    while (got < 3 && weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        got++;
        say("tick %.*s", (int)weft_size(m), (const char *)weft_data(m));
        weft_msg_free(m);
    }
}

static void ticks(const void *arg, size_t size)
{
    (void)size;
    const weft_pid *to = arg;
    weft_later l;
    int rc = weft_send_every(weft_now(), WEFT_MS(1), *to, DATA, "tock", 4, &l);
    say("armed %d", rc);
    (void)weft_sleep(WEFT_FOREVER);
}

START_TEST(an_interval_reaches_another_node)
{
    weft_node *b = node_up("b", "tcp://127.0.0.1:0", NULL, 0);
    weft_node *a = node_up("a", NULL, weft_node_url(b, 0), 0);
    watch(a);
    HEAR("a up b");
    weft_pid to;
    ck_assert_int_eq(weft_node_spawn(b, &to, hears_ticks, NULL, 0, NULL), WEFT_OK);
    run_actor(a, ticks, &to, sizeof to);
    HEAR("armed 0");
    ck_assert_int_ge(heard("tick tock", 3), 3);
    node_down(a);
    node_down(b);
}
END_TEST

/* ---- The end of a sender --------------------------------------------------------------------------------------- */

enum { HELLO = 3, PUBLISHED = 4, FIRST_SENDER = 16, SENDERS = 6, EACH = 60, LARGE = 300 * 1024 };

struct numbered {
    int64_t order;
    char rest[LARGE];
};

/* Small and large messages, and publications, each with its number. */
static void sends_and_ends(const void *arg, size_t size)
{
    (void)size;
    static const struct numbered zero; /* read by all workers */
    const weft_pid *to = arg;
    weft_msg *m;
    if (weft_call(*to, HELLO, NULL, 0, &m, patience()) < 0) return;
    uint32_t tag = FIRST_SENDER + *(const uint32_t *)weft_data(m);
    weft_msg_free(m);
    for (int64_t i = 0; i < EACH; i++) {
        size_t bytes = i % 16 == 3 ? sizeof zero : sizeof i;
        int rc = i % 8 == 5 ? weft_publish("ends", PUBLISHED, &i, sizeof i) : 0;
        if (i % 8 != 5 && (m = weft_msg_new(tag, bytes)) != NULL) {
            memcpy(weft_msg_body(m), &zero, bytes);
            memcpy(weft_msg_body(m), &i, sizeof i);
            rc = weft_send_msg(*to, m);
        }
        if (rc < 0) say("send: %s", weft_strerror(rc));
    }
}

struct all_senders {
    weft_pid pid[SENDERS];
    int64_t next[SENDERS];
    uint32_t known, ended;
};

static bool is_of(const weft_msg *m, void *pid)
{
    return weft_pid_equal(weft_from(m), *(const weft_pid *)pid);
}

/* Now and then something is taken out of turn, which is never the news of an end alone. */
static int takes_one(struct all_senders *all, uint32_t turn, weft_msg **m)
{
    int rc = WEFT_ETIMEDOUT;
    uint32_t i = turn % SENDERS;
    if (turn % 4 == 1) rc = weft_recv_match(m, is_of, &all->pid[i], WEFT_NOW);
    return rc == WEFT_OK ? rc : weft_recv(m, patience());
}

static void greets(struct all_senders *all, weft_msg *m)
{
    weft_monitor_ref ref;
    all->pid[all->known] = weft_from(m);
    if (weft_monitor(weft_from(m), &ref) < 0 || weft_reply(m, HELLO, &all->known, sizeof all->known) < 0)
        say("failed");
    all->known++;
}

static void hears_ends(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct all_senders all = {.known = 0};
    weft_msg *m;
    if (weft_subscribe("ends", NULL) < 0) say("failed");
    say("listens");
    for (uint32_t turn = 0; all.ended < SENDERS && takes_one(&all, turn, &m) == WEFT_OK; turn++) {
        uint32_t i = 0;
        while (i < all.known && !weft_pid_equal(all.pid[i], weft_from(m))) i++;
        if (weft_tag(m) == HELLO) {
            greets(&all, m);
        } else if (weft_tag(m) == WEFT_TAG_DOWN) {
            if (all.next[i] != EACH) say("DOWN came before message %d", (int)all.next[i]);
            all.ended++;
        } else {
            int64_t order;
            memcpy(&order, weft_data(m), sizeof order);
            if (order != all.next[i]++) say("message %d came instead of %d", (int)order, (int)all.next[i] - 1);
        }
        weft_msg_free(m);
    }
    say("all ended");
}

START_TEST(an_end_on_another_node_is_heard_after_all_that_was_sent)
{
    weft_node *b = node_up("b", "tcp://127.0.0.1:0", NULL, 0);
    weft_node *a = node_up("a", NULL, weft_node_url(b, 0), 0);
    watch(a);
    HEAR("a up b");
    weft_pid to;
    ck_assert_int_eq(weft_node_spawn(b, &to, hears_ends, NULL, 0, NULL), WEFT_OK);
    HEAR("listens");
    for (int i = 0; i < SENDERS; i++) run_actor(i % 3 == 0 ? b : a, sends_and_ends, &to, sizeof to);
    HEAR("all ended");
    static const char *const wrong[] = {"send:", "failed", "DOWN", "message"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) expect_unheard(wrong[i]);
    node_down(a);
    node_down(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("mailbox");
    TCase *t = tcase_create("mailbox");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, an_overrun_by_another_node_is_counted);
    tcase_add_test(t, an_interval_reaches_another_node);
    tcase_add_test(t, an_end_on_another_node_is_heard_after_all_that_was_sent);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}

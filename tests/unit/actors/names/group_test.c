/* actors/names/group.c: members, sending to all, notifications: one for each change, in any race. */
#include "group_copy.h"
#include "group_send.h"
#include "../node_harness.h"

#include "../random.h"
#include "tables.h"
#include "group_table.h"

enum { DATA = 1, GO = 2, DONE = 3 };

/* ---- Members --------------------------------------------------------------------------------------------------- */

static void joins(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_group_join("g"), 0);
    want_int(weft_group_join("h"), 0);
    want_int(say(k.parent, GO, 0), 0);
    if (hear(GO) == 1) want_int(weft_group_leave("g"), 0);
    want_int(say(k.parent, GO, 0), 0);
    hear(GO);
}

static void members_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid kid[2], got[4] = {{0, 0}};
    want_int(weft_group_members("g", NULL, 0), 0);
    want_int(weft_group_leave("g"), WEFT_ENOACTOR);
    want_int(weft_group_unwatch("g"), WEFT_ENOACTOR);
    for (int i = 0; i < 2; i++) {
        kid[i] = kid_on(i + 1, joins, 0);
        hear(GO);
    }
    want_int(weft_group_join("g"), 0);
    want_int(weft_group_join("g"), WEFT_EEXIST);
    want_int(weft_group_members("g", got, 4), 3);
    want(weft_pid_equal(got[0], kid[0]) && weft_pid_equal(got[1], kid[1]) && weft_pid_equal(got[2], weft_self()));
    want(weft_pid_is_nobody(got[3]));
    got[1] = weft_nobody();
    want_int(weft_group_members("h", got, 1), 2);
    want(weft_pid_is_nobody(got[1]));
    want_int(groups_count(weft_here()), 2);
    for (int i = 0; i < 2; i++) {
        want_int(say(kid[i], GO, i), 0);
        hear(GO);
    }
    want_int(weft_group_members("g", got, 4), 2);
    want(weft_pid_equal(got[0], kid[0]) && weft_pid_equal(got[1], weft_self()));
    for (int i = 0; i < 2; i++) {
        want_int(say(kid[i], GO, i), 0);
        await_end(kid[i]);
    }
    want_int(weft_group_members("g", NULL, 0), 1);
    want_int(weft_group_members("h", NULL, 0), 0);
    want_int(weft_group_leave("g"), 0);
    want_int(weft_group_leave("g"), WEFT_ENOACTOR);
    want_int(groups_count(weft_here()), 0);
    want_int(weft_group_join("g"), 0); /* its end leaves it */
}

START_TEST(members_join_and_leave)
{
    run_on(2, members_body);
}
END_TEST

static void bad_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static const char *const bad[] = {NULL, "", "a b", "a*", "a@b"};
    char text[66];
    memset(text, 'x', sizeof text - 1);
    text[65] = 0;
    for (size_t i = 0; i <= WF_COUNT(bad); i++) {
        const char *name = i < WF_COUNT(bad) ? bad[i] : text;
        int why = i < WF_COUNT(bad) ? WEFT_EINVAL : WEFT_ETOOBIG;
        want_int(weft_group_join(name), why);
        want_int(weft_group_leave(name), why);
        want_int(weft_group_members(name, NULL, 0), why);
        want_int(weft_group_send(name, DATA, NULL, 0), why);
        want_int(weft_group_watch(name), why);
        want_int(weft_group_unwatch(name), why);
    }
    want_int(weft_group_members("g", NULL, 1), WEFT_EINVAL);
    want_int(weft_group_send("g", WEFT_TAG_SYSTEM, NULL, 0), WEFT_EINVAL);
    want_int(weft_group_send("g", DATA, NULL, 1), WEFT_EINVAL);
    want_int(weft_group_send("g", DATA, "", WEFT_MESSAGE_MAX + 1), WEFT_ETOOBIG);
    text[64] = 0;
    want_int(weft_group_watch(text), 0);
    want_int(weft_group_join(text), 0);
    weft_msg *m;
    struct weft_group_news news;
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want_int(weft_group_news_read(m, &news), 0);
    want(strcmp(news.group, text) == 0);
    weft_msg_free(m);
    want_int(say(weft_self(), DATA, 0), 0);
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want_int(weft_group_news_read(m, &news), WEFT_EFORMAT);
    weft_msg_free(m);
}

START_TEST(bad_arguments)
{
    run_on(1, bad_body);
    ck_assert_int_eq(weft_group_join("g"), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_group_leave("g"), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_group_members("g", NULL, 0), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_group_send("g", DATA, NULL, 0), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_group_watch("g"), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_group_unwatch("g"), WEFT_ENOTACTOR);
}
END_TEST

/* ---- Sending to all -------------------------------------------------------------------------------------------- */

static void hears_all(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_group_join("g"), 0);
    want_int(say(k.parent, GO, 0), 0);
    for (int64_t i = 0; i < k.n; i++) {
        weft_msg *m;
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        want_int(value_of(m), i);
        want(weft_pid_equal(weft_from(m), k.parent));
        want(weft_topic(m)[0] == 0);
        weft_msg_free(m);
    }
    want_int(say(k.parent, DONE, 0), 0);
}

static void send_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { KIDS = 10, MESSAGES = 100 };
    weft_pid kid[KIDS];
    int64_t none = 0;
    want_int(weft_group_send("g", DATA, &none, sizeof none), 0);
    for (int i = 0; i < KIDS; i++) {
        kid[i] = kid_on(1 + i % 2, hears_all, MESSAGES);
        hear(GO);
    }
    for (int64_t i = 0; i < MESSAGES; i++) {
        if (i % 2 == 0) want_int(weft_group_send("g", DATA, &i, sizeof i), KIDS);
        else {
            for (int t = 0; t < KIDS; t++) want_int(say(kid[t], DATA, i), 0); /* one order with the others */
        }
    }
    for (int i = 0; i < KIDS; i++) want_int(hear(DONE), 0);
    for (int i = 0; i < KIDS; i++) await_end(kid[i]);
    want_int(weft_group_join("g"), 0);
    int64_t i = 7;
    want_int(weft_group_send("g", DATA, &i, sizeof i), 1); /* to itself */
    want_int(weft_group_send("g", DATA, NULL, 0), 1);
    want_int(hear(DATA), 7);
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), 0);
    want_int(weft_size(m), 0);
    weft_msg_free(m);
}

START_TEST(every_member_gets_it_once_in_order)
{
    run_on(2, send_body);
}
END_TEST

static void sits_in(const void *arg, size_t size)
{
    (void)size;
    want_int(weft_group_join("full"), 0);
    want_int(say(((const struct kid *)arg)->parent, GO, 0), 0);
    (void)weft_sleep(WEFT_FOREVER);
}

static void full_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid kid[4];
    for (weft_full_policy p = WEFT_FULL_SUSPEND; p <= WEFT_FULL_FAIL; p++) {
        weft_spawn_options o = {.mailbox_max = 2, .worker = 1, .policy = p};
        kid[p] = kid_with(sits_in, (struct kid){.n = 0}, &o);
        hear(GO);
    }
    for (int64_t i = 0; i < 2; i++) want_int(weft_group_send("full", DATA, &i, sizeof i), 4);
    int64_t last = 2;
    want_int(weft_group_send("full", DATA, &last, sizeof last),
             2); /* the two that drop take it as they are told to */
    want_int(drops(weft_here(), WF_DROP_FULL), 4);
    for (weft_full_policy p = WEFT_FULL_SUSPEND; p <= WEFT_FULL_FAIL; p++) {
        want_int(wf_mail_count(peek(kid[p])), 2);
        want_int(peek(kid[p])->dropped, 1);
        want_int(value_of(peek(kid[p])->mail.last), p == WEFT_FULL_DROP_OLDEST ? 2 : 1);
        want_int(weft_stop(kid[p]), 0);
        await_end(kid[p]);
    }
}

START_TEST(a_full_member_holds_nobody_up)
{
    run_on(1, full_body);
}
END_TEST

enum { LARGE = 1024 * 1024, LARGE_KIDS = 3 };
static char large[16 * LARGE];
static atomic_bool hold_worker, held_worker;

static void hog(const void *arg, size_t size)
{
    (void)arg, (void)size;
    atomic_store(&held_worker, true);
    while (atomic_load(&hold_worker)) pf_cpu_relax();
}

/* Nothing that is sent to worker 2 is taken there. */
static void hold(void)
{
    atomic_store(&hold_worker, true);
    atomic_store(&held_worker, false);
    kid_on(2, hog, 0);
    until(atomic_load(&held_worker));
}

/* Members on both workers, whose mailboxes have no limit of bytes. */
static void join_large(weft_pid *kid, int kids, weft_actor *body, int64_t n)
{
    for (int i = 0; i < kids; i++) {
        weft_spawn_options o = {.worker = 1 + (i != 0), .mailbox_bytes = SIZE_MAX};
        kid[i] = kid_with(body, (struct kid){.n = n}, &o);
        hear(GO);
    }
}

static void hears_large(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_group_join("large"), 0);
    want_int(say(k.parent, GO, 0), 0);
    for (int64_t i = 0; i < k.n; i++) {
        weft_msg *m;
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        weft_msg_free(m);
    }
    want_int(say(k.parent, DONE, 0), 0);
}

/* The members share one body: it counts once, however many they are. */
static void one_large_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { KIDS = 20 };
    weft_pid kid[KIDS];
    join_large(kid, KIDS, hears_large, 2);
    hold();
    want_int(weft_group_send("large", DATA, large, sizeof large), KIDS);
    want_int(weft_group_send("large", DATA, large, sizeof large), KIDS);
    atomic_store(&hold_worker, false);
    for (int i = 0; i < KIDS; i++) want_int(hear(DONE), 0);
    for (int i = 0; i < KIDS; i++) await_end(kid[i]);
}

START_TEST(one_large_message_reaches_all_members_of_another_worker)
{
    run_on(2, one_large_body);
}
END_TEST

/* Else the peer's connection would be paused for one message. */
static void arrived_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { KIDS = 20 };
    weft_pid kid[KIDS];
    weft_node *node = weft_here();
    struct wf_inbound in = {.here = NULL};
    join_large(kid, KIDS, hears_large, 3);
    hold();
    for (int i = 0; i < 3; i++) {
        in.here = i == 0 ? NULL : wf_here;
        struct wf_body *body = wf_body_new(wf_here, NULL, 0, large, sizeof large);
        wf_groups_arrived(node, &in, weft_cstr("large"), DATA, weft_self(), body);
        wf_inbound_post(node, &in);
        want(wf_inbound_congested(node, &in) == NULL);
    }
    atomic_store(&hold_worker, false);
    for (int i = 0; i < KIDS; i++) want_int(hear(DONE), 0);
    for (int i = 0; i < KIDS; i++) await_end(kid[i]);
}

START_TEST(a_large_message_of_a_peer_counts_once_at_each_worker)
{
    run_on(2, arrived_body);
}
END_TEST

/* Bodies that are under way to a worker take 64 MiB there, as the bodies of other messages do. */
static void many_large_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { MOST = (int64_t)WF_INBOX_MAX * 1024 / LARGE };
    weft_pid kid[LARGE_KIDS];
    join_large(kid, LARGE_KIDS, hears_large, MOST);
    hold();
    int sent = 0;
    while (sent <= 2 * MOST && weft_group_send("large", DATA, large, LARGE) == LARGE_KIDS) {
        sent++;
        want_int(weft_yield(), 0);
    }
    want_int(sent, MOST);
    want_int(drops(weft_here(), WF_DROP_FULL), LARGE_KIDS - 1); /* its own worker takes it */
    atomic_store(&hold_worker, false);
    for (int i = 0; i < LARGE_KIDS; i++) want_int(hear(DONE), 0);
    for (int i = 0; i < LARGE_KIDS; i++) await_end(kid[i]);
}

START_TEST(large_messages_under_way_to_another_worker_are_bounded)
{
    run_on(2, many_large_body);
}
END_TEST

/* ---- News ------------------------------------------------------------------------------------------------------ */

static struct weft_group_news next_news(uint32_t tag)
{
    struct weft_group_news news;
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want_int(weft_tag(m), tag);
    want_int(weft_group_news_read(m, &news), 0);
    want(weft_pid_equal(weft_from(m), news.who));
    weft_msg_free(m);
    return news;
}

static void expect_news(uint32_t tag, weft_pid who, bool ended, int reason)
{
    struct weft_group_news news = next_news(tag);
    want(weft_pid_equal(news.who, who));
    want(strcmp(news.group, "news") == 0);
    want_int(news.ended, ended);
    want_int(news.reason, reason);
}

static void quiet(void)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT);
}

enum { LEAVE, RETURN, EXIT, FAIL, STAY, WAYS };

static void comes_and_goes(const void *arg, size_t size)
{
    (void)size;
    want_int(weft_group_join("news"), 0);
    switch (((const struct kid *)arg)->n) {
    case LEAVE:
        want_int(weft_group_leave("news"), 0);
        (void)weft_sleep(WEFT_FOREVER);
        break;
    case RETURN: break;
    case EXIT: weft_exit(42);
    case FAIL: weft_exit(WEFT_ETIMEDOUT);
    default: (void)weft_sleep(WEFT_FOREVER);
    }
}

static void news_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static const int reasons[] = {[EXIT] = 42, [FAIL] = WEFT_ETIMEDOUT};
    want_int(weft_group_watch("news"), 0);
    want_int(weft_group_watch("news"), WEFT_EEXIST);
    quiet();
    for (int worker = 1; worker <= 2; worker++) {
        for (int way = LEAVE; way < STAY; way++) {
            weft_pid kid = kid_on(worker, comes_and_goes, way);
            expect_news(WEFT_TAG_GROUP_JOIN, kid, false, 0);
            expect_news(WEFT_TAG_GROUP_LEAVE, kid, way != LEAVE, reasons[way]);
            if (way == LEAVE) want_int(weft_stop(kid), 0);
            await_end(kid);
        }
        weft_pid kid = kid_on(worker, comes_and_goes, STAY), killed = kid_on(worker, comes_and_goes, STAY);
        expect_news(WEFT_TAG_GROUP_JOIN, kid, false, 0);
        expect_news(WEFT_TAG_GROUP_JOIN, killed, false, 0);
        want_int(weft_stop(kid), 0);
        expect_news(WEFT_TAG_GROUP_LEAVE, kid, true, WEFT_EXIT_STOPPED);
        want_int(weft_kill(killed), 0);
        expect_news(WEFT_TAG_GROUP_LEAVE, killed, true, WEFT_EXIT_KILLED);
        await_end(kid);
        await_end(killed);
    }
    quiet();
    want_int(weft_group_join("news"), 0); /* of itself, too */
    expect_news(WEFT_TAG_GROUP_JOIN, weft_self(), false, 0);
    want_int(weft_group_leave("news"), 0);
    expect_news(WEFT_TAG_GROUP_LEAVE, weft_self(), false, 0);
    want_int(weft_group_join("news"), 0);
    want_int(weft_group_unwatch("news"), 0);
    quiet(); /* it was here already */
    want_int(weft_group_unwatch("news"), WEFT_ENOACTOR);
    want_int(weft_group_leave("news"), 0);
    quiet();
}

START_TEST(a_watcher_is_told_each_change_with_its_reason)
{
    run_on(2, news_body);
}
END_TEST

static void first_news_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid kid[20];
    for (int i = 0; i < 20; i++) {
        kid[i] = kid_on(1 + i % 2, comes_and_goes, STAY);
        until(weft_group_members("news", NULL, 0) == i + 1);
    }
    want_int(weft_group_join("news"), 0);
    for (int again = 0; again < 3; again++) {
        want_int(weft_group_watch("news"), 0);
        for (int i = 0; i < 20; i++) expect_news(WEFT_TAG_GROUP_JOIN, kid[i], false, 0);
        expect_news(WEFT_TAG_GROUP_JOIN, weft_self(), false, 0);
        quiet();
        want_int(weft_group_unwatch("news"), 0);
    }
    for (int i = 0; i < 20; i++) want_int(weft_stop(kid[i]), 0);
    for (int i = 0; i < 20; i++) await_end(kid[i]);
    want_int(weft_group_watch("news"), 0); /* ends with it */
}

START_TEST(a_watch_begins_with_who_is_there)
{
    run_on(2, first_news_body);
}
END_TEST

/* ---- Races ----------------------------------------------------------------------------------------------------- */

enum { LIVES = 40, STEPS = 200, LOOKERS = 4, OTHERS = 3 };

static _Atomic int64_t joined, left;

/* The members of the group according to the notifications. */
struct known {
    weft_pid pids[LIVES + 1];
    int count;
    int64_t joins, leaves;
};

/* False: no news. Told twice, or told of an end without a beginning, fails. */
static bool learn(struct known *k, int64_t deadline)
{
    weft_msg *m;
    struct weft_group_news news;
    if (weft_recv(&m, deadline) != 0) return false;
    if (weft_group_news_read(m, &news) != 0) {
        want_int(weft_tag(m), GO);
        weft_msg_free(m);
        return false;
    }
    int i = 0;
    while (i < k->count && !weft_pid_equal(k->pids[i], news.who)) i++;
    if (weft_tag(m) == WEFT_TAG_GROUP_JOIN) {
        want_int(i, k->count);
        want(k->count <= LIVES);
        k->pids[k->count++] = news.who;
        k->joins++;
    } else {
        want(i < k->count);
        k->pids[i] = k->pids[--k->count];
        k->leaves++;
    }
    weft_msg_free(m);
    return true;
}

static void lives(const void *arg, size_t size)
{
    (void)size;
    uint64_t random = (uint64_t)((const struct kid *)arg)->n;
    weft_pid parent = ((const struct kid *)arg)->parent;
    bool in = false;
    for (int i = 0; i < STEPS; i++) {
        int rc = in ? weft_group_leave("race") : weft_group_join("race");
        want_int(rc, 0);
        in = !in;
        atomic_fetch_add(in ? &joined : &left, 1);
        if (random_below(&random, 4) == 0) want_int(weft_yield(), 0);
        if (random_below(&random, STEPS) == 0) break; /* as a member or not */
    }
    if (in) atomic_fetch_add(&left, 1);
    want_int(say(parent, DONE, 0), 0);
}

/* Watches for a while, again and again: after each end of a watch nothing of it comes. */
static void looks(const void *arg, size_t size)
{
    (void)size;
    uint64_t random = (uint64_t)((const struct kid *)arg)->n;
    weft_pid parent = ((const struct kid *)arg)->parent;
    for (int i = 0; i < STEPS; i++) {
        struct known k = {.count = 0};
        want_int(weft_group_watch("race"), 0);
        for (uint32_t n = random_below(&random, 60); n > 0; n--) {
            if (!learn(&k, WEFT_NOW)) want_int(weft_yield(), 0);
        }
        want_int(weft_group_unwatch("race"), 0);
        quiet();
        want_int(weft_yield(), 0);
        quiet();
    }
    want_int(say(parent, DONE, 0), 0);
}

/* Watches the group from the first change to the last. */
static void watches_all(const void *arg, size_t size)
{
    (void)size;
    weft_pid parent = ((const struct kid *)arg)->parent;
    struct known k = {.count = 0};
    want_int(weft_group_watch("race"), 0);
    want_int(say(parent, GO, 0), 0);
    while (learn(&k, WEFT_FOREVER)) {} /* until it is told GO, after the last change */
    while (k.leaves < atomic_load(&left) && learn(&k, WEFT_FOREVER)) {}
    want_int(k.count, 0);
    want_int(k.joins, atomic_load(&joined));
    want_int(k.leaves, atomic_load(&left));
    quiet();
}

static void race_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid watchers[OTHERS];
    for (int i = 0; i < OTHERS; i++) {
        watchers[i] = kid_on(1 + i % 3, watches_all, 0);
        hear(GO);
    }
    for (int i = 0; i < LOOKERS; i++) kid_on(1 + i % 3, looks, 1000 + i);
    for (int i = 0; i < LIVES; i++) kid_on(1 + i % 3, lives, i);
    for (int i = 0; i < LIVES + LOOKERS; i++) hear(DONE);
    until(weft_group_members("race", NULL, 0) == 0);
    want_int(atomic_load(&joined), atomic_load(&left));
    for (int i = 0; i < OTHERS; i++) want_int(say(watchers[i], GO, 0), 0);
    for (int i = 0; i < OTHERS; i++) await_end(watchers[i]);
}

START_TEST(no_change_is_lost_or_told_twice)
{
    atomic_store(&joined, 0);
    atomic_store(&left, 0);
    run_on(3, race_body);
}
END_TEST

/* ---- All of them, in parts ------------------------------------------------------------------------------------- */

enum { MANY = 20000, STEADY = MANY / 2 };

struct parts {
    unsigned left;                /* of this part */
    unsigned char seen[2 * MANY]; /* how often, by number */
};

static bool see_one(weft_text group, weft_pid who, void *arg)
{
    struct parts *p = arg;
    want(group.size == 1 && who.node == 99);
    p->seen[who.actor - 1]++;
    if (p->left > 0) p->left--;
    return p->left > 0;
}

/* Members of one group are seen in parts while others of it go and come. */
static void parts_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static struct parts p;
    weft_node *node = weft_here();
    struct wf_inbound in = {.here = wf_here};
    struct wf_groups_part part = {.at = 0};
    struct wf_copies from;
    wf_copies_init(&from, 99);
    wf_tables_begin(node);
    for (uint64_t i = 0; i < MANY; i++) want_int(wf_groups_put_copy(node, &in, &from, weft_cstr("g"), i + 1), 1);
    want_int(wf_groups_put_copy(node, &in, &from, weft_cstr("g"), 1), 0);
    for (uint64_t i = STEADY, more = 1; more != 0; i++) {
        p.left = 100;
        more = wf_groups_some(wf_groups_of(node), &part, see_one, &p);
        if (i >= MANY) continue;
        want(wf_groups_take_copy(node, &in, &from, weft_cstr("g"), i + 1, true, 0)); /* some have been seen */
        want_int(wf_groups_put_copy(node, &in, &from, weft_cstr("g"), MANY + i + 1), 1);
    }
    for (uint64_t i = 0; i < STEADY; i++) want_int(p.seen[i], 1);
    want_int(weft_group_members("g", NULL, 0), MANY);
    from.round++;
    uint32_t work = MANY - 1, rest = 2;
    wf_groups_clear_copies(node, &in, &from, &work);
    want_int((int)work, 0);
    want_int(weft_group_members("g", NULL, 0), 1);
    wf_groups_clear_copies(node, &in, &from, &rest);
    want_int((int)rest, 1);
    wf_tables_end(node);
    want_int(weft_group_members("g", NULL, 0), 0);
    want_int(groups_count(node), 0);
}

START_TEST(members_of_one_group_are_seen_once_in_parts)
{
    run_on(1, parts_body);
}
END_TEST

TEST_MAIN("group", members_join_and_leave, bad_arguments, every_member_gets_it_once_in_order,
          a_full_member_holds_nobody_up, one_large_message_reaches_all_members_of_another_worker,
          large_messages_under_way_to_another_worker_are_bounded,
          a_large_message_of_a_peer_counts_once_at_each_worker, a_watcher_is_told_each_change_with_its_reason,
          a_watch_begins_with_who_is_there, no_change_is_lost_or_told_twice,
          members_of_one_group_are_seen_once_in_parts)

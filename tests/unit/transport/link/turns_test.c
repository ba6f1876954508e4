/* A peer cannot make a turn of a worker long by its frames, or by the entries that it leaves behind: work is counted
 * in blocks of memory that are allocated or freed in one turn, because each entry of a table needs some. */
#include "channel.h"
#include "frame_tables.h"
#include "linked.h"

#include "../../alloc_faults.h"

#include <limits.h>

enum {
    ENTRIES = 20000,
    MOST = 4096, /* blocks in a turn: of 512 entries that come, of 1,024 places of a table from which some leave */
    BATCH = 200000
};

static struct {
    long taken, last_taken, last_live, most, turns;
} work;

static bool counts(void)
{
    work.taken++;
    return true;
}

static void after_turn(struct wf_sim_world *w)
{
    (void)w;
    long taken = work.taken - work.last_taken, given = taken - (faults.live - work.last_live);
    work.last_taken = work.taken;
    work.last_live = faults.live;
    work.most = WF_MAX(work.most, taken + given);
    work.turns++;
}

/* Memory that the test itself has taken is not counted. */
static void go_on_counting(void)
{
    work.last_taken = work.taken;
    work.last_live = faults.live;
    world.after_turn = after_turn;
}

static void begin_to_count(void)
{
    work.most = work.turns = 0;
    go_on_counting();
}

enum kind { NAMES, GROUPS, MEMBERS, QUEUES, PATTERNS, PATTERNS_TOGETHER, RETAINED, KINDS };
enum { TOGETHER = 1000 /* patterns in a frame: as many as a node sends in one */ };

static void name_of(unsigned i, char text[32])
{
    snprintf(text, 32, "one.of.many.%u", i);
}

static void put_patterns(unsigned first, unsigned count, bool back)
{
    char text[32];
    wf_put_interest(&out, back ? WF_INTEREST_REMOVE : WF_INTEREST_ADD, count);
    for (unsigned i = first; i < first + count; i++) {
        name_of(i, text);
        weft_put_str(&out, weft_cstr(text));
    }
}

static void put(enum kind kind, unsigned i, bool back)
{
    static uint64_t stamp;
    char text[32];
    name_of(i, text);
    struct wf_entry e = {.key = weft_cstr(text), .actor = 7, .stamp = 1000};
    switch (kind) {
    case NAMES: e.table = WF_TABLE_NAMES; break;
    case GROUPS: e.table = WF_TABLE_GROUPS; break;
    case MEMBERS: e = (struct wf_entry){.table = WF_TABLE_GROUPS, .key = weft_cstr("group"), .actor = i + 1}; break;
    case QUEUES:
        e = (struct wf_entry){.table = WF_TABLE_QUEUES, .key = weft_cstr(text), .queue = weft_cstr("queue")};
        break;
    case PATTERNS: put_patterns(i, 1, back); return;
    case PATTERNS_TOGETHER:
        if ((i + 1) % TOGETHER == 0) put_patterns(i + 1 - TOGETHER, TOGETHER, back);
        return;
    case RETAINED: {
        struct wf_body *body = wf_body_new(NULL, text, (uint32_t)strlen(text), "x", back ? 0 : 1);
        wf_body_sign(body, there, 1, 1);
        wf_put_retained(&out, body, ++stamp, true, 0);
        wf_body_drop(NULL, body);
        return;
    }
    default: return;
    }
    wf_put_entry(&out, back ? WF_TABLE_UNSET : WF_TABLE_SET, &e);
}

static void say_all(enum kind kind, bool back)
{
    for (unsigned i = 0; i < ENTRIES; i++) {
        put(kind, i, back);
        if (out.size < BATCH && i < ENTRIES - 1) continue;
        go_on_counting();
        speak(peer);
    }
    pass(WEFT_SEC(1));
}

/* It comes, half of it is taken back, and what is left goes with the link. */
START_TEST(no_turn_is_long)
{
    enum kind kind = (enum kind)_i;
    faults.concerns = counts;
    faults_arm(LONG_MAX, false); /* none fails */
    open_with(0, false);
    begin_to_count();
    say_all(kind, false);
    long came = work.most, turns = work.turns;
    ck_assert_int_ge(turns, ENTRIES / (kind == PATTERNS_TOGETHER ? TOGETHER : 512));
    ck_assert_int_le(came, MOST);
    begin_to_count();
    say_all(kind, true);
    long back = work.most;
    ck_assert_int_le(back, MOST);
    begin_to_count();
    say_all(kind, false);
    wf_put_bye(&out, "left");
    speak(peer);
    pass(WEFT_SEC(5));
    ck_assert_int_le(work.most, MOST);
    NEWS("down peer: left");
    world.after_turn = NULL;
    ck_assert_int_eq(faults_disarm(), 0);
    faults.concerns = NULL;
    close_script();
}
END_TEST

/* ---- Messages to many ------------------------------------------------------------------------------------------ */

enum { MANY = 4000, SAID = 1000, ASKED = 1500 };

static struct {
    uint64_t received, before, most; /* by one of them: in all, before this turn, in a turn */
    uint64_t turns;                  /* in which it has received any */
} ear;

static void hold_all(const void *arg, size_t size)
{
    (void)arg, (void)size;
    if (weft_subscribe("topic", NULL) == WEFT_OK && weft_group_join("group") == WEFT_OK)
        (void)weft_sleep(WEFT_FOREVER);
}

static void count_all(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_subscribe("topic", NULL) < 0 || weft_group_join("group") < 0) return;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) ear.received++;
}

static void after_hearing(struct wf_sim_world *w)
{
    (void)w;
    ear.most = WF_MAX(ear.most, ear.received - ear.before);
    ear.turns += ear.received > ear.before;
    ear.before = ear.received;
}

static void begin_to_hear(void)
{
    memset(&ear, 0, sizeof ear);
    world.after_turn = after_hearing;
}

/* One message of a peer has a thousand publications, each for thousands of actors. Meanwhile an actor also receives
 * other messages, and it gets all of them. */
START_TEST(a_publication_to_many_makes_no_turn_long)
{
    bool topic = _i == 0;
    open_with(0, false);
    for (int i = 1; i < MANY; i++) run_on_node(hold_all);
    run_on_node(count_all);
    begin_to_hear();
    for (int i = 0; i < SAID; i++)
        wf_put_to_all(&out, topic ? WF_FRAME_PUBLISH : WF_FRAME_GROUP_SEND, weft_cstr(topic ? "topic" : "group"), 5,
                      1, "x", 1);
    speak(peer);
    pass(WEFT_SEC(1));
    ck_assert_uint_eq(ear.received, SAID);
    ck_assert_uint_le(ear.most, (topic ? WF_TURN_WORK : WF_COPIES_AT_ONCE) / MANY + 1);
    world.after_turn = NULL;
    close_script();
}
END_TEST

static void watch_all(const void *arg, size_t size)
{
    (void)arg, (void)size;
    if (weft_group_watch("group") == WEFT_OK) (void)weft_sleep(WEFT_FOREVER);
}

static void count_news(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_group_watch("group") < 0) return;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) ear.received++;
}

/* Members of a peer join a group that thousands of actors watch, and leave it. */
START_TEST(members_of_a_group_that_many_watch_make_no_turn_long)
{
    open_with(0, false);
    for (int i = 1; i < MANY; i++) run_on_node(watch_all);
    run_on_node(count_news);
    begin_to_hear();
    for (unsigned back = 0; back <= 1; back++) {
        for (unsigned i = 0; i < 100; i++) put(MEMBERS, i, back == 1);
    }
    speak(peer);
    pass(WEFT_SEC(1));
    ck_assert_uint_eq(ear.received, 200);
    ck_assert_uint_le(ear.most, WF_COPIES_AT_ONCE / MANY + 1);
    world.after_turn = NULL;
    close_script();
}
END_TEST

static void hold_one(const void *arg, size_t size)
{
    (void)arg, (void)size;
    if (weft_register("full") == WEFT_OK) (void)weft_sleep(WEFT_FOREVER);
}

/* A peer asks again and again, each time as another sender, for credit with an actor whose mailbox is full: each
 * request is compared with all that wait there. */
START_TEST(no_turn_is_long_for_requests_of_credit)
{
    weft_pid full;
    open_with(0, false);
    weft_spawn_options one = {.mailbox_max = 1};
    ck_assert_int_eq(weft_node_spawn(node, &full, hold_one, NULL, 0, &one), WEFT_OK);
    weft_pid listener = run_on_node(count_all);
    wf_put_to_actor(&out, WF_MSG_SEND, full.actor, 5, 1, 0, "x", 1, 0);
    speak(peer);
    begin_to_hear();
    for (uint32_t i = 0; i < ASKED; i++) {
        wf_put_credit_request_name(&out, weft_cstr("full"), 1 << 24 | 1, i + 1, i);
        wf_put_to_actor(&out, WF_MSG_SEND, listener.actor, 5, 1, 0, "x", 1, 0);
    }
    speak(peer);
    pass(WEFT_SEC(1));
    ck_assert_uint_eq(ear.received, ASKED);
    ck_assert_uint_ge(ear.turns, (uint64_t)ASKED * (ASKED - 1) / 2 / WF_TURN_WORK);
    world.after_turn = NULL;
    close_script();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("turns");
    TCase *t = tcase_create("turns");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, no_turn_is_long, 0, KINDS);
    tcase_add_loop_test(t, a_publication_to_many_makes_no_turn_long, 0, 2);
    tcase_add_test(t, members_of_a_group_that_many_watch_make_no_turn_long);
    tcase_add_test(t, no_turn_is_long_for_requests_of_credit);
    suite_add_tcase(s, t);
    return run_suite(s);
}

/* Monitors and links of a peer on this node: their limit, and that none of them outlives its link. */
#include "linked.h"

#include "actor.h"
#include "ties.h"

enum {
    WATCH = WF_FRAME_TIES,
    DOWN = WF_FRAME_TIES + WF_MSG_DOWN - WF_MSG_WATCH,
    EXIT = WF_FRAME_TIES + WF_MSG_EXIT - WF_MSG_WATCH,
    ASKER = 9,
};

static void stays(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static struct wf_worker *home_of(weft_pid pid)
{
    return node->workers.at[wf_id_worker(pid.actor)];
}

static void put(unsigned kind, weft_pid to, uint64_t from, uint64_t ref)
{
    wf_put_to_actor(&out, kind, to.actor, from, 0, ref, NULL, 0, WF_FRAME_NO_DEADLINE);
}

static void say_one(struct line *l, unsigned kind, weft_pid to, uint64_t from, uint64_t ref)
{
    put(kind, to, from, ref);
    speak(l);
}

static unsigned count_of(const struct line *l, uint32_t kind)
{
    unsigned count = 0;
    for (unsigned i = l->count; i > 0 && l->count - i < HEARD; i--) count += l->heard[(i - 1) % HEARD].kind == kind;
    return count;
}

/* The first ref that is not used. */
static uint64_t watch_many(struct line *l, weft_pid who, uint32_t count)
{
    uint64_t ref = 1;
    for (; ref <= count; ref++) {
        put(WF_MSG_WATCH, who, ASKER, ref);
        if (out.size > WORDS - 1024) speak(l);
    }
    speak(l);
    return ref;
}

START_TEST(the_ties_of_a_peer_are_bounded)
{
    open_with(0, false);
    struct line *other = second_peer(3, 0);
    weft_pid who = run_on_node(stays), another = run_on_node(stays);
    ck_assert_uint_eq(wf_id_worker(who.actor), wf_id_worker(another.actor)); /* there is one worker */
    uint64_t next = watch_many(peer, who, WF_TIES_OF_NODE);
    ck_assert_ptr_null(heard(peer, DOWN));

    say_one(peer, WF_MSG_WATCH, another, ASKER, next);
    ck_assert_ptr_nonnull(heard(peer, DOWN));
    ck_assert_int_eq(heard(peer, DOWN)->reason, WEFT_EFULL);
    ck_assert_uint_eq(heard(peer, DOWN)->ref, next);
    ck_assert_uint_eq(heard(peer, DOWN)->from, another.actor);
    ck_assert_uint_eq(heard(peer, DOWN)->to, ASKER);
    say_one(peer, WF_MSG_LINK, another, ASKER, 1);
    ck_assert_ptr_nonnull(heard(peer, EXIT));
    ck_assert_int_eq(heard(peer, EXIT)->reason, WEFT_EFULL);

    say_one(other, WF_MSG_WATCH, who, ASKER, 1); /* it is another's bound */
    ck_assert_ptr_null(heard(other, DOWN));
    say_one(peer, WF_MSG_UNWATCH, who, ASKER, next / 2);
    say_one(peer, WF_MSG_LINK, another, ASKER, 2);
    ck_assert_uint_eq(count_of(peer, EXIT), 1);
    say_one(peer, WF_MSG_KILL, another, ASKER, 0);
    ck_assert_uint_eq(count_of(peer, EXIT), 2); /* of the link */
    close_script();
}
END_TEST

START_TEST(no_tie_of_a_peer_outlives_its_link)
{
    open_with(0, false);
    weft_pid who = run_on_node(stays);
    const struct wf_worker_ties *here = wf_ties_of(home_of(who));
    uint32_t before = here->ties.count;
    (void)watch_many(peer, who, 10000);
    for (uint64_t from = 100; from < 200; from++) put(WF_MSG_LINK, who, from, from);
    speak(peer);
    ck_assert_uint_gt(here->ties.count, 10000);
    wf_put_bye(&out, "left");
    speak(peer);
    pass(WEFT_MS(50));
    ck_assert_uint_eq(here->ties.count, before);
    ck_assert_uint_eq(here->remote_ties.count, 0);
    ck_assert_uint_eq(here->tied_nodes.count, 0);
    close_script();
}
END_TEST

/* How many ties the node has, and how many have ended in one turn. */
static struct {
    const struct wf_worker_ties *here;
    uint32_t before, most;
} ends;

static uint32_t ties_now(void)
{
    return ends.here->ties.count + ends.here->monitors.used;
}

static void after_turn(struct wf_sim_world *w)
{
    (void)w;
    const uint32_t now = ties_now();
    ends.most = WF_MAX(ends.most, ends.before - WF_MIN(ends.before, now));
    ends.before = now;
}

static void watches_many(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 10000; i++) ck_assert_int_eq(weft_monitor(there, NULL), 0);
    weft_msg *m;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) result[0]++;
}

START_TEST(the_end_of_a_link_ends_its_ties_in_parts)
{
    open_with(0, false);
    weft_pid who = run_on_node(stays);
    (void)run_on_node(watches_many);
    ends.here = wf_ties_of(home_of(who));
    (void)watch_many(peer, who, 10000);
    ends.most = 0;
    ends.before = ties_now();
    ck_assert_uint_ge(ends.before, 19000);
    world.after_turn = after_turn;
    wf_put_bye(&out, "left");
    speak(peer);
    pass(WEFT_MS(50));
    world.after_turn = NULL;
    ck_assert_uint_eq(ties_now(), 0);
    ck_assert_int_eq(result[0], 10000);
    ck_assert_uint_le(ends.most, 1024);
    close_script();
}
END_TEST

START_TEST(repeated_ties_are_notified_once)
{
    open_with(0, false);
    weft_pid who = run_on_node(stays);
    for (int i = 0; i < 10; i++) {
        for (uint64_t ref = 1; ref <= 10; ref++) put(WF_MSG_WATCH, who, ASKER, ref);
        for (uint64_t from = 20; from < 30; from++) put(WF_MSG_LINK, who, from, from);
    }
    speak(peer);
    say_one(peer, WF_MSG_KILL, who, ASKER, 0);
    ck_assert_uint_eq(count_of(peer, DOWN), 10);
    ck_assert_uint_eq(count_of(peer, EXIT), 10);
    close_script();
}
END_TEST

/* A tie that is removed is removed, wherever it is among the others. */
START_TEST(only_the_remaining_ties_are_notified)
{
    enum { COUNT = 60 };
    open_with(0, false);
    weft_pid who = run_on_node(stays);
    for (uint64_t ref = 1; ref <= COUNT; ref++) {
        put(WF_MSG_WATCH, who, ASKER, ref);
        put(WF_MSG_LINK, who, 100 + ref, ref);
    }
    for (uint64_t ref = 1; ref <= COUNT; ref += ref % 7 == 0 ? 2 : 1) {
        put(WF_MSG_UNWATCH, who, ASKER, ref);
        put(WF_MSG_UNLINK, who, 100 + ref, ref << 32);
    }
    put(WF_MSG_UNWATCH, who, ASKER + 1, 8); /* not its own */
    speak(peer);
    say_one(peer, WF_MSG_KILL, who, ASKER, 0);
    unsigned left = 0;
    for (uint64_t ref = 8; ref <= COUNT; ref += 7) left++;
    ck_assert_uint_eq(count_of(peer, DOWN), left);
    ck_assert_uint_eq(count_of(peer, EXIT), left);
    close_script();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linked_ties");
    TCase *c = tcase_create("linked_ties");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, the_ties_of_a_peer_are_bounded);
    tcase_add_test(c, no_tie_of_a_peer_outlives_its_link);
    tcase_add_test(c, the_end_of_a_link_ends_its_ties_in_parts);
    tcase_add_test(c, repeated_ties_are_notified_once);
    tcase_add_test(c, only_the_remaining_ties_are_notified);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}

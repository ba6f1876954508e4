/* The holder of a global name keeps it, whatever timestamp another node sends: a node that knew the holder cannot
 * have had the name first. */
#include "transport.h"
#include "linked.h"

static weft_pid found;
static int looked, lost;

static void holds(const void *arg, size_t size)
{
    weft_msg *m;
    struct weft_name_lost l;
    (void)arg, (void)size;
    result[0] = weft_register_global("boss");
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) lost += weft_name_lost_read(m, &l) == WEFT_OK;
}

static void looks(const void *arg, size_t size)
{
    (void)arg, (void)size;
    looked = weft_whereis("boss", &found);
}

static weft_pid whose(void)
{
    (void)run_on_node(looks);
    return looked < 0 ? weft_nobody() : found;
}

static struct wf_entry boss(uint64_t actor, uint64_t stamp)
{
    return (struct wf_entry){.table = WF_TABLE_NAMES, .key = weft_cstr("boss"), .actor = actor, .stamp = stamp};
}

static weft_pid holder(void)
{
    lost = 0;
    weft_pid pid = run_on_node(holds);
    ck_assert_int_eq(result[0], WEFT_OK);
    return pid;
}

static void leaves(struct line *l)
{
    wf_put_bye(&out, "left");
    speak(l);
    ck_assert(is_over(l));
}

/* A link that goes on for so long, whose peer does not acknowledge what it is sent. */
static void keep_up(struct line *l, int64_t span)
{
    for (int64_t done = 0; done < span; done += WEFT_SEC(5)) {
        say_number(l, WF_FRAME_PING, 1);
        pass(WEFT_SEC(5));
    }
}

/* The peer acknowledges all that it was sent. That counts after a while, because a claim of the peer may have waited
 * behind it. */
static void knows(struct line *l)
{
    acknowledge(l);
    keep_up(l, WEFT_SEC(61));
}

START_TEST(a_low_stamp_takes_no_name_that_its_node_knew)
{
    open_with(0, false);
    struct line *other = second_peer(2, 0);
    weft_pid own = holder();
    knows(peer);
    say_entry(peer, WF_TABLE_SET, boss(5, 1000));
    ck_assert(weft_pid_equal(whose(), own));
    ck_assert_int_eq(lost, 0);
    for (int i = 0; i < 2; i++) { /* all are told of a lower one, to which an honest node gives way */
        const struct heard *h = heard(i == 0 ? peer : other, WF_FRAME_TABLE);
        ck_assert_ptr_nonnull(h);
        ck_assert_uint_eq(h->number, WF_TABLE_SET);
        ck_assert_uint_eq(h->ref, 999);
    }
    say_entry(peer, WF_TABLE_SET, boss(5, 1));
    ck_assert(weft_pid_equal(whose(), own));
    ck_assert_int_eq(lost, 0);
    close_script();
}
END_TEST

/* The node is found by its name, as this is another run of it. */
START_TEST(a_node_that_is_linked_again_still_counts_as_knowing_the_name)
{
    struct wf_hello h = hello("peer", false);
    h.incarnation = 2;
    open_with(0, false);
    weft_pid own = holder();
    knows(peer);
    leaves(peer);
    pass(WEFT_SEC(3600));
    peer = link_up(&h);
    say_entry(peer, WF_TABLE_SET, boss(5, 1));
    ck_assert(weft_pid_equal(whose(), own));
    ck_assert_int_eq(lost, 0);
    close_script();
}
END_TEST

/* Cases that cannot be told from a race, or from two parts of a cluster that learn of each other. */
enum { ON_ITS_WAY, BEHIND_AN_ACK, BEFORE_IT_WAS_THERE, NEVER_SEEN, CASES };

START_TEST(an_older_registration_wins_if_its_node_was_not_known_to_have_the_name)
{
    open_with(0, false);
    struct line *by = peer;
    weft_pid own = holder(), other = there;
    if (_i == ON_ITS_WAY) {
        keep_up(peer, WEFT_SEC(600)); /* the claim, or the announcement, may have taken that long */
    } else if (_i == BEHIND_AN_ACK) {
        acknowledge(peer);
    } else if (_i == BEFORE_IT_WAS_THERE) {
        leaves(peer);
        pass(WEFT_SEC(100));
        struct wf_hello h = hello("peer", false);
        h.incarnation = other.node = 2;
        by = link_up(&h);
    } else {
        knows(peer);
        by = second_peer(2, 0);
        other.node = 2;
    }
    ck_assert(weft_pid_equal(whose(), own));
    say_entry(by, WF_TABLE_SET, boss(5, 1000));
    ck_assert(weft_pid_equal(whose(), other));
    ck_assert_int_eq(lost, 1);
    close_script();
}
END_TEST

START_TEST(a_false_stamp_does_not_fool_a_third_node)
{
    open_with(0, false);
    struct line *other = second_peer(2, 0);
    say_entry(other, WF_TABLE_SET, boss(5, 2000));
    keep_up(peer, WEFT_SEC(61)); /* the other node has told it long ago */
    knows(peer);
    say_entry(peer, WF_TABLE_SET, boss(5, 1000));
    ck_assert_uint_eq(whose().node, 2);
    say_entry(other, WF_TABLE_SET, boss(5, 999)); /* it defends it */
    say_entry(peer, WF_TABLE_SET, boss(5, 1));
    ck_assert_uint_eq(whose().node, 2);
    say_entry(other, WF_TABLE_UNSET, boss(5, 0));
    ck_assert_uint_eq(whose().node, there.node);
    close_script();
}
END_TEST

/* Two nodes registered a name at the same time, and each has acknowledged the claim of the other before it heard what
 * the other thinks of its own. So the peer defends its claim, and this node, which had not told it of its own, must
 * not take that for a lie. */
START_TEST(the_defence_of_a_concurrent_claim_is_believed)
{
    open_with(0, false);
    weft_pid own = holder();
    wf_tables_begin(node);
    uint64_t later = wf_tables_stamp(node);
    wf_tables_end(node);
    say_entry(peer, WF_TABLE_SET, boss(5, later)); /* it should give way, */
    ck_assert(weft_pid_equal(whose(), own));
    knows(peer);
    say_entry(peer, WF_TABLE_SET, boss(5, 999)); /* but takes ours for a lie */
    ck_assert(weft_pid_equal(whose(), there));
    ck_assert_int_eq(lost, 1);
    close_script();
}
END_TEST

/* A node that listens has links with all others: nobody speaks for them. */
START_TEST(a_name_is_not_lost_by_hearsay)
{
    open_with(0, false);
    weft_pid own = holder();
    struct wf_entry e = boss(5, 1);
    e.node = 77;
    say_entry(peer, WF_TABLE_TAKEN, e);
    ck_assert(weft_pid_equal(whose(), own));
    ck_assert_int_eq(lost, 0);
    close_script();
}
END_TEST

START_TEST(only_nodes_that_knew_something_are_remembered)
{
    struct wf_hello h = hello("", false);
    char name[16];
    open_with(0, false);
    weft_pid own = holder();
    knows(peer);
    leaves(peer);
    for (uint64_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "short-%d", (int)i);
        h.name = weft_cstr(name);
        h.incarnation = 2 + i;
        leaves(link_up(&h)); /* they have acknowledged nothing, and are not remembered */
    }
    ck_assert_uint_eq(((struct wf_transport *)node->transport)->table_past_names.count, 1);
    h = hello("peer", false);
    h.incarnation = 9;
    peer = link_up(&h);
    say_entry(peer, WF_TABLE_SET, boss(5, 1));
    ck_assert(weft_pid_equal(whose(), own));
    close_script();
}
END_TEST

/* The bound of what is remembered: the node that was linked first is forgotten first. */
START_TEST(the_number_of_remembered_nodes_is_bounded)
{
    enum { REMEMBERED = 1024 };
    const struct wf_hash_table *past;
    struct wf_hello h = hello("", false);
    char name[16];
    open_with(0, false);
    weft_pid own = holder(), other = there;
    past = &((struct wf_transport *)node->transport)->table_past_names;
    for (uint64_t i = 0; i <= REMEMBERED; i++) {
        snprintf(name, sizeof name, "past-%d", (int)i);
        h.name = weft_cstr(name);
        h.incarnation = 2 + i;
        peer = link_up(&h);
        there.node = h.incarnation;
        knows(peer);
        leaves(peer);
        *peer = (struct line){.conn = NULL}; /* the last one: the next node has the same */
        lines--;
        ck_assert_uint_eq(past->count, WF_MIN(i + 1, REMEMBERED));
    }
    for (int i = 1; i >= 0; i--) {
        snprintf(name, sizeof name, "past-%d", i);
        h.name = weft_cstr(name);
        h.incarnation = other.node = 10000 + (uint64_t)i;
        peer = link_up(&h);
        say_entry(peer, WF_TABLE_SET, boss(5, 1));
        ck_assert(weft_pid_equal(whose(), i == 1 ? own : other));
        leaves(peer);
    }
    close_script();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("linked: names");
    TCase *t = tcase_create("names");
    tcase_add_test(t, a_low_stamp_takes_no_name_that_its_node_knew);
    tcase_add_test(t, a_node_that_is_linked_again_still_counts_as_knowing_the_name);
    tcase_add_loop_test(t, an_older_registration_wins_if_its_node_was_not_known_to_have_the_name, 0, CASES);
    tcase_add_test(t, a_false_stamp_does_not_fool_a_third_node);
    tcase_add_test(t, the_defence_of_a_concurrent_claim_is_believed);
    tcase_add_test(t, a_name_is_not_lost_by_hearsay);
    tcase_add_test(t, only_nodes_that_knew_something_are_remembered);
    tcase_add_test(t, the_number_of_remembered_nodes_is_bounded);
    suite_add_tcase(s, t);
    return run_suite(s);
}

/* Retained messages of other nodes: which node sends them, and that no subscriber receives one twice. */
#include "answer.h"
#include "frame_tables.h"
#include "linked.h"
#include "snapshot.h"

/* A message was published on a third node: if that node is linked with this one, and so sends the message itself,
 * this node does not. */
START_TEST(retained_messages_come_from_their_node_or_from_all)
{
    open_with(0, false);
    (void)second_peer(2, _i == 1 ? WF_CAN_TOPICS : 0);
    struct wf_body *body = wf_body_new(NULL, "full.topic", 10, "kept", 4);
    wf_body_sign(body, (weft_pid){2, 5}, 1, 1);
    wf_put_retained(&out, body, 1, false, 0);
    wf_body_drop(NULL, body);
    speak(peer);
    struct line *third = second_peer(3, 0);
    ck_assert_int_eq(heard(third, WF_FRAME_RETAINED) != NULL, _i == 1);
    close_script();
}
END_TEST

static char told[16];
static int published;

static void subscribes(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_subscribe("full.topic", NULL) < 0) return;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        strncat(told, weft_data(m), weft_size(m));
        weft_msg_free(m);
    }
}

/* Sends a retained message of node `publisher`, which has been gone for `gone` ms. */
static void say_of(struct line *by, uint64_t publisher, const char *text, uint64_t stamp, bool live, uint64_t gone)
{
    struct wf_body *body = wf_body_new(NULL, "full.topic", 10, text, strlen(text));
    wf_body_sign(body, (weft_pid){publisher, 5}, 1, live);
    wf_put_retained(&out, body, stamp, live, gone);
    wf_body_drop(NULL, body);
    speak(by);
}

static void say_retained(struct line *by, uint64_t publisher, const char *text, uint64_t stamp, bool live)
{
    say_of(by, publisher, text, stamp, live, 0);
}

/* The third node has told of it meanwhile, as if its publisher had gone; then the link comes back, with what was
 * under way. What others have published is theirs, and is told whatever its stamp. */
START_TEST(retained_messages_are_sent_once_and_in_order)
{
    open_with(0, false);
    struct line *other = second_peer(2, 0);
    told[0] = 0;
    (void)run_on_node(subscribes);
    say_retained(peer, there.node, "a", 10, true);
    say_retained(other, there.node, "c", 12, false);
    say_retained(peer, there.node, "b", 11, true);
    say_retained(peer, there.node, "c", 12, true);
    say_retained(other, 2, "-", 1, true);
    say_retained(peer, there.node, "d", 13, true);
    say_retained(other, there.node, "d", 13, false);
    ck_assert_str_eq(told, "ac-d");
    close_script();
}
END_TEST

/* ---- What cannot be so ----------------------------------------------------------------------------------------- */

static void publishes(const void *arg, size_t size)
{
    (void)arg, (void)size;
    published = weft_publish_retained("full.topic", 1, "own", 3);
}

static void recalls(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    told[0] = 0;
    if (weft_subscribe("full.topic", NULL) < 0 || weft_recv(&m, WEFT_NOW) < 0) return;
    if (weft_is_retained(m)) strncat(told, weft_data(m), WF_MIN(weft_size(m), sizeof told - 1));
    weft_msg_free(m);
}

#define KEPT(text)                    \
    do {                              \
        (void)run_on_node(recalls);   \
        ck_assert_str_eq(told, text); \
    } while (0)

static uint64_t drops(const char *reason)
{
    struct wf_drop_count all[WF_ALL_DROPS];
    uint64_t count = 0;
    wf_transport_drops(node->transport, all);
    for (int i = 0; i < WF_ALL_DROPS; i++) count += strcmp(all[i].reason, reason) == 0 ? all[i].count : 0;
    return count;
}

static uint64_t clock_of_node(void)
{
    struct pf_env *env = node->workers.env;
    return (uint64_t)env->wall(env) / 1000;
}

/* A frame with a timestamp in the future freezes no topic: not on this node, nor on a node that gets it from here,
 * nor on one that has started since. */
START_TEST(a_timestamp_in_the_future_freezes_nothing)
{
    open_with(0, false);
    struct line *other = second_peer(2, 0);
    say_retained(peer, there.node, _i == 0 ? "mad" : "", INT64_MAX, true);
    pass(WEFT_SEC(2));
    (void)run_on_node(publishes);
    ck_assert_int_eq(published, 0);
    KEPT("own");
    uint64_t stamp = heard(other, WF_FRAME_RETAINED)->number;
    ck_assert_uint_le(stamp, clock_of_node());
    say_retained(other, 2, "two", stamp + 1, true);
    KEPT("two");
    say_retained(peer, 77, "mad", INT64_MAX, false); /* of a node that is gone */
    say_retained(peer, there.node, "mad", INT64_MAX, false);
    KEPT("two");
    ck_assert_uint_eq(drops("unbelieved"), 2);
    struct line *third = second_peer(3, 0);
    ck_assert_ptr_null(heard(third, WF_FRAME_RETAINED)); /* that is of node 2, which is linked */
    say_retained(third, 3, "three", stamp + 2, true);
    KEPT("three");
    close_script();
}
END_TEST

/* Only of its publisher a node believes that it is published now; and of itself it knows. */
START_TEST(only_the_publisher_says_that_a_message_is_live)
{
    open_with(0, false);
    (void)second_peer(2, 0);
    say_retained(peer, 2, "mad", INT64_MAX, true);
    say_retained(peer, there.node, "peer", 1, true);
    KEPT("peer");
    say_retained(peer, node->incarnation, "mine", clock_of_node(), true);
    KEPT("peer");
    ck_assert_uint_eq(drops("unbelieved"), 1);
    close_script();
}
END_TEST

/* Messages of one node use no places of another node. */
START_TEST(a_node_has_places_for_retained_messages_of_its_own)
{
    enum { PLACES = 65536, EACH = 4096 };
    open_with(0, false);
    for (int i = 0; i <= PLACES; i++) {
        char topic[32];
        snprintf(topic, sizeof topic, "fill.%d", i);
        struct wf_body *body = wf_body_new(NULL, topic, strlen(topic), "x", 1);
        wf_body_sign(body, (weft_pid){there.node, 5}, 1, 0);
        wf_put_retained(&out, body, 1, false, 0);
        wf_body_drop(NULL, body);
        if (i % EACH == 0) speak(peer);
    }
    ck_assert_uint_eq(drops("retained-full"), 1);
    (void)run_on_node(publishes);
    ck_assert_int_eq(published, 0);
    KEPT("own");
    close_script();
}
END_TEST

/* Its own clock is an hour behind if two others say so; one of them may be wrong, and by all there is. */
static const uint64_t ahead[][2] = {{3600, 3600}, {3600, 0}, {0, UINT64_MAX / 1000000}, {1, UINT64_MAX / 1000000}};

START_TEST(the_middle_one_of_three_clocks_is_believed)
{
    struct line *l[2];
    open_plainly();
    uint64_t now = clock_of_node();
    for (uint64_t i = 0; i < 2; i++) {
        struct wf_hello h = hello(i == 0 ? "one" : "two", false);
        h.incarnation = 1 + i;
        h.clock = now + ahead[_i][i] * 1000000;
        l[i] = link_up(&h);
    }
    say_retained(l[0], 1, "ahead", now + UINT64_C(3600) * 1000000, true);
    pass(WEFT_SEC(2));
    (void)run_on_node(publishes);
    KEPT("own");
    uint64_t stamp = heard(l[1], WF_FRAME_RETAINED)->number;
    if (_i == 0) ck_assert_uint_gt(stamp, now + UINT64_C(3600) * 1000000);
    else ck_assert_uint_lt(stamp, now + UINT64_C(60) * 1000000);
    close_script();
}
END_TEST

/* ---- Nodes that have gone -------------------------------------------------------------------------------------- */

static const struct heard *told_to(uint64_t incarnation)
{
    return heard(second_peer(incarnation, 0), WF_FRAME_RETAINED);
}

/* It says something often enough. */
static void stay(struct line *l, int64_t span)
{
    for (; span > 0; span -= WEFT_SEC(120)) {
        say_number(l, WF_FRAME_PING, 1);
        pass(WEFT_SEC(120));
    }
    ck_assert(!is_over(l));
}

/* A day later; who starts meanwhile is told how long it has been. */
START_TEST(messages_of_a_lost_node_end)
{
    open_with(0, false);
    say_retained(peer, there.node, "kept", 1, true);
    stay(peer, WEFT_SEC((under_tools() ? 25 : 48) * 3600));
    KEPT("kept");
    wf_put_bye(&out, "left");
    speak(peer);
    pass(WEFT_SEC(3600));
    const struct heard *h = told_to(2);
    ck_assert_ptr_nonnull(h);
    ck_assert_uint_ge(h->ref, 3600 * 1000);
    ck_assert_uint_lt(h->ref, 3700 * 1000);
    pass(WEFT_SEC(22 * 3600));
    KEPT("kept");
    pass(WEFT_SEC(3601));
    KEPT("");
    ck_assert_ptr_null(told_to(3));
    close_script();
}
END_TEST

START_TEST(a_retained_message_of_a_lost_node_ends_when_it_ends_at_the_peer)
{
    open_with(0, false);
    say_of(peer, 77, "old", 1, false, 24 * 3600 * 1000);
    KEPT("");
    say_of(peer, 77, "old", 1, false, UINT64_MAX);
    KEPT("");
    say_of(peer, 77, "younger", 1, false, 23 * 3600 * 1000);
    KEPT("younger");
    stay(peer, WEFT_SEC(3601));
    KEPT("");
    close_script();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("linked: retained");
    TCase *t = tcase_create("retained");
    tcase_add_loop_test(t, retained_messages_come_from_their_node_or_from_all, 0, 2);
    tcase_add_test(t, retained_messages_are_sent_once_and_in_order);
    suite_add_tcase(s, t);
    t = tcase_create("what cannot be so");
    tcase_add_loop_test(t, a_timestamp_in_the_future_freezes_nothing, 0, 2);
    tcase_add_loop_test(t, the_middle_one_of_three_clocks_is_believed, 0, WF_COUNT(ahead));
    tcase_add_test(t, only_the_publisher_says_that_a_message_is_live);
    tcase_add_test(t, a_node_has_places_for_retained_messages_of_its_own);
    suite_add_tcase(s, t);
    t = tcase_create("nodes that have gone");
    tcase_add_test(t, messages_of_a_lost_node_end);
    tcase_add_test(t, a_retained_message_of_a_lost_node_ends_when_it_ends_at_the_peer);
    suite_add_tcase(s, t);
    return run_suite(s);
}

/* Every course of a handshake, right and wrong: a node, and a peer whose every message is written here. */
#include "cluster.h"
#include "links.h"
#include "peer_link.h"
#include "transport.h"
#include "../script.h"

/* ---- HELLO ----------------------------------------------------------------------------------------------------- */

static void refuses_hello(const struct wf_hello *h, enum wf_refusal code, const char *text)
{
    struct line *l = dial();
    say_hello(l, h);
    REFUSED(l, code, text);
}

START_TEST(a_peer_without_a_common_version_is_refused)
{
    struct wf_hello h = hello("peer", false);
    open_plainly();
    h.version = h.newest = 3;
    refuses_hello(&h, WF_REFUSED_VERSION, "node peer version 3");
    h.version = h.newest = 0; /* older than the oldest there ever was */
    refuses_hello(&h, WF_REFUSED_VERSION, "node peer version 0");
    close_script();
}
END_TEST

START_TEST(a_peer_of_another_cluster_is_refused)
{
    struct wf_hello h = hello("peer", false);
    open_plainly();
    h.cluster = weft_cstr("weft2");
    refuses_hello(&h, WF_REFUSED_CLUSTER, "node peer in cluster weft2");
    h.cluster = weft_cstr("knit");
    refuses_hello(&h, WF_REFUSED_CLUSTER, "node peer in cluster knit");
    h.cluster = weft_cstr("a-cluster-that-has-a-name-of-more-than-thirty-letters");
    refuses_hello(&h, WF_REFUSED_CLUSTER, "in cluster a-cluster-that-has-a-name-of-m");
    close_script();
}
END_TEST

START_TEST(odd_heartbeats_are_made_sensible)
{
    static const struct {
        uint64_t said;
        int64_t taken;
    } cases[] = {{0, WEFT_MS(10)}, {9, WEFT_MS(10)}, {250, WEFT_MS(250)}, {UINT64_MAX, WEFT_SEC(60)}};
    struct wf_hello h = hello("peer", false);
    open_plainly();
    h.heartbeat_ms = cases[_i].said;
    (void)link_up(&h);
    ck_assert_int_eq(wf_links_find(cluster(), 1)->heartbeat, cases[_i].taken);
    close_script();
}
END_TEST

START_TEST(an_old_node_that_is_linked_is_refused_another_link)
{
    struct wf_hello h = hello("peer", true);
    h.capabilities = 0;
    open_plainly();
    struct line *first = link_up(&h);
    refuses_hello(&h, WF_REFUSED_DUPLICATE, "linked already");
    ck_assert(!is_over(first));
    close_script();
}
END_TEST

/* Two that claim the name of a node that is linked: it is asked for a sign of life, once. */
START_TEST(a_name_that_is_linked_is_not_given_away)
{
    struct wf_hello h = hello("peer", false), other = hello("peer", false);
    open_plainly();
    struct line *first = link_up(&h);
    other.incarnation = 2;
    refuses_hello(&other, WF_REFUSED_NAME_TAKEN, "another node named peer");
    const struct heard *ping = heard(first, WF_FRAME_PING);
    ck_assert_ptr_nonnull(ping);
    uint64_t asked = ping->number;
    other.incarnation = 3;
    refuses_hello(&other, WF_REFUSED_NAME_TAKEN, "another node named peer");
    ck_assert_uint_eq(heard(first, WF_FRAME_PING)->number, asked);
    say_number(first, WF_FRAME_PING, 1);
    pass(WEFT_SEC(1));
    ck_assert(wf_links_is_up(cluster(), 1)); /* it has shown that it lives */
    other.incarnation = 4;
    refuses_hello(&other, WF_REFUSED_NAME_TAKEN, "another node named peer");
    pass(WEFT_SEC(2)); /* and now it does not */
    ck_assert(wf_links_find(cluster(), 1) == NULL || !wf_links_is_up(cluster(), 1));
    close_script();
}
END_TEST

/* A tool's name is nobody's: a node may have it. And a node's name may be a tool's. */
START_TEST(names_of_tools_do_not_clash)
{
    struct wf_hello tool = hello("peer", false), h = hello("peer", false);
    open_plainly();
    tool.flags = WF_HELLO_CLIENT;
    tool.incarnation = 5;
    struct line *first = link_up(&tool);
    (void)link_up(&h);
    ck_assert(!is_over(first));
    close_script();
}
END_TEST

START_TEST(reasons_of_one_host_are_logged_each)
{
    struct wf_hello h = hello("peer", false);
    char name[32];
    open_plainly();
    for (int i = 0; i < WF_REJECT_SLOTS + 2; i++) {
        snprintf(name, sizeof name, "cluster-%d", i);
        h.cluster = weft_cstr(name);
        refuses_hello(&h, WF_REFUSED_CLUSTER, name);
        ck_assert(rejected(name));
    }
    ck_assert(!rejected("cluster cluster-0")); /* the oldest has given its place */
    close_script();
}
END_TEST

/* ---- Time ------------------------------------------------------------------------------------------------------ */

START_TEST(a_silent_handshake_is_closed)
{
    struct wf_hello h = hello("peer", false);
    open_plainly();
    struct line *silent = dial(), *greeted = dial(), *refused = dial();
    weft_put_array(&out, 1); /* of a kind that nobody knows */
    weft_put_uint(&out, 99);
    speak(silent);
    say_hello(greeted, &h);
    h.cluster = weft_cstr("knit");
    say_hello(refused, &h);
    pass(WEFT_MS(1500)); /* who was refused closes; this one does not */
    ck_assert(is_over(refused));
    ck_assert(!is_over(silent) && !is_over(greeted));
    pass(WEFT_SEC(4));
    ck_assert(is_over(silent) && is_over(greeted));
    ck_assert(rejected("no HELLO in time"));
    ck_assert(rejected("no WELCOME in time"));
    close_script();
}
END_TEST

/* ---- Words out of their turn ----------------------------------------------------------------------------------- */

START_TEST(messages_out_of_their_turn_end_the_handshake)
{
    struct wf_hello h = hello("peer", false);
    open_plainly();
    struct line *welcome = dial(), *twice = dial(), *bye = dial(), *early = dial();
    wf_put_welcome(&out);
    speak(welcome);
    say_hello(twice, &h);
    say_hello(twice, &h);
    wf_put_bye(&out, "changed my mind");
    speak(bye);
    say_number(early, WF_FRAME_PING, 1);
    ck_assert(is_over(welcome) && is_over(twice) && is_over(bye) && is_over(early));
    ck_assert(rejected("WELCOME instead of HELLO"));
    ck_assert(rejected("HELLO instead of WELCOME"));
    ck_assert(rejected("left"));
    ck_assert(rejected("PING instead of HELLO"));
    close_script();
}
END_TEST

START_TEST(a_malformed_handshake_ends_the_connection)
{
    open_plainly();
    struct line *l = dial();
    weft_put_array(&out, 1);
    weft_put_uint(&out, WF_FRAME_HELLO);
    speak(l);
    ck_assert(is_over(l));
    ck_assert(rejected("malformed HELLO frame"));
    close_script();
}
END_TEST

/* ---- WELCOME, as the node with the lower incarnation hears it -------------------------------------------------- */

/* Two connections of an old node get so far at once: the first one is the link's. */
START_TEST(the_second_of_two_offers_of_an_old_node_is_refused)
{
    struct wf_hello h = hello("peer", true);
    h.capabilities = 0;
    open_plainly();
    struct line *first = dial(), *second = dial();
    say_hello(first, &h);
    say_hello(second, &h);
    say_welcome(first, &h, 0, 0, WF_LINK_OVER);
    say_welcome(second, &h, 0, 0, WF_LINK_OVER);
    REFUSED(second, WF_REFUSED_DUPLICATE, "linked already");
    ck_assert(wf_links_is_up(cluster(), UINT64_MAX));
    NEWS("up peer; ");
    close_script();
}
END_TEST

/* A node that says on one connection that it can resume, and on another one that it cannot. */
START_TEST(a_link_without_resumption_is_not_resumed)
{
    struct wf_hello old = hello("peer", true), h = hello("peer", true);
    old.capabilities = 0;
    open_plainly();
    (void)link_up(&old);
    struct line *second = dial();
    say_hello(second, &h);
    say_welcome(second, &h, 5, 0, WF_LINK_OVER);
    REFUSED(second, WF_REFUSED_DUPLICATE, "linked already");
    close_script();
}
END_TEST

START_TEST(a_link_is_taken_over_by_one_connection_at_a_time)
{
    struct wf_hello h = hello("peer", true);
    open_plainly();
    struct line *first = link_up(&h), *second = dial(), *third = dial(), *fourth = dial();
    say_hello(second, &h);
    say_hello(third, &h);
    say_hello(fourth, &h);
    /* It has lost the first, which this node does not know yet; and dials twice. */
    wf_put_welcome_link(&out, link_number, 0, WF_LINK_BROKEN);
    send_words(second);
    wf_put_welcome_link(&out, link_number, 0, WF_LINK_BROKEN);
    send_words(third);
    pass(WEFT_MS(5));
    ck_assert(is_over(first) && !is_over(second));
    REFUSED(third, WF_REFUSED_DUPLICATE, "linked already");
    /* A peer that, like this node, says that the link is up has dialled once too often. */
    say_welcome(fourth, &h, link_number, 0, WF_LINK_UP);
    REFUSED(fourth, WF_REFUSED_DUPLICATE, "linked already");
    ck_assert(wf_links_is_up(cluster(), UINT64_MAX));
    ck_assert_ptr_null(strstr(news, "down"));
    close_script();
}
END_TEST

/* It has not heard of the link: what says so is lost, or on its way. */
START_TEST(a_peer_that_does_not_know_an_up_link_is_refused)
{
    struct wf_hello h = hello("peer", true);
    open_plainly();
    struct line *first = link_up(&h), *second = dial();
    say_hello(second, &h);
    say_welcome(second, &h, 0, 0, WF_LINK_OVER);
    REFUSED(second, WF_REFUSED_DUPLICATE, "linked already");
    ck_assert(!is_over(first));
    close_script();
}
END_TEST

/* Our WELCOME was lost with the connection: the link goes on, though the other side has never heard its number. If it
 * has sent anything on it, it lies, or was restored: then the link is a new one. */
START_TEST(a_peer_that_does_not_know_a_broken_link)
{
    struct wf_hello h = hello("peer", true);
    bool used = _i == 1;
    open_plainly();
    struct line *first = link_up(&h);
    uint64_t before = link_number;
    if (used) {
        wf_put_to_name(&out, false, weft_cstr("nobody"), 5, 1, 0, NULL, 0, WF_FRAME_NO_DEADLINE);
        speak(first);
    }
    wf_conn_close(first->conn, "lost");
    pass(WEFT_MS(50));
    struct line *second = dial();
    say_hello(second, &h);
    say_welcome(second, &h, 0, 0, WF_LINK_OVER);
    ck_assert_ptr_nonnull(heard(second, WF_FRAME_WELCOME));
    if (used) ck_assert_uint_ne(heard(second, WF_FRAME_WELCOME)->number, before);
    else ck_assert_uint_eq(heard(second, WF_FRAME_WELCOME)->number, before);
    ck_assert_int_eq(strstr(news, "down peer: the other side has given the link up") != NULL, used);
    ck_assert(wf_links_is_up(cluster(), UINT64_MAX));
    close_script();
}
END_TEST

/* The name was free at HELLO, and is somebody else's at WELCOME: whichever of the two sides speaks first. */
START_TEST(the_name_is_taken_between_hello_and_welcome)
{
    struct wf_hello h = hello("peer", _i == 1), other = hello("peer", false);
    other.incarnation = 2;
    open_plainly();
    struct line *l = dial();
    say_hello(l, &h);
    (void)link_up(&other);
    say_welcome(l, &h, 0, 0, WF_LINK_OVER);
    if (_i == 1) REFUSED(l, WF_REFUSED_NAME_TAKEN, "taken meanwhile");
    else ck_assert(is_over(l) && rejected("the name was taken, or the node left"));
    ck_assert(wf_links_is_up(cluster(), 2));
    close_script();
}
END_TEST

/* It has said good-bye on another connection: this incarnation does not come back. */
START_TEST(a_node_that_has_left_meanwhile_is_not_linked)
{
    struct wf_hello h = hello("peer", _i == 1);
    open_plainly();
    struct line *l = dial();
    say_hello(l, &h);
    struct line *other = link_up(&h);
    wf_put_bye(&out, "left");
    speak(other);
    NEWS("down peer: left");
    say_welcome(l, &h, 0, 0, WF_LINK_OVER);
    if (_i == 1) REFUSED(l, WF_REFUSED_STOPPING, "announced on another connection");
    else ck_assert(is_over(l) && rejected("the name was taken, or the node left"));
    close_script();
}
END_TEST

/* ---- WELCOME, as the node with the higher incarnation hears it ------------------------------------------------- */

START_TEST(an_old_node_that_comes_again_gets_a_new_link)
{
    struct wf_hello h = hello("peer", false);
    h.capabilities = 0;
    open_plainly();
    struct line *first = link_up(&h);
    (void)link_up(&h);
    ck_assert(is_over(first));
    NEWS("down peer: replaced by a new connection; up peer; ");
    close_script();
}
END_TEST

START_TEST(a_link_that_was_given_up_does_not_go_on)
{
    struct wf_hello h = hello("peer", false);
    open_plainly();
    struct line *first = link_up(&h);
    wf_conn_close(first->conn, "lost");
    pass(WEFT_SEC(11));
    NEWS("not resumed within 10.0 s");
    struct line *second = dial();
    say_hello(second, &h);
    ck_assert_uint_eq(heard(second, WF_FRAME_WELCOME)->number, link_number);
    say_welcome(second, &h, link_number, 0, WF_LINK_BROKEN);
    ck_assert(is_over(second) && rejected("the link was given up meanwhile"));
    (void)link_up(&(struct wf_hello){.version = 1,
                                     .newest = 2,
                                     .cluster = weft_cstr("weft"),
                                     .name = weft_cstr("peer"),
                                     .incarnation = 1,
                                     .heartbeat_ms = 60000});
    close_script();
}
END_TEST

/* Both connections are said to carry the link, before the one before has ended: the last one does. What came behind
 * its WELCOME is not lost. */
START_TEST(the_last_of_two_connections_takes_the_link_over)
{
    struct wf_hello h = hello("peer", false);
    open_plainly();
    struct line *first = link_up(&h), *second = dial(), *third = dial();
    say_hello(second, &h);
    say_hello(third, &h);
    wf_put_welcome_link(&out, link_number, 0, WF_LINK_BROKEN);
    send_words(second);
    wf_put_welcome_link(&out, link_number, 0, WF_LINK_BROKEN);
    wf_put_number(&out, WF_FRAME_START, 0);
    wf_put_number(&out, WF_FRAME_PING, 4711);
    send_words(third);
    pass(WEFT_MS(5));
    ck_assert(is_over(first) && is_over(second) && !is_over(third));
    ck_assert_uint_eq(heard(third, WF_FRAME_PONG)->number, 4711);
    ck_assert_ptr_null(strstr(news, "down"));
    close_script();
}
END_TEST

/* ---- REFUSED --------------------------------------------------------------------------------------------------- */

static void say_refused(struct line *l, enum wf_refusal code, const char *reason)
{
    wf_put_refused(&out, code, reason);
    speak(l);
}

START_TEST(a_node_that_dials_itself_does_not_dial_again)
{
    struct wf_hello h = hello("peer", false);
    open_with_seed();
    struct line *l = dialled(0);
    say_hello(l, &h);
    say_refused(l, WF_REFUSED_SELF, "this is the node itself");
    pass(WEFT_SEC(10));
    ck_assert(is_over(l));
    ck_assert_uint_eq(lines, 1);
    close_script();
}
END_TEST

/* Only 100 bytes of a reason are logged. A connection that this node has accepted has no dialer. */
START_TEST(refusals_by_a_peer_that_has_dialled_are_only_logged)
{
    struct wf_hello h = hello("peer", false);
    char reason[151] = "";
    memset(reason, 'x', 150);
    open_plainly();
    static const enum wf_refusal codes[] = {WF_REFUSED_SELF, WF_REFUSED_DUPLICATE, WF_REFUSED_NAME_TAKEN};
    for (size_t i = 0; i < WF_COUNT(codes); i++) {
        struct line *l = dial();
        say_hello(l, &h);
        say_refused(l, codes[i], reason);
        ck_assert(is_over(l));
    }
    ck_assert(!wf_links_is_up(cluster(), 1));
    close_script();
}
END_TEST

/* A link that is broken waits for its window, whatever is said to it meanwhile; but for STOPPING. */
START_TEST(a_broken_link_that_is_refused_ends_only_if_its_peer_stops)
{
    struct wf_hello h = hello("peer", false);
    open_plainly();
    struct line *first = link_up(&h);
    wf_conn_close(first->conn, "lost");
    pass(WEFT_MS(50));
    struct line *second = dial();
    say_hello(second, &h);
    say_refused(second, WF_REFUSED_NAME_TAKEN, "no");
    ck_assert_ptr_nonnull(wf_links_find(cluster(), 1));
    struct line *third = dial();
    say_hello(third, &h);
    say_refused(third, WF_REFUSED_STOPPING, "the node is stopping");
    ck_assert_ptr_null(wf_links_find(cluster(), 1));
    NEWS("down peer: left");
    close_script();
}
END_TEST

/* Its name is said to be taken. `each`: so long every answer takes. */
static void name_is_taken(int64_t each, int times)
{
    struct wf_hello h = hello("node", false);
    for (int i = 0; i < times; i++) {
        struct line *l = dialled((unsigned)i);
        pass(each);
        say_hello(l, &h);
        say_refused(l, WF_REFUSED_NAME_TAKEN, "there is another node named node");
    }
}

static const char *fatal(void)
{
    return ((struct wf_transport *)node->transport)->fatal;
}

/* It may be our own predecessor's for a while: three seconds, and four times. */
START_TEST(a_name_that_is_taken_is_given_up_in_time)
{
    open_with_seed();
    name_is_taken(WEFT_MS(2000), 3); /* long, but not often */
    ck_assert_str_eq(fatal(), "");
    struct line *l = dialled(3);
    struct wf_hello h = hello("node", false);
    say_hello(l, &h);
    say_refused(l, WF_REFUSED_NAME_TAKEN, "there is another node named node");
    ck_assert_ptr_nonnull(strstr(fatal(), "there is another node named node"));
    close_script();
}
END_TEST

/* A node that is part of a cluster stays in it, whatever a seed says. */
START_TEST(a_linked_node_does_not_give_up_because_of_its_name)
{
    struct wf_hello other = hello("another", false);
    other.incarnation = 9;
    open_with_seed();
    struct line *l = dialled(0);
    (void)l;
    struct line *linked = link_up(&other);
    struct wf_hello h = hello("node", false);
    unsigned at = 0;
    for (int times = 0; times < 6;) {
        if (at + 1 >= lines) pass(WEFT_MS(100));
        else at++;
        struct line *seed = &line[at];
        if (seed == linked || seed->conn == NULL || heard(seed, WF_FRAME_HELLO) == NULL) continue;
        say_hello(seed, &h);
        say_refused(seed, WF_REFUSED_NAME_TAKEN, "there is another node named node");
        pass(WEFT_SEC(1));
        times++;
    }
    ck_assert_str_eq(fatal(), "");
    ck_assert(!is_over(linked));
    close_script();
}
END_TEST

/* ---- A node that stops ----------------------------------------------------------------------------------------- */

/* The node waits for what its link has not acknowledged. When the peer hears of its end, `second` comes for the same
 * link, and `third` is a stranger; both have dialled before. */
static struct {
    struct wf_hello peer, stranger;
    struct line *linked, *second, *third;
    bool above, seen;
} stopping;

static void say_now(struct line *l)
{
    ck_assert(l->conn != NULL && !l->sending);
    l->sending = wf_conn_send(l->conn, &(struct pf_slice){words, out.size}, 1) == WF_SEND_LATER;
    out = weft_writer_on(words, sizeof words);
}

static void hears_while_it_stops(struct line *l, const struct heard *h)
{
    if (l == stopping.linked && h->kind == WF_FRAME_BYE && !stopping.seen) {
        stopping.seen = true;
        wf_put_hello(&out, &stopping.stranger);
        say_now(stopping.third);
        wf_put_hello(&out, &stopping.peer);
        /* that it knows of the link no more */
        if (stopping.above) wf_put_welcome_link(&out, link_number, 0, WF_LINK_OVER);
        say_now(stopping.second);
    } else if (l == stopping.second && h->kind == WF_FRAME_WELCOME) {
        wf_put_welcome_link(&out, link_number + 1, 0, WF_LINK_OVER);
        say_now(stopping.second);
    }
}

START_TEST(a_node_that_stops_begins_no_new_link)
{
    memset(&stopping, 0, sizeof stopping);
    stopping.above = _i == 1;
    stopping.peer = hello("peer", stopping.above);
    stopping.stranger = hello("stranger", stopping.above);
    stopping.stranger.incarnation += stopping.above ? UINT64_MAX : 1;
    open_plainly();
    stopping.linked = link_up(&stopping.peer);
    stopping.second = dial();
    stopping.third = dial();
    stopping.linked->hears = stopping.second->hears = hears_while_it_stops;
    int64_t began = wf_sim_now(&world);
    (void)wf_sim_stop(&world, NODE, weft_after(WEFT_SEC(1)));
    node = NULL;
    ck_assert_int_lt(wf_sim_now(&world) - began, WEFT_MS(100)); /* there is nothing to wait for any more */
    pass(WEFT_MS(20));
    ck_assert(stopping.seen);
    REFUSED(stopping.third, WF_REFUSED_STOPPING, "the node is stopping");
    if (stopping.above) REFUSED(stopping.second, WF_REFUSED_STOPPING, "the node is stopping");
    ck_assert(is_over(stopping.linked) && is_over(stopping.second) && is_over(stopping.third));
    close_script();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("handshake");
    TCase *t = tcase_create("HELLO");
    tcase_add_test(t, a_peer_without_a_common_version_is_refused);
    tcase_add_test(t, a_peer_of_another_cluster_is_refused);
    tcase_add_loop_test(t, odd_heartbeats_are_made_sensible, 0, 4);
    tcase_add_test(t, an_old_node_that_is_linked_is_refused_another_link);
    tcase_add_test(t, a_name_that_is_linked_is_not_given_away);
    tcase_add_test(t, names_of_tools_do_not_clash);
    tcase_add_test(t, reasons_of_one_host_are_logged_each);
    tcase_add_test(t, a_silent_handshake_is_closed);
    tcase_add_test(t, messages_out_of_their_turn_end_the_handshake);
    tcase_add_test(t, a_malformed_handshake_ends_the_connection);
    suite_add_tcase(s, t);
    t = tcase_create("WELCOME");
    tcase_add_test(t, the_second_of_two_offers_of_an_old_node_is_refused);
    tcase_add_test(t, a_link_without_resumption_is_not_resumed);
    tcase_add_test(t, a_link_is_taken_over_by_one_connection_at_a_time);
    tcase_add_test(t, a_peer_that_does_not_know_an_up_link_is_refused);
    tcase_add_loop_test(t, a_peer_that_does_not_know_a_broken_link, 0, 2);
    tcase_add_loop_test(t, the_name_is_taken_between_hello_and_welcome, 0, 2);
    tcase_add_loop_test(t, a_node_that_has_left_meanwhile_is_not_linked, 0, 2);
    tcase_add_test(t, an_old_node_that_comes_again_gets_a_new_link);
    tcase_add_test(t, a_link_that_was_given_up_does_not_go_on);
    tcase_add_test(t, the_last_of_two_connections_takes_the_link_over);
    suite_add_tcase(s, t);
    t = tcase_create("REFUSED");
    tcase_add_test(t, a_node_that_dials_itself_does_not_dial_again);
    tcase_add_test(t, refusals_by_a_peer_that_has_dialled_are_only_logged);
    tcase_add_test(t, a_broken_link_that_is_refused_ends_only_if_its_peer_stops);
    tcase_add_test(t, a_name_that_is_taken_is_given_up_in_time);
    tcase_add_test(t, a_linked_node_does_not_give_up_because_of_its_name);
    tcase_add_loop_test(t, a_node_that_stops_begins_no_new_link, 0, 2);
    suite_add_tcase(s, t);
    return run_suite(s);
}

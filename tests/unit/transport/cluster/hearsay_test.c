/* What members say of other nodes gives way to what a node shows itself: with its own handshake. */
#include "cluster.h"
#include "dialers.h"
#include "links.h"
#include "peer_link.h"
#include "peers.h"
#include "swim_table.h"
#include "transport.h"
#include "typed.h"
#include "../script.h"

enum { LIAR = 2 };

static struct line *liar;
static uint64_t victim; /* the incarnation that the liar speaks of */

static void say_update(struct line *l, uint64_t of, const char *name, enum wf_swim_state state, uint64_t number,
                       const char *url)
{
    uint8_t record[WF_SWIM_RECORD_MAX];
    weft_writer w = weft_writer_on(record, sizeof record);
    wf_put_swim_record(&w, &(struct wf_swim_record){
                               .name = weft_cstr(name), .url = {weft_cstr(url)}, .url_count = url[0] == 0 ? 0 : 1});
    struct wf_swim_message m = {.kind = WF_SWIM_SYNC, .count = 1};
    struct wf_swim_update u = {.node = of, .state = state, .number = number, .by = LIAR};
    if (state <= WF_SWIM_SUSPECT) u.record = (weft_text){(const char *)record, w.size};
    wf_put_swim(&out, &m);
    wf_put_swim_update(&out, &u);
    speak(l);
}

/* A node with a linked member that lies about `victim`; it is the lower or the higher incarnation of the two. */
static struct wf_hello open_with_liar(bool above, bool gossips)
{
    struct wf_hello h = hello("liar", false);
    h.incarnation = LIAR;
    if (gossips) h.capabilities |= WF_CAN_GOSSIP;
    open_plainly();
    liar = link_up(&h);
    h = hello("peer", above);
    if (gossips) h.capabilities |= WF_CAN_GOSSIP;
    victim = h.incarnation;
    return h;
}

static void say_peers(struct line *l, const char *name)
{
    wf_put_peers(&out, 1);
    wf_put_peer(&out, weft_cstr(name), victim, NULL, 0);
    speak(l);
}

/* The name, state and whether a link is up, as weft_members has them; "": it is not there. */
static struct weft_member member_of(uint64_t incarnation)
{
    struct weft_member *all, found = {0};
    size_t count;
    ck_assert_int_eq(weft_members(node, &all, &count), WEFT_OK);
    for (size_t i = 0; i < count; i++)
        if (all[i].incarnation == incarnation) found = all[i];
    free(all);
    return found;
}

#define IS_UP_AS(incarnation_, name_)                         \
    do {                                                      \
        struct weft_member m_ = member_of(incarnation_);      \
        ck_assert_str_eq(m_.name, name_);                     \
        ck_assert_int_eq(m_.state, WEFT_MEMBER_UP);           \
        ck_assert(wf_links_is_up(cluster(), (incarnation_))); \
    } while (0)

static const struct wf_swim_member *swim_member(void)
{
    const struct wf_swim_member *m = wf_swim_find(cluster()->swim, victim);
    ck_assert_ptr_nonnull(m);
    return m;
}

/* ---- The name of an incarnation -------------------------------------------------------------------------------- */

START_TEST(a_node_whose_incarnation_was_reported_under_another_name_is_linked)
{
    bool gossips = _i / 2 == 1;
    struct wf_hello h = open_with_liar(_i % 2 == 1, gossips);
    if (gossips) say_update(liar, victim, "ghost", WF_SWIM_ALIVE, 5, "");
    else say_peers(liar, "ghost");
    ck_assert_str_eq(member_of(victim).name, "ghost");
    (void)link_up(&h);
    IS_UP_AS(victim, "peer");
    NEWS("up peer; ");
    if (gossips) ck_assert(wf_text_equal(swim_member()->name, weft_cstr("peer")));
    close_script();
}
END_TEST

START_TEST(a_linked_node_keeps_its_name_and_its_link_whatever_is_said)
{
    struct wf_hello h = open_with_liar(_i == 1, true);
    struct line *own = link_up(&h);
    say_update(own, victim, "peer", WF_SWIM_ALIVE, 1, "");
    say_update(liar, victim, "ghost", WF_SWIM_ALIVE, 50, "");
    say_update(liar, victim, "ghost", WF_SWIM_SUSPECT, 60, "");
    ck_assert(wf_text_equal(swim_member()->name, weft_cstr("peer")));
    ck_assert_int_eq(swim_member()->state, WF_SWIM_ALIVE);
    say_update(liar, victim, "peer", WF_SWIM_DOWN, 70, "");
    say_update(liar, victim, "peer", WF_SWIM_LEFT, 80, "");
    say_peers(liar, "ghost");
    IS_UP_AS(victim, "peer");
    ck_assert(!is_over(own));
    ck_assert_ptr_null(strstr(news, "down peer"));
    close_script();
}
END_TEST

/* The liar says so before, or while the connection is lost. */
START_TEST(a_node_that_is_said_to_have_left_is_linked)
{
    struct wf_hello h = open_with_liar(_i % 2 == 1, true);
    if (_i / 2 == 1) {
        struct line *first = link_up(&h);
        say_update(first, victim, "peer", WF_SWIM_ALIVE, 1, "");
        wf_conn_close(first->conn, "lost");
        pass(WEFT_MS(5));
        say_update(liar, victim, "peer", WF_SWIM_LEFT, 3, "");
        pass(WEFT_SEC(3));
        NEWS("down peer: left");
        news[0] = '\0';
    } else {
        say_update(liar, victim, "peer", WF_SWIM_ALIVE, 2, "");
        say_update(liar, victim, "peer", WF_SWIM_LEFT, 3, "");
        ck_assert_int_eq(member_of(victim).state, WEFT_MEMBER_LEFT);
    }
    struct line *l = dial();
    say_hello(l, &h);
    say_welcome(l, &h, _i % 2 == 1 ? 0 : 8, 0, WF_LINK_OVER);
    IS_UP_AS(victim, "peer");
    NEWS("up peer; ");
    close_script();
}
END_TEST

/* The lie has a higher number than the node's own words: the name is that of the link, and the rest is refuted. */
START_TEST(what_a_node_says_of_itself_is_believed_with_the_next_number)
{
    struct wf_hello h = open_with_liar(_i == 1, true);
    say_update(liar, victim, "ghost", WF_SWIM_SUSPECT, 5, "tcp://127.0.0.1:9");
    struct line *own = link_up(&h);
    say_update(own, victim, "peer", WF_SWIM_ALIVE, 6, "sim://7");
    ck_assert_int_eq(swim_member()->state, WF_SWIM_ALIVE);
    ck_assert_uint_eq(swim_member()->number, 6);
    struct wf_swim_record r = wf_swim_record_of(swim_member()->record);
    ck_assert(wf_text_equal(r.url[0], weft_cstr("sim://7")));
    ck_assert_ptr_eq(wf_swim_named(cluster()->swim, weft_cstr("peer")), swim_member());
    ck_assert_ptr_null(wf_swim_named(cluster()->swim, weft_cstr("ghost")));
    close_script();
}
END_TEST

static bool is_expected(uint64_t incarnation)
{
    const struct wf_partition *p = &cluster()->partition;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->base[i].node == incarnation) return true;
    return false;
}

/* A member that is reported with the name of a linked node, or of this one, is not its successor: the node still counts
 * in the majority. A node that has linked with that name is. */
START_TEST(only_a_node_that_has_linked_succeeds_another_one_in_the_majority)
{
    struct wf_hello h = hello("liar", false), second = hello("peer", false);
    open_script((weft_node_options){.name = "node", .partition = WEFT_PARTITION_MAJORITY});
    h.incarnation = LIAR;
    h.capabilities |= WF_CAN_GOSSIP;
    liar = link_up(&h);
    h.name = weft_cstr("peer");
    victim = h.incarnation = 3;
    struct line *own = link_up(&h);
    say_update(own, victim, "peer", WF_SWIM_ALIVE, 1, "");
    say_update(liar, 70, "peer", WF_SWIM_ALIVE, 1, "");
    say_update(liar, 71, "node", WF_SWIM_ALIVE, 1, "");
    ck_assert(is_expected(node->incarnation) && is_expected(victim));
    ck_assert(!is_expected(70) && !is_expected(71));
    wf_conn_close(own->conn, "lost");
    pass(WEFT_MS(5));
    second.capabilities |= WF_CAN_GOSSIP;
    second.incarnation = 70;
    own = link_up(&second);
    say_update(own, 70, "peer", WF_SWIM_ALIVE, 2, "");
    ck_assert(is_expected(node->incarnation) && is_expected(70) && !is_expected(victim));
    close_script();
}
END_TEST

/* ---- Two that claim one incarnation ---------------------------------------------------------------------------- */

/* The handshake of `*waits` has begun when that of the node becomes a link, which is returned. */
static struct line *link_while_another_waits(const struct wf_hello *h, const struct wf_hello *other,
                                             struct line **waits)
{
    open_plainly();
    *waits = dial();
    say_hello(*waits, other);
    return link_up(h);
}

/* It may not go on with that link. */
START_TEST(a_handshake_that_waits_does_not_get_the_link_of_another_node)
{
    struct wf_hello h = hello("peer", _i == 1), other = hello("thief", _i == 1);
    struct line *thief, *own = link_while_another_waits(&h, &other, &thief);
    say_welcome(thief, &other, link_number, 0, WF_LINK_BROKEN);
    REFUSED(thief, WF_REFUSED_IDENTITY, "node thief uses the incarnation of node peer");
    ck_assert(!is_over(own));
    IS_UP_AS(h.incarnation, "peer");
    wf_conn_close(own->conn, "lost");
    pass(WEFT_MS(5));
    thief = dial();
    say_hello(thief, &other);
    REFUSED(thief, WF_REFUSED_IDENTITY, "node thief uses the incarnation of node peer");
    close_script();
}
END_TEST

START_TEST(a_handshake_that_waits_does_not_end_the_link_of_another_node)
{
    struct wf_hello h = hello("peer", _i == 1), other = hello("thief", _i == 1);
    struct line *thief, *own = link_while_another_waits(&h, &other, &thief);
    wf_conn_close(own->conn, "lost");
    pass(WEFT_MS(5));
    wf_put_refused(&out, WF_REFUSED_STOPPING, "the node is stopping");
    speak(thief);
    ck_assert_ptr_nonnull(wf_links_find(cluster(), h.incarnation));
    ck_assert_ptr_null(strstr(news, "down peer"));
    close_script();
}
END_TEST

/* ---- Tools ----------------------------------------------------------------------------------------------------- */

static struct wf_hello tool(const char *name, uint64_t incarnation)
{
    struct wf_hello h = hello(name, false);
    h.flags = WF_HELLO_CLIENT;
    h.incarnation = incarnation;
    return h;
}

START_TEST(a_tool_with_the_incarnation_of_a_node_gives_way)
{
    struct wf_hello h = hello(_i % 2 == 1 ? "tool" : "peer", _i / 2 % 2 == 1);
    struct wf_hello t = tool("tool", h.incarnation);
    if (_i / 4 == 1) h.capabilities = 0;
    open_plainly();
    struct line *first = link_up(&t);
    (void)link_up(&h);
    ck_assert(is_over(first));
    IS_UP_AS(h.incarnation, h.name.data);
    close_script();
}
END_TEST

START_TEST(a_tool_does_not_get_the_incarnation_of_a_node)
{
    struct wf_hello h = hello("peer", _i % 2 == 1);
    struct wf_hello t = tool(_i / 2 == 1 ? "tool" : "peer", h.incarnation);
    open_plainly();
    struct line *early = dial();
    say_hello(early, &t);
    struct line *own = link_up(&h), *late = dial();
    say_hello(late, &t);
    REFUSED(late, WF_REFUSED_IDENTITY, "uses the incarnation of node peer");
    say_welcome(early, &t, 0, 0, WF_LINK_OVER);
    REFUSED(early, WF_REFUSED_IDENTITY, "uses the incarnation of node peer");
    ck_assert(!is_over(own));
    IS_UP_AS(h.incarnation, "peer");
    close_script();
}
END_TEST

/* A tool's connection is no sign of life of the node whose incarnation it has, and no link with it. */
START_TEST(a_tool_is_not_taken_for_a_node_that_was_reported)
{
    char url[WF_URL_TEXT];
    struct wf_hello h = open_with_liar(true, true);
    struct wf_hello t = tool("tool", h.incarnation);
    (void)link_up(&t);
    ck_assert(!cluster()->swim->user->heard(cluster(), h.incarnation));
    wf_sim_url(PEER, url);
    say_update(liar, victim, "peer", WF_SWIM_ALIVE, 2, url);
    (void)dialled(2); /* lines 0 and 1 are those of the liar and the tool */
    close_script();
}
END_TEST

/* ---- Addresses ------------------------------------------------------------------------------------------------- */

/* The address that was reported first was wrong. The right one comes with a higher number, and is dialled. */
START_TEST(a_node_is_dialled_at_the_address_that_is_known_last)
{
    char url[WF_URL_TEXT];
    (void)open_with_liar(true, true);
    say_update(liar, victim, "peer", WF_SWIM_ALIVE, 1, "tcp://127.0.0.1:1");
    pass(WEFT_SEC(3));
    wf_sim_url(PEER, url);
    say_update(liar, victim, "peer", WF_SWIM_ALIVE, 2, url);
    (void)dialled(1);
    close_script();
}
END_TEST

/* Addresses that others report of a node that has been linked are no better than those of other nodes. */
START_TEST(only_addresses_that_a_node_has_announced_itself_are_dialled_freely)
{
    struct wf_hello h = open_with_liar(true, true);
    struct line *own = link_up(&h);
    say_update(own, victim, "peer", WF_SWIM_ALIVE, 1, "sim://7");
    say_update(liar, victim, "peer", WF_SWIM_ALIVE, 2, "ipc:///elsewhere/other.sock");
    wf_conn_close(own->conn, "lost");
    pass(WEFT_SEC(2));
    const struct wf_dialer *d = wf_dialers_find(cluster(), victim);
    ck_assert_ptr_nonnull(d);
    ck_assert(!d->proven);
    ck_assert_msg(strstr(d->last, "a folder where this node has none") != NULL, "%s", d->last);
    close_script();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hearsay");
    TCase *t = tcase_create("names");
    tcase_add_loop_test(t, a_node_whose_incarnation_was_reported_under_another_name_is_linked, 0, 4);
    tcase_add_loop_test(t, a_linked_node_keeps_its_name_and_its_link_whatever_is_said, 0, 2);
    tcase_add_loop_test(t, a_node_that_is_said_to_have_left_is_linked, 0, 4);
    tcase_add_loop_test(t, what_a_node_says_of_itself_is_believed_with_the_next_number, 0, 2);
    tcase_add_test(t, only_a_node_that_has_linked_succeeds_another_one_in_the_majority);
    suite_add_tcase(s, t);
    t = tcase_create("claims");
    tcase_add_loop_test(t, a_handshake_that_waits_does_not_get_the_link_of_another_node, 0, 2);
    tcase_add_loop_test(t, a_handshake_that_waits_does_not_end_the_link_of_another_node, 0, 2);
    tcase_add_loop_test(t, a_tool_with_the_incarnation_of_a_node_gives_way, 0, 8);
    tcase_add_loop_test(t, a_tool_does_not_get_the_incarnation_of_a_node, 0, 4);
    tcase_add_test(t, a_tool_is_not_taken_for_a_node_that_was_reported);
    suite_add_tcase(s, t);
    t = tcase_create("addresses");
    tcase_add_test(t, a_node_is_dialled_at_the_address_that_is_known_last);
    tcase_add_test(t, only_addresses_that_a_node_has_announced_itself_are_dialled_freely);
    suite_add_tcase(s, t);
    return run_suite(s);
}

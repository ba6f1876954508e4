/* The frames that a node sends on a link: to which actors, in a form that the peer's version knows, and what happens
 * to them when the peer reads nothing. */
#include "frame_tables.h"
#include "links.h"
#include "send_queue.h"
#include "linked.h"

/* ---- A full link ----------------------------------------------------------------------------------------------- */

/* Frames that are not acknowledged are kept, up to a limit. */
static void fill(void)
{
    int rc = WEFT_OK;
    for (int i = 0; rc == WEFT_OK && i < 4000; i++) rc = weft_try_send(there, 1, large, 16 * 1024);
    ck_assert_int_eq(rc, WEFT_EFULL);
}

static void finds_it_full(const void *arg, size_t size)
{
    struct weft_reach reach;
    (void)arg, (void)size;
    fill();
    result[0] = weft_send_name("somebody@peer", 1, "x", 1);
    result[1] = weft_group_send("full", 1, "x", 1);
    result[2] = weft_publish("full.topic", 1, "x", 1);
    result[3] = weft_publish_reach("full.topic", 1, "x", 1, &reach, weft_after(WEFT_MS(100)));
    result[4] = weft_monitor(there, NULL); /* what is of the system goes on */
    over = true;
}

/* `without`: as an older one. */
static void open_full(uint64_t without)
{
    open_with(WF_CAN_CREDIT | without, false);
    if ((without & WF_CAN_TABLES) == 0) {
        say_entry(peer, WF_TABLE_SET,
                  (struct wf_entry){.table = WF_TABLE_GROUPS, .key = weft_cstr("full"), .actor = 5});
        if ((without & WF_CAN_TOPICS) == 0)
            say_entry(
                peer, WF_TABLE_SET,
                (struct wf_entry){.table = WF_TABLE_QUEUES, .key = weft_cstr("full.*"), .queue = weft_cstr("q")});
    }
    wf_put_interest(&out, WF_INTEREST_ADD, 1);
    weft_put_str(&out, weft_cstr("full.topic"));
    speak(peer);
}

START_TEST(each_call_reports_a_full_link)
{
    open_full(_i == 0 ? 0 : WF_CAN_TOPICS);
    uint64_t dropped = cluster()->t->dropped_full;
    ck_assert_int_eq(weft_node_spawn(node, NULL, finds_it_full, NULL, 0, NULL), WEFT_OK);
    pass(WEFT_SEC(8)); /* the send waits, as long as sends do */
    ck_assert(over);
    ck_assert_int_eq(result[0], WEFT_EFULL);
    ck_assert_int_eq(result[1], 0); /* members that got it */
    ck_assert_int_eq(result[2], 0);
    ck_assert_int_eq(result[3], 0);
    ck_assert_int_eq(result[4], WEFT_OK);
    ck_assert_uint_ge(cluster()->t->dropped_full, dropped + 2);
    close_script();
}
END_TEST

static void waits_for_space(const void *arg, size_t size)
{
    (void)arg, (void)size;
    fill();
    result[0] = weft_send(there, 2, "x", 1);
    over = true;
}

/* Space comes with what is acknowledged; or nobody waits any more, as the link has ended. */
START_TEST(a_sender_that_waits_for_a_link_is_woken)
{
    static const int expected[] = {WEFT_OK, WEFT_ENONODE, WEFT_EFULL};
    open_with(WF_CAN_CREDIT, false);
    peer->deaf = _i != 0;
    ck_assert_int_eq(weft_node_spawn(node, NULL, waits_for_space, NULL, 0, NULL), WEFT_OK);
    pass(WEFT_SEC(1));
    ck_assert(!over);
    for (int i = 0; _i == 0 && !over && i < 100; i++) acknowledge(peer);
    if (_i == 1) {
        wf_put_bye(&out, "left");
        speak(peer);
    }
    pass(_i == 2 ? WEFT_SEC(8) : WEFT_MS(100));
    ck_assert(over);
    ck_assert_int_eq(result[0], expected[_i]);
    close_script();
}
END_TEST

enum { SENDERS = 5 * WF_SPACE_PART, OTHERS = 4 /* of the node's own actors */ };
static unsigned went_on; /* senders whose wait has ended */
static unsigned woken_before, most_in_turn;

static void waits_with_others(const void *arg, size_t size)
{
    const int *expected = arg;
    (void)size;
    ck_assert_int_eq(weft_send(there, 2, "x", 1), *expected);
    went_on++;
}

static void fills_it(const void *arg, size_t size)
{
    (void)arg, (void)size;
    fill();
}

/* Those that were woken have gone on, or are ready. */
static void counts_woken(struct wf_sim_world *w)
{
    const unsigned woken = went_on + w->host[NODE].worker->ready_count;
    if (woken > woken_before) most_in_turn = WF_MAX(most_in_turn, woken - woken_before);
    woken_before = woken;
}

/* When there is space, and when the link ends. */
START_TEST(senders_that_wait_for_a_link_are_woken_in_parts)
{
    const int expected = _i == 0 ? WEFT_OK : WEFT_ENONODE;
    went_on = woken_before = most_in_turn = 0;
    open_with(WF_CAN_CREDIT, false);
    (void)run_on_node(fills_it);
    for (int i = 0; i < SENDERS; i++)
        ck_assert_int_eq(weft_node_spawn(node, NULL, waits_with_others, &expected, sizeof expected, NULL), WEFT_OK);
    pass(WEFT_SEC(1));
    ck_assert_uint_eq(went_on, 0);
    world.after_turn = counts_woken;
    if (_i == 1) {
        wf_put_bye(&out, "left");
        speak(peer);
    }
    for (int i = 0; _i == 0 && went_on < SENDERS && i < 100; i++) acknowledge(peer);
    pass(WEFT_MS(100));
    ck_assert_uint_eq(went_on, SENDERS);
    ck_assert_uint_ge(most_in_turn, WF_SPACE_PART);
    ck_assert_uint_le(most_in_turn, WF_SPACE_PART + OTHERS);
    world.after_turn = NULL;
    close_script();
}
END_TEST

static void retains_when_full(const void *arg, size_t size)
{
    (void)arg, (void)size;
    fill();
    result[0] = weft_publish_retained("kept.1", 1, "first", 5);
    result[1] = weft_publish_retained("kept.2", 1, "second", 6);
    (void)weft_send(there, 1, "x", 1); /* with one who waits, so that all who wait are told */
    over = true;
}

static unsigned retained_heard;

static void counts_retained(struct line *l, const struct heard *h)
{
    (void)l;
    retained_heard += h->kind == WF_FRAME_RETAINED;
}

/* Retained messages are kept in any case: the peer gets them when there is space. */
START_TEST(retained_messages_wait_for_space)
{
    open_with(WF_CAN_CREDIT | (_i == 1 ? WF_CAN_TOPICS : 0), false);
    retained_heard = 0;
    peer->hears = counts_retained;
    ck_assert_int_eq(weft_node_spawn(node, NULL, retains_when_full, NULL, 0, NULL), WEFT_OK);
    pass(WEFT_MS(200));
    ck_assert_int_eq(result[0], 0);
    ck_assert_int_eq(result[1], 0);
    ck_assert_uint_eq(retained_heard, 0);
    for (int i = 0; !over && i < 100; i++) acknowledge(peer);
    pass(WEFT_MS(100));
    ck_assert(over);
    ck_assert_uint_eq(retained_heard, _i == 1 ? 0 : 2);
    close_script();
}
END_TEST

/* ---- Beyond the bound: replies --------------------------------------------------------------------------------- */

static void answers_at_length(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    (void)weft_register("long");
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m))
        if (weft_wants_reply(m)) (void)weft_reply(m, 1, large, sizeof large);
}

/* Replies are not refused; but who asks and asks, and acknowledges nothing, is cut off, and it does not come back. */
START_TEST(a_peer_that_takes_no_replies_is_cut_off)
{
    uint64_t without = WF_CAN_CREDIT | (_i % 2 == 0 ? WF_CAN_CHUNKS : 0);
    open_with(without, false);
    (void)run_on_node(answers_at_length);
    for (uint64_t i = 0; i < 80; i++)
        wf_put_to_name(&out, true, weft_cstr("long"), 5, 1, i + 1, NULL, 0, WF_FRAME_NO_DEADLINE);
    if (_i / 2 == 0) {
        speak(peer);
    } else { /* it has gone meanwhile */
        peer->deaf = true;
        send_words(peer);
        while (peer->sending) pass(WEFT_US(10));
        wf_conn_close(peer->conn, "lost");
    }
    pass(WEFT_SEC(2));
    ck_assert_ptr_null(wf_links_find(cluster(), there.node));
    if (_i / 2 == 0) NEWS("the other side does not read: its send queue is over the hard limit");
    close_script();
}
END_TEST

static void sends_large(const void *arg, size_t size)
{
    (void)size;
    for (int i = *(const int *)arg; i > 0; i--) ck_assert_int_eq(weft_try_send(there, 1, large, 16 * 1024), WEFT_OK);
}

/* The carrier has a batch, and has not given it back, when it is acknowledged and the peer leaves. */
START_TEST(frames_acknowledged_while_being_sent_are_not_lost)
{
    open_with(WF_CAN_CREDIT, false);
    peer->deaf = true;
    const int count = _i == 0 ? 17 : 40; /* all of them are on their way, or some wait */
    ck_assert_int_eq(weft_node_spawn(node, NULL, sends_large, &count, sizeof count, NULL), WEFT_OK);
    pass(WEFT_MS(100));
    const struct wf_link *l = wf_links_find(cluster(), there.node);
    ck_assert(l != NULL && l->sending && (l->unsent == NULL) == (_i == 0));
    uint64_t queued = l->base, taken = l->most_taken, lost = cluster()->t->dropped_lost;
    for (const struct wf_batch *b = l->first; b != NULL; b = b->next) queued += b->frames;
    wf_put_number(&out, WF_FRAME_ACK, taken);
    wf_put_bye(&out, "left");
    send_words(peer);
    pass(WEFT_SEC(1));
    NEWS("down peer: left");
    if (peer->conn != NULL) wf_conn_close(peer->conn, "it has left");
    pass(WEFT_SEC(1));
    ck_assert_uint_eq(cluster()->t->dropped_lost - lost, queued - taken);
    close_script();
}
END_TEST

/* ---- Credit ---------------------------------------------------------------------------------------------------- */

enum { BEYOND = 4 * WF_CREDIT_FIRST };

static unsigned sends_heard, wants_heard;
static struct heard last_want;

static void counts_sends(struct line *l, const struct heard *h)
{
    (void)l;
    sends_heard += h->kind == WF_FRAME_TO_ACTOR + WF_MSG_SEND;
    if (h->kind != WF_FRAME_REMOTE + WF_MSG_CREDIT_REQUEST - WF_MSG_CREDIT_REQUEST) return;
    wants_heard++;
    last_want = *h;
}

static void sends_much(const void *arg, size_t size)
{
    int sent = 0;
    (void)arg, (void)size;
    while (sent < BEYOND && weft_send(there, 1, "x", 1) == WEFT_OK) sent++;
    result[0] = sent;
    over = true;
}

static void say_grant(uint32_t number, uint32_t units)
{
    uint8_t body[4];
    wf_put_u32(body, units);
    wf_put_to_actor(&out, WF_MSG_CREDIT, last_want.from, there.actor, number, last_want.ref, body, sizeof body, 0);
    speak(peer);
}

/* A peer may give any number there is: what is beyond all sense is as much as makes sense, what is less than was sent
 * meanwhile is asked for again, and what was not asked for is nothing. */
START_TEST(credit_of_any_size_is_taken)
{
    static const uint32_t units[] = {UINT32_MAX, (uint32_t)INT32_MAX + 1, INT32_MAX, (1u << 20) + 1, 1};
    const bool mean = units[_i] == 1;
    open_with(0, false);
    sends_heard = wants_heard = 0;
    peer->hears = counts_sends;
    (void)run_on_node(sends_much);
    ck_assert_uint_eq(sends_heard, WF_CREDIT_FIRST);
    ck_assert_uint_eq(wants_heard, 1);
    say_grant(last_want.tag + 1, UINT32_MAX); /* which answers nothing */
    ck_assert_uint_eq(sends_heard, WF_CREDIT_FIRST);
    say_grant(last_want.tag, units[_i]);
    for (int i = 0; mean && !over && i < 2 * BEYOND; i++) say_grant(last_want.tag, 1);
    ck_assert(over);
    ck_assert_int_eq(result[0], BEYOND);
    ck_assert_uint_eq(sends_heard, BEYOND);
    if (!mean) ck_assert_uint_eq(wants_heard, 1); /* there is plenty */
    ck_assert(!is_over(peer));
    close_script();
}
END_TEST

static void sends_one(const void *arg, size_t size)
{
    (void)arg, (void)size;
    result[0] = weft_send(there, 1, "x", 1);
    over = true;
}

/* A request has a number that is not 0, so an answer to 0 is none, also while nothing is asked for. */
START_TEST(credit_that_nobody_has_asked_for_is_none)
{
    open_with(0, false);
    sends_heard = wants_heard = 0;
    peer->hears = counts_sends;
    (void)run_on_node(sends_one);
    ck_assert_uint_eq(wants_heard, 0);
    last_want = (struct heard){.from = 1, .ref = there.actor};
    for (int i = 0; i < 4096; i++) say_grant(0, UINT32_MAX);
    (void)run_on_node(sends_much);
    ck_assert_uint_eq(sends_heard, WF_CREDIT_FIRST);
    ck_assert_uint_eq(wants_heard, 1);
    close_script();
}
END_TEST

/* ---- Who is there ---------------------------------------------------------------------------------------------- */

static void sends_to_strangers(const void *arg, size_t size)
{
    (void)arg, (void)size;
    result[0] = weft_try_send((weft_pid){1234, 5}, 1, "x", 1);
    result[1] = weft_send_name("x@peer", 1, "x", 1);
    over = true;
}

START_TEST(a_node_without_links_knows_nobody)
{
    open_plainly();
    ck_assert_int_eq(weft_node_spawn(node, NULL, sends_to_strangers, NULL, 0, NULL), WEFT_OK);
    pass(WEFT_MS(50));
    ck_assert_int_eq(result[0], WEFT_ENONODE);
    ck_assert_int_eq(result[1], WEFT_ENONODE);
    close_script();
}
END_TEST

static void sends_by_name(const void *arg, size_t size)
{
    (void)arg, (void)size;
    result[0] = weft_send_name("x@peer", 1, "x", 1);
    result[1] = weft_send_name("x@peep", 1, "x", 1);
    result[2] = weft_send_name("x@tool", 1, "x", 1); /* a tool's name is nobody's */
    weft_msg *m;
    result[3] = weft_call_name("x@peer", 1, "x", 1, &m, weft_after(WEFT_MS(50)));
    result[4] = weft_send_name("x@peer", 1, large, sizeof large);
    over = true;
}

START_TEST(names_are_those_of_nodes)
{
    struct wf_hello tool = hello("tool", false);
    tool.flags = WF_HELLO_CLIENT;
    tool.incarnation = 3;
    open_with(0, false);
    (void)link_up(&tool);
    ck_assert_int_eq(weft_node_spawn(node, NULL, sends_by_name, NULL, 0, NULL), WEFT_OK);
    pass(WEFT_MS(200));
    ck_assert(over);
    ck_assert_int_eq(result[0], WEFT_OK);
    ck_assert_int_eq(result[1], WEFT_ENONODE);
    ck_assert_int_eq(result[2], WEFT_ENONODE);
    ck_assert_int_eq(result[3], WEFT_ETIMEDOUT);
    ck_assert_int_eq(result[4], WEFT_OK);
    close_script();
}
END_TEST

static void sends_to_each(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (uint64_t i = 0; i < 12; i++) result[i] = weft_try_send((weft_pid){i + 1, 5}, 1, "x", 1);
    over = true;
}

START_TEST(a_dozen_peers_are_found)
{
    struct line *each[12];
    char name[16];
    open_plainly();
    for (unsigned i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "peer-%u", i);
        struct wf_hello h = hello(name, false);
        h.incarnation = i + 1;
        each[i] = link_up(&h);
    }
    ck_assert_int_eq(weft_node_spawn(node, NULL, sends_to_each, NULL, 0, NULL), WEFT_OK);
    pass(WEFT_MS(50));
    for (unsigned i = 0; i < 12; i++) {
        ck_assert_int_eq(result[i], WEFT_OK);
        ck_assert_ptr_nonnull(heard(each[i], WF_FRAME_TO_ACTOR + WF_MSG_SEND));
    }
    close_script();
}
END_TEST

/* ---- Topics, for those that know more or less of them ---------------------------------------------------------- */

static struct weft_reach reached;

static void publishes(const void *arg, size_t size)
{
    (void)arg, (void)size;
    result[0] = weft_publish_retained("full.topic", 1, "kept", 4);
    result[1] = weft_publish_reach("full.topic", 2, "x", 1, &reached, weft_after(WEFT_MS(200)));
    result[2] = weft_publish("full.topic", 3, large, sizeof large);
    result[3] = weft_publish("full.topic", 4, large, 40 * 1024);
    over = true;
}

START_TEST(publications_go_to_those_that_want_them)
{
    static const uint64_t without[] = {0, WF_CAN_TOPICS, WF_CAN_TABLES | WF_CAN_TOPICS};
    open_full(without[_i]);
    ck_assert_int_eq(weft_node_spawn(node, NULL, publishes, NULL, 0, NULL), WEFT_OK);
    pass(WEFT_SEC(1));
    ck_assert(over);
    ck_assert_int_eq(result[1], 0);
    ck_assert_int_eq(heard(peer, WF_FRAME_RETAINED) != NULL, _i == 0);
    ck_assert_int_eq(heard(peer, WF_FRAME_PUBLISH_TO) != NULL, _i == 0);
    ck_assert_int_eq(heard(peer, WF_FRAME_PUBLISH) != NULL, _i != 0);
    close_script();
}
END_TEST

static void publishes_three_times(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 3; i++) result[i] = weft_publish("news.a", 1, "x", 1);
}

/* Returns to how many nodes each of three publications went. */
static int64_t published_after(enum wf_interest_op op, const char *pattern)
{
    wf_put_interest(&out, op, 1);
    weft_put_str(&out, weft_cstr(pattern));
    speak(peer);
    (void)run_on_node(publishes_three_times);
    pass(WEFT_MS(10));
    ck_assert_int_eq(result[1], result[0]);
    ck_assert_int_eq(result[2], result[0]);
    return result[0];
}

START_TEST(publications_follow_the_patterns_of_a_peer_as_they_change)
{
    open_with(0, false);
    ck_assert_int_eq(published_after(WF_INTEREST_ADD, "news.b"), 0);
    ck_assert_int_eq(published_after(WF_INTEREST_ADD, "news.*"), 1);
    ck_assert_int_eq(published_after(WF_INTEREST_REMOVE, "news.b"), 1);
    ck_assert_int_eq(published_after(WF_INTEREST_REMOVE, "news.*"), 0);
    ck_assert_int_eq(published_after(WF_INTEREST_ADD, "news.a"), 1);
    close_script();
}
END_TEST

/* Queue groups are told to those that keep tables of them. */
static void joins_queues(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_subscribe_with("early.*", &(weft_subscribe_options){.queue = "q"}, NULL);
    (void)weft_sleep(weft_after(WEFT_SEC(1)));
    (void)weft_subscribe_with("late.*", &(weft_subscribe_options){.queue = "q"}, NULL);
    (void)weft_sleep(weft_after(WEFT_SEC(1)));
}

static unsigned queues_heard;

static void counts_queues(struct line *l, const struct heard *h)
{
    (void)l;
    queues_heard += h->kind == WF_FRAME_TABLE && strstr(h->text, ".*") != NULL;
}

START_TEST(queue_groups_are_told_to_who_keeps_them)
{
    struct wf_hello h = hello("peer", false);
    if (_i == 1) h.capabilities &= ~(uint64_t)WF_CAN_TOPICS;
    open_plainly();
    (void)run_on_node(joins_queues);
    queues_heard = 0;
    struct line *l = dial();
    l->hears = counts_queues;
    say_hello(l, &h);
    say_welcome(l, &h, 7, 0, WF_LINK_OVER);
    pass(WEFT_SEC(3));
    ck_assert_uint_eq(queues_heard, _i == 1 ? 0 : 4); /* two come, two go */
    close_script();
}
END_TEST

static unsigned groups_heard, publications_heard;
static bool begun;

static void counts_entries(struct line *l, const struct heard *h)
{
    (void)l;
    if (h->kind == WF_FRAME_TABLE && h->number == WF_TABLE_BEGIN) begun = true;
    if (h->kind != WF_FRAME_TABLE || strncmp(h->text, "many.", 5) != 0) return;
    ck_assert(begun); /* what comes before is no more */
    groups_heard++;
}

static void joins_many(const void *arg, size_t size)
{
    char name[32];
    (void)arg, (void)size;
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "many.groups.%d", i);
        ck_assert_int_eq(weft_group_join(name), WEFT_OK);
    }
    (void)weft_sleep(WEFT_FOREVER);
}

/* More than go into one batch. */
START_TEST(a_new_link_hears_of_all_groups)
{
    struct wf_hello h = hello("peer", false);
    open_plainly();
    (void)run_on_node(joins_many);
    groups_heard = 0;
    begun = false;
    struct line *l = dial();
    l->hears = counts_entries;
    say_hello(l, &h);
    say_welcome(l, &h, 7, 0, WF_LINK_OVER);
    pass(WEFT_MS(50));
    ck_assert_uint_eq(groups_heard, 3000);
    close_script();
}
END_TEST

static void counts_publications(struct line *l, const struct heard *h)
{
    (void)l;
    publications_heard += h->kind == WF_FRAME_PUBLISH_TO;
}

static void publishes_one(const void *arg, size_t size)
{
    (void)arg, (void)size;
    result[0] = weft_publish("full.topic", 1, "x", 1);
}

/* There are as many queue groups as fit into one frame, or one more. */
START_TEST(a_publication_names_all_queue_groups)
{
    char queue[16];
    open_with(0, false);
    for (int i = 0; i < WF_PUBLISH_QUEUES + _i; i++) {
        snprintf(queue, sizeof queue, "q%d", i);
        say_entry(peer, WF_TABLE_SET,
                  (struct wf_entry){.table = WF_TABLE_QUEUES, .key = weft_cstr("full.*"), .queue = weft_cstr(queue)});
    }
    publications_heard = 0;
    peer->hears = counts_publications;
    (void)run_on_node(publishes_one);
    ck_assert_int_eq(result[0], 1);
    ck_assert_uint_eq(publications_heard, 1 + (unsigned)_i);
    close_script();
}
END_TEST

static int64_t kept_is; /* -1: nothing */

static void retains_mine(const void *arg, size_t size)
{
    (void)arg, (void)size;
    result[0] = weft_publish_retained("race", 1, "mine", 4);
}

static void clears_it(const void *arg, size_t size)
{
    (void)arg, (void)size;
    result[1] = weft_retained_clear("race");
}

static void looks_what_is_kept(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    kept_is = -1;
    if (weft_subscribe("race", NULL) < 0 || weft_recv(&m, WEFT_NOW) < 0) return;
    kept_is = weft_size(m) > 0 ? *(const char *)weft_data(m) : 0;
    weft_msg_free(m);
}

/* The peer's retained message of a topic: `text`, or that it was cleared. */
static void say_retained(const char *text, uint64_t stamp)
{
    struct wf_body *body = wf_body_new(NULL, "race", 4, text, strlen(text));
    wf_body_sign(body, (weft_pid){there.node, 5}, 1, 1);
    wf_put_retained(&out, body, stamp, false, 0);
    wf_body_drop(NULL, body);
    speak(peer);
}

static uint64_t stamp_heard(void)
{
    const struct heard *h = heard(peer, WF_FRAME_RETAINED);
    ck_assert_ptr_nonnull(h);
    return h->number;
}

/* One node clears what the other one publishes. Both nodes come to the same result, by the timestamps, and if these
 * are equal by the higher incarnation, whichever of the two came first. */
START_TEST(a_clearing_and_a_publication_cross)
{
    static const struct {
        bool above; /* the peer */
        int after;  /* the peer's, of the node's */
        bool holds; /* what the peer says */
    } cases[] = {{false, -1, false}, {false, 0, false}, {false, 1, true}, {true, -1, false}, {true, 0, true}};
    const bool clears = _i % 2 == 1; /* the node, what the peer publishes; or the other way round */
    open_with(0, cases[_i / 2].above);
    (void)run_on_node(retains_mine);
    ck_assert_int_eq(result[0], 0);
    uint64_t before = stamp_heard();
    if (clears) {
        (void)run_on_node(clears_it);
        ck_assert_int_eq(result[1], 1);
        ck_assert_uint_gt(stamp_heard(), before);
    }
    say_retained(clears ? "theirs" : "", stamp_heard() + (uint64_t)cases[_i / 2].after);
    (void)run_on_node(looks_what_is_kept);
    ck_assert_int_eq(kept_is, clears ? (cases[_i / 2].holds ? 't' : -1) : (cases[_i / 2].holds ? -1 : 'm'));
    ck_assert(!is_over(peer));
    close_script();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("what goes out");
    TCase *t = tcase_create("what goes out");
    tcase_add_loop_test(t, each_call_reports_a_full_link, 0, 2);
    tcase_add_loop_test(t, a_sender_that_waits_for_a_link_is_woken, 0, 3);
    tcase_add_loop_test(t, senders_that_wait_for_a_link_are_woken_in_parts, 0, 2);
    tcase_add_loop_test(t, retained_messages_wait_for_space, 0, 2);
    tcase_add_loop_test(t, a_peer_that_takes_no_replies_is_cut_off, 0, 4);
    tcase_add_loop_test(t, frames_acknowledged_while_being_sent_are_not_lost, 0, 2);
    tcase_add_loop_test(t, credit_of_any_size_is_taken, 0, 5);
    tcase_add_test(t, credit_that_nobody_has_asked_for_is_none);
    tcase_add_test(t, a_node_without_links_knows_nobody);
    tcase_add_test(t, names_are_those_of_nodes);
    tcase_add_test(t, a_dozen_peers_are_found);
    tcase_add_loop_test(t, publications_go_to_those_that_want_them, 0, 3);
    tcase_add_test(t, publications_follow_the_patterns_of_a_peer_as_they_change);
    tcase_add_loop_test(t, queue_groups_are_told_to_who_keeps_them, 0, 2);
    tcase_add_test(t, a_new_link_hears_of_all_groups);
    tcase_add_loop_test(t, a_publication_names_all_queue_groups, 0, 2);
    tcase_add_loop_test(t, a_clearing_and_a_publication_cross, 0, 10);
    suite_add_tcase(s, t);
    return run_suite(s);
}

/* A link, and the frames that a peer may send on it, in order and out of order; which actors are notified; and the
 * messages that are still under way when it ends. */
#include "channel.h"
#include "frame_chunks.h"
#include "frame_tables.h"
#include "links.h"
#include "peers.h"
#include "link_writer.h"
#include "peer_link.h"
#include "table_sync.h"
#include "transport.h"
#include "drops.h"
#include "actor_list.h"
#include "linked.h"

/* ---- Who hears of nodes ---------------------------------------------------------------------------------------- */

static int ups, suspects;

static void watches_for(int64_t span)
{
    weft_msg *m;
    (void)weft_watch_nodes();
    (void)weft_watch_nodes(); /* once is enough */
    for (int64_t until = weft_after(span); weft_recv(&m, until) == WEFT_OK; weft_msg_free(m)) {
        ups += weft_tag(m) == WEFT_TAG_NODE_UP;
        suspects += weft_tag(m) == WEFT_TAG_NODE_SUSPECT;
    }
}

static void watches_shortly(const void *arg, size_t size)
{
    (void)arg, (void)size;
    watches_for(WEFT_MS(50));
}

static void watches_long(const void *arg, size_t size)
{
    (void)arg, (void)size;
    watches_for(WEFT_SEC(2));
}

START_TEST(watchers_that_have_ended_make_space_for_others)
{
    struct wf_hello tool = hello("tool", false);
    tool.flags = WF_HELLO_CLIENT;
    tool.incarnation = 3;
    open_with(0, false); /* with one that watches */
    (void)link_up(&tool);
    ups = 0;
    for (int i = 0; i < 15; i++) (void)run_on_node(watches_shortly);
    pass(WEFT_MS(100));
    ck_assert_int_eq(ups, 15); /* nobody hears of the tool */
    ck_assert_uint_eq(cluster()->watcher_count, 16);
    ups = 0;
    (void)run_on_node(watches_shortly); /* all but one have ended */
    ck_assert_uint_eq(cluster()->watcher_count, 2);
    ck_assert_uint_eq(cluster()->watcher_capacity, 16);
    for (int i = 0; i < 40; i++) (void)run_on_node(watches_long);
    pass(WEFT_MS(100));
    ck_assert_uint_ge(cluster()->watcher_capacity, 41);
    ck_assert_int_eq(ups, 41);
    close_script();
}
END_TEST

START_TEST(a_late_watcher_learns_that_a_node_is_suspect)
{
    open_with(0, false);
    wf_conn_close(peer->conn, "lost");
    pass(WEFT_MS(50));
    suspects = 0;
    (void)run_on_node(watches_shortly);
    pass(WEFT_MS(100));
    ck_assert_int_eq(suspects, 1);
    close_script();
}
END_TEST

/* The node's end of the only connection there is. */
static struct wf_channel *channel(void)
{
    return WF_CONTAINER(wf_list_first(&cluster()->channels), struct wf_channel, in_all);
}

/* ---- Patterns -------------------------------------------------------------------------------------------------- */

enum { MANY_PATTERNS = 2500 };

static void wants_much(const void *arg, size_t size)
{
    char pattern[32];
    (void)arg, (void)size;
    for (int i = 0; i < MANY_PATTERNS; i++) {
        snprintf(pattern, sizeof pattern, "topic.%d.*", i);
        ck_assert_int_eq(weft_subscribe(pattern, NULL), WEFT_OK);
    }
    (void)weft_sleep(WEFT_FOREVER);
}

static unsigned interest_frames;

static void counts_interest(struct line *l, const struct heard *h)
{
    (void)l;
    interest_frames += h->kind == WF_FRAME_INTEREST;
}

/* More than go into one frame; all of them once. */
START_TEST(a_new_link_hears_of_all_patterns)
{
    struct wf_hello h = hello("peer", false);
    open_plainly();
    (void)run_on_node(wants_much);
    interest_frames = 0;
    struct line *l = dial();
    l->hears = counts_interest;
    say_hello(l, &h);
    say_welcome(l, &h, 7, 0, WF_LINK_OVER);
    pass(WEFT_MS(50));
    ck_assert_uint_eq(interest_frames, 3);
    ck_assert_uint_eq(cluster()->t->patterns[WF_INTEREST_PLAIN].table.count, MANY_PATTERNS);
    close_script();
}
END_TEST

static unsigned order_of[2]; /* in which the peer heard a subscription and a message; 0: not */

static void notes_order(struct line *l, const struct heard *h)
{
    (void)l;
    if (h->kind == WF_FRAME_INTEREST && order_of[0] == 0) order_of[0] = l->count;
    if (h->kind == wf_frame_of(WF_MSG_SEND) && order_of[1] == 0) order_of[1] = l->count;
}

static void subscribes_and_says(const void *arg, size_t size)
{
    size_t count = *(const size_t *)arg;
    (void)size;
    ck_assert_int_eq(weft_subscribe("answers.*", NULL), WEFT_OK);
    for (size_t i = 0; i < count; i++) ck_assert_int_eq(weft_send(there, 1, large, 1024), WEFT_OK);
    (void)weft_sleep(WEFT_FOREVER);
}

/* Otherwise an answer that is published would not arrive. It also holds if the actor sends so much that the batch is
 * sent within its turn. */
START_TEST(a_subscription_is_sent_before_later_messages_of_its_actor)
{
    const size_t count = _i == 0 ? 1 : WF_BATCH_BYTES / 1024;
    open_with(WF_CAN_CREDIT, false);
    order_of[0] = order_of[1] = 0;
    peer->hears = notes_order;
    ck_assert_int_eq(weft_node_spawn(node, NULL, subscribes_and_says, &count, sizeof count, NULL), WEFT_OK);
    pass(WEFT_MS(100));
    ck_assert_uint_gt(order_of[0], 0);
    ck_assert_uint_gt(order_of[1], order_of[0]);
    close_script();
}
END_TEST

static void answers(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    (void)weft_register("answers");
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m))
        ck_assert_int_ge(weft_publish("answers.1", 1, NULL, 0), 0);
}

/* The bytes in `words` arrive, as if the carrier had been resumed in the middle of a turn. */
static void reads(struct wf_worker *w, struct wf_call *call)
{
    struct wf_channel *ch = channel();
    size_t left = 0;
    ck_assert_ptr_eq(ch->conn->worker, w);
    ck_assert_int_eq(wf_channel_carrier_user.on_message(ch->t, ch->conn, words, out.size, &left), WF_RECEIVE_ON);
    ck_assert_uint_eq(left, 0);
    (void)call;
}

/* It also holds if the worker runs actors before it looks at its inbox again. */
START_TEST(a_subscription_is_known_before_the_next_message)
{
    struct wf_call call = {.post.kind = WF_POST_CALL, .call = reads};
    open_with(0, false);
    (void)run_on_node(answers);
    out = weft_writer_on(words, sizeof words);
    wf_put_interest(&out, WF_INTEREST_ADD, 1);
    weft_put_str(&out, weft_cstr("answers.*"));
    wf_put_to_name(&out, false, weft_cstr("answers"), 5, 1, 0, NULL, 0, WF_FRAME_NO_DEADLINE);
    wf_worker_post(node->workers.at[0], &call.post);
    pass(WEFT_MS(5));
    ck_assert_ptr_nonnull(heard(peer, WF_FRAME_PUBLISH));
    close_script();
}
END_TEST

/* ---- Good-bye, and silence ------------------------------------------------------------------------------------- */

/* The reason in BYE, and the reason that watchers get. */
static const char *const byes[][2] = {{"left", "left"},
                                      {"left, not drained", "left, not drained"},
                                      {"left, not", "left"},
                                      {"tired of you", "left"},
                                      {"", "left"}};

START_TEST(frames_behind_a_bye_are_ignored)
{
    char told[64];
    struct wf_hello h = hello("peer", false);
    h.capabilities = 0;
    open_plainly();
    peer = link_up(&h);
    wf_put_bye(&out, byes[_i][0]);
    wf_put_peers(&out, 1);
    wf_put_peer(&out, weft_cstr("friend"), 99, NULL, 0);
    speak(peer);
    snprintf(told, sizeof told, "down peer: %s; ", byes[_i][1]);
    NEWS(told);
    ck_assert_ptr_null(wf_peers_find(cluster(), 99));
    close_script();
}
END_TEST

/* Only nodes say who there is, and only to nodes. */
START_TEST(tools_do_not_say_who_there_is)
{
    struct wf_hello h = hello("peer", false);
    bool is_tool = _i == 0;
    if (is_tool) {
        h.flags = WF_HELLO_CLIENT;
        open_plainly();
    } else {
        h.capabilities = 0;
        open_script((weft_node_options){.name = "node", .client = true});
    }
    peer = link_up(&h);
    wf_put_peers(&out, 1);
    wf_put_peer(&out, weft_cstr("friend"), 99, NULL, 0);
    speak(peer);
    ck_assert_ptr_null(wf_peers_find(cluster(), 99));
    ck_assert(!is_over(peer));
    close_script();
}
END_TEST

/* A node that stops waits for what is under way, but not for one that is silent. */
START_TEST(a_node_that_stops_does_not_wait_for_the_silent)
{
    struct wf_hello h = hello("peer", false);
    h.heartbeat_ms = 100;
    open_script((weft_node_options){.name = "node", .heartbeats_lost = 3});
    peer = link_up(&h);
    int64_t began = wf_sim_now(&world);
    (void)wf_sim_stop(&world, NODE, weft_after(WEFT_SEC(2)));
    node = NULL;
    ck_assert_int_lt(wf_sim_now(&world) - began, WEFT_MS(1000));
    close_script();
}
END_TEST

/* ---- A peer that takes its time -------------------------------------------------------------------------------- */

/* More than $cluster has looked at: the connection waits meanwhile. */
START_TEST(a_flood_of_frames_for_the_cluster_is_read_to_its_end)
{
    struct wf_hello h = hello("peer", false);
    h.capabilities = 0;
    open_plainly();
    peer = link_up(&h);
    char name[16];
    for (uint64_t i = 0; i < 5 * WF_EVENTS_PER_CHANNEL; i++) {
        snprintf(name, sizeof name, "friend-%d", (int)i);
        wf_put_peers(&out, 1);
        wf_put_peer(&out, weft_cstr(name), 100 + i, NULL, 0);
    }
    speak(peer);
    say_number(peer, WF_FRAME_PING, 17);
    ck_assert_uint_eq(heard(peer, WF_FRAME_PONG)->number, 17);
    ck_assert_ptr_nonnull(wf_peers_find(cluster(), 100 + 5 * WF_EVENTS_PER_CHANNEL - 1));
    close_script();
}
END_TEST

static unsigned taken;

static void takes_all(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    (void)weft_register("sink");
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) taken++;
}

/* More than may be on its way to a worker, from a carrier with threads of its own: the connection waits until the
 * worker has taken that. */
START_TEST(a_flood_of_messages_for_a_worker_is_read_to_its_end)
{
    open_with(WF_CAN_CREDIT, false);
    taken = 0;
    (void)run_on_node(takes_all);
    channel()->conn->worker = NULL;
    for (int i = 0; i < WF_INBOX_MAX + 100; i++)
        wf_put_to_name(&out, false, weft_cstr("sink"), 5, 1, 0, NULL, 0, WF_FRAME_NO_DEADLINE);
    speak(peer);
    say_number(peer, WF_FRAME_PING, 17);
    ck_assert_uint_eq(heard(peer, WF_FRAME_PONG)->number, 17);
    ck_assert_uint_gt(taken, 0);
    close_script();
}
END_TEST

/* The path of a socket may be longer than what the log has space for. */
START_TEST(a_remote_of_any_length_is_told)
{
    open_plainly();
    struct line *l = dial();
    say_hello(l, &(struct wf_hello){.version = 1,
                                    .newest = 1,
                                    .cluster = weft_cstr("weft"),
                                    .name = weft_cstr("peer"),
                                    .incarnation = 1,
                                    .heartbeat_ms = 1000});
    struct wf_conn *conn = channel()->conn;
    memset(conn->remote, 'p', sizeof conn->remote - 1);
    wf_put_welcome(&out);
    wf_put_welcome(&out);
    weft_put_array(&out, 1);
    weft_put_uint(&out, WF_FRAME_PING);
    speak(l);
    ck_assert(is_over(l));
    close_script();
}
END_TEST

/* ---- Tables ---------------------------------------------------------------------------------------------------- */

static weft_pid in_group[4];

static void looks(const void *arg, size_t size)
{
    (void)arg, (void)size;
    result[0] = weft_group_members("full", in_group, 4);
    over = true;
}

static int members(void)
{
    over = false;
    (void)run_on_node(looks);
    ck_assert(over);
    return result[0];
}

/* A snapshot is all there is: what came before is no more. */
START_TEST(a_second_snapshot_takes_the_place_of_the_first)
{
    struct wf_entry e = {.table = WF_TABLE_GROUPS, .key = weft_cstr("full"), .actor = 5};
    open_with(0, false);
    wf_put_table_begin(&out);
    wf_put_entry(&out, WF_TABLE_SET, &e);
    e.actor = 6;
    wf_put_entry(&out, WF_TABLE_SET, &e);
    speak(peer);
    ck_assert_int_eq(members(), 2);
    wf_put_table_begin(&out);
    wf_put_entry(&out, WF_TABLE_SET, &e);
    speak(peer);
    ck_assert_int_eq(members(), 1);
    ck_assert_uint_eq(in_group[0].actor, 6);
    say_entry(peer, (enum wf_table_op)9, e); /* of a later version */
    ck_assert(!is_over(peer));
    ck_assert_int_eq(members(), 1);
    close_script();
}
END_TEST

START_TEST(entries_of_a_peer_that_keeps_no_tables_are_ignored)
{
    open_with(WF_CAN_TABLES, false);
    say_entry(peer, WF_TABLE_SET, (struct wf_entry){.table = WF_TABLE_GROUPS, .key = weft_cstr("full"), .actor = 5});
    ck_assert_int_eq(members(), 0);
    ck_assert(!is_over(peer));
    close_script();
}
END_TEST

/* A connection that found no memory is being closed: what it still brings is nobody's. */
START_TEST(a_connection_that_found_no_memory_is_not_read)
{
    struct wf_conn none = {.user = NULL};
    open_plainly();
    struct wf_transport *t = cluster()->t;
    size_t left = 0;
    const uint8_t *x = (const uint8_t *)"x";
    ck_assert_int_eq(wf_channel_carrier_user.on_message(t, &none, x, 1, &left), WF_RECEIVE_END);
    ck_assert_int_eq(wf_channel_carrier_user.on_chunk(t, &none), WF_RECEIVE_END);
    close_script();
}
END_TEST

/* ---- What one worker knows before another ---------------------------------------------------------------------- */

static struct {
    uint64_t peer;
    bool early, late;
    int sent_early, sent_late;
    bool reached_early, reached_late;
} between;

static int send_to_group(struct wf_worker *w)
{
    struct wf_body *body = wf_body_new(w, "", 0, "x", 1);
    int rc = node->route->send_group(w, between.peer, weft_cstr("full"), 1, weft_nobody(), body);
    wf_body_drop(w, body);
    return rc;
}

/* Acts as another worker, which runs between two turns of this one and knows what $cluster has just found out. */
static void between_turns(struct wf_sim_world *w)
{
    struct wf_worker *worker = w->host[NODE].worker;
    struct wf_link *l = wf_tables_link(cluster()->t, between.peer);
    const struct wf_link_writer *writer = wf_link_writer_find(worker, between.peer);
    wf_sim_enter(w, NODE);
    if (l != NULL && writer == NULL && !between.early) {
        between.early = true;
        between.reached_early = node->route->reaches(worker, between.peer);
        between.sent_early = send_to_group(worker);
    } else if (l == NULL && writer != NULL && !between.late) {
        between.late = true;
        between.reached_late = node->route->reaches(worker, between.peer);
        between.sent_late = send_to_group(worker);
    }
    if (l != NULL) wf_link_release(l);
    wf_sim_leave(w, NODE);
}

START_TEST(a_worker_learns_of_a_link_a_little_later)
{
    memset(&between, 0, sizeof between);
    between.peer = 1;
    open_plainly();
    struct wf_hello h = hello("peer", false);
    world.after_turn = between_turns;
    peer = link_up(&h);
    ck_assert(between.early && between.reached_early);
    ck_assert_int_eq(between.sent_early, WEFT_OK);
    ck_assert_ptr_nonnull(heard(peer, WF_FRAME_GROUP_SEND));
    wf_put_bye(&out, "left");
    speak(peer);
    ck_assert(between.late && !between.reached_late);
    ck_assert_int_eq(between.sent_late, WEFT_ENONODE);
    world.after_turn = NULL;
    close_script();
}
END_TEST

/* ---- Three nodes ----------------------------------------------------------------------------------------------- */

/* The member that was chosen here has gone: it goes on to a node that has one. */
START_TEST(a_publication_for_a_queue_is_passed_on)
{
    struct wf_entry e = {.table = WF_TABLE_QUEUES, .key = weft_cstr("full.*"), .queue = weft_cstr("q")};
    open_with(0, false);
    struct line *other = second_peer(2, 0);
    say_entry(other, WF_TABLE_SET, e);
    struct wf_chosen chosen = {NULL, node->incarnation, e.key, e.queue};
    struct wf_publish_to to = {.topic = weft_cstr("full.topic"),
                               .from = {0, 5},
                               .tag = 1,
                               .chosen = &chosen,
                               .node = node->incarnation,
                               .body = "x",
                               .size = 1};
    (void)wf_publish_to_size(&to);
    wf_put_publish_to(&out, &to);
    speak(peer);
    const struct heard *passed = heard(other, WF_FRAME_PUBLISH_TO);
    ck_assert_ptr_nonnull(passed);
    ck_assert_uint_eq(passed->number, 1);
    close_script();
}
END_TEST

/* ---- What is under way when a link ends ------------------------------------------------------------------------ */

/* The first chunk of a publication. */
START_TEST(an_incomplete_publication_is_not_delivered)
{
    open_with(0, false);
    struct wf_frame f;
    wf_frame_describe(&f, WF_FRAME_PUBLISH, weft_cstr("full.topic"), 1, 5);
    wf_put_first_chunk(&out, 3 * PLENTY);
    wf_put_before_body(&out, &f, WF_CHUNK_BYTES);
    memset(out.at, 'x', WF_CHUNK_BYTES);
    out.at += WF_CHUNK_BYTES;
    out.size += WF_CHUNK_BYTES;
    wf_put_behind_body(&out, &f);
    speak(peer);
    ck_assert(!is_over(peer));
    wf_put_bye(&out, "left");
    speak(peer);
    NEWS("down peer: left");
    close_script();
}
END_TEST

static int64_t asked_until, asked_at;

static void is_asked(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    (void)weft_register("asked");
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        asked_until = weft_deadline(m);
        asked_at = weft_now();
        over = true;
    }
}

/* The time that the caller still waits runs from the first chunk on, not from the last one: and may be up by then. */
START_TEST(time_goes_by_while_a_request_comes_in_chunks)
{
    const int64_t left = WEFT_MS(500), pause = _i == 1 ? WEFT_MS(800) : WEFT_MS(300);
    const bool forever = _i == 2;
    struct wf_frame f;
    open_with(0, false);
    (void)run_on_node(is_asked);
    wf_frame_describe(&f, WF_FRAME_CALL_NAME, weft_cstr("asked"), 1, 5);
    f.ref = 17;
    f.number = forever ? WF_FRAME_NO_DEADLINE : (uint64_t)left / 1000;
    wf_put_first_chunk(&out, WF_CHUNK_BYTES + 3);
    wf_put_before_body(&out, &f, WF_CHUNK_BYTES);
    memset(out.at, 'x', WF_CHUNK_BYTES);
    out.at += WF_CHUNK_BYTES;
    out.size += WF_CHUNK_BYTES;
    wf_put_behind_body(&out, &f);
    int64_t began = wf_sim_now(&world);
    speak(peer);
    int64_t came = wf_sim_now(&world);
    pass(pause);
    ck_assert(!over);
    wf_put_next_chunk(&out, 3);
    memcpy(out.at, "end", 3);
    out.at += 3;
    out.size += 3;
    speak(peer);
    uint64_t drops[WF_DROP_REASONS];
    wf_node_drops(node, drops);
    ck_assert_uint_eq(drops[WF_DROP_EXPIRED], _i == 1);
    ck_assert(over == (_i != 1));
    if (forever) ck_assert_int_eq(asked_until, WEFT_FOREVER);
    if (_i == 0) {
        ck_assert_int_ge(asked_at, came + pause);
        ck_assert_int_ge(asked_until, began + left);
        ck_assert_int_le(asked_until, came + left);
    }
    close_script();
}
END_TEST

static void sends_large_ones(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_register("busy");
    for (int i = 0; i < 4; i++) (void)weft_try_send(there, 1, large, sizeof large);
    (void)weft_try_send(there, 1, "small", 5);
    weft_msg *m;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {}
}

/* A large message waits in chunks, and what goes behind it; credit does not: it is for the other direction. */
START_TEST(credit_does_not_wait_behind_large_messages)
{
    open_with(0, false);
    peer->deaf = true;
    (void)run_on_node(sends_large_ones);
    wf_put_credit_request_name(&out, weft_cstr("busy"), 1 << 24 | 1, 3, 98);
    speak(peer);
    peer->deaf = false;
    wf_conn_resume(peer->conn);
    for (int i = 0; i < 40; i++) pass(WEFT_MS(5));
    const struct heard *grant = heard(peer, WF_FRAME_REMOTE + WF_MSG_CREDIT - WF_MSG_CREDIT_REQUEST);
    ck_assert_ptr_nonnull(grant);
    ck_assert_uint_eq(grant->tag, 3);
    close_script();
}
END_TEST

/* It stops with much that has not been acknowledged, and loses its connection: there is no use in another one. */
START_TEST(a_node_that_stops_with_a_link_that_breaks)
{
    open_with(0, false);
    peer->deaf = true;
    (void)run_on_node(sends_large_ones);
    if (_i == 1) acknowledge(peer);
    wf_sim_reset(&world, NODE, PEER);
    int64_t began = wf_sim_now(&world);
    (void)wf_sim_stop(&world, NODE, weft_after(WEFT_SEC(1)));
    node = NULL;
    ck_assert_int_le(wf_sim_now(&world) - began, WEFT_SEC(5));
    close_script();
}
END_TEST

static void always_talks(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 70; i++) {
        (void)weft_try_send(there, 1, "x", 1);
        (void)weft_sleep(weft_after(WEFT_MS(100)));
    }
}

START_TEST(a_link_that_always_talks_knows_its_round_trip)
{
    uint64_t asked = 0;
    int pings = 0;
    open_with(0, false);
    (void)run_on_node(always_talks);
    for (int i = 0; i < 680; i++) {
        const struct heard *ping = heard(peer, WF_FRAME_PING);
        pass(WEFT_MS(10));
        if (ping == NULL || ping->number == asked) continue;
        asked = ping->number;
        pings++;
        acknowledge(peer);
        say_number(peer, WF_FRAME_PONG, asked);
    }
    ck_assert_int_eq(pings, 2); /* after a second, and after five more */
    int64_t took = wf_links_find(cluster(), there.node)->rtt;
    ck_assert_int_ge(took, WEFT_US(200));
    ck_assert_int_le(took, WEFT_MS(50));
    close_script();
}
END_TEST

/* Its clock is not ours. */
START_TEST(a_pong_from_the_future_says_nothing)
{
    open_with(0, false);
    acknowledge(peer);
    say_number(peer, WF_FRAME_PONG, (uint64_t)weft_after(WEFT_SEC(1000000)));
    ck_assert(!is_over(peer));
    ck_assert_int_eq(wf_links_find(cluster(), there.node)->rtt, 0);
    close_script();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("linked");
    TCase *t = tcase_create("linked");
    tcase_add_test(t, watchers_that_have_ended_make_space_for_others);
    tcase_add_test(t, a_late_watcher_learns_that_a_node_is_suspect);
    tcase_add_test(t, a_new_link_hears_of_all_patterns);
    tcase_add_loop_test(t, a_subscription_is_sent_before_later_messages_of_its_actor, 0, 2);
    tcase_add_test(t, a_subscription_is_known_before_the_next_message);
    tcase_add_loop_test(t, frames_behind_a_bye_are_ignored, 0, (int)WF_COUNT(byes));
    tcase_add_loop_test(t, tools_do_not_say_who_there_is, 0, 2);
    tcase_add_test(t, a_node_that_stops_does_not_wait_for_the_silent);
    tcase_add_test(t, a_flood_of_frames_for_the_cluster_is_read_to_its_end);
    tcase_add_test(t, a_flood_of_messages_for_a_worker_is_read_to_its_end);
    tcase_add_test(t, a_remote_of_any_length_is_told);
    tcase_add_test(t, a_second_snapshot_takes_the_place_of_the_first);
    tcase_add_test(t, entries_of_a_peer_that_keeps_no_tables_are_ignored);
    tcase_add_test(t, a_worker_learns_of_a_link_a_little_later);
    tcase_add_test(t, a_publication_for_a_queue_is_passed_on);
    tcase_add_test(t, a_connection_that_found_no_memory_is_not_read);
    tcase_add_test(t, an_incomplete_publication_is_not_delivered);
    tcase_add_loop_test(t, time_goes_by_while_a_request_comes_in_chunks, 0, 3);
    tcase_add_test(t, credit_does_not_wait_behind_large_messages);
    tcase_add_loop_test(t, a_node_that_stops_with_a_link_that_breaks, 0, 2);
    tcase_add_test(t, a_link_that_always_talks_knows_its_round_trip);
    tcase_add_test(t, a_pong_from_the_future_says_nothing);
    suite_add_tcase(s, t);
    return run_suite(s);
}

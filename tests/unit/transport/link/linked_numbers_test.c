/* Numbers from a peer that this node uses: the highest possible ones, and those of requests that were never made. */
#include "frame_tables.h"
#include "links.h"
#include "peer_link.h"
#include "linked.h"
#include "control.h"
#include "names.h"

static struct wf_link *the_link(void)
{
    struct wf_link *l = wf_links_find(cluster(), there.node);
    ck_assert_ptr_nonnull(l);
    return l;
}

/* ---- PING and PONG --------------------------------------------------------------------------------------------- */

static const uint64_t pongs[] = {1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX, 0};

START_TEST(a_pong_to_no_ping_says_nothing)
{
    open_with(0, false);
    for (int i = 0; i < 100 && heard(peer, WF_FRAME_PING) == NULL; i++) pass(WEFT_MS(100));
    uint64_t asked = heard(peer, WF_FRAME_PING)->number;
    say_number(peer, WF_FRAME_PONG, pongs[_i]);
    say_number(peer, WF_FRAME_PONG, asked - 1);
    ck_assert_int_eq(atomic_load(&the_link()->rtt), 0);
    acknowledge(peer);
    pass(WEFT_MS(100));
    say_number(peer, WF_FRAME_PONG, asked);
    int64_t took = atomic_load(&the_link()->rtt);
    ck_assert_int_gt(took, 0);
    pass(WEFT_MS(100));
    say_number(peer, WF_FRAME_PONG, asked); /* once */
    ck_assert_int_eq(atomic_load(&the_link()->rtt), took);
    ck_assert(!is_over(peer));
    close_script();
}
END_TEST

/* ---- Heartbeats ------------------------------------------------------------------------------------------------ */

/* A node that says it is silent for hours is missed after minutes, as it answers PING sooner. */
START_TEST(a_heartbeat_is_at_most_a_minute)
{
    static const uint64_t said[] = {60001, 3600000, UINT64_MAX};
    struct wf_hello h = hello("peer", false);
    h.heartbeat_ms = said[_i];
    open_plainly();
    peer = link_up(&h);
    there.node = h.incarnation;
    ck_assert_int_eq(the_link()->heartbeat, WEFT_SEC(60));
    pass(WEFT_SEC(290));
    ck_assert(!is_over(peer));
    pass(WEFT_SEC(20));
    ck_assert(is_over(peer));
    close_script();
}
END_TEST

/* ---- Membership ------------------------------------------------------------------------------------------------ */

static void say_update(uint64_t about, enum wf_swim_state state, uint64_t number)
{
    struct wf_swim_message m = {.kind = WF_SWIM_SYNC, .count = 1};
    struct wf_swim_update u = {.node = about, .state = state, .number = number, .by = there.node};
    wf_put_swim(&out, &m);
    wf_put_swim_update(&out, &u);
    speak(peer);
}

/* A frame with the highest number for this node must not prevent the node from refuting it. */
START_TEST(every_member_can_refute_what_is_said_of_it)
{
    struct wf_hello h = hello("peer", false);
    h.capabilities |= WF_CAN_GOSSIP;
    open_plainly();
    peer = link_up(&h);
    there.node = h.incarnation;
    const struct wf_swim *swim = cluster()->swim;
    say_update(node->incarnation, WF_SWIM_DOWN, WF_SWIM_NUMBER_MAX - 1);
    ck_assert_uint_lt(swim->self->number, 10);
    uint64_t most = (wf_stamp_of(wf_node_wall(node)) + WF_STAMP_AHEAD) / 1000;
    say_update(node->incarnation, WF_SWIM_DOWN, most);
    ck_assert_uint_eq(swim->self->number, most + 1); /* refuted */
    ck_assert_int_eq(swim->self->state, WF_SWIM_ALIVE);
    ck_assert_uint_eq(swim->unbelieved, 1);
    close_script();
}
END_TEST

/* ---- Losses ---------------------------------------------------------------------------------------------------- */

static uint64_t lost;

static void counts(const void *arg, size_t size)
{
    weft_subscription s;
    struct weft_subscription_news n;
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_subscribe_with("room.a", &(weft_subscribe_options){.slow = WEFT_SLOW_DROP_OLDEST}, &s) < 0) return;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m))
        if (weft_subscription_news_read(m, &n) == WEFT_OK) lost = WF_MAX(lost, n.lost);
}

/* They add up to no less than each of them. */
START_TEST(losses_that_are_told_do_not_wrap)
{
    open_with(0, false);
    lost = 0;
    (void)run_on_node(counts);
    wf_put_missed(&out, weft_cstr("room.a"), UINT64_MAX);
    wf_put_missed(&out, weft_cstr("room.a"), 1);
    speak(peer);
    ck_assert_uint_ge(lost, UINT64_MAX / 2);
    close_script();
}
END_TEST

/* ---- Times in requests ----------------------------------------------------------------------------------------- */

static char to_drain[32];

static void on_notify(void *arg, int what, const char *why)
{
    (void)arg;
    if (what == WF_NOTIFY_STOP) snprintf(to_drain, sizeof to_drain, "%s", why);
}

/* In nanoseconds the number would be a time, too. */
START_TEST(a_time_for_draining_is_bounded)
{
    uint8_t body[16];
    weft_writer w = weft_writer_on(body, sizeof body);
    struct wf_hello h = hello("peer", false);
    open_script((weft_node_options){.name = "node", .loopback_control = true});
    wf_transport_watch(node, on_notify, NULL);
    peer = link_up(&h);
    to_drain[0] = 0;
    weft_put_int(&w, INT64_MAX);
    wf_put_to_name(&out, true, weft_cstr("$node"), 5, WF_CONTROL_STOP, 1, body, w.size, WF_FRAME_NO_DEADLINE);
    speak(peer);
    ck_assert_str_eq(to_drain, "604800000");
    close_script();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("linked: numbers");
    TCase *t = tcase_create("numbers");
    tcase_add_loop_test(t, a_pong_to_no_ping_says_nothing, 0, WF_COUNT(pongs));
    tcase_add_loop_test(t, a_heartbeat_is_at_most_a_minute, 0, 3);
    tcase_add_test(t, every_member_can_refute_what_is_said_of_it);
    tcase_add_test(t, losses_that_are_told_do_not_wrap);
    tcase_add_test(t, a_time_for_draining_is_bounded);
    suite_add_tcase(s, t);
    return run_suite(s);
}

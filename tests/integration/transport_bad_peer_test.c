/* A linked peer that breaks the protocol: its link ends with a reason that names the violation, and another peer is
 * not affected. */
#include "frame_chunks.h"
#include "by_hand.h"

static weft_node *good;

static void setup(void)
{
    forget_all();
    weft_node_options o = {
        .name = "n", .heartbeat = WEFT_MS(200), .resume_window = WEFT_SEC(2), .patterns_max = 65536};
    node = node_with(o, "tcp://127.0.0.1:0", NULL);
    good = node_with((weft_node_options){.name = "good", .heartbeats_lost = 100}, NULL, weft_node_url(node, 0));
    watch(node);
    watch(good);
    HEAR("n up good");
    HEAR("good up n");
    run_actor(node, echo, NULL, 0);
    HEAR("echo ready");
}

static void teardown(void)
{
    node_down(good);
    node_down(node);
}

/* Whom it takes down is the bad one alone. */
static void expect_dropped(const char *reason)
{
    char line[200];
    snprintf(line, sizeof line, "n down bad: connection lost: %s", reason);
    HEAR(line);
    run_actor(good, call_echo, "echo@n", sizeof "echo@n");
    HEAR("called 0");
    ck_assert_int_eq(heard("n down good", 0), 0);
    ck_assert_int_eq(heard("good down n", 0), 0);
    forget_all();
}

static uint64_t lowest; /* each link is of another incarnation, all lower than those that nodes make up */

/* A link that can be resumed, with that number. */
static int link_again(uint64_t incarnation, uint64_t number, uint64_t received, enum wf_welcome_state state)
{
    struct wf_hello h = hello("bad", incarnation);
    uint8_t out[64];
    struct wf_frame f;
    h.newest = 2;
    h.capabilities = WF_CAN_RESUME | WF_CAN_CREDIT;
    int fd = greet(&h);
    ck_assert(get_frame(fd, &f) && f.kind == WF_FRAME_WELCOME);
    weft_writer w = weft_writer_on(out, sizeof out);
    wf_put_welcome_link(&w, number, received, state);
    put_batch(fd, &w, out);
    return fd;
}

static int link_that_can_resume(void)
{
    int fd = link_again(++lowest, 1, 0, WF_LINK_UP);
    HEAR("n up bad");
    return fd;
}

/* ---- Frames that are not as they should be --------------------------------------------------------------------- */

static const uint8_t kinds[] = {
    WF_FRAME_HELLO,
    WF_FRAME_REFUSED,
    WF_FRAME_BYE,
    WF_FRAME_PING,
    WF_FRAME_PONG,
    WF_FRAME_PEERS,
    WF_FRAME_INTEREST,
    WF_FRAME_ACK,
    WF_FRAME_CHUNK,
    WF_FRAME_START,
    16,
    17,
    18,
    19,
    20,
    WF_FRAME_SEND_NAME,
    WF_FRAME_CALL_NAME,
    WF_FRAME_PUBLISH,
    40,
    41,
    42,
    43,
    44,
    45,
    46,
    48,
    WF_FRAME_GOSSIP,
    WF_FRAME_GOSSIP + 1,
    WF_FRAME_GOSSIP + 2,
    WF_FRAME_GOSSIP + 3,
    WF_FRAME_TABLE,
    WF_FRAME_GROUP_SEND,
    WF_FRAME_PUBLISH_TO,
    WF_FRAME_RETAINED,
    60,
    61,
    62,
    63,
    WF_FRAME_CREDIT_REQUEST_NAME,
};

enum { TRUNCATED, SHORTENED, EMPTY_VALUES, OVERSIZED, WAYS };

/* Returns its size. */
static size_t spoil(uint8_t out[32], uint8_t kind, int how)
{
    size_t n = 0;
    out[n++] = how == SHORTENED ? 0x91 : how == OVERSIZED ? 0x92 : 0x9c; /* an array of 1, 2 or 12 values */
    out[n++] = kind;
    if (how == EMPTY_VALUES)
        while (n < 13) out[n++] = 0xc0; /* nil */
    if (how == OVERSIZED) {             /* a text of 4 GiB, where a number would do as well */
        memcpy(out + n, "\xdb\xff\xff\xff\xff", 5);
        n += 5;
    }
    return n;
}

START_TEST(malformed_frames_end_the_link)
{
    for (size_t i = 0; i < sizeof kinds; i++) {
        uint8_t frame[32], prefix[WF_SP_PREFIX_MAX];
        char reason[64];
        struct wf_hello h = hello("bad", ++lowest);
        int fd = link_as(&h);
        HEAR("n up bad");
        size_t size = spoil(frame, kinds[i], _i);
        put(fd, prefix, wf_sp_prefix(prefix, false, size));
        put(fd, frame, size);
        /* An array that is not all there is none; its kind is not looked at. */
        const char *name = _i == TRUNCATED ? "unknown" : wf_frame_name(kinds[i]);
        snprintf(reason, sizeof reason, "malformed %s frame at offset ", name);
        expect_dropped(reason);
        expect_closed(fd);
    }
}
END_TEST

/* ---- Frames that should not be there --------------------------------------------------------------------------- */

static void start(weft_writer *w, uint64_t count)
{
    wf_put_number(w, WF_FRAME_START, count);
}
static void says_hello(weft_writer *w)
{
    struct wf_hello h = hello("bad", lowest);
    start(w, 0);
    wf_put_hello(w, &h);
}
static void says_welcome(weft_writer *w)
{
    start(w, 0);
    wf_put_welcome(w);
}
static void refuses(weft_writer *w)
{
    start(w, 0);
    wf_put_refused(w, WF_REFUSED_DUPLICATE, "why not");
}
static void starts_twice(weft_writer *w)
{
    start(w, 0);
    start(w, 0);
}
static void starts_ahead(weft_writer *w)
{
    start(w, 5);
}
static void does_not_start(weft_writer *w)
{
    wf_put_to_name(w, false, weft_cstr("echo"), 5, 1, 0, NULL, 0, WF_FRAME_NO_DEADLINE);
}
static void acknowledges_too_much(weft_writer *w)
{
    start(w, 0);
    wf_put_number(w, WF_FRAME_ACK, 1000000);
}
static void subscribes_to_too_much(weft_writer *w)
{
    start(w, 0);
    for (int i = 0; i < 17; i++) {
        wf_put_interest(w, WF_INTEREST_ADD, WF_FRAME_PEERS_MAX);
        for (int k = 0; k < WF_FRAME_PEERS_MAX; k++) {
            char pattern[16];
            snprintf(pattern, sizeof pattern, "a%d", i * WF_FRAME_PEERS_MAX + k);
            weft_put_str(w, weft_cstr(pattern));
        }
    }
}
static void sends_without_credit(weft_writer *w)
{
    start(w, 0);
    for (int i = 0; i < 100000; i++)
        wf_put_to_name(w, false, weft_cstr("sits"), 5, 1, 0, NULL, 0, WF_FRAME_NO_DEADLINE);
}
/* It would be kept for as long as the actor lives. */
static void links_at_length(weft_writer *w)
{
    start(w, 0);
    wf_put_first_chunk(w, 1 << 20);
    wf_put_to_actor(w, WF_MSG_LINK, 1, 5, 0, 1, "long", 4, WF_FRAME_NO_DEADLINE);
}

static const struct {
    void (*says)(weft_writer *w);
    const char *reason;
} bad_words[] = {
    {says_hello, "a handshake frame on an established link"},
    {says_welcome, "a handshake frame on an established link"},
    {refuses, "a handshake frame on an established link"},
    {starts_twice, "START in the middle of a connection"},
    {starts_ahead, "frames are missing"},
    {does_not_start, "no START on a connection that resumes a link"},
    {acknowledges_too_much, "acknowledges frames that were never sent"},
    {subscribes_to_too_much, "too many topic patterns"},
    {links_at_length, "malformed message in the first of its chunks"},
    {sends_without_credit, "it sends more than it was given credit for"},
};

static void sits(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_register("sits");
    say("sits");
    (void)weft_sleep(WEFT_FOREVER);
}

/* It may be cut off while it still speaks. */
START_TEST(a_peer_that_breaks_the_protocol_loses_its_link)
{
    static uint8_t out[4 * 1024 * 1024];
    uint8_t prefix[WF_SP_PREFIX_MAX];
    weft_spawn_options small = {.mailbox_max = 16};
    ck_assert_int_eq(weft_node_spawn(node, NULL, sits, NULL, 0, &small), WEFT_OK);
    HEAR("sits");
    weft_writer w = weft_writer_on(out, sizeof out);
    int fd = link_that_can_resume();
    bad_words[_i].says(&w);
    ck_assert_int_eq(w.error, 0);
    put(fd, prefix, wf_sp_prefix(prefix, false, w.size));
    (void)loopback_write(fd, out, w.size);
    expect_dropped(bad_words[_i].reason);
    expect_closed(fd);
}
END_TEST

START_TEST(a_message_over_the_limit_is_not_waited_for)
{
    int fd = link_that_can_resume();
    put(fd, "\0\0\0\0\x40\0\0\0", 8);
    expect_dropped("a message of 1073741824 bytes is over the limit of ");
    expect_closed(fd);
}
END_TEST

/* ---- Lies that take longer ------------------------------------------------------------------------------------- */

/* Reads and answers PINGs, and never says that it has anything. */
START_TEST(a_peer_that_never_acknowledges_loses_its_link)
{
    uint8_t out[64];
    struct wf_frame f;
    int fd = link_that_can_resume();
    int64_t by = patience();
    for (bool heard_by = true; heard_by && get_frame(fd, &f);) {
        ck_assert_int_lt(weft_now(), by);
        if (f.kind != WF_FRAME_PING) continue;
        weft_writer w = weft_writer_on(out, sizeof out);
        wf_put_number(&w, WF_FRAME_PONG, f.number);
        heard_by = try_batch(fd, &w, out); /* not: the node has closed meanwhile */
    }
    expect_dropped("does not acknowledge received frames");
    close(fd);
}
END_TEST

/* It comes back and has what was never sent. */
START_TEST(a_welcome_that_claims_frames_never_sent_ends_the_connection)
{
    int fd = link_that_can_resume();
    close(fd);
    fd = link_again(lowest, 1, 1000000, WF_LINK_BROKEN);
    expect_dropped("acknowledges frames that were never sent");
    expect_closed(fd);
}
END_TEST

/* Frames that it sends again on another connection have numbers that have come already. */
START_TEST(replayed_frames_are_received_once)
{
    uint8_t out[256];
    struct wf_frame f;
    uint64_t replies = 0, got = 0;
    int fd = link_that_can_resume();
    for (uint64_t turn = 0; turn < 3; turn++) {
        weft_writer w = weft_writer_on(out, sizeof out);
        start(&w, 0);
        for (uint64_t i = 0; i < 3 + turn; i++) /* all but the last one have been sent before */
            wf_put_to_name(&w, true, weft_cstr("echo"), 5, 1, i, NULL, 0, WF_FRAME_NO_DEADLINE);
        put_batch(fd, &w, out);
        for (bool over = false; !over && get_frame(fd, &f);) {
            got += f.counted;
            if (f.kind != WF_FRAME_TO_ACTOR + WF_MSG_REPLY) continue;
            ck_assert_uint_eq(f.ref, replies);
            over = ++replies == 3 + turn;
        }
        close(fd);
        if (turn < 2) fd = link_again(lowest, 1, got, WF_LINK_BROKEN);
    }
    ck_assert_uint_eq(replies, 5);
    ck_assert_int_eq(heard("n down bad", 0), 0);
}
END_TEST

/* ---- A node that leaves ---------------------------------------------------------------------------------------- */

static void stop_it(void *arg)
{
    say("stopped %d", weft_node_stop(*(weft_node *const *)arg, patience()));
}

static void stops(const void *arg, size_t size)
{
    weft_node *leaver = *(weft_node *const *)arg;
    (void)weft_offload(stop_it, &leaver, size, WEFT_FOREVER);
}

static void say_state(int fd, uint64_t number, enum wf_welcome_state state)
{
    uint8_t out[64];
    weft_writer w = weft_writer_on(out, sizeof out);
    wf_put_welcome_link(&w, number, 0, state);
    put_batch(fd, &w, out);
}

static int be_dialled(int listener, weft_node *by, uint64_t incarnation)
{
    struct wf_hello h = hello("bad", incarnation);
    h.newest = 2;
    h.capabilities = WF_CAN_RESUME;
    int fd = socket_accept(listener);
    ck_assert_int_ge(fd, 0);
    socket_patience(fd, 100);
    greet_on(fd, &h, weft_node_incarnation(by));
    return fd;
}

/* Its good-bye has arrived, but the answer is lost with the connection: the node dials again, is told that the link
 * is over, and has nothing to wait for any more. Both as the side that decides, and as the other one. */
START_TEST(a_node_that_leaves_ends_a_link_that_the_other_side_has_ended)
{
    char url[64];
    struct wf_frame f;
    int listener = loopback_listen(url);
    uint64_t incarnation = _i == 0 ? UINT64_MAX : 1, number = 1;
    weft_node_options o = {.name = "leaver", .heartbeats_lost = 100, .resume_window = WEFT_SEC(60)};
    weft_node *leaver = node_with(o, NULL, url);
    watch(leaver);
    int fd = be_dialled(listener, leaver, incarnation);
    if (_i == 0) say_state(fd, 0, WF_LINK_OVER);
    ck_assert(get_frame(fd, &f) && f.kind == WF_FRAME_WELCOME);
    if (_i == 0) number = f.number;
    else say_state(fd, number, WF_LINK_OVER);
    HEAR("leaver up bad");
    run_actor(good, stops, &leaver, sizeof(weft_node *));
    do ck_assert(get_frame(fd, &f));
    while (f.kind != WF_FRAME_BYE);
    close(fd);
    fd = be_dialled(listener, leaver, incarnation);
    if (_i == 0) say_state(fd, number, WF_LINK_OVER);
    ck_assert(get_frame(fd, &f) && f.kind == (_i == 0 ? WF_FRAME_REFUSED : WF_FRAME_WELCOME));
    if (_i == 1) say_state(fd, number + 1, WF_LINK_OVER);
    HEAR("stopped 0");
    expect_closed(fd);
    socket_poll again = {.fd = (socket_number)listener, .events = POLLIN};
    ck_assert_msg(poll_sockets(&again, 1, 0) == 0, "the node has dialled once more");
    close(listener);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("transport_bad_peer");
    TCase *t = tcase_create("bad peers");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, malformed_frames_end_the_link, 0, WAYS);
    tcase_add_loop_test(t, a_peer_that_breaks_the_protocol_loses_its_link, 0,
                        (int)(sizeof bad_words / sizeof bad_words[0]));
    tcase_add_test(t, a_message_over_the_limit_is_not_waited_for);
    tcase_add_test(t, a_peer_that_never_acknowledges_loses_its_link);
    tcase_add_test(t, a_welcome_that_claims_frames_never_sent_ends_the_connection);
    tcase_add_test(t, replayed_frames_are_received_once);
    tcase_add_loop_test(t, a_node_that_leaves_ends_a_link_that_the_other_side_has_ended, 0, 2);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}

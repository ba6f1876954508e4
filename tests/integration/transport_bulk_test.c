/* Large messages: they go in chunks, between which other messages are sent; they arrive whole and in order, however
 * often the connection breaks; and a node ends the link of a peer whose chunks are inconsistent. */
#include "frame_chunks.h"
#include "by_hand.h"
#include "proxy.h"

enum { MIB = 1024 * 1024, ECHO = 1, DATA = 2 };

/* ---- Two nodes ------------------------------------------------------------------------------------------------- */

static struct proxy proxy;
static weft_node *a, *b; /* a dials b through the proxy */

static weft_node *start(const char *name, const char *listen, const char *join)
{
    weft_node_options o = {.name = name, .resume_window = WEFT_SEC(60), .heartbeats_lost = 60};
    return node_with(o, listen, join);
}

static void setup(void)
{
    static uint64_t seed = 88172645463325252u;
    int little = 64 * 1024; /* the kernel is not to take a whole message off the sender's hands */
    forget_all();
    b = start("b", "tcp://127.0.0.1:0", NULL);
    proxy_start(&proxy, weft_node_url(b, 0), seed += 2);
    setsockopt(proxy.listener, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    a = start("a", NULL, proxy.url);
    watch(a);
    watch(b);
    HEAR("a up b");
    HEAR("b up a");
}

static void teardown(void)
{
    if (a != NULL) node_down(a);
    if (b != NULL) node_down(b);
    proxy_end(&proxy);
}

static void fill(uint8_t *bytes, size_t size, uint32_t n)
{
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(i * 7 + (i >> 16) + n);
}

static bool is_filled(const weft_msg *m, size_t size, uint32_t n)
{
    const uint8_t *bytes = weft_data(m);
    if (weft_size(m) != size) return false;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != (uint8_t)(i * 7 + (i >> 16) + n)) return false;
    return true;
}

/* Sizes in turn: a message in a batch, one that is not copied, one in two chunks, one in many. */
static size_t size_of(uint32_t n)
{
    static const size_t sizes[] = {10, 40000, 300000, 1 * MIB + 12345};
    return sizes[n % 4];
}

enum { COUNT = 40 };

static void sink(const void *arg, size_t arg_size)
{
    const char *here = arg;
    weft_msg *m;
    (void)arg_size;
    weft_register("sink");
    say("%s sink ready", here);
    for (uint32_t n = 0; n < COUNT && weft_recv(&m, WEFT_FOREVER) == WEFT_OK;) {
        if (weft_wants_reply(m)) {
            weft_reply(m, ECHO, NULL, 0);
        } else {
            if (!is_filled(m, size_of(n), n)) say("wrong: message %u at %s", n, here);
            n++;
        }
        weft_msg_free(m);
    }
    say("%s got all", here);
}

/* Sends by pid and by name, copies and message objects: all these from one actor to another keep one order. */
static void source(const void *arg, size_t arg_size)
{
    char name[16];
    uint8_t *bytes = malloc(2 * MIB);
    weft_msg *m = NULL;
    (void)arg_size;
    snprintf(name, sizeof name, "sink@%s", (const char *)arg);
    ck_assert_int_eq(weft_call_name(name, ECHO, NULL, 0, &m, patience()), WEFT_OK);
    weft_pid to = weft_from(m);
    weft_msg_free(m);
    for (uint32_t n = 0; n < COUNT; n++) {
        size_t size = size_of(n);
        int rc;
        fill(bytes, size, n);
        do {
            m = n / 4 % 2 == 0 ? weft_msg_new(DATA, size) : NULL;
            if (m != NULL) memcpy(weft_msg_body(m), bytes, size);
            rc = m != NULL ? weft_send_msg(to, m) : weft_send_name(name, DATA, bytes, size);
        } while (rc == WEFT_EFULL);
        if (rc < 0) say("wrong: sending %u says %d", n, rc);
    }
    free(bytes);
}

static void start_streams(void)
{
    run_actor(a, sink, "a", 2);
    run_actor(b, sink, "b", 2);
    HEAR("a sink ready");
    HEAR("b sink ready");
    run_actor(a, source, "b", 2);
    run_actor(b, source, "a", 2);
}

/* Every connection ends in the middle of something, most of them in that of a message in chunks. */
START_TEST(messages_arrive_whole_and_in_order_however_often_the_connection_breaks)
{
    proxy_cut_every(&proxy, 4 * MIB);
    proxy_do(&proxy, PROXY_CUT);
    start_streams();
    HEAR("a got all");
    HEAR("b got all");
    ck_assert_int_eq(heard("wrong", 0), 0);
    ck_assert_uint_gt(proxy_taken(&proxy), 5);
}
END_TEST

/* The request itself, and the answer of another, as an answer: small ones, and those that go in chunks. */
static void echoes(const void *arg, size_t arg_size)
{
    weft_msg *ask, *answer;
    weft_pid behind;
    (void)arg_size;
    weft_register(arg);
    say("%s ready", (const char *)arg);
    for (bool front = weft_whereis("behind", &behind) == 0 && !weft_pid_equal(behind, weft_self());
         weft_recv(&ask, WEFT_FOREVER) == WEFT_OK;) {
        if (!front) {
            ck_assert_int_eq(weft_reply_msg(ask, ask), WEFT_OK);
            continue;
        }
        ck_assert_int_eq(weft_call(behind, ECHO, weft_data(ask), weft_size(ask), &answer, patience()), WEFT_OK);
        ck_assert_int_eq(weft_reply_msg(ask, answer), WEFT_OK);
        weft_msg_free(ask);
    }
}

static void asks_both(const void *arg, size_t arg_size)
{
    static const char *const names[] = {"behind@b", "front@b"};
    uint8_t *bytes = malloc(2 * MIB);
    (void)arg, (void)arg_size;
    for (uint32_t n = 0; n < 8; n++) {
        weft_msg *m = NULL;
        fill(bytes, size_of(n), n);
        ck_assert_int_eq(weft_call_name(names[n / 4], ECHO, bytes, size_of(n), &m, patience()), WEFT_OK);
        ck_assert(is_filled(m, size_of(n), n));
        weft_msg_free(m);
    }
    free(bytes);
    say("all answered");
}

START_TEST(answers_are_messages_that_there_are_already)
{
    run_actor(b, echoes, "behind", 7);
    HEAR("behind ready");
    run_actor(b, echoes, "front", 6);
    HEAR("front ready");
    run_actor(a, asks_both, NULL, 0);
    HEAR("all answered");
}
END_TEST

/* ---- What passes ----------------------------------------------------------------------------------------------- */

static void receiver(const void *arg, size_t arg_size)
{
    static const char *const names[] = {"sink", "other"};
    const char *here = names[*(const int *)arg];
    weft_msg *m;
    int small = 0;
    (void)arg_size;
    weft_register(here);
    weft_group_watch("crowd");
    say("%s ready", here);
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        struct weft_group_news news;
        struct weft_down down;
        if (weft_down_read(m, &down) == WEFT_OK) say("%s hears of the end", here);
        else if (weft_group_news_read(m, &news) == WEFT_OK)
            say("%s hears that one %s", here, weft_tag(m) == WEFT_TAG_GROUP_JOIN ? "joins" : "leaves");
        else if (weft_wants_reply(m)) weft_reply(m, ECHO, NULL, 0);
        else if (weft_tag(m) == ECHO) weft_monitor(weft_from(m), NULL), say("%s monitors", here);
        else if (weft_size(m) < MIB) small++, small % 600 == 1 ? say("%s got a small one", here) : (void)0;
        else say("%s got %s", here, is_filled(m, 16 * MIB, 1) ? "a large one" : "wrong bytes");
        weft_msg_free(m);
    }
}

static weft_pid find(const char *name)
{
    weft_msg *m = NULL;
    ck_assert_int_eq(weft_call_name(name, ECHO, NULL, 0, &m, patience()), WEFT_OK);
    weft_pid pid = weft_from(m);
    weft_msg_free(m);
    return pid;
}

/* An actor that is monitored and in a group sends a large message, then small ones, then leaves the group, and
 * ends. */
static void sends_large(const void *arg, size_t arg_size)
{
    (void)arg, (void)arg_size;
    weft_pid to = find("sink@b");
    weft_msg *m;
    ck_assert_int_eq(weft_group_join("crowd"), WEFT_OK);
    ck_assert_int_eq(weft_send(to, ECHO, NULL, 0), WEFT_OK);
    say("large is known");
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    weft_msg_free(m);
    m = weft_msg_new(DATA, 16 * MIB);
    fill(weft_msg_body(m), 16 * MIB, 1);
    ck_assert_int_eq(weft_send_msg(to, m), WEFT_OK);
    say("large is sent");
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    weft_msg_free(m);
    ck_assert_int_eq(weft_send(to, DATA, "small", 5), WEFT_OK);
    ck_assert_int_eq(weft_group_leave("crowd"), WEFT_OK);
}

/* Its messages pass, and its end. */
static void sends_small(const void *arg, size_t arg_size)
{
    weft_msg *m;
    (void)arg_size;
    weft_pid to = find("other@b");
    ck_assert_int_eq(weft_send(to, ECHO, NULL, 0), WEFT_OK);
    say("small is known");
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    weft_msg_free(m);
    for (int i = 0; i < *(const int *)arg; i++) ck_assert_int_eq(weft_send(to, DATA, "small", 5), WEFT_OK);
}

static const int sink_name = 0, other_name = 1;

static weft_pid start_small(int count)
{
    weft_pid small;
    run_actor(b, receiver, &other_name, sizeof other_name);
    HEAR("other ready");
    ck_assert_int_eq(weft_node_spawn(a, &small, sends_small, &count, sizeof count, NULL), WEFT_OK);
    HEAR("small is known");
    HEAR("other monitors");
    return small;
}

static weft_pid start_large(void)
{
    weft_pid large;
    run_actor(b, receiver, &sink_name, sizeof sink_name);
    HEAR("sink ready");
    ck_assert_int_eq(weft_node_spawn(a, &large, sends_large, NULL, 0, NULL), WEFT_OK);
    HEAR("large is known");
    HEAR("sink monitors");
    HEAR("sink hears that one joins");
    proxy_allow(&proxy, MIB);
    ck_assert_int_eq(weft_node_send(a, large, ECHO, NULL, 0), WEFT_OK);
    HEAR("large is sent");
    return large;
}

static void expect_the_sink_in_order(void)
{
    HEAR("sink hears of the end");
    HEAR("sink hears that one leaves");
    ck_assert_int_lt(place_of("sink got a large one"), place_of("sink got a small one"));
    ck_assert_int_lt(place_of("sink got a small one"), place_of("sink hears of the end"));
    ck_assert_int_lt(place_of("sink got a small one"), place_of("sink hears that one leaves"));
}

/* Says when an actor of its worker has ended and all that it sent, and its end, are on the link. They are put there
 * at the end of a turn of the worker's loop, which is over when a later one begins. */
static void waits_for_the_end(const void *arg, size_t arg_size)
{
    weft_msg *m;
    (void)arg_size;
    ck_assert_int_eq(weft_monitor(*(const weft_pid *)arg, NULL), WEFT_OK);
    say("small is watched");
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    weft_msg_free(m);
    if (weft_sleep(weft_after(1)) == WEFT_OK) say("small is under way");
}

START_TEST(others_pass_a_large_message)
{
    weft_pid small = start_small(100), large = start_large();
    /* On another worker it would get the DOWN before the link has it. */
    const weft_spawn_options beside = {.worker = 1 + (int)wf_id_worker(small.actor)};
    ck_assert_int_eq(weft_node_spawn(a, NULL, waits_for_the_end, &small, sizeof small, &beside), WEFT_OK);
    HEAR("small is watched");
    ck_assert_int_eq(weft_node_send(a, small, ECHO, NULL, 0), WEFT_OK);
    HEAR("small is under way");    /* else the large one may have used up what passes before it is */
    proxy_allow(&proxy, 13 * MIB); /* with what has been passed less than the large one */
    HEAR("other got a small one");
    HEAR("other hears of the end");
    ck_assert_int_eq(heard("sink got", 0), 0);
    ck_assert_int_eq(weft_node_send(a, large, ECHO, NULL, 0), WEFT_OK);
    proxy_allow(&proxy, UINT64_MAX);
    expect_the_sink_in_order();
}
END_TEST

/* Later messages of its sender, and notifications about the sender, do not overtake it, whatever comes between. */
START_TEST(later_acts_of_its_sender_come_after_a_large_message)
{
    weft_pid small = start_small(2000), large = start_large(); /* more than there is credit for at first */
    ck_assert_int_eq(weft_node_send(a, large, ECHO, NULL, 0), WEFT_OK);
    ck_assert_int_eq(weft_node_send(a, small, ECHO, NULL, 0), WEFT_OK);
    proxy_allow(&proxy, UINT64_MAX);
    HEAR("other hears of the end");
    expect_the_sink_in_order();
}
END_TEST

START_TEST(good_bye_comes_behind_a_large_message)
{
    (void)start_large();
    proxy_do(&proxy, PROXY_CUT);
    proxy_allow(&proxy, UINT64_MAX);
    node_down(a);
    a = NULL;
    HEAR("b down a: left");
    HEAR("sink got a large one"); /* it is delivered by then; its actor may take its time to look at 16 MiB */
}
END_TEST

/* Half of it is here, half there; both sides forget it. */
START_TEST(a_link_may_end_in_the_middle_of_a_large_message)
{
    (void)start_large();
    proxy_close_to_all(&proxy, true, NULL);
    proxy_do(&proxy, PROXY_CUT);
    (void)weft_node_stop(b, WEFT_NOW);
    (void)weft_node_stop(a, WEFT_NOW);
    a = b = NULL;
    ck_assert_int_eq(heard("sink got", 0), 0);
}
END_TEST

/* ---- By hand --------------------------------------------------------------------------------------------------- */

static void setup_hand(void)
{
    forget_all();
    node = node_up("n", "tcp://127.0.0.1:0", NULL, WEFT_MS(200));
    watch(node);
}

static void teardown_hand(void)
{
    node_down(node);
}

static int link_with(uint64_t capabilities)
{
    struct wf_hello h = hello("hand", 1);
    h.capabilities = capabilities;
    int fd = link_as(&h);
    HEAR("n up hand");
    return fd;
}

static struct wf_frame ask(uint64_t left)
{
    return (struct wf_frame){
        .kind = WF_FRAME_CALL_NAME, .name = weft_cstr("echo"), .from = 5, .tag = 10, .ref = 77, .number = left};
}

/* The first chunk of a body of `whole` bytes that begins with `part`. */
static weft_writer first_chunk(uint8_t *out, size_t space, size_t whole, const uint8_t *part, size_t size)
{
    weft_writer w = weft_writer_on(out, space);
    struct wf_frame f = ask(30000000);
    wf_put_first_chunk(&w, whole);
    wf_put_before_body(&w, &f, size);
    if (size > 0) memcpy(w.at, part, size);
    w.at += size;
    w.size += size;
    wf_put_behind_body(&w, &f);
    ck_assert_int_eq(w.error, 0);
    return w;
}

static void put_chunk(int fd, const uint8_t *part, size_t size)
{
    static uint8_t out[MIB];
    weft_writer w = weft_writer_on(out, sizeof out);
    weft_put_array(&w, 2);
    weft_put_uint(&w, WF_FRAME_CHUNK);
    weft_put_bin(&w, part, size);
    put_batch(fd, &w, out);
}

enum { WHOLE = 600000 };

/* The answer, in however many pieces; what else the node has to say is between them. Returns how many. */
static int get_answer(int fd, uint8_t *into)
{
    struct wf_frame f;
    size_t done = 0;
    int pieces = 0;
    while (done < WHOLE) {
        ck_assert(get_frame(fd, &f));
        struct wf_frame *at = &f, within;
        if (f.kind == WF_FRAME_CHUNK && f.number > 0) {
            ck_assert_uint_eq(f.number, WHOLE);
            ck_assert_int_eq(wf_frame_next(&f.items, &within), 1);
            at = &within;
        }
        if (at->kind == WF_FRAME_TO_ACTOR + WF_MSG_REPLY) ck_assert(at->ref == 77 && at->to == 5);
        else if (at->kind != WF_FRAME_CHUNK) continue;
        ck_assert_uint_le(at->body.size, WHOLE - done);
        memcpy(into + done, at->body.data, at->body.size);
        done += at->body.size;
        pieces++;
    }
    return pieces;
}

/* Asked in chunks, with others between them; who has not said that it knows chunks gets the answer whole. */
START_TEST(a_body_comes_in_chunks_of_any_size)
{
    static uint8_t body[WHOLE], back[WHOLE], out[MIB];
    run_actor(node, echo, NULL, 0);
    HEAR("echo ready");
    fill(body, WHOLE, 3);
    int fd = link_with(_i == 0 ? WF_CAN_CHUNKS : 0);
    weft_writer w = first_chunk(out, sizeof out, WHOLE, body, 0);
    put_batch(fd, &w, out);
    static const size_t parts[] = {1, 7, 65536, 1, 300000};
    size_t done = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; done += parts[i++]) {
        w = weft_writer_on(out, sizeof out);
        wf_put_number(&w, WF_FRAME_PING, 1);
        wf_put_to_name(&w, false, weft_cstr("nobody"), 6, 10, 0, "hello", 5, WF_FRAME_NO_DEADLINE);
        put_batch(fd, &w, out);
        put_chunk(fd, body + done, parts[i]);
    }
    put_chunk(fd, body + done, WHOLE - done);
    ck_assert_int_eq(get_answer(fd, back), _i == 0 ? 3 : 1);
    ck_assert_int_eq(memcmp(body, back, WHOLE), 0);
    close(fd);
    HEAR("n down hand");
}
END_TEST

/* A message that is never finished keeps its memory as long as the link exists. */
START_TEST(a_peer_that_does_not_finish_its_chunks_is_still_heard)
{
    static uint8_t out[1024];
    run_actor(node, echo, NULL, 0);
    HEAR("echo ready");
    int fd = link_with(WF_CAN_CHUNKS);
    weft_writer w = first_chunk(out, sizeof out, WEFT_MESSAGE_MAX, NULL, 0);
    wf_put_to_name(&w, true, weft_cstr("echo"), 5, 10, 77, "hello", 5, WF_FRAME_NO_DEADLINE);
    put_batch(fd, &w, out);
    struct wf_frame f;
    do ck_assert(get_frame(fd, &f));
    while (f.kind != WF_FRAME_TO_ACTOR + WF_MSG_REPLY);
    ck_assert(f.ref == 77 && f.body.size == 5);
    close(fd);
    HEAR("n down hand");
}
END_TEST

static const struct {
    const char *bytes;
    size_t size;
    const char *why;
} faults[] = {
#define BAD_FIRST "malformed message in the first of its chunks"
#define FAULT(bytes, why)            \
    {                                \
        bytes, sizeof bytes - 1, why \
    }
    FAULT("\x92\x0b\xc4\x01x", "a chunk without a message"),
    FAULT("\x93\x0b\x02\x96\x10\x00\x00\x01\x00\xc4\x01x\x92\x0b\xc4\x02yz", "a chunk that does not fit its message"),
    FAULT("\x93\x0b\x02\x96\x10\x00\x00\x01\x00\xc4\x01x\x92\x0b\xc4\x00", "a chunk that does not fit its message"),
    FAULT("\x93\x0b\x02\x96\x10\x00\x00\x01\x00\xc4\x01x\x93\x0b\x02\x96\x10\x00\x00\x01\x00\xc4\x01x",
          "a message in chunks begins before the end of the one before"),
    FAULT("\x93\x0b\x01\x96\x10\x00\x00\x01\x00\xc4\x01x\x92\x0b\xc4\x01x", "a chunk without a message"),
    FAULT("\x93\x0b\x01\x96\x10\x00\x00\x01\x00\xc4\x02xy", BAD_FIRST),
    FAULT("\x93\x0b\x02\x92\x05\x01", BAD_FIRST),
    FAULT("\x93\x0b\x02\x93\x0b\x02\x96\x10\x00\x00\x01\x00\xc4\x01x", BAD_FIRST),
    FAULT("\x93\x0b\x02\x92\x10\x01", BAD_FIRST),
    FAULT("\x93\x0b\x02\xc0", BAD_FIRST),
    FAULT("\x93\x0b\x00\x96\x10\x00\x00\x01\x00\xc4\x00", "malformed CHUNK frame at offset 3"),
    FAULT("\x93\x0b\xce\x01\x00\x00\x01\x96\x10\x00\x00\x01\x00\xc4\x00", "malformed CHUNK frame at offset 7"),
    FAULT("\x92\x0b\xa1x", "malformed CHUNK frame at offset 2"),
    FAULT("\x92\x0b\xc6\x00\xff\xff\xffx", "malformed CHUNK frame at offset 2"),
    FAULT("\x91\x0b", "malformed CHUNK frame at offset 2"),
};

START_TEST(chunks_out_of_place_end_the_link)
{
    char line[200];
    int fd = link_with(WF_CAN_CHUNKS);
    weft_writer w = {.size = faults[_i].size};
    put_batch(fd, &w, (const uint8_t *)faults[_i].bytes);
    snprintf(line, sizeof line, "n down hand: connection lost: %s", faults[_i].why);
    HEAR(line);
    expect_closed(fd);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("transport_bulk");
    TCase *t = tcase_create("nodes");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, messages_arrive_whole_and_in_order_however_often_the_connection_breaks);
    tcase_add_test(t, answers_are_messages_that_there_are_already);
    tcase_add_test(t, others_pass_a_large_message);
    tcase_add_test(t, later_acts_of_its_sender_come_after_a_large_message);
    tcase_add_test(t, good_bye_comes_behind_a_large_message);
    tcase_add_test(t, a_link_may_end_in_the_middle_of_a_large_message);
    suite_add_tcase(s, t);
    t = tcase_create("by hand");
    tcase_add_checked_fixture(t, setup_hand, teardown_hand);
    tcase_add_loop_test(t, a_body_comes_in_chunks_of_any_size, 0, 2);
    tcase_add_test(t, a_peer_that_does_not_finish_its_chunks_is_still_heard);
    tcase_add_loop_test(t, chunks_out_of_place_end_the_link, 0, sizeof faults / sizeof faults[0]);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}

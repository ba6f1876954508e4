/* Clients that are not nodes, or not nodes of this cluster, connect to a node's port: the test writes their bytes by
 * hand over plain sockets. Also the steps by which a program in another language can be a node, and links whose other
 * end does not read, or is killed. */
#include "drops.h"
#include "actor_list.h"
#include "by_hand.h"
#include "carrier.h"

static const char *program;

static void setup(void)
{
    forget_all();
    node = node_up("n", "tcp://127.0.0.1:0", NULL, WEFT_MS(200));
}

static void teardown(void)
{
    node_down(node);
}

/* ---- A node made by hand --------------------------------------------------------------------------------------- */

START_TEST(a_node_can_be_written_by_hand)
{
    uint8_t out[256];
    struct wf_frame f;
    run_actor(node, echo, NULL, 0);
    watch(node);
    HEAR("echo ready");
    int fd = link_by_hand("hand");
    HEAR("n up hand");
    weft_writer w = weft_writer_on(out, sizeof out);
    wf_put_to_name(&w, true, weft_cstr("echo"), 5, 10, 77, "hello", 5, WF_FRAME_NO_DEADLINE);
    wf_put_to_name(&w, true, weft_cstr("nobody"), 5, 10, 78, "hello", 5, WF_FRAME_NO_DEADLINE);
    put_batch(fd, &w, out);
    int replies = 0;
    while (replies < 2 && get_frame(fd, &f)) {
        if (f.kind == WF_FRAME_TO_ACTOR + WF_MSG_REPLY) {
            ck_assert(f.to == 5 && f.ref == 77 && f.tag == 11 && f.body.size == 5);
            replies++;
        } else if (f.kind == WF_FRAME_TO_ACTOR + WF_MSG_FAILED) {
            ck_assert(f.to == 5 && f.ref == 78 && f.tag == 6);
            replies++;
        }
    }
    ck_assert_int_eq(replies, 2);
    uint64_t drops[WF_DROP_REASONS];
    wf_node_drops(node, drops);
    ck_assert_uint_eq(drops[WF_DROP_NO_NAME], 1);
    ck_assert_uint_eq(drops[WF_DROP_NO_ACTOR], 0);
    w = weft_writer_on(out, sizeof out);
    wf_put_bye(&w, "left");
    put_batch(fd, &w, out);
    HEAR("n down hand: left");
    expect_closed(fd);
}
END_TEST

static void ends_at_once(const void *arg, size_t size)
{
    (void)arg;
    weft_exit((int)size);
}
WEFT_EXPORT_PLAIN("stranger.ends", ends_at_once)

static void put_order(weft_writer *w, uint64_t from, uint64_t ref, const char *actor, uint64_t monitor)
{
    uint8_t body[64];
    weft_writer b = weft_writer_on(body, sizeof body);
    weft_put_array(&b, 4);
    weft_put_str(&b, weft_cstr(actor));
    weft_put_bin(&b, "seventeen bytes..", 17);
    weft_put_uint(&b, monitor);
    weft_put_uint(&b, 0);
    wf_put_to_actor(w, WF_MSG_SPAWN, 0, from, 0, ref, body, b.size, WF_FRAME_NO_DEADLINE);
}

static void put_want(weft_writer *w, uint64_t to, uint32_t number, size_t size)
{
    wf_put_to_actor(w, WF_MSG_CREDIT_REQUEST, to, 1, number, 99, "\0\0\0\0\0", size, WF_FRAME_NO_DEADLINE);
}

START_TEST(odd_orders_and_credit_are_answered_or_ignored)
{
    uint8_t out[1024];
    struct wf_frame f;
    run_actor(node, echo, NULL, 0);
    HEAR("echo ready");
    int fd = link_by_hand("hand");
    weft_writer w = weft_writer_on(out, sizeof out);
    wf_put_to_actor(&w, WF_MSG_CREDIT, 1, 7, 5, 99, "\377\377\377\377", 4, 0); /* nobody has asked */
    wf_put_to_actor(&w, WF_MSG_CREDIT, 1, 7, 5, 99, NULL, 0, 0);
    wf_put_to_actor(&w, WF_MSG_SPAWNED, 12345, 0, 1, 1, "no", 2, 0); /* nor for this */
    wf_put_to_actor(&w, WF_MSG_SPAWN, 0, 5, 0, 1, "garbage", 7, 0);
    wf_put_to_actor(&w, WF_MSG_SPAWN, 0, 5, 0, 2, NULL, 0, 0);
    put_order(&w, 5, 3, "stranger.nobody", 0);
    put_order(&w, 0, 4, "stranger.ends", 0); /* of nobody: ignored */
    put_want(&w, 12345, 1, 5);               /* too long: ignored */
    put_want(&w, 12345, 2, 4);
    wf_put_credit_request_name(&w, weft_cstr("echo"), 1, 3, 98);
    wf_put_credit_request_name(&w, weft_cstr("nobody"), 1, 4, 98);
    put_order(&w, 5, 5, "stranger.ends", 77);
    ck_assert_int_eq(w.error, 0);
    put_batch(fd, &w, out);
    int seen = 0;
    uint64_t child = 0;
    while (seen < 8 && get_frame(fd, &f)) {
        uint32_t units = f.body.size == 4 ? (uint8_t)f.body.data[0] | (uint32_t)(uint8_t)f.body.data[1] << 8 : 0;
        seen += f.kind >= WF_FRAME_REMOTE && f.kind < WF_FRAME_CREDIT_REQUEST_NAME;
        if (f.kind == WF_FRAME_REMOTE + WF_MSG_SPAWNED - WF_MSG_CREDIT_REQUEST) {
            ck_assert_uint_eq(f.to, 5);
            ck_assert_uint_eq(f.tag, f.ref <= 2 ? 9 : f.ref == 3 ? 6 : 0);
            ck_assert(f.ref == 5 ? f.from != 0 : f.from == 0);
            if (f.ref == 5) child = f.from;
        } else if (f.kind == WF_FRAME_REMOTE + WF_MSG_CREDIT - WF_MSG_CREDIT_REQUEST) {
            ck_assert_uint_eq(f.to, 1);
            ck_assert(f.tag >= 2 && f.ref == (f.tag == 2 ? 99 : 98));
            ck_assert_uint_eq(units, f.tag == 3 ? 8192 : 0);
        } else if (f.kind == WF_FRAME_TIES + WF_MSG_DOWN - WF_MSG_WATCH) { /* behind its birth */
            ck_assert(f.to == 5 && f.ref == 77 && f.from == child && child != 0 && f.body.data[0] == 17);
            seen++;
        }
    }
    ck_assert_int_eq(seen, 8);
    close(fd);
}
END_TEST

/* Counts what comes before the news of the end of the stranger's actor 5. */
static void count_until_down(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    weft_register("counter");
    weft_watch_nodes();
    weft_msg *m;
    int count = 0;
    for (uint32_t tag = 0; tag != WEFT_TAG_DOWN && weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        tag = weft_tag(m);
        count += tag == 10;
        if (tag != WEFT_TAG_NODE_UP) continue;
        weft_monitor((weft_pid){1, 5}, NULL);
        say("counter ready");
    }
    say("counted %d", count);
}

/* BYE does not overtake the messages that a node sends before it leaves, even if both are read at once. */
START_TEST(bye_comes_last)
{
    static uint8_t out[1 << 20];
    run_actor(node, count_until_down, NULL, 0);
    int fd = link_by_hand("hand");
    HEAR("counter ready");
    weft_writer w = weft_writer_on(out, sizeof out);
    for (int i = 0; i < 100; i++)
        wf_put_to_name(&w, false, weft_cstr("counter"), 5, 10, 0, "hello", 5, WF_FRAME_NO_DEADLINE);
    wf_put_bye(&w, "left");
    for (uint64_t i = 0; w.size < sizeof out - 64; i++)
        wf_put_number(&w, WF_FRAME_PONG, i); /* a chunk that takes its time */
    put_batch(fd, &w, out);
    HEAR("counted 100");
    expect_closed(fd);
}
END_TEST

/* ---- Strangers ------------------------------------------------------------------------------------------------- */

START_TEST(other_protocols_are_closed)
{
    static const char *const talk[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01", "\0SP\0\0\x11\0\0",
                                       "hello\n"};
    static const size_t sizes[] = {27, 3, 8, 6};
    for (size_t i = 0; i < 4; i++) {
        int fd = connect_to(weft_node_url(node, 0));
        put(fd, talk[i], sizes[i]);
        expect_closed(fd);
    }
}
END_TEST

START_TEST(bad_greetings_are_closed)
{
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {
        {"\0\0\0\0\0\0\0\x05hello", 13},         /* no frame */
        {"\xff\xff\xff\xff\xff\xff\xff\xff", 8}, /* the longest message there can be */
        {"\0\0\0\0\0\0\x10\x01", 8},             /* one byte over the limit for strangers */
        {"\0\0\0\0\0\0\0\x03\x92\x05\x01", 11},  /* PING instead of HELLO */
        {"\0\0\0\0\0\0\0\x02\x91\x02", 10},      /* WELCOME instead of HELLO */
        {"\0\0\0\0\0\0\0\x03\x92\x01\x98", 11},  /* half a HELLO in a whole message */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int fd = connect_to(weft_node_url(node, 0));
        put(fd, wf_sp_header, WF_SP_HEADER);
        put(fd, bad[i].bytes, bad[i].size);
        expect_closed(fd);
    }
}
END_TEST

static void expect_refused(struct wf_hello h, enum wf_refusal code, const char *reason)
{
    struct wf_frame f = {0};
    int fd = greet(&h);
    ck_assert(get_frame(fd, &f));
    ck_assert_uint_eq(f.kind, WF_FRAME_REFUSED);
    ck_assert_uint_eq(f.number, code);
    char text[200];
    snprintf(text, sizeof text, "%.*s", WEFT_STR(f.name));
    ck_assert_str_eq(text, reason);
    close(fd);
}

START_TEST(refusals_say_why)
{
    struct wf_hello h = hello("x", 1);
    h.version = 9;
    expect_refused(h, WF_REFUSED_VERSION, "node n speaks version 2 of the protocol, node x version 9");
    h = hello("x", 1);
    h.cluster = weft_cstr("other");
    expect_refused(h, WF_REFUSED_CLUSTER, "node n is in cluster weft, node x in cluster other");
    expect_refused(hello("n", 1), WF_REFUSED_NAME_TAKEN, "there is another node named n");
    expect_refused(hello("x", weft_node_incarnation(node)), WF_REFUSED_SELF, "this is the node itself");
    struct wf_hello stubborn = hello("n", 2);
    expect_closed(greet(&stubborn)); /* reads why, and does not close by itself */
    expect_refused(hello("n", UINT64_MAX), WF_REFUSED_NAME_TAKEN, "there is another node named n");
}
END_TEST

START_TEST(an_incarnation_has_one_name)
{
    watch(node);
    int fd = link_by_hand("x");
    HEAR("n up x");
    expect_refused(hello("y", 1), WF_REFUSED_IDENTITY, "node y uses the incarnation of node x");
    close(fd);
    HEAR("n down x");
    expect_refused(hello("y", 1), WF_REFUSED_IDENTITY, "node y uses the incarnation of node x");
}
END_TEST

START_TEST(a_fault_on_a_link_ends_it)
{
    watch(node);
    int fd = link_by_hand("hand");
    HEAR("n up hand");
    put(fd, "\0\0\0\0\0\0\0\x03\x92\x10\x01", 11);
    HEAR("n down hand: connection lost: malformed SEND frame at offset 3");
    expect_closed(fd);
}
END_TEST

START_TEST(a_silent_link_is_lost)
{
    struct wf_hello h = hello("mute", 1);
    h.heartbeat_ms = 20;
    uint8_t out[64];
    struct wf_frame f;
    watch(node);
    int fd = greet(&h);
    ck_assert(get_frame(fd, &f) && f.kind == WF_FRAME_WELCOME);
    weft_writer w = weft_writer_on(out, sizeof out);
    wf_put_welcome(&w);
    put_batch(fd, &w, out);
    HEAR("n up mute");
    HEAR("n down mute: no heartbeat for 0.");
    expect_closed(fd);
}
END_TEST

/* ---- The carrier alone ----------------------------------------------------------------------------------------- */

static void no_up(void *owner, struct wf_conn *c)
{
    (void)owner;
    c->carrier->ops->release(c);
    say("carrier up");
}
static enum wf_receive no_message(void *owner, struct wf_conn *c, const uint8_t *data, size_t size, size_t *left)
{
    (void)owner, (void)c, (void)data, (void)size, (void)left;
    return WF_RECEIVE_ON;
}
static enum wf_receive no_chunk(void *owner, struct wf_conn *c)
{
    (void)owner, (void)c;
    return WF_RECEIVE_ON;
}
static void no_sent(void *owner, struct wf_conn *c, bool ok)
{
    (void)owner, (void)c, (void)ok;
}
static void note_down(void *owner, struct wf_conn *c, const char *reason)
{
    (void)owner, (void)c;
    say("carrier down: %s", reason);
}
static void note_failed(void *owner, void *tag, const char *reason)
{
    (void)owner, (void)tag;
    say("carrier failed: %s", reason);
}

START_TEST(silence_has_an_end)
{
    static const struct wf_carrier_user user = {no_up, no_message, no_chunk, no_sent, note_down, note_failed};
    struct wf_carrier_options o = {.env = pf_env_native(), .user = &user, .stranger_time = WEFT_MS(50)};
    struct wf_carrier *k = wf_carrier_nng(&o);
    char url[WF_URL_TEXT], why[WF_REASON_TEXT];
    ck_assert_int_eq(k->ops->listen(k, "tcp://127.0.0.1:0", 0, url, why), 0);
    k->ops->accept(k);
    int fd = connect_to(url);
    HEAR("carrier down: silent");
    expect_closed(fd);
    fd = connect_to(url);
    put(fd, wf_sp_header, WF_SP_HEADER);
    put(fd, "\0\0\0\0", 4);
    HEAR("carrier down: no HELLO in time");
    expect_closed(fd);
    ck_assert_int_eq(k->ops->dial(k, "tcp://127.0.0.1:1", &o, why), 0);
    HEAR("carrier failed: no process listens there");
    ck_assert_int_lt(k->ops->dial(k, "nonsense", &o, why), 0);
    fd = connect_to(url); /* still open when the carrier ends */
    k->ops->destroy(k);
    close(fd);
}
END_TEST

/* ---- A peer that does not read --------------------------------------------------------------------------------- */

static void flood(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    static char big[100000];
    int rc, sent = 0;
    weft_pid to = {1, 7};
    while ((rc = weft_try_send(to, 1, big, sizeof big)) == WEFT_OK) {
        sent++;
        weft_yield();
    }
    say("flood %d after %s", rc, sent >= 160 && sent < 400 ? "the bound" : "something else");
    rc = weft_send(to, 1, big, sizeof big); /* waits until the link ends */
    say("flood end %d", rc);
}

START_TEST(the_outbox_has_a_bound)
{
    watch(node);
    int fd = link_by_hand("lazy");
    HEAR("n up lazy");
    run_actor(node, flood, NULL, 0);
    HEAR("flood -8 after the bound");
    close(fd);
    HEAR("n down lazy: connection lost");
    HEAR("flood end -7");
}
END_TEST

/* ---- A process that is killed ---------------------------------------------------------------------------------- */

static struct pf_process spawn_node(const char *name, const char *join)
{
    const char *const argv[] = {program, "node", name, join, NULL};
    struct pf_process p;
    ck_assert_int_eq(pf_process_start(&p, &(struct pf_process_options){.argv = argv}), 0);
    return p;
}

static void kill_node(struct pf_process p)
{
    struct pf_exit how;
    ck_assert_int_eq(pf_process_signal(&p, PF_SIGKILL), 0);
    ck_assert_int_eq(pf_process_wait(&p, &how), 0);
    pf_process_free(&p);
}

static int be_a_node(const char *name, const char *join)
{
    weft_node *n;
    weft_node_options o = {.carrier = next_carrier(), .name = name, .join = &join, .join_count = 1, .workers = 1};
    if (weft_node_start(&n, &o) < 0 || weft_node_spawn(n, NULL, echo, NULL, 0, NULL) < 0) return EXIT_FAILURE;
    return weft_node_wait(n, WEFT_FOREVER);
}

static void caller(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    weft_msg *m;
    int rc = weft_call_name("silent@child", 1, NULL, 0, &m, patience());
    say("no such name %d", rc);
    /* The link may be up before the other node's first actor has its name. */
    int64_t by = patience();
    do rc = weft_call_name("echo@child", 1, "x", 1, &m, by);
    while (rc == WEFT_ENOACTOR && weft_now() < by);
    say("echo %d", rc);
    if (rc == WEFT_OK) weft_msg_free(m);
}

START_TEST(a_killed_node_is_down_and_its_successor_is_up)
{
    watch(node);
    struct pf_process child = spawn_node("child", weft_node_url(node, 0));
    HEAR("n up child");
    run_actor(node, caller, NULL, 0);
    HEAR("no such name -6");
    HEAR("echo 0");
    kill_node(child);
    HEAR("n down child: connection lost: ");
    child = spawn_node("child", weft_node_url(node, 0));
    ck_assert_int_ge(heard("n up child", 2), 2);
    kill_node(child);
    ck_assert_int_ge(heard("n down child", 2), 2);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "node") == 0) return be_a_node(argv[2], argv[3]);
    program = argv[0];
    Suite *s = suite_create("transport_stranger");
    TCase *t = tcase_create("strangers");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_node_can_be_written_by_hand);
    tcase_add_test(t, odd_orders_and_credit_are_answered_or_ignored);
    tcase_add_test(t, bye_comes_last);
    tcase_add_test(t, other_protocols_are_closed);
    tcase_add_test(t, bad_greetings_are_closed);
    tcase_add_test(t, refusals_say_why);
    tcase_add_test(t, an_incarnation_has_one_name);
    tcase_add_test(t, a_fault_on_a_link_ends_it);
    tcase_add_test(t, a_silent_link_is_lost);
    tcase_add_test(t, silence_has_an_end);
    tcase_add_test(t, the_outbox_has_a_bound);
    /* Valgrind knows no pidfd. */
    if (!RUNNING_ON_VALGRIND) tcase_add_test(t, a_killed_node_is_down_and_its_successor_is_up);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}

/* Requests of the command line: a client sends them to $node over the control socket. */
#include "actor.h"
#include "control.h"
#include "node_stats.h"
#include "transport_harness.h"

#include <sys/stat.h>
#include <unistd.h>

static void on_notice(void *arg, int what, const char *why)
{
    (void)arg;
    if (what == WF_NOTIFY_STOP) say("stop in %s ms", why);
}

/* Reports a line for each of these: its node, its name, and why no more is known. */
static void who(const char *const *asked, uint32_t count, bool everywhere)
{
    static uint8_t request[16384];
    weft_msg *m;
    weft_writer w = weft_writer_on(request, sizeof request);
    weft_put_array(&w, 2);
    weft_put_bool(&w, everywhere);
    weft_put_array(&w, count);
    for (uint32_t i = 0; i < count; i++) weft_put_str(&w, weft_cstr(asked[i]));
    ck_assert_int_eq(w.error, 0);
    ck_assert_int_eq(weft_call_name("$node@n", WF_CONTROL_WHO, request, w.size, &m, patience()), 0);
    if (weft_tag(m) != WF_CONTROL_WHO) say("who %.*s", (int)weft_size(m), (const char *)weft_data(m));
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    uint32_t rows = weft_tag(m) == WF_CONTROL_WHO ? weft_get_array(&r) : 0;
    for (uint32_t i = 0; i < rows; i++) {
        weft_text text[7];
        uint32_t fields = weft_get_array(&r);
        for (int k = 0; k < 7; k++) text[k] = weft_get_str(&r);
        if (rows > 10) break;
        say("whose: %.*s", WEFT_STR(text[1]));
        say("%.*s is %.*s/%.*s %.*s %u", WEFT_STR(text[0]), WEFT_STR(text[1]), WEFT_STR(text[5]), WEFT_STR(text[2]),
            fields);
        for (uint32_t k = 7; k < fields; k++) weft_skip(&r);
    }
    ck_assert_int_eq(r.error, 0);
    say("rows %u", rows);
    weft_msg_free(m);
}

static void ask_who(const void *arg, size_t size)
{
    enum { MANY = 257 };
    (void)arg, (void)size;
    const char *many[MANY];
    char self[WEFT_PID_TEXT];
    for (int i = 0; i < MANY; i++) many[i] = "x";
    who((const char *const[]){"$node", "$node@n", "$node@other", "none@other", "x@nowhere", "x"}, 6, true);
    who((const char *const[]){"$node@other"}, 1, false);
    who((const char *const[]){"0.77.1@0000000000000007"}, 1, true);
    weft_pid me = weft_self();
    ck_assert_ptr_nonnull(weft_pid_format(me, self));
    weft_msg *m;
    who(many, MANY - 1, true);
    who(many, MANY, true);
    ck_assert_int_eq(weft_call_name("$node@n", WF_CONTROL_WHO, "\x92\xc3\x91", 3, &m, patience()), 0);
    say("half of it: %u %.*s", weft_tag(m), (int)weft_size(m), (const char *)weft_data(m));
    weft_msg_free(m);
    /* The node of a tool answers that it is a tool. */
    const char *mine = self;
    who(&mine, 1, true);
    say("asked");
}

static void ask(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    weft_msg *m;
    int64_t by = patience();
    ck_assert_int_eq(weft_call_name("$node@n", WF_CONTROL_NODES, NULL, 0, &m, by), 0);
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    uint32_t count = weft_get_array(&r);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t fields = weft_get_array(&r);
        weft_text name = weft_get_str(&r);
        uint64_t incarnation = weft_get_uint(&r);
        weft_text state = weft_get_str(&r);
        say("node %.*s %s %.*s %u", WEFT_STR(name), incarnation != 0 ? "ok" : "none", WEFT_STR(state), fields);
        for (uint32_t k = 3; k < fields; k++) weft_skip(&r);
    }
    say("nodes %u error %d left %d", count, r.error, (int)(r.end - r.at));
    weft_msg_free(m);
    ck_assert_int_eq(weft_call_name("$node@n", WF_CONTROL_PS, NULL, 0, &m, by), 0);
    say("ps %d", weft_pack_check(weft_data(m), weft_size(m), 10000, NULL));
    weft_msg_free(m);
    ck_assert_int_eq(weft_call_name("$node@n", WF_CONTROL_INFO, NULL, 0, &m, by), 0);
    say("info %d", weft_pack_check(weft_data(m), weft_size(m), 10000, NULL));
    weft_msg_free(m);
    ck_assert_int_eq(weft_call_name("$node@n", WF_CONTROL_TOP, "\x94\xa7mailbox\x0a\xa0\xc3", 12, &m, by), 0);
    r = weft_reader_on(weft_data(m), weft_size(m));
    say("top %u %d", weft_get_array(&r), weft_pack_check(weft_data(m), weft_size(m), 10000, NULL));
    weft_msg_free(m);
    ck_assert_int_eq(weft_call_name("$node@n", WF_CONTROL_TOP, "\x94\xa7mailbox\x0a\xa0", 11, &m, by), 0);
    say("half a request %u %.*s", weft_tag(m), (int)weft_size(m), (const char *)weft_data(m));
    weft_msg_free(m);
    ck_assert_int_eq(weft_call_name("$node@n", 99, NULL, 0, &m, by), 0);
    say("unknown %u %.*s", weft_tag(m), (int)weft_size(m), (const char *)weft_data(m));
    weft_msg_free(m);
    ck_assert_int_eq(weft_call_name("$node@n", WF_CONTROL_STOP, "\xcd\x05\xdc", 3, &m, by), 0);
    weft_msg_free(m);
    say("asked");
}

START_TEST(a_client_asks_over_the_control_socket)
{
    char folder[] = "/tmp/weft-XXXXXX", path[64], url[80];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run/n.sock", folder);
    snprintf(url, sizeof url, "ipc://%s", path);
    forget_all();
    weft_node *n = node_with((weft_node_options){.name = "n", .control = path}, "tcp://127.0.0.1:0", NULL);
    wf_transport_watch(n, on_notice, NULL);
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    watch(n);
    weft_node *other = node_up("other", "tcp://127.0.0.1:0", weft_node_url(n, 0), 0);
    HEAR("n up other");
    weft_node *client = node_with((weft_node_options){.client = true, .workers = 1}, NULL, url);
    uint64_t peer;
    char name[65], why[100];
    ck_assert_int_eq(wf_client_wait_up(client, &peer, name, patience(), why, sizeof why), 0);
    ck_assert_str_eq(name, "n");
    ck_assert(peer == weft_node_incarnation(n));
    run_actor(client, ask, NULL, 0);
    HEAR("asked");
    HEAR("node n ok self 18");
    HEAR("node other ok up 18");
    HEAR("nodes 2 error 0 left 0"); /* the client is none */
    HEAR("ps 0");
    HEAR("info 0");
    HEAR("top 2 0"); /* other nodes are asked, too */
    HEAR("half a request 0 the request is malformed");
    HEAR("unknown 0 unknown request");
    HEAR("stop in 1500 ms");
    ck_assert_int_eq(weft_node_stop(client, patience()), 0);
    ck_assert_int_eq(heard("n up", 1), 1); /* a client is no news */
    node_down(n);
    ck_assert_int_ne(stat(path, &st), 0);
    node_down(other);
    snprintf(path, sizeof path, "%s/run", folder);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

enum { FOLDER = sizeof "/tmp/weft-XXXXXX" };

/* A node "n" with its control socket in a new folder; `url` gets the address of the socket. */
static weft_node *node_in_folder(char folder[FOLDER], char url[80])
{
    char path[64];
    snprintf(folder, FOLDER, "/tmp/weft-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/n.sock", folder);
    snprintf(url, 80, "ipc://%s", path);
    forget_all();
    return node_with((weft_node_options){.name = "n", .control = path}, "tcp://127.0.0.1:0", NULL);
}

START_TEST(a_client_asks_who_somebody_is)
{
    char folder[FOLDER], url[80];
    weft_node *n = node_in_folder(folder, url);
    watch(n);
    weft_node *other = node_up("other", "tcp://127.0.0.1:0", weft_node_url(n, 0), 0);
    HEAR("n up other");
    weft_node *client = node_with((weft_node_options){.client = true, .workers = 1}, NULL, url);
    ck_assert_int_eq(wf_client_wait_up(client, NULL, NULL, patience(), NULL, 0), 0);
    run_actor(client, ask_who, NULL, 0);
    HEAR("asked");
    HEAR("$node is n/$node  12");
    HEAR("$node@n is n/$node  12");
    HEAR("$node@other is other/$node  12");
    HEAR("none@other is other/ no actor has that name 12");
    HEAR("x@nowhere is nowhere/ its node is not linked 12");
    HEAR("x is n/ no actor has that name 12");
    HEAR("$node@other is other/ is of another node 12");
    HEAR("0.77.1@0000000000000007 is (gone)/  12");
    HEAR("who the request is malformed"); /* too many of them */
    HEAR("half of it: 0 the request is malformed");
    HEAR("rows 256");
    HEAR("whose: (tool)");
    ck_assert_int_eq(weft_node_stop(client, patience()), 0);
    node_down(n);
    node_down(other);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

enum { TRACES = 16, AT_WORK = 64 };

/* The number of requests that the node accepts before the first error, at most `most`. `*why` gets the error. */
static uint32_t begin_many(uint32_t verb, const void *request, size_t size, uint32_t most, char why[128])
{
    for (uint32_t i = 0; i < most; i++) {
        weft_msg *m;
        ck_assert_int_eq(weft_call_name("$node@n", verb, request, size, &m, patience()), 0);
        bool refused = weft_tag(m) == WF_CONTROL_ERROR;
        if (refused) snprintf(why, 128, "%.*s", (int)weft_size(m), (const char *)weft_data(m));
        weft_msg_free(m);
        if (refused) return i;
    }
    return most;
}

static uint32_t begin_traces(uint32_t most, char why[128])
{
    return begin_many(WF_CONTROL_TRACE, "\x94\xc0\xa0\xa0\xc2", 5, most, why);
}

static uint32_t begin_subscriptions(uint32_t most, char why[128])
{
    return begin_many(WF_CONTROL_SUBSCRIBE, "\xa1x", 2, most, why);
}

/* Frees a request HOLD, which ends a trace or a subscription. */
static void end_one(void)
{
    weft_msg *m;
    uint32_t tag;
    do {
        ck_assert_int_eq(weft_recv(&m, patience()), 0);
        tag = weft_tag(m);
        weft_msg_free(m);
    } while (tag != WF_CONTROL_HOLD);
}

static void begin_too_many(const void *arg, size_t size)
{
    char why[128];
    (void)arg, (void)size;
    ck_assert_uint_eq(begin_traces(TRACES + 1, why), TRACES);
    ck_assert_str_eq(why, "the node has as many requests of this kind under way as it may: end one of them");
    ck_assert_uint_eq(begin_subscriptions(AT_WORK + 1, why), AT_WORK - TRACES);
    ck_assert_str_eq(why, "this tool has as many requests under way as it may: end one of them");
    ck_assert_uint_eq(begin_many(WF_CONTROL_PUBLISH, "\x94\xa1x\x01\xc4\x00\x01", 7, 1, why), 0);
    ck_assert_uint_eq(begin_many(WF_CONTROL_NODES, NULL, 0, 1, why), 1); /* $node answers this one itself */
    end_one();
    while (begin_subscriptions(1, why) == 0) {} /* until $node knows that the actor has ended */
    say("one more");
    (void)weft_sleep(WEFT_FOREVER); /* until it is stopped: with this actor all its requests would end */
}

/* Another tool is not affected, but for the traces, which are counted for the node: at most one of the sixteen has
 * ended. */
static void begin_as_another(const void *arg, size_t size)
{
    char why[128];
    (void)arg, (void)size;
    ck_assert_uint_eq(begin_subscriptions(1, why), 1);
    ck_assert_uint_le(begin_traces(2, why), 1);
    say("another has begun");
}

/* A promise: docs/security.md, "Limits". */
START_TEST(a_tool_has_only_so_many_requests_under_way)
{
    char folder[FOLDER], url[80];
    weft_node *n = node_in_folder(folder, url);
    weft_node *tool[2];
    for (int i = 0; i < 2; i++) {
        tool[i] = node_with((weft_node_options){.client = true, .workers = 1}, NULL, url);
        ck_assert_int_eq(wf_client_wait_up(tool[i], NULL, NULL, patience(), NULL, 0), 0);
    }
    run_actor(tool[0], begin_too_many, NULL, 0);
    HEAR("one more");
    run_actor(tool[1], begin_as_another, NULL, 0);
    HEAR("another has begun");
    for (int i = 0; i < 2; i++) ck_assert_int_eq(weft_node_stop(tool[i], patience()), 0);
    node_down(n);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

enum { RECORDED = 20000 };

/* How many turns the worker of that actor has had. */
static uint64_t turns_of(weft_pid pid)
{
    static struct wf_node_stats stats;
    ck_assert_int_eq(wf_node_stats_take(weft_here(), false, &stats, patience()), 0);
    return stats.worker[wf_id_worker(pid.actor)].turns;
}

static void ask_for_the_record(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    for (int i = 0; i < RECORDED; i++) {
        ck_assert_int_eq(weft_send(weft_self(), 7, NULL, 0), 0);
        ck_assert_int_eq(weft_recv(&m, WEFT_FOREVER), 0);
        weft_msg_free(m);
    }
    weft_pid node;
    ck_assert_int_eq(weft_whereis("$node", &node), 0);
    const uint64_t before = turns_of(node);
    ck_assert_int_eq(weft_call(node, WF_CONTROL_RECORD, NULL, 0, &m, patience()), 0);
    const uint64_t turns = turns_of(node) - before;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    const uint32_t count = weft_get_array(&r);
    int64_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t fields = weft_get_array(&r);
        const int64_t at = weft_get_int(&r);
        ck_assert_int_ge(at, last);
        last = at;
        for (uint32_t k = 1; k < fields; k++) weft_skip(&r);
    }
    ck_assert_int_eq(r.error, 0);
    ck_assert_uint_ge(count, RECORDED);
    ck_assert_uint_gt(turns, 20);
    weft_msg_free(m);
}

START_TEST(a_long_record_is_merged_and_sent_in_many_turns)
{
    weft_node *n;
    const weft_node_options o = {.carrier = next_carrier(), .name = "n", .workers = 1, .record_events = 65536};
    ck_assert_int_eq(weft_node_start(&n, &o), 0);
    ck_assert_int_eq(weft_node_spawn(n, NULL, ask_for_the_record, NULL, 0, NULL), 0);
    ck_assert_int_eq(weft_node_wait(n, patience()), 0);
    ck_assert_int_eq(weft_node_stop(n, patience()), 0);
}
END_TEST

START_TEST(a_client_is_told_at_once_that_no_node_listens)
{
    weft_node *client = node_with((weft_node_options){.client = true, .workers = 1}, NULL,
                                  "ipc:///tmp/weft-no-such-socket");
    char why[100] = "";
    ck_assert_int_eq(wf_client_wait_up(client, NULL, NULL, patience(), why, sizeof why), WEFT_ENONODE);
    ck_assert_str_ne(why, "");
    ck_assert_int_eq(weft_node_stop(client, patience()), 0);
}
END_TEST

/* A socket file that nobody listens on any more is replaced; one that is in use is not. */
START_TEST(a_stale_control_socket_is_replaced)
{
    char folder[] = "/tmp/weft-XXXXXX", path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/n.sock", folder);
    weft_node *n, *twin;
    weft_node_options o = {.carrier = next_carrier(), .name = "n", .control = path, .workers = 1};
    ck_assert_int_eq(weft_node_start(&n, &o), 0);
    ck_assert_int_eq(weft_node_start(&twin, &o), WEFT_EINUSE);
    char aside[80];
    snprintf(aside, sizeof aside, "%s.old", path);
    ck_assert_int_eq(rename(path, aside), 0); /* stopping removes the path, not this */
    ck_assert_int_eq(weft_node_stop(n, patience()), 0);
    ck_assert_int_eq(rename(aside, path), 0);
    ck_assert_int_eq(weft_node_start(&n, &o), 0);
    ck_assert_int_eq(weft_node_stop(n, patience()), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("transport_control");
    TCase *t = tcase_create("control");
    tcase_add_test(t, a_client_asks_over_the_control_socket);
    tcase_add_test(t, a_client_asks_who_somebody_is);
    tcase_add_test(t, a_tool_has_only_so_many_requests_under_way);
    tcase_add_test(t, a_long_record_is_merged_and_sent_in_many_turns);
    tcase_add_test(t, a_client_is_told_at_once_that_no_node_listens);
    tcase_add_test(t, a_stale_control_socket_is_replaced);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}

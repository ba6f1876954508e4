/* Forged answers to requests. There are two fake peers: one is asked, the other one forges answers. An answer counts
 * only if it comes from the peer that was asked, or to which the request was forwarded. */
#include "by_hand.h"

enum { ASKED = 1, LIAR = 2, THERE = 77 /* an actor of ASKED */, GO = 9 };

static int asked, liar;
static uint64_t caller_id;

static void setup(void)
{
    forget_all();
    node = node_with((weft_node_options){.name = "n", .heartbeat = WEFT_SEC(60), .workers = 1}, "tcp://127.0.0.1:0",
                     NULL);
    watch(node);
    struct wf_hello h = hello("liar", LIAR);
    liar = link_as(&h);
    HEAR("n up liar");
    h = hello("asked", ASKED);
    h.capabilities = WF_CAN_SPAWN;
    asked = link_as(&h);
    HEAR("n up asked");
}

static void teardown(void)
{
    close(asked);
    close(liar);
    node_down(node);
}

/* ---- Actors ---------------------------------------------------------------------------------------------------- */

static void say_id(void)
{
    say("caller %llu", (unsigned long long)weft_self().actor);
}

/* Reports the result with the body of the answer, if there is one. */
static void say_answer(int rc, weft_msg *m)
{
    say("answer %d %.*s", rc, m == NULL ? 0 : (int)weft_size(m), m == NULL ? "" : (const char *)weft_data(m));
    weft_msg_free(m);
}

/* Has a request until it is told to answer, or passes it on. */
static void holder(const void *arg, size_t size)
{
    bool passes_on = size > 0 && *(const bool *)arg;
    weft_msg *m, *go;
    weft_register("holder");
    say("holder ready");
    ck_assert_int_eq(weft_recv(&m, patience()), WEFT_OK);
    if (passes_on) {
        ck_assert_int_eq(weft_send_msg((weft_pid){ASKED, THERE}, m), WEFT_OK);
        (void)weft_sleep(WEFT_FOREVER);
        return;
    }
    say("holder has it");
    ck_assert_int_eq(weft_recv(&go, patience()), WEFT_OK);
    weft_msg_free(go);
    ck_assert_int_eq(weft_reply(m, 1, "true", 4), WEFT_OK);
    weft_msg_free(m);
}

static void calls_holder(const void *arg, size_t size)
{
    weft_msg *m = NULL;
    (void)arg, (void)size;
    say_id();
    int rc = weft_call_name("holder", 1, NULL, 0, &m, patience());
    say_answer(rc, m);
}

static void calls_there(const void *arg, size_t size)
{
    weft_msg *m = NULL;
    (void)arg, (void)size;
    say_id();
    int rc = weft_call((weft_pid){ASKED, THERE}, 1, NULL, 0, &m, patience());
    say_answer(rc, m);
}

static void spawns_there(const void *arg, size_t size)
{
    const weft_remote_options f = {.deadline = patience()};
    weft_pid pid;
    (void)arg, (void)size;
    say_id();
    say_answer(weft_spawn_packed_on("asked", "anything", &pid, NULL, 0, &f), NULL);
}

/* The first is to be monitored and linked, the second is not. Whatever the first has left is taken back. */
static void spawns_two(const void *arg, size_t size)
{
    weft_monitor_ref ref;
    const weft_remote_options tied = {.deadline = patience(), .monitor = &ref, .link = true};
    const weft_remote_options plain = {.deadline = patience()};
    weft_pid pid;
    (void)arg, (void)size;
    say_id();
    say_answer(weft_spawn_packed_on("asked", "anything", &pid, NULL, 0, &tied), NULL);
    say_answer(weft_spawn_packed_on("asked", "anything", &pid, NULL, 0, &plain), NULL);
    (void)weft_unlink(pid);
    (void)weft_demonitor(ref);
    (void)weft_send(pid, GO, NULL, 0);
}

static void start_caller(weft_actor *body)
{
    unsigned long long id = 0;
    run_actor(node, body, NULL, 0);
    HEAR("caller ");
    pf_mutex_lock(said_lock);
    for (int i = 0; i < said_count; i++) (void)sscanf(said[i], "caller %llu", &id);
    pf_mutex_unlock(said_lock);
    caller_id = id;
}

/* ---- What the peers say ---------------------------------------------------------------------------------------- */

static void put_verdict(weft_writer *w, uint64_t ref)
{
    uint8_t body[128];
    weft_writer p = weft_writer_on(body, sizeof body);
    weft_put_array(&p, 3);
    weft_put_uint(&p, 0);
    weft_put_uint(&p, 1);
    weft_put_array(&p, 1);
    weft_put_array(&p, 5);
    weft_put_uint(&p, weft_node_incarnation(node));
    weft_put_uint(&p, caller_id);
    weft_put_uint(&p, ref);
    weft_put_uint(&p, 0);
    weft_put_str(&p, weft_cstr("liar"));
    wf_put_to_actor(w, WF_MSG_PROBE, caller_id, 5, 4, 0, body, p.size, WF_FRAME_NO_DEADLINE);
}

static void lie_about(uint64_t ref)
{
    uint8_t out[1024];
    weft_writer w = weft_writer_on(out, sizeof out);
    wf_put_to_actor(&w, WF_MSG_REPLY, caller_id, THERE, 1, ref, "false", 5, WF_FRAME_NO_DEADLINE);
    wf_put_to_actor(&w, WF_MSG_FAILED, caller_id, THERE, 6, ref, NULL, 0, WF_FRAME_NO_DEADLINE);
    wf_put_to_actor(&w, WF_MSG_SPAWNED, caller_id, THERE, 0, ref, NULL, 0, WF_FRAME_NO_DEADLINE);
    wf_put_to_actor(&w, WF_MSG_SPAWNED, caller_id, 0, 6, ref, "false", 5, WF_FRAME_NO_DEADLINE);
    put_verdict(&w, ref);
    put_batch(liar, &w, out);
}

/* Tries all values that a counter could have, and that number. */
static void lie(uint64_t known)
{
    for (uint64_t ref = 0; ref < 300; ref++) lie_about(ref);
    if (known != 0) lie_about(known);
    /* It has been heard when the node answers what comes behind it. */
    uint8_t out[64];
    struct wf_frame f;
    weft_writer w = weft_writer_on(out, sizeof out);
    wf_put_to_name(&w, true, weft_cstr("nobody"), 5, 1, 42, NULL, 0, WF_FRAME_NO_DEADLINE);
    put_batch(liar, &w, out);
    batch = weft_reader_on(NULL, 0);
    do ck_assert(get_frame(liar, &f));
    while (f.kind != wf_frame_of(WF_MSG_FAILED) || f.ref != 42);
    batch = weft_reader_on(NULL, 0);
    ck_assert_int_eq(heard("answer", 0), 0);
}

/* Reads frames that ASKED gets, up to one of that kind. */
static uint64_t hear_request(uint32_t kind)
{
    struct wf_frame f;
    do ck_assert(get_frame(asked, &f));
    while (f.kind != kind);
    batch = weft_reader_on(NULL, 0);
    return f.ref;
}

static void answer(enum wf_msg_kind kind, uint32_t tag, uint64_t ref, const char *text)
{
    uint8_t out[256];
    weft_writer w = weft_writer_on(out, sizeof out);
    wf_put_to_actor(&w, kind, caller_id, THERE, tag, ref, text, strlen(text), WF_FRAME_NO_DEADLINE);
    put_batch(asked, &w, out);
}

/* ---- Tests ----------------------------------------------------------------------------------------------------- */

START_TEST(a_call_within_the_node_is_answered_by_no_other_node)
{
    run_actor(node, holder, NULL, 0);
    HEAR("holder ready");
    start_caller(calls_holder);
    HEAR("holder has it");
    lie(0);
    uint8_t out[64];
    weft_writer w = weft_writer_on(out, sizeof out);
    wf_put_to_name(&w, false, weft_cstr("holder"), 5, GO, 0, NULL, 0, WF_FRAME_NO_DEADLINE);
    put_batch(liar, &w, out);
    HEAR("answer 0 true");
}
END_TEST

/* The same number from another node is none. */
START_TEST(a_call_of_another_node_is_answered_by_that_node)
{
    start_caller(calls_there);
    uint64_t ref = hear_request(wf_frame_of(WF_MSG_CALL));
    lie(ref);
    answer(WF_MSG_REPLY, 1, ref ^ 1, "false");
    answer(WF_MSG_REPLY, 1, 1, "false");
    answer(WF_MSG_REPLY, 1, ref, "true");
    HEAR("answer 0 true");
}
END_TEST

START_TEST(a_request_that_was_passed_on_is_answered_by_its_last_receiver)
{
    bool passes_on = true;
    run_actor(node, holder, &passes_on, sizeof passes_on);
    HEAR("holder ready");
    start_caller(calls_holder);
    uint64_t ref = hear_request(wf_frame_of(WF_MSG_CALL));
    lie(ref);
    answer(WF_MSG_REPLY, 1, ref, "true");
    HEAR("answer 0 true");
}
END_TEST

START_TEST(a_request_fails_only_by_the_node_that_was_asked)
{
    start_caller(calls_there);
    uint64_t ref = hear_request(wf_frame_of(WF_MSG_CALL));
    lie(ref);
    answer(WF_MSG_FAILED, 5, ref, "");
    HEAR("answer -5 ");
}
END_TEST

START_TEST(an_actor_is_started_by_who_was_asked)
{
    start_caller(spawns_there);
    uint64_t ref = hear_request(wf_frame_of(WF_MSG_SPAWN));
    lie(ref);
    answer(WF_MSG_SPAWNED, 5, ref, "");
    HEAR("answer -5 ");
}
END_TEST

/* An answer that is no BORN makes no links: nothing of the second spawn is undone. */
START_TEST(a_spawn_is_not_answered_by_a_reply)
{
    struct wf_frame f;
    char expected[32];
    start_caller(spawns_two);
    answer(WF_MSG_REPLY, 0, hear_request(wf_frame_of(WF_MSG_SPAWN)), "");
    snprintf(expected, sizeof expected, "answer %d ", WEFT_EFORMAT);
    HEAR(expected);
    answer(WF_MSG_SPAWNED, 0, hear_request(wf_frame_of(WF_MSG_SPAWN)), "");
    HEAR("answer 0 ");
    do {
        ck_assert(get_frame(asked, &f));
        ck_assert_msg(f.kind != wf_frame_of(WF_MSG_UNLINK), "the failed spawn had set a link");
        ck_assert_msg(f.kind != wf_frame_of(WF_MSG_UNWATCH), "the failed spawn had set a monitor");
    } while (f.kind != wf_frame_of(WF_MSG_SEND));
}
END_TEST

/* A verdict about the call with that number: `first` is where the path begins, the caller waits for ASKED. */
static void judge(weft_pid first, uint64_t sender, uint64_t ref)
{
    bool alone = first.node != ASKED;
    uint8_t body[256], out[512];
    weft_writer p = weft_writer_on(body, sizeof body), w = weft_writer_on(out, sizeof out);
    weft_put_array(&p, 3);
    weft_put_uint(&p, alone ? 0 : 1); /* the caller's place */
    weft_put_uint(&p, 1);
    weft_put_array(&p, 2);
    for (int i = 0; i < 2; i++) {
        bool caller = (i == 0) == alone;
        weft_put_array(&p, 5);
        weft_put_uint(&p, caller ? weft_node_incarnation(node) : ASKED);
        weft_put_uint(&p, caller ? caller_id : THERE);
        weft_put_uint(&p, caller ? ref : 1);
        weft_put_uint(&p, 0);
        weft_put_str(&p, weft_cstr("x"));
    }
    wf_put_to_actor(&w, WF_MSG_PROBE, caller_id, sender, 4, 0, body, p.size, WF_FRAME_NO_DEADLINE);
    put_batch(asked, &w, out);
}

/* Even of the one who was asked: the first of the path speaks, and the caller has a request of the one before it. */
START_TEST(a_verdict_is_said_by_the_first_about_a_cycle)
{
    start_caller(calls_there);
    uint64_t ref = hear_request(wf_frame_of(WF_MSG_CALL));
    judge((weft_pid){weft_node_incarnation(node), caller_id}, THERE, ref); /* in the caller's name */
    judge((weft_pid){ASKED, THERE}, THERE + 1, ref);                       /* in another's */
    judge((weft_pid){ASKED, THERE}, THERE, ref);                           /* it has not called the caller */
    answer(WF_MSG_REPLY, 1, ref, "true");
    HEAR("answer");
    ck_assert_int_eq(heard("answer 0 true", 1), 1);
}
END_TEST

/* Two calls of one node: their numbers have nothing in common. */
START_TEST(numbers_of_requests_are_no_counters)
{
    uint64_t ref[2];
    for (int i = 0; i < 2; i++) {
        start_caller(calls_there);
        ref[i] = hear_request(wf_frame_of(WF_MSG_CALL));
        answer(WF_MSG_REPLY, 1, ref[i], "true");
        HEAR("answer 0 true");
        forget_all();
    }
    int same = 64 - __builtin_popcountll(ref[0] ^ ref[1]);
    ck_assert_int_gt(same, 4); /* one in 2^40 */
    ck_assert_int_lt(same, 60);
    ck_assert(ref[0] > UINT32_MAX || ref[1] > UINT32_MAX);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("transport_forged");
    TCase *t = tcase_create("answers");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_call_within_the_node_is_answered_by_no_other_node);
    tcase_add_test(t, a_call_of_another_node_is_answered_by_that_node);
    tcase_add_test(t, a_request_that_was_passed_on_is_answered_by_its_last_receiver);
    tcase_add_test(t, a_request_fails_only_by_the_node_that_was_asked);
    tcase_add_test(t, a_spawn_is_not_answered_by_a_reply);
    tcase_add_test(t, a_verdict_is_said_by_the_first_about_a_cycle);
    tcase_add_test(t, an_actor_is_started_by_who_was_asked);
    tcase_add_test(t, numbers_of_requests_are_no_counters);
    suite_add_tcase(s, t);
    return run_suite(s);
}

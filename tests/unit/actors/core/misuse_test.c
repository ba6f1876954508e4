/* The log lines about mistakes that no result reports, or whose result is often ignored. Deadlines are in
 * misuse_time_test.c. */
#include "held.h"
#include "misuse_kit.h"
#include "inspect_worker.h"

enum { DATA = 1, OTHER = 2 };

/* ---- Messages that nobody frees -------------------------------------------------------------------------------- */

static struct wf_actor_info info_of(weft_pid who)
{
    struct wf_actor_detail d = {.id = who.actor};
    want_int(wf_worker_inspect(weft_here(), 0, wf_inspect_actor, &d, sizeof d, WEFT_FOREVER), 0);
    want(d.found);
    return d.info;
}

static void expect_held(uint32_t count, size_t bytes)
{
    struct wf_actor_info info = info_of(weft_self());
    want_int(info.held, count);
    want_int(info.memory.held, bytes);
}

static void holder(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { ENVELOPE = sizeof(weft_msg) };
    weft_msg *m[4];
    expect_held(0, 0);
    m[0] = weft_msg_new(DATA, 100);
    expect_held(1, ENVELOPE + 100);
    for (int i = 0; i < 3; i++) want_int(weft_send(weft_self(), DATA, "12345678", 8), 0);
    expect_held(1, ENVELOPE + 100);
    for (int i = 1; i < 4; i++) want_int(weft_recv(&m[i], WEFT_NOW), 0);
    expect_held(4, 4 * ENVELOPE + 124);
    weft_msg_free(m[2]); /* from the middle, from the end, from the beginning */
    expect_held(3, 3 * ENVELOPE + 116);
    want_int(weft_send_msg(weft_self(), m[0]), 0);
    expect_held(2, 2 * ENVELOPE + 16);
    weft_msg_free(m[3]);
    expect_held(1, ENVELOPE + 8);
    weft_msg_free(m[1]);
    expect_held(0, 0);
    want_int(weft_recv(&m[0], WEFT_NOW), 0);
    expect_held(1, ENVELOPE + 100); /* and is freed with its actor */
}

START_TEST(an_actor_knows_how_many_messages_it_holds)
{
    run_on(1, holder);
}
END_TEST

static void sends_many(weft_pid to, int count)
{
    for (int i = 0; i < count; i++) {
        want_int(say(to, DATA, i), 0);
        if (i % 10 == 0) want_int(say(to, OTHER, i), 0);
        want_int(say(to, DATA, i), 0);
    }
}

/* Frees OTHER only. */
static void forgetful(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (weft_tag(m) == OTHER) weft_msg_free(m);
    }
}

static void careful(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) weft_msg_free(m);
}

static void talks_to_both(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 3; i++) {
        weft_pid to;
        weft_actor *body = i == 0 ? careful : forgetful;
        want_int(weft_spawn(&to, body, NULL, 0, &(weft_spawn_options){.kind = i == 0 ? "careful" : "forgetful"}), 0);
        sends_many(to, WF_HELD_MANY);
        until(wf_mail_count(peek(to)) == 0);
        struct wf_actor_info info = info_of(to);
        want_int(info.held, i == 0 ? 0 : 2 * WF_HELD_MANY);
        want_int(info.memory.held, i == 0 ? 0 : 2 * WF_HELD_MANY * (sizeof(weft_msg) + 8));
        want_int(weft_kill(to), 0);
    }
}

START_TEST(an_actor_that_never_frees_is_named_once_for_its_kind)
{
    log_begin();
    run_on(1, talks_to_both);
    log_end();
    EXPECT_LINES("actor forgetful: holds 10000 messages that it received or made and has not freed, 720000 bytes; "
                 "10000 of them have the tag 1: write weft_msg_free(m) where it is done with a message",
                 1);
    EXPECT_LINES(" holds ", 1);
}
END_TEST

static void parks_requests(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) (void)m;
}

static void caller(const void *to, size_t size)
{
    weft_msg *answer = NULL;
    want_int((int)size, sizeof(weft_pid));
    (void)weft_call(*(const weft_pid *)to, DATA, NULL, 0, &answer, WEFT_FOREVER);
    weft_msg_free(answer);
}

/* As the store does, until there is an answer. */
static void calls_many(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to;
    want_int(weft_spawn(&to, parks_requests, NULL, 0, &(weft_spawn_options){.kind = "parking"}), 0);
    for (int i = 0; i < WF_HELD_MANY + 10; i++) want_int(weft_spawn(NULL, caller, &to, sizeof to, NULL), 0);
    until(info_of(to).held == WF_HELD_MANY + 10);
    want_int(weft_kill(to), 0);
}

START_TEST(an_actor_with_many_requests_that_wait_for_a_reply_has_forgotten_none)
{
    if (WF_HAS_TSAN) return; /* to it each actor is a thread, and it has 8,128 of them */
    log_begin();
    run_on(1, calls_many);
    log_end();
    EXPECT_LINES(" holds ", 0);
}
END_TEST

static void many_tags(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (uint32_t i = 0; i < WF_HELD_MANY; i++) want(weft_msg_new(i % 4 == 0 ? 77 : 1000 + i, 0) != NULL);
}

START_TEST(the_most_frequent_tag_is_found_among_many)
{
    log_begin();
    run_on(1, many_tags);
    log_end();
    EXPECT_LINES("2500 of them have the tag 77: ", 1);
}
END_TEST

/* ---- Messages and their tags ----------------------------------------------------------------------------------- */

#define SAY(F) F(str, text)
WEFT_MESSAGE(say, 5, SAY)
#define ORDER(F) F(uint, amount)
WEFT_MESSAGE(order, 5, ORDER)
#define BILL(F) F(uint, amount)
WEFT_MESSAGE(bill, 6, BILL)

static void reads_another(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct weft_why why;
    struct say said;
    weft_msg *m = bill_new(&(struct bill){.amount = 1});
    want_int(say_read_why(m, &said, &why), WEFT_EFORMAT);
    want(strcmp(why.text, "say: the message has another tag, 6, that of bill") == 0);
    want_int(say_read(m, &said), WEFT_EFORMAT);
    weft_msg_free(m);
    m = weft_msg_new(7, 0);
    want_int(say_read_why(m, &said, &why), WEFT_EFORMAT);
    want(strcmp(why.text, "say: the message has another tag, 7") == 0);
    weft_msg_free(m);
    m = order_new(&(struct order){.amount = 1}); /* of the same tag */
    want_int(say_read_why(m, &said, &why), WEFT_EFORMAT);
    want(strcmp(why.text, "say.text: expected str, got int") == 0);
    weft_msg_free(m);
}

static int tags_said; /* before, in this process: where Check forks, each test has its own */

/* The first test, as a process says it once. */
START_TEST(two_messages_with_one_tag_are_named_when_a_node_starts)
{
    log_begin();
    run_on(1, reads_another);
    weft_typed_message("say", 5);  /* as from another file */
    weft_typed_message("late", 6); /* of a module that is loaded now */
    run_on(1, reads_another);
    log_end();
    /* Which of a file's types comes first is the compiler's choice. */
    static const char *const named[] = {"the messages say and order have the same tag, 5: ",
                                        "the messages order and say have the same tag, 5: "};
    ck_assert_int_eq(log_lines(named[0]) + log_lines(named[1]), 1);
    EXPECT_LINES(", 5: an actor that gets both cannot tell which is which; give one of them another number in its "
                 "WEFT_MESSAGE",
                 1);
    EXPECT_LINES("the messages bill and late have the same tag, 6: ", 1);
    EXPECT_LINES("level=", 2);
    tags_said += 2;
}
END_TEST

START_TEST(warnings_about_messages_with_one_tag_are_bounded)
{
    log_begin();
    run_on(1, reads_another);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        weft_typed_message(name, 8);
    }
    log_end();
    ck_assert_int_eq(tags_said + log_lines("have the same tag"), 16);
}
END_TEST

/* ---- Calls with wrong arguments -------------------------------------------------------------------------------- */

static void nothing(const void *arg, size_t size)
{
    (void)arg, (void)size;
}

static void handles_nothing(void *state, weft_msg *m)
{
    (void)state, (void)m;
}

#define WRONG(who, text, result, made)                      \
    static void wrong_##who(const void *arg, size_t size)   \
    {                                                       \
        weft_msg *m = weft_msg_new(DATA, 0);                \
        weft_pid pid = weft_self();                         \
        (void)arg, (void)size, (void)pid;                   \
        for (int i = 0; i < 3; i++) want_int(made, result); \
        weft_msg_free(m);                                   \
    }                                                       \
    static const char text_##who[] = "actor " #who ": " text " (" #result ")\"\n";
#define WRONG_CALLS(X)                                                                                               \
    X(tag, "weft_send: the tag 4294967041 is weft's own: tags of messages are below WEFT_TAG_SYSTEM, 4294967040",    \
      WEFT_EINVAL, weft_send(pid, WEFT_TAG_NODE_UP, NULL, 0))                                                        \
    X(null, "weft_send: the data is NULL, but its size is 8", WEFT_EINVAL, weft_try_send(pid, DATA, NULL, 8))        \
    X(large,                                                                                                         \
      "weft_send: a body of 16777217 bytes is larger than WEFT_MESSAGE_MAX, 16777216: send it in parts, or by a "    \
      "stream",                                                                                                      \
      WEFT_ETOOBIG, weft_send(pid, DATA, "", WEFT_MESSAGE_MAX + 1))                                                  \
    X(none, "weft_send_msg: the message is NULL", WEFT_EINVAL, weft_send_msg(pid, NULL))                             \
    X(call, "weft_call: the data is NULL, but its size is 1", WEFT_EINVAL,                                           \
      weft_call(pid, DATA, NULL, 1, &m, WEFT_NOW))                                                                   \
    X(answer, "weft_call: there is no place for the answer: it is NULL", WEFT_EINVAL,                                \
      weft_call(pid, DATA, NULL, 0, NULL, WEFT_NOW))                                                                 \
    X(reply, "weft_reply: the message with the tag 1 is no request, or is answered already: see weft_wants_reply",   \
      WEFT_EINVAL, weft_reply(m, DATA, NULL, 0))                                                                     \
    X(reply_null, "weft_reply: the request is NULL", WEFT_EINVAL, weft_reply(NULL, DATA, NULL, 0))                   \
    X(reply_msg,                                                                                                     \
      "weft_reply_msg: the message with the tag 1 is no request, or is answered already: see weft_wants_reply",      \
      WEFT_EINVAL, weft_reply_msg(m, weft_msg_new(DATA, 0)))                                                         \
    X(reply_with_null, "weft_reply_msg: the message is NULL", WEFT_EINVAL, weft_reply_msg(m, NULL))                  \
    X(name, "'a room' cannot be a name: a name is 1 to 64 letters, digits, '.', '_', '-' and '$'", WEFT_EINVAL,      \
      weft_register("a room"))                                                                                       \
    X(name_null, "the name is NULL", WEFT_EINVAL, weft_whereis(NULL, &pid))                                          \
    X(group, "'' cannot be a name: a name is 1 to 64 letters, digits, '.', '_', '-' and '$'", WEFT_EINVAL,           \
      weft_group_join(""))                                                                                           \
    X(topic, "'room.*' cannot be a topic: words of letters, digits, '_', '-' and '$' with '.' between them",         \
      WEFT_EINVAL, weft_publish("room.*", DATA, NULL, 0))                                                            \
    X(topic_null, "the topic is NULL", WEFT_EINVAL, weft_publish(NULL, DATA, NULL, 0))                               \
    X(pattern,                                                                                                       \
      "'>.a' cannot be a pattern of topics: words of letters, digits, '_', '-' and '$', or '*', with '.' "           \
      "between them, and '>' at the end for all that follows",                                                       \
      WEFT_EINVAL, weft_subscribe(">.a", NULL))                                                                      \
    X(spawn, "weft_spawn: there is no function: it is NULL", WEFT_EINVAL, weft_spawn(NULL, NULL, NULL, 0, NULL))     \
    X(spawn_arg, "weft_spawn: the argument is NULL, but its size is 4", WEFT_EINVAL,                                 \
      weft_spawn(NULL, nothing, NULL, 4, NULL))                                                                      \
    X(spawn_large, "weft_spawn: an argument of 65537 bytes is larger than 65536: give a pointer to it", WEFT_EINVAL, \
      weft_spawn(NULL, nothing, "", 65537, NULL))                                                                    \
    X(spawn_worker, "weft_spawn: there is no worker 7: this node has 1 to 1", WEFT_EINVAL,                           \
      weft_spawn(NULL, nothing, NULL, 0, &(weft_spawn_options){.worker = 7}))                                        \
    X(spawn_stack, "weft_spawn: a stack of 1073741824 bytes is larger than 8388608", WEFT_EINVAL,                    \
      weft_spawn(NULL, nothing, NULL, 0, &(weft_spawn_options){.stack_bytes = 1 << 30}))                             \
    X(handler, "weft_spawn_handler: there is no function: it is NULL", WEFT_EINVAL,                                  \
      weft_spawn_handler(NULL, NULL, NULL, 0, NULL))                                                                 \
    X(handle, "weft_handle: once, in an actor's body, with a function and at most 65536 bytes of state",             \
      WEFT_EINVAL, weft_handle(handles_nothing, NULL, 8))                                                            \
    X(keep, "weft_msg_keep: it is not the message that this handler was called with", WEFT_EINVAL, weft_msg_keep(m)) \
    X(period, "weft_send_every: the period is 0", WEFT_EINVAL,                                                       \
      weft_send_every(WEFT_FOREVER, 0, pid, DATA, NULL, 0, NULL))                                                    \
    X(make,                                                                                                          \
      "weft_msg_new: the tag 4294967295 is weft's own: tags of messages are below WEFT_TAG_SYSTEM, 4294967040",      \
      WEFT_EINVAL, weft_msg_new(UINT32_MAX, 0) == NULL ? WEFT_EINVAL : WEFT_OK)
WRONG_CALLS(WRONG)

static const struct {
    const char *kind;
    weft_actor *body;
    const char *said;
} wrong_calls[] = {
#define IN_TABLE(who, text, result, made) {#who, wrong_##who, text_##who},
    WRONG_CALLS(IN_TABLE)};

static void all_wrong_calls(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (size_t i = 0; i < WF_COUNT(wrong_calls); i++) {
        weft_pid pid;
        weft_spawn_options o = {.kind = wrong_calls[i].kind};
        want_int(weft_spawn(&pid, wrong_calls[i].body, NULL, 0, &o), 0);
        weft_wait end = weft_on_end(pid);
        want_int(weft_wait_any(&end, 1, WEFT_FOREVER), 0);
    }
}

START_TEST(a_call_with_wrong_arguments_says_which)
{
    log_begin();
    run_on(1, all_wrong_calls);
    log_end();
    for (size_t i = 0; i < WF_COUNT(wrong_calls); i++) EXPECT_LINES(wrong_calls[i].said, 1);
}
END_TEST

static void asked(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *ask;
    want_int(weft_recv(&ask, WEFT_FOREVER), 0);
    want_int(weft_reply(ask, OTHER, "a", 1), 0);
    want_int(weft_reply(ask, OTHER, "b", 1), WEFT_EINVAL);
    weft_msg_free(ask);
}

static void asks(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to;
    weft_msg *answer;
    want_int(weft_spawn(&to, asked, NULL, 0, &(weft_spawn_options){.kind = "asked"}), 0);
    want_int(weft_call(to, DATA, NULL, 0, &answer, WEFT_FOREVER), 0);
    want(memcmp(weft_data(answer), "a", 1) == 0);
    weft_msg_free(answer);
}

START_TEST(a_second_answer_is_logged)
{
    log_begin();
    run_on(1, asks);
    log_end();
    EXPECT_LINES("actor asked: weft_reply: the message with the tag 1 is no request, or is answered already: ", 1);
}
END_TEST

static void blocks(void *block)
{
    (void)block;
}

START_TEST(callers_that_are_no_actors_learn_it_from_the_result)
{
    weft_msg *m = NULL;
    weft_pid pid;
    weft_timer t;
    weft_event e;
    weft_stream s;
    char buffer[8];
    const int results[] = {weft_send(weft_nobody(), DATA, NULL, 0),
                           weft_recv(&m, WEFT_NOW),
                           weft_sleep(WEFT_NOW),
                           weft_yield(),
                           weft_call(weft_nobody(), DATA, NULL, 0, &m, WEFT_NOW),
                           weft_spawn(&pid, nothing, NULL, 0, NULL),
                           weft_register("a"),
                           weft_whereis("a", &pid),
                           weft_publish("a", DATA, NULL, 0),
                           weft_subscribe("a", NULL),
                           weft_group_join("a"),
                           weft_monitor(weft_nobody(), NULL),
                           weft_timer_open(&t, WEFT_NOW, 0),
                           weft_event_open(&e),
                           weft_listen(&(weft_listener){0}, "127.0.0.1:0", NULL),
                           weft_connect(&s, "127.0.0.1:9", WEFT_NOW),
                           (int)weft_read((weft_stream){1}, buffer, 1, WEFT_NOW),
                           weft_offload(blocks, NULL, 0, WEFT_NOW),
                           weft_stop(weft_nobody()),
                           weft_send_after(WEFT_NOW, weft_nobody(), DATA, NULL, 0, NULL),
                           weft_wait_any(NULL, 0, WEFT_NOW)};
    for (size_t i = 0; i < WF_COUNT(results); i++)
        ck_assert_msg(results[i] == WEFT_ENOTACTOR, "call %u: %s", (unsigned)i, weft_error_name(results[i]));
    ck_assert_str_eq(weft_strerror(WEFT_ENOTACTOR), "only an actor may call this");
    ck_assert(weft_pid_is_nobody(weft_self()));
}
END_TEST

/* ---- A node in another loop ------------------------------------------------------------------------------------- */

static struct {
    pf_mutex *lock;
    pf_cond *changed;
    weft_node *node;
    bool inside, over;
} loop;

/* It holds its thread within a turn. */
static void stays_inside(const void *arg, size_t size)
{
    (void)arg, (void)size;
    pf_mutex_lock(loop.lock);
    loop.inside = true;
    pf_cond_broadcast(loop.changed);
    while (!loop.over) (void)pf_cond_wait(loop.changed, loop.lock, WEFT_FOREVER);
    pf_mutex_unlock(loop.lock);
}

static void turns(void *arg)
{
    int64_t next;
    do next = weft_node_turn(loop.node, WEFT_NOW);
    while (next >= 0 && !loop.inside);
    *(int64_t *)arg = next;
}

START_TEST(a_second_thread_that_runs_an_embedded_node_is_refused)
{
    pf_thread *other;
    int64_t next = 0;
    if (THROUGH_LIBKQUEUE) return; /* it has no descriptor for other loops */
    log_begin();
    want_int(pf_mutex_create(&loop.lock), 0);
    want_int(pf_cond_create(&loop.changed), 0);
    loop.node = node_start(RUN_OPTIONS(.embedded = true));
    node_spawn(loop.node, 1, stays_inside);
    want_int(pf_thread_start(&other, "other", turns, &next), 0);
    pf_mutex_lock(loop.lock);
    while (!loop.inside) (void)pf_cond_wait(loop.changed, loop.lock, WEFT_FOREVER);
    pf_mutex_unlock(loop.lock);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(weft_node_turn(loop.node, WEFT_NOW), WEFT_EINVAL);
    pf_mutex_lock(loop.lock);
    loop.over = true;
    pf_cond_broadcast(loop.changed);
    pf_mutex_unlock(loop.lock);
    pf_thread_join(other);
    ck_assert_int_ge(next, 0);
    ck_assert_int_ge(weft_node_turn(loop.node, WEFT_NOW), 0); /* the node goes on */
    node_end(loop.node);
    log_end();
    pf_cond_destroy(loop.changed);
    pf_mutex_destroy(loop.lock);
    EXPECT_LINES(
        "two threads run this embedded node at the same time: call weft_node_start, weft_node_turn, "
        "weft_node_wait and weft_node_stop in one thread, and only functions such as weft_node_send in others",
        1);
}
END_TEST

TEST_MAIN("misuse", two_messages_with_one_tag_are_named_when_a_node_starts, an_actor_knows_how_many_messages_it_holds,
          an_actor_that_never_frees_is_named_once_for_its_kind,
          an_actor_with_many_requests_that_wait_for_a_reply_has_forgotten_none,
          the_most_frequent_tag_is_found_among_many, warnings_about_messages_with_one_tag_are_bounded,
          a_call_with_wrong_arguments_says_which, a_second_answer_is_logged,
          callers_that_are_no_actors_learn_it_from_the_result, a_second_thread_that_runs_an_embedded_node_is_refused)

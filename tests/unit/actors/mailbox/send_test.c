/* actors/mailbox/send.c, actors/mailbox/message.c: errors of sends, requests and replies, names, held messages and
 * changes of ownership. */
#include "../node_harness.h"

enum { DATA = 1, GO = 2, ASK = 3, ANSWER = 4 };

static int64_t ask(weft_pid to, int64_t value, int64_t deadline)
{
    weft_msg *answer = NULL;
    int rc = weft_call(to, ASK, &value, sizeof value, &answer, deadline);
    if (rc < 0) {
        want(answer == NULL);
        return rc;
    }
    want_int(weft_tag(answer), ANSWER);
    want(!weft_wants_reply(answer));
    value = value_of(answer);
    weft_msg_free(answer);
    return value;
}

/* Behaves as the number in the request says. */
enum { ECHO = 1000, FREE, LEAVE, KEEP, TWICE, LATE, PLAIN };

static void server(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (!weft_wants_reply(m)) {
            int64_t value = 0;
            want_int(weft_reply(m, ANSWER, &value, sizeof value), WEFT_EINVAL);
            weft_msg_free(m);
            continue;
        }
        int64_t value = value_of(m);
        switch (value) {
        case FREE: weft_msg_free(m); break;
        case LEAVE: return;
        case KEEP:
            want_int(say(k.parent, GO, 0), 0);
            (void)weft_sleep(WEFT_FOREVER);
            return;
        case TWICE:
            want_int(weft_reply(m, ANSWER, &value, sizeof value), 0);
            want(!weft_wants_reply(m));
            want_int(weft_reply(m, ANSWER, &value, sizeof value), WEFT_EINVAL);
            weft_msg_free(m);
            break;
        case LATE:
            hear_only(GO);
            want_int(weft_reply(m, ANSWER, &value, sizeof value), 0);
            want_int(say(k.parent, DATA, 0), 0);
            weft_msg_free(m);
            break;
        default:
            want_int(weft_reply(m, ANSWER, &value, sizeof value), 0);
            weft_msg_free(m);
            break;
        }
    }
}

static void calls_to(int worker)
{
    weft_pid to = kid_on(worker, server, 0);
    for (int64_t i = 0; i < 500; i++) want_int(ask(to, i, WEFT_FOREVER), i);
    want_int(ask(to, FREE, WEFT_FOREVER), WEFT_ENOREPLY);
    want_int(ask(to, TWICE, WEFT_FOREVER), TWICE);
    want_int(say(to, DATA, 0), 0); /* no request: see there */
    want_int(ask(to, LATE, soon()), WEFT_ETIMEDOUT);
    uint64_t late = drops(weft_here(), WF_DROP_LATE_REPLY);
    want_int(say(to, GO, 0), 0);
    hear(DATA);
    want_int(drops(weft_here(), WF_DROP_LATE_REPLY), (int64_t)late + 1);
    want_int(ask(to, 7, WEFT_FOREVER), 7); /* the late answer is not taken for this one */
    want_int(ask(to, 8, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(ask(to, 9, WEFT_FOREVER), 9);
    want_int(ask(to, LEAVE, WEFT_FOREVER), WEFT_ENOREPLY); /* ends with the request in its hands */
    await_end(to);
    want_int(ask(to, 1, WEFT_FOREVER), WEFT_ENOACTOR);
    want_int(say(to, DATA, 0), WEFT_ENOACTOR);
    want_int(try_say(to, DATA, 0), WEFT_ENOACTOR);
    want_int(weft_stop(to), WEFT_ENOACTOR);
}

static void calls_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    calls_to(1);
    calls_to(2);
}

START_TEST(a_call_fails_with_the_error_of_its_cause)
{
    run_on(2, calls_body);
}
END_TEST

/* The second request is in the mailbox of an actor that ends with the first one in its hands. */
static void ask_keeper(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(say(k.parent, DATA, ask(k.other, k.n, WEFT_FOREVER)), 0);
}

static void unread_calls(int worker)
{
    weft_pid to = kid_on(worker, server, 0);
    kid_with(ask_keeper, (struct kid){.other = to, .n = KEEP}, &(weft_spawn_options){.worker = 1});
    hear(GO);
    weft_pid second = kid_with(ask_keeper, (struct kid){.other = to, .n = 1}, &(weft_spawn_options){.worker = 1});
    await_wait(second, "an answer");
    want_int(weft_stop(to), 0);
    int64_t one = hear(DATA), other = hear(DATA);
    want_int(WF_MIN(one, other), WEFT_ENOREPLY);
    want_int(WF_MAX(one, other), WEFT_ENOACTOR);
}

static void unread_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    unread_calls(1);
    unread_calls(2);
}

START_TEST(the_end_of_the_receiver_fails_what_it_took_and_what_it_did_not)
{
    run_on(2, unread_body);
}
END_TEST

/* ---- Forwarding ------------------------------------------------------------------------------------------------ */

static void forward(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        want(weft_pid_equal(weft_from(m), k.parent));
        (void)(value_of(m) % 2 == 0 ? weft_send_msg(k.other, m) : weft_try_send_msg(k.other, m));
    }
}

static void forward_over(int middle, int last)
{
    weft_pid to = kid_on(last, server, 0);
    weft_pid by = kid_with(forward, (struct kid){.other = to}, &(weft_spawn_options){.worker = middle});
    for (int64_t i = 0; i < 100; i++) want_int(ask(by, i, WEFT_FOREVER), i);
    want_int(weft_stop(to), 0);
    await_end(to);
    want_int(ask(by, 1, WEFT_FOREVER), WEFT_ENOACTOR);
    want_int(ask(by, 2, WEFT_FOREVER), WEFT_ENOACTOR);
    want_int(weft_stop(by), 0);
    await_end(by);
}

static void forward_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    forward_over(1, 1);
    forward_over(1, 2);
    forward_over(2, 1);
    forward_over(2, 2);
}

START_TEST(the_answer_to_a_forwarded_request_goes_to_the_asker)
{
    run_on(2, forward_body);
}
END_TEST

static void receive_forwarded(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want(!weft_pid_equal(weft_from(m), k.parent)); /* the one who sent it on */
    want_int(value_of(m), 42);
    weft_msg_free(m);
}

static void forward_plain(const void *arg, size_t size)
{
    (void)size;
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want_int(weft_send_msg(((const struct kid *)arg)->other, m), 0);
}

static void forward_plain_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_on(2, receive_forwarded, 0);
    weft_pid by = kid_with(forward_plain, (struct kid){.other = to}, &(weft_spawn_options){.worker = 1});
    want_int(say(by, DATA, 42), 0);
    await_end(to);
}

START_TEST(a_message_that_is_sent_on_comes_from_who_sent_it_on)
{
    run_on(2, forward_plain_body);
}
END_TEST

/* ---- The asker ends -------------------------------------------------------------------------------------------- */

static _Atomic int64_t result;

static void ask_until_stopped(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    atomic_store(&result, ask(k.other, KEEP, WEFT_FOREVER));
}

static void ask_stubbornly(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    for (;;) (void)ask(k.other, KEEP, WEFT_FOREVER);
}

static void asker_ends_on(int worker)
{
    weft_pid to = kid_on(worker, server, 0);
    weft_pid asker = kid_with(ask_until_stopped, (struct kid){.other = to}, &(weft_spawn_options){.worker = 1});
    hear(GO);
    want_int(weft_stop(asker), 0);
    await_end(asker);
    want_int(atomic_load(&result), WEFT_ECANCELED);
    asker = kid_with(ask_stubbornly, (struct kid){.other = to}, &(weft_spawn_options){.worker = 1});
    await_wait(asker, "an answer");
    want_int(weft_stop(asker), 0);
    await_end(asker);
    want_int(weft_stop(to), 0);
    await_end(to);
    /* A full mailbox: it is killed with the request still in its hands. */
    to = kid_with(server, (struct kid){.n = 0}, &(weft_spawn_options){.worker = worker, .mailbox_max = 1});
    weft_pid first = kid_with(ask_stubbornly, (struct kid){.other = to}, &(weft_spawn_options){.worker = 1});
    hear(GO);
    until(try_say(to, DATA, 0) == WEFT_EFULL);
    asker = kid_with(ask_stubbornly, (struct kid){.other = to}, &(weft_spawn_options){.worker = 1});
    await_wait(asker, "space in a mailbox");
    want_int(weft_stop(asker), 0);
    await_end(asker);
    want_int(weft_stop(first), 0);
    await_end(first);
    want_int(weft_stop(to), 0);
    await_end(to);
}

static void asker_ends(const void *arg, size_t size)
{
    (void)arg, (void)size;
    asker_ends_on(1);
    asker_ends_on(2);
}

START_TEST(an_asker_that_is_stopped_or_killed_leaves_nothing)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = short_grace(), .send_timeout = WEFT_FOREVER));
    node_spawn(n, 1, asker_ends);
    node_end(n);
}
END_TEST

/* ---- Names ----------------------------------------------------------------------------------------------------- */

static void named(const void *arg, size_t size)
{
    want_int(weft_register("served.by"), 0);
    want_int(weft_register("also"), 0);
    want_int(weft_register("also"), WEFT_EEXIST);
    want_int(weft_register("no spaces"), WEFT_EINVAL);
    want_int(weft_register(NULL), WEFT_EINVAL);
    want_int(say(((const struct kid *)arg)->parent, GO, 0), 0);
    server(arg, size);
}

static void names_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_on(2, named, 0), found;
    hear(GO);
    want_int(weft_whereis("also", &found), 0);
    want(weft_pid_equal(found, to));
    want_int(weft_whereis("nobody", &found), WEFT_ENOACTOR);
    weft_msg *answer;
    int64_t value = 5;
    want_int(weft_call_name("served.by", ASK, &value, sizeof value, &answer, WEFT_FOREVER), 0);
    want_int(value_of(answer), 5);
    weft_msg_free(answer);
    want_int(weft_send_name("also@here", DATA, &value, sizeof value), 0); /* this node, by its own name */
    want_int(weft_send_name("nobody", DATA, NULL, 0), WEFT_ENOACTOR);
    want_int(weft_call_name("nobody", ASK, NULL, 0, &answer, WEFT_FOREVER), WEFT_ENOACTOR);
    want_int(weft_send_name("also@elsewhere", DATA, NULL, 0), WEFT_ENONODE);
    want_int(weft_call_name("also@elsewhere", ASK, NULL, 0, &answer, WEFT_FOREVER), WEFT_ENONODE);
    want_int(weft_send_name(NULL, DATA, NULL, 0), WEFT_EINVAL);
    want_int(weft_stop(to), 0);
    await_end(to);
    want_int(weft_whereis("also", &found), WEFT_ENOACTOR);
    want_int(weft_register("also"), 0); /* free again */
}

START_TEST(names_are_found_and_vanish_with_their_actor)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .name = "here"));
    node_spawn(n, 1, names_body);
    node_end(n);
}
END_TEST

/* ---- Arguments and messages ------------------------------------------------------------------------------------ */

static void arguments_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid me = weft_self(), elsewhere = {weft_self().node ^ 1, weft_self().actor};
    weft_msg *m;
    want_int(weft_send(me, WEFT_TAG_SYSTEM, NULL, 0), WEFT_EINVAL);
    want_int(weft_send(me, DATA, NULL, 1), WEFT_EINVAL);
    want_int(weft_send(me, DATA, "", (size_t)WEFT_MESSAGE_MAX + 1), WEFT_ETOOBIG);
    want_int(weft_send(elsewhere, DATA, NULL, 0), WEFT_ENONODE);
    want_int(weft_stop(elsewhere), WEFT_ENONODE);
    want_int(weft_send(weft_nobody(), DATA, NULL, 0), WEFT_ENOBODY);
    want_int(weft_try_send(weft_nobody(), DATA, NULL, 0), WEFT_ENOBODY);
    want_int(weft_send_msg(weft_nobody(), weft_msg_new(DATA, 0)), WEFT_ENOBODY);
    want_int(weft_call(weft_nobody(), DATA, NULL, 0, &m, WEFT_FOREVER), WEFT_ENOBODY);
    want_int(weft_send_after(WEFT_NOW, weft_nobody(), DATA, NULL, 0, NULL), WEFT_ENOBODY);
    want_int(weft_node_send(weft_here(), weft_nobody(), DATA, NULL, 0), WEFT_ENOBODY);
    struct weft_answer asked = {.from = weft_nobody()};
    want_int(weft_gather(&asked, 1, 1, DATA, NULL, 0, WEFT_FOREVER), 0);
    want_int(asked.error, WEFT_ENOBODY);
    want_int(weft_send_msg(me, NULL), WEFT_EINVAL);
    want(weft_msg_new(WEFT_TAG_SYSTEM, 0) == NULL);
    want(weft_msg_new(DATA, (size_t)WEFT_MESSAGE_MAX + 1) == NULL);
    weft_pid no_worker = {me.node, me.actor | UINT64_C(0xFF) << 24}, no_slot = {me.node, me.actor | 0xFFFFFF};
    want_int(say(no_worker, DATA, 0), WEFT_ENOACTOR);
    want_int(say(no_slot, DATA, 0), WEFT_ENOACTOR);
    want_int(weft_stop(no_worker), WEFT_ENOACTOR);
    weft_pid never_taken = {me.node, wf_id_slot(me.actor) + 1},
             zero_elsewhere = {me.node, 1 << 24} /* no actor was ever there */;
    want_int(say(never_taken, DATA, 0), WEFT_ENOACTOR);
    want_int(say(zero_elsewhere, DATA, 0), WEFT_ENOACTOR);
    weft_msg_free(NULL);
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, WEFT_MESSAGE_MAX};
    for (size_t i = 0; i < WF_COUNT(sizes); i++) {
        m = weft_msg_new(DATA, sizes[i]);
        want(m != NULL && (uintptr_t)weft_msg_body(m) % alignof(max_align_t) == 0);
        memset(weft_msg_body(m), 'x', sizes[i]);
        want_int(weft_send_msg(me, m), 0);
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        want_int(weft_size(m), sizes[i]);
        want(sizes[i] == 0 || ((const char *)weft_data(m))[sizes[i] - 1] == 'x');
        want(strcmp(weft_topic(m), "") == 0 && weft_pid_equal(weft_from(m), me));
        if (i % 2 == 0) weft_msg_free(m); /* the others are held when the actor ends */
    }
    want(weft_msg_new(DATA, 100) != NULL);
}

START_TEST(arguments_are_checked_and_bodies_of_all_sizes_pass)
{
    run_on(2, arguments_body);
}
END_TEST

enum { SMALL_MOST = 70 }; /* bodies up to 64 bytes are copied in a way of their own */

static void fill(unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < SMALL_MOST; i++) bytes[i] = (unsigned char)(i < size ? size * 3 + i * 7 + 1 : 0);
}

/* Receives a message of `size` bytes. */
static weft_pid hear_whole(size_t size)
{
    unsigned char wanted[SMALL_MOST];
    weft_msg *m;
    fill(wanted, size);
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want_int(weft_size(m), size);
    want(memcmp(weft_data(m), wanted, size) == 0);
    weft_pid from = weft_from(m);
    weft_msg_free(m);
    return from;
}

static void returns_small(const void *arg, size_t length)
{
    (void)arg, (void)length;
    unsigned char bytes[SMALL_MOST];
    for (size_t size = 0; size < SMALL_MOST; size++) {
        weft_pid from = hear_whole(size);
        fill(bytes, size);
        want_int(weft_send(from, DATA, bytes, size), 0);
    }
}

static void small_body(const void *arg, size_t length)
{
    (void)arg, (void)length;
    unsigned char bytes[SMALL_MOST];
    for (size_t size = 0; size < SMALL_MOST; size++) { /* to an actor that runs */
        fill(bytes, size);
        want_int(weft_send(weft_self(), DATA, bytes, size), 0);
        (void)hear_whole(size);
    }
    for (int worker = 1; worker <= 2; worker++) { /* to actors that wait, here and on another worker */
        weft_pid to = kid_on(worker, returns_small, 0);
        for (size_t size = 0; size < SMALL_MOST; size++) {
            fill(bytes, size);
            want_int(weft_send(to, DATA, bytes, size), 0);
            (void)hear_whole(size);
        }
    }
}

START_TEST(small_bodies_of_each_size_arrive_whole)
{
    run_on(2, small_body);
}
END_TEST

/* Ids of ended actors lead to no slot, and to none that another actor has now, also where the sender has just sent to
 * that slot. */
static void ends_at_once(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
}

static void ends_at_once_too(void *state, weft_msg *m)
{
    (void)state, (void)m;
    weft_exit(WEFT_EXIT_NORMAL);
}

static weft_pid next_life(bool as_handler)
{
    weft_pid pid = weft_nobody();
    if (!as_handler) return kid_on(1, ends_at_once, 0);
    want_int(weft_spawn_handler(&pid, ends_at_once_too, NULL, 0, &(weft_spawn_options){.worker = 1}), 0);
    return pid;
}

static void lives_body(const void *arg, size_t length)
{
    (void)arg, (void)length;
    const int64_t value = 7;
    int same = 0;
    weft_pid before = weft_nobody();
    for (int life = 0; life < 20; life++) {
        weft_pid now = next_life(life % 3 == 2);
        if (life % 2 == 0) await_wait(now, "mailbox");
        if (life > 0) {
            same += wf_id_slot(before.actor) == wf_id_slot(now.actor);
            want_int(weft_send(before, GO, NULL, 0), WEFT_ENOACTOR);
            want_int(weft_send(before, GO, &value, sizeof value), WEFT_ENOACTOR);
        }
        want_int(life % 4 < 2 ? weft_send(now, GO, NULL, 0) : weft_send(now, GO, &value, sizeof value), 0);
        await_end(now);
        want_int(weft_send(now, GO, NULL, 0), WEFT_ENOACTOR);
        want_int(weft_send(now, GO, &value, sizeof value), WEFT_ENOACTOR);
        before = now;
    }
    want(same > 0); /* else this test shows nothing */
}

START_TEST(an_id_never_leads_to_the_next_actor_in_the_slot)
{
    run_on(1, lives_body);
}
END_TEST

START_TEST(functions_of_actors_are_refused_outside_of_actors)
{
    weft_pid p = {1, 1};
    weft_msg *m;
    weft_subscription s = {1};
    struct wf_actor_info *list;
    size_t count;
    weft_node *n = node_of(1);
    ck_assert_int_eq(weft_spawn(&p, calls_body, NULL, 0, NULL), WEFT_ENOTACTOR);
    ck_assert(weft_pid_is_nobody(weft_self()));
    ck_assert_ptr_null(weft_here());
    ck_assert_int_eq(weft_stop(p), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_defer(free, NULL), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_yield(), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_sleep(WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_register("x"), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_whereis("x", &p), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_send(p, DATA, NULL, 0), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_try_send(p, DATA, NULL, 0), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_send_msg(p, weft_msg_new(DATA, 1)), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_try_send_msg(p, weft_msg_new(DATA, 1)), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_send_name("x", DATA, NULL, 0), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_recv(&m, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_recv_tag(&m, DATA, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_recv_match(&m, NULL, NULL, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_call(p, ASK, NULL, 0, &m, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_call_name("x", ASK, NULL, 0, &m, WEFT_NOW), WEFT_ENOTACTOR);
    m = weft_msg_new(DATA, 1);
    ck_assert_int_eq(weft_reply(m, ANSWER, NULL, 0), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_publish_msg("a", m), WEFT_ENOTACTOR); /* consumed */
    ck_assert_int_eq(weft_watch_nodes(), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_subscribe("a", &s), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_unsubscribe(s), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_publish("a", DATA, NULL, 0), WEFT_ENOTACTOR);
    ck_assert_int_eq(wf_node_list_actors(n, NULL, &list, &count, WEFT_NOW), WEFT_ENOTACTOR);
    weft_msg_free(weft_msg_new(DATA, 1));
    node_end(n);
}
END_TEST

TEST_MAIN("send", a_call_fails_with_the_error_of_its_cause,
          the_end_of_the_receiver_fails_what_it_took_and_what_it_did_not,
          the_answer_to_a_forwarded_request_goes_to_the_asker, a_message_that_is_sent_on_comes_from_who_sent_it_on,
          an_asker_that_is_stopped_or_killed_leaves_nothing, names_are_found_and_vanish_with_their_actor,
          arguments_are_checked_and_bodies_of_all_sizes_pass, small_bodies_of_each_size_arrive_whole,
          an_id_never_leads_to_the_next_actor_in_the_slot, functions_of_actors_are_refused_outside_of_actors)

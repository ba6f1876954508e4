/* actors/mailbox/mailbox.c, actors/mailbox/backpressure.c: a mailbox has a bound of messages and one of bytes, and
 * all of a worker share a third one. Which senders wait when one of these limits is reached, and which messages are
 * dropped. */
#include "../node_harness.h"

enum { DATA = 1, OTHER, GO, DONE, BUDGET = 100000, BLOCK = 40000 };

static const char block[BUDGET];
static _Atomic int taken, sent;
static _Atomic int64_t sum; /* of what was taken */

/* Receives a message each time it is told to, `n` in all. */
static void takes_when_told(const void *arg, size_t size)
{
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    (void)size;
    for (int64_t i = 0; i < k.n; i++) {
        await_news();
        want_int(weft_recv(&m, WEFT_NOW), 0);
        if (weft_size(m) == sizeof(int64_t)) atomic_fetch_add(&sum, value_of(m));
        weft_msg_free(m);
        atomic_fetch_add(&taken, 1);
    }
}

static weft_pid taker(int64_t count, weft_spawn_options o)
{
    o.worker = 1;
    return kid_with(takes_when_told, (struct kid){.n = count}, &o);
}

static void take(weft_pid from)
{
    int before = atomic_load(&taken);
    tell_news(from);
    until(atomic_load(&taken) == before + 1);
}

static void sends_one(const void *arg, size_t size)
{
    struct kid k = *(const struct kid *)arg;
    (void)size;
    if (k.n < 0) want_int(weft_send(k.other, DATA, block, (size_t)-k.n), 0);
    else want_int(say(k.other, DATA, k.n), 0);
    atomic_fetch_add(&sent, 1);
}

/* n < 0: a block of so many bytes. It waits for space there. */
static weft_pid waiter(weft_pid to, int64_t n)
{
    weft_pid from = kid_with(sends_one, (struct kid){.other = to, .n = n}, &(weft_spawn_options){.worker = 1});
    await_wait(from, "space in a mailbox");
    return from;
}

/* Whatever can run has had its turns. */
static void want_waiting(weft_pid from)
{
    for (int i = 0; i < 5; i++) (void)weft_yield();
    await_wait(from, "space in a mailbox");
}

/* As it is delivered when it comes from another worker, where it was under way; from an actor of another node; or
 * from nobody there, whose node is in `ref`. */
static void arrives(weft_pid to, weft_pid from, uint64_t node)
{
    weft_msg *m = wf_msg_new(wf_here, DATA, 0);
    m->from = from;
    m->ref = node;
    m->to_actor = to.actor;
    wf_deliver(wf_here, m);
}

static weft_pid filled(int64_t blocks)
{
    weft_pid to = taker(blocks, (weft_spawn_options){0});
    for (int64_t i = 0; i < blocks; i++) want_int(weft_try_send(to, DATA, block, BLOCK), 0);
    return to;
}

static void run_short(weft_actor *body)
{
    atomic_store(&taken, 0), atomic_store(&sent, 0), atomic_store(&sum, 0);
    weft_node *n = node_start(
        RUN_OPTIONS(.workers = 1, .mailbox_bytes_max = BUDGET, .send_timeout = WEFT_FOREVER)); /* a hang fails */
    node_spawn(n, 1, body);
    node_end(n);
}

/* ---- The share of a worker ------------------------------------------------------------------------------------- */

/* Messages that it receives itself make no space, except that an empty mailbox always accepts one message. */
static void taking_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = taker(5, (weft_spawn_options){0}), from[3];
    for (int64_t i = 0; i < 2; i++) want_int(say(to, DATA, i), 0);
    weft_pid other = filled(3);
    want_int(try_say(to, DATA, 0), WEFT_EFULL);
    for (int i = 0; i < 3; i++) from[i] = waiter(to, 2 + i);
    take(to);
    for (int i = 0; i < 3; i++) want_waiting(from[i]);
    take(to);
    await_end(from[0]);
    want_waiting(from[1]);
    want_waiting(from[2]);
    want_int(weft_kill(other), 0); /* its mail goes with it */
    await_end(from[1]);
    await_end(from[2]);
    for (int i = 2; i < 5; i++) take(to);
    await_end(to);
    want_int(atomic_load(&sum), 0 + 1 + 2 + 3 + 4);
    want_int(drops(weft_here(), WF_DROP_FULL), 0);
}

START_TEST(received_bytes_are_no_space_while_others_have_all_bytes)
{
    run_short(taking_body);
}
END_TEST

static void in_turn_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to[2], from[2];
    for (int i = 0; i < 2; i++) {
        to[i] = taker(2, (weft_spawn_options){0});
        want_int(say(to[i], DATA, 0), 0);
    }
    weft_pid other = filled(3);
    for (int i = 0; i < 2; i++) from[i] = waiter(to[i], -2 * BLOCK);
    take(other); /* a third of what the first of them needs, which uses it up */
    await_end(from[0]);
    want_waiting(from[1]);
    take(other);
    want_waiting(from[1]);
    take(other);
    await_end(from[1]);
    for (int i = 0; i < 4; i++) take(to[i % 2]);
}

START_TEST(bytes_that_come_free_are_for_one_after_the_other)
{
    run_short(in_turn_body);
}
END_TEST

/* Short of bytes, and then full by its own bound: then only what it takes itself makes space. */
static void own_bound_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = taker(3, (weft_spawn_options){.mailbox_max = 2}), next = taker(2, (weft_spawn_options){0});
    want_int(say(to, DATA, 0), 0);
    want_int(say(next, DATA, 0), 0);
    weft_pid other = filled(3);
    weft_pid first = waiter(to, 2), second = waiter(next, 1);
    arrives(to, weft_self(), 0);
    want_int(wf_mail_count(peek(to)), 2);
    take(other);
    await_end(second);
    want_waiting(first);
    take(to);
    await_end(first);
    for (int i = 0; i < 2; i++) take(to), take(next), take(other);
}

START_TEST(bytes_are_no_space_where_places_are_missing)
{
    run_short(own_bound_body);
}
END_TEST

/* ---- An actor's own bound of bytes ----------------------------------------------------------------------------- */

static void few_bytes_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = taker(4, (weft_spawn_options){.mailbox_bytes = 4});
    want_int(say(to, DATA, 0), 0); /* the last one may go beyond */
    want_int(try_say(to, DATA, 0), WEFT_EFULL);
    for (int i = 0; i < 3; i++) waiter(to, 1 + i);
    for (int i = 0; i < 3; i++) {
        take(to);
        until(atomic_load(&sent) == i + 1);
        for (int turns = 0; turns < 5; turns++) (void)weft_yield();
        want_int(atomic_load(&sent), i + 1);
    }
    take(to);
    want_int(atomic_load(&sum), 1 + 2 + 3);
}

START_TEST(a_bound_smaller_than_any_message_lets_one_in_at_a_time)
{
    run_short(few_bytes_body);
}
END_TEST

/* ---- What is dropped ------------------------------------------------------------------------------------------- */

/* A scan that has found what it looked for has passed over nothing that could be dropped. */
static void found_at_once(const void *arg, size_t size)
{
    struct kid k = *(const struct kid *)arg;
    (void)size;
    want_int(hear_only(GO), 0);
    want_int(say(k.parent, GO, 0), 0);
    await_news();
    want_int(hear(DATA), 2);
    want_int(say(k.parent, DONE, 0), 0);
}

static void after_scan_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_spawn_options o = {.worker = 1, .mailbox_max = 1, .policy = WEFT_FULL_DROP_OLDEST};
    weft_pid to = kid_with(found_at_once, (struct kid){0}, &o);
    want_int(say(to, GO, 0), 0);
    want_int(hear(GO), 0);
    for (int64_t i = 0; i < 3; i++) want_int(say(to, DATA, i), 0);
    want_int(drops(weft_here(), WF_DROP_FULL), 2);
    tell_news(to);
    want_int(hear(DONE), 0);
}

START_TEST(after_a_scan_the_oldest_goes_as_before)
{
    run_on(1, after_scan_body);
}
END_TEST

/* Three messages from there, of which so many fit; one of this node that was under way fits always. */
static void fits(weft_spawn_options o, uint32_t fit)
{
    weft_pid there = {.node = 77, .actor = 5};
    o.worker = 1;
    weft_pid to = kid_with(takes_when_told, (struct kid){.n = 1}, &o);
    uint64_t before = drops(weft_here(), WF_DROP_FULL);
    for (int i = 0; i < 3; i++) arrives(to, i % 2 == 0 ? there : weft_nobody(), 77);
    want_int(wf_mail_count(peek(to)), fit);
    want_int(drops(weft_here(), WF_DROP_FULL) - before, 3 - fit);
    arrives(to, weft_nobody(), 0);
    want_int(wf_mail_count(peek(to)), fit + 1);
    want_int(weft_kill(to), 0);
    await_end(to);
}

static void afar_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    fits((weft_spawn_options){.mailbox_max = 1, .policy = WEFT_FULL_FAIL}, 1);
    fits((weft_spawn_options){.mailbox_max = 1}, 2); /* twice the bound, of a node that has no credit here */
    fits((weft_spawn_options){.mailbox_bytes = 4}, 1);
}

START_TEST(messages_from_another_node_must_fit)
{
    run_on(1, afar_body);
}
END_TEST

TEST_MAIN("mailbox_bounds", received_bytes_are_no_space_while_others_have_all_bytes,
          bytes_that_come_free_are_for_one_after_the_other, bytes_are_no_space_where_places_are_missing,
          a_bound_smaller_than_any_message_lets_one_in_at_a_time, after_a_scan_the_oldest_goes_as_before,
          messages_from_another_node_must_fit)

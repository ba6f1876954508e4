/* Suspended senders: no message is lost, each waiting sender gets its space, and every end of either side is
 * noticed. */
#include "../node_harness.h"

enum { DATA = 1, GO = 2, DONE = 3, OTHER = 4, LARGE = 1 << 20 };

static _Atomic int64_t ends, results[8];

static void ended(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ends, 1);
}

/* ---- Bounds ---------------------------------------------------------------------------------------------------- */

static void hear_after_go(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    hear_only(GO);
    for (int64_t i = 0; i < k.n; i++) want_int(hear(DATA), i);
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT);
}

static void send_many(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    for (int64_t i = 0; i < k.n; i++) want_int(say(k.other, DATA, i), 0);
    want_int(say(k.parent, DONE, 0), 0);
}

/* More than twice the bound, all of it sent before the receiver takes anything: nothing is lost. */
static void suspend_on(int receiver, int sender, uint32_t bound)
{
    weft_pid to = kid_with(hear_after_go, (struct kid){.n = 1000},
                           &(weft_spawn_options){.mailbox_max = bound, .worker = receiver});
    kid_with(send_many, (struct kid){.other = to, .n = 1000}, &(weft_spawn_options){.worker = sender});
    want_int(say(to, GO, 0), 0);
    want_int(hear(DONE), 0);
    await_end(to);
}

static void suspend_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const uint32_t bounds[] = {2, 3, 4, 7, 100};
    for (size_t i = 0; i < WF_COUNT(bounds); i++) {
        suspend_on(1, 1, bounds[i]);
        suspend_on(2, 1, bounds[i]);
        suspend_on(1, 2, bounds[i]);
        suspend_on(2, 2, bounds[i]);
    }
    want_int(drops(weft_here(), WF_DROP_FULL), 0);
}

START_TEST(a_full_mailbox_suspends_its_senders_and_loses_nothing)
{
    atomic_store(&ends, 0);
    run_on(2, suspend_body);
}
END_TEST

static void burst_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_with(hear_after_go, (struct kid){.n = 100},
                           &(weft_spawn_options){.mailbox_max = 4, .worker = 2});
    want_int(say(to, GO, 0), 0);
    for (int64_t i = 0; i < 100; i++) want_int(say(to, DATA, i), 0); /* of one turn: none has arrived yet */
    await_end(to);
    want_int(drops(weft_here(), WF_DROP_FULL), 0);
}

START_TEST(a_burst_to_another_worker_is_not_lost)
{
    atomic_store(&ends, 0);
    run_on(2, burst_body);
}
END_TEST

/* Stays full but for one place; takes nothing more until GO. */
static void almost_full(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    hear_only(OTHER);
    want_int(say(k.parent, OTHER, 0), 0);
    hear_only(GO);
    for (int64_t i = 0; i < 6; i++) want_int(hear(DATA), i);
    want_int(hear(DATA), 100);
}

static void one_place(int worker)
{
    weft_pid to = kid_with(almost_full, (struct kid){.n = 0},
                           &(weft_spawn_options){.mailbox_max = 8, .worker = worker});
    for (int64_t i = 0; i < 6; i++) want_int(say(to, DATA, i), 0);
    want_int(say(to, OTHER, 0), 0);
    hear(OTHER); /* 6 of 8 are taken */
    want_int(say(to, DATA, 100), 0);
    want_int(say(to, GO, 0), 0);
    await_end(to);
}

static void one_place_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    one_place(1);
    one_place(2);
}

START_TEST(space_in_an_almost_full_mailbox_is_used)
{
    atomic_store(&ends, 0);
    run_on(2, one_place_body);
}
END_TEST

static bool seems_full(weft_pid p)
{
    return wf_actor_is_full(
        wf_slab_find(&wf_actors_of(weft_here()->workers.at[wf_id_worker(p.actor)])->slab, p.actor));
}

/* Takes OTHER out of a mailbox of bound 8 that is full, and then waits for GO, which a suspended sender has. */
static void deaf(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_news();
    hear_only(OTHER);
    hear_only(GO);
    for (int64_t i = 0; i < 7; i++) want_int(hear(DATA), i);
}

static void send_go(const void *arg, size_t size)
{
    (void)size;
    want_int(say(((const struct kid *)arg)->other, GO, 0), 0);
}

static void last_place(int worker)
{
    weft_pid to = kid_with(deaf, (struct kid){.n = 0}, &(weft_spawn_options){.mailbox_max = 8, .worker = worker});
    for (int64_t i = 0; i < 7; i++) want_int(say(to, DATA, i), 0);
    want_int(say(to, OTHER, 0), 0);
    until(seems_full(to));
    weft_pid from = kid_with(send_go, (struct kid){.other = to}, &(weft_spawn_options){.worker = 1});
    await_wait(from, "space in a mailbox");
    tell_news(to);
    await_end(to);
}

static void last_place_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    last_place(1);
    last_place(2);
}

START_TEST(a_message_that_is_taken_makes_space_for_one)
{
    atomic_store(&ends, 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .send_timeout = WEFT_FOREVER)); /* a hang is the failure */
    node_spawn(n, 1, last_place_body);
    node_end(n);
}
END_TEST

static bool may_go_on;

/* Is full, with a sender that waits; then takes one message, which is too few for that one to be told, and does not wait
 * for others until another one has sent. */
static void takes_too_little(const void *arg, size_t size)
{
    (void)size;
    const struct kid k = *(const struct kid *)arg;
    await_news();
    want_int(hear(DATA), 0);
    want_int(say(k.parent, DONE, 0), 0);
    while (!may_go_on) (void)weft_yield();
    for (int64_t i = 1; i < 18; i++) want_int(hear(DATA), i);
}

static void send_number(const void *arg, size_t size)
{
    (void)size;
    const struct kid k = *(const struct kid *)arg;
    want_int(say(k.other, DATA, k.n), 0);
}

static void fair_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const weft_spawn_options here = {.worker = 1};
    weft_pid to = kid_with(takes_too_little, (struct kid){.n = 0},
                           &(weft_spawn_options){.mailbox_max = 16, .worker = 1});
    for (int64_t i = 0; i < 16; i++) want_int(say(to, DATA, i), 0);
    weft_pid first = kid_with(send_number, (struct kid){.other = to, .n = 16}, &here);
    await_wait(first, "space in a mailbox");
    tell_news(to);
    want_int(hear(DONE), 0);
    weft_pid second = kid_with(send_number, (struct kid){.other = to, .n = 17}, &here);
    await_wait(second, "space in a mailbox");
    may_go_on = true;
    await_end(to);
}

START_TEST(no_sender_of_the_same_worker_overtakes_one_that_waits)
{
    atomic_store(&ends, 0);
    may_go_on = false;
    run_on(1, fair_body);
}
END_TEST

static void sit(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static void timeout_on(int worker)
{
    weft_pid to = kid_with(sit, (struct kid){.n = 0}, &(weft_spawn_options){.mailbox_max = 4, .worker = worker});
    int rc;
    int64_t sent = 0;
    while ((rc = say(to, DATA, sent)) == 0) sent++;
    want_int(rc, WEFT_EFULL);
    want(sent >= 4);
    want_int(try_say(to, DATA, 0), WEFT_EFULL);
    want(worker != 1 || peek(to)->more->backlog->space.first == NULL); /* its request was taken back */
    want_int(weft_stop(to), 0);
    await_end(to);
}

static void timeout_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    timeout_on(1);
    timeout_on(2);
}

START_TEST(the_send_timeout_ends_in_efull)
{
    atomic_store(&ends, 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .send_timeout = WEFT_MS(20)));
    node_spawn(n, 1, timeout_body);
    node_end(n);
}
END_TEST

static void long_past_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_with(sit, (struct kid){.n = 0}, &(weft_spawn_options){.mailbox_max = 1, .worker = 1});
    want_int(say(to, DATA, 0), 0);
    weft_msg *answer;
    want_int(weft_call(to, DATA, NULL, 0, &answer, -1), WEFT_EFULL);
    want_int(weft_stop(to), 0);
}

START_TEST(a_call_with_a_deadline_long_past_waits_for_no_space)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .send_timeout = WEFT_FOREVER)); /* a hang is the failure */
    node_spawn(n, 1, long_past_body);
    node_end(n);
}
END_TEST

/* Space for bytes: one message taken from many leaves the budget as used up as it was. */
static _Atomic bool may_take;

static void takes_one(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (!atomic_load(&may_take)) (void)weft_yield();
    want_int(weft_recv(&m, WEFT_NOW), 0);
    want_int(weft_size(m), 0);
    weft_msg_free(m);
    atomic_store(&may_take, false);
    (void)weft_sleep(WEFT_FOREVER);
}

static void bytes_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static const char block[50000];
    weft_pid to = kid_on(2, takes_one, 0);
    want_int(weft_try_send(to, DATA, NULL, 0), 0); /* takes hardly any of the budget */
    for (int i = 0; i < 2; i++) want_int(weft_try_send(to, DATA, block, sizeof block), 0);
    const struct wf_actor *there = wf_slab_find(&wf_actors_of(weft_here()->workers.at[1])->slab, to.actor);
    until(wf_actor_is_full(there));
    want_int(weft_try_send(to, DATA, NULL, 0), WEFT_EFULL);
    atomic_store(&may_take, true);
    until(!atomic_load(&may_take));
    want_int(weft_try_send(to, DATA, NULL, 0), WEFT_EFULL);
    want_int(weft_stop(to), 0);
}

START_TEST(a_message_that_is_taken_is_no_space_while_the_byte_budget_is_used_up)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .mailbox_bytes_max = 160000));
    node_spawn(n, 1, bytes_body);
    node_end(n);
}
END_TEST

static void push_until_error(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    (void)weft_defer(ended, NULL);
    int rc;
    while ((rc = say(k.other, DATA, 0)) == 0) {}
    atomic_store(&results[k.n], rc);
}

static void push_stubborn(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    (void)weft_defer(ended, NULL);
    for (;;) (void)say(k.other, DATA, 0);
}

static void sender_ends_on(int receiver)
{
    weft_pid to = kid_with(sit, (struct kid){.n = 0}, &(weft_spawn_options){.mailbox_max = 4, .worker = receiver});
    weft_pid stopped = kid_with(push_until_error, (struct kid){.other = to, .n = 0},
                                &(weft_spawn_options){.worker = 1});
    weft_pid killed = kid_with(push_stubborn, (struct kid){.other = to}, &(weft_spawn_options){.worker = 1});
    weft_pid left = kid_with(push_until_error, (struct kid){.other = to, .n = 1}, &(weft_spawn_options){.worker = 1});
    await_wait(stopped, "space in a mailbox");
    await_wait(killed, "space in a mailbox");
    await_wait(left, "space in a mailbox");
    want_int(weft_stop(stopped), 0);
    await_end(stopped);
    want_int(weft_stop(killed), 0);
    await_end(killed);
    want_int(weft_stop(to), 0); /* and with it the wait of the last one */
    await_end(left);
    want_int(atomic_load(&results[0]), WEFT_ECANCELED);
    want_int(atomic_load(&results[1]), WEFT_ENOACTOR);
}

static void sender_ends(const void *arg, size_t size)
{
    (void)arg, (void)size;
    sender_ends_on(1);
    sender_ends_on(2);
    want_int(atomic_load(&ends), 6);
}

START_TEST(waiting_senders_are_stopped_killed_and_told_of_the_receivers_end)
{
    atomic_store(&ends, 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = short_grace(), .send_timeout = WEFT_FOREVER));
    node_spawn(n, 1, sender_ends);
    node_end(n);
}
END_TEST

/* ---- Many senders, bound 1 ------------------------------------------------------------------------------------- */

static void hear_crowd(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    int64_t next[64] = {0};
    for (int64_t i = 0; i < 64 * k.n; i++) {
        int64_t value = hear(DATA);
        want_int(value % 1000, next[value / 1000]++);
    }
    want_int(say(k.parent, DONE, 0), 0);
}

static void join_crowd(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    for (int64_t i = 0; i < 50; i++) want_int(say(k.other, DATA, k.n * 1000 + i), 0);
}

static void crowd_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_with(hear_crowd, (struct kid){.n = 50}, &(weft_spawn_options){.mailbox_max = 1, .worker = 1});
    for (int i = 0; i < 64; i++)
        kid_with(join_crowd, (struct kid){.other = to, .n = i}, &(weft_spawn_options){.worker = i % 2 + 1});
    hear(DONE);
}

START_TEST(many_senders_share_a_mailbox_of_one_place)
{
    atomic_store(&ends, 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .send_timeout = WEFT_FOREVER));
    node_spawn(n, 1, crowd_body);
    node_end(n);
}
END_TEST

/* A sender that was told of space has ended, so the next one gets the space. */
static void take_one(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_news();
    hear(OTHER);
    hear(DATA);
    hear(DATA);
}

static void send_one(const void *arg, size_t size)
{
    (void)size;
    (void)say(((const struct kid *)arg)->other, DATA, 0);
}

static void unused_space(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_spawn_options here = {.worker = 1, .mailbox_max = 1};
    weft_pid to = kid_with(take_one, (struct kid){.n = 0}, &here);
    want_int(say(to, OTHER, 0), 0);
    weft_pid first = kid_with(send_one, (struct kid){.other = to}, &here);
    weft_pid second = kid_with(send_one, (struct kid){.other = to}, &here);
    weft_pid third = kid_with(send_one, (struct kid){.other = to}, &here);
    await_wait(third, "space in a mailbox");
    tell_news(to);
    until(peek(first)->space_news); /* and before it can run: */
    want_int(weft_stop(first), 0);
    await_end(to);
    await_end(second);
    await_end(third);
}

START_TEST(space_that_a_stopped_sender_leaves_goes_to_the_next)
{
    atomic_store(&ends, 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .send_timeout = WEFT_FOREVER));
    node_spawn(n, 1, unused_space);
    node_end(n);
}
END_TEST

/* The receiver, its sender and others that always find the place first share a worker: who was told of space has it. */
enum { TURNS = 6 };

static void takes_turns(const void *arg, size_t size)
{
    (void)size;
    int64_t turn = 0;
    await_news();
    for (uint32_t tag = DATA; tag == DATA && turn < 10 * TURNS; turn++) {
        weft_msg *m;
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        tag = weft_tag(m);
        weft_msg_free(m);
    }
    (void)say(((const struct kid *)arg)->parent, DONE, turn);
}

static void pushes_in(const void *arg, size_t size)
{
    (void)size;
    weft_pid to = ((const struct kid *)arg)->other;
    for (int rc = 0; rc != WEFT_ENOACTOR; (void)weft_yield()) rc = try_say(to, DATA, 0);
}

static void send_other(const void *arg, size_t size)
{
    (void)size;
    want_int(say(((const struct kid *)arg)->other, OTHER, 0), 0);
}

static void pushed_aside(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_spawn_options here = {.worker = 1, .mailbox_max = 1};
    weft_pid to = kid_with(takes_turns, (struct kid){.n = 0}, &here);
    kid_with(pushes_in, (struct kid){.other = to}, &here);
    weft_pid sender = kid_with(send_other, (struct kid){.other = to}, &here);
    await_wait(sender, "space in a mailbox");
    tell_news(to);
    int64_t turns = hear(DONE);
    want(turns <= TURNS);
}

START_TEST(a_sender_that_was_told_of_space_has_it)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .send_timeout = WEFT_FOREVER));
    node_spawn(n, 1, pushed_aside);
    node_end(n);
}
END_TEST

/* A worker whose actor does not yield: the lane to it fills up, senders wait for it, and then all of it arrives. */
static _Atomic bool hold_worker, held_worker;

static void hog(const void *arg, size_t size)
{
    (void)arg, (void)size;
    atomic_store(&held_worker, true);
    while (atomic_load(&hold_worker)) pf_cpu_relax();
}

static void swallow(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    for (int64_t i = 0; i < k.n; i++) want_int(hear(DATA), i);
}

static void choke(void)
{
    enum { SOME = WF_INBOX_MAX + 5000, FEW = 3 };
    weft_spawn_options there = {.worker = 2, .mailbox_max = 1u << 20};
    weft_pid to = kid_with(swallow, (struct kid){.n = SOME}, &there);
    weft_pid other = kid_with(swallow, (struct kid){.n = FEW}, &there);
    atomic_store(&hold_worker, true);
    atomic_store(&held_worker, false);
    kid_on(2, hog, 0);
    until(atomic_load(&held_worker));
    weft_pid from = kid_with(send_many, (struct kid){.other = to, .n = SOME}, &(weft_spawn_options){.worker = 1});
    await_wait(from, "space at a worker");
    from = kid_with(send_many, (struct kid){.other = other, .n = FEW}, &(weft_spawn_options){.worker = 1});
    await_wait(from, "space at a worker"); /* one call asks for both */
    want_int(try_say(to, DATA, 0), WEFT_EFULL);
    want_int(weft_node_send(weft_here(), to, DATA, NULL, 0), WEFT_EFULL);
    atomic_store(&hold_worker, false);
    hear(DONE);
    hear(DONE);
}

static void count_large(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    for (int64_t i = 0; i < k.n; i++) {
        weft_msg *m;
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        want_int((int64_t)weft_size(m), LARGE);
        weft_msg_free(m);
    }
    want_int(say(k.parent, DONE, 0), 0);
}

/* As many large messages as may be under way: far fewer than small ones. */
static void choke_with_large(void)
{
    static char body[LARGE];
    const int64_t most = (int64_t)WF_INBOX_MAX * 1024 / LARGE;
    weft_spawn_options there = {.worker = 2, .mailbox_max = 1u << 20, .mailbox_bytes = SIZE_MAX};
    weft_pid to = kid_with(count_large, (struct kid){.n = most}, &there);
    atomic_store(&hold_worker, true);
    atomic_store(&held_worker, false);
    kid_on(2, hog, 0);
    until(atomic_load(&held_worker));
    int64_t sent = 0;
    for (int rc = 0; rc == 0 && sent <= most; sent += rc == 0) {
        rc = weft_try_send(to, DATA, body, LARGE);
        want_int(weft_yield(), 0); /* it leaves with the turn */
    }
    want_int(sent, most);
    want_int(weft_node_send(weft_here(), to, DATA, NULL, 0), WEFT_EFULL);
    atomic_store(&hold_worker, false);
    want_int(hear(DONE), 0);
    await_end(to);
}

static void large_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    choke_with_large();
    choke_with_large();
}

/* On two workers, where senders wait for as long as it takes. */
static void run_patiently(weft_actor *body)
{
    atomic_store(&ends, 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .send_timeout = WEFT_FOREVER));
    node_spawn(n, 1, body);
    node_end(n);
}

START_TEST(the_bytes_under_way_to_a_worker_are_bounded)
{
    run_patiently(large_body);
}
END_TEST

static void congested_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    choke();
    choke();
}

START_TEST(senders_wait_for_a_congested_worker)
{
    run_patiently(congested_body);
}
END_TEST

/* ---- Large messages and other actors of the worker --------------------------------------------------------------- */

enum { HUGE_SIZE = 16 * 1024 * 1024, HUGE_COUNT = 12 };
static char huge[HUGE_SIZE];
static int64_t others_ran;
static bool others_end;

static void runs_beside(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (; !others_end; others_ran++) want_int(weft_yield(), 0);
}

static void takes_huge(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_subscribe("huge", NULL), 0);
    want_int(weft_group_join("huge"), 0);
    want_int(weft_register("huge"), 0);
    want_int(say(k.parent, DONE, 0), 0);
    weft_msg *m;
    want_int(k.n == 0 || weft_recv_tag(&m, GO, WEFT_FOREVER) == 0, 1);
    if (k.n > 0) weft_msg_free(m);
    for (int64_t i = 0; i < k.n; i++) {
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        weft_msg_free(m);
    }
    want_int(say(k.parent, DONE, 0), 0);
}

enum { BY_SEND, BY_NAME, BY_PUBLISH, BY_GROUP, BY_AFTER, BY_CALL, HUGE_WAYS };

static int send_huge(int way, weft_pid to)
{
    weft_msg *answer = NULL;
    int rc = way == BY_SEND      ? weft_send(to, DATA, huge, HUGE_SIZE)
             : way == BY_NAME    ? weft_send_name("huge", DATA, huge, HUGE_SIZE)
             : way == BY_PUBLISH ? weft_publish("huge", DATA, huge, HUGE_SIZE)
             : way == BY_GROUP   ? weft_group_send("huge", DATA, huge, HUGE_SIZE)
             : way == BY_AFTER   ? weft_send_after(WEFT_SEC(9), to, DATA, huge, HUGE_SIZE, NULL)
                                 : weft_call(to, DATA, huge, HUGE_SIZE, &answer, WEFT_NOW);
    weft_msg_free(answer);
    return rc;
}

/* A large message takes as long as thousands of small ones: it is the only one in a turn. */
static void huge_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int way = 0; way < HUGE_WAYS; way++) {
        weft_spawn_options there = {.worker = 1, .mailbox_bytes = SIZE_MAX};
        int64_t comes = way == BY_AFTER || way == BY_CALL ? 0 : HUGE_COUNT;
        weft_pid to = kid_with(takes_huge, (struct kid){.n = comes}, &there);
        hear(DONE);
        others_end = false;
        weft_pid other = kid_on(1, runs_beside, 0);
        want_int(weft_yield(), 0);
        int64_t before = others_ran;
        for (int i = 0; i < HUGE_COUNT; i++) (void)send_huge(way, to);
        want(others_ran - before >= HUGE_COUNT - 1);
        before = others_ran;
        if (comes > 0) {
            want_int(say(to, GO, 0), 0);
            hear(DONE);
            want(others_ran - before >= HUGE_COUNT - 1); /* the memory is given back one by one, too */
        }
        others_end = true;
        await_end(other);
        (void)weft_stop(to);
        await_end(to);
    }
}

/* An actor ends with a mailbox of large messages. */
static void remains_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const struct wf_remains *remains = &wf_node_of(wf_here)->remains[wf_here->index];
    weft_spawn_options there = {.worker = 1, .mailbox_bytes = SIZE_MAX};
    weft_pid to = kid_with(takes_huge, (struct kid){.n = HUGE_COUNT}, &there);
    hear(DONE);
    for (int i = 0; i < HUGE_COUNT; i++) want_int(weft_send(to, DATA, huge, HUGE_SIZE), 0);
    others_end = false;
    weft_pid other = kid_on(1, runs_beside, 0);
    uint64_t unread = drops(weft_here(), WF_DROP_UNREAD);
    int64_t before = others_ran;
    want_int(weft_kill(to), 0);
    await_end(to);
    want_int((int64_t)(drops(weft_here(), WF_DROP_UNREAD) - unread), HUGE_COUNT);
    while (remains->first != NULL) want_int(weft_yield(), 0);
    /* Where malloc makes all blocks, for Valgrind and the sanitizers, they are freed at once. */
    want(wf_here->pool.bypass || others_ran - before >= HUGE_COUNT - 3);
    others_end = true;
    await_end(other);
    to = kid_with(takes_huge, (struct kid){.n = HUGE_COUNT}, &there);
    hear(DONE);
    for (int i = 0; i < HUGE_COUNT; i++) want_int(weft_send(to, DATA, huge, HUGE_SIZE), 0);
    want_int(weft_kill(to), 0); /* the node ends meanwhile, and frees what is left */
}

START_TEST(the_large_messages_of_an_actor_that_ends_are_freed_in_parts)
{
    run_on(1, remains_body);
}
END_TEST

START_TEST(a_turn_copies_or_frees_few_large_messages)
{
    run_on(1, huge_body);
}
END_TEST

/* ---- Space that is made by dropping ----------------------------------------------------------------------------- */

static void waits_for_one(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_subscribe_options o = {.slow = WEFT_SLOW_DROP_OLDEST, .max = 1};
    weft_msg *m;
    if (k.n == 1) want_int(weft_subscribe_with("one", &o, NULL), 0);
    want_int(say(k.parent, GO, 0), 0);
    want_int(weft_recv_tag(&m, DONE, WEFT_FOREVER), 0);
    want_int(say(k.parent, DONE, value_of(m)), 0);
    weft_msg_free(m);
    if (k.n == 1) { /* it is told that it has lost some */
        want_int(weft_recv_tag(&m, WEFT_TAG_SUBSCRIPTION, WEFT_NOW), 0);
        weft_msg_free(m);
    }
    want_int(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT);
}

static void tell_or_publish(weft_pid to, bool publish, uint32_t tag, int64_t value)
{
    if (publish) want_int(weft_publish("one", tag, &value, sizeof value), 1);
    else want_int(say(to, tag, value), 0);
    want_int(weft_yield(), 0);
}

/* An actor that waits for one kind of message has looked at all messages in its mailbox. If there is no space, they
 * are dropped one by one. */
static void looked_at_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int how = 0; how < 2; how++) {
        weft_spawn_options o = {.worker = 1, .mailbox_max = how == 0, .policy = how == 0 ? WEFT_FULL_DROP_OLDEST : 0};
        weft_pid to = kid_with(waits_for_one, (struct kid){.n = how}, &o);
        hear_only(GO);
        want_int(weft_yield(), 0);
        for (int64_t i = 0; i < 3; i++) tell_or_publish(to, how == 1, OTHER, i);
        tell_or_publish(to, how == 1, DONE, 7);
        want_int(hear(DONE), 7);
        await_end(to);
        want_int(drops(weft_here(), how == 0 ? WF_DROP_FULL : WF_DROP_SLOW_READER), 3);
    }
}

START_TEST(messages_that_were_looked_at_may_be_dropped)
{
    run_on(1, looked_at_body);
}
END_TEST

TEST_MAIN("backpressure", a_full_mailbox_suspends_its_senders_and_loses_nothing,
          a_burst_to_another_worker_is_not_lost, space_in_an_almost_full_mailbox_is_used,
          a_message_that_is_taken_makes_space_for_one, space_in_an_almost_full_mailbox_is_used,
          no_sender_of_the_same_worker_overtakes_one_that_waits, the_send_timeout_ends_in_efull,
          a_call_with_a_deadline_long_past_waits_for_no_space,
          a_message_that_is_taken_is_no_space_while_the_byte_budget_is_used_up,
          waiting_senders_are_stopped_killed_and_told_of_the_receivers_end, many_senders_share_a_mailbox_of_one_place,
          space_that_a_stopped_sender_leaves_goes_to_the_next, a_sender_that_was_told_of_space_has_it,
          senders_wait_for_a_congested_worker, the_large_messages_of_an_actor_that_ends_are_freed_in_parts,
          a_turn_copies_or_frees_few_large_messages, the_bytes_under_way_to_a_worker_are_bounded,
          messages_that_were_looked_at_may_be_dropped)

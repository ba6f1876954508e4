/* The order of senders that wait for space: the cases of models/space.pml, on real workers. */
#include "../node_harness.h"

enum { DATA = 1, ASK, LOOKED };
static _Atomic int stage, arrived, held, released;
static _Atomic uint32_t most_asked;

static void reach(int at)
{
    atomic_store(&stage, at);
}

static void await_stage(int at)
{
    until(atomic_load(&stage) >= at);
}

/* Nothing else runs on its worker meanwhile. */
static void hog(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int64_t bit = ((const struct kid *)arg)->n;
    atomic_fetch_or(&held, (int)bit);
    while ((atomic_load(&released) & bit) == 0) pf_cpu_relax();
}

static void hold_worker(int worker)
{
    kid_on(worker, hog, 1 << worker);
    until((atomic_load(&held) & 1 << worker) != 0);
}

static void release_worker(int worker)
{
    atomic_fetch_or(&released, 1 << worker);
}

static void send_one(const void *arg, size_t size)
{
    (void)size;
    if (say(((const struct kid *)arg)->other, DATA, 0) == 0) atomic_fetch_add(&arrived, 1);
    uint32_t asked = wf_actor_self()->space_asked;
    if (asked > atomic_load(&most_asked)) atomic_store(&most_asked, asked);
}

static void look(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    await_wait(k.other, k.n == 0 ? "space in a mailbox" : "space at a worker");
    want_int(say(k.parent, LOOKED, 0), 0);
}

static void count_mail(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    until(wf_mail_count(peek(k.other)) == (uint32_t)k.n);
    want_int(say(k.parent, LOOKED, 0), 0);
}

/* Waits until that many senders wait for space in the mailbox. */
static void count_space(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    for (int64_t n = -1; n != k.n; wf_task_yield()) {
        n = 0;
        const struct wf_actor_more *more = peek(k.other)->more;
        const weft_msg *m = more == NULL || more->backlog == NULL ? NULL : more->backlog->space.first;
        for (; m != NULL; m = (const weft_msg *)m->post.next) n++;
    }
    want_int(say(k.parent, LOOKED, 0), 0);
}

static weft_spawn_options beside(weft_pid p)
{
    return (weft_spawn_options){.worker = (int)wf_id_worker(p.actor) + 1};
}

/* Sends it so many; it has them all. */
static void fill(weft_pid to, int64_t n)
{
    weft_spawn_options there = beside(to);
    for (int64_t i = 0; i < n; i++) want_int(say(to, DATA, 0), 0);
    kid_with(count_mail, (struct kid){.other = to, .n = n}, &there);
    hear(LOOKED);
}

/* As await_wait, for an actor on another worker. */
static void await_wait_there(weft_pid p, bool at_worker)
{
    weft_spawn_options there = beside(p);
    kid_with(look, (struct kid){.other = p, .n = at_worker}, &there);
    hear(LOOKED);
}

static void run_three(weft_actor *body)
{
    atomic_store(&stage, 0), atomic_store(&arrived, 0), atomic_store(&held, 0), atomic_store(&released, 0);
    atomic_store(&most_asked, 0);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 3, .send_timeout = WEFT_FOREVER));
    node_spawn(n, 3, body);
    node_end(n);
}

/* ---- A request that has expired in a full mailbox -------------------------------------------------------------- */

static void wait_any_then_hear(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_stage(1);
    weft_wait mailbox = weft_on_mailbox();
    want_int(weft_wait_any(&mailbox, 1, WEFT_FOREVER), 0);
    hear(DATA);
}

static void ask_in_vain(const void *arg, size_t size)
{
    (void)size;
    weft_msg *answer;
    want_int(weft_call(((const struct kid *)arg)->other, ASK, NULL, 0, &answer, soon()), WEFT_ETIMEDOUT);
}

static void expired_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_with(wait_any_then_hear, (struct kid){.n = 0},
                           &(weft_spawn_options){.mailbox_max = 1, .worker = 3});
    weft_pid asker = kid_with(ask_in_vain, (struct kid){.other = to}, &(weft_spawn_options){.worker = 3});
    until(wf_mail_count(peek(to)) == 1);
    weft_pid sender = kid_with(send_one, (struct kid){.other = to}, &(weft_spawn_options){.worker = 3});
    await_wait(sender, "space in a mailbox");
    await_end(asker);
    reach(1);
    await_end(to);
    want_int(atomic_load(&arrived), 1);
}

START_TEST(an_expired_request_in_a_full_mailbox_makes_space)
{
    run_three(expired_body);
}
END_TEST

/* ---- Told of a place, and then the lane is full ---------------------------------------------------------------- */

/* Takes two messages, and tells no sender again of the place of the first. */
static void take_two(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_stage(1);
    hear(DATA);
    reach(2);
    await_stage(3);
    hear(DATA);
}

static void swallow(const void *arg, size_t size)
{
    (void)size;
    for (int64_t i = ((const struct kid *)arg)->n; i > 0; i--) hear(DATA);
}

static void place_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { SOME = WF_INBOX_MAX + 100 };
    struct wf_worker *first = wf_here->set->at[0];
    weft_spawn_options big = {.worker = 1, .mailbox_max = 1u << 20};
    weft_pid to = kid_with(take_two, (struct kid){.n = 0}, &(weft_spawn_options){.mailbox_max = 1, .worker = 1});
    weft_pid sink = kid_with(swallow, (struct kid){.n = SOME}, &big);
    fill(to, 1);
    weft_pid one = kid_with(send_one, (struct kid){.other = to}, &(weft_spawn_options){.worker = 2});
    await_wait_there(one, false);
    weft_pid two = kid_with(send_one, (struct kid){.other = to}, &(weft_spawn_options){.worker = 2});
    await_wait_there(two, false);
    weft_spawn_options there = beside(to);
    kid_with(count_space, (struct kid){.other = to, .n = 2}, &there);
    hear(LOOKED);
    hold_worker(2);
    reach(1);
    await_stage(2); /* `one` is told */
    hold_worker(1);
    int64_t sent = 0;
    while (!wf_worker_is_congested(first)) {
        want_int(try_say(sink, DATA, 0), 0);
        if (++sent % 64 == 0) wf_task_yield();
    }
    release_worker(2);
    await_wait_there(one, true);
    want_int(weft_stop(one), 0);
    await_end(one);
    release_worker(1);
    await_end(two); /* it has the place, without a turn of the receiver */
    reach(3);
    for (; sent < SOME; sent++) want_int(say(sink, DATA, 0), 0);
    await_end(to);
    want_int(atomic_load(&arrived), 1);
}

START_TEST(a_place_that_was_promised_and_given_up_goes_to_the_next)
{
    run_three(place_body);
}
END_TEST

/* ---- News of an earlier question ------------------------------------------------------------------------------- */

static _Atomic bool asks_again;

/* Takes one while its own worker hears of nothing. */
static void take_unheard(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_stage(1);
    reach(2);
    while (atomic_load(&stage) < 3) pf_cpu_relax();
    hear(DATA);
    hear(DATA);
}

static void ask_twice(const void *arg, size_t size)
{
    (void)size;
    weft_pid to = ((const struct kid *)arg)->other;
    weft_msg *answer;
    /* Waits until the place that becomes free is promised to this request. */
    do want_int(weft_call(to, ASK, NULL, 0, &answer, soon()), WEFT_EFULL);
    while (atomic_load(&stage) < 2);
    atomic_store(&asks_again, true);
    if (say(to, DATA, 0) == 0) atomic_fetch_add(&arrived, 1);
    atomic_store(&most_asked, wf_actor_self()->space_asked);
}

static void earlier_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    atomic_store(&asks_again, false);
    weft_pid to = kid_with(take_unheard, (struct kid){.n = 0}, &(weft_spawn_options){.mailbox_max = 1, .worker = 1});
    fill(to, 1);
    weft_pid from = kid_with(ask_twice, (struct kid){.other = to}, &(weft_spawn_options){.worker = 2});
    weft_spawn_options there = beside(to);
    kid_with(count_space, (struct kid){.other = to, .n = 1}, &there);
    hear(LOOKED);
    reach(1);
    until(atomic_load(&asks_again));
    await_wait_there(from, false);
    reach(3);
    await_end(from);
    await_end(to);
    want_int(atomic_load(&arrived), 1);
    want(atomic_load(&most_asked) >= 2);
    want_int(drops(weft_here(), WF_DROP_FULL), 0);
}

START_TEST(news_of_an_earlier_question_answer_no_later_one)
{
    run_three(earlier_body);
}
END_TEST

/* ---- A crowd --------------------------------------------------------------------------------------------------- */

enum { CROWD = 200, BOUND = 8 };

static void hear_all(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_stage(1);
    for (int i = 0; i < BOUND + CROWD; i++) hear(DATA);
}

static void crowd_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = kid_with(hear_all, (struct kid){.n = 0}, &(weft_spawn_options){.mailbox_max = BOUND, .worker = 1});
    weft_pid all[CROWD];
    fill(to, BOUND);
    for (int i = 0; i < CROWD; i++) {
        all[i] = kid_with(send_one, (struct kid){.other = to}, &(weft_spawn_options){.worker = 2});
        await_wait_there(all[i], false);
    }
    reach(1);
    await_end(to);
    for (int i = 0; i < CROWD; i++) await_end(all[i]);
    want_int(atomic_load(&arrived), CROWD);
    want_int(atomic_load(&most_asked), 1);
}

START_TEST(a_sender_that_was_told_of_space_need_not_ask_again)
{
    run_three(crowd_body);
}
END_TEST

TEST_MAIN("backpressure_turn", an_expired_request_in_a_full_mailbox_makes_space,
          a_place_that_was_promised_and_given_up_goes_to_the_next, news_of_an_earlier_question_answer_no_later_one,
          a_sender_that_was_told_of_space_need_not_ask_again)

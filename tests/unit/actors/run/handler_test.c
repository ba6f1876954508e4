/* Handlers: ownership of messages, waits inside of a handler, pools, and that handlers without a message have no
 * stack. */
#include "handlers.h"

#include <weft/pool.h>

/* ---- Messages and state ---------------------------------------------------------------------------------------- */

static void orders(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        weft_pid p = handler_with(count_up, (struct counter){.sum = 5}, worker);
        int64_t expected = 5;
        for (int i = 0; i < 500; i++) { /* far more than one turn takes */
            want_int(say(p, DATA, i), 0);
            expected = (int64_t)((uint64_t)expected * 3 + (uint64_t)i);
        }
        want_int(ask(p) == expected, 1);
        want_int(weft_stop(p), 0);
    }
}

static void nothing(void *state, weft_msg *m)
{
    (void)m;
    want(state == NULL);
}

/* An argument of up to eight bytes is stored in the actor itself. */
static void tells_state(void *state, weft_msg *m)
{
    want_int(weft_reply(m, ASK, state, *(const unsigned char *)state), 0);
    ++((unsigned char *)state)[*(const unsigned char *)state - 1];
}

static void sizes(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (unsigned char n = 2; n <= 40; n++) {
        unsigned char state[40] = {n};
        for (unsigned char i = 1; i < n; i++) state[i] = (unsigned char)(i * n);
        weft_pid p;
        weft_msg *m;
        want_int(weft_spawn_handler(&p, tells_state, state, n, NULL), 0);
        for (int round = 0; round < 3; round++, state[n - 1]++) {
            want_int(weft_call(p, ASK, NULL, 0, &m, WEFT_FOREVER), 0);
            want_int(weft_size(m), n);
            want_int(memcmp(weft_data(m), state, n), 0);
            weft_msg_free(m);
        }
        want_int(n % 2 == 0 ? weft_stop(p) : weft_kill(p), 0);
    }
}

static void arguments(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    weft_pid p;
    int64_t state = 1;
    want_int(weft_spawn_handler(&p, NULL, NULL, 0, NULL), WEFT_EINVAL);
    want_int(weft_spawn_handler(&p, nothing, NULL, 1, NULL), WEFT_EINVAL);
    want_int(weft_spawn_handler(&p, nothing, &state, 65537, NULL), WEFT_EINVAL);
    want_int(weft_handle(NULL, NULL, 0), WEFT_EINVAL);
    want_int(weft_spawn_handler(&p, nothing, NULL, 0, NULL), 0);
    want_int(weft_call(p, ASK, NULL, 0, &m, WEFT_FOREVER), WEFT_ENOREPLY); /* freed without an answer */
    m = weft_msg_new(DATA, 0);
    want_int(weft_msg_keep(m), WEFT_EINVAL);
    weft_msg_free(m);
    want_int(weft_stop(p), 0);
}

/* Sends on what it gets, but for what it keeps: that it answers later. */
static void juggle(void *state, weft_msg *m)
{
    static weft_msg *kept[3];
    static int count;
    struct counter *c = state;
    switch (weft_tag(m)) {
    case DATA:
        want_int(weft_send_msg(c->parent, m), 0);
        want_int(weft_msg_keep(m), WEFT_EINVAL);
        return;
    case KEEP:
        want_int(weft_msg_keep(m), 0);
        want_int(weft_msg_keep(m), WEFT_EINVAL);
        kept[count++] = m;
        return;
    default:
        while (count > 0) {
            weft_msg *ask = kept[--count];
            want_int(weft_reply(ask, KEEP, weft_data(ask), weft_size(ask)), 0);
            weft_msg_free(ask);
            m = count == 1 ? weft_msg_new(DATA, 0) : m; /* perhaps where the freed one was; stays held */
        }
    }
}

static void asks_late(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    want_int(weft_call(k.other, KEEP, &k.n, sizeof k.n, &m, WEFT_FOREVER), 0);
    want_int(value_of(m), k.n);
    want_int(say(k.parent, GO, k.n), 0);
}

static void ownership(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid p = handler_with(juggle, (struct counter){.sum = 0}, 1);
    want_int(say(p, DATA, 11), 0);
    want_int(hear(DATA), 11);
    int64_t sum = 0;
    for (int i = 1; i <= 3; i++) (void)kid_with(asks_late, (struct kid){.other = p, .n = i}, NULL);
    until(peek(p)->gone == 4); /* it has them all */
    want_int(weft_send(p, GIVE, NULL, 0), 0);
    for (int i = 1; i <= 3; i++) sum += hear(GO);
    want_int(sum, 6);
    want_int(weft_stop(p), 0);
}

START_TEST(a_handler_gets_its_messages_in_order_and_keeps_its_state)
{
    run_on(2, orders);
    run_on(2, sizes);
    run_on(1, arguments);
}
END_TEST

START_TEST(a_message_is_freed_unless_it_was_freed_sent_on_or_kept)
{
    run_on(1, ownership);
}
END_TEST

/* ---- Members of a pool ----------------------------------------------------------------------------------------- */
/* A message is outstanding until it is answered, freed or sent on: by the function, or after it has returned. One
 * that is kept stays so. With space for two the pool passes on no third one until then. */
static void works(void *state, weft_msg *m)
{
    static weft_msg *kept;
    weft_pid parent = *(const weft_pid *)state;
    switch (weft_tag(m)) {
    case ASK: want_int(weft_reply(m, ASK, weft_data(m), weft_size(m)), 0); return;
    case KEEP: want_int(weft_msg_keep(kept = m), 0); break;
    case GIVE: weft_msg_free(kept); break;
    case DATA: want_int(weft_send_msg(parent, m), 0); return;
    }
    want_int(say(parent, GO, 0), 0);
}

static void begins_work(const void *arg, size_t size)
{
    want_int(weft_handle(works, arg, size), 0);
}

static uint32_t outstanding(weft_pid pool)
{
    struct weft_pool_member member;
    want_int(weft_pool_inspect(pool, &(struct weft_pool_info){0}, &member, 1, WEFT_FOREVER), 1);
    return member.outstanding;
}

static void pooled(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pool, self = weft_self();
    weft_pool_options o = {.count = 1, .outstanding_max = 2};
    want_int(weft_spawn_pool(&pool, begins_work, &self, sizeof self, &o), 0);
    for (int i = 0; i < 20; i++) {
        want_int(ask_with(pool, i), i);
        want_int(say(pool, DATA, i), 0);
        want_int(hear(DATA), i);
        want_int(say(pool, GO, i), 0);
        (void)hear(GO);
    }
    until(outstanding(pool) == 0);
    want_int(say(pool, KEEP, 0), 0);
    (void)hear(GO);
    until(outstanding(pool) == 1);
    want_int(say(pool, GO, 0), 0);
    (void)hear(GO);
    until(outstanding(pool) == 1);
    want_int(say(pool, GIVE, 0), 0);
    (void)hear(GO);
    until(outstanding(pool) == 0);
    want_int(weft_pool_stop(pool, WEFT_FOREVER), 0);
}

START_TEST(a_handler_may_be_a_member_of_a_pool)
{
    run_on(1, pooled);
    run_on(2, pooled);
}
END_TEST

/* ---- Waiting inside -------------------------------------------------------------------------------------------- */

static void slow_echo(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (weft_msg *m; weft_recv(&m, WEFT_FOREVER) == 0; weft_msg_free(m)) {
        (void)weft_yield();
        want_int(weft_reply(m, ASK, weft_data(m), weft_size(m)), 0);
    }
}

/* A handler may wait in each way, and gets the next message only after that. */
static void waits(void *state, weft_msg *m)
{
    struct counter *c = state;
    int64_t n = value_of(m);
    weft_msg *answer, *second;
    want_int(n, c->calls++);
    want_int(weft_call(c->other, ASK, &n, sizeof n, &answer, WEFT_FOREVER), 0);
    want_int(value_of(answer), n);
    weft_msg_free(answer);
    want_int(weft_sleep(weft_after(WEFT_US(1))), 0);
    if (n == 3) {
        want_int(weft_recv(&second, WEFT_FOREVER), 0); /* takes one from the loop */
        want_int(value_of(second), c->calls++);
        want_int(weft_recv_tag(&answer, GIVE, WEFT_FOREVER), 0); /* and one out of turn */
        weft_msg_free(answer);
    }
    want_int(value_of(m), n);
    if (n == 9) want_int(say(c->parent, GO, n), 0);
}

static void waiting(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        weft_pid echo = kid_on(1, slow_echo, 0);
        weft_pid p = handler_with(waits, (struct counter){.other = echo}, worker);
        for (int i = 0; i < 10; i++) want_int(say(p, DATA, i), 0);
        want_int(weft_send(p, GIVE, NULL, 0), 0);
        want_int(hear(GO), 9);
        want_int(weft_stop(p), 0);
        want_int(weft_stop(echo), 0);
    }
}

START_TEST(a_handler_may_wait_and_then_gets_the_next_message)
{
    run_on(2, waiting);
}
END_TEST

/* ---- Stacks ---------------------------------------------------------------------------------------------------- */

static size_t stacks_in_use(void)
{
    size_t in_use, ever;
    wf_stack_counts(wf_here->stacks, &in_use, &ever);
    return in_use;
}

static size_t most_stacks;

static void pass_on(void *state, weft_msg *m)
{
    struct counter *c = state;
    most_stacks = WF_MAX(most_stacks, stacks_in_use());
    c->calls++;
    want_int(weft_send_msg(weft_pid_is_nobody(c->other) ? c->parent : c->other, m), 0);
}

static void many(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const int count = under_tools() ? 300 : 1000000;
    weft_pid *all = calloc((size_t)count, sizeof *all), next = weft_nobody();
    want(all != NULL);
    most_stacks = 0;
    for (int i = 0; i < count; i++) next = all[i] = handler_with(pass_on, (struct counter){.other = next}, 1);
    want_int(stacks_in_use(), 1);
    want_int(peek(all[0])->task.state, WF_TASK_STACKLESS);
    want_int(say(next, DATA, 5), 0); /* through all of them */
    want_int(hear(DATA), 5);
    want_int(most_stacks, 2);
    for (int i = 0; i < count; i++) want_int(weft_stop(all[i]), 0);
    want_int(wf_actors_of(wf_here)->alive[0], (uint32_t)count + 1);
    (void)weft_yield();
    until(wf_actors_of(wf_here)->alive[0] == 1);
    want_int(stacks_in_use(), 1);
    free(all);
}

static void wide(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const int count = under_tools() ? 200 : 20000;
    weft_pid *all = calloc((size_t)count, sizeof *all);
    want(all != NULL);
    most_stacks = 0;
    for (int i = 0; i < count; i++) all[i] = handler_with(pass_on, (struct counter){.calls = 0}, 1);
    for (int i = 0; i < count; i++) want_int(say(all[i], DATA, i), 0); /* all are woken at once */
    for (int i = 0; i < count; i++) want_int(hear(DATA), i);
    want(most_stacks <= 3);
    for (int i = 0; i < count; i++) want_int(weft_kill(all[i]), 0);
    free(all);
}

/* A handler with a full mailbox lets others run between. */
static void busy(void *state, weft_msg *m)
{
    struct counter *c = state;
    (void)m;
    c->calls++;
    c->sum = atomic_load((_Atomic int *)(uintptr_t)c->other.actor);
    if (c->calls == 1000) want_int(say(c->parent, GO, c->sum), 0);
}

static void takes_turns(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static _Atomic int turns;
    turns = 0;
    weft_pid p = handler_with(busy, (struct counter){.other = {0, (uintptr_t)&turns}}, 1);
    for (int i = 0; i < 1000; i++) want_int(weft_try_send(p, DATA, NULL, 0), 0);
    weft_msg *m;
    while (weft_recv(&m, WEFT_NOW) == WEFT_ETIMEDOUT) {
        turns++;
        (void)weft_yield();
    }
    want(value_of(m) >= 1000 / WF_TASK_BUDGET);
    weft_msg_free(m);
    want_int(weft_stop(p), 0);
}

START_TEST(handlers_between_messages_have_no_stack)
{
    run_on(1, many);
    run_on(1, wide);
}
END_TEST

START_TEST(a_handler_with_many_messages_lets_others_run)
{
    run_on(1, takes_turns);
}
END_TEST
TEST_MAIN("handler", a_handler_gets_its_messages_in_order_and_keeps_its_state,
          a_message_is_freed_unless_it_was_freed_sent_on_or_kept, a_handler_may_be_a_member_of_a_pool,
          a_handler_may_wait_and_then_gets_the_next_message, handlers_between_messages_have_no_stack,
          a_handler_with_many_messages_lets_others_run)

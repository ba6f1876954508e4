/* actors/mailbox/mailbox.c: the messages that a handler gets from a mailbox that has waited for it, and invalid
 * arguments. */
#include "../run/handlers.h"

/* It receives nothing until the test tells it to; then it is a handler. */
static _Atomic bool go;

static void collects(const void *arg, size_t size)
{
    struct counter c = {.parent = ((const struct kid *)arg)->parent};
    (void)size;
    if (((const struct kid *)arg)->n != 0) want_int(weft_subscribe("news", NULL), 0);
    want_int(weft_handle(count_up, &c, sizeof c), 0);
    want_int(say(c.parent, GO, 0), 0);
    until(go);
}

static weft_pid collector(int64_t subscribed, uint32_t most)
{
    go = false;
    weft_pid to = kid_with(collects, (struct kid){.n = subscribed},
                           &(weft_spawn_options){.worker = 1, .mailbox_max = most});
    want_int(hear(GO), 0);
    return to;
}

/* The number that count_up has counted. */
static int64_t sum_of(int64_t count)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++) sum = sum * 3 + (uint64_t)i;
    return (int64_t)sum;
}

static void expired(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    uint64_t before = drops(weft_here(), WF_DROP_EXPIRED);
    weft_pid to = collector(0, 0);
    for (int64_t i = 0; i < 3; i++) {
        want_int(say(to, DATA, i), 0);
        want_int(weft_call(to, ASK, NULL, 0, &m, weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
    }
    go = true;
    want(ask(to) == sum_of(3));
    want_int(drops(weft_here(), WF_DROP_EXPIRED) - before, 3);
    want_int(weft_stop(to), 0);
}

static void published(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = collector(1, 0), other = collector(1, 0);
    for (int64_t i = 0; i < 5; i++) want_int(weft_publish("news", DATA, &i, sizeof i), 2);
    go = true;
    want(ask(to) == sum_of(5));
    want(ask(other) == sum_of(5));
    want_int(weft_stop(to), 0);
    want_int(weft_stop(other), 0);
}

static void sends(const void *arg, size_t size)
{
    const struct kid *k = arg;
    (void)size;
    for (int64_t i = 0; i < k->n; i++) want_int(say(k->other, DATA, i), 0);
}

static void crowded(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (uint32_t most = 1; most <= 4; most += 3) {
        weft_pid to = collector(0, most);
        weft_pid from = kid_with(sends, (struct kid){.other = to, .n = 20}, &(weft_spawn_options){.worker = 1});
        await_wait(from, "space in a mailbox");
        go = true;
        await_end(from);
        want(ask(to) == sum_of(20));
        want_int(weft_stop(to), 0);
    }
    /* A handler that has received all messages makes space for the next waiting sender. */
    weft_pid to = collector(0, 1), from[4];
    for (int i = 0; i < 4; i++) {
        from[i] = kid_with(sends, (struct kid){.other = to, .n = 2}, &(weft_spawn_options){.worker = 1});
        await_wait(from[i], "space in a mailbox");
    }
    go = true;
    for (int i = 0; i < 4; i++) await_end(from[i]);
    want_int(drops(weft_here(), WF_DROP_FULL), 0);
    want_int(weft_stop(to), 0);
}

START_TEST(a_handler_is_given_what_has_waited_for_it)
{
    static weft_actor *const bodies[] = {expired, published, crowded};
    run_on(1, bodies[_i]);
}
END_TEST

static bool matches(const weft_msg *m, void *arg)
{
    (void)m, (void)arg;
    return true;
}

static void arguments(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    want_int(weft_recv_match(NULL, matches, NULL, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_recv_match(&m, NULL, NULL, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_recv_match(&m, matches, NULL, WEFT_NOW), WEFT_ETIMEDOUT);
}

START_TEST(bad_arguments_of_a_match_are_refused)
{
    weft_msg *m;
    ck_assert_int_eq(weft_recv(&m, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_recv_match(&m, matches, NULL, WEFT_NOW), WEFT_ENOTACTOR);
    run_on(1, arguments);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("mailbox of a handler");
    TCase *t = tcase_create("mailbox");
    tcase_add_loop_test(t, a_handler_is_given_what_has_waited_for_it, 0, 3);
    tcase_add_test(t, bad_arguments_of_a_match_are_refused);
    suite_add_tcase(s, t);
    return run_suite(s);
}

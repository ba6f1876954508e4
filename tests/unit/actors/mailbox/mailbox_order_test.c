/* actors/mailbox/mail_order.h: messages and the notification of their sender's end come in order, also if some are
 * received or dropped out of order. */
#include "../node_harness.h"

enum { A = 1, B = 2, OTHER = 3, GO = 4, FIRST_SENDER = 16 };

static weft_msg *next(void)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), 0);
    return m;
}

static void expect_next(uint32_t tag)
{
    weft_msg *m = next();
    want_int(weft_tag(m), tag);
    weft_msg_free(m);
}

static void send_two(const void *arg, size_t size)
{
    (void)size;
    const struct kid *k = arg;
    want_int(say(k->parent, A, 1), 0);
    want_int(say(k->parent, B, 2), 0);
}

static void send_other(const void *arg, size_t size)
{
    (void)size;
    want_int(say(((const struct kid *)arg)->parent, OTHER, 3), 0);
}

/* A, B, DOWN and OTHER wait. */
static void fill(int worker)
{
    weft_pid x;
    struct kid k = {.parent = weft_self()};
    weft_spawn_options o = {.worker = worker, .monitor = &(weft_monitor_ref){0}};
    want_int(weft_spawn(&x, send_two, &k, sizeof k, &o), 0);
    until(peek(weft_self())->signals.first != NULL);
    (void)kid_on(worker, send_other, 0);
    until(wf_mail_count(peek(weft_self())) == 3);
}

static void take_a_later_one(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        fill(worker);
        want_int(hear_only(OTHER), 3);
        expect_next(A);
        expect_next(B);
        expect_next(WEFT_TAG_DOWN);
        fill(worker);
        want_int(hear_only(B), 2);
        expect_next(A);
        expect_next(WEFT_TAG_DOWN);
        expect_next(OTHER);
    }
}

START_TEST(mail_that_is_taken_out_of_turn_lets_no_signal_overtake)
{
    run_on(2, take_a_later_one);
}
END_TEST

static bool is_any(const weft_msg *m, void *arg)
{
    (void)m, (void)arg;
    return true;
}

static void match_all(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const uint32_t tags[] = {A, B, WEFT_TAG_DOWN, OTHER};
    weft_msg *m;
    fill(1);
    for (size_t i = 0; i < WF_COUNT(tags); i++) {
        want_int(weft_recv_match(&m, is_any, NULL, WEFT_NOW), 0);
        want_int(weft_tag(m), tags[i]);
        weft_msg_free(m);
    }
}

START_TEST(a_match_of_mail_and_signals_takes_the_oldest)
{
    run_on(1, match_all);
}
END_TEST

/* Both come while it waits, in one turn. */
static void feed_both(const void *arg, size_t size)
{
    (void)size;
    const struct kid *k = arg;
    await_wait(k->parent, "mailbox");
    want_int(say(k->parent, OTHER, 1), 0);
    want_int(say(k->parent, A, 2), 0);
}

static bool is_a_or_down(const weft_msg *m, void *arg)
{
    (void)arg;
    return weft_tag(m) == A || weft_tag(m) == WEFT_TAG_DOWN;
}

static void match_while_waiting(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    struct kid k = {.parent = weft_self()};
    tell_news(weft_self()); /* a signal that it has passed over before it waits */
    until(peek(weft_self())->signals.first != NULL);
    want_int(weft_spawn(NULL, feed_both, &k, sizeof k,
                        &(weft_spawn_options){.worker = 1, .monitor = &(weft_monitor_ref){0}}),
             0);
    want_int(weft_recv_match(&m, is_a_or_down, NULL, WEFT_FOREVER), 0);
    want_int(weft_tag(m), A);
    weft_msg_free(m);
    until(peek(weft_self())->signals.first != peek(weft_self())->signals.last);
    expect_next(WEFT_TAG_NODE_UP);
    expect_next(OTHER);
    expect_next(WEFT_TAG_DOWN);
}

START_TEST(a_match_that_waited_takes_the_oldest)
{
    run_on(1, match_while_waiting);
}
END_TEST

/* ---- Senders that end ------------------------------------------------------------------------------------------ */

enum { SENDERS = 8, EACH = 200 };

struct sender {
    weft_pid to;
    uint32_t number;
};

static void send_and_end(const void *arg, size_t size)
{
    (void)size;
    const struct sender *s = arg;
    for (int64_t i = 0; i < EACH; i++) want_int(say(s->to, FIRST_SENDER + s->number, i), 0);
}

static bool is_from(const weft_msg *m, void *pid)
{
    return weft_pid_equal(weft_from(m), *(const weft_pid *)pid);
}

static uint32_t sender_of(const weft_msg *m, const weft_pid *from)
{
    for (uint32_t i = 0; i < SENDERS; i++)
        if (weft_pid_equal(weft_from(m), from[i])) return i;
    want(false);
    return 0;
}

/* Receives in all ways that also return the DOWN of the sender. */
static void hear_senders(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid from[SENDERS];
    int64_t heard[SENDERS] = {0}, ends = 0, all = 0;
    weft_msg *m;
    for (uint32_t i = 0; i < SENDERS; i++) {
        struct sender s = {weft_self(), i};
        weft_spawn_options o = {.worker = 1 + (int)i % 3, .monitor = &(weft_monitor_ref){0}};
        want_int(weft_spawn(&from[i], send_and_end, &s, sizeof s, &o), 0);
    }
    for (uint32_t turn = 0; ends < SENDERS; turn++) {
        int rc = WEFT_ETIMEDOUT;
        if (turn % 3 == 0) rc = weft_recv_tag(&m, FIRST_SENDER + turn % SENDERS, WEFT_NOW);
        else if (turn % 3 == 1) rc = weft_recv_match(&m, is_from, &from[turn % SENDERS], WEFT_NOW);
        if (rc < 0) want_int(weft_recv(&m, WEFT_FOREVER), 0);
        uint32_t i = sender_of(m, from);
        if (weft_tag(m) == WEFT_TAG_DOWN) {
            want_int(heard[i], EACH);
            ends++;
        } else {
            want_int(value_of(m), heard[i]++);
            all++;
        }
        weft_msg_free(m);
    }
    want_int(all, SENDERS * EACH);
}

START_TEST(an_end_is_heard_after_all_that_was_sent_before)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 3, .send_timeout = WEFT_FOREVER));
    weft_spawn_options o = {.worker = 1, .mailbox_max = _i == 0 ? 0 : 20};
    want_int(weft_node_spawn(n, NULL, hear_senders, NULL, 0, &o), 0);
    node_end(n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("mailbox_order");
    TCase *t = tcase_create("mailbox_order");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, mail_that_is_taken_out_of_turn_lets_no_signal_overtake);
    tcase_add_test(t, a_match_of_mail_and_signals_takes_the_oldest);
    tcase_add_test(t, a_match_that_waited_takes_the_oldest);
    tcase_add_loop_test(t, an_end_is_heard_after_all_that_was_sent_before, 0, 2);
    suite_add_tcase(s, t);
    return run_suite(s);
}

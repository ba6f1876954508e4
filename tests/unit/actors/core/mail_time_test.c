/* tests/unit/actors/core/mail_time_test.c -- the time that messages spend in mailboxes: which messages are timed, and
 * how long. A test has its own clock, so spans are exact. */
#include "../testkit.h"

static const char slow[] = "slow", even[] = "even", odd[] = "odd";

/* The statistics of a kind; NULL: there are none. */
static const struct wf_histogram *mail_of(const char *kind)
{
    const struct wf_kind *k = wf_kind_find(&wf_actors_of(wf_here)->kinds, kind);
    return k == NULL ? NULL : k->mail;
}

static int64_t count_of(const char *kind)
{
    const struct wf_histogram *h = mail_of(kind);
    return h == NULL ? 0 : (int64_t)wf_histogram_count(h);
}

/* How many of them took so long, and not half as long. */
static int64_t about(const char *kind, int64_t span)
{
    const struct wf_histogram *h = mail_of(kind);
    int bits = 64 - __builtin_clzll((unsigned long long)span);
    return h == NULL ? 0 : (int64_t)(wf_histogram_below(h, bits) - wf_histogram_below(h, bits - 1));
}

/* ---- Stamps ---------------------------------------------------------------------------------------------------- */

START_TEST(a_stamp_holds_time_and_weight)
{
    static const int64_t times[] = {
        0, 15, 16, WEFT_SEC(1), INT64_C(1) << 56, (INT64_C(1) << 57) - 100, INT64_MAX / 2};
    static const int64_t spans[] = {0, 16, 1600, WEFT_MS(3), WEFT_SEC(100000)};
    for (size_t i = 0; i < WF_COUNT(times); i++) {
        for (size_t k = 0; k < WF_COUNT(spans); k++) { /* some of them go round */
            uint64_t stamp = wf_mail_stamp(times[i], 2047);
            ck_assert_uint_eq(wf_mail_stamp_weight(stamp), 2047);
            ck_assert_int_eq(wf_mail_stamp_span(stamp, times[i] + spans[k]), spans[k]);
        }
    }
    ck_assert_uint_ne(wf_mail_stamp(0, 1), 0);
}
END_TEST

/* ---- Which ones ------------------------------------------------------------------------------------------------ */

static void takes_all(void *state, weft_msg *m)
{
    (void)state, (void)m;
}

/* Of very many messages only a sample is measured, and not always of the same receiver. */
static void rush(const void *arg, size_t size)
{
    enum { MESSAGES = 200000 };
    weft_pid to[2];
    (void)arg, (void)size;
    want_int(weft_spawn_handler(&to[0], takes_all, NULL, 0, &(weft_spawn_options){.kind = even}), 0);
    want_int(weft_spawn_handler(&to[1], takes_all, NULL, 0, &(weft_spawn_options){.kind = odd}), 0);
    for (int64_t i = 0; i < MESSAGES; i++) want_int(say(to[i % 2], DATA, i), 0);
    want_int(weft_settle(), 0);
    want_int(wf_actors_of(wf_here)->timer.period, WF_MAIL_PERIOD_MAX);
    want(count_of(even) > MESSAGES / 2 * 3 / 4 && count_of(even) < MESSAGES / 2 * 5 / 4);
    want(count_of(odd) > MESSAGES / 2 * 3 / 4 && count_of(odd) < MESSAGES / 2 * 5 / 4);
    /* Later all of them are. */
    want_int(weft_advance(2 * WF_MAIL_QUIET), 0);
    int64_t before = count_of(odd);
    for (int i = 0; i < 20; i++) {
        want_int(weft_advance(WEFT_MS(10)), 0);
        want_int(say(to[1], DATA, i), 0);
    }
    want_int(weft_settle(), 0);
    want_int(count_of(odd) - before, 20);
    want_int(weft_stop(to[0]) + weft_stop(to[1]), 0);
}

START_TEST(a_sample_of_very_many_messages_is_timed)
{
    EXPECT_PASS(rush);
}
END_TEST

/* ---- How long -------------------------------------------------------------------------------------------------- */

static void nap(int64_t span)
{
    want_int(weft_sleep(weft_after(span)), 0);
}

/* Lets its mail lie for 5 ms, and takes one from the middle first. */
static void picks(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    nap(WEFT_MS(5));
    want_int(weft_recv_tag(&m, OTHER, WEFT_FOREVER), 0);
    want_int(m->post.flags, WF_MSG_SEND);
    weft_msg_free(m);
    nap(WEFT_MS(50));
    for (int i = 0; i < 2; i++) {
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        want_int(m->post.flags, WF_MSG_SEND);
        weft_msg_free(m);
    }
}

static void out_of_turn(const void *arg, size_t size)
{
    weft_pid to;
    (void)arg, (void)size;
    want_int(weft_spawn(&to, picks, NULL, 0, &(weft_spawn_options){.kind = slow}), 0);
    want_int(say(to, DATA, 0), 0);
    want_int(say(to, OTHER, 0), 0);
    want_int(say(to, DATA, 1), 0);
    want_int(weft_advance(WEFT_MS(100)), 0);
    /* The first three are timed, or stand for others. */
    want_int(count_of(slow), about(slow, WEFT_MS(5)) + about(slow, WEFT_MS(55)));
    want(about(slow, WEFT_MS(55)) > 0);
}

static void answers(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    for (int i = 0; i < 3; i++) {
        nap(WEFT_MS(20));
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        want(weft_wants_reply(m));
        want_int(wf_terms(m)->timed, 0);
        want_int(weft_reply(m, DATA, NULL, 0), 0);
        weft_msg_free(m);
    }
}

static void requests(const void *arg, size_t size)
{
    weft_pid to;
    weft_msg *m;
    (void)arg, (void)size;
    nap(WEFT_MS(10));
    want_int(weft_spawn(&to, answers, NULL, 0, &(weft_spawn_options){.kind = slow}), 0);
    for (int i = 0; i < 3; i++) {
        want_int(weft_call(to, ASK, NULL, 0, &m, WEFT_FOREVER), 0);
        weft_msg_free(m);
    }
    want_int(about(slow, WEFT_MS(20)), 3);
    want_int(count_of(slow), 3);
}

START_TEST(a_message_is_timed_from_its_arrival_to_its_receipt)
{
    EXPECT_PASS(out_of_turn);
    EXPECT_PASS(requests);
}
END_TEST

/* ---- What is not received -------------------------------------------------------------------------------------- */

static void takes_last(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    nap(WEFT_MS(100));
    while (weft_recv(&m, WEFT_NOW) == 0) weft_msg_free(m);
    nap(WEFT_MS(100)); /* what comes meanwhile stays unread */
}

static void lost(const void *arg, size_t size)
{
    weft_pid to;
    weft_spawn_options o = {.kind = slow, .mailbox_max = 1, .policy = WEFT_FULL_DROP_OLDEST};
    (void)arg, (void)size;
    want_int(weft_spawn(&to, takes_last, NULL, 0, &o), 0);
    for (int i = 0; i < 5; i++) {
        want_int(say(to, DATA, i), 0);
        nap(WEFT_MS(10));
    }
    nap(WEFT_MS(75));
    want_int(say(to, DATA, 9), 0);
    nap(WEFT_MS(200));
    want_int(count_of(slow), 1);
    want_int(about(slow, WEFT_MS(60)), 1);
    want_int((int64_t)wf_all_mail_bytes(wf_actors_of(wf_here)), 0);
}

START_TEST(a_dropped_message_is_not_timed)
{
    EXPECT_PASS(lost);
}
END_TEST

/* ---- What is published ----------------------------------------------------------------------------------------- */

static void hears(const void *arg, size_t size)
{
    weft_subscription s;
    weft_msg *m;
    int64_t rest = *(const int64_t *)arg;
    (void)size;
    if (rest >= 0) want_int(weft_subscribe("news", &s), 0);
    else want_int(weft_subscribe_with("news", &(weft_subscribe_options){.max = 500}, &s), 0);
    for (int i = 0; weft_recv(&m, WEFT_FOREVER) == 0; i++) {
        want_int(m->post.flags, WF_MSG_SEND);
        want_int((int64_t)m->ref, 0);
        weft_msg_free(m);
        if (rest != 0 && i % 100 == 0) nap(WEFT_MS(1));
    }
}

static void published(const void *arg, size_t size)
{
    enum { SUBSCRIBERS = 100, PUBLISHED = 1000, ALL = SUBSCRIBERS * PUBLISHED };
    static const char *const kinds[] = {even, odd, slow};
    static const int64_t rests[] = {0, 1, -1};
    weft_pid to[SUBSCRIBERS];
    (void)arg, (void)size;
    for (int i = 0; i < SUBSCRIBERS; i++) {
        int which = i < 40 ? 0 : i < 80 ? 1 : 2;
        want_int(
            weft_spawn(&to[i], hears, &rests[which], sizeof rests[0], &(weft_spawn_options){.kind = kinds[which]}),
            0);
    }
    want_int(weft_settle(), 0);
    for (int i = 0; i < PUBLISHED; i++) {
        want(weft_publish("news", DATA, NULL, 0) > 0);
        if (i % 10 == 0) want_int(weft_advance(WEFT_MS(5)), 0);
    }
    want_int(weft_advance(WEFT_SEC(1)), 0);
    for (int i = 0; i < 2; i++) want(count_of(kinds[i]) > ALL * 3 / 10 && count_of(kinds[i]) < ALL * 5 / 10);
    want(count_of(slow) > ALL * 14 / 100 && count_of(slow) < ALL * 26 / 100);
    for (int i = 0; i < SUBSCRIBERS; i++) want_int(weft_stop(to[i]), 0);
}

START_TEST(published_messages_are_timed_too)
{
    EXPECT_PASS(published);
}
END_TEST

/* A mailbox that fills slowly holds its publications as pointers, but for a few. */
static void stays_small(const void *arg, size_t size)
{
    enum { PUBLISHED = 1000 };
    static const int64_t rest = 0;
    weft_pid to;
    weft_subscription s;
    (void)arg, (void)size;
    want_int(weft_subscribe("news", &s), 0);
    want_int(weft_spawn(&to, hears, &rest, sizeof rest, NULL), 0);
    want_int(weft_settle(), 0);
    for (int i = 0; i < PUBLISHED; i++) {
        want(weft_publish("news", DATA, NULL, 0) > 0);
        want_int(weft_advance(WEFT_MS(10)), 0);
    }
    size_t each = wf_all_mail_bytes(wf_actors_of(wf_here)) / PUBLISHED;
    want(each < 24);
    weft_msg *m;
    for (int i = 0; i < PUBLISHED; i++) {
        want_int(weft_recv(&m, WEFT_NOW), 0);
        weft_msg_free(m);
    }
    want_int(weft_stop(to), 0);
}

START_TEST(slow_subscribers_stay_small)
{
    EXPECT_PASS(stays_small);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("time in mailboxes");
    TCase *t = tcase_create("mail time");
    tcase_add_test(t, a_stamp_holds_time_and_weight);
    tcase_add_test(t, a_sample_of_very_many_messages_is_timed);
    tcase_add_test(t, a_message_is_timed_from_its_arrival_to_its_receipt);
    tcase_add_test(t, a_dropped_message_is_not_timed);
    tcase_add_test(t, published_messages_are_timed_too);
    tcase_add_test(t, slow_subscribers_stay_small);
    suite_add_tcase(s, t);
    return run_suite(s);
}

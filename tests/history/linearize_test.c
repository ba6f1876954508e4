/* The checker of histories: histories of which it is known whether they are linearizable, and random ones, of which a
 * checker knows it that tries all orders. */
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "../unit/actors/random.h"
#include "linearize.h"
#include "models.h"
#include "queue_model.h"

static struct lin_history h;

static void setup(void)
{
    h = (struct lin_history){0};
}

static void teardown(void)
{
    lin_free(&h);
}

static void add(enum lin_status status, int64_t begin, int64_t end, uint32_t what, uint64_t in, uint64_t in_2,
                uint64_t out)
{
    lin_add(&h, (struct lin_op){.begin = begin,
                                .end = end,
                                .status = status,
                                .who = (uint32_t)h.count,
                                .what = what,
                                .key = 1,
                                .in = {in, in_2},
                                .out = out});
}

#define READ(begin, end, value) add(LIN_OK, begin, end, REGISTER_READ, 0, 0, value)
#define WRITE(status, begin, end, value) add(status, begin, end, REGISTER_WRITE, value, 0, 0)
#define CAS(status, begin, end, from, to, found) add(status, begin, end, REGISTER_CAS, from, to, found)
#define GET(begin, end, token) add(LIN_OK, begin, end, LOCK_ACQUIRE, 0, 0, token)
#define GIVE(status, begin, end, token) add(status, begin, end, LOCK_RELEASE, token, 0, 0)
#define APPEND(status, begin, end, value, offset) add(status, begin, end, LOG_APPEND, value, 0, offset)
#define RECORD(begin, end, offset, value) add(LIN_OK, begin, end, LOG_RECORD, offset, value, 0)
#define LAST(begin, end, offset) add(LIN_OK, begin, end, LOG_LAST, 0, 0, offset)

#define IS(model) ck_assert_int_eq(lin_check(&h, &(model), stderr), LIN_LINEARIZABLE)
#define IS_NOT(model) ck_assert_int_eq(lin_check(&h, &(model), NULL), LIN_NOT_LINEARIZABLE)

/* ---- A register ------------------------------------------------------------------------------------------------ */

START_TEST(an_empty_history_is_linearizable)
{
    IS(register_model);
}
END_TEST

START_TEST(a_read_during_a_write_may_have_either_value)
{
    WRITE(LIN_OK, 1, 10, 1);
    WRITE(LIN_OK, 11, 20, 2);
    READ(12, 13, 1);
    READ(14, 15, 2);
    IS(register_model);
}
END_TEST

START_TEST(a_value_does_not_come_back)
{
    WRITE(LIN_OK, 1, 10, 1);
    WRITE(LIN_OK, 11, 20, 2);
    READ(12, 13, 2);
    READ(14, 15, 1);
    IS_NOT(register_model);
}
END_TEST

START_TEST(a_stale_read_is_found)
{
    WRITE(LIN_OK, 1, 2, 1);
    WRITE(LIN_OK, 3, 4, 2);
    READ(5, 6, 1);
    IS_NOT(register_model);
}
END_TEST

START_TEST(a_read_that_began_before_the_write_ended_is_not_stale)
{
    WRITE(LIN_OK, 1, 2, 1);
    WRITE(LIN_OK, 3, 6, 2);
    READ(4, 7, 1);
    IS(register_model);
}
END_TEST

START_TEST(a_read_of_a_failed_write_is_found)
{
    WRITE(LIN_OK, 1, 2, 1);
    WRITE(LIN_FAIL, 3, 4, 2);
    READ(5, 6, 2);
    IS_NOT(register_model);
}
END_TEST

START_TEST(a_read_of_what_nobody_has_written_yet_is_found)
{
    READ(1, 2, 1);
    WRITE(LIN_OK, 3, 4, 1);
    IS_NOT(register_model);
}
END_TEST

START_TEST(an_unknown_write_may_take_effect_late_or_never)
{
    WRITE(LIN_UNKNOWN, 1, 0, 7);
    WRITE(LIN_OK, 2, 3, 1);
    READ(4, 5, 1);
    IS(register_model);
    READ(6, 7, 7);
    IS(register_model);
    READ(8, 9, 1); /* but it takes effect once */
    IS_NOT(register_model);
}
END_TEST

START_TEST(an_unknown_write_takes_no_effect_before_it_begins)
{
    READ(1, 2, 7);
    WRITE(LIN_UNKNOWN, 3, 0, 7);
    IS_NOT(register_model);
}
END_TEST

START_TEST(a_lost_update_is_found)
{
    READ(1, 2, 0);
    READ(3, 4, 0);
    CAS(LIN_OK, 5, 8, 0, 1, 0);
    CAS(LIN_OK, 6, 9, 0, 2, 0); /* one of the two has not seen the other */
    IS_NOT(register_model);
}
END_TEST

START_TEST(a_swap_that_finds_another_value_changes_nothing)
{
    CAS(LIN_OK, 1, 4, 0, 1, 0);
    CAS(LIN_OK, 2, 5, 0, 2, 1);
    READ(6, 7, 1);
    IS(register_model);
    CAS(LIN_OK, 8, 9, 2, 3, 2); /* 1 was there */
    IS_NOT(register_model);
}
END_TEST

START_TEST(keys_have_nothing_to_do_with_each_other)
{
    WRITE(LIN_OK, 1, 2, 1);
    READ(3, 4, 1);
    h.op[1].key = 2;
    IS_NOT(register_model);
    h.op[0].key = 2;
    IS(register_model);
}
END_TEST

/* ---- A lock ---------------------------------------------------------------------------------------------------- */

START_TEST(a_lock_goes_from_hand_to_hand)
{
    GET(1, 2, 10);
    GET(3, 9, 11);
    GIVE(LIN_OK, 5, 6, 10);
    IS(lock_model);
}
END_TEST

START_TEST(two_holders_are_found)
{
    GET(1, 2, 10);
    GET(3, 4, 11);
    GIVE(LIN_OK, 5, 6, 10);
    IS_NOT(lock_model);
}
END_TEST

START_TEST(a_lost_holder_may_give_a_lock_back_late_or_never)
{
    GET(1, 2, 10);
    GIVE(LIN_UNKNOWN, 5, 0, 10);
    IS(lock_model);
    GET(3, 6, 11);
    IS(lock_model);
    GET(3, 4, 12);
    IS_NOT(lock_model);
}
END_TEST

START_TEST(a_token_that_does_not_grow_is_found)
{
    GET(1, 2, 10);
    GIVE(LIN_OK, 3, 4, 10);
    GET(5, 6, 9);
    IS_NOT(lock_model);
}
END_TEST

/* ---- A log ----------------------------------------------------------------------------------------------------- */

START_TEST(records_are_where_their_append_says)
{
    APPEND(LIN_OK, 1, 4, 7, 2);
    APPEND(LIN_OK, 2, 5, 8, 1);
    RECORD(3, 6, 1, 8);
    RECORD(7, 8, 2, 7);
    LAST(9, 10, 2);
    IS(log_model);
}
END_TEST

START_TEST(an_append_that_is_lost_is_found)
{
    APPEND(LIN_OK, 1, 2, 7, 1);
    APPEND(LIN_OK, 3, 4, 8, 1);
    IS_NOT(log_model);
    h.count--;
    LAST(3, 4, 0);
    IS_NOT(log_model);
}
END_TEST

START_TEST(an_unknown_append_is_there_once_at_most)
{
    APPEND(LIN_UNKNOWN, 1, 0, 7, 0);
    APPEND(LIN_OK, 2, 3, 8, 1);
    LAST(4, 5, 1);
    IS(log_model);
    APPEND(LIN_OK, 6, 7, 9, 3);
    RECORD(8, 9, 2, 7);
    IS(log_model);
    APPEND(LIN_OK, 10, 11, 10, 5); /* what is at 4? */
    IS_NOT(log_model);
}
END_TEST

START_TEST(a_record_that_changes_is_found)
{
    APPEND(LIN_OK, 1, 2, 7, 1);
    RECORD(3, 4, 1, 8);
    IS_NOT(log_model);
}
END_TEST

/* ---- Recording, and the report --------------------------------------------------------------------------------- */

START_TEST(two_records_never_have_the_same_time)
{
    size_t a = lin_begin(&h, 5, (struct lin_op){.what = REGISTER_WRITE, .in = {1}});
    lin_end(&h, a, 5, LIN_OK, 0);
    size_t b = lin_begin(&h, 5, (struct lin_op){.what = REGISTER_READ});
    lin_end(&h, b, 5, LIN_OK, 0);
    ck_assert(h.op[0].begin == 5 && h.op[0].end == 6 && h.op[1].begin == 7 && h.op[1].end == 8);
    IS_NOT(register_model);
    size_t c = lin_begin(&h, 9, (struct lin_op){.what = REGISTER_READ});
    ck_assert_int_eq(h.op[c].status, LIN_UNKNOWN);
}
END_TEST

/* What the report says after the text, up to the end of its line. */
static bool says(const char *report, const char *text)
{
    return strstr(report, text) != NULL;
}

START_TEST(the_report_has_what_is_needed_and_no_more)
{
    char *text;
    size_t size;
    FILE *report = open_memstream(&text, &size);
    for (int i = 0; i < 30; i++) {
        WRITE(LIN_OK, 10 * i + 1, 10 * i + 2, 100 + (uint64_t)i);
        READ(10 * i + 3, 10 * i + 4, 100 + (uint64_t)i);
    }
    WRITE(LIN_UNKNOWN, 1, 0, 55);
    READ(305, 306, 128); /* 129 was written, and read, before */
    WRITE(LIN_OK, 307, 308, 200);
    READ(309, 310, 200);
    ck_assert_int_eq(lin_check(&h, &register_model, report), LIN_NOT_LINEARIZABLE);
    ck_assert_int_eq(fclose(report), 0);
    ck_assert_msg(says(text, "the value is 129"), "%s", text);
    ck_assert_msg(says(text, "reads 128") && says(text, "writes 129"), "%s", text);
    ck_assert_msg(!says(text, "200") && !says(text, "55") && !says(text, "reads 129") && !says(text, "writes 110"),
                  "%s", text);
    free(text);
}
END_TEST

/* ---- A cursor -------------------------------------------------------------------------------------------------- */

#define ADVANCE(status, begin, end, offset) add(status, begin, end, CURSOR_ADVANCE, offset, 0, 0)
#define REMOVE(status, begin, end) add(status, begin, end, CURSOR_REMOVE, 0, 0, 0)
#define FIND(begin, end, offset) add(LIN_OK, begin, end, CURSOR_READ, 0, 0, offset)

START_TEST(a_cursor_does_not_go_back)
{
    ADVANCE(LIN_OK, 1, 2, 5);
    ADVANCE(LIN_OK, 3, 4, 3);
    FIND(5, 6, 5);
    REMOVE(LIN_OK, 7, 8);
    FIND(9, 10, 0);
    IS(cursor_model);
    ADVANCE(LIN_OK, 11, 12, 7);
    ADVANCE(LIN_OK, 13, 14, 2);
    FIND(15, 16, 2);
    IS_NOT(cursor_model);
}
END_TEST

START_TEST(an_advance_that_is_lost_is_found)
{
    ADVANCE(LIN_OK, 1, 2, 5);
    ADVANCE(LIN_OK, 3, 4, 6);
    FIND(5, 6, 5);
    IS_NOT(cursor_model);
}
END_TEST

START_TEST(an_advance_that_has_failed_is_nowhere)
{
    ADVANCE(LIN_OK, 1, 2, 5);
    ADVANCE(LIN_UNKNOWN, 3, 0, 9);
    FIND(5, 6, 5);
    FIND(7, 8, 9);
    IS(cursor_model);
    h.op[1].status = LIN_FAIL;
    IS_NOT(cursor_model);
}
END_TEST

/* ---- A job of a queue ------------------------------------------------------------------------------------------ */

static void job_op(enum lin_status status, int64_t begin, int64_t end, uint32_t what, uint64_t a, uint64_t b,
                   uint64_t c, uint64_t out)
{
    add(status, begin, end, what, a, b, out);
    h.op[h.count - 1].in[2] = c;
}

/* Of the job 7, which the put 1 has made. */
#define PUT(begin, end, delayed, id) job_op(LIN_OK, begin, end, JOB_PUT, (uint64_t)(begin), delayed, 50, id)
#define TAKE(begin, end, lease, attempts) job_op(LIN_OK, begin, end, JOB_TAKE, 7, 1, lease, attempts)
#define DONE(status, begin, end, lease, is_accepted) job_op(status, begin, end, JOB_DONE, lease, 0, 0, is_accepted)
#define RETURN(begin, end, lease, delayed, grant) job_op(LIN_OK, begin, end, JOB_RETURN, lease, delayed, grant, 1)
#define EXTEND(begin, end, lease, grant) job_op(LIN_OK, begin, end, JOB_EXTEND, lease, 0, grant, 1)
#define DUE(begin, grant) job_op(LIN_UNKNOWN, begin, 0, JOB_DUE, grant, 0, 0, 0)
#define ENDS(begin, lease) job_op(LIN_UNKNOWN, begin, 0, JOB_END, lease, 0, 0, 0)
#define RETRY(begin, end, is_accepted) job_op(LIN_OK, begin, end, JOB_RETRY, 7, 0, 0, is_accepted)
#define FINAL(begin, found, attempts) job_op(LIN_OK, begin, (begin) + 1, JOB_FINAL, 7, 1, found, attempts)

START_TEST(a_job_goes_from_its_put_to_its_end)
{
    PUT(1, 2, 1, 7);
    DUE(5, 50);
    TAKE(3, 8, 60, 1); /* it was given after 5 */
    EXTEND(9, 10, 60, 61);
    DUE(20, 61);
    TAKE(15, 22, 62, 2);
    DONE(LIN_OK, 23, 24, 60, 0);
    RETURN(25, 26, 62, 0, 63);
    TAKE(27, 28, 64, 3);
    ENDS(29, 64);
    RETRY(30, 31, 1);
    TAKE(32, 33, 65, 1);
    DONE(LIN_OK, 34, 35, 65, 1);
    PUT(36, 37, 0, 7);
    FINAL(40, FOUND_NOTHING, 0);
    IS(job_model);
}
END_TEST

START_TEST(a_job_that_is_lost_is_found)
{
    PUT(1, 2, 0, 7);
    FINAL(3, FOUND_NOTHING, 0);
    IS_NOT(job_model);
}
END_TEST

START_TEST(a_job_that_comes_back_is_found)
{
    PUT(1, 2, 0, 7);
    TAKE(3, 4, 60, 1);
    DONE(LIN_OK, 5, 6, 60, 1);
    FINAL(7, FOUND_READY, 1);
    IS_NOT(job_model);
}
END_TEST

START_TEST(two_workers_with_a_job_are_found)
{
    PUT(1, 2, 0, 7);
    TAKE(3, 4, 60, 1);
    DUE(9, 60);
    TAKE(5, 10, 61, 2);
    IS(job_model);
    h.op[3].end = 8; /* before the lease is over */
    IS_NOT(job_model);
}
END_TEST

START_TEST(a_lease_that_was_extended_is_not_over)
{
    PUT(1, 2, 0, 7);
    TAKE(3, 4, 60, 1);
    DUE(9, 60);
    EXTEND(5, 6, 60, 61);
    TAKE(10, 11, 62, 2);
    IS_NOT(job_model);
}
END_TEST

START_TEST(a_job_that_is_done_with_an_old_lease_is_found)
{
    PUT(1, 2, 0, 7);
    TAKE(3, 4, 60, 1);
    DUE(5, 60);
    TAKE(6, 7, 61, 2);
    DONE(LIN_OK, 8, 9, 60, 1);
    IS_NOT(job_model);
}
END_TEST

START_TEST(a_valid_lease_that_is_refused_is_found)
{
    PUT(1, 2, 0, 7);
    TAKE(3, 4, 60, 1);
    DONE(LIN_OK, 5, 6, 60, 0);
    IS_NOT(job_model);
    h.op[1].in[3] = h.op[2].in[3] = 1; /* a taking whose result is lost cannot have it before it is due */
    IS_NOT(job_model);
    DUE(4, 60);
    IS(job_model);
}
END_TEST

START_TEST(a_delayed_job_that_is_given_too_soon_is_found)
{
    PUT(1, 2, 1, 7);
    DUE(9, 50);
    TAKE(3, 8, 60, 1);
    IS_NOT(job_model);
}
END_TEST

START_TEST(a_job_that_is_given_too_often_is_found)
{
    PUT(1, 2, 0, 7);
    TAKE(3, 4, 60, 1);
    RETURN(5, 6, 60, 0, 61);
    TAKE(7, 8, 62, 2);
    RETURN(9, 10, 62, 0, 63);
    TAKE(11, 12, 64, 3);
    RETURN(13, 14, 64, 0, 65);
    FINAL(30, FOUND_DEAD, 3);
    IS(job_model);
    TAKE(15, 16, 66, 4);
    IS_NOT(job_model);
}
END_TEST

START_TEST(an_attempt_that_nobody_has_made_is_found)
{
    PUT(1, 2, 0, 7);
    TAKE(3, 4, 60, 2);
    IS_NOT(job_model);
    h.op[1].in[3] = 1;
    IS(job_model);
}
END_TEST

START_TEST(a_key_that_stands_for_two_jobs_is_found)
{
    PUT(1, 2, 0, 7);
    PUT(3, 4, 0, 8);
    IS_NOT(job_model);
}
END_TEST

START_TEST(an_unknown_report_may_take_effect_late)
{
    PUT(1, 2, 0, 7);
    TAKE(3, 4, 60, 1);
    DONE(LIN_UNKNOWN, 5, 0, 60, 0);
    EXTEND(6, 7, 60, 61);
    DONE(LIN_OK, 8, 9, 60, 0);
    FINAL(10, FOUND_NOTHING, 0);
    IS(job_model);
}
END_TEST

/* ---- All orders ------------------------------------------------------------------------------------------------ */

struct orders {
    const struct lin_model *model;
    bool placed[16];
};

/* Whether what is left can be put into some order from this state on. */
static bool some_order(struct orders *o, const uint8_t *state)
{
    size_t left = 0;
    for (size_t i = 0; i < h.count; i++) left += h.op[i].status == LIN_OK && !o->placed[i];
    if (left == 0) return true;
    for (size_t i = 0; i < h.count; i++) {
        uint8_t next[LIN_STATE_MAX];
        bool is_next = !o->placed[i] && h.op[i].status != LIN_FAIL;
        for (size_t k = 0; k < h.count; k++)
            is_next = is_next && (o->placed[k] || h.op[k].status != LIN_OK || h.op[k].end >= h.op[i].begin);
        memcpy(next, state, o->model->state_size);
        if (!is_next || !o->model->step(next, &h.op[i])) continue;
        o->placed[i] = true;
        bool good = some_order(o, next);
        o->placed[i] = false;
        if (good) return true;
    }
    return false;
}

static void random_op(uint64_t *random, const struct lin_model *model)
{
    int64_t begin = random_below(random, 12);
    struct lin_op op = {.begin = begin, .end = begin + 1 + random_below(random, 6), .key = 1};
    op.status = random_below(random, 5) > 1 ? LIN_OK : random_below(random, 3) > 0 ? LIN_UNKNOWN : LIN_FAIL;
    bool locks = model == &lock_model;
    op.what = random_below(random, locks ? 2 : 3);
    op.in[0] = random_below(random, 3) + (locks ? 1 : 0);
    op.in[1] = random_below(random, 3);
    op.out = random_below(random, 3) + (locks ? 1 : 0);
    lin_add(&h, op);
}

START_TEST(the_checker_agrees_with_one_that_tries_all_orders)
{
    static const struct lin_model *const models[] = {&register_model, &lock_model, &log_model};
    size_t good = 0, bad = 0;
    FILE *report = fopen("/dev/null", "w");
    const uint64_t seeds = RUNNING_ON_VALGRIND ? 600 : 15000;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct orders o = {.model = models[seed % 3]};
        uint64_t random = seed;
        uint8_t state[LIN_STATE_MAX];
        h.count = 0;
        for (size_t n = 2 + random_below(&random, 5); n > 0; n--) random_op(&random, o.model);
        o.model->init(state);
        bool is = some_order(&o, state);
        enum lin_verdict verdict = lin_check(&h, o.model, report);
        ck_assert_msg(verdict == (is ? LIN_LINEARIZABLE : LIN_NOT_LINEARIZABLE), "seed %llu: %d, not %d",
                      (unsigned long long)seed, verdict, is);
        good += is;
        bad += !is;
    }
    fclose(report);
    ck_assert(good > seeds / 10 && bad > seeds / 10); /* both are tried */
}
END_TEST

/* Many operations at a time, most of them unknown: the cache has each configuration once, of which there are some ten thousand. */
START_TEST(the_cache_makes_long_histories_short)
{
    for (int i = 0; i < 6; i++) WRITE(LIN_UNKNOWN, 1, 0, 1 + (uint64_t)i % 3);
    for (int i = 0; i < (RUNNING_ON_VALGRIND ? 20 : 200); i++) {
        WRITE(LIN_OK, 10 * i + 2, 10 * i + 15, 4 + (uint64_t)i);
        READ(10 * i + 3, 10 * i + 18, 4 + (uint64_t)i);
    }
    IS(register_model);
    READ(5000, 5001, 4);
    IS_NOT(register_model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linearizability");
    TCase *c = tcase_create("histories");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, an_empty_history_is_linearizable);
    tcase_add_test(c, a_read_during_a_write_may_have_either_value);
    tcase_add_test(c, a_value_does_not_come_back);
    tcase_add_test(c, a_stale_read_is_found);
    tcase_add_test(c, a_read_that_began_before_the_write_ended_is_not_stale);
    tcase_add_test(c, a_read_of_a_failed_write_is_found);
    tcase_add_test(c, a_read_of_what_nobody_has_written_yet_is_found);
    tcase_add_test(c, an_unknown_write_may_take_effect_late_or_never);
    tcase_add_test(c, an_unknown_write_takes_no_effect_before_it_begins);
    tcase_add_test(c, a_lost_update_is_found);
    tcase_add_test(c, a_swap_that_finds_another_value_changes_nothing);
    tcase_add_test(c, keys_have_nothing_to_do_with_each_other);
    tcase_add_test(c, a_lock_goes_from_hand_to_hand);
    tcase_add_test(c, two_holders_are_found);
    tcase_add_test(c, a_lost_holder_may_give_a_lock_back_late_or_never);
    tcase_add_test(c, a_token_that_does_not_grow_is_found);
    tcase_add_test(c, records_are_where_their_append_says);
    tcase_add_test(c, an_append_that_is_lost_is_found);
    tcase_add_test(c, an_unknown_append_is_there_once_at_most);
    tcase_add_test(c, a_record_that_changes_is_found);
    tcase_add_test(c, a_cursor_does_not_go_back);
    tcase_add_test(c, an_advance_that_is_lost_is_found);
    tcase_add_test(c, an_advance_that_has_failed_is_nowhere);
    tcase_add_test(c, a_job_goes_from_its_put_to_its_end);
    tcase_add_test(c, a_job_that_is_lost_is_found);
    tcase_add_test(c, a_job_that_comes_back_is_found);
    tcase_add_test(c, two_workers_with_a_job_are_found);
    tcase_add_test(c, a_lease_that_was_extended_is_not_over);
    tcase_add_test(c, a_job_that_is_done_with_an_old_lease_is_found);
    tcase_add_test(c, a_valid_lease_that_is_refused_is_found);
    tcase_add_test(c, a_delayed_job_that_is_given_too_soon_is_found);
    tcase_add_test(c, a_job_that_is_given_too_often_is_found);
    tcase_add_test(c, an_attempt_that_nobody_has_made_is_found);
    tcase_add_test(c, a_key_that_stands_for_two_jobs_is_found);
    tcase_add_test(c, an_unknown_report_may_take_effect_late);
    tcase_add_test(c, two_records_never_have_the_same_time);
    tcase_add_test(c, the_report_has_what_is_needed_and_no_more);
    tcase_add_test(c, the_checker_agrees_with_one_that_tries_all_orders);
    tcase_add_test(c, the_cache_makes_long_histories_short);
    return run_suite(suite);
}

/* runtime/platform/limit: limits that are drawn, as in the build of ./dev states. */
#define WF_STATES 1
#include "../../../suite.h"

#include "../../../../runtime/platform/limit.c"

static int64_t small(void)
{
    return WF_LIMIT("a small limit", 4, 1);
}

static int64_t size_of_batch(void)
{
    return WF_LIMIT("a batch", 32768, 1024);
}

static int64_t elsewhere(void)
{
    return WF_LIMIT("a batch", 32768, 1024);
}

START_TEST(a_limit_without_a_seed_has_its_value)
{
    ck_assert_int_eq(size_of_batch(), 32768);
    wf_limits_draw(1, false);
    (void)size_of_batch();
    wf_limits_draw(0, false);
    ck_assert_int_eq(size_of_batch(), 32768);
}
END_TEST

START_TEST(a_seed_has_one_value_for_all_uses)
{
    uint32_t least = 0, next = 0, tenth = 0, all = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        wf_limits_draw(seed, false);
        const int64_t value = size_of_batch(), few = small();
        ck_assert_int_eq(elsewhere(), value);
        ck_assert(value >= 1024 && value <= 32768);
        ck_assert(few >= 1 && few <= 4);
        least += value == 1024;
        next += value == 1025;
        tenth += value == 3276;
        all += value == 32768;
        wf_limits_draw(seed + 1, false);
        (void)size_of_batch();
        wf_limits_draw(seed, false);
        ck_assert_int_eq(size_of_batch(), value); /* again */
    }
    ck_assert_msg(least > 50 && next > 50 && tenth > 50 && all > 200, "%u %u %u %u", least, next, tenth, all);
    wf_limits_draw(0, false);
}
END_TEST

START_TEST(limits_differ_in_one_seed)
{
    uint32_t both = 0, one = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        wf_limits_draw(seed, false);
        const bool batch = size_of_batch() != 32768, few = small() != 4;
        both += batch && few;
        one += batch != few;
    }
    ck_assert_msg(both > 50 && one > 50, "%u %u", both, one);
    wf_limits_draw(0, false);
}
END_TEST

START_TEST(the_environment_may_choose_which_limits_are_drawn)
{
    uint32_t batch = 0, few = 0;
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(setenv("WEFT_LIMITS", round == 0 ? "nothing,batch" : "nothing", 1), 0);
        for (uint64_t seed = 1; seed <= 200; seed++) {
            wf_limits_draw(seed, false);
            batch += round == 0 && size_of_batch() != 32768;
            few += small() != 4 || (round == 1 && size_of_batch() != 32768);
        }
    }
    ck_assert_int_eq(unsetenv("WEFT_LIMITS"), 0);
    wf_limits_draw(0, false);
    ck_assert_uint_gt(batch, 20);
    ck_assert_uint_eq(few, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("limit");
    TCase *t = tcase_create("limits");
    tcase_add_test(t, a_limit_without_a_seed_has_its_value);
    tcase_add_test(t, a_seed_has_one_value_for_all_uses);
    tcase_add_test(t, limits_differ_in_one_seed);
    tcase_add_test(t, the_environment_may_choose_which_limits_are_drawn);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

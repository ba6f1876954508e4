/* Credit without memory: sent messages are not counted then, but are counted again as soon as there is memory. */
#include "../../../suite.h"
#include "../../alloc_faults.h"

#include "credit.h"
#include "link_writer.h"

enum { KEYS = 40 };

/* Check allocates, too: so nothing is compared meanwhile. */
START_TEST(credit_is_right_after_the_failure_of_each_allocation)
{
    const struct wf_credit *found[KEYS];
    struct wf_link_writer writer = {0};
    wf_credits_init(&writer.credits, true, 7);
    faults_arm(_i, false);
    for (uint64_t i = 0; i < KEYS; i++) found[i] = wf_credit_find(NULL, &writer, i + 1, i % 2 == 0 ? "name" : NULL);
    long failed = faults_disarm();
    ck_assert_int_eq(failed, 1);
    for (uint64_t i = 0; i < KEYS; i++) ck_assert(found[i] == &writer.credits.spill || found[i]->key == i + 1);
    for (uint64_t i = 0; i < KEYS; i++) ck_assert_uint_eq(wf_credit_find(NULL, &writer, i + 1, NULL)->key, i + 1);
    wf_credits_finish(&writer.credits);
}
END_TEST

/* Each turn clears only one entry, but makes progress, also over empty buckets. */
START_TEST(credit_is_cleared_in_parts_of_one_entry)
{
    struct wf_link_writer writer = {0};
    wf_credits_init(&writer.credits, true, 7);
    for (uint64_t i = 0; i < KEYS; i++) ck_assert_ptr_nonnull(wf_credit_find(NULL, &writer, i + 1, NULL));
    const uint32_t enough = 2 * writer.credits.table.bucket_count;
    uint32_t turns = 0;
    while (turns < enough && !wf_credits_clear(&writer.credits, 1)) turns++;
    ck_assert_uint_lt(turns, enough);
    ck_assert_uint_eq(writer.credits.table.count, 0);
    wf_credits_finish(&writer.credits);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("credit without memory");
    TCase *t = tcase_create("find");
    tcase_add_test(t, credit_is_cleared_in_parts_of_one_entry);
    tcase_add_loop_test(t, credit_is_right_after_the_failure_of_each_allocation, 0, 20);
    suite_add_tcase(s, t);
    return run_suite(s);
}

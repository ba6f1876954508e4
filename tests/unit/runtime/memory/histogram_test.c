/* tests/unit/runtime/memory/histogram_test.c -- spans in buckets. */
#include <check.h>

#include "histogram.h"
#include "../../../suite.h"

/* The bucket that one span is counted in. */
static int place_of(int64_t ns)
{
    struct wf_histogram h = {.sum = 0};
    wf_histogram_add(&h, ns, 1);
    for (int i = 0; i < WF_SPAN_BUCKETS; i++)
        if (h.bucket[i] == 1) return i;
    ck_abort_msg("the span is in no bucket");
    return -1;
}

START_TEST(bounds_rise_by_a_quarter_at_most)
{
    ck_assert_int_eq(wf_histogram_bound(0), 256);
    ck_assert_int_eq(wf_histogram_bound(1), 320);
    for (int i = 1; i < WF_SPAN_BUCKETS - 1; i++) {
        int64_t below = wf_histogram_bound(i - 1), bound = wf_histogram_bound(i);
        ck_assert_int_gt(bound, below);
        ck_assert_int_le(bound - below, below / 4);
        ck_assert_int_eq(place_of(below), i);
        ck_assert_int_eq(place_of(bound - 1), i);
        ck_assert_int_eq(place_of(bound), i + 1);
    }
    ck_assert_int_eq(place_of(-5), 0);
    ck_assert_int_eq(place_of(0), 0);
    ck_assert_int_eq(place_of(INT64_MAX), WF_SPAN_BUCKETS - 1);
    ck_assert_int_eq(wf_histogram_bound(WF_SPAN_BUCKETS - 2), INT64_C(1) << WF_SPAN_BITS_MAX);
}
END_TEST

START_TEST(counts_of_spans_are_found_by_quantile_and_bound)
{
    struct wf_histogram h = {.sum = 0}, other = {.sum = 0};
    ck_assert_int_eq(wf_histogram_quantile(&h, 0.5), -1);
    wf_histogram_add(&h, 1000, 98);
    wf_histogram_add(&h, 1000000, 1);
    wf_histogram_add(&other, INT64_C(1) << 40, 1);
    wf_histogram_add(&other, -1, 0);
    wf_histogram_merge(&h, &other);
    ck_assert_uint_eq(wf_histogram_count(&h), 100);
    ck_assert(h.sum == 98 * 1e3 + 1e6 + (double)(INT64_C(1) << 40));
    ck_assert_int_eq(wf_histogram_quantile(&h, 0), 1024);
    ck_assert_int_eq(wf_histogram_quantile(&h, 0.98), 1024);
    ck_assert_int_eq(wf_histogram_quantile(&h, 0.99), 1 << 20);
    ck_assert_int_eq(wf_histogram_quantile(&h, 1), INT64_C(2) << WF_SPAN_BITS_MAX);
    ck_assert_uint_eq(wf_histogram_below(&h, WF_SPAN_BITS_MIN), 0);
    ck_assert_uint_eq(wf_histogram_below(&h, 9), 0);
    ck_assert_uint_eq(wf_histogram_below(&h, 10), 98);
    ck_assert_uint_eq(wf_histogram_below(&h, 19), 98);
    ck_assert_uint_eq(wf_histogram_below(&h, 20), 99);
    ck_assert_uint_eq(wf_histogram_below(&h, WF_SPAN_BITS_MAX), 99);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("histogram");
    TCase *t = tcase_create("histogram");
    tcase_add_test(t, bounds_rise_by_a_quarter_at_most);
    tcase_add_test(t, counts_of_spans_are_found_by_quantile_and_bound);
    suite_add_tcase(s, t);
    return run_suite(s);
}

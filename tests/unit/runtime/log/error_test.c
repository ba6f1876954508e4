/* tests/unit/runtime/log/error_test.c -- error codes travel between nodes of different versions: none may change. */
#include <check.h>
#include <stdlib.h>

#include <weft/error.h>

#include "../../../suite.h"

static const struct {
    int code;
    const char *name;
} PINNED[] = {
    {-1, "WEFT_EINVAL"},     {-2, "WEFT_ENOMEM"},     {-3, "WEFT_ETIMEDOUT"},  {-4, "WEFT_ECANCELED"},
    {-5, "WEFT_ECLOSED"},    {-6, "WEFT_ENOACTOR"},   {-7, "WEFT_ENONODE"},    {-8, "WEFT_EFULL"},
    {-9, "WEFT_EFORMAT"},    {-10, "WEFT_ESYSTEM"},   {-11, "WEFT_EEXIST"},    {-12, "WEFT_ETOOBIG"},
    {-13, "WEFT_EADDRESS"},  {-14, "WEFT_EINUSE"},    {-15, "WEFT_EREFUSED"},  {-16, "WEFT_ERESET"},
    {-17, "WEFT_EACCESS"},   {-18, "WEFT_ENOTACTOR"}, {-19, "WEFT_ENOTFOUND"}, {-20, "WEFT_EBUSY"},
    {-21, "WEFT_ENOREPLY"},  {-22, "WEFT_EDEADLOCK"}, {-23, "WEFT_ECHILD"},    {-24, "WEFT_ENOETCD"},
    {-25, "WEFT_EMINORITY"}, {-26, "WEFT_ENOTSUP"},   {-27, "WEFT_ENOSPC"},    {-28, "WEFT_EISDIR"},
    {-29, "WEFT_ENOHOST"},   {-30, "WEFT_ETLS"},      {-31, "WEFT_EDRAINING"}, {-32, "WEFT_ENOBODY"},
};
enum { PINNED_COUNT = (int)(sizeof PINNED / sizeof PINNED[0]) };

START_TEST(codes_keep_their_numbers)
{
    for (int i = 0; i < PINNED_COUNT; i++) {
        ck_assert_int_eq(PINNED[i].code, -(i + 1));
        ck_assert_str_eq(weft_error_name(PINNED[i].code), PINNED[i].name);
        ck_assert_str_ne(weft_strerror(PINNED[i].code), "unknown error");
    }
}
END_TEST

START_TEST(the_list_has_no_holes_and_new_codes_are_pinned_here)
{
    int count = 0;
#define COUNT(name, code, text) count += (code) >= -PINNED_COUNT ? 1 : 1000;
    WEFT_ERRORS(COUNT)
#undef COUNT
    ck_assert_int_eq(count, PINNED_COUNT);
}
END_TEST

START_TEST(a_number_that_is_no_error_code_has_a_text_too)
{
    ck_assert_str_eq(weft_error_name(WEFT_OK), "WEFT_OK");
    ck_assert_str_eq(weft_strerror(42), "no error");
    ck_assert_str_eq(weft_error_name(-1000), "WEFT_UNKNOWN");
    ck_assert_str_eq(weft_strerror(-1000), "unknown error");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("error");
    TCase *c = tcase_create("error");
    tcase_add_test(c, codes_keep_their_numbers);
    tcase_add_test(c, the_list_has_no_holes_and_new_codes_are_pinned_here);
    tcase_add_test(c, a_number_that_is_no_error_code_has_a_text_too);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}

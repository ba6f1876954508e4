/* tests/unit/runtime/memory/utf8_test.c -- texts that are cut end with a whole character. */
#include <check.h>
#include <string.h>

#include "utf8.h"
#include "../../../suite.h"

static const char *const CHARACTERS[] = {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};

START_TEST(a_text_that_is_cut_ends_with_a_whole_character)
{
    for (size_t before = 0; before < 4; before++) {
        for (size_t last = 0; last < 4; last++) {
            char text[16];
            size_t start = strlen(CHARACTERS[before]), bytes = strlen(CHARACTERS[last]);
            memcpy(text, CHARACTERS[before], start);
            memcpy(text + start, CHARACTERS[last], bytes);
            ck_assert_uint_eq(wf_utf8_whole(text, start + bytes), start + bytes);
            for (size_t missing = 1; missing <= bytes; missing++)
                ck_assert_uint_eq(wf_utf8_whole(text, start + bytes - missing), start);
        }
    }
    ck_assert_uint_eq(wf_utf8_whole("", 0), 0);
}
END_TEST

START_TEST(a_text_that_is_not_utf8_stays_nearly_whole)
{
    ck_assert_uint_eq(wf_utf8_whole("\x80\x80\x80\x80\x80", 5), 5);
    ck_assert_uint_eq(wf_utf8_whole("\x80", 1), 1);
    ck_assert_uint_eq(wf_utf8_whole("a\xFF", 2), 1);
    ck_assert_uint_eq(wf_utf8_whole("\xE2", 1), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("utf8");
    TCase *t = tcase_create("utf8");
    tcase_add_test(t, a_text_that_is_cut_ends_with_a_whole_character);
    tcase_add_test(t, a_text_that_is_not_utf8_stays_nearly_whole);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

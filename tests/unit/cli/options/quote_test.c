/* What messages show of a text: a part, and nothing that a terminal would obey. */
#include "quote.h"

#include "../../../suite.h"

static const struct {
    const char *text, *quoted;
} quotes[] = {
    {"", "''"},
    {"a b", "'a b'"},
    {"\x1b[31m\n", "'\\x1B[31m\\x0A'"},
    {"caf\xC3\xA9", "'caf\xC3\xA9'"},
    {"\xE2\x80\xAE\xFF", "'\\xE2\\x80\\xAE\\xFF'"}, /* turns the direction; no UTF-8 */
    {"0123456789012345678901234567890123456789012345678901234567890123",
     "'0123456789012345678901234567890123456789012345678901234567890123'"},
    {"01234567890123456789012345678901234567890123456789012345678901234",
     "'0123456789012345678901234567890123456789012345678901234567890123...' (65 bytes)"},
    /* It is not cut within a letter. */
    {"012345678901234567890123456789012345678901234567890123456789012\xC3\xA9",
     "'012345678901234567890123456789012345678901234567890123456789012...' (65 bytes)"},
};

START_TEST(a_quoted_text_is_short_and_plain)
{
    char out[CLI_QUOTED];
    ck_assert_str_eq(cli_quote(out, quotes[_i].text, strlen(quotes[_i].text)), quotes[_i].quoted);
    ck_assert_str_eq(CLI_QUOTE(quotes[_i].text), quotes[_i].quoted);
}
END_TEST

START_TEST(a_quoted_text_of_controls_has_the_space)
{
    char text[CLI_QUOTE_BYTES + 2];
    memset(text, '\x01', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    const char *quoted = CLI_QUOTE(text);
    ck_assert_uint_lt(strlen(quoted), CLI_QUOTED);
    ck_assert_ptr_nonnull(strstr(quoted, "\\x01...' (65 bytes)"));
}
END_TEST

START_TEST(the_name_of_a_file_is_cut_only_if_it_is_very_long)
{
    char path[CLI_PATH_BYTES + 2];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    ck_assert_ptr_nonnull(strstr(CLI_PATH(path), "x...' (251 bytes)"));
    path[CLI_PATH_BYTES] = '\0';
    ck_assert_ptr_eq(CLI_PATH(path), path);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("quote");
    TCase *t = tcase_create("quote");
    tcase_add_loop_test(t, a_quoted_text_is_short_and_plain, 0, WF_COUNT(quotes));
    tcase_add_test(t, a_quoted_text_of_controls_has_the_space);
    tcase_add_test(t, the_name_of_a_file_is_cut_only_if_it_is_very_long);
    suite_add_tcase(s, t);
    return run_suite(s);
}

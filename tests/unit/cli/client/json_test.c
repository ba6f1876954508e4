/* Bodies of messages as JSON: reading, printing, and a lack of memory. */
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "compat.h"

#include "../../../capture.h"
#include "../../../suite.h"
#include "../../alloc_faults.h"

/* ---- What it needs of the rest of the command ------------------------------------------------------------------ */

static char failure[256];
int cli_fail(const struct cli *c, int code, const char *format, ...)
{
    (void)c;
    va_list args;
    va_start(args, format);
    vsnprintf(failure, sizeof failure, format, args);
    va_end(args);
    return code;
}

static enum { FILES, NO_FILES, FULL_DISK } scratch;
FILE *cli_scratch(void)
{
    return scratch == FILES ? tmpfile() : scratch == FULL_DISK ? fopen("/dev/null", "re") : NULL;
}

static bool no_copy; /* strdup is the C library's own affair */
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
    return no_copy ? NULL : __real_strdup(text);
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

static const struct cli_verb verb = {.name = "send"};
static char said[4096];

static int read_json(const char *text, struct cli_body *out)
{
    *out = (struct cli_body){0};
    capture_state err = capture_start();
    int rc = cli_body_from_json(&(struct cli){.verb = &verb}, text, out);
    (void)capture_end(&err, said, sizeof said);
    return rc;
}

static const char *shown(void (*print)(FILE *, const void *, size_t), const void *data, size_t size)
{
    static char text[8192];
    memset(text, 0, sizeof text);
    FILE *out = fmemopen(text, sizeof text, "w");
    ck_assert_ptr_nonnull(out);
    print(out, data, size);
    fclose(out);
    return text;
}

START_TEST(json_there_and_back)
{
    static const char *const same[] = {"null",
                                       "true",
                                       "false",
                                       "0",
                                       "-1",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       "1.5",
                                       "0.1",
                                       "1.0",
                                       "\"\"",
                                       "\"text\"",
                                       "\"\\\"\\\\\\n\\t\\u0001\\u007f\"",
                                       "\"\\u0000\"",
                                       "[]",
                                       "[1, [2, []], \"x\"]",
                                       "{}",
                                       "{\"a\": {\"b\": [null]}, \"c\": 1e+100}",
                                       "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82\""};
    struct cli_body body;
    for (size_t i = 0; i < WF_COUNT(same); i++) {
        ck_assert_int_eq(read_json(same[i], &body), CLI_OK);
        ck_assert_str_eq(shown(cli_print_json, body.data, body.size), same[i]);
        ck_assert_str_eq(shown(cli_print_body, body.data, body.size), same[i]);
        free(body.data);
    }
}
END_TEST

START_TEST(a_body_that_is_no_json_is_refused_with_its_place)
{
    static const char *const bad[] = {"", "x", "[1", "1 2", "{\"a\":1,\"a\":2}", "\"\xff\"", "1e999"};
    struct cli_body body;
    for (size_t i = 0; i < WF_COUNT(bad); i++) {
        ck_assert_int_eq(read_json(bad[i], &body), CLI_USAGE);
        ck_assert_ptr_nonnull(strstr(failure, "the body is not JSON: line 1, column"));
        ck_assert_ptr_nonnull(strstr(said, "--text TEXT sends bytes as they are"));
        ck_assert_ptr_null(body.data);
    }
}
END_TEST

START_TEST(nesting_is_bounded)
{
    char text[2 * WEFT_NEST_MAX + 8];
    struct cli_body body;
    for (int kind = 0; kind < 3; kind++) {
        int deep = WEFT_NEST_MAX - (kind == 0), at = 0;
        for (int i = 0; i < deep; i++) text[at++] = '[';
        strcpy(text + at, kind == 1 ? "[]" : kind == 2 ? "{}" : "1");
        for (at += (int)strlen(text + at); at < 2 * deep + (kind == 0 ? 1 : 2);) text[at++] = ']';
        text[at] = '\0';
        ck_assert_int_eq(read_json(text, &body), kind == 0 ? CLI_OK : CLI_USAGE);
        if (kind > 0) ck_assert_str_eq(failure, "the body nests deeper than 32 levels");
        free(body.data);
    }
}
END_TEST

START_TEST(a_body_has_a_largest_size)
{
    size_t size = WEFT_MESSAGE_MAX + 3;
    char *text = malloc(size + 1);
    ck_assert_ptr_nonnull(text);
    memset(text, 'x', size);
    text[0] = text[size - 1] = '"';
    text[size] = '\0';
    struct cli_body body;
    ck_assert_int_eq(read_json(text, &body), CLI_USAGE);
    ck_assert_str_eq(failure, "the body is larger than 16 MiB");
    free(text);
}
END_TEST

START_TEST(two_bodies_are_refused)
{
    const char *words[] = {"to", "[1]"};
    struct cli c = {.verb = &verb, .argc = 2, .argv = words};
    struct cli_body body = {0};
    ck_assert_int_eq(cli_body(&c, 1, &body), CLI_OK);
    ck_assert_uint_eq(body.size, 2);
    free(body.data);
    c.text = "abc";
    ck_assert_int_eq(cli_body(&c, 1, &body), CLI_USAGE);
    ck_assert_str_eq(failure, "'[1]' and --text are two bodies; give one of them");
    c.argc = 1;
    ck_assert_int_eq(cli_body(&c, 1, &body), CLI_OK);
    ck_assert_uint_eq(body.size, 3);
    ck_assert_mem_eq(body.data, "abc", 3);
    free(body.data);
    no_copy = true;
    ck_assert_int_eq(cli_body(&c, 1, &body), CLI_FAILED);
    no_copy = false;
    ck_assert_str_eq(failure, "out of memory");
    c.text = NULL;
    capture_state err = capture_start();
    ck_assert_int_eq(cli_body(&c, 1, &body), CLI_USAGE);
    (void)capture_end(&err, said, sizeof said);
    ck_assert_str_eq(failure, "there is no body: give it as JSON, or with --text");
    ck_assert_str_eq(said, "See 'weft send --help'.\n");
}
END_TEST

/* ---- Printing -------------------------------------------------------------------------------------------------- */

START_TEST(text_that_is_no_utf8_is_shown_with_replacements)
{
    static const struct {
        const char *bytes, *json, *plain;
    } cases[] = {
        {"\x80", "\"\\ufffd\"", "\\x80"},
        {"\xc1\x80", "\"\\ufffd\\ufffd\"", "\\xc1\\x80"},
        {"\xc3", "\"\\ufffd\"", "\\xc3"},
        {"\xc3x", "\"\\ufffdx\"", "\\xc3x"},
        {"\xe0\x9f\x80", "\"\\ufffd\\ufffd\\ufffd\"", "\\xe0\\x9f\\x80"},
        {"\xe0\xa0\x80", "\"\xe0\xa0\x80\"", "\xe0\xa0\x80"},
        {"\xed\x9f\xbf", "\"\xed\x9f\xbf\"", "\xed\x9f\xbf"},
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"", "\\xed\\xa0\\x80"},
        {"\xf0\x8f\xbf\xbf", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"", "\\xf0\\x8f\\xbf\\xbf"},
        {"\xf0\x90\x80\x80", "\"\xf0\x90\x80\x80\"", "\xf0\x90\x80\x80"},
        {"\xf1\x80\x80\x80", "\"\xf1\x80\x80\x80\"", "\xf1\x80\x80\x80"},
        {"\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\"", "\xf4\x8f\xbf\xbf"},
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"", "\\xf4\\x90\\x80\\x80"},
        {"\xf5", "\"\\ufffd\"", "\\xf5"},
        {"\xc2\x9b", "\"\\u009b\"", "\\xc2\\x9b"},
        {"\xc2\xa0", "\"\xc2\xa0\"", "\xc2\xa0"},
        {"a\xe2\x80\xae"
         "b",
         "\"a\\u202eb\"",
         "a\\xe2\\x80\\xae"
         "b"},
        {"\xe2\x81\xa9", "\"\\u2069\"", "\\xe2\\x81\\xa9"},
        {"ab\\\n\x1b\x7f", "\"ab\\\\\\n\\u001b\\u007f\"", "ab\\\\\\x0a\\x1b\\x7f"},
    };
    for (size_t i = 0; i < WF_COUNT(cases); i++) {
        ck_assert_str_eq(
            shown((void (*)(FILE *, const void *, size_t))cli_print_string, cases[i].bytes, strlen(cases[i].bytes)),
            cases[i].json);
        /* A number with more behind it is no msgpack. */
        char text[32];
        snprintf(text, sizeof text, "1%s", cases[i].bytes);
        const char *plain = shown(cli_print_body, text, strlen(text));
        ck_assert_int_eq(plain[0], '1');
        ck_assert_str_eq(plain + 1, cases[i].plain);
    }
    ck_assert_str_eq(shown(cli_print_body, "", 0), "");
}
END_TEST

START_TEST(msgpack_values_without_a_form_in_json_are_shown)
{
    static const struct {
        const char *bytes, *json;
        size_t size;
    } cases[] = {
        {"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00", "null", 9}, /* infinity */
        {"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615", 9},
        {"\xc4\x02\x00\xff", "{\"$bin\": \"00ff\"}", 4},
        {"\xd4\x05\x0a", "{\"$ext\": \"d4050a\"}", 3},
        {"\x82\x01\x02\xc0\x03", "{\"1\": 2, \"null\": 3}", 5}, /* keys that are no text */
        {"\x81\xa1k\x91\x07", "{\"k\": [7]}", 5},
    };
    for (size_t i = 0; i < WF_COUNT(cases); i++)
        ck_assert_str_eq(shown(cli_print_json, cases[i].bytes, cases[i].size), cases[i].json);
}
END_TEST

/* Each key is in quotes, which are escaped in the key around it, and so are the escapes: 2^n characters. */
START_TEST(maps_as_keys_are_shown_in_bounded_space)
{
    ck_assert_str_eq(shown(cli_print_json, "\x81\x81\xc0\xc0\xc0", 5), "{\"{\\\"null\\\": null}\": null}");
    ck_assert_str_eq(shown(cli_print_json, "\x81\x81\x81\xc0\xc0\xc0\xc0", 7),
                     "{\"{\\\"$pack 81c0c0\\\": null}\": null}");
    ck_assert_str_eq(shown(cli_print_json, "\x81\x91\x81\x91\x01\x02\x03", 7), "{\"[{\\\"$pack 9101\\\": 2}]\": 3}");
    char deep[2 * 12 + 1];
    memset(deep, 0x81, 12);
    memset(deep + 12, 0xc0, 13);
    ck_assert_uint_lt(strlen(shown(cli_print_json, deep, sizeof deep)), 100);
}
END_TEST

START_TEST(keys_that_find_no_scratch_file_are_shown_as_empty)
{
    static const char key[] = "\x82\x01\x02\xa1k\x03"; /* {1: 2, "k": 3} */
    for (scratch = NO_FILES; scratch <= FULL_DISK; scratch++)
        ck_assert_str_eq(shown(cli_print_json, key, 6), "{\"\": 2, \"k\": 3}");
}
END_TEST

/* ---- Without memory -------------------------------------------------------------------------------------------- */

START_TEST(a_body_without_memory)
{
    struct cli_body body;
    json_set_alloc_funcs(malloc, free);
    int rc = CLI_FAILED;
    long n = 0;
    for (; rc != CLI_OK; n++) {
        body = (struct cli_body){0};
        long before = faults.live;
        capture_state err = capture_start();
        faults_arm(n, false);
        rc = cli_body_from_json(&(struct cli){.verb = &verb}, "{\"a\": [1, \"x\", 2.5]}", &body);
        long failed = faults_disarm(), live = faults.live - before;
        (void)capture_end(&err, said, sizeof said);
        ck_assert_int_eq(failed, rc != CLI_OK);
        ck_assert_int_eq(live, rc == CLI_OK); /* the body */
    }
    ck_assert_int_gt(n, 5);
    ck_assert_str_eq(failure, "out of memory"); /* the body's own, which comes last */
    free(body.data);
}
END_TEST

START_TEST(a_key_without_memory)
{
    scratch = FILES;
    char text[64] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    ck_assert_ptr_nonnull(out);
    faults_arm(0, true);
    cli_print_json(out, "\x81\x01\x02", 3);
    long failed = faults_disarm();
    fclose(out);
    ck_assert_int_gt(failed, 0);
    ck_assert_str_eq(text, "{\"\": 2}");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("json");
    TCase *t = tcase_create("json");
    tcase_add_test(t, json_there_and_back);
    tcase_add_test(t, a_body_that_is_no_json_is_refused_with_its_place);
    tcase_add_test(t, nesting_is_bounded);
    tcase_add_test(t, a_body_has_a_largest_size);
    tcase_add_test(t, two_bodies_are_refused);
    tcase_add_test(t, text_that_is_no_utf8_is_shown_with_replacements);
    tcase_add_test(t, msgpack_values_without_a_form_in_json_are_shown);
    tcase_add_test(t, maps_as_keys_are_shown_in_bounded_space);
    tcase_add_test(t, keys_that_find_no_scratch_file_are_shown_as_empty);
    tcase_add_test(t, a_body_without_memory);
    tcase_add_test(t, a_key_without_memory);
    suite_add_tcase(s, t);
    return run_suite(s);
}

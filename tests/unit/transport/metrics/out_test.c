/* Text of a node's HTTP server: JSON made of msgpack, and a lack of memory. */
#include "text_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "../../../suite.h"
#include "../../alloc_faults.h"

static void check(const void *pack, size_t size, const char *json)
{
    struct wf_text_buffer o = {.data = NULL};
    weft_reader r = weft_reader_on(pack, size);
    wf_text_buffer_json(&o, &r);
    ck_assert_int_eq(r.error, 0);
    ck_assert_ptr_nonnull(o.data);
    ck_assert_str_eq(o.data, json);
    ck_assert_uint_eq(strlen(json), o.size);
    free(o.data);
}
#define CHECK(pack, json) check(pack, sizeof(pack) - 1, json)

START_TEST(msgpack_values_are_written_as_json)
{
    CHECK("\x96\xc0\xc2\xc3\xff\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xcb\x3f\xe0\0\0\0\0\0\0",
          "[null,false,true,-1,18446744073709551615,0.5]");
    CHECK("\x82\xa1k\x90\xa0\x80", "{\"k\":[],\"\":{}}");
    CHECK("\x92\xc4\x01x\xcb\x7f\xf0\0\0\0\0\0\0", "[null,null]"); /* bytes, an infinity */
}
END_TEST

START_TEST(strings_are_escaped_and_made_utf_8)
{
    CHECK("\xa6\"\\<\n\x7f>", "\"\\u0022\\u005c\\u003c\\u000a\x7f>\"");
    CHECK("\xa9\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
    /* Cut off, longer than it need be, half of a pair, beyond the last one, nothing that begins one. */
    CHECK("\xa2\xe2\x82", "\"\\ufffd\\ufffd\"");
    CHECK("\xa2\xc0\xaf", "\"\\ufffd\\ufffd\"");
    CHECK("\xa3\xe0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\"");
    CHECK("\xa3\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
    CHECK("\xa4\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    CHECK("\xa2\x80x", "\"\\ufffdx\"");
}
END_TEST

START_TEST(a_text_buffer_grows_or_reports_that_it_has_failed)
{
    struct wf_text_buffer o = {.data = NULL};
    for (int i = 0; i < 10000; i++) wf_text_buffer_put(&o, "%d,", i % 10);
    ck_assert_uint_eq(o.size, 20000);
    ck_assert_uint_eq(strlen(o.data), 20000);
    free(o.data);
    o = (struct wf_text_buffer){.data = NULL};
    faults_arm(0, true);
    weft_reader r = weft_reader_on("\x91\xa1x", 3);
    wf_text_buffer_json(&o, &r);
    ck_assert_int_gt(faults_disarm(), 0);
    ck_assert(o.failed && o.data == NULL && r.error == 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("out");
    TCase *t = tcase_create("out");
    tcase_add_test(t, msgpack_values_are_written_as_json);
    tcase_add_test(t, strings_are_escaped_and_made_utf_8);
    tcase_add_test(t, a_text_buffer_grows_or_reports_that_it_has_failed);
    suite_add_tcase(s, t);
    return run_suite(s);
}

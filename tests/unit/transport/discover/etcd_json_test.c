/* tests/unit/transport/discover/etcd_json_test.c -- requests to etcd's gateway, and reading its answers. */
#include <check.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "etcd.h"
#include "../../../suite.h"
#include "etcd_json.h"
#include "source.h"

START_TEST(base64_there_and_back)
{
    static const char *const pairs[][2] = {{"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
                                           {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe/", "//4v"}};
    char back[16];
    for (size_t i = 0; i < WF_COUNT(pairs); i++) {
        char *coded = wf_etcd_base64(pairs[i][0]);
        ck_assert_str_eq(coded, pairs[i][1]);
        ck_assert(wf_etcd_unbase64(coded, back, sizeof back));
        ck_assert_str_eq(back, pairs[i][0]);
        free(coded);
    }
}
END_TEST

START_TEST(malformed_base64_is_refused)
{
    char back[4];
    ck_assert(wf_etcd_unbase64("Zm9v", back, 4));
    ck_assert(!wf_etcd_unbase64("Zm9v", back, 3)); /* too long */
    ck_assert(!wf_etcd_unbase64("Zm9vYg==", back, 4));
    ck_assert(!wf_etcd_unbase64("Z m9", back, 4));     /* a blank */
    ck_assert(!wf_etcd_unbase64("Zg==Zg==", back, 4)); /* more behind the end */
    ck_assert(!wf_etcd_unbase64("AA==", back, 4));     /* a NUL */
    ck_assert(!wf_etcd_unbase64("Zg==", back, 0));
    ck_assert(!wf_etcd_unbase64("", back, 0)); /* no space for the NUL */
    ck_assert(!wf_etcd_unbase64("A", back, 0));
}
END_TEST

START_TEST(requests)
{
    char *text = wf_etcd_json_range("/w/");
    ck_assert_str_eq(text, "{\"key\":\"L3cv\",\"range_end\":\"L3cw\"}"); /* up to "/w0" */
    free(text);
    text = wf_etcd_json_number("ID", INT64_MAX);
    ck_assert_str_eq(text, "{\"ID\":\"9223372036854775807\"}"); /* a JSON number would lose the last digits */
    free(text);
    text = wf_etcd_json_release("k", 7);
    ck_assert_ptr_nonnull(strstr(text, "\"create_revision\":\"7\""));
    ck_assert_ptr_nonnull(strstr(text, "request_delete_range"));
    free(text);
    text = wf_etcd_json_acquire("k", "v", 9);
    ck_assert_ptr_nonnull(strstr(text, "\"create_revision\":\"0\""));
    ck_assert_ptr_nonnull(strstr(text, "\"lease\":\"9\""));
    free(text);
}
END_TEST

START_TEST(numbers)
{
    json_t *j = json_loads("{\"a\":\"-5\",\"b\":6,\"c\":true,\"d\":\"x\",\"e\":{}}", 0, NULL);
    ck_assert_int_eq(wf_etcd_number(j, "a"), -5);
    ck_assert_int_eq(wf_etcd_number(j, "b"), 6);
    static const char *const none[] = {"c", "d", "e", "f"};
    for (size_t i = 0; i < WF_COUNT(none); i++) ck_assert_int_eq(wf_etcd_number(j, none[i]), 0);
    ck_assert(wf_etcd_true(j, "c"));
    ck_assert(!wf_etcd_true(j, "b"));
    ck_assert_str_eq(wf_etcd_text(j, "d"), "x");
    ck_assert_str_eq(wf_etcd_text(j, "b"), "");
    json_decref(j);
    /* A missing value reads as empty, at any depth. */
    ck_assert_int_eq(wf_etcd_number(wf_etcd_member(NULL, "a"), "b"), 0);
    ck_assert_ptr_null(wf_etcd_item(NULL, 0));
    ck_assert_uint_eq(wf_etcd_count(NULL), 0);
}
END_TEST

START_TEST(descriptions_of_nodes)
{
    static const char *const bad[] = {"", "x", "[]", "{}", "{\"urls\":7}", "{\"urls\":", "null"};
    struct wf_url_list list = {0};
    for (size_t i = 0; i < WF_COUNT(bad); i++) ck_assert(!wf_etcd_node_urls(bad[i], &list));
    ck_assert(wf_etcd_node_urls("{\"urls\":[1,\"no url\",null,\"tcp://1.2.3.4:5\",[]],\"more\":1}", &list));
    ck_assert_uint_eq(list.count, 1);
    ck_assert_str_eq(list.url[0], "tcp://1.2.3.4:5");
    wf_url_list_finish(&list);
    /* The text has as many URLs as a node can have; one that is too long is left out. */
    char text[2000] = "{\"urls\":[\"tcp://";
    memset(text + strlen(text), 'x', WF_URL_TEXT - 6);
    for (int i = 0; i < WF_FRAME_URLS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "\",\"tcp://h:%d", i + 1);
    strcat(text, "\"]}");
    ck_assert(wf_etcd_node_urls(text, &list));
    ck_assert_uint_eq(list.count, WF_FRAME_URLS - 1);
    ck_assert_str_eq(list.url[0], "tcp://h:1");
    wf_url_list_finish(&list);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("etcd_json");
    TCase *t = tcase_create("etcd_json");
    tcase_add_test(t, base64_there_and_back);
    tcase_add_test(t, malformed_base64_is_refused);
    tcase_add_test(t, requests);
    tcase_add_test(t, numbers);
    tcase_add_test(t, descriptions_of_nodes);
    suite_add_tcase(s, t);
    return run_suite(s);
}

/* tests/unit/transport/discover/discover_test.c -- which specs are accepted, and lists of URLs. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discover.h"
#include "../../../suite.h"
#include "source.h"

START_TEST(host_names)
{
    static const char *const good[] = {"a", "chat.example.com", "a-b_c.d", "_weft._tcp.x", "rooted.", "10.0.0.1"};
    static const char *const bad[] = {"", ".", "a..b", ".a", "a b", "a/b", "\xc3\xa4", "a:1"};
    char why[WF_REASON_TEXT], label[70], name[300] = "";
    for (size_t i = 0; i < WF_COUNT(good); i++)
        ck_assert_msg(wf_check_host(good[i], strlen(good[i]), why) == WEFT_OK, "%s: %s", good[i], why);
    for (size_t i = 0; i < WF_COUNT(bad); i++) {
        why[0] = '\0';
        ck_assert_msg(wf_check_host(bad[i], strlen(bad[i]), why) == WEFT_EADDRESS, "%s", bad[i]);
        ck_assert_ptr_nonnull(strstr(why, "no host name"));
    }
    memset(label, 'x', sizeof label);
    ck_assert_int_eq(wf_check_host(label, 63, why), WEFT_OK);
    ck_assert_int_eq(wf_check_host(label, 64, why), WEFT_EADDRESS);
    for (int i = 0; i < 127; i++) strcat(name, "a.");
    ck_assert_int_eq(wf_check_host(name, 254, why), WEFT_OK); /* 253 and the root's dot */
    ck_assert_int_eq(wf_check_host(name, 253, why), WEFT_OK);
    strcat(name, "b");
    ck_assert_int_eq(wf_check_host(name, 255, why), WEFT_EADDRESS);
}
END_TEST

START_TEST(hosts_with_ports)
{
    static const char *const good[] = {"a:1", "chat.example.com:65535", "127.0.0.1:53", "[::1]:53"};
    static const char *const bad[] = {"",     ":",    "a",   "a:", ":1", "a:0", "a:65536", "a:99999999999",
                                      "a:-1", "a:1x", "[]:1"};
    char why[WF_REASON_TEXT];
    for (size_t i = 0; i < WF_COUNT(good); i++)
        ck_assert_msg(wf_check_host_port(good[i], strlen(good[i]), why) == WEFT_OK, "%s: %s", good[i], why);
    for (size_t i = 0; i < WF_COUNT(bad); i++)
        ck_assert_msg(wf_check_host_port(bad[i], strlen(bad[i]), why) == WEFT_EADDRESS, "%s", bad[i]);
}
END_TEST

START_TEST(options_of_a_spec)
{
    static struct wf_source s;
    char value[WF_URL_TEXT];
    snprintf(s.spec, sizeof s.spec, "dns:a:1?server=127.0.0.1:53&xscheme=no&scheme=tls+tcp");
    ck_assert(wf_source_option(&s, "server", value));
    ck_assert_str_eq(value, "127.0.0.1:53");
    ck_assert(wf_source_option(&s, "scheme", value));
    ck_assert_str_eq(value, "tls+tcp");
    ck_assert(!wf_source_option(&s, "cheme", value));
    ck_assert(!wf_source_option(&s, "dns:a:1?server", value));
}
END_TEST

START_TEST(a_list_has_each_url_once_and_is_bounded)
{
    struct wf_url_list list = {0};
    char url[WF_URL_TEXT + 8];
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < WF_SOURCE_URLS; i++) {
            snprintf(url, sizeof url, "tcp://10.0.0.1:%d", i + 1);
            wf_url_list_add(&list, url);
        }
    ck_assert_uint_eq(list.count, WF_SOURCE_URLS);
    ck_assert(!list.cut);
    wf_url_list_add(&list, "tcp://10.0.0.2:1");
    ck_assert(list.cut);
    ck_assert_uint_eq(list.count, WF_SOURCE_URLS);
    wf_url_list_finish(&list);
    memset(url, 'x', sizeof url - 1);
    url[sizeof url - 1] = '\0';
    wf_url_list_add(&list, url);
    ck_assert(list.cut);
    ck_assert_uint_eq(list.count, 0);
    wf_url_list_finish(&list);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("discover");
    TCase *t = tcase_create("discover");
    tcase_add_test(t, host_names);
    tcase_add_test(t, hosts_with_ports);
    tcase_add_test(t, options_of_a_spec);
    tcase_add_test(t, a_list_has_each_url_once_and_is_bounded);
    suite_add_tcase(s, t);
    return run_suite(s);
}

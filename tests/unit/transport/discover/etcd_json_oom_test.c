/* Requests to etcd without memory: none is sent, and nothing leaks. Jansson's allocations count as ours. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"
#include "etcd.h"

#include "../../../suite.h"
#include "../../alloc_faults.h"
#include "etcd_json.h"
#include "transport.h"

static char *put(void)
{
    return wf_etcd_json_put("k", "v", 1);
}
static char *range(void)
{
    return wf_etcd_json_range("/w/");
}
static char *watch(void)
{
    return wf_etcd_json_watch("/w/", 2);
}
static char *acquire(void)
{
    return wf_etcd_json_acquire("k", "v", 3);
}
static char *release(void)
{
    return wf_etcd_json_release("k", 4);
}
static char *number(void)
{
    return wf_etcd_json_number("ID", 5);
}
static char *sign_on(void)
{
    return wf_etcd_json_sign_on("u", "p");
}
static char *node(void)
{
    static struct weft_node n = {.name = "alice"};
    static char urls[2][WF_URL_TEXT] = {"tcp://a:1", "tcp://b:2"};
    static struct wf_transport t = {.node = &n, .url = urls, .url_count = 2};
    return wf_etcd_node_text(&t);
}

static char *(*const says[])(void) = {put, range, watch, acquire, release, number, sign_on, node};

START_TEST(a_request_survives_the_failure_of_each_allocation)
{
    char *text = NULL, *whole = says[_i]();
    ck_assert_ptr_nonnull(whole);
    json_set_alloc_funcs(malloc, free);
    long n = 0;
    for (; text == NULL; n++) {
        long before = faults.live;
        faults_arm(n, false);
        text = says[_i]();
        long failed = faults_disarm(), live = faults.live - before;
        ck_assert_msg(failed == (text == NULL), "allocation %ld fails: %s", n, text);
        ck_assert_int_eq(live, text != NULL);
    }
    ck_assert_str_eq(text, whole); /* all or nothing */
    ck_assert_int_gt(n, 3);
    free(text);
    free(whole);
}
END_TEST

START_TEST(a_user_name_that_is_no_utf_8_is_refused)
{
    ck_assert_ptr_null(wf_etcd_json_sign_on("\xff", "p")); /* JSON is UTF-8 */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("etcd_json without memory");
    TCase *t = tcase_create("says");
    tcase_add_loop_test(t, a_request_survives_the_failure_of_each_allocation, 0, WF_COUNT(says));
    tcase_add_test(t, a_user_name_that_is_no_utf_8_is_refused);
    suite_add_tcase(s, t);
    return run_suite(s);
}

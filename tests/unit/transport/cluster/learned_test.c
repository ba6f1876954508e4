/* Which addresses learned from other nodes are dialled, and how often. */
#include "learned.h"

#include "carrier.h"
#include "../../../suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/error.h>

static struct wf_learned l;

static void take(const char *const *ranges, size_t count)
{
    memset(&l, 0, sizeof l);
    weft_node_options o = {.dial_only = ranges, .dial_only_count = count};
    ck_assert_int_eq(wf_learned_init(&l, &o), WEFT_OK);
}

static void clear(void)
{
    take(NULL, 0);
}

/* ---- Where ----------------------------------------------------------------------------------------------------- */

static bool allows(const char *own, const char *url)
{
    char why[WF_REASON_TEXT] = "";
    bool yes = wf_learned_allows(&l, &own, own != NULL, url, why);
    ck_assert(yes == (why[0] == '\0'));
    return yes;
}

START_TEST(an_address_has_to_be_of_a_kind_that_this_node_has)
{
    static const struct {
        const char *own, *url;
        bool yes;
    } rows[] = {
        {"tcp://127.0.0.1:1", "tcp://127.0.0.1:2", true},
        {"tcp://127.0.0.1:1", "ws://localhost:2/x", true},
        {"tcp://[::1]:1", "tcp://127.0.0.1:2", true},
        {"tcp://127.0.0.1:1", "tcp://10.0.0.1:2", false},
        {"tcp://127.0.0.1:1", "tcp://a.example:2", false},
        {"tls+tcp://10.0.0.1:1", "tls+tcp://10.9.9.9:2", true},
        {"tls+tcp://10.0.0.1:1", "tls+tcp://a.example:2", true},
        {"tls+tcp://10.0.0.1:1", "tcp://127.0.0.1:22", false},
        {"tls+tcp://10.0.0.1:1", "tcp://[::1]:22", false},
        {"ipc:///run/weft/a.link", "ipc:///run/weft/b.link", true},
        {"ipc:///run/weft/a.link", "unix:///run/weft/b.link", true},
        {"ipc:///run/weft/a.link", "tcp://127.0.0.1:2", true},
        {"ipc:///run/weft/a.link", "ipc:///run/weft/deeper/b.link", false},
        {"ipc:///run/weft/a.link", "ipc:///run/weft/../b.link", false},
        {"ipc:///run/weft/a.link", "ipc:///run/docker.sock", false},
        {"ipc:///run/weft/a.link", "abstract://b", false},
        {"tcp://127.0.0.1:1", "ipc:///run/docker.sock", false},
        {"tcp://127.0.0.1:1", "abstract:///tmp/.X11-unix/X0", false},
        {"abstract://a", "abstract://b", true},
        {"abstract://a", "ipc://b", false},
        {NULL, "tcp://127.0.0.1:1", false},
        {NULL, "tcp://10.0.0.1:1", false},
        {NULL, "ipc:///x", false},
        {"tcp://127.0.0.1:1", "http://127.0.0.1:1", false},
        {"tcp://127.0.0.1:1", "", false},
    };
    clear();
    for (size_t i = 0; i < WF_COUNT(rows); i++)
        if (allows(rows[i].own, rows[i].url) != rows[i].yes) ck_abort_msg("%s beside %s", rows[i].url, rows[i].own);
}
END_TEST

START_TEST(ranges_say_where_on_networks)
{
    static const char *const ranges[] = {"10.1.0.0/20", "192.168.1.7", "fd00::/7", "chat.example", ".in.example"};
    static const struct {
        const char *host;
        bool yes;
    } rows[] = {
        {"10.1.0.1", true},           {"10.1.15.255", true},
        {"10.1.16.0", false},         {"192.168.1.7", true},
        {"192.168.1.8", false},       {"[fd00::1]", true},
        {"[fc12::1]", true},          {"[fe80::1]", false},
        {"[::ffff:10.1.0.1]", false}, {"chat.example", true},
        {"a.in.example", true},       {"in.example", false},
        {".in.example", false},       {"xchat.example", false},
        {"chat.example.", false},     {"10.1.0.1.in.example", true},
    };
    char url[64];
    take(ranges, WF_COUNT(ranges));
    for (size_t i = 0; i < WF_COUNT(rows); i++) {
        snprintf(url, sizeof url, "tls+tcp://%s:4001", rows[i].host);
        if (allows("tls+tcp://10.1.0.2:1", url) != rows[i].yes) ck_abort_msg("%s", url);
    }
    ck_assert(allows("tcp://127.0.0.1:1", "tcp://127.0.0.1:2")); /* ranges are about networks */
}
END_TEST

START_TEST(a_range_that_is_none_is_refused)
{
    static const char *const wrong[] = {"",           "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x",    "10.0.0.0/-1",
                                        "fd00::/129", "10.0.0",      "a b",       "tcp://10.0.0.1", "a/8",
                                        "[fd00::]:1"};
    for (size_t i = 0; i < WF_COUNT(wrong); i++) {
        weft_node_options o = {.dial_only = &wrong[i], .dial_only_count = 1};
        memset(&l, 0, sizeof l);
        if (wf_learned_init(&l, &o) != WEFT_EINVAL) ck_abort_msg("%s", wrong[i]);
    }
}
END_TEST

/* ---- How often ------------------------------------------------------------------------------------------------- */

/* How often an address is dialled in `span` if `count` nodes are said to be there, and each dial fails at once. */
static uint32_t dialled(uint32_t count, uint32_t addresses, int64_t span)
{
    uint32_t dials = 0;
    int64_t *at = calloc(count, sizeof *at);
    for (int64_t now = 1; now < span; now += WEFT_MS(50)) {
        for (uint32_t i = 0; i < count; i++) {
            if (at[i] > now) continue;
            at[i] = wf_learned_begin(&l, 1 + i % addresses, now);
            ck_assert(at[i] == 0 || at[i] > now);
            if (at[i] != 0) continue;
            dials++;
            wf_learned_end(&l, 1 + i % addresses, false, now);
        }
    }
    free(at);
    return dials;
}

START_TEST(an_address_is_dialled_later_each_time_under_any_name)
{
    clear();
    ck_assert_uint_le(dialled(1, 1, WEFT_SEC(100)), 20);
    clear();
    ck_assert_uint_le(dialled(1000, 1, WEFT_SEC(100)), 20);
}
END_TEST

START_TEST(learned_addresses_are_dialled_at_a_bounded_rate)
{
    const uint32_t seconds = under_tools() ? 25 : 100, nodes = 10 * seconds;
    clear();
    uint32_t dials = dialled(nodes, nodes, WEFT_SEC(seconds));
    ck_assert_uint_le(dials, WF_LEARNED_BURST + 10 * seconds + 1);
    ck_assert_uint_ge(dials, nodes); /* and the one that is right comes to its turn */
}
END_TEST

START_TEST(dials_that_link_cost_nothing)
{
    clear();
    for (uint64_t i = 1; i <= 10000; i++) {
        ck_assert_int_eq(wf_learned_begin(&l, i, 1), 0);
        wf_learned_end(&l, i, true, 1);
    }
}
END_TEST

START_TEST(few_are_under_way_at_a_time)
{
    clear();
    for (uint64_t i = 1; i <= WF_LEARNED_DIALS; i++) ck_assert_int_eq(wf_learned_begin(&l, i, 1), 0);
    ck_assert_int_gt(wf_learned_begin(&l, 1000, 1), 1);
    wf_learned_end(&l, 5, false, 1);
    ck_assert_int_gt(wf_learned_begin(&l, 5, 1), 1); /* its pause */
    ck_assert_int_eq(wf_learned_begin(&l, 1000, 1), 0);
    ck_assert_int_gt(wf_learned_begin(&l, 6, 1), 1); /* it is being dialled */
}
END_TEST

START_TEST(the_key_of_a_learned_url_is_that_of_its_address)
{
    ck_assert_uint_eq(wf_learned_key("tcp://10.0.0.1:1"), wf_learned_key("tls+tcp://10.0.0.1:1"));
    ck_assert_uint_eq(wf_learned_key("ws://10.0.0.1:1/a"), wf_learned_key("ws://10.0.0.1:1/b"));
    ck_assert_uint_ne(wf_learned_key("tcp://10.0.0.1:1"), wf_learned_key("tcp://10.0.0.1:2"));
    ck_assert_uint_ne(wf_learned_key("ipc:///a/b"), wf_learned_key("ipc:///a/c"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("learned");
    TCase *t = tcase_create("learned");
    tcase_add_test(t, an_address_has_to_be_of_a_kind_that_this_node_has);
    tcase_add_test(t, ranges_say_where_on_networks);
    tcase_add_test(t, a_range_that_is_none_is_refused);
    tcase_add_test(t, an_address_is_dialled_later_each_time_under_any_name);
    tcase_add_test(t, learned_addresses_are_dialled_at_a_bounded_rate);
    tcase_add_test(t, dials_that_link_cost_nothing);
    tcase_add_test(t, few_are_under_way_at_a_time);
    tcase_add_test(t, the_key_of_a_learned_url_is_that_of_its_address);
    suite_add_tcase(s, t);
    return run_suite(s);
}

/* Values of options that a node takes and refuses, as the command judges them. */
#include "option_check.h"

#include <weft/log.h>
#include <weft/node.h>

#include "../../suite.h"

static const struct {
    enum wf_option option;
    const char *value;
    const char *wrong; /* a part of what is wrong; NULL: nothing is */
} rows[] = {
    {WF_OPTION_LISTEN, "none", NULL},
    {WF_OPTION_LISTEN, "tcp://127.0.0.1:0", NULL},
    {WF_OPTION_LISTEN, "inherited://links", NULL},
    {WF_OPTION_LISTEN, "tcp://127.0.0.1:99999", "no port from 0 to 65535"},
    {WF_OPTION_JOIN, "tcp://127.0.0.1:1", NULL},
    {WF_OPTION_JOIN, "none", "unknown scheme"},
    {WF_OPTION_JOIN, "tcp://127.0.0.1:0", "no port from 1 to 65535"},
    {WF_OPTION_JOIN, "inherited://links", "unknown scheme"},
    {WF_OPTION_DISCOVER, "tcp://127.0.0.1:1", NULL},
    {WF_OPTION_DISCOVER, "tcp://127.0.0.1:99999", "no port from 1"},
    {WF_OPTION_DISCOVER, "", "known are URLs"},
    {WF_OPTION_DISCOVER, "teapot:1", "known are URLs"},
    {WF_OPTION_DIAL_ONLY, "10.0.0.0/8", NULL},
    {WF_OPTION_DIAL_ONLY, ".example.com", NULL},
    {WF_OPTION_DIAL_ONLY, "10.0.0.0/33", "not an address"},
    {WF_OPTION_WS_ORIGIN, "https://board.example", NULL},
    {WF_OPTION_WS_ORIGIN, "board.example", "not an origin"},
    {WF_OPTION_META, "zone=eu", NULL},
    {WF_OPTION_META, "zone=", NULL},
    {WF_OPTION_META, "zone", "not KEY=VALUE"},
    {WF_OPTION_META, "=eu", "keys of 1 to 32"},
    {WF_OPTION_NAME, "$node", NULL},
    {WF_OPTION_NAME, "", "not a name"},
    {WF_OPTION_NAME, "a@b", "not a name"},
    {WF_OPTION_TOPIC, "room.tea", NULL},
    {WF_OPTION_TOPIC, "room.*", "not a topic"},
    {WF_OPTION_PATTERN, "room.*", NULL},
    {WF_OPTION_PATTERN, "room.>.x", "not a pattern"},
};

START_TEST(values_are_taken_and_refused_as_in_the_table)
{
    char why[WF_OPTION_WHY] = "";
    const char *wrong = wf_option_check(rows[_i].option, rows[_i].value, why);
    if (rows[_i].wrong == NULL) ck_assert_msg(wrong == NULL, "%s: %s", rows[_i].value, wrong);
    else ck_assert_msg(wrong != NULL && strstr(wrong, rows[_i].wrong) != NULL, "%s: %s", rows[_i].value, wrong);
}
END_TEST

/* The same functions judge when a node starts. */
START_TEST(a_node_refuses_what_is_refused_here)
{
    const char *value = rows[_i].value;
    weft_node_options o = {.workers = 1};
    switch (rows[_i].option) {
    case WF_OPTION_LISTEN: o.listen = &value, o.listen_count = 1; break;
    case WF_OPTION_JOIN: o.join = &value, o.join_count = 1; break;
    case WF_OPTION_DISCOVER: o.discover = &value, o.discover_count = 1; break;
    case WF_OPTION_DIAL_ONLY: o.dial_only = &value, o.dial_only_count = 1; break;
    case WF_OPTION_WS_ORIGIN: o.ws_origins = &value, o.ws_origin_count = 1; break;
    case WF_OPTION_META: o.meta = &value, o.meta_count = 1; break;
    default: return; /* no option of a node */
    }
    if (rows[_i].wrong == NULL) return;
    weft_node *node;
    weft_log_set(WEFT_SILENT, false);
    ck_assert_int_lt(weft_node_start(&node, &o), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("option_check");
    TCase *t = tcase_create("option_check");
    tcase_add_loop_test(t, values_are_taken_and_refused_as_in_the_table, 0, WF_COUNT(rows));
    tcase_add_loop_test(t, a_node_refuses_what_is_refused_here, 0, WF_COUNT(rows));
    suite_add_tcase(s, t);
    return run_suite(s);
}

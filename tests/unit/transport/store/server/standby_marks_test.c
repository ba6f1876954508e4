/* tests/unit/transport/store/standby_marks_test.c -- which of the stores that stand by are told. */
#include "../../../../suite.h"

#include <weft/log.h>

#include "msg.h"
#include "standby_marks.h"
#include "store_messages.h"

/* A request of that actor, which wants no answer here. */
static void ask_from(struct wf_standby_marks *m, uint64_t node, uint64_t actor)
{
    weft_msg *ask = weft_msg_new(WF_STORE_MARK, 0);
    ck_assert_ptr_nonnull(ask);
    ask->from = (weft_pid){node, actor};
    wf_standby_marks_ask(m, ask);
    weft_msg_free(ask);
}

static bool is_told(const struct wf_standby_marks *m, uint64_t node, uint64_t actor)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->standby[i].node == node && m->standby[i].actor == actor) return true;
    return false;
}

START_TEST(a_node_has_one_place)
{
    struct wf_standby_marks m = {.count = 0};
    for (uint64_t node = 1; node < WF_STANDBYS_MAX; node++) ask_from(&m, node, 7);
    for (uint64_t actor = 1; actor <= 10 * WF_STANDBYS_MAX; actor++) ask_from(&m, 99, actor);
    for (uint64_t node = 1; node < WF_STANDBYS_MAX; node++) ck_assert(is_told(&m, node, 7));
    ck_assert(is_told(&m, 99, 10 * WF_STANDBYS_MAX)); /* the last one, as it may have been started again */
    ck_assert_uint_eq(m.count, WF_STANDBYS_MAX);
}
END_TEST

START_TEST(of_too_many_nodes_the_last_ones_are_told)
{
    struct wf_standby_marks m = {.count = 0};
    for (uint64_t node = 1; node <= WF_STANDBYS_MAX + 3; node++) ask_from(&m, node, 7);
    ck_assert_uint_eq(m.count, WF_STANDBYS_MAX);
    for (uint64_t node = 1; node <= WF_STANDBYS_MAX + 3; node++) ck_assert(is_told(&m, node, 7) == (node > 3));
}
END_TEST

int main(void)
{
    weft_log_set(WEFT_SILENT, false); /* it says that these requests want no answer */
    Suite *suite = suite_create("marks of stores that stand by");
    TCase *c = tcase_create("places");
    suite_add_tcase(suite, c);
    tcase_add_test(c, a_node_has_one_place);
    tcase_add_test(c, of_too_many_nodes_the_last_ones_are_told);
    return run_suite(suite);
}

/* transport/sim_states: the states that a simulated run has reached, and calls outside of a simulation. */
#include "../../../suite.h"

#include "sim_run.h"

#include <weft.h>

static struct wf_sim_result result;
static int declared[4]; /* what the calls within WEFT_SIM() returned */

START_TEST(functions_of_states_do_nothing_outside_of_a_simulation)
{
    ck_assert_int_eq(weft_sim_expect("a state"), WEFT_EINVAL);
    weft_sim_sometimes("a state", true);
    weft_sim_sometimes(NULL, true);
}
END_TEST

static void body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_sim_sometimes("reached", true);
    weft_sim_sometimes("reached", false); /* which takes nothing back */
    weft_sim_sometimes("not reached", false);
    weft_sim_sometimes(NULL, true);
    declared[3] = weft_sim_expect("too late");
    weft_sleep(WEFT_FOREVER);
}

static void checks(void)
{
    weft_sim_expect("reached");
    declared[0] = weft_sim_expect("not reached");
    weft_sim_expect("reached");
    declared[1] = weft_sim_expect(NULL);
    declared[2] = weft_sim_expect("");
}

/* With this check the nodes are ended after the run. */
static const char *memory_is_good(bool over)
{
    (void)over;
    return NULL;
}

START_TEST(a_run_says_which_states_it_has_reached)
{
    const struct wf_sim_job job = {.origin = {.seed = 1, .nodes = 1, .time = WEFT_SEC(1)},
                                   .settle = WEFT_SEC(1),
                                   .body = body,
                                   .checks = checks,
                                   .memory = memory_is_good};
    wf_sim_run_job(&job, &result);
    ck_assert_msg(result.done && !result.failed, "%s", result.what);
    ck_assert_int_eq(declared[0], WEFT_OK);
    for (int i = 1; i < 4; i++) ck_assert_int_eq(declared[i], WEFT_EINVAL);
    ck_assert_uint_eq(result.state_count, 2);
    ck_assert_str_eq(result.state[0], "reached");
    ck_assert_str_eq(result.state[1], "not reached");
    ck_assert_uint_eq(result.reached[0], 1); /* how often */
    ck_assert_uint_eq(result.reached[1], 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_states");
    TCase *t = tcase_create("states");
    tcase_add_test(t, functions_of_states_do_nothing_outside_of_a_simulation);
    tcase_add_test(t, a_run_says_which_states_it_has_reached);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

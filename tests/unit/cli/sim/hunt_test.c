/* cli/sim_hunt: combinations of states, runs that are kept, and what the hunt tries next. */
#include "../../../suite.h"

#include "sim_hunt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sim_hunt *hunt;
static struct wf_sim_result *result;
static const struct wf_sim_origin base = {.nodes = 3, .kinds = WF_SIM_ALL, .time = WEFT_SEC(30)};

static void setup(void)
{
    hunt = calloc(1, sizeof *hunt);
    result = calloc(1, sizeof *result);
    ck_assert(hunt != NULL && result != NULL);
}

static void teardown(void)
{
    free(hunt);
    free(result);
}

/* A run that has reached the states a, b, ... so often. */
static void note(uint64_t seed, const uint32_t *counts, uint32_t count)
{
    struct wf_sim_origin from = base;
    from.seed = seed;
    memset(result, 0, sizeof *result);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(result->state[i], WF_SIM_STATE, "state %c", (char)('a' + i));
        result->reached[i] = counts[i];
    }
    result->state_count = count;
    sim_hunt_note(hunt, &from, result);
}

START_TEST(new_combinations_are_kept)
{
    note(1, (uint32_t[]){1, 0, 0}, 3);
    ck_assert_uint_eq(hunt->combinations, 1);
    ck_assert_uint_eq(hunt->kept_count, 1);
    note(2, (uint32_t[]){1, 0, 0}, 3); /* nothing new */
    ck_assert_uint_eq(hunt->kept_count, 1);
    ck_assert_uint_eq(hunt->last_new, 1);
    note(3, (uint32_t[]){0, 1, 0}, 3); /* another state */
    ck_assert_uint_eq(hunt->combinations, 2);
    note(4, (uint32_t[]){1, 1, 0}, 3); /* both in one run */
    ck_assert_uint_eq(hunt->combinations, 3);
    note(5, (uint32_t[]){2, 0, 0}, 3); /* twice, */
    ck_assert_uint_eq(hunt->combinations, 4);
    note(6, (uint32_t[]){3, 0, 0}, 3); /* and three times counts as twice */
    ck_assert_uint_eq(hunt->combinations, 4);
    ck_assert_uint_eq(hunt->kept_count, 4);
    ck_assert_uint_eq(hunt->kept[3].origin.seed, 5);
    ck_assert_uint_eq(hunt->last_new, 5);
    ck_assert_uint_eq(hunt->runs, 6);
}
END_TEST

START_TEST(states_of_weft_count_as_well)
{
    result->mark_count = 2;
    result->mark[0] = (struct wf_sim_mark){123, 1};
    result->mark[1] = (struct wf_sim_mark){456, 9};
    sim_hunt_note(hunt, &base, result);
    ck_assert_uint_eq(hunt->combinations, 3);
}
END_TEST

START_TEST(without_states_each_run_is_a_seed)
{
    struct wf_sim_origin next = base;
    uint64_t fresh = 7;
    for (uint64_t i = 0; i < 100; i++) {
        note(i, NULL, 0);
        sim_hunt_next(hunt, &fresh, &next);
        ck_assert_uint_eq(next.seed, 7 + i);
        ck_assert_uint_eq(next.change_count, 0);
    }
    ck_assert_uint_eq(hunt->kept_count, 0);
}
END_TEST

START_TEST(kept_runs_are_changed_and_seeds_go_on)
{
    struct wf_sim_origin next = base;
    uint64_t fresh = 100;
    uint32_t changed = 0;
    note(9, (uint32_t[]){1}, 1);
    for (int i = 0; i < 1000; i++) {
        sim_hunt_next(hunt, &fresh, &next);
        ck_assert_uint_eq(next.nodes, base.nodes);
        ck_assert_int_eq(next.time, base.time);
        if (next.seed != 9) continue;
        ck_assert_uint_eq(next.change_count, 1);
        changed++;
    }
    ck_assert_uint_eq(fresh - 100 + changed, 1000);
    ck_assert_msg(changed > 600 && changed < 900, "%u", changed);
}
END_TEST

/* A state that each run reaches, against one that a single run has reached. */
START_TEST(runs_with_rare_states_are_tried_more_often)
{
    struct wf_sim_origin next = base;
    uint64_t fresh = 1000;
    uint32_t rare = 0, often = 0;
    for (uint64_t i = 0; i < 500; i++) note(1, (uint32_t[]){1, 0}, 2);
    note(2, (uint32_t[]){0, 1}, 2);
    for (int i = 0; i < 200; i++) {
        sim_hunt_next(hunt, &fresh, &next);
        rare += next.seed == 2;
        often += next.seed == 1;
    }
    ck_assert_msg(rare > 4 * often, "%u %u", rare, often);
}
END_TEST

START_TEST(changes_of_a_plan_and_kept_runs_are_bounded)
{
    struct wf_sim_origin next = base;
    uint64_t fresh = 1000;
    next.seed = 5;
    next.change_count = WF_SIM_CHANGES;
    memset(result, 0, sizeof *result);
    result->mark_count = 1;
    for (uint32_t i = 0; i < SIM_KEPT + 100; i++) {
        result->mark[0] = (struct wf_sim_mark){i * 64, 1};
        sim_hunt_note(hunt, &next, result);
    }
    ck_assert_uint_eq(hunt->kept_count, SIM_KEPT);
    struct wf_sim_origin out = base;
    for (int i = 0; i < 100; i++) {
        sim_hunt_next(hunt, &fresh, &out);
        ck_assert_uint_eq(out.change_count, out.seed == 5 ? WF_SIM_CHANGES : 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_hunt");
    TCase *t = tcase_create("hunt");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, new_combinations_are_kept);
    tcase_add_test(t, states_of_weft_count_as_well);
    tcase_add_test(t, without_states_each_run_is_a_seed);
    tcase_add_test(t, kept_runs_are_changed_and_seeds_go_on);
    tcase_add_test(t, runs_with_rare_states_are_tried_more_often);
    tcase_add_test(t, changes_of_a_plan_and_kept_runs_are_bounded);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

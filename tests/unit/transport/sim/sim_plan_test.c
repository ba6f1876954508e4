/* transport/sim/sim_plan: plans from seeds, and their changes by numbers; limits that are drawn from a seed. */
#include "../../../suite.h"

#include "sim_limits.h"
#include "sim_plan.h"
#include "sim_run.h"

#include <string.h>
#include <weft/log.h>

#ifndef WF_STATES
/* In a normal build a limit is a constant. */
_Static_assert(WF_LIMIT("a limit", 5, 1) == 5, "WF_LIMIT");
#endif

static struct wf_sim_origin origin(uint64_t seed, uint32_t nodes, uint32_t kinds)
{
    return (struct wf_sim_origin){.seed = seed, .nodes = nodes, .kinds = kinds, .time = WEFT_SEC(30)};
}

static void check_plan(const struct wf_sim_origin *from, const struct wf_sim_plan *p)
{
    ck_assert_uint_le(p->fault_count, WF_SIM_FAULTS);
    for (uint32_t i = 0; i < p->fault_count; i++) {
        const struct wf_sim_fault *f = &p->fault[i];
        ck_assert_int_ge(f->at, i == 0 ? 0 : f[-1].at);
        ck_assert_int_lt(f->at, from->time);
        ck_assert_int_le(f->span, WEFT_SEC(40));
        ck_assert_msg(f->lasts ? f->span == 0 : f->span > 0, "the span is %lld", (long long)f->span);
        ck_assert_uint_ne(from->kinds >> f->kind & 1, 0);
        ck_assert_uint_lt(f->a, from->nodes);
        ck_assert_uint_lt(f->b, from->nodes);
        ck_assert(from->nodes == 1 || f->a != f->b || f->lasts);
        ck_assert(!f->lasts || f->kind == WF_SIM_LATE || f->kind == WF_SIM_SLOW);
    }
}

static bool are_equal(const struct wf_sim_plan *a, const struct wf_sim_plan *b)
{
    if (a->schedule != b->schedule || a->limits != b->limits || a->fault_count != b->fault_count) return false;
    for (uint32_t i = 0; i < a->fault_count; i++) {
        const struct wf_sim_fault *x = &a->fault[i], *y = &b->fault[i];
        if (x->at != y->at || x->span != y->span || x->kind != y->kind || x->a != y->a || x->b != y->b) return false;
    }
    return true;
}

START_TEST(a_seed_is_a_plan)
{
    struct wf_sim_plan one, again, other;
    uint32_t same = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)repeats(500); seed++) {
        const struct wf_sim_origin o = origin(seed, 3, WF_SIM_ALL), next = origin(seed + 1, 3, WF_SIM_ALL);
        memset(&again, 0xFF, sizeof again); /* nothing of what was there stays */
        wf_sim_draw_plan(&o, &one);
        wf_sim_draw_plan(&o, &again);
        wf_sim_draw_plan(&next, &other);
        check_plan(&o, &one);
        ck_assert_uint_ge(one.fault_count, 1);
        ck_assert(are_equal(&one, &again));
        same += are_equal(&one, &other);
    }
    ck_assert_uint_eq(same, 0);
}
END_TEST

/* Changes plans up to the limit of changes, for all kinds of faults: each result is a plan that a seed could have. */
START_TEST(changed_plans_are_plans)
{
    static const uint32_t kinds[] = {WF_SIM_ALL, 1u << WF_SIM_CUT, 1u << WF_SIM_MEMORY | 1u << WF_SIM_SLOW};
    struct wf_sim_plan before, after, again;
    uint32_t changed = 0, schedules = 0, limits = 0, most = 0, none = 0;
    const uint32_t tries = (uint32_t)repeats(3000);
    for (uint32_t number = 0; number < tries; number++) {
        struct wf_sim_origin o = origin(1 + number % 7, number % 5 == 0 ? 1 : 4, kinds[number % 3]);
        if (o.nodes == 1) o.kinds = WF_SIM_ALL & ~((1u << WF_SIM_FREEZE) - 1);
        wf_sim_draw_plan(&o, &before);
        for (uint32_t i = 0; i < 1 + number % WF_SIM_CHANGES; i++) o.change[o.change_count++] = number * 31 + i;
        wf_sim_draw_plan(&o, &after);
        wf_sim_draw_plan(&o, &again);
        check_plan(&o, &after);
        ck_assert(are_equal(&after, &again));
        changed += !are_equal(&before, &after);
        schedules += before.schedule != after.schedule;
        limits += before.limits != after.limits;
        most += after.fault_count > before.fault_count;
        none += after.fault_count < before.fault_count;
    }
    ck_assert_uint_ge(changed, tries / 30 * 29); /* a change may be undone by the next one */
    ck_assert_uint_ge(schedules, tries / 10);
    ck_assert_uint_ge(limits, tries / 10);
    ck_assert_uint_ge(most, tries / 10);
    ck_assert_uint_ge(none, tries / 10);
}
END_TEST

/* A changed plan is near to the plan from which it was made. */
START_TEST(a_change_leaves_most_of_a_plan_as_it_is)
{
    struct wf_sim_plan before, after;
    uint32_t schedules = 0;
    for (uint32_t number = 0; number < 200; number++) {
        struct wf_sim_origin o = origin(4, 3, WF_SIM_ALL);
        wf_sim_draw_plan(&o, &before);
        o.change[o.change_count++] = number;
        wf_sim_draw_plan(&o, &after);
        ck_assert_int_le(abs((int)before.fault_count - (int)after.fault_count), 3);
        schedules += before.schedule == after.schedule;
    }
    ck_assert_uint_ge(schedules, 120);
}
END_TEST

START_TEST(without_faults_the_schedule_changes)
{
    struct wf_sim_plan before, after;
    struct wf_sim_origin o = origin(1, 3, 0);
    wf_sim_draw_plan(&o, &before);
    uint32_t schedules = 0;
    o.change_count = 1;
    for (uint32_t number = 0; number < 100; number++) {
        o.change[0] = number;
        wf_sim_draw_plan(&o, &after);
        ck_assert_uint_eq(after.fault_count, 0);
        schedules += before.schedule != after.schedule;
    }
    ck_assert_uint_ge(schedules, 70);
}
END_TEST

/* ---- Limits ---------------------------------------------------------------------------------------------------- */

START_TEST(options_are_drawn_from_the_seed)
{
    uint32_t drawn = 0, other = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        weft_node_options a = {0}, b = {0}, c = {0};
        wf_sim_limits_draw(true, seed);
        wf_sim_limits_options(&a, 0);
        wf_sim_limits_options(&b, 0);
        wf_sim_limits_options(&c, 1);
        ck_assert_mem_eq(&a, &b, sizeof a);
        ck_assert_int_eq(a.heartbeat, c.heartbeat); /* all nodes have it */
        other += a.record_events != c.record_events;
        drawn += a.heartbeat != 0;
        ck_assert_int_gt((a.heartbeat == 0 ? WEFT_SEC(1) : a.heartbeat) *
                             (a.heartbeats_lost == 0 ? 5 : a.heartbeats_lost),
                         WEFT_MS(201)); /* a late message does not break a connection */
    }
    wf_sim_limits_draw(false, 0);
    ck_assert_uint_ge(drawn, 60);
    ck_assert_uint_le(drawn, 140);
    ck_assert_uint_ge(other, 60);
}
END_TEST

START_TEST(options_that_are_given_stay)
{
    const weft_node_options given = {
        .heartbeat = 1, .heartbeats_lost = 2, .resume_window = 3, .record_events = 4, .send_timeout = 5};
    const weft_node_options none = {0};
    for (uint64_t seed = 1; seed <= 50; seed++) {
        weft_node_options o = given, z = none;
        wf_sim_limits_draw(true, seed);
        wf_sim_limits_options(&o, 0);
        ck_assert_mem_eq(&o, &given, sizeof o);
        wf_sim_limits_draw(false, seed);
        wf_sim_limits_options(&z, 0);
        ck_assert_mem_eq(&z, &none, sizeof z);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_plan");
    TCase *t = tcase_create("plans");
    weft_log_set(WEFT_SILENT, false);
    tcase_add_test(t, a_seed_is_a_plan);
    tcase_add_test(t, changed_plans_are_plans);
    tcase_add_test(t, a_change_leaves_most_of_a_plan_as_it_is);
    tcase_add_test(t, without_faults_the_schedule_changes);
    tcase_add_test(t, options_are_drawn_from_the_seed);
    tcase_add_test(t, options_that_are_given_stay);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

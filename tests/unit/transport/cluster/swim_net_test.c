/* A thousand members in virtual time: the membership of swim.c as a whole. Every asserted figure follows from the
 * paper, with a margin for chance; the seeds are fixed, so a run is always the same. */
#include "swim_table.h"
#include "swim_net.h"
#include "../../../suite.h"

#include <check.h>

/* Sanitizers and Valgrind take ten times as long and as much memory. */
static uint32_t size_of_run(void)
{
#if defined(WF_ASAN) || defined(WF_TSAN)
    return 200;
#else
    return RUNNING_ON_VALGRIND ? 100 : 1000;
#endif
}

static uint32_t suspected, downs;
static void count_changes(struct swim_net *n, uint32_t observer, const struct wf_swim_member *m,
                          enum wf_swim_state before)
{
    (void)n;
    (void)observer;
    suspected += m->state == WF_SWIM_SUSPECT && before == WF_SWIM_ALIVE;
    downs += m->state == WF_SWIM_DOWN;
}

static struct swim_net *full_net(uint64_t seed)
{
    struct swim_net *n = net_new(size_of_run(), seed);
    n->changed = count_changes;
    net_start_full(n);
    suspected = downs = 0;
    return n;
}

static int64_t run_until_converged(struct swim_net *n, int64_t limit)
{
    int64_t start = n->now;
    while (!net_converged(n) && n->now - start < limit) net_run(n, n->now + WEFT_MS(100));
    return n->now - start;
}

START_TEST(quiet_costs_the_same_for_all_and_accuses_nobody)
{
    struct swim_net *n = full_net(1);
    net_run(n, n->now + WEFT_SEC(2));
    uint64_t before = n->sent;
    net_run(n, n->now + WEFT_SEC(5));
    double per_period = (double)(n->sent - before) / n->count / 5;
    ck_assert(per_period > 1.9 && per_period < 2.1); /* a PING and an ACK */
    ck_assert_uint_eq(suspected, 0);
    ck_assert(net_converged(n));
    net_free(n);
}
END_TEST

START_TEST(a_crash_is_found_and_known_to_all)
{
    struct swim_net *n = full_net(2);
    net_run(n, n->now + WEFT_SEC(3));
    uint64_t id = n->node[7].node_id;
    int64_t start = n->now;
    net_crash(n, 7);
    while (suspected == 0) net_run(n, n->now + WEFT_MS(10));
    ck_assert_int_lt(n->now - start, WEFT_SEC(8)); /* 2 on average; each further one is a third as likely */
    while (downs == 0) net_run(n, n->now + WEFT_MS(10));
    int64_t found = n->now;
    while (net_holding(n, 7, id, WF_SWIM_DOWN) < n->count - 1 && n->now - found < WEFT_SEC(30))
        net_run(n, n->now + WEFT_MS(100));
    ck_assert_int_lt(n->now - found, WEFT_SEC(10)); /* O(log n) periods */
    ck_assert_uint_eq(downs, n->count - 1);
    ck_assert(net_converged(n));
    net_free(n);
}
END_TEST

START_TEST(no_member_is_declared_down_because_of_loss)
{
    struct swim_net *n = full_net(3);
    n->loss = 0.05;
    net_run(n, n->now + WEFT_SEC(20));
    ck_assert_uint_eq(downs, 0);
    n->loss = 0;
    ck_assert_int_lt(run_until_converged(n, WEFT_SEC(60)), WEFT_SEC(60));
    ck_assert_uint_eq(downs, 0);
    net_free(n);
}
END_TEST

START_TEST(a_thousand_members_join_by_one_seed)
{
    struct swim_net *n = net_new(size_of_run(), 4);
    for (uint32_t i = 0; i < n->count; i++) {
        net_start(n, i);
        if (i > 0) net_greet(n, i, 0);
        net_run(n, n->now + WEFT_SEC(1) / n->count);
    }
    ck_assert_int_lt(run_until_converged(n, WEFT_SEC(60)), WEFT_SEC(20));
    net_free(n);
}
END_TEST

START_TEST(halves_part_and_meet_again)
{
    struct swim_net *n = net_new(size_of_run() / 10, 5);
    net_start_full(n);
    net_run(n, n->now + WEFT_SEC(3));
    for (uint32_t i = 0; i < n->count / 2; i++) n->node[i].side = 1;
    net_run(n, n->now + WEFT_SEC(120));
    for (uint32_t i = 0; i < n->count; i++)
        ck_assert_uint_eq(n->node[i].swim->present, n->node[i].side == 1 ? n->count / 2 : n->count - n->count / 2);
    for (uint32_t i = 0; i < n->count; i++) n->node[i].side = 0;
    net_greet(n, 0, n->count - 1); /* one link that comes up again is enough */
    ck_assert_int_lt(run_until_converged(n, WEFT_SEC(120)), WEFT_SEC(60));
    net_free(n);
}
END_TEST

START_TEST(members_agree_after_crashes_restarts_and_leaves_under_loss)
{
    struct swim_net *n = net_new(size_of_run() / 10, 6);
    net_start_full(n);
    n->loss = 0.02;
    net_run(n, n->now + WEFT_SEC(3));
    for (uint32_t i = 1; i < n->count; i += 10) net_crash(n, i);
    for (uint32_t i = 2; i < n->count; i += 10) {
        wf_swim_leave(n->node[i].swim, n->now);
        net_run(n, n->now + WEFT_MS(20));
        net_crash(n, i);
    }
    for (uint32_t i = 3; i < n->count; i += 10) {
        net_crash(n, i);
        net_start(n, i); /* the same name, another process */
        net_greet(n, i, 0);
        net_run(n, n->now + WEFT_MS(20));
    }
    net_run(n, n->now + WEFT_SEC(30));
    n->loss = 0;
    ck_assert_int_lt(run_until_converged(n, WEFT_SEC(120)), WEFT_SEC(60));
    net_free(n);
}
END_TEST

START_TEST(a_stopped_process_comes_back_by_refuting)
{
    struct swim_net *n = net_new(50, 7);
    net_start_full(n);
    net_run(n, n->now + WEFT_SEC(3));
    uint64_t id = n->node[9].node_id;
    n->node[9].stopped = true;
    net_run(n, n->now + WEFT_SEC(30));
    ck_assert_uint_eq(net_holding(n, 9, id, WF_SWIM_DOWN), n->count - 1);
    n->changed = count_changes;
    suspected = downs = 0;
    n->node[9].stopped = false;
    net_tick(n, 9);
    ck_assert_int_lt(run_until_converged(n, WEFT_SEC(60)), WEFT_SEC(20));
    ck_assert_uint_eq(downs, 0); /* above all, it has accused nobody of its own sleep */
    ck_assert_uint_eq(wf_swim_find(n->node[0].swim, id)->number, 1);
    net_free(n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("swim_net");
    TCase *t = tcase_create("members");
    tcase_set_timeout(t, 50);
    tcase_add_test(t, quiet_costs_the_same_for_all_and_accuses_nobody);
    tcase_add_test(t, a_crash_is_found_and_known_to_all);
    tcase_add_test(t, no_member_is_declared_down_because_of_loss);
    tcase_add_test(t, a_thousand_members_join_by_one_seed);
    tcase_add_test(t, halves_part_and_meet_again);
    tcase_add_test(t, members_agree_after_crashes_restarts_and_leaves_under_loss);
    tcase_add_test(t, a_stopped_process_comes_back_by_refuting);
    suite_add_tcase(s, t);
    return run_suite(s);
}

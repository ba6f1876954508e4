/* When the store's actor wakes for a job that becomes due, and what a node that comes costs it. */
#include "queues_fixture.h"

static void setup(void)
{
    begin_queues("q");
}

/* It waits for `least` at least, and for no longer than that and the time that passes here. */
static void want_wait(int64_t due, int64_t least)
{
    int64_t before = weft_now();
    wf_queue_set_due(&queues.table, queue, due);
    int64_t deadline = wf_queues_deadline(&queues);
    ck_assert_int_ge(deadline, before + least);
    ck_assert_int_le(deadline, weft_now() + least);
}

START_TEST(it_waits_until_a_clock_of_milliseconds_shows_the_time)
{
    want_wait(wall + 1, WEFT_MS(1));
    want_wait(wall + WEFT_MS(1), WEFT_MS(1));
    want_wait(wall + WEFT_MS(7) + 1, WEFT_MS(8));
}
END_TEST

START_TEST(it_reads_the_clock_again_after_ten_seconds)
{
    want_wait(wall + WEFT_SEC(10), WEFT_SEC(10));
    want_wait(wall + WEFT_SEC(3600), WEFT_SEC(10));
    want_wait(INT64_MAX - 1, WEFT_SEC(10));
}
END_TEST

START_TEST(what_is_due_is_not_waited_for)
{
    for (int64_t since = 0; since <= WEFT_SEC(5); since += WEFT_SEC(5)) {
        wf_queue_set_due(&queues.table, queue, wall - since);
        ck_assert_int_eq(wf_queues_deadline(&queues), WEFT_NOW);
    }
    wf_queue_set_due(&queues.table, queue, INT64_MAX);
    ck_assert_int_eq(wf_queues_deadline(&queues), WEFT_FOREVER);
}
END_TEST

/* A worker of before the opening, whose node is not linked. */
static struct wf_hold *add_away(uint64_t node, int64_t due)
{
    struct wf_hold *h = calloc(1, sizeof *h);
    ck_assert_ptr_nonnull(h);
    ck_assert_int_eq(wf_node_counts_add(&queues.of_node, node, WF_HOLDS_MAX), WEFT_OK);
    h->who = (weft_pid){.node = node, .actor = 5};
    h->queue = queue;
    h->restored = true;
    h->due = due;
    queue->users++;
    queues.holds++;
    wf_hold_go_away(&queues, h);
    return h;
}

/* In units of work, as times vary. A monitor is refused here, outside of an actor, so each waits on. */
START_TEST(a_node_that_comes_costs_what_it_has_and_not_what_others_have)
{
    enum { OTHERS = 10000 };
    for (uint64_t i = 0; i < OTHERS; i++) (void)add_away(100 + i % 50, wall + 9);
    for (int i = 0; i < 40; i++) (void)add_away(7, wall + 9);
    wf_queues_node_up(&queues, 8);
    size_t none = effort.done;
    wf_queues_node_up(&queues, 7);
    ck_assert_uint_gt(effort.done - none, 40);
    ck_assert_uint_lt(effort.done, 40 * (WF_EFFORT_ANSWER + 1) + 100 * WF_EFFORT_COMPARE);
    ck_assert_uint_eq(queues.holds, OTHERS + 40);
}
END_TEST

START_TEST(leases_that_have_ended_are_let_go_when_any_nodes_come)
{
    enum { OTHERS = 1000 };
    for (uint64_t i = 0; i < OTHERS; i++) (void)add_away(100 + i % 50, wall + (i % 2 == 0 ? 0 : 9));
    for (int i = 0; i < OTHERS / 16; i++) wf_queues_node_up(&queues, 7);
    ck_assert_uint_eq(queues.holds, OTHERS / 2);
    wall += 9;
    wf_queues_node_up(&queues, 100 + 1); /* all of its own, at once */
    ck_assert_uint_lt(queues.holds, OTHERS / 2);
    for (int i = 0; i < OTHERS / 16; i++) wf_queues_node_up(&queues, 7);
    ck_assert_uint_eq(queues.holds, 0);
    ck_assert(wf_list_empty(&queues.away));
}
END_TEST

/* A hold of an actor, which has a job or waits for one. Returns its request, which the actor of a store would free. */
static weft_msg *add_member(uint64_t actor, enum hold_state is)
{
    struct wf_hold *h = calloc(1, sizeof *h);
    ck_assert_ptr_nonnull(h);
    ck_assert_int_eq(wf_node_counts_add(&queues.of_node, 7, WF_HOLDS_MAX), WEFT_OK);
    *h = (struct wf_hold){
        .state = is, .who = {.node = 7, .actor = actor}, .queue = queue, .bound = 1, .due = INT64_MAX};
    h->ask = weft_msg_new(1, 0);
    ck_assert_ptr_nonnull(h->ask);
    queue->users++;
    queues.holds++;
    wf_hold_found_by_monitor(&queues, h);
    wf_chained_push(wf_hold_member_bucket(&queues, queue, h->who), &h->of_member);
    if (is != IS_WAITING) return h->ask;
    wf_list_push(&queue->takers, &h->in_line);
    queue->taker_count++;
    return h->ask;
}

START_TEST(takers_that_have_as_much_as_they_may_have_count_as_work)
{
    enum { MEMBERS = 1000 };
    static weft_msg *ask[2 * MEMBERS];
    weft_job job;
    for (uint64_t i = 0; i < MEMBERS; i++) {
        ask[2 * i] = add_member(i, IS_WORKING);
        ask[2 * i + 1] = add_member(i, IS_WAITING);
    }
    wf_queue_look_again(&queues.table, queue);
    ck_assert(!wf_queues_start(&queues, &job));
    ck_assert_uint_ge(effort.turns * WF_EFFORT_TURN + effort.done, MEMBERS * WF_EFFORT_ANSWER);
    ck_assert_uint_eq(queue->taker_count, 0);
    for (int i = 0; i < 2 * MEMBERS; i++) weft_msg_free(ask[i]);
}
END_TEST

/* In units of work, as times vary. The others have members, none of which waits for a record. */
START_TEST(a_batch_does_not_look_at_the_shared_cursors_that_it_does_not_concern)
{
    weft_job job;
    char name[32], pattern[32];
    for (int i = 0; i < WF_SHARES_MAX; i++) {
        snprintf(name, sizeof name, "$shared.c%d", i);
        snprintf(pattern, sizeof pattern, "topic.%d", i);
        use_queue(name);
        ck_assert_int_eq(wf_shares_join(&queues.shares, queue, pattern, (uint64_t)i / WF_SHARES_OF_NODE), WEFT_OK);
        wf_queue_set_due(&queues.table, queue, i == 3 ? wall : wall + 9);
        wf_queues_appended(&queues, pattern);
    }
    effort = (struct wf_effort){0};
    for (int i = 0; i < 10; i++) ck_assert(!wf_queues_start(&queues, &job));
    ck_assert_int_eq(wf_queue_table_next_due(&queues.table), wall + 9);
    ck_assert_uint_ge(effort.done, WF_EFFORT_ANSWER); /* the one that is due */
    ck_assert_uint_lt(effort.turns * WF_EFFORT_TURN + effort.done, 2 * WF_EFFORT_ANSWER);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queues of a store");
    TCase *c = tcase_create("deadline");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, it_waits_until_a_clock_of_milliseconds_shows_the_time);
    tcase_add_test(c, it_reads_the_clock_again_after_ten_seconds);
    tcase_add_test(c, what_is_due_is_not_waited_for);
    tcase_add_test(c, a_node_that_comes_costs_what_it_has_and_not_what_others_have);
    tcase_add_test(c, takers_that_have_as_much_as_they_may_have_count_as_work);
    tcase_add_test(c, a_batch_does_not_look_at_the_shared_cursors_that_it_does_not_concern);
    tcase_add_test(c, leases_that_have_ended_are_let_go_when_any_nodes_come);
    return run_suite(suite);
}

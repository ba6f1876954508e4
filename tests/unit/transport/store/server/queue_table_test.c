/* The queues that the store's actor keeps in memory, and the number of places that a node has in its tables. */
#include "../../../../suite.h"

#include <weft.h>

#include "node_counts.h"
#include "queue_table.h"

static struct wf_queue_table table;

static void setup(void)
{
    struct wf_queue_rule *rule = calloc(2, sizeof *rule);
    ck_assert_ptr_nonnull(rule);
    rule[0] = (struct wf_queue_rule){.pattern = "few.>", .jobs = 2};
    rule[1] = (struct wf_queue_rule){.pattern = "*", .jobs = 9};
    memset(&table, 0, sizeof table);
    wf_queue_table_init(&table, rule, 2, 7);
}

static void teardown(void)
{
    wf_queue_table_free(&table, &(struct wf_effort){0});
}

static struct wf_work_queue *use(const char *name)
{
    struct wf_work_queue *w;
    ck_assert_int_eq(wf_queue_use(&table, weft_cstr(name), &w), WEFT_OK);
    ck_assert_str_eq(w->name, name);
    return w;
}

static struct wf_work_queue *use_number(int i)
{
    char name[16];
    snprintf(name, sizeof name, "q%d", i);
    return use(name);
}

START_TEST(a_queue_lives_as_long_as_it_has_users)
{
    struct wf_work_queue *w = use("one"), *other;
    ck_assert_ptr_eq(use("one"), w);
    ck_assert_uint_eq(w->rule->jobs, 9);
    ck_assert_uint_eq(use("few.x")->rule->jobs, 2);
    ck_assert_int_eq(wf_queue_use(&table, weft_cstr("of.none"), &other), WEFT_EACCESS);
    ck_assert_int_eq(wf_queue_use(&table, weft_cstr("a.*"), &other), WEFT_EINVAL);
    ck_assert_uint_eq(table.count, 2);
    wf_queue_release(&table, w);
    ck_assert_ptr_eq(use("one"), w);
    wf_queue_release(&table, w);
    wf_queue_release(&table, w);
    ck_assert_uint_eq(table.count, 1);
}
END_TEST

START_TEST(names_that_were_used_take_no_place)
{
    for (int i = 0; i < 10 * WF_STORE_QUEUES_MAX; i++) wf_queue_release(&table, use_number(i));
    ck_assert_uint_eq(table.count, 0);
    ck_assert_uint_lt(table.due_max, 100);
}
END_TEST

/* A queue with takers; the table does not touch them. */
static struct wf_work_queue *use_with_takers(int i)
{
    struct wf_work_queue *w = use_number(i);
    w->taker_count = 1;
    return w;
}

/* The first queue that has takers and may have a job; NULL: there is none. */
static struct wf_work_queue *next_to_look(void)
{
    struct wf_work_queue *w = NULL;
    while (w == NULL && !wf_list_empty(&table.to_look)) w = wf_queue_next_to_look(&table);
    return w;
}

START_TEST(queues_get_their_turns)
{
    struct wf_work_queue *w[3];
    for (int i = 0; i < 3; i++) {
        w[i] = use_with_takers(i);
        wf_queue_look_again(&table, w[i]);
        wf_queue_look_again(&table, w[i]);
    }
    for (int i = 0; i < 7; i++) ck_assert_ptr_eq(next_to_look(), w[i % 3]);
    w[1]->may_have = false;
    w[2]->taker_count = 0;
    for (int i = 0; i < 3; i++) ck_assert_ptr_eq(next_to_look(), w[0]);
    wf_queue_look_again(&table, w[1]);
    ck_assert_ptr_eq(next_to_look(), w[0]);
    ck_assert_ptr_eq(next_to_look(), w[1]);
    wf_queue_release(&table, w[0]);
    wf_queue_release(&table, w[1]);
    ck_assert_ptr_null(next_to_look());
}
END_TEST

/* A model of the heap: the earliest of an array. */
START_TEST(queues_become_due_in_order)
{
    enum { COUNT = 200 };
    struct wf_work_queue *w[COUNT];
    int64_t due[COUNT];
    uint32_t seed = 1;
    for (int i = 0; i < COUNT; i++) w[i] = use_with_takers(i), due[i] = INT64_MAX;
    for (int step = 0; step < repeats(20000); step++) {
        seed = seed * 1664525 + 1013904223;
        int i = (int)(seed >> 16) % COUNT;
        int64_t min = INT64_MAX;
        due[i] = seed % 7 == 0 ? INT64_MAX : (int64_t)(seed >> 8) % 1000;
        wf_queue_set_due(&table, w[i], due[i]);
        if (step % 50 == 0) {
            while (wf_queue_table_tick(&table, 300) != NULL) continue;
            for (int k = 0; k < COUNT; k++)
                if (due[k] <= 300) due[k] = INT64_MAX;
        }
        for (int k = 0; k < COUNT; k++) min = due[k] < min ? due[k] : min;
        ck_assert_int_eq(wf_queue_table_next_due(&table), min);
    }
    for (int i = 0; i < COUNT; i++) wf_queue_release(&table, w[i]);
    ck_assert_int_eq(wf_queue_table_next_due(&table), INT64_MAX);
    ck_assert_uint_eq(table.count, 0);
}
END_TEST

START_TEST(a_queue_that_is_due_is_looked_at)
{
    struct wf_work_queue *soon = use_with_takers(1), *later = use_with_takers(2);
    wf_queue_set_due(&table, later, 20);
    wf_queue_set_due(&table, soon, 10);
    ck_assert(!wf_queue_table_tick(&table, 9));
    ck_assert_ptr_null(next_to_look());
    ck_assert(wf_queue_table_tick(&table, 10));
    ck_assert(!wf_queue_table_tick(&table, 10));
    ck_assert_ptr_eq(next_to_look(), soon);
    ck_assert_int_eq(wf_queue_table_next_due(&table), 20);
}
END_TEST

START_TEST(a_queue_that_somebody_waits_for_becomes_due_sooner_and_not_later)
{
    struct wf_work_queue *waits = use_with_takers(1), *idle = use_number(2);
    wf_queue_due_by(&table, idle, 5);
    ck_assert_int_eq(wf_queue_table_next_due(&table), INT64_MAX);
    wf_queue_due_by(&table, waits, 20);
    wf_queue_due_by(&table, waits, 30);
    ck_assert_int_eq(wf_queue_table_next_due(&table), 20);
    wf_queue_due_by(&table, waits, 10);
    wf_queue_due_by(&table, waits, INT64_MAX);
    ck_assert_int_eq(wf_queue_table_next_due(&table), 10);
}
END_TEST

START_TEST(the_places_of_a_node_are_bounded)
{
    struct wf_node_counts c = {.nodes = 0};
    for (int i = 0; i < 3; i++) ck_assert_int_eq(wf_node_counts_add(&c, 7, 3), WEFT_OK);
    ck_assert_int_eq(wf_node_counts_add(&c, 7, 3), WEFT_EFULL);
    for (uint64_t node = 8; node < 100; node++) ck_assert_int_eq(wf_node_counts_add(&c, node, 3), WEFT_OK);
    wf_node_counts_remove(&c, 7);
    ck_assert_int_eq(wf_node_counts_add(&c, 7, 3), WEFT_OK);
    ck_assert_int_eq(wf_node_counts_add(&c, 7, 3), WEFT_EFULL);
    for (uint64_t node = 8; node < 100; node++) wf_node_counts_remove(&c, node);
    ck_assert_uint_eq(c.nodes, 1);
    wf_node_counts_free(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queues that are remembered");
    TCase *c = tcase_create("table");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, a_queue_lives_as_long_as_it_has_users);
    tcase_add_test(c, names_that_were_used_take_no_place);
    tcase_add_test(c, queues_get_their_turns);
    tcase_add_test(c, queues_become_due_in_order);
    tcase_add_test(c, a_queue_that_is_due_is_looked_at);
    tcase_add_test(c, a_queue_that_somebody_waits_for_becomes_due_sooner_and_not_later);
    tcase_add_test(c, the_places_of_a_node_are_bounded);
    return run_suite(suite);
}

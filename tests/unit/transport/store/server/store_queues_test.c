/* When the store's actor wakes for a job that becomes due. */
#include "../../../../suite.h"

#include <weft.h>

#include "store_queues.h"

static int64_t wall; /* what the store's clock shows */

static int64_t read_clock(struct wf_store *s)
{
    (void)s;
    return wall;
}

static const struct wf_store_engine engine = {.clock = read_clock};
static struct wf_store store = {.engine = &engine, .secret = 11};
static struct wf_store_file file = {.store = &store};
static struct wf_effort effort;
static struct wf_store_queues queues;
static struct wf_work_queue *queue;

static void setup(void)
{
    struct wf_queue_rule *rule = calloc(1, sizeof *rule);
    ck_assert_ptr_nonnull(rule);
    *rule = (struct wf_queue_rule){.pattern = ">", .jobs = 9};
    memset(&queues, 0, sizeof queues);
    wf_queues_init(&queues, &file, &effort, rule, 1);
    ck_assert_int_eq(wf_queue_use(&queues.table, weft_cstr("q"), &queue), WEFT_OK);
    wall = WEFT_SEC(1000000);
}

static void teardown(void)
{
    wf_queues_free(&queues);
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

int main(void)
{
    Suite *suite = suite_create("queues of a store");
    TCase *c = tcase_create("deadline");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, it_waits_until_a_clock_of_milliseconds_shows_the_time);
    tcase_add_test(c, it_reads_the_clock_again_after_ten_seconds);
    tcase_add_test(c, what_is_due_is_not_waited_for);
    return run_suite(suite);
}

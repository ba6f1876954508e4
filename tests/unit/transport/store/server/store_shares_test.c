/* Which shared cursors learn of a stored record, and what that costs. */
#include "../../../../suite.h"

#include <weft.h>

#include "store_shares.h"

static struct wf_store store = {.secret = 11};
static struct wf_store_file file = {.store = &store};
static struct wf_store_shares shares;
static struct wf_work_queue queue[WF_SHARES_MAX];

static void setup(void)
{
    memset(&shares, 0, sizeof shares);
    memset(queue, 0, sizeof queue);
    wf_shares_init(&shares, &file);
}

static void teardown(void)
{
    wf_shares_free(&shares, &(struct wf_effort){0});
}

/* The cursor of that number, with one member that waits. */
static struct wf_share *join(size_t i, const char *pattern)
{
    snprintf(queue[i].name, sizeof queue[i].name, "q%zu", i);
    queue[i].taker_count = 1;
    ck_assert_int_eq(wf_shares_join(&shares, &queue[i], pattern, i / WF_SHARES_OF_NODE), WEFT_OK);
    return queue[i].share;
}

static bool knows(size_t i, const char *topic)
{
    return wf_topic_set_has(&queue[i].share->known, topic);
}

START_TEST(each_pattern_that_matches_learns_of_a_record)
{
    static const char *const pattern[] = {"a.b.c", "a.b.*", "a.*.c", "*.b.c", "a.>", "a.b.>", ">", "*.*.*", "a.*.>"};
    static const char *const other[] = {"a.b", "b.>", "*", "a.b.c.>", "a.b.c.d", "*.*", "ab.*.c", "a.b.cc", "c"};
    enum { COUNT = sizeof pattern / sizeof *pattern, OTHERS = sizeof other / sizeof *other };
    for (size_t i = 0; i < COUNT; i++) join(i, pattern[i]);
    for (size_t i = 0; i < OTHERS; i++) join(COUNT + i, other[i]);
    wf_shares_appended(&shares, "a.b.c");
    for (size_t i = 0; i < COUNT; i++) ck_assert_msg(knows(i, "a.b.c"), "%s", pattern[i]);
    for (size_t i = 0; i < OTHERS; i++) ck_assert_msg(!knows(COUNT + i, "a.b.c"), "%s", other[i]);
}
END_TEST

/* In units of work, as times vary. */
START_TEST(a_record_costs_the_same_among_few_and_many_patterns_of_other_topics)
{
    for (size_t i = 0; i < WF_SHARES_MAX; i++) {
        char pattern[32];
        snprintf(pattern, sizeof pattern, i % 2 == 0 ? "orders.%zu.>" : "orders.%zu.new", i);
        join(i, pattern);
    }
    size_t work = 0;
    for (int i = 0; i < WF_SHARES_MAX; i++) {
        char topic[32];
        snprintf(topic, sizeof topic, "orders.%d.new", i);
        work += wf_shares_appended(&shares, topic);
        ck_assert(knows((size_t)i, topic));
    }
    ck_assert_uint_lt(work / WF_SHARES_MAX, 4 * WF_EFFORT_COMPARE + WF_EFFORT_NOTE);
}
END_TEST

START_TEST(one_that_has_left_is_compared_no_more)
{
    join(0, "a.>");
    wf_shares_leave(&shares, &queue[0]);
    ck_assert_uint_eq(wf_shares_appended(&shares, "a.b"), 0);
    join(0, "a.>");
    ck_assert_uint_eq(wf_shares_appended(&shares, "a.b"), WF_EFFORT_COMPARE + WF_EFFORT_NOTE);
}
END_TEST

START_TEST(all_cursors_together_remember_a_limited_number_of_topics_and_each_some)
{
    char topic[WF_STORE_TOPIC_MAX + 1];
    for (size_t i = 0; i + 1 < WF_SHARES_MAX; i++) join(i, ">");
    for (int i = 0; i < 2 * WF_SHARE_TOPICS_MAX; i++) {
        snprintf(topic, sizeof topic, "t%d", i);
        wf_shares_appended(&shares, topic);
    }
    ck_assert_uint_le(shares.topics, WF_SHARES_TOPICS_MAX + WF_SHARES_MAX * WF_SHARE_TOPICS_LEAST);
    ck_assert(queue[0].share->missed); /* it looks for the others again */
    struct wf_share *last = join(WF_SHARES_MAX - 1, "late.*");
    wf_shares_appended(&shares, "late.one");
    ck_assert(!last->missed && knows(WF_SHARES_MAX - 1, "late.one"));
    size_t taken = 0;
    for (struct wf_share *share; wf_shares_next(&shares, &share, topic); taken++) shares.changes = 0;
    ck_assert_uint_gt(taken, 0);
    for (size_t i = 0; i < WF_SHARES_MAX; i++) wf_shares_leave(&shares, &queue[i]);
    ck_assert_uint_eq(shares.topics, 0);
}
END_TEST

/* The cursor of which the next change moves records. */
static struct wf_share *next(const char *expected)
{
    char topic[WF_STORE_TOPIC_MAX + 1];
    struct wf_share *share;
    ck_assert(wf_shares_next(&shares, &share, topic));
    ck_assert_str_eq(topic, expected);
    return share;
}

static void want_none(void)
{
    char topic[WF_STORE_TOPIC_MAX + 1];
    struct wf_share *share;
    ck_assert(!wf_shares_next(&shares, &share, topic));
}

START_TEST(cursors_take_turns)
{
    struct wf_share *a = join(0, "a.*"), *b = join(1, "b.*");
    (void)join(2, "c.*");
    for (const char *const *t = (const char *const[]){"a.1", "a.2", "a.3", "b.1", "b.2", NULL}; *t != NULL; t++)
        wf_shares_appended(&shares, *t);
    ck_assert_ptr_eq(next("a.1"), a);
    ck_assert_ptr_eq(next("b.1"), b);
    ck_assert_ptr_eq(next("a.2"), a);
    shares.changes = WF_SHARE_CHANGES_MAX;
    want_none();
    shares.changes = 3;
    ck_assert_ptr_eq(next("b.2"), b);
    ck_assert_ptr_eq(next("a.3"), a);
    want_none();
}
END_TEST

START_TEST(a_cursor_waits_until_it_has_space_and_a_member_and_its_member_a_wish)
{
    const struct wf_store_change full = {.more = true}, moved = {.count = 1, .more = true};
    struct wf_share *share = join(0, "a.*");
    wf_shares_appended(&shares, "a.1");
    wf_share_moved(&shares, next("a.1"), "a.1", WEFT_OK, &full);
    want_none();
    share->full = false;
    wf_share_changed(&shares, share);
    wf_share_moved(&shares, next("a.1"), "a.1", WEFT_OK, &moved);
    want_none();
    share->hungry = true;
    wf_share_changed(&shares, share);
    queue[0].taker_count = 0; /* the member leaves again */
    want_none();
    queue[0].taker_count = 1;
    wf_share_changed(&shares, share);
    ck_assert_ptr_eq(next("a.1"), share);
    ck_assert_ptr_null(wf_shares_next_failed(&shares));
    for (int i = 0; i < 2; i++) wf_share_failed(&shares, share, WEFT_ENOMEM);
    ck_assert_ptr_eq(wf_shares_next_failed(&shares), share);
    ck_assert_ptr_null(wf_shares_next_failed(&shares));
    wf_share_failed(&shares, share, WEFT_ENOMEM);
    wf_shares_leave(&shares, &queue[0]);
    ck_assert_ptr_null(wf_shares_next_failed(&shares));
    want_none();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shared cursors that have members");
    TCase *c = tcase_create("topics");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, each_pattern_that_matches_learns_of_a_record);
    tcase_add_test(c, a_record_costs_the_same_among_few_and_many_patterns_of_other_topics);
    tcase_add_test(c, one_that_has_left_is_compared_no_more);
    tcase_add_test(c, all_cursors_together_remember_a_limited_number_of_topics_and_each_some);
    tcase_add_test(c, cursors_take_turns);
    tcase_add_test(c, a_cursor_waits_until_it_has_space_and_a_member_and_its_member_a_wish);
    return run_suite(suite);
}

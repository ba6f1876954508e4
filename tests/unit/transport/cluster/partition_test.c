/* When a node takes itself to be in a minority: the test sets the states of the members by hand. */
#include "../../../suite.h"
#include "partition.h"
#include "swim_table.h"

static struct wf_swim *s;
static struct wf_partition p;
static int64_t now;

static bool on_send(void *arg, uint64_t to, const void *frame, size_t size)
{
    (void)arg, (void)to, (void)frame, (void)size;
    return true;
}

static void on_changed(void *arg, const struct wf_swim_member *m, enum wf_swim_state before)
{
    (void)arg, (void)before;
    wf_partition_review(&p, m);
}

static const struct wf_swim_user user = {.send = on_send, .changed = on_changed};

static weft_text record(const char *name, uint8_t out[64])
{
    struct wf_swim_record r = {.name = weft_cstr(name)};
    weft_writer w = weft_writer_on(out, 64);
    wf_put_swim_record(&w, &r);
    return (weft_text){(const char *)out, w.size};
}

/* Nodes are named by letters: 1 is "a". */
static void hear(uint64_t node, const char *name, enum wf_swim_state state, uint64_t number)
{
    uint8_t bytes[64];
    struct wf_swim_update u = {.node = node, .state = state, .number = number, .by = 99};
    if (state <= WF_SWIM_SUSPECT) u.record = record(name, bytes);
    wf_swim_learn(s, &u, now);
}

static void set(uint64_t node, enum wf_swim_state state)
{
    const struct wf_swim_member *m = wf_swim_find(s, node);
    char name[2] = {(char)('a' + node - 1), '\0'};
    uint64_t number = m == NULL ? 0 : m->number + (state == WF_SWIM_ALIVE);
    hear(node, name, state, number);
}

static bool few(void)
{
    int64_t again;
    (void)wf_partition_look(&p, s, now, &again);
    return p.few;
}

/* `self` of `count` nodes. */
static void start(weft_partition policy, uint32_t quorum, uint64_t self, uint64_t count)
{
    uint8_t bytes[64];
    char name[2] = {(char)('a' + self - 1), '\0'};
    now = WEFT_SEC(10);
    p = (struct wf_partition){.policy = policy, .quorum = quorum};
    s = wf_swim_new(&(struct wf_swim_options){.seed = 1}, &user, NULL, self, record(name, bytes), now);
    ck_assert_ptr_nonnull(s);
    wf_partition_review(&p, s->self);
    for (uint64_t node = 1; node <= count; node++)
        if (node != self) set(node, WF_SWIM_ALIVE);
}

static void teardown(void)
{
    wf_swim_free(s);
    wf_partition_finish(&p);
}

START_TEST(the_larger_side_goes_on)
{
    start(WEFT_PARTITION_MAJORITY, 0, 3, 5);
    ck_assert(!few());
    set(1, WF_SWIM_SUSPECT);
    set(2, WF_SWIM_SUSPECT);
    ck_assert(!few());
    ck_assert_uint_eq(p.there, 3);
    set(4, WF_SWIM_SUSPECT);
    ck_assert(few());
    ck_assert(!wf_partition_is_final(&p, s)); /* they are only suspects */
    set(1, WF_SWIM_DOWN);
    set(2, WF_SWIM_DOWN);
    set(4, WF_SWIM_DOWN);
    ck_assert(wf_partition_is_final(&p, s));
    set(1, WF_SWIM_ALIVE);
    ck_assert(!few());
}
END_TEST

START_TEST(the_half_with_the_first_name_is_no_minority)
{
    start(WEFT_PARTITION_MAJORITY, 0, 1, 4);
    set(3, WF_SWIM_SUSPECT);
    set(4, WF_SWIM_SUSPECT);
    ck_assert(!few());
    teardown();
    start(WEFT_PARTITION_MAJORITY, 0, 3, 4);
    set(1, WF_SWIM_SUSPECT);
    set(2, WF_SWIM_SUSPECT);
    ck_assert(few());
}
END_TEST

START_TEST(the_few_stay_few_however_long_it_lasts)
{
    start(WEFT_PARTITION_MAJORITY, 0, 4, 5);
    for (uint64_t node = 1; node <= 3; node++) set(node, WF_SWIM_SUSPECT);
    ck_assert(few());
    for (uint64_t node = 1; node <= 3; node++) set(node, WF_SWIM_DOWN);
    for (int i = 0; i < 100; i++) {
        now += WEFT_SEC(30);
        (void)wf_swim_tick(s, now); /* nothing is remembered of them any more */
        wf_swim_forget_old(s, now);
        set(5, WF_SWIM_ALIVE);
        ck_assert(few());
    }
    ck_assert_ptr_null(wf_swim_find(s, 1));
    ck_assert_uint_eq(p.count, 5);
}
END_TEST

START_TEST(the_many_count_anew_when_all_is_quiet)
{
    start(WEFT_PARTITION_MAJORITY, 0, 1, 5);
    set(4, WF_SWIM_SUSPECT);
    set(5, WF_SWIM_SUSPECT);
    ck_assert(!few());
    set(4, WF_SWIM_DOWN);
    set(5, WF_SWIM_DOWN);
    int64_t again;
    (void)wf_partition_look(&p, s, now, &again);
    ck_assert_int_eq(again, now + wf_swim_longest(s));
    ck_assert_uint_eq(p.count, 5);
    now = again;
    (void)wf_partition_look(&p, s, now, &again);
    ck_assert(!few());
    ck_assert_uint_eq(p.count, 3); /* so another one may go */
    set(2, WF_SWIM_SUSPECT);
    ck_assert(!few());
    set(3, WF_SWIM_SUSPECT);
    ck_assert(few());
}
END_TEST

START_TEST(suspects_keep_the_count_as_it_is)
{
    start(WEFT_PARTITION_MAJORITY, 0, 1, 5);
    set(5, WF_SWIM_SUSPECT);
    set(5, WF_SWIM_DOWN);
    for (int i = 0; i < 10; i++) { /* more are about to go: the cut may be still on its way to be seen */
        set(4, WF_SWIM_SUSPECT);
        now += wf_swim_longest(s) / 2;
        ck_assert(!few());
        ck_assert_uint_eq(p.count, 5);
        set(4, WF_SWIM_ALIVE);
    }
}
END_TEST

START_TEST(members_that_leave_or_are_replaced_do_not_count)
{
    start(WEFT_PARTITION_MAJORITY, 0, 1, 5);
    set(5, WF_SWIM_LEFT);
    set(4, WF_SWIM_LEFT);
    ck_assert(!few());
    ck_assert_uint_eq(p.count, 3);
    hear(30, "c", WF_SWIM_ALIVE, 0); /* started again */
    ck_assert(!few());
    ck_assert_uint_eq(p.count, 3);
    set(2, WF_SWIM_SUSPECT);
    ck_assert(!few());
}
END_TEST

START_TEST(suspects_do_not_count)
{
    start(WEFT_PARTITION_MAJORITY, 0, 3, 3);
    wf_swim_recheck(s, 1, now);
    ck_assert(!few());
    wf_swim_recheck(s, 2, now);
    ck_assert(few());
}
END_TEST

START_TEST(a_quorum_is_a_number)
{
    start(WEFT_PARTITION_QUORUM, 3, 1, 2);
    ck_assert(few());
    set(3, WF_SWIM_ALIVE);
    ck_assert(!few());
    set(2, WF_SWIM_SUSPECT);
    ck_assert(few());
    ck_assert_uint_eq(p.there, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("partition");
    TCase *t = tcase_create("sides");
    tcase_add_checked_fixture(t, NULL, teardown);
    tcase_add_test(t, the_larger_side_goes_on);
    tcase_add_test(t, the_half_with_the_first_name_is_no_minority);
    tcase_add_test(t, the_few_stay_few_however_long_it_lasts);
    tcase_add_test(t, the_many_count_anew_when_all_is_quiet);
    tcase_add_test(t, suspects_keep_the_count_as_it_is);
    tcase_add_test(t, members_that_leave_or_are_replaced_do_not_count);
    tcase_add_test(t, suspects_do_not_count);
    tcase_add_test(t, a_quorum_is_a_number);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

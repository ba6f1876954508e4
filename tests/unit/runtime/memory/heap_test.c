/* tests/unit/runtime/memory/heap_test.c -- the timer heap against a naive model. */
#include <check.h>
#include <stdlib.h>

#include "heap.h"
#include "../../../suite.h"

enum { TIMERS = 300, STEPS = 20000 };

/* A model: armed timers with the step they were armed at; the first is found by looking at all. */
struct model {
    struct wf_timer timer;
    uint64_t armed_at; /* 0: not */
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static struct model *model_first(struct model *all)
{
    struct model *best = NULL;
    for (int i = 0; i < TIMERS; i++) {
        struct model *m = &all[i];
        if (m->armed_at == 0) continue;
        if (best == NULL || m->timer.deadline < best->timer.deadline ||
            (m->timer.deadline == best->timer.deadline && m->armed_at < best->armed_at))
            best = m;
    }
    return best;
}

START_TEST(random_operations_agree_with_a_naive_model)
{
    struct wf_heap h;
    struct model *all = calloc(TIMERS, sizeof *all);
    uint32_t seed = 12345u + (uint32_t)_i, armed = 0;
    wf_heap_init(&h);
    for (uint64_t step = 1; step <= STEPS / 4; step++) {
        struct model *m = &all[next_random(&seed) % TIMERS];
        switch (next_random(&seed) % 4) {
        case 0:
        case 1:
            if (m->armed_at != 0) break;
            m->timer.deadline = next_random(&seed) % 50; /* many ties */
            ck_assert_int_eq(wf_heap_add(&h, &m->timer), WEFT_OK);
            m->armed_at = step;
            armed++;
            break;
        case 2:
            armed -= m->armed_at != 0;
            m->armed_at = 0;
            wf_heap_remove(&h, &m->timer);
            break;
        default:
            m = model_first(all);
            if (m == NULL) break;
            ck_assert_ptr_eq(wf_heap_first(&h), &m->timer);
            wf_heap_remove(&h, &m->timer);
            m->armed_at = 0;
            armed--;
        }
        ck_assert_uint_eq(h.count, armed);
        struct model *first = model_first(all);
        ck_assert_ptr_eq(wf_heap_first(&h), first == NULL ? NULL : &first->timer);
    }
    wf_heap_finish(&h);
    free(all);
}
END_TEST

/* A timer that is postponed, or rests, stays in the heap until its entry is the first one. The timers have to fire in
 * the same order as in the model, in which they are moved at once. Returns whether it was postponed. */
static bool arm_again(struct wf_heap *h, struct model *m, int64_t deadline, uint64_t step)
{
    m->armed_at = step;
    bool postponed = wf_heap_postpone(h, &m->timer, deadline);
    if (!postponed) {
        wf_heap_remove(h, &m->timer);
        m->timer.deadline = deadline;
        ck_assert_int_eq(wf_heap_add(h, &m->timer), WEFT_OK);
    }
    return postponed;
}

START_TEST(postponed_timers_fire_in_order)
{
    struct wf_heap h;
    struct model *all = calloc(TIMERS, sizeof *all), *m;
    uint32_t seed = 54321u + (uint32_t)_i, postponed = 0;
    wf_heap_init(&h);
    for (uint64_t step = 1; step <= STEPS / 4; step++) {
        m = &all[next_random(&seed) % TIMERS];
        switch (next_random(&seed) % 4) {
        case 0:
        case 1: {
            int64_t deadline = next_random(&seed) % 50; /* many ties */
            postponed += arm_again(&h, m, deadline, step);
            ck_assert_int_eq(m->timer.deadline, deadline);
            break;
        }
        case 2:
            wf_timer_rest(&m->timer);
            m->armed_at = 0;
            break;
        default:
            if ((m = model_first(all)) == NULL) break;
            ck_assert_int_le(wf_heap_earliest(&h), m->timer.deadline);
            ck_assert_ptr_eq(wf_heap_first(&h), &m->timer);
            ck_assert_int_eq(wf_heap_earliest(&h), m->timer.deadline);
            ck_assert(!wf_heap_move_first(&h));
            wf_heap_remove(&h, &m->timer);
            m->armed_at = 0;
        }
    }
    ck_assert_uint_gt(postponed, STEPS / 100);
    while ((m = model_first(all)) != NULL) {
        ck_assert_ptr_eq(wf_heap_first(&h), &m->timer);
        wf_heap_remove(&h, &m->timer);
        m->armed_at = 0;
    }
    ck_assert_ptr_null(wf_heap_first(&h)); /* those at rest are removed */
    ck_assert_uint_eq(h.count, 0);
    for (int i = 0; i < TIMERS; i++) ck_assert(!wf_timer_armed(&all[i].timer));
    wf_heap_finish(&h);
    free(all);
}
END_TEST

START_TEST(a_timer_is_not_postponed_to_an_earlier_time)
{
    struct wf_heap h;
    struct wf_timer t = {.deadline = 7}, other = {.deadline = 9};
    wf_heap_init(&h);
    ck_assert(!wf_heap_postpone(&h, &t, 8)); /* it is not armed */
    ck_assert_int_eq(wf_heap_earliest(&h), WEFT_FOREVER);
    ck_assert_int_eq(wf_heap_add(&h, &t), WEFT_OK);
    ck_assert_int_eq(wf_heap_add(&h, &other), WEFT_OK);
    ck_assert(!wf_heap_postpone(&h, &t, 6));
    ck_assert_int_eq(t.deadline, 7);
    wf_timer_rest(&t);
    ck_assert(!wf_heap_postpone(&h, &t, 6)); /* nor if it rests */
    ck_assert(wf_heap_postpone(&h, &t, 9));
    ck_assert_ptr_eq(wf_heap_first(&h), &other); /* which was armed before */
    h.serial = UINT32_MAX;
    ck_assert(!wf_heap_postpone(&h, &t, 10)); /* arming it anew finds a serial number */
    wf_heap_finish(&h);
}
END_TEST

START_TEST(equal_deadlines_fire_in_the_order_armed)
{
    enum { COUNT = 1000 };
    static struct wf_timer timers[COUNT];
    struct wf_heap h;
    wf_heap_init(&h);
    for (int i = 0; i < COUNT; i++) {
        timers[i] = (struct wf_timer){.deadline = 7};
        ck_assert_int_eq(wf_heap_add(&h, &timers[i]), WEFT_OK);
    }
    /* A timer that is armed again is the youngest. */
    wf_heap_remove(&h, &timers[0]);
    ck_assert_int_eq(wf_heap_add(&h, &timers[0]), WEFT_OK);
    for (int i = 1; i <= COUNT; i++) {
        ck_assert_ptr_eq(wf_heap_first(&h), &timers[i % COUNT]);
        wf_heap_remove(&h, &timers[i % COUNT]);
    }
    ck_assert_ptr_null(wf_heap_first(&h));
    wf_heap_finish(&h);
}
END_TEST

START_TEST(the_order_armed_outlives_the_last_serial)
{
    enum { COUNT = 100 };
    static struct wf_timer timers[COUNT], old = {.deadline = 7};
    struct wf_heap h;
    wf_heap_init(&h);
    ck_assert_int_eq(wf_heap_add(&h, &old), WEFT_OK);
    h.serial = UINT32_MAX - COUNT / 2;
    for (int i = 0; i < COUNT; i++) {
        timers[i] = (struct wf_timer){.deadline = 7};
        ck_assert_int_eq(wf_heap_add(&h, &timers[i]), WEFT_OK);
    }
    ck_assert_uint_lt(h.serial, UINT32_MAX - COUNT);
    ck_assert_ptr_eq(wf_heap_first(&h), &old);
    wf_heap_remove(&h, &old);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_ptr_eq(wf_heap_first(&h), &timers[i]);
        ck_assert_uint_lt(wf_heap_first_serial(&h), h.serial);
        wf_heap_remove(&h, &timers[i]);
    }
    wf_heap_finish(&h);
}
END_TEST

START_TEST(an_armed_timer_knows_it)
{
    struct wf_heap h;
    struct wf_timer t = {.deadline = 1};
    wf_heap_init(&h);
    ck_assert(!wf_timer_armed(&t));
    wf_heap_remove(&h, &t); /* fine */
    ck_assert_uint_eq(wf_heap_first_serial(&h), 0);
    ck_assert_int_eq(wf_heap_add(&h, &t), WEFT_OK);
    uint32_t serial = wf_heap_first_serial(&h);
    ck_assert(wf_timer_armed(&t));
    wf_heap_remove(&h, &t);
    ck_assert(!wf_timer_armed(&t));
    ck_assert_int_eq(wf_heap_add(&h, &t), WEFT_OK);
    ck_assert_uint_eq(wf_heap_first_serial(&h), serial + 1);
    wf_heap_finish(&h);
}
END_TEST

START_TEST(memory_of_a_peak_is_given_back)
{
    enum { COUNT = 100000 };
    struct wf_heap h;
    struct wf_timer *timers = calloc(COUNT, sizeof *timers);
    wf_heap_init(&h);
    for (int i = 0; i < COUNT; i++) {
        timers[i].deadline = COUNT - i;
        if (wf_heap_add(&h, &timers[i]) < 0) ck_abort(); /* an assertion takes longer than what it asserts */
    }
    for (int i = COUNT; i-- > 0;) {
        if (wf_heap_first(&h) != &timers[i]) ck_abort();
        wf_heap_remove(&h, &timers[i]);
    }
    ck_assert_uint_le(h.capacity, 1024);
    ck_assert_int_eq(wf_heap_reserve(&h), WEFT_OK);
    ck_assert_uint_gt(h.capacity, h.count);
    wf_heap_finish(&h);
    free(timers);
}
END_TEST

/* A worker that has had many timers is not held up when their memory is given back. */
START_TEST(a_removal_gives_at_most_one_other_timer_a_new_place)
{
    enum { COUNT = 1000 };
    struct wf_heap h;
    static struct wf_timer timers[COUNT];
    static uint32_t places[COUNT];
    wf_heap_init(&h);
    for (int i = 0; i < COUNT; i++) {
        timers[i] = (struct wf_timer){.deadline = (int64_t)i * 31 % COUNT};
        ck_assert_int_eq(wf_heap_add(&h, &timers[i]), WEFT_OK);
        places[i] = timers[i].place;
    }
    const uint32_t capacity = h.capacity;
    while (h.count > 0) {
        struct wf_timer *first = wf_heap_first(&h);
        wf_heap_remove(&h, first);
        int changed = 0;
        for (int i = 0; i < COUNT; i++) {
            changed += &timers[i] != first && timers[i].place != places[i];
            places[i] = timers[i].place;
        }
        ck_assert_int_le(changed, 1);
    }
    ck_assert_uint_lt(h.capacity, capacity / 8);
    wf_heap_finish(&h);
}
END_TEST

/* Shrinking loses none of the timers that are left. */
START_TEST(timers_left_of_a_peak_are_found)
{
    enum { COUNT = 10007, LEFT = 50 };
    struct wf_heap h;
    struct wf_timer *timers = calloc(COUNT, sizeof *timers);
    wf_heap_init(&h);
    for (int i = 0; i < COUNT; i++) {
        timers[i].deadline = (int64_t)i * 31 % COUNT;
        ck_assert_int_eq(wf_heap_add(&h, &timers[i]), WEFT_OK);
    }
    for (int i = 0; i < COUNT - LEFT; i++) wf_heap_remove(&h, &timers[(int64_t)i * 7919 % COUNT]);
    ck_assert_uint_eq(h.count, LEFT);
    ck_assert_uint_le(h.capacity, 8 * LEFT * 2);
    for (int i = 0; i < COUNT - LEFT; i++) {
        ck_assert(!wf_timer_armed(&timers[(int64_t)i * 7919 % COUNT]));
        ck_assert_int_eq(wf_heap_add(&h, &timers[(int64_t)i * 7919 % COUNT]), WEFT_OK);
    }
    for (int64_t deadline = 0; h.count > 0; deadline++) {
        struct wf_timer *t = wf_heap_first(&h);
        ck_assert_int_eq(t->deadline, deadline);
        wf_heap_remove(&h, t);
    }
    wf_heap_finish(&h);
    free(timers);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap");
    TCase *c = tcase_create("heap");
    tcase_add_loop_test(c, random_operations_agree_with_a_naive_model, 0, 4);
    tcase_add_loop_test(c, postponed_timers_fire_in_order, 0, 4);
    tcase_add_test(c, a_timer_is_not_postponed_to_an_earlier_time);
    tcase_add_test(c, equal_deadlines_fire_in_the_order_armed);
    tcase_add_test(c, the_order_armed_outlives_the_last_serial);
    tcase_add_test(c, an_armed_timer_knows_it);
    tcase_add_test(c, memory_of_a_peak_is_given_back);
    tcase_add_test(c, a_removal_gives_at_most_one_other_timer_a_new_place);
    tcase_add_test(c, timers_left_of_a_peak_are_found);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}

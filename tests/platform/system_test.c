/* tests/platform/system_test.c -- threads, mutexes, conditions, clocks, randomness and stack memory. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "platform.h"
#include "../suite.h"

/* ---- Threads --------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 20000 };
static pf_mutex *mutex;
static pf_cond *cond;
static long counter;
static int arrived, released;

static void make_lock(void)
{
    ck_assert_int_eq(pf_mutex_create(&mutex), WEFT_OK);
    ck_assert_int_eq(pf_cond_create(&cond), WEFT_OK);
    counter = arrived = released = 0;
}

static void drop_lock(void)
{
    pf_cond_destroy(cond);
    pf_mutex_destroy(mutex);
    pf_cond_destroy(NULL);
    pf_mutex_destroy(NULL);
}

static void count_up(void *arg)
{
    int step = *(int *)arg;
    for (int i = 0; i < ROUNDS; i++) {
        pf_mutex_lock(mutex);
        counter += step;
        pf_mutex_unlock(mutex);
    }
}

START_TEST(a_mutex_keeps_others_out)
{
    pf_thread *all[THREADS];
    int steps[THREADS];
    for (int i = 0; i < THREADS; i++) {
        steps[i] = i + 1;
        ck_assert_int_eq(pf_thread_start(&all[i], "a name that is too long", count_up, &steps[i]), WEFT_OK);
    }
    for (int i = 0; i < THREADS; i++) pf_thread_join(all[i]);
    ck_assert_int_eq(counter, (long)ROUNDS * THREADS * (THREADS + 1) / 2);
}
END_TEST

static void wait_for_release(void *arg)
{
    (void)arg;
    pf_mutex_lock(mutex);
    arrived++;
    pf_cond_broadcast(cond);
    while (counter == 0) (void)pf_cond_wait(cond, mutex, WEFT_FOREVER);
    released++;
    pf_cond_broadcast(cond);
    pf_mutex_unlock(mutex);
}

START_TEST(a_broadcast_wakes_all)
{
    pf_thread *all[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pf_thread_start(&all[i], "waits", wait_for_release, NULL), WEFT_OK);
    pf_mutex_lock(mutex);
    while (arrived < THREADS) (void)pf_cond_wait(cond, mutex, WEFT_FOREVER);
    counter = 1;
    pf_cond_broadcast(cond);
    pf_mutex_unlock(mutex);
    for (int i = 0; i < THREADS; i++) pf_thread_join(all[i]);
    ck_assert_int_eq(released, THREADS);
}
END_TEST

static bool done_once;
static int times_done, seen_done[8];

static void slow_work(void)
{
    for (int i = 0; i < 1000; i++) pf_cpu_relax();
    times_done++; /* plain: the lock of pf_once is what is tested */
}

static void ask_once(void *arg)
{
    pf_once(&done_once, slow_work);
    *(int *)arg = times_done;
}

START_TEST(a_function_run_once_is_done_when_any_of_its_calls_returns)
{
    pf_thread *threads[8];
    for (int i = 0; i < 8; i++) ck_assert_int_eq(pf_thread_start(&threads[i], "once", ask_once, &seen_done[i]), 0);
    for (int i = 0; i < 8; i++) {
        pf_thread_join(threads[i]);
        ck_assert_int_eq(seen_done[i], 1);
    }
}
END_TEST

START_TEST(a_detached_thread_runs)
{
    pf_thread *t;
    ck_assert_int_eq(pf_thread_start(&t, "detached", wait_for_release, NULL), WEFT_OK);
    pf_mutex_lock(mutex);
    while (arrived == 0) (void)pf_cond_wait(cond, mutex, WEFT_FOREVER);
    pf_thread_detach(t);
    counter = 1;
    pf_cond_broadcast(cond);
    while (released == 0) (void)pf_cond_wait(cond, mutex, WEFT_FOREVER);
    pf_mutex_unlock(mutex);
    pf_mutex_lock(mutex); /* the thread has left it: it can be destroyed */
    pf_mutex_unlock(mutex);
}
END_TEST

START_TEST(waiting_ends_at_its_deadline_and_not_before)
{
    struct pf_env *env = pf_env_native();
    static const int64_t SPANS[] = {1, WEFT_US(70), WEFT_MS(2)};
    pf_mutex_lock(mutex);
    for (size_t i = 0; i < WF_COUNT(SPANS); i++) {
        int rc;
        int64_t deadline = env->now(env) + SPANS[i];
        while ((rc = pf_cond_wait(cond, mutex, deadline)) == WEFT_OK) {}
        ck_assert_int_eq(rc, WEFT_ETIMEDOUT);
        ck_assert_int_ge(env->now(env), deadline);
    }
    ck_assert_int_eq(pf_cond_wait(cond, mutex, WEFT_NOW), WEFT_ETIMEDOUT);
    ck_assert_int_eq(pf_cond_wait(cond, mutex, 1), WEFT_ETIMEDOUT);
    ck_assert_int_eq(env->cond_wait(env, cond, mutex, env->now(env)), WEFT_ETIMEDOUT);
    pf_mutex_unlock(mutex);
}
END_TEST

/* ---- Clocks and randomness ------------------------------------------------------------------------------------- */

START_TEST(clocks)
{
    struct pf_env *env = pf_env_native();
    char text[32];
    int64_t before = env->now(env);
    ck_assert_int_gt(before, 0);
    for (int i = 0; i < 1000; i++) {
        int64_t now = env->now(env);
        ck_assert_int_ge(now, before);
        before = now;
    }
    ck_assert_int_gt(env->wall(env), WEFT_SEC(1700000000)); /* 2023 */
    pf_wall_clock_text(0, text, sizeof text);
    ck_assert_uint_eq(strlen(text), 24);
    ck_assert_str_gt(text, "2023-11-14");
    static const char FORM[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    for (size_t i = 0; i < sizeof FORM - 1; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        ck_assert_msg(FORM[i] == 'd' ? digit : text[i] == FORM[i], "%s", text);
    }
    pf_wall_clock_text(WEFT_SEC(1000000000) + WEFT_MS(7), text, sizeof text);
    ck_assert_str_eq(text, "2001-09-09T01:46:40.007Z");
}
END_TEST

START_TEST(randomness)
{
    struct pf_env *env = pf_env_native();
    unsigned char a[600], b[600];
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    env->random(env, a, sizeof a);
    env->random(env, b, sizeof b);
    ck_assert_mem_ne(a, b, sizeof a);
    ck_assert_mem_ne(a + 500, b + 500, 100);
    env->random(env, a, 0); /* fine */
}
END_TEST

START_TEST(the_system_has_a_processor_and_a_page_size)
{
    ck_assert_int_ge(pf_cpu_count(), 1);
    size_t page = pf_page_size();
    ck_assert_uint_ge(page, 4096);
    ck_assert_uint_eq(page & (page - 1), 0);
    pf_cpu_relax();
}
END_TEST

/* ---- Stack memory ---------------------------------------------------------------------------------------------- */

static bool is_zero(const char *at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (at[i] != 0) return false;
    return true;
}

START_TEST(reserved_memory_is_aligned_and_zero)
{
    size_t page = pf_page_size(), size = 64 * page;
    for (size_t align = page; align <= (size_t)1 << 20; align *= 4) {
        char *at = pf_pages_reserve(size, align);
        ck_assert_ptr_nonnull(at);
        ck_assert_uint_eq((uintptr_t)at % align, 0);
        ck_assert(is_zero(at, size));
        memset(at, 1, size);
        pf_pages_release(at, size);
    }
    ck_assert_ptr_null(pf_pages_reserve(0, page));
    ck_assert_ptr_null(pf_pages_reserve(page + 1, page));
    ck_assert_ptr_null(pf_pages_reserve(page, 3 * page));
    ck_assert_ptr_null(pf_pages_reserve((size_t)1 << 62, page));
    pf_pages_release(NULL, page); /* fine */
}
END_TEST

/* Much more than the machine has: it costs nothing until it is touched. */
START_TEST(address_space_is_no_memory)
{
    size_t size = (size_t)8 << 30;
    char *at = pf_pages_reserve(size, pf_page_size());
    ck_assert_ptr_nonnull(at);
    at[0] = at[size / 2] = at[size - 1] = 1;
    pf_pages_release(at, size);
}
END_TEST

START_TEST(trimmed_memory_is_zero_and_its_guard_stays)
{
    size_t page = pf_page_size(), size = 16 * page;
    enum pf_guard_kind kind = PF_GUARD_BEST;
    char *at = pf_pages_reserve(size, page);
    ck_assert_ptr_nonnull(at);
    memset(at, 1, size);
    ck_assert_int_eq(pf_pages_guard(&(struct pf_range){at, 4 * page}, 1, &kind), 1);
    ck_assert_int_ne(kind, PF_GUARD_NONE);
    ck_assert_int_eq(at[4 * page], 1);
    pf_pages_trim(at + 4 * page, 12 * page);
    ck_assert(is_zero(at + 4 * page, 12 * page));
    memset(at + 4 * page, 2, 12 * page);
    pf_pages_trim(at + 8 * page, 4 * page); /* only what was asked for */
    ck_assert_int_eq(at[7 * page], 2);
    ck_assert(is_zero(at + 8 * page, 4 * page));
    ck_assert_int_eq(at[12 * page], 2);
    pf_pages_release(at, size);
}
END_TEST

START_TEST(closed_ranges_are_zero_once_they_are_open)
{
    enum { RANGES = 10 };
    size_t page = pf_page_size(), size = RANGES * 4 * page;
    for (int kind = PF_GUARD_BEST; kind <= PF_GUARD_NONE; kind++) {
        struct pf_range ranges[RANGES];
        char *at = pf_pages_reserve(size, page);
        ck_assert_ptr_nonnull(at);
        memset(at, 1, size);
        for (size_t i = 0; i < RANGES; i++) ranges[i] = (struct pf_range){at + i * 4 * page, 3 * page};
        pf_pages_close(ranges, RANGES, (enum pf_guard_kind)kind);
        for (size_t i = 0; i < RANGES; i++) {
            ck_assert_int_eq(at[(i * 4 + 3) * page], 1); /* between them nothing has changed */
            pf_pages_open(ranges[i].at, ranges[i].size);
            ck_assert(is_zero(ranges[i].at, ranges[i].size));
            memset(ranges[i].at, 3, ranges[i].size);
        }
        pf_pages_close(ranges, 0, (enum pf_guard_kind)kind);
        pf_pages_close(ranges, 1, (enum pf_guard_kind)kind);
        pf_pages_open((char *)ranges[0].at + page, page); /* a part */
        ck_assert(is_zero((char *)ranges[0].at + page, page));
        pf_pages_release(at, size);
    }
}
END_TEST

START_TEST(pages_of_many_ranges_come_at_once)
{
    enum { RANGES = PF_RANGES_MAX };
    size_t page = pf_page_size(), size = 3 * RANGES * page;
    char *at = pf_pages_reserve(size, page);
    struct pf_range ranges[RANGES];
    ck_assert_ptr_nonnull(at);
    ck_assert(pf_pages_stack(at, size, at));
    for (int i = 0; i < RANGES; i++) ranges[i] = (struct pf_range){at + (size_t)(3 * i + 1) * page, page};
    size_t before = pf_pages_resident(at, size);
    bool done = pf_pages_populate(ranges, RANGES);
    ck_assert_uint_eq(pf_pages_resident(at, size), before + (done ? RANGES * page : 0));
    for (int i = 0; i < RANGES; i++) {
        char *first = ranges[i].at;
        ck_assert(!done || pf_pages_resident(first, page) == page);
        ck_assert(first[0] == 0 && first[page - 1] == 0);
        first[0] = 1;
    }
    (void)pf_pages_populate(ranges, RANGES);
    for (int i = 0; i < RANGES; i++) ck_assert_int_eq(*(char *)ranges[i].at, 1); /* what is there stays */
    pf_pages_release(at, size);
}
END_TEST

START_TEST(resident_pages_are_counted)
{
    size_t page = pf_page_size(), size = 256 * page;
    char *at = pf_pages_reserve(size, page);
    ck_assert_ptr_nonnull(at);
    ck_assert_uint_eq(pf_pages_resident(at, size), 0);
    ck_assert_ptr_eq(pf_pages_first(at, size), at + size);
    for (size_t i = 100; i < 130; i++) at[i * page] = 1;
    ck_assert_uint_eq(pf_pages_resident(at, size), 30 * page);
    ck_assert_ptr_eq(pf_pages_first(at, size), at + 100 * page);
    pf_pages_trim(at + 100 * page, 10 * page);
    ck_assert_uint_eq(pf_pages_resident(at, size), 20 * page);
    ck_assert_ptr_eq(pf_pages_first(at, size), at + 110 * page);
    ck_assert_ptr_eq(pf_pages_first(at, 50 * page), at + 50 * page);
    pf_pages_release(at, size);
}
END_TEST

START_TEST(a_stack_is_memory_from_its_low_end_up)
{
    size_t page = pf_page_size(), size = 64 * page, used = 4 * page;
    char *at = pf_pages_reserve(size, size), *low = at + size - used;
    ck_assert_ptr_nonnull(at);
    for (int i = 0; i < 3; i++) {
        ck_assert(pf_pages_stack(at, size, low));
        ck_assert(is_zero(low, used));
        memset(low, 1, used);
        struct pf_range range = {at, size};
        pf_pages_close(&range, 1, PF_GUARD_BEST);
        pf_pages_open(at, size);
    }
    pf_pages_release(at, size);
}
END_TEST

/* ---- Code ------------------------------------------------------------------------------------------------------ */

/* Windows does not say, nor a C library that was linked into the program. */
#ifdef __GLIBC__
enum { CODE_IS_KNOWN = 1 };
#else
enum { CODE_IS_KNOWN = 0 };
#endif

START_TEST(code_belongs_to_a_file)
{
    struct pf_code here, next;
    uintptr_t address = (uintptr_t)make_lock, data = (uintptr_t)&here;
    ck_assert(!pf_code_at(data, &here));
    ck_assert(!pf_code_at(0, &here));
    bool known = pf_code_at(address, &here);
    ck_assert(known || !CODE_IS_KNOWN);
    if (!known) return;
    ck_assert_str_ne(here.file, "");
    ck_assert_uint_le((uintptr_t)here.base, address);
    ck_assert_uint_gt(here.offset, 0);
    ck_assert(pf_code_at(address + 1, &next));
    ck_assert_str_eq(here.file, next.file);
    ck_assert_uint_eq(here.offset + 1, next.offset);
}
END_TEST

/* Elsewhere what is reserved is memory once pf_pages_stack has made it a stack, and no sooner. */
#ifdef _WIN32
enum { APPEARS_WHEN_TOUCHED = 0 };
#else
enum { APPEARS_WHEN_TOUCHED = 1 };
#endif

int main(void)
{
    Suite *suite = suite_create("conformance: system");
    TCase *c = tcase_create("threads");
    tcase_add_checked_fixture(c, make_lock, drop_lock);
    tcase_add_test(c, a_mutex_keeps_others_out);
    tcase_add_test(c, a_broadcast_wakes_all);
    tcase_add_test(c, a_function_run_once_is_done_when_any_of_its_calls_returns);
    tcase_add_test(c, a_detached_thread_runs);
    tcase_add_test(c, waiting_ends_at_its_deadline_and_not_before);
    suite_add_tcase(suite, c);
    c = tcase_create("clocks");
    tcase_add_test(c, clocks);
    tcase_add_test(c, randomness);
    tcase_add_test(c, the_system_has_a_processor_and_a_page_size);
    suite_add_tcase(suite, c);
    c = tcase_create("code");
    tcase_add_test(c, code_belongs_to_a_file);
    suite_add_tcase(suite, c);
    c = tcase_create("memory");
    tcase_add_test(c, a_stack_is_memory_from_its_low_end_up);
    suite_add_tcase(suite, c);
    if (APPEARS_WHEN_TOUCHED) {
        c = tcase_create("memory that appears");
        tcase_add_test(c, reserved_memory_is_aligned_and_zero);
        tcase_add_test(c, address_space_is_no_memory);
        tcase_add_test(c, trimmed_memory_is_zero_and_its_guard_stays);
        tcase_add_test(c, closed_ranges_are_zero_once_they_are_open);
        tcase_add_test(c, pages_of_many_ranges_come_at_once);
        tcase_add_test(c, resident_pages_are_counted);
        suite_add_tcase(suite, c);
    }
    return run_suite(suite);
}

/* tests/unit/runtime/memory/pool_test.c -- classes, magazines, and the trade between workers through the depot. */
#include <check.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "platform.h"
#include "pool.h"
#include "../../../suite.h"

START_TEST(every_size_has_the_smallest_class_that_holds_it)
{
    for (size_t size = 1; size <= 1024; size++) {
        uint16_t class_ = wf_pool_class(size);
        ck_assert_uint_lt(class_, WF_POOL_CLASSES);
        ck_assert_uint_ge((size_t)64 << class_, size);
        if (class_ > 0) ck_assert_uint_lt((size_t)32 << class_, size);
    }
    ck_assert_uint_eq(wf_pool_class(0), 0);
    ck_assert_uint_eq(wf_pool_class(1025), WF_POOL_LARGE);
    ck_assert_uint_eq(wf_pool_class(SIZE_MAX), WF_POOL_LARGE);
}
END_TEST

START_TEST(blocks_are_whole_aligned_and_distinct)
{
    enum { COUNT = 1000 };
    static unsigned char *blocks[COUNT];
    static size_t sizes[COUNT];
    struct wf_depot *d;
    struct wf_pool p;
    ck_assert_int_eq(wf_depot_create(&d), WEFT_OK);
    wf_pool_init(&p, d);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            sizes[i] = (size_t)(i * 37 % 1500 + 1);
            blocks[i] = wf_pool_take(&p, wf_pool_class(sizes[i]), sizes[i]);
            ck_assert_uint_eq((uintptr_t)blocks[i] % 16, 0);
            memset(blocks[i], i & 0xFF, sizes[i]);
        }
        for (int i = 0; i < COUNT; i++) {
            ck_assert_int_eq(blocks[i][0], i & 0xFF);
            ck_assert_int_eq(blocks[i][sizes[i] - 1], i & 0xFF);
            wf_pool_give(&p, wf_pool_class(sizes[i]), blocks[i]);
        }
    }
    wf_pool_finish(&p);
    wf_depot_destroy(d);
    wf_depot_destroy(NULL);
}
END_TEST

START_TEST(a_kept_block_is_taken_first_and_freed_with_its_pool)
{
    struct wf_depot *d;
    struct wf_pool p;
    ck_assert_int_eq(wf_depot_create(&d), WEFT_OK);
    wf_pool_init(&p, d);
    ck_assert(!wf_pool_has_kept(&p));
    void *a = wf_pool_take(&p, 0, 64), *b = wf_pool_take(&p, 0, 64), *c = wf_pool_take(&p, 0, 64);
    ck_assert(wf_pool_may_keep(&p));
    wf_pool_keep(&p, a);
    ck_assert(wf_pool_has_kept(&p));
    ck_assert(!wf_pool_may_keep(&p)); /* it keeps one, and has no magazine yet */
    ck_assert_ptr_eq(wf_pool_take_kept(&p), a);
    wf_pool_give(&p, 0, c); /* makes a magazine, except where blocks are not pooled */
    if (!wf_pool_has_block(&p, 0)) {
        ck_assert(p.bypass);
        wf_pool_give(&p, 0, a);
        wf_pool_give(&p, 0, b);
    } else {
        wf_pool_keep(&p, a);
        ck_assert(wf_pool_may_keep(&p));
        wf_pool_keep(&p, b); /* the second one goes into the magazine */
        ck_assert_ptr_eq(wf_pool_take_kept(&p), a);
        ck_assert_ptr_eq(wf_pool_take_kept(&p), b);
        ck_assert_ptr_eq(wf_pool_take_kept(&p), c);
        ck_assert(!wf_pool_has_kept(&p));
        wf_pool_give(&p, 0, b);
        wf_pool_give(&p, 0, c);
        wf_pool_keep(&p, a);
    }
    wf_pool_finish(&p);
    wf_depot_destroy(d);
}
END_TEST

START_TEST(threads_without_a_pool_may_join_in)
{
    struct wf_depot *d;
    struct wf_pool p;
    ck_assert_int_eq(wf_depot_create(&d), WEFT_OK);
    wf_pool_init(&p, d);
    void *from_outside = wf_pool_take(NULL, 1, 100), *from_pool = wf_pool_take(&p, 1, 100);
    memset(from_outside, 1, 128);
    memset(from_pool, 2, 128);
    wf_pool_give(&p, 1, from_outside);
    wf_pool_give(NULL, 1, from_pool);
    wf_pool_finish(&p);
    wf_depot_destroy(d);
}
END_TEST

START_TEST(blocks_given_elsewhere_come_back_through_the_depot)
{
    enum { COUNT = WF_MAGAZINE * 8 };
    static void *blocks[COUNT];
    struct wf_depot *d;
    struct wf_pool maker, taker;
    ck_assert_int_eq(wf_depot_create(&d), WEFT_OK);
    wf_pool_init(&maker, d);
    wf_pool_init(&taker, d);
    for (int i = 0; i < COUNT; i++) blocks[i] = wf_pool_take(&maker, 0, 64);
    for (int i = 0; i < COUNT; i++) wf_pool_give(&taker, 0, blocks[i]);
    ck_assert_int_le(taker.top[0] - taker.bottom[0], WF_MAGAZINE);
    int known = 0;
    for (int i = 0; i < COUNT; i++) {
        void *again = wf_pool_take(&maker, 0, 64);
        for (int k = 0; k < COUNT; k++)
            if (again == blocks[k]) known++;
        wf_block_free(again);
    }
    /* All blocks but those of the two magazines that the other thread may keep. Nothing is pooled in builds that
     * check memory. */
    if (!maker.bypass) ck_assert_int_ge(known, COUNT - 2 * WF_MAGAZINE);
    wf_pool_finish(&maker);
    wf_pool_finish(&taker);
    wf_depot_destroy(d);
}
END_TEST

/* So many blocks of 64 bytes are in use at a time, and are given back. */
static void pass_a_peak(struct wf_pool *p, size_t count)
{
    void **blocks = calloc(count, sizeof *blocks);
    for (size_t i = 0; i < count; i++) blocks[i] = wf_pool_take(p, 0, 64);
    for (size_t i = 0; i < count; i++) wf_pool_give(p, 0, blocks[i]);
    free(blocks);
}

START_TEST(the_depot_is_bounded)
{
    struct wf_depot *d;
    struct wf_pool p;
    ck_assert_int_eq(wf_depot_create(&d), WEFT_OK);
    wf_pool_init(&p, d);
    pass_a_peak(&p, WF_DEPOT_BYTES / 64 + 50 * WF_MAGAZINE);
    int pooled = 0;
    for (;;) {
        bool empty = !wf_pool_has_block(&p, 0);
        wf_block_free(wf_pool_take(&p, 0, 64));
        if (empty && p.top[0] - p.bottom[0] < WF_MAGAZINE - 1)
            break; /* it came from malloc, alone or with a few others */
        pooled++;
    }
    ck_assert_int_le(pooled, WF_DEPOT_BYTES / 64 + 2 * WF_MAGAZINE);
    if (!p.bypass) ck_assert_int_ge(pooled, WF_DEPOT_BYTES / 64);
    wf_pool_finish(&p);
    wf_depot_destroy(d);
}
END_TEST

#ifdef __GLIBC__
/* glibc merges the blocks that it has not merged yet in one later malloc, and a worker stands still meanwhile. */
START_TEST(the_blocks_of_a_peak_are_merged_while_they_are_freed)
{
    struct wf_depot *d;
    struct wf_pool p;
    ck_assert_int_eq(wf_depot_create(&d), WEFT_OK);
    wf_pool_init(&p, d);
    pass_a_peak(&p, WF_DEPOT_BYTES / 64 + 100000);
    if (!p.bypass) ck_assert_uint_le(mallinfo2().fsmblks, 4 * WF_MAGAZINE * 80);
    wf_pool_finish(&p);
    wf_depot_destroy(d);
}
END_TEST
#endif

/* A block that is given back is filled with a pattern, and is not used again before WF_LATE others are given back. */
START_TEST(with_poison_a_freed_block_is_overwritten_and_kept_for_a_while)
{
    static char wanted[] = "WEFT_POISON=1";
    struct wf_depot *d;
    struct wf_pool p;
    ck_assert_int_eq(putenv(wanted), 0);
    ck_assert_int_eq(wf_depot_create(&d), WEFT_OK);
    wf_pool_init(&p, d);
    ck_assert(p.bypass);
    if (p.late != NULL) { /* not where a tool sees it */
        unsigned char *block = wf_pool_take(&p, 1, 128);
        memset(block, 'x', 128);
        wf_pool_give(&p, 1, block);
        for (int i = 1; i < WF_LATE; i++) {
            void *other = wf_pool_take(&p, 1, 128);
            ck_assert_ptr_ne(other, block);
            wf_pool_give(&p, 1, other);
            ck_assert_int_eq(block[0], 'x'); /* the header stays for who looks at a core file */
            for (int k = WF_CACHE_LINE; k < 128; k++) ck_assert_int_eq(block[k], WF_FREED);
        }
        ck_assert_ptr_eq(p.late[p.late_at], block);
        wf_pool_give(&p, 1, wf_pool_take(&p, 1, 128));
        ck_assert_ptr_ne(p.late[p.late_at], block);
    }
    wf_pool_finish(&p); /* and frees the rest */
    wf_depot_destroy(d);
}
END_TEST

START_TEST(poison_is_for_those_who_want_it)
{
    static char no[2][16] = {"WEFT_POISON=", "WEFT_POISON=0"};
    struct wf_depot *d;
    struct wf_pool p;
    ck_assert_int_eq(wf_depot_create(&d), WEFT_OK);
    wf_pool_init(&p, d);
    bool watched = p.bypass;
    wf_pool_finish(&p);
    for (size_t i = 0; i < WF_COUNT(no); i++) {
        ck_assert_int_eq(putenv(no[i]), 0);
        wf_pool_init(&p, d);
        ck_assert(p.bypass == watched && p.late == NULL);
        wf_pool_finish(&p);
    }
    wf_depot_destroy(d);
}
END_TEST

/* One thread allocates blocks and the other frees them, as workers do with messages. */
enum { PASSED = 200000, RING = 512 };
static struct {
    struct wf_depot *depot;
    _Atomic(uint64_t *) ring[RING];
} passage;

static void end_blocks(void *arg)
{
    struct wf_pool p;
    (void)arg;
    wf_pool_init(&p, passage.depot);
    for (uint64_t i = 0; i < PASSED; i++) {
        uint64_t *b;
        while ((b = atomic_exchange(&passage.ring[i % RING], NULL)) == NULL) sched_yield();
        WF_ASSERT(b[0] == i && b[7] == ~i);
        wf_pool_give(&p, 0, b);
    }
    wf_pool_finish(&p);
}

START_TEST(two_threads_trade_magazines)
{
    pf_thread *other;
    struct wf_pool p;
    ck_assert_int_eq(wf_depot_create(&passage.depot), WEFT_OK);
    wf_pool_init(&p, passage.depot);
    ck_assert_int_eq(pf_thread_start(&other, "ender", end_blocks, NULL), WEFT_OK);
    for (uint64_t i = 0; i < PASSED; i++) {
        uint64_t *b = wf_pool_take(&p, 0, 64);
        b[0] = i;
        b[7] = ~i;
        while (atomic_load(&passage.ring[i % RING]) != NULL) sched_yield();
        atomic_store(&passage.ring[i % RING], b);
    }
    pf_thread_join(other);
    wf_pool_finish(&p);
    wf_depot_destroy(passage.depot);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool");
    TCase *c = tcase_create("pool");
    tcase_add_test(c, every_size_has_the_smallest_class_that_holds_it);
    tcase_add_test(c, blocks_are_whole_aligned_and_distinct);
    tcase_add_test(c, a_kept_block_is_taken_first_and_freed_with_its_pool);
    tcase_add_test(c, threads_without_a_pool_may_join_in);
    tcase_add_test(c, blocks_given_elsewhere_come_back_through_the_depot);
    tcase_add_test(c, the_depot_is_bounded);
#ifdef __GLIBC__
    tcase_add_test(c, the_blocks_of_a_peak_are_merged_while_they_are_freed);
#endif
    tcase_add_test(c, two_threads_trade_magazines);
    tcase_add_test(c, poison_is_for_those_who_want_it);
    tcase_add_test(c, with_poison_a_freed_block_is_overwritten_and_kept_for_a_while);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}

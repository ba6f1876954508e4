/* tests/unit/runtime/memory/slab_test.c -- generations, stale ids, limits, and readers on another thread. */
#include <check.h>
#include <sched.h>
#include <string.h>

#include "platform.h"
#include "slab.h"
#include "../../../suite.h"

struct item {
    struct wf_slot slot;
    uint64_t value;
};

START_TEST(ids_die_with_their_item)
{
    struct wf_slab s;
    wf_slab_init(&s, sizeof(struct item), 1000, 5);
    struct item *a = wf_slab_take(&s);
    uint64_t id = wf_slot_id(&a->slot);
    ck_assert_uint_ne(id, 0);
    ck_assert_uint_eq(wf_id_worker(id), 5);
    ck_assert_uint_eq(wf_id_slot(id), wf_slot_number(&a->slot));
    ck_assert_uint_eq(wf_id_generation(id) % 2, 1);
    ck_assert_ptr_eq(wf_slab_find(&s, id), a);
    wf_slab_give(&s, a);
    ck_assert_ptr_null(wf_slab_find(&s, id));
    struct item *b = wf_slab_take(&s);
    ck_assert_ptr_eq(a, b); /* the last one back is the first one out */
    ck_assert_ptr_null(wf_slab_find(&s, id));
    ck_assert_ptr_eq(wf_slab_find(&s, wf_slot_id(&b->slot)), b);
    wf_slab_give(&s, b);
    wf_slab_finish(&s);
}
END_TEST

START_TEST(ids_that_never_were_find_nothing)
{
    struct wf_slab s;
    wf_slab_init(&s, sizeof(struct item), 100, 0);
    ck_assert_ptr_null(wf_slab_at(&s, 0));
    ck_assert_ptr_null(wf_slab_find(&s, 0));
    ck_assert_ptr_null(wf_slab_find(&s, UINT64_MAX));
    struct item *a = wf_slab_take(&s);
    ck_assert_ptr_null(wf_slab_find(&s, 0));
    ck_assert_ptr_null(wf_slab_find(&s, wf_slot_id(&a->slot) + 1));
    ck_assert_ptr_null(wf_slab_find(&s, wf_slot_id(&a->slot) | 0xFFFFFF));
    wf_slab_finish(&s);
}
END_TEST

/* A peer may send any number. */
START_TEST(forged_ids_find_nothing)
{
    struct wf_slab s;
    wf_slab_init(&s, sizeof(struct item), 100, 5);
    struct item *items[3];
    for (uint32_t i = 0; i < WF_COUNT(items); i++) items[i] = wf_slab_take(&s);
    for (uint32_t i = 0; i < WF_COUNT(items); i++) {
        const uint64_t id = wf_slot_id(&items[i]->slot), life = UINT64_C(1) << 32;
        ck_assert_uint_eq(wf_slot_number(&items[i]->slot), i);
        ck_assert_ptr_null(wf_slab_find(&s, id ^ UINT64_C(1) << 24)); /* of another worker */
        ck_assert(wf_slab_withdraw(items[i]));
        ck_assert_uint_eq(wf_slot_number(&items[i]->slot), i);
        ck_assert_uint_eq(wf_slot_id_reserved(&items[i]->slot), id + 2 * life);
        for (uint64_t n = 0; n < 4; n++) ck_assert_ptr_null(wf_slab_find(&s, id + n * life));
        wf_slab_publish(items[i]);
        for (uint64_t n = 0; n < 4; n++) ck_assert_ptr_eq(wf_slab_find(&s, id + n * life), n == 2 ? items[i] : NULL);
    }
    wf_slab_finish(&s);
}
END_TEST

START_TEST(a_slab_has_no_memory_before_the_first_slot_is_taken)
{
    struct wf_slab s;
    wf_slab_init(&s, sizeof(struct item), WF_SLAB_MAX, 0);
    ck_assert_ptr_null(s.chunks);
    ck_assert_ptr_null(s.free);
    ck_assert_ptr_null(wf_slab_at(&s, 0));
    ck_assert_ptr_null(wf_slab_at(&s, WF_SLAB_MAX - 1));
    WF_SLAB_EACH(struct item, i, &s) ck_abort_msg("slot %u", wf_slot_number(&i->slot));
    wf_slab_finish(&s);
}
END_TEST

START_TEST(a_slab_holds_its_limit_and_no_more)
{
    enum { MAX = 3001 };
    static struct item *items[MAX];
    struct wf_slab s;
    wf_slab_init(&s, sizeof(struct item), MAX, 0);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < MAX; i++) {
            items[i] = wf_slab_take(&s);
            ck_assert_ptr_nonnull(items[i]);
            ck_assert_uint_eq((uintptr_t)items[i] % 16, 0);
            ck_assert_ptr_eq(wf_slab_at(&s, wf_slot_number(&items[i]->slot)), items[i]);
            /* Zero the first time, what was left there later. */
            ck_assert_uint_eq(items[i]->value, round == 0 ? 0 : wf_slot_number(&items[i]->slot) + 1);
            items[i]->value = wf_slot_number(&items[i]->slot) + 1;
        }
        ck_assert_uint_eq(s.used, MAX);
        ck_assert_ptr_null(wf_slab_take(&s));
        for (uint32_t i = 0; i < MAX; i++) wf_slab_give(&s, items[i]);
        ck_assert_uint_eq(s.used, 0);
    }
    wf_slab_finish(&s);
}
END_TEST

START_TEST(a_slot_with_no_generation_left_is_retired)
{
    struct wf_slab s;
    wf_slab_init(&s, sizeof(struct item), 2, 0);
    struct item *a = wf_slab_take(&s);
    atomic_store(&a->slot.word, (uint64_t)UINT32_MAX << 32 | wf_slot_number(&a->slot));
    uint64_t last = wf_slot_id(&a->slot);
    ck_assert_ptr_eq(wf_slab_find(&s, last), a);
    wf_slab_give(&s, a);
    ck_assert_ptr_null(wf_slab_find(&s, last));
    struct item *b = wf_slab_take(&s);
    ck_assert_ptr_nonnull(b);
    ck_assert_ptr_ne(a, b);
    ck_assert_ptr_null(wf_slab_take(&s));
    wf_slab_finish(&s);
}
END_TEST

START_TEST(a_withdrawn_item_is_not_found_until_it_is_published_again)
{
    struct wf_slab s;
    wf_slab_init(&s, sizeof(struct item), 1, 0);
    struct item *a = wf_slab_take(&s);
    uint64_t id = wf_slot_id(&a->slot);
    ck_assert(wf_slab_withdraw(a));
    ck_assert_ptr_null(wf_slab_find(&s, id));
    ck_assert_ptr_null(wf_slab_take(&s)); /* it is still reserved */
    wf_slab_publish(a);
    ck_assert_ptr_null(wf_slab_find(&s, id));
    ck_assert_ptr_eq(wf_slab_find(&s, wf_slot_id(&a->slot)), a);
    atomic_store(&a->slot.word, (uint64_t)UINT32_MAX << 32 | wf_slot_number(&a->slot));
    ck_assert(!wf_slab_withdraw(a)); /* its last life: it has to be given, which retires it */
    wf_slab_give(&s, a);
    ck_assert_ptr_null(wf_slab_take(&s));
    wf_slab_finish(&s);
}
END_TEST

/* The owner takes, publishes ids and gives, while readers look them up. What a reader finds must be an item of this
 * slab whose index is the id's. */
enum { SLOTS = 2000, READERS = 2, ROUNDS = 300 };
static struct {
    struct wf_slab slab;
    _Atomic uint64_t ids[SLOTS];
    _Atomic bool stop;
    _Atomic uint64_t found;
} shared;

static void read_ids(void *arg)
{
    (void)arg;
    while (!atomic_load(&shared.stop)) {
        for (int i = 0; i < SLOTS; i++) {
            uint64_t id = atomic_load(&shared.ids[i]);
            struct item *item = wf_slab_find(&shared.slab, id);
            if (item == NULL) continue;
            WF_ASSERT(wf_slot_number(&item->slot) == wf_id_slot(id));
            atomic_fetch_add(&shared.found, 1);
        }
        sched_yield();
    }
}

START_TEST(readers_on_other_threads_never_see_what_is_not_there)
{
    pf_thread *readers[READERS];
    static struct item *items[SLOTS];
    wf_slab_init(&shared.slab, sizeof(struct item), SLOTS, 0);
    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pf_thread_start(&readers[i], "reader", read_ids, NULL), WEFT_OK);
    for (int round = 0; round < (RUNNING_ON_VALGRIND ? ROUNDS / 10 : ROUNDS) || atomic_load(&shared.found) == 0;
         round++) {
        for (int i = 0; i < SLOTS; i++) {
            items[i] = wf_slab_take(&shared.slab);
            atomic_store(&shared.ids[i], wf_slot_id(&items[i]->slot));
        }
        sched_yield(); /* under Valgrind one thread runs at a time */
        for (int i = 0; i < SLOTS; i++) wf_slab_give(&shared.slab, items[i]);
        sched_yield();
    }
    atomic_store(&shared.stop, true);
    for (int i = 0; i < READERS; i++) pf_thread_join(readers[i]);
    for (int i = 0; i < SLOTS; i++) ck_assert_ptr_null(wf_slab_find(&shared.slab, atomic_load(&shared.ids[i])));
    wf_slab_finish(&shared.slab);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slab");
    TCase *c = tcase_create("slab");
    tcase_add_test(c, ids_die_with_their_item);
    tcase_add_test(c, ids_that_never_were_find_nothing);
    tcase_add_test(c, forged_ids_find_nothing);
    tcase_add_test(c, a_slab_has_no_memory_before_the_first_slot_is_taken);
    tcase_add_test(c, a_slab_holds_its_limit_and_no_more);
    tcase_add_test(c, a_slot_with_no_generation_left_is_retired);
    tcase_add_test(c, a_withdrawn_item_is_not_found_until_it_is_published_again);
    tcase_add_test(c, readers_on_other_threads_never_see_what_is_not_there);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}

/* tests/unit/runtime/memory/hash_table_test.c -- the table that grows in steps. */
#include <check.h>
#include <stdlib.h>

#include "hash_table.h"
#include "../../../suite.h"

struct entry {
    struct wf_hashed in_table;
    uint32_t key;
    uint32_t seen;
};

static struct entry *entry_of(struct wf_hashed *e)
{
    return e == NULL ? NULL : WF_CONTAINER(e, struct entry, in_table);
}

static uint32_t hash_of(uint32_t key)
{
    return key * UINT32_C(2654435761);
}

static struct entry *find(const struct wf_hash_table *t, uint32_t key)
{
    WF_HASHED_WITH(e, t, hash_of(key)) if (entry_of(e)->key == key) return entry_of(e);
    return NULL;
}

static struct entry *entries(uint32_t count)
{
    struct entry *all = calloc(count, sizeof *all);
    if (all == NULL) abort();
    for (uint32_t i = 0; i < count; i++) all[i].key = i;
    return all;
}

static void add(struct wf_hash_table *t, struct entry *e)
{
    if (!wf_hash_table_add(t, &e->in_table, hash_of(e->key))) ck_abort();
}

START_TEST(an_empty_table_finds_nothing)
{
    struct wf_hash_table t = {0};
    ck_assert_ptr_null(wf_hash_table_first(&t, 7));
    wf_hash_table_finish(&t);
}
END_TEST

START_TEST(random_operations_agree_with_a_plain_array)
{
    enum { KEYS = 3000, STEPS = 100000 };
    struct wf_hash_table t = {0};
    struct entry *all = entries(KEYS);
    bool *in = calloc(KEYS, sizeof *in);
    uint32_t seed = 4711u + (uint32_t)_i, count = 0;
    for (int step = 0; step < STEPS; step++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t key = (seed >> 8) % (step / 20000 % 2 == 0 ? KEYS : 50);
        if (in[key]) wf_hash_table_remove(&t, &all[key].in_table);
        else add(&t, &all[key]);
        count += in[key] ? UINT32_MAX : 1;
        in[key] = !in[key];
        seed = seed * 1664525 + 1013904223;
        key = (seed >> 8) % KEYS;
        if (find(&t, key) != (in[key] ? &all[key] : NULL) || t.count != count) ck_abort();
    }
    wf_hash_table_finish(&t);
    free(in);
    free(all);
}
END_TEST

START_TEST(a_table_grows_a_few_buckets_at_a_time)
{
    enum { COUNT = 100000, AT_ONCE = 8 };
    struct wf_hash_table t = {0};
    struct entry *all = entries(COUNT);
    bool half = false;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t before = t.old == NULL ? 0 : t.moved;
        add(&t, &all[i]);
        if (t.old != NULL && t.moved - before > AT_ONCE) ck_abort();
        half = half || (t.old != NULL && t.bucket_count > 10000);
        if (t.count > t.bucket_count) ck_abort(); /* chains do not get longer meanwhile */
    }
    ck_assert(half);
    for (uint32_t i = 0; i < COUNT; i++) ck_assert_ptr_eq(find(&t, i), &all[i]);
    wf_hash_table_finish(&t);
    free(all);
}
END_TEST

START_TEST(an_empty_table_gives_its_memory_back)
{
    enum { COUNT = 1000 };
    struct wf_hash_table t = {0};
    struct entry *all = entries(COUNT);
    for (uint32_t i = 0; i < COUNT; i++) add(&t, &all[i]);
    for (uint32_t i = 0; i < COUNT; i++) wf_hash_table_remove(&t, &all[i].in_table);
    ck_assert_uint_eq(t.bucket_count, 0);
    ck_assert_ptr_null(t.buckets);
    add(&t, &all[0]); /* a small one keeps them, and asks for none next time */
    struct wf_hashed **kept = t.buckets;
    wf_hash_table_remove(&t, &all[0].in_table);
    ck_assert_ptr_eq(t.buckets, kept);
    wf_hash_table_finish(&t);
    free(all);
}
END_TEST

/* Adds `more` between the parts. */
START_TEST(parts_have_each_entry_once)
{
    enum { COUNT = 5000, MORE = 20000 };
    struct wf_hash_table t = {0};
    struct entry *all = entries(COUNT + MORE);
    for (uint32_t i = 0; i < COUNT; i++) add(&t, &all[i]);
    uint32_t next = COUNT;
    for (uint64_t at = 0; at < WF_HASH_PARTS_END;) {
        uint32_t bucket = wf_hash_part(&at, t.bucket_count);
        WF_HASHED_IN(e, &t, bucket) entry_of(e)->seen++;
        for (int i = 0; i < 7 && next < COUNT + MORE; i++) add(&t, &all[next++]);
    }
    ck_assert_uint_gt(next, COUNT + MORE / 2);
    for (uint32_t i = 0; i < COUNT; i++) ck_assert_uint_eq(all[i].seen, 1);
    for (uint32_t i = COUNT; i < COUNT + MORE; i++) ck_assert_uint_le(all[i].seen, 1);
    wf_hash_table_finish(&t);
    free(all);
}
END_TEST

START_TEST(entries_may_be_removed_bucket_by_bucket)
{
    enum { COUNT = 5000 };
    for (uint32_t count = COUNT; count < COUNT + 4200; count += 700) { /* some of them in the midst of growing */
        struct wf_hash_table t = {0};
        struct entry *all = entries(count);
        for (uint32_t i = 0; i < count; i++) add(&t, &all[i]);
        for (uint32_t bucket = 0; bucket < t.bucket_count; bucket++) {
            WF_HASHED_IN(e, &t, bucket)
            {
                entry_of(e)->seen++;
                wf_hash_table_remove(&t, e);
            }
        }
        ck_assert_uint_eq(t.count, 0);
        for (uint32_t i = 0; i < count; i++) ck_assert_uint_eq(all[i].seen, 1);
        wf_hash_table_finish(&t);
        free(all);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hash_table");
    TCase *c = tcase_create("hash_table");
    tcase_add_test(c, an_empty_table_finds_nothing);
    tcase_add_loop_test(c, random_operations_agree_with_a_plain_array, 0, 4);
    tcase_add_test(c, a_table_grows_a_few_buckets_at_a_time);
    tcase_add_test(c, an_empty_table_gives_its_memory_back);
    tcase_add_test(c, parts_have_each_entry_once);
    tcase_add_test(c, entries_may_be_removed_bucket_by_bucket);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}

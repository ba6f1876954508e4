/* runtime/memory/hash_table.c -- see hash_table.h. */
#include "hash_table.h"

#include <stdlib.h>

enum {
    BUCKETS_AT_FIRST = 16,
    BUCKETS_KEPT = 64,  /* buckets that an empty table keeps, so that one entry that comes and goes needs no
                         * allocation */
    BUCKETS_AT_ONCE = 4 /* are moved with each entry that is added: all are moved long before it doubles again */
};

static void put(struct wf_hashed **chain, struct wf_hashed *e)
{
    e->next = *chain;
    *chain = e;
}

static void move_some(struct wf_hash_table *t)
{
    uint32_t old_count = t->bucket_count / 2, end = WF_MIN(t->moved + BUCKETS_AT_ONCE, old_count);
    for (; t->moved < end; t->moved++) {
        for (struct wf_hashed *e = t->old[t->moved], *next; e != NULL; e = next) {
            next = e->next;
            put(&t->buckets[e->hash & (t->bucket_count - 1)], e);
        }
    }
    if (t->moved < old_count) return;
    free(t->old);
    t->old = NULL;
}

static void grow(struct wf_hash_table *t)
{
    if (t->bucket_count > UINT32_MAX / 2) return;
    uint32_t count = t->bucket_count == 0 ? BUCKETS_AT_FIRST : t->bucket_count * 2;
    struct wf_hashed **bigger = calloc(count, sizeof(struct wf_hashed *));
    if (bigger == NULL) return;
    WF_ASSERT(t->old == NULL);
    t->old = t->buckets;
    t->moved = 0;
    t->buckets = bigger;
    t->bucket_count = count;
}

bool wf_hash_table_add(struct wf_hash_table *t, struct wf_hashed *e, uint32_t hash)
{
    if (t->old == NULL && t->count >= t->bucket_count) grow(t);
    if (t->bucket_count == 0) return false;
    e->hash = hash;
    put(wf_hash_table_chain(t, hash), e);
    t->count++;
    if (t->old != NULL) move_some(t);
    return true;
}

static void take(struct wf_hash_table *t, struct wf_hashed *e)
{
    struct wf_hashed **at = wf_hash_table_chain(t, e->hash);
    while (*at != e) {
        WF_ASSERT(*at != NULL);
        at = &(*at)->next;
    }
    *at = e->next;
    e->next = NULL;
}

void wf_hash_table_move(struct wf_hash_table *t, struct wf_hashed *e, uint32_t hash)
{
    take(t, e);
    e->hash = hash;
    put(wf_hash_table_chain(t, hash), e);
}

void wf_hash_table_remove(struct wf_hash_table *t, struct wf_hashed *e)
{
    take(t, e);
    WF_ASSERT(t->count > 0);
    if (--t->count == 0 && t->bucket_count > BUCKETS_KEPT) wf_hash_table_finish(t);
}

void wf_hash_table_finish(struct wf_hash_table *t)
{
    free(t->old);
    free(t->buckets);
    *t = (struct wf_hash_table){0};
}

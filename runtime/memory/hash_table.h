/* runtime/memory/hash_table.h -- an intrusive hash table that grows in steps.
 *
 * Design notes.
 * (1) It doubles when there are as many entries as buckets. The entries of the smaller table are moved over a few
 *     buckets at a time, with each entry that is added: no call takes longer because of how much the table holds.
 *     If there is no memory for a larger table the chains just get longer: only the first entry can fail.
 * (2) An empty table frees its buckets. Otherwise it does not shrink, so that reading it in parts misses no entry.
 * (3) If others choose the keys, hash them with a secret (runtime/memory/hash.h), so that an attacker cannot choose
 *     keys that share a bucket.
 * (4) A table belongs to one thread, or is used under its user's lock. */
#ifndef WF_HASH_TABLE_H
#define WF_HASH_TABLE_H

#include "base.h"

/* Embedded in each entry of a table. */
struct wf_hashed {
    struct wf_hashed *next; /* in its bucket */
    uint32_t hash;
    uint32_t mark; /* free for the entry's owner; the table does not touch it */
};

/* All zero: empty. */
struct wf_hash_table {
    struct wf_hashed **buckets; /* NULL: none yet */
    struct wf_hashed **old;     /* half as many buckets; those from `moved` on still have entries; NULL: none */
    uint32_t bucket_count;      /* a power of two, or 0 */
    uint32_t moved;
    uint32_t count; /* of entries */
};

/* Adds `e`, which must be in no table. False: no memory for the first buckets, and nothing has changed. */
bool wf_hash_table_add(struct wf_hash_table *t, struct wf_hashed *e, uint32_t hash);
/* Removes `e`, which must be in the table. */
void wf_hash_table_remove(struct wf_hash_table *t, struct wf_hashed *e);
/* Gives an entry another hash. */
void wf_hash_table_move(struct wf_hash_table *t, struct wf_hashed *e, uint32_t hash);
/* Frees the buckets, but not the entries that are still in it. */
void wf_hash_table_finish(struct wf_hash_table *t);

/* Returns the chain that has the entries of that hash, among others. */
static inline struct wf_hashed **wf_hash_table_chain(const struct wf_hash_table *t, uint32_t hash)
{
    uint32_t old = hash & ((t->bucket_count >> 1) - 1);
    if (WF_UNLIKELY(t->old != NULL) && old >= t->moved) return &t->old[old];
    return &t->buckets[hash & (t->bucket_count - 1)];
}

/* The first returns the first entry of that hash, the second the next one after `e` with the same hash; NULL: there
 * is none. */
static inline struct wf_hashed *wf_hash_table_next(const struct wf_hashed *e, uint32_t hash)
{
    while (e != NULL && e->hash != hash) e = e->next;
    return (struct wf_hashed *)(uintptr_t)e;
}
static inline struct wf_hashed *wf_hash_table_first(const struct wf_hash_table *t, uint32_t hash)
{
    return t->bucket_count == 0 ? NULL : wf_hash_table_next(*wf_hash_table_chain(t, hash), hash);
}
/* Each entry of that hash; the body compares the keys. */
#define WF_HASHED_WITH(e, t, wanted) \
    for (struct wf_hashed *e = wf_hash_table_first(t, wanted); e != NULL; e = wf_hash_table_next(e->next, wanted))

/* The entries of one bucket of `t->bucket_count`; the body may take out `e`, and no other. */
static inline struct wf_hashed *wf_hash_table_in_bucket(const struct wf_hash_table *t, const struct wf_hashed *e,
                                                        uint32_t bucket)
{
    while (e != NULL && (e->hash & (t->bucket_count - 1)) != bucket) e = e->next;
    return (struct wf_hashed *)(uintptr_t)e;
}
#define WF_HASHED_IN(e, t, bucket)                                                                    \
    for (struct wf_hashed *e = wf_hash_table_in_bucket(t, *wf_hash_table_chain(t, bucket), bucket),   \
                          *e##_next = e == NULL ? NULL : wf_hash_table_in_bucket(t, e->next, bucket); \
         e != NULL; e = e##_next, e##_next = e == NULL ? NULL : wf_hash_table_in_bucket(t, e->next, bucket))

/* For reading a table in parts, between which it may change: `*at` begins at 0, and each call returns the next bucket
 * until it is WF_HASH_PARTS_END. Buckets come in the order of their reversed numbers, in which the two that a bucket
 * becomes when the table grows stand where that one stood: nothing that is there all the time is missed or comes
 * twice. The table must not be empty. */
#define WF_HASH_PARTS_END (UINT64_C(1) << 32)
static inline uint32_t wf_hash_part(uint64_t *at, uint64_t bucket_count)
{
    uint64_t reversed = 0, step = WF_HASH_PARTS_END / bucket_count;
    for (int i = 0; i < 32; i++) reversed |= (*at >> i & 1) << (31 - i);
    *at = (*at / step + 1) * step;
    return (uint32_t)(reversed & (bucket_count - 1));
}

#endif

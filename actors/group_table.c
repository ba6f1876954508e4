/* actors/group_table.c -- the groups by name, and who is in them: see group_table.h. All of it under the lock. */
#include "group_table.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

int wf_groups_create(struct wf_groups **out)
{
    struct wf_groups *g = calloc(1, sizeof *g);
    int rc = g == NULL ? WEFT_ENOMEM : pf_mutex_create(&g->lock);
    if (rc == WEFT_OK) *out = g;
    else free(g);
    return rc;
}

void wf_groups_destroy(struct wf_groups *g)
{
    if (g == NULL) return;
    WF_ASSERT(g->count == 0);   /* actors leave before they end, and links before the node does */
    WF_ASSERT(g->ends == NULL); /* and nobody watches */
    free(g->members.buckets);
    free(g->copies.buckets);
    free(g->watches.buckets);
    free(g->buckets);
    pf_mutex_destroy(g->lock);
    free(g);
}

size_t wf_groups_count(struct wf_groups *g)
{
    pf_mutex_lock(g->lock);
    size_t count = g->count;
    pf_mutex_unlock(g->lock);
    return count;
}

/* ---- Groups ---------------------------------------------------------------------------------------------------- */

static struct wf_group **bucket_of(const struct wf_groups *all, uint32_t hash)
{
    WF_ASSERT((all->bucket_count & (all->bucket_count - 1)) == 0);
    return &all->buckets[hash & (all->bucket_count - 1)];
}

/* Without memory its chains just get longer. False: there is no table at all. */
static bool grow(struct wf_groups *all)
{
    enum { AT_FIRST = 16 };
    size_t old_count = all->bucket_count, count = old_count == 0 ? AT_FIRST : old_count * 2;
    struct wf_group **old = all->buckets, **bigger = calloc(count, sizeof(struct wf_group *));
    if (bigger == NULL) return old != NULL;
    all->buckets = bigger;
    all->bucket_count = count;
    for (size_t i = 0; i < old_count; i++) {
        for (struct wf_group *g = old[i], *next; g != NULL; g = next) {
            next = g->next;
            struct wf_group **bucket = bucket_of(all, g->hash);
            g->next = *bucket;
            *bucket = g;
        }
    }
    free(old);
    return true;
}

struct wf_group *wf_group_find(struct wf_groups *all, weft_text name)
{
    uint32_t hash = wf_hash(name.data, name.size, 0);
    struct wf_group *g = all->bucket_count == 0 ? NULL : *bucket_of(all, hash);
    while (g != NULL && (g->hash != hash || !wf_group_is(g, name))) g = g->next;
    return g;
}

struct wf_group *wf_group_find_or_make(struct wf_groups *all, weft_text name)
{
    struct wf_group *g = wf_group_find(all, name);
    if (g != NULL) return g;
    if (all->count == all->bucket_count && !grow(all)) return NULL;
    g = calloc(1, sizeof *g + name.size + 1);
    if (g == NULL) return NULL;
    wf_list_init(&g->members);
    wf_list_init(&g->watchers);
    wf_list_init(&g->copies);
    g->hash = wf_hash(name.data, name.size, 0);
    g->size = (uint32_t)name.size;
    memcpy(g->name, name.data, name.size);
    struct wf_group **bucket = bucket_of(all, g->hash);
    g->next = *bucket;
    *bucket = g;
    all->count++;
    return g;
}

void wf_group_free_if_empty(struct wf_groups *all, struct wf_group *g)
{
    if (g->member_count > 0 || g->watcher_count > 0 || g->copy_count > 0) return;
    struct wf_group **at = bucket_of(all, g->hash);
    while (*at != g) at = &(*at)->next;
    *at = g->next;
    all->count--;
    wf_group_list_drop(g->list);
    free(g);
}

/* ---- Who is in them -------------------------------------------------------------------------------------------- */

static struct wf_group_member **place_of(const struct wf_group_places *p, const struct wf_group *g, weft_pid who)
{
    WF_ASSERT((p->bucket_count & (p->bucket_count - 1)) == 0);
    uint64_t hash = wf_mix(wf_mix(who.actor ^ who.node) + g->hash);
    return &p->buckets[hash & (p->bucket_count - 1)];
}

/* False: there is no table. Without memory for a larger one its chains just get longer. */
static bool grow_places(struct wf_group_places *p)
{
    enum { AT_FIRST = 64 };
    size_t old_count = p->bucket_count;
    struct wf_group_member **old = p->buckets;
    struct wf_group_places bigger = {.count = p->count, .bucket_count = old_count == 0 ? AT_FIRST : old_count * 2};
    bigger.buckets = calloc(bigger.bucket_count, sizeof(struct wf_group_member *));
    if (bigger.buckets == NULL) return old != NULL;
    for (size_t i = 0; i < old_count; i++) {
        for (struct wf_group_member *m = old[i], *next; m != NULL; m = next) {
            next = m->next;
            struct wf_group_member **at = place_of(&bigger, m->group, m->who);
            m->next = *at;
            *at = m;
        }
    }
    free(old);
    *p = bigger;
    return true;
}

struct wf_group_member *wf_group_place_find(const struct wf_group_places *p, const struct wf_group *g, weft_pid who)
{
    struct wf_group_member *m = p->bucket_count == 0 ? NULL : *place_of(p, g, who);
    while (m != NULL && (m->group != g || !weft_pid_equal(m->who, who))) m = m->next;
    return m;
}

bool wf_group_place_add(struct wf_group_places *p, struct wf_group_member *m)
{
    if (p->count == p->bucket_count && !grow_places(p)) return false;
    struct wf_group_member **at = place_of(p, m->group, m->who);
    m->next = *at;
    *at = m;
    p->count++;
    return true;
}

void wf_group_place_remove(struct wf_group_places *p, struct wf_group_member *m)
{
    struct wf_group_member **at = place_of(p, m->group, m->who);
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    p->count--;
}

bool wf_groups_some(struct wf_groups *g, struct wf_groups_part *part,
                    bool (*see)(weft_text group, weft_pid who, void *arg), void *arg)
{
    enum { BUCKETS_AT_ONCE = 4096 };
    bool more = true;
    pf_mutex_lock(g->lock);
    const struct wf_group_places *p = part->copies ? &g->copies : &g->members;
    if (p->bucket_count == 0) part->at = WF_HASH_PARTS_END;
    for (int i = 0; i < BUCKETS_AT_ONCE && more && part->at < WF_HASH_PARTS_END; i++) {
        for (struct wf_group_member *m = p->buckets[wf_hash_part(&part->at, p->bucket_count)]; m != NULL; m = m->next)
            more &= see(weft_str(m->group->name, m->group->size), m->who, arg);
    }
    pf_mutex_unlock(g->lock);
    if (part->at < WF_HASH_PARTS_END) return true;
    if (part->copies || part->own) return false;
    part->copies = true;
    part->at = 0;
    return true;
}

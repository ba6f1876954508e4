/* actors/names/group_table.c -- the groups by name, and their members and watchers: see group_table.h. Everything is
 * under the lock. */
#include "group_table.h"

#include "hash.h"
#include "names.h"
#include "sanitizer.h"

#include <stdlib.h>
#include <string.h>

int wf_groups_create(struct wf_groups **out, uint64_t secret)
{
    struct wf_groups *g = calloc(1, sizeof *g);
    int rc = g == NULL ? WEFT_ENOMEM : pf_mutex_create(&g->lock);
    if (g != NULL) g->secret = secret;
    if (rc == WEFT_OK) *out = g;
    else free(g);
    return rc;
}

void wf_groups_destroy(struct wf_groups *g)
{
    if (g == NULL) return;
    WF_ASSERT(g->table.count == 0); /* actors leave before they end, and links before the node does */
    WF_ASSERT(g->ends == NULL);     /* there are no watchers either */
    wf_hash_table_finish(&g->members);
    wf_hash_table_finish(&g->copies);
    wf_hash_table_finish(&g->watches);
    wf_hash_table_finish(&g->table);
    pf_mutex_destroy(g->lock);
    free(g);
}

/* ---- Groups ---------------------------------------------------------------------------------------------------- */

int wf_group_check(const struct wf_actor *self, const char *group)
{
    if (self == NULL) return WEFT_ENOTACTOR;
    int rc = group == NULL ? WEFT_EINVAL : wf_name_check(weft_cstr(group));
    return rc < 0 ? wf_wrong_name(rc, group) : rc;
}

static struct wf_group *find(const struct wf_groups *all, weft_text name, uint32_t hash)
{
    WF_HASHED_WITH(e, &all->table, hash)
    {
        struct wf_group *g = WF_CONTAINER(e, struct wf_group, in_table);
        if (wf_group_is(g, name)) return g;
    }
    return NULL;
}

struct wf_group *wf_group_find(const struct wf_groups *all, weft_text name)
{
    return find(all, name, wf_hash(name.data, name.size, all->secret));
}

struct wf_group *wf_group_find_or_make(struct wf_groups *all, weft_text name)
{
    uint32_t hash = wf_hash(name.data, name.size, all->secret);
    struct wf_group *g = find(all, name, hash);
    if (g != NULL) return g;
    g = calloc(1, sizeof *g + name.size + 1);
    if (g == NULL || !wf_hash_table_add(&all->table, &g->in_table, hash)) {
        free(g);
        return NULL;
    }
    wf_list_init(&g->members);
    wf_list_init(&g->watchers);
    wf_list_init(&g->copies);
    g->size = (uint32_t)name.size;
    memcpy(g->name, name.data, name.size);
    return g;
}

void wf_group_free_if_empty(struct wf_groups *all, struct wf_group *g)
{
    if (g->member_count > 0 || g->watcher_count > 0 || g->copy_count > 0) return;
    wf_hash_table_remove(&all->table, &g->in_table);
    wf_group_list_drop(g->list);
    free(g);
}

/* ---- Who is in them -------------------------------------------------------------------------------------------- */

/* The hash of an actor of any node in a group. */
static uint32_t place_hash(const struct wf_groups *all, const struct wf_group *g, weft_pid who)
{
    return (uint32_t)wf_mix(wf_mix(who.actor ^ who.node ^ all->secret) + g->in_table.hash);
}

static struct wf_group_member *member_of(struct wf_hashed *e)
{
    return WF_CONTAINER(e, struct wf_group_member, in_table);
}

struct wf_group_member *wf_group_place_find(const struct wf_groups *all, const struct wf_hash_table *p,
                                            const struct wf_group *g, weft_pid who)
{
    WF_HASHED_WITH(e, p, place_hash(all, g, who))
    {
        struct wf_group_member *m = member_of(e);
        if (m->group == g && weft_pid_equal(m->who, who)) return m;
    }
    return NULL;
}

bool wf_group_place_add(const struct wf_groups *all, struct wf_hash_table *p, struct wf_group_member *m)
{
    return wf_hash_table_add(p, &m->in_table, place_hash(all, m->group, m->who));
}

bool wf_groups_some(struct wf_groups *g, struct wf_groups_part *part,
                    bool (*see)(weft_text group, weft_pid who, void *arg), void *arg)
{
    bool more = true;
    pf_mutex_lock_behind(g->lock);
    const struct wf_hash_table *p = part->copies ? &g->copies : &g->members;
    if (p->bucket_count == 0) part->at = WF_HASH_PARTS_END;
    for (int i = 0; i < WF_LIMIT("groups: buckets in a part", 4096, 1) && more && part->at < WF_HASH_PARTS_END; i++) {
        uint32_t bucket = wf_hash_part(&part->at, p->bucket_count);
        WF_HASHED_IN(e, p, bucket)
        {
            const struct wf_group_member *m = member_of(e);
            more &= see(weft_str(m->group->name, m->group->size), m->who, arg);
        }
    }
    pf_mutex_unlock(g->lock);
    if (part->at < WF_HASH_PARTS_END) return true;
    if (part->copies || part->own) return false;
    part->copies = true;
    part->at = 0;
    return true;
}

void wf_group_list_drop(struct wf_group_list *list)
{
    if (list != NULL && WF_LAST_HOLDER(&list->refs, 1)) free(list);
}

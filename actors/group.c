/* actors/group.c -- groups: the table of those that a node knows, joining, leaving, watching.
 *
 * Design notes.
 * (1) One table under one lock. A change and the posting of its news are one step under it, and so are the beginning
 *     of a watch and the reading of who is there: so each watcher is told of each change once.
 * (2) News travel from the worker where they happen: all of one member's from its own, in order. What a watcher is
 *     told at first comes from its own worker at once, before anything that is posted later.
 * (3) Each watch has a number, and news carry it: those that arrive when the watch is over are freed (mailbox.c), so
 *     that a new watch of the same group is not told of what came before it.
 * (4) The news of a join or a leave are allocated before anything is changed. An end cannot fail: group_news.c.
 * (5) Senders share a list of pids and nodes that is made when it is first wanted after a change; it outlives the
 *     change for as long as somebody sends.
 * (6) Members of this node are entries of tables.h: other nodes keep copies of them, and we of theirs
 *     (group_copy.c). Changes of them are made with the node's tables_lock held; watches are of this node alone. */
#include "group_table.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "mutant.h"

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
    free(g->copies);
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

/* Those of a list but the first `part->members` of the bucket; `*seen` counts. False: `see` wants no more. */
static bool see_members(struct wf_groups_part *part, const struct wf_group *g, bool copies, uint32_t *seen,
                        bool (*see)(weft_text group, weft_pid who, void *arg), void *arg)
{
    weft_text name = weft_str(g->name, g->size);
    const struct wf_list *l = copies ? &g->copies : &g->members;
    WF_LIST_EACH(k, l) {
        if (++*seen <= part->members) continue;
        part->members++;
        weft_pid who = copies ? WF_CONTAINER(k, struct wf_group_copy, in_group)->who
                              : WF_CONTAINER(k, struct wf_group_tie, in_group)->who;
        if (!see(name, who, arg)) return false;
    }
    return true;
}

/* The rest of a bucket. False: `see` wants no more. */
static bool see_bucket(struct wf_groups_part *part, const struct wf_group *g,
                       bool (*see)(weft_text group, weft_pid who, void *arg), void *arg)
{
    uint32_t seen = 0; /* of all groups of this bucket */
    for (; g != NULL; g = g->next) {
        if (!see_members(part, g, false, &seen, see, arg)) return false;
        if (!part->own && !see_members(part, g, true, &seen, see, arg)) return false;
    }
    part->members = 0;
    return true;
}

bool wf_groups_some(struct wf_groups *g, struct wf_groups_part *part,
                    bool (*see)(weft_text group, weft_pid who, void *arg), void *arg)
{
    enum { BUCKETS_AT_ONCE = 4096 };
    bool all = true;
    pf_mutex_lock(g->lock);
    if (g->bucket_count == 0) part->at = WF_HASH_PARTS_END;
    if (part->buckets != g->bucket_count) part->members = 0;
    part->buckets = g->bucket_count;
    for (int i = 0; i < BUCKETS_AT_ONCE && all && part->at < WF_HASH_PARTS_END; i++) {
        uint64_t next = part->at;
        all = see_bucket(part, g->buckets[wf_hash_part(&next, g->bucket_count)], see, arg);
        if (all) part->at = next;
    }
    pf_mutex_unlock(g->lock);
    return part->at < WF_HASH_PARTS_END;
}

/* ---- The table, under the lock --------------------------------------------------------------------------------- */

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

static void add(struct wf_group *g, struct wf_group_tie *tie)
{
    tie->group = g;
    if (tie->watch != 0) {
        wf_list_push(&g->watchers, &tie->in_group);
        g->watcher_count++;
        return;
    }
    wf_list_push(&g->members, &tie->in_group);
    g->member_count++;
    wf_group_changed(g);
}

/* The group lives on until free_if_empty. */
static void take_out(struct wf_groups *all, struct wf_group_tie *tie)
{
    struct wf_group *g = tie->group;
    wf_unlink(&tie->in_group);
    if (tie->watch != 0) {
        if (--g->watcher_count == 0) wf_group_ends_forget(all, g);
        return;
    }
    g->member_count--;
    wf_group_changed(g);
}

/* ---- Joining and leaving --------------------------------------------------------------------------------------- */

int wf_group_check(const struct wf_actor *self, const char *group)
{
    if (self == NULL) return WEFT_ENOTACTOR;
    int rc = group == NULL ? WEFT_EINVAL : wf_name_check(weft_cstr(group));
    return rc < 0 ? wf_wrong_name(rc, group) : rc;
}

/* The place in the actor's chain of its tie to that group; *NULL if there is none. A group's name never changes, and
 * the group is there while the tie is. */
static struct wf_group_tie **tie_to(struct wf_actor *self, const char *group, bool watch)
{
    struct wf_group_tie **at = &self->more->groups;
    while (*at != NULL && (((*at)->watch != 0) != watch || !wf_group_is((*at)->group, weft_cstr(group))))
        at = &(*at)->next_of_actor;
    return at;
}

static struct wf_group_tie *new_tie(struct wf_actor *self)
{
    struct wf_group_tie *tie = calloc(1, sizeof *tie);
    if (tie != NULL) tie->who = wf_actor_pid(self);
    return tie;
}

/* Under the lock. */
static int join(struct wf_actor *self, struct wf_group_tie *tie, weft_text name)
{
    struct wf_groups *all = wf_groups_of(self);
    struct wf_group_voice voice = wf_group_voice_of(self);
    if (!wf_group_ends_told(all, &voice)) return WEFT_ENOMEM;
    struct wf_group *g = wf_group_find_or_make(all, name);
    if (g == NULL) return WEFT_ENOMEM;
    uint32_t made;
    weft_msg *news = wf_group_news_of(&voice, g, WEFT_TAG_GROUP_JOIN, tie->who, false, 0, &made);
    if (made < g->watcher_count) {
        wf_group_news_free(voice.w, news); /* the group has watchers, so it stays */
        return WEFT_ENOMEM;
    }
    add(g, tie);
    wf_group_news_send(&voice, g, news);
    return WEFT_OK;
}

static int join_and_tell(struct wf_actor *self, struct wf_group_tie *tie, weft_text name)
{
    weft_node *node = wf_node_of(self->task.worker);
    struct wf_entry e = {.table = WF_TABLE_GROUPS, .key = name, .actor = self->id};
    wf_tables_begin(node);
    int rc = wf_tables_room(node);
    if (rc == WEFT_OK) {
        pf_mutex_lock(node->groups->lock);
        rc = join(self, tie, name);
        pf_mutex_unlock(node->groups->lock);
    }
    if (rc == WEFT_OK) wf_tables_tell(node, WF_TABLE_SET, &e);
    wf_tables_end(node);
    return rc;
}

int weft_group_join(const char *group)
{
    struct wf_actor *self = wf_actor_self();
    int rc = wf_group_check(self, group);
    if (rc < 0) return rc;
    wf_task_tick(&self->task);
    if (wf_actor_more(self) == NULL) return WEFT_ENOMEM;
    if (*tie_to(self, group, false) != NULL) return WEFT_EEXIST;
    struct wf_group_tie *tie = new_tie(self);
    if (tie == NULL) return WEFT_ENOMEM;
    rc = join_and_tell(self, tie, weft_cstr(group));
    if (rc < 0) {
        free(tie);
        return rc;
    }
    tie->next_of_actor = self->more->groups;
    self->more->groups = tie;
    return WEFT_OK;
}

/* Under the lock. The group may be gone then. */
static int leave(struct wf_actor *self, struct wf_group_tie *tie)
{
    struct wf_group *g = tie->group;
    struct wf_group_voice voice = wf_group_voice_of(self);
    if (!wf_group_ends_told(wf_groups_of(self), &voice)) return WEFT_ENOMEM;
    uint32_t made;
    weft_msg *news = wf_group_news_of(&voice, g, WEFT_TAG_GROUP_LEAVE, tie->who, false, 0, &made);
    if (made < g->watcher_count) {
        wf_group_news_free(voice.w, news);
        return WEFT_ENOMEM;
    }
    take_out(wf_groups_of(self), tie);
    wf_group_news_send(&voice, g, news);
    wf_group_free_if_empty(wf_groups_of(self), g);
    return WEFT_OK;
}

int weft_group_leave(const char *group)
{
    struct wf_actor *self = wf_actor_self();
    int rc = wf_group_check(self, group);
    if (rc < 0) return rc;
    wf_task_tick(&self->task);
    if (self->more == NULL) return WEFT_ENOACTOR;
    struct wf_group_tie **at = tie_to(self, group, false), *tie = *at;
    if (tie == NULL) return WEFT_ENOACTOR;
    weft_node *node = wf_node_of(self->task.worker);
    struct wf_entry e = {.table = WF_TABLE_GROUPS, .key = weft_cstr(group), .actor = self->id};
    wf_tables_begin(node);
    pf_mutex_lock(node->groups->lock);
    rc = leave(self, tie);
    pf_mutex_unlock(node->groups->lock);
    if (rc == WEFT_OK) wf_tables_tell(node, WF_TABLE_UNSET, &e);
    wf_tables_end(node);
    if (rc < 0) return rc;
    *at = tie->next_of_actor;
    free(tie);
    return WEFT_OK;
}

static void end_watch(struct wf_groups *all, struct wf_group_tie *tie)
{
    pf_mutex_lock(all->lock);
    take_out(all, tie);
    wf_group_free_if_empty(all, tie->group);
    pf_mutex_unlock(all->lock);
}

/* With tables_lock held. Other nodes are told when it is not in the table any more, for they may be told all of that.
 * Consumes the tie. */
static void end_membership(struct wf_actor *a, struct wf_group_tie *tie)
{
    struct wf_groups *all = wf_groups_of(a);
    struct wf_group *g = tie->group; /* there as long as the tie is */
    struct wf_group_voice voice = wf_group_voice_of(a);
    char name[WF_NAME_MAX + 1];
    memcpy(name, g->name, g->size);
    struct wf_entry e = {
        .table = WF_TABLE_GROUPS, .key = weft_str(name, g->size), .actor = a->id, .ended = true, .reason = a->reason};
    if (WF_MUTANT(group_tells_too_soon)) wf_tables_tell(voice.node, WF_TABLE_UNSET, &e);
    pf_mutex_lock(all->lock);
    take_out(all, tie);
    wf_group_end_tell(all, &voice, g, tie->who, true, a->reason, tie);
    wf_group_free_if_empty(all, g);
    pf_mutex_unlock(all->lock);
    if (!WF_MUTANT(group_tells_too_soon)) wf_tables_tell(voice.node, WF_TABLE_UNSET, &e);
}

void wf_groups_leave(struct wf_actor *a)
{
    weft_node *node = wf_node_of(a->task.worker);
    if (a->more == NULL || a->more->groups == NULL) return;
    for (struct wf_group_tie **at = &a->more->groups, *tie; (tie = *at) != NULL;) {
        if (tie->watch == 0) {
            at = &tie->next_of_actor;
            continue;
        }
        *at = tie->next_of_actor;
        end_watch(node->groups, tie);
        free(tie);
    }
    wf_tables_begin(node);
    for (struct wf_group_tie *tie; (tie = a->more->groups) != NULL;) {
        a->more->groups = tie->next_of_actor;
        end_membership(a, tie);
    }
    wf_tables_end(node);
}

/* ---- Watching -------------------------------------------------------------------------------------------------- */

bool wf_group_watches(const struct wf_actor *a, uint64_t watch)
{
    const struct wf_group_tie *tie = a->more == NULL ? NULL : a->more->groups;
    while (tie != NULL && tie->watch != watch) tie = tie->next_of_actor;
    return tie != NULL;
}

/* Under the lock. */
static int watch(struct wf_actor *self, struct wf_group_tie *tie, const char *name)
{
    struct wf_worker *w = self->task.worker;
    struct wf_groups *all = wf_groups_of(self);
    struct wf_group_voice voice = wf_group_voice_of(self);
    if (!wf_group_ends_told(all, &voice)) return WEFT_ENOMEM; /* of which this watch must not hear */
    struct wf_group *g = wf_group_find_or_make(all, weft_cstr(name));
    if (g == NULL) return WEFT_ENOMEM;
    tie->watch = ++all->last_watch;
    bool failed;
    weft_msg *m = wf_group_news_of_members(w, g, tie, &failed);
    if (failed) return WEFT_ENOMEM; /* the group has members, so it stays */
    add(g, tie);
    tie->next_of_actor = self->more->groups; /* before its first news: they are looked up there */
    self->more->groups = tie;
    while (m != NULL) {
        weft_msg *next = (weft_msg *)m->post.next;
        wf_send_signal(w, tie->who, m);
        m = next;
    }
    return WEFT_OK;
}

int weft_group_watch(const char *group)
{
    struct wf_actor *self = wf_actor_self();
    int rc = wf_group_check(self, group);
    if (rc < 0) return rc;
    wf_task_tick(&self->task);
    if (wf_actor_more(self) == NULL) return WEFT_ENOMEM;
    if (*tie_to(self, group, true) != NULL) return WEFT_EEXIST;
    struct wf_group_tie *tie = new_tie(self);
    if (tie == NULL) return WEFT_ENOMEM;
    struct wf_groups *all = wf_groups_of(self);
    pf_mutex_lock(all->lock);
    rc = watch(self, tie, group);
    pf_mutex_unlock(all->lock);
    if (rc < 0) free(tie);
    return rc;
}

int weft_group_unwatch(const char *group)
{
    struct wf_actor *self = wf_actor_self();
    int rc = wf_group_check(self, group);
    if (rc < 0) return rc;
    if (self->more == NULL) return WEFT_ENOACTOR;
    struct wf_group_tie **at = tie_to(self, group, true), *tie = *at;
    if (tie == NULL) return WEFT_ENOACTOR;
    *at = tie->next_of_actor;
    end_watch(wf_groups_of(self), tie);
    for (uint32_t tag = WEFT_TAG_GROUP_JOIN; tag <= WEFT_TAG_GROUP_LEAVE; tag++) {
        weft_msg *m;
        while ((m = wf_signal_take(self, tag, tie->watch, weft_nobody())) != NULL) wf_msg_free(self->task.worker, m);
    }
    free(tie);
    return WEFT_OK;
}

/* actors/group.c -- groups of the actors of one node, and the news of them.
 *
 * Design notes.
 * (1) One table under one lock. A change and the posting of its news are one step under it, and so are the beginning
 *     of a watch and the reading of who is there: so each watcher is told of each change once.
 * (2) News travel from the worker where they happen: all of one member's from its own, in order. What a watcher is
 *     told at first comes from its own worker at once, before anything that is posted later.
 * (3) Each watch has a number, and news carry it: those that arrive when the watch is over are freed (mailbox.c), so
 *     that a new watch of the same group is not told of what came before it.
 * (4) The news of a join or a leave are allocated before anything is changed. An end cannot fail: news for which
 *     there is no memory are counted and logged.
 * (5) Senders share a list of pids that is made when it is first wanted after a change; it outlives the change for as
 *     long as somebody sends. A pid may be of any node: nothing here but the chain of an actor asks for this one. */
#include "actor.h"

#include <weft/group.h>

#include <stdlib.h>
#include <string.h>

#include "hash.h"

struct members {
    _Atomic uint32_t
        refs; /* the group's and senders'; acq_rel on the way down: the last one frees what others read */
    uint32_t count;
    weft_pid pids[];
};

struct group {
    struct group *next;               /* wf_groups.buckets */
    struct wf_list members, watchers; /* wf_group_tie.in_group */
    struct members *list;             /* of `members`; NULL: not made since the last change */
    uint32_t member_count, watcher_count;
    uint32_t hash, size;
    char name[]; /* and a NUL */
};

/* A membership or a watch. The chain belongs to its actor; the rest is written before it is linked into the group. */
struct wf_group_tie {
    struct wf_group_tie *next_of_actor;
    struct wf_link in_group;
    struct group *group;
    weft_pid who;
    uint64_t watch; /* its number; 0: a membership */
};
_Static_assert(sizeof(struct wf_group_tie) <= 56, "docs/names-and-groups.md states the size of a membership");
_Static_assert(sizeof(struct group) <= 64, "and of a group");

enum { BUCKETS = 256 };

struct wf_groups {
    pf_mutex *lock;
    uint64_t last_watch;
    size_t count;
    struct group *buckets[BUCKETS];
};

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
    WF_ASSERT(g->count == 0); /* actors leave before they end */
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

/* ---- The table, under the lock --------------------------------------------------------------------------------- */

static bool same(const struct group *g, weft_text name)
{
    return g->size == name.size && memcmp(g->name, name.data, name.size) == 0;
}

static struct group *find(struct wf_groups *all, weft_text name)
{
    uint32_t hash = wf_hash(name.data, name.size, 0);
    struct group *g = all->buckets[hash % BUCKETS];
    while (g != NULL && (g->hash != hash || !same(g, name))) g = g->next;
    return g;
}

static struct group *find_or_make(struct wf_groups *all, weft_text name)
{
    struct group *g = find(all, name);
    if (g != NULL) return g;
    g = calloc(1, sizeof *g + name.size + 1);
    if (g == NULL) return NULL;
    wf_list_init(&g->members);
    wf_list_init(&g->watchers);
    g->hash = wf_hash(name.data, name.size, 0);
    g->size = (uint32_t)name.size;
    memcpy(g->name, name.data, name.size);
    g->next = all->buckets[g->hash % BUCKETS];
    all->buckets[g->hash % BUCKETS] = g;
    all->count++;
    return g;
}

static void drop_list(struct members *list)
{
    if (list != NULL && atomic_fetch_sub_explicit(&list->refs, 1, memory_order_acq_rel) == 1) free(list);
}

static void free_if_empty(struct wf_groups *all, struct group *g)
{
    if (g->member_count > 0 || g->watcher_count > 0) return;
    struct group **at = &all->buckets[g->hash % BUCKETS];
    while (*at != g) at = &(*at)->next;
    *at = g->next;
    all->count--;
    drop_list(g->list);
    free(g);
}

static void add(struct group *g, struct wf_group_tie *tie)
{
    tie->group = g;
    if (tie->watch != 0) {
        wf_list_push(&g->watchers, &tie->in_group);
        g->watcher_count++;
        return;
    }
    wf_list_push(&g->members, &tie->in_group);
    g->member_count++;
    drop_list(g->list);
    g->list = NULL;
}

/* The group lives on until free_if_empty. */
static void take_out(struct wf_group_tie *tie)
{
    struct group *g = tie->group;
    wf_unlink(&tie->in_group);
    if (tie->watch != 0) {
        g->watcher_count--;
        return;
    }
    g->member_count--;
    drop_list(g->list);
    g->list = NULL;
}

/* ---- News ------------------------------------------------------------------------------------------------------ */

/* Messages that are made but not sent: by post.next. */
static void free_news(struct wf_worker *w, weft_msg *first)
{
    while (first != NULL) {
        weft_msg *next = (weft_msg *)first->post.next;
        wf_msg_free(w, first);
        first = next;
    }
}

static struct wf_body *news_body(struct wf_worker *w, const struct group *g, weft_pid who, bool ended, int reason)
{
    struct weft_group_news news = {.who = who, .ended = ended, .reason = reason};
    memcpy(news.group, g->name, g->size);
    return wf_body_new(w, NULL, 0, &news, sizeof news);
}

/* One more in front of `*first`, for that watch. False: no memory. */
static bool add_news(struct wf_worker *w, weft_msg **first, uint32_t tag, struct wf_body *body, weft_pid who,
                     const struct wf_group_tie *watch)
{
    weft_msg *m = wf_msg_share(w, tag, body);
    if (m == NULL) return false;
    m->post.flags = WF_MSG_SYSTEM;
    m->from = who;
    m->ref = watch->watch;
    m->post.next = *first == NULL ? NULL : &(*first)->post;
    *first = m;
    return true;
}

/* News of one member for each watcher, in the order of the watchers; `*made` says how many there was memory for. */
static weft_msg *news_of(struct wf_worker *w, const struct group *g, uint32_t tag, weft_pid who, bool ended,
                         int reason, uint32_t *made)
{
    weft_msg *first = NULL;
    *made = 0;
    if (g->watcher_count == 0) return NULL;
    struct wf_body *body = news_body(w, g, who, ended, reason);
    if (body == NULL) return NULL;
    for (struct wf_link *k = g->watchers.head.prev; k != &g->watchers.head; k = k->prev) {
        if (add_news(w, &first, tag, body, who, WF_CONTAINER(k, struct wf_group_tie, in_group))) ++*made;
    }
    wf_body_drop(w, body);
    return first;
}

/* `first` was made of the group's watchers of this moment, in their order. Some may be missing. */
static void send_news(struct wf_worker *w, const struct group *g, weft_msg *first)
{
    for (struct wf_link *k = g->watchers.head.next; k != &g->watchers.head && first != NULL; k = k->next) {
        struct wf_group_tie *watch = WF_CONTAINER(k, struct wf_group_tie, in_group);
        if (first->ref != watch->watch) continue;
        weft_msg *m = first;
        first = (weft_msg *)m->post.next;
        wf_send_signal(w, watch->who, m);
    }
    WF_ASSERT(first == NULL);
}

/* Who is there, for a new watch, in the order they joined. NULL with `*failed`: no memory. */
static weft_msg *news_of_members(struct wf_worker *w, const struct group *g, const struct wf_group_tie *watch,
                                 bool *failed)
{
    weft_msg *first = NULL;
    *failed = false;
    for (struct wf_link *k = g->members.head.prev; k != &g->members.head && !*failed; k = k->prev) {
        weft_pid who = WF_CONTAINER(k, struct wf_group_tie, in_group)->who;
        struct wf_body *body = news_body(w, g, who, false, 0);
        *failed = body == NULL || !add_news(w, &first, WEFT_TAG_GROUP_JOIN, body, who, watch);
        if (body != NULL) wf_body_drop(w, body);
    }
    if (!*failed) return first;
    free_news(w, first);
    return NULL;
}

int weft_group_news_read(const weft_msg *m, struct weft_group_news *out)
{
    uint32_t tag = weft_tag(m);
    if ((tag != WEFT_TAG_GROUP_JOIN && tag != WEFT_TAG_GROUP_LEAVE) || weft_size(m) != sizeof *out)
        return WEFT_EFORMAT;
    memcpy(out, weft_data(m), sizeof *out);
    return WEFT_OK;
}

/* ---- Joining and leaving --------------------------------------------------------------------------------------- */

static struct wf_groups *groups_of(const struct wf_actor *self)
{
    return wf_node_of(self->task.worker)->groups;
}

static int check(const struct wf_actor *self, const char *group)
{
    if (self == NULL) return WEFT_ENOTACTOR;
    return group == NULL ? WEFT_EINVAL : wf_name_check(weft_cstr(group));
}

/* The place in the actor's chain of its tie to that group; *NULL if there is none. A group's name never changes, and
 * the group is there while the tie is. */
static struct wf_group_tie **tie_to(struct wf_actor *self, const char *group, bool watch)
{
    struct wf_group_tie **at = &self->more->groups;
    while (*at != NULL && (((*at)->watch != 0) != watch || !same((*at)->group, weft_cstr(group))))
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
static int join(struct wf_actor *self, struct wf_group_tie *tie, const char *name)
{
    struct wf_worker *w = self->task.worker;
    struct wf_groups *all = groups_of(self);
    struct group *g = find_or_make(all, weft_cstr(name));
    if (g == NULL) return WEFT_ENOMEM;
    uint32_t made;
    weft_msg *news = news_of(w, g, WEFT_TAG_GROUP_JOIN, tie->who, false, 0, &made);
    if (made < g->watcher_count) {
        free_news(w, news); /* the group has watchers, so it stays */
        return WEFT_ENOMEM;
    }
    add(g, tie);
    send_news(w, g, news);
    return WEFT_OK;
}

int weft_group_join(const char *group)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, group);
    if (rc < 0) return rc;
    wf_task_tick(&self->task);
    if (wf_actor_more(self) == NULL) return WEFT_ENOMEM;
    if (*tie_to(self, group, false) != NULL) return WEFT_EEXIST;
    struct wf_group_tie *tie = new_tie(self);
    if (tie == NULL) return WEFT_ENOMEM;
    struct wf_groups *all = groups_of(self);
    pf_mutex_lock(all->lock);
    rc = join(self, tie, group);
    pf_mutex_unlock(all->lock);
    if (rc < 0) {
        free(tie);
        return rc;
    }
    tie->next_of_actor = self->more->groups;
    self->more->groups = tie;
    return WEFT_OK;
}

int weft_group_leave(const char *group)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, group);
    if (rc < 0) return rc;
    wf_task_tick(&self->task);
    if (self->more == NULL) return WEFT_ENOACTOR;
    struct wf_group_tie **at = tie_to(self, group, false), *tie = *at;
    if (tie == NULL) return WEFT_ENOACTOR;
    struct wf_worker *w = self->task.worker;
    struct wf_groups *all = groups_of(self);
    struct group *g = tie->group;
    uint32_t made;
    pf_mutex_lock(all->lock);
    weft_msg *news = news_of(w, g, WEFT_TAG_GROUP_LEAVE, tie->who, false, 0, &made);
    rc = made < g->watcher_count ? WEFT_ENOMEM : WEFT_OK;
    if (rc == WEFT_OK) {
        take_out(tie);
        send_news(w, g, news);
        free_if_empty(all, g);
    } else free_news(w, news);
    pf_mutex_unlock(all->lock);
    if (rc < 0) return rc;
    *at = tie->next_of_actor;
    free(tie);
    return WEFT_OK;
}

/* Under the lock. */
static void end_tie(struct wf_actor *a, struct wf_group_tie *tie)
{
    struct wf_worker *w = a->task.worker;
    struct group *g = tie->group;
    take_out(tie);
    if (tie->watch == 0) {
        uint32_t made;
        weft_msg *news = news_of(w, g, WEFT_TAG_GROUP_LEAVE, tie->who, true, a->reason, &made);
        send_news(w, g, news);
        if (made < g->watcher_count)
            weft_log(WEFT_ERROR, "no memory to tell watchers of group %s that a member ended", g->name);
        for (; made < g->watcher_count; made++) wf_count_drop(w, WF_DROP_MEMORY);
    }
    free_if_empty(groups_of(a), g);
}

void wf_groups_leave(struct wf_actor *a)
{
    struct wf_groups *all = groups_of(a);
    struct wf_group_tie *tie;
    if (a->more == NULL || a->more->groups == NULL) return;
    pf_mutex_lock(all->lock);
    for (tie = a->more->groups; tie != NULL; tie = tie->next_of_actor) {
        if (tie->watch != 0) end_tie(a, tie);
    }
    for (tie = a->more->groups; tie != NULL; tie = tie->next_of_actor) {
        if (tie->watch == 0) end_tie(a, tie);
    }
    pf_mutex_unlock(all->lock);
    while ((tie = a->more->groups) != NULL) {
        a->more->groups = tie->next_of_actor;
        free(tie);
    }
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
    struct wf_groups *all = groups_of(self);
    struct group *g = find_or_make(all, weft_cstr(name));
    if (g == NULL) return WEFT_ENOMEM;
    tie->watch = ++all->last_watch;
    bool failed;
    weft_msg *m = news_of_members(w, g, tie, &failed);
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
    int rc = check(self, group);
    if (rc < 0) return rc;
    wf_task_tick(&self->task);
    if (wf_actor_more(self) == NULL) return WEFT_ENOMEM;
    if (*tie_to(self, group, true) != NULL) return WEFT_EEXIST;
    struct wf_group_tie *tie = new_tie(self);
    if (tie == NULL) return WEFT_ENOMEM;
    struct wf_groups *all = groups_of(self);
    pf_mutex_lock(all->lock);
    rc = watch(self, tie, group);
    pf_mutex_unlock(all->lock);
    if (rc < 0) free(tie);
    return rc;
}

int weft_group_unwatch(const char *group)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, group);
    if (rc < 0) return rc;
    if (self->more == NULL) return WEFT_ENOACTOR;
    struct wf_group_tie **at = tie_to(self, group, true), *tie = *at;
    if (tie == NULL) return WEFT_ENOACTOR;
    struct wf_groups *all = groups_of(self);
    *at = tie->next_of_actor;
    pf_mutex_lock(all->lock);
    take_out(tie);
    free_if_empty(all, tie->group);
    pf_mutex_unlock(all->lock);
    for (uint32_t tag = WEFT_TAG_GROUP_JOIN; tag <= WEFT_TAG_GROUP_LEAVE; tag++) {
        weft_msg *m;
        while ((m = wf_signal_take(self, tag, tie->watch, weft_nobody())) != NULL) wf_msg_free(self->task.worker, m);
    }
    free(tie);
    return WEFT_OK;
}

/* ---- Members --------------------------------------------------------------------------------------------------- */

int weft_group_members(const char *group, weft_pid *pids, size_t max)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, group);
    if (rc < 0) return rc;
    if (pids == NULL && max > 0) return WEFT_EINVAL;
    struct wf_groups *all = groups_of(self);
    pf_mutex_lock(all->lock);
    struct group *g = find(all, weft_cstr(group));
    int count = g == NULL ? 0 : (int)g->member_count;
    if (g != NULL) {
        WF_LIST_EACH(k, &g->members) {
            if (max == 0) break;
            *pids++ = WF_CONTAINER(k, struct wf_group_tie, in_group)->who;
            max--;
        }
    }
    pf_mutex_unlock(all->lock);
    return count;
}

/* Under the lock. A reference of the caller's; NULL: no memory. */
static struct members *list_of(struct group *g)
{
    if (g->list == NULL) {
        g->list = malloc(sizeof *g->list + g->member_count * sizeof g->list->pids[0]);
        if (g->list == NULL) return NULL;
        atomic_init(&g->list->refs, 1);
        g->list->count = 0;
        WF_LIST_EACH(k, &g->members)
            g->list->pids[g->list->count++] = WF_CONTAINER(k, struct wf_group_tie, in_group)->who;
    }
    atomic_fetch_add_explicit(&g->list->refs, 1, memory_order_relaxed); /* the group holds one */
    return g->list;
}

static int send_to(struct wf_actor *self, const struct members *list, uint32_t tag, struct wf_body *body)
{
    struct wf_worker *w = self->task.worker;
    int handed = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        weft_msg *m = wf_msg_share(w, tag, body);
        if (m == NULL) {
            wf_count_drop(w, WF_DROP_MEMORY);
            continue;
        }
        m->from = wf_actor_pid(self);
        handed += wf_send_or_drop(w, list->pids[i], m) == WEFT_OK;
    }
    return handed;
}

int weft_group_send(const char *group, uint32_t tag, const void *data, size_t size)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, group);
    if (rc < 0) return rc;
    if (tag >= WEFT_TAG_SYSTEM || (data == NULL && size > 0)) return WEFT_EINVAL;
    if (size > WEFT_MESSAGE_MAX) return WEFT_ETOOBIG;
    wf_task_tick(&self->task);
    struct wf_groups *all = groups_of(self);
    pf_mutex_lock(all->lock);
    struct group *g = find(all, weft_cstr(group));
    bool any = g != NULL && g->member_count > 0;
    struct members *list = any ? list_of(g) : NULL;
    pf_mutex_unlock(all->lock);
    if (!any) return 0;
    struct wf_body *body = list == NULL ? NULL : wf_body_new(self->task.worker, NULL, 0, data, size);
    rc = body == NULL ? WEFT_ENOMEM : send_to(self, list, tag, body);
    if (body != NULL) wf_body_drop(self->task.worker, body);
    drop_list(list);
    return rc;
}

/* actors/names/group.c -- groups: joining, leaving, watching.
 *
 * Design notes.
 * (1) There is one table under one lock. A change and the posting of its notifications are one step under the lock,
 *     and so are the beginning of a watch and the reading of the present members: so each watcher is notified of each
 *     change once.
 * (2) Notifications are sent from the worker of the change: those about one member from its own worker, in order. The
 *     first notifications of a watch come from the watcher's own worker at once, before all that are posted later.
 * (3) Each watch has a number, its id in a slab of its worker, and notifications contain it. A notification that
 *     arrives after the end of the watch is freed (deliver_news), so that a new watch of the same group does not get
 *     notifications of earlier changes.
 * (4) The notifications of a join or a leave are allocated before anything is changed. The end of a member cannot
 *     fail: group_news.c.
 * (5) Senders share a list of pids and nodes, which the first send after a change makes; after the next change it
 *     lives as long as a sender uses it.
 * (6) Members of this node are entries of tables.h: other nodes keep copies of them, and this node of theirs
 *     (group_copy.c). They are changed with the node's tables_lock held; watches are local to this node. */
#include "deliver.h"
#include "end.h"
#include "group_news.h"
#include "group_table.h"
#include "mailbox.h"

#include <stdlib.h>
#include <string.h>

#include "names.h"

/* ---- Joining and leaving --------------------------------------------------------------------------------------- */

/* Watches come first, so that they end first: an actor is not notified of its own end. */
static void put_on_actor(struct wf_actor *self, struct wf_group_tie *tie)
{
    struct wf_list_node **ring = &self->more->groups;
    if (*ring != NULL) wf_list_insert_before(*ring, &tie->on_actor);
    else tie->on_actor.next = tie->on_actor.prev = &tie->on_actor;
    if (*ring == NULL || tie->watch != 0) *ring = &tie->on_actor;
}

static void take_off_actor(struct wf_actor *self, struct wf_group_tie *tie)
{
    struct wf_list_node **ring = &self->more->groups, *next = tie->on_actor.next;
    if (*ring == &tie->on_actor) *ring = next == &tie->on_actor ? NULL : next;
    wf_unlink(&tie->on_actor);
}

/* Under the lock. NULL: it is not in that group, or does not watch it. */
static struct wf_group_tie *tie_to(const struct wf_hash_table *p, struct wf_actor *self, weft_text group)
{
    const struct wf_groups *all = wf_groups_here(self);
    const struct wf_group *g = wf_group_find(all, group);
    struct wf_group_member *m = g == NULL ? NULL : wf_group_place_find(all, p, g, wf_actor_pid(self));
    return m == NULL ? NULL : wf_group_tie_of(m);
}

/* Under the lock. The group exists until wf_group_free_if_empty. */
static void take_out(struct wf_groups *all, struct wf_group_tie *tie)
{
    struct wf_group *g = tie->member.group;
    wf_unlink(&tie->member.in_group);
    wf_hash_table_remove(tie->watch != 0 ? &all->watches : &all->members, &tie->member.in_table);
    if (tie->watch != 0) {
        if (--g->watcher_count == 0) wf_group_ends_forget(all, g);
        return;
    }
    g->member_count--;
    wf_group_changed(g);
}

/* ---- Joining and leaving --------------------------------------------------------------------------------------- */

/* Under the lock. */
static int join_group(struct wf_groups *all, struct wf_group *g, struct wf_group_tie *tie,
                      const struct wf_group_voice *voice)
{
    uint32_t made;
    weft_msg *news = wf_group_news_of(voice, g, WEFT_TAG_GROUP_JOIN, tie->member.who, false, 0, &made);
    tie->member.group = g;
    if (made < g->watcher_count || !wf_group_place_add(all, &all->members, &tie->member)) {
        wf_group_news_free(voice->w, news);
        return WEFT_ENOMEM;
    }
    wf_list_push(&g->members, &tie->member.in_group);
    g->member_count++;
    wf_group_changed(g);
    wf_group_news_send(voice, g, news);
    wf_task_charge_work(wf_task_self(), g->watcher_count);
    return WEFT_OK;
}

/* Under the lock. */
static int join(struct wf_actor *self, struct wf_group_tie *tie, weft_text name)
{
    struct wf_groups *all = wf_groups_here(self);
    struct wf_group_voice voice = wf_group_voice_of(self);
    if (!wf_group_ends_told(all, &voice)) return WEFT_ENOMEM;
    struct wf_group *g = wf_group_find_or_make(all, name);
    if (g == NULL) return WEFT_ENOMEM;
    int rc = join_group(all, g, tie, &voice);
    wf_group_free_if_empty(all, g);
    return rc;
}

static int join_and_tell(struct wf_actor *self, struct wf_group_tie *tie, weft_text name)
{
    weft_node *node = wf_node_of(self->task.worker);
    struct wf_entry e = {.table = WF_TABLE_GROUPS, .key = name, .actor = self->id};
    wf_tables_begin(node);
    int space = wf_tables_check_space(node);
    pf_mutex_lock(wf_groups_of(node)->lock);
    bool there = tie_to(&wf_groups_of(node)->members, self, name) != NULL;
    int rc = there ? WEFT_EEXIST : space < 0 ? space : join(self, tie, name);
    pf_mutex_unlock(wf_groups_of(node)->lock);
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
    wf_task_charge_entry(&self->task);
    struct wf_group_tie *tie = wf_actor_more(self) == NULL ? NULL : calloc(1, sizeof *tie);
    if (tie == NULL) return WEFT_ENOMEM;
    tie->member.who = wf_actor_pid(self);
    rc = join_and_tell(self, tie, weft_cstr(group));
    if (rc == WEFT_OK) put_on_actor(self, tie);
    else free(tie);
    return rc;
}

/* Under the lock. The group may be freed by this. */
static int leave(struct wf_actor *self, struct wf_group_tie *tie)
{
    struct wf_group *g = tie->member.group;
    struct wf_group_voice voice = wf_group_voice_of(self);
    if (!wf_group_ends_told(wf_groups_here(self), &voice)) return WEFT_ENOMEM;
    uint32_t made;
    weft_msg *news = wf_group_news_of(&voice, g, WEFT_TAG_GROUP_LEAVE, tie->member.who, false, 0, &made);
    if (made < g->watcher_count) {
        wf_group_news_free(voice.w, news);
        return WEFT_ENOMEM;
    }
    take_out(wf_groups_here(self), tie);
    wf_group_news_send(&voice, g, news);
    wf_task_charge_work(&self->task, g->watcher_count);
    wf_group_free_if_empty(wf_groups_here(self), g);
    return WEFT_OK;
}

int weft_group_leave(const char *group)
{
    struct wf_actor *self = wf_actor_self();
    int rc = wf_group_check(self, group);
    if (rc < 0) return rc;
    wf_task_tick(&self->task);
    wf_task_charge_entry(&self->task);
    if (self->more == NULL || self->more->groups == NULL) return WEFT_ENOACTOR;
    weft_node *node = wf_node_of(self->task.worker);
    struct wf_entry e = {.table = WF_TABLE_GROUPS, .key = weft_cstr(group), .actor = self->id};
    wf_tables_begin(node);
    pf_mutex_lock(wf_groups_of(node)->lock);
    struct wf_group_tie *tie = tie_to(&wf_groups_of(node)->members, self, e.key);
    rc = tie == NULL ? WEFT_ENOACTOR : leave(self, tie);
    pf_mutex_unlock(wf_groups_of(node)->lock);
    if (rc == WEFT_OK) wf_tables_tell(node, WF_TABLE_UNSET, &e);
    wf_tables_end(node);
    if (rc < 0) return rc;
    take_off_actor(self, tie);
    free(tie);
    return WEFT_OK;
}

/* The slab of struct wf_group_watch. */
static struct wf_slab *watches_of(const struct wf_actors *wa)
{
    return wa->slots[WF_GROUPS_SLOT];
}

static void free_watch(struct wf_actor *self, struct wf_group_tie *tie)
{
    wf_slab_give(watches_of(wf_actors_of(self->task.worker)), WF_CONTAINER(tie, struct wf_group_watch, tie));
}

/* Consumes the tie. */
static void end_watch(struct wf_actor *a, struct wf_group_tie *tie)
{
    struct wf_groups *all = wf_groups_here(a);
    struct wf_group *g = tie->member.group;
    pf_mutex_lock(all->lock);
    take_out(all, tie);
    wf_group_free_if_empty(all, g);
    pf_mutex_unlock(all->lock);
    take_off_actor(a, tie);
    free_watch(a, tie);
}

/* Other nodes are told after it has left the table, as a snapshot may send the whole table to them. The lock is
 * released between two memberships, as an actor may have very many. Consumes the tie. Returns how many watchers were
 * notified. */
static uint32_t end_membership(struct wf_actor *a, struct wf_group_tie *tie)
{
    struct wf_groups *all = wf_groups_here(a);
    struct wf_group *g = tie->member.group; /* it exists as long as the tie */
    struct wf_group_voice voice = wf_group_voice_of(a);
    char name[WF_NAME_MAX + 1];
    memcpy(name, g->name, g->size);
    struct wf_entry e = {
        .table = WF_TABLE_GROUPS, .key = weft_str(name, g->size), .actor = a->id, .ended = true, .reason = a->reason};
    take_off_actor(a, tie);
    wf_tables_begin(voice.node);
    pf_mutex_lock(all->lock);
    take_out(all, tie);
    uint32_t watchers = g->watcher_count;
    wf_group_end_tell(all, &voice, g, tie->member.who, true, a->reason, tie);
    wf_group_free_if_empty(all, g);
    pf_mutex_unlock(all->lock);
    wf_tables_tell(voice.node, WF_TABLE_UNSET, &e);
    wf_tables_end(voice.node);
    return watchers;
}

static void leave_all(struct wf_actor *a)
{
    while (a->more->groups != NULL) {
        struct wf_group_tie *tie = WF_CONTAINER(a->more->groups, struct wf_group_tie, on_actor);
        uint32_t told = 0;
        if (tie->watch != 0) end_watch(a, tie);
        else told = end_membership(a, tie);
        wf_actor_end_part(a, 1 + told);
    }
}

/* ---- Watching -------------------------------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct wf_group_tie *new_watch(struct wf_actor *self)
{
    struct wf_worker *w = self->task.worker;
    struct wf_group_watch *watch = wf_actor_more(self) == NULL ? NULL : wf_slab_take(watches_of(wf_actors_of(w)));
    if (watch == NULL) return NULL;
    watch->tie = (struct wf_group_tie){.member.who = wf_actor_pid(self), .watch = wf_slot_id(&watch->slot)};
    return &watch->tie;
}

/* Under the lock. */
static int watch_group(struct wf_actor *self, struct wf_group *g, struct wf_group_tie *tie)
{
    struct wf_worker *w = self->task.worker;
    bool failed;
    weft_msg *m = wf_group_news_of_members(w, g, tie, &failed);
    if (failed) return WEFT_ENOMEM;
    tie->member.group = g;
    if (!wf_group_place_add(wf_groups_here(self), &wf_groups_here(self)->watches, &tie->member)) {
        wf_group_news_free(w, m);
        return WEFT_ENOMEM;
    }
    wf_list_push(&g->watchers, &tie->member.in_group);
    g->watcher_count++;
    put_on_actor(self, tie);
    wf_task_charge_work(&self->task, g->member_count + g->copy_count);
    while (m != NULL) {
        weft_msg *next = (weft_msg *)m->post.next;
        wf_send_signal(w, tie->member.who, m);
        m = next;
    }
    return WEFT_OK;
}

/* Under the lock. */
static int watch(struct wf_actor *self, struct wf_group_tie *tie, weft_text name)
{
    struct wf_groups *all = wf_groups_here(self);
    struct wf_group_voice voice = wf_group_voice_of(self);
    if (tie_to(&all->watches, self, name) != NULL) return WEFT_EEXIST;
    if (!wf_group_ends_told(all, &voice)) return WEFT_ENOMEM; /* this watch must not be notified of these ends */
    struct wf_group *g = wf_group_find_or_make(all, name);
    if (g == NULL) return WEFT_ENOMEM;
    int rc = watch_group(self, g, tie);
    wf_group_free_if_empty(all, g);
    return rc;
}

int weft_group_watch(const char *group)
{
    struct wf_actor *self = wf_actor_self();
    int rc = wf_group_check(self, group);
    if (rc < 0) return rc;
    wf_task_tick(&self->task);
    wf_task_charge_entry(&self->task);
    struct wf_group_tie *tie = new_watch(self);
    if (tie == NULL) return WEFT_ENOMEM;
    struct wf_groups *all = wf_groups_here(self);
    pf_mutex_lock(all->lock);
    rc = watch(self, tie, weft_cstr(group));
    pf_mutex_unlock(all->lock);
    if (rc < 0) free_watch(self, tie);
    return rc;
}

int weft_group_unwatch(const char *group)
{
    struct wf_actor *self = wf_actor_self();
    int rc = wf_group_check(self, group);
    if (rc < 0) return rc;
    if (self->more == NULL || self->more->groups == NULL) return WEFT_ENOACTOR;
    struct wf_groups *all = wf_groups_here(self);
    pf_mutex_lock(all->lock);
    struct wf_group_tie *tie = tie_to(&all->watches, self, weft_cstr(group));
    pf_mutex_unlock(all->lock);
    if (tie == NULL) return WEFT_ENOACTOR;
    uint64_t number = tie->watch;
    end_watch(self, tie);
    (void)wf_signals_drop(self, WEFT_TAG_GROUP_JOIN, WEFT_TAG_GROUP_LEAVE, number, weft_nobody());
    return WEFT_OK;
}

/* ---- What the feature registers -------------------------------------------------------------------------------- */

/* A notification for a watch that has ended is freed. */
static void deliver_news(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    const struct wf_group_watch *at = wf_slab_find(watches_of(wf_actors_of(w)), m->ref);
    if (at != NULL && at->tie.member.who.actor == a->id) wf_signal_put(a, m, m->post.word);
    else {
        WF_SOMETIMES("groups: a notification comes when the watch has ended", true);
        wf_msg_free(w, m);
    }
}

static int node_init(weft_node *n)
{
    struct wf_groups *groups = NULL;
    int rc = wf_groups_create(&groups, n->secret);
    n->slots[WF_GROUPS_SLOT] = groups;
    return rc;
}

static void node_finish(weft_node *n)
{
    wf_groups_destroy(wf_groups_of(n));
}

static int worker_init(struct wf_actors *wa)
{
    wf_slab_init(watches_of(wa), sizeof(struct wf_group_watch), WF_SLAB_MAX, wa->worker->index);
    return WEFT_OK;
}

static void worker_finish(struct wf_worker *w)
{
    wf_slab_finish(watches_of(wf_actors_of(w)));
}

static const struct wf_message_row messages[] = {{.kind = WF_MSG_GROUP_NEWS, .deliver = deliver_news}};
const struct wf_feature wf_groups_feature = {.name = "groups",
                                             .slot = WF_GROUPS_SLOT,
                                             .worker_bytes = sizeof(struct wf_slab),
                                             .node_init = node_init,
                                             .node_finish = node_finish,
                                             .worker_init = worker_init,
                                             .worker_finish = worker_finish,
                                             .actor_leave = leave_all,
                                             .messages = messages,
                                             .message_count = WF_COUNT(messages)};

/* actors/names/registry.c -- weft/names.h: the functions for actors. The table is names.c. */
#include "end.h"
#include "tables.h"
#include "names.h"

#include <stdio.h>
#include <string.h>

#include <weft/event.h>
#include <weft/names.h>

static struct wf_names *names_of(const struct wf_actor *self)
{
    return wf_names_of(wf_node_of(self->task.worker));
}

static int check(const struct wf_actor *self, const char *name)
{
    if (self == NULL) return WEFT_ENOTACTOR;
    int rc = name == NULL ? WEFT_EINVAL : wf_name_check(weft_cstr(name));
    return rc < 0 ? wf_wrong_name(rc, name) : rc;
}

int weft_register(const char *name)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, name);
    if (rc < 0) return rc;
    if (wf_actor_more(self) == NULL) return WEFT_ENOMEM;
    wf_task_charge_entry(&self->task);
    return wf_names_add(names_of(self), weft_cstr(name), wf_actor_pid(self), &self->more->names);
}

int weft_register_global(const char *name)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, name);
    if (rc < 0) return rc;
    weft_node *node = wf_node_of(self->task.worker);
    if (wf_node_in_minority(node)) return WEFT_EMINORITY;
    if (wf_node_is_draining(node)) return WEFT_EDRAINING;
    if (wf_actor_more(self) == NULL) return WEFT_ENOMEM;
    struct wf_entry e = {.table = WF_TABLE_NAMES, .key = weft_cstr(name), .actor = self->id};
    wf_task_charge_entry(&self->task);
    wf_tables_begin(node);
    e.stamp = wf_tables_stamp(node);
    rc = wf_tables_check_space(node);
    if (rc == WEFT_OK)
        rc = wf_names_add_global(wf_names_of(node), e.key, wf_actor_pid(self), e.stamp, wf_tables_now(node),
                                 &self->more->names);
    if (rc == WEFT_OK) wf_tables_tell(node, WF_TABLE_SET, &e);
    wf_tables_end(node);
    return rc;
}

/* Called for each removed global name of this node, with tables_lock held. */
static void removed(weft_text name, weft_pid pid, void *arg)
{
    wf_tables_tell(arg, WF_TABLE_UNSET, &(struct wf_entry){.table = WF_TABLE_NAMES, .key = name, .actor = pid.actor});
}

int weft_unregister(const char *name)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, name);
    if (rc < 0) return rc;
    if (self->more == NULL) return WEFT_ENOACTOR;
    wf_task_charge_entry(&self->task);
    bool global = wf_names_has_global(names_of(self), weft_cstr(name), self->more->names);
    if (global) wf_tables_begin(wf_node_of(self->task.worker));
    rc = wf_names_remove(names_of(self), weft_cstr(name), &self->more->names);
    if (global) wf_tables_end(wf_node_of(self->task.worker));
    return rc;
}

int weft_name_lost_read(const weft_msg *m, struct weft_name_lost *out)
{
    if (m == NULL || out == NULL || weft_tag(m) != WEFT_TAG_NAME_LOST || weft_size(m) != sizeof *out)
        return WEFT_EFORMAT;
    memcpy(out, weft_data(m), sizeof *out);
    return WEFT_OK;
}

const char *weft_own_name(size_t i)
{
    struct wf_actor *self = wf_actor_self();
    return self == NULL || self->more == NULL ? NULL : wf_names_at(self->more->names, i);
}

int weft_whereis(const char *name, weft_pid *out)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, name);
    if (rc < 0) return rc;
    if (out == NULL) return WEFT_EINVAL;
    return wf_names_find_any(names_of(self), weft_cstr(name), out);
}

/* ---- Waiting for a name ---------------------------------------------------------------------------------------- */

/* On the waiting actor's stack: an actor that is killed runs its end on the same stack. */
struct await {
    struct wf_name_wait wait;
    struct wf_owned owned; /* owned by the actor, in case it is killed */
    struct wf_names *names;
    weft_event named;
};

static void wake(struct wf_name_wait *wait)
{
    (void)weft_event_set(WF_CONTAINER(wait, struct await, wait)->named);
}

static void waiter_ended(struct wf_owned *o)
{
    struct await *a = WF_CONTAINER(o, struct await, owned);
    wf_names_forget(a->names, &a->wait);
}

static int await(struct wf_actor *self, const char *name, weft_pid *out, int64_t deadline)
{
    struct await a = {.wait.wake = wake, .owned.close = waiter_ended, .names = names_of(self)};
    int rc = weft_event_open(&a.named);
    if (rc < 0) return rc;
    rc = wf_names_await(a.names, weft_cstr(name), &a.wait, out);
    if (rc == WEFT_ENOACTOR) {
        wf_list_push(&self->task.owned, &a.owned.on_task);
        rc = weft_event_await(a.named, deadline);
        wf_unlink(&a.owned.on_task);
        wf_names_forget(a.names, &a.wait);
        /* The name may have come together with the deadline. */
        if ((rc == WEFT_OK || rc == WEFT_ETIMEDOUT) && !weft_pid_is_nobody(a.wait.found)) {
            *out = a.wait.found;
            rc = WEFT_OK;
        }
    }
    (void)weft_event_close(a.named);
    return rc;
}

int weft_await_name(const char *name, weft_pid *out, int64_t deadline)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, name);
    if (rc < 0) return rc;
    if (out == NULL) return WEFT_EINVAL;
    wf_task_tick(&self->task);
    if (self->task.cancelled) return (int)wf_task_finish_wait(WEFT_ECANCELED);
    rc = wf_names_find_any(names_of(self), weft_cstr(name), out);
    if (rc == WEFT_OK) return rc;
    if (deadline == WEFT_NOW) return (int)wf_task_finish_wait(WEFT_ETIMEDOUT);
    return await(self, name, out, deadline);
}

/* ---- What the feature registers -------------------------------------------------------------------------------- */

struct name_wanted {
    weft_pid pid;
    char *out;
    size_t size;
    bool found;
};

static bool take_name(weft_text name, weft_pid pid, uint64_t stamp, bool holds, void *arg)
{
    struct name_wanted *n = arg;
    (void)stamp, (void)holds;
    if (pid.actor != n->pid.actor || pid.node != n->pid.node) return true;
    snprintf(n->out, n->size, "%.*s", WEFT_STR(name));
    n->found = true;
    return false;
}

/* Looks at a bounded number of parts of the table, as its caller waits. */
static void name_of_id(weft_node *node, uint64_t id, char *out, size_t size)
{
    enum { PARTS_MAX = 256 };
    struct name_wanted n = {{.node = node->incarnation, .actor = id}, out, size, false};
    uint64_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < PARTS_MAX && !n.found && wf_names_some(wf_names_of(node), &at, take_name, &n); i++) {}
}

static int find_name(weft_node *n, weft_text name, bool any, weft_pid *out)
{
    return any ? wf_names_find_any(wf_names_of(n), name, out) : wf_names_find(wf_names_of(n), name, out);
}

static const char *first_name(const struct wf_actor *a)
{
    return wf_names_first(a->more->names);
}

enum { PART = 64 }; /* names that an ending actor removes at a time */

/* Removes all names except the one that a kept actor keeps. */
static void leave(struct wf_actor *a)
{
    if (a->more->names == NULL) return;
    weft_node *node = wf_node_of(a->task.worker);
    struct wf_names *names = wf_names_of(node);
    const struct wf_kept_actor_head *keep = (const struct wf_kept_actor_head *)a->more->keep;
    struct wf_name *kept = keep == NULL ? NULL : wf_names_set_aside(names, keep->name, &a->more->names);
    for (bool more = true; more; wf_actor_end_part(a, PART)) {
        bool global = wf_names_global(a->more->names, PART);
        if (global) wf_tables_begin(node);
        more = wf_names_remove_some(names, PART, &a->more->names);
        if (global) wf_tables_end(node);
    }
    a->more->names = kept;
}

static int node_init(weft_node *n)
{
    static const struct wf_naming naming = {.find = find_name, .first = first_name, .of_id = name_of_id};
    struct wf_names *names = NULL;
    int rc = wf_names_create(&names, n->secret);
    if (rc < 0) return rc;
    n->slots[WF_NAMES_SLOT] = names;
    wf_names_on_removal(names, removed, n);
    n->naming = &naming;
    return WEFT_OK;
}

static void node_finish(weft_node *n)
{
    wf_names_destroy(wf_names_of(n));
}

const struct wf_feature wf_names_feature = {
    .name = "names", .slot = WF_NAMES_SLOT, .node_init = node_init, .node_finish = node_finish, .actor_leave = leave};

/* actors/registry.c -- weft/names.h: names as actors see them. The table is names.c. */
#include "actor.h"

#include <weft/event.h>
#include <weft/names.h>

static struct wf_names *names_of(const struct wf_actor *self)
{
    return wf_node_of(self->task.worker)->names;
}

static int check(const struct wf_actor *self, const char *name)
{
    if (self == NULL) return WEFT_ENOTACTOR;
    return name == NULL ? WEFT_EINVAL : wf_name_check(weft_cstr(name));
}

int weft_register(const char *name)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, name);
    if (rc < 0) return rc;
    if (wf_actor_more(self) == NULL) return WEFT_ENOMEM;
    return wf_names_add(names_of(self), weft_cstr(name), wf_actor_pid(self), &self->more->names);
}

int weft_unregister(const char *name)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, name);
    if (rc < 0) return rc;
    struct wf_name *none = NULL;
    return wf_names_remove(names_of(self), weft_cstr(name), self->more == NULL ? &none : &self->more->names);
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
    return wf_names_find(names_of(self), weft_cstr(name), out);
}

/* ---- Waiting for a name ---------------------------------------------------------------------------------------- */

/* On the waiting actor's stack: who is killed there runs its end on that stack, too. */
struct await {
    struct wf_name_wait wait;
    struct wf_owned owned; /* of the actor, in case it is killed */
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
        /* It may have come with the deadline. */
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
    if (self->task.cancelled) return (int)wf_task_settle(WEFT_ECANCELED);
    rc = wf_names_find(names_of(self), weft_cstr(name), out);
    if (rc == WEFT_OK) return rc;
    if (deadline <= WEFT_NOW) return (int)wf_task_settle(WEFT_ETIMEDOUT);
    return await(self, name, out, deadline);
}

/* actors/lifecycle/kept_actor.c -- an actor that remains when a life ends: its supervisor keeps slot, pid, mailbox
 * and name.
 *
 * Design notes.
 * (1) A life ends like any actor (wf_actor_end): clean-ups, owned resources, subscriptions, links, held messages.
 *     Only its mail, senders that wait for space, its name and the monitors of it remain. The task is DONE and its
 *     stack is given back; mail still arrives, up to the mailbox's bound.
 * (2) A struct wf_kept_actor ties it to its supervisor. The supervisor's worker writes it before a life; then the
 *     actor's worker reads it until it has sent the notification that this life has ended. Orders are posts, in
 *     order: `next_life`, once after each such notification, and `let_go`, once, after which the actor's worker frees
 *     `k`.
 * (3) The notification of an end needs no memory at that time: its envelope is allocated before the life starts. */
#include "kept_actor.h"

#include "actor_life.h"
#include "stopping.h"
#include "supervisor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wf_kept_actor {
    struct wf_kept_actor_head head; /* first */
    struct wf_call next_life, let_go;
    weft_pid supervisor;
    weft_pid actor; /* nobody before its first life */
    weft_msg *news; /* the notification that this life has ended */
    void *arg;      /* the argument of the next life */
    size_t arg_size;
};

/* ---- On the actor's worker ------------------------------------------------------------------------------------- */

weft_msg *wf_kept_actor_take_news(struct wf_kept_actor *k, weft_pid *to)
{
    weft_msg *m = k->news;
    WF_ASSERT(m != NULL);
    k->news = NULL;
    *to = k->supervisor;
    return m;
}

static struct wf_actor *actor_of(struct wf_worker *w, const struct wf_kept_actor *k)
{
    struct wf_actor *a = wf_actor_find(w, k->actor.actor);
    WF_ASSERT(a != NULL && wf_actor_keep(a) == k); /* only let_go ends it */
    return a;
}

static void next_life_here(struct wf_worker *w, struct wf_call *c)
{
    struct wf_kept_actor *k = WF_CONTAINER(c, struct wf_kept_actor, next_life);
    struct wf_actor *a = actor_of(w, k);
    a->more->charge = NULL; /* it was in a stack frame of the last life, which weft_exit may have left */
    wf_actor_restart(a, k->arg, k->arg_size);
}

static void let_go_here(struct wf_worker *w, struct wf_call *c)
{
    struct wf_kept_actor *k = WF_CONTAINER(c, struct wf_kept_actor, let_go);
    struct wf_actor *a = actor_of(w, k);
    a->more->keep = NULL;
    if (k->news != NULL) wf_msg_free(w, k->news);
    free(k);
    if (a->task.state == WF_TASK_DONE) wf_actor_end_kept(a);
    else wf_actor_cancel(a, WEFT_EXIT_STOPPED, NULL);
}

/* ---- On the supervisor's worker -------------------------------------------------------------------------------- */

static void order(struct wf_worker *w, const struct wf_kept_actor *k, struct wf_call *c)
{
    uint32_t index = wf_id_worker(k->actor.actor);
    if (index == w->index) c->call(w, c);
    else wf_worker_send(w, index, &c->post);
}

struct wf_kept_actor *wf_kept_actor_new(weft_pid supervisor, const char *name)
{
    struct wf_kept_actor *k = calloc(1, sizeof *k);
    if (k == NULL) return NULL;
    k->next_life = (struct wf_call){.post = {.kind = WF_POST_CALL}, .call = next_life_here};
    k->let_go = (struct wf_call){.post = {.kind = WF_POST_CALL}, .call = let_go_here};
    k->supervisor = supervisor;
    snprintf(k->head.name, sizeof k->head.name, "%s", name);
    return k;
}

static int make_news(struct wf_worker *w, struct wf_kept_actor *k)
{
    if (k->news == NULL) k->news = wf_msg_new(w, WEFT_TAG_EXIT, 0);
    return k->news == NULL ? WEFT_ENOMEM : WEFT_OK;
}

static int again(struct wf_worker *w, struct wf_kept_actor *k, const void *arg, size_t size)
{
    WF_ASSERT(k->news == NULL && size > 0); /* otherwise a life still runs */
    k->arg = wf_pool_take(&w->pool, wf_pool_class(size), size);
    if (k->arg == NULL) return WEFT_ENOMEM;
    if (make_news(w, k) < 0) {
        wf_pool_give(&w->pool, wf_pool_class(size), k->arg);
        return WEFT_ENOMEM;
    }
    memcpy(k->arg, arg, size);
    k->arg_size = size;
    order(w, k, &k->next_life);
    return WEFT_OK;
}

int wf_kept_actor_start(struct wf_worker *w, struct wf_kept_actor *k, weft_pid *out, weft_actor *body,
                        const void *arg, size_t size, const weft_spawn_options *options)
{
    int rc;
    if (!weft_pid_is_nobody(k->actor)) rc = again(w, k, arg, size);
    else if ((rc = make_news(w, k)) == WEFT_OK) rc = wf_actor_spawn_kept(w, k, &k->actor, body, arg, size, options);
    if (rc == WEFT_OK) *out = k->actor;
    return rc;
}

void wf_kept_actor_let_go(struct wf_worker *w, struct wf_kept_actor *k)
{
    if (!weft_pid_is_nobody(k->actor)) {
        order(w, k, &k->let_go);
        return;
    }
    if (k->news != NULL) wf_msg_free(w, k->news);
    free(k);
}

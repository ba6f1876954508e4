/* actors/inspect/actor_list.c -- lists the actors of a node. Each worker describes its own, on its own thread, while
 * the asking actor waits. */
#include "actor_list.h"

#include "actor.h"
#include "actor_memory.h"
#include "held.h"
#include "inspect_worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker_query.h"
#include "stuck.h"

struct census {
    struct wf_worker_query round;
    uint32_t workers;
    struct part {
        struct wf_call call;
        struct census *census;
        struct wf_actor_info *actors;
        size_t count;
        bool failed;
    } parts[WF_WORKERS_MAX];
};

static void free_census(struct wf_worker_query *r)
{
    struct census *c = WF_CONTAINER(r, struct census, round);
    for (uint32_t i = 0; i < c->workers; i++) free(c->parts[i].actors);
    free(c);
}

/* ---- Stacks ---------------------------------------------------------------------------------------------------- */

static size_t stack_most(const struct wf_kinds *all, const char *kind)
{
    const struct wf_kind *k = wf_kind_find(all, kind);
    return k == NULL ? 0 : k->stack_most;
}

/* Stacks of parked and ended actors were measured when they were parked or ended. */
static void look_at_stack(struct wf_actor *a)
{
    struct wf_task *t = &a->task;
    if (t->state != WF_TASK_READY && t->state != WF_TASK_WAITING && t->state != WF_TASK_IDLE) return;
    wf_stack_seen(&t->coro.stack, t->coro.sp);
    size_t used = wf_stack_used(&t->coro.stack);
    if (used > 0) wf_actor_stack_used(t, used);
}

size_t wf_actor_stack_most(struct wf_actor *a)
{
    look_at_stack(a);
    return stack_most(&wf_actors_of(a->task.worker)->kinds, a->kind);
}

/* ---- The list -------------------------------------------------------------------------------------------------- */

void wf_actor_info_of(const struct wf_actor *a, struct wf_actor_info *out)
{
    static const char *const states[] = {"new",     "ready",   "ready",  "running",   "waiting",
                                         "waiting", "waiting", "parked", "restarting"};
    memset(out, 0, sizeof *out);
    out->pid = wf_actor_pid(a);
    snprintf(out->kind, sizeof out->kind, "%s", a->kind);
    snprintf(out->name, sizeof out->name, "%s", wf_actor_name(a));
    bool woken = a->handles && a->task.state == WF_TASK_NEW;
    snprintf(out->state, sizeof out->state, "%s", woken ? "ready" : states[a->task.state]);
    snprintf(out->waits_for, sizeof out->waits_for, "%s", wf_task_waits_for(&a->task));
    out->mailbox = wf_mail_count(a);
    out->mailbox_max = a->mailbox_max;
    out->received = wf_actor_received(a);
    out->dropped = a->dropped;
    out->traps_reload = a->traps_reload;
    out->held = wf_held_count(a);
    wf_actor_memory_of(a, &out->memory);
    out->stack_most = stack_most(&wf_actors_of(a->task.worker)->kinds, a->kind);
}

static void describe_here(struct wf_worker *w, struct wf_call *call)
{
    struct part *p = WF_CONTAINER(call, struct part, call);
    struct wf_actors *wa = wf_actors_of(w);
    size_t most = (size_t)wa->alive[0] + wa->alive[1];
    p->actors = calloc(most == 0 ? 1 : most, sizeof *p->actors);
    p->failed = p->actors == NULL;
    WF_ACTORS_EACH(a, wa) look_at_stack(a);
    WF_ACTORS_EACH(a, wa)
    {
        if (p->failed || p->count == most) continue;
        wf_actor_info_of(a, &p->actors[p->count]);
        p->actors[p->count++].memory.stack = wf_actor_stack_bytes(a);
    }
    wf_worker_query_answered(&p->census->round);
}

static int gather(struct census *c, struct wf_actor_info **out, size_t *count)
{
    size_t sum = 0;
    bool failed = false;
    for (uint32_t i = 0; i < c->workers; i++) {
        sum += c->parts[i].count;
        failed |= c->parts[i].failed;
    }
    struct wf_actor_info *all = failed ? NULL : calloc(sum == 0 ? 1 : sum, sizeof *all);
    if (all == NULL) return WEFT_ENOMEM;
    *out = all;
    *count = sum;
    for (uint32_t i = 0; i < c->workers; i++) {
        if (c->parts[i].count > 0) memcpy(all, c->parts[i].actors, c->parts[i].count * sizeof *all);
        all += c->parts[i].count;
    }
    return WEFT_OK;
}

int wf_node_list_actors(weft_node *node, struct wf_actor_info **out, size_t *count, int64_t deadline)
{
    struct census *c = calloc(1, sizeof *c);
    if (c == NULL) return WEFT_ENOMEM;
    c->workers = node->workers.count;
    int rc = wf_worker_query_begin(&c->round, c->workers, free_census);
    if (rc < 0) {
        free(c);
        return rc;
    }
    for (uint32_t i = 0; i < c->workers; i++) {
        c->parts[i].census = c;
        wf_worker_query_ask(node, i, &c->parts[i].call, describe_here);
    }
    rc = wf_worker_query_await(&c->round, deadline);
    if (rc == WEFT_OK) rc = gather(c, out, count);
    wf_worker_query_drop(&c->round);
    return rc;
}

/* ---- Pages of it ----------------------------------------------------------------------------------------------- */

static void fill_page(struct wf_worker *w, void *data)
{
    struct wf_actor_page *p = data;
    const struct wf_slab *slab = &wf_actors_of(w)->slab;
    uint32_t end = p->slot + WF_PAGE_SLOTS;
    p->count = 0;
    for (; p->slot < end && p->count < p->most && wf_slab_at(slab, p->slot) != NULL; p->slot++) {
        struct wf_actor *a = wf_slab_taken_at(slab, p->slot);
        if (a == NULL || !a->listed) continue;
        if (p->kind[0] != '\0' && strncmp(a->kind, p->kind, sizeof p->kind - 1) != 0) continue;
        look_at_stack(a);
        wf_actor_info_of(a, &p->at[p->count]);
        p->at[p->count++].memory.stack = wf_actor_stack_bytes(a);
    }
    if (wf_slab_at(slab, p->slot) != NULL) return;
    p->worker++;
    p->slot = 0;
}

int wf_node_page_actors(weft_node *node, struct wf_actor_page *page, int64_t deadline)
{
    page->count = 0;
    page->most = WF_MIN(page->most, (uint32_t)WF_PAGE_ACTORS);
    int rc = WEFT_OK;
    if (page->worker < node->workers.count)
        rc = wf_worker_inspect(node, page->worker, fill_page, page, sizeof *page, deadline);
    if (rc == WEFT_ETIMEDOUT && wf_stuck_at(&node->workers, page->worker, NULL)) { /* STUCK reports it */
        page->worker++;
        page->slot = page->count = 0;
        rc = WEFT_OK;
    }
    page->last = page->worker >= node->workers.count;
    return rc;
}

static void add_alive(struct wf_worker *w, void *count)
{
    *(uint64_t *)count += (uint64_t)wf_actors_of(w)->alive[0] + wf_actors_of(w)->alive[1];
}

int wf_node_count_actors(weft_node *node, uint64_t *count, int64_t within)
{
    int rc = WEFT_OK;
    *count = 0;
    for (uint32_t i = 0; i < node->workers.count && rc == WEFT_OK; i++) {
        rc = wf_worker_inspect(node, i, add_alive, count, sizeof *count, weft_after(within));
        if (rc == WEFT_ETIMEDOUT && wf_stuck_at(&node->workers, i, NULL)) rc = WEFT_OK;
    }
    return rc;
}

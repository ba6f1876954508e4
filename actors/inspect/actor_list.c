/* actors/inspect/actor_list.c -- lists the actors of a node. Each worker describes its own, on its own thread, while
 * the asking actor waits: some hundred in a turn, so that its other actors run in between. */
#include "actor_list.h"

#include "actor.h"
#include "actor_memory.h"
#include "held.h"
#include "inspect_worker.h"

#include <weft/local.h>

#include <stddef.h>
#include <string.h>

#include "worker_query.h"
#include "stuck.h"

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

/* `out` has so many bytes, all zero. */
static void set_text(char *out, size_t size, const char *text)
{
    memcpy(out, text, strnlen(text, size - 1));
}

void wf_actor_info_of(const struct wf_actor *a, struct wf_actor_info *out)
{
    static const char *const states[] = {"new",     "ready",   "ready",  "running",   "waiting",
                                         "waiting", "waiting", "parked", "restarting"};
    memset(out, 0, sizeof *out);
    out->pid = wf_actor_pid(a);
    set_text(out->kind, sizeof out->kind, a->kind);
    set_text(out->name, sizeof out->name, wf_actor_name(a));
    bool woken = a->handles && a->task.state == WF_TASK_NEW;
    set_text(out->state, sizeof out->state, woken ? "ready" : states[a->task.state]);
    set_text(out->waits_for, sizeof out->waits_for, wf_task_waits_for(&a->task));
    out->mailbox = wf_mail_count(a);
    out->mailbox_max = a->mailbox_max;
    out->received = wf_actor_received(a);
    out->dropped = a->dropped;
    out->traps_reload = a->traps_reload;
    out->held = wf_held_count(a);
    wf_actor_memory_of(a, &out->memory);
    out->stack_most = stack_most(&wf_actors_of(a->task.worker)->kinds, a->kind);
}

/* The actors that one turn describes, and the slots that it looks at. */
enum { SLICE_ACTORS = 512, SLICE_SLOTS = 4096 };

/* A slice more of the page. Each slice takes a turn, so a worker that has much to do has not filled the page in this
 * time. Then the page ends. */
static bool fill_page(struct wf_worker *w, void *data)
{
    struct wf_actor_page *p = data;
    const struct wf_slab *slab = &wf_actors_of(w)->slab;
    uint32_t end = p->slot + SLICE_SLOTS, full = WF_MIN(p->most, p->count + SLICE_ACTORS);
    if (p->slices++ == 0) p->until = w->now + WEFT_MS(100);
    for (; p->slot < end && p->count < full && wf_slab_at(slab, p->slot) != NULL; p->slot++) {
        struct wf_actor *a = wf_slab_taken_at(slab, p->slot);
        if (a == NULL || !a->listed) continue;
        if (p->kind[0] != '\0' && strncmp(a->kind, p->kind, sizeof p->kind - 1) != 0) continue;
        look_at_stack(a);
        wf_actor_info_of(a, &p->at[p->count]);
        p->at[p->count++].memory.stack = wf_actor_stack_bytes(a);
    }
    if (wf_slab_at(slab, p->slot) != NULL)
        return p->count < p->most && p->slices < WF_PAGE_SLICES && w->now < p->until;
    p->worker++;
    p->slot = 0;
    return false;
}

void wf_actor_page_begin(struct wf_actor_page *page, uint32_t most)
{
    memset(page, 0, offsetof(struct wf_actor_page, at));
    page->most = WF_MIN(most, (uint32_t)WF_PAGE_ACTORS);
}

int wf_node_page_actors(weft_node *node, struct wf_actor_page *page, int64_t deadline)
{
    size_t size = offsetof(struct wf_actor_page, at) + page->most * sizeof page->at[0];
    int rc = WEFT_OK;
    page->count = page->slices = 0;
    if (page->worker < node->workers.count)
        rc = wf_worker_inspect(node, page->worker, fill_page, page, size, deadline);
    if (rc == WEFT_ETIMEDOUT && wf_stuck_at(&node->workers, page->worker, NULL)) { /* STUCK reports it */
        page->worker++;
        page->slot = 0;
        page->held_up = true;
        rc = WEFT_OK;
    }
    page->last = page->worker >= node->workers.count;
    return rc;
}

/* ---- All that are wanted --------------------------------------------------------------------------------------- */

/* The list is at `*out`, which has space for `*capacity`. */
static int append(struct wf_actor_info **out, size_t *count, size_t *capacity, const struct wf_actor_info *info)
{
    if (*count == *capacity) {
        size_t more = *capacity == 0 ? 64 : 2 * *capacity;
        struct wf_actor_info *all = weft_alloc(more * sizeof *all);
        if (all == NULL) return WEFT_ENOMEM;
        if (*count > 0) memcpy(all, *out, *count * sizeof *all);
        (void)weft_release(*out);
        *out = all;
        *capacity = more;
    }
    (*out)[(*count)++] = *info;
    return WEFT_OK;
}

int wf_node_list_actors(weft_node *node, bool (*wanted)(const struct wf_actor_info *info), struct wf_actor_info **out,
                        size_t *count, int64_t deadline)
{
    size_t capacity = 0;
    if (wf_actor_self() == NULL) return WEFT_ENOTACTOR;
    struct wf_actor_page *p = weft_alloc(sizeof *p);
    int rc = p == NULL ? WEFT_ENOMEM : WEFT_OK;
    *out = NULL;
    *count = 0;
    if (p != NULL) wf_actor_page_begin(p, WF_PAGE_ACTORS);
    while (rc == WEFT_OK && !p->last) {
        rc = wf_node_page_actors(node, p, deadline);
        if (rc == WEFT_OK && p->held_up) rc = WEFT_ETIMEDOUT;
        for (uint32_t i = 0; i < p->count && rc == WEFT_OK; i++)
            if (wanted == NULL || wanted(&p->at[i])) rc = append(out, count, &capacity, &p->at[i]);
    }
    (void)weft_release(p);
    if (rc == WEFT_OK) return rc;
    (void)weft_release(*out);
    *out = NULL;
    *count = 0;
    return rc;
}

static bool add_alive(struct wf_worker *w, void *count)
{
    *(uint64_t *)count += (uint64_t)wf_actors_of(w)->alive[0] + wf_actors_of(w)->alive[1];
    return false;
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

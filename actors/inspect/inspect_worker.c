/* actors/inspect/inspect_worker.c -- see inspect_worker.h. */
#include "inspect_worker.h"

#include "actor_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asking.h"
#include "monitors.h"
#include "park.h"
#include "worker_query.h"
#include "stuck.h"
#include "ties.h"

/* ---- What is seen ---------------------------------------------------------------------------------------------- */

static void add(struct wf_pids *p, weft_pid pid)
{
    if (p->count < WF_TIES_SHOWN) p->of[p->count] = pid;
    p->count++;
}

static void see_ties(const struct wf_actor *a, struct wf_actor_detail *d)
{
    for (const struct wf_tie_set *s = NULL; (s = wf_tie_set_next(a, s)) != NULL;) {
        WF_LIST_EACH(k, &s->monitors) add(&d->monitors, WF_CONTAINER(k, struct wf_monitor, on_set)->target);
        for (const weft_msg *m = s->ends; m != NULL; m = (const weft_msg *)m->post.next)
            add(m->post.flags == WF_MSG_WATCH ? &d->watchers : &d->links, m->from);
    }
}

bool wf_inspect_actor(struct wf_worker *w, void *actor_detail)
{
    struct wf_actor_detail *d = actor_detail;
    const struct wf_actor *a = wf_actor_find(w, d->id);
    d->found = a != NULL && a->listed;
    if (!d->found) return false;
    wf_actor_info_of(a, &d->info);
    d->info.memory.stack = wf_actor_stack_bytes(a);
    const struct wf_kind *kind = wf_kind_find(&wf_actors_of(w)->kinds, a->kind);
    bool timed = kind != NULL && kind->mail != NULL;
    d->mailbox_p50 = timed ? wf_histogram_quantile(kind->mail, 0.5) : -1;
    d->mailbox_p99 = timed ? wf_histogram_quantile(kind->mail, 0.99) : -1;
    see_ties(a, d);
    d->caller_count = (uint32_t)wf_task_callers(&a->task, d->callers, WF_CALLERS_SHOWN);
    const struct wf_asking *s = a->asking;
    if (s == NULL || !s->waiting) return false;
    d->waits_ns = WF_MAX(w->now - s->since, 1);
    for (size_t i = 0; i < s->count; i++)
        if (s->slots[i].error == WF_ANSWER_OPEN) add(&d->asks, s->slots[i].from);
    return false;
}

/* As many as are shown. */
static void see_calls(const struct wf_worker *w, struct wf_list *calls, struct wf_waits *out)
{
    WF_LIST_EACH(k, calls) {
        const struct wf_asking *s = WF_CONTAINER(k, struct wf_asking, on_calls);
        for (size_t i = 0; i < s->count; i++) {
            if (s->slots[i].error != WF_ANSWER_OPEN) continue;
            if (out->shown == WF_WAITS_SHOWN) return;
            out->of[out->shown].who = wf_actor_pid(s->actor);
            out->of[out->shown].whom = s->slots[i].from;
            out->of[out->shown++].ns = w->now - s->since;
        }
    }
}

/* There may be as many calls as actors: those that are not shown are counted in later turns. */
bool wf_inspect_waits(struct wf_worker *w, void *waits)
{
    enum { SLICE_SLOTS = 4096 };
    struct wf_waits *out = waits;
    const struct wf_slab *slab = &wf_actors_of(w)->slab;
    if (out->next == 0) {
        out->until = w->now + WEFT_MS(500);
        see_calls(w, &wf_actors_of(w)->long_calls, out);
        see_calls(w, &wf_actors_of(w)->calls, out);
    }
    for (uint32_t end = out->next + SLICE_SLOTS; out->next < end; out->next++) {
        if (wf_slab_at(slab, out->next) == NULL) break;
        const struct wf_actor *a = wf_slab_taken_at(slab, out->next);
        if (a != NULL && a->asking != NULL && wf_linked(&a->asking->on_calls)) out->count += a->asking->open;
    }
    if (wf_slab_at(slab, out->next) != NULL && w->now < out->until) return true;
    out->count = WF_MAX(out->count, out->shown); /* some have ended meanwhile */
    return false;
}

/* ---- Who is who ------------------------------------------------------------------------------------------------ */

static void see_asked(const struct wf_worker *w, const struct wf_actor *a, struct wf_who *out)
{
    const struct wf_asking *s = a->asking;
    if (s == NULL || !s->waiting) return;
    out->waits_ns = WF_MAX(w->now - s->since, 1);
    out->needs_all = s->open > 0 && s->got + s->open == s->need;
    for (size_t i = 0; i < s->count; i++) {
        if (s->slots[i].error != WF_ANSWER_OPEN) continue;
        if (out->asks++ > 0) continue;
        out->ask = s->slots[i].from;
        if (s->name != NULL) snprintf(out->ask_name, sizeof out->ask_name, "%s", s->name);
    }
}

bool wf_inspect_whos(struct wf_worker *w, void *whos)
{
    struct wf_whos *all = whos;
    for (uint32_t i = 0; i < all->count; i++) {
        struct wf_who *one = &all->of[i];
        const struct wf_actor *a = wf_actor_find(w, one->id);
        one->found = a != NULL && a->listed;
        if (!one->found) continue;
        one->service = atomic_load_explicit(&a->service, memory_order_relaxed);
        wf_actor_info_of(a, &one->info);
        see_asked(w, a, one);
    }
    return false;
}

/* ---- Drops ----------------------------------------------------------------------------------------------------- */

bool wf_inspect_drops(struct wf_worker *w, void *drops_seen)
{
    struct wf_drops_seen *d = drops_seen;
    d->now = w->now;
    d->log = wf_actors_of(w)->drops;
    return false;
}

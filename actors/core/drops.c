/* actors/core/drops.c -- see drops.h. */
#include "drops.h"

#include "actor.h"

#include <stdio.h>
#include <string.h>

void wf_note_drop(struct wf_worker *w, enum wf_drop why, uint64_t to, weft_pid from, uint32_t tag)
{
    WF_ASSERT(why < WF_DROP_REASONS);
    struct wf_actors *wa = wf_actors_of(w);
    struct wf_dropped *d = &wa->drops.last[wa->drops.count++ % WF_DROPS_KEPT];
    const struct wf_actor *a = wf_id_worker(to) == w->index ? wf_actor_find(w, to) : NULL;
    wf_count_drop(w, why);
    d->at = w->now;
    d->from = from;
    d->to = to;
    d->tag = tag;
    d->why = why;
    d->kind = a == NULL ? NULL : a->kind;
    d->name[0] = '\0'; /* a reader of the log looks up the name of a living actor: that may take time */
    if (WF_UNLIKELY(wa->left.actor == to)) memcpy(d->name, wa->left.name, sizeof d->name);
}

void wf_note_left(const struct wf_actor *a)
{
    struct wf_left *left = &wf_actors_of(a->task.worker)->left;
    const char *name = wf_actor_name(a);
    if (name[0] == '\0') return;
    left->actor = a->id;
    snprintf(left->name, sizeof left->name, "%s", name);
}

void wf_node_drops(const weft_node *node, uint64_t out[WF_DROP_REASONS])
{
    for (int r = 0; r < WF_DROP_REASONS; r++) {
        out[r] = 0;
        for (uint32_t i = 0; i < node->workers.count; i++)
            out[r] += atomic_load_explicit(&wf_actors_of(node->workers.at[i])->dropped[r], memory_order_relaxed);
    }
}

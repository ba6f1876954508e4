/* actors/core/describe.c -- what an actor is called in a line for people, and the last messages that were dropped. */
#include "actor.h"

#include <stdio.h>
#include <string.h>

/* In a signal handler of the actor's own thread: reads what was written at birth, formats without locks. */
void wf_actor_describe(const struct wf_task *t, char *out, size_t size)
{
    const struct wf_actor *a = wf_actor_of((struct wf_task *)(uintptr_t)t);
    const char *name = wf_actor_name(a);
    char pid[WEFT_PID_TEXT];
    snprintf(out, size, "actor %s (%s%s%s) of node %s", name[0] != 0 ? name : a->kind, name[0] != 0 ? a->kind : "",
             name[0] != 0 ? " " : "", weft_pid_format(wf_actor_pid(a), pid), wf_node_of(t->worker)->name);
}

void wf_note_drop(struct wf_worker *w, enum wf_drop why, uint64_t to, weft_pid from, uint32_t tag)
{
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
    d->name[0] = '\0'; /* who lives is asked for it, by who looks: of many names the first takes time to find */
    if (WF_UNLIKELY(wa->left.actor == to)) memcpy(d->name, wa->left.name, sizeof d->name);
}

void wf_note_left(const struct wf_actor *a)
{
    struct wf_left *left = &wf_actors_of(a->task.worker)->left;
    left->actor = a->id;
    snprintf(left->name, sizeof left->name, "%s", wf_actor_name(a));
}

/* actors/core/describe.c -- see describe.h. */
#include "describe.h"

#include "actor.h"

#include <stdio.h>

/* In a signal handler of the actor's own thread: reads what was written at birth, formats without locks. */
void wf_actor_describe(const struct wf_task *t, char *out, size_t size)
{
    const struct wf_actor *a = wf_actor_of((struct wf_task *)(uintptr_t)t);
    const char *name = wf_actor_name(a);
    char pid[WEFT_PID_TEXT];
    snprintf(out, size, "actor %s (%s%s%s) of node %s", name[0] != 0 ? name : a->kind, name[0] != 0 ? a->kind : "",
             name[0] != 0 ? " " : "", weft_pid_format(wf_actor_pid(a), pid), wf_node_of(t->worker)->name);
}

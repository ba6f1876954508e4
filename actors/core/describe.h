/* actors/core/describe.h -- what an actor is called in a line for people. */
#ifndef WF_DESCRIBE_H
#define WF_DESCRIBE_H

#include "task.h"

/* wf_hooks.task_describe. */
void wf_actor_describe(const struct wf_task *t, char *out, size_t size);

#endif

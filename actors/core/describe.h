/* actors/core/describe.h -- the text that names an actor in log lines and errors. */
#ifndef WF_DESCRIBE_H
#define WF_DESCRIBE_H

#include "task.h"

/* wf_hooks.task_describe. */
void wf_actor_describe(const struct wf_task *t, char *out, size_t size);

#endif

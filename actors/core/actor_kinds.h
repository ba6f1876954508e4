/* actors/core/actor_kinds.h -- statistics of each kind of actors of a worker, of living and of ended ones. */
#ifndef WF_ACTOR_KINDS_H
#define WF_ACTOR_KINDS_H

#include "histogram.h"

struct wf_task;

/* One kind of actors on this worker: the most stack that one has used, and how long mail lay in their mailboxes.
 * Owner's thread. */
struct wf_kind {
    const char *kind; /* NULL: a free place */
    size_t stack_most;
    struct wf_histogram *mail; /* NULL: none was timed yet */
};
struct wf_kinds {
    struct wf_kind *at; /* a hash table by address, its size a power of two; kinds are few */
    uint32_t count, places;
};

/* The entry of that kind, made if there is none. NULL: no memory, or too many kinds. */
struct wf_kind *wf_kind_noted(struct wf_kinds *k, const char *kind);
/* The entry of that kind, or NULL. */
const struct wf_kind *wf_kind_find(const struct wf_kinds *k, const char *kind);
void wf_kinds_finish(struct wf_kinds *k);
/* wf_hooks.task_stack_used: `used` is the result of wf_stack_used. */
void wf_actor_stack_used(struct wf_task *t, size_t used);

#endif

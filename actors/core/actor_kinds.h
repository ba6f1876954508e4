/* actors/core/actor_kinds.h -- what a worker notes of each kind of its actors, living or ended. */
#ifndef WF_ACTOR_KINDS_H
#define WF_ACTOR_KINDS_H

#include "histogram.h"

struct wf_task;

/* What is known of the actors of one kind on this worker: how much stack they have used, and how long their mail lay
 * in mailboxes. Owner's thread. */
struct wf_kind {
    const char *kind; /* NULL: a free place */
    size_t stack_most;
    struct wf_histogram *mail; /* NULL: none was timed yet */
};
struct wf_kinds {
    struct wf_kind *at; /* hashed by address, a power of two of places; kinds are few */
    uint32_t count, places;
};

/* The place of that kind; NULL: it has none, and there is no memory for one, or there are too many. */
struct wf_kind *wf_kind_noted(struct wf_kinds *k, const char *kind);
/* NULL: nothing is known of it. */
const struct wf_kind *wf_kind_find(const struct wf_kinds *k, const char *kind);
void wf_kinds_finish(struct wf_kinds *k);
/* What wf_stack_used has said of its stack. */
void wf_actor_stack_used(struct wf_task *t, size_t used);

#endif

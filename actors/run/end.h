/* actors/run/end.h -- the end of an actor. */
#ifndef WF_END_H
#define WF_END_H

#include "actor.h"
#include "ending.h"

/* On the actor's own stack. When it returns, only the task is left. If a clean-up ends its actor, that call does not
 * return: the first call goes on with the other clean-ups. */
void wf_actor_end(struct wf_actor *a);
/* For an actor with wf_actor_more: each feature takes back what it has given to the actor. */
void wf_actor_leave(struct wf_actor *a);
/* The last part of its end, on any stack. A kept actor keeps its mail, and its monitors stay. */
void wf_actor_end_tail(struct wf_actor *a);
/* weft_exit with a text for the actors that are notified of the end. */
void wf_actor_fail(struct wf_actor *self, int reason, const char *text) __attribute__((noreturn));
/* wf_hooks.task_killed. */
void wf_actor_killed(struct wf_task *t) __attribute__((noreturn));
/* Sets the reason and text for the actors that are notified of the end; takes over a reference. Without memory the
 * text is lost. */
void wf_actor_set_end(struct wf_actor *a, struct wf_body *end);

/* weft_defer for an actor of the calling worker. wf_run_defers runs these clean-ups, the last one first. */
int wf_actor_defer(struct wf_actor *a, void (*undo)(void *), void *arg);
void wf_run_defers(struct wf_actor *a);
static inline bool wf_has_clean_ups(const struct wf_actor *a)
{
    return a->more != NULL && (a->more->defers != NULL || a->more->locals != NULL);
}

/* A body that says why an actor ended: its reason in 4 bytes, and the text. NULL: no memory. */
enum { WF_REASON_BYTES = 4 };
struct wf_body *wf_end_body(struct wf_worker *w, int reason, const char *text);

#endif

/* actors/lifecycle/kept_actor.h -- an actor's slot, pid, mailbox and name, kept from one life to the next by its
 * supervisor. */
#ifndef WF_KEPT_ACTOR_H
#define WF_KEPT_ACTOR_H

#include "actor.h"

struct wf_kept_actor;
/* Called by the supervisor, which owns it until wf_kept_actor_let_go. NULL: no memory. */
struct wf_kept_actor *wf_kept_actor_new(weft_pid supervisor, const char *name /* that stays, or "" */);
/* Starts the first life, or the next one after the notification (a WEFT_TAG_EXIT message) that the life before has
 * ended. As weft_spawn; a failure changes nothing. */
int wf_kept_actor_start(struct wf_worker *w, struct wf_kept_actor *k, weft_pid *out, weft_actor *body,
                        const void *arg, size_t size, const weft_spawn_options *options);
/* No further life starts. A life that still runs is asked to stop, and the supervisor is not notified of its end.
 * Frees `k`. */
void wf_kept_actor_let_go(struct wf_worker *w, struct wf_kept_actor *k);
/* On the actor's worker: takes the envelope of the notification that this life has ended; `*to` gets its receiver. */
weft_msg *wf_kept_actor_take_news(struct wf_kept_actor *k, weft_pid *to);

#endif

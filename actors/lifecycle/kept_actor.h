/* actors/lifecycle/kept_actor.h -- an actor's slot, pid, mailbox and name, kept from one life to the next by its
 * supervisor. */
#ifndef WF_KEPT_ACTOR_H
#define WF_KEPT_ACTOR_H

#include "actor.h"

struct wf_kept_actor;
/* By the supervisor, which owns it until it lets it go. NULL: no memory. */
struct wf_kept_actor *wf_kept_actor_new(weft_pid supervisor, const char *name /* that stays, or "" */);
/* The first life, and each other one after the news (a WEFT_TAG_EXIT message) that the one before has ended. As
 * weft_spawn; a failure leaves everything as it was. */
int wf_kept_actor_start(struct wf_worker *w, struct wf_kept_actor *k, weft_pid *out, weft_actor *body,
                        const void *arg, size_t size, const weft_spawn_options *options);
/* No further life. One that still runs is asked to stop, and no monitor hears of its end. `k` is freed. */
void wf_kept_actor_let_go(struct wf_worker *w, struct wf_kept_actor *k);
/* On the actor's worker: the envelope for the news of this life's end, and who gets it. */
weft_msg *wf_kept_actor_take_news(struct wf_kept_actor *k, weft_pid *to);

#endif

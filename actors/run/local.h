/* actors/run/local.h -- memory of one actor: wf_actor_more.locals. */
#ifndef WF_LOCAL_H
#define WF_LOCAL_H

#include <weft/local.h>

struct wf_actor;
struct wf_locals;

/* The block of that key if there is one, NULL otherwise; makes none. */
void *wf_local_find(const struct wf_actor *a, const weft_local_key *key);
/* The heap bytes of its blocks, with or without a key. */
size_t wf_locals_bytes(const struct wf_actor *a);
/* At its end, after the deferred clean-ups: destructors, then all blocks. If a destructor defers clean-ups, the
 * caller has to run them. */
void wf_locals_finish(struct wf_actor *a);

#endif

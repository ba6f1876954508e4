/* actors/remote/remote.h -- actors that nodes start for each other.
 *
 * Design notes.
 * (1) A request to start an actor (WF_MSG_SPAWN) is a call: its answer (WF_MSG_SPAWNED) fills the place of an answer.
 *     It is carried out on the worker the actor will live on, so what the actor says later goes the same way behind
 *     the answer: nobody hears of an actor's end before its birth.
 * (2) Monitor and link are made on both sides before the actor first runs: here the asker keeps them with an
 *     incomplete pid (actor 0), which the arriving answer completes, on the asker's worker, before anything that
 *     follows is delivered; there they are tied to the new actor before its worker turns to it.
 * (3) An answer that nobody waits for kills its actor: whoever gave up, or ended, does not leave one behind.
 * (4) Fields: SPAWN: `from` asks, `ref` as in a request, body [name, arguments, monitor, link]; SPAWNED: `from` is
 *     the new actor, the tag 0 or an error code without its sign, the body a text that says why. */
#ifndef WF_REMOTE_H
#define WF_REMOTE_H

#include "msg.h"

#include <weft/far.h>

/* The exported actor of that name; NULL. Any thread. */
const struct weft_export *wf_export_find(weft_text name);
/* What the calling thread exports from now on goes into `*list`, which begins with NULL, and does not count yet: it
 * is loading a module that may take the place of another. NULL: no more. */
void wf_exports_aside(struct weft_export **list);
/* It counts from now on, before what has the same names. Any thread. */
void wf_exports_replace(struct weft_export *list);

#endif

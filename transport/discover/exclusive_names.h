/* transport/discover/exclusive_names.h -- the actor that holds exclusive names.
 *
 * Design notes.
 * (1) Of each name at most one question is under way, so answers need no numbers.
 * (2) Who waits has sent a request, which is kept until there is an answer. Waiters and holders are monitored. A
 *     caller that gives up says so (GIVE_UP), behind its request: if the answer was on its way, the name goes back.
 * (3) A name that somebody else has is asked for again when etcd's watch says that its key is gone. The answer TAKEN
 *     and that news come on different connections: both say a revision, and the higher one is right.
 * (4) Giving back is asked for again until it is done: a key of which the holder is gone would stay as long as this
 *     node lives. It is conditional on the token, so it never takes what is somebody else's by then. */
#ifndef WF_EXCLUSIVE_NAMES_H
#define WF_EXCLUSIVE_NAMES_H

struct wf_transport;

int wf_exclusive_start(struct wf_transport *t); /* the actor $exclusive */

#endif

/* transport/discover/exclusive_names.h -- the actor that holds exclusive names.
 *
 * Design notes.
 * (1) For each name at most one request to etcd is pending, so answers need no numbers.
 * (2) A waiting actor has sent a request, which is kept until there is an answer. Waiters and holders are monitored. A
 *     caller that gives up sends GIVE_UP behind its request: if the answer was on its way, the name is given back.
 * (3) If another node has a name, it is requested again when etcd's watch reports that its key is gone. The answer
 *     TAKEN and that report come on different connections: both have a revision, and the higher one is right.
 * (4) A release is repeated until it has succeeded: otherwise a key without a holder would stay as long as this node
 *     lives. It is conditional on the token, so it never deletes a later key of another node. */
#ifndef WF_EXCLUSIVE_NAMES_H
#define WF_EXCLUSIVE_NAMES_H

struct wf_transport;

int wf_exclusive_start(struct wf_transport *t); /* the actor $exclusive */

#endif

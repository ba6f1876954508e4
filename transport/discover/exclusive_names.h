/* transport/discover/exclusive_names.h -- the actor that holds exclusive names. */
#ifndef WF_EXCLUSIVE_NAMES_H
#define WF_EXCLUSIVE_NAMES_H

struct wf_transport;

int wf_exclusive_start(struct wf_transport *t); /* the actor $exclusive */

#endif

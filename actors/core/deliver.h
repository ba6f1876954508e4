/* actors/core/deliver.h -- how a message gets to an actor of this worker, and what happens if that actor does not
 * exist. */
#ifndef WF_DELIVER_H
#define WF_DELIVER_H

#include "msg.h"

/* Every message that reaches its worker comes through here; the kind decides what happens with it. Consumes `m`. */
void wf_deliver(struct wf_worker *w, weft_msg *m);
/* Sends a reply or signal from worker `w` to an actor of any node. No bound applies. Consumes `m`. */
int wf_send_signal(struct wf_worker *w, weft_pid to, weft_msg *m);
/* Counts a message that reaches no actor, answers it with an error if it is a request, frees it. */
void wf_drop(struct wf_worker *w, weft_msg *m, enum wf_drop why);
extern const char *const wf_drop_names[WF_DROP_REASONS];
/* Answers a request with an error instead of a reply, and frees it. Allocates nothing. */
void wf_refuse(struct wf_worker *w, weft_msg *ask, int error);
/* Called if there is no memory to send an answer, or an error, to another node. Ends the link with that node, so that
 * the caller gets WEFT_ENONODE instead of waiting for an answer. */
void wf_answer_lost(struct wf_worker *w, weft_pid asker);

#endif

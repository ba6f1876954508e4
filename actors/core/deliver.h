/* actors/core/deliver.h -- the way of a message to an actor of this worker, and what becomes of it where there is
 * none. */
#ifndef WF_DELIVER_H
#define WF_DELIVER_H

#include "msg.h"

/* Every message that reaches its worker comes through here, and here its kind is told apart. Consumes `m`. */
void wf_deliver(struct wf_worker *w, weft_msg *m);
/* From worker `w` to any actor anywhere, past all bounds: replies and signals. Consumes. */
int wf_send_signal(struct wf_worker *w, weft_pid to, weft_msg *m);
/* Counts a message that reaches nobody, answers it if it was a request, frees it. */
void wf_drop(struct wf_worker *w, weft_msg *m, enum wf_drop why);
extern const char *const wf_drop_names[WF_DROP_REASONS];
/* Answers a request with an error instead of a reply, and frees it. Takes no memory of its own. */
void wf_refuse(struct wf_worker *w, weft_msg *ask, int error);
/* There is no memory to send an answer, or an error, to another node, and the request is gone. Ends the link with
 * that node, so that the asker hears WEFT_ENONODE instead of nothing. */
void wf_answer_lost(struct wf_worker *w, weft_pid asker);

#endif

/* actors/mailbox/send.h -- how an actor sends a message. */
#ifndef WF_SEND_H
#define WF_SEND_H

#include "msg.h"

struct wf_actor;

/* The running actor waits for space for `weight` bytes in that mailbox of this node, or in the lane to its worker.
 * WEFT_EFULL: there was none until the deadline. Does not return if the actor is killed. */
int wf_await_space(struct wf_actor *self, weft_pid to, uint32_t weight, int64_t deadline);
/* The running actor was told of space and does not use it: the next waiting sender gets it. */
void wf_return_space(struct wf_actor *self, weft_pid to);
enum { WF_SEND_TIMEOUT = -1 }; /* this deadline means the node's send timeout, counted from the first wait */
/* A SEND from worker `w`, not from the running actor; it does not wait. Consumes. Without space or receiver the
 * message is dropped and counted: WEFT_EFULL, WEFT_ENOACTOR, WEFT_ENONODE. */
int wf_send_or_drop(struct wf_worker *w, weft_pid to, weft_msg *m);
/* The same for one of many messages that share a body: see wf_msg_send_copy_to. */
int wf_send_copy_or_drop(struct wf_worker *w, weft_pid to, weft_msg *m, uint64_t *weighed);
/* The running actor sends a SEND or CALL. On failure `m` is freed (a request that it passes on is answered with the
 * error), and the result says why. Callers call wf_task_tick before they allocate `m`: a kill while the task yields
 * would leak a message that is on no list. */
WEFT_CHECKED int wf_send_or_free(struct wf_actor *self, weft_pid to, weft_msg *m, int64_t deadline);
/* The same. `a` is the actor `to` if it is on this worker and wf_is_unrecorded(to) holds; else NULL. */
WEFT_CHECKED int wf_send_near(struct wf_actor *self, struct wf_actor *a, weft_pid to, weft_msg *m, int64_t deadline);
/* The running actor sends a message that it holds, as weft_send_msg with a deadline of its own. Consumes. */
WEFT_CHECKED int wf_send_given(weft_pid to, weft_msg *m, int64_t deadline);
/* wf_send_or_free to a name. `*node` gets the node that the message went to. */
WEFT_CHECKED int wf_send_named(struct wf_actor *self, const char *whole, weft_msg *m, int64_t deadline,
                               uint64_t *node);
/* Finds the actor of a name, or returns WEFT_ENOACTOR. `*to` is weft_nobody() for a name on another node. */
int wf_resolve(struct wf_worker *w, const char *whole, weft_pid *to);

#endif

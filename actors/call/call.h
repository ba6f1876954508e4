/* actors/call/call.h -- requests and their answers, for features built on them. */
#ifndef WF_CALL_H
#define WF_CALL_H

#include "asking.h"

/* The running actor begins a call with `count` slots, all open; it waits for `need` answers. */
void wf_asking_begin(struct wf_actor *self, struct wf_asking *s, struct weft_answer *slots, uint32_t count,
                     uint32_t need);
/* Waits and ends the call. Returns what ended the wait; the caller passes it to wf_task_finish_wait. */
int wf_asking_await(struct wf_actor *self, int64_t deadline);
/* A request to an actor of this node, which gets it in its system lane with that tag of weft's own
 * (WF_TAG_POOL_CONTROL). WEFT_EINVAL: that actor does not take such requests. */
int wf_call_control(weft_pid to, uint32_t tag, const void *data, size_t size, weft_msg **answer, int64_t deadline);
/* The same to many actors of this node: as weft_gather that needs all answers. */
int wf_gather_control(struct weft_answer *answers, size_t count, uint32_t tag, const void *data, size_t size,
                      int64_t deadline);
/* The running actor asks a node to start an actor: `m` is a WF_MSG_SPAWN, consumed; `*answer` is its
 * WF_MSG_SPAWNED. */
int wf_call_spawn(struct wf_actor *self, weft_pid to, weft_msg *m, weft_msg **answer, int64_t deadline);
/* The running actor passes on the request `ask`, which it no longer holds, to an actor of this node. Tells its
 * caller, if that is easy, which actor has it now. Returns how to hand it over. */
enum wf_mail_wish wf_call_moves_on(struct wf_worker *w, weft_msg *ask, weft_pid to);
/* A REPLY or FAILED has come. Consumes. */
void wf_on_answer(struct wf_actor *a, weft_msg *m);
/* There will be no answer in that slot, but an error. */
void wf_answer_fails(struct wf_actor *a, struct weft_answer *place, int error);

#endif

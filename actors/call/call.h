/* actors/call/call.h -- requests and their answers, for what is built on them. */
#ifndef WF_CALL_H
#define WF_CALL_H

#include "asking.h"

/* The running actor asks: `count` places, all of them open, of which `need` are waited for. */
void wf_asking_begin(struct wf_actor *self, struct wf_asking *s, struct weft_answer *slots, size_t count,
                     size_t need);
/* Returns what ended the wait, unsettled. It asks no more. */
int wf_asking_await(struct wf_actor *self, int64_t deadline);
/* A request to an actor of this node that comes in its system lane, as a message with that tag of weft's own:
 * WF_TAG_POOL_CONTROL. WEFT_EINVAL from one that does not take it. */
int wf_call_control(weft_pid to, uint32_t tag, const void *data, size_t size, weft_msg **answer, int64_t deadline);
/* The same to many of this node: as weft_gather for all of them. */
int wf_gather_control(struct weft_answer *answers, size_t count, uint32_t tag, const void *data, size_t size,
                      int64_t deadline);
/* The running actor asks a node to start one: `m` is a WF_MSG_SPAWN, consumed; the answer its WF_MSG_SPAWNED. */
int wf_call_spawn(struct wf_actor *self, weft_pid to, weft_msg *m, weft_msg **answer, int64_t deadline);
/* A REPLY or FAILED has come. Consumes. */
void wf_on_answer(struct wf_actor *a, weft_msg *m);
/* There will be no answer. */
void wf_answer_fails(struct wf_actor *a, struct weft_answer *place, int error);

#endif

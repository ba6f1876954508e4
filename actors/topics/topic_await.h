/* actors/topics/topic_await.h -- subscribers whose publishers wait for space. */
#ifndef WF_TOPIC_AWAIT_H
#define WF_TOPIC_AWAIT_H

#include "subscription.h"

/* Before publishing: the running actor waits for such subscribers on other workers, if any is full. False: in
 * vain. */
bool wf_await_others(struct wf_actor *self, const char *topic);
/* Such subscribers of this worker that a publication has found full. */
struct wf_awaiting {
    weft_msg *list; /* its body is a list of their ids; NULL: none */
    uint32_t count;
    int64_t wait; /* the longest wait of them */
};
/* `most`: how many more may follow. False: no memory. */
bool wf_awaiting_add(struct wf_awaiting *x, const struct wf_subscription *s, uint32_t most);
/* After publishing: the running actor waits for them one by one. Takes over a reference of `body`. Returns how many
 * got it. */
uint32_t wf_awaiting_give(struct wf_actor *self, struct wf_awaiting *x, struct wf_body *body);

#endif

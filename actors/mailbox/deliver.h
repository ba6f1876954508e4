/* actors/mailbox/deliver.h -- how a message gets to an actor of this worker, and what happens if that actor does not
 * exist. */
#ifndef WF_DELIVER_H
#define WF_DELIVER_H

#include "msg.h"
#include "worker.h"

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
void wf_answer_lost(struct wf_worker *w, weft_pid caller);

/* ---- To another worker ----------------------------------------------------------------------------------------- */

/* A body of a KiB or more counts while it is under way, so that large messages cannot fill the memory while the worker
 * is held up: see wf_worker_is_congested. */
enum { WF_KIB_SHIFT = 10 };

/* SPACE has a number in the place of its size. */
static inline bool wf_msg_is_heavy(const weft_msg *m)
{
    return WF_UNLIKELY(m->size >> WF_KIB_SHIFT != 0) && (m->post.block_class == WF_POOL_LARGE || m->shared != NULL);
}
/* Any thread: begins and ends counting. Between them the message may only be posted to `to`. */
void wf_msg_weigh(struct wf_worker *to, weft_msg *m);
void wf_msg_unweigh(struct wf_worker *to, weft_msg *m);
/* On worker `w`, to another one: with the batch of this turn. */
static inline void wf_msg_send_to(struct wf_worker *w, uint32_t index, weft_msg *m)
{
    if (wf_msg_is_heavy(m)) wf_msg_weigh(w->set->at[index], m);
    wf_worker_send(w, index, &m->post);
}
/* The same for a message that shares its body with others: the body counts once at each worker. Before the first of
 * them `*weighed` is 0. */
static inline void wf_msg_send_copy_to(struct wf_worker *w, uint32_t index, weft_msg *m, uint64_t *weighed)
{
    bool first = (*weighed >> index & 1) == 0;
    *weighed |= UINT64_C(1) << index;
    if (first) wf_msg_send_to(w, index, m);
    else wf_worker_send(w, index, &m->post);
}
/* Any thread: at once. */
static inline void wf_msg_post_to(struct wf_worker *to, weft_msg *m)
{
    if (wf_msg_is_heavy(m)) wf_msg_weigh(to, m);
    wf_worker_post(to, &m->post);
}

#endif

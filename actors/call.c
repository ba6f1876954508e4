/* actors/call.c -- requests and their answers, which come past the mailbox.
 *
 * Design notes. An actor waits in one call at a time: `call_ref` says in which, and an answer with another number is
 * late and dropped. A request is answered exactly once: by weft_reply, or by wf_refuse when it reaches nobody or is
 * let go. */
#include "actor.h"
#include "worker_pool.h"

#include <string.h>

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

static int await_answer(struct wf_actor *self, weft_msg **answer, int64_t deadline)
{
    int rc = WEFT_OK;
    while (self->answer == NULL && (rc = wf_task_wait(deadline, "an answer")) == WEFT_OK) {}
    weft_msg *m = self->answer;
    self->answer = NULL;
    self->call_ref = 0;
    wf_unlink(&self->on_calls);
    if (m == NULL) return (int)wf_task_settle(rc);
    if (m->post.flags == WF_MSG_FAILED) {
        rc = -(int)m->post.word;
        wf_msg_free(self->task.worker, m);
        return (int)wf_task_settle(rc < 0 ? rc : WEFT_EFORMAT);
    }
    wf_hold(self, m);
    if (self->task.killed) wf_task_settle(0);
    *answer = m;
    return WEFT_OK;
}

static uint64_t begin_call(struct wf_actor *self, weft_msg *m)
{
    m->post.flags = WF_MSG_CALL;
    m->ref = ++self->last_ref;
    self->call_ref = m->ref;
    return m->ref;
}

static int64_t send_deadline(int64_t deadline)
{
    return deadline == WEFT_FOREVER ? WF_SEND_TIMEOUT : WF_MAX(deadline, WEFT_NOW);
}

static int end_call(struct wf_actor *self, int rc, uint64_t node, weft_msg **answer, int64_t deadline)
{
    struct wf_worker *w = self->task.worker;
    if (rc < 0) {
        self->call_ref = 0;
        return (int)wf_task_settle(rc);
    }
    if (node != wf_node_of(w)->incarnation) {
        self->call_node = node;
        wf_list_push(&wf_actors_of(w)->calls, &self->on_calls);
    }
    return await_answer(self, answer, deadline);
}

int weft_call(weft_pid to, uint32_t tag, const void *data, size_t size, weft_msg **answer, int64_t deadline)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (answer == NULL || tag >= WEFT_TAG_SYSTEM || (data == NULL && size > 0)) return WEFT_EINVAL;
    if (size > WEFT_MESSAGE_MAX) return WEFT_ETOOBIG;
    wf_task_tick(&self->task);
    weft_msg *m = wf_msg_new(self->task.worker, tag, size);
    if (m == NULL) return WEFT_ENOMEM;
    if (size > 0) memcpy(m + 1, data, size);
    m->from = wf_actor_pid(self);
    begin_call(self, m);
    int rc = wf_send_or_free(self, to, m, send_deadline(deadline));
    return end_call(self, rc, to.node, answer, deadline);
}

int weft_call_name(const char *name, uint32_t tag, const void *data, size_t size, weft_msg **answer, int64_t deadline)
{
    struct wf_actor *self = wf_actor_self();
    int why;
    uint64_t node;
    if (self != NULL && answer == NULL) return WEFT_EINVAL;
    weft_msg *m = wf_message_to_name(self, name, tag, data, size, &why);
    if (m == NULL) return why;
    begin_call(self, m);
    int rc = wf_send_named(self, name, m, send_deadline(deadline), &node);
    return end_call(self, rc, node, answer, deadline);
}

int wf_call_control(weft_pid to, const void *data, size_t size, weft_msg **answer, int64_t deadline)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    struct wf_worker *w = self->task.worker;
    if (to.node != wf_node_of(w)->incarnation) return WEFT_EINVAL;
    weft_msg *m = wf_msg_new(w, 0, size);
    if (m == NULL) return WEFT_ENOMEM;
    memcpy(m + 1, data, size);
    m->from = wf_actor_pid(self);
    begin_call(self, m);
    m->post.flags = WF_MSG_CONTROL;
    int rc = wf_send_signal(w, to, m);
    return end_call(self, rc, to.node, answer, deadline);
}

int weft_reply(const weft_msg *ask, uint32_t tag, const void *data, size_t size)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (ask == NULL || ask->post.flags != WF_MSG_CALL || tag >= WEFT_TAG_SYSTEM || (data == NULL && size > 0))
        return WEFT_EINVAL;
    if (size > WEFT_MESSAGE_MAX) return WEFT_ETOOBIG;
    struct wf_worker *w = self->task.worker;
    weft_msg *m = wf_msg_new(w, tag, size);
    if (m == NULL) return WEFT_ENOMEM;
    if (size > 0) memcpy(m + 1, data, size);
    m->post.flags = WF_MSG_REPLY;
    m->from = wf_actor_pid(self);
    m->ref = ask->ref;
    weft_msg *answered = (weft_msg *)(uintptr_t)ask;
    answered->post.flags = WF_MSG_SEND; /* freeing it says nothing any more */
    if (answered->post.kind == WF_POST_WORK) wf_member_let_go(self, answered);
    return wf_send_signal(w, ask->from, m);
}

void wf_node_lost_here(struct wf_worker *w, uint64_t peer)
{
    WF_LIST_EACH(k, &wf_actors_of(w)->calls) {
        struct wf_actor *a = WF_CONTAINER(k, struct wf_actor, on_calls);
        if (a->call_node != peer) continue;
        weft_msg *no = wf_msg_new(w, (uint32_t)-WEFT_ENONODE, 0);
        if (no == NULL) continue; /* it waits for its deadline */
        no->post.flags = WF_MSG_FAILED;
        no->to_actor = a->id;
        no->ref = a->call_ref;
        wf_unlink(k);
        wf_deliver(w, no);
    }
}

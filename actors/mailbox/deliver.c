/* actors/mailbox/deliver.c -- see deliver.h. */
#include "deliver.h"

#include "mailbox.h"

const char *const wf_drop_names[WF_DROP_REASONS] = {
    [WF_DROP_NO_ACTOR] = "no-actor",       [WF_DROP_NO_NAME] = "no-name",       [WF_DROP_FULL] = "mailbox-full",
    [WF_DROP_SLOW_READER] = "slow-reader", [WF_DROP_LATE_REPLY] = "late-reply", [WF_DROP_UNREAD] = "unread-at-exit",
    [WF_DROP_MEMORY] = "out-of-memory",    [WF_DROP_EXPIRED] = "expired",       [WF_DROP_TOO_BIG] = "too-big",
};

void wf_msg_weigh(struct wf_worker *to, weft_msg *m)
{
    WF_ASSERT(m->post.kind == WF_POST_MESSAGE || m->post.kind == WF_POST_WORK);
    m->post.kind += WF_POST_HEAVY_MESSAGE - WF_POST_MESSAGE;
    wf_worker_weigh(to, m->size >> WF_KIB_SHIFT);
}

void wf_msg_unweigh(struct wf_worker *to, weft_msg *m)
{
    WF_ASSERT(m->post.kind == WF_POST_HEAVY_MESSAGE || m->post.kind == WF_POST_HEAVY_WORK);
    m->post.kind -= WF_POST_HEAVY_MESSAGE - WF_POST_MESSAGE;
    wf_worker_unweigh(to, m->size >> WF_KIB_SHIFT);
}

/* The request itself becomes the answer, as there may be no memory for another message. */
void wf_refuse(struct wf_worker *w, weft_msg *ask, int error)
{
    WF_ASSERT(error < 0);
    weft_pid caller = ask->from;
    wf_msg_drop_body(w, ask);
    ask->from = weft_nobody();
    ask->post.kind = WF_POST_MESSAGE;
    ask->post.flags = WF_MSG_FAILED;
    ask->post.word = (uint32_t)-error;
    if (WF_UNLIKELY(wf_send_signal(w, caller, ask) == WEFT_ENOMEM)) wf_answer_lost(w, caller);
}

void wf_answer_lost(struct wf_worker *w, weft_pid caller)
{
    WF_ASSERT(caller.node != 0);
    const struct wf_route *route = wf_node_of(w)->route;
    if (route != NULL) route->fault(w, caller.node, "no memory for the answer to a request");
}

void wf_drop(struct wf_worker *w, weft_msg *m, enum wf_drop why)
{
    WF_ASSERT(why < WF_DROP_REASONS && m->post.flags != WF_MSG_PUBLISHED_BLOCK);
    static const int error[WF_DROP_REASONS] = {[WF_DROP_FULL] = WEFT_EFULL, [WF_DROP_MEMORY] = WEFT_ENOMEM};
    if (WF_UNLIKELY(wf_is_traced(m))) wf_node_of(w)->tracing->dropped(w, m, why);
    if (wf_message_row(w, m)->drop != NULL) {
        wf_message_row(w, m)->drop(w, m, why);
        return;
    }
    wf_note_drop(w, why, m->to_actor, m->from, m->post.word);
    bool asks = m->post.flags == WF_MSG_CALL || m->post.flags == WF_MSG_CONTROL;
    if (asks && why != WF_DROP_EXPIRED) wf_refuse(w, m, error[why] != 0 ? error[why] : WEFT_ENOACTOR);
    else wf_msg_free(w, m);
}

static bool takes_control(const struct wf_actor *a, uint32_t tag)
{
    WF_FEATURES_EACH(f, wf_node_of(a->task.worker))
    {
        if ((*f)->takes_control != NULL && (*f)->takes_control(a, tag)) return true;
    }
    return false;
}

/* A message of a kind that belongs to a feature. */
static void deliver_row(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    const struct wf_message_row *row = wf_message_row(w, m);
    WF_ASSERT(row->deliver != NULL);
    row->deliver(w, a, m);
}

void wf_deliver(struct wf_worker *w, weft_msg *m)
{
    if (m->post.flags == WF_MSG_PUBLISH) {
        deliver_row(w, NULL, m);
        return;
    }
    struct wf_actor *a = wf_actor_find(w, m->to_actor);
    if (WF_UNLIKELY(a == NULL || (a->task.state == WF_TASK_DONE && wf_actor_keep(a) == NULL))) {
        wf_drop(w, m, m->to_actor == 0 ? WF_DROP_NO_NAME : WF_DROP_NO_ACTOR); /* 0: wf_inbound_add_name */
        return;
    }
    switch ((enum wf_msg_kind)m->post.flags) {
    case WF_MSG_SEND:
        if (WF_LIKELY(wf_mailbox_put_plainly(wf_actors_of(w), a, m))) return;
        (void)wf_mailbox_put(a, m);
        return;
    case WF_MSG_CALL:
    case WF_MSG_RETAINED: (void)wf_mailbox_put(a, m); return;
    case WF_MSG_SYSTEM: wf_signal_put(a, m, m->post.word); return;
    case WF_MSG_CONTROL:
        if (!takes_control(a, m->post.word)) {
            wf_refuse(w, m, WEFT_EINVAL);
            return;
        }
        wf_signal_put(a, m, m->post.word);
        m->post.flags = WF_MSG_CALL; /* from now on it is a request that has to be answered */
        return;
    default: deliver_row(w, a, m); return;
    }
}

int wf_send_signal(struct wf_worker *w, weft_pid to, weft_msg *m)
{
    weft_node *node = wf_node_of(w);
    m->to_actor = to.actor;
    if (to.node == node->incarnation) {
        uint32_t index = wf_id_worker(to.actor);
        if (index == w->index) wf_deliver(w, m);
        else if (index < node->workers.count) wf_msg_send_to(w, index, m);
        else wf_drop(w, m, WF_DROP_NO_ACTOR);
        return WEFT_OK;
    }
    int rc = node->route == NULL ? WEFT_ENONODE : node->route->send(w, to, m);
    if (rc == WF_ROUTE_KEPT) return WEFT_OK;
    wf_msg_free(w, m);
    return rc;
}

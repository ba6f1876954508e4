/* actors/run/stopping.c -- see stopping.h: weft_stop, weft_kill, and what they do to the actor they reach. */
#include "stopping.h"

#include "deliver.h"
#include "end.h"
#include "mailbox.h"

#include <weft/monitor.h>

/* ---- Of an actor of this worker -------------------------------------------------------------------------------- */

/* True: the actor gets a message and stops when it likes. */
static bool tell_stop(struct wf_actor *a)
{
    WF_ASSERT(a->traps_stop);
    weft_msg *m = wf_msg_new(a->task.worker, WEFT_TAG_STOP, 0);
    if (m == NULL) return false; /* no memory: its waits fail */
    wf_signal_put(a, m, WEFT_TAG_STOP);
    return true;
}

void wf_actor_cancel(struct wf_actor *a, int reason, struct wf_body *end)
{
    WF_ASSERT(a->task.worker == wf_here);
    if (a->cleaning || a->task.state == WF_TASK_DONE || a->stop_asked) return;
    struct wf_worker *w = a->task.worker;
    a->stop_asked = true;
    a->reason = reason;
    if (end != NULL) wf_body_keep(end);
    wf_actor_set_end(a, end);
    if (a->traps_stop && tell_stop(a)) return;
    if (wf_task_grace(&a->task, weft_after(wf_node_of(w)->options.grace)) < 0)
        weft_log(WEFT_ERROR, "no memory for the grace period of actor %s: it may take as long as it likes", a->kind);
    wf_task_cancel(&a->task);
}

void wf_actor_kill(struct wf_actor *a)
{
    WF_ASSERT(a->task.worker == wf_here);
    if (!a->cleaning && a->task.state != WF_TASK_DONE) wf_task_kill(&a->task);
}

int weft_trap_stop(bool on)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    self->traps_stop = on;
    return WEFT_OK;
}

/* ---- Of any actor ---------------------------------------------------------------------------------------------- */

static int signal_end(weft_pid target, enum wf_msg_kind kind)
{
    WF_ASSERT(kind == WF_MSG_STOP || kind == WF_MSG_KILL);
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (weft_pid_is_nobody(target)) return WEFT_EINVAL;
    struct wf_worker *w = self->task.worker;
    weft_node *node = wf_node_of(w);
    if (target.node == node->incarnation) {
        uint32_t index = wf_id_worker(target.actor);
        if (index >= node->workers.count ||
            wf_slab_find(&wf_actors_of(node->workers.at[index])->slab, target.actor) == NULL)
            return WEFT_ENOACTOR;
    }
    weft_msg *m = wf_msg_new(w, 0, 0);
    if (m == NULL) return WEFT_ENOMEM;
    m->post.flags = (uint8_t)kind;
    m->from = wf_actor_pid(self);
    return wf_send_signal(w, target, m);
}

int weft_stop(weft_pid target)
{
    return signal_end(target, WF_MSG_STOP);
}

int weft_kill(weft_pid target)
{
    return signal_end(target, WF_MSG_KILL);
}

/* An actor that `lasts` ignores it, as if it did not exist. */
static void deliver_stop(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    if (!a->lasts) wf_actor_cancel(a, WEFT_EXIT_STOPPED, NULL);
    wf_msg_free(w, m);
}

static void deliver_kill(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    if (!a->lasts) wf_actor_kill(a);
    wf_msg_free(w, m);
}

/* The actor is gone already, as it should be. */
static void drop_free(struct wf_worker *w, weft_msg *m, enum wf_drop why)
{
    (void)why;
    wf_msg_free(w, m);
}

static const struct wf_message_row messages[] = {{.kind = WF_MSG_STOP, .deliver = deliver_stop, .drop = drop_free},
                                                 {.kind = WF_MSG_KILL, .deliver = deliver_kill, .drop = drop_free}};
const struct wf_feature wf_stopping_feature = {
    .name = "stopping", .messages = messages, .message_count = WF_COUNT(messages)};

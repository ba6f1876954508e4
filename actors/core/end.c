/* actors/core/end.c -- the end of an actor's life: its clean-ups, and what it leaves. The rules are in actor.h. */
#include "local.h"
#include "mail_order.h"
#include "mailbox.h"

#include <weft/monitor.h>

#include <stdio.h>
#include <string.h>

struct wf_defer {
    struct wf_defer *next;
    void (*undo)(void *);
    void *arg;
};

int wf_actor_defer(struct wf_actor *a, void (*undo)(void *), void *arg)
{
    struct wf_pool *pool = &a->task.worker->pool;
    struct wf_defer *d = wf_actor_more(a) == NULL ? NULL : wf_pool_take(pool, wf_pool_class(sizeof *d), sizeof *d);
    if (d == NULL) {
        undo(arg);
        return WEFT_ENOMEM;
    }
    *d = (struct wf_defer){a->more->defers, undo, arg};
    a->more->defers = d;
    return WEFT_OK;
}

int weft_defer(void (*undo)(void *), void *arg)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    return undo == NULL ? WEFT_EINVAL : wf_actor_defer(self, undo, arg);
}

void wf_run_defers(struct wf_actor *a)
{
    struct wf_defer *d;
    while (a->more != NULL && (d = a->more->defers) != NULL) {
        a->more->defers = d->next;
        void (*undo)(void *) = d->undo;
        void *arg = d->arg;
        wf_pool_give(&a->task.worker->pool, wf_pool_class(sizeof *d), d);
        undo(arg);
    }
}

void wf_actor_leave(struct wf_actor *a)
{
    for (void (**leave)(struct wf_actor *) = wf_node_of(a->task.worker)->features.leave; *leave != NULL; leave++)
        (*leave)(a);
}

void wf_actor_end_tail(struct wf_actor *a)
{
    bool last = wf_actor_keep(a) == NULL;
    if (WF_LIKELY(last)) wf_mailbox_close(a);
    else wf_mailbox_leave(a);
    if (WF_LIKELY(a->more == NULL)) return;
    for (void (**end)(struct wf_actor *, bool) = wf_node_of(a->task.worker)->features.end; *end != NULL; end++)
        (*end)(a, last);
}

void wf_actor_end(struct wf_actor *a)
{
    struct wf_worker *w = a->task.worker;
    wf_asking_leave(a);                         /* killed in a call: nothing is to be answered any more */
    a->task.cancelled = a->task.killed = false; /* clean-ups may wait: until the grace period is over */
    if (!a->cleaning) {
        a->cleaning = true;
        int64_t latest = wf_task_end_grace(&a->task);
        if (wf_has_clean_ups(a)) {
            a->more->latest = latest != WEFT_FOREVER ? latest : weft_after(wf_node_of(w)->options.grace);
            a->task.bounded = true;
        }
    }
    while (WF_UNLIKELY(wf_has_clean_ups(a))) { /* until destructors have left no more of either */
        wf_run_defers(a);
        wf_locals_finish(a);
    }
    wf_task_close_owned(&a->task);
    if (WF_UNLIKELY(a->more != NULL)) {
        if (a->more->names != NULL) wf_note_left(a);
        wf_actor_leave(a);
    }
    wf_actor_end_tail(a);
    wf_actor_record(a, WEFT_RECORD_EXIT, weft_nobody(), (uint32_t)a->reason);
    if (WF_UNLIKELY(a->handles)) {
        wf_actor_stirs(&a->task); /* who comes to this slot next is looked at again */
        wf_actor_free_arg(a, w);
    }
}

void wf_mailbox_leave(struct wf_actor *a)
{
    struct wf_worker *w = a->task.worker;
    for (weft_msg *m; (m = a->held) != NULL;) {
        wf_release(a, m);
        /* Its own request is here if it was killed while that waited for room: nobody is to be told. */
        if (m->post.flags == WF_MSG_CALL && !weft_pid_equal(m->from, wf_actor_pid(a))) wf_refuse(w, m, WEFT_ENOREPLY);
        else wf_msg_free(w, m);
    }
    while (a->signals.first != NULL) {
        weft_msg *m = wf_signals_take(a, NULL);
        if (m->post.flags == WF_MSG_CALL) wf_refuse(w, m, WEFT_ENOACTOR);
        else wf_msg_free(w, m);
    }
}

/* ---- Why ------------------------------------------------------------------------------------------------------- */

struct wf_body *wf_end_body(struct wf_worker *w, int reason, const char *text)
{
    size_t size = strnlen(text, sizeof((struct weft_down *)0)->text - 1);
    struct wf_body *b = wf_body_new(w, NULL, 0, NULL, WF_REASON_BYTES + size);
    if (b == NULL) return NULL;
    uint8_t *out = wf_body_bytes(b);
    wf_put_u32(out, (uint32_t)reason);
    memcpy(out + WF_REASON_BYTES, text, size);
    return b;
}

const char *weft_reason_text(int reason, char out[32])
{
    static const char *const words[] = {"normal",    "asked to stop", "killed",           "no such actor",
                                        "node lost", "failed",        "too many restarts"};
    if (reason < 0 && strcmp(weft_error_name(reason), "WEFT_UNKNOWN") != 0) return weft_strerror(reason);
    if (reason >= 0 && (size_t)reason < WF_COUNT(words)) return words[reason];
    snprintf(out, 32, "reason %d", reason);
    return out;
}

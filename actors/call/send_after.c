/* actors/call/send_after.c -- weft_send_after and weft_send_every.
 *
 * Design notes.
 * (1) The slot, the entry in the worker's heap of timers, and the message itself are allocated when it is armed: so a
 *     single message cannot fail for lack of memory when its time has come.
 * (2) An interval keeps one counted body that all its messages share. While there is another reference, the last
 *     message has not been freed, and a firing is skipped: so at most one message is pending, without an
 *     acknowledgement by the receiver. */
#include "send_after.h"

#include "send.h"
#include "trace.h"

#include <weft/later.h>

#include <string.h>

struct wf_later {
    struct wf_slot slot; /* wf_laters_of */
    struct wf_actor *actor;
    struct wf_owned owned;
    struct wf_timer timer;
    weft_pid to;
    int64_t due, period; /* `due`: the time it is armed for, even if in the past; period 0: once */
    union {
        weft_msg *once;
        struct wf_body *body; /* the body of an interval */
    };
    uint32_t tag;
};
_Static_assert(sizeof(struct wf_later) <= 112,
               "docs/mailboxes.md states the size of a pending message before its body");

/* Frees the slot, after its message was sent or freed. */
static void end_later(struct wf_worker *w, struct wf_later *l)
{
    wf_timer_disarm(w, &l->timer);
    wf_unlink(&l->owned.on_task);
    wf_slab_give(wf_laters_of(wf_actors_of(w)), l);
}

static void drop_later(struct wf_worker *w, struct wf_later *l)
{
    if (l->period > 0) wf_body_drop(w, l->body);
    else wf_msg_free(w, l->once);
    end_later(w, l);
}

static void close_owned(struct wf_owned *o)
{
    struct wf_later *l = WF_CONTAINER(o, struct wf_later, owned);
    drop_later(l->actor->task.worker, l);
}

static void fire_once(struct wf_worker *w, struct wf_timer *t)
{
    struct wf_later *l = WF_CONTAINER(t, struct wf_later, timer);
    weft_msg *m = l->once;
    weft_pid to = l->to;
    end_later(w, l);
    if (WF_UNLIKELY(wf_actors_of(w)->tracing)) m = wf_trace_out(w, NULL, to, NULL, m);
    (void)wf_send_or_drop(w, to, m);
}

/* WEFT_ENOACTOR: the receiver is gone for good. */
static int send_one(struct wf_worker *w, struct wf_later *l)
{
    /* Acquire: the receiver's reads of the last message come before it was freed; pairs with wf_body_drop. */
    if (atomic_load_explicit(&l->body->refs, memory_order_acquire) != 1) return WEFT_OK;
    weft_msg *m = wf_msg_share(w, l->tag, l->body);
    if (m == NULL) {
        wf_count_drop(w, WF_DROP_MEMORY);
        return WEFT_ENOMEM;
    }
    m->from = wf_actor_pid(l->actor);
    return wf_send_or_drop(w, l->to, m);
}

static void fire_again(struct wf_worker *w, struct wf_timer *t)
{
    struct wf_later *l = WF_CONTAINER(t, struct wf_later, timer);
    int64_t late = w->now > l->due ? w->now - l->due : 0, step;
    bool goes_on = !__builtin_mul_overflow(late / l->period + 1, l->period, &step) &&
                   !__builtin_add_overflow(l->due, step, &l->due);
    if (goes_on) {
        int rc = wf_timer_arm(w, t, l->due);
        WF_ASSERT(rc == 0); /* it has just left the heap, so there is space */
    }
    if (send_one(w, l) == WEFT_ENOACTOR || !goes_on) drop_later(w, l);
}

static int check(const struct wf_actor *self, weft_pid to, uint32_t tag, const void *data, size_t size)
{
    if (self == NULL) return WEFT_ENOTACTOR;
    if (wf_is_wrong_message(tag, data, size)) return wf_wrong_message("weft_send_after", tag, data, size);
    return weft_pid_is_nobody(to) ? WEFT_ENOBODY : WEFT_OK;
}

/* A slot without a message yet; NULL: no memory. */
static struct wf_later *arm(struct wf_actor *self, int64_t when, int64_t period, weft_pid to, uint32_t tag)
{
    struct wf_worker *w = self->task.worker;
    const char *call = period > 0 ? "weft_send_every" : "weft_send_after";
    if (WF_UNLIKELY(wf_is_span(when))) wf_task_wrong_time(&self->task, call, when);
    if (WF_UNLIKELY(wf_is_point(period))) wf_task_wrong_time(&self->task, call, period);
    struct wf_later *l = wf_slab_take(wf_laters_of(wf_actors_of(w)));
    if (l == NULL) return NULL;
    memset((char *)l + sizeof l->slot, 0, sizeof *l - sizeof l->slot);
    l->actor = self;
    l->to = to;
    l->tag = tag;
    l->period = period;
    l->due = when > WEFT_NOW ? when : weft_now();
    l->timer.fire = period > 0 ? fire_again : fire_once;
    l->owned.close = close_owned;
    if (when != WEFT_FOREVER && wf_timer_arm(w, &l->timer, l->due) < 0) {
        wf_slab_give(wf_laters_of(wf_actors_of(w)), l);
        return NULL;
    }
    wf_list_push(&self->task.owned, &l->owned.on_task);
    return l;
}

static int armed(struct wf_later *l, bool has_message, weft_later *out)
{
    struct wf_worker *w = l->actor->task.worker;
    if (!has_message) {
        end_later(w, l);
        return WEFT_ENOMEM;
    }
    if (out != NULL) out->id = wf_slot_id(&l->slot);
    return WEFT_OK;
}

int weft_send_after(int64_t when, weft_pid to, uint32_t tag, const void *data, size_t size, weft_later *out)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, to, tag, data, size);
    if (rc < 0) return rc;
    wf_task_tick_for(&self->task, size);
    struct wf_later *l = arm(self, when, 0, to, tag);
    if (l == NULL) return WEFT_ENOMEM;
    l->once = wf_msg_new(self->task.worker, tag, size);
    if (l->once != NULL) {
        if (size > 0) memcpy(l->once + 1, data, size);
        l->once->from = wf_actor_pid(self);
        if (WF_UNLIKELY(self->traced)) l->once = wf_trace_carry(self, l->once);
    }
    return armed(l, l->once != NULL, out);
}

int weft_send_every(int64_t first, int64_t period, weft_pid to, uint32_t tag, const void *data, size_t size,
                    weft_later *out)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, to, tag, data, size);
    if (rc < 0) return rc;
    if (period <= 0) return wf_wrong(WEFT_EINVAL, "weft_send_every: the period is %lld", (long long)period);
    wf_task_tick_for(&self->task, size);
    struct wf_later *l = arm(self, first, period, to, tag);
    if (l == NULL) return WEFT_ENOMEM;
    l->body = wf_body_new(self->task.worker, NULL, 0, data, size);
    return armed(l, l->body != NULL, out);
}

int weft_later_cancel(weft_later later)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    struct wf_worker *w = self->task.worker;
    struct wf_later *l = NULL;
    if (later.id != 0 && wf_id_worker(later.id) == w->index)
        l = wf_slab_find(wf_laters_of(wf_actors_of(w)), later.id);
    if (l == NULL || l->actor != self) return WEFT_ECLOSED;
    drop_later(w, l);
    return WEFT_OK;
}

/* ---- What the feature registers -------------------------------------------------------------------------------- */

static int worker_init(struct wf_actors *wa)
{
    wf_slab_init(wf_laters_of(wa), sizeof(struct wf_later), WF_SLAB_MAX, wa->worker->index);
    return WEFT_OK;
}

static void worker_finish(struct wf_worker *w)
{
    wf_slab_finish(wf_laters_of(wf_actors_of(w)));
}

const struct wf_feature wf_send_after_feature = {.name = "send after",
                                                 .slot = WF_SEND_AFTER_SLOT,
                                                 .worker_bytes = sizeof(struct wf_slab),
                                                 .worker_init = worker_init,
                                                 .worker_finish = worker_finish};

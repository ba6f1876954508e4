/* actors/run/handler.c -- actors that are called once for each message: see weft/handler.h.
 *
 * Design notes.
 * (1) A handler is an actor like any other whose body is wf_handler_turn. When its mailbox is empty it returns
 *     WF_TURN_IDLE, and the stack goes to the next task that needs one, without a switch (trampoline in task.c). If
 *     its function waits in a call, it keeps the stack, as any task does. So all calls work in a handler, and so does
 *     each way to end: a handler that must end while it has no stack is woken, gets one and ends on it.
 * (2) It holds the message it is called with, like one from weft_recv. The message's kind is WF_POST_HANDLED
 *     meanwhile, so that wf_release notices (wf_let_go) that the function has freed or sent it; if it has not, the
 *     message is freed after the call.
 * (3) It starts idle: a handler that gets no message never has a stack. Without memory for a stack it stays at the
 *     end of the run queue.
 * (4) If the task that would run after a handler is another handler with one message, wf_handler_turn goes on with that
 *     one, and saves the way back to the loop of the stack. The worker's queue, its budget and the recorder see what they
 *     would see otherwise. */
#include "handler.h"

#include "actor_life.h"
#include "held.h"
#include "mailbox.h"

#include <weft/handler.h>

#include <string.h>

#define TURN_OPS (WF_TASK_BUDGET / 2) /* the rest of the budget is for the last call in a turn */

/* WEFT_ENOMEM: nothing has changed. */
static int init_with_block(struct wf_actor *a, weft_handler *handle, const void *state, size_t size)
{
    WF_ASSERT(!a->handles && !a->in_place);
    struct wf_handling *h = wf_block_new(WF_POOL_LARGE, sizeof *h + size);
    if (h == NULL) return WEFT_ENOMEM;
    h->handle = handle;
    h->given = size == 0 ? NULL : h->state;
    if (size > 0) memcpy(h->state, state, size);
    a->arg = h;
    a->arg_size = (uint32_t)size;
    a->handles = true;
    return WEFT_OK;
}

int wf_handler_init(struct wf_actor *a, weft_handler *handle, const void *state, size_t size)
{
    if (size > sizeof a->state) return init_with_block(a, handle, state, size);
    a->handle = handle;
    if (size > 0) memcpy(a->state, state, size);
    a->in_place = a->handles = true;
    return WEFT_OK;
}

static __attribute__((noinline)) void free_slowly(struct wf_actor *a, weft_msg *m)
{
    wf_handled(a, m); /* now it is an ordinary message */
    weft_msg_free(m);
}

/* The function has neither freed nor kept the message. The common case is that of weft_msg_free, without its tests that
 * do not apply here; a function for both would cost each message two to five instructions. False: it is another case, and
 * the message was not freed. */
static inline bool free_quickly(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    if (WF_UNLIKELY(m->post.next != NULL || m->post.kind != WF_POST_HANDLED || m->post.flags != WF_MSG_SEND) ||
        WF_UNLIKELY(a->held != m || m->shared != NULL || !wf_pool_has_space(&w->pool, m->post.block_class)))
        return false;
    wf_pool_give(&w->pool, m->post.block_class, m);
    a->task.handling = false;
    a->held = NULL;
    return true;
}

static inline void call_with(struct wf_actor *a, weft_msg *m)
{
    m->post.kind = (uint8_t)(m->post.kind + (WF_POST_HANDLED - WF_POST_MESSAGE));
    a->task.handling = true;
    if (a->in_place) {
        a->handle(a->arg_size == 0 ? NULL : a->state, m);
    } else {
        struct wf_handling *h = a->arg;
        h->handle(h->given, m);
    }
}

/* Its function has returned from a call with `m`. Whether it has nothing to do until the next message, which it may be
 * handed. If so, `m` is freed. */
static inline bool is_idle_after(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    if (WF_UNLIKELY(a->task.cancelled || a->task.slow_path || a->mail.first != NULL || a->handing)) return false;
    return WF_LIKELY(a->task.handling) ? free_quickly(w, a, m) : a->held == NULL;
}

/* `a` has nothing to do until the next message. If the next runnable task is a handler that was handed a message and
 * is not asked to end, it runs in the place of `a`. NULL: it is not that, and nothing was changed. */
static inline struct wf_actor *next_handler(struct wf_worker *w, struct wf_actor *a)
{
    struct wf_task *t = w->ready_first;
    /* NEW and HANDED: it waited without a stack, as only handlers do. */
    if (t == NULL || t->state != WF_TASK_NEW || t->wants_mail != WF_MAIL_HANDED || t->cancelled) return NULL;
    return wf_task_give_way(w, &a->task, t) ? wf_actor_of(t) : NULL;
}

enum wf_turn wf_handler_turn(struct wf_actor *a)
{
    struct wf_worker *w = a->task.worker;
    weft_msg *m = wf_was_handed(a) ? wf_mailbox_handed(w, a) : NULL;
    a->task.wants_mail = WF_MAIL_NONE;
    for (; WF_LIKELY(!a->task.cancelled); m = NULL) {
        if (m == NULL && !wf_mailbox_is_bare(a)) {
            if (a->task.ops <= TURN_OPS) return WF_TURN_AGAIN;
            m = wf_mailbox_next(a);
        }
        if (m == NULL) {
            a->task.wants_mail = a->held == NULL && !a->traced ? WF_MAIL_HAND : WF_MAIL_WAKE;
            return WF_TURN_IDLE;
        }
        for (;;) { /* note (4) */
            a->task.ops--;
            call_with(a, m);
            if (WF_UNLIKELY(!is_idle_after(w, a, m))) break;
            a->task.wants_mail = WF_MAIL_HAND;
            struct wf_actor *next = next_handler(w, a);
            if (next == NULL) return WF_TURN_IDLE;
            a = next;
            m = wf_mailbox_handed_plainly(w, a);
        }
        if (a->task.handling) free_slowly(a, m);
        if (WF_UNLIKELY(a->handing)) wf_node_of(w)->features.goes_on(a);
    }
    return wf_actor_main(&a->task); /* it has to end */
}

int weft_spawn_handler(weft_pid *out, weft_handler *handle, const void *state, size_t size,
                       const weft_spawn_options *options)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (handle == NULL) return wf_wrong(WEFT_EINVAL, "weft_spawn_handler: there is no function: it is NULL");
    struct wf_worker *w = self->task.worker;
    wf_task_tick(&self->task);
    struct wf_birth b = {.handle = handle, .arg = state, .size = size, .options = options, .service = self->service};
    return wf_actor_birth(wf_node_of(w), w, out, &b);
}

int weft_handle(weft_handler *handle, const void *state, size_t size)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (handle == NULL || size > WF_SPAWN_ARG_MAX || (state == NULL && size > 0) || self->handles || self->handing ||
        self->cleaning)
        return wf_wrong(WEFT_EINVAL,
                        "weft_handle: once, in an actor's body, with a function and at most %d bytes of state",
                        WF_SPAWN_ARG_MAX);
    return init_with_block(self, handle, state, size); /* its body is needed for its next life */
}

int weft_msg_keep(weft_msg *m)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (m == NULL || !wf_is_handling(self, m))
        return wf_wrong(WEFT_EINVAL, "weft_msg_keep: it is not the message that this handler was called with");
    wf_handled(self, m);
    return WEFT_OK;
}

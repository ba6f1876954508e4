/* actors/inspect/actor_memory.c -- the memory of one actor: its stack, and the data of the runtime for it. It is
 * computed only when asked for, and no list is walked to its end. */
#include "actor_memory.h"

#include "actor.h"
#include "held.h"
#include "local.h"
#include "park.h"
#include "subscription.h"

size_t wf_actor_stack_bytes(const struct wf_actor *a)
{
    const struct wf_task *t = &a->task;
    switch (t->state) {
    case WF_TASK_READY:
    case WF_TASK_WAITING:
    case WF_TASK_IDLE: return t->coro.stack.base == NULL ? 0 : wf_stack_held(&t->coro.stack);
    case WF_TASK_UNPARKED:
    case WF_TASK_PARKED: return wf_task_parked_bytes(t);
    default: return 0;
    }
}

/* The bytes of its start argument, until it has begun; of a handler, of its state. */
static size_t arg_bytes(const struct wf_actor *a)
{
    if (a->in_place || a->arg == NULL) return 0;
    return (a->handles ? sizeof(struct wf_handling) : 0) + a->arg_size;
}

static size_t heap_bytes(const struct wf_actor *a)
{
    size_t bytes = sizeof *a + arg_bytes(a);
    if (a->more == NULL) return bytes;
    bytes += sizeof *a->more + (a->more->backlog == NULL ? 0 : sizeof *a->more->backlog);
    return bytes + wf_locals_bytes(a) + a->more->subscription_count * sizeof(struct wf_subscription);
}

void wf_actor_memory_of(const struct wf_actor *a, struct wf_actor_memory *out)
{
    out->mailbox = wf_mail_bytes(a);
    out->held = wf_held_bytes(a, WF_HELD_LOOKED);
    out->stack = 0;
    out->heap = heap_bytes(a);
}

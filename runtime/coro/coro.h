/* runtime/coro/coro.h -- a stack that can be suspended, and the switch between two of them.
 *
 * Design notes.
 * (1) Switching is symmetric: the running coroutine names the one to run next. The runtime's loop on the thread's own
 *     stack is a coroutine, too.
 * (2) The switch saves the callee-saved registers and nothing else: a coroutine must not change the floating-point
 *     control words across a suspension. It ends in `ret`, so that the processor's return stack stays in step: all
 *     tasks suspend through the same calls, so what it predicts is right (docs/decisions.md).
 * (3) A coroutine never moves to another thread once it has started, so compilers may keep thread-local addresses
 *     across a switch.
 * (4) ASan, TSan and Valgrind are told of every switch here and nowhere else. */
#ifndef WF_CORO_H
#define WF_CORO_H

#include "base.h"
#include "context.h"
#include "sanitizer.h"
#include "stack.h"

struct wf_coro {
    void *sp;              /* while suspended; NULL before the first run */
    struct wf_stack stack; /* .base == NULL: none: it has not started, or stands for a thread's own */
};

/* Makes `c` stand for the stack the calling thread is running on now. */
void wf_coro_adopt_thread(struct wf_coro *c);
void wf_coro_release_thread(struct wf_coro *c);

/* Gives `c` a stack (which it takes over) on which the first switch to it calls entry(arg). `entry` must never
 * return. */
void wf_coro_prepare(struct wf_coro *c, struct wf_stack stack, void (*entry)(void *arg), void *arg);

/* wf_coro_switch where a sanitizer has to be told. */
void wf_coro_switch_sanitized(struct wf_coro *from, struct wf_coro *to);
/* Suspends `from`, which must be running, and runs `to`. Returns when another coroutine switches back to `from`. */
static inline void wf_coro_switch(struct wf_coro *from, struct wf_coro *to)
{
    if (WF_UNLIKELY(wf_is_sanitized())) wf_coro_switch_sanitized(from, to);
    else pf_context_switch(&from->sp, to->sp);
}

/* As wf_coro_switch, but `from` is finished and never runs again. Its stack must have been given back to the arena
 * already, and nothing may take that stack between giving it back and this call. */
__attribute__((noreturn)) void wf_coro_leave(struct wf_coro *from, struct wf_coro *to);

/* `from`, running on its stack, has ended, and `to`, which has none, starts on this same stack in its place: moves the
 * stack over. They may be the same: it starts again. No switch happens: the caller goes on, as `to`. The cheap way
 * from one short-lived coroutine to the next. The result is that of wf_stack_pass_on. */
static inline size_t wf_coro_succeed(struct wf_coro *from, struct wf_coro *to)
{
    const void *sp = from->sp;
    WF_ASSERT(from->stack.base != NULL && (to->stack.base == NULL || to == from));
    if (WF_LIKELY(to != from)) {
        to->stack = from->stack;
        from->stack.base = NULL;
        from->sp = NULL;
    }
    to->sp = NULL;
    return wf_stack_pass_on(&to->stack, sp);
}

#endif

/* weft/handler.h -- actors that are a function, called once for each message: between messages they hold no stack.
 * See docs/handlers.md for which to use. */
#ifndef WEFT_HANDLER_H
#define WEFT_HANDLER_H

#include <weft/actor.h>
#include <weft/message.h>
WEFT_BEGIN

/* Called once for each message, mail or of the system lane, in the order of weft_recv. It runs on a stack and may
 * wait, receive, call and end the actor like any body; the next message comes when it has returned.
 * `state` is the actor's own copy of what was given to weft_spawn_handler, writable, aligned for any type, freed
 * after the actor's deferred clean-ups; NULL if its size is 0.
 * `m` is freed when the function returns, and a request that was not answered fails with WEFT_ENOREPLY, unless the
 * function has freed it, sent it on, or called weft_msg_keep. */
typedef void weft_handler(void *state, weft_msg *m);

/* [A] Starts an actor that calls `handle` for each message. As weft_spawn; copies `size` bytes of `state` (at most 64
 * KiB). It ends by weft_exit or weft_fail, or when it is asked to stop: then the function returns, with
 * WEFT_ECANCELED from whatever it waits for, is not called again, and the reason is WEFT_EXIT_STOPPED; or when it is
 * killed. One that traps stops (weft_trap_stop) is called with the WEFT_TAG_STOP message, and ends by
 * weft_exit(WEFT_EXIT_STOPPED). `options->stack_bytes` is the stack that it runs on. */
WEFT_API WEFT_CHECKED int weft_spawn_handler(weft_pid *out, weft_handler *handle, const void *state, size_t size,
                                             const weft_spawn_options *options /* NULL: defaults */);

/* [A] In the body of an actor: when the body returns the actor does not end, it goes on as a handler. The way to have
 * handlers that register, subscribe or connect first, that a supervisor starts (weft_ready comes before the body's
 * return) or that are members of a pool. What the body was started with is gone
 * when it has returned: clean-ups of such an actor must not use it. WEFT_EINVAL if it has been called before, or in a
 * handler. WEFT_ENOMEM. */
WEFT_API int weft_handle(weft_handler *handle, const void *state, size_t size);

/* [A] In a handler: the message it was called with is not freed when it returns, but stays the actor's, as one that
 * was received: to be freed, answered or sent on later. WEFT_EINVAL if it is another message. */
WEFT_API int weft_msg_keep(weft_msg *m);

WEFT_END
#endif

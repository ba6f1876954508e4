/* weft/handler.h -- actors that are a function, called once for each message. Between messages they have no stack.
 * docs/handlers.md says when to use them. */
#ifndef WEFT_HANDLER_H
#define WEFT_HANDLER_H

#include <weft/actor.h>
#include <weft/message.h>
WEFT_BEGIN

/* Called once for each message, a user message or one in the system queue, in the order of weft_recv. It runs on a
 * stack and may wait, receive, call and end the actor like any body. The next message comes after it has returned.
 *
 * `state` is the actor's own copy of the bytes given to weft_spawn_handler: writable, aligned for any type, freed
 * after the actor's deferred clean-ups; NULL if the size is 0.
 *
 * `m` is freed when the function returns, unless the function has freed it, forwarded it, or called weft_msg_keep.
 * The caller of a request that is freed without a reply gets WEFT_ENOREPLY. */
typedef void weft_handler(void *state, weft_msg *m);

/* [A, Y] Starts an actor that calls `handle` for each message; otherwise as weft_spawn. Copies `size` bytes of `state`
 * (at most 64 KiB). `options->stack_bytes` is the size of the stack on which `handle` runs. The actor ends:
 *     by weft_exit or weft_fail;
 *     when it is killed;
 *     when it is asked to stop: waits of `handle` return WEFT_ECANCELED, it is not called again, and the reason is
 *     WEFT_EXIT_STOPPED. If the actor traps stops (weft_trap_stop), `handle` is called with the WEFT_TAG_STOP message
 *     instead, and ends the actor by weft_exit(WEFT_EXIT_STOPPED). */
WEFT_API WEFT_CHECKED int weft_spawn_handler(weft_pid *out, weft_handler *handle, const void *state, size_t size,
                                             const weft_spawn_options *options /* NULL: defaults */);

/* [A] To be called in the body of an actor: when the body returns, the actor does not end but continues as a handler.
 * Use it for handlers that first register, subscribe or connect, that a supervisor starts (call weft_ready before the
 * body returns), or that are members of a pool. The argument of the body is gone once the body has returned, so
 * clean-ups of such an actor must not use it.
 * Errors: WEFT_EINVAL (it has been called before, or in a handler), WEFT_ENOMEM. */
WEFT_API int weft_handle(weft_handler *handle, const void *state, size_t size);

/* [A] To be called in a handler: the message that the handler was called with is not freed when it returns, but stays
 * with the actor, like a received message: free it, reply to it or forward it later. WEFT_EINVAL: `m` is another
 * message. */
WEFT_API int weft_msg_keep(weft_msg *m);

WEFT_END
#endif

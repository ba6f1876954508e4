/* weft/reload.h -- a module's code is replaced while its actors live on: `weft reload MODULE`. docs/reload.md shows
 * it at work.
 *
 * The node loads the new module beside the old one. Then every actor that has called weft_trap_reload gets one
 * message, hands its state over to the new module's migrate hook, and goes on in the body or handler which that hook
 * chose: with the same pid, name, mailbox, links, monitors, subscriptions, streams and clean-ups. An actor moves
 * only itself, at a place in its code where its state is whole; what never asked for it, and what refuses, goes on
 * with the old code. Old code stays loaded until the process ends.
 *
 *     struct state { uint64_t count; };                            -- version 1
 *     static void serve(struct state *s)
 *     {
 *         weft_msg *m;
 *         (void)weft_trap_reload(true);
 *         while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
 *             if (weft_tag(m) == WEFT_TAG_RELOAD) {
 *                 if (weft_hand_over(m, 1, s, sizeof *s) == WEFT_OK) return;
 *                 continue;                                        -- refused: all is as it was
 *             }
 *             ...
 *         }
 *     }
 *     static void go_on(const void *arg, size_t size) {...}        -- the new module's: `arg` is the state
 *     static int migrate(struct weft_handover *h)                  -- and its hook
 *     {
 *         if (h->version != 1 || h->size != sizeof(struct state)) return WEFT_EINVAL;
 *         h->body = go_on;
 *         return WEFT_OK;
 *     }
 *     WEFT_MODULE(first)
 *     WEFT_MIGRATE(migrate) */
#ifndef WEFT_RELOAD_H
#define WEFT_RELOAD_H

#include <weft/actor.h>
#include <weft/api.h>
#include <weft/handler.h>
#include <weft/message.h>
WEFT_BEGIN

enum { WEFT_HANDOVER_MAX = 64 * 1024 }; /* bytes of state; what is larger goes by pointer: it is the same process */

/* What a migrate hook is called with. */
struct weft_handover {
    const char *kind; /* of the actor: weft_spawn_options.kind; that of a module's first actor is "main" */
    uint32_t version; /* what it said to weft_hand_over */
    /* Its bytes, aligned for any type; NULL if there are none. They may hold pointers: to memory, weft's handles and
     * streams; all stay the actor's. Texts and functions of the old code stay good. */
    const void *state;
    size_t size;
    /* Set one of the two: what the actor goes on as. A body's argument, or a handler's own state, is then `state`, or
     * what weft_handover_state was given. An actor that is a handler can only go on as a handler. */
    weft_actor *body;
    weft_handler *handle;
    char why[160]; /* what to tell the operator if the hook refuses; "": the text of its error */
    void *life;    /* weft's own */
};

/* The migrate hook of a new module, one for all kinds of actors: turns old state into new state and says how the
 * actor goes on. It is called in the actor that hands over, on its stack, so it may do what that actor may. WEFT_OK,
 * or a negative code: the actor goes on with the old code. */
typedef int weft_migrate(struct weft_handover *h);

/* [A] In a migrate hook: the state to go on with, copied, instead of the old bytes. The last call counts.
 * WEFT_ETOOBIG (over WEFT_HANDOVER_MAX), WEFT_ENOMEM, WEFT_EINVAL. */
WEFT_API int weft_handover_state(struct weft_handover *h, const void *state, size_t size);

/* [A] With `on`, a reload reaches the calling actor as one WEFT_TAG_RELOAD message in the system lane, received in
 * its turn behind the mail that came before it. To be given to weft_hand_over; freeing it declines. Without it, as at
 * first, reloads do not concern this actor. */
WEFT_API int weft_trap_reload(bool on);

/* [A, W if the hook waits] Gives `size` bytes of `state`, copied, to the new module's migrate hook. Consumes
 * `reload`, a message with WEFT_TAG_RELOAD. At WEFT_OK the calling body or handler has to return without waiting any
 * more, and the actor goes on as the hook said: then what its body was started with is gone, and its clean-ups must
 * not use it. It traps reloads further on. On an error nothing has changed and it goes on as it is: what the hook
 * returned; WEFT_ETIMEDOUT (nobody waits for it any more: the operator was told that it failed), WEFT_EINVAL (no
 * such message, the hook set neither body nor handler, or a body for a handler, or this actor is handing over
 * already), WEFT_ETOOBIG, WEFT_ENOMEM. */
WEFT_API int weft_hand_over(weft_msg *reload, uint32_t version, const void *state, size_t size);

/* What `weft reload` looks for beside WEFT_MODULE_ENTRY: WEFT_MIGRATE(hook) at file level exports a module's hook. */
#define WEFT_MODULE_MIGRATE "weft_module_migrate"
#ifdef __cplusplus
#define WEFT_MIGRATE(hook)                                        \
    extern "C" WEFT_API int weft_module_migrate(weft_handover *h) \
    {                                                             \
        return hook(h);                                           \
    }
#else
#define WEFT_MIGRATE(hook)                                     \
    WEFT_API int weft_module_migrate(struct weft_handover *h); \
    int weft_module_migrate(struct weft_handover *h)           \
    {                                                          \
        return hook(h);                                        \
    }
#endif

WEFT_END
#endif

/* weft/reload.h -- replacing a module's code while its actors live on: `weft reload MODULE`. docs/reload.md has
 * examples.
 *
 * The node loads the new module beside the old one. Then every actor that has called weft_trap_reload gets one
 * message, hands its state over to the migrate hook of the new module, and continues in the body or handler that the
 * hook has chosen: with the same pid, name, mailbox, links, monitors, subscriptions, streams and clean-ups. An actor
 * moves only itself, at a place in its code where its state is complete. An actor that has not asked for it, or that
 * refuses, continues with the old code. Old code stays loaded until the process ends.
 *
 *     struct state { uint64_t count; };                            -- version 1
 *     static void serve(struct state *s)
 *     {
 *         weft_msg *m;
 *         (void)weft_trap_reload(true);
 *         while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
 *             if (weft_tag(m) == WEFT_TAG_RELOAD) {
 *                 if (weft_hand_over(m, 1, s, sizeof *s) == WEFT_OK) return;
 *                 continue;                                        -- refused: nothing has changed
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

/* bytes of state; hand larger state over by pointer, since the process is the same */
enum { WEFT_HANDOVER_MAX = 64 * 1024 };

/* The argument of a migrate hook. */
struct weft_handover {
    const char *kind; /* kind of the actor: weft_spawn_options.kind; for a module's first actor "main" */
    uint32_t version; /* the version that the actor gave to weft_hand_over */
    /* The bytes of the state, aligned for any type; NULL if there are none. They may hold pointers to memory, weft's
     * handles and streams; all of these still belong to the actor. Texts and functions of the old code stay valid. */
    const void *state;
    size_t size;
    /* The hook sets one of the two: the body or handler in which the actor continues. The body's argument, or the
     * handler's own state, is then `state`, or the bytes given to weft_handover_state. An actor that is a handler can
     * only continue as a handler. */
    weft_actor *body;
    weft_handler *handle;
    char why[160]; /* the text for the operator if the hook refuses; "": the text of its error */
    void *life;    /* weft's own */
};

/* The migrate hook of a new module, one for all kinds of actors. It turns old state into new state and says how the
 * actor continues. It is called in the actor that hands over, on its stack, so it may do whatever that actor may. It
 * returns WEFT_OK, or a negative code: then the actor continues with the old code. */
typedef int weft_migrate(struct weft_handover *h);

/* [A] To be called in a migrate hook: sets the state with which the actor continues, instead of the old bytes. It is
 * copied. If the hook calls this several times, the last call counts. Errors: WEFT_ETOOBIG (over WEFT_HANDOVER_MAX),
 * WEFT_ENOMEM, WEFT_EINVAL. */
WEFT_API int weft_handover_state(struct weft_handover *h, const void *state, size_t size);

/* [A] With `on`, a reload arrives at the calling actor as one WEFT_TAG_RELOAD message in the system queue, after the
 * messages that came before it. Pass it to weft_hand_over; freeing it declines the reload. The default is off:
 * reloads do not concern this actor. */
WEFT_API int weft_trap_reload(bool on);

/* [A, W] Suspends only if the hook does. Passes a copy of `size` bytes of `state` to the new module's migrate hook.
 * Consumes `reload`, a message with WEFT_TAG_RELOAD. After WEFT_OK the calling body or handler must return without
 * waiting again, and the actor continues as the hook said. The argument of the old body is then gone, and the actor's
 * clean-ups must not use it. The actor still traps reloads.
 *
 * Errors, after which nothing has changed and the actor continues as before: the error that the hook returned;
 * WEFT_ETIMEDOUT (the reload is over: the operator was told that it failed); WEFT_EINVAL (the message is another one,
 * the hook set neither body nor handler, or a body for a handler, or this actor is already handing over);
 * WEFT_ETOOBIG; WEFT_ENOMEM. */
WEFT_API int weft_hand_over(weft_msg *reload, uint32_t version, const void *state, size_t size);

/* [A] Calls a migrate hook outside of a reload, for state that was stored (weft/persist.h). The caller sets kind,
 * version, state and size in `*h`, and the rest to 0. After WEFT_OK `h->state` and `h->size` are the state with which
 * to continue. If the hook has called weft_handover_state, `*owned` receives the memory of that state, which the
 * caller frees with free(); else `*owned` is NULL. A body or handler that the hook has set is ignored. Errors: those
 * of the hook, after which `h->why` may say more; WEFT_ENOMEM. */
WEFT_API int weft_migrate_stored(weft_migrate *hook, struct weft_handover *h, void **owned);

/* The entry that `weft reload` looks for beside WEFT_MODULE_ENTRY: WEFT_MIGRATE(hook) at file scope exports a
 * module's hook. */
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

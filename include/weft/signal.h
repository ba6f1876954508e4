/* weft/signal.h -- signals as something to wait for: Ctrl-C, a request to reload, a terminal that changes its
 * size. */
#ifndef WEFT_SIGNAL_H
#define WEFT_SIGNAL_H

#include <weft/api.h>
#include <weft/event.h>
#include <weft/wait.h>
WEFT_BEGIN

typedef struct {
    weft_event came;
} weft_signal;

/* [A] From now on the signal `number` (SIGINT, SIGTERM, SIGHUP, ... of <signal.h>) does not do to this process what
 * it does by default; this source, and all others for that number in the process, hear of it. Until
 * weft_signal_close, or until the actor that opened it ends: with the last source the default, or the handler there
 * was before, is back.
 *
 * In weft_main SIGINT and SIGTERM end the node in good order: every actor is stopped and runs its clean-ups; a second
 * one ends the process at once. While an actor has a source for one of them that is up to the actor: it calls
 * weft_stop on those who are to end, or returns. (weft_node_stop is for other threads: it refuses an actor's.)
 *
 * WEFT_EINVAL: no such signal, or one that is the program's own fault (SIGSEGV and the like) or cannot be caught
 * (SIGKILL). Windows has SIGINT (Ctrl-C), SIGBREAK and SIGTERM (the window is closed). */
WEFT_API WEFT_CHECKED int weft_signal_open(weft_signal *out, int number);
/* It has come since the last take. */
WEFT_API weft_wait weft_on_signal(weft_signal s);
/* [A] How often it has come since the last take, 0: it has not; signals that come faster than the system delivers
 * them count once. WEFT_ECLOSED, also if it is another actor's. */
WEFT_API int weft_signal_take(weft_signal s);
/* [A] Waiters wake with WEFT_ECLOSED. WEFT_ECLOSED if it was closed before. */
WEFT_API int weft_signal_close(weft_signal s);

WEFT_END
#endif

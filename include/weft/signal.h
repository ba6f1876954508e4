/* weft/signal.h -- signals as a source to wait for: Ctrl-C, a request to reload, a terminal that changes its size. */
#ifndef WEFT_SIGNAL_H
#define WEFT_SIGNAL_H

#include <weft/api.h>
#include <weft/event.h>
#include <weft/wait.h>
WEFT_BEGIN

typedef struct {
    weft_event came;
} weft_signal;

/* [A] Opens a source for the signal `number` (SIGINT, SIGTERM, SIGHUP, ... of <signal.h>). From then on the signal
 * does not have its default effect on this process; instead this source, and all others for that number in the
 * process, are notified. This holds until weft_signal_close, or until the actor that opened the source ends; with the
 * last source the default, or the handler that was installed before, is restored.
 *
 * In weft_main SIGINT and SIGTERM stop the node gracefully: every actor is stopped and runs its clean-ups; a second
 * signal ends the process at once. While an actor has a source for one of them, that actor decides: it calls
 * weft_stop on the actors that are to end, or returns. (weft_node_stop is for other threads: it refuses a call from
 * an actor.)
 *
 * WEFT_EINVAL: there is no such signal, or it reports a fault of the program (SIGSEGV and the like), or it cannot be
 * caught (SIGKILL). WEFT_EFULL (out of descriptors), WEFT_ENOMEM. Windows has SIGINT (Ctrl-C), SIGBREAK and SIGTERM
 * (the window is closed). */
WEFT_API WEFT_CHECKED int weft_signal_open(weft_signal *out, int number);
/* Ready when the signal has come since the last take. */
WEFT_API weft_wait weft_on_signal(weft_signal s);
/* [A] Returns how often the signal has come since the last take, 0 if it has not. Signals that come faster than the
 * system delivers them count once. WEFT_ECLOSED: closed, or the source belongs to another actor. */
WEFT_API int weft_signal_take(weft_signal s);
/* [A] Closes the source; waiters wake with WEFT_ECLOSED. WEFT_ECLOSED: it was closed before. */
WEFT_API int weft_signal_close(weft_signal s);

WEFT_END
#endif

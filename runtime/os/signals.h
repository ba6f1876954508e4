/* runtime/os/signals.h -- passes signals to the actors and the watcher that want them. (The name is not "signal.h",
 * because the C library has that header.)
 *
 * Design notes.
 * (1) Signals belong to the process, not to a node: there is one table for all nodes of the process. Its sources are
 *     blocks that their tasks own, on a list under `lock`.
 * (2) The thread of pf_signal_catch holds no lock, so it can take `lock`: then neither sources nor their node can end
 *     while they are notified. Catching and releasing may wait for that thread, so they happen outside of `lock`,
 *     under `changing`. */
#ifndef WF_SIGNALS_H
#define WF_SIGNALS_H

#include "base.h"

/* From now on SIGINT and SIGTERM call `on`, on a thread that is no worker, while no actor has a source for them. A
 * process has one watcher at a time. WEFT_EBUSY, WEFT_ENOMEM. */
int wf_signals_watch(void (*on)(void *arg, int number), void *arg);
/* The watcher also receives SIGHUP. Each SIGHUP calls `on`, also if actors have a source for it. WEFT_ENOMEM;
 * WEFT_EINVAL: this system has no such signal. */
int wf_signals_watch_hangup(void);
/* When this returns, `on` does not run any more. */
void wf_signals_unwatch(void);

#endif

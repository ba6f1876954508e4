/* runtime/os/signals.h -- who in the process hears of which signal. (Not "signal.h": that is the C library's.)
 *
 * Design notes.
 * (1) Signals are the process's, not a node's: one table for all nodes in it. Its sources are blocks that their tasks
 *     own, on a list under `lock`.
 * (2) pf_signal_catch calls on a thread that holds no lock, so `lock` is taken there: sources cannot go away, nor
 *     their node, while they are told. Catching and releasing may wait for that thread, so they happen outside of
 *     `lock`, under `changing`. */
#ifndef WF_SIGNALS_H
#define WF_SIGNALS_H

#include "base.h"

/* SIGINT and SIGTERM go to `on`, on a thread of no worker, while no actor has a source for them. One at a time in a
 * process. WEFT_EBUSY, WEFT_ENOMEM. */
int wf_signals_watch(void (*on)(void *arg, int number), void *arg);
/* With such a watcher, SIGHUP as well, beside the actors that have a source for it: `on` hears of each. WEFT_ENOMEM;
 * WEFT_EINVAL where there is no such signal. */
int wf_signals_watch_hangup(void);
/* `on` does not run any more when this returns. */
void wf_signals_unwatch(void);

#endif

/* runtime/os/process.h -- child processes (weft/process.h).
 *
 * Design notes.
 * (1) A child is a block of its own, on a list of the starting actor's worker until the system reports its end. The
 *     actor owns it as well; if the actor ends first, the child is killed, and the worker keeps the block until the
 *     child is reaped.
 * (2) Its end is an entry of the worker's poller. That sets the event for which actors wait; it is never taken, so it
 *     stays ready.
 * (3) Starting blocks, so a thread does it. If the actor gives up meanwhile, that thread kills and reaps the
 *     child. */
#ifndef WF_PROCESS_H
#define WF_PROCESS_H

#include "part.h"

extern const struct wf_part wf_process_part;

#endif

/* runtime/os/process.h -- child processes (weft/process.h).
 *
 * Design notes.
 * (1) A child is a block of its own, on a list of the starting actor's worker until the system reports its end. The
 *     actor owns it as well; if the actor ends first, the child is killed, and the worker keeps the block until the
 *     child is reaped.
 * (2) An entry of the worker's poller reports the end of a child. It sets the event for which actors wait. The event
 *     is never reset, so it stays ready.
 * (3) Starting blocks, so a thread does it. If the actor gives up meanwhile, that thread kills and reaps the
 *     child. */
#ifndef WF_PROCESS_H
#define WF_PROCESS_H

#include "part.h"

extern const struct wf_part wf_process_part;

#endif

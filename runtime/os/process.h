/* runtime/os/process.h -- child processes (weft/process.h).
 *
 * Design notes.
 * (1) A child is a block of its own, on the list of the worker of the actor that started it until the system has told
 *     of its end. The actor owns it besides; when the actor goes first the child is killed, and the worker stays with
 *     it until it is reaped.
 * (2) Its end is an entry of the worker's poller. The event that waits see is set then and never taken: it stays
 *     ready.
 * (3) Starting blocks, so a thread does it. If the actor gives up meanwhile, that thread kills and reaps the
 *     child. */
#ifndef WF_PROCESS_H
#define WF_PROCESS_H

#include "part.h"

extern const struct wf_part wf_process_part;

#endif

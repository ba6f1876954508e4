/* runtime/wait.h -- what the worker needs to know of the things actors wait for: descriptors, streams, listeners,
 * events, timers. */
#ifndef WF_WAIT_H
#define WF_WAIT_H

#include "worker.h"

/* Makes the slabs of `w`: fds, streams, listeners, events, user_timers, tickets. WEFT_ENOMEM. */
int wf_waits_init(struct wf_worker *w);
/* No task runs any more: closes the sockets that nobody closed, frees the slabs. Before the poller goes. Fine on
 * zeroes. */
void wf_waits_finish(struct wf_worker *w);

#endif
